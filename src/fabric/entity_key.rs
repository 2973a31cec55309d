//! The key of an entity in documents, both ways: `rdma-port/rxe0/1`; the kind alone for the system itself.

use super::entity::Entity;
use super::text::Text;

impl Entity {
    /// The key in documents.
    pub fn key(&self) -> String {
        let name = self.name();
        if name.is_empty() { self.kind().to_owned() } else { format!("{}/{name}", self.kind()) }
    }

    /// The entity of a key; `None` for a kind that this program does not know, or a name that is not of that kind.
    pub fn from_key(key: &str) -> Option<Self> {
        let Some((kind, name)) = key.split_once('/') else {
            return match key {
                "guest" => Some(Self::Guest),
                "host" => Some(Self::Host),
                "switch" => Some(Self::Switch),
                _ => None,
            };
        };
        let text = Text::new;
        let last = |separator: char| name.rsplit_once(separator);
        Some(match kind {
            "pci-function" => Self::PciFunction(text(name)),
            "rdma-device" => Self::RdmaDevice(text(name)),
            "netdev" => Self::Netdev(text(name)),
            "module" => Self::Module(text(name)),
            "package" => Self::Package(text(name)),
            "device-node" => Self::DeviceNode(text(name)),
            "variable" => Self::Variable(text(name)),
            "service" => Self::Service(text(name)),
            "mpi-parameter" => Self::MpiParameter(text(name)),
            "uplink" => Self::Uplink(text(name)),
            "virtual-switch" => Self::VirtualSwitch(text(name)),
            "port-group" => Self::PortGroup(text(name)),
            "vmknic" => Self::Vmknic(text(name)),
            "ruleset" => Self::Ruleset(text(name)),
            "advanced-setting" => Self::AdvancedSetting(text(name)),
            "kernel-setting" => Self::KernelSetting(text(name)),
            "vm" => Self::Vm(text(name)),
            "group" => Self::Group(text(name)),
            "gpu" => Self::Gpu(text(name)),
            "mig-instance" => {
                let mut parts = name.split('/');
                let (gpu, instance) = (text(parts.next()?), parts.next()?.parse().ok()?);
                let compute = match parts.next() {
                    Some(compute) => Some(compute.parse().ok()?),
                    None => None,
                };
                Self::MigInstance { gpu, instance, compute }
            }
            "nvlink" => {
                let (gpu, link) = last('/')?;
                Self::NvLink { gpu: text(gpu), link: link.parse().ok()? }
            }
            "gpu-process" => {
                let (gpu, process) = last('/')?;
                Self::GpuProcess { gpu: text(gpu), process: process.parse().ok()? }
            }
            "gpu-path" => {
                let (from, to) = last('/')?;
                Self::GpuPath { from: text(from), to: text(to) }
            }
            "switch-interface" => Self::SwitchInterface(text(name)),
            "numa-node" => Self::NumaNode(name.parse().ok()?),
            "process" => Self::Process(name.parse().ok()?),
            "rdma-port" => {
                let (device, port) = last('/')?;
                Self::RdmaPort { device: text(device), port: port.parse().ok()? }
            }
            "gid" => {
                let (port, index) = last('/')?;
                let (device, port) = port.rsplit_once('/')?;
                Self::Gid { device: text(device), port: port.parse().ok()?, index: index.parse().ok()? }
            }
            "queue-pair" => {
                let (front, number) = last('/')?;
                let (device, port) = match front.rsplit_once('/') {
                    Some((device, port)) => (device, Some(port.parse().ok()?)),
                    None => (front, None),
                };
                Self::QueuePair { device: text(device), port, number: number.parse().ok()? }
            }
            "virtual-function" => {
                let (uplink, index) = last('/')?;
                Self::VirtualFunction { uplink: text(uplink), index: index.parse().ok()? }
            }
            "switch-port" => {
                let (switch, port) = last('/')?;
                Self::SwitchPort { switch: text(switch), port: text(port) }
            }
            "module-parameter" => {
                let (module, name) = name.split_once('/')?;
                Self::ModuleParameter { module: text(module), name: text(name) }
            }
            "vm-device" => {
                let (vm, key) = last('/')?;
                Self::VmDevice { vm: text(vm), key: key.parse().ok()? }
            }
            "file-line" => {
                let (file, line) = last(':')?;
                Self::FileLine { file: text(file), line: line.parse().ok()? }
            }
            "log-message" => {
                let (front, ordinal) = last('/')?;
                let (log, stamp) = front.rsplit_once('/')?;
                Self::LogMessage { log: text(log), stamp: stamp.parse().ok()?, ordinal: ordinal.parse().ok()? }
            }
            "counter" => {
                let (of, name) = last('/')?;
                Self::Counter { of: text(of), name: text(name) }
            }
            "kernel-message" => {
                let (stamp, ordinal) = last('/')?;
                let (seconds, microseconds) = stamp.split_once('.')?;
                let seconds: u64 = seconds.parse().ok()?;
                let stamp = seconds.checked_mul(1_000_000)?.checked_add(microseconds.parse().ok()?)?;
                Self::KernelMessage { stamp, ordinal: ordinal.parse().ok()? }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_back_to_their_entities() {
        let text = Text::new;
        let entities = [
            Entity::Guest,
            Entity::Host,
            Entity::Switch,
            Entity::SwitchInterface(text("Ethernet1/4")),
            Entity::PciFunction(text("0000:af:00.0")),
            Entity::port("rxe0", 1),
            Entity::Gid { device: text("rxe0"), port: 1, index: 3 },
            Entity::QueuePair { device: text("rxe0"), port: None, number: 17 },
            Entity::QueuePair { device: text("rxe0"), port: Some(2), number: 1 },
            Entity::AdvancedSetting(text("/Net/PVRDMAVmknic")),
            Entity::PortGroup(text("a/b")),
            Entity::VirtualFunction { uplink: text("vmnic2"), index: 4 },
            Entity::SwitchPort { switch: text("DSwitch 1"), port: text("12") },
            Entity::ModuleParameter { module: text("nmlx5_core"), name: text("max_vfs") },
            Entity::VmDevice { vm: text("564d-1"), key: 4000 },
            Entity::FileLine { file: text("/etc/rc.local.d/local.sh"), line: 7 },
            Entity::LogMessage { log: text("/var/log/vmkernel.log"), stamp: 5, ordinal: 1 },
            Entity::Counter { of: text("DSwitch/12"), name: text("pktsIn") },
            Entity::KernelMessage { stamp: 12_000_345, ordinal: 2 },
            Entity::NumaNode(1),
            Entity::Gpu(text("0000:0b:00.0")),
            Entity::MigInstance { gpu: text("0000:0b:00.0"), instance: 11, compute: None },
            Entity::MigInstance { gpu: text("0000:0b:00.0"), instance: 11, compute: Some(0) },
            Entity::NvLink { gpu: text("0000:0b:00.0"), link: 3 },
            Entity::GpuProcess { gpu: text("0000:0b:00.0"), process: 4711 },
            Entity::GpuPath { from: text("GPU0"), to: text("NIC0") },
            Entity::Group(text("gpu vm (a100)")),
        ];
        for entity in entities {
            assert_eq!(Entity::from_key(&entity.key()), Some(entity.clone()), "{}", entity.key());
        }
        for wrong in ["", "moon", "moon/1", "rdma-port/rxe0", "numa-node/x", "kernel-message/1/2"] {
            assert_eq!(Entity::from_key(wrong), None, "{wrong}");
        }
    }
}
