//! What an RDMA device offers at most, as the verbs library tells it: programs that ask for more fail when they start.

use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, Text};
use crate::probe::{Keep, Pace, Probe, Read, Rhythm, Source, Word};

/// Limits of RDMA devices.
pub const PROBE: Probe = Probe {
    name: "linux.device-limits",
    title: "what RDMA devices offer at most",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "linux.device-limits",
        read: Read::Command {
            argv: &[Word::Plain("ibv_devinfo"), Word::Plain("-v")],
            keep: Some(Keep { any_of: &["hca_id:", "max_qp:", "max_qp_wr:", "max_srq:", "max_srq_wr:"], last: 200 }),
        },
    }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    if observation.outcome == Outcome::Exit(127) {
        return facts;
    }
    let mut device: Option<Entity> = None;
    for (number, line) in observation.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if key == "hca_id" {
            device = (!value.is_empty()).then(|| Entity::RdmaDevice(Text::new(value)));
            continue;
        }
        let attribute = match key {
            "max_qp" => Attribute::MaxQueuePairs,
            "max_qp_wr" => Attribute::MaxWorkRequests,
            "max_srq" => Attribute::MaxSharedQueues,
            "max_srq_wr" => Attribute::MaxSharedRequests,
            _ => continue,
        };
        if let (Some(device), Ok(count)) = (&device, value.parse::<u64>()) {
            facts.push(observation.known(device.clone(), attribute, count, number));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const PVRDMA: &str = include_str!("../../../tests/fixtures/public/01-ibv_devinfo-v-pvrdma.txt");
    const KEPT: &str = "hca_id:\trocep11s0f1\n\tmax_qp:\t\t\t\t32768\n\tmax_qp_wr:\t\t\t1024\n\tmax_srq:\t\t\t0\n\
                        \tmax_srq_wr:\t\t\t0\nhca_id:\tmlx5_0\n\tmax_srq_wr:\t\t\t32767\n";

    #[test]
    fn limits_of_each_device() {
        let facts = run(&PROBE, &[(KEPT, "", 0)]);
        let of = |device: &str, attribute| shown(&facts, &Entity::RdmaDevice(Text::new(device)), attribute);
        assert_eq!(of("rocep11s0f1", Attribute::MaxQueuePairs), "32768");
        assert_eq!(of("rocep11s0f1", Attribute::MaxSharedQueues), "0");
        assert_eq!(of("mlx5_0", Attribute::MaxSharedRequests), "32767");
        assert_eq!(of("mlx5_0", Attribute::MaxSharedQueues), "absent");
        let real = run(&PROBE, &[(PVRDMA, "", 0)]);
        assert_eq!(shown(&real, &Entity::RdmaDevice(Text::new("rocep27s0f1")), Attribute::MaxWorkRequests), "1024");
        assert!(run(&PROBE, &[("", "No IB devices found\n", 255)]).is_empty());
        assert!(run(&PROBE, &[("max_srq:\t7\nhca_id:\t\nmax_srq:\t7\n", "", 0)]).is_empty(), "of which device?");
    }

    survives_damage!(PROBE, KEPT);
}
