//! `diff`: which settings differ between two snapshots, or between one and now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use serde::Serialize;

use super::args::{DiffArguments, Format, Global};
use super::document::{json_value, quantity};
use super::lab::Subject;
use super::text::wrap;
use super::{Exit, Failure, output, snapshot};
use crate::collect::reason::reason;
use crate::config::Defect;
use crate::diagnose::difference::{Difference, Differences, LAYERS, Move, differences, layer_of};
use crate::fabric::attribute::Class;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, TargetId, Text, Timestamp, Value};
use crate::record::snapshot_file::{self, SavedSnapshot, SavedTarget};

/// No snapshot of a site comes near this size.
const LARGEST: u64 = 256 << 20;

/// The word for a side that is read now.
const NOW: &str = "now";

/// One of the two sides.
struct Side {
    name: String,
    snapshot: SavedSnapshot,
}

/// Compares and prints.
pub fn run(global: &Global, arguments: &DiffArguments) -> Result<Exit, Failure> {
    if arguments.from.as_os_str() == NOW {
        let what = "stands second: rdmascope diff FILE now (a file of this name is ./now)";
        return Err(Defect::somewhere(NOW, what).into());
    }
    if arguments.scenario.is_some() && arguments.to.as_os_str() != NOW {
        return Err(Defect::somewhere("--scenario", "goes with `now` only: two files need no lab").into());
    }
    let from = saved(&arguments.from)?;
    let to = if arguments.to.as_os_str() == NOW {
        match read_now(global, arguments.scenario.as_deref(), &from.snapshot)? {
            Ok(side) => side,
            Err(signal) => return Ok(Exit::Signal(128u8.saturating_add(u8::try_from(signal).unwrap_or_default()))),
        }
    } else {
        saved(&arguments.to)?
    };
    let compared = Comparison::of(&from, &to);
    let text = match global.format {
        Format::Json => output::json(&compared.document())?,
        Format::Text | Format::Sarif | Format::Junit => compared.text(),
    };
    output::print(&text)?;
    Ok(match (compared.found.is_empty(), compared.is_whole()) {
        (false, _) => Exit::Findings,
        (true, true) => Exit::Done,
        (true, false) => Exit::Incomplete,
    })
}

fn saved(file: &Path) -> Result<Side, Failure> {
    let defect = |what: String| Failure::from(Defect::somewhere(&file.display().to_string(), what));
    let text = || -> std::io::Result<String> {
        if !std::fs::metadata(file)?.is_file() {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        let mut text = String::new();
        std::fs::File::open(file)?.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = text().map_err(|error| defect(format!("cannot be read: {}", reason(&error))))?;
    let snapshot = snapshot_file::read(&text).map_err(defect)?;
    Ok(Side { name: file.display().to_string(), snapshot })
}

/// Reads the targets of a snapshot now; the number of the signal that ended it before it was done.
fn read_now(global: &Global, scenario: Option<&str>, of: &SavedSnapshot) -> Result<Result<Side, i32>, Failure> {
    let names: Vec<String> = of.targets.iter().map(|target| target.name.to_string()).collect();
    let subject = Subject::open(global, scenario, &names)?;
    let collected = match snapshot::collect(&subject)? {
        Ok(collected) => collected,
        Err(signal) => return Ok(Err(signal)),
    };
    // What was saved went through a document, so this does too: then nothing differs that only looks so.
    let snapshot = snapshot_file::read(&output::json(&collected.document())?)
        .map_err(|what| Failure::Internal(color_eyre::eyre::eyre!(what)))?;
    Ok(Ok(Side { name: NOW.to_owned(), snapshot }))
}

/// What came of it.
struct Comparison<'a> {
    from: &'a Side,
    to: &'a Side,
    /// Why a target could not be compared, or not whole.
    problems: BTreeMap<TargetId, String>,
    compared: Vec<TargetId>,
    found: Differences,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    from: End<'a>,
    to: End<'a>,
    same: bool,
    targets: Vec<TargetDocument>,
    differences: Vec<DifferenceDocument>,
    added: Vec<ThingDocument>,
    removed: Vec<ThingDocument>,
    moved: Vec<MoveDocument>,
    unread: Vec<DifferenceDocument>,
}

#[derive(Debug, Serialize)]
struct MoveDocument {
    entity: String,
    name: Option<Text>,
    from: TargetId,
    to: TargetId,
}

#[derive(Debug, Serialize)]
struct End<'a> {
    name: &'a str,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct TargetDocument {
    name: TargetId,
    compared: bool,
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct ThingDocument {
    layer: &'static str,
    target: TargetId,
    entity: String,
}

#[derive(Debug, Serialize)]
struct DifferenceDocument {
    #[serde(flatten)]
    thing: ThingDocument,
    attribute: &'static str,
    class: &'static str,
    before: StateDocument,
    after: StateDocument,
}

#[derive(Debug, Serialize)]
struct StateDocument {
    state: &'static str,
    value: serde_json::Value,
}

impl<'a> Comparison<'a> {
    fn of(from: &'a Side, to: &'a Side) -> Self {
        let mut problems = BTreeMap::new();
        let mut compared = Vec::new();
        for target in &from.snapshot.targets {
            match to.snapshot.targets.iter().find(|other| other.name == target.name) {
                None => drop(problems.insert(target.name.clone(), format!("is in {} only", from.name))),
                Some(other) => {
                    if target.reachable && other.reachable {
                        compared.push(target.name.clone());
                    }
                    let sides = [(from, target), (to, other)];
                    if let Some((side, problem)) = sides.into_iter().find_map(|(side, one)| Some((side, problem(one)?)))
                    {
                        problems.insert(target.name.clone(), format!("in {}: {problem}", side.name));
                    }
                }
            }
        }
        for target in &to.snapshot.targets {
            if !from.snapshot.targets.iter().any(|other| other.name == target.name) {
                problems.insert(target.name.clone(), format!("is in {} only", to.name));
            }
        }
        // What was read in part on one side lacks things that are there.
        let whole: Vec<TargetId> = compared.iter().filter(|name| !problems.contains_key(*name)).cloned().collect();
        let found = differences(&from.snapshot.fabric, &to.snapshot.fabric, &whole);
        let mut partly: Vec<TargetId> = compared.clone();
        partly.retain(|name| !whole.contains(name));
        let known = differences(&from.snapshot.fabric, &to.snapshot.fabric, &partly);
        let mut found = found;
        found.changed.extend(known.changed.into_iter().filter(|one| one.before.is_some() && one.after.is_some()));
        found.unread.extend(known.unread);
        Self { from, to, problems, compared, found }
    }

    /// True if all targets could be compared whole.
    fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    /// The side on which a thing is there.
    fn fabric_of(&self, id: &EntityId) -> &Fabric {
        let (from, to) = (&self.from.snapshot.fabric, &self.to.snapshot.fabric);
        if to.readings(id).is_empty() { from } else { to }
    }

    fn thing(&self, id: &EntityId) -> ThingDocument {
        ThingDocument { layer: layer_of(id, self.fabric_of(id)), target: id.target.clone(), entity: id.entity.key() }
    }

    fn difference(&self, one: &Difference) -> DifferenceDocument {
        let state = |state: &Option<State<Value>>| StateDocument {
            state: state.as_ref().map_or("absent", State::name),
            value: state
                .as_ref()
                .and_then(State::known)
                .map_or(serde_json::Value::Null, |value| json_value(one.attribute, value)),
        };
        DifferenceDocument {
            thing: self.thing(&one.id),
            attribute: one.attribute.name(),
            class: if one.attribute.class() == Class::Setting { "setting" } else { "status" },
            before: state(&one.before),
            after: state(&one.after),
        }
    }

    fn moves(&self) -> Vec<MoveDocument> {
        let document = |one: Move| MoveDocument {
            entity: one.to.entity.key(),
            name: self.vm_name(&one.to).map(Text::new),
            from: one.from.target,
            to: one.to.target,
        };
        self.found.moves().into_iter().map(document).collect()
    }

    /// What the VM is called that a thing is, or belongs to.
    fn vm_name(&self, id: &EntityId) -> Option<&str> {
        let (Entity::Vm(vm) | Entity::VmDevice { vm, .. }) = &id.entity else { return None };
        let vm = EntityId::new(&id.target, Entity::Vm(vm.clone()));
        self.fabric_of(&vm).text(&vm, Attribute::VmName)
    }

    fn document(&self) -> Document<'_> {
        let end = |side: &'a Side| End { name: &side.name, at: side.snapshot.at };
        let names = self.compared.iter().chain(self.problems.keys().filter(|name| !self.compared.contains(name)));
        let targets = names.map(|name| TargetDocument {
            name: name.clone(),
            compared: self.compared.contains(name),
            problem: self.problems.get(name).cloned(),
        });
        Document {
            schema: "rdmascope.diff/1",
            rdmascope: env!("CARGO_PKG_VERSION"),
            from: end(self.from),
            to: end(self.to),
            same: self.found.is_empty(),
            targets: targets.collect(),
            differences: self.found.changed.iter().map(|one| self.difference(one)).collect(),
            added: self.found.added.iter().map(|id| self.thing(id)).collect(),
            removed: self.found.removed.iter().map(|id| self.thing(id)).collect(),
            moved: self.moves(),
            unread: self.found.unread.iter().map(|one| self.difference(one)).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, problem) in &self.problems {
            line(&mut text, 0, &format!("{name} {problem}"));
        }
        // What belongs to a VM that moved went with it.
        let moves = self.found.moves();
        let moved = |id: &EntityId| {
            let (Entity::Vm(vm) | Entity::VmDevice { vm, .. }) = &id.entity else { return false };
            let is = |end: &EntityId| end.target == id.target && end.entity == Entity::Vm(vm.clone());
            moves.iter().any(|one| is(&one.from) || is(&one.to))
        };
        let mut count = 0;
        for layer in LAYERS {
            let of = |id: &EntityId| layer_of(id, self.fabric_of(id)) == layer && !moved(id);
            let mut lines: Vec<(&EntityId, String)> = Vec::new();
            for one in self.found.changed.iter().filter(|one| of(&one.id)) {
                let (before, after) =
                    (word(one.attribute, one.before.as_ref()), word(one.attribute, one.after.as_ref()));
                lines.push((&one.id, format!("{}: {before} -> {after}", one.attribute.label())));
            }
            lines.extend(self.found.added.iter().filter(|id| of(id)).map(|id| (id, "added".to_owned())));
            lines.extend(self.found.removed.iter().filter(|id| of(id)).map(|id| (id, "gone".to_owned())));
            if layer == "vm" {
                lines.extend(moves.iter().map(|one| (&one.to, format!("moved here from {}", one.from.target))));
            }
            if lines.is_empty() {
                continue;
            }
            count += lines.len();
            lines.sort_by(|one, other| one.0.cmp(other.0));
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = writeln!(text, "{layer}");
            for (id, what) in lines {
                let name = self.vm_name(id).map_or(String::new(), |name| format!(" ({name})"));
                line(&mut text, 2, &format!("{id}{name}  {what}"));
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let unread = match self.found.unread.len() {
            0 => String::new(),
            number => format!("; {number} could be read on one side only"),
        };
        let what = match count {
            0 => "nothing that can be compared differs".to_owned(),
            1 => "1 difference".to_owned(),
            count => format!("{count} differences"),
        };
        line(&mut text, 0, &format!("{what}{unread}"));
        text
    }
}

fn problem(target: &SavedTarget) -> Option<String> {
    match (&target.problem, target.reachable) {
        (Some(problem), _) => Some(problem.to_string()),
        (None, false) => Some("it was not reached".to_owned()),
        (None, true) => None,
    }
}

fn word(attribute: Attribute, state: Option<&State<Value>>) -> String {
    match state {
        Some(State::Known(value)) => quantity(attribute, value),
        Some(missing) => missing.why().unwrap_or_default(),
        None => "not told".to_owned(),
    }
}

fn line(text: &mut String, indent: usize, what: &str) {
    for (number, piece) in wrap(&crate::fabric::text::clean_line(what), 78 - indent).iter().enumerate() {
        let _ = writeln!(text, "{}{}", " ".repeat(indent + if number > 0 { 2 } else { 0 }), piece.trim_end());
    }
}

#[cfg(test)]
mod tests;
