//! The daemons of Open MPI on all nodes speak one version's language.

use super::same::{self, Same, numbers};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// One version of Open MPI on all nodes of a job.
pub const CHECK: Check = Check {
    id: "mpi.same-open-mpi",
    title: "All nodes of a job have one version of Open MPI",
    gate: "guests that run jobs together, at least one of them with Open MPI",
    rule: "fails if the series (4.1, 5.0) differ; warns if only the release differs, or if a node has none",
    source: Source { text: "Open MPI FAQ: running jobs, the same version on all nodes", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const SAME: Same = Same {
    check: "mpi.same-open-mpi",
    what: "Open MPI",
    attribute: Attribute::OpenMpiVersion,
    packages: &["openmpi-bin", "libopenmpi3", "openmpi"],
    command: "ompi_info --version",
    verdict,
    absent: Some("mpirun starts orted (prted in 5.x) on every node; where there is none the job ends before it begins"),
};

fn verdict(one: &str, other: &str) -> (Status, &'static str) {
    if numbers(one, 2) == numbers(other, 2) {
        return (
            Status::Warn,
            "releases of one series mostly work together, but Open MPI promises it of no two different ones, and a fix that \
             one node has the other one lacks",
        );
    }
    (
        Status::Fail,
        "daemons and ranks of different series do not understand each other: the job hangs or ends while it starts",
    )
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    same::judge(scene, &SAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("pv-b", "linux.open-mpi", "ident:4.1.4", "ident:5.0.7"),
        healthy: Site::sound,
        unclear: || {
            let broken = fails("linux.open-mpi", 1, "ompi_info: error while loading shared libraries");
            Site::sound().with("pv-b", broken).replacing("pv-b", "linux.packages-dpkg", "openmpi", "openmp")
        },
    };

    #[test]
    fn another_release_warns_and_the_odd_one_of_three_is_named() {
        let site = Site::sound().replacing("pv-a", "linux.open-mpi", "ident:4.1.4", "ident:4.1.6").pair("pv-b", "vf-a");
        let judged = site.judge(&CHECK);
        let odd: Vec<_> = judged.iter().filter(|judged| judged.status == Status::Warn).collect();
        assert_eq!(odd.len(), 1, "{judged:#?}");
        assert_eq!(odd[0].title, "pv-a: Open MPI 4.1.6, but pv-b has 4.1.4");
    }

    #[test]
    fn a_node_without_it_warns_and_nodes_that_all_lack_it_say_nothing() {
        let packed = |name: &str| Site::sound().with(name, fails("linux.open-mpi", 127, "ompi_info: not found"));
        assert!(!packed("pv-b").statuses(&CHECK).contains(&Status::Warn), "its package is there");
        let none = |site: Site, name: &str| {
            let site = site.with(name, fails("linux.open-mpi", 127, "ompi_info: not found"));
            site.replacing(name, "linux.packages-dpkg", "openmpi", "openmp")
        };
        let one = none(Site::sound(), "pv-b");
        assert_eq!(one.statuses(&CHECK), [Status::Pass, Status::Pass, Status::Pass, Status::Warn]);
        let both = none(one, "pv-a");
        assert_eq!(both.statuses(&CHECK), [Status::Pass, Status::Pass], "of the other pair only");
    }

    #[test]
    fn without_pairs_guests_of_one_kind_are_compared() {
        let ports = "[{\"ifindex\":0,\"ifname\":\"rxe0\",\"port\":1,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\",\"netdev\":\"eth1\",\"netdev_index\":3}]";
        let guest = |site: Site, name: &str, version: &str| {
            site.guest(name, &[says("linux.rdma-link", ports), says("linux.open-mpi", version)])
        };
        let site = guest(guest(Site::new(), "a", "ident:4.1.4\n"), "b", "ident:4.1.8\n");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Warn]);
        assert_eq!(guest(Site::new(), "a", "ident:4.1.4\n").statuses(&CHECK), [], "one node is no job");
    }
}
