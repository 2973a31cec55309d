//! Every trouble of a host, over many seeds, as the program's own probes see it: what it is about shows in the facts, and
//! a healthy host of the same seed shows nothing of it. No SSH is between: the answers are those that its server sends.

use super::*;
use crate::collect::rounds::{Sequence, saved_report};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, Outcome, State, TargetId, Timestamp};
use crate::lab::guest::pvrdma_guests;
use crate::lab::server::print;
use crate::probe::dialect::items;
use crate::probe::dialect::sections::Section;
use crate::probe::esxi::PROBES;

/// The begin of the lines around items.
const MARKER: &str = "@rdmascope:5eed";

/// What is known of one host after everything was read.
struct Seen {
    fabric: Fabric,
    target: TargetId,
}

impl Seen {
    fn of(machine: &dyn Machine, tool: &str) -> Self {
        let (target, sequence, mut fabric) = (TargetId::new(machine.name()), Sequence::default(), Fabric::default());
        let login = Login { user: "root".to_owned(), is_root: true };
        // What is long to read and shows none of the troubles: logs, counters and packages.
        let is_long = |name: &str| ["log", "statistics", "software"].iter().any(|word| name.contains(word));
        for probe in PROBES.iter().filter(|probe| !is_long(probe.name)) {
            let parts = probe.sources.iter().enumerate().map(|(index, source)| {
                let printed = print::read(machine, &login, &source.read, false, tool, MARKER);
                let outcome = Outcome::Exit(i32::try_from(printed.status).expect("small"));
                let settled = |output: &[u8]| items::settled(output, MARKER).into_owned();
                let (stdout, stderr) = (settled(&printed.stdout), settled(&printed.stderr));
                (*source, Section { index, outcome, duration: None, stdout, stderr, cut: 0, command: None })
            });
            let at = Timestamp::UNIX_EPOCH;
            fabric.apply(&saved_report(&target, &sequence, probe, parts.collect(), at));
        }
        Self { fabric, target }
    }
}

/// What a trouble changes on the host that suffers it: entity, attribute, what a healthy host shows, what this one shows.
type Change = (Entity, Attribute, &'static str, &'static str);

fn changes(trouble: HostTrouble) -> Vec<Change> {
    use HostTrouble::*;
    let vmnic = || Entity::Uplink("vmnic2".into());
    let device = || Entity::RdmaDevice("vmrdma0".into());
    let switch = || Entity::VirtualSwitch("dvs-rdma".into());
    let function = |last: u8| Entity::PciFunction(format!("0000:5e:00.{last}").as_str().into());
    let parameter = || Entity::ModuleParameter { module: "nmlx5_rdma".into(), name: "dscp_force".into() };
    let acs = || Entity::KernelSetting("disableACSCheck".into());
    match trouble {
        VmknicUntagged => {
            vec![(Entity::AdvancedSetting("/Net/PVRDMAVmknic".into()), Attribute::SettingValue, "vmk1", "<empty>")]
        }
        RulesetClosed => vec![(Entity::Ruleset("pvrdma".into()), Attribute::RulesetEnabled, "yes", "no")],
        TwoUplinks => vec![
            (switch(), Attribute::Uplinks, "vmnic2", "vmnic2, vmnic3"),
            (Entity::Uplink("vmnic3".into()), Attribute::Carrier, "no", "yes"),
        ],
        HcaPassthrough => vec![
            (function(0), Attribute::CurrentOwner, "VMkernel", "VM Passthru"),
            (function(1), Attribute::CurrentOwner, "VMkernel", "VM Passthru"),
            (function(0), Attribute::PassthroughEnabled, "no", "yes"),
            (function(0), Attribute::Driver, "nmlx5_core", "pciPassthru"),
            (Entity::Host, Attribute::Uplinks, "vmnic0, vmnic1, vmnic2, vmnic3", "vmnic0, vmnic1"),
            (switch(), Attribute::Uplinks, "vmnic2", "<empty>"),
            (vmnic(), Attribute::Carrier, "yes", "absent"),
            (device(), Attribute::PortState, "ACTIVE", "absent"),
        ],
        VlanMismatch => vec![],
        CeeMode => vec![
            (vmnic(), Attribute::DcbMode, "IEEE Mode", "CEE Mode"),
            (vmnic(), Attribute::PfcEnabled, "yes", "no"),
            (vmnic(), Attribute::PfcPriorities, "3", "<empty>"),
        ],
        FirmwareOlder => vec![(vmnic(), Attribute::Firmware, "20.35.1012", "20.33.1048")],
        ParameterDiffers => vec![
            (Entity::Module("nmlx5_rdma".into()), Attribute::ModuleOptions, "pcp_force=3 dscp_force=26", "pcp_force=3"),
            (parameter(), Attribute::ParameterValue, "26", "<empty>"),
        ],
        RebootPending => vec![
            (acs(), Attribute::SettingValue, "no", "yes"),
            (acs(), Attribute::SettingRuntime, "no", "no"),
            (function(1), Attribute::ConfiguredOwner, "VMkernel", "VM Passthru"),
            (function(1), Attribute::CurrentOwner, "VMkernel", "VMkernel"),
        ],
        VmMoved => vec![(device(), Attribute::PortState, "ACTIVE", "ACTIVE")],
        HostdDead => vec![(Entity::Host, Attribute::VmNumber, "absent", "<failed>")],
        UplinkDown => vec![
            (vmnic(), Attribute::Carrier, "yes", "no"),
            (vmnic(), Attribute::Speed, "100000000000", "<not-observable>"),
            (device(), Attribute::PortState, "ACTIVE", "DOWN"),
        ],
        // Only the first host has a VM with a graphics device; the diagnosis of the scenarios shows the rest.
        GpuNotGiven | GpuWindowMissing => vec![],
        // These show in what `esxtop` prints.
        ReadyHigh | NeighbourBalloons | OwnBalloon | NumaRemote => vec![],
    }
}

impl Seen {
    /// The value, or the name of its state, or `absent`.
    fn shown(&self, entity: &Entity, attribute: Attribute) -> String {
        let id = EntityId::new(&self.target, entity.clone());
        match self.fabric.reading(&id, attribute).map(|reading| &reading.state) {
            None => "absent".to_owned(),
            Some(State::Known(value)) => value.to_string(),
            Some(missing) => format!("<{}>", missing.name()),
        }
    }

    /// What the entities that have this attribute show of it.
    fn all(&self, attribute: Attribute) -> Vec<String> {
        let entities = self.fabric.entities(&self.target);
        entities.map(|entity| self.shown(entity, attribute)).filter(|shown| shown != "absent").collect()
    }

    fn has_vm(&self, name: &str) -> bool {
        self.all(Attribute::VmName).iter().any(|shown| shown == name)
    }

    fn ports_in(&self, vlan: &str) -> usize {
        self.fabric
            .entities(&self.target)
            .filter(|entity| matches!(entity, Entity::SwitchPort { .. }))
            .filter(|entity| self.shown(entity, Attribute::VlanId) == vlan)
            .count()
    }
}

const TROUBLES: [HostTrouble; 12] = [
    HostTrouble::VmknicUntagged,
    HostTrouble::RulesetClosed,
    HostTrouble::TwoUplinks,
    HostTrouble::HcaPassthrough,
    HostTrouble::VlanMismatch,
    HostTrouble::CeeMode,
    HostTrouble::FirmwareOlder,
    HostTrouble::ParameterDiffers,
    HostTrouble::RebootPending,
    HostTrouble::VmMoved,
    HostTrouble::HostdDead,
    HostTrouble::UplinkDown,
];

/// One host of a seed: healthy, with each trouble by itself, and healthy again.
fn every_trouble_shows(seed: u64) {
    let index = usize::try_from(seed % 2).expect("small");
    let hosts = hosts_by(seed, pvrdma_guests(seed), &Clock::standing());
    let (host, other) = (&*hosts[index], &*hosts[1 - index]);
    let own = ["pv-a", "pv-b"][index];
    let healthy = Seen::of(host, "esxcli");
    // What is ordinary and looks like a fault.
    let setting = |attribute| healthy.shown(&Entity::KernelSetting("logPort".into()), attribute);
    assert_eq!(
        (setting(Attribute::SettingValue), setting(Attribute::SettingRuntime)),
        ("default".into(), "none".into())
    );
    let second = Entity::PciFunction("0000:18:00.1".into());
    assert_eq!(healthy.shown(&second, Attribute::ConfiguredOwner), ["VMkernel", "Unknown"][index], "seed {seed}");
    let ids = healthy.all(Attribute::BackingId);
    assert_eq!(ids, [["00000:175:00.0"], ["0000:94:00.0"]][index], "seed {seed}");
    assert_eq!(healthy.all(Attribute::BackingFunction), [["0000:af:00.0"], ["<not-observable>"]][index], "seed {seed}");
    for trouble in TROUBLES {
        host.suffer(Trouble::Host(trouble), true);
        // By the program that the collector turns to when the agent is dead.
        let ill = Seen::of(host, if trouble == HostTrouble::HostdDead { "localcli" } else { "esxcli" });
        for (entity, attribute, before, now) in changes(trouble) {
            let of = |seen: &Seen| seen.shown(&entity, attribute);
            let words = format!("seed {seed}, {trouble:?}, {entity:?} {attribute:?}");
            assert_eq!((of(&healthy), of(&ill)), (before.to_owned(), now.to_owned()), "{words}");
        }
        match trouble {
            HostTrouble::VlanMismatch => {
                assert_eq!((healthy.ports_in("200"), ill.ports_in("200")), (0, 1), "seed {seed}");
                assert_eq!(healthy.ports_in("100"), ill.ports_in("100") + 1, "seed {seed}");
            }
            HostTrouble::RebootPending => {
                assert_eq!(healthy.shown(&Entity::Host, Attribute::RebootPending), "<empty>", "seed {seed}");
                let pending = ill.shown(&Entity::Host, Attribute::RebootPending);
                assert!(pending.contains("0000:5e:00.1"), "seed {seed}: {pending}");
            }
            HostTrouble::VmMoved => {
                assert!(healthy.has_vm(own) && !ill.has_vm(own), "seed {seed}");
                let there = Seen::of(other, "esxcli");
                assert!(there.has_vm(own), "seed {seed}");
                let device = Entity::RdmaDevice("vmrdma0".into());
                assert_eq!(there.shown(&device, Attribute::PortState), "absent", "seed {seed}");
            }
            HostTrouble::HostdDead => {
                let uplinks = |seen: &Seen| seen.shown(&Entity::Host, Attribute::Uplinks);
                assert_eq!(uplinks(&healthy), uplinks(&ill), "localcli stands in");
                assert_eq!(uplinks(&Seen::of(host, "esxcli")), "<failed>", "seed {seed}");
            }
            _ => {}
        }
        host.suffer(Trouble::Host(trouble), false);
    }
    assert!(Seen::of(host, "esxcli").fabric == healthy.fabric, "seed {seed}: something is left behind");
}

#[test]
fn every_trouble_shows_in_the_facts_of_fifty_seeds_and_only_then() {
    let threads: Vec<_> =
        (0..2).map(|part| std::thread::spawn(move || (part..50).step_by(2).for_each(every_trouble_shows))).collect();
    for thread in threads {
        thread.join().expect("every seed shows every trouble");
    }
}
