//! Installed packages of the RDMA, MPI and GPU stack, from dpkg or rpm, whichever knows. That the core ones are not
//! installed is said; the others are then not listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// Packages whose absence is worth a line.
const CORE: &[&str] = &["rdma-core", "perftest"];

/// Installed packages.
pub const PROBE: Probe = Probe {
    name: "linux.packages",
    title: "installed packages for RDMA, MPI and GPUs",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
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
                Some(status @ ("half-installed" | "unpacked" | "half-configured")) => {
                    State::Failed(Text::new(&format!("{status}: its installation did not end")))
                }
                // "not-installed", "config-files", or a line that is none of these.
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

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    const DPKG: &str = include_str!("../../../tests/fixtures/guest-probes/linux.packages-dpkg.txt");
    const OLD_DPKG: &str =
        include_str!("../../../tests/fixtures/pvrdma-guest/28-dpkg-query-w-rdma-core-librdmacm1-libibverbs.txt");
    const RPM: &str = "rdma-core\t48.0-1.el9\nlibibverbs\t48.0-1.el9\npackage perftest is not installed\n\
                       openmpi\t4.1.1-7.el9\nopen-vm-tools\t12.3.5-2.el9\n";
    const ABSENT: Printed<'_> = ("", "sh: 1: rpm: not found\n", 127);

    fn version(printed: &[Printed<'_>], name: &str) -> String {
        shown(&run(&PROBE, printed), &Entity::Package(Text::new(name)), Attribute::Version)
    }

    #[test]
    fn debian_packages() {
        let printed = [(DPKG, "dpkg-query: no packages found matching ucx\n", 1), ABSENT];
        assert_eq!(version(&printed, "rdma-core"), "44.0-2");
        assert_eq!(version(&printed, "perftest"), "4.5+0.17-1");
        assert_eq!(version(&printed, "ucx"), "absent");
        assert_eq!(version(&[(OLD_DPKG, "", 0), ABSENT], "ibverbs-providers"), "44.0-2");
        let states = "rdma-core\t\tdeinstall ok not-installed\nperftest\t4.5\tdeinstall ok config-files\n\
                      openmpi-bin\t4.1\tinstall reinstreq half-installed\n";
        assert_eq!(version(&[(states, "", 0), ABSENT], "rdma-core"), "<rdma-core is not installed>");
        assert_eq!(version(&[(states, "", 0), ABSENT], "perftest"), "<perftest is not installed>");
        assert!(version(&[(states, "", 0), ABSENT], "openmpi-bin").contains("half-installed"));
    }

    #[test]
    fn red_hat_packages_and_no_package_manager() {
        let rpm = [("", "", 127), (RPM, "", 1)];
        assert_eq!(version(&rpm, "rdma-core"), "48.0-1.el9");
        assert_eq!(version(&rpm, "open-vm-tools"), "12.3.5-2.el9");
        assert_eq!(version(&rpm, "perftest"), "<perftest is not installed>");
        assert_eq!(version(&rpm, "libucx0"), "absent");
        let none = [("", "", 127), ("", "", 127)];
        assert_eq!(version(&none, "rdma-core"), "<not observable: neither dpkg nor rpm is here>");
        let broken = [("", "dpkg-query: error: failed to open package info file\n", 2), ("", "", 127)];
        assert!(version(&broken, "rdma-core").starts_with("<failed"));
    }

    survives_damage!(PROBE, DPKG, RPM);
}
