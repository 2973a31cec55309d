//! The port of a distributed switch can be blocked by its administrator, whatever the adapter on it says.

use super::machine::{self, Kind};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity};

/// The ports of PVRDMA adapters are open and up.
pub const CHECK: Check = Check {
    id: "vm.port-blocked-or-down",
    title: "The switch ports of PVRDMA adapters are open and up",
    gate: "connected PVRDMA adapters of VMs that run, on a port that the host lists",
    rule: "fails if the port is blocked, or down although the adapter is connected; passes if it is up",
    source: Source { text: "vSphere Networking: Port Blocking Policies; field report: net-dvs -l", weak: false },
    thresholds: &[],
    explains: &[
        "guest.port-active",
        "guest.netdev-up",
        "guest.neighbour",
        "guest.queue-pairs",
        "guest.retransmits",
        "guest.transport",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    for vm in machine::with(scene, &[Kind::Pvrdma]).iter().filter(|vm| vm.is_on()) {
        for adapter in vm.of(&[Kind::Pvrdma]) {
            let chain = scene.joined.chains.iter().find(|chain| chain.device == adapter.id);
            let port = chain.and_then(|chain| chain.reaches(|entity| matches!(entity, Entity::SwitchPort { .. })));
            let Some(port) = port else { continue };
            if scene.flag(&adapter.id, Attribute::DeviceConnected) == Some(false) {
                continue;
            }
            let name = port.entity.name();
            let Entity::SwitchPort { switch, port: number } = &port.entity else { continue };
            let state = scene.text(port, Attribute::PortLink).unwrap_or_default();
            let (title, cause) = match state {
                "up" => {
                    found.push(vm.pass(port, &format!("its port {name} is up")));
                    continue;
                }
                "blocked" => (
                    format!("port {number} of {switch} is blocked"),
                    "a blocked port passes no frame in either direction: the adapter looks connected, and nothing arrives",
                ),
                "down" => (
                    format!("port {number} of {switch} is down, and its adapter is connected"),
                    "the switch passes nothing to a port without a link",
                ),
                _ => {
                    let (lack, why) = scene
                        .unread(&vm.host, "esxi.net-dvs-list")
                        .or_else(|| scene.lack(port, Attribute::PortLink))
                        .unwrap_or((Lack::NotObservable, "the host does not say".to_owned()));
                    let decide = format!("on {}: net-dvs -l, port {number}: volatile.status and port.block", vm.host);
                    found.push(vm.unclear(port, lack, &format!("state of its port {name}: {why}"), decide));
                    continue;
                }
            };
            let is_blocked = state == "blocked";
            let mut judged = vm.fault(port, Status::Fail, &title, cause);
            judged = judged.shown(port, Attribute::PortLink, format!("port {number} is {state}"));
            if is_blocked {
                let step = |state: &str| {
                    vec![Step::ByHand(format!(
                        "vCenter: Networking > {switch} > Ports > {number} > Edit Settings > Miscellaneous > Block port: {state}"
                    ))]
                };
                judged = judged.cured_by(
                    Cure::by_hand("Open the port", step("No"))
                        .undone_by(step("Yes"), vec![(port.clone(), Attribute::PortLink)])
                        .verified_by(&["vm.port-blocked-or-down"])
                        .noting("where the port group sets it, it is changed there, for all its ports"),
                );
            } else {
                // Why it is down the list of ports does not say.
                judged.confidence = Confidence::Likely;
                judged = judged.decided_by(format!(
                    "in the guest: ip -d link show (is the interface set up?); vCenter: {} > Edit Settings > {}",
                    vm.name, adapter.label
                ));
            }
            found.push(judged.reaching(vm.way_of(scene, &adapter.id)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    const PORT: &str = "com.vmware.common.port.connectid = 731402117 ,\tpropType = CONFIG\n\t\tcom.vmware.common.port.portgroupid = \
                        dvportgroup-117201 ,\tpropType = CONFIG\n\t\tcom.vmware.common.port.block = false";
    const STATUS: &str = "inUse linkUp portID=67108868";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("esx01", "esxi.net-dvs-list", PORT, &PORT.replace("false", "true")),
        healthy: Site::sound,
        unclear: || Site::sound().replacing("esx01", "esxi.net-dvs-list", STATUS, "inUse portID=67108868"),
    };

    #[test]
    fn a_port_that_is_down_does_not_say_why() {
        let site = Site::sound().replacing("esx01", "esxi.net-dvs-list", STATUS, "inUse linkDown portID=67108868");
        let found = site.judge(&CHECK);
        let down = found.iter().find(|judged| judged.status == Status::Fail).expect("it is down");
        assert!(down.confidence == Confidence::Likely && !down.decide.is_empty() && down.cures.is_empty(), "{down:?}");
    }
}
