//! Environment variables of the login that steer UCX, MPI, NCCL and Slurm. Names are chosen on the target by an
//! allow-list, so that no other variable ever travels. For Slurm the list is finer than its prefix: `SLURM_JWT` is a
//! secret.

use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

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
    rhythm: Rhythm::PACE,
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

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const VARIABLES: &str = "UCX_TLS=rc_v,ud_v,sm,self\nUCX_NET_DEVICES=rocep27s0f1:1\nOMPI_MCA_pml=ucx\nNCCL_DEBUG=\n\
                             SLURM_JOB_ID=4711\nSLURM_JWT=eyJhbGciOi\nHOME=/root\nUCX_\u{1b}[31mX=1\nbroken line\n";

    #[test]
    fn only_allowed_names_become_facts() {
        let facts = run(&PROBE, &[(VARIABLES, "", 0)]);
        let of = |name: &str| shown(&facts, &Entity::Variable(Text::new(name)), Attribute::VariableValue);
        assert_eq!(of("UCX_TLS"), "rc_v,ud_v,sm,self");
        assert_eq!(of("OMPI_MCA_pml"), "ucx");
        assert_eq!(of("NCCL_DEBUG"), "", "set and empty is a value of its own");
        assert_eq!(of("SLURM_JOB_ID"), "4711");
        assert_eq!(facts.len(), 5);
        assert!(!ALLOWED.iter().any(|prefix| "SLURM_JWT".starts_with(prefix)), "a secret must not travel");
    }

    survives_damage!(PROBE, VARIABLES);
}
