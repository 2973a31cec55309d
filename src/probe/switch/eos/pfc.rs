//! Priority flow control: which ports keep which priorities from losing frames, and what the watchdog does.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation, State};
use crate::probe::switch::answer::{Facts, count, not_understood, nothing, port, trouble};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::{is_port, listed};

/// Letters of the column `Status`.
const LETTERS: [&str; 5] = ["E", "D", "A", "W", "-"];

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::PfcEnabled, Attribute::PfcPriorities, Attribute::PfcWatchdog];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    let mut action = "";
    for (line, text) in observation.lines() {
        if let Some((_, said)) = text.split_once("PFC watchdog action is ") {
            action = said.split_whitespace().next().unwrap_or("");
        }
        let mut words = text.split_whitespace();
        let Some(name) = words.next().filter(|name| is_port(name)) else { continue };
        let words: Vec<&str> = words.collect();
        let Some(row) = Row::of(&words) else { continue };
        let entity = port(name);
        let mode = if row.is_on { "on" } else { "off" };
        let mut say = |attribute, state| facts.say(&entity, attribute, Some(state), line);
        say(Attribute::PfcMode, State::Known(mode.into()));
        say(Attribute::PfcEnabled, State::Known((row.is_on && row.is_active).into()));
        say(Attribute::PfcPriorities, listed(row.priorities));
        let watchdog = if row.is_watched {
            row.action.or(Some(action)).filter(|action| !action.is_empty())
        } else {
            Some("disabled")
        };
        say(Attribute::PfcWatchdog, State::Known(watchdog.unwrap_or("enabled").into()));
    }
    if facts.said.is_empty() {
        let first = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        let state = first.map_or(State::Empty, not_understood);
        return nothing(observation, &state, &attributes);
    }
    facts.said
}

/// One port: `E A W  3 4  drop ...`, or `Yes  3 4  Yes` of older versions.
struct Row<'a> {
    is_on: bool,
    is_active: bool,
    is_watched: bool,
    priorities: Vec<u8>,
    action: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(words: &[&'a str]) -> Option<Self> {
        let letters = words.iter().take_while(|word| LETTERS.contains(word)).take(3).count();
        let has = |letter: &str| words[..letters].contains(&letter);
        let old = words.first().and_then(|word| match *word {
            "Yes" => Some(true),
            "No" => Some(false),
            _ => None,
        });
        let begin = if old.is_some() { 1 } else { letters };
        if old.is_none() && !has("E") && !has("D") {
            return None;
        }
        let mut priorities = Vec::new();
        let mut next = begin;
        while let Some(word) = words.get(next) {
            let digits: Option<Vec<u8>> = word
                .split(',')
                .filter(|part| !part.is_empty())
                .map(|part| part.parse().ok().filter(|priority| *priority < 8))
                .collect();
            match digits {
                Some(digits) if word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') => {
                    priorities.extend(digits);
                }
                _ => break,
            }
            next += 1;
        }
        let is_active = if old.is_some() { words[next..].contains(&"Yes") } else { has("A") };
        let is_word = |word: &&&str| word.starts_with(|first: char| first.is_ascii_alphabetic());
        let action = words.get(next).filter(is_word).copied().filter(|_| old.is_none());
        Some(Self { is_on: old.unwrap_or_else(|| has("E")), is_active, is_watched: has("W"), priorities, action })
    }
}

/// Frames as they are printed for people: `Et4  12  0` below `Port  RxPfc  TxPfc`.
fn printed_counters(observation: &Observation) -> Option<Vec<Fact>> {
    let is_title = |line: &str| line.split_whitespace().eq(["Port", "RxPfc", "TxPfc"]);
    let first = observation.stdout.lines().position(is_title)?;
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines().skip(first + 1) {
        let words: Vec<&str> = raw.split_whitespace().collect();
        let [name, received, sent] = words[..] else { continue };
        if is_port(name) {
            count(&mut facts, &port(name), "PFC rxFrames", received, line);
            count(&mut facts, &port(name), "PFC txFrames", sent, line);
        }
    }
    (!facts.said.is_empty()).then_some(facts.said)
}

pub(super) fn parse_counters(observation: &Observation) -> Vec<Fact> {
    if let Some(facts) = trouble(observation).is_none().then(|| printed_counters(observation)).flatten() {
        return facts;
    }
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::CounterValue]),
    };
    let mut facts = Facts::of(observation);
    for (name, node) in root.get("interfaceCounters").into_iter().flat_map(Node::fields) {
        let entity = port(name);
        if !is_port(name) || matches!(&entity, Entity::SwitchInterface(name) if name.is_empty()) {
            continue;
        }
        for (key, label) in [("rxFrames", "PFC rxFrames"), ("txFrames", "PFC txFrames")] {
            if let Some((found, word)) = node.get(key).and_then(|found| Some((found, found.word()?))) {
                count(&mut facts, &entity, label, word, found.line);
            }
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::Text;
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const STATUS: &str = "The hardware supports PFC on priorities 0 1 2 3 4 5 6 7
PFC receive processing is enabled on priorities 0 1 2 3 4 5 6 7
The PFC watchdog timeout is 1.0 second(s)
The PFC watchdog recovery-time is 2.0 second(s) (auto)
The PFC watchdog polling-interval is 0.1 second(s)
The PFC watchdog action is errdisable
Global PFC : Enabled

E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled
Port    Status  Priorities  Action       Timeout  Recovery        Polling
                                         Interval Interval/Mode   Config/Oper
------------------------------------------------------------------------------
Et4     E A W   3           drop         1.0      2.0 / auto      0.1 / 0.1
Et5     E - -   3 4         -            -        - / -           - / -
Et6/1   D - -   -           -            -        - / -           - / -
Et7     E A W   5           -            1.0      2.0 / auto      0.1 / 0.1
";

    #[test]
    fn status_of_ports() {
        let facts = run(of("eos.pfc"), &[(STATUS, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::PfcEnabled), "yes");
        assert_eq!(is("Et4", Attribute::PfcMode), "on");
        assert_eq!(is("Et4", Attribute::PfcPriorities), "3");
        assert_eq!(is("Et4", Attribute::PfcWatchdog), "drop");
        assert_eq!(is("Et5", Attribute::PfcEnabled), "no", "on, and not active");
        assert_eq!(is("Et5", Attribute::PfcPriorities), "3, 4");
        assert_eq!(is("Et5", Attribute::PfcWatchdog), "disabled");
        assert_eq!(is("Et6/1", Attribute::PfcMode), "off");
        assert_eq!(is("Et6/1", Attribute::PfcPriorities), "<empty>");
        assert_eq!(is("Et7", Attribute::PfcWatchdog), "errdisable", "what holds for all");
    }

    #[test]
    fn an_older_version_and_one_without() {
        let old = "Port    Enabled Priorities Active Note\n------------------------------\nEt4     Yes     3 4        Yes\nEt5     No                 No\n";
        let facts = run(of("eos.pfc"), &[(old, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::PfcEnabled), "yes");
        assert_eq!(is("Et4", Attribute::PfcPriorities), "3, 4");
        assert_eq!(is("Et5", Attribute::PfcEnabled), "no");
        let facts = run(of("eos.pfc"), &[("% Unavailable command (not supported on this hardware platform)\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::PfcEnabled).starts_with("<not published"));
        let facts = run(of("eos.pfc"), &[("PFC\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::PfcEnabled).starts_with("<failed"));
    }

    #[test]
    fn frames_of_ports() {
        let text = "{\n  \"interfaceCounters\": {\n    \"Ethernet4\": {\"rxFrames\": 12, \"txFrames\": 0},\n    \"Ethernet5\": {\"rxFrames\": null}\n  }\n}\n";
        let facts = run(of("eos.pfc-counters"), &[(text, "", 0)]);
        let counter = |of: &str, name: &str| Entity::Counter { of: Text::new(of), name: Text::new(name) };
        assert_eq!(shown(&facts, &counter("Ethernet4", "PFC rxFrames"), Attribute::CounterValue), "12");
        assert_eq!(shown(&facts, &counter("Ethernet5", "PFC rxFrames"), Attribute::CounterValue), "absent");
        let printed =
            "  Port               RxPfc           TxPfc\nEt4                     12              0\nEt5  -  1\n";
        let facts = run(of("eos.pfc-counters"), &[(printed, "", 0)]);
        assert_eq!(shown(&facts, &counter("Ethernet4", "PFC rxFrames"), Attribute::CounterValue), "12");
        assert_eq!(shown(&facts, &counter("Ethernet5", "PFC rxFrames"), Attribute::CounterValue), "absent");
    }

    survives_damage!(of("eos.pfc"), STATUS);
}
