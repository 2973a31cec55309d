//! On which other hosts a VM would keep RDMA, and what a move to each would do: told before someone, or DRS, or HA does it.

use super::host_qualifies::way;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::qualify::{self, Device, Move, Place};

/// Where a VM would keep RDMA.
pub const CHECK: Check = Check {
    id: "vm.migration-targets",
    title: "A VM would keep RDMA on every other host",
    gate: "VMs with a PVRDMA adapter or a passed-through RDMA adapter, where the inventory has another host",
    rule: "informs if the VM would lose RDMA on another host or cannot move there; passes if it would keep it on all of them",
    source: Source {
        text: "vSphere Networking: PVRDMA Support; vSphere Resource Management: DirectPath I/O",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let places = qualify::places_of(scene);
    let places = places.iter().filter(|place| !place.moves.is_empty());
    places.map(|place| judge_place(place).reaching(way(scene, &place.vm))).collect()
}

fn told(one: &Move) -> String {
    let why = if one.why.is_empty() { String::new() } else { format!(" ({})", one.why) };
    format!("{}{why}: vMotion {}; DRS {}; HA {}", one.host, one.vmotion, one.drs, one.ha)
}

fn judge_place(place: &Place) -> Judged {
    let Place { vm, name, moves, .. } = place;
    let with = |status| moves.iter().filter(move |one| one.keeps == status);
    let names = |status| with(status).map(|one| one.host.as_str()).collect::<Vec<_>>().join(", ");
    if with(Status::Fail).next().is_some() {
        let mut cause = with(Status::Fail).map(told).collect::<Vec<_>>().join(". ");
        if !place.condition.is_empty() {
            cause = format!("{cause}. {}", place.condition);
        }
        let keeps = names(Status::Pass);
        let title = match (place.device, keeps.is_empty()) {
            (Device::Pvrdma, true) => format!("{name} would keep RDMA on no other host that is known"),
            (Device::Pvrdma, false) => {
                format!("{name} would lose RDMA on {}, and keep it on {keeps}", names(Status::Fail))
            }
            (Device::DynamicPassthrough, false) => format!("{name} could be started on {keeps}, and on no other host"),
            _ => format!("{name} is bound to {} by what is passed through", vm.target),
        };
        let shown = with(Status::Fail).flat_map(|one| one.exhibits.clone());
        return Judged::info(vm, title, cause).shown_by(shown);
    }
    if let Some(open) = with(Status::Unknown).next() {
        let lack = open.lack.unwrap_or(crate::diagnose::check::Lack::NotObservable);
        let title = format!("whether {name} would keep RDMA on {} is not known: {}", open.host, open.why);
        return Judged::unknown(vm, lack, title, open.decide.clone());
    }
    let keeps = names(Status::Pass);
    if place.condition.is_empty() {
        Judged::pass(vm, format!("{name} would keep RDMA on {keeps}"))
    } else {
        let shown =
            crate::diagnose::check::Exhibit::of(vm, crate::fabric::Attribute::HardwareVersion, "no RDMA namespaces");
        Judged::info(vm, format!("{name} would keep RDMA on {keeps}, with a condition"), place.condition.clone())
            .shown_by([shown])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};

    const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                          pvrdma                      false\n";

    /// No VM runs on esx02 and its firewall is closed: no check of hosts looks there.
    fn empty_and_closed() -> Site {
        Site::sound().moving_vms("esx02", "esx01").with("esx02", says("esxi.firewall-rulesets", CLOSED))
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: empty_and_closed,
        healthy: Site::sound,
        unclear: || {
            let site = Site::sound().moving_vms("esx02", "esx01");
            site.with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed"))
        },
    };

    #[test]
    fn the_consequences_of_each_way_to_move_are_told() {
        let judged = empty_and_closed().judge(&CHECK);
        let cause = &judged[0].cause;
        assert!(cause.contains("vMotion moves, and its RDMA becomes TCP without a message"), "{cause}");
        assert!(cause.contains("HA starts it there, and it has TCP in the place of RDMA"), "{cause}");
    }

    #[test]
    fn an_old_virtual_hardware_is_a_condition() {
        let site = Site::sound();
        let text = site.printed("esx02", "esxi.vm-configs").replace("vmx-19", "vmx-14");
        let list = site.printed("esx02", "esxi.vm-list").replace("vmx-19", "vmx-14");
        let file =
            site.printed("esx02", "esxi.vmx-files").replace("virtualHW.version = \"19\"", "virtualHW.version = \"14\"");
        let site = site
            .with("esx02", says("esxi.vm-configs", &text))
            .with("esx02", says("esxi.vm-list", &list))
            .with("esx02", says("esxi.vmx-files", &file));
        assert!(site.statuses(&CHECK).contains(&Status::Info), "{:#?}", site.judge(&CHECK));
    }

    #[test]
    fn with_one_host_there_is_nowhere_to_go() {
        assert_eq!(Site::sound().without_target("esx02").statuses(&CHECK), []);
    }
}
