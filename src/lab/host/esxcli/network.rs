//! `esxcli network`: switches, VMkernel adapters, the firewall. The rest is in [`nics`].

use super::super::Said;
use super::super::hosts::{DVS, DVS_ID};
use super::super::print::{Column, blocks, fields, indented, row, table, truth};
use super::super::state::{Release, State};
use super::{Call, nics, unknown};

pub fn answer(state: &State, words: &[&str], nic: Option<&str>, call: &Call<'_>) -> Said {
    Ok(match words {
        ["nic" | "sriovnic", ..] => return nics::answer(state, words, nic),
        ["vswitch", "standard", "list"] => standard(),
        ["vswitch", "standard", "portgroup", "list"] => port_groups(),
        ["vswitch", "standard", "policy", "failover", "get"] => fields(&[
            ("Load Balancing", "srcport".to_owned()),
            ("Network Failure Detection", "link".to_owned()),
            ("Notify Switches", truth(true)),
            ("Failback", truth(true)),
            ("Active Adapters", "vmnic0".to_owned()),
            ("Standby Adapters", String::new()),
            ("Unused Adapters", String::new()),
        ]),
        ["vswitch", "dvs", "vmware", "list"] => distributed(state),
        ["ip", "interface", "list"] => interfaces(state),
        ["ip", "interface", "ipv4", "get" | "address"] | ["ip", "interface", "ipv4", "address", "list"] => ipv4(state),
        ["ip", "netstack", "list"] => {
            let pairs = [("Key", "defaultTcpipStack"), ("Name", "defaultTcpipStack"), ("State", "4660")];
            format!("defaultTcpipStack\n{}", fields(&pairs.map(|(key, value)| (key, value.to_owned()))))
        }
        ["firewall", "get"] => {
            fields(&[("Default Action", "DROP".to_owned()), ("Enabled", truth(true)), ("Loaded", truth(true))])
        }
        ["firewall", "ruleset", "list"] => rulesets(state, call.option("-r", "--ruleset-id"))?,
        _ => return unknown(&[&["network"], words].concat()),
    })
}

/// Source: published outputs.
fn standard() -> String {
    let fields = fields(&[
        ("Name", "vSwitch0".to_owned()),
        ("Class", "cswitch".to_owned()),
        ("Num Ports", "8570".to_owned()),
        ("Used Ports", "5".to_owned()),
        ("Configured Ports", "128".to_owned()),
        ("MTU", "1500".to_owned()),
        ("CDP Status", "listen".to_owned()),
        ("Beacon Enabled", truth(false)),
        ("Beacon Interval", "1".to_owned()),
        ("Beacon Threshold", "3".to_owned()),
        ("Beacon Required By", String::new()),
        ("Uplinks", "vmnic0".to_owned()),
        ("Portgroups", "VM Network, Management Network".to_owned()),
    ]);
    format!("vSwitch0\n{fields}")
}

/// Source: published outputs.
fn port_groups() -> String {
    let rows = [row(["Management Network", "vSwitch0", "1", "0"]), row(["VM Network", "vSwitch0", "2", "0"])];
    let titles = [
        Column::Left("Name"),
        Column::Left("Virtual Switch"),
        Column::Right("Active Clients"),
        Column::Right("VLAN ID"),
    ];
    table(&titles, &rows)
}

/// Source: published outputs: an empty line between ports.
fn distributed(state: &State) -> String {
    let head = fields(&[
        ("Name", DVS.to_owned()),
        ("VDS ID", DVS_ID.to_owned()),
        ("Class", "cswitch".to_owned()),
        ("Num Ports", "3456".to_owned()),
        ("Used Ports", (state.ports.len() + 1).to_string()),
        ("Configured Ports", "512".to_owned()),
        ("MTU", "9000".to_owned()),
        ("CDP Status", "both".to_owned()),
        ("Beacon Timeout", "-1".to_owned()),
        ("Uplinks", state.dvs_uplinks.join(", ")),
        ("VMware Branded", truth(true)),
        ("DVPort", String::new()),
    ]);
    let ports: Vec<String> = state
        .ports
        .iter()
        .map(|port| {
            indented(
                9,
                &[
                    ("Client", port.client.clone()),
                    ("DVPortgroup ID", port.group.to_owned()),
                    ("In Use", truth(true)),
                    ("Port ID", port.id.to_string()),
                ],
            )
        })
        .collect();
    format!("{DVS}\n{head}{}", ports.join("\n"))
}

/// Source: published outputs.
fn interfaces(state: &State) -> String {
    let shown: Vec<(String, String)> = state
        .vmknics
        .iter()
        .zip(7u32..)
        .map(|(vmknic, number)| {
            let port = vmknic.port.and_then(|id| state.ports.iter().find(|port| port.id == id));
            let of = |text: &str| if port.is_some() { text.to_owned() } else { "N/A".to_owned() };
            let fields = fields(&[
                ("Name", vmknic.name.to_owned()),
                ("MAC Address", vmknic.mac.clone()),
                ("Enabled", truth(vmknic.enabled)),
                ("Portset", if port.is_some() { "DvsPortset-1" } else { "vSwitch0" }.to_owned()),
                ("Portgroup", if port.is_some() { "N/A" } else { "Management Network" }.to_owned()),
                ("Netstack Instance", "defaultTcpipStack".to_owned()),
                ("VDS Name", of(DVS)),
                ("VDS UUID", of(DVS_ID)),
                ("VDS Port", port.map_or("N/A".to_owned(), |port| port.id.to_string())),
                ("VDS Connection", port.map_or("-1".to_owned(), |port| port.connection.to_string())),
                ("Opaque Network ID", "N/A".to_owned()),
                ("Opaque Network Type", "N/A".to_owned()),
                ("External ID", "N/A".to_owned()),
                ("MTU", vmknic.mtu.to_string()),
                ("TSO MSS", "65535".to_owned()),
                ("RXDispQueue Size", "2".to_owned()),
                ("Port ID", (67_108_864 + number).to_string()),
            ]);
            (vmknic.name.to_owned(), fields)
        })
        .collect();
    blocks(&shown)
}

/// Source: published outputs.
fn ipv4(state: &State) -> String {
    let rows: Vec<Vec<String>> = state
        .vmknics
        .iter()
        .map(|vmknic| {
            let network = vmknic.address.rsplit_once('.').map_or("", |(network, _)| network);
            let gateway = if vmknic.port.is_none() { format!("{network}.1") } else { "0.0.0.0".to_owned() };
            row([vmknic.name, &vmknic.address, "255.255.255.0", &format!("{network}.255"), "STATIC", &gateway, "false"])
        })
        .collect();
    let titles = [
        Column::Left("Name"),
        Column::Left("IPv4 Address"),
        Column::Left("IPv4 Netmask"),
        Column::Left("IPv4 Broadcast"),
        Column::Left("Address Type"),
        Column::Left("Gateway"),
        Column::Right("DHCP DNS"),
    ];
    table(&titles, &rows)
}

/// Source: published outputs: two more columns from 8.0 U2 on.
fn rulesets(state: &State, wanted: Option<&str>) -> Result<String, String> {
    let mut rows: Vec<Vec<String>> = state
        .rulesets
        .iter()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted == *name))
        .map(|(name, open)| vec![(*name).to_owned(), truth(*open)])
        .collect();
    if rows.is_empty() {
        return Err(format!("Ruleset with id {} not found", wanted.unwrap_or_default()));
    }
    let mut titles = vec![Column::Left("Name"), Column::Right("Enabled")];
    if state.release == Release::Eight {
        titles.extend([Column::Right("Enable/Disable configurable"), Column::Right("Allowed IP configurable")]);
        for row in &mut rows {
            row.extend([truth(true), truth(true)]);
        }
    }
    Ok(table(&titles, &rows))
}
