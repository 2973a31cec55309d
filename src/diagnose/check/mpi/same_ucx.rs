//! UCX packs addresses of transports for the other side to unpack.

use super::same::{self, Same, numbers};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// One version of UCX on all nodes of a job.
pub const CHECK: Check = Check {
    id: "mpi.same-ucx",
    title: "All nodes of a job have one version of UCX",
    gate: "guests that run jobs together, at least one of them with UCX",
    rule: "warns if the minor versions differ, or if a node has none; passes if only the release does",
    source: Source { text: "UCX: wire compatibility between releases", weak: true },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const SAME: Same = Same {
    check: "mpi.same-ucx",
    what: "UCX",
    attribute: Attribute::UcxVersion,
    packages: &["libucx0", "ucx"],
    command: "ucx_info -v",
    verdict,
    absent: Some(
        "ranks of one node speak UCX, those of the other one cannot: Open MPI ends the job, or all of it goes over TCP. The \
         library may be there without its tools",
    ),
};

fn verdict(one: &str, other: &str) -> (Status, &'static str) {
    if numbers(one, 2) == numbers(other, 2) {
        return (Status::Pass, "");
    }
    (
        Status::Warn,
        "ranks tell each other the addresses of their transports in a form that changed between minor versions: they fail to \
         unpack it, or choose different protocols for the same message",
    )
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    same::judge(scene, &SAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("hca-b", "linux.ucx-version", "1.13.1", "1.17.0"),
        healthy: || Site::sound().replacing("hca-b", "linux.ucx-version", "1.13.1", "1.13.0"),
        unclear: || {
            let broken = fails("linux.ucx-version", 1, "ucx_info: symbol lookup error");
            Site::sound().with("hca-b", broken).replacing("hca-b", "linux.packages-dpkg", "ucx", "xcu")
        },
    };
}
