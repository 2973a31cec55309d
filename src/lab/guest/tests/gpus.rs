//! The machine with GPUs, as the program's own probes read it, for both releases of the driver and for every trouble.

use std::sync::Arc;

use super::{out, root, run};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, Text};
use crate::lab::guest::clock::Clock;
use crate::lab::guest::with_gpus;
use crate::lab::machine::{GpuTrouble, GuestTrouble, Machine, Trouble};
use crate::probe::linux::guest_testing::shown;
use crate::probe::{Probe, Read, Word, gpu};

/// Machines with both releases: new, old.
fn both() -> [Arc<dyn Machine>; 2] {
    let of = |release: &str| {
        (0..64)
            .map(|seed| with_gpus(seed, &Clock::standing()))
            .find(|machine| out(&**machine, "nvidia-smi -q", &root()).contains(release))
            .expect("a seed draws it")
    };
    [of("550.90.07"), of("525.147.05")]
}

/// The address of the card that works, and of the other one.
fn cards(machine: &dyn Machine) -> (Entity, Entity) {
    let rows = out(machine, "nvidia-smi --query-gpu=pci.bus_id,pstate --format=csv,noheader", &root());
    let of = |state: &str| {
        let row = rows.lines().find(|row| row.ends_with(state)).expect("a card in this state");
        Entity::Gpu(gpu::address(row.split(',').next().unwrap_or_default()).expect("an address"))
    };
    (of("P0"), of("P8"))
}

fn read(machine: &dyn Machine, probe: &Probe) -> Vec<Fact> {
    let observations: Vec<Arc<Observation>> = probe
        .sources
        .iter()
        .map(|source| {
            let words: Vec<String> = match source.read {
                Read::Command { argv, .. } => argv.iter().map(|word| word.shown("")).collect(),
                Read::Files(globs) => ["grep", "-H", ""].iter().chain(globs).map(|&word| word.to_owned()).collect(),
                other => panic!("{other:?}"),
            };
            assert!(!words.iter().any(|word| *word == Word::Item("", "").shown("x")));
            let answer = machine.run(&words, &root());
            let status = i32::try_from(answer.status).expect("a small number");
            let observation = Observation::of_text(source.name, &answer.stdout);
            Arc::new(observation.with_stderr(&answer.stderr).with_outcome(Outcome::Exit(status)))
        })
        .collect();
    (probe.parse)(&observations)
}

fn suffer(machine: &dyn Machine, trouble: GpuTrouble, on: bool) {
    machine.suffer(Trouble::Guest(GuestTrouble::Gpu(trouble)), on);
}

#[test]
fn both_releases_are_read_alike() {
    for machine in both() {
        let machine = &*machine;
        let (busy, idle) = cards(machine);
        let facts = read(machine, &gpu::states::PROBE);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::GpuReadBy), "nvidia-smi");
        for (attribute, expected) in [
            (Attribute::GpuModel, "NVIDIA A100-PCIE-40GB"),
            (Attribute::GpuVirtualization, "pass-through"),
            (Attribute::EccUncorrected, "0"),
            (Attribute::EccCorrectedEver, "2"),
            (Attribute::RemapPending, "no"),
            (Attribute::MigModePending, "no"),
            (Attribute::PowerLimit, "250000"),
            (Attribute::PcieLanes, "16"),
            (Attribute::ClockReasons, "<empty>"),
        ] {
            assert_eq!(shown(&facts, &busy, attribute), expected, "{attribute:?}");
        }
        assert_eq!(shown(&facts, &idle, Attribute::PcieGeneration), "1", "an idle link");
        assert_eq!(shown(&facts, &idle, Attribute::ClockReasons), "idle");
        let facts = read(machine, &gpu::layout::PROBE);
        assert_eq!(shown(&facts, &busy, Attribute::NvLinksActive), "12");
        let way = Entity::GpuPath { from: Text::new("GPU0"), to: Text::new("GPU1") };
        assert_eq!(shown(&facts, &way, Attribute::TopologyLevel), "NV12");
        let nic = Entity::GpuPath { from: Text::new("NIC0"), to: Text::new("NIC0") };
        assert_eq!(shown(&facts, &nic, Attribute::TopologyDevice), "rocep19s0");
        let facts = read(machine, &gpu::processes::PROBE);
        let Entity::Gpu(address) = busy else { panic!("a GPU") };
        let process = Entity::GpuProcess { gpu: address, process: 4711 };
        assert_eq!(shown(&facts, &process, Attribute::GpuProcessName), "/usr/bin/python3");
        assert!(!out(machine, "nvidia-smi -q", &root()).contains(['{', '}', '<', '>']), "a place that nobody filled");
    }
}

#[test]
fn every_trouble_shows_and_ends() {
    for machine in both() {
        let machine = &*machine;
        let (busy, idle) = cards(machine);
        let of = |entity: &Entity, attribute| shown(&read(machine, &gpu::states::PROBE), entity, attribute);
        let shows = |trouble, attribute, expected: &str| {
            let before = of(&busy, attribute);
            let beside = of(&idle, attribute);
            suffer(machine, trouble, true);
            assert_eq!(of(&busy, attribute), expected, "{trouble:?}");
            assert_eq!(of(&idle, attribute), beside, "{trouble:?} strikes one card");
            suffer(machine, trouble, false);
            assert_eq!(of(&busy, attribute), before, "{trouble:?} ends");
        };
        shows(GpuTrouble::NarrowLink, Attribute::PcieLanes, "8");
        shows(GpuTrouble::NarrowLink, Attribute::PcieGeneration, "3");
        shows(GpuTrouble::TooHot, Attribute::ClockReasons, "hardware slowdown, hardware thermal");
        shows(GpuTrouble::MigPending, Attribute::MigModePending, "yes");
        shows(GpuTrouble::DoubleBit, Attribute::RemapPending, "yes");
        shows(GpuTrouble::DoubleBit, Attribute::EccUncorrected, "1");
        assert!(out(machine, "dmesg", &root()).contains("): 48, pid="));
        suffer(machine, GpuTrouble::OffTheBus, true);
        assert_eq!(of(&busy, Attribute::GpuHealth), "GPU is lost");
        assert!(out(machine, "dmesg", &root()).contains("): 79, pid="));
        suffer(machine, GpuTrouble::OffTheBus, false);
        suffer(machine, GpuTrouble::Nouveau, true);
        assert_eq!(run(machine, "nvidia-smi -L", &root()).status, 9);
        let function = match &busy {
            Entity::Gpu(address) => address.to_string(),
            other => panic!("{other:?}"),
        };
        let driver = || machine.link(&format!("/sys/bus/pci/devices/{function}/driver"));
        assert!(driver().is_some_and(|link| link.ends_with("/nouveau")));
        suffer(machine, GpuTrouble::Nouveau, false);
        assert!(driver().is_some_and(|link| link.ends_with("/nvidia")));
    }
}

#[test]
fn a_field_that_the_release_does_not_know_fails_the_query() {
    let [new, old] = both();
    let asked = "nvidia-smi --query-gpu=index,clocks_event_reasons.active --format=csv";
    assert_eq!(run(&*new, asked, &root()).status, 0);
    let refused = run(&*old, asked, &root());
    assert_eq!(
        (refused.status, refused.stdout.as_str()),
        (2, "Field \"clocks_event_reasons.active\" is not a valid field to query.\n\n")
    );
    assert!(out(&*old, "dcgmi dmon -e 1002,1010 -c 1", &root()).contains("SMACT"));
    assert_eq!(run(&*old, "command -v nvidia-smi", &root()).status, 0);
}
