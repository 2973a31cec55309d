//! Which hosts qualify for PVRDMA, requirement by requirement, and what becomes of the RDMA of each VM on each host: made of
//! what the checks said when they ran last. Each cell is a word, and what is behind it a sentence. What only vCenter knows
//! is said to be so, or told as the configuration file declares it.

use std::collections::BTreeSet;

use super::super::condition::Gravity;
use super::super::diagnosis::{self, Diagnosed, shown};
use super::super::model::Model;
use super::super::table::{Cell, Heading, Row, RowKey};
use super::hosts;
use crate::diagnose::check::{Exhibit, Lack};
use crate::diagnose::finding::Status;
use crate::diagnose::qualify::{self, Device, Outcome, Place, Qualification, Requirement};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The title above the hosts.
const HOSTS: &str = "Hosts";
/// The same where no VM has a PVRDMA adapter.
const HOSTS_UNUSED: &str = "Hosts (no VM with a PVRDMA adapter is known: what they would have)";
/// The title above the VMs.
const VMS: &str = "RDMA of each VM on each host";
/// The title above what only vCenter knows.
const DECLARED: &str = "Not observable over SSH, or declared";

/// A row with what is behind each of its cells.
struct Told {
    row: Row,
    sentences: Vec<String>,
}

/// Names of the columns, by section.
pub fn headings(model: &Model) -> Vec<Heading> {
    let requirements = Requirement::ALL.map(|one| [one.name().to_owned(), one.short().to_owned()]);
    let names = hosts(model).into_iter().map(|host| [host.to_string(), host.to_string()]);
    vec![
        Heading { section: title(&model.diagnosed()).to_owned(), names: requirements.to_vec() },
        Heading { section: VMS.to_owned(), names: names.collect() },
    ]
}

fn title(diagnosed: &Diagnosed) -> &'static str {
    if diagnosed.qualification.is_needed { HOSTS } else { HOSTS_UNUSED }
}

/// All of it.
pub(super) fn sections(model: &Model) -> Vec<(String, Vec<Row>)> {
    let told = told(model).into_iter();
    told.map(|(title, rows)| (title, rows.into_iter().map(|told| told.row).collect())).collect()
}

/// What is behind a cell of a row, in a sentence or a few.
pub fn sentence(model: &Model, key: &RowKey, cell: usize) -> Option<String> {
    let told = told(model).into_iter().flat_map(|(_, rows)| rows).find(|told| told.row.key == *key)?;
    let sentence = told.sentences.get(cell).or_else(|| told.sentences.first())?;
    Some(sentence.clone())
}

/// Of rows that nobody chose one from: the gravest, and the gravest cell of it.
pub fn gravest(rows: &[Row]) -> Option<(&Row, usize)> {
    let rows: Vec<&Row> = rows.iter().filter(|row| !row.is_section()).collect();
    let worst = rows.iter().map(|row| row.gravity()).max()?;
    let row = rows.into_iter().find(|row| row.gravity() == worst)?;
    let cell = row.cells.iter().position(|cell| cell.gravity == worst).unwrap_or(0);
    Some((row, cell))
}

fn told(model: &Model) -> Vec<(String, Vec<Told>)> {
    let diagnosed = model.diagnosed();
    let qualification = &diagnosed.qualification;
    let mut rows: Vec<&qualify::Row> = qualification.rows.iter().collect();
    // What is wrong comes first, then what is not known.
    let rank = |status| match status {
        Status::Fail => 0,
        Status::Unknown => 1,
        _ => 2,
    };
    rows.sort_by_key(|row| rank(row.status()));
    let switches: BTreeSet<String> =
        rows.iter().filter_map(|row| row.switch.as_ref()).map(|switch| switch.entity.name()).collect();
    let hosts = rows.into_iter().map(|row| of_host(model, &diagnosed, row, switches.len() > 1)).collect();
    let vms = qualification.places.iter().map(|place| of_vm(model, place)).collect();
    vec![
        (title(&diagnosed).to_owned(), hosts),
        (VMS.to_owned(), vms),
        (DECLARED.to_owned(), declared(model, &diagnosed)),
    ]
}

fn key(what: &str, of: &EntityId, more: &str) -> RowKey {
    RowKey::Entity(of.entity.clone(), format!("qualify-{what}-{}-{more}", of.target).into())
}

/// Where the first thing that shows something is read.
fn source(model: &Model, exhibits: &[Exhibit]) -> Option<super::super::table::Origin> {
    exhibits.iter().find_map(|exhibit| shown(model, exhibit, Gravity::Neutral).source)
}

fn add(sentence: &mut String, parts: &[&str]) {
    for part in parts {
        sentence.push_str(part);
    }
}

/// Whether a host qualifies, in a sentence.
fn verdict(row: &qualify::Row) -> String {
    let host = &row.host;
    match row.status() {
        Status::Fail if row.is_member == Some(false) => format!("{host} cannot take a VM with such an adapter"),
        Status::Fail => format!("{host} does not qualify: PVRDMA there is TCP to other hosts, without a message"),
        Status::Unknown => format!("Whether {host} qualifies is not known"),
        _ => format!("{host} qualifies"),
    }
}

fn of_host(model: &Model, diagnosed: &Diagnosed, row: &qualify::Row, is_one_of_several: bool) -> Told {
    let qualification = &diagnosed.qualification;
    let carries = carries(qualification, &row.host);
    // Of a host to which a VM could only come nothing is broken now; where nobody needs it, nothing is wrong.
    let bad = match (carries, qualification.is_needed) {
        (true, _) => Gravity::Bad,
        (false, true) => Gravity::Warning,
        (false, false) => Gravity::Neutral,
    };
    let name = row.switch.as_ref().map_or_else(String::new, |switch| switch.entity.name());
    let (mut cells, mut sentences) = (Vec::new(), Vec::new());
    for cell in &row.cells {
        let source = source(model, &cell.exhibits);
        cells.push(Cell { text: cell.word().to_owned(), gravity: gravity_of(cell, bad), source });
        let mut sentence = format!("{} {} {}: {}", row.host, cell.requirement.name(), cell.word(), cell.says);
        if !cell.decide.is_empty() && cell.status == Status::Unknown {
            add(&mut sentence, &["; would tell: ", &cell.decide]);
        }
        if let Some(check) = cell.check {
            add(&mut sentence, &[" (", check, ")"]);
        }
        sentences.push(format!("{sentence}. {}", verdict(row)));
    }
    let label = if is_one_of_several { format!("{} {name}", row.host).trim().to_owned() } else { row.host.to_string() };
    let id = EntityId::new(&row.host, Entity::Host);
    Told { row: Row { key: key("host", &id, &name), label, cells }, sentences }
}

/// How one host stands to each requirement, a row for each. What a host was installed with is no trouble of one without
/// VMs that need it.
pub(super) fn of_one(model: &Model, host: &TargetId) -> Vec<Row> {
    let diagnosed = model.diagnosed();
    let qualification = &diagnosed.qualification;
    let carries = carries(qualification, host);
    let is_coming = diagnosis::unread(model).iter().any(|one| one.target == *host && one.is_coming);
    let rows = qualification.rows.iter().filter(|row| row.host == *host);
    rows.flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
        .map(|(row, cell)| {
            let is_lacking = matches!(cell.status, Status::Fail | Status::Warn) && cell.applies;
            let (text, gravity) = match (is_lacking, carries, cell.requirement) {
                (true, false, Requirement::Tag | Requirement::Ruleset) => {
                    (format!("{}: the default, it matters only to VMs with PVRDMA", cell.says), Gravity::Neutral)
                }
                (true, false, _) => (format!("{}: it matters only to VMs with PVRDMA", cell.says), Gravity::Neutral),
                _ => (cell.says.clone(), gravity_of(cell, Gravity::Bad)),
            };
            let mut cells = vec![Cell { source: source(model, &cell.exhibits), ..Cell::said(text, gravity) }];
            // What is being read needs nobody to look it up.
            let is_coming = is_coming && cell.lack == Some(Lack::Unreached);
            if cell.status == Status::Unknown && !cell.decide.is_empty() && !is_coming {
                cells.push(Cell::said(format!("would tell: {}", cell.decide), Gravity::Neutral));
            }
            let name = row.switch.as_ref().map_or_else(String::new, |switch| switch.entity.name());
            let id = EntityId::new(host, Entity::Host);
            Row { key: key(cell.requirement.name(), &id, &name), label: cell.requirement.name().to_owned(), cells }
        })
        .collect()
}

/// True if a VM with PVRDMA adapters runs on a host.
fn carries(qualification: &Qualification, host: &TargetId) -> bool {
    qualification.places.iter().any(|place| place.runs && place.here.is_some() && place.vm.target == *host)
}

/// How a cell is drawn, where a requirement that is not met is as bad as this.
fn gravity_of(cell: &qualify::Cell, bad: Gravity) -> Gravity {
    match cell.status {
        _ if !cell.applies => Gravity::Neutral,
        Status::Fail if cell.decides() => bad,
        Status::Fail | Status::Warn => bad.min(Gravity::Warning),
        Status::Unknown => Gravity::Unknown,
        Status::Pass | Status::Info => Gravity::Good,
    }
}

fn of_vm(model: &Model, place: &Place) -> Told {
    let (mut cells, mut sentences) = (Vec::new(), Vec::new());
    let Place { vm, name, device, .. } = place;
    let state = if place.runs { "runs" } else { "is off" };
    for host in hosts(model) {
        let told = if *host == vm.target {
            Some(here(model, place, state))
        } else {
            place.moves.iter().find(|one| one.host == *host).map(|one| there(model, place, one))
        };
        // A host that came since the checks ran last.
        let (cell, sentence) = told
            .unwrap_or_else(|| (Cell::said("?", Gravity::Unknown), format!("the checks did not look at {host} yet")));
        cells.push(cell);
        sentences.push(format!("{name} ({}) {sentence}", device.words()));
    }
    Told { row: Row { key: key("vm", vm, ""), label: name.clone(), cells }, sentences }
}

/// The host where a VM is.
fn here(model: &Model, place: &Place, state: &str) -> (Cell, String) {
    let host = &place.vm.target;
    let Some(row) = &place.here else {
        let source = source(model, &[Exhibit::of(&place.vm, Attribute::PowerState, String::new())]);
        let cell = Cell { source, ..Cell::said("here", Gravity::Neutral) };
        return (cell, format!("{state} here, on {host}"));
    };
    let says = |status| row.needed(status).map(|cell| cell.says.as_str()).collect::<Vec<_>>().join("; ");
    let exhibits = |status| row.needed(status).flat_map(|cell| cell.exhibits.clone()).collect::<Vec<_>>();
    let (text, gravity, why) = match row.status() {
        Status::Fail => ("here, TCP", if place.runs { Gravity::Bad } else { Gravity::Warning }, says(Status::Fail)),
        Status::Unknown => ("here, ?", Gravity::Unknown, says(Status::Unknown)),
        _ => ("here, RDMA", Gravity::Good, String::new()),
    };
    let shown = match row.status() {
        Status::Fail => exhibits(Status::Fail),
        _ => exhibits(Status::Pass),
    };
    let cell = Cell { source: source(model, &shown), ..Cell::said(text, gravity) };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    (cell, format!("{state} on {host}. {}{why}", verdict(row)))
}

/// Another host.
fn there(model: &Model, place: &Place, one: &qualify::Move) -> (Cell, String) {
    let gravity = match one.outcome {
        Outcome::KeepsRdma => Gravity::Good,
        Outcome::Tcp => Gravity::Warning,
        // What is bound to its host does what it was chosen for.
        Outcome::DoesNotStart if place.device == Device::Pvrdma => Gravity::Warning,
        Outcome::DoesNotStart => Gravity::Neutral,
        Outcome::NotDeterminable => Gravity::Unknown,
    };
    let cell = Cell { source: source(model, &one.exhibits), ..Cell::said(one.outcome.words(), gravity) };
    let mut sentence = format!("on {}: {}", one.host, one.outcome.words());
    if !one.why.is_empty() {
        add(&mut sentence, &[": ", &one.why]);
    }
    if !one.decide.is_empty() {
        add(&mut sentence, &["; would tell: ", &one.decide]);
    }
    if one.outcome != Outcome::NotDeterminable {
        add(&mut sentence, &[". vMotion ", &one.vmotion, "; DRS ", &one.drs, "; HA ", &one.ha]);
    }
    if !place.condition.is_empty() && one.outcome == Outcome::KeepsRdma {
        add(&mut sentence, &[". ", &place.condition]);
    }
    (cell, sentence)
}

/// What only vCenter knows: said to be so, or compared with where VMs run by the check of placement.
fn declared(model: &Model, diagnosed: &Diagnosed) -> Vec<Told> {
    let declared = &model.options.site.declared;
    let id = |target: &TargetId| EntityId::new(target, Entity::Host);
    let Some(first) = hosts(model).into_iter().next() else { return Vec::new() };
    let row = |word: &str, label: &str, cell: Cell| Told {
        sentences: vec![format!("{label}: {}", cell.text)],
        row: Row { key: key("declared", &id(first), word), label: label.to_owned(), cells: vec![cell] },
    };
    let unseen = |block: &str| {
        let text =
            format!("not observable over SSH, only vCenter tells; {block} in the configuration file declares it");
        Cell::said(text, Gravity::Unknown)
    };
    let mut told = Vec::new();
    let judged = diagnosed.found.iter().filter(|found| found.check.id == "vm.placement");
    let is_declared = !declared.says_nothing_of_placement();
    for (place, found) in judged.enumerate().filter(|_| is_declared) {
        let judged = &found.judged;
        let cell = Cell {
            source: source(model, &judged.evidence),
            ..Cell::said(&judged.title, super::super::diagnosis::gravity(judged.status))
        };
        let mut one = row(&format!("placement-{place}"), "declared", cell);
        if !judged.cause.is_empty() {
            one.sentences = vec![format!("{}: {}", judged.title, judged.cause)];
        }
        told.push(one);
    }
    if declared.rules.is_empty() {
        told.push(row("drs", "DRS rules", unseen("[[drs]]")));
    }
    if declared.restart.is_none() {
        told.push(row("ha", "HA settings", unseen("[ha]")));
    }
    let mut groups: Vec<(String, EntityId)> = Vec::new();
    for chain in model.joined().chains.iter().filter(|chain| chain.is_pvrdma()) {
        let port = chain.reaches(|entity| matches!(entity, Entity::SwitchPort { .. }));
        if let Some((port, key)) = port.and_then(|port| Some((port, model.fabric.text(port, Attribute::PortGroupKey)?)))
            && groups.iter().all(|(known, _)| known != key)
        {
            groups.push((key.to_owned(), port.clone()));
        }
    }
    let named = groups.iter().filter_map(|(key, port)| Some((key, port, declared.port_group(key)?)));
    for (key, port, name) in named {
        let cell = Cell::of(format!("{key} is {name}"), Gravity::Neutral, port, Attribute::PortGroupKey);
        told.push(row(&format!("group-{key}"), "port group", cell));
    }
    let unnamed: Vec<&str> =
        groups.iter().map(|(key, _)| key.as_str()).filter(|key| declared.port_group(key).is_none()).collect();
    if !unnamed.is_empty() {
        let cell = unseen("[[port_group]]");
        let text = format!("of {}: {}", unnamed.join(", "), cell.text);
        told.push(row("groups", "port group names", Cell { text, ..cell }));
    }
    let is_seen = |key: &str| {
        hosts(model).into_iter().any(|host| {
            model.fabric.of_kind(host, Entity::SwitchPort { switch: "".into(), port: "".into() }).any(|entity| {
                let port = EntityId::new(host, entity.clone());
                model.fabric.text(&port, Attribute::PortGroupKey) == Some(key)
            })
        })
    };
    for group in declared.port_groups.iter().filter(|group| !is_seen(&group.key)) {
        let text = format!("no port of a host that was read is in {}, declared as {}", group.key, group.name);
        told.push(row(&format!("unseen-{}", group.key), "port group", Cell::said(text, Gravity::Unknown)));
    }
    told
}
