//! The limit of locked memory of what starts jobs: a job lives under the limit of its launcher, not under that of the
//! shell one looks from.

use super::ask;
use super::memlock::{ENOUGH, LEAST, words};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Launchers may lock memory.
pub const CHECK: Check = Check {
    id: "guest.launcher-limits",
    title: "What starts jobs here may lock enough memory for RDMA",
    gate: "guests with RDMA ports on which slurmd, pbs_mom or a launcher of MPI runs",
    rule: "fails if a daemon that starts jobs may lock less than 1 MiB, warns below 128 MiB (guest.memlock.bytes, guest.memlock.least); informs of a running launcher of MPI, which may be root's",
    source: Source {
        text: "NVIDIA/nccl-tests issue 206; systemd.exec(5) LimitMEMLOCK; UCX documentation",
        weak: false,
    },
    thresholds: &[],
    explains: &["mpi.ucx-verbs", "mpi.nccl-ib"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Daemons that start the jobs of others; all else in the list of launchers belongs to one job, sshd excepted, whose
/// sessions get the limit of the login.
const DAEMONS: [&str; 3] = ["slurmd", "slurmstepd", "pbs_mom"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of = |guest: &TargetId| -> Vec<Judged> {
        let processes = scene.fabric.of_kind(guest, Entity::Process(0));
        processes
            .filter_map(|entity| {
                let id = EntityId::new(guest, entity.clone());
                let command = scene.text(&id, Attribute::ProcessCommand).filter(|command| *command != "sshd")?;
                Some(judge_process(scene, &id, command))
            })
            .collect()
    };
    ask::guests(scene).into_iter().flat_map(of).collect()
}

fn judge_process(scene: &Scene<'_>, id: &EntityId, command: &str) -> Judged {
    let guest = &id.target;
    let Some(soft) = scene.count(id, Attribute::MemlockSoft) else {
        let decide = format!("grep locked /proc/{}/limits, as root", id.entity.name());
        return ask::untold(scene, id, Attribute::MemlockSoft, "linux.limits-launchers", &decide);
    };
    let limit = words(soft);
    if soft as f64 >= scene.thresholds.of(&ENOUGH) {
        return Judged::pass(id, format!("{guest}: {command} may lock {limit}"));
    }
    if !DAEMONS.contains(&command) {
        return Judged::info(
            id,
            format!("{guest}: {command} runs with {limit} of locked memory"),
            "its ranks inherit that; unless it is root's they cannot register more than that",
        )
        .shown(id, Attribute::MemlockSoft, format!("soft limit {limit}"));
    }
    let title = format!("{guest}: jobs of {command} may lock only {limit}");
    let cause = "every job that it starts inherits its limit, whatever the shell of a login says; registering memory beyond it fails \
                 with \"Cannot allocate memory\"";
    let judged = if (soft as f64) < scene.thresholds.of(&LEAST) {
        Judged::fail(id, Confidence::Proved, title, cause)
    } else {
        Judged::warn(id, Confidence::Proved, title, cause)
    };
    let service = if command == "pbs_mom" { "pbs" } else { "slurmd" };
    let folder = format!("/etc/systemd/system/{service}.service.d");
    let file = format!("{folder}/90-rdma-memlock.conf");
    let (write, remove) = ask::new_file(&file, "[Service]\\nLimitMEMLOCK=infinity\\n");
    let again = || [Step::run(&["systemctl", "daemon-reload"]), Step::run(&["systemctl", "restart", service])];
    let mut steps = vec![Step::run(&["mkdir", "-p", &folder]), write];
    steps.extend(again());
    let mut undo = vec![remove, Step::run(&["rmdir", "--ignore-fail-on-non-empty", &folder])];
    undo.extend(again());
    let mut judged = judged.shown(id, Attribute::MemlockSoft, format!("soft limit of {command}: {limit}"));
    if let Some(hard) = scene.count(id, Attribute::MemlockHard) {
        judged = judged.shown(id, Attribute::MemlockHard, format!("hard limit of {command}: {}", words(hard)));
    }
    judged
        .cured_by(
            Cure::on(guest, "Lift the limit of the service", Risk::RestartsService, steps)
                .undone_by(undo, vec![(id.clone(), Attribute::MemlockSoft)])
                .verified_by(&["guest.launcher-limits"])
                .noting("jobs that run keep their limit; Slurm hands the limit of the submitting shell on unless PropagateResourceLimitsExcept=MEMLOCK is set"),
        )
        .reaching(ask::all_here(scene, guest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says, says_with};
    use crate::diagnose::finding::Status;

    fn slurm(limit: &str) -> Site {
        let text = format!(
            "/proc/914/comm:slurmd\n/proc/914/limits:Max locked memory         {limit:<20} {limit:<20} bytes     \n"
        );
        ["pv-a", "pv-b", "hca-a", "hca-b", "vf-a"]
            .iter()
            .fold(Site::sound(), |site, name| site.with(name, says("linux.limits-launchers", &text)))
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || slurm("65536"),
        healthy: || slurm("unlimited"),
        unclear: || {
            let denied = "grep: /proc/914/limits: Permission denied\n";
            slurm("unlimited").with("pv-a", says_with("linux.limits-launchers", "/proc/914/comm:slurmd\n", denied))
        },
    };

    #[test]
    fn the_default_of_the_kernel_is_a_warning_and_a_launcher_of_one_job_is_told() {
        assert!(slurm("8388608").statuses(&CHECK).iter().all(|status| *status == Status::Warn));
        let statuses = Site::sound().statuses(&CHECK);
        assert!(statuses.contains(&Status::Info), "orted of pv-a: {statuses:?}");
        assert!(!statuses.contains(&Status::Warn), "{statuses:?}");
    }

    #[test]
    fn the_service_is_restarted_with_the_new_limit_and_back() {
        let judged = &slurm("65536").judge(&CHECK)[0];
        let cure = &judged.cures[0];
        assert_eq!(cure.risk, Risk::RestartsService);
        assert_eq!(cure.steps.len(), 4);
        let undo = cure.undo[0].shown();
        assert!(undo.contains("then rm -f /etc/systemd/system/slurmd.service.d/90-rdma-memlock.conf; fi"), "{undo}");
    }
}
