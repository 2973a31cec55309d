//! A site made of raw text: each target is a set of outputs, read by the real parsers and joined by the real join. Tests of
//! checks begin here, so that a check that cannot be fed by what a target prints is noticed.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use super::{
    Answers, Check, Exhibit, Judged, Machine, MachineKind, Moved, Movements, Reached, Scene, Thresholds, examine,
};
use crate::config::GpuRule;
use crate::diagnose::cause::Found;
use crate::diagnose::document::reading_of;
use crate::diagnose::finding::Status;
use crate::diagnose::join::{Joined, NamedCable, join_declared};
use crate::diagnose::limit::{Limits, Says};
use crate::fabric::{
    EntityId, Fabric, Measured, Observation, ObservationRef, Outcome, Report, SourceId, TargetId, Text, Timestamp,
};
use crate::probe::switch::SwitchSystem;
use crate::probe::{Probe, esxi, linux};

/// Sites of raw text that a check must judge rightly. Each is a site of its own: what the check needs, as real outputs word
/// it, and no more.
#[derive(Clone, Copy)]
pub struct Samples {
    /// What the check says of the site in trouble: `Fail`, `Warn`, or `Info` for a check that only informs.
    pub says: Status,
    /// A site on which the check finds trouble.
    pub trouble: fn() -> Site,
    /// A site on which it finds none, as near to the one in trouble as can be. No other check fails on it.
    pub healthy: fn() -> Site,
    /// A site on which it cannot tell.
    pub unclear: fn() -> Site,
}

/// What one source gave.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    source: &'a str,
    stdout: &'a str,
    stderr: &'a str,
    status: i32,
}

/// A source that was read: its name, and what it printed.
pub const fn says<'a>(source: &'a str, stdout: &'a str) -> Output<'a> {
    Output { source, stdout, stderr: "", status: 0 }
}

/// A source that was read and that printed something on standard error too.
pub const fn says_with<'a>(source: &'a str, stdout: &'a str, stderr: &'a str) -> Output<'a> {
    Output { source, stdout, stderr, status: 0 }
}

/// A source that gave all of this: standard output, standard error, exit status.
pub const fn gave<'a>(source: &'a str, stdout: &'a str, stderr: &'a str, status: i32) -> Output<'a> {
    Output { source, stdout, stderr, status }
}

/// A source that could not be read: its name, the exit status, and what it printed on standard error.
pub const fn fails<'a>(source: &'a str, status: i32, stderr: &'a str) -> Output<'a> {
    Output { source, stdout: "", stderr, status }
}

/// The outputs in a file: each after a line `=== source status`, what was printed on standard error after a line
/// `--- stderr`.
fn outputs(text: &str) -> Vec<Output<'_>> {
    let blocks = text.strip_prefix("=== ").expect("a first source").split("\n=== ");
    blocks
        .map(|block| {
            let (head, body) = block.split_once('\n').unwrap_or((block, ""));
            let (source, status) = head.split_once(' ').expect("a name and a status");
            let (stdout, stderr) = match body.strip_prefix("--- stderr\n") {
                Some(stderr) => ("", stderr),
                None => body.split_once("\n--- stderr\n").unwrap_or((body, "")),
            };
            Output { source, stdout, stderr, status: status.parse().expect("a number") }
        })
        .collect()
}

/// A site under construction.
#[derive(Clone, Debug, Default)]
pub struct Site {
    fabric: Fabric,
    machines: BTreeMap<TargetId, Machine>,
    movements: Movements,
    thresholds: Thresholds,
    placement: crate::config::Declared,
    order: Vec<TargetId>,
    pairs: Vec<(TargetId, TargetId)>,
    declared: Vec<NamedCable>,
    raw: BTreeMap<ObservationRef, Arc<Observation>>,
    outputs: BTreeMap<TargetId, (&'static [Probe], BTreeMap<String, Kept>)>,
    limits: Limits,
    count: u64,
}

/// What one source gave, kept.
#[derive(Clone, Debug)]
struct Kept {
    stdout: String,
    stderr: String,
    status: i32,
}

impl Output<'_> {
    fn kept(&self) -> Kept {
        Kept { stdout: self.stdout.to_owned(), stderr: self.stderr.to_owned(), status: self.status }
    }
}

impl Site {
    /// An empty site.
    pub fn new() -> Self {
        Self::default()
    }

    /// Two hosts with two guests on PVRDMA, two on passed-through adapters and one on a virtual function, in good order.
    /// The texts have the form of real outputs; in a sample one of them is replaced, or a part of it.
    pub fn sound() -> Self {
        static SOUND: LazyLock<Site> = LazyLock::new(Site::read_sound);
        SOUND.clone()
    }

    fn read_sound() -> Self {
        let host = |site: Self, name, text| site.target(name, MachineKind::Host, esxi::PROBES, &outputs(text));
        let guest = |site: Self, name, text| site.target(name, MachineKind::Guest, linux::PROBES, &outputs(text));
        let site = host(Self::new(), "esx01", include_str!("testing/site/esx01.txt"));
        let site = host(site, "esx02", include_str!("testing/site/esx02.txt"));
        let site = guest(site, "pv-a", include_str!("testing/site/pv-a.txt"));
        let site = guest(site, "pv-b", include_str!("testing/site/pv-b.txt"));
        let site = guest(site, "hca-a", include_str!("testing/site/hca-a.txt"));
        let site = guest(site, "hca-b", include_str!("testing/site/hca-b.txt"));
        let site = guest(site, "vf-a", include_str!("testing/site/vf-a.txt"));
        let leaf = outputs(include_str!("testing/site/leaf1.txt"));
        site.switch("leaf1", SwitchSystem::Eos, &leaf).pair("pv-a", "pv-b").pair("hca-a", "hca-b")
    }

    /// A Linux guest that printed these outputs, by name of the source: `linux.rdma-link`.
    #[must_use]
    pub fn guest(self, name: &str, outputs: &[Output<'_>]) -> Self {
        self.target(name, MachineKind::Guest, linux::PROBES, outputs)
    }

    /// An ESXi host that printed these outputs, by name of the source: `esxi.version`.
    #[must_use]
    pub fn host(self, name: &str, outputs: &[Output<'_>]) -> Self {
        self.target(name, MachineKind::Host, esxi::PROBES, outputs)
    }

    /// A switch of this system that printed these outputs, by name of the source: `eos.interfaces`.
    #[must_use]
    pub fn switch(self, name: &str, system: SwitchSystem, outputs: &[Output<'_>]) -> Self {
        self.target(name, MachineKind::Switch, system.probes(), outputs)
    }

    /// The same site with rows of streams beside the ticks, in their order; the last thing that is said of a site.
    #[must_use]
    pub fn measured(self, rows: &[Measured]) -> Self {
        self.measured_by(GpuRule::default(), rows)
    }

    /// The same, judged by this rule.
    #[must_use]
    pub fn measured_by(mut self, rule: GpuRule, rows: &[Measured]) -> Self {
        for row in rows {
            if let Some(observation) = &row.observation {
                self.raw.insert(observation.reference(), Arc::clone(observation));
            }
            if !row.facts.is_empty() {
                self.fabric.apply_facts(&row.target, &SourceId::new(row.stream.as_str()), &row.facts);
            }
            self.limits.take(row);
            let joined = self.joined();
            let says = Says { rule, thresholds: &self.thresholds };
            self.limits.judge(&self.fabric, &joined, says, row.at);
        }
        self
    }

    /// What limits its GPUs.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Two guests that are to talk to each other.
    #[must_use]
    pub fn pair(mut self, one: &str, other: &str) -> Self {
        self.pairs.push((TargetId::new(one), TargetId::new(other)));
        self
    }

    /// An inventory that says where an uplink of a host is plugged in.
    #[must_use]
    pub fn plugged(mut self, host: &str, uplink: &str, switch: &str, port: &str) -> Self {
        self.declared.push(NamedCable {
            host: TargetId::new(host),
            uplink: uplink.to_owned(),
            switch: TargetId::new(switch),
            port: port.to_owned(),
        });
        self
    }

    /// A target whose clock is ahead of ours by so many milliseconds, give or take one.
    #[must_use]
    pub fn clock_ahead(self, name: &str, milliseconds: i64) -> Self {
        self.clock(name, (milliseconds, 1))
    }

    /// A target whose clock was measured: by how many milliseconds it is ahead of ours, and by how much that may be wrong.
    #[must_use]
    pub fn clock(mut self, name: &str, measured: (i64, u64)) -> Self {
        if let Some(machine) = self.machines.get_mut(&TargetId::new(name)) {
            machine.clock = Some(measured);
        }
        self
    }

    /// A target of the inventory that did not answer.
    #[must_use]
    pub fn unreached(mut self, name: &str, kind: MachineKind, why: &str) -> Self {
        self.enlist(name, kind, Reached::No(Text::new(why)));
        self
    }

    /// A counter that was read twice.
    #[must_use]
    pub fn moved(mut self, counter: EntityId, by: u64, seconds: u64) -> Self {
        self.movements.0.insert(counter, Moved { by, over: Duration::from_secs(seconds) });
        self
    }

    /// A threshold that the site set.
    #[must_use]
    pub fn with_threshold(mut self, key: &str, value: f64) -> Self {
        self.thresholds.set(key, value);
        self
    }

    /// What the configuration file declares: its text without the targets, which are the hosts of the site.
    #[must_use]
    pub fn declaring(mut self, text: &str) -> Self {
        let hosts = self.machines.iter().filter(|(_, machine)| machine.kind == MachineKind::Host);
        let hosts: Vec<String> =
            hosts.map(|(target, _)| format!("[[target]]\nname = \"{target}\"\nkind = \"esxi\"\n")).collect();
        let text = format!("{}{text}", hosts.concat());
        let configuration = crate::config::Configuration::parse("config.toml", &text).expect("a right configuration");
        self.placement = configuration.declared;
        self
    }

    fn enlist(&mut self, name: &str, kind: MachineKind, reached: Reached) -> TargetId {
        let target = TargetId::new(name);
        let machine = Machine { kind, reached, answers: Answers::default(), clock: None };
        self.machines.insert(target.clone(), machine);
        self.order.push(target.clone());
        target
    }

    /// Reads these outputs with every probe of which at least one source is there. The other sources of such a probe were
    /// not run: no shell found their programs.
    fn target(mut self, name: &str, kind: MachineKind, probes: &'static [Probe], outputs: &[Output<'_>]) -> Self {
        let target = self.enlist(name, kind, Reached::Yes);
        let given = outputs.iter().map(|output| (output.source.to_owned(), output.kept()));
        self.outputs.insert(target.clone(), (probes, given.collect()));
        self.read(&target);
        self
    }

    /// The same site, but this source of a target printed something else.
    #[must_use]
    pub fn with(mut self, name: &str, output: Output<'_>) -> Self {
        let target = TargetId::new(name);
        let (_, outputs) = self.outputs.get_mut(&target).expect("a target of the site");
        outputs.insert(output.source.to_owned(), output.kept());
        self.read(&target);
        self
    }

    /// The same site, but in what a source of a target printed one text stands in the place of another.
    #[must_use]
    pub fn replacing(self, name: &str, source: &str, text: &str, by: &str) -> Self {
        let (_, outputs) = &self.outputs[&TargetId::new(name)];
        let kept = outputs[source].clone();
        assert!(kept.stdout.contains(text), "{source} of {name} holds no {text:?}: {}", kept.stdout);
        let stdout = kept.stdout.replace(text, by);
        self.with(name, Output { source, stdout: &stdout, stderr: &kept.stderr, status: kept.status })
    }

    /// What a source of a target printed.
    pub fn printed(&self, name: &str, source: &str) -> String {
        self.outputs[&TargetId::new(name)].1[source].stdout.clone()
    }

    /// The same site, but a source of a target was never run.
    #[must_use]
    pub fn without(mut self, name: &str, source: &str) -> Self {
        let target = TargetId::new(name);
        let (_, outputs) = self.outputs.get_mut(&target).expect("a target of the site");
        assert!(outputs.remove(source).is_some(), "{name} has no {source}");
        self.read(&target);
        self
    }

    /// The same site, but all VMs of one host run on another one.
    #[must_use]
    pub fn moving_vms(mut self, from: &str, to: &str) -> Self {
        let (from, to) = (TargetId::new(from), TargetId::new(to));
        let (_, theirs) = self.outputs[&from].clone();
        let (_, ours) = self.outputs.get_mut(&to).expect("a target of the site");
        for source in ["vm-list", "vm-processes", "vm-summary", "vm-configs", "vm-devices", "vm-snapshots", "vmx-files"]
        {
            let source = format!("esxi.{source}");
            let (theirs, ours) = (&theirs[&source], ours.get_mut(&source).expect("a source of VMs"));
            let rows = if source == "esxi.vm-list" {
                theirs.stdout.split_once('\n').map_or("", |(_, rows)| rows)
            } else {
                &theirs.stdout
            };
            ours.stdout = format!("{}\n{rows}", ours.stdout.trim_end());
            ours.stderr = format!("{}\n{}", ours.stderr.trim_end(), theirs.stderr);
        }
        // Their adapters are on ports of the same switch.
        for (source, first) in
            [("esxi.distributed-switches", "         Client: pv-"), ("esxi.net-dvs-list", "\tport 17:")]
        {
            let text = &theirs[source].stdout;
            let rows = &text[text.find(first).expect("a port of a VM")..];
            let ours = ours.get_mut(source).expect("the switches");
            ours.stdout = format!("{}\n{rows}", ours.stdout.trim_end());
        }
        let (_, theirs) = self.outputs.get_mut(&from).expect("a target of the site");
        for source in ["vm-list", "vm-processes", "vm-summary", "vm-configs", "vm-devices", "vm-snapshots", "vmx-files"]
        {
            let kept = theirs.get_mut(&format!("esxi.{source}")).expect("a source of VMs");
            (kept.stdout, kept.stderr) = (String::new(), String::new());
        }
        self.read(&from);
        self.read(&to);
        self
    }

    /// The same site without a target.
    #[must_use]
    pub fn without_target(mut self, name: &str) -> Self {
        let target = TargetId::new(name);
        self.fabric.forget(&target);
        self.machines.remove(&target);
        self.outputs.remove(&target);
        self.order.retain(|other| *other != target);
        self.raw.retain(|reference, _| reference.target != target);
        self
    }

    /// The same site, but a target did not answer.
    #[must_use]
    pub fn silent(self, name: &str, why: &str) -> Self {
        let kind = self.machines[&TargetId::new(name)].kind;
        self.without_target(name).unreached(name, kind, why)
    }

    fn read(&mut self, target: &TargetId) {
        self.fabric.forget(target);
        self.raw.retain(|reference, _| reference.target != *target);
        let (probes, outputs) = &self.outputs[target];
        let mut used = Vec::new();
        for probe in *probes {
            if !probe.sources.iter().any(|source| outputs.contains_key(source.name)) {
                continue;
            }
            let observations: Vec<Arc<Observation>> = probe
                .sources
                .iter()
                .map(|source| {
                    let missing = Kept { stdout: String::new(), stderr: "not found".to_owned(), status: 127 };
                    let output = outputs.get(source.name).unwrap_or(&missing);
                    used.push(source.name);
                    let mut observation = Observation::of_text(source.name, &output.stdout)
                        .with_stderr(&output.stderr)
                        .with_outcome(Outcome::Exit(output.status));
                    observation.target = target.clone();
                    self.count += 1;
                    observation.sequence = self.count;
                    Arc::new(observation)
                })
                .collect();
            if let Some(machine) = self.machines.get_mut(target) {
                for observation in &observations {
                    machine.answers.take(observation);
                }
            }
            for observation in &observations {
                self.raw.insert(observation.reference(), Arc::clone(observation));
            }
            let facts = (probe.parse)(&observations);
            self.fabric.apply(&Report {
                target: target.clone(),
                probe: SourceId::new(probe.name),
                observations,
                facts,
            });
        }
        for source in outputs.keys() {
            assert!(used.contains(&source.as_str()), "no probe has a source named {source}");
        }
    }

    /// What was read of each target, as a poller reports it.
    pub fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for (target, (probes, _)) in &self.outputs {
            for probe in *probes {
                let of = |name: &str| {
                    self.raw.values().find(|one| one.target == *target && one.source.as_str() == name).cloned()
                };
                let observations: Option<Vec<_>> = probe.sources.iter().map(|source| of(source.name)).collect();
                let Some(observations) = observations.filter(|all| !all.is_empty()) else { continue };
                let facts = (probe.parse)(&observations);
                let (target, probe) = (target.clone(), SourceId::new(probe.name));
                reports.push(Report { target, probe, observations, facts });
            }
        }
        reports
    }

    /// True if an exhibit stands on a line of an output that is at hand.
    pub fn leads_to_a_line(&self, exhibit: &Exhibit) -> bool {
        reading_of(exhibit, &self.fabric).is_some_and(|reading| {
            let lines = self.raw.get(&reading.source).map_or(0, |one| one.stdout.lines().count());
            let line = reading.line.saturating_add(exhibit.below);
            reading.line > 0 && usize::try_from(line).is_ok_and(|line| line <= lines)
        })
    }

    /// What this check says of the site.
    pub fn judge(&self, check: &Check) -> Vec<Judged> {
        let joined = self.joined();
        (check.judge)(&self.scene(&joined))
    }

    /// What all checks say of the site.
    pub fn examine(&self) -> Vec<Found> {
        let joined = self.joined();
        examine(&self.scene(&joined))
    }

    /// The statuses that a check gives, in the order of its subjects.
    pub fn statuses(&self, check: &Check) -> Vec<Status> {
        self.judge(check).into_iter().map(|judged| judged.status).collect()
    }

    /// What belongs together on this site.
    pub fn joined(&self) -> Joined {
        join_declared(&self.fabric, &self.order, &self.declared)
    }

    /// The raw output behind a reading.
    pub fn raw(&self, reference: &ObservationRef) -> Option<&Arc<Observation>> {
        self.raw.get(reference)
    }

    /// All outputs of all targets.
    pub fn observations(&self) -> impl Iterator<Item = &Arc<Observation>> {
        self.raw.values()
    }

    /// What is known of it.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The site as checks see it.
    pub fn scene<'a>(&'a self, joined: &'a Joined) -> Scene<'a> {
        Scene {
            fabric: &self.fabric,
            joined,
            machines: &self.machines,
            pairs: &self.pairs,
            movements: &self.movements,
            thresholds: &self.thresholds,
            declared: &self.placement,
            limits: &self.limits,
            now: Timestamp::UNIX_EPOCH,
            judged: None,
            kept: None,
        }
    }
}
