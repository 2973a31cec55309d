//! `UCX_NET_DEVICES` names devices by name and port. A name from another machine, or one from before udev renamed the
//! device, leaves UCX without any.

use super::jobs::{Setting, ground, hardware_ports, has_mpi, no_environment, set_anew, system, ucx_name, variable};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// `UCX_NET_DEVICES` names devices that exist.
pub const CHECK: Check = Check {
    id: "mpi.ucx-net-devices",
    title: "UCX_NET_DEVICES names devices that exist",
    gate: "guests with an RDMA adapter and Open MPI or UCX whose login sets UCX_NET_DEVICES to a list of wanted devices",
    rule: "fails if none of those named exists; warns if one of several does not, or if only interfaces for TCP are named",
    source: Source { text: "UCX src/ucp/core/ucp_context.c", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().filter_map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Option<Judged> {
    if !has_mpi(scene, guest) || hardware_ports(scene, guest).is_empty() {
        return None;
    }
    let Some(setting) = variable(scene, guest, "UCX_NET_DEVICES") else {
        let (lack, why) = no_environment(scene, guest)?;
        let title = format!("UCX_NET_DEVICES of {guest}: {why}");
        return Some(Judged::unknown(&system(guest), lack, title, format!("on {guest}: env | grep UCX_NET_DEVICES")));
    };
    let judged = judged(scene, guest, &setting);
    Some(if judged.status == Status::Pass { judged } else { judged.reaching(ground(scene, guest)) })
}

fn judged(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let words = setting.words();
    if setting.value.starts_with('^') || words.contains(&"all") {
        return Judged::pass(&setting.id, format!("{guest}: {} takes devices away only", setting.written));
    }
    let ports: Vec<String> = scene.ports(guest).iter().map(ucx_name).collect();
    let is_port = |word: &str| ports.iter().any(|port| port == word);
    let is_netdev = |word: &str| scene.exists(&EntityId::new(guest, Entity::Netdev(Text::new(word))));
    // A pattern matches what nobody listed here.
    let exists = |word: &&str| is_port(word) || is_netdev(word) || word.contains(['*', '[']);
    let missing: Vec<&str> = words.iter().copied().filter(|word| !exists(word)).collect();
    let own: Vec<String> = hardware_ports(scene, guest).iter().map(ucx_name).collect();
    let better = own.first().map_or("", String::as_str);
    let without_port = missing.iter().any(|word| ports.iter().any(|port| port.split(':').next() == Some(word)));
    let why = if without_port {
        "UCX wants the port behind the name".to_owned()
    } else {
        "a name from another machine, or from before udev renamed the device".to_owned()
    };
    let has = own.join(", ");
    let found = |judged: Judged| {
        let mut judged = judged.shown(&setting.id, setting.attribute, setting.written.clone());
        for port in hardware_ports(scene, guest) {
            judged = judged.shown(&port.id, Attribute::PortState, format!("the guest has {}", ucx_name(&port)));
        }
        judged.cured_by(set_anew(guest, setting, better).verified_by(&["mpi.ucx-net-devices"]))
    };
    if !missing.is_empty() && missing.len() == words.len() {
        return found(Judged::fail(
            &setting.id,
            Confidence::Proved,
            format!("{guest}: {} names no device that exists", setting.written),
            format!(
                "the guest has {has}: {why}. UCX says \"network device '{}' is not available\", and Open MPI ends with \"PML ucx \
                 cannot be selected\"",
                missing[0]
            ),
        ));
    }
    if !missing.is_empty() {
        return found(Judged::warn(
            &setting.id,
            Confidence::Proved,
            format!("{guest}: {} names {}, which does not exist", setting.written, missing.join(", ")),
            format!("the guest has {has}: {why}. UCX leaves it out and takes the rest"),
        ));
    }
    if words.iter().all(|word| !is_port(word) && is_netdev(word)) {
        return found(Judged::warn(
            &setting.id,
            Confidence::Proved,
            format!("{guest}: {} keeps UCX on TCP", setting.written),
            format!(
                "only interfaces are named and no RDMA device ({has}): ranks of different nodes go over TCP in silence"
            ),
        ));
    }
    Judged::pass(&setting.id, format!("{guest}: {} exists", setting.written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("mlx5_0:1"),
        healthy: || with("rocep11s0f1:1,ens192"),
        unclear: || Site::sound().with("pv-a", fails("linux.environment", 1, "sh: 1: Cannot fork")),
    };

    fn with(list: &str) -> Site {
        Site::sound().replacing(
            "pv-a",
            "linux.environment",
            "UCX_NET_DEVICES=rocep11s0f1:1",
            &format!("UCX_NET_DEVICES={list}"),
        )
    }

    fn of_pv_a(list: &str) -> Judged {
        let judged = with(list).judge(&CHECK);
        judged.into_iter().find(|judged| judged.subject.target.as_str() == "pv-a").expect("judged")
    }

    #[test]
    fn names_and_what_becomes_of_them() {
        for (list, expected) in [
            ("vmw_pvrdma0:1", Status::Fail),
            ("rocep11s0f1", Status::Fail),
            ("rocep11s0f1:2", Status::Fail),
            ("rocep11s0f1:1,mlx5_0:1", Status::Warn),
            ("ens192", Status::Warn),
            ("all", Status::Pass),
            ("^docker0", Status::Pass),
            ("rocep*:1", Status::Pass),
        ] {
            assert_eq!(of_pv_a(list).status, expected, "{list}");
        }
        assert!(of_pv_a("rocep11s0f1").cause.contains("the port behind the name"));
    }
}
