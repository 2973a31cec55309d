//! Why the library cannot be used, in words for whoever wants to see the GPUs: what happened, why, what to do.

use nvml_wrapper::error::NvmlError;

use super::answer::Refusal;
use crate::app::Problem;
use crate::fabric::{State, Text, Value};

/// Why the GPUs are not read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trouble {
    /// For the events.
    pub(super) problem: Problem,
    /// In place of by what they are read.
    pub(super) state: State<Value>,
    /// True where there may be no GPU at all, so that nobody needs to be told.
    pub(super) may_be_none: bool,
}

impl Trouble {
    fn new(what: &str, cause: &str, next: &str) -> Self {
        let state = State::Failed(Text::new(&format!("{what}: {cause}; {next}")));
        Self { problem: Problem::new(what, cause, next), state, may_be_none: false }
    }
}

/// Why the library did not open.
pub(super) fn opening(error: &NvmlError, library: &str) -> Trouble {
    match error {
        NvmlError::LibloadingError(error) => loading(&words(error), library),
        NvmlError::FailedToLoadSymbol(_) => Trouble::new(
            &format!("{library} is not NVIDIA's management library"),
            "it has no nvmlInit_v2: another library of that name comes first, or it is older than driver 300",
            "look which one is found: ldconfig -p | grep nvidia-ml",
        ),
        NvmlError::DriverNotLoaded => Trouble {
            may_be_none: true,
            ..Trouble::new(
                "the NVIDIA driver is not loaded",
                "its library is installed, but the kernel module nvidia does not run: not loaded, refused by Secure Boot, \
                 built for another kernel, or nouveau holds the GPU",
                "try modprobe nvidia, and read why not: dmesg | grep -e NVRM -e nouveau",
            )
        },
        NvmlError::LibRmVersionMismatch => Trouble::new(
            "the NVIDIA driver in the kernel and its library are of different versions",
            "the driver was updated and its old module still runs (/proc/driver/nvidia/version tells which)",
            "stop what uses the GPUs and reload the module (modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia; \
             modprobe nvidia), or reboot",
        ),
        NvmlError::NoPermission => Trouble::new(
            "this login may not use the NVIDIA driver",
            "the device nodes /dev/nvidiactl and /dev/nvidia0 are not open to it",
            "look at ls -l /dev/nvidia*, and at the groups of this login (video, render)",
        ),
        NvmlError::Unknown => Trouble::new(
            "NVIDIA's management library does not start",
            "NVML says: Unknown Error; the driver runs, but a GPU did not start, or a container lost its devices",
            "read dmesg | grep NVRM, and compare with nvidia-smi",
        ),
        error => Trouble::new(
            "NVIDIA's management library does not start",
            &format!("NVML says: {error}"),
            "read dmesg | grep NVRM, and compare with nvidia-smi",
        ),
    }
}

/// The words of the loader, without those of the crate around them.
fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error} {source}"),
        None => error.to_string(),
    }
}

/// The library could not be loaded at all.
fn loading(words: &str, library: &str) -> Trouble {
    if words.contains("No such file") {
        let state = State::NotInstalled(Text::new(&format!("the NVIDIA driver's {library}")));
        return Trouble {
            state,
            may_be_none: true,
            ..Trouble::new(
                &format!("{library} is not installed"),
                "there is no NVIDIA driver on this machine, or in this container",
                "install the driver that NVIDIA offers for this GPU (for a vGPU: that of the vGPU software)",
            )
        };
    }
    Trouble::new(
        &format!("{library} cannot be loaded"),
        words,
        "reinstall the driver's libraries for this architecture: a static or foreign build of this program cannot load them",
    )
}

/// The driver runs and sees no GPU.
pub(super) fn none() -> Problem {
    Problem::new(
        "the NVIDIA driver sees no GPU",
        "the card did not start (BAR, MMIO window, EFI), is held by another driver, or is not supported by this one",
        "read dmesg | grep NVRM and lspci -k -d 10de:",
    )
}

/// The library was in use and gives no answer any more.
pub(super) fn ended(refusal: &Refusal) -> Trouble {
    Trouble::new(
        "NVIDIA's management library stopped answering",
        &format!("NVML says: {refusal}; the driver was unloaded or updated meanwhile"),
        "it is opened again by itself; if that fails, compare with nvidia-smi",
    )
}

/// A call did not come back.
pub(super) fn hanging(seconds: u64) -> Trouble {
    Trouble::new(
        &format!("the NVIDIA driver has not answered for {seconds} s"),
        "a call hangs in the driver: a GPU that fell off the bus, or firmware (GSP) that stopped",
        "read dmesg | grep -e Xid -e NVRM; if nvidia-smi hangs, too, power-cycle the VM",
    )
}

/// It answers again.
pub(super) const ANSWERS: &str = "the NVIDIA driver answers again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_says_what_happened_and_what_to_do() {
        let all = [
            NvmlError::FailedToLoadSymbol("x".to_owned()),
            NvmlError::DriverNotLoaded,
            NvmlError::LibRmVersionMismatch,
            NvmlError::NoPermission,
            NvmlError::Unknown,
            NvmlError::IrqIssue,
        ];
        let mut said = std::collections::BTreeSet::new();
        for error in all {
            let trouble = opening(&error, "libnvidia-ml.so.1");
            assert!(!trouble.problem.cause.as_str().is_empty() && !trouble.problem.next_step.as_str().is_empty());
            assert!(matches!(trouble.state, State::Failed(_)), "{trouble:?}");
            assert!(said.insert(trouble.problem.to_string()), "said twice: {trouble:?}");
        }
    }

    #[test]
    fn a_library_that_is_not_there_and_one_that_is_broken_are_told_apart() {
        let absent = loading(
            "libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "libnvidia-ml.so.1",
        );
        assert!(absent.may_be_none && matches!(absent.state, State::NotInstalled(_)), "{absent:?}");
        let foreign = loading("libnvidia-ml.so.1: wrong ELF class: ELFCLASS32", "libnvidia-ml.so.1");
        assert!(!foreign.may_be_none && matches!(foreign.state, State::Failed(_)), "{foreign:?}");
        assert!(foreign.problem.cause.as_str().contains("ELFCLASS32"));
    }
}
