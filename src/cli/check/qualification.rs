//! Which hosts qualify for PVRDMA, requirement by requirement, and what becomes of the RDMA of each VM on each other host, as
//! `check` prints it; with what only vCenter knows, as far as the configuration file declares it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Outcome;
use super::report::Page;
use crate::config::declared::Declared;
use crate::diagnose::check::Exhibit;
use crate::diagnose::document::evidence;
use crate::diagnose::finding::{Evidence, Status};
use crate::diagnose::qualify::{Cell, Move, Place, Qualification, Requirement, Row};
use crate::fabric::text::clean_line;
use crate::fabric::{Attribute, Entity, EntityId, Text};

/// A host whose name is longer has its row below it.
const LONGEST_LABEL: usize = 24;

/// How wide a column is: two blanks and a word.
const COLUMN: usize = 6;

const _: () = assert!(2 + LONGEST_LABEL + Requirement::ALL.len() * COLUMN <= super::report::COLUMNS, "a row fits");

#[derive(Debug, Serialize)]
pub(super) struct Document {
    /// True if a VM has a PVRDMA adapter; else it is what hosts would have.
    needed: bool,
    hosts: Vec<HostDocument>,
    vms: Vec<VmDocument>,
    declared: DeclaredDocument,
}

#[derive(Debug, Serialize)]
struct HostDocument {
    host: Text,
    switch: Option<Text>,
    status: Status,
    requirements: Vec<RequirementDocument>,
}

#[derive(Debug, Serialize)]
struct RequirementDocument {
    name: &'static str,
    status: Status,
    /// False where another requirement that is not met leaves nothing to look at.
    applies: bool,
    says: Text,
    decide: Text,
    check: Option<&'static str>,
    evidence: Vec<Evidence>,
}

#[derive(Debug, Serialize)]
struct VmDocument {
    name: Text,
    host: Text,
    device: &'static str,
    runs: bool,
    /// Whether its own host qualifies; null for a VM whose device is passed through.
    here: Option<Status>,
    condition: Text,
    hosts: Vec<MoveDocument>,
}

#[derive(Debug, Serialize)]
struct MoveDocument {
    host: Text,
    outcome: String,
    why: Text,
    decide: Text,
    vmotion: Text,
    drs: Text,
    ha: Text,
    evidence: Vec<Evidence>,
}

/// What only vCenter knows: null where nothing is declared of it.
#[derive(Debug, Serialize)]
struct DeclaredDocument {
    drs: Option<Vec<RuleDocument>>,
    ha_restart: Option<Vec<Text>>,
    port_groups: Vec<GroupDocument>,
}

#[derive(Debug, Serialize)]
struct RuleDocument {
    kind: &'static str,
    vms: Vec<Text>,
    hosts: Vec<Text>,
}

#[derive(Debug, Serialize)]
struct GroupDocument {
    key: Text,
    name: Option<Text>,
    /// False where no port of a host that was read is in it.
    seen: bool,
}

/// A port group of a PVRDMA adapter, or one that is declared.
struct Group {
    key: String,
    name: Option<String>,
    is_seen: bool,
}

fn texts(all: &[String]) -> Vec<Text> {
    all.iter().map(|text| Text::new(text)).collect()
}

/// The member `qualification` of the document; `None` where no host with VMs was looked at.
pub(super) fn document(outcome: &Outcome) -> Option<Document> {
    let qualification = outcome.qualification.as_ref()?;
    let examination = &outcome.examined.examination;
    let shown = |exhibits: &[Exhibit]| -> Vec<Evidence> {
        exhibits.iter().map(|exhibit| evidence(exhibit, &examination.fabric, &outcome.examined.raw)).collect()
    };
    let requirement = |cell: &Cell| RequirementDocument {
        name: cell.requirement.name(),
        status: cell.status,
        applies: cell.applies,
        says: Text::new(&cell.says),
        decide: Text::new(&cell.decide),
        check: cell.check,
        evidence: shown(&cell.exhibits),
    };
    let host = |row: &Row| HostDocument {
        host: row.host.0.clone(),
        switch: row.switch.as_ref().map(|switch| Text::new(&switch.entity.name())),
        status: row.status(),
        requirements: row.cells.iter().map(requirement).collect(),
    };
    let there = |one: &Move| MoveDocument {
        host: one.host.0.clone(),
        outcome: one.outcome.words().to_ascii_lowercase().replace(' ', "-"),
        why: Text::new(&one.why),
        decide: Text::new(&one.decide),
        vmotion: Text::new(&one.vmotion),
        drs: Text::new(&one.drs),
        ha: Text::new(&one.ha),
        evidence: shown(&one.exhibits),
    };
    let vm = |place: &Place| VmDocument {
        name: Text::new(&place.name),
        host: place.vm.target.0.clone(),
        device: place.device.words(),
        runs: place.runs,
        here: place.here.as_ref().map(Row::status),
        condition: Text::new(&place.condition),
        hosts: place.moves.iter().map(there).collect(),
    };
    let declared = &examination.says.declared;
    let rules = declared.rules.iter().map(|rule| RuleDocument {
        kind: rule.kind.name(),
        vms: texts(&rule.vms),
        hosts: texts(&rule.hosts),
    });
    let groups = groups(outcome, declared).into_iter().map(|group| GroupDocument {
        key: Text::new(&group.key),
        name: group.name.as_deref().map(Text::new),
        seen: group.is_seen,
    });
    Some(Document {
        needed: qualification.is_needed,
        hosts: qualification.rows.iter().map(host).collect(),
        vms: qualification.places.iter().map(vm).collect(),
        declared: DeclaredDocument {
            drs: (!declared.rules.is_empty()).then(|| rules.collect()),
            ha_restart: declared.restart.as_deref().map(texts),
            port_groups: groups.collect(),
        },
    })
}

/// The same for people.
pub(super) fn text(page: &mut Page, outcome: &Outcome) {
    let Some(qualification) = &outcome.qualification else { return };
    hosts(page, qualification);
    if !qualification.places.is_empty() {
        page.heading("RDMA of each VM on each host");
        qualification.places.iter().for_each(|place| vm(page, place));
    }
    page.heading("Not observable over SSH, or declared");
    declared(page, outcome);
}

fn hosts(page: &mut Page, qualification: &Qualification) {
    let unused = if qualification.is_needed { "" } else { " (no VM has a PVRDMA adapter: what they would have)" };
    page.heading(&format!("Hosts that qualify for PVRDMA{unused}"));
    let switches: std::collections::BTreeSet<String> =
        qualification.rows.iter().filter_map(|row| row.switch.as_ref()).map(|switch| switch.entity.name()).collect();
    let label = |row: &Row| {
        let switch = row.switch.as_ref().filter(|_| switches.len() > 1).map(|switch| switch.entity.name());
        clean_line(&format!("{} {}", row.host, switch.unwrap_or_default())).trim().to_owned()
    };
    let longest = qualification.rows.iter().map(|row| label(row).chars().count()).max().unwrap_or(0);
    let width = longest.min(LONGEST_LABEL);
    let line = |label: &str, words: &[&str]| {
        let words = words.iter().map(|word| format!("  {word:<4}")).collect::<Vec<_>>().concat();
        format!("  {label:width$}{words}")
    };
    page.line(&line("", &Requirement::ALL.map(Requirement::short)));
    for row in &qualification.rows {
        let label = label(row);
        let words: Vec<&str> = row.cells.iter().map(Cell::word).collect();
        if label.chars().count() > width {
            page.say(2, &label);
            page.line(&line("", &words));
        } else {
            page.line(&line(&label, &words));
        }
    }
    for row in &qualification.rows {
        for cell in row.cells.iter().filter(|cell| cell.applies && !matches!(cell.status, Status::Pass | Status::Info))
        {
            let check = cell.check.map_or(String::new(), |check| format!(" ({check})"));
            let tells = match (cell.status, cell.decide.as_str()) {
                (Status::Unknown, decide) if !decide.is_empty() => format!("; would tell: {decide}"),
                _ => String::new(),
            };
            let name = cell.requirement.name();
            let says = of_host(&cell.says, row.host.as_str());
            page.say(2, &clean_line(&format!("{} {name} {}: {says}{tells}{check}", row.host, cell.word())));
        }
    }
}

/// Words that are said of a host, without its name in front of them.
fn of_host<'a>(says: &'a str, host: &str) -> &'a str {
    says.strip_prefix(host).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(says)
}

fn vm(page: &mut Page, place: &Place) {
    let here = match place.here.as_ref().map(Row::status) {
        None => "",
        Some(Status::Fail) => ", which does not qualify (TCP there)",
        Some(Status::Unknown) => "; whether that qualifies is not known",
        Some(_) => ", which qualifies",
    };
    let runs = if place.runs { "runs" } else { "is off" };
    let about = format!("{} ({}) {runs} on {}{here}", place.name, place.device.words(), place.vm.target);
    page.say(2, &clean_line(&about));
    // Hosts of which the same is to be said stand together.
    let mut same: BTreeMap<_, Vec<&Move>> = BTreeMap::new();
    for one in &place.moves {
        same.entry((one.outcome, of_host(&one.why, one.host.as_str()), &*one.decide)).or_default().push(one);
    }
    for ((outcome, why, decide), moves) in same {
        let hosts: Vec<&str> = moves.iter().map(|one| one.host.as_str()).collect();
        let mut sentence = format!("{} on {}", outcome.words(), hosts.join(", "));
        for (before, part) in [(": ", why), ("; would tell: ", decide)] {
            if !part.is_empty() {
                sentence.push_str(before);
                sentence.push_str(part);
            }
        }
        page.say(4, &clean_line(&sentence));
    }
    page.say(4, &clean_line(&place.condition));
}

fn declared(page: &mut Page, outcome: &Outcome) {
    let declared = &outcome.examined.examination.says.declared;
    let found = outcome.diagnosis.findings().chain(outcome.accepted.iter().map(|accepted| &accepted.found));
    if !declared.says_nothing_of_placement() {
        for found in found.filter(|found| found.check.id == "vm.placement") {
            let status = found.judged.status.name();
            page.say(2, &clean_line(&format!("declared: {status} {} (vm.placement)", found.judged.title)));
        }
    }
    let unseen = |what: &str, block: &str| {
        format!("{what}: not observable over SSH, only vCenter tells; {block} in the configuration file declares them")
    };
    if declared.rules.is_empty() {
        page.say(2, &unseen("DRS rules", "[[drs]]"));
    }
    if declared.restart.is_none() {
        page.say(2, &unseen("HA restarts", "[ha]"));
    }
    let mut unnamed = Vec::new();
    for group in groups(outcome, declared) {
        let key = clean_line(&group.key);
        match &group.name {
            None => unnamed.push(key),
            Some(name) if group.is_seen => page.say(2, &format!("port group {key} is {}", clean_line(name))),
            Some(name) => {
                let name = clean_line(name);
                page.say(2, &format!("port group {key}, declared as {name}: no port of a host that was read is in it"));
            }
        }
    }
    if !unnamed.is_empty() {
        page.say(2, &unseen(&format!("names of the port groups {}", unnamed.join(", ")), "[[port_group]]"));
    }
}

/// Port groups of PVRDMA adapters, then others that are declared.
fn groups(outcome: &Outcome, declared: &Declared) -> Vec<Group> {
    let examination = &outcome.examined.examination;
    let (fabric, scene) = (&examination.fabric, examination.scene());
    let mut groups: Vec<Group> = Vec::new();
    let mut add = |key: &str, is_seen: bool| {
        if groups.iter().all(|known| known.key != key) {
            let name = declared.port_group(key).map(str::to_owned);
            groups.push(Group { key: key.to_owned(), name, is_seen });
        }
    };
    let is_port = |entity: &Entity| matches!(entity, Entity::SwitchPort { .. });
    for port in scene.pvrdma_chains().filter_map(|chain| chain.reaches(is_port)) {
        if let Some(key) = fabric.text(port, Attribute::PortGroupKey) {
            add(key, true);
        }
    }
    let is_seen = |key: &str| {
        scene.hosts().any(|host| {
            fabric
                .of_kind(host, Entity::SwitchPort { switch: "".into(), port: "".into() })
                .any(|entity| fabric.text(&EntityId::new(host, entity.clone()), Attribute::PortGroupKey) == Some(key))
        })
    };
    declared.port_groups.iter().for_each(|group| add(&group.key, is_seen(&group.key)));
    groups
}
