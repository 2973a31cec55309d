//! A VM with PVRDMA adapters that runs on a host that does not qualify, or was moved there, has lost RDMA without a message.

use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::qualify::{self, Place, Row};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::EntityId;

/// The host of a VM qualifies.
pub const CHECK: Check = Check {
    id: "vm.host-qualifies",
    title: "A VM with PVRDMA adapters runs on a host that qualifies for RDMA",
    gate: "VMs that run with a PVRDMA adapter that is not on a standard switch",
    rule: "fails if the host lacks an RDMA device on the uplink, has further uplinks on the switch, no tagged VMkernel adapter, \
           a closed ruleset, or a release before PVRDMA; unknown if none of these is known to be so and one was not read",
    source: Source { text: "vSphere Networking: PVRDMA Support, Configure an ESXi Host for PVRDMA", weak: false },
    thresholds: &[],
    explains: &["guest.transport"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let places = qualify::places_of(scene);
    let judged =
        places.iter().filter(|place| place.runs).filter_map(|place| Some(judge_place(place, place.here.as_ref()?)));
    judged
        .map(|judged| {
            let vm = judged.subject.clone();
            judged.reaching(way(scene, &vm))
        })
        .collect()
}

/// Everything on the way of the PVRDMA adapters of a VM.
pub(super) fn way(scene: &Scene<'_>, vm: &EntityId) -> Vec<EntityId> {
    scene.pvrdma_chains().filter(|chain| chain.vm == *vm).flat_map(|chain| scene.way_of(chain)).collect()
}

fn judge_place(place: &Place, row: &Row) -> Judged {
    let Place { vm, name, .. } = place;
    let host = &row.host;
    let says = |status: Status| row.needed(status).map(|cell| cell.says.as_str()).collect::<Vec<_>>().join("; ");
    match row.status() {
        Status::Fail => {
            let evidence: Vec<_> = row.needed(Status::Fail).flat_map(|cell| cell.exhibits.clone()).collect();
            let sure = row.needed(Status::Fail).map(qualify::Cell::confidence).min_by_key(|sure| *sure as u8);
            let mut judged = Judged::fail(
                vm,
                sure.unwrap_or(Confidence::Likely),
                format!("{name} runs on {host}, which does not qualify for RDMA"),
                format!(
                    "{}: its adapters use TCP there without a message; a VM that was moved or started anew on such a host has \
                     lost RDMA that it had before",
                    says(Status::Fail)
                ),
            )
            .shown_by(evidence);
            let better: Vec<&str> =
                place.moves.iter().filter(|one| one.keeps == Status::Pass).map(|one| one.host.as_str()).collect();
            if let Some(first) = better.first() {
                let step = format!("vCenter: {name} > Migrate > Change compute resource only > {first}");
                let undo = format!("vCenter: {name} > Migrate > Change compute resource only > {host}");
                let cure = Cure::by_hand("Move it to a host that qualifies", vec![Step::ByHand(step)])
                    .undone_by(vec![Step::ByHand(undo)], Vec::new())
                    .verified_by(&["vm.host-qualifies"])
                    .noting(&format!("these qualify: {}", better.join(", ")));
                judged = judged.cured_by(cure);
            }
            judged.decided_by(format!("what {host} lacks is in its own findings"))
        }
        Status::Unknown => {
            let open = row.needed(Status::Unknown).next();
            let decide = open.map_or_else(String::new, |cell| cell.decide.clone());
            let title = format!("whether {host} qualifies for {name} is not known: {}", says(Status::Unknown));
            Judged::unknown(vm, lack(row), title, decide)
        }
        _ => Judged::pass(vm, format!("{name} runs on {host}, which qualifies for RDMA")).shown_by(
            row.cells.iter().filter(|cell| cell.requirement.is_needed()).flat_map(|cell| cell.exhibits.clone()),
        ),
    }
}

/// Why a row is open.
fn lack(row: &Row) -> crate::diagnose::check::Lack {
    row.needed(Status::Unknown).find_map(|cell| cell.lack).unwrap_or(crate::diagnose::check::Lack::NotObservable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};

    const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                          pvrdma                      false\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)),
        healthy: Site::sound,
        unclear: || Site::sound().with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed")),
    };

    #[test]
    fn a_vm_that_was_moved_to_such_a_host_is_named() {
        let closed = Site::sound().with("esx01", says("esxi.firewall-rulesets", CLOSED));
        let judged = closed.moving_vms("esx02", "esx01").judge(&CHECK);
        let titles: Vec<(&str, Status)> = judged.iter().map(|judged| (judged.title.as_str(), judged.status)).collect();
        let lost = |name| format!("{name} runs on esx01, which does not qualify for RDMA");
        assert_eq!(titles, [(&*lost("pv-a"), Status::Fail), (&*lost("pv-b"), Status::Fail)]);
        assert!(judged[0].cures[0].steps[0].shown().contains("esx02"), "{judged:#?}");
    }
}
