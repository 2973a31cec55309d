//! The clock of the host. Its logs are stamped by it, and its lines stand beside what other machines say only if it is known
//! how far it is from ours. The `date` of ESXi tells no parts of a second: one read leaves a second open, and many that came
//! at different moments of their seconds leave little of it.

use std::sync::Arc;

use super::reply::{Facts, command, not_understood, trouble};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Timestamp};
use crate::probe::{Pace, Probe, Rhythm};

/// The clock.
pub const PROBE: Probe = Probe {
    name: "esxi.clock",
    title: "clock of the host",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::every(60),
    sources: &[command!("esxi.date", "date" "+%s")],
    parse,
};

/// How long an answer may take on its way back to us; what comes later says less than it seems to.
const WAY_BACK_MS: i64 = 500;

/// By how many milliseconds the clock was ahead of ours, at least and at most, when it was read. `None` where it was not
/// read from a host that answers now.
pub fn ahead(observation: &Observation) -> Option<(i64, i64)> {
    let took = i64::try_from(observation.duration?.as_millis()).ok()?;
    let (_, seconds) = seconds(observation)?;
    let theirs = seconds.checked_mul(1000)?;
    // It was told between the beginning of the read, less the way back, and its end.
    let began = observation.at.as_millisecond();
    let (first, last) = (began.checked_sub(WAY_BACK_MS)?, began.checked_add(took)?);
    Some((theirs.checked_sub(last)?, theirs.checked_add(999)?.checked_sub(first)?))
}

/// The seconds since 1970 that a host printed, and the line.
fn seconds(observation: &Observation) -> Option<(u32, i64)> {
    let (number, line) = observation.lines().find(|(_, line)| !line.trim().is_empty())?;
    let seconds: i64 = line.trim().parse().ok().filter(|seconds| *seconds > 0)?;
    Timestamp::from_second(seconds).ok().map(|_| (number, seconds))
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    let said = trouble(observation).map(|state| (0, state)).or_else(|| {
        let known = seconds(observation).and_then(|(number, seconds)| {
            let at = Timestamp::from_second(seconds).ok()?;
            Some((number, State::Known(Text::new(&at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).into())))
        });
        known.or_else(|| {
            let (number, line) = observation.lines().find(|(_, line)| !line.trim().is_empty())?;
            Some((number, not_understood(line)))
        })
    });
    let (line, state) = said.unwrap_or((0, State::Empty));
    facts.say(&Entity::Host, Attribute::WallClock, Some(state), line);
    facts.said
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::reply::testing::{run, shown, survives_damage};
    use super::*;

    const DATE: &str = "1764492000\n";

    fn read(text: &str, at: i64, took: u64) -> Observation {
        let mut observation = Observation::of_text("esxi.date", text);
        observation.at = Timestamp::from_millisecond(at).expect("a time");
        observation.duration = Some(Duration::from_millis(took));
        observation
    }

    #[test]
    fn the_clock_is_shown_as_a_time() {
        let of = |text: &str, errors: &str, status| {
            shown(&run(&PROBE, &[(text, errors, status)]), &Entity::Host, Attribute::WallClock)
        };
        assert_eq!(of(DATE, "", 0), "2025-11-30 08:40:00 UTC");
        assert_eq!(of("\n", "", 0), "<empty>");
        for wrong in ["%s\n", "-5\n", "99999999999999999999\n", "Sun Nov 30\n"] {
            assert!(of(wrong, "", 0).starts_with("<failed"), "{wrong}");
        }
        assert!(of("", "sh: date: not found", 127).starts_with('<'));
    }

    #[test]
    fn one_read_leaves_a_second_and_its_own_length_open() {
        // We read from 1764491998.000 to .010, and the host was anywhere in second 1764492000.
        assert_eq!(ahead(&read(DATE, 1_764_491_998_000, 10)), Some((1990, 2999 + WAY_BACK_MS)));
        let (least, most) = ahead(&read(DATE, 1_764_492_000_500, 10)).expect("known");
        assert!(least < 0 && most > 0, "{least} {most}");
        assert_eq!(ahead(&read("x\n", 0, 10)), None);
        let mut saved = read(DATE, 0, 10);
        saved.duration = None;
        assert_eq!(ahead(&saved), None, "a saved output says nothing of now");
    }

    survives_damage!(PROBE, DATE);
}
