//! The driver of an adapter has a second module for RDMA, which can be disabled, unloaded or missing.

use super::bearing::{Carrier, THEN_REBOOT, carriers, rdma_of, trouble, uplinks_of};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The RDMA module of the uplink's driver works.
pub const CHECK: Check = Check {
    id: "host.rdma-module",
    title: "The RDMA module of the uplink's driver is loaded",
    gate: "hosts with a VM that has a PVRDMA adapter, whose uplink has a driver with a known RDMA module",
    rule: "fails if no RDMA device works on the uplink and the module is missing, disabled or not loaded, or if vrdma is disabled; passes if the device \
           is there, or the module is loaded",
    source: Source { text: "ESXCLI Command Reference: esxcli system module", weak: false },
    thresholds: &[],
    explains: &[
        "host.rdma-device",
        "host.rdma-port-active",
        "guest.transport",
        "vm.host-qualifies",
        "host.module-options",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Drivers of adapters with their modules for RDMA.
const PAIRS: [(&str, &str); 6] = [
    ("nmlx5_core", "nmlx5_rdma"),
    ("nmlx4_core", "nmlx4_rdma"),
    ("bnxtnet", "bnxtroce"),
    ("qedentv", "qedrntv"),
    ("icen", "irdman"),
    ("i40en", "irdman"),
];

/// The module for RDMA of a driver.
pub(super) fn of_driver(driver: &str) -> Option<&'static str> {
    PAIRS.iter().find(|(name, _)| *name == driver).map(|(_, module)| *module)
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    for carrier in carriers(scene) {
        found.extend(vrdma(scene, &carrier));
        let uplinks: Vec<EntityId> =
            carrier.switches.iter().copied().flat_map(|switch| uplinks_of(scene, switch)).collect();
        let mut told: Vec<&str> = Vec::new();
        for uplink in uplinks {
            let Some(module) = scene.text(&uplink, Attribute::Driver).and_then(of_driver) else { continue };
            if told.contains(&module) {
                continue;
            }
            told.push(module);
            let id = EntityId::new(carrier.host, Entity::Module(module.into()));
            if rdma_of(scene, &uplink).is_some() {
                let name = uplink.entity.name();
                found.push(Judged::pass(&id, format!("{module} of {} made an RDMA device of {name}", carrier.host)));
                continue;
            }
            let judged = of_module(scene, carrier.host, &uplink, &id, module, carrier.runs);
            found.push(judged.reaching(carrier.way(scene)).reaching([EntityId::new(carrier.host, Entity::Host)]));
        }
    }
    found
}

/// The module that makes PVRDMA adapters, where somebody disabled it.
fn vrdma(scene: &Scene<'_>, carrier: &Carrier<'_>) -> Option<Judged> {
    let (host, id) = (carrier.host, EntityId::new(carrier.host, Entity::Module("vrdma".into())));
    if scene.flag(&id, Attribute::ModuleEnabled) != Some(false) {
        return None;
    }
    let set = |state: &str| vec![Step::run(&["esxcli", "system", "module", "set", "-m", "vrdma", "-e", state])];
    let judged = carrier
        .trouble(
            &id,
            Confidence::Proved,
            format!("{host}: the module vrdma is disabled"),
            "it is the part of the VMkernel that makes PVRDMA adapters out of the RDMA device".to_owned(),
        )
        .shown(&id, Attribute::ModuleEnabled, "vrdma is not enabled")
        .cured_by(
            Cure::on(host, "Enable vrdma", Risk::RebootsHost, set("true"))
                .undone_by(set("false"), vec![(id.clone(), Attribute::ModuleEnabled)])
                .verified_by(&["host.rdma-module"])
                .noting(THEN_REBOOT),
        );
    Some(judged.reaching(carrier.way(scene)))
}

fn of_module(scene: &Scene<'_>, host: &TargetId, uplink: &EntityId, id: &EntityId, module: &str, runs: bool) -> Judged {
    let name = uplink.entity.name();
    let driver = scene.text(uplink, Attribute::Driver).unwrap_or_default();
    let (loaded, enabled) = (scene.flag(id, Attribute::ModuleLoaded), scene.flag(id, Attribute::ModuleEnabled));
    let verified = ["host.rdma-module", "host.rdma-device"];
    let cause =
        format!("{driver} drives {name}, and RDMA is the matter of {module}: without it there is no RDMA device");
    match (enabled, loaded) {
        (Some(false), _) => {
            let set = |state: &str| vec![Step::run(&["esxcli", "system", "module", "set", "-m", module, "-e", state])];
            trouble(runs, id, Confidence::Proved, format!("{host}: the module {module} is disabled"), cause)
                .shown(id, Attribute::ModuleEnabled, format!("{module} is not enabled"))
                .cured_by(
                    Cure::on(host, &format!("Enable {module}"), Risk::RebootsHost, set("true"))
                        .undone_by(set("false"), vec![(id.clone(), Attribute::ModuleEnabled)])
                        .verified_by(&verified)
                        .noting(THEN_REBOOT),
                )
        }
        (_, Some(false)) => {
            let load = vec![Step::run(&["esxcli", "system", "module", "load", "-m", module])];
            trouble(runs, id, Confidence::Proved, format!("{host}: the module {module} is not loaded"), cause)
                .shown(id, Attribute::ModuleLoaded, format!("{module} is not loaded"))
                .cured_by(
                    Cure::on(host, &format!("Load {module}"), Risk::None, load)
                        .undone_by(
                            vec![Step::run(&["vmkload_mod", "-u", module])],
                            vec![(id.clone(), Attribute::ModuleLoaded)],
                        )
                        .verified_by(&verified)
                        .noting("it is loaded by itself when the host starts; if it does not load now, its messages in vmkernel.log say why"),
                )
        }
        (_, Some(true)) => Judged::pass(id, format!("{module} of {host} is loaded")),
        (_, None) => match scene.unread(host, "esxi.module-list") {
            Some((lack, why)) => {
                let title = format!("whether {module} of {host} is loaded: {why}");
                Judged::unknown(id, lack, title, format!("esxcli system module list | grep {module}"))
            }
            None => trouble(runs, id, Confidence::Proved, format!("{host}: the module {module} is not installed"), cause)
                .shown(uplink, Attribute::Driver, format!("{name} is driven by {driver}, and no module {module} is listed"))
                .cured_by(
                    Cure::by_hand(
                        &format!("Install the driver with {module}"),
                        vec![Step::ByHand(format!(
                            "install the vendor's driver bundle for this release of ESXi (vSphere Lifecycle Manager, or esxcli \
                             software component apply -d ...); {module} comes with it"
                        ))],
                    )
                    .risking(Risk::RebootsHost)
                    .verified_by(&verified),
                ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const ROW: &str = "nmlx5_rdma        true        true";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || off("nmlx5_rdma       false       false"),
        healthy: || Site::sound(),
        unclear: || off(ROW).with("esx02", fails("esxi.module-list", 1, "Connect to localhost failed")),
    };

    fn off(row: &str) -> Site {
        ["esxi.rdma-devices", "esxi.rdma-vmknics", "esxi.rdma-protocols", "esxi.rdma-stats"]
            .iter()
            .fold(Site::sound(), |site, source| site.with("esx02", says(source, "")))
            .replacing("esx02", "esxi.module-list", ROW, row)
    }

    #[test]
    fn the_module_of_pvrdma_itself() {
        let row = "vrdma             true        true";
        let site = Site::sound().replacing("esx02", "esxi.module-list", row, "vrdma            false       false");
        let told: Vec<String> = site
            .judge(&CHECK)
            .into_iter()
            .filter(|judged| judged.status == Status::Fail)
            .map(|judged| judged.title)
            .collect();
        assert_eq!(told, ["esx02: the module vrdma is disabled"]);
    }

    fn second(site: &Site) -> Judged {
        site.judge(&CHECK).pop().expect("judged")
    }

    #[test]
    fn disabled_unloaded_and_missing_are_three_things() {
        let disabled = second(&off("nmlx5_rdma       false       false"));
        assert_eq!(disabled.cures[0].undo[0].shown(), "esxcli system module set -m nmlx5_rdma -e false");
        let unloaded = second(&off("nmlx5_rdma       false        true"));
        assert_eq!(unloaded.cures[0].steps[0].shown(), "esxcli system module load -m nmlx5_rdma");
        let missing = second(&off("other             true        true"));
        assert_eq!(missing.title, "esx02: the module nmlx5_rdma is not installed");
        let loaded = second(&off(ROW));
        assert_eq!(loaded.status, Status::Pass, "why there is no device is not this module's fault");
    }
}
