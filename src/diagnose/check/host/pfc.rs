//! RoCE wants a network that does not drop: flow control on the priority of RDMA, in force on every host alike.

use std::collections::BTreeSet;

use super::bearing::{
    THEN_REBOOT, UsedUplink, alike, driver_of, is_empty, number, options, priorities, rdma_uplinks, set_options, way,
    why,
};
use super::dcb_mode::pauses;
use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, State};

/// Flow control is on, and on the right priority.
pub const CHECK: Check = Check {
    id: "host.pfc",
    title: "Priority flow control is in force on the priority of RDMA",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by, unless global pause takes the place of PFC",
    rule: "warns if PFC is off, is on without the priority of RDMA, is on for other priorities than the module options ask for, \
           or differs between sending and receiving in those options; passes if it is on for that priority",
    source: Source {
        text: "KB 326624: RDMA needs DCB mode IEEE and PFC on priority 3; NVIDIA nmlx5: pfctx, pfcrx",
        weak: false,
    },
    thresholds: &[PRIORITY],
    explains: &["host.pause-drops", "switch.drops", "switch.pfc", "guest.retransmits", "guest.receiver-not-ready"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The priority of RDMA.
pub(super) const PRIORITY: Threshold = Threshold {
    key: "host.pfc.priority",
    default: 3.0,
    unit: "",
    meaning: "priority (0 to 7) that RDMA travels on",
    source: "KB 326624: PFC priority 3",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let used = rdma_uplinks(scene);
    let held: Vec<(EntityId, String)> =
        used.iter().filter_map(|uplink| Some((uplink.id.clone(), shown(&live(scene, &uplink.id)?)))).collect();
    let compared = alike(&held);
    used.iter()
        .filter_map(|uplink| {
            let odd = compared.as_ref().filter(|alike| alike.odd.iter().any(|(id, _)| *id == uplink.id));
            of_uplink(scene, uplink, odd.map(|alike| alike.model))
        })
        .collect()
}

/// The priority of RDMA on this site, of 0 to 7.
fn priority(scene: &Scene<'_>) -> u64 {
    let set = scene.thresholds.of(&PRIORITY);
    (0..8_u32).find(|priority| f64::from(*priority) >= set).map_or(7, u64::from)
}

/// The priorities with flow control in force; `None` where that is not known.
pub(super) fn live(scene: &Scene<'_>, uplink: &EntityId) -> Option<BTreeSet<u64>> {
    if scene.flag(uplink, Attribute::PfcEnabled) == Some(false) {
        return Some(BTreeSet::new());
    }
    if is_empty(scene, uplink, Attribute::PfcPriorities) {
        return Some(BTreeSet::new());
    }
    let list = scene.list(uplink, Attribute::PfcPriorities)?;
    Some(list.iter().filter_map(|word| word.parse().ok()).collect())
}

fn shown(priorities: &BTreeSet<u64>) -> String {
    if priorities.is_empty() {
        return "no priority".to_owned();
    }
    let words: Vec<String> = priorities.iter().map(ToString::to_string).collect();
    format!("priority {}", words.join(", "))
}

fn of_uplink(scene: &Scene<'_>, used: &UsedUplink<'_>, twin: Option<&(EntityId, String)>) -> Option<Judged> {
    let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
    let wanted = priority(scene);
    let Some(live) = live(scene, id) else {
        if pauses(scene, id) {
            return None;
        }
        if let Some(judged) = without_both(scene, used) {
            return Some(judged);
        }
        let (lack, why) = why(scene, id, Attribute::PfcPriorities, "esxi.nic-dcb");
        let decide = format!("esxcli network nic dcb status get -n {name}");
        return Some(Judged::unknown(id, lack, format!("the flow control of {name} of {host}: {why}"), decide));
    };
    if live.is_empty() && pauses(scene, id) {
        return None;
    }
    let module = driver_of(scene, id);
    let set = module.as_ref().map(|module| options(scene, module)).unwrap_or_default();
    let mask = |name: &str| set.get(name).and_then(|word| number(word));
    let (tx, rx) = (mask("pfctx"), mask("pfcrx"));
    let evidence = if scene.flag(id, Attribute::PfcEnabled) == Some(false) {
        Attribute::PfcEnabled
    } else {
        Attribute::PfcPriorities
    };
    let warn = |title: String, cause: String| {
        let mut judged = Judged::warn(id, Confidence::Proved, title, cause);
        judged = judged.shown(id, evidence, format!("{name} of {host}: flow control on {}", shown(&live)));
        if let (Some(module), true) = (&module, tx.is_some() || rx.is_some()) {
            let text = scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
            judged =
                judged.shown(module, Attribute::ModuleOptions, format!("options of {}: {text}", module.entity.name()));
        }
        if let Some((other, value)) = twin {
            let words = format!("{} of {}: flow control on {value}", other.entity.name(), other.target);
            judged = judged.shown(other, Attribute::PfcPriorities, words);
        }
        judged.cured_by(cure(scene, id, module.as_ref(), wanted)).reaching(way(scene, &used.chains))
    };
    if !live.contains(&wanted) {
        let asked = [tx, rx].into_iter().flatten().any(|mask| mask & (1 << wanted.min(63)) != 0);
        let title = if live.is_empty() {
            format!("{host}: priority flow control of {name} is off")
        } else {
            format!("{host}: {name} has flow control on {}, not on {wanted}", shown(&live))
        };
        let cause = if asked {
            format!(
                "the options of the module ask for priority {wanted} and it is not in force: the host was not started since, or \
                 the switch negotiated it away; the link drops RDMA under load"
            )
        } else {
            format!(
                "without flow control on priority {wanted}, and without global pause, the link drops RDMA under load"
            )
        };
        return Some(warn(title, cause));
    }
    if let (Some(tx), Some(rx)) = (tx, rx)
        && tx != rx
    {
        let title =
            format!("{host}: flow control of {name} differs between sending ({tx:#04x}) and receiving ({rx:#04x})");
        return Some(warn(
            title,
            "one direction of the link honours pause frames that the other never sends".to_owned(),
        ));
    }
    if let Some(asked) = tx.or(rx).filter(|mask| *mask != 0 && priorities(*mask) != live) {
        let title = format!(
            "{host}: {name} has flow control on {}, its module options ask for {}",
            shown(&live),
            shown(&priorities(asked))
        );
        let cause = "what is in force is not what is configured: the host was not started since the options changed, or the \
                     switch dictates other priorities";
        return Some(warn(title, cause.to_owned()));
    }
    // A twin that is wrong itself is told of where it is.
    if let Some((other, value)) =
        twin.filter(|(other, _)| self::live(scene, other).is_some_and(|live| live.contains(&wanted)))
    {
        let title = format!(
            "{host} and {}: {name} has flow control on {}, {} on {value}",
            other.target,
            shown(&live),
            other.entity.name()
        );
        return Some(warn(
            title,
            "pause frames of one priority do not stop what the other host sends on another".to_owned(),
        ));
    }
    Some(Judged::pass(id, format!("{name} of {host} has flow control on {}", shown(&live))))
}

/// An adapter whose driver knows no flow control by priority, with global pause switched off: nothing holds a sender back.
fn without_both(scene: &Scene<'_>, used: &UsedUplink<'_>) -> Option<Judged> {
    let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
    let state = &scene.fabric.reading(id, Attribute::PfcEnabled)?.state;
    let (rx, tx) = (scene.flag(id, Attribute::PauseRx)?, scene.flag(id, Attribute::PauseTx)?);
    if !matches!(state, State::NotPublished(_)) || (rx && tx) {
        return None;
    }
    let set = |rx: bool, tx: bool| {
        let (rx, tx) = (rx.to_string(), tx.to_string());
        vec![Step::run(&["esxcli", "network", "nic", "pauseParams", "set", "-n", &name, "-r", &rx, "-t", &tx])]
    };
    let judged = Judged::warn(
        id,
        Confidence::Likely,
        format!("{host}: {name} has neither priority flow control nor global pause"),
        "the driver offers no flow control by priority, and pause frames are off: the link drops RDMA under load",
    )
    .shown(id, if rx { Attribute::PauseTx } else { Attribute::PauseRx }, format!("pause of {name}: RX {rx}, TX {tx}"))
    .decided_by(format!("esxcli network nic dcb status get -n {name}: does a newer driver answer?"))
    .cured_by(
        Cure::on(host, &format!("Switch global pause of {name} on"), Risk::DisruptsRdma, set(true, true))
            .undone_by(set(rx, tx), vec![(id.clone(), Attribute::PauseRx), (id.clone(), Attribute::PauseTx)])
            .verified_by(&["host.pfc"])
            .noting(
                "on the switch port too; lost at the next start of the host unless /etc/rc.local.d/local.sh does it",
            ),
    )
    .reaching(way(scene, &used.chains));
    Some(judged)
}

/// Sets the whole option string anew, with both masks.
fn cure(scene: &Scene<'_>, uplink: &EntityId, module: Option<&EntityId>, wanted: u64) -> Cure {
    let verified = ["host.pfc", "host.dcb-mode"];
    let switch = format!(
        "the switch port of {}: flow control on priority {wanted} for RoCE, as on the ports of the others",
        uplink.entity.name()
    );
    let known = module.filter(|module| {
        module.entity.name().starts_with("nmlx")
            && scene.fabric.reading(module, Attribute::ModuleOptions).is_some_and(|reading| {
                reading.state.why().is_none() || is_empty(scene, module, Attribute::ModuleOptions)
            })
    });
    let Some(module) = known else {
        let driver = "then the flow control of the driver, as its vendor's guide for RoCE on ESXi has it".to_owned();
        return Cure::by_hand("Switch flow control on at both ends", vec![Step::ByHand(switch), Step::ByHand(driver)])
            .risking(Risk::DisruptsRdma)
            .verified_by(&verified);
    };
    let old = scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
    let mask = format!("0x{:02x}", 1_u64 << wanted.min(7));
    let mut parts: Vec<String> = vec![format!("pfctx={mask}"), format!("pfcrx={mask}")];
    let kept = old.split_whitespace().filter(|part| !part.starts_with("pfctx=") && !part.starts_with("pfcrx="));
    parts.extend(kept.map(str::to_owned));
    let name = module.entity.name();
    Cure::on(
        &module.target,
        "Set both masks, with all other options",
        Risk::RebootsHost,
        set_options(&name, &parts.join(" ")),
    )
    .undone_by(set_options(&name, old), vec![(module.clone(), Attribute::ModuleOptions)])
    .verified_by(&verified)
    .noting(&format!("{THEN_REBOOT}. On {switch}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || dcb("   Mode: 3 - IEEE Mode\n   PFC Enabled: false\n   PFC Configuration: 0 0 0 0 0 0 0 0\n"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-dcb", 1, "Connect to localhost failed")),
    };

    fn dcb(status: &str) -> Site {
        let text = format!("@item vmnic2\n{status}\n@status 0\n");
        Site::sound().with("esx02", crate::diagnose::check::testing::says("esxi.nic-dcb", &text))
    }

    fn on(configuration: &str) -> Site {
        dcb(&format!("   Mode: 3 - IEEE Mode\n   PFC Enabled: true\n   PFC Configuration: {configuration}\n"))
    }

    fn second(site: &Site) -> Judged {
        site.judge(&CHECK).pop().expect("judged")
    }

    #[test]
    fn the_whole_option_string_is_written() {
        let judged = second(&(SAMPLES.trouble)());
        let cure = &judged.cures[0];
        assert_eq!(
            cure.steps[0].shown(),
            "esxcli system module parameters set -m nmlx5_core -p 'pfctx=0x08 pfcrx=0x08 trust_state=2 max_vfs=2'"
        );
        assert_eq!(cure.risk, Risk::RebootsHost);
        assert!(judged.cause.contains("not in force"), "{}", judged.cause);
    }

    #[test]
    fn another_priority_and_one_more() {
        assert_eq!(second(&on("0 0 0 0 0 1 0 0")).title, "esx02: vmnic2 has flow control on priority 5, not on 3");
        let both = second(&on("0 0 0 1 0 1 0 0"));
        assert!(both.title.contains("priority 3, 5, its module options ask for priority 3"), "{}", both.title);
        let spelled =
            on("0 0 0 1 0 0 0 0").replacing("esx02", "esxi.module-options", "pfctx=0x08 pfcrx=0x08", "pfctx=8 pfcrx=8");
        assert_eq!(second(&spelled).status, Status::Pass, "8 is 0x08");
        let lopsided = on("0 0 0 1 0 0 0 0").replacing("esx02", "esxi.module-options", "pfcrx=0x08", "pfcrx=0x00");
        assert!(second(&lopsided).title.contains("sending (0x08) and receiving (0x00)"), "{}", second(&lopsided).title);
        let without = on("0 0 0 1 0 1 0 0").replacing("esx02", "esxi.module-options", "pfctx=0x08 pfcrx=0x08 ", "");
        assert!(second(&without).title.starts_with("esx02 and esx01: vmnic2 has flow control on priority 3, 5"));
    }

    /// What a driver without bridging answers, and a vendor's default of no pause.
    #[test]
    fn neither_the_one_nor_the_other_is_a_lossy_link() {
        let no = "Unable to complete Sysinfo operation.  Please see the VMkernel log file for more details.: Sysinfo error: Not \
                  supported";
        let text = format!("@item vmnic2\n{no}\n\n@status 1\n");
        let site = Site::sound().with("esx02", crate::diagnose::check::testing::says("esxi.nic-dcb", &text));
        let judged = second(&site);
        assert_eq!(judged.title, "esx02: vmnic2 has neither priority flow control nor global pause");
        assert_eq!(judged.cures[0].undo[0].shown(), "esxcli network nic pauseParams set -n vmnic2 -r false -t false");
    }

    #[test]
    fn a_site_may_use_another_priority_and_pause_will_do() {
        let site = on("0 0 0 0 0 1 0 0").with_threshold("host.pfc.priority", 5.0);
        let site = site.replacing("esx02", "esxi.module-options", "pfctx=0x08 pfcrx=0x08", "pfctx=0x20 pfcrx=0x20");
        assert_eq!(site.statuses(&CHECK), [Status::Warn, Status::Pass], "now the other host is wrong");
        let pause = (SAMPLES.trouble)().replacing(
            "esx02",
            "esxi.nic-pause",
            "vmnic2                    true     false     false",
            "vmnic2                    true      true      true",
        );
        assert_eq!(pause.statuses(&CHECK), [Status::Pass]);
    }
}
