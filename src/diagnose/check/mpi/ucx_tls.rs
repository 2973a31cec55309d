//! `UCX_TLS` names transports: one that does not exist on the adapter is left out with a warning, and where nothing usable
//! is left the job ends with "PML ucx cannot be selected".

use super::jobs::{Setting, ground, hardware_ports, is_active, no_environment, set_anew, system, transports, variable};
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Basis;
use crate::fabric::{Attribute, TargetId};
use crate::tune::ucx::{Asked, stands_for};

/// `UCX_TLS` names what the adapter can do.
pub const CHECK: Check = Check {
    id: "mpi.ucx-tls",
    title: "UCX_TLS names transports that exist on the adapter",
    gate: "guests with an active RDMA port whose login sets UCX_TLS to a list of wanted transports",
    rule: "fails if no transport over RDMA is left of the list because none of those named exists; warns if one of several \
           does not exist, if none over RDMA is named, or if nothing is named that the wire-up of RC needs",
    source: Source { text: "UCX src/ucp/core/ucp_context.c; UCX issues 9610, 5148", weak: false },
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
    let ports: Vec<_> = hardware_ports(scene, guest).into_iter().filter(|port| is_active(scene, port)).collect();
    let first = ports.first()?;
    scene.text(&system(guest), Attribute::UcxVersion)?;
    let Some(setting) = variable(scene, guest, "UCX_TLS") else {
        let (lack, why) = no_environment(scene, guest)?;
        let title = format!("UCX_TLS of {guest}: {why}");
        return Some(Judged::unknown(&system(guest), lack, title, format!("on {guest}: env | grep UCX_TLS")));
    };
    // A list of what is not wanted takes away, and a name that does not exist takes nothing away.
    if setting.value.starts_with('^') || setting.words().contains(&"all") {
        return Some(Judged::pass(&setting.id, format!("{guest}: {} leaves RDMA in", setting.written)));
    }
    let is_pvrdma = ports.iter().all(|port| port.kind == DeviceKind::Pvrdma);
    let listed = transports(scene, guest);
    let exists = |transport: &str| match &listed {
        Some(listed) if listed.iter().any(|(_, device)| device.contains(':')) => {
            listed.iter().any(|(other, _)| *other == transport)
        }
        // Without UCX's own list it is still known that PVRDMA has none of mlx5.
        _ => !(is_pvrdma && transport.ends_with("_mlx5")),
    };
    let seen = Seen { guest, setting: &setting, is_pvrdma };
    let judged = seen.judged(&exists);
    let basis: Basis = (system(guest), Attribute::UcxTransports);
    let is_trouble = judged.status != crate::diagnose::finding::Status::Pass;
    let judged = if is_trouble && listed.is_some() {
        judged.shown(&basis.0, basis.1, "the transports that UCX has here")
    } else {
        judged
    };
    Some(judged.reaching(ground(scene, guest)).reaching([first.id.clone()]))
}

struct Seen<'a> {
    guest: &'a TargetId,
    setting: &'a Setting<'a>,
    is_pvrdma: bool,
}

impl Seen<'_> {
    fn judged(&self, exists: &dyn Fn(&str) -> bool) -> Judged {
        let Self { guest, setting, .. } = *self;
        let asked = Asked::of(setting.value);
        let over_rdma = &asked.over_rdma;
        let is_there =
            |name: &&str| stands_for(name).is_some_and(|transports| transports.iter().any(|one| exists(one)));
        let missing: Vec<&str> = over_rdma.iter().copied().filter(|name| !is_there(name)).collect();
        let why_missing = if self.is_pvrdma {
            "names with _x and dc are those of mlx5 adapters; PVRDMA has rc_v and ud_v"
        } else {
            "UCX does not list them for the adapter of this guest"
        };
        if over_rdma.is_empty() {
            return self.warn(
                format!("{guest}: {} leaves RDMA out", setting.written),
                "the list names no transport over RDMA, so ranks of different nodes go over TCP, or do not reach each other",
            );
        }
        if missing.len() == over_rdma.len() {
            return Judged::fail(
                &setting.id,
                Confidence::Proved,
                format!("{guest}: {} names no transport that exists on its adapter", setting.written),
                format!(
                    "{} not available: {why_missing}. UCX warns \"transport '{}' is not available\", and Open MPI ends with \"PML \
                     ucx cannot be selected\"",
                    are(&missing),
                    missing.first().copied().unwrap_or_default()
                ),
            )
            .shown(&setting.id, setting.attribute, setting.written.clone())
            .cured_by(set_anew(guest, setting, self.better()).verified_by(&["mpi.ucx-tls"]));
        }
        if !missing.is_empty() {
            return self.warn(
                format!("{guest}: {} names {} in vain", setting.written, missing.join(", ")),
                &format!(
                    "{} not available: {why_missing}; UCX leaves them out with a warning and takes the rest",
                    are(&missing)
                ),
            );
        }
        if asked.lacks_wire_up {
            return self.warn(
                format!("{guest}: {} lacks a transport for the wire-up", setting.written),
                "RC connects from queue pair to queue pair and needs UD to agree on it; with rc_verbs or rc_mlx5 alone UCX says \
                 \"no auxiliary transport\" and the job ends",
            );
        }
        Judged::pass(&setting.id, format!("{guest}: {} exists on its adapter", setting.written))
    }

    fn warn(&self, title: String, cause: &str) -> Judged {
        let Self { guest, setting, .. } = *self;
        Judged::warn(&setting.id, Confidence::Proved, title, cause)
            .shown(&setting.id, setting.attribute, setting.written.clone())
            .cured_by(set_anew(guest, setting, self.better()).verified_by(&["mpi.ucx-tls"]))
    }

    fn better(&self) -> &'static str {
        if self.is_pvrdma { "rc_v,ud_v,sm,self" } else { "rc,ud,sm,self" }
    }
}

fn are(names: &[&str]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("rc_x,sm,self"),
        healthy: || with("rc,ud,sm,self"),
        unclear: || Site::sound().with("pv-a", fails("linux.environment", 1, "sh: 1: Cannot fork")),
    };

    fn with(list: &str) -> Site {
        Site::sound().replacing("pv-a", "linux.environment", "rc_v,ud_v,sm,self", list)
    }

    fn status(list: &str) -> Status {
        with(list).judge(&CHECK)[0].status
    }

    #[test]
    fn lists_of_pvrdma() {
        for (list, expected) in [
            ("dc,rc_x,ud_x,self", Status::Fail),
            ("rc_v,rc_x,ud_v,sm,self", Status::Warn),
            ("tcp,sm,self", Status::Warn),
            ("rc_verbs,sm,self", Status::Warn),
            ("rc_verbs,ud_verbs:aux,sm,self", Status::Pass),
            ("rc_verbs,tcp,self", Status::Pass),
            ("\\rc_v,self", Status::Pass),
            ("ud_v,sm,self", Status::Pass),
            ("ib,sm,self", Status::Pass),
            ("^rc_x", Status::Pass),
            ("all", Status::Pass),
            (" rc_v , ud_v ", Status::Pass),
        ] {
            assert_eq!(status(list), expected, "{list}");
        }
    }

    #[test]
    fn mlx5_has_what_pvrdma_lacks() {
        let site = Site::sound().replacing("hca-a", "linux.environment", "UCX_NET", "UCX_TLS=rc_x,sm,self\nUCX_NET");
        assert!(!site.statuses(&CHECK).contains(&Status::Fail));
    }

    #[test]
    fn pvrdma_is_known_to_lack_it_without_the_list_of_ucx() {
        let site = with("rc_x,sm,self").with("pv-a", fails("linux.ucx-transports", 1, "sh: 1: Cannot fork"));
        assert_eq!(site.judge(&CHECK)[0].status, Status::Fail);
    }
}
