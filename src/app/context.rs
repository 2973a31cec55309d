//! Where keys go.

/// Where keys go: the topmost thing on the screen that takes them. Every context but [`Context::Filter`] falls back to
/// [`Context::Global`] when it does not know a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Everywhere.
    Global,
    /// The fabric tree has the focus.
    Tree,
    /// The *Guest link* panel has the focus.
    Guest,
    /// The *Live* panel has the focus.
    Live,
    /// The *Events* panel has the focus.
    Events,
    /// The help overlay is open.
    Help,
    /// The evidence overlay is open.
    Evidence,
    /// A line of text is edited (the filter, or the search of the evidence overlay). Keys that are not in the key map are text.
    Filter,
    /// A question is open.
    Prompt,
    /// A recording is replayed: its keys lie over those of [`Context::Global`].
    Replay,
}

impl Context {
    /// All contexts.
    pub const ALL: [Self; 10] = [
        Self::Global,
        Self::Tree,
        Self::Guest,
        Self::Live,
        Self::Events,
        Self::Help,
        Self::Evidence,
        Self::Filter,
        Self::Prompt,
        Self::Replay,
    ];

    /// The name of its table in a key map.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Tree => "tree",
            Self::Guest => "guest",
            Self::Live => "live",
            Self::Events => "events",
            Self::Help => "help",
            Self::Evidence => "evidence",
            Self::Filter => "filter",
            Self::Prompt => "prompt",
            Self::Replay => "replay",
        }
    }
}
