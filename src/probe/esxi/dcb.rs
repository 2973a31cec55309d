//! Data center bridging of each adapter: mode, and the priorities with flow control. The two say different things: a
//! driver can show no IEEE mode while flow control is on. Most of the layout is known from single lines only, so keys
//! are looked for at any depth.

use std::sync::Arc;

use super::block::{self, Block};
use super::each;
use super::reply::{self, Facts, for_each};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Data center bridging.
pub const PROBE: Probe = Probe {
    name: "esxi.dcb",
    title: "data center bridging: mode, priority flow control",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PRESSING,
    sources: &[for_each!("esxi.nic-dcb", Uplinks, "esxcli" "network" "nic" "dcb" "status" "get" "-n")],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [status] = observations else { return Vec::new() };
    let mut facts = Facts::of(status);
    let (items, left_out) = each::items(status);
    reply::say_left_out(&mut facts, Attribute::DcbMode, left_out);
    for item in items {
        let entity = Entity::Uplink(Text::new(item.name));
        if let Some(state) = reply::trouble_of(&item, &status.command) {
            // A driver that has no bridging answers with an error; only a dead agent or a cut answer is a failure.
            let state = match state {
                State::Failed(said) if item.status.is_some() && !said.contains("hostd") => {
                    State::NotPublished(Text::new(&format!("the driver of {} ({said})", item.name)))
                }
                other => other,
            };
            for attribute in [Attribute::DcbMode, Attribute::PfcEnabled, Attribute::PfcPriorities] {
                facts.say(&entity, attribute, Some(state.clone()), 0);
            }
            continue;
        }
        let before = facts.said.len();
        say(&mut facts, &entity, &block::block(item.output, item.first));
        if facts.said.len() == before {
            let line = item.output.lines().map(str::trim).find(|line| !line.is_empty());
            facts.say(&entity, Attribute::DcbMode, Some(line.map_or(State::Empty, reply::not_understood)), 0);
        }
    }
    facts.said
}

fn say(facts: &mut Facts<'_>, entity: &Entity, block: &Block<'_>) {
    if let Some(field) = block.field(&["Mode", "DCB Mode"]) {
        facts.say(entity, Attribute::DcbMode, Some(mode(&field.value)), field.line);
    }
    if let Some(field) = block.anywhere(&["PFC Enabled"]) {
        // Words in brackets may follow in what people wrote down.
        let word = field.value.split(' ').next().unwrap_or("");
        facts.say(entity, Attribute::PfcEnabled, Some(reply::flag(word)), field.line);
    }
    if let Some(field) = block.anywhere(&["PFC Configuration"]) {
        let state = match numbers(&field.value) {
            Some(numbers) => priorities(&numbers),
            None => reply::missing(&field.value).unwrap_or_else(|| reply::not_understood(&field.value)),
        };
        facts.say(entity, Attribute::PfcPriorities, Some(state), field.line);
    }
    for label in ["Sent PFC Frames", "Received PFC Frames"] {
        let Some(field) = block.anywhere(&[label]) else { continue };
        for (priority, number) in numbers(&field.value).unwrap_or_default().into_iter().enumerate() {
            let name = Text::new(&format!("{label} [{priority}]"));
            let counter = Entity::Counter { of: Text::new(&entity.name()), name };
            facts.say(&counter, Attribute::CounterValue, Some(State::Known(number.into())), field.line);
        }
    }
}

/// `IEEE Mode` of `3 - IEEE Mode` and of `IEEE Mode (though shows Unknown)`.
fn mode(word: &str) -> State<Value> {
    let word = word.split_once(" - ").map_or(word, |(number, rest)| {
        if number.trim().bytes().all(|byte| byte.is_ascii_digit()) { rest } else { word }
    });
    reply::text(word.split('(').next().unwrap_or(word).trim())
}

/// Eight numbers, one for each priority; what stands behind them is left alone.
fn numbers(words: &str) -> Option<Vec<u64>> {
    let numbers: Vec<u64> = words.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    (numbers.len() == 8).then_some(numbers)
}

fn priorities(numbers: &[u64]) -> State<Value> {
    let on: Vec<Text> = (0..)
        .zip(numbers)
        .filter(|(_, number)| **number != 0)
        .map(|(priority, _): (u32, _)| Text::new(&priority.to_string()))
        .collect();
    if on.is_empty() { State::Empty } else { State::Known(Value::List(on)) }
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, item, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    const TWINS: &str = include_str!("../../../tests/fixtures/esxi/10-dcb-status-two-hosts.txt");
    /// Four of its lines are quoted in public; the layout around them is nowhere shown.
    const TEMPLATE: &str = "   Nic Name: vmnic2
   Mode: 3 - IEEE Mode
   Enabled: true
   Capabilities:
         Priority Group: true
         PFC Traffic Classes: 8
   PFC Enabled: true
   IEEE PFC Configuration:
         Number Of Traffic Classes: 8
         PFC Configuration: 0 0 0 1 0 1 0 0
         Sent PFC Frames: 0 0 0 7 0 0 0 0
         Received PFC Frames: 0 0 0 0 0 0 0 0
   DCB Apps:
";

    fn uplink(name: &str) -> Entity {
        Entity::Uplink(Text::new(name))
    }

    #[test]
    fn twins_of_which_one_negotiates_nothing() {
        let items: String = block::blocks(TWINS, 1)
            .iter()
            .map(|block| {
                let lines: Vec<&str> = TWINS
                    .lines()
                    .skip_while(|line| !line.starts_with(block.title))
                    .skip(1)
                    .take_while(|line| !line.is_empty())
                    .collect();
                item(block.title, &lines.join("\n"), 0)
            })
            .collect();
        let facts = run(&PROBE, &[(&items, "", 0)]);
        let of = |name, attribute| shown(&facts, &uplink(name), attribute);
        for name in ["vmnic3", "vmnic4"] {
            assert_eq!(of(name, Attribute::DcbMode), "IEEE Mode");
            assert_eq!(of(name, Attribute::PfcEnabled), "yes");
            assert_eq!(of(name, Attribute::PfcPriorities), "3");
        }
        for name in ["vmnic5", "vmnic6"] {
            assert_eq!(of(name, Attribute::DcbMode), "CEE Mode");
            assert_eq!(of(name, Attribute::PfcEnabled), "no");
            assert_eq!(of(name, Attribute::PfcPriorities), "<empty>");
        }
    }

    #[test]
    fn nested_keys_and_frames_of_each_priority() {
        for text in [TEMPLATE.to_owned(), with_carriage_returns(TEMPLATE)] {
            let facts = run(&PROBE, &[(&item("vmnic2", &text, 0), "", 0)]);
            let of = |attribute| shown(&facts, &uplink("vmnic2"), attribute);
            assert_eq!(of(Attribute::DcbMode), "IEEE Mode");
            assert_eq!(of(Attribute::PfcPriorities), "3, 5");
            let counter = Entity::Counter { of: Text::new("vmnic2"), name: Text::new("Sent PFC Frames [3]") };
            assert_eq!(shown(&facts, &counter, Attribute::CounterValue), "7");
        }
    }

    #[test]
    fn mode_and_flag_are_read_apart() {
        let text = item("vmnic2", "   Mode: 0 - Unknown\n   PFC Enabled: true\n", 0);
        let facts = run(&PROBE, &[(&text, "", 0)]);
        assert_eq!(shown(&facts, &uplink("vmnic2"), Attribute::DcbMode), "Unknown");
        assert_eq!(shown(&facts, &uplink("vmnic2"), Attribute::PfcEnabled), "yes");
        assert_eq!(shown(&facts, &uplink("vmnic2"), Attribute::PfcPriorities), "absent");
    }

    #[test]
    fn a_driver_without_bridging_is_not_a_dead_agent() {
        let text = item("vmnic0", "Unable to complete Sysinfo operation.  Please see the VMkernel log file", 1)
            + &item("vmnic1", HOSTD_DEAD, 1)
            + "@item vmnic2\n   Mode: IEE";
        let facts = run(&PROBE, &[(&text, "", 0)]);
        let of = |name| shown(&facts, &uplink(name), Attribute::PfcEnabled);
        assert!(of("vmnic0").starts_with("<not published by the driver of vmnic0 (Unable"), "{}", of("vmnic0"));
        assert!(of("vmnic1").starts_with("<failed: the management agent hostd"));
        assert!(of("vmnic2").starts_with("<failed: the answer was cut off"));
    }

    survives_damage!(
        PROBE,
        "@item vmnic2\n   Mode: 3 - IEEE Mode\n   PFC Enabled: true\n   PFC Configuration: 0 0 0 1 0 0 0 0\n\n@status 0\n"
    );
}
