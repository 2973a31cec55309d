//! What physical switches print, read by the parsers that read it on the switch itself. Which output it is, and of which
//! system, the words of its titles tell, with or without the command; the names of ports in it are given in full.

mod conclude;
mod signs;

use super::parts::Part;
use super::{Explained, Kind, Value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::{Entity, Observation, State, Text};
use crate::probe::switch::{SwitchSystem, probe, refusal};

/// True for a command that a switch is given.
pub(super) fn is_command(command: &str) -> bool {
    signs::is_command(&signs::words(command))
}

/// One fact of a switch with where it stands.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The switch, where several hosts are in the text.
    pub(super) host: Option<String>,
    pub(super) system: SwitchSystem,
    pub(super) fact: crate::fabric::Fact,
    /// The line, and what stands on it.
    pub(super) line: u32,
    pub(super) excerpt: String,
}

/// Reads what a part holds of switches. Gives for each line whether it was read.
pub(super) fn read(explained: &mut Explained, all: &mut Vec<Said>, host: Option<&str>, part: &Part<'_>) -> Vec<bool> {
    let lines: Vec<&str> = part.lines.iter().take(super::MOST_LINES).map(|(_, line)| &**line).collect();
    let mut is_read = vec![false; part.lines.len()];
    let command =
        part.command.as_ref().map(|(_, command)| signs::words(command)).filter(|words| signs::is_command(words));
    if command.is_some() && lines.iter().all(|line| line.trim().is_empty()) {
        explained.is(Kind::SwitchCommand);
        return is_read;
    }
    let refused = command.is_some().then(|| refusal_of(&lines)).flatten();
    if let (Some((at, words)), Some((line, command))) = (refused, &part.command) {
        refuse(explained, *line, command, part.lines[at].0, words);
        is_read.fill(true);
        return is_read;
    }
    let mut sections = signs::sections(&lines);
    if sections.is_empty()
        && let Some(source) = command.as_ref().and_then(|words| signs::by_command(words, &lines))
    {
        sections.push(signs::Section { source, lines: 0..lines.len() });
    }
    for section in sections {
        let Some((system, known)) = system_of(section.source).zip(probe(section.source)) else { continue };
        let text = lines[section.lines.clone()].join("\n");
        let observation = Observation::of_text(section.source, &text);
        let facts = (known.parse)(&[std::sync::Arc::new(observation)]);
        // What is said of no line is that nothing was understood: a title without its table.
        let told =
            |fact: &crate::fabric::Fact| fact.reading.line > 0 || matches!(fact.reading.state, State::NotObservable(_));
        if !facts.iter().any(told) {
            continue;
        }
        explained.is(Kind::Switch(system));
        is_read[section.lines.clone()].fill(true);
        for fact in facts.into_iter().filter(told) {
            let at = section.lines.start + fact.reading.line.saturating_sub(1) as usize;
            let Some((line, excerpt)) = part.lines.get(at.min(section.lines.end - 1)) else { continue };
            tell(explained, host, &fact, *line);
            if all.len() < super::MOST_FACTS {
                let excerpt = excerpt.trim().to_owned();
                all.push(Said { host: host.map(str::to_owned), system, fact, line: *line, excerpt });
            }
        }
    }
    is_read
}

/// What the facts of all parts mean together.
pub(super) fn conclude(explained: &mut Explained, all: &[Said]) {
    for finding in conclude::findings(all) {
        explained.finding(finding);
    }
}

fn system_of(source: &str) -> Option<SwitchSystem> {
    let name = source.split('.').next().unwrap_or_default();
    SwitchSystem::ALL.into_iter().find(|system| system.name() == name)
}

fn refusal_of<'a>(lines: &[&'a str]) -> Option<(usize, &'a str)> {
    let text = lines.iter().take(8).copied().collect::<Vec<_>>().join("\n");
    let said = refusal(&text)?.to_owned();
    lines.iter().position(|line| line.contains(&said)).map(|at| (at, lines[at].trim()))
}

fn refuse(explained: &mut Explained, line: u32, command: &str, at: u32, words: &str) {
    let lower = words.to_ascii_lowercase();
    let (title, cause) = if lower.contains("denied") || lower.contains("authoriz") || lower.contains("privilege") {
        ("The switch does not let this login run the command", "Another role, or the privileged mode, is needed.")
    } else {
        (
            "The switch does not have this command",
            "Systems of switches spell the same thing differently, and not every model and version has all of it. Nothing is said of what \
             the command was meant to show.",
        )
    };
    let finding = Finding::new("tool.switch-refused", Status::Info, Confidence::Proved, command, title, cause)
        .decided_by("The model and version of the switch: show version")
        .shown(line, command)
        .shown(at, words);
    explained.is(Kind::SwitchCommand);
    explained.finding(finding);
}

/// Tells a fact of a probe by the name of its thing and of its attribute.
pub(super) fn tell(explained: &mut Explained, host: Option<&str>, fact: &crate::fabric::Fact, line: u32) {
    let own = match &fact.entity {
        Entity::Switch => "switch".to_owned(),
        Entity::Counter { of, name } => format!("{of}.{name}"),
        entity => entity.name(),
    };
    let own = host.map_or_else(|| own.clone(), |host| format!("{host}:{own}"));
    let name = match &fact.entity {
        Entity::Counter { .. } => own,
        _ => format!("{own}.{}", fact.attribute.name()),
    };
    explained.fact(line, &name, state_of(&fact.reading.state), fact.attribute.unit().name());
}

/// The state with a value as it is told here.
fn state_of(state: &State<crate::fabric::Value>) -> State<Value> {
    use crate::fabric::Value as Read;
    state.clone().map(|value| match value {
        Read::Count(number) => {
            i64::try_from(number).map_or_else(|_| Value::Text(Text::new(&number.to_string())), Value::Number)
        }
        Read::Signed(number) => Value::Number(number),
        Read::Flag(flag) => Value::Flag(flag),
        Read::Text(text) => Value::Text(text),
        other => Value::Text(Text::new(&other.to_string())),
    })
}

#[cfg(test)]
mod tests;
