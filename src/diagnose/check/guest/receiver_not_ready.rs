//! Messages that came while the receiver had no buffer posted for them.

use super::{ask, counted};
use crate::diagnose::check::{Check, Judged, Port, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::fabric::counter::Role;

const RATE: Threshold = Threshold {
    key: "guest.receiver-not-ready.per-second",
    default: 1.0,
    unit: "messages a second",
    meaning: "refusals from which on it warns",
    source: "own: a receiver that keeps up has none",
};

/// Receivers keep up.
pub const CHECK: Check = Check {
    id: "guest.receiver-not-ready",
    title: "Receivers have buffers ready for what comes",
    gate: "RDMA ports whose driver counts it, read twice",
    rule: "fails if connections broke for it (retry_rnr_exceeded_err rises); warns if out_of_buffer, rnr_nak_retry_err, rcvd_rnr_err and the like rise by one a second or more",
    source: Source { text: "kernel ABI: sysfs-class-infiniband; driver sources of mlx5 and rxe", weak: false },
    thresholds: &[RATE],
    explains: &["guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::ports(scene).iter().filter_map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let rises = counted::rises(scene, port, &[Role::ReceiverNotReady]);
    if rises.is_empty() {
        return counted::unread(scene, port);
    }
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let rate = counted::per_second(&rises);
    let broke = rises.iter().any(|rise| rise.name.contains("exceeded") && rise.moved.by > 0);
    if rate < scene.thresholds.of(&RATE) && !broke {
        return Some(Judged::pass(&port.id, format!("{guest}: the receivers on {name} keep up")));
    }
    let ours = rises.iter().any(|rise| {
        matches!(rise.name.as_str(), "out_of_buffer" | "send_rnr_err" | "rx_out_of_buffer") && rise.moved.by > 0
    });
    let whose = if ours { "a program on this guest" } else { "the program at the other end" };
    let cause = format!(
        "{whose} posts too few receive buffers or does not come round to it (busy or waiting processors, a shared receive queue \
         that is too short): the sender waits and tries again; the network is not the reason"
    );
    let title = if broke {
        format!("{guest}: connections of {name} broke because a receiver had no buffers")
    } else {
        format!("{guest}: receivers on {name} had no buffer ready, {rate:.0} times a second")
    };
    let judged = if broke {
        Judged::fail(&port.id, Confidence::Proved, title, cause)
    } else {
        Judged::warn(&port.id, Confidence::Proved, title, cause)
    };
    Some(
        counted::shown(scene, judged, port, &rises)
            .decided_by("top on the receiving guest while the job runs, and the queue lengths that the program sets (UCX: UCX_RC_RX_QUEUE_LEN)")
            .reaching(ask::here(scene, port)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::counted::tests::counter;
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn moved(by: u64) -> Site {
        Site::sound().moved(counter("hca-a", "mlx5_0", "out_of_buffer"), by, 60)
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || moved(9_000),
        healthy: || moved(3),
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-counters", 124, "timeout")),
    };

    #[test]
    fn retries_that_ran_out_are_a_failure() {
        let site = soft_roce(Site::new(), "rxe-a", 10).moved(counter("rxe-a", "rxe0", "retry_rnr_exceeded_err"), 1, 60);
        assert_eq!(site.statuses(&CHECK), [Status::Fail]);
    }
}
