//! NCCL's variables for RDMA: devices by name, interfaces by name, a GID by its index.

use super::jobs::{Setting, ground, hardware_ports, is_active, no_environment, set_anew, system, variable};
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::fabric::{Attribute, Entity, EntityId, GidType, TargetId, Text, Value};
use crate::tune::nccl::takes;

/// NCCL's variables lead to the RDMA adapter.
pub const CHECK: Check = Check {
    id: "mpi.nccl-ib",
    title: "NCCL's variables lead to the RDMA adapter",
    gate: "guests with an RDMA adapter whose login sets NCCL_IB_HCA, NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME or NCCL_IB_GID_INDEX",
    rule: "fails if NCCL_SOCKET_IFNAME matches no interface; warns if NCCL_IB_HCA matches no device, if RDMA is switched off, or if \
           the GID at the index is missing or RoCE v1",
    source: Source { text: "NCCL user guide: environment variables", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// A variable with what is said of it.
type Rule = (&'static str, fn(&Scene<'_>, &TargetId, &Setting<'_>) -> Judged);

const RULES: [Rule; 4] = [
    ("NCCL_IB_DISABLE", disabled),
    ("NCCL_IB_HCA", adapters),
    ("NCCL_SOCKET_IFNAME", interfaces),
    ("NCCL_IB_GID_INDEX", gid),
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene
        .guests()
        .filter(|guest| !hardware_ports(scene, guest).is_empty())
        .flat_map(|guest| {
            if let Some((lack, why)) = no_environment(scene, guest).filter(|(lack, _)| *lack != Lack::NotObservable) {
                let title = format!("NCCL's variables on {guest}: {why}");
                return vec![Judged::unknown(&system(guest), lack, title, format!("on {guest}: env | grep NCCL_"))];
            }
            let found =
                RULES.iter().filter_map(|(name, rule)| Some(rule(scene, guest, &variable(scene, guest, name)?)));
            let reach = |judged: Judged| match judged.status {
                Status::Pass => judged,
                _ => judged.reaching(ground(scene, guest)),
            };
            found.map(reach).collect()
        })
        .collect()
}

fn warn(guest: &TargetId, setting: &Setting<'_>, title: String, cause: String, better: &str) -> Judged {
    Judged::warn(&setting.id, Confidence::Proved, title, cause)
        .shown(&setting.id, setting.attribute, setting.written.clone())
        .cured_by(set_anew(guest, setting, better).verified_by(&["mpi.nccl-ib"]))
}

fn disabled(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let active = hardware_ports(scene, guest).into_iter().find(|port| is_active(scene, port));
    match active {
        Some(port) if setting.value == "1" => warn(
            guest,
            setting,
            format!("{guest}: {} keeps NCCL off RDMA", setting.written),
            format!(
                "{} is active, but NCCL goes over TCP sockets (\"NET/Socket\" in its log)",
                port.device.entity.name()
            ),
            "",
        ),
        _ => Judged::pass(&setting.id, format!("{guest}: {} takes nothing away", setting.written)),
    }
}

fn adapters(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let ports = hardware_ports(scene, guest);
    let names: Vec<String> = ports.iter().map(|port| port.device.entity.name()).collect();
    if names.iter().any(|name| takes(setting.value, name)) {
        return Judged::pass(&setting.id, format!("{guest}: {} matches", setting.written));
    }
    let is_pvrdma = ports.iter().all(|port| port.kind == DeviceKind::Pvrdma);
    let renamed = if is_pvrdma { "a PVRDMA device is not called mlx5_0" } else { "udev renames devices by their slot" };
    let mut judged = warn(
        guest,
        setting,
        format!("{guest}: {} matches no RDMA device", setting.written),
        format!(
            "the guest has {}: {renamed}. NCCL finds no device and goes over TCP sockets, in silence",
            names.join(", ")
        ),
        names.first().map_or("", String::as_str),
    );
    for port in &ports {
        judged = judged.shown(&port.id, Attribute::PortState, format!("the guest has {}", port.device.entity.name()));
    }
    judged
}

fn interfaces(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let netdevs = scene.fabric.of_kind(guest, Entity::Netdev(Text::new("")));
    let names: Vec<&str> = netdevs
        .filter_map(|entity| if let Entity::Netdev(name) = entity { Some(name.as_str()) } else { None })
        .collect();
    if names.is_empty() || names.iter().any(|name| takes(setting.value, name)) {
        return Judged::pass(&setting.id, format!("{guest}: {} matches", setting.written));
    }
    let netdev = hardware_ports(scene, guest).into_iter().find_map(|port| port.netdev);
    let better = netdev.as_ref().map_or_else(String::new, |netdev| netdev.entity.name());
    let mut judged = Judged::fail(
        &setting.id,
        Confidence::Proved,
        format!("{guest}: {} matches no interface", setting.written),
        format!("the guest has {}; NCCL ends with \"no socket interface found\", RDMA or not", names.join(", ")),
    )
    .shown(&setting.id, setting.attribute, setting.written.clone())
    .cured_by(set_anew(guest, setting, &better).verified_by(&["mpi.nccl-ib"]));
    if let Some(netdev) = netdev {
        judged = judged.shown(&netdev, Attribute::HardwareAddress, format!("the guest has {}", netdev.entity.name()));
    }
    judged
}

fn gid(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let pass = || Judged::pass(&setting.id, format!("{guest}: {} is there", setting.written));
    let Ok(index) = setting.value.parse::<u32>() else { return pass() };
    let ports = hardware_ports(scene, guest);
    for port in ports.iter().filter(|port| !port.is_infiniband) {
        let Entity::RdmaPort { device, port: number } = &port.id.entity else { continue };
        let entry = |index| EntityId::new(guest, Entity::Gid { device: device.clone(), port: *number, index });
        let kind = |index| scene.value(&entry(index), Attribute::GidType);
        let is_v2 = |index| matches!(kind(index), Some(Value::GidType(GidType::RoceV2)));
        if !scene.exists(&entry(0)) || is_v2(index) {
            continue;
        }
        // The last one is that of an address, where there is one.
        let better = (0..16).rev().find(|index| is_v2(*index));
        let what = if scene.exists(&entry(index)) { "is RoCE v1" } else { "is empty" };
        let mut judged = warn(
            guest,
            setting,
            format!("{guest}: {} points at a GID of {device} that {what}", setting.written),
            "NCCL makes its queue pairs with that GID: they fail, or speak RoCE v1, which no router forwards"
                .to_owned(),
            &better.map_or_else(String::new, |index| index.to_string()),
        );
        for index in [Some(index).filter(|index| scene.exists(&entry(*index))), better].into_iter().flatten() {
            judged = judged.shown(&entry(index), Attribute::GidType, format!("GID {index} of {device}"));
        }
        return judged;
    }
    pass()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with("NCCL_IB_HCA=rocep19s0"),
        healthy: Site::sound,
        unclear: || Site::sound().with("hca-a", fails("linux.environment", 1, "sh: 1: Cannot fork")),
    };

    fn with(variables: &str) -> Site {
        Site::sound().replacing("hca-a", "linux.environment", "NCCL_IB_HCA=mlx5_0", variables)
    }

    #[test]
    fn what_each_variable_leads_to() {
        for (variables, expected) in [
            ("NCCL_IB_HCA=mlx5", Status::Pass),
            ("NCCL_IB_HCA==mlx5_0:1", Status::Pass),
            ("NCCL_IB_HCA==mlx5", Status::Warn),
            ("NCCL_IB_HCA=^mlx5_1", Status::Pass),
            ("NCCL_IB_HCA=^mlx5", Status::Warn),
            ("NCCL_IB_DISABLE=1", Status::Warn),
            ("NCCL_IB_DISABLE=0", Status::Pass),
            ("NCCL_SOCKET_IFNAME=eth0", Status::Fail),
            ("NCCL_SOCKET_IFNAME=ens", Status::Pass),
            ("NCCL_SOCKET_IFNAME=^docker0,lo", Status::Pass),
            ("NCCL_IB_GID_INDEX=3", Status::Pass),
            ("NCCL_IB_GID_INDEX=2", Status::Warn),
            ("NCCL_IB_GID_INDEX=9", Status::Warn),
            ("NCCL_IB_GID_INDEX=-1", Status::Pass),
        ] {
            assert_eq!(with(variables).judge(&CHECK)[0].status, expected, "{variables}");
        }
    }
}
