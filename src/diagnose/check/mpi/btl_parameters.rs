//! Parameters for the BTLs of Open MPI as published recipes have them: some break the job, some do nothing.

use super::jobs::{Setting, has_component, open_mpi, parameter, set_anew, system};
use super::same::numbers;
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, TargetId};
use crate::tune::mpi::leaves_self_out;

/// Parameters for BTLs do what they seem to.
pub const CHECK: Check = Check {
    id: "mpi.btl-parameters",
    title: "Open MPI's BTL parameters do what they are meant for",
    gate: "guests with Open MPI whose parameter btl or btl_openib_allow_ib is set",
    rule: "fails if the list leaves self out while ob1 carries messages, or names openib and Open MPI has none; informs if it has \
           no effect because ucx carries messages",
    source: Source { text: "Open MPI README; Open MPI issue 9838", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().flat_map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Vec<Judged> {
    let id = system(guest);
    if open_mpi(scene, guest).is_none() {
        return Vec::new();
    }
    let btl = parameter(scene, guest, "btl").map(|setting| of_list(scene, guest, &setting));
    let allow = parameter(scene, guest, "btl_openib_allow_ib")
        .filter(|setting| matches!(setting.value, "1" | "true" | "yes"))
        .map(|setting| allow_ib(scene, guest, &setting));
    let known: Vec<Judged> = [btl, allow].into_iter().flatten().collect();
    if !known.is_empty() {
        return known;
    }
    // A login whose variables could not be read may set it.
    match scene.unread(guest, "linux.environment") {
        Some((lack, why)) if lack != Lack::NotObservable => {
            let title = format!("parameters of Open MPI on {guest}: {why}");
            vec![Judged::unknown(&id, lack, title, format!("on {guest}: env | grep OMPI_MCA_btl"))]
        }
        _ => Vec::new(),
    }
}

fn of_list(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let excludes = setting.value.starts_with('^');
    let words: Vec<&str> = setting.words().iter().map(|word| word.trim_start_matches('^')).collect();
    let self_is_out = leaves_self_out(setting.value);
    let pml = parameter(scene, guest, "pml");
    let by_ucx = pml.is_some_and(|pml| pml.words() == ["ucx"]);
    let written = &setting.written;
    let lacks_openib =
        !excludes && words.contains(&"openib") && has_component(scene, guest, "btl openib") == Some(false);
    if lacks_openib && !by_ucx {
        let version = open_mpi(scene, guest).unwrap_or_default();
        let gone = numbers(version, 1).first().is_some_and(|major| *major >= 5);
        return Judged::fail(
            &setting.id,
            Confidence::Proved,
            format!("{guest}: {written} names openib, and Open MPI {version} has none"),
            if gone {
                "the openib BTL is gone since 5.0: RDMA goes by pml ucx. mpirun ends with \"A requested component was not found\""
            } else {
                "this build has no openib BTL. mpirun ends with \"A requested component was not found\""
            },
        )
        .shown(&setting.id, setting.attribute, written.clone())
        .shown(&system(guest), Attribute::MpiComponents, "no btl openib among its components")
        .cured_by(set_anew(guest, setting, "").verified_by(&["mpi.btl-parameters", "mpi.pml"]));
    }
    if self_is_out && !by_ucx {
        return Judged::fail(
            &setting.id,
            Confidence::Likely,
            format!("{guest}: {written} leaves out self, which ranks need to reach themselves"),
            if excludes {
                "the sign ^ excludes every name of the list, not only the first: with ob1 a job breaks off while it starts, with \
                 a segmentation fault in mca_pml_ob1 or with unreachable processes. It forces no RDMA either: OMPI_MCA_pml=ucx does"
            } else {
                "a list names all BTLs that may be used; with ob1 a rank that sends to itself finds no way, and the job breaks off"
            },
        )
        .shown(&setting.id, setting.attribute, written.clone())
        .decided_by("mpirun -np 2 with --mca pml_base_verbose 10: does ob1 carry messages?")
        .cured_by(set_anew(guest, setting, "").verified_by(&["mpi.btl-parameters"]));
    }
    if by_ucx && (self_is_out || lacks_openib) {
        return Judged::info(
            &setting.id,
            format!("{guest}: {written} has no effect while pml ucx carries messages"),
            "BTLs carry messages of ob1 only; the moment ucx is not taken, this list breaks the job",
        )
        .shown(&setting.id, setting.attribute, written.clone())
        .cured_by(set_anew(guest, setting, ""));
    }
    Judged::pass(&setting.id, format!("{guest}: {written} leaves Open MPI what it needs"))
}

fn allow_ib(scene: &Scene<'_>, guest: &TargetId, setting: &Setting<'_>) -> Judged {
    let written = &setting.written;
    let has_infiniband = scene.ports(guest).iter().any(|port| port.is_infiniband);
    if has_infiniband {
        return Judged::pass(&setting.id, format!("{guest}: {written} lets the openib BTL use native InfiniBand"));
    }
    Judged::info(
        &setting.id,
        format!("{guest}: {written} does nothing here"),
        "it lets the openib BTL of 4.x use native InfiniBand ports; there are none. RoCE it takes without, other names of devices \
         have nothing to do with it, and pml ucx does not look at it",
    )
    .shown(&setting.id, setting.attribute, written.clone())
    .cured_by(set_anew(guest, setting, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("vf-a", "btl", "^tcp,self"),
        healthy: || with("vf-a", "btl", "self,vader,tcp"),
        unclear: || Site::sound().with("vf-a", fails("linux.environment", 1, "sh: 1: Cannot fork")),
    };

    fn with(guest: &str, name: &str, value: &str) -> Site {
        Site::sound().replacing(guest, "linux.environment", "UCX_NET", &format!("OMPI_MCA_{name}={value}\nUCX_NET"))
    }

    fn status(guest: &str, name: &str, value: &str) -> Status {
        with(guest, name, value).judge(&CHECK)[0].status
    }

    #[test]
    fn lists_and_what_carries_messages() {
        assert_eq!(status("vf-a", "btl", "^tcp"), Status::Pass);
        assert_eq!(status("vf-a", "btl", "tcp"), Status::Fail);
        assert_eq!(status("vf-a", "btl", "openib,self,vader"), Status::Pass, "4.1.4 of Debian has it");
        assert_eq!(status("pv-a", "btl", "^tcp,self"), Status::Info, "ucx carries messages there");
        assert_eq!(status("pv-a", "btl_openib_allow_ib", "1"), Status::Info);
        assert!(Site::sound().judge(&CHECK).is_empty(), "nothing is set");
    }

    #[test]
    fn openib_is_gone_since_5() {
        let site = with("vf-a", "btl", "openib,self,vader")
            .replacing("vf-a", "linux.open-mpi", "mca:btl:openib:version:\"component:4.1.4\"\n", "")
            .replacing("vf-a", "linux.open-mpi", "ident:4.1.4", "ident:5.0.7");
        let judged = site.judge(&CHECK);
        assert!(judged[0].status == Status::Fail && judged[0].cause.contains("gone since 5.0"), "{judged:#?}");
    }
}
