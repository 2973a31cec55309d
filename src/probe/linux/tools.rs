//! What VMware Tools tell a guest about its VM: balloon, host swap, reservations and limits. Where memory is fully
//! reserved, as PVRDMA and passthrough demand, balloon and swap must be 0.

use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

macro_rules! stat {
    ($name:literal, $word:literal) => {
        Source {
            name: $name,
            read: Read::Command {
                argv: &[Word::Plain("vmware-toolbox-cmd"), Word::Plain("stat"), Word::Plain($word)],
                keep: None,
            },
        }
    };
}

/// What each source tells, in their order.
const ATTRIBUTES: [Attribute; 7] = [
    Attribute::Balloon,
    Attribute::HostSwap,
    Attribute::MemoryLimit,
    Attribute::MemoryReservation,
    Attribute::CpuReservation,
    Attribute::CpuLimit,
    Attribute::HostProcessorSpeed,
];

/// What VMware Tools tell about the VM.
pub const PROBE: Probe = Probe {
    name: "linux.vmware-tools",
    title: "balloon, host swap, reservations and limits from VMware Tools",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        stat!("linux.tools-balloon", "balloon"),
        stat!("linux.tools-swap", "swap"),
        stat!("linux.tools-memlimit", "memlimit"),
        stat!("linux.tools-memres", "memres"),
        stat!("linux.tools-cpures", "cpures"),
        stat!("linux.tools-cpulimit", "cpulimit"),
        stat!("linux.tools-speed", "speed"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    if observations.len() != ATTRIBUTES.len() {
        return Vec::new();
    }
    let read = |(observation, attribute): (&Arc<Observation>, Attribute)| {
        let (state, line) = amount(observation, attribute);
        observation.fact(Entity::Guest, attribute, state, line)
    };
    observations.iter().zip(ATTRIBUTES).map(read).collect()
}

/// `0 MB`, `2394 MHz`, or why there is no number.
fn amount(observation: &Observation, attribute: Attribute) -> (State<Value>, u32) {
    if observation.outcome == Outcome::Exit(127) {
        return (State::NotInstalled(Text::new("vmware-toolbox-cmd (open-vm-tools)")), 0);
    }
    let said = || observation.stdout.lines().chain(observation.stderr.lines()).map(str::trim);
    if said().any(|line| line.contains("must be run inside a virtual machine")) {
        return (State::NotObservable(Text::new("VMware Tools say that this is no VMware virtual machine")), 0);
    }
    for (number, line) in observation.lines() {
        let mut words = line.split_whitespace();
        let (Some(Ok(amount)), Some("MB" | "MHz")) = (words.next().map(str::parse::<u64>), words.next()) else {
            continue;
        };
        let limit = matches!(attribute, Attribute::MemoryLimit | Attribute::CpuLimit);
        // All bits of a 32-bit number stand for "no limit".
        let unlimited = limit && amount >= u64::from(u32::MAX);
        return (State::Known(Value::Count(if unlimited { u64::MAX } else { amount })), number);
    }
    let failed = |reason: &str| State::Failed(Text::new(reason));
    let state = observation
        .trouble("vmware-toolbox-cmd", "what VMware Tools tell")
        .unwrap_or_else(|| failed(said().find(|line| !line.is_empty()).unwrap_or("vmware-toolbox-cmd said nothing")));
    (state, 0)
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    fn all(one: Printed<'_>) -> Vec<Fact> {
        run(&PROBE, &[one; 7])
    }

    #[test]
    fn amounts_and_no_limit() {
        let zero = ("0 MB\n", "", 0);
        let printed = [
            zero,
            zero,
            ("4294967295 MB\n", "", 0),
            ("65536 MB\n", "", 0),
            ("0 MHz\n", "", 0),
            ("4294967295 MHz\n", "", 0),
            ("2394 MHz\n", "", 0),
        ];
        let facts = run(&PROBE, &printed);
        let guest = |attribute| shown(&facts, &Entity::Guest, attribute);
        assert_eq!(guest(Attribute::Balloon), "0");
        assert_eq!(guest(Attribute::MemoryLimit), u64::MAX.to_string());
        assert_eq!(guest(Attribute::MemoryReservation), "65536");
        assert_eq!(guest(Attribute::CpuLimit), u64::MAX.to_string());
        assert_eq!(guest(Attribute::HostProcessorSpeed), "2394");
    }

    #[test]
    fn four_ways_to_give_no_number() {
        let balloon = |printed| shown(&all(printed), &Entity::Guest, Attribute::Balloon);
        assert_eq!(
            balloon(("", "sh: vmware-toolbox-cmd: not found\n", 127)),
            "<vmware-toolbox-cmd (open-vm-tools) is not installed>"
        );
        let outside = balloon(("", "toolbox-cmd must be run inside a virtual machine.\n", 1));
        assert!(outside.starts_with("<not observable"), "{outside}");
        assert_eq!(
            balloon(("", "Failed to get balloon memory: Unknown error\n", 75)),
            "<failed: Failed to get balloon memory: Unknown error>"
        );
        assert_eq!(balloon(("", "", 0)), "<failed: vmware-toolbox-cmd said nothing>");
        assert!(balloon(("-5 MB\n", "", 0)).starts_with("<failed"));
    }

    survives_damage!(
        PROBE,
        "0 MB\n",
        "0 MB\n",
        "4294967295 MB\n",
        "65536 MB\n",
        "0 MHz\n",
        "4294967295 MHz\n",
        "2394 MHz\n"
    );
}
