//! Preparing two guests for PVRDMA on the screen: what it needs, in the order in which it is set up, each with how it stands,
//! the exact commands or the path through vCenter, and what published advice gets wrong. It ends with the proof.

use super::super::condition::Gravity;
use super::super::diagnosis::{self, shown};
use super::super::model::Model;
use super::super::path;
use super::super::table::{Cell, Row};
use super::about::{self, About};
use super::rows::{cause_of, row, said};
use crate::diagnose::finding::Status;
use crate::diagnose::path::Transport;
use crate::diagnose::wizard::{Readiness, prepare};
use crate::fabric::value::GidType;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Value};

/// The two ends, as long as both are there.
fn ends(model: &Model) -> Option<(TargetId, TargetId)> {
    match &model.screen.wizard.about {
        About::Pair(one, other) => Some((one.clone(), other.clone())),
        _ => None,
    }
}

/// The word for how a requirement stands.
fn word(readiness: &Readiness<'_>) -> &'static str {
    match readiness.status {
        Some(Status::Fail | Status::Warn) => "TO DO",
        Some(Status::Unknown) => "open",
        Some(Status::Pass | Status::Info) => "in order",
        None => "not here",
    }
}

fn see<T>(model: &Model, look: impl FnOnce(&[Readiness<'_>]) -> T) -> T {
    let diagnosed = model.diagnosed();
    let concerned = about::targets(model, &model.screen.wizard.about);
    look(&prepare(&diagnosed.found, &concerned))
}

/// How far it is, in a few words.
pub fn summary(model: &Model) -> String {
    see(model, |all| {
        let done = all.iter().filter(|one| word(one) == "in order").count();
        let todo = all.iter().filter(|one| word(one) == "TO DO").count();
        format!("{todo} to do, {done} of {} in order", all.len())
    })
}

/// Its rows.
pub fn rows(model: &Model) -> Vec<(String, Vec<Row>)> {
    let about = &model.screen.wizard.about;
    if let Some(gone) = about.gone(model) {
        let text = format!("{gone} is no longer in the inventory: Esc, then w on what is there");
        return vec![(
            "So far".to_owned(),
            vec![row("gone".to_owned(), "verdict", vec![Cell::said(text, Gravity::Warning)])],
        )];
    }
    let mut sections = see(model, |all| {
        let next = all.iter().position(|one| word(one) == "TO DO");
        let mut sections = vec![("Next".to_owned(), vec![next_row(all, next)])];
        for (place, one) in all.iter().enumerate() {
            let rows = requirement(model, one, place);
            sections.push((format!("{} of {}", place + 1, all.len()), rows));
        }
        sections
    });
    if let Some((one, other)) = ends(model) {
        sections.push(("Proof".to_owned(), proof(model, &one, &other)));
    }
    sections
}

fn next_row(all: &[Readiness<'_>], next: Option<usize>) -> Row {
    let cell = match next {
        Some(place) => Cell::said(
            format!(
                "step {}: {}; set up from the top, each rests on those before",
                place + 1,
                all[place].requirement.title
            ),
            Gravity::Bad,
        ),
        None if all.iter().any(|one| word(one) == "open") => {
            Cell::said("nothing is known to be wrong; what is open stands with what would tell it", Gravity::Unknown)
        }
        None => Cell::said("all that can be seen is in order: the proof stands last", Gravity::Good),
    };
    row("next".to_owned(), "next", vec![cell])
}

fn requirement(model: &Model, one: &Readiness<'_>, place: usize) -> Vec<Row> {
    let word = word(one);
    let gravity = match one.status {
        Some(Status::Fail | Status::Warn) => Gravity::Bad,
        Some(Status::Unknown) => Gravity::Unknown,
        Some(Status::Pass | Status::Info) => Gravity::Good,
        None => Gravity::Neutral,
    };
    let source = one
        .found
        .iter()
        .filter_map(|found| found.judged.evidence.first())
        .find_map(|exhibit| shown(model, exhibit, Gravity::Neutral).source);
    let title = Cell { source, ..Cell::said(one.requirement.title, gravity) };
    let mut rows = vec![row(format!("need-{place}"), word, vec![title])];
    let mut push = |of: Option<&str>, label: &str, cells: Vec<Cell>| {
        // The rows of a finding lead to its remedy.
        let number = 1000 + place * 100 + rows.len();
        rows.push(row(format!("{}-{number}", of.unwrap_or("need")), label, cells));
    };
    let mut has_commands = false;
    let open = one.found.iter().filter(|found| !matches!(found.judged.status, Status::Pass | Status::Info));
    for found in open {
        let judged = &found.judged;
        let name = cause_of(model, found);
        let of = name.as_deref();
        let source = judged.evidence.first().and_then(|first| shown(model, first, Gravity::Neutral).source);
        let mut cells = vec![Cell { source, ..Cell::said(&judged.title, diagnosis::gravity(judged.status)) }];
        if judged.status == Status::Unknown {
            cells.push(said(format!("would tell: {}", judged.decide)));
        }
        push(of, "now", cells);
        for cure in &judged.cures {
            let document = cure.document();
            push(of, "do", vec![said(document.title), said(format!("risk: {}", document.risk))]);
            for command in &document.commands {
                has_commands = true;
                push(of, "command", vec![said(command)]);
            }
        }
    }
    if one.found.is_empty() {
        push(None, "now", vec![said("nothing to look at yet: what it rests on is not there")]);
    }
    if !has_commands && word != "in order" {
        push(None, "how", vec![said(one.requirement.how)]);
    }
    if !one.requirement.truth.is_empty() {
        push(None, "the truth", vec![said(one.requirement.truth)]);
    }
    rows
}

/// What a guest's end of a test is called: its device, the index of a RoCE v2 GID and the address in it.
fn end_of(model: &Model, guest: &TargetId) -> Option<(String, u32, String)> {
    let gids = model.fabric.entities(guest).filter_map(|entity| match entity {
        Entity::Gid { device, index, .. } => {
            let id = EntityId::new(guest, entity.clone());
            let is_v2 = model.fabric.value(&id, Attribute::GidType) == Some(&Value::GidType(GidType::RoceV2));
            let Some(Value::Gid(gid)) = model.fabric.value(&id, Attribute::GidValue) else { return None };
            let address = gid.ipv4()?;
            is_v2.then(|| (device.to_string(), *index, address.to_string()))
        }
        _ => None,
    });
    gids.into_iter().next()
}

/// The transport, and how it is proved.
fn proof(model: &Model, one: &TargetId, other: &TargetId) -> Vec<Row> {
    let path = diagnosis::path(model, one, other);
    let verdict = &path.verdict;
    let gravity = match verdict.transport {
        Transport::Rdma => Gravity::Good,
        Transport::SameHost => Gravity::Neutral,
        Transport::Tcp => Gravity::Bad,
        Transport::NotDeterminable => Gravity::Unknown,
    };
    let mut rows = vec![row(
        "proof".to_owned(),
        "transport",
        vec![Cell::said(verdict.transport.words(), gravity), said(&verdict.why)],
    )];
    for (place, exhibit) in verdict.evidence.iter().enumerate() {
        rows.push(row(format!("proof-{place}"), "shown by", vec![shown(model, exhibit, Gravity::Neutral)]));
    }
    if !verdict.decide.is_empty() {
        rows.push(row("proof-decide".to_owned(), "settled by", vec![said(&verdict.decide)]));
    }
    let (first, second) = (end_of(model, one), end_of(model, other));
    if let (Some((device, index, address)), Some((far, far_index, _))) = (first, second) {
        let listens = format!("ib_write_bw -d {device} -x {index} -D 10 --report_gbits");
        let sends = format!("ib_write_bw -d {far} -x {far_index} -D 10 --report_gbits {address}");
        rows.push(row("proof-a".to_owned(), &format!("on {one}"), vec![said(listens)]));
        rows.push(row("proof-b".to_owned(), &format!("on {other}"), vec![said(sends)]));
        let hosts = path::hosts(model, one, other);
        let text = format!(
            "while it runs the byte counters of the RDMA devices of {hosts} rise by about the payload: then it is RDMA. If \
             instead those of the tagged VMkernel adapter rise, it is TCP; the bandwidth alone proves neither"
        );
        rows.push(row("proof-c".to_owned(), "then look", vec![said(text)]));
    }
    rows
}

/// Works out what is shown of the way once what it is made of may be another; see [`path::shown_path`].
pub fn work_out(model: &Model) {
    if let Some((one, other)) = ends(model)
        && about::is_guest(model, &one)
        && about::is_guest(model, &other)
    {
        let _ = diagnosis::path(model, &one, &other);
    }
}
