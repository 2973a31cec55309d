//! Ports: state, lossless priorities, watchdog, VLANs, neighbours. All of them are tables with a rule below their titles.

use std::collections::BTreeMap;

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::esxi::table::Table;
use crate::probe::switch::answer::{
    Facts, as_switch, missing, not_understood, nothing, number, port, speed, text, trouble,
};
use crate::probe::switch::names::{is_port, priorities};

/// The table of an answer, or what is said of the switch in its place.
fn table(observation: &Observation, attributes: &[Attribute]) -> Result<Table, Vec<Fact>> {
    if let Some(state) = trouble(observation) {
        return Err(nothing(observation, &state, attributes));
    }
    Table::read(&observation.stdout, 1, &[]).ok_or_else(|| {
        let first = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        nothing(observation, &first.map_or(State::Empty, not_understood), attributes)
    })
}

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let table = match table(observation, &[Attribute::OperationalState, Attribute::Mtu, Attribute::Speed]) {
        Ok(table) => table,
        Err(facts) => return facts,
    };
    let mut facts = Facts::of(observation);
    for row in table.rows() {
        let of = |title: &str| table.get(row, &[title]);
        let Some(name) = of("Interface").filter(|name| is_port(name)) else { continue };
        let entity = port(name);
        let up = of("Oper").and_then(as_switch);
        let of_link = |state: State<Value>| {
            if up == Some(false) { State::NotObservable(Text::new("without a link there is none")) } else { state }
        };
        let mut say = |attribute, state: Option<State<Value>>| facts.say(&entity, attribute, state, row.line);
        say(
            Attribute::AdminUp,
            of("Admin").map(|word| {
                as_switch(word)
                    .map_or_else(|| missing(word).unwrap_or_else(|| not_understood(word)), |up| State::Known(up.into()))
            }),
        );
        say(Attribute::OperationalState, of("Oper").map(text));
        say(
            Attribute::Mtu,
            of("MTU").map(|word| {
                missing(word).unwrap_or_else(|| {
                    number(word).map_or_else(|| not_understood(word), |mtu| State::Known(mtu.into()))
                })
            }),
        );
        // What the port was set to stands under `Speed`, what it works at under `Oper Speed` where there is such a column.
        say(
            Attribute::Speed,
            of("Oper Speed")
                .filter(|word| missing(word).is_none())
                .or_else(|| of("Speed"))
                .map(|word| of_link(speed(word))),
        );
        // `trunk`, `routed`, or the bundle that the port is a member of.
        if let Some(word) = of("Vlan") {
            if word.starts_with("PortChannel") {
                say(Attribute::PortChannel, Some(text(word)));
            } else {
                say(Attribute::PortMode, Some(text(word)));
            }
        }
    }
    facts.said
}

pub(super) fn parse_pfc(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::PfcEnabled, Attribute::PfcPriorities];
    let table = match table(observation, &attributes) {
        Ok(table) => table,
        Err(facts) => return facts,
    };
    let mut facts = Facts::of(observation);
    for row in table.rows() {
        let Some(name) = table.get(row, &["Interface"]).filter(|name| is_port(name)) else { continue };
        let Some(list) = table.get(row, &["Lossless priorities"]) else { continue };
        let entity = port(name);
        let list = if list.eq_ignore_ascii_case("N/A") { "" } else { list };
        let state = priorities(list);
        let on = state.known().is_some();
        facts.say(&entity, Attribute::PfcMode, Some(State::Known(if on { "on" } else { "off" }.into())), row.line);
        facts.say(&entity, Attribute::PfcEnabled, Some(State::Known(on.into())), row.line);
        facts.say(&entity, Attribute::PfcPriorities, Some(state), row.line);
    }
    facts.said
}

pub(super) fn parse_watchdog(observation: &Observation) -> Vec<Fact> {
    let table = match table(observation, &[Attribute::PfcWatchdog]) {
        Ok(table) => table,
        Err(facts) => return facts,
    };
    let mut facts = Facts::of(observation);
    for row in table.rows() {
        let Some(name) = table.get(row, &["PORT"]).filter(|name| is_port(name)) else { continue };
        let state = table
            .get(row, &["ACTION"])
            .map(|word| missing(word).map_or_else(|| text(word), |_| State::Known("disabled".into())));
        facts.say(&port(name), Attribute::PfcWatchdog, state, row.line);
    }
    facts.said
}

pub(super) fn parse_lldp(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::NeighbourName, Attribute::NeighbourPort];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    // The line below the last row is no rule of another table.
    let is_end = |line: &&str| line.len() >= 40 && line.bytes().all(|byte| byte == b'-');
    let without_end: Vec<&str> =
        observation.stdout.lines().map(|line| if is_end(&line.trim_end()) { "" } else { line }).collect();
    let Some(table) = Table::read(&without_end.join("\n"), 1, &[]) else {
        let first = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        return nothing(observation, &first.map_or(State::Empty, not_understood), &attributes);
    };
    let mut facts = Facts::of(observation);
    for row in table.rows() {
        let of = |title: &str| table.get(row, &[title]);
        let Some(name) = of("LocalPort").filter(|name| is_port(name)) else { continue };
        let entity = port(name);
        if facts.said.iter().any(|fact| fact.entity == entity) {
            continue;
        }
        facts.say(&entity, Attribute::NeighbourName, of("RemoteDevice").map(text), row.line);
        facts.say(&entity, Attribute::NeighbourPort, of("RemotePortID").map(text), row.line);
        facts.say(&entity, Attribute::NeighbourPortDescription, of("RemotePortDescr").map(text), row.line);
    }
    facts.said
}

pub(super) fn parse_vlans(observation: &Observation) -> Vec<Fact> {
    let table = match table(observation, &[Attribute::UntaggedVlan, Attribute::AllowedVlans]) {
        Ok(table) => table,
        Err(facts) => return facts,
    };
    let mut facts = Facts::of(observation);
    let mut tagged: BTreeMap<Entity, (Vec<u64>, u32)> = BTreeMap::new();
    for row in table.rows() {
        let of = |title: &str| table.get(row, &[title]);
        let (Some(vlan), Some(member)) = (of("VID").and_then(number), of("Member").filter(|name| is_port(name))) else {
            continue;
        };
        let entity = port(member);
        if of("Mode").is_some_and(|mode| mode.eq_ignore_ascii_case("untagged")) {
            facts.say(&entity, Attribute::UntaggedVlan, Some(State::Known(vlan.into())), row.line);
            tagged.entry(entity).or_insert((Vec::new(), row.line));
        } else {
            tagged.entry(entity).or_insert((Vec::new(), row.line)).0.push(vlan);
        }
    }
    for (entity, (vlans, line)) in tagged {
        let list: Vec<Text> = vlans.iter().map(|vlan| Text::new(&vlan.to_string())).collect();
        let state = if list.is_empty() { State::Empty } else { State::Known(Value::List(list)) };
        facts.say(&entity, Attribute::AllowedVlans, Some(state), line);
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const STATUS: &str = "  Interface            Lanes    Speed    MTU    FEC    Alias             Vlan    Oper    Admin             Type    Asym PFC
-----------  ---------------  -------  -----  -----  -------  ---------------  ------  -------  ---------------  ----------
  Ethernet0      41,42,43,44     100G   9100     rs     etp1            trunk      up       up  QSFP28 or later         N/A
  Ethernet4      45,46,47,48     100G   9100     rs     etp2  PortChannel0001      up       up  QSFP28 or later         off
  Ethernet8      49,50,51,52     100G   9100    N/A     etp3           routed    down     down              N/A         N/A
";

    #[test]
    fn status_of_ports() {
        let facts = run(of("sonic.interfaces"), &[(STATUS, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Ethernet0", Attribute::OperationalState), "up");
        assert_eq!(is("Ethernet0", Attribute::Mtu), "9100");
        assert_eq!(is("Ethernet0", Attribute::Speed), "100000000000");
        assert_eq!(is("Ethernet0", Attribute::PortMode), "trunk");
        assert_eq!(is("Ethernet4", Attribute::PortChannel), "PortChannel0001");
        assert_eq!(is("Ethernet8", Attribute::AdminUp), "no");
        assert!(is("Ethernet8", Attribute::Speed).starts_with("<not observable"));
    }

    #[test]
    fn lossless_priorities_and_the_watchdog() {
        let text = "\nInterface    Lossless priorities\n-----------  ---------------------\nEthernet0    3,4\nEthernet4    N/A\nEthernet8\n\n";
        let facts = run(of("sonic.pfc"), &[(text, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Ethernet0", Attribute::PfcPriorities), "3, 4");
        assert_eq!(is("Ethernet0", Attribute::PfcEnabled), "yes");
        assert_eq!(is("Ethernet4", Attribute::PfcEnabled), "no");
        let text = "Changed polling interval to 600ms\n     PORT    ACTION    DETECTION TIME    RESTORATION TIME    HISTORY\n---------  --------  ----------------  ------------------  ---------\n\
                    Ethernet0      drop               600                 600    disable\nEthernet4       N/A               N/A            infinite    disable\n";
        let facts = run(of("sonic.pfc-watchdog"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Ethernet0"), Attribute::PfcWatchdog), "drop");
        assert_eq!(shown(&facts, &port("Ethernet4"), Attribute::PfcWatchdog), "disabled");
        let facts = run(
            of("sonic.pfc"),
            &[("Usage: show [OPTIONS] COMMAND [ARGS]...\n\nError: No such command \"pfc\".\n", "", 2)],
        );
        assert!(shown(&facts, &Entity::Switch, Attribute::PfcEnabled) != "absent");
    }

    #[test]
    fn neighbours_and_vlans() {
        let text = "\nCapability codes: (R) Router, (B) Bridge, (O) Other\nLocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n\
                    -----------  --------------  -----------------  ------------  -----------------\nEthernet0    esx01           ec:0d:9a:00:00:01  O             port 14 on dvSwitch\n\
                    --------------------------------------------------\nTotal entries displayed:  1\n";
        let facts = run(of("sonic.lldp"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Ethernet0"), Attribute::NeighbourPort), "ec:0d:9a:00:00:01");
        assert_eq!(shown(&facts, &port("Ethernet0"), Attribute::NeighbourName), "esx01");
        let text = "Name       VID  Member     Mode\n-------  -----  ---------  --------\nVlan100    100  Ethernet0  tagged\nVlan100    100  Ethernet4  untagged\nVlan200    200  Ethernet0  tagged\n";
        let facts = run(of("sonic.vlans"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Ethernet0"), Attribute::AllowedVlans), "100, 200");
        assert_eq!(shown(&facts, &port("Ethernet4"), Attribute::UntaggedVlan), "100");
        assert_eq!(shown(&facts, &port("Ethernet4"), Attribute::AllowedVlans), "<empty>", "none with a tag");
    }

    survives_damage!(of("sonic.interfaces"), STATUS);
}
