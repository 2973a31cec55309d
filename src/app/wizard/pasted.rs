//! Answers of a switch that a person pasted: the console cannot read it, so someone else did. The text goes through the
//! parsers that read switches, becomes facts of a target that is none, and the same checks judge it. What no parser knows is
//! not taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::model::Model;
use crate::diagnose::join::NamedCable;
use crate::fabric::text::clean_line;
use crate::fabric::{
    Attribute, Entity, EntityId, Fact, Observation, Outcome, Report, SourceId, State, TargetId, Timestamp,
};
use crate::probe::Probe;
use crate::probe::switch::{self, SwitchSystem, command_for};

/// The most that is taken of what is pasted, in characters: the longest answer of a large switch is a tenth of it.
pub const MOST: usize = 1 << 16;

/// The first number of what is pasted: no target is read so often.
const FIRST: u64 = 1 << 40;

/// A switch that is known by what was pasted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pasted {
    /// The uplink that is plugged into it.
    pub uplink: EntityId,
    /// Its name; no target of an inventory has such a one.
    pub switch: TargetId,
    /// Its port with that uplink, once that is known.
    pub port: Option<String>,
}

/// What was made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// In words, what it is the answer of.
    pub as_answer_of: String,
    /// True if it says something of what was asked.
    pub fits: bool,
}

/// The name of the switch behind an uplink.
fn name_of(uplink: &EntityId) -> TargetId {
    TargetId::new(&format!("switch at {} {}", uplink.target, uplink.entity.name()))
}

/// All targets for the join: the inventory's, then the switches that were pasted.
pub fn with_pasted(model: &Model) -> Vec<TargetId> {
    model.order.iter().cloned().chain(model.pasted.iter().map(|one| one.switch.clone())).collect()
}

/// The cables that are known without a switch that says so: those pasted, then those that the inventory names.
pub fn cables(model: &Model) -> Vec<NamedCable> {
    let pasted = model.pasted.iter().filter_map(|one| {
        Some(NamedCable {
            host: one.uplink.target.clone(),
            uplink: one.uplink.entity.name(),
            switch: one.switch.clone(),
            port: one.port.clone()?,
        })
    });
    pasted.chain(model.options.site.cables.iter().cloned()).collect()
}

/// Forgets what was pasted about an uplink of a host that is gone.
pub fn forget(model: &mut Model, host: &TargetId) {
    let gone: Vec<TargetId> =
        model.pasted.iter().filter(|one| one.uplink.target == *host).map(|one| one.switch.clone()).collect();
    for switch in &gone {
        model.fabric.forget(switch);
        model.raw.forget(switch);
    }
    model.pasted.retain(|one| one.uplink.target != *host);
}

/// What of a switch a check looks at, as sources are named; empty for a check that looks at no switch.
fn wanted(check: &str) -> &'static [&'static str] {
    match check {
        "switch.pfc" | "switch.pfc-priority" => &["pfc", "roce"],
        "switch.pfc-watchdog" => &["pfc-watchdog", "pfc"],
        "switch.ecn" => &["ecn", "queuing", "roce"],
        "switch.trust" => &["trust", "roce", "queuing-policy"],
        "switch.vlan" => &["switchport", "vlans"],
        "switch.pause-with-pfc" => &["flow-control", "interfaces"],
        "switch.neighbour" => &["lldp"],
        "switch.errors" | "switch.drops" => &["counters", "interfaces"],
        "switch.pause-storm" => &["pfc-counters"],
        check if check.starts_with("switch.") => &["interfaces"],
        _ => &[],
    }
}

/// The commands that answer what a check asks, one for each system that has one; of the system alone that is known.
pub fn commands(model: &Model, check: &str, subject: &EntityId) -> Vec<(SwitchSystem, String)> {
    let port = match &subject.entity {
        Entity::SwitchInterface(name) => name.to_string(),
        _ => String::new(),
    };
    let known = system_of(model, &subject.target);
    let systems = SwitchSystem::ALL.into_iter().filter(|system| known.is_none_or(|known| known == *system));
    let of = |system: SwitchSystem| {
        let command =
            wanted(check).iter().map(|what| command_for(system, what, &port)).find(|text| !text.is_empty())?;
        Some((system, command))
    };
    systems.filter_map(of).collect()
}

/// The maker's name, as people know the system.
pub fn maker(system: SwitchSystem) -> &'static str {
    match system {
        SwitchSystem::Eos => "Arista",
        SwitchSystem::NxOs => "Cisco NX-OS",
        SwitchSystem::Cumulus => "Cumulus",
        SwitchSystem::Sonic => "SONiC",
        SwitchSystem::Onyx => "Onyx",
    }
}

/// The system of a switch by what was read or pasted of it.
fn system_of(model: &Model, target: &TargetId) -> Option<SwitchSystem> {
    SwitchSystem::ALL.into_iter().find(|system| {
        system.probes().iter().any(|probe| model.raw.newest(target, &SourceId::new(probe.name)).is_some())
    })
}

/// A text made safe: no escape sequences and no controls but newlines, and no more than is taken.
pub fn clean(text: &str) -> String {
    // One more than is taken, so that it is known whether something was cut off.
    let bounded: String = text.chars().take(MOST + 1).collect();
    let lines = bounded.replace("\r\n", "\n").replace('\r', "\n");
    lines
        .lines()
        .map(|line| line.split('\t').map(clean_line).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The same text as a parser may want it: whole; without the typed command and the prompts; the JSON in it alone.
fn forms(text: &str) -> Vec<String> {
    let is_prompt = |line: &str| {
        let line = line.trim_end();
        let words = line.split_whitespace().count();
        words <= 1 && line.ends_with(['#', '>', '$']) && line.len() > 1
    };
    let is_typed = |line: &str| {
        line.find(['#', '>', '$']).is_some_and(|at| {
            let typed = line[at + 1..].trim_start();
            ["show ", "nv show ", "sudo ", "ethtool ", "cat "].iter().any(|word| typed.starts_with(word))
        })
    };
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| is_typed(line)).map_or(0, |at| at + 1);
    let kept: Vec<&str> =
        lines.iter().skip(first).copied().filter(|line| !is_prompt(line) && !is_typed(line)).collect();
    let mut forms = vec![text.to_owned(), kept.join("\n")];
    if let (Some(open), Some(close)) = (text.find('{'), text.rfind('}'))
        && open < close
    {
        forms.push(text[open..=close].to_owned());
    }
    forms.dedup();
    forms
}

/// How much a fact tells of a switch: something of a port, or of flow control of all of them.
fn tells(fact: &Fact) -> bool {
    let is_known = matches!(fact.reading.state, State::Known(_) | State::Empty);
    let about = match &fact.entity {
        Entity::SwitchInterface(_) => true,
        Entity::Switch => matches!(fact.attribute, Attribute::PfcEnabled | Attribute::PfcPriorities),
        Entity::Counter { .. } => true,
        _ => false,
    };
    is_known && about
}

/// One way to read a text.
struct Read {
    system: SwitchSystem,
    what: &'static str,
    probe: &'static Probe,
    observation: Arc<Observation>,
    facts: Vec<Fact>,
    score: usize,
}

/// Reads a text by one probe.
fn read(
    system: SwitchSystem,
    probe: &'static Probe,
    target: &TargetId,
    at: Timestamp,
    sequence: u64,
    text: &str,
) -> Read {
    let what = probe.name.split_once('.').map_or(probe.name, |(_, what)| what);
    let shown = probe.sources.first().map(|source| source.read.shown()).unwrap_or_default();
    let observation = Arc::new(Observation {
        target: target.clone(),
        source: SourceId::new(probe.name),
        sequence,
        command: format!("pasted by the user at {}, as the answer of: {shown}", at.strftime("%H:%M:%S UTC")).into(),
        at,
        duration: None,
        outcome: Outcome::Exit(0),
        stdout: text.into(),
        stderr: "".into(),
        cut: 0,
    });
    let facts = (probe.parse)(&[Arc::clone(&observation)]);
    let score = facts.iter().filter(|fact| tells(fact)).count();
    Read { system, what, probe, observation, facts, score }
}

/// Takes in a text as the answer to what a check asked of an uplink, or of a port of a switch. The error says what was
/// expected.
pub fn take(
    model: &mut Model,
    check: &str,
    subject: &EntityId,
    preferred: Option<SwitchSystem>,
    text: &str,
) -> Result<Taken, String> {
    let asked = wanted(check);
    if asked.is_empty() {
        return Err("nothing of a switch is asked here: say yes or no instead (Esc, then y or n)".to_owned());
    }
    let text = clean(text);
    if text.trim().is_empty() {
        return Err("nothing was pasted yet".to_owned());
    }
    let known = model.pasted.iter().find(|one| one.uplink == *subject || one.switch == subject.target).cloned();
    let is_own = known.is_some() || matches!(subject.entity, Entity::Uplink(_));
    let switch = match &known {
        Some(known) => known.switch.clone(),
        None if is_own => name_of(subject),
        None => subject.target.clone(),
    };
    let system = system_of(model, &switch);
    let preferred = system.or(preferred);
    let sequence = FIRST + model.revision;
    let best_of = |systems: &[SwitchSystem]| {
        let mut best: Option<Read> = None;
        for form in forms(&text) {
            for (system, probe) in
                systems.iter().flat_map(|system| system.probes().iter().map(|probe| (*system, probe)))
            {
                let one = read(system, probe, &switch, model.now, sequence, &form);
                let rank = |one: &Read| (asked.contains(&one.what), Some(one.system) == preferred, one.score);
                if one.score > 0 && best.as_ref().is_none_or(|best| rank(&one) > rank(best)) {
                    best = Some(one);
                }
            }
        }
        best
    };
    // What the switch is known to be says how its answer is read.
    let best = system.and_then(|system| best_of(&[system])).or_else(|| best_of(&SwitchSystem::ALL));
    let Some(best) = best else { return Err(refused(model, check, subject, &text)) };
    let mut dropped = String::new();
    if let Some(system) = system.filter(|system| *system != best.system) {
        if !is_own {
            let expected = commands(model, check, subject).into_iter().next().map(|(_, command)| command);
            return Err(format!(
                "not taken: this is what {} prints, and {switch} is {}; expected is what it prints for `{}`",
                maker(best.system),
                maker(system),
                expected.unwrap_or_default()
            ));
        }
        // It was of another switch, or this is: two systems in one make no sense.
        model.fabric.forget(&switch);
        model.raw.forget(&switch);
        if let Some(own) = model.pasted.iter_mut().find(|one| one.switch == switch) {
            own.port = None;
        }
        dropped = format!("; what was pasted before, of {}, is dropped", maker(system));
    }
    let fits = asked.contains(&best.what);
    let shown = best.probe.sources.first().map(|source| source.read.shown()).unwrap_or_default();
    let as_answer_of = format!("{}: {shown}{dropped}", maker(best.system));
    let Read { probe, observation, facts, .. } = best;
    // Beside what is read of a switch of the inventory this is another word, which what is read later outweighs.
    let name = if is_own { probe.name.to_owned() } else { format!("pasted {}", probe.name) };
    let (observation, facts) = if is_own { (observation, facts) } else { renamed(&observation, facts, &name) };
    model.raw.keep(&observation);
    let report = Report { target: switch.clone(), probe: SourceId::new(&name), observations: vec![observation], facts };
    model.fabric.apply(&report);
    if is_own {
        if known.is_none() {
            model.pasted.push(Pasted { uplink: subject.clone(), switch: switch.clone(), port: None });
        }
        let ports = ports(model, &switch);
        if let ([port], Some(own)) = (&ports[..], model.pasted.iter_mut().find(|one| one.switch == switch)) {
            own.port.get_or_insert_with(|| port.clone());
        }
    }
    model.fabric_changed();
    Ok(Taken { as_answer_of, fits })
}

/// The same under another name.
fn renamed(observation: &Observation, facts: Vec<Fact>, name: &str) -> (Arc<Observation>, Vec<Fact>) {
    let observation = Arc::new(Observation { source: SourceId::new(name), ..observation.clone() });
    let reference = observation.reference();
    let facts = facts.into_iter().map(|mut fact| {
        fact.reading.source = reference.clone();
        fact
    });
    let facts = facts.collect();
    (observation, facts)
}

/// Why a text is not taken, and what would be.
fn refused(model: &Model, check: &str, subject: &EntityId, text: &str) -> String {
    let commands: Vec<String> = commands(model, check, subject)
        .into_iter()
        .map(|(system, command)| format!("`{command}` ({})", maker(system)))
        .collect();
    let expected = format!("expected is what a switch prints for {}", commands.join(", "));
    match switch::refusal(text) {
        Some(said) => format!("not taken: the switch refused the command ({}); {expected}", clean_line(said)),
        None => format!("not taken: no answer of a switch is recognised in it; {expected}"),
    }
}

/// The ports that are known of a pasted switch.
fn ports(model: &Model, switch: &TargetId) -> Vec<String> {
    let first = Entity::SwitchInterface("".into());
    let all: BTreeSet<String> = model.fabric.of_kind(switch, first).map(Entity::name).collect();
    all.into_iter().collect()
}

/// Uplinks whose switch was pasted with several ports, and nothing tells which of them it is: each with the ports.
pub fn unplugged(model: &Model) -> Vec<(EntityId, Vec<String>)> {
    let is_led = |uplink: &EntityId| model.joined().cables.iter().any(|cable| cable.uplink == *uplink);
    let open = model.pasted.iter().filter(|one| one.port.is_none() && !is_led(&one.uplink));
    open.map(|one| (one.uplink.clone(), ports(model, &one.switch))).collect()
}

/// Says into which port an uplink is plugged.
pub fn plug(model: &mut Model, uplink: &EntityId, port: &str) {
    if let Some(own) = model.pasted.iter_mut().find(|one| one.uplink == *uplink) {
        own.port = Some(port.to_owned());
        model.fabric_changed();
    }
}
