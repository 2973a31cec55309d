//! What Arista EOS answers.
//!
//! Sources: keys of the JSON answers, the public schemas and test data of network test suites for EOS; the tables of flow
//! control, marking and trust, outputs that are quoted in public. What an EOS of this model prints besides is left out.

use serde_json::{Map, Value, json};

use super::state::{Port, State, Vlans, changes, colons, dotted};

/// A text, or a complaint and its exit status.
pub type Said = Result<String, (String, u32)>;

/// Answers a line.
pub fn answer(state: &State, line: &str) -> Said {
    let mut parts = line.split('|').map(str::trim);
    let command = parts.next().unwrap_or_default();
    let as_json = match parts.next() {
        None | Some("no-more") => false,
        Some(filter) if filter == "json" || filter.starts_with("json revision ") => true,
        Some(_) => return invalid(line, 2),
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let (wanted, words) = without_port(&words);
    let ports: Vec<&Port> = match wanted {
        None => state.ports.iter().collect(),
        Some(name) => state.ports.iter().filter(|port| port.name.eq_ignore_ascii_case(&name)).collect(),
    };
    if ports.is_empty() {
        return Err(("% Invalid input\n".to_owned(), 0));
    }
    let front: Vec<&Port> = ports.iter().copied().filter(|port| port.vlans.is_some()).collect();
    let text = match (words.as_slice(), as_json) {
        (["show", "version"], true) => pretty(&version(state)),
        (["show", "hostname"], true) => pretty(&json!({"hostname": state.name, "fqdn": format!("{}.lab", state.name)})),
        (["show", "hostname"], false) => format!("Hostname: {0}\nFQDN:     {0}.lab\n", state.name),
        (["show", "version"], false) => version_text(state),
        (["show", "interfaces"], true) => pretty(&interfaces(state, &ports)),
        (["show", "interfaces", "switchport"], true) => pretty(&switchports(&front)),
        (["show", "interfaces", "flowcontrol"], true) => pretty(&flow_control(&front)),
        (["show", "lldp", "neighbors", "detail"], true) => pretty(&neighbours(&front)),
        (["show", "priority-flow-control"] | ["show", "priority-flow-control", "status"], false) => pfc(&front),
        (
            ["show", "priority-flow-control", "interfaces"] | ["show", "priority-flow-control", "interfaces", "status"],
            false,
        ) => pfc(&front),
        (["show", "priority-flow-control", "counters"], true) => pretty(&pfc_counters(&front)),
        (["show", "qos", "interfaces", "ecn"], false) => ecn(&front),
        (["show", "qos", "interfaces", "ecn", "counters", "queue"], true) => pretty(&ecn_counters(&front)),
        (["show", "qos", "interfaces", "trust"], false) => trust(&front),
        _ => return invalid(line, words.len()),
    };
    Ok(text)
}

/// UNSOURCED: the exit status.
fn invalid(line: &str, known: usize) -> Said {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = known.clamp(1, words.len().max(1)) - 1;
    let text = match words.first() {
        Some(&"show") => format!("% Invalid input (at token {place}: '{}')\n", words.get(place).copied().unwrap_or("")),
        Some(word) => format!("% Invalid input (at token 0: '{word}')\n"),
        None => String::new(),
    };
    Err((text, 0))
}

/// Takes the name of a port out of the words, short or in full.
fn without_port<'a>(words: &[&'a str]) -> (Option<String>, Vec<&'a str>) {
    let number = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let is_name = |word: &&str| word.to_ascii_lowercase().starts_with("et") && number(word);
    let Some(place) = words.iter().position(is_name) else { return (None, words.to_vec()) };
    let digit = words[place].find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let name = format!("Ethernet{}", &words[place][digit..]);
    let rest = words.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, word)| *word);
    (Some(name), rest.collect())
}

/// As EOS indents it: by four blanks.
fn pretty(value: &Value) -> String {
    let mut bytes = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, form);
    let _ = serde::Serialize::serialize(value, &mut serializer);
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

fn each(ports: &[&Port], of: impl Fn(&Port) -> Value) -> Value {
    Value::Object(ports.iter().map(|port| (port.name.clone(), of(port))).collect::<Map<String, Value>>())
}

fn version(state: &State) -> Value {
    json!({
        "mfgName": "Arista",
        "modelName": "DCS-7060CX2-32S-F",
        "hardwareRevision": "11.00",
        "serialNumber": "SSJ17000001",
        "systemMacAddress": colons(state.mac),
        "hwMacAddress": colons(state.mac),
        "configMacAddress": "00:00:00:00:00:00",
        "version": "4.31.2F",
        "architecture": "x86_64",
        "internalVersion": "4.31.2F-35442176.4312F",
        "imageFormatVersion": "3.0",
        "uptime": state.up,
        "memTotal": 8_099_732,
        "memFree": 5_281_384,
        "isIntlVersion": false
    })
}

fn version_text(state: &State) -> String {
    format!(
        "Arista DCS-7060CX2-32S-F\nHardware version: 11.00\nSerial number: SSJ17000001\nHardware MAC address: {0}\nSystem MAC address: {0}\n\n\
         Software image version: 4.31.2F\nArchitecture: x86_64\nInternal build version: 4.31.2F-35442176.4312F\n\n\
         Total memory: 8099732 kB\nFree memory: 5281384 kB\n\n",
        dotted(state.mac)
    )
}

fn interfaces(state: &State, ports: &[&Port]) -> Value {
    let of = |port: &Port| {
        let status = match (port.enabled, port.up) {
            (false, _) => "disabled",
            (true, true) => "connected",
            (true, false) => "notconnect",
        };
        let counted = port.counted;
        let (incoming, outgoing) = counted.frames();
        json!({
            "name": port.name,
            "forwardingModel": "bridged",
            "lineProtocolStatus": if port.up { "up" } else { "down" },
            "interfaceStatus": status,
            "hardware": "ethernet",
            "interfaceAddress": [],
            "physicalAddress": colons(port.mac),
            "burnedInAddress": colons(port.mac),
            "description": port.description,
            "bandwidth": if port.up { port.speed } else { 0 },
            "mtu": port.mtu,
            "l2Mru": 0,
            "duplex": if port.up { "duplexFull" } else { "duplexUnknown" },
            "autoNegotiate": "unknown",
            "loopbackMode": "loopbackNone",
            "lanes": 4,
            "interfaceCounters": {
                "inOctets": counted.octets.0,
                "inUcastPkts": incoming,
                "inMulticastPkts": incoming / 70_000,
                "inBroadcastPkts": incoming / 900_000,
                "inTotalPkts": incoming,
                "inDiscards": 0,
                "outOctets": counted.octets.1,
                "outUcastPkts": outgoing,
                "outMulticastPkts": outgoing / 60_000,
                "outBroadcastPkts": outgoing / 800_000,
                "outTotalPkts": outgoing,
                "outDiscards": 0,
                "linkStatusChanges": changes(state, port),
                "totalInErrors": counted.errors,
                "inputErrorsDetail": {
                    "runtFrames": 0,
                    "giantFrames": 0,
                    "fcsErrors": counted.errors,
                    "alignmentErrors": 0,
                    "symbolErrors": 0,
                    "rxPause": 0
                },
                "totalOutErrors": 0,
                "outputErrorsDetail": { "collisions": 0, "lateCollisions": 0, "deferredTransmissions": 0, "txPause": 0 }
            }
        })
    };
    json!({ "interfaces": each(ports, of) })
}

fn switchports(ports: &[&Port]) -> Value {
    let of = |port: &Port| {
        let (mode, access, allowed) = match port.vlans {
            Some(Vlans::Trunk(list)) => ("trunk", 1, list),
            Some(Vlans::Access(vlan)) => ("access", vlan, "ALL"),
            None => return json!({ "enabled": false }),
        };
        json!({
            "enabled": true,
            "switchportInfo": {
                "mode": mode,
                "macLearning": true,
                "tpid": "0x8100",
                "tpidStatus": true,
                "accessVlanId": access,
                "accessVlanName": if access == 1 { "default" } else { "RDMA" },
                "trunkingNativeVlanId": 1,
                "trunkingNativeVlanName": "default",
                "trunkAllowedVlans": allowed,
                "dynamicAllowedVlans": {},
                "staticTrunkGroups": [],
                "dynamicTrunkGroups": []
            }
        })
    };
    json!({ "switchports": each(ports, of) })
}

fn flow_control(ports: &[&Port]) -> Value {
    let of = |_: &Port| {
        json!({
            "rxAdminState": "off", "rxOperState": "off", "txAdminState": "off", "txOperState": "off", "rxPause": 0, "txPause": 0
        })
    };
    json!({ "interfaceFlowControls": each(ports, of) })
}

fn neighbours(ports: &[&Port]) -> Value {
    let of = |port: &Port| {
        let Some(neighbour) = port.neighbour.as_ref() else { return json!({ "lldpNeighborInfo": [] }) };
        let mut info = json!({
            "ttl": 120,
            "chassisIdType": neighbour.chassis.0,
            "chassisId": neighbour.chassis.1,
            "systemCapabilities": { "bridge": true },
            "neighborInterfaceInfo": {
                "interfaceIdType": neighbour.port.0,
                "interfaceId": format!("\"{}\"", neighbour.port.1),
                "interfaceId_v2": neighbour.port.1,
                "unknownTlvs": [],
                "unknownOrgDefinedTlvs": []
            }
        });
        if !neighbour.name.is_empty() {
            info["systemName"] = neighbour.name.into();
            info["systemDescription"] = neighbour.system.clone().into();
            info["managementAddresses"] =
                json!([{ "addressType": "ipv4", "address": neighbour.address, "interfaceNum": 0, "oidString": "" }]);
            info["neighborInterfaceInfo"]["interfaceDescription"] = neighbour.description.clone().into();
        }
        json!({ "lldpNeighborInfo": [info] })
    };
    json!({ "lldpNeighbors": each(ports, of) })
}

/// `Et4/1` of `Ethernet4/1`.
fn short(port: &Port) -> String {
    port.name.replace("Ethernet", "Et")
}

fn pfc(ports: &[&Port]) -> String {
    let head = "The hardware supports PFC on priorities 0 1 2 3 4 5 6 7\n\
                PFC receive processing is enabled on priorities 0 1 2 3 4 5 6 7\n\
                The PFC watchdog timeout is 1.0 second(s)\n\
                The PFC watchdog recovery-time is 2.0 second(s) (auto)\n\
                The PFC watchdog polling-interval is 0.1 second(s)\n\
                The PFC watchdog action is drop\n\
                Global PFC : Enabled\n\n\
                E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled\n\
                Port    Status  Priorities  Action       Timeout  Recovery        Polling\n\
                \u{20}                                        Interval Interval/Mode   Config/Oper\n\
                ------------------------------------------------------------------------------\n";
    let rows: String = ports
        .iter()
        .map(|port| match port.pfc {
            Some(priority) => {
                let active = if port.up { "A" } else { "-" };
                format!(
                    "{:<8}E {active} W   {priority:<12}drop         1.0      2.0 / auto      0.1 / 0.1\n",
                    short(port)
                )
            }
            None => format!("{:<8}D - -   -           -            -        - / -           - / -\n", short(port)),
        })
        .collect();
    format!("{head}{rows}")
}

fn pfc_counters(ports: &[&Port]) -> Value {
    let of = |port: &Port| json!({ "rxFrames": port.counted.pauses.0, "txFrames": port.counted.pauses.1 });
    json!({ "interfaceCounters": each(ports, of) })
}

fn ecn(ports: &[&Port]) -> String {
    ports
        .iter()
        .map(|port| {
            let rows: String = (0..8)
                .rev()
                .map(|queue| {
                    if queue == port.class() && port.ecn {
                        format!("   {queue}              150                 1500              kbytes                 100\n")
                    } else {
                        format!("   {queue}               -                    -                  -                    -\n")
                    }
                })
                .collect();
            format!(
                "{}:\n\nTx-Queue    Minimum Threshold    Maximum Threshold    Threshold Unit    Max Mark Probability\n\
                 ---------------------------------------------------------------------------------------------\n{rows}\n",
                port.name
            )
        })
        .collect()
}

fn ecn_counters(ports: &[&Port]) -> Value {
    let of = |port: &Port| {
        let queue = |number: u8| {
            let text =
                if number == port.class() && port.ecn { port.counted.marked.to_string() } else { "-".to_owned() };
            (number.to_string(), Value::String(text))
        };
        json!({ "queueCounters": (0..8).map(queue).collect::<Map<String, Value>>() })
    };
    json!({ "intfQueueCounters": each(ports, of) })
}

fn trust(ports: &[&Port]) -> String {
    let rows: String = ports.iter().map(|port| format!("{:<20}DSCP            DSCP\n", port.name)).collect();
    format!(
        "Port                          Trust Mode\n                    Operational     Configured\n\
         ---------------------------------------------------------------\n{rows}"
    )
}
