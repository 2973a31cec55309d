//! Options of the modules that carry RDMA. They are one string: whoever sets one option later wipes the others, in silence.

use std::collections::{BTreeMap, BTreeSet};

use super::bearing::{
    THEN_REBOOT, alike, driver_of, is_empty, number, options, rdma_of, rdma_uplinks, set_options, way, why,
};
use super::rdma_module::of_driver;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Chain;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId};

/// The options are complete and known.
pub const CHECK: Check = Check {
    id: "host.module-options",
    title: "The options of the RDMA driver's modules are complete, known to the driver, and alike on all hosts",
    gate: "modules of the uplinks that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "fails if an option switches RDMA off and no RDMA device is there; warns if an option is none of the module's \
           parameters, or if options for RDMA are missing or other than on most hosts with the module; passes otherwise",
    source: Source {
        text: "ESXCLI Command Reference: esxcli system module parameters set (without -a it replaces all options)",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "host.pfc",
        "host.trust-mode",
        "host.sriov-functions",
        "host.rdma-device",
        "host.dcb-mode",
        "guest.transport",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Options that decide how RDMA travels.
const CARRYING: [&str; 9] =
    ["pfctx", "pfcrx", "trust_state", "dcbx", "pcp_force", "dscp_force", "enable_rocev2", "roce", "rdma"];

/// Options that switch RDMA off where they are 0.
const SWITCHES: [&str; 4] = ["roce", "enable_roce", "rdma", "enable_rdma"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut modules: BTreeMap<EntityId, (bool, Vec<&Chain>)> = BTreeMap::new();
    for used in rdma_uplinks(scene) {
        let Some(core) = driver_of(scene, &used.id) else { continue };
        let rdma = of_driver(&core.entity.name())
            .map(|name| EntityId::new(&used.id.target, Entity::Module(name.into())))
            .filter(|module| scene.exists(module));
        let has_device = rdma_of(scene, &used.id).is_some();
        for module in [Some(core), rdma].into_iter().flatten() {
            let entry = modules.entry(module).or_default();
            entry.0 |= has_device;
            entry.1.extend(used.chains.iter().copied());
        }
    }
    // Modules of one name, by what they carry of RDMA.
    let mut by_name: BTreeMap<String, Vec<(EntityId, String)>> = BTreeMap::new();
    for module in modules.keys().filter(|module| is_told(scene, module)) {
        by_name.entry(module.entity.name()).or_default().push((module.clone(), shown(&carried(scene, module))));
    }
    modules
        .iter()
        .map(|(module, (has_device, chains))| {
            let held = by_name.get(&module.entity.name()).map(Vec::as_slice).unwrap_or_default();
            let model = model_of(scene, held, module);
            of_module(scene, module, *has_device, model.as_ref()).reaching(way(scene, chains))
        })
        .collect()
}

/// The module that another is to be like, if it is not like it. Of two of which one has all that the other has, and more, the
/// other lacks something: options are rather wiped than set by mistake.
fn model_of(scene: &Scene<'_>, held: &[(EntityId, String)], module: &EntityId) -> Option<EntityId> {
    let alike = alike(held)?;
    if let ([first, second], [odd]) = (held, &alike.odd[..]) {
        let (poor, rich) = (carried(scene, &alike.model.0), carried(scene, &odd.0));
        if poor.iter().all(|(name, value)| rich.get(name) == Some(value)) {
            let lacks = if alike.model.0 == first.0 { first } else { second };
            return (lacks.0 == *module).then(|| odd.0.clone());
        }
    }
    alike.odd.iter().any(|(odd, _)| odd == module).then(|| alike.model.0.clone())
}

fn is_told(scene: &Scene<'_>, module: &EntityId) -> bool {
    scene.text(module, Attribute::ModuleOptions).is_some() || is_empty(scene, module, Attribute::ModuleOptions)
}

/// The options that decide how RDMA travels, numbers in one spelling.
fn carried(scene: &Scene<'_>, module: &EntityId) -> BTreeMap<String, String> {
    let mut all = options(scene, module);
    all.retain(|name, _| CARRYING.iter().any(|known| known.eq_ignore_ascii_case(name)));
    for value in all.values_mut() {
        if let Some(number) = number(value) {
            *value = number.to_string();
        }
    }
    all
}

fn shown(options: &BTreeMap<String, String>) -> String {
    let parts: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parts.join(" ")
}

fn of_module(scene: &Scene<'_>, module: &EntityId, has_device: bool, model: Option<&EntityId>) -> Judged {
    let (host, name) = (&module.target, module.entity.name());
    if !is_told(scene, module) {
        let (lack, why) = why(scene, module, Attribute::ModuleOptions, "esxi.module-options");
        let title = format!("the options of {name} of {host}: {why}");
        return Judged::unknown(module, lack, title, format!("esxcfg-module -g {name}"));
    }
    let text = scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
    let own = options(scene, module);
    let cure = |title: &str, wanted: &str| {
        Cure::on(host, title, Risk::RebootsHost, set_options(&name, wanted))
            .undone_by(set_options(&name, text), vec![(module.clone(), Attribute::ModuleOptions)])
            .verified_by(&["host.module-options"])
            .noting(THEN_REBOOT)
    };
    let without = |dropped: &str| -> String {
        let kept: Vec<&str> = text.split_whitespace().filter(|part| part.split('=').next() != Some(dropped)).collect();
        kept.join(" ")
    };
    let words = format!("options of {name} on {host}: {}", if text.is_empty() { "none" } else { text });
    let off = own.iter().find(|(option, value)| {
        SWITCHES.iter().any(|known| known.eq_ignore_ascii_case(option))
            && value.split(',').all(|part| number(part) == Some(0))
    });
    if let Some((option, value)) = off.filter(|_| !has_device) {
        return Judged::fail(
            module,
            Confidence::Proved,
            format!("{host}: {option}={value} of {name} switches RDMA off"),
            "the driver runs as an ordinary network driver: it makes no RDMA device, and PVRDMA goes over TCP",
        )
        .shown(module, Attribute::ModuleOptions, words)
        .cured_by(cure(&format!("Leave {option} out, and keep all other options"), &without(option)));
    }
    let known = parameters(scene, module);
    if let Some(foreign) = own.keys().find(|option| !known.is_empty() && !known.contains(*option)) {
        return Judged::warn(
            module,
            Confidence::Proved,
            format!("{host}: {name} has an option {foreign}, which is none of its parameters"),
            "the driver does not know it: it has no effect, or keeps the module from loading at the next start; a slip of the \
             pen, or an option of another version of the driver",
        )
        .shown(module, Attribute::ModuleOptions, words)
        .decided_by(format!("esxcli system module parameters list -m {name}"))
        .cured_by(cure(&format!("Leave {foreign} out, and keep all other options"), &without(foreign)));
    }
    let Some(model) = model else {
        return Judged::pass(module, words);
    };
    let (mine, theirs) = (carried(scene, module), carried(scene, model));
    let missing: Vec<&str> = theirs.keys().filter(|name| !mine.contains_key(*name)).map(String::as_str).collect();
    let other: Vec<&str> = theirs
        .iter()
        .filter(|(name, value)| mine.get(*name).is_some_and(|own| own != *value))
        .map(|(name, _)| name.as_str())
        .collect();
    let extra: Vec<&str> = mine.keys().filter(|name| !theirs.contains_key(*name)).map(String::as_str).collect();
    let mut parts = Vec::new();
    for (what, names) in [("lacks", &missing), ("has another", &other), ("has besides", &extra)] {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(", ")));
        }
    }
    let wiped = if missing.is_empty() {
        "the two ends of one connection treat RDMA differently"
    } else {
        "options are one string, and a later set that names only some of them wipes the rest in silence: what is missing is off at \
         the next start of the host, if it is not already"
    };
    // What the model has of RDMA, and what this host has of its own besides.
    let mut wanted: Vec<String> = options(scene, model)
        .iter()
        .filter(|(name, _)| theirs.contains_key(*name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    wanted.extend(
        text.split_whitespace()
            .filter(|part| {
                part.split('=').next().is_some_and(|name| !theirs.contains_key(name) && !mine.contains_key(name))
            })
            .map(str::to_owned),
    );
    let theirs = scene.text(model, Attribute::ModuleOptions).unwrap_or("none");
    Judged::warn(
        module,
        Confidence::Proved,
        format!("{host} and {}: {name} of {host} {}", model.target, parts.join(", ")),
        wiped,
    )
    .shown(module, Attribute::ModuleOptions, words)
    .shown(model, Attribute::ModuleOptions, format!("options of {name} on {}: {theirs}", model.target))
    .cured_by(cure(&format!("Set all options of {name} as on {}", model.target), &wanted.join(" ")))
}

/// The parameters that the module knows; empty where they were not read.
fn parameters(scene: &Scene<'_>, module: &EntityId) -> BTreeSet<String> {
    let Entity::Module(name) = &module.entity else { return BTreeSet::new() };
    let first = Entity::ModuleParameter { module: name.clone(), name: "".into() };
    scene
        .fabric
        .of_kind(&module.target, first)
        .filter_map(|entity| match entity {
            Entity::ModuleParameter { module, name: parameter } if module == name => Some(parameter.to_string()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || rdma("pcp_force=3"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.module-options", 127, "sh: esxcfg-module: not found")),
    };

    fn rdma(text: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.module-options", "pcp_force=3 dscp_force=26", text)
    }

    fn core(text: &str) -> Site {
        let all = "pfctx=0x08 pfcrx=0x08 trust_state=2 max_vfs=2";
        Site::sound().replacing("esx02", "esxi.module-options", all, text)
    }

    fn told(site: &Site) -> Judged {
        site.judge(&CHECK).into_iter().find(|judged| judged.status != Status::Pass).expect("told")
    }

    #[test]
    fn what_a_later_set_wiped_is_written_back_as_a_whole() {
        let judged = told(&(SAMPLES.trouble)());
        assert_eq!(judged.title, "esx02 and esx01: nmlx5_rdma of esx02 lacks dscp_force");
        assert_eq!(
            judged.cures[0].steps[0].shown(),
            "esxcli system module parameters set -m nmlx5_rdma -p 'dscp_force=26 pcp_force=3'"
        );
        assert_eq!(
            judged.cures[0].undo[0].shown(),
            "esxcli system module parameters set -m nmlx5_rdma -p 'pcp_force=3'"
        );
        let judged = told(&core("max_vfs=4"));
        assert!(judged.title.ends_with("lacks pfcrx, pfctx, trust_state"), "{}", judged.title);
        assert!(judged.cures[0].steps[0].shown().ends_with("'pfcrx=0x08 pfctx=0x08 trust_state=2 max_vfs=4'"));
    }

    #[test]
    fn of_two_the_one_that_lacks_something_is_completed() {
        let site = Site::sound().replacing("esx01", "esxi.module-options", "pcp_force=3 dscp_force=26", "pcp_force=3");
        let judged = told(&site);
        assert_eq!(judged.title, "esx01 and esx02: nmlx5_rdma of esx01 lacks dscp_force");
        assert_eq!(judged.cures[0].on.as_ref().map(crate::fabric::TargetId::as_str), Some("esx01"));
        assert!(judged.cures[0].steps[0].shown().ends_with("-p 'dscp_force=26 pcp_force=3'"));
        // Of two that each have something of their own, the second takes over what the first has.
        let judged = told(&rdma("pcp_force=4"));
        assert!(
            judged.title.ends_with("nmlx5_rdma of esx02 lacks dscp_force, has another pcp_force"),
            "{}",
            judged.title
        );
        assert!(judged.cures[0].steps[0].shown().ends_with("-p 'dscp_force=26 pcp_force=3'"));
    }

    #[test]
    fn one_mask_has_two_spellings_and_functions_are_each_hosts_own() {
        let site = core("pfctx=8 pfcrx=8 trust_state=2 max_vfs=8");
        assert!(site.judge(&CHECK).iter().all(|judged| judged.status == Status::Pass));
    }

    #[test]
    fn a_slip_of_the_pen() {
        let judged = told(&core("pfctx=0x08 pfcrx=0x08 trust_stat=2 max_vfs=2"));
        assert_eq!(judged.title, "esx02: nmlx5_core has an option trust_stat, which is none of its parameters");
    }

    #[test]
    fn switched_off_by_an_option() {
        let site = ["esxi.rdma-devices", "esxi.rdma-vmknics", "esxi.rdma-protocols", "esxi.rdma-stats"]
            .iter()
            .fold(core("enable_roce=0 max_vfs=2"), |site, source| site.with("esx02", says(source, "")));
        let judged = told(&site);
        assert_eq!(
            (judged.status, judged.title.as_str()),
            (Status::Fail, "esx02: enable_roce=0 of nmlx5_core switches RDMA off")
        );
        assert!(judged.cures[0].steps[0].shown().ends_with("-p 'max_vfs=2'"));
    }
}
