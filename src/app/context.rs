//! Where keys go.

/// Where keys go: the topmost thing on the screen that takes them. Every context but those in which text is typed falls
/// back to [`Context::Global`] when it does not know a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Everywhere.
    Global,
    /// The fabric tree has the focus.
    Tree,
    /// The *Path* panel has the focus.
    Path,
    /// The *Host binding* panel has the focus.
    Host,
    /// The *VM devices* panel has the focus.
    Vm,
    /// The *Guest link* panel has the focus.
    Guest,
    /// The *Live* panel has the focus.
    Live,
    /// The *Wizard* panel has the focus.
    Wizard,
    /// The *Tune* panel has the focus.
    Tune,
    /// The *Events* panel has the focus.
    Events,
    /// The *GPU* panel has the focus.
    Gpu,
    /// The help overlay is open.
    Help,
    /// The evidence overlay is open.
    Evidence,
    /// The settings overlay is open.
    Settings,
    /// The list of marks is open.
    Marks,
    /// A remedy is shown.
    Change,
    /// A benchmark is shown before it begins.
    Bench,
    /// The list of what changed since the last healthy snapshot is open.
    Healthy,
    /// The answer of a switch is pasted for the wizard. Keys that are not in the key map are its text.
    Paste,
    /// The command palette is open. Keys that are not in the key map are text.
    Palette,
    /// A line of text is edited (the filter, the search of the evidence overlay, a note). Keys that are not in the key map
    /// are text.
    Filter,
    /// Unknown host keys are asked about.
    Prompt,
    /// A secret is typed. Keys that are not in the key map are its text.
    Secret,
    /// A recording is replayed: its keys lie over those of [`Context::Global`].
    Replay,
}

impl Context {
    /// All contexts.
    pub const ALL: [Self; 24] = [
        Self::Global,
        Self::Tree,
        Self::Path,
        Self::Host,
        Self::Vm,
        Self::Guest,
        Self::Live,
        Self::Wizard,
        Self::Tune,
        Self::Events,
        Self::Gpu,
        Self::Help,
        Self::Evidence,
        Self::Settings,
        Self::Marks,
        Self::Change,
        Self::Bench,
        Self::Healthy,
        Self::Paste,
        Self::Palette,
        Self::Filter,
        Self::Prompt,
        Self::Secret,
        Self::Replay,
    ];

    /// True where text is typed: keys that the key map does not know edit it, and those of [`Context::Global`] do not work.
    pub fn takes_text(self) -> bool {
        matches!(self, Self::Paste | Self::Palette | Self::Filter | Self::Secret)
    }

    /// True where the tree or a panel has the keys: no overlay, no question and no line of text lies over them.
    pub fn is_panel(self) -> bool {
        match self {
            Self::Global
            | Self::Tree
            | Self::Path
            | Self::Host
            | Self::Vm
            | Self::Guest
            | Self::Live
            | Self::Wizard
            | Self::Tune
            | Self::Events
            | Self::Gpu
            | Self::Replay => true,
            Self::Help
            | Self::Evidence
            | Self::Settings
            | Self::Marks
            | Self::Change
            | Self::Bench
            | Self::Healthy
            | Self::Paste
            | Self::Palette
            | Self::Filter
            | Self::Prompt
            | Self::Secret => false,
        }
    }

    /// The name of its table in a key map.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Tree => "tree",
            Self::Path => "path",
            Self::Host => "host",
            Self::Vm => "vm",
            Self::Guest => "guest",
            Self::Live => "live",
            Self::Wizard => "wizard",
            Self::Tune => "tune",
            Self::Events => "events",
            Self::Gpu => "gpu",
            Self::Help => "help",
            Self::Evidence => "evidence",
            Self::Settings => "settings",
            Self::Marks => "marks",
            Self::Change => "remedy",
            Self::Bench => "bench",
            Self::Healthy => "changes",
            Self::Paste => "paste",
            Self::Palette => "palette",
            Self::Filter => "filter",
            Self::Prompt => "prompt",
            Self::Secret => "secret",
            Self::Replay => "replay",
        }
    }
}
