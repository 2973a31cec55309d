//! The *Path* panel: the way from the selected guest to another one, hop by hop, and the transport they use.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::condition::Gravity;
use super::diagnosis::{self, gravity, shown};
use super::model::{Model, TargetKind};
use super::screen::{Panel, RowsView};
use super::table::{Cell, Row, RowKey};
use crate::diagnose::finding::Status;
use crate::diagnose::path::{Hop, Path, Side, Transport};
use crate::fabric::{Entity, EntityId, TargetId};

/// What the label of the first broken hop begins with.
pub const FIRST_BROKEN: &str = "> ";

/// What the panel shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathView {
    /// The other end, where one was chosen.
    pub other: Option<TargetId>,
    /// What is selected.
    pub rows: RowsView,
}

/// Guests that can be an end of a way.
fn guests(model: &Model) -> Vec<&TargetId> {
    let is_guest = |id: &&TargetId| {
        model.targets.get(*id).is_some_and(|target| matches!(target.kind, TargetKind::Linux | TargetKind::Local))
    };
    model.order.iter().filter(is_guest).collect()
}

/// The ends of the way that is shown: the selected guest, or the first one on the selected host, and the chosen other
/// end, else the guest that is most like it.
pub fn ends(model: &Model) -> Option<(TargetId, TargetId)> {
    let selected = model.selected_target()?;
    let guests = guests(model);
    let on_host = || guests.iter().find(|guest| super::tree::host_of(model, guest) == Some(selected)).copied();
    let one = guests.iter().find(|guest| **guest == selected).copied().or_else(on_host)?.clone();
    let other = other_of(model, &one)?;
    Some((one, other))
}

/// The other end of a way from a guest: the chosen one, else the guest that is most like it.
pub fn other_of(model: &Model, one: &TargetId) -> Option<TargetId> {
    let guests = guests(model);
    let chosen = model.screen.path.other.as_ref().filter(|other| *other != one && guests.contains(other));
    let others = || guests.iter().copied().filter(|guest| *guest != one);
    chosen.or_else(|| others().max_by_key(|other| alike(model, one, other))).cloned()
}

/// How many tags two guests share, then how well their names begin alike: the best guess of who talks to whom. Of equal
/// ones the last is taken, so the place in the list does not matter but for that.
fn alike(model: &Model, one: &TargetId, other: &TargetId) -> (usize, usize) {
    let tags = |id: &TargetId| model.targets.get(id).map(|target| target.tags.clone()).unwrap_or_default();
    let others = tags(other);
    let shared = tags(one).iter().filter(|tag| others.contains(tag)).count();
    let prefix = one.as_str().chars().zip(other.as_str().chars()).take_while(|(a, b)| a == b).count();
    (shared, prefix)
}

/// The next guest becomes the other end.
pub fn next_end(model: &mut Model) {
    let Some((one, other)) = ends(model) else { return };
    let others: Vec<TargetId> = guests(model).into_iter().filter(|guest| **guest != one).cloned().collect();
    let place = others.iter().position(|guest| *guest == other).map_or(0, |place| place + 1);
    model.screen.path.other = others.get(place % others.len().max(1)).cloned();
    model.screen.path.rows = RowsView::default();
}

/// The way that is shown, if there are two ends.
pub fn shown_path(model: &Model) -> Option<Arc<Path>> {
    let (one, other) = ends(model)?;
    Some(diagnosis::path(model, &one, &other))
}

/// Works out the way that is shown once what it is made of may be another. It is not left to the next frame, which comes
/// at another time in a replay.
pub(super) fn work_out(model: &Model) {
    if model.screen.panel == Panel::Path {
        let _ = shown_path(model);
    }
    if model.screen.panel == Panel::Wizard && model.screen.wizard.shows == super::wizard::Shows::Preparing {
        super::wizard::work_out(model);
    }
}

/// Where the two ends run, in a few words.
pub fn hosts(model: &Model, one: &TargetId, other: &TargetId) -> String {
    let host = |guest| super::tree::host_of(model, guest).map_or("host not known".to_owned(), ToString::to_string);
    match (host(one), host(other)) {
        (one, other) if one == other => one,
        (one, other) => format!("{one}, {other}"),
    }
}

/// Its rows.
pub fn rows(model: &Model) -> Vec<(String, Vec<Row>)> {
    let Some(path) = shown_path(model) else { return Vec::new() };
    let hops = |side: Side| -> Vec<Row> {
        let hops = path.hops.iter().enumerate().filter(|(_, hop)| hop.side == side);
        hops.map(|(place, hop)| of_hop(model, hop, place, path.first_broken == Some(place))).collect()
    };
    vec![
        ("Transport".to_owned(), transport(model, &path)),
        (format!("{} to the wire", path.one), hops(Side::One)),
        (format!("and up to {}", path.other), hops(Side::Other)),
        ("Findings on this way".to_owned(), findings(model, &path)),
    ]
}

fn row(word: String, label: impl Into<String>, cells: Vec<Cell>) -> Row {
    Row { key: RowKey::Entity(Entity::Guest, word.into()), label: label.into(), cells }
}

fn transport(model: &Model, path: &Path) -> Vec<Row> {
    let verdict = &path.verdict;
    let grave = match verdict.transport {
        Transport::Rdma => Gravity::Good,
        Transport::SameHost => Gravity::Neutral,
        Transport::Tcp => Gravity::Bad,
        Transport::NotDeterminable => Gravity::Unknown,
    };
    let mut rows = vec![
        row("transport".to_owned(), "transport", vec![Cell::said(verdict.transport.words(), grave)]),
        row("transport-why".to_owned(), "why", vec![Cell::said(&verdict.why, Gravity::Neutral)]),
    ];
    for (place, exhibit) in verdict.evidence.iter().enumerate() {
        rows.push(row(format!("transport-{place}"), "shown by", vec![shown(model, exhibit, Gravity::Neutral)]));
    }
    if !verdict.decide.is_empty() {
        let cells = vec![Cell::said(&verdict.decide, Gravity::Neutral)];
        rows.push(row("transport-decide".to_owned(), "settled by", cells));
    }
    rows
}

/// The word for a state of a hop.
fn word(status: Status) -> &'static str {
    match status {
        Status::Fail => "FAIL",
        Status::Warn => "warn",
        Status::Info | Status::Pass => "ok",
        Status::Unknown => "?",
    }
}

fn of_hop(model: &Model, hop: &Hop, place: usize, is_first: bool) -> Row {
    let source = |exhibit: Option<&crate::diagnose::check::Exhibit>| {
        exhibit.and_then(|one| shown(model, one, Gravity::Neutral).source)
    };
    let state_source = source(hop.evidence.first());
    let mut cells = vec![
        Cell { source: state_source.clone(), ..Cell::said(word(hop.status), gravity(hop.status)) },
        Cell::said(hop.target.to_string(), Gravity::Neutral),
    ];
    if !hop.state.is_empty() {
        let own = hop.id.as_ref().filter(|_| state_source.is_none()).and_then(|id| main_state(model, id));
        cells.push(Cell { source: own.or(state_source), ..Cell::said(&hop.state, gravity(hop.status)) });
    }
    for one in &hop.traits {
        let value = if one.value.is_empty() { "?" } else { &one.value };
        let grave = if one.status == Status::Pass { Gravity::Neutral } else { gravity(one.status) };
        cells.push(Cell { source: source(one.exhibit.as_ref()), ..Cell::said(format!("{} {value}", one.name), grave) });
    }
    if !hop.why.is_empty() {
        cells.push(Cell { source: source(hop.evidence.first()), ..Cell::said(&hop.why, gravity(hop.status)) });
    }
    let label = if is_first { format!("{FIRST_BROKEN}{}", hop.name) } else { hop.name.clone() };
    row(format!("hop-{place}"), label, cells)
}

/// Where the state of a thing is read.
fn main_state(model: &Model, id: &EntityId) -> Option<super::table::Origin> {
    use crate::fabric::Attribute as A;
    [A::PortState, A::OperationalState, A::PortLink, A::DeviceConnected]
        .into_iter()
        .find(|attribute| model.fabric.reading(id, *attribute).is_some())
        .map(|attribute| super::table::Origin::Reading(id.clone(), attribute))
}

/// Causes that stand on this way.
fn findings(model: &Model, path: &Path) -> Vec<Row> {
    let on_way = |id: &EntityId| path.hops.iter().any(|hop| hop.id.as_ref() == Some(id));
    let ends = |id: &EntityId| id.target == path.one || id.target == path.other;
    let diagnosed = model.diagnosed();
    let causes = diagnosed.diagnosis.causes.iter().filter(|cause| {
        let judged = &cause.found.judged;
        ends(&judged.subject) || on_way(&judged.subject) || judged.reaches.iter().any(on_way)
    });
    causes
        .enumerate()
        .map(|(place, cause)| {
            let judged = &cause.found.judged;
            let source = judged.evidence.first().and_then(|first| shown(model, first, Gravity::Bad).source);
            let cells = vec![Cell { source, ..Cell::said(&judged.title, gravity(judged.status)) }];
            row(format!("{}-{place}", diagnosis::name(cause)), judged.status.name(), cells)
        })
        .collect()
}
