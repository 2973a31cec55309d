//! How long a system is up. Kernel messages are stamped by the time since boot; with this they stand on the same clock as
//! what other machines say.

use std::sync::Arc;

use super::files::Files;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

const FILES: &[&str] = &["/proc/uptime"];

/// How long the system is up.
pub const PROBE: Probe = Probe {
    name: "linux.uptime",
    title: "time since boot",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source { name: "linux.uptime", read: Read::Files(FILES) }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let files = Files::new(observation, FILES);
    let read = |line: &str| {
        let state = milliseconds(line).map(|number| State::Known(number.into()));
        Some(state.unwrap_or_else(|| State::Failed(Text::new(&format!("{:?} is no time", Text::new(line))))))
    };
    files.fact(Entity::Guest, Attribute::Uptime, FILES[0], "", read).into_iter().collect()
}

/// Milliseconds of `350735.47 234388.90`: seconds with two places, then the idle time of all processors.
fn milliseconds(line: &str) -> Option<u64> {
    let word = line.split_whitespace().next()?;
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let thousandths: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const UPTIME: &str = "/proc/uptime:350735.47 234388.90\n";

    #[test]
    fn the_time_since_boot_is_read_in_milliseconds() {
        let of = |text| shown(&run(&PROBE, &[(text, "", 0)]), &Entity::Guest, Attribute::Uptime);
        assert_eq!(of(UPTIME), "350735470");
        assert_eq!(of("/proc/uptime:7 3\n"), "7000");
        for wrong in ["/proc/uptime:-1.5 3\n", "/proc/uptime:x\n", "/proc/uptime:99999999999999999999.0 1\n"] {
            assert!(of(wrong).starts_with("<failed"), "{wrong}");
        }
        let missing = run(&PROBE, &[("", "grep: /proc/uptime: No such file or directory", 2)]);
        assert_eq!(shown(&missing, &Entity::Guest, Attribute::Uptime), "absent");
    }

    survives_damage!(PROBE, UPTIME);
}
