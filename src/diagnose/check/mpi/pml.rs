//! Which layer of Open MPI carries messages: only `ucx` takes a PVRDMA adapter, and it must be asked for by name, since
//! Open MPI prefers UCX by itself for devices called `mlx*` only.

use super::jobs::{
    Setting, ground, hardware_ports, has_component, is_active, open_mpi, parameter, set_anew, set_first, system,
};
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, TargetId};

/// Open MPI carries messages over UCX.
pub const CHECK: Check = Check {
    id: "mpi.pml",
    title: "Open MPI carries messages over the RDMA adapter",
    gate: "guests with Open MPI and an active port of an RDMA adapter",
    rule: "fails if ucx is asked for and Open MPI was built without it; warns if messages go over TCP in silence: ucx is excluded, \
           another pml is asked for, or none is on PVRDMA",
    source: Source { text: "Open MPI opal/mca/common/ucx/common_ucx.c, ompi/mca/pml; UCX issue 8440", weak: false },
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
    let id = system(guest);
    if open_mpi(scene, guest).is_none() {
        // Not installed is no fault, and says nothing.
        let (lack, why) =
            scene.lack(&id, Attribute::OpenMpiVersion).filter(|(lack, _)| *lack != Lack::NotObservable)?;
        return Some(Judged::unknown(&id, lack, format!("Open MPI of {guest}: {why}"), "ompi_info --parsable --all"));
    }
    let asked = parameter(scene, guest, "pml");
    let is_pvrdma = ports.iter().all(|port| port.kind == DeviceKind::Pvrdma);
    let Some(has_ucx) = has_component(scene, guest, "pml ucx") else {
        let title = format!("components of Open MPI on {guest}: it lists none");
        return Some(Judged::unknown(&id, Lack::NotObservable, title, "ompi_info | grep ucx"));
    };
    let place = asked.as_ref().map_or_else(|| id.clone(), |setting| setting.id.clone());
    let seen = Seen { scene, guest, asked: asked.as_ref(), is_pvrdma, has_ucx, device: first.device.entity.name() };
    let judged = seen.judged(&place);
    let is_trouble = judged.status != Status::Pass;
    Some(if is_trouble { judged.reaching(ground(scene, guest)) } else { judged })
}

struct Seen<'a> {
    scene: &'a Scene<'a>,
    guest: &'a TargetId,
    asked: Option<&'a Setting<'a>>,
    is_pvrdma: bool,
    has_ucx: bool,
    device: String,
}

impl Seen<'_> {
    fn judged(&self, place: &crate::fabric::EntityId) -> Judged {
        let (guest, id) = (self.guest, system(self.guest));
        let words = self.asked.map(Setting::words).unwrap_or_default();
        let excludes = words.first().is_some_and(|word| word.starts_with('^'));
        let named = |name: &str| words.iter().any(|word| word.trim_start_matches('^') == name);
        let written = self.asked.map(|setting| setting.written.clone()).unwrap_or_default();
        if !excludes && named("ucx") {
            if self.has_ucx {
                return Judged::pass(place, format!("{guest}: {written}, and Open MPI has it"));
            }
            let setting = self.asked.map(|setting| (setting.id.clone(), setting.attribute));
            let mut judged = Judged::fail(
                place,
                Confidence::Proved,
                format!("{guest}: {written}, but Open MPI was built without UCX"),
                "mpirun ends with \"A requested component was not found\", framework pml, component ucx; what it says before of \
                 OpenFabrics connection schemes is noise",
            )
            .shown(&id, Attribute::MpiComponents, "no pml ucx among its components");
            if let Some((about, attribute)) = setting {
                judged = judged.shown(&about, attribute, written);
            }
            return judged.cured_by(self.build());
        }
        if !self.has_ucx {
            return Judged::warn(
                place,
                Confidence::Likely,
                format!("{guest}: Open MPI was built without UCX"),
                "without it 5.x goes over TCP; 4.x has the old openib BTL left, which knows no PVRDMA and is not used unless it is \
                 asked for",
            )
            .shown(&id, Attribute::MpiComponents, "no pml ucx among its components")
            .decided_by("mpirun --mca pml_base_verbose 10 (\"selected ob1 best priority 20\")")
            .cured_by(self.build());
        }
        if excludes && named("ucx") || !excludes && !words.is_empty() && !named("cm") {
            let mut judged = Judged::warn(
                place,
                Confidence::Proved,
                format!("{guest}: {written} keeps Open MPI from the RDMA adapter"),
                format!("messages between nodes go over TCP, in silence; {} stands idle", self.device),
            );
            if let Some(setting) = self.asked {
                judged = judged
                    .shown(&setting.id, setting.attribute, setting.written.clone())
                    .cured_by(set_anew(guest, setting, "ucx").verified_by(&["mpi.pml"]));
            }
            return judged;
        }
        let any = ["opal_common_ucx_devices", "pml_ucx_devices"].iter().any(|name| {
            parameter(self.scene, guest, name)
                .is_some_and(|setting| setting.words().iter().any(|word| matches!(*word, "any" | "*")))
        });
        if self.is_pvrdma && words.is_empty() && !any {
            return Judged::warn(
                place,
                Confidence::Likely,
                format!("{guest}: nothing asks Open MPI for UCX, so {} stands idle", self.device),
                "by itself Open MPI takes UCX only if a device is called mlx*: on PVRDMA pml ucx gets priority 19 and loses to \
                 ob1, which goes over TCP in silence",
            )
            .shown(&id, Attribute::MpiComponents, "Open MPI has pml ucx, and no parameter pml is set")
            .decided_by("mpirun --mca pml_base_verbose 10 (\"selected ob1 best priority 20\" or \"component ucx selected\")")
            .cured_by(set_first(guest, "OMPI_MCA_pml", "ucx").verified_by(&["mpi.pml"]));
        }
        Judged::pass(place, format!("{guest}: Open MPI takes UCX for {}", self.device))
    }

    fn build(&self) -> Cure {
        let guest = self.guest;
        let step = |what: &str| vec![Step::ByHand(format!("{guest}: {what}"))];
        Cure::by_hand("Install an Open MPI that has UCX", step("the distribution's Open MPI, or configure --with-ucx"))
            .undone_by(step("the Open MPI of now"), vec![(system(guest), Attribute::OpenMpiVersion)])
            .verified_by(&["mpi.pml", "mpi.same-open-mpi"])
            .noting("all nodes alike")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("pv-a", "linux.open-mpi", "mca:pml:ucx:version:\"component:4.1.4\"\n", ""),
        healthy: Site::sound,
        unclear: || {
            Site::sound().with("pv-a", fails("linux.open-mpi", 1, "ompi_info: error while loading shared libraries"))
        },
    };

    /// A guest of which pml is set to something else, or not at all.
    fn with(name: &str, pml: &str) -> Status {
        let (value, variable) = if pml.is_empty() {
            ("param:pml:value:\nmca:pml:base:param:pml:source:default".to_owned(), String::new())
        } else {
            (
                format!("param:pml:value:{pml}\nmca:pml:base:param:pml:source:environment"),
                format!("OMPI_MCA_pml={pml}\n"),
            )
        };
        let site = Site::sound()
            .replacing(name, "linux.open-mpi", "param:pml:value:ucx\nmca:pml:base:param:pml:source:environment", &value)
            .replacing(name, "linux.environment", "OMPI_MCA_pml=ucx\n", &variable);
        let judged = site.judge(&CHECK);
        judged.into_iter().find(|judged| judged.subject.target.as_str() == name).expect("judged").status
    }

    #[test]
    fn what_carries_messages() {
        assert_eq!(with("pv-a", ""), Status::Warn, "by itself UCX loses on PVRDMA");
        assert_eq!(with("pv-a", "ob1"), Status::Warn);
        assert_eq!(with("pv-a", "^ucx"), Status::Warn);
        assert_eq!(with("pv-a", "ucx"), Status::Pass);
        assert_eq!(with("hca-a", ""), Status::Pass, "by itself UCX wins on mlx5");
        assert_eq!(with("hca-a", "cm"), Status::Pass);
    }

    #[test]
    fn a_parameter_of_a_file_counts() {
        let site = Site::sound().replacing(
            "vf-a",
            "linux.open-mpi",
            "param:pml:value:\nmca:pml:base:param:pml:source:default",
            "param:pml:value:ob1\nmca:pml:base:param:pml:source:file (/etc/openmpi/openmpi-mca-params.conf)",
        );
        let judged = site.judge(&CHECK);
        let of_file: Vec<_> = judged.iter().filter(|judged| judged.status == Status::Warn).collect();
        assert_eq!(of_file.len(), 1, "{judged:#?}");
        assert!(of_file[0].title.starts_with("vf-a: pml = ob1"), "{}", of_file[0].title);
    }
}
