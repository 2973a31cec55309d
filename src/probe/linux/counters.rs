//! Which counters the driver of each RDMA port publishes. Drivers differ widely: rxe counts packets and no bytes,
//! `vmw_pvrdma` counts nothing at all, and old kernels offer files that say `N/A (no PMA)`. Who draws a graph must know
//! beforehand. `rdma statistic` is not asked: a PVRDMA device ends its answer for all devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{Files, Missing};
use super::rdma_files::{LINKS, Links, device_path, family, port_path};
use crate::fabric::counter::{Role, port_counter, published_by};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

/// What privilege shows (nothing on most kernels; said where the target refuses).
const ADDS: &str = "the counters of RDMA ports";

/// What is read: all counters, and what tells the driver behind them.
const FILES: &[&str] = &[
    "/sys/class/infiniband/*/node_type",
    "/sys/class/infiniband/*/hca_type",
    "/sys/class/infiniband/*/parent",
    "/sys/class/infiniband/*/ports/*/state",
    "/sys/class/infiniband/*/ports/*/counters/*",
    "/sys/class/infiniband/*/ports/*/hw_counters/*",
];

/// The counters of RDMA ports by their folders in sysfs.
pub const PROBE: Probe = Probe {
    name: "linux.counters",
    title: "counters of RDMA ports",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.rdma-counters", read: Read::Files(FILES) },
        Source { name: "linux.rdma-counter-links", read: Read::Command { argv: LINKS, keep: None } },
    ],
    parse,
};

/// What is asked of each port, and the roles that answer it.
const QUESTIONS: [(Attribute, &str, &[Role]); 3] = [
    (Attribute::ByteCounters, "bytes", &[Role::TransmitBytes, Role::ReceiveBytes]),
    (Attribute::PacketCounters, "packets", &[Role::TransmitPackets, Role::ReceivePackets]),
    (Attribute::ErrorCounters, "errors", &[Role::Retransmit, Role::ReceiverNotReady, Role::Error]),
];

/// What the files of one port hold.
#[derive(Debug, Default)]
struct PortCounters<'a> {
    /// Counters with a number: folder, name, line.
    counting: Vec<(&'a str, &'a str, u32)>,
    /// Counters that say that they are not available.
    unavailable: Vec<(&'a str, &'a str, u32)>,
    /// Why others could not be read.
    failure: Option<State<Value>>,
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [source, links_source, ..] = observations else { return Vec::new() };
    let files = Files::new(source, FILES);
    let links = Links::of(links_source);
    let mut ports: BTreeMap<(&str, u32), PortCounters<'_>> = BTreeMap::new();
    for (path, _) in files.all() {
        let Some((device, port, rest)) = split(path) else { continue };
        let Some((line, value)) = files.first(path) else { continue };
        let counters = ports.entry((device, port)).or_default();
        if let Some((folder, name)) = counter(rest) {
            if value.parse::<u64>().is_ok() {
                counters.counting.push((folder, name, line));
            } else if value.starts_with("N/A") {
                counters.unavailable.push((folder, name, line));
            }
        }
    }
    for (path, missing) in files.errors() {
        if let Some((device, port, rest)) = split(path)
            && counter(rest).is_some()
            && let Some(state) = missing.state(ADDS)
        {
            ports.entry((device, port)).or_default().failure.get_or_insert(state);
        }
    }
    if let Some(state) = files.incomplete().and_then(|reason| Missing::Incomplete(reason).state(ADDS)) {
        // What was not reached is not known to be absent.
        for counters in ports.values_mut() {
            counters.failure.get_or_insert_with(|| state.clone());
        }
    }
    let mut facts = Vec::new();
    for ((device, port), counters) in &ports {
        let driver = family(&links, &files, device);
        for (attribute, what, roles) in QUESTIONS {
            let (line, state) = answer(counters, driver, what, roles);
            facts.push(source.fact(Entity::port(device, *port), attribute, state, line));
        }
    }
    // `grep` ends with 1 or 2 where there are no ports, or no counters, as it should; anything else is trouble.
    if !matches!(source.outcome, Outcome::Exit(0..=2))
        && let Some(state) = source.trouble("grep", ADDS)
    {
        facts.push(source.fact(Entity::Guest, Attribute::PacketCounters, state, 0));
    }
    facts
}

/// Name of the source that holds the values of all counters of RDMA ports.
pub const VALUES: &str = "linux.rdma-counters";

/// The raw values of all counters of all ports, as the kernel prints them; their unit depends on the driver. Counters that
/// say that they are not available are left out.
pub fn values(source: &Observation) -> Vec<(Entity, Text, u64)> {
    let files = Files::new(source, FILES);
    files
        .all()
        .filter_map(|(path, _)| {
            let (device, port, rest) = split(path)?;
            let (_, name) = counter(rest)?;
            let (_, value) = files.first(path)?;
            Some((Entity::port(device, port), Text::new(name), value.parse().ok()?))
        })
        .collect()
}

fn split(path: &str) -> Option<(&str, u32, &str)> {
    let (device, rest) = device_path(path)?;
    let (port, rest) = port_path(rest)?;
    Some((device, port, rest))
}

fn counter(rest: &str) -> Option<(&str, &str)> {
    rest.split_once('/').filter(|(folder, name)| matches!(*folder, "counters" | "hw_counters") && *name != "lifespan")
}

/// Whether a port counts what the roles stand for; with the line that shows it.
fn answer(counters: &PortCounters<'_>, driver: Option<&str>, what: &str, roles: &[Role]) -> (u32, State<Value>) {
    let name = driver.unwrap_or("this driver");
    let fits = |(folder, file, _): &&(&str, &str, u32)| {
        port_counter(name, folder, file).is_some_and(|meaning| roles.contains(&meaning.role))
    };
    if let Some((_, _, line)) = counters.counting.iter().find(fits) {
        return (*line, State::Known(Value::from(true)));
    }
    if let Some((_, _, line)) = counters.unavailable.iter().find(fits) {
        return (*line, State::NotAvailable);
    }
    if let Some(state) = &counters.failure {
        return (0, state.clone());
    }
    let by = match published_by(name) {
        _ if name == "vmw_pvrdma" => "vmw_pvrdma (the guest counts nothing; the ESXi host does)".to_owned(),
        Some(published) => {
            let usual = match what {
                "bytes" => published.bytes,
                "packets" => published.packets,
                _ => published.errors,
            };
            if usual { format!("{name} on this port (it usually is)") } else { name.to_owned() }
        }
        None if counters.counting.is_empty() => name.to_owned(),
        None => format!("{name} (it has counters, none of them known to count {what})"),
    };
    (0, State::NotPublished(Text::new(&by)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::linux::rdma_testing::{known, no_rdma, state, sysfs};
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    const PVRDMA: &str = include_str!("../../../tests/fixtures/pvrdma-guest/14-sysfs-values.txt");
    const SOFT_ROCE: &str = include_str!("../../../tests/fixtures/soft-roce-unprivileged/14-sysfs-values.txt");
    const WRAPPED: &str = include_str!("../../../tests/fixtures/public/14-rdma-statistic-wrapped.txt");
    const LINKS: &str = "'/sys/class/infiniband'\n\
        '/sys/class/infiniband/rocep0s16f1/device' -> '../../../0000:00:10.1'\n\
        '/sys/class/infiniband/rocep0s16f1/device/driver' -> '../../../../bus/pci/drivers/vmw_pvrdma'\n\
        '/sys/class/infiniband/mlx5_0/device' -> '../../../0000:1b:00.0'\n\
        '/sys/class/infiniband/mlx5_0/device/driver' -> '../../../../bus/pci/drivers/mlx5_core'\n\
        '/sys/class/infiniband/hns_0/device' -> '../../../0000:35:00.0'\n\
        '/sys/class/infiniband/hns_0/device/driver' -> '../../../../bus/pci/drivers/hns3'\n";

    fn read(observation: Observation) -> Vec<Fact> {
        parse(&[Arc::new(observation), Arc::new(Observation::of_text("links", LINKS))])
    }

    fn states(facts: &[Fact], device: &str) -> Vec<String> {
        let port = Entity::port(device, 1);
        QUESTIONS
            .iter()
            .map(|(attribute, ..)| match state(facts, &port, *attribute) {
                Some(State::NotPublished(by)) => format!("not published by {by}"),
                _ => known(facts, &port, *attribute),
            })
            .collect()
    }

    #[test]
    fn soft_roce_counts_packets_and_errors_but_no_bytes() {
        assert_eq!(states(&read(sysfs(SOFT_ROCE)), "rxe0"), ["not published by rxe", "yes", "yes"]);
    }

    #[test]
    fn a_pvrdma_guest_counts_nothing() {
        let nothing = "not published by vmw_pvrdma (the guest counts nothing; the ESXi host does)";
        assert_eq!(states(&read(sysfs(PVRDMA)), "rocep0s16f1"), [nothing; 3]);
    }

    #[test]
    fn files_without_a_number_are_not_available() {
        let port = "/sys/class/infiniband/mlx5_0/ports/1";
        let old = format!("{port}/counters/port_xmit_data:N/A (no PMA)\n{port}/counters/symbol_error:N/A (no PMA)\n");
        let facts = read(Observation::of_text("x", &old));
        let entity = Entity::port("mlx5_0", 1);
        assert_eq!(state(&facts, &entity, Attribute::ByteCounters), Some(State::NotAvailable));
        assert_eq!(state(&facts, &entity, Attribute::ErrorCounters), Some(State::NotAvailable));
        assert!(matches!(state(&facts, &entity, Attribute::PacketCounters), Some(State::NotPublished(_))));
    }

    #[test]
    fn real_mlx5_counters_tell_of_congestion_and_loss() {
        // The counters of a real port: `rdma statistic`, wrapped in the mail that quoted it.
        let words: Vec<&str> = WRAPPED.split_whitespace().skip(2).collect();
        let files = words.chunks(2).fold(String::new(), |files, pair| {
            files + &format!("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{}:{}\n", pair[0], pair[1])
        });
        let facts = read(Observation::of_text("x", &files));
        assert_eq!(known(&facts, &Entity::port("mlx5_0", 1), Attribute::ErrorCounters), "yes");
        // Without the other folder there are no bytes, and that is unusual for this driver.
        assert_eq!(states(&facts, "mlx5_0")[0], "not published by mlx5_core on this port (it usually is)");
        for name in ["np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled"] {
            assert!(words.contains(&name));
            let meaning = port_counter("mlx5_core", "hw_counters", name).expect("known");
            assert_eq!(meaning.role, Role::Congestion);
        }
    }

    #[test]
    fn unknown_drivers_and_refusals_are_said() {
        let port = "/sys/class/infiniband/hns_0/ports/1";
        let facts = read(Observation::of_text("x", &format!("{port}/state:4: ACTIVE\n{port}/hw_counters/odd:5\n")));
        assert_eq!(
            states(&facts, "hns_0")[1],
            "not published by hns3 (it has counters, none of them known to count packets)"
        );
        let refused = Observation::of_text("x", &format!("{port}/state:4: ACTIVE\n"))
            .with_stderr(&format!("grep: {port}/hw_counters/odd: Permission denied\n"));
        let facts = read(refused);
        assert!(matches!(
            state(&facts, &Entity::port("hns_0", 1), Attribute::PacketCounters),
            Some(State::NeedsPrivilege(_))
        ));
    }

    #[test]
    fn no_rdma_gives_nothing_and_a_cut_answer_says_so() {
        assert_eq!(read(no_rdma()), Vec::new());
        let facts = read(Observation::of_text("x", "").with_outcome(Outcome::Cut));
        assert!(matches!(state(&facts, &Entity::Guest, Attribute::PacketCounters), Some(State::Failed(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn survives_anything(
            values in mutated_texts(&[&sysfs(PVRDMA).stdout, &sysfs(SOFT_ROCE).stdout]),
            errors in mutated_texts(&[&sysfs(SOFT_ROCE).stderr]),
            links in mutated_texts(&[LINKS]),
        ) {
            let source = Observation::of_text("x", &values).with_stderr(&errors);
            assert_clean(&parse(&[Arc::new(source), Arc::new(Observation::of_text("links", &links))]))?;
        }
    }
}
