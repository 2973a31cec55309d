//! What the rules need to know of the host on which a VM shall start.

use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, TargetId, Text, Value};

/// How far passthrough of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passthrough {
    /// It is not enabled.
    Off,
    /// It is enabled, and the VMkernel owns the function until the host boots again.
    Waits,
    /// It is enabled and in force.
    InForce,
}

/// One PCI function of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFunction {
    /// Address, hexadecimal, `0000:af:00.0`.
    pub address: String,
    /// Vendor id, four hexadecimal digits; empty if not known.
    pub vendor: String,
    /// Device id, four hexadecimal digits; empty if not known.
    pub device: String,
    /// Device in words.
    pub name: String,
    /// How far passthrough is; `None` where the host does not say.
    pub passthrough: Option<Passthrough>,
    /// NUMA node, if known.
    pub numa_node: Option<u32>,
}

/// A host as the rules see it. What is `None` is not known, and a rule that needs it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostView {
    /// Name of the target.
    pub name: String,
    /// Version, `7.0.3`.
    pub version: Option<String>,
    /// Build number.
    pub build: Option<u64>,
    /// All PCI functions; `None` if the list of them was not read.
    pub functions: Option<Vec<HostFunction>>,
    /// VMkernel adapter tagged for PVRDMA; empty if none is.
    pub pvrdma_vmknic: Option<String>,
    /// Ids of distributed switches, as the host prints them.
    pub distributed_switches: Option<Vec<String>>,
}

impl HostView {
    /// The host of this name, from what was read of it; `None` if the target is no ESXi host.
    pub fn of(fabric: &Fabric, target: &TargetId) -> Option<Self> {
        let host = EntityId::new(target, Entity::Host);
        if !fabric.entities(target).any(|entity| *entity == Entity::Host) {
            return None;
        }
        let functions: Vec<HostFunction> = fabric
            .entities(target)
            .filter_map(|entity| match entity {
                Entity::PciFunction(address) => Some(function(fabric, target, address)),
                _ => None,
            })
            .collect();
        // The lists of what is passed through and of graphics devices name functions too, but not all, and no models.
        let is_listed = functions.iter().any(|function| !function.vendor.is_empty());
        Some(Self {
            name: target.to_string(),
            version: fabric.text(&host, Attribute::EsxiVersion).map(str::to_owned),
            build: fabric.value(&host, Attribute::EsxiBuild).and_then(number),
            functions: is_listed.then_some(functions),
            pvrdma_vmknic: tagged(fabric, target),
            distributed_switches: switches(fabric, target),
        })
    }
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<u64> {
    value.as_count().or_else(|| value.as_text()?.parse().ok())
}

/// What is known of one function.
fn function(fabric: &Fabric, target: &TargetId, address: &Text) -> HostFunction {
    let id = EntityId::new(target, Entity::PciFunction(address.clone()));
    let text = |attribute| fabric.value(&id, attribute).map(Value::to_string).unwrap_or_default();
    let digits = |attribute| text(attribute).trim_start_matches("0x").to_ascii_lowercase();
    let is_given = |owner: &str| owner.to_ascii_lowercase().contains("passthru");
    let enabled = fabric.value(&id, Attribute::PassthroughEnabled).and_then(Value::as_flag);
    let is_configured = enabled == Some(true) || fabric.text(&id, Attribute::ConfiguredOwner).is_some_and(is_given);
    let passthrough = match (enabled, fabric.text(&id, Attribute::CurrentOwner)) {
        (Some(false), _) => Some(Passthrough::Off),
        // Configured, but the owner changes with the next boot only.
        (_, Some(owner)) if owner.eq_ignore_ascii_case("VMkernel") => {
            Some(if is_configured { Passthrough::Waits } else { Passthrough::Off })
        }
        (_, Some(owner)) if is_given(owner) => Some(Passthrough::InForce),
        (enabled, _) => enabled.map(|_| Passthrough::InForce),
    };
    let node = fabric.value(&id, Attribute::NumaNode).and_then(number);
    HostFunction {
        address: address.to_string(),
        vendor: digits(Attribute::VendorId),
        device: digits(Attribute::DeviceId),
        name: text(Attribute::DeviceName),
        passthrough,
        numa_node: node.and_then(|node| u32::try_from(node).ok()),
    }
}

/// The VMkernel adapter that is tagged for PVRDMA, empty if none is; `None` if that was not read.
fn tagged(fabric: &Fabric, target: &TargetId) -> Option<String> {
    let option = fabric.entities(target).find(|entity| match entity {
        Entity::AdvancedSetting(path) => {
            path.trim_start_matches('/').replace('/', ".").eq_ignore_ascii_case("Net.PVRDMAVmknic")
        }
        _ => false,
    })?;
    match &fabric.reading(&EntityId::new(target, option.clone()), Attribute::SettingValue)?.state {
        State::Known(value) => Some(value.to_string()),
        State::Empty => Some(String::new()),
        _ => None,
    }
}

/// The ids of distributed switches; `None` if none was seen: a list that could not be read looks the same.
fn switches(fabric: &Fabric, target: &TargetId) -> Option<Vec<String>> {
    let ids: Vec<String> = fabric
        .entities(target)
        .filter(|entity| matches!(entity, Entity::VirtualSwitch(_)))
        .filter_map(|entity| {
            fabric.text(&EntityId::new(target, entity.clone()), Attribute::SwitchId).map(str::to_owned)
        })
        .collect();
    (!ids.is_empty()).then_some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fact, ObservationRef, Reading, SourceId, Timestamp};

    fn fact(entity: Entity, attribute: Attribute, state: State<Value>) -> Fact {
        let source = ObservationRef { target: TargetId::from("esx1"), source: SourceId::from("test"), sequence: 1 };
        Fact { entity, attribute, reading: Reading { state, at: Timestamp::UNIX_EPOCH, source, line: 0 } }
    }

    fn view(facts: &[Fact]) -> Option<HostView> {
        let mut fabric = Fabric::default();
        let target = TargetId::from("esx1");
        fabric.apply_facts(&target, &SourceId::from("test"), facts);
        HostView::of(&fabric, &target)
    }

    fn known(entity: Entity, attribute: Attribute, value: impl Into<Value>) -> Fact {
        fact(entity, attribute, State::Known(value.into()))
    }

    #[test]
    fn a_guest_is_no_host() {
        assert_eq!(view(&[known(Entity::Guest, Attribute::Driver, "x")]), None);
    }

    #[test]
    fn what_was_not_read_stays_unknown() {
        let bare = view(&[known(Entity::Host, Attribute::EsxiVersion, "7.0.3")]).expect("a host");
        let expected = HostView { name: "esx1".to_owned(), version: Some("7.0.3".to_owned()), ..HostView::default() };
        assert_eq!(bare, expected);
        let option = || Entity::AdvancedSetting(Text::new("/Net/PVRDMAVmknic"));
        let host = || known(Entity::Host, Attribute::EsxiVersion, "7.0.3");
        let tagged =
            |state| view(&[host(), fact(option(), Attribute::SettingValue, state)]).expect("a host").pvrdma_vmknic;
        assert_eq!(tagged(State::Empty), Some(String::new()));
        assert_eq!(tagged(State::Failed(Text::new("no"))), None);
        assert_eq!(tagged(State::Known("vmk2".into())), Some("vmk2".to_owned()));
    }

    #[test]
    fn a_function_is_in_passthrough_once_its_owner_has_changed() {
        let gpu = || Entity::PciFunction(Text::new("0000:af:00.0"));
        let passthrough = |owner: &str, enabled: bool| {
            let facts = [
                known(Entity::Host, Attribute::EsxiVersion, "8.0.3"),
                known(gpu(), Attribute::VendorId, "0x10DE"),
                known(gpu(), Attribute::CurrentOwner, owner),
                known(gpu(), Attribute::PassthroughEnabled, Value::Flag(enabled)),
                known(gpu(), Attribute::NumaNode, Value::Signed(1)),
            ];
            let functions = view(&facts).and_then(|view| view.functions).unwrap_or_default();
            let first = functions.first().cloned().expect("a function");
            assert_eq!((first.vendor.as_str(), first.numa_node), ("10de", Some(1)));
            first.passthrough
        };
        assert_eq!(passthrough("VM Passthru", true), Some(Passthrough::InForce));
        assert_eq!(passthrough("VMkernel", true), Some(Passthrough::Waits));
        assert_eq!(passthrough("VMkernel", false), Some(Passthrough::Off));
        assert_eq!(passthrough("VM Passthru", false), Some(Passthrough::Off));
        assert_eq!(passthrough("Unknown", true), Some(Passthrough::InForce));
    }

    #[test]
    fn functions_that_only_other_lists_name_are_no_list() {
        let gpu = || Entity::PciFunction(Text::new("0000:af:00.0"));
        let host = || known(Entity::Host, Attribute::EsxiVersion, "8.0.3");
        let others = vec![
            host(),
            fact(Entity::Host, Attribute::PassthroughCapable, State::Failed(Text::new("hostd does not answer"))),
            known(gpu(), Attribute::PassthroughEnabled, Value::Flag(true)),
            known(gpu(), Attribute::GraphicsType, "Basic"),
        ];
        assert_eq!(view(&others).expect("a host").functions, None, "the list itself was not read");
        let listed = [others, vec![known(gpu(), Attribute::VendorId, "10de")]].concat();
        assert_eq!(view(&listed).and_then(|view| view.functions).map(|all| all.len()), Some(1));
    }
}
