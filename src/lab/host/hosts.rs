//! The two hosts and what is on them: `esx01` with 7.0 Update 3, `esx02` with 8.0 Update 3, each with a ConnectX of two
//! ports behind a distributed switch, and what each trouble changes in that.
//!
//! Models, identifiers and versions are those of published outputs; addresses and names are made up.

use std::collections::BTreeSet;

use super::super::guest::load::mix;
use super::super::guest::state::uuid;
use super::super::guest::{Identity, vm_with_gpus};
use super::super::machine::HostTrouble;
use super::administered::Administered;
use super::cables::Cable;
use super::esxtop;
use super::functions::functions;
use super::state::{Carried, Dcb, Module, Port, Release, State, Uplink, Vmknic};
use super::vm::{Role, Vm};

/// The name of the distributed switch.
pub const DVS: &str = "dvs-rdma";

/// Its id.
pub const DVS_ID: &str = "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81";

/// Keys of its port groups: the uplinks, the RDMA network of the VMs, the VMkernel adapters.
pub const GROUPS: [&str; 3] = ["dvportgroup-117200", "dvportgroup-117201", "dvportgroup-117202"];

/// The VLAN of RDMA.
pub const VLAN: u16 = 100;

/// The first port of the ConnectX, the second one, and the GPU.
pub(super) const HCA: [(u8, u8, u8); 2] = [(0x5e, 0, 0), (0x5e, 0, 1)];
pub(super) const GPU: (u8, u8, u8) = (0xaf, 0, 0);

const CONNECTX: &str = "Mellanox Technologies MT28908 Family [ConnectX-6]";
pub(super) const CONNECTX_VF: &str = "MT28908 Family [ConnectX-6 Virtual Function]";

/// Firmware of the ConnectX: the one that it should have, and an older one.
const FIRMWARE: [&str; 2] = ["20.35.1012", "20.33.1048"];

/// Virtual functions of the first port.
pub const VIRTUAL_FUNCTIONS: u8 = 2;

/// Both hosts together: a VM may go from one to the other.
#[derive(Debug)]
pub struct Cluster {
    seed: u64,
    /// Guests with PVRDMA: the first is at home on the first host, the second on the second.
    pub pvrdma: Vec<Identity>,
    /// What each host suffers.
    pub troubles: [BTreeSet<HostTrouble>; 2],
    /// What somebody set on each host.
    pub administered: [Administered; 2],
    /// What the cable of each host's RDMA uplink leads to.
    pub cables: [Cable; 2],
    /// True if the second host has a VM whose configuration somebody edited by hand.
    pub edited: bool,
}

impl Cluster {
    /// The hosts of this seed. `pvrdma` are the guests with PVRDMA: the first is on the first host, the second on the second.
    pub fn new(seed: u64, pvrdma: Vec<Identity>) -> Self {
        Self {
            seed,
            pvrdma,
            troubles: [BTreeSet::new(), BTreeSet::new()],
            administered: [Administered::default(), Administered::default()],
            cables: [Cable::Sound; 2],
            edited: true,
        }
    }

    /// A host as it is now.
    pub fn state(&self, index: usize) -> State {
        let index = index.min(1);
        let troubles = &self.troubles[index];
        let peers = &self.troubles[1 - index];
        let suffers = |trouble| troubles.contains(&trouble);
        // Whoever takes a VM in here has no RDMA: its driver for RDMA is switched off.
        let receives = peers.contains(&HostTrouble::VmMoved);
        let in_passthrough = suffers(HostTrouble::HcaPassthrough);
        let administered = &self.administered[index];
        // Whether a function is given away from the next start on, and now.
        let given: [(bool, bool); 2] = [0, 1].map(|place: usize| {
            let waits = suffers(HostTrouble::RebootPending) && place == 1;
            administered.given(HCA[place], (in_passthrough || waits, in_passthrough))
        });
        let gives_gpu = !suffers(HostTrouble::GpuNotGiven);
        let gpu = administered.given(GPU, (gives_gpu, gives_gpu));
        let two_uplinks = suffers(HostTrouble::TwoUplinks) && !in_passthrough;
        let release = if index == 0 { Release::Seven } else { Release::Eight };
        let seed = mix(self.seed, 900 + index as u64);
        let host_uuid = uuid(seed, 1);

        let dcb = Dcb {
            ieee: !suffers(HostTrouble::CeeMode),
            pfc: if suffers(HostTrouble::CeeMode) { [0; 8] } else { [0, 0, 0, 1, 0, 0, 0, 0] },
        };
        let firmware = FIRMWARE[usize::from(suffers(HostTrouble::FirmwareOlder))];
        let driver_version = if release == Release::Seven { "4.22.73.1004" } else { "4.23.6.4" };
        let hca = |place: u8, up: bool| Uplink {
            name: if place == 0 { "vmnic2" } else { "vmnic3" },
            at: HCA[usize::from(place)],
            driver: "nmlx5_core",
            driver_version,
            firmware,
            mac: format!("0c:42:a1:7c:2{index}:{:02x}", 0x10 + place),
            enabled: true,
            pause: (false, false),
            up,
            speed: 100_000,
            mtu: if place == 0 || two_uplinks { 9000 } else { 1500 },
            description: CONNECTX,
            dcb: Some(dcb),
            rdma: (!receives).then(|| format!("vmrdma{place}")),
            virtual_functions: if place == 0 { VIRTUAL_FUNCTIONS } else { 0 },
        };
        let intel = |place: u8| Uplink {
            name: if place == 0 { "vmnic0" } else { "vmnic1" },
            at: (0x18, 0, place),
            driver: "ixgben",
            driver_version: if release == Release::Seven { "1.7.1.35" } else { "1.18.2.0" },
            firmware: "0x800007b6, 1.1197.0",
            mac: format!("e4:43:4b:10:0{index}:{:02x}", 0x20 + place),
            enabled: true,
            pause: (false, false),
            up: place == 0,
            speed: 10_000,
            mtu: 1500,
            description: "Intel(R) Ethernet Controller X550",
            dcb: None,
            rdma: None,
            virtual_functions: 0,
        };
        let mut uplinks = vec![intel(0), intel(1)];
        if !given[0].1 {
            uplinks.push(hca(0, !suffers(HostTrouble::UplinkDown)));
        }
        if !given[1].1 {
            uplinks.push(hca(1, two_uplinks));
        }
        let mut dvs_uplinks = Vec::new();
        // An adapter that comes back is an uplink of nothing until somebody makes it one.
        if !in_passthrough && !given[0].1 {
            dvs_uplinks.push("vmnic2");
        }
        if two_uplinks && !given[1].1 {
            dvs_uplinks.push("vmnic3");
        }
        let vms = self.vms(index, seed, &host_uuid);
        let ports = ports(&vms, &dvs_uplinks, suffers(HostTrouble::VlanMismatch), &uplinks);
        let mut passthrough: Vec<_> =
            HCA.into_iter().zip(given).filter(|(_, (next, _))| *next).map(|(at, _)| at).collect();
        if index == 0 && gpu.0 {
            passthrough.push(GPU);
        }
        let mut state = State {
            name: if index == 0 { "esx01" } else { "esx02" },
            release,
            uuid: host_uuid,
            seed,
            functions: functions(index, release, given, gpu),
            uplinks,
            dvs_uplinks,
            ports,
            vmknics: vmknics(index),
            modules: modules(release, driver_version, !receives, suffers(HostTrouble::ParameterDiffers)),
            tagged: if suffers(HostTrouble::VmknicUntagged) { "" } else { "vmk1" }.to_owned(),
            rulesets: [
                ("sshServer", true),
                ("vMotion", true),
                ("nfsClient", false),
                ("pvrdma", !suffers(HostTrouble::RulesetClosed)),
                ("ntpClient", true),
            ],
            kernel: [
                ("disableACSCheck", (suffers(HostTrouble::RebootPending), false)),
                ("enableACSCheckForRP", (false, false)),
                ("execInstalledOnly", (false, false)),
                ("netNetqueueEnabled", (true, true)),
                ("iovDisableIR", (false, false)),
            ],
            passthrough,
            vms,
            hostd_dead: suffers(HostTrouble::HostdDead),
            troubles: troubles.iter().copied().collect(),
            carried: Carried::default(),
        };
        administered.apply(&mut state);
        let taken: Vec<(u32, u32)> = state.vms.iter().map(|vm| esxtop::taken(&state, vm)).collect();
        for (vm, taken) in state.vms.iter_mut().zip(taken) {
            vm.taken = if vm.on { taken } else { (0, 0) };
        }
        state
    }

    fn vms(&self, index: usize, seed: u64, host_uuid: &str) -> Vec<Vm> {
        let mut vms = Vec::new();
        let guests = self.pvrdma.iter().enumerate().filter(|(home, _)| {
            let moved = self.troubles[*home % 2].contains(&HostTrouble::VmMoved);
            (*home % 2 == index) != moved
        });
        for (home, guest) in guests {
            let number = 1 + u32::try_from(home).unwrap_or(0) + if home % 2 == index { 0 } else { 20 };
            vms.push(Vm {
                number,
                name: guest.name.clone(),
                folder: guest.name.clone(),
                datastore: "datastore1",
                role: Role::Pvrdma,
                uuid: guest.uuid.clone(),
                instance: uuid(mix(self.seed, 950 + home as u64), 2),
                macs: guest.macs.clone(),
                port: Some((16 + u32::try_from(home).unwrap_or(0), 731_402_116 + number)),
                on: true,
                memory: 32_768,
                processors: 8,
                system: host_uuid.to_owned(),
                volume: VOLUMES[index],
                taken: (0, 0),
                troubles: Vec::new(),
            });
        }
        let troubles: Vec<HostTrouble> =
            OF_GPU.into_iter().filter(|trouble| index == 0 && self.troubles[index].contains(trouble)).collect();
        let with_gpus = vm_with_gpus(self.seed);
        let special = Vm {
            number: if index == 0 { 5 } else { 7 },
            name: if index == 0 { "gpu-a" } else { "pv c [copy]" }.to_owned(),
            folder: if index == 0 { "gpu-a" } else { "pv c" }.to_owned(),
            datastore: "datastore1",
            role: if index == 0 { Role::Gpu } else { Role::Edited },
            uuid: if index == 0 { with_gpus.0 } else { uuid(seed, 3) },
            instance: uuid(seed, 4),
            macs: if index == 0 { vec![with_gpus.1] } else { vec!["00:50:56:b2:20:12".to_owned()] },
            port: None,
            on: index == 0 && troubles.is_empty(),
            memory: 65_536,
            processors: 16,
            system: host_uuid.to_owned(),
            volume: VOLUMES[index],
            taken: (0, 0),
            troubles,
        };
        if special.role != Role::Edited || self.edited {
            vms.push(special);
        }
        if self.troubles[index].contains(&HostTrouble::NeighbourBalloons) {
            vms.push(neighbour(index, seed, host_uuid));
        }
        vms.sort_by_key(|vm| vm.number);
        vms
    }
}

/// A VM for which a host has no memory left: it holds more than what the others leave.
fn neighbour(index: usize, seed: u64, host_uuid: &str) -> Vm {
    Vm {
        number: 31,
        name: "batch-07".to_owned(),
        folder: "batch-07".to_owned(),
        datastore: "datastore1",
        role: Role::Neighbour,
        uuid: uuid(seed, 5),
        instance: uuid(seed, 6),
        macs: vec![format!("00:50:56:b2:30:{:02x}", 0x21 + index)],
        port: None,
        on: true,
        memory: 360_448,
        processors: 24,
        system: host_uuid.to_owned(),
        volume: VOLUMES[index],
        taken: (0, 0),
        troubles: Vec::new(),
    }
}

/// What is about the VM with a graphics device.
const OF_GPU: [HostTrouble; 2] = [HostTrouble::GpuNotGiven, HostTrouble::GpuWindowMissing];

/// Ids of the hosts' own storage.
const VOLUMES: [&str; 2] = ["5b645dbf-d27a664c-e76a-1402ec67d6e6", "63f0c2a1-7be1940c-52d8-0c42a17c2010"];

fn vmknics(index: usize) -> Vec<Vmknic> {
    vec![
        Vmknic {
            name: "vmk0",
            mac: format!("e4:43:4b:10:0{index}:20"),
            address: format!("10.20.0.{}", 101 + index),
            mtu: 1500,
            enabled: true,
            port: None,
        },
        Vmknic {
            name: "vmk1",
            mac: format!("00:50:56:6a:1c:{:02x}", 0x40 + index),
            address: format!("192.168.100.{}", 101 + index),
            mtu: 9000,
            enabled: true,
            port: Some(10),
        },
    ]
}

fn ports(vms: &[Vm], dvs_uplinks: &[&'static str], wrong_vlan: bool, uplinks: &[Uplink]) -> Vec<Port> {
    let up = |name: &str| uplinks.iter().any(|uplink| uplink.name == name && uplink.up);
    let mut ports: Vec<Port> = dvs_uplinks
        .iter()
        .map(|name| Port {
            id: u32::from(*name == "vmnic3"),
            group: GROUPS[0],
            alias: if *name == "vmnic3" { "Uplink 2" } else { "Uplink 1" },
            client: (*name).to_owned(),
            connection: 0,
            vlan: None,
            up: up(name),
        })
        .collect();
    ports.push(Port {
        id: 10,
        group: GROUPS[2],
        alias: "",
        client: "vmk1".to_owned(),
        connection: 569_802_486,
        vlan: Some(VLAN),
        up: true,
    });
    for vm in vms.iter().filter(|vm| vm.on) {
        if let Some((id, connection)) = vm.port {
            ports.push(Port {
                id,
                group: GROUPS[1],
                alias: "",
                client: format!("{}.eth1", vm.name),
                connection,
                vlan: Some(if wrong_vlan { VLAN + 100 } else { VLAN }),
                up: true,
            });
        }
    }
    ports
}

fn modules(release: Release, nmlx5: &'static str, rdma: bool, differs: bool) -> Vec<Module> {
    let module = |name, on, version, options: &str| Module {
        name,
        loaded: on,
        enabled: on,
        version,
        options: options.to_owned(),
    };
    let own = if release == Release::Seven { "7.0.3-0.0.1" } else { "8.0.3-0.0.1" };
    let ixgben = if release == Release::Seven { "1.7.1.35" } else { "1.18.2.0" };
    vec![
        module("vmkernel", true, own, ""),
        module("vrdma", true, own, ""),
        module("ixgben", true, ixgben, ""),
        module("nmlx5_core", true, nmlx5, "pfctx=0x08 pfcrx=0x08 trust_state=2 max_vfs=2"),
        module("nmlx5_rdma", rdma, nmlx5, if differs { "pcp_force=3" } else { "pcp_force=3 dscp_force=26" }),
        module("nmlx4_core", false, "3.23.0.1", ""),
        module("pciPassthru", true, own, ""),
        module("dvsdev", true, own, ""),
    ]
}
