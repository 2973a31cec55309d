//! Where the traffic of a guest's RDMA port is counted: by its own driver, by its host for all VMs of the uplink, or by
//! nobody.

use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Port, Scene, Source};
use crate::diagnose::join::SHARED_COUNTERS;
use crate::fabric::{Attribute, State, TargetId};

/// The port's own driver counts its traffic.
pub const CHECK: Check = Check {
    id: "tool.counter-source",
    title: "The guest's driver counts what its RDMA port carries",
    gate: "RDMA ports of guests",
    rule: "passes if the driver publishes bytes; informs if only the host counts, for all VMs together, or nobody does",
    source: Source { text: "driver sources vmw_pvrdma, rdma_rxe: no counters of bytes", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of_guest = |guest| scene.ports(guest).into_iter().map(move |port| of_port(scene, guest, &port));
    scene.guests().flat_map(of_guest).collect()
}

fn of_port(scene: &Scene<'_>, guest: &TargetId, port: &Port) -> Judged {
    let name = port.id.entity.name();
    let decide = format!("on {guest}: ls /sys/class/infiniband/{}/ports/*/counters", port.device.entity.name());
    let reading = scene.fabric.reading(&port.id, Attribute::ByteCounters).map(|reading| &reading.state);
    match reading {
        Some(State::Known(_)) if scene.flag(&port.id, Attribute::ByteCounters) == Some(true) => {
            return Judged::pass(&port.id, format!("{guest}: the driver of {name} counts bytes"));
        }
        Some(State::NotPublished(_) | State::Known(_)) => {}
        _ => {
            let lack =
                scene.lack(&port.id, Attribute::ByteCounters).or_else(|| scene.unread(guest, "linux.rdma-counters"));
            let (lack, why) = lack.unwrap_or((Lack::NotObservable, format!("{guest} does not say it")));
            return Judged::unknown(&port.id, lack, format!("counters of {name} on {guest}: {why}"), decide);
        }
    }
    let chain = scene.chain_of(&port.device);
    let counters = chain.and_then(|chain| chain.counters.as_ref());
    let mut judged = match (port.kind, counters) {
        (DeviceKind::Software, _) => Judged::info(
            &port.id,
            format!("{guest}: the driver of {name} counts no bytes"),
            "RDMA in software is traffic of its interface: the interface's counters have it, together with all else",
        ),
        (_, Some(counters)) => Judged::info(
            &port.id,
            format!("{guest}: {name} is counted on its host only, by {} of {}", counters.entity.name(), counters.target),
            format!("its driver publishes no counters; those of the host stand for {SHARED_COUNTERS}, not for this guest alone"),
        )
        .reaching([counters.clone()]),
        (_, None) => Judged::info(
            &port.id,
            format!("{guest}: nobody counts what {name} carries"),
            "its driver publishes no counters, and no host of the inventory is known to carry it: with its host in the inventory \
             the counters of the uplink's RDMA device are shown, for all its VMs together",
        ),
    };
    judged = judged.shown(&port.id, Attribute::PortState, format!("{name} has no folder of counters"));
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: Site::sound,
        healthy: || ["pv-a", "pv-b"].iter().fold(Site::sound(), |site, name| site.without_target(name)),
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-counters", 2, "grep: memory exhausted")),
    };

    #[test]
    fn pvrdma_is_counted_by_its_host_or_by_nobody() {
        let of = |site: &Site| {
            let judged = site.judge(&CHECK);
            judged.into_iter().find(|judged| judged.subject.target.as_str() == "pv-a").expect("judged").title
        };
        let sound = of(&Site::sound());
        assert!(
            sound.contains("counted on its host only, by vmrdma0 of esx01") || sound.contains("of esx0"),
            "{sound}"
        );
        let alone = Site::sound().without_target("esx01").without_target("esx02");
        assert_eq!(of(&alone), "pv-a: nobody counts what rocep11s0f1/1 carries");
    }
}
