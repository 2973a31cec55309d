//! Installed packages of the RDMA, MPI and GPU stack, from dpkg or rpm, whichever knows. That the core ones are not
//! installed is said; the others are then not listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Source, Word};

/// Packages whose absence is worth a line.
const CORE: &[&str] = &["rdma-core", "perftest"];

/// Installed packages.
pub const PROBE: Probe = Probe {
    name: "linux.packages",
    title: "installed packages for RDMA, MPI and GPUs",
    privilege_adds: "",
    pace: Pace::Slow,
    sources: &[
        Source {
            name: "linux.packages-dpkg",
            read: Read::Command {
                argv: &[
                    Word::Plain("dpkg-query"),
                    Word::Plain("-W"),
                    Word::Plain("-f"),
                    Word::Plain("${Package}\\t${Version}\\t${Status}\\n"),
                    Word::Plain("rdma-core"),
                    Word::Plain("perftest"),
                    Word::Plain("libibverbs1"),
                    Word::Plain("librdmacm1*"),
                    Word::Plain("ibverbs-providers"),
                    Word::Plain("ibverbs-utils"),
                    Word::Plain("infiniband-diags"),
                    Word::Plain("ucx"),
                    Word::Plain("ucx-utils"),
                    Word::Plain("libucx0"),
                    Word::Plain("openmpi-bin"),
                    Word::Plain("libopenmpi3*"),
                    Word::Plain("libpmix2*"),
                    Word::Plain("open-vm-tools"),
                    Word::Plain("mlnx-ofed*"),
                    Word::Plain("nvidia-driver-*"),
                    Word::Plain("nvidia-open*"),
                    Word::Plain("nvidia-kernel-*"),
                    Word::Plain("nvidia-fabricmanager*"),
                    Word::Plain("datacenter-gpu-manager*"),
                    Word::Plain("libnccl2"),
                ],
                keep: None,
            },
        },
        Source {
            name: "linux.packages-rpm",
            read: Read::Command {
                argv: &[
                    Word::Plain("rpm"),
                    Word::Plain("-q"),
                    Word::Plain("--qf"),
                    Word::Plain("%{NAME}\\t%{VERSION}-%{RELEASE}\\n"),
                    Word::Plain("rdma-core"),
                    Word::Plain("perftest"),
                    Word::Plain("libibverbs"),
                    Word::Plain("libibverbs-utils"),
                    Word::Plain("librdmacm"),
                    Word::Plain("infiniband-diags"),
                    Word::Plain("ucx"),
                    Word::Plain("ucx-ib"),
                    Word::Plain("openmpi"),
                    Word::Plain("pmix"),
                    Word::Plain("open-vm-tools"),
                    Word::Plain("mlnx-ofa_kernel"),
                    Word::Plain("nvidia-driver"),
                    Word::Plain("nvidia-driver-cuda"),
                    Word::Plain("kmod-nvidia-latest-dkms"),
                    Word::Plain("kmod-nvidia-open-dkms"),
                    Word::Plain("nvidia-fabric-manager"),
                    Word::Plain("datacenter-gpu-manager"),
                    Word::Plain("libnccl"),
                ],
                keep: None,
            },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [dpkg, rpm] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let mut seen = BTreeSet::new();
    for observation in [dpkg, rpm] {
        for (number, line) in observation.lines() {
            let mut columns = line.split('\t');
            let (Some(name), Some(version)) = (columns.next(), columns.next()) else { continue };
            // "libibverbs1:amd64" is the same package on another architecture.
            let name = Text::new(name.split(':').next().unwrap_or(name));
            let state = match columns.next().map(|status| status.split_whitespace().last().unwrap_or("")) {
                None | Some("installed") if !version.trim().is_empty() => State::Known(version.into()),
                Some("not-installed" | "config-files") => continue,
                Some(status @ ("half-installed" | "unpacked" | "half-configured")) => {
                    State::Failed(Text::new(&format!("{status}: its installation did not end")))
                }
                _ => continue,
            };
            if is_name(&name) && seen.insert(name.clone()) {
                facts.push(observation.fact(Entity::Package(name), Attribute::Version, state, number));
            }
        }
    }
    // A package is missing only if a package manager that is there has answered; which one is there decides.
    for name in CORE.iter().filter(|name| !seen.contains(**name)) {
        let entity = Entity::Package(Text::new(name));
        let (observation, state) = match (answered(dpkg), answered(rpm)) {
            (false, false) => (dpkg, no_answer(dpkg, rpm)),
            (false, true) => (rpm, State::NotInstalled(Text::new(name))),
            (true, _) => (dpkg, State::NotInstalled(Text::new(name))),
        };
        facts.push(observation.fact(entity, Attribute::Version, state, 0));
    }
    facts
}

fn no_answer(dpkg: &Observation, rpm: &Observation) -> State<crate::fabric::Value> {
    let absent = |observation: &Observation| observation.outcome == Outcome::Exit(127);
    if absent(dpkg) && absent(rpm) {
        return State::NotObservable(Text::new("neither dpkg nor rpm is here"));
    }
    let (observation, program) = if absent(dpkg) { (rpm, "rpm") } else { (dpkg, "dpkg-query") };
    let failed = || State::Failed(Text::new(&format!("{program} gave no answer")));
    observation.trouble(program, "").unwrap_or_else(failed)
}

/// Both programs end with 1 or more when a name is unknown, and still answer for the others.
fn answered(observation: &Observation) -> bool {
    let says = |words| observation.stdout.contains(words) || observation.stderr.contains(words);
    matches!(observation.outcome, Outcome::Exit(status) if status != 127)
        && (observation.outcome == Outcome::Exit(0)
            || observation.stdout.contains('\t')
            || says("no packages found matching")
            || says("is not installed"))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_'))
}
