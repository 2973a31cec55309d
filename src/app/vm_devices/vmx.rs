//! The VMX of a VM as it was read on its host: its lines, with what the rules find at each.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Origin, Row, RowKey};
use crate::diagnose::lint::{Finding, HostView, PowerOn, Severity, Subject, Verdict, lint};
use crate::fabric::{Attribute, Entity, EntityId, Observation, SourceId, TargetId, Value};
use crate::probe::vmx::Dictionary;
use crate::probe::{ITEM, STATUS};

/// The sources that read the VMX files of a host: all of them, or the one of an archive.
const SOURCES: [&str; 2] = ["esxi.vmx-files", "esxi.vmx"];

/// The file, within what was read of all VMs of the host.
#[derive(Clone, Debug)]
pub(super) struct File {
    observation: Arc<Observation>,
    items: Arc<Items>,
    at: usize,
}

/// One file of what was read.
#[derive(Debug)]
struct Item {
    path: String,
    /// Lines of output before the first one of the file.
    before: u32,
    text: String,
}

/// All files of what was read, by their paths and by the ends of these.
#[derive(Debug, Default)]
struct Items {
    all: Vec<Item>,
    by_path: HashMap<String, usize>,
    by_tail: HashMap<String, usize>,
}

impl Items {
    fn of(observation: &Observation) -> Self {
        let mut items = Self::default();
        let mut open = false;
        for (number, line) in observation.lines() {
            if let Some(name) = line.strip_prefix(ITEM).and_then(|rest| rest.strip_prefix(' ')) {
                let path = path(name);
                items.by_path.entry(path.clone()).or_insert(items.all.len());
                items.by_tail.entry(tail(&path)).or_insert(items.all.len());
                items.all.push(Item { path, before: number, text: String::new() });
                open = true;
            } else if line.strip_prefix(STATUS).is_some_and(|rest| rest.starts_with(' ')) {
                open = false;
            } else if let Some(item) = items.all.last_mut().filter(|_| open) {
                item.text.push_str(line);
                item.text.push('\n');
            }
        }
        items
    }
}

/// What was made of the files of each host: kept until they are read anew, for rows are made at every key and every second.
/// What is kept says nothing that could not be made again, so a copy of the model begins without it.
#[derive(Debug, Default)]
pub struct Cache(Mutex<BTreeMap<TargetId, Kept>>);

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Debug)]
struct Kept {
    of: Arc<Observation>,
    items: Arc<Items>,
    judged: BTreeMap<EntityId, Judged>,
}

/// What the rules found in the file of a VM, and what they looked at beside it.
#[derive(Debug)]
struct Judged {
    path: String,
    host: Option<HostView>,
    snapshots: Option<u64>,
    shown: Arc<[Shown]>,
}

impl Cache {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<TargetId, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was made of the files of a target.
    pub fn forget(&self, target: &TargetId) {
        self.kept().remove(target);
    }

    /// The files of what was read of a host.
    fn items(&self, target: &TargetId, observation: &Arc<Observation>) -> Arc<Items> {
        let mut kept = self.kept();
        match kept.get(target).filter(|kept| Arc::ptr_eq(&kept.of, observation)) {
            Some(kept) => kept.items.clone(),
            None => {
                let items = Arc::new(Items::of(observation));
                let fresh = Kept { of: observation.clone(), items: items.clone(), judged: BTreeMap::new() };
                kept.insert(target.clone(), fresh);
                items
            }
        }
    }
}

/// A path as the shell of the host knows it: `[ds] vm/vm.vmx` is `/vmfs/volumes/ds/vm/vm.vmx`.
fn path(text: &str) -> String {
    match text.trim().strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((datastore, rest)) => format!("/vmfs/volumes/{datastore}/{rest}"),
        None => text.trim().to_owned(),
    }
}

/// The last two parts of a path: a datastore has a name and a UUID, and either may stand before them.
fn tail(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}

impl File {
    /// The file of a VM, if it was read and is still at hand.
    pub(super) fn of(model: &Model, vm: &EntityId) -> Option<Self> {
        let wanted = path(model.fabric.text(vm, Attribute::VmxPath)?);
        let newest = |source: &&str| model.raw.newest(&vm.target, &SourceId::new(source)).cloned();
        let observation = SOURCES.iter().find_map(newest)?;
        let items = model.vmx_files.items(&vm.target, &observation);
        let at = *items.by_path.get(&wanted).or_else(|| items.by_tail.get(&tail(&wanted)))?;
        Some(Self { observation, items, at })
    }

    fn item(&self) -> Option<&Item> {
        self.items.all.get(self.at)
    }

    fn text(&self) -> &str {
        self.item().map_or("", |item| &item.text)
    }

    /// What would happen at power-on, and what the rules find beside this host.
    pub(super) fn findings(&self, model: &Model, vm: &EntityId, host: Option<&HostView>) -> Arc<[Shown]> {
        let snapshots = model.fabric.value(vm, Attribute::SnapshotCount).and_then(Value::as_count);
        let path = self.item().map_or("", |item| &item.path);
        let of_this = |kept: &&mut Kept| Arc::ptr_eq(&kept.of, &self.observation);
        let is_same =
            |judged: &&Judged| judged.path == path && judged.host.as_ref() == host && judged.snapshots == snapshots;
        if let Some(kept) = model.vmx_files.kept().get_mut(&vm.target).filter(of_this)
            && let Some(judged) = kept.judged.get(vm).filter(is_same)
        {
            return judged.shown.clone();
        }
        let shown = self.judged(vm, host, snapshots);
        if let Some(kept) = model.vmx_files.kept().get_mut(&vm.target).filter(of_this) {
            let judged = Judged { path: path.to_owned(), host: host.cloned(), snapshots, shown: shown.clone() };
            kept.judged.insert(vm.clone(), judged);
        }
        shown
    }

    fn judged(&self, vm: &EntityId, host: Option<&HostView>, snapshots: Option<u64>) -> Arc<[Shown]> {
        let dictionary = Dictionary::parse(self.text().as_bytes());
        let subject = Subject { vmx: &dictionary, host, snapshots };
        let findings = lint(&subject);
        let power_on = self.power_on(vm, &PowerOn::of(&subject, &findings));
        std::iter::once(power_on).chain(findings.iter().map(|finding| self.shown(vm, finding))).collect()
    }

    fn power_on(&self, vm: &EntityId, power_on: &PowerOn) -> Shown {
        let gravity = if power_on.verdict == Verdict::Fails { Gravity::Bad } else { Gravity::Neutral };
        let text = format!("power-on: {}: {}", power_on.verdict.name(), power_on.reason);
        let cell = Cell { text, gravity, source: Some(self.origin(0)) };
        Shown { entity: vm.entity.clone(), line: None, label: "VMX".to_owned(), cell }
    }

    fn shown(&self, vm: &EntityId, finding: &Finding) -> Shown {
        let found = &finding.found;
        let fails = found.power_on_fails.as_ref().map(|why| format!("; power-on fails: {why}")).unwrap_or_default();
        Shown {
            entity: vm.entity.clone(),
            line: found.line,
            label: match (&found.line, &found.key) {
                (Some(line), _) => format!("VMX line {line}"),
                (None, Some(key)) => key.clone(),
                (None, None) => "VMX".to_owned(),
            },
            cell: Cell {
                text: format!("{} ({}){fails}", found.message, finding.rule.id),
                gravity: match finding.rule.severity {
                    Severity::Error => Gravity::Bad,
                    Severity::Warning => Gravity::Warning,
                    Severity::Info => Gravity::Neutral,
                },
                source: Some(self.origin(found.line.unwrap_or(0))),
            },
        }
    }

    /// Where a line of the file stands in what was read.
    fn origin(&self, line: u32) -> Origin {
        let before = self.item().map_or(0, |item| item.before);
        Origin::Line(self.observation.reference(), before + line)
    }

    /// Its lines, each with the findings at it; what is said of no line comes first.
    pub(super) fn rows(&self, model: &Model, vm: &EntityId, findings: &[Shown]) -> Vec<Row> {
        let mut at: BTreeMap<u32, Vec<&Shown>> = BTreeMap::new();
        for finding in findings {
            at.entry(finding.line.unwrap_or(0)).or_default().push(finding);
        }
        let row = |number: u32, label: String, cells: Vec<Cell>| Row {
            key: RowKey::Entity(vm.entity.clone(), format!("vmx-{number}").into()),
            label,
            cells,
        };
        let of = |number: u32| {
            at.get(&number).into_iter().flatten().map(|finding| finding.cell.clone()).map(|mut cell| {
                cell.text = format!("← {}", cell.text);
                cell
            })
        };
        let old = super::super::host_binding::age(self.observation.at, model.now);
        let mut rows = Vec::new();
        let read = Cell {
            text: format!("{} lines{old}", self.text().lines().count()),
            gravity: Gravity::Neutral,
            source: Some(self.origin(0)),
        };
        rows.push(row(0, "read".to_owned(), [read].into_iter().chain(of(0)).collect()));
        for (number, line) in (1u32..).zip(self.text().lines()) {
            let text = crate::fabric::text::clean_line(line);
            let cell = Cell { text, gravity: Gravity::Neutral, source: Some(self.origin(number)) };
            rows.push(row(number, number.to_string(), [cell].into_iter().chain(of(number)).collect()));
        }
        rows
    }
}

/// A finding as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    entity: Entity,
    line: Option<u32>,
    label: String,
    cell: Cell,
}

/// Findings that are worth a look before everything else.
pub(super) fn attention(findings: &[Shown]) -> Vec<Row> {
    findings
        .iter()
        .filter(|finding| finding.cell.gravity >= Gravity::Warning)
        .map(|finding| Row {
            key: RowKey::Entity(finding.entity.clone(), "finding".into()),
            label: finding.label.clone(),
            cells: vec![finding.cell.clone()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::TargetKind;
    use crate::app::model::{Options, Target};

    use crate::fabric::{Fact, ObservationRef, Reading, State, Timestamp};

    /// A host with two VMs, of which the second has a line that assigns nothing.
    fn model() -> (Model, EntityId, EntityId) {
        let host = TargetId::new("esx1");
        let mut model =
            Model::new(vec![(host.clone(), Target::new(TargetKind::Esxi))], Options::default(), Timestamp::UNIX_EPOCH);
        let source = ObservationRef { target: host.clone(), source: SourceId::new("test"), sequence: 1 };
        let vm = |uuid: &str| Entity::Vm(uuid.into());
        let facts: Vec<Fact> = ["a", "b"]
            .iter()
            .map(|name| Fact {
                entity: vm(name),
                attribute: Attribute::VmxPath,
                reading: Reading {
                    state: State::Known(format!("[ds] {name}/{name}.vmx").as_str().into()),
                    at: Timestamp::UNIX_EPOCH,
                    source: source.clone(),
                    line: 0,
                },
            })
            .collect();
        model.fabric.apply_facts(&host, &SourceId::new("test"), &facts);
        (model, EntityId::new(&host, vm("a")), EntityId::new(&host, vm("b")))
    }

    fn read(model: &mut Model, sequence: u64, second: &str) {
        let text = format!(
            "{ITEM} /vmfs/volumes/ds/a/a.vmx\nmemSize = \"4096\"\n{STATUS} 0\n\
             {ITEM} /vmfs/volumes/0123-uuid/b/b.vmx\n{second}\n{STATUS} 0\n"
        );
        let mut observation = Observation::of_text(SOURCES[0], &text);
        observation.target = TargetId::new("esx1");
        observation.sequence = sequence;
        model.raw.keep(&Arc::new(observation));
    }

    #[test]
    fn a_file_is_judged_once_for_each_time_that_it_was_read() {
        let (mut model, first, second) = model();
        assert!(File::of(&model, &first).is_none(), "nothing was read");
        read(&mut model, 1, "memSize \"4096\"");
        let judge = |model: &Model, vm: &EntityId, host: Option<&HostView>| {
            File::of(model, vm).expect("it was read").findings(model, vm, host)
        };
        let texts = |found: &[Shown]| found.iter().map(|one| one.cell.text.clone()).collect::<Vec<_>>().join("\n");
        let (a, b) = (judge(&model, &first, None), judge(&model, &second, None));
        assert!(!texts(&a).contains("vmx.no-equals") && texts(&b).contains("vmx.no-equals"), "{}", texts(&b));
        assert!(matches!(&b[1].cell.source, Some(Origin::Line(_, 5))), "{:?}", b[1].cell.source);
        assert!(Arc::ptr_eq(&a, &judge(&model, &first, None)) && Arc::ptr_eq(&b, &judge(&model, &second, None)));
        // Another host, or another text, is another thing.
        let host = HostView { version: Some("7.0.3".to_owned()), ..HostView::default() };
        assert!(!Arc::ptr_eq(&b, &judge(&model, &second, Some(&host))));
        read(&mut model, 2, "memSize = \"4096\"");
        assert!(!texts(&judge(&model, &second, Some(&host))).contains("vmx.no-equals"));
        assert!(!texts(&judge(&model.clone(), &second, None)).contains("vmx.no-equals"));
    }
}
