//! Environment variables of the login that steer UCX, MPI, NCCL and Slurm. Names are chosen on the target by an
//! allow-list, so that no other variable ever travels. For Slurm the list is finer than its prefix: `SLURM_JWT` is a
//! secret.

use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Read, Source};

/// How the names of allowed variables begin.
const ALLOWED: &[&str] = &[
    "UCX_",
    "OMPI_",
    "PMIX_",
    "NCCL_",
    "SLURM_CLUSTER",
    "SLURM_CPU",
    "SLURM_DISTRIBUTION",
    "SLURM_GPU",
    "SLURM_HINT",
    "SLURM_JOB",
    "SLURM_LOCALID",
    "SLURM_MEM",
    "SLURM_MPI",
    "SLURM_NNODES",
    "SLURM_NODE",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_PMI",
    "SLURM_PROCID",
    "SLURM_PROPAGATE",
    "SLURM_STEP",
    "SLURM_TASKS",
    "SLURM_THREADS",
    "SLURM_TOPOLOGY",
];

/// Variables that steer UCX, MPI, NCCL and Slurm.
pub const PROBE: Probe = Probe {
    name: "linux.environment",
    title: "environment variables of UCX, MPI, NCCL and Slurm",
    privilege_adds: "",
    pace: Pace::Slow,
    sources: &[Source { name: "linux.environment", read: Read::Environment(ALLOWED) }],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    observation
        .lines()
        .filter_map(|(number, line)| {
            let (name, value) = line.split_once('=')?;
            let allowed = ALLOWED.iter().any(|prefix| name.starts_with(prefix))
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            // The second lines of values that hold line breaks are no variables.
            allowed
                .then(|| observation.known(Entity::Variable(Text::new(name)), Attribute::VariableValue, value, number))
        })
        .collect()
}
