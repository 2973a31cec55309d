//! What a switch answered as a whole: a command that its version does not have, one that the login may not run, one that its
//! hardware cannot tell, and how its words become facts.

use super::names::full_name;
use crate::fabric::observation::is_permission_error;
use crate::fabric::{Attribute, Entity, Observation, Outcome, State, Text, Value};
pub(super) use crate::probe::esxi::reply::{Facts, missing, not_understood, text};

/// How a switch says that it has no such command.
const NO_SUCH: &[&str] = &[
    "Invalid input",
    "Invalid command",
    "Incomplete command",
    "Ambiguous command",
    "Unrecognized command",
    "Unavailable command",
    "No such command",
    "Invalid Command",
    "not supported",
    "Not supported",
    "command not found",
    "Feature not enabled",
];

/// How it says that the login may not run it.
const NOT_ALLOWED: &[&str] =
    &["Permission denied", "authorization", "Insufficient privilege", "not authorized", "Not authorized"];

/// The line with which a switch refused a command, if it did: such a line stands alone, or first.
pub fn refusal(output: &str) -> Option<&str> {
    // An error of EOS in JSON is `{"errors": ["..."]}`.
    let first = output.lines().map(str::trim).find(|line| !line.is_empty() && *line != "^" && *line != "{")?;
    let marked = first.starts_with('%') || first.starts_with("Error") || first.starts_with("Usage:");
    if first.starts_with("\"errors\"") || first.starts_with("{\"errors\"") {
        let said = output.lines().map(str::trim).find(|line| NO_SUCH.iter().any(|words| line.contains(words)));
        return Some(said.unwrap_or(first).trim_matches(['"', ',', ' ']));
    }
    // A word of command that was typed may stand above it.
    let second = || output.lines().map(str::trim).find(|line| line.starts_with('%'));
    if marked { Some(first) } else { second() }
}

/// Why a command as a whole gave nothing to parse, if that is so.
pub(super) fn trouble(observation: &Observation) -> Option<State<Value>> {
    let status = match observation.outcome {
        Outcome::TimedOut => return Some(State::Failed(Text::new("no answer before its deadline"))),
        Outcome::Cut => return Some(State::Failed(Text::new("the answer was cut off before its end"))),
        Outcome::Exit(_) if observation.cut > 0 => {
            return Some(State::Failed(Text::new("the answer was too long and was cut off")));
        }
        Outcome::Exit(status) => status,
    };
    let said = refusal(&observation.stdout).or_else(|| refusal(&observation.stderr));
    if let Some(said) = said {
        return Some(judged(said));
    }
    match status {
        0 => None,
        127 => Some(State::NotInstalled(Text::new(observation.command.split(' ').next().unwrap_or("show")))),
        124 | 137 | 143 => Some(State::Failed(Text::new("no answer before its deadline"))),
        _ => {
            let lines = observation.stderr.lines().chain(observation.stdout.lines()).map(str::trim);
            let said = lines.into_iter().find(|line| !line.is_empty());
            Some(said.map_or_else(
                || State::Failed(Text::new(&format!("ended with status {status} and said nothing"))),
                judged,
            ))
        }
    }
}

fn judged(said: &str) -> State<Value> {
    let has = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if has(NOT_ALLOWED) || is_permission_error(said) {
        State::NeedsPrivilege(Text::new(&format!("the switch says: {}", Text::new(said))))
    } else if has(NO_SUCH) {
        State::NotPublished(Text::new(&format!("this switch ({})", Text::new(said))))
    } else {
        State::Failed(Text::new(said))
    }
}

/// What was said of the switch itself in place of its ports, where the whole answer is missing.
pub(super) fn nothing(
    observation: &Observation,
    state: &State<Value>,
    attributes: &[Attribute],
) -> Vec<crate::fabric::Fact> {
    let mut facts = Facts::of(observation);
    for attribute in attributes {
        facts.say(&Entity::Switch, *attribute, Some(state.clone()), 0);
    }
    facts.said
}

/// The port of this name.
pub(super) fn port(name: &str) -> Entity {
    Entity::SwitchInterface(Text::new(&full_name(name)))
}

/// A counter of a port; a word that is no number says nothing.
pub(super) fn count(facts: &mut Facts<'_>, of: &Entity, label: &str, word: &str, line: u32) {
    if let Some(number) = number(word) {
        let counter = Entity::Counter { of: Text::new(&of.name()), name: Text::new(label) };
        facts.say(&counter, Attribute::CounterValue, Some(State::Known(number.into())), line);
    }
}

/// A number as tables print it: thousands may be parted by commas.
pub(super) fn number(word: &str) -> Option<u64> {
    let word = word.trim();
    if word.contains(',') { word.replace(',', "").parse().ok() } else { word.parse().ok() }
}

/// A speed as it is printed: `100G`, `100 Gb/s`, `25000 Mb/s`, `a-100G`, in bits per second.
pub(super) fn speed(word: &str) -> State<Value> {
    let word = word.trim().trim_start_matches("a-").trim_start_matches("auto-");
    if let Some(state) = missing(word) {
        return state;
    }
    let end = word.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(word.len());
    let unit = word[end..].trim_start().chars().next().map(|unit| unit.to_ascii_uppercase());
    let scale: u64 = match unit {
        Some('G') => 1_000_000_000,
        Some('M') => 1_000_000,
        Some('K') => 1000,
        _ => return not_understood(word),
    };
    // 2.5 Gb/s has a fraction.
    let (whole, fraction) = word[..end].split_once('.').unwrap_or((&word[..end], "0"));
    let tenths = fraction.get(..1).and_then(|digit| digit.parse::<u64>().ok()).unwrap_or(0);
    match whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(scale)?.checked_add(tenths * (scale / 10))) {
        Some(0) => State::NotObservable(Text::new("the switch says 0")),
        Some(bits) => State::Known(bits.into()),
        None => not_understood(word),
    }
}

/// `on`, `enabled`, `yes`, `active` and their opposites.
pub(super) fn on_or_off(word: &str) -> State<Value> {
    missing(word).unwrap_or_else(|| match as_switch(word) {
        Some(on) => State::Known(on.into()),
        None => not_understood(word),
    })
}

/// The same, where it is one of these words.
pub(super) fn as_switch(word: &str) -> Option<bool> {
    let word = word.trim().to_ascii_lowercase();
    match word.as_str() {
        "on" | "enabled" | "enable" | "yes" | "active" | "true" | "up" => Some(true),
        "off" | "disabled" | "disable" | "no" | "inactive" | "false" | "down" | "not enabled" => Some(false),
        _ => None,
    }
}

/// `Full` or `Half` of any word that holds it.
pub(super) fn duplex(word: &str) -> State<Value> {
    let lower = word.to_ascii_lowercase();
    if lower.contains("full") {
        State::Known("Full".into())
    } else if lower.contains("half") {
        State::Known("Half".into())
    } else {
        missing(word).unwrap_or_else(|| State::NotObservable(Text::new("no duplex was agreed upon")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_outputs() {
        let state = |text: &str| trouble(&Observation::of_text("eos.pfc", text)).map(|state| state.name());
        assert_eq!(state("% Invalid input (at token 1: 'priority-flow-control')\n"), Some("not-published"));
        assert_eq!(state("                  ^\n% Invalid command at '^' marker.\n"), Some("not-published"));
        assert_eq!(state("% Permission denied for the role\n"), Some("needs-privilege"));
        assert_eq!(
            state("{\n    \"errors\": [\n        \"Not supported on this hardware platform\"\n    ]\n}\n"),
            Some("not-published")
        );
        assert_eq!(state("Error: No such command \"pfc\".\n"), Some("not-published"));
        assert_eq!(state("Interface    Lossless priorities\n"), None);
        assert_eq!(state(""), None);
        let ended = |status, stderr: &str| {
            let observation = Observation::of_text("sonic.pfc", "").with_stderr(stderr);
            trouble(&observation.with_outcome(Outcome::Exit(status))).map(|state| state.name())
        };
        assert_eq!(ended(127, "show: not found"), Some("not-installed"));
        assert_eq!(ended(1, "Traceback"), Some("failed"));
    }

    #[test]
    fn speeds() {
        let shown = |word| speed(word).known().map_or(0, |value| value.as_count().unwrap_or(0));
        assert_eq!(shown("100G"), 100_000_000_000);
        assert_eq!(shown("100 Gb/s"), 100_000_000_000);
        assert_eq!(shown("25000 Mb/s"), 25_000_000_000);
        assert_eq!(shown("2.5G"), 2_500_000_000);
        assert_eq!(shown("a-10G"), 10_000_000_000);
        assert_eq!(speed("N/A").name(), "not-available");
        assert_eq!(speed("auto").name(), "failed");
        assert_eq!(number("1,200"), Some(1200));
        assert_eq!(number("N/A"), None);
    }
}
