//! Which transport two guests use. PVRDMA falls back to TCP without a message, and works on as if nothing had happened.

use crate::diagnose::check::{Check, Judged, Lack, Reached, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::path::{End, Transport, Verdict, ends, transport};
use crate::diagnose::qualify;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{EntityId, TargetId};

/// Two guests use RDMA.
pub const CHECK: Check = Check {
    id: "guest.transport",
    title: "Two guests that talk to each other use RDMA",
    gate: "pairs of guests that both have an RDMA port",
    rule: "passes if the counters of the adapters and the queue pairs show RDMA; informs if both run on one host, where memory \
           is copied; fails if a host does not qualify, since PVRDMA then uses TCP; unknown where nothing tells",
    source: Source { text: "vSphere Networking: PVRDMA Support (memory copy, RDMA, TCP fallback)", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let found = qualify::judgements(scene);
    scene
        .pairs
        .iter()
        .filter_map(|(one, other)| {
            let (one, other) = ends(scene, one, other);
            let subject = one.port.as_ref().filter(|_| other.port.is_some())?.id.clone();
            let verdict = transport(scene, &found, &one, &other, None);
            let way = [&one, &other].into_iter().filter_map(|end| end.chain).flat_map(|chain| scene.way_of(chain));
            let ports = [&one, &other].into_iter().filter_map(|end| end.port.as_ref().map(|port| port.id.clone()));
            let reaches: Vec<_> = ports.chain(way).collect();
            Some(judged(scene, &one, &other, &subject, verdict).reaching(reaches))
        })
        .collect()
}

fn judged(scene: &Scene<'_>, one: &End<'_>, other: &End<'_>, subject: &EntityId, verdict: Verdict) -> Judged {
    let pair = format!("{} and {}", one.guest, other.guest);
    match verdict.transport {
        Transport::Rdma => {
            Judged::pass(subject, format!("{pair} use RDMA: {}", verdict.why)).shown_by(verdict.evidence)
        }
        Transport::SameHost => {
            Judged::info(subject, format!("{pair} copy from memory to memory on one host"), verdict.why)
                .shown_by(verdict.evidence)
        }
        Transport::Tcp => tcp(one, other, subject, verdict),
        Transport::NotDeterminable => {
            let unreached = |host: Option<&TargetId>| {
                host.and_then(|host| scene.machines.get(host)).is_some_and(|host| host.reached != Reached::Yes)
            };
            // A host that should tell and was not reached; elsewhere nothing that can be read tells without a payload.
            let no_host = [one, other].iter().any(|end| end.host.is_none());
            let any_silent = scene.hosts().any(|host| unreached(Some(host)));
            let lack = if unreached(one.host) || unreached(other.host) || (no_host && any_silent) {
                Lack::Unreached
            } else {
                Lack::NotObservable
            };
            let title = format!("which transport {pair} use is not determinable: {}", verdict.why);
            Judged { evidence: verdict.evidence, ..Judged::unknown(subject, lack, title, verdict.decide) }
        }
    }
}

fn tcp(one: &End<'_>, other: &End<'_>, subject: &EntityId, verdict: Verdict) -> Judged {
    let Verdict { why, evidence, confidence, .. } = verdict;
    let step = "mend what the host lacks (see its own findings), or move the VM to a host that qualifies";
    let mut judged = Judged::fail(
        subject,
        confidence,
        format!("{} and {} fall back to TCP", one.guest, other.guest),
        format!("{why}: it works, at a fraction of the speed and with the processor's time"),
    )
    .shown_by(evidence)
    .cured_by(
        Cure::by_hand("Bring both hosts into a state that qualifies", vec![Step::ByHand(step.to_owned())])
            .verified_by(&["vm.host-qualifies", "guest.transport"]),
    )
    .decided_by(format!(
        "ib_write_bw between {} and {} for half a minute, while the console shows them",
        one.guest, other.guest
    ));
    // A failure without a line that shows it is none.
    if judged.evidence.is_empty() {
        judged.status = Status::Unknown;
        judged.lack = Some(Lack::NotObservable);
    }
    judged
}

#[cfg(test)]
pub(in crate::diagnose) mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::fabric::Entity;

    fn counter(target: &str, of: &str, name: &str) -> EntityId {
        EntityId::new(&TargetId::new(target), Entity::Counter { of: of.into(), name: name.into() })
    }

    /// Both pairs of the sound site at work for ten seconds.
    pub(in crate::diagnose) fn at_work(site: Site) -> Site {
        const BYTES: u64 = 40_000_000_000;
        site.moved(counter("esx01", "vmrdma0", "Bytes sent"), BYTES, 10)
            .moved(counter("esx02", "vmrdma0", "Bytes received"), BYTES, 10)
            .moved(counter("hca-a", "mlx5_0", "port_xmit_data"), BYTES / 4, 10)
            .moved(counter("hca-b", "mlx5_0", "port_rcv_data"), BYTES / 4, 10)
    }

    const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                          pvrdma                      false\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)),
        healthy: || at_work(Site::sound()),
        unclear: || Site::sound().with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed")),
    };

    #[test]
    fn two_vms_on_one_host_copy_memory() {
        let site = Site::sound().moving_vms("esx02", "esx01");
        assert_eq!(site.statuses(&CHECK)[0], Status::Info, "{:#?}", site.judge(&CHECK));
    }

    #[test]
    fn an_unreached_host_is_named_as_what_is_missing() {
        let judged = Site::sound().silent("esx02", "connection timed out").judge(&CHECK);
        assert_eq!((judged[0].status, judged[0].lack), (Status::Unknown, Some(Lack::Unreached)), "{judged:#?}");
    }

    #[test]
    fn guests_without_rdma_are_not_judged() {
        let site = Site::new().guest("a", &[]).guest("b", &[]).pair("a", "b");
        assert_eq!(site.statuses(&CHECK), []);
    }
}
