//! The rows of the *Host binding* panel: what an ESXi host binds to RDMA and to its VMs, what is wrong and what differs
//! from the other hosts first; all hosts side by side; versions over all targets.

mod compare;
mod judged;
mod one;
pub(super) mod pvrdma;
mod qualify;
mod unread;
pub(super) mod unused;

use super::condition::{self, Gravity};
use super::format;
use super::model::{Model, TargetKind};
use super::screen::{HostMode, Panel};
use super::table::{Cell, Origin, Row, RowKey, sections};
use super::versions;
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Timestamp, Value};

pub use compare::{Difference, differences};
pub use qualify::{gravest, headings, sentence};

/// After how many seconds the age of a section is worth telling: twice the slowest pace.
const OLD_SECONDS: i64 = 600;

/// After how many seconds a value is older than it should be: what is read least often comes round in half of it, also on
/// a slow host.
const OVERDUE_SECONDS: i64 = 1200;

/// True for an ESXi host.
pub fn is_host(model: &Model, target: &TargetId) -> bool {
    // It is asked for every row: the many things of a guest are not gone through.
    [Entity::Host, Entity::Vm("".into())].into_iter().any(|kind| model.fabric.of_kind(target, kind).next().is_some())
}

/// All hosts, in the order of the targets.
pub fn hosts(model: &Model) -> Vec<&TargetId> {
    model.order.iter().filter(|target| is_host(model, target)).collect()
}

/// The host that is meant by what is selected: the selected one, or that of the selected guest's VM. `None` for a guest
/// whose host is not known: another host's values would be taken for those of its own.
pub fn selected_host(model: &Model) -> Option<&TargetId> {
    let selected = model.selected_target()?;
    let is_known = model.targets.get(selected).is_some_and(|target| target.kind == TargetKind::Esxi);
    if is_known || is_host(model, selected) {
        return Some(selected);
    }
    model.joined().vm_of(selected).map(|vm| &vm.target)
}

/// All rows that the filter lets pass.
pub fn rows(model: &Model) -> Vec<Row> {
    match model.screen.host.mode {
        HostMode::Versions => sections(model, versions::sections(model)),
        HostMode::Compare => sections(model, compare::sections(model, model.screen.host.all)),
        HostMode::Qualify => sections(model, qualify::sections(model)),
        HostMode::One => match selected_host(model) {
            Some(host) => of_host(model, host),
            None => Vec::new(),
        },
    }
}

/// The rows of one host.
pub fn of_host(model: &Model, host: &TargetId) -> Vec<Row> {
    sections(model, aged(model, one::sections(model, host)))
}

/// Names of the columns, where the rows have one cell for each of some things side by side.
pub fn columns(model: &Model) -> Vec<String> {
    match model.screen.host.mode {
        HostMode::Compare => hosts(model).into_iter().map(ToString::to_string).collect(),
        HostMode::One | HostMode::Versions | HostMode::Qualify => Vec::new(),
    }
}

/// True while the panel shows which hosts qualify.
pub fn shows_qualification(model: &Model) -> bool {
    model.screen.panel == Panel::Host && model.screen.host.mode == HostMode::Qualify
}

/// Titles with the age of the oldest value below each, if that is worth telling: `Uplinks (up to 12 min old)`. What is
/// older than it should be says so itself.
pub(super) fn aged(model: &Model, sections: Vec<(String, Vec<Row>)>) -> Vec<(String, Vec<Row>)> {
    let read_at = |cell: &Cell| match &cell.source {
        Some(Origin::Reading(id, attribute)) => model.fabric.reading(id, *attribute).map(|reading| reading.at),
        _ => None,
    };
    sections
        .into_iter()
        .map(|(title, rows)| {
            let times = rows.iter().flat_map(|row| &row.cells).filter_map(read_at);
            let seconds = |at: Timestamp| model.now.duration_since(at).as_secs();
            let oldest = times.filter(|at| (OLD_SECONDS + 1..=OVERDUE_SECONDS).contains(&seconds(*at))).min();
            let title = match oldest {
                Some(at) => format!("{title} (up to {} old)", format::age(at, model.now)),
                None => title,
            };
            (title, rows)
        })
        .collect()
}

/// How old a value is, if it is older than it should be: ` (25 min old)`.
pub(super) fn age(at: Timestamp, now: Timestamp) -> String {
    if now.duration_since(at).as_secs() > OVERDUE_SECONDS {
        format!(" ({} old)", format::age(at, now))
    } else {
        String::new()
    }
}

/// The cell of one attribute with its age where it is old; `prefix` stands in front of the value.
pub(super) fn cell(model: &Model, id: &EntityId, attribute: Attribute, prefix: &str) -> Option<Cell> {
    let reading = model.fabric.reading(id, attribute)?;
    let mut text = format::state(attribute, &reading.state);
    if text.is_empty() {
        text.push_str("(empty)");
    }
    let space = if prefix.is_empty() { "" } else { " " };
    let mut gravity = gravity(attribute, &reading.state);
    let mut unused = "";
    if gravity == Gravity::Bad {
        if unused::is_unused(model, id) {
            gravity = Gravity::Neutral;
            unused = unused::WORDS;
        } else if unused::is_undecided(model, id) {
            gravity = Gravity::Unknown;
            unused = unused::UNDECIDED;
        }
    }
    let text = format!("{prefix}{space}{text}{unused}{}", age(reading.at, model.now));
    Some(Cell { text, gravity, source: Some(Origin::Reading(id.clone(), attribute)) })
}

/// How a value of a host stands.
pub(super) fn gravity(attribute: Attribute, state: &State<Value>) -> Gravity {
    let State::Known(value) = state else {
        return match (attribute, state) {
            (Attribute::RebootPending, State::Empty) => Gravity::Good,
            _ => condition::of_value(attribute, state),
        };
    };
    let word = value.to_string().to_ascii_lowercase();
    match attribute {
        Attribute::PortState | Attribute::OperationalState | Attribute::PortLink | Attribute::PhysicalState => {
            match word.as_str() {
                "active" | "up" | "linkup" | "link_up" => Gravity::Good,
                "down" => Gravity::Bad,
                _ => condition::of_value(attribute, state),
            }
        }
        Attribute::CommandLineTool if word.starts_with("localcli") => Gravity::Warning,
        Attribute::DcbMode if word.contains("cee") => Gravity::Warning,
        Attribute::RebootPending if !word.is_empty() && word != "no" && word != "none" => Gravity::Warning,
        _ => condition::of_value(attribute, state),
    }
}

/// All that is known of an entity: these attributes first, the first of them without its label; then the others.
pub(super) fn entity_row(
    model: &Model,
    id: &EntityId,
    label: String,
    first: &[Attribute],
    omit: &[Attribute],
) -> Option<Row> {
    let readings = model.fabric.readings(id);
    let mut cells: Vec<Cell> = Vec::new();
    // What is missing for one reason is told once: `PFC, PFC priorities not published by the driver`.
    let mut missing: Vec<(String, usize)> = Vec::new();
    for (place, attribute) in first.iter().enumerate() {
        let prefix = if place == 0 { "" } else { attribute.label() };
        let why = readings.get(attribute).and_then(|reading| reading.state.why()).filter(|_| place > 0);
        let same = why.as_ref().and_then(|why| missing.iter().find(|(other, _)| other == why));
        if let (Some(why), Some((_, index))) = (&why, same)
            && let Some(told) = cells.get_mut(*index)
            && let Some(labels) = told.text.find(why.as_str())
        {
            told.text.insert_str(labels.saturating_sub(1), &format!(", {prefix}"));
            continue;
        }
        if let Some(why) = why {
            missing.push((why, cells.len()));
        }
        cells.extend(cell(model, id, *attribute, prefix));
    }
    for (attribute, reading) in readings {
        // What is missing and was not asked for says nothing here.
        if !first.contains(&attribute) && !omit.contains(&attribute) && reading.state.known().is_some() {
            cells.extend(cell(model, id, attribute, attribute.label()));
        }
    }
    (!cells.is_empty()).then(|| Row { key: RowKey::Entity(id.entity.clone(), "all".into()), label, cells })
}
