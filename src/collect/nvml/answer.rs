//! What one call of the library gave, or why it gave nothing.

use nvml_wrapper::error::NvmlError;

use crate::fabric::{State, Text};

/// What a call gave.
pub(super) type Answer<T> = Result<T, Refusal>;

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// This GPU, or the driver in this mode, has no such value.
    Unsupported,
    /// The library is older than the call.
    NoSuchCall,
    /// Another login could read it.
    NoPermission,
    /// There is nothing of that kind.
    Nothing,
    /// The list has no entry.
    Empty,
    /// The GPU does not answer any more.
    Lost,
    /// The GPU answers again only after a reset.
    ResetRequired,
    /// The library has to be opened anew.
    Closed,
    /// Anything else, in the words of the library.
    Other(Text),
}

/// The driver refuses the version of a structure (`NVML_ERROR_ARGUMENT_VERSION_MISMATCH`); the wrapper has no name for it.
const VERSION_MISMATCH: u32 = 25;

/// Nobody reads this GPU anywhere (`NVML_ERROR_GPU_NOT_FOUND`).
const GPU_NOT_FOUND: u32 = 28;

impl From<NvmlError> for Refusal {
    fn from(error: NvmlError) -> Self {
        match error {
            NvmlError::NotSupported | NvmlError::VgpuEccNotSupported => Self::Unsupported,
            NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => Self::NoSuchCall,
            NvmlError::NoPermission => Self::NoPermission,
            NvmlError::NotFound | NvmlError::NoData => Self::Nothing,
            NvmlError::GpuLost | NvmlError::UnexpectedVariant(GPU_NOT_FOUND) => Self::Lost,
            NvmlError::ResetRequired => Self::ResetRequired,
            NvmlError::Uninitialized => Self::Closed,
            NvmlError::UnexpectedVariant(VERSION_MISMATCH) => {
                Self::other("the driver knows another version of this call's structure")
            }
            NvmlError::UnexpectedVariant(value) => Self::other(&format!("a value that is not known here: {value}")),
            NvmlError::Unknown => Self::other("NVML says: Unknown Error"),
            other => Self::other(&format!("NVML says: {other}")),
        }
    }
}

impl Refusal {
    /// A refusal in words.
    pub(super) fn other(words: &str) -> Self {
        Self::Other(Text::new(words))
    }

    /// The driver filled less of the structure than it said.
    pub(super) fn short() -> Self {
        Self::other("the driver filled only a part of the answer")
    }

    /// True where the value will not come, however often it is asked for: there is nothing to draw.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self, Self::Unsupported | Self::NoSuchCall)
    }

    /// As the state of a value.
    pub(super) fn state<T>(&self) -> State<T> {
        match self {
            Self::Unsupported => State::NotPublished(Text::new("this GPU with its driver (NVML: Not Supported)")),
            Self::NoSuchCall => State::NotPublished(Text::new("this version of NVML")),
            Self::NoPermission => State::NeedsPrivilege(Text::new("NVML tells it to root only")),
            Self::Nothing => State::NotAvailable,
            Self::Empty => State::Empty,
            _ => State::Failed(Text::new(&self.to_string())),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Unsupported => "Not Supported",
            Self::NoSuchCall => "this version of NVML has no such call",
            Self::NoPermission => "Insufficient Permissions",
            Self::Nothing => "N/A",
            Self::Empty => "none",
            Self::Lost => "GPU is lost",
            Self::ResetRequired => "GPU requires reset",
            Self::Closed => "NVML is not initialised any more",
            Self::Other(words) => words.as_str(),
        })
    }
}

/// An answer of the library.
pub(super) fn of<T>(result: Result<T, NvmlError>) -> Answer<T> {
    result.map_err(Refusal::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_state_of_its_own_and_none_is_a_value() {
        let state = |error: NvmlError| Refusal::from(error).state::<u64>();
        assert!(matches!(state(NvmlError::NotSupported), State::NotPublished(_)));
        assert!(matches!(state(NvmlError::FailedToLoadSymbol("x".to_owned())), State::NotPublished(_)));
        assert!(matches!(state(NvmlError::NoPermission), State::NeedsPrivilege(_)));
        assert_eq!(state(NvmlError::NoData), State::NotAvailable);
        for error in [NvmlError::GpuLost, NvmlError::Unknown, NvmlError::UnexpectedVariant(25), NvmlError::Timeout] {
            assert!(matches!(state(error), State::Failed(_)));
        }
    }

    #[test]
    fn only_what_will_never_come_is_left_out_of_the_graphs() {
        assert!(Refusal::from(NvmlError::NotSupported).is_lasting());
        assert!(Refusal::from(NvmlError::FunctionNotFound).is_lasting());
        for error in [NvmlError::Unknown, NvmlError::GpuLost, NvmlError::NoPermission, NvmlError::UnexpectedVariant(25)]
        {
            assert!(!Refusal::from(error).is_lasting());
        }
    }

    #[test]
    fn a_version_that_the_driver_refuses_is_said_in_words() {
        assert!(Refusal::from(NvmlError::UnexpectedVariant(25)).to_string().contains("another version"));
        assert_eq!(Refusal::from(NvmlError::UnexpectedVariant(28)), Refusal::Lost);
    }
}
