//! Scenarios: what goes wrong in the lab, where and when, and what a diagnosis is expected to find. One TOML file each,
//! in `demo/scenarios`. What a scenario leaves open is drawn from a seed, so that one seed always gives the same.

use std::sync::LazyLock;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde::Deserialize;

use super::fault::{self, Fault, Of};
use crate::config::Kind;

/// The word for a machine that is drawn.
const DRAWN: &str = "drawn";

/// The files, in the order in which they are listed.
const FILES: [&str; 48] = [
    include_str!("../../demo/scenarios/healthy.toml"),
    include_str!("../../demo/scenarios/link-down.toml"),
    include_str!("../../demo/scenarios/packet-loss.toml"),
    include_str!("../../demo/scenarios/hang.toml"),
    include_str!("../../demo/scenarios/slow.toml"),
    include_str!("../../demo/scenarios/cut.toml"),
    include_str!("../../demo/scenarios/wrong-host-key.toml"),
    include_str!("../../demo/scenarios/garbage.toml"),
    include_str!("../../demo/scenarios/reboot.toml"),
    include_str!("../../demo/scenarios/with-hosts.toml"),
    include_str!("../../demo/scenarios/vmknic-untagged.toml"),
    include_str!("../../demo/scenarios/ruleset-closed.toml"),
    include_str!("../../demo/scenarios/two-uplinks.toml"),
    include_str!("../../demo/scenarios/hca-passthrough.toml"),
    include_str!("../../demo/scenarios/vlan-mismatch.toml"),
    include_str!("../../demo/scenarios/dcb-cee.toml"),
    include_str!("../../demo/scenarios/firmware-differs.toml"),
    include_str!("../../demo/scenarios/parameter-differs.toml"),
    include_str!("../../demo/scenarios/reboot-pending.toml"),
    include_str!("../../demo/scenarios/vm-moved.toml"),
    include_str!("../../demo/scenarios/hostd-dead.toml"),
    include_str!("../../demo/scenarios/ssh-stopped.toml"),
    include_str!("../../demo/scenarios/account-locked.toml"),
    include_str!("../../demo/scenarios/data-centre.toml"),
    include_str!("../../demo/scenarios/switch-pfc-off.toml"),
    include_str!("../../demo/scenarios/switch-pfc-priority.toml"),
    include_str!("../../demo/scenarios/switch-ecn-off.toml"),
    include_str!("../../demo/scenarios/switch-mtu-small.toml"),
    include_str!("../../demo/scenarios/switch-vlan.toml"),
    include_str!("../../demo/scenarios/switch-errors.toml"),
    include_str!("../../demo/scenarios/driver-unloaded.toml"),
    include_str!("../../demo/scenarios/other-open-mpi.toml"),
    include_str!("../../demo/scenarios/ucx-over-tcp.toml"),
    include_str!("../../demo/scenarios/no-locked-memory.toml"),
    include_str!("../../demo/scenarios/gpu-not-given.toml"),
    include_str!("../../demo/scenarios/gpu-window-missing.toml"),
    include_str!("../../demo/scenarios/gpu-busy.toml"),
    include_str!("../../demo/scenarios/gpu-pcie-saturated.toml"),
    include_str!("../../demo/scenarios/gpu-narrow-link.toml"),
    include_str!("../../demo/scenarios/gpu-too-hot.toml"),
    include_str!("../../demo/scenarios/gpu-off-the-bus.toml"),
    include_str!("../../demo/scenarios/gpu-double-bit.toml"),
    include_str!("../../demo/scenarios/gpu-nouveau.toml"),
    include_str!("../../demo/scenarios/gpu-mig-pending.toml"),
    include_str!("../../demo/scenarios/vm-ready-high.toml"),
    include_str!("../../demo/scenarios/neighbour-balloons.toml"),
    include_str!("../../demo/scenarios/own-balloon.toml"),
    include_str!("../../demo/scenarios/numa-remote.toml"),
];

/// One scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: `link-down`.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// True if the ESXi hosts are there too: reading them costs, so only scenarios that show something of them have them.
    #[serde(default)]
    pub hosts: bool,
    /// True if the switches are there too, and no VM was edited by hand.
    #[serde(default)]
    pub switches: bool,
    /// True if the guest with GPUs is there too.
    #[serde(default)]
    pub gpus: bool,
    /// What goes wrong; empty where nothing does.
    #[serde(default)]
    pub faults: Vec<Planned>,
    /// Ids of the checks that have to find it, `layer.kebab-name`.
    pub expected_causes: Vec<String>,
}

/// One fault of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Name of the fault.
    pub kind: String,
    /// Name of the machine, or `drawn`.
    pub host: String,
    /// The machines of which one is drawn; all when empty.
    #[serde(default)]
    pub among: Vec<String>,
    /// Seconds after the start, or the least and the most of which one moment is drawn.
    pub after: After,
    /// Seconds until it is over; it stays when there are none.
    #[serde(default)]
    pub lasts: Option<f64>,
}

/// When a fault happens, in seconds after the start.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum After {
    /// At this moment.
    At(f64),
    /// At a moment between these two.
    Between([f64; 2]),
}

/// A fault of a scenario with everything settled.
#[derive(Clone, Copy, Debug)]
pub struct Happening<'h> {
    /// What.
    pub fault: &'static Fault,
    /// On which machine.
    pub host: &'h str,
    /// How long after the start.
    pub after: Duration,
    /// How long it lasts; it stays when `None`.
    pub lasts: Option<Duration>,
}

/// All scenarios.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    FILES
        .iter()
        .map(|text| toml::from_str(text).expect("the scenarios are part of the program, and a test reads them"))
        .collect()
});

/// All scenarios, in the order in which they are listed.
pub fn scenarios() -> &'static [Scenario] {
    &SCENARIOS
}

/// The scenario of this name.
pub fn by_name(name: &str) -> Option<&'static Scenario> {
    scenarios().iter().find(|scenario| scenario.name == name)
}

impl Scenario {
    /// Settles what the scenario leaves open: each fault gets its machine (each has one RDMA port, so the port comes with
    /// it) and its moment. `hosts` are the machines that there are, each with what it is.
    pub fn draw<'h>(&self, seed: u64, hosts: &[(&'h str, Kind)]) -> Vec<Happening<'h>> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut happenings: Vec<Happening<'h>> = Vec::new();
        for planned in &self.faults {
            let Some(fault) = fault::by_name(&planned.kind) else { continue };
            let candidates: Vec<&'h str> = hosts
                .iter()
                .filter(|(host, kind)| planned.admits(host, *kind, fault.of))
                .map(|(host, _)| *host)
                .collect();
            let Some(&host) = candidates.choose(&mut random) else { continue };
            let seconds = match planned.after {
                After::At(seconds) => seconds,
                After::Between([least, most]) => random.random_range(least..=most.max(least)),
            };
            happenings.push(Happening {
                fault,
                host,
                after: duration(seconds),
                lasts: planned.lasts.filter(|_| fault.lasts).map(duration),
            });
        }
        happenings
    }
}

impl Planned {
    fn admits(&self, host: &str, kind: Kind, of: Of) -> bool {
        if !of.admits(kind) {
            false
        } else if self.host == DRAWN {
            // What happens to machines of all kinds happens to a guest where nothing else is said.
            let is_usual = match of {
                Of::Hosts => kind == Kind::Esxi,
                Of::Switches => matches!(kind, Kind::Switch(_)),
                Of::All | Of::GuestsAndHosts | Of::Guests => kind == Kind::Linux,
            };
            if self.among.is_empty() { is_usual } else { self.among.iter().any(|name| name == host) }
        } else {
            self.host == host
        }
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probe::switch::SwitchSystem;

    const HOSTS: [(&str, Kind); 10] = [
        ("leaf1", Kind::Switch(SwitchSystem::Eos)),
        ("leaf2", Kind::Switch(SwitchSystem::NxOs)),
        ("esx01", Kind::Esxi),
        ("esx02", Kind::Esxi),
        ("pv-a", Kind::Linux),
        ("pv-b", Kind::Linux),
        ("hca-a", Kind::Linux),
        ("hca-b", Kind::Linux),
        ("vf-a", Kind::Linux),
        ("gpu-a", Kind::Linux),
    ];

    #[test]
    fn every_scenario_is_whole() {
        let names: BTreeSet<&str> = scenarios().iter().map(|scenario| scenario.name.as_str()).collect();
        assert_eq!(names.len(), FILES.len());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/scenarios");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        assert!(files.iter().map(String::as_str).eq(names.iter().copied()), "{files:?} are embedded as {names:?}");
        let mut used = BTreeSet::new();
        for scenario in scenarios() {
            assert!(!scenario.title.is_empty(), "{}", scenario.name);
            // Two of them break nothing.
            let is_harmless = scenario.faults.is_empty() || ["slow", "reboot"].contains(&scenario.name.as_str());
            assert_eq!(is_harmless, scenario.expected_causes.is_empty(), "{}", scenario.name);
            for cause in &scenario.expected_causes {
                let (layer, name) = cause.split_once('.').expect("layer.kebab-name");
                assert!(["switch", "host", "vm", "guest", "gpu", "mpi", "tool"].contains(&layer), "{cause}");
                assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{cause}");
            }
            for planned in &scenario.faults {
                used.insert(fault::by_name(&planned.kind).expect("a fault that exists").name);
            }
            for seed in 0..50 {
                assert_eq!(scenario.draw(seed, &HOSTS).len(), scenario.faults.len(), "{}", scenario.name);
            }
        }
        assert_eq!(used.len(), fault::FAULTS.len(), "each fault has a scenario: {used:?}");
    }

    #[test]
    fn one_seed_always_draws_the_same_and_seeds_differ() {
        let scenario = by_name("link-down").expect("it is there");
        let told = |seed| {
            let drawn = scenario.draw(seed, &HOSTS);
            (drawn[0].host, drawn[0].after)
        };
        let all: BTreeSet<(&str, Duration)> = (0..40).map(told).collect();
        assert_eq!(told(7), told(7));
        assert!(all.len() > 20, "{all:?}");
        assert!(all.iter().map(|(host, _)| host).collect::<BTreeSet<_>>().len() > 2, "{all:?}");
        let After::Between([least, most]) = scenario.faults[0].after else { panic!("a drawn moment") };
        assert!(all.iter().all(|(_, after)| (least..=most).contains(&after.as_secs_f64())), "{all:?}");
    }

    #[test]
    fn only_the_named_machines_are_drawn() {
        let text = "name = \"x\"\ntitle = \"x\"\nexpected_causes = [\"tool.x\"]\n[[faults]]\nkind = \"hang\"\nhost = \"drawn\"\n\
                    among = [\"pv-b\", \"gone\"]\nafter = 3\nlasts = 2.5\n";
        let scenario: Scenario = toml::from_str(text).expect("a scenario");
        for seed in 0..20 {
            let drawn = scenario.draw(seed, &HOSTS);
            assert_eq!((drawn[0].host, drawn[0].after), ("pv-b", Duration::from_secs(3)));
            assert_eq!(drawn[0].lasts, Some(Duration::from_millis(2500)));
        }
        assert!(scenario.draw(1, &[("pv-a", Kind::Linux)]).is_empty(), "without a machine nothing happens");
    }
}
