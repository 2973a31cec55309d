//! What Cisco NX-OS answers on a Nexus 9000.
//!
//! Sources: outputs that are quoted in public and in test data of collectors (`show interface`, `show interface
//! priority-flow-control`, `show queuing interface`, `show queuing pfc-queue`, `show lldp neighbors detail`, `show policy-map
//! system type network-qos`). What a real one prints besides is left out.

use super::eos::Said;
use super::state::{Port, State, Vlans, changes, dotted};

/// Answers a line; several commands are parted by semicolons.
pub fn answer(state: &State, line: &str) -> Said {
    let mut text = String::new();
    for command in line.split(" ;").flat_map(|part| part.split("; ")).map(str::trim) {
        text.push_str(&one(state, command)?);
    }
    Ok(text)
}

fn one(state: &State, line: &str) -> Said {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (wanted, words) = without_port(&words);
    let ports: Vec<&Port> = match wanted {
        None => state.ports.iter().collect(),
        Some(name) => state.ports.iter().filter(|port| port.name.eq_ignore_ascii_case(&name)).collect(),
    };
    if ports.is_empty() {
        return Err(("Invalid range at '^' marker.\n".to_owned(), 16));
    }
    let front: Vec<&Port> = ports.iter().copied().filter(|port| port.vlans.is_some()).collect();
    Ok(match words.as_slice() {
        ["show", "version"] => version(state),
        ["show", "hostname"] => format!("{}\n", state.name),
        ["show", "interface"] => ports.iter().map(|port| interface(state, port)).collect(),
        ["show", "interface", "switchport"] => front.iter().map(|port| switchport(port)).collect(),
        ["show", "interface", "priority-flow-control"] => pfc(&front),
        ["show", "lldp", "neighbors", "detail"] => neighbours(&front),
        ["show", "queuing", "interface"] => queuing(&front),
        ["show", "queuing", "pfc-queue"] | ["show", "queuing", "pfc-queue", "detail"] => watchdog(&front),
        ["show", "policy-map", "system", "type", "queuing"] => queuing_policy(state),
        ["show", "policy-map", "system", "type", "network-qos"] => network_qos(state),
        [] => String::new(),
        ["show", "interface" | "lldp" | "queuing" | "policy-map", ..] => {
            return Err((format!("{:>width$}\n% Invalid command at '^' marker.\n", "^", width = line.len()), 16));
        }
        _ => return Err((format!("Syntax error while parsing '{line}'\n\n\nCmd exec error.\n"), 16)),
    })
}

/// Takes the name of a port out of the words: `ethernet 1/2`, `Ethernet1/2`, `eth1/2`.
fn without_port<'a>(words: &[&'a str]) -> (Option<String>, Vec<&'a str>) {
    let starts = |word: &str| word.to_ascii_lowercase().starts_with("eth");
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('/');
    let without = |from: usize, count: usize| {
        let rest = words.iter().enumerate().filter(|(at, _)| !(from..from + count).contains(at));
        rest.map(|(_, word)| *word).collect::<Vec<&str>>()
    };
    for (place, word) in words.iter().enumerate().filter(|(_, word)| starts(word)) {
        if let Some(next) = words.get(place + 1).filter(|next| word.chars().all(char::is_alphabetic) && number(next)) {
            return (Some(format!("Ethernet{next}")), without(place, 2));
        }
        if let Some(digit) = word.find(|c: char| c.is_ascii_digit()) {
            return (Some(format!("Ethernet{}", &word[digit..])), without(place, 1));
        }
    }
    (None, words.to_vec())
}

fn version(state: &State) -> String {
    let up = crate::lab::guest::load::whole(state.up);
    let (days, hours, minutes, seconds) = (up / 86_400, up / 3600 % 24, up / 60 % 60, up % 60);
    format!(
        "Cisco Nexus Operating System (NX-OS) Software\nTAC support: http://www.cisco.com/tac\n\n\
         Software\n  BIOS: version 05.50\n  NXOS: version 10.3(4a)\n  BIOS compile time:  08/30/2023\n\
         \u{20} NXOS image file is: bootflash:///nxos64-cs.10.3.4a.M.bin\n  NXOS compile time:  9/30/2023 12:00:00 [10/01/2023 03:18:53]\n\n\n\
         Hardware\n  cisco Nexus9000 C93180YC-FX3 Chassis\n  Intel(R) Xeon(R) CPU D-1526 @ 1.80GHz with 32805736 kB of memory.\n\
         \u{20} Processor Board ID FDO00000000\n\n  Device name: {}\n  bootflash:  115343360 kB\n\n\
         Kernel uptime is {days} day(s), {hours} hour(s), {minutes} minute(s), {seconds} second(s)\n\n\
         Last reset\n  Reason: Unknown\n  System version: 10.3(4a)\n  Service:\n\nplugin\n  Core Plugin, Ethernet Plugin\n\nActive Package(s):\n\n",
        state.name
    )
}

fn interface(state: &State, port: &Port) -> String {
    let head = match (port.enabled, port.up) {
        (_, true) => format!("{} is up\nadmin state is up, Dedicated Interface\n", port.name),
        (true, false) => {
            format!("{} is down (Link not connected)\nadmin state is up, Dedicated Interface\n", port.name)
        }
        (false, false) => {
            format!("{} is down (Administratively down)\nadmin state is down, Dedicated Interface\n", port.name)
        }
    };
    let speed = port.speed / 1_000_000_000;
    let link = if port.up {
        format!("full-duplex, {speed} Gb/s, media type is {speed}G")
    } else {
        "auto-duplex, auto-speed".to_owned()
    };
    let mode = match port.vlans {
        Some(Vlans::Trunk(_)) => "  Port mode is trunk\n",
        Some(Vlans::Access(_)) => "  Port mode is access\n",
        None => "",
    };
    let description =
        if port.description.is_empty() { String::new() } else { format!("  Description: {}\n", port.description) };
    let counted = port.counted;
    let (incoming, outgoing) = counted.frames();
    let large = |frames: u64| if port.mtu > 1518 { frames / 3 } else { 0 };
    format!(
        "{head}  Hardware: 1000/10000/25000/40000/50000/100000 Ethernet, address: {mac} (bia {mac})\n{description}\
         \u{20} MTU {mtu} bytes, BW {width} Kbit , DLY 10 usec\n  reliability 255/255, txload 1/255, rxload 1/255\n\
         \u{20} Encapsulation ARPA, medium is broadcast\n{mode}  {link}\n  Beacon is turned off\n\
         \u{20} Auto-Negotiation is turned on  FEC mode is Auto\n  Input flow-control is off, output flow-control is off\n\
         \u{20} Auto-mdix is turned off\n  Switchport monitor is off \n  EtherType is 0x8100 \n\
         \u{20} EEE (efficient-ethernet) : n/a\n  Last link flapped 5d21h\n  Last clearing of \"show interface\" counters never\n\
         \u{20} {flaps} interface resets\n\
         \u{20} RX\n    {incoming} unicast packets  {many_in} multicast packets  {all_in} broadcast packets\n\
         \u{20}   {input} input packets  {octets_in} bytes\n    {large_in} jumbo packets  0 storm suppression packets\n\
         \u{20}   0 runts  0 giants  {errors} CRC  0 no buffer\n\
         \u{20}   {errors} input error  0 short frame  0 overrun   0 underrun  0 ignored\n\
         \u{20}   0 watchdog  0 bad etype drop  0 bad proto drop  0 if down drop\n\
         \u{20}   0 input with dribble  0 input discard\n    0 Rx pause\n\
         \u{20} TX\n    {outgoing} unicast packets  {many_out} multicast packets  {all_out} broadcast packets\n\
         \u{20}   {output} output packets  {octets_out} bytes\n    {large_out} jumbo packets\n\
         \u{20}   0 output error  0 collision  0 deferred  0 late collision\n\
         \u{20}   0 lost carrier  0 no carrier  0 babble  0 output discard\n    0 Tx pause\n\n",
        mac = dotted(port.mac),
        mtu = port.mtu,
        width = port.speed / 1000,
        flaps = changes(state, port),
        many_in = incoming / 70_000,
        all_in = incoming / 900_000,
        input = incoming + incoming / 70_000 + incoming / 900_000,
        octets_in = counted.octets.0,
        large_in = large(incoming),
        errors = counted.errors,
        many_out = outgoing / 60_000,
        all_out = outgoing / 800_000,
        output = outgoing + outgoing / 60_000 + outgoing / 800_000,
        octets_out = counted.octets.1,
        large_out = large(outgoing),
    )
}

fn switchport(port: &Port) -> String {
    let (mode, access, allowed) = match port.vlans {
        Some(Vlans::Trunk(list)) => ("trunk", 1, list),
        Some(Vlans::Access(vlan)) => ("access", vlan, "1-4094"),
        None => return String::new(),
    };
    let mode = if port.up { mode } else { "down" };
    let access = if access == 1 { "1 (default)".to_owned() } else { format!("{access} (RDMA)") };
    format!(
        "Name: {}\n  Switchport: Enabled\n  Switchport Monitor: Not enabled \n  Switchport Block Multicast: Not enabled \n\
         \u{20} Switchport Block Unicast: Not enabled \n  Operational Mode: {mode}\n  Access Mode VLAN: {access}\n\
         \u{20} Trunking Native Mode VLAN: 1 (default)\n  Trunking VLANs Allowed: {allowed}\n  Voice VLAN: none\n\
         \u{20} Extended Trust State : not trusted [COS = 0]\n  Administrative private-vlan primary host-association: none\n\
         \u{20} Administrative private-vlan secondary host-association: none\n  Administrative private-vlan primary mapping: none\n\
         \u{20} Administrative private-vlan secondary mapping: none\n  Administrative private-vlan trunk native VLAN: none\n\
         \u{20} Administrative private-vlan trunk encapsulation: dot1q\n  Administrative private-vlan trunk normal VLANs: none\n\
         \u{20} Administrative private-vlan trunk private VLANs: none\n  Operational private-vlan: none\n",
        port.name
    )
}

fn pfc(ports: &[&Port]) -> String {
    let rule = "============================================================";
    let rows: String = ports
        .iter()
        .map(|port| {
            let mode = if port.pfc.is_some() { "On" } else { "Off" };
            let oper = match port.pfc.filter(|_| port.up) {
                Some(priority) => format!("On   ({:x})", 1u32 << priority),
                None => "Off".to_owned(),
            };
            let (received, sent) = port.counted.pauses;
            format!("{:<19}{mode:<5}{oper:<15}{received:<11}{sent:<11}\n", port.name)
        })
        .collect();
    format!("{rule}\nPort               Mode Oper(VL bmap)  RxPPP      TxPPP     \n{rule}\n\n{rows}")
}

fn neighbours(ports: &[&Port]) -> String {
    let told: Vec<String> = ports
        .iter()
        .filter_map(|port| {
            let neighbour = port.neighbour.as_ref()?;
            let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
            Some(format!(
                "Chassis id: {}\nPort id: {}\nLocal Port id: {}\nPort Description: {}\nSystem Name: {}\n\
                 System Description: {}\nTime remaining: 105 seconds\nSystem Capabilities: B\nEnabled Capabilities: B\n\
                 Management Address: {}\nManagement Address IPV6: not advertised\nVlan ID: not advertised\n\n",
                neighbour.chassis.1,
                neighbour.port.1,
                port.name.replace("Ethernet", "Eth"),
                or(&neighbour.description, "null"),
                or(neighbour.name, "null"),
                or(&neighbour.system, "null"),
                or(&neighbour.address, "not advertised"),
            ))
        })
        .collect();
    format!(
        "Capability codes:\n  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n\
         \u{20} (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n\
         Device ID            Local Intf      Hold-time  Capability  Port ID  \n\n{}Total entries displayed: {}\n",
        told.concat(),
        told.len()
    )
}

fn queuing(ports: &[&Port]) -> String {
    let line = "+-------------------------------------------------------------------+";
    let thin = "--------------------------------------------------------";
    let wide = "----------------------------------------------------------------------------";
    let of = |port: &&Port| {
        let (_, frames) = port.counted.frames();
        // Nearly all of it is RDMA, in the group without loss.
        let groups: String = [0u64, 3]
            .iter()
            .map(|group| {
                let frames = if *group == 3 { frames - frames / 12 } else { frames / 12 };
                let octets = frames * (port.counted.octets.1 / port.counted.frames().1.max(1));
                format!(
                    "{line}\n|                              QOS GROUP {group}                          |\n{line}\n\
                     |                |  Unicast       | OOBFC Unicast  |  Multicast     |\n{line}\n\
                     |        Tx Pkts |{frames:>16}|{zero:>16}|{zero:>16}|\n\
                     |        Tx Byts |{octets:>16}|{zero:>16}|{zero:>16}|\n\
                     |   Dropped Pkts |{zero:>16}|{zero:>16}|{zero:>16}|\n\
                     |   Dropped Byts |{zero:>16}|{zero:>16}|{zero:>16}|\n\
                     |   Q Depth Byts |{zero:>16}|{zero:>16}|{zero:>16}|\n",
                    zero = 0
                )
            })
            .collect();
        let lossless = port.pfc.map_or(8, u64::from);
        let classes: String = (0..8u64)
            .map(|class| {
                let (group, sent, received) =
                    if class == lossless { ("3", port.counted.pauses.1, port.counted.pauses.0) } else { ("-", 0, 0) };
                format!(
                    "{class:>4}         {group}         {group}  Inactive {sent:>9}        Inactive {received:>15}\n"
                )
            })
            .collect();
        format!(
            "Egress Queuing for {name} [System]\n{groups}{line}\nPort Egress Statistics\n{thin}\n\
             WRED Drop Pkts                              0\n\nIngress Queuing for {name}\nPort Ingress Statistics\n{thin}\n\
             Ingress MMU Drop Pkts                       0\nIngress MMU Drop Bytes                      0\n\n\
             PFC Statistics\n{wide}\nTxPPP: {sent:>20},   RxPPP: {received:>20}\n{wide}\n\
             COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount\n{classes}{wide}\n\n",
            name = port.name,
            sent = port.counted.pauses.1,
            received = port.counted.pauses.0,
        )
    };
    format!("slot  1\n=======\n\n\n{}", ports.iter().map(of).collect::<String>())
}

fn watchdog(ports: &[&Port]) -> String {
    let line = "+----------------------------------------------------+";
    let of = |port: &&Port| {
        let state = if port.pfc.is_some() { "Enabled" } else { "Disabled" };
        let head = format!(
            "{} Interface PFC watchdog: [{state}]\nDisable-action                     : No\n\
             PFC watch-dog interface-multiplier : 0\n",
            port.name
        );
        let Some(priority) = port.pfc else { return head + "\n" };
        let rows: String = [
            "Shutdown",
            "Restored",
            "Total pkts drained",
            "Total pkts dropped",
            "Total pkts drained + dropped",
            "Aggregate pkts dropped",
            "Total Ingress pkts dropped",
            "Aggregate Ingress pkts dropped",
        ]
        .iter()
        .map(|label| format!("|{label:>31}|{:>20}|\n", 0))
        .collect();
        format!(
            "{head}{line}\n| QOS GROUP 3 [Active] PFC [YES] PFC-COS [{priority}]\n{line}\n\
             |                               |  Stats             |\n{line}\n{rows}{line}\n\n"
        )
    };
    format!("slot  1\n=======\n\n{}", ports.iter().map(of).collect::<String>())
}

fn queuing_policy(state: &State) -> String {
    let ecn = if state.ports.iter().any(|port| port.vlans.is_some() && port.ecn) { " ecn" } else { "" };
    let class = class_of(state);
    format!(
        "\n\n  Service-policy output:   roce-out \n    Service-policy (queuing) output:   roce-out \n\
         \u{20}     policy statistics status:   disabled (current status: disabled)\n\n\
         \u{20}     Class-map (queuing):   c-out-8q-q7 (match-any)\n        priority level 1\n\n\
         \u{20}     Class-map (queuing):   c-out-8q-q{class} (match-any)\n        bandwidth remaining percent 50\n\
         \u{20}       random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0{ecn}\n\n\
         \u{20}     Class-map (queuing):   c-out-8q-q-default (match-any)\n        bandwidth remaining percent 50\n\n"
    )
}

/// The class without loss of the whole system.
fn class_of(state: &State) -> u8 {
    state.ports.iter().find_map(|port| port.pfc).unwrap_or_else(|| state.ports.first().map_or(3, Port::class))
}

fn network_qos(state: &State) -> String {
    let priority = class_of(state);
    format!(
        "\n\n  Type network-qos policy-maps\n  ============================\n  policy-map type network-qos roce-nq\n\
         \u{20}   class type network-qos c-8q-nq{priority}\n      mtu 9216\n      pause pfc-cos {priority}\n\
         \u{20}   class type network-qos c-8q-nq-default\n      mtu 9216\n"
    )
}
