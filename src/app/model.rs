//! All that the console knows: the fabric, the series, the events, the raw texts, and what is shown of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::alerts::Alerts;
use super::change::Change;
use super::clock::Bounds;
use super::connection::{Connection, Problem};
use super::diagnosis::{Diagnosed, Finding};
use super::events::{Event, EventLog};
use super::evidence::Sources;
use super::healthy::Healthy;
use super::look::{LookChoice, Offered, Started};
use super::marks::Marks;
use super::mode::Mode;
use super::prompt::Prompt;
use super::raw::RawStore;
use super::screen::{Panel, Screen};
use super::tune::Tune;
use super::wizard::{self, Pasted};
use crate::config::AlertNotice;
use crate::diagnose::check::SiteSays;
use crate::diagnose::join::{Joined, join_declared};
use crate::diagnose::limit::{Limits, Says};
use crate::fabric::{Fabric, SeriesStore, SlowStore, SourceId, TargetId, Text, Timestamp};

/// What kind of machine a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A Linux guest reached over SSH.
    Linux,
    /// This machine.
    Local,
    /// An ESXi host.
    Esxi,
    /// A switch.
    Switch,
    /// Not known yet: found out when the connection is up.
    Unknown,
}

impl TargetKind {
    /// The word for it in inventories and documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Local => "local",
            Self::Esxi => "esxi",
            Self::Switch => "switch",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of one target as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// How the connection stands.
    pub connection: Connection,
    /// When the last tick came in.
    pub last_sample: Option<Timestamp>,
    /// When the last answer of any probe came in.
    pub last_report: Option<Timestamp>,
    /// How long the last tick was on its way, there and back.
    pub round_trip: Option<Duration>,
    /// How far its wall clock is ahead of ours, in milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// By how much that may be wrong: half of the quickest way there and back.
    #[serde(default)]
    pub clock_within: Option<Duration>,
    /// The same of a host, whose clock is known by what many reads leave open.
    #[serde(default)]
    pub clock_bounds: Option<Bounds>,
    /// The quickest tick of this connection, there and back.
    #[serde(default)]
    pub quickest: Option<Duration>,
    /// Probes of which a source did not answer in time when they were read last.
    #[serde(default)]
    pub late: BTreeSet<SourceId>,
    /// How many samples were dropped because the screen did not keep up.
    pub dropped: u64,
    /// Probes that have reported since the target is known: what is missing was not read yet.
    pub read: BTreeSet<SourceId>,
    /// How often its values became stale, and what was told of that.
    pub staleness: Staleness,
    /// The problem that the last event about its connection told.
    pub told_problem: Option<Problem>,
    /// When it was read anew last because its GPUs came into trouble.
    #[serde(default)]
    pub read_again_at: Option<Timestamp>,
    /// The tags of the inventory.
    pub tags: Vec<Text>,
    /// What calls for attention on a host, by what it is about.
    #[serde(default)]
    pub findings: BTreeMap<String, Finding>,
}

impl Target {
    /// A target that was not tried yet.
    pub fn new(kind: TargetKind) -> Self {
        Self {
            kind,
            connection: Connection::Waiting,
            last_sample: None,
            last_report: None,
            round_trip: None,
            clock_offset_ms: None,
            clock_within: None,
            clock_bounds: None,
            quickest: None,
            late: BTreeSet::new(),
            dropped: 0,
            read: BTreeSet::new(),
            staleness: Staleness::default(),
            told_problem: None,
            read_again_at: None,
            tags: Vec::new(),
            findings: BTreeMap::new(),
        }
    }
}

/// How often the values of a target became stale. A target that flaps is told of now and then, not each time: its events
/// would push the others out of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staleness {
    /// True while its values are stale.
    pub now: bool,
    /// True if that was told, so that its end is told too.
    pub told: bool,
    /// When it was told last.
    pub told_at: Option<Timestamp>,
    /// How often it happened since then, untold.
    pub untold: u32,
}

/// What was decided at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Name of the inventory for the header.
    pub inventory: Text,
    /// Whether changes are allowed at all.
    pub allow_changes: bool,
    /// Time between two ticks.
    pub period: Duration,
    /// What can be switched in the embedded lab; empty outside of the demo.
    pub demo_faults: Vec<DemoFault>,
    /// How the console looks at the start.
    pub look: LookChoice,
    /// Which looks there are to choose from.
    pub offered: Offered,
    /// All settings with where they came from, for the settings overlay; in its order.
    pub settings: Vec<Started>,
    /// What the configuration says for the checks.
    #[serde(default)]
    pub site: SiteSays,
    /// True if a snapshot is kept once a day while nothing is wrong, and compared with.
    #[serde(default)]
    pub keeps_healthy: bool,
    /// How the terminal tells of an alert.
    #[serde(default)]
    pub alert_notice: AlertNotice,
    /// True if the configuration names a hook for alerts; its words are no part of a recording.
    #[serde(default)]
    pub alert_hook: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inventory: Text::new(""),
            allow_changes: false,
            period: Duration::from_secs(1),
            demo_faults: Vec::new(),
            look: LookChoice::default(),
            offered: Offered::default(),
            settings: Vec::new(),
            site: SiteSays::default(),
            keeps_healthy: false,
            alert_notice: AlertNotice::default(),
            alert_hook: false,
        }
    }
}

/// A fault of the embedded lab that can be switched while everything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoFault {
    /// Its name: `link-down`.
    pub name: Text,
    /// What it is, in a few words.
    pub title: Text,
    /// What happens, and what is seen of it.
    pub description: Text,
    /// True for a state that lasts until it is switched off; false for what happens once.
    pub lasts: bool,
    /// The targets that it can happen to.
    pub hosts: Vec<TargetId>,
}

/// All that the console knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Model {
    /// The time of the last message that carried one.
    pub now: Timestamp,
    /// What was decided at the start.
    pub options: Options,
    /// The targets in the order in which they were named.
    pub order: Vec<TargetId>,
    /// What is known of each target as a whole.
    pub targets: BTreeMap<TargetId, Target>,
    /// What is known of everything on them.
    pub fabric: Fabric,
    /// What the join made of that; made when it is asked for, and forgotten when the fabric changes.
    #[serde(skip)]
    joined: OnceLock<Arc<Joined>>,
    /// What the checks said when they ran last; nothing before that.
    #[serde(skip)]
    diagnosed: Arc<Diagnosed>,
    /// What was made of the VMX files that were read; made when it is asked for.
    #[serde(skip)]
    pub vmx_files: super::vm_devices::VmxCache,
    /// How counters move.
    pub series: SeriesStore,
    /// How counters of hosts move, which are read now and then.
    #[serde(default)]
    pub slow: SlowStore,
    /// What limits each GPU.
    #[serde(default)]
    pub limits: Limits,
    /// What happened.
    pub events: EventLog,
    /// What calls for attention, and what was done about it.
    #[serde(default)]
    pub alerts: Alerts,
    /// True if something was read since the checks ran that they could judge otherwise.
    #[serde(default)]
    pub unjudged: bool,
    /// When the checks ran last.
    #[serde(default)]
    pub judged_at: Timestamp,
    /// The revision with which the checks ran last; 0 before they did.
    #[serde(default)]
    judged_with: u64,
    /// Marks on the time axis.
    pub marks: Marks,
    /// Hosts that are watched by `esxtop`, with the time between two rows.
    #[serde(default)]
    pub watched: BTreeMap<TargetId, Duration>,
    /// Raw output, for evidence.
    pub raw: RawStore,
    /// The change of a target that is shown, under way or was made last.
    #[serde(default)]
    pub change: Option<Change>,
    /// How many changes were asked for.
    #[serde(default)]
    pub changes: u64,
    /// Benchmarks.
    #[serde(default)]
    pub tune: Tune,
    /// What is known of the last time when nothing was wrong.
    #[serde(default)]
    pub healthy: Healthy,
    /// The host that each VM, by its UUID, was on when the checks ran last.
    #[serde(default)]
    pub homes: BTreeMap<Text, TargetId>,
    /// Switches that are known by what the user pasted of them.
    #[serde(default)]
    pub pasted: Vec<Pasted>,
    /// Questions that are open, oldest first.
    pub prompts: Vec<Prompt>,
    /// Faults of the embedded lab that were switched on by hand: name and target.
    pub demo_faults_on: BTreeSet<(Text, TargetId)>,
    /// What is shown, and how.
    pub screen: Screen,
    /// Whether this is now or a recording.
    #[serde(skip)]
    pub mode: Mode,
    /// Rises with every message that may change what is seen.
    pub revision: u64,
}

impl Model {
    /// A model of targets that were not tried yet.
    pub fn new(targets: Vec<(TargetId, Target)>, options: Options, now: Timestamp) -> Self {
        let order: Vec<TargetId> = targets.iter().map(|(id, _)| id.clone()).collect();
        let screen = Screen { look: options.look.clone(), ..Screen::new(order.first().cloned()) };
        let mut model = Self {
            now,
            options,
            order,
            targets: targets.into_iter().collect(),
            fabric: Fabric::default(),
            joined: OnceLock::new(),
            diagnosed: Arc::default(),
            vmx_files: super::vm_devices::VmxCache::default(),
            series: SeriesStore::default(),
            slow: SlowStore::default(),
            limits: Limits::default(),
            events: EventLog::default(),
            alerts: Alerts::default(),
            unjudged: false,
            judged_at: now,
            judged_with: 0,
            marks: Marks::default(),
            watched: BTreeMap::new(),
            raw: RawStore::default(),
            change: None,
            changes: 0,
            tune: Tune::default(),
            healthy: Healthy::default(),
            homes: BTreeMap::new(),
            pasted: Vec::new(),
            prompts: Vec::new(),
            demo_faults_on: BTreeSet::new(),
            screen,
            mode: Mode::default(),
            revision: 0,
        };
        model.open_panel();
        super::path::work_out(&model);
        model
    }

    /// As long as no panel was chosen, a host is shown where something is told of it.
    pub(super) fn open_panel(&mut self) {
        let selected = self.selected_target().and_then(|id| self.targets.get(id));
        let is_host = selected.is_some_and(|target| target.kind == TargetKind::Esxi);
        if is_host && !self.screen.is_chosen && self.screen.panel == Panel::GuestLink {
            self.screen.panel = Panel::Host;
        }
    }

    /// Forgets a target and all that is known of it; events that tell of it stay.
    pub fn forget(&mut self, target: &TargetId) {
        self.targets.remove(target);
        self.watched.remove(target);
        self.order.retain(|other| other != target);
        self.fabric.forget(target);
        wizard::pasted::forget(self, target);
        self.unjudged = true;
        self.fabric_changed();
        self.series.forget(target);
        self.slow.forget(target);
        self.limits.forget(target);
        self.alerts.forget(target);
        self.raw.forget(target);
        self.vmx_files.forget(target);
        self.prompts.retain(|prompt| prompt.target != *target);
        self.screen.tree.folded.retain(|node| node.target() != target);
    }

    /// Which thing of one target is which thing of another.
    pub fn joined(&self) -> &Joined {
        self.shared_join()
    }

    fn shared_join(&self) -> &Arc<Joined> {
        self.joined.get_or_init(|| {
            let (targets, cables) = (wizard::pasted::with_pasted(self), wizard::pasted::cables(self));
            Arc::new(join_declared(&self.fabric, &targets, &cables))
        })
    }

    /// What the checks said when they ran last: it can be some seconds behind what was read.
    pub fn diagnosed(&self) -> Arc<Diagnosed> {
        Arc::clone(&self.diagnosed)
    }

    /// Makes the verdicts on GPUs anew. One that says something else than before calls for the checks.
    pub(super) fn judge_gpus(&mut self) {
        if self.limits.is_empty() {
            return;
        }
        let joined = Arc::clone(self.shared_join());
        let site = &self.options.site;
        let says = Says { rule: site.gpu_rule, thresholds: &site.thresholds };
        if self.limits.judge(&self.fabric, &joined, says, self.now) {
            self.unjudged = true;
        }
    }

    /// Runs the checks.
    pub(super) fn check(&mut self) {
        (self.judged_with, self.judged_at, self.unjudged) = (self.revision, self.now, false);
        let mut since = super::healthy::compare(self);
        if let Some(since) = &mut since {
            super::healthy::note_seen(self, since);
        }
        self.diagnosed = Diagnosed::of(self, since);
    }

    /// True if the checks ran with the last message: only then is all that is shown made of what is known now, so that a
    /// copy of it made later shows the same.
    pub fn is_just_checked(&self) -> bool {
        self.judged_with == self.revision
    }

    /// Makes again what is not kept with a model, after it was read from a file.
    pub fn restore(&mut self) {
        self.judge_gpus();
        if self.judged_with > 0 {
            self.diagnosed = Diagnosed::of(self, super::healthy::compare(self));
        }
        super::path::work_out(self);
    }

    /// To be told after each change of the fabric.
    pub fn fabric_changed(&mut self) {
        self.joined = OnceLock::new();
    }

    /// The target whose panels are shown: that of the selected row of the tree.
    pub fn selected_target(&self) -> Option<&TargetId> {
        self.screen.tree.selected.as_ref().map(super::selection::Node::target).or_else(|| self.order.first())
    }

    /// The time for which values are drawn: that of the newest sample of the selected target, or the moment at which the
    /// graphs were frozen. So a graph moves once for each sample, and not with the clock and with the samples of others;
    /// for a target that is silent time goes on, and its graphs run empty.
    pub fn shown_time(&self) -> Timestamp {
        if let Some(frozen) = self.screen.live.frozen {
            return frozen;
        }
        let newest = self.selected_target().and_then(|id| self.targets.get(id)).and_then(|target| target.last_sample);
        let recent = |at: &Timestamp| {
            let age = self.now.duration_since(*at);
            jiff::SignedDuration::try_from(self.options.period * 2).is_ok_and(|limit| age < limit)
        };
        newest.filter(recent).unwrap_or(self.now)
    }

    /// The moment under the cursor of the graphs; without a cursor their right edge.
    pub fn cursor_time(&self) -> Timestamp {
        let back = self.screen.live.cursor.map_or(0, i64::from);
        self.shown_time() - jiff::SignedDuration::from_secs(back)
    }

    /// The selected event: the newest one while none is chosen.
    pub fn selected_event(&self) -> Option<&Event> {
        let chosen = self.screen.events.selected;
        self.shown_events().rfind(|event| chosen.is_none_or(|number| event.number == number))
    }

    /// Where evidence comes from.
    pub fn sources(&self) -> Sources<'_> {
        Sources { fabric: &self.fabric, raw: &self.raw, columns: self.screen.columns }
    }

    /// The events that the filter lets pass, oldest first.
    pub fn shown_events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().filter(|event| {
            let target = event.target.as_ref().map_or("", |target| target.as_str());
            self.screen.panel_passes(&format!("{target} {}", event.text))
        })
    }
}
