//! Rows about the rest of the guest: interfaces, limits, memory, messages, PCI, software.

use super::super::condition::Gravity;
use super::{Builder, Row};
use crate::fabric::{Attribute, Entity, Value};

/// How many kernel messages are shown: the last ones.
const SHOWN_MESSAGES: usize = 30;

impl Builder<'_> {
    /// Network interfaces: how they stand, and what of it survives a reboot.
    pub(super) fn netdevs(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for entity in self.entities(|entity| matches!(entity, Entity::Netdev(_))) {
            rows.extend(Self::row(
                entity,
                "state",
                entity.name(),
                vec![
                    self.cell(entity, Attribute::OperationalState, ""),
                    self.labelled(entity, Attribute::Mtu),
                    self.known_only(entity, Attribute::Speed),
                    self.cell(entity, Attribute::Addresses, ""),
                    self.known_only(entity, Attribute::Driver),
                    self.known_only(entity, Attribute::HardwareAddress),
                    self.known_only(entity, Attribute::VlanId),
                    self.known_only(entity, Attribute::ParentNetdev),
                ],
            ));
            let both = [Attribute::MtuPersistence, Attribute::AddressPersistence];
            let cells = if self.same_cause(entity, &both) {
                vec![self.cell(entity, Attribute::MtuPersistence, "MTU and addresses")]
            } else {
                vec![
                    self.cell(entity, Attribute::MtuPersistence, "MTU"),
                    self.cell(entity, Attribute::AddressPersistence, "addresses"),
                ]
            };
            rows.extend(Self::row(entity, "persistence", "  after reboot".to_owned(), cells));
        }
        rows
    }

    /// A labelled cell, left out when the value is missing: for values whose absence says nothing.
    pub(super) fn known_only(&self, entity: &Entity, attribute: Attribute) -> Option<super::Cell> {
        self.model.fabric.value(&self.id(entity), attribute)?;
        self.labelled(entity, attribute)
    }

    /// True if several attributes are missing for one and the same reason.
    fn same_cause(&self, entity: &Entity, attributes: &[Attribute]) -> bool {
        let id = self.id(entity);
        let state = |attribute: &Attribute| self.model.fabric.reading(&id, *attribute).map(|reading| &reading.state);
        let first = attributes.first().and_then(state);
        first.is_some_and(|first| first.known().is_none())
            && attributes.iter().all(|attribute| state(attribute) == first)
    }

    /// Locked memory, memory management, NUMA, and what VMware Tools say of the VM's memory.
    pub(super) fn limits(&self) -> Vec<Row> {
        let guest = Entity::Guest;
        let mut rows = Vec::new();
        rows.extend(Self::row(
            &guest,
            "memlock",
            "memlock, login".to_owned(),
            vec![self.cell(&guest, Attribute::MemlockSoft, "soft"), self.cell(&guest, Attribute::MemlockHard, "hard")],
        ));
        for entity in self.entities(|entity| matches!(entity, Entity::Process(_))) {
            let command = self.model.fabric.text(&self.id(entity), Attribute::ProcessCommand).unwrap_or("process");
            rows.extend(Self::row(
                entity,
                "memlock",
                format!("memlock, {command} {}", entity.name()),
                vec![
                    self.cell(entity, Attribute::MemlockSoft, "soft"),
                    self.cell(entity, Attribute::MemlockHard, "hard"),
                ],
            ));
        }
        for attributes in [
            &[Attribute::MemoryTotal, Attribute::MemoryAvailable][..],
            &[Attribute::TransparentHugePages, Attribute::TransparentHugePageDefrag],
            &[Attribute::HugePagesTotal, Attribute::HugePagesFree, Attribute::HugePageSize],
            &[Attribute::Swappiness, Attribute::NumaBalancing, Attribute::IrqBalance],
            &[Attribute::Balloon, Attribute::HostSwap, Attribute::MemoryReservation, Attribute::MemoryLimit],
            &[Attribute::CpuReservation, Attribute::CpuLimit, Attribute::HostProcessorSpeed],
        ] {
            // Where one program tells all of them and is missing, it is told once.
            let shown = if self.same_cause(&guest, attributes) { &attributes[..1] } else { attributes };
            rows.extend(Self::row(
                &guest,
                attributes[0].name(),
                attributes[0].label().to_owned(),
                shown
                    .iter()
                    .enumerate()
                    .map(
                        |(index, attribute)| {
                            if index == 0 {
                                self.cell(&guest, *attribute, "")
                            } else {
                                self.labelled(&guest, *attribute)
                            }
                        },
                    )
                    .collect(),
            ));
        }
        for entity in self.entities(|entity| matches!(entity, Entity::NumaNode(_))) {
            rows.extend(Self::row(
                entity,
                "numa",
                format!("NUMA node {}", entity.name()),
                vec![
                    self.labelled(entity, Attribute::NodeProcessors),
                    self.labelled(entity, Attribute::NodeMemory),
                    self.labelled(entity, Attribute::NodeMemoryFree),
                    self.labelled(entity, Attribute::NodeDistances),
                ],
            ));
        }
        rows
    }

    /// Kernel messages that matter, the last ones; or why they cannot be read.
    pub(super) fn kernel_messages(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(cell) = self.cell(&Entity::Guest, Attribute::KernelLog, "")
            && cell.gravity != Gravity::Neutral
        {
            rows.extend(self.single(&Entity::Guest, Attribute::KernelLog));
        }
        let messages = self.entities(|entity| matches!(entity, Entity::KernelMessage { .. }));
        let skipped = messages.len().saturating_sub(SHOWN_MESSAGES);
        rows.extend(messages.into_iter().skip(skipped).filter_map(|entity| {
            let Entity::KernelMessage { stamp, .. } = entity else { return None };
            let label = if *stamp == 0 { "-".to_owned() } else { format!("{} s", stamp / 1_000_000) };
            Self::row(
                entity,
                "message",
                label,
                vec![
                    self.cell(entity, Attribute::Severity, ""),
                    self.cell(entity, Attribute::Message, ""),
                    self.cell(entity, Attribute::Meaning, "→"),
                ],
            )
        }));
        rows
    }

    /// RDMA, GPU and network functions on the PCI bus.
    pub(super) fn pci_functions(&self) -> Vec<Row> {
        self.entities(|entity| matches!(entity, Entity::PciFunction(_)))
            .into_iter()
            .filter_map(|entity| {
                let id = self.id(entity);
                let ids = [Attribute::VendorId, Attribute::DeviceId]
                    .map(|attribute| self.model.fabric.text(&id, attribute).unwrap_or("?").to_owned())
                    .join(":");
                Self::row(
                    entity,
                    "pci",
                    format!("{} {ids}", entity.name()),
                    vec![
                        self.cell(entity, Attribute::FunctionKind, ""),
                        self.labelled(entity, Attribute::Driver),
                        self.cell(entity, Attribute::PairedFunction, "paired with"),
                        self.known_only(entity, Attribute::LinkSpeed),
                        self.known_only(entity, Attribute::LinkWidth),
                        self.known_only(entity, Attribute::LinkSpeedMax),
                        self.known_only(entity, Attribute::LinkWidthMax),
                        self.labelled(entity, Attribute::NumaNode),
                    ],
                )
            })
            .collect()
    }

    /// System, kernel, modules and packages.
    pub(super) fn software(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = [Attribute::OperatingSystem, Attribute::KernelRelease]
            .into_iter()
            .filter_map(|attribute| self.single(&Entity::Guest, attribute))
            .collect();
        for entity in self.entities(|entity| matches!(entity, Entity::Package(_))) {
            rows.extend(Self::row(
                entity,
                "package",
                format!("package {}", entity.name()),
                vec![self.cell(entity, Attribute::Version, "")],
            ));
        }
        for entity in self.entities(|entity| matches!(entity, Entity::Module(_))) {
            rows.extend(Self::row(
                entity,
                "module",
                format!("module {}", entity.name()),
                vec![
                    self.known_only(entity, Attribute::Version),
                    self.labelled(entity, Attribute::ModuleSize),
                    self.labelled(entity, Attribute::ModuleUses),
                ],
            ));
        }
        rows
    }

    /// Nodes below `/dev/infiniband` with who may open them.
    pub(super) fn device_nodes(&self) -> Vec<Row> {
        self.entities(|entity| matches!(entity, Entity::DeviceNode(_)))
            .into_iter()
            .filter_map(|entity| {
                Self::row(
                    entity,
                    "node",
                    entity.name(),
                    vec![
                        self.cell(entity, Attribute::Permissions, ""),
                        self.cell(entity, Attribute::Owner, ""),
                        self.cell(entity, Attribute::DeviceNumber, ""),
                    ],
                )
            })
            .collect()
    }

    /// Variables of the login that steer UCX, Open MPI, `PMIx`, NCCL and Slurm.
    pub(super) fn environment(&self) -> Vec<Row> {
        self.entities(|entity| matches!(entity, Entity::Variable(_)))
            .into_iter()
            .filter_map(|entity| {
                Self::row(entity, "variable", entity.name(), vec![self.cell(entity, Attribute::VariableValue, "")])
            })
            .collect()
    }

    /// Who and what this machine is.
    pub(super) fn machine(&self) -> Vec<Row> {
        let shown = [
            Attribute::Hostname,
            Attribute::Virtualization,
            Attribute::SystemVendor,
            Attribute::ProductName,
            Attribute::BiosUuid,
            Attribute::MachineId,
            Attribute::BootId,
            Attribute::ProcessorCount,
            Attribute::LoginUserId,
            Attribute::Privileged,
            Attribute::ReadByRoot,
            Attribute::RdmaNamespaceMode,
        ];
        let mut rows: Vec<Row> =
            shown.into_iter().filter_map(|attribute| self.single(&Entity::Guest, attribute)).collect();
        // An unprivileged login is told once what it cannot see.
        if self.model.fabric.value(&self.id(&Entity::Guest), Attribute::Privileged) == Some(&Value::Flag(false)) {
            for row in &mut rows {
                if row.label == Attribute::Privileged.label() {
                    row.cells[0].gravity = Gravity::Unknown;
                }
            }
        }
        rows
    }
}
