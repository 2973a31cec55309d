//! Reads back what `snapshot --format json` wrote: the facts of its targets, as if they had just been read. What a newer
//! program says in kinds and attributes that this one does not know is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::app::Problem;
use crate::fabric::{
    Attribute, Entity, Fabric, Fact, Gid, GidType, LinkLayer, MacAddress, Observation, ObservationRef, Outcome,
    PhysicalState, PortState, QueuePairState, QueuePairType, Reading, Report, SourceId, State, TargetId, Text,
    Timestamp, Value,
};

/// The schema that is read.
const SCHEMA: &str = "rdmascope.snapshot/1";

/// All facts of a snapshot are told as by one probe of this name.
const PROBE: &str = "snapshot";

/// Stands for the output of the commands: a snapshot holds what was made of it only.
pub const NO_OUTPUT: &str = "(a snapshot holds values only: what this command printed, and how it ended, is not in it)";

/// One target of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTarget {
    /// Its name.
    pub name: TargetId,
    /// What it was: `linux`, `esxi`, `switch`, `local`, `unknown`.
    pub kind: String,
    /// True if it could be read at all.
    pub reachable: bool,
    /// What went wrong when it was read, if something did.
    pub problem: Option<Problem>,
    /// Its facts, and the commands that they were read by, whose output is not known any more.
    pub report: Report,
}

impl SavedTarget {
    /// The facts as those of a target of another name.
    pub fn report_as(&self, target: &TargetId) -> Report {
        let mut report = self.report.clone();
        report.target = target.clone();
        for fact in &mut report.facts {
            fact.reading.source.target = target.clone();
        }
        for observation in &mut report.observations {
            Arc::make_mut(observation).target = target.clone();
        }
        report
    }
}

/// A snapshot as it was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedSnapshot {
    /// When the collection began.
    pub at: Timestamp,
    /// The version of the program that wrote it.
    pub version: Option<Text>,
    /// Its targets, in their order.
    pub targets: Vec<SavedTarget>,
    /// All that was known.
    pub fabric: Fabric,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

#[derive(Deserialize)]
struct Document {
    at: Timestamp,
    #[serde(default)]
    rdmascope: Option<String>,
    targets: Vec<TargetDocument>,
}

#[derive(Deserialize)]
struct TargetDocument {
    name: String,
    kind: String,
    reachable: bool,
    #[serde(default)]
    problem: Option<Problem>,
    facts: BTreeMap<String, BTreeMap<String, FactDocument>>,
}

#[derive(Deserialize)]
struct FactDocument {
    state: String,
    #[serde(default)]
    value: Json,
    #[serde(default)]
    why: Option<String>,
    at: Timestamp,
    source: String,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    /// The line itself; healthy snapshots keep it.
    #[serde(default)]
    said: Option<String>,
}

/// Reads a document; the error says in words what it is instead.
pub fn read(text: &str) -> Result<SavedSnapshot, String> {
    let no_snapshot =
        || format!("it is no snapshot ({SCHEMA}), as `rdmascope snapshot --format json --out FILE` writes");
    let damaged = |error: &serde_json::Error| format!("it is a damaged snapshot: {}", Text::new(&error.to_string()));
    let head: Head = serde_json::from_str(text).map_err(|error| {
        // What is no whole document can still say what it was to be.
        let begin = text.get(..text.floor_char_boundary(256)).unwrap_or_default();
        if begin.contains("\"rdmascope.snapshot/") { damaged(&error) } else { no_snapshot() }
    })?;
    if head.schema != SCHEMA {
        let what = Text::new(&head.schema);
        return Err(match head.schema.strip_prefix("rdmascope.snapshot/") {
            Some(_) => format!("its schema is {what}; this program reads {SCHEMA}"),
            None => no_snapshot(),
        });
    }
    let document: Document = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    let version = document.rdmascope.as_deref().map(Text::new);
    let mut fabric = Fabric::default();
    let mut targets = Vec::new();
    for target in document.targets {
        let name = TargetId::new(&target.name);
        let mut reads =
            Reads { target: &name, observations: Vec::new(), numbers: BTreeMap::new(), lines: BTreeMap::new() };
        let mut facts: Vec<Fact> = Vec::new();
        for (key, attributes) in &target.facts {
            let Some(entity) = Entity::from_key(key) else { continue };
            for (attribute, fact) in attributes {
                let Some(attribute) = Attribute::from_name(attribute) else { continue };
                let Some(state) = state(attribute, fact) else { continue };
                let reading = Reading { state, at: fact.at, source: reads.of(fact), line: fact.line.unwrap_or(0) };
                facts.push(Fact { entity: entity.clone(), attribute, reading });
            }
        }
        let observations = reads.finish();
        let report = Report { target: name.clone(), probe: SourceId::new(PROBE), observations, facts };
        fabric.apply(&report);
        let TargetDocument { kind, reachable, problem, .. } = target;
        targets.push(SavedTarget { name, kind, reachable, problem, report });
    }
    Ok(SavedSnapshot { at: document.at, version, targets, fabric })
}

/// The reads that the facts of a target came from, made again from what the facts say of them.
struct Reads<'a> {
    target: &'a TargetId,
    observations: Vec<Arc<Observation>>,
    /// The number of each read, by its source, its command and its time.
    numbers: BTreeMap<(&'a str, &'a str, Timestamp), u64>,
    /// The lines that were kept of each.
    lines: BTreeMap<u64, BTreeMap<u32, Text>>,
}

impl<'a> Reads<'a> {
    /// The read that a fact came from; number 0 where its command is not known.
    fn of(&mut self, fact: &'a FactDocument) -> ObservationRef {
        let source = SourceId::new(Text::new(&fact.source).as_str());
        let Some(command) = fact.command.as_deref() else {
            return ObservationRef { target: self.target.clone(), source, sequence: 0 };
        };
        let next = self.numbers.len() as u64 + 1;
        let sequence = *self.numbers.entry((&fact.source, command, fact.at)).or_insert(next);
        if sequence == next {
            self.observations.push(Arc::new(Observation {
                target: self.target.clone(),
                source: source.clone(),
                sequence,
                command: Arc::from(Text::new(command).as_str()),
                at: fact.at,
                duration: None,
                outcome: Outcome::Exit(0),
                stdout: Arc::from(NO_OUTPUT),
                stderr: Arc::from(""),
                cut: 0,
            }));
        }
        if let (Some(line), Some(said)) = (fact.line, &fact.said) {
            self.lines.entry(sequence).or_default().insert(line, Text::new(said));
        }
        ObservationRef { target: self.target.clone(), source, sequence }
    }

    /// All of them, with the lines that were kept as their output.
    fn finish(mut self) -> Vec<Arc<Observation>> {
        for observation in &mut self.observations {
            if let Some(lines) = self.lines.get(&observation.sequence) {
                let lines: Vec<String> = lines.iter().map(|(line, said)| format!("line {line}: {said}")).collect();
                let text = lines.join("\n") + "\n";
                Arc::make_mut(observation).stdout = Arc::from(text);
            }
        }
        self.observations
    }
}

/// The state of a fact; `None` if it is one that this program does not know.
fn state(attribute: Attribute, fact: &FactDocument) -> Option<State<Value>> {
    // The document says why in a whole sentence; of that the part that was the target's own is taken back.
    let why = |before: &str, after: &str| {
        let text = fact.why.as_deref().unwrap_or_default();
        Text::new(text.strip_prefix(before).unwrap_or(text).trim_end_matches(after))
    };
    Some(match fact.state.as_str() {
        "known" => State::Known(value(attribute, &fact.value)?),
        "empty" => State::Empty,
        "not-available" => State::NotAvailable,
        "not-published" => State::NotPublished(why("not published by ", "")),
        "not-observable" => State::NotObservable(why("not observable: ", "")),
        "needs-privilege" => State::NeedsPrivilege(why("needs privilege: ", "")),
        "not-installed" => State::NotInstalled(why("", " is not installed")),
        "failed" => State::Failed(why("failed: ", "")),
        _ => return None,
    })
}

fn value(attribute: Attribute, json: &Json) -> Option<Value> {
    Some(match json {
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => match number.as_u64() {
            Some(count) => Value::Count(count),
            None => Value::Signed(number.as_i64()?),
        },
        Json::Array(list) => Value::List(list.iter().map(|item| item.as_str().map(Text::new)).collect::<Option<_>>()?),
        Json::String(text) => match attribute {
            Attribute::PortState => PortState::from_word(text).into(),
            Attribute::PhysicalState => PhysicalState::from_word(text).into(),
            Attribute::LinkLayer => LinkLayer::from_word(text).into(),
            Attribute::GidType => GidType::from_word(text).into(),
            Attribute::QueuePairState => QueuePairState::from_word(text).into(),
            Attribute::QueuePairType => QueuePairType::from_word(text).into(),
            Attribute::GidValue => text.parse::<Gid>().ok()?.into(),
            Attribute::HardwareAddress => text.parse::<MacAddress>().map_or_else(|_| text.as_str().into(), Value::from),
            Attribute::MemlockSoft | Attribute::MemlockHard | Attribute::MemoryLimit | Attribute::CpuLimit
                if text == "unlimited" =>
            {
                Value::Count(u64::MAX)
            }
            _ => text.as_str().into(),
        },
        Json::Null | Json::Object(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::EntityId;
    use crate::probe::testing;

    const SAVED: &str = r#"{
      "schema": "rdmascope.snapshot/1", "at": "2026-11-30T07:00:00Z", "rdmascope": "0.1.0",
      "targets": [{
        "name": "esx1", "kind": "esxi", "reachable": true, "problem": null, "counters": {},
        "facts": {
          "moon/1": { "hostname": { "state": "known", "value": "x", "unit": null, "why": null, "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": 1 } },
          "guest": {
            "hostname": { "state": "known", "value": "esx1\u001b[2J", "unit": null, "why": null, "at": "2026-11-30T07:00:01Z", "source": "esxi.host", "command": "hostname", "line": 1 },
            "processor-count": { "state": "known", "value": 64, "unit": "count", "why": null, "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": null },
            "machine-id": { "state": "not-installed", "value": null, "unit": null, "why": "cat is not installed", "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": null },
            "boot-id": { "state": "lost", "value": null, "unit": null, "why": "x", "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": null },
            "of-tomorrow": { "state": "known", "value": 1, "unit": null, "why": null, "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": null }
          },
          "rdma-port/rxe0/1": { "port-state": { "state": "known", "value": "ACTIVE", "unit": null, "why": null, "at": "2026-11-30T07:00:01Z", "source": "s", "command": null, "line": 4 } }
        }
      }],
      "links": []
    }"#;

    #[test]
    fn facts_come_back_as_they_were() {
        let saved = read(SAVED).expect("a snapshot");
        let target = TargetId::new("esx1");
        let [saved_target] = &saved.targets[..] else { panic!("one target") };
        assert_eq!((&saved_target.name, saved_target.kind.as_str(), saved_target.reachable), (&target, "esxi", true));
        let guest = EntityId::new(&target, Entity::Guest);
        let host_name = saved.fabric.text(&guest, Attribute::Hostname).expect("known");
        assert!(host_name.starts_with("esx1") && !host_name.chars().any(char::is_control), "{host_name:?}");
        assert_eq!(saved.fabric.value(&guest, Attribute::ProcessorCount), Some(&Value::Count(64)));
        let machine = saved.fabric.reading(&guest, Attribute::MachineId).map(|reading| reading.state.clone());
        assert_eq!(machine, Some(State::NotInstalled(Text::new("cat"))));
        assert!(saved.fabric.reading(&guest, Attribute::BootId).is_none());
        let port = EntityId::new(&target, Entity::port("rxe0", 1));
        let reading = saved.fabric.reading(&port, Attribute::PortState).expect("known");
        assert_eq!((reading.state.known(), reading.line), (Some(&PortState::Active.into()), 4));
    }

    #[test]
    fn commands_and_times_come_back_under_another_name() {
        let saved = read(SAVED).expect("a snapshot");
        let other = TargetId::new("offline:a.json");
        let report = saved.targets[0].report_as(&other);
        let [read] = &report.observations[..] else { panic!("one command is known") };
        assert_eq!((&*read.command, read.at.to_string().as_str()), ("hostname", "2026-11-30T07:00:01Z"));
        assert!(read.stdout.contains("is not in it"));
        let fact = report.facts.iter().find(|fact| fact.attribute == Attribute::Hostname).expect("it is there");
        assert_eq!(fact.reading.source, read.reference());
        assert_eq!(fact.reading.at, read.at);
        let targets: Vec<&TargetId> = report.facts.iter().map(|fact| &fact.reading.source.target).collect();
        assert!(targets.iter().all(|target| **target == other) && report.target == other, "{targets:?}");
        let unread = report.facts.iter().find(|fact| fact.attribute == Attribute::MachineId).expect("it is there");
        assert_eq!(unread.reading.source.sequence, 0, "its command is not known");
    }

    #[test]
    fn what_is_no_snapshot_is_told() {
        let error = |text: &str| read(text).expect_err("no snapshot");
        assert!(error("memsize = \"4\"").contains("it is no snapshot"));
        assert!(error("{\"schema\": \"rdmascope.doctor/1\"}").contains("it is no snapshot"));
        assert!(error("{\"schema\": \"rdmascope.snapshot/2\"}").contains("its schema is rdmascope.snapshot/2"));
        assert!(error("{\"schema\": \"rdmascope.snapshot/1\"}").contains("damaged"));
        let cut = error(&SAVED[..SAVED.len() / 2]);
        assert!(cut.contains("damaged snapshot: EOF") && cut.contains("line "), "{cut}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn damaged_files_are_survived(text in testing::mutated_texts(&[SAVED])) {
            if let Ok(saved) = read(&text) {
                for target in &saved.targets {
                    prop_assert!(saved.fabric.entities(&target.name).all(|entity| !entity.name().chars().any(char::is_control)));
                }
            }
        }
    }
}
