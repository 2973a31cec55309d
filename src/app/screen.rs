//! What is shown and how: the panel, the focus, selections, the filter, the overlays. No terminal in here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tui_input::{Input, InputRequest};

use super::context::Context;
use super::evidence::Evidence;
use super::filter::Filter;
use super::healthy::view::HealthyView;
use super::look::LookChoice;
use super::message::Edit;
use super::palette::Palette;
use super::path::PathView;
use super::questions::QuestionView;
use super::selection::{Node, RowKey};
use super::settings::SettingsView;
use super::wizard::WizardView;
use super::wizard::paste::PasteView;
use crate::fabric::{TargetId, Text, Timestamp};

/// A panel. Numbers are fixed for good, so that fingers learn them; panels that are not built yet have none here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Panel {
    /// The way between two guests, hop by hop.
    Path,
    /// What an ESXi host binds to RDMA: devices, uplinks, switches, settings; many hosts side by side; versions.
    Host,
    /// Devices of VMs, how they lead to the wire, and the VMX with its findings.
    Vm,
    /// RDMA links, GIDs, queue pairs and everything else of one guest.
    GuestLink,
    /// Graphs.
    Live,
    /// What is wrong, why, and what helps.
    Wizard,
    /// Benchmarks between two guests.
    Tune,
    /// What happened.
    Events,
    /// GPUs: what holds each back, what it does, its links and its state.
    Gpu,
}

impl Panel {
    /// All panels, by number.
    pub const ALL: [Self; 9] = [
        Self::Path,
        Self::Host,
        Self::Vm,
        Self::GuestLink,
        Self::Live,
        Self::Wizard,
        Self::Tune,
        Self::Events,
        Self::Gpu,
    ];

    /// True for a panel of rows; see [`super::table`].
    pub fn has_rows(self) -> bool {
        !matches!(self, Self::Live | Self::Events)
    }

    /// Its number and key.
    pub fn number(self) -> u8 {
        match self {
            Self::Path => 1,
            Self::Host => 2,
            Self::Vm => 3,
            Self::GuestLink => 4,
            Self::Live => 5,
            Self::Wizard => 6,
            Self::Tune => 7,
            Self::Events => 8,
            Self::Gpu => 9,
        }
    }

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Path => "Path",
            Self::Host => "Host",
            Self::Vm => "VM",
            Self::GuestLink => "Guest link",
            Self::Live => "Live",
            Self::Wizard => "Wizard",
            Self::Tune => "Tune",
            Self::Events => "Events",
            Self::Gpu => "GPU",
        }
    }

    /// Where keys go while it has the focus.
    pub fn context(self) -> Context {
        match self {
            Self::Path => Context::Path,
            Self::Host => Context::Host,
            Self::Vm => Context::Vm,
            Self::GuestLink => Context::Guest,
            Self::Live => Context::Live,
            Self::Wizard => Context::Wizard,
            Self::Tune => Context::Tune,
            Self::Events => Context::Events,
            Self::Gpu => Context::Gpu,
        }
    }
}

/// Which half of the screen the arrow keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Focus {
    /// The fabric tree.
    Tree,
    /// The panel.
    Panel,
}

/// The fabric tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeView {
    /// The selected row.
    pub selected: Option<Node>,
    /// Rows whose children are hidden.
    pub folded: BTreeSet<Node>,
}

/// A panel of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowsView {
    /// The selected row.
    pub selected: Option<RowKey>,
    /// The selected value within the row.
    pub cell: usize,
}

/// What the *Host binding* panel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostMode {
    /// One host.
    #[default]
    One,
    /// All hosts side by side.
    Compare,
    /// Versions over all targets, the odd ones out first.
    Versions,
    /// Which hosts qualify for PVRDMA, and where each VM would keep RDMA.
    Qualify,
}

/// The *Host binding* panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// What is shown.
    pub mode: HostMode,
    /// True to show also what is the same on all hosts.
    pub all: bool,
    /// What is selected.
    pub rows: RowsView,
}

/// Seconds shown at each zoom step, the closest first; the last one is all that is kept.
pub const WINDOWS: [u32; 5] = [30, 60, 120, 300, 600];

/// The *Live* panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveView {
    /// Index into [`WINDOWS`].
    pub zoom: usize,
    /// The moment at which the graphs stand still.
    pub frozen: Option<Timestamp>,
    /// How many seconds before the right edge the cursor stands.
    pub cursor: Option<u32>,
    /// Index of the selected graph.
    pub selected: usize,
}

impl LiveView {
    /// Seconds shown.
    pub fn window(&self) -> u32 {
        WINDOWS[self.zoom.min(WINDOWS.len() - 1)]
    }
}

impl Default for LiveView {
    fn default() -> Self {
        Self { zoom: 2, frozen: None, cursor: None, selected: 0 }
    }
}

/// The *Events* panel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsView {
    /// Number of the selected event; `None` follows the newest.
    pub selected: Option<u64>,
}

/// Where the end of a text is that only the view knows the length of. From the half of it on lines are counted back from
/// that end, so that the first key upwards moves.
pub const SCROLL_END: usize = 20_000;

/// Something that lies over the panels. The last one is on top and gets the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Overlay {
    /// All keys.
    Help {
        /// First line shown.
        scroll: usize,
    },
    /// Raw text that a value came from.
    Evidence(Box<Evidence>),
    /// What is in force, and what can be changed.
    Settings(SettingsView),
    /// All marks.
    Marks {
        /// Number of the selected one; `None` for the newest.
        selected: Option<u32>,
    },
    /// A remedy, or the way back: see [`super::change`].
    Change {
        /// First line shown.
        scroll: usize,
    },
    /// A benchmark before it begins: see [`super::tune`].
    Bench {
        /// First line shown.
        scroll: usize,
    },
    /// What changed since the last healthy snapshot.
    Healthy(HealthyView),
    /// An answer of a switch is pasted for the wizard.
    Paste(Box<PasteView>),
    /// Everything that can be done.
    Palette(Palette),
}

/// What the line of text that is being edited is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The filter of the tree, the panels and the events.
    Filter,
    /// The search in the evidence overlay.
    Search,
    /// What is looked for in the command palette.
    Palette,
    /// The note of a mark.
    Note {
        /// Number of the mark.
        mark: u32,
        /// True if the mark was put just now: taking the text back takes the mark back.
        fresh: bool,
    },
    /// The time to go to in a replay.
    Position,
    /// The name of the target that a change is to be made on.
    Confirm,
}

/// A line of text that is being edited.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Editing {
    /// What it is for.
    pub purpose: Purpose,
    /// The text and the cursor in it.
    #[serde(with = "kept_input")]
    pub input: Input,
    /// What it was before; restored on cancel.
    pub before: String,
}

impl Editing {
    /// Starts to edit `text`.
    pub fn new(purpose: Purpose, text: &str) -> Self {
        Self { purpose, input: Input::new(text.to_owned()), before: text.to_owned() }
    }

    /// Applies one edit.
    pub fn apply(&mut self, edit: &Edit) {
        let request = match edit {
            Edit::Insert(character) if character.is_control() => return,
            Edit::Insert(character) => InputRequest::InsertChar(*character),
            Edit::Paste(text) => {
                for character in crate::fabric::text::clean_line(text).chars().take(500) {
                    self.input.handle(InputRequest::InsertChar(character));
                }
                return;
            }
            Edit::DeleteBefore => InputRequest::DeletePrevChar,
            Edit::DeleteAt => InputRequest::DeleteNextChar,
            Edit::DeleteWord => InputRequest::DeletePrevWord,
            Edit::DeleteToStart => {
                let rest: String = self.input.value().chars().skip(self.input.cursor()).collect();
                self.input = Input::new(rest).with_cursor(0);
                return;
            }
            Edit::Left => InputRequest::GoToPrevChar,
            Edit::Right => InputRequest::GoToNextChar,
            Edit::Start => InputRequest::GoToStart,
            Edit::End => InputRequest::GoToEnd,
        };
        self.input.handle(request);
    }
}

/// What is shown and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Screen {
    /// Cells across.
    pub columns: u16,
    /// Cells down.
    pub rows: u16,
    /// The panel shown.
    pub panel: Panel,
    /// True once a panel was chosen: it is no longer that of what kind of target is selected.
    #[serde(default)]
    pub is_chosen: bool,
    /// Where the arrow keys go.
    pub focus: Focus,
    /// The fabric tree.
    pub tree: TreeView,
    /// The *Guest link* panel.
    pub guest: RowsView,
    /// The *GPU* panel.
    #[serde(default)]
    pub gpu: RowsView,
    /// What is selected in *Tune*.
    #[serde(default)]
    pub tune: RowsView,
    /// The *Host binding* panel.
    #[serde(default)]
    pub host: HostView,
    /// The *VM devices* panel.
    #[serde(default)]
    pub vm: RowsView,
    /// The *Path* panel.
    #[serde(default)]
    pub path: PathView,
    /// The *Wizard* panel.
    #[serde(default)]
    pub wizard: WizardView,
    /// The *Live* panel.
    pub live: LiveView,
    /// The *Events* panel.
    pub events: EventsView,
    /// The filter in force.
    pub filter: Filter,
    /// Whether it filters the tree or the panel: whichever had the focus when it was typed.
    pub filter_on: Focus,
    /// The line of text being edited, if one is.
    pub editing: Option<Editing>,
    /// What lies over the panels; the last one is on top.
    pub overlays: Vec<Overlay>,
    /// The table of unknown host keys.
    pub questions: QuestionView,
    /// How the console is wished to look.
    pub look: LookChoice,
    /// What was done from the command palette, the newest first.
    pub recent: Vec<Text>,
    /// A sentence in the footer that says why the last key did nothing, or what it did; and when it was said.
    pub notice: Option<(String, Timestamp)>,
}

impl Screen {
    /// A fresh screen with the first target selected.
    pub fn new(first: Option<TargetId>) -> Self {
        Self {
            columns: 80,
            rows: 24,
            panel: Panel::GuestLink,
            is_chosen: false,
            focus: Focus::Tree,
            tree: TreeView { selected: first.map(Node::Target), folded: BTreeSet::new() },
            guest: RowsView::default(),
            gpu: RowsView::default(),
            tune: RowsView::default(),
            host: HostView::default(),
            vm: RowsView::default(),
            path: PathView::default(),
            wizard: WizardView::default(),
            live: LiveView::default(),
            events: EventsView::default(),
            filter: Filter::default(),
            filter_on: Focus::Tree,
            editing: None,
            overlays: Vec::new(),
            questions: QuestionView::default(),
            look: LookChoice::default(),
            recent: Vec::new(),
            notice: None,
        }
    }

    /// What lies on top, under the command palette: that is what its entries act on.
    pub fn top(&self) -> Option<&Overlay> {
        self.overlays.iter().rfind(|overlay| !matches!(overlay, Overlay::Palette(_)))
    }

    /// Puts things right after an action: the palette is either on top with its line of text or gone, whatever was
    /// opened or closed meanwhile.
    pub fn settle(&mut self) {
        let typed = matches!(self.editing, Some(Editing { purpose: Purpose::Palette, .. }));
        let on_top = matches!(self.overlays.last(), Some(Overlay::Palette(_)));
        if typed && !on_top {
            self.editing = None;
        }
        let kept = if typed && on_top { self.overlays.pop() } else { None };
        self.overlays.retain(|overlay| !matches!(overlay, Overlay::Palette(_)));
        self.overlays.extend(kept);
    }

    /// The evidence overlay, if it is on top.
    pub fn evidence(&self) -> Option<&Evidence> {
        match self.top() {
            Some(Overlay::Evidence(evidence)) => Some(evidence),
            _ => None,
        }
    }

    /// The evidence overlay, if it is on top.
    pub fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        match self.overlays.last_mut() {
            Some(Overlay::Evidence(evidence)) => Some(evidence),
            _ => None,
        }
    }

    /// True if the filter lets a line of the tree pass.
    pub fn tree_passes(&self, line: &str) -> bool {
        self.filter_on == Focus::Panel || self.filter.passes(line)
    }

    /// True if the filter lets a line of the panel pass.
    pub fn panel_passes(&self, line: &str) -> bool {
        self.filter_on == Focus::Tree || self.filter.passes(line)
    }

    /// Lines that a list in the panel can show: all rows but header, footer, tab line and panel title.
    pub fn page(&self) -> usize {
        usize::from(self.rows.saturating_sub(4)).max(1)
    }
}

/// A line of text in a recording: the text and the place of the cursor, which is put within the text when it is read.
mod kept_input {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tui_input::Input;

    pub fn serialize<S: Serializer>(input: &Input, serializer: S) -> Result<S::Ok, S::Error> {
        (input.value(), input.cursor()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Input, D::Error> {
        let (text, cursor) = <(String, usize)>::deserialize(deserializer)?;
        let last = text.chars().count();
        Ok(Input::new(text).with_cursor(cursor.min(last)))
    }
}
