//! What the ports and interfaces of a guest count, every counter as it stands. It is read by those who compare two reads
//! only: a single value of a counter says how much happened since the machine was started, not what happens now.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::Files;
use super::rdma_files::{device_path, port_path};
use crate::fabric::{Attribute, Entity, Fact, Observation, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

const FILES: &[&str] = &[
    "/sys/class/infiniband/*/ports/*/counters/*",
    "/sys/class/infiniband/*/ports/*/hw_counters/*",
    "/sys/class/net/*/statistics/*",
];

/// The counters of RDMA ports and of network interfaces. No console reads them this way: it has the stream.
pub const PROBE: Probe = Probe {
    name: "linux.statistics",
    title: "what RDMA ports and interfaces count",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[Source { name: "linux.statistics", read: Read::Files(FILES) }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [source] = observations else { return Vec::new() };
    let files = Files::new(source, FILES);
    let mut seen = BTreeSet::new();
    let mut facts = Vec::new();
    for (path, _) in files.all() {
        let Some((of, name)) = counter(path) else { continue };
        let Some((line, value)) = files.first(path) else { continue };
        // `N/A (no PMA)` is no number, and never a zero.
        let Ok(value) = value.parse::<u64>() else { continue };
        let entity = Entity::Counter { of: Text::new(&of), name: Text::new(name) };
        if seen.insert(entity.clone()) {
            facts.push(source.known(entity, Attribute::CounterValue, Value::Count(value), line));
        }
    }
    facts
}

/// What a file counts for, and the name of the counter. Port 1 goes by the name of its device.
fn counter(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix("/sys/class/net/") {
        let (netdev, name) = rest.split_once("/statistics/")?;
        return (!netdev.contains('/') && !name.contains('/')).then(|| (netdev.to_owned(), name));
    }
    let (device, rest) = device_path(path)?;
    let (port, rest) = port_path(rest)?;
    let (folder, name) = rest.split_once('/')?;
    let counts = matches!(folder, "counters" | "hw_counters") && name != "lifespan" && !name.contains('/');
    let of = if port == 1 { device.to_owned() } else { format!("{device}/{port}") };
    counts.then_some((of, name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    const TEXT: &str = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data:94\n\
        /sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:N/A (no PMA)\n\
        /sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:10\n\
        /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:7\n\
        /sys/class/infiniband/mlx5_0/ports/2/hw_counters/out_of_sequence:0\n\
        /sys/class/net/eth1/statistics/rx_dropped:12\n\
        /sys/class/net/eth1/statistics/rx_errors:\n\
        /sys/class/net/eth1/mtu:9000\n";

    fn told(text: &str) -> Vec<String> {
        parse(&[Arc::new(Observation::of_text("linux.statistics", text))])
            .iter()
            .map(|fact| {
                let value = fact.reading.state.known().and_then(Value::as_count).expect("a number");
                format!("{} {value} in line {}", fact.entity, fact.reading.line)
            })
            .collect()
    }

    #[test]
    fn counters_with_a_number_are_told_by_their_device() {
        let mut told = told(TEXT);
        told.sort();
        assert_eq!(
            told,
            [
                "counter eth1/rx_dropped 12 in line 6",
                "counter mlx5_0/2/out_of_sequence 0 in line 5",
                "counter mlx5_0/out_of_sequence 7 in line 4",
                "counter mlx5_0/port_rcv_data 94 in line 1",
            ]
        );
        assert_eq!(super::parse(&[]), Vec::new());
        assert_eq!(self::told(""), Vec::<String>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn damaged_files_are_survived(text in mutated_texts(&[TEXT])) {
            assert_clean(&parse(&[Arc::new(Observation::of_text("linux.statistics", &text))]))?;
        }
    }
}
