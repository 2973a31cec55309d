//! Both ends of a cable keep the same class lossless, or neither does.

use super::cures;
use super::ports::{Wired, lossless_of, missing, said, system_of, unwired, wired};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};
use crate::probe::switch::{SwitchSystem, command_for};

/// Flow control is on at both ends, or at none.
pub const CHECK: Check = Check {
    id: "switch.pfc",
    title: "Priority flow control is on at both ends of an RDMA uplink",
    gate: "uplinks with RDMA of VMs",
    rule: "fails if it is on at the host and off at the switch port; warns the other way round; informs where neither end has it nor \
           global pause; passes where both agree",
    source: Source { text: "KB 326624 (PFC on priority 3, the same on host and switch); IEEE 802.1Qbb", weak: false },
    thresholds: &[],
    explains: &["switch.drops", "host.pause-drops", "guest.retransmits", "guest.queue-pairs", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all: Vec<Judged> = wired(scene).iter().map(|wired| at(scene, wired)).collect();
    all.extend(unwired(scene).iter().filter_map(|uplink| without_switch(scene, uplink)));
    all
}

fn at(scene: &Scene<'_>, wired: &Wired<'_>) -> Judged {
    let (port, uplink, name, host) = (&wired.port, &wired.uplink, wired.name(), wired.host());
    let about = wired.pfc(scene);
    let Some(on) = scene.flag(&about, Attribute::PfcEnabled) else {
        let (lack, why, decide) = missing(scene, wired, Attribute::PfcEnabled, "pfc");
        return Judged::unknown(port, lack, format!("whether PFC is on at {name}: {why}"), decide);
    };
    let Some(wanted) = scene.flag(uplink, Attribute::PfcEnabled) else {
        let (lack, why) = scene.lack(uplink, Attribute::PfcEnabled).unwrap_or_else(|| scene.silence(&uplink.target));
        let decide = format!("on {}: esxcli network nic dcb status get -n {}", uplink.target, uplink.entity.name());
        return Judged::unknown(port, lack, format!("whether {host} uses PFC like {name}: {why}"), decide);
    };
    let priorities = lossless_of(scene, uplink).unwrap_or_default();
    match (wanted, on) {
        (true, true) => Judged::pass(port, format!("PFC is on at {host} and at {name}")),
        (false, false) => neither(scene, wired),
        (true, false) => {
            let priority = priorities.first().copied().unwrap_or(3);
            let (steps, undo) = cures::pfc_on(system_of(scene, &port.target), port, priority, scene.text(port, Attribute::PfcMode));
            let judged = Judged::fail(
                port,
                Confidence::Proved,
                format!("PFC is on at {host} (priority {}) and off at {name}", said(&priorities)),
                "the switch does not pause the host when its buffers fill, it drops: RoCE sends whole windows again, and throughput \
                 collapses as soon as the port is busy",
            );
            judged
                .shown(&about, Attribute::PfcEnabled, format!("{}: PFC is off", port.entity.name()))
                .shown(uplink, Attribute::PfcEnabled, format!("{host}: PFC is on"))
                .cured_by(
                    Cure::on(&port.target, "Switch PFC on at the port", Risk::DisruptsRdma, steps)
                        .undone_by(undo, vec![(about.clone(), Attribute::PfcEnabled)])
                        .verified_by(&["switch.pfc", "switch.pfc-priority"])
                        .noting("every switch on the way needs the same lossless class"),
                )
                .reaching(wired.way(scene))
        }
        (false, true) => Judged::warn(
            port,
            Confidence::Proved,
            format!("PFC is on at {name} and off at {host}"),
            "the switch asks the host to pause a priority, and the host does not listen: frames that the switch cannot take are lost",
        )
        .shown(uplink, Attribute::PfcEnabled, format!("{host}: PFC is off"))
        .shown(&about, Attribute::PfcEnabled, format!("{}: PFC is on", port.entity.name()))
        .cured_by(
            Cure::by_hand(
                "Switch PFC on at the host",
                vec![Step::ByHand(format!(
                    "{}: set pfctx and pfcrx of the driver of {} for priority {}, with all parameters that are set now, then restart the host",
                    uplink.target,
                    uplink.entity.name(),
                    lossless_of(scene, &about).map_or_else(|| "3".to_owned(), |found| said(&found)),
                ))],
            )
            .risking(Risk::RebootsHost)
            .verified_by(&["switch.pfc", "host.pfc"]),
        )
        .reaching(wired.way(scene)),
    }
}

/// Flow control is off at both ends: global pause may do the same, and a fabric may do without.
fn neither(scene: &Scene<'_>, wired: &Wired<'_>) -> Judged {
    let (port, name, host) = (&wired.port, wired.name(), wired.host());
    let both = [Attribute::PauseRx, Attribute::PauseTx];
    let has_pause = |id: &EntityId| both.iter().all(|attribute| scene.flag(id, *attribute) == Some(true));
    if has_pause(port) && has_pause(&wired.uplink) {
        return Judged::pass(port, format!("{host} and {name} use global pause"));
    }
    Judged::info(
        port,
        format!("no lossless class between {host} and {name}"),
        "PFC is off at both ends, and global pause too: RoCE works, and every frame that a full buffer drops is sent again; with \
         ECN and little load that may be meant so",
    )
    .shown(&wired.pfc(scene), Attribute::PfcEnabled, format!("{}: PFC is off", port.entity.name()))
    .shown(&wired.uplink, Attribute::PfcEnabled, format!("{host}: PFC is off"))
    .reaching(wired.way(scene))
}

/// Nothing tells where an uplink with a lossless class is plugged in: who knows the switch is told what to type.
fn without_switch(scene: &Scene<'_>, uplink: &EntityId) -> Option<Judged> {
    let wanted = lossless_of(scene, uplink).filter(|wanted| !wanted.is_empty())?;
    let why = scene
        .joined
        .gaps
        .iter()
        .find(|gap| gap.about == *uplink && gap.missing == "switch port")
        .map_or_else(|| "no switch is in the inventory".to_owned(), |gap| gap.why.clone());
    let commands: Vec<String> =
        [(SwitchSystem::Eos, "Arista"), (SwitchSystem::NxOs, "Cisco"), (SwitchSystem::Cumulus, "Cumulus")]
            .into_iter()
            .map(|(system, maker)| {
                let what = if system == SwitchSystem::Cumulus { "roce" } else { "pfc" };
                format!("{maker}: {}", command_for(system, what, ""))
            })
            .collect();
    let title = format!(
        "whether PFC is on for priority {} at the switch port of {} of {}: {why}",
        said(&wanted),
        uplink.entity.name(),
        uplink.target
    );
    Some(Judged::unknown(uplink, Lack::NotObservable, title, format!("on that switch: {}", commands.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("D - -   -           -   "),
        healthy: Site::sound,
        unclear: || Site::sound().with("leaf1", fails("eos.pfc", 1, "Connection timed out")),
    };

    fn with(row: &str) -> Site {
        Site::sound().replacing("leaf1", "eos.pfc", "Et2     E A W   3           drop", &format!("Et2     {row}"))
    }

    /// The second host without flow control.
    fn host_off(site: Site) -> Site {
        site.replacing("esx02", "esxi.nic-dcb", "PFC Enabled: true", "PFC Enabled: false")
    }

    #[test]
    fn both_ends_count() {
        assert_eq!(host_off(Site::sound()).statuses(&CHECK), [Status::Pass, Status::Warn]);
        let neither = host_off(with("D - -   -           -   "));
        assert_eq!(neither.statuses(&CHECK), [Status::Pass, Status::Info], "a fabric may do without");
        let pause = neither
            .replacing("esx02", "esxi.nic-pause", "vmnic2                    true     false     false", "vmnic2                    true      true      true")
            .with(
                "leaf1",
                crate::diagnose::check::testing::says(
                    "eos.flow-control",
                    "{\"interfaceFlowControls\": {\"Ethernet2\": {\"rxOperState\": \"on\", \"txOperState\": \"on\"}}}\n",
                ),
            );
        assert_eq!(pause.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }

    #[test]
    fn a_switch_that_nobody_listed_is_asked_for_by_its_command() {
        let site = Site::sound().without_target("leaf1");
        let judged = site.judge(&CHECK);
        assert_eq!(judged.iter().map(|judged| judged.status).collect::<Vec<_>>(), [Status::Unknown, Status::Unknown]);
        assert!(judged[0].title.contains("priority 3") && judged[0].decide.contains("show priority-flow-control"));
        let virtual_switch = Site::sound().with(
            "leaf1",
            crate::diagnose::check::testing::says(
                "eos.pfc",
                "% Unavailable command (not supported on this hardware platform)\n",
            ),
        );
        assert_eq!(virtual_switch.statuses(&CHECK), [Status::Unknown, Status::Unknown]);
    }
}
