//! Which uplink carries what a port of a switch sends. The teaming of a port names uplinks as the switch does (`Uplink 1`);
//! which adapter of this host that is, the port of that name says by what is connected to it.

use super::{Basis, Gap, View};
use crate::fabric::{Attribute, Entity, EntityId, State};

/// An uplink that the teaming of a port names.
struct Named {
    uplink: EntityId,
    basis: Vec<Basis>,
}

/// The uplink that carries what a port sends, with what says so: that of the port's teaming, else the only one of the
/// switch. Where that cannot be told, those of which one does; none where there is none.
pub(super) fn of_port(
    view: View<'_>,
    port: Option<&EntityId>,
    switch: &EntityId,
    gaps: &mut Vec<Gap>,
) -> Result<(EntityId, Vec<Basis>), Vec<EntityId>> {
    let host = &switch.target;
    let of_switch = view.list(switch, Attribute::Uplinks);
    let id = |name: &str| EntityId::new(host, Entity::Uplink(name.into()));
    if let Some([one]) = of_switch.as_deref() {
        return Ok((id(one), vec![(switch.clone(), Attribute::Uplinks)]));
    }
    // That there are none was read as well.
    let state = view.fabric.reading(switch, Attribute::Uplinks).map(|reading| &reading.state);
    let is_empty = matches!(state, Some(State::Empty));
    let several = match of_switch {
        Some(several) if !several.is_empty() => several,
        other => {
            gaps.push(Gap {
                about: switch.clone(),
                missing: "uplink",
                why: if other.is_none() && !is_empty {
                    "the uplinks of the switch were not read".to_owned()
                } else {
                    format!("{} has no uplink on {host}", switch.entity.name())
                },
                rests_on: vec![(switch.clone(), Attribute::Uplinks)],
            });
            return Err(Vec::new());
        }
    };
    let all = || several.iter().map(|name| id(name)).collect::<Vec<_>>();
    let mut gap = |about: &EntityId, attribute, why: String, possible: Vec<EntityId>| {
        let rests_on = vec![(about.clone(), attribute)];
        gaps.push(Gap { about: about.clone(), missing: "uplink", why, rests_on });
        Err(possible)
    };
    let unknown = "which of them carries this adapter is not observable from here";
    let Some((port, active)) = port.and_then(|port| Some((port, view.list(port, Attribute::ActiveUplinks)?))) else {
        return gap(switch, Attribute::Uplinks, format!("{}: {unknown}", several.join(", ")), all());
    };
    let named = |names: &[String], attribute| -> Result<Vec<Named>, String> {
        names
            .iter()
            .map(|name| found(view, port, switch, &several, name, attribute).ok_or_else(|| name.clone()))
            .collect()
    };
    let first = match named(&active, Attribute::ActiveUplinks) {
        Ok(named) => named,
        Err(name) => {
            let why =
                format!("the teaming names {name}, and no port of the switch says which adapter of this host that is");
            return gap(port, Attribute::ActiveUplinks, why, all());
        }
    };
    let standby = view.list(port, Attribute::StandbyUplinks).unwrap_or_default();
    let mut up = with_link(view, first);
    if up.iter().all(|(_, is_up)| *is_up == Some(false))
        && let Ok(second) = named(&standby, Attribute::StandbyUplinks)
        && !second.is_empty()
    {
        up = with_link(view, second);
    }
    // Those whose link is down carry nothing; where all are down it does not matter which is named.
    if up.len() > 1 && up.iter().any(|(_, is_up)| *is_up != Some(false)) {
        let downs: Vec<Basis> = up
            .iter()
            .filter(|(_, is_up)| *is_up == Some(false))
            .map(|(named, _)| (named.uplink.clone(), Attribute::Carrier))
            .collect();
        up.retain(|(_, is_up)| *is_up != Some(false));
        for (named, _) in &mut up {
            named.basis.extend(downs.iter().cloned());
        }
    }
    // By an explicit order the first one that is up is used, always.
    let by_order = view
        .shown(port, Attribute::TeamingPolicy)
        .is_some_and(|policy| policy.to_ascii_lowercase().contains("explicit"));
    if by_order && matches!(up.first(), Some((_, Some(true)))) {
        up.truncate(1);
        for (named, _) in &mut up {
            named.basis.push((port.clone(), Attribute::TeamingPolicy));
        }
    }
    match up.len() {
        0 => {
            let why = format!("the teaming names no active uplink; of {}, {unknown}", several.join(", "));
            gap(port, Attribute::ActiveUplinks, why, all())
        }
        1 => up.pop().map(|(named, _)| (named.uplink, named.basis)).ok_or_else(Vec::new),
        _ => {
            let names: Vec<String> = up.iter().map(|(named, _)| named.uplink.entity.name()).collect();
            let possible = up.into_iter().map(|(named, _)| named.uplink).collect();
            gap(port, Attribute::ActiveUplinks, format!("{}: {unknown}", names.join(", ")), possible)
        }
    }
}

/// Each uplink with whether its link is up, where the host says it.
fn with_link(view: View<'_>, named: Vec<Named>) -> Vec<(Named, Option<bool>)> {
    named
        .into_iter()
        .map(|mut named| {
            let is_up = view.fabric.value(&named.uplink, Attribute::Carrier).and_then(crate::fabric::Value::as_flag);
            if is_up == Some(false) {
                named.basis.push((named.uplink.clone(), Attribute::Carrier));
            }
            (named, is_up)
        })
        .collect()
}

/// The uplink that a name of the teaming stands for.
fn found(
    view: View<'_>,
    port: &EntityId,
    switch: &EntityId,
    of_switch: &[String],
    name: &str,
    attribute: Attribute,
) -> Option<Named> {
    let host = &switch.target;
    let id = EntityId::new(host, Entity::Uplink(name.into()));
    let mut basis = vec![(port.clone(), attribute)];
    if of_switch.iter().any(|uplink| uplink == name) || view.exists(&id) {
        return Some(Named { uplink: id, basis });
    }
    // `com.vmware.common.port.alias = Uplink 1` at port 0, and `Client: vmnic4` at port 0.
    let Entity::VirtualSwitch(of) = &switch.entity else { return None };
    let named = view.index.on(host).by_alias.get(&(of.clone(), name.to_owned()))?;
    let client = view.shown(named, Attribute::PortClient).filter(|client| of_switch.contains(client))?;
    basis.push((named.clone(), Attribute::DeviceLabel));
    basis.push((named.clone(), Attribute::PortClient));
    Some(Named { uplink: EntityId::new(host, Entity::Uplink(client.as_str().into())), basis })
}
