//! `PMIx` carries the addresses of the ranks from node to node.

use super::same::{self, Same, numbers};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// One version of `PMIx` on all nodes of a job.
pub const CHECK: Check = Check {
    id: "mpi.same-pmix",
    title: "All nodes of a job have one version of PMIx",
    gate: "guests that run jobs together and whose Open MPI names its PMIx library",
    rule: "warns if the major versions differ; informs if only later numbers do",
    source: Source { text: "PMIx: cross-version compatibility", weak: true },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const SAME: Same = Same {
    check: "mpi.same-pmix",
    what: "PMIx",
    attribute: Attribute::PmixVersion,
    packages: &[],
    command: "ompi_info --parsable --all | grep library_version",
    verdict,
    absent: None,
};

fn verdict(one: &str, other: &str) -> (Status, &'static str) {
    if numbers(one, 1) == numbers(other, 1) {
        return (Status::Info, "releases of one major version of PMIx understand each other");
    }
    (
        Status::Warn,
        "the daemons exchange the addresses of all ranks by PMIx; across major versions that works only one way round, and \
         where it does not the job hangs while it starts",
    )
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    same::judge(scene, &SAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("pv-b", "linux.open-mpi", "OpenPMIx 4.2.2rc2", "OpenPMIx 3.2.3"),
        healthy: Site::sound,
        unclear: || Site::sound().silent("pv-b", "no route to host"),
    };

    #[test]
    fn a_later_release_only_informs() {
        let site = Site::sound().replacing("pv-b", "linux.open-mpi", "OpenPMIx 4.2.2rc2", "OpenPMIx 4.2.9");
        assert!(site.statuses(&CHECK).contains(&Status::Info));
    }
}
