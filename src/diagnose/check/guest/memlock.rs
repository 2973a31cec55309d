//! The limit of locked memory of this login: RDMA locks every page that the adapter may touch.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Enough for what UCX, MPI and NCCL register.
pub const ENOUGH: Threshold = Threshold {
    key: "guest.memlock.bytes",
    default: 134_217_728.0,
    unit: "octets",
    meaning: "locked memory below which it warns",
    source: "UCX documentation: running UCX (128 MB or unlimited)",
};

/// Not even the queues of a few connections fit into less.
pub const LEAST: Threshold = Threshold {
    key: "guest.memlock.least",
    default: 1_048_576.0,
    unit: "octets",
    meaning: "locked memory below which it fails",
    source: "captures: perftest as a user with 64 kB ends with \"Couldn't allocate MR\"",
};

/// Logins may lock memory.
pub const CHECK: Check = Check {
    id: "guest.memlock",
    title: "This login may lock enough memory for RDMA",
    gate: "guests with RDMA ports",
    rule: "passes for root, who is not bound by it; fails below 1 MiB, warns below 128 MiB",
    source: Source {
        text: "kernel source: drivers/infiniband/core/umem.c; UCX documentation; NVIDIA/nccl-tests issue 206",
        weak: false,
    },
    thresholds: &[ENOUGH, LEAST],
    explains: &["mpi.ucx-verbs", "mpi.nccl-ib"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::guests(scene).into_iter().map(|guest| judge_guest(scene, guest)).collect()
}

/// A limit in words: `64 kB`, `8 MB`, `unlimited`.
pub fn words(limit: u64) -> String {
    match limit {
        u64::MAX => "unlimited".to_owned(),
        limit if limit >= 1 << 20 => format!("{} MB", limit >> 20),
        limit => format!("{} kB", limit >> 10),
    }
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Judged {
    let id = EntityId::new(guest, Entity::Guest);
    let Some(soft) = scene.count(&id, Attribute::MemlockSoft) else {
        return ask::untold(scene, &id, Attribute::MemlockSoft, "linux.limits-login", "ulimit -l");
    };
    let limit = words(soft);
    if soft as f64 >= scene.thresholds.of(&ENOUGH) {
        return Judged::pass(&id, format!("{guest}: this login may lock {limit}"));
    }
    if scene.count(&id, Attribute::LoginUserId) == Some(0) || scene.flag(&id, Attribute::Privileged) == Some(true) {
        return Judged::pass(&id, format!("{guest}: this login is root, whom {limit} does not bind"));
    }
    // Of a login whose number is not known nobody can say whether it is bound.
    let who = [Attribute::LoginUserId, Attribute::Privileged];
    if who.iter().all(|attribute| scene.value(&id, *attribute).is_none()) {
        return ask::untold(scene, &id, Attribute::LoginUserId, "linux.system-files", "id -u");
    }
    let cause = "registering memory pins it, and what is pinned counts against this limit: beyond it registration fails with \
                 \"Cannot allocate memory\" (perftest: \"Couldn't allocate MR\"), in MPI, UCX and NCCL too";
    let title = format!("{guest}: this login may lock only {limit}");
    let judged = if (soft as f64) < scene.thresholds.of(&LEAST) {
        Judged::fail(&id, Confidence::Proved, title, cause)
    } else {
        Judged::warn(&id, Confidence::Proved, title, cause)
    };
    let mut judged =
        judged.shown(&id, Attribute::MemlockSoft, format!("soft limit {limit}")).reaching(ask::all_here(scene, guest));
    if let Some(hard) = scene.count(&id, Attribute::MemlockHard) {
        judged = judged.shown(&id, Attribute::MemlockHard, format!("hard limit {}", words(hard)));
        if hard as f64 >= scene.thresholds.of(&ENOUGH) {
            judged = judged.cured_by(
                Cure::by_hand(
                    "Raise the soft limit up to the hard one",
                    vec![Step::ByHand(
                        "in the job script or the profile of the login: ulimit -l $(ulimit -H -l)".to_owned(),
                    )],
                )
                .verified_by(&["guest.memlock"]),
            );
        }
    }
    let (write, remove) = ask::new_file(
        "/etc/security/limits.d/90-rdma-memlock.conf",
        "* soft memlock unlimited\\n* hard memlock unlimited\\n",
    );
    judged.cured_by(
        Cure::on(guest, "Lift the limit for all logins", Risk::None, vec![write])
            .undone_by(vec![remove], vec![(id, Attribute::MemlockHard)])
            .verified_by(&["guest.memlock"])
            .noting(
                "holds for new logins only; daemons that start jobs have limits of their own (guest.launcher-limits)",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const USER: &str = "/proc/self/status:Uid:\t1000\t1000\t1000\t1000\n/proc/self/status:CapEff:\t0000000000000000\n/etc/os-release:ID=debian\n";

    /// A soft-RoCE guest, looked at by an ordinary user with this limit.
    fn user(soft: &str, hard: &str) -> Site {
        let limits = format!("/proc/self/limits:Max locked memory         {soft:<20} {hard:<20} bytes     \n");
        soft_roce(Site::new(), "rxe-a", 10)
            .with("rxe-a", says("linux.system-files", USER))
            .with("rxe-a", says("linux.limits-login", &limits))
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || user("65536", "65536"),
        healthy: || user("unlimited", "unlimited"),
        unclear: || user("65536", "65536").with("rxe-a", fails("linux.limits-login", 124, "timeout")),
    };

    #[test]
    fn what_the_kernel_gives_by_default_is_a_warning() {
        assert_eq!(user("8388608", "8388608").statuses(&CHECK), [Status::Warn]);
        let judged = &user("65536", "unlimited").judge(&CHECK)[0];
        assert_eq!(judged.cures.len(), 2, "the user can do it himself");
        let cure = &judged.cures[1];
        assert!(cure.steps[0].shown().starts_with("sh -c "), "{}", cure.steps[0].shown());
        assert!(cure.undo[0].shown().contains("then rm -f /etc/security/limits.d/90-rdma-memlock.conf; fi"));
    }

    #[test]
    fn root_is_not_bound() {
        let root =
            user("65536", "65536").with("rxe-a", says("linux.system-files", "/proc/self/status:Uid:\t0\t0\t0\t0\n"));
        assert_eq!(root.statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn a_login_that_is_not_known_is_not_warned_of() {
        // An overloaded guest of which the limits were read and nothing else yet; the login was root.
        let late = user("8388608", "8388608").with("rxe-a", fails("linux.system-files", 124, "timeout"));
        assert_eq!(late.statuses(&CHECK), [Status::Unknown]);
    }

    #[test]
    fn limits_have_words() {
        assert_eq!([words(65_536), words(8 << 20), words(u64::MAX)], ["64 kB", "8 MB", "unlimited"]);
    }
}
