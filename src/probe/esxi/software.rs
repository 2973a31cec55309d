//! VIBs and components: what is installed on a host, in which version and under which acceptance level.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, Text};
use crate::probe::{Pace, Probe, Rhythm};

/// Installed software.
pub const PROBE: Probe = Probe {
    name: "esxi.software",
    title: "VIBs and components",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.last(),
    sources: &[
        command!("esxi.vibs", "esxcli" "software" "vib" "list"),
        command!("esxi.components", "esxcli" "software" "component" "list"),
    ],
    parse,
};

const TITLES: &[&str] = &["Name", "Version", "Vendor", "Acceptance Level", "Install Date", "Platforms"];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [vibs, components] = observations else { return Vec::new() };
    let mut names = BTreeSet::new();
    let mut all = list(vibs, &mut names, true);
    all.extend(list(components, &mut names, false));
    all
}

/// A component that has the name of a VIB is the same thing told again.
fn list(observation: &Observation, names: &mut BTreeSet<Text>, is_base: bool) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, TITLES, &["Name"]) {
        Ok(table) => table,
        Err(state) => {
            // Components came with 7.0: a host without them is not worse for it.
            if is_base {
                facts.say(&Entity::Host, Attribute::AcceptanceLevel, Some(state), 0);
            }
            return facts.said;
        }
    };
    let mut here = BTreeSet::new();
    for row in table.rows() {
        let Some(name) = table.get(row, &["Name"]).map(Text::new).filter(|name| !name.is_empty()) else { continue };
        if names.contains(&name) {
            continue;
        }
        let entity = Entity::Package(name.clone());
        here.insert(name);
        for (attribute, titles) in [
            (Attribute::Version, &["Version"] as &[&str]),
            (Attribute::VendorName, &["Vendor"]),
            (Attribute::AcceptanceLevel, &["Acceptance Level"]),
            (Attribute::InstallDate, &["Install Date", "Creation Date", "Release Date"]),
            (Attribute::SettingDescription, &["Display Name"]),
        ] {
            facts.say(&entity, attribute, table.get(row, titles).map(reply::text), row.line);
        }
    }
    names.extend(here);
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, UNKNOWN, reordered, run, shown, survives_damage, wrapped};
    use super::*;

    /// As they were published.
    const VIBS: &str = "\
Name           Version                               Vendor  Acceptance Level  Install Date
-------------  ------------------------------------  ------  ----------------  ------------
nmlx5-core     4.21.71.101-1OEM.702.0.0.17630552     MEL     VMwareCertified   2022-04-12
nmlx5-rdma     4.21.71.101-1OEM.702.0.0.17630552     MEL     VMwareCertified   2022-04-12
";
    const COMPONENTS: &str = "\
Name         Display Name                                     Version                              Display Version  Vendor  Creation Date  Acceptance Level  Platforms
-----------  -----------------------------------------------  -----------------------------------  ---------------  ------  -------------  ----------------  ---------
NVD-AIE-800  NVIDIA AI Enterprise vGPU driver for VMWare ESX  525.105.14-1OEM.800.1.0.20613240     525.105.14       NVIDIA  03-27-2023     VMwareAccepted    host
";

    #[test]
    fn vibs_and_components_in_any_layout() {
        for change in [str::to_owned, wrapped, reordered, |text: &str| wrapped(&reordered(text))] {
            let facts = run(&PROBE, &[(&change(VIBS), "", 0), (&change(COMPONENTS), "", 0)]);
            let of = |name: &str, attribute| shown(&facts, &Entity::Package(Text::new(name)), attribute);
            assert_eq!(of("nmlx5-rdma", Attribute::Version), "4.21.71.101-1OEM.702.0.0.17630552");
            assert_eq!(of("nmlx5-core", Attribute::VendorName), "MEL");
            assert_eq!(of("nmlx5-core", Attribute::AcceptanceLevel), "VMwareCertified");
            assert_eq!(of("nmlx5-core", Attribute::InstallDate), "2022-04-12");
            assert_eq!(of("NVD-AIE-800", Attribute::Version), "525.105.14-1OEM.800.1.0.20613240");
            assert_eq!(
                of("NVD-AIE-800", Attribute::SettingDescription),
                "NVIDIA AI Enterprise vGPU driver for VMWare ESX"
            );
        }
    }

    #[test]
    fn an_old_host_has_no_components_and_a_dead_agent_says_nothing() {
        let facts = run(&PROBE, &[(VIBS, "", 0), (UNKNOWN, "", 1)]);
        assert_eq!(shown(&facts, &Entity::Host, Attribute::AcceptanceLevel), "absent");
        let facts = run(&PROBE, &[("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1)]);
        assert!(shown(&facts, &Entity::Host, Attribute::AcceptanceLevel).contains("hostd does not answer"));
    }

    survives_damage!(PROBE, VIBS, COMPONENTS);
}
