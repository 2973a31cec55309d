//! The priority that the adapter puts on RDMA must be the one with flow control: by PCP or by DSCP, as its options say.

use super::bearing::{THEN_REBOOT, driver_of, number, options, rdma_uplinks, set_options, way, why};
use super::pfc::live;
use super::rdma_module::of_driver;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId};

/// RDMA travels on a priority with flow control.
pub const CHECK: Check = Check {
    id: "host.trust-mode",
    title: "RDMA is marked for a priority that has flow control",
    gate: "uplinks with an nmlx5 driver and flow control on, that PVRDMA adapters or virtual functions of VMs leave by, whose \
           module options force a PCP or DSCP",
    rule: "warns if dscp_force (with trust_state=2) or pcp_force leads to a priority without flow control, or dscp_force is set \
           while the adapter trusts PCP; passes if the priority has it",
    source: Source { text: "NVIDIA ConnectX Driver for VMware ESXi: trust_state, dscp_force, pcp_force", weak: false },
    thresholds: &[],
    explains: &["host.pause-drops", "switch.drops", "guest.retransmits"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .filter_map(|used| {
            let live = live(scene, &used.id).filter(|live| !live.is_empty())?;
            let core = driver_of(scene, &used.id)?;
            let driver = core.entity.name();
            if !driver.starts_with("nmlx5") {
                return None;
            }
            let (host, name) = (&used.id.target, used.id.entity.name());
            let rdma = EntityId::new(host, Entity::Module(of_driver(&driver)?.into()));
            for module in [&core, &rdma] {
                let is_told = scene
                    .fabric
                    .reading(module, Attribute::ModuleOptions)
                    .is_some_and(|reading| matches!(reading.state, crate::fabric::State::Known(_) | crate::fabric::State::Empty));
                if !is_told {
                    let (lack, why) = why(scene, module, Attribute::ModuleOptions, "esxi.module-options");
                    let module = module.entity.name();
                    let title = format!("the options of {module} of {host}: {why}");
                    return Some(Judged::unknown(&used.id, lack, title, format!("esxcfg-module -g {module}")));
                }
            }
            let (trusts, forces) = (options(scene, &core), options(scene, &rdma));
            let forced = |name: &str| forces.get(name).and_then(|word| number(word)).filter(|value| *value < 64);
            let (dscp, pcp) = (forced("dscp_force"), forced("pcp_force"));
            let by_dscp = trusts.get("trust_state").is_some_and(|word| number(word) == Some(2));
            let (title, cause, fixed) = match (by_dscp, dscp, pcp) {
                (true, Some(dscp), _) if !live.contains(&(dscp >> 3)) => (
                    format!("{host}: {name} marks RDMA with DSCP {dscp}, priority {}, which has no flow control", dscp >> 3),
                    "the adapter trusts DSCP and puts RDMA on a lossy priority: pause frames never stop it, and the switch drops it",
                    live.first().map(|first| replaced(scene, &rdma, "dscp_force", &dscp_of(*first).to_string())),
                ),
                (false, _, Some(pcp)) if !live.contains(&pcp) => (
                    format!("{host}: {name} marks RDMA with PCP {pcp}, which has no flow control"),
                    "the adapter puts RDMA on a lossy priority: pause frames never stop it, and the switch drops it",
                    live.first().map(|first| replaced(scene, &rdma, "pcp_force", &first.to_string())),
                ),
                (false, Some(dscp), None) => (
                    format!("{host}: {name} marks RDMA with DSCP {dscp}, and the adapter does not trust DSCP"),
                    "without trust_state=2 the adapter takes the priority from the VLAN tag, so RDMA travels on priority 0 \
                     whatever its DSCP says",
                    None,
                ),
                (false, None, None) | (true, None, _) => return None,
                _ => return Some(Judged::pass(&used.id, format!("{name} of {host} marks RDMA for a priority with flow control"))),
            };
            let (module, wanted) = match fixed {
                Some(wanted) => (&rdma, wanted),
                None => (&core, replaced(scene, &core, "trust_state", "2")),
            };
            let text = |module| scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
            let mut judged = Judged::warn(&used.id, Confidence::Proved, title, cause)
                .shown(&rdma, Attribute::ModuleOptions, format!("options of {}: {}", rdma.entity.name(), text(&rdma)))
                .shown(&used.id, Attribute::PfcPriorities, format!("flow control of {name} is on for {live:?}"));
            if !text(&core).is_empty() {
                judged = judged.shown(&core, Attribute::ModuleOptions, format!("options of {driver}: {}", text(&core)));
            }
            let set = set_options(&module.entity.name(), &wanted);
            Some(
                judged
                    .cured_by(
                        Cure::on(host, "Mark RDMA for the priority with flow control", Risk::RebootsHost, set)
                            .undone_by(
                                set_options(&module.entity.name(), text(module)),
                                vec![(module.clone(), Attribute::ModuleOptions)],
                            )
                            .verified_by(&["host.trust-mode"])
                            .noting(THEN_REBOOT),
                    )
                    .reaching(way(scene, &used.chains)),
            )
        })
        .collect()
}

/// The DSCP that vendors use for a priority: 26 for 3, else the first of its eight.
fn dscp_of(priority: u64) -> u64 {
    if priority == 3 { 26 } else { priority << 3 }
}

/// The whole option string with one option changed or added.
fn replaced(scene: &Scene<'_>, module: &EntityId, name: &str, value: &str) -> String {
    let old = scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
    let kept = old.split_whitespace().filter(|part| part.split('=').next() != Some(name)).map(str::to_owned);
    let mut parts: Vec<String> = kept.collect();
    parts.push(format!("{name}={value}"));
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || options("pcp_force=3 dscp_force=46"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.module-options", 127, "sh: esxcfg-module: not found")),
    };

    fn options(text: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.module-options", "pcp_force=3 dscp_force=26", text)
    }

    #[test]
    fn each_mark_is_held_against_what_the_adapter_trusts() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: vmnic2 marks RDMA with DSCP 46, priority 5, which has no flow control");
        assert_eq!(
            judged.cures[0].steps[0].shown(),
            "esxcli system module parameters set -m nmlx5_rdma -p 'pcp_force=3 dscp_force=26'"
        );
        let by_pcp = |text| options(text).replacing("esx02", "esxi.module-options", "trust_state=2", "trust_state=1");
        assert_eq!(by_pcp("pcp_force=4").statuses(&CHECK), [Status::Pass, Status::Warn]);
        assert_eq!(by_pcp("dscp_force=26").statuses(&CHECK), [Status::Pass, Status::Warn]);
        assert_eq!(by_pcp("pcp_force=3 dscp_force=26").statuses(&CHECK), [Status::Pass, Status::Pass]);
        assert_eq!(by_pcp("").statuses(&CHECK), [Status::Pass], "nothing is forced: the guest or vSphere may mark it");
    }
}
