//! How often a probe is read on a host that is to be spared, where its [`Pace`](super::Pace) alone would cost too much:
//! each command of an ESXi host takes most of a second. On other targets the pace is all that counts.

/// When a probe has its turn while not everything was read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Before all others: what decides whether two guests have RDMA between them.
    Deciding,
    /// After those: what presses, and what panels need before they can say anything.
    First,
    /// After those, too, by pace.
    Usual,
    /// After all others: much work, and seldom asked for.
    Last,
}

/// What is particular about one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// Its period in seconds, where that is not the one of its pace. Where commands take long nothing comes round as
    /// often: what is latest by its own period comes first, so there only the ratio of the periods counts.
    pub every: Option<u64>,
    /// Names of the cheap sources that lead: only they are read at the period, and what the others said stands, with its
    /// own time, until one that leads says something else. None: the probe is read whole.
    pub leading: &'static [&'static str],
    /// Names of the probes whose values hang on those of this one: they are read when it says something else.
    pub then: &'static [&'static str],
    /// When it is read for the first time.
    pub turn: Turn,
}

impl Rhythm {
    /// The period of what presses, in seconds.
    pub const PRESSES: u64 = 15;

    /// That of the pace.
    pub const PACE: Self = Self { every: None, leading: &[], then: &[], turn: Turn::Usual };

    /// What presses, and is read whole.
    pub const PRESSING: Self = Self { every: Some(Self::PRESSES), turn: Turn::First, ..Self::PACE };

    /// A probe of which these sources press and lead, and these probes hang on it.
    pub const fn leading(leading: &'static [&'static str], then: &'static [&'static str]) -> Self {
        Self { leading, then, ..Self::PRESSING }
    }

    /// Another period than that of the pace, in seconds.
    pub const fn every(seconds: u64) -> Self {
        Self { every: Some(seconds), ..Self::PACE }
    }

    /// The same, read before all others at first.
    #[must_use]
    pub const fn deciding(self) -> Self {
        Self { turn: Turn::Deciding, ..self }
    }

    /// The same, read before others at first.
    #[must_use]
    pub const fn first(self) -> Self {
        Self { turn: Turn::First, ..self }
    }

    /// The same, read after others at first.
    #[must_use]
    pub const fn last(self) -> Self {
        Self { turn: Turn::Last, ..self }
    }
}
