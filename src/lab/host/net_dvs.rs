//! `net-dvs -l`: what the distributed switch is on this host.
//!
//! Source: captures of `net-dvs -l` of 5.x hosts in public notes (names of properties, their order, `propType`, the lines
//! of teaming, VLAN, statistics and volatile status). UNSOURCED whether 7.0 and 8.0 print more.

use std::fmt::Write as _;

use super::hosts::{DVS, DVS_ID};
use super::state::{Port, State};
use super::traffic;

/// All of it.
pub fn list(state: &State) -> String {
    let mut text = format!(
        "switch {DVS_ID} (etherswitch)\n\
         \tmax ports: 3456\n\
         \tglobal properties:\n\
         \t\tcom.vmware.common.version = 0x 7. 0. 3. 0\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.common.opaqueDvs = false ,\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.mtu = 9000 ,\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.cdp = LLDP, both\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.common.alias = {DVS} ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.uplinkPorts:\n\t\t\tUplink 1, Uplink 2\n\t\t\tpropType = CONFIG\n\
         \thost properties:\n\
         \t\tcom.vmware.common.host.portset = DvsPortset-1 ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.host.volatile.status = green ,\tpropType = RUNTIME\n\
         \t\tcom.vmware.common.portset.opaque = false ,\tpropType = RUNTIME\n"
    );
    let ids: Vec<String> =
        state.ports.iter().filter(|port| !port.alias.is_empty()).map(|port| port.id.to_string()).collect();
    let _infallible =
        write!(text, "\t\tcom.vmware.common.host.uplinkPorts:\n\t\t\t{}\n\t\t\tpropType = CONFIG\n", ids.join(", "));
    for (port, number) in state.ports.iter().zip(2u32..) {
        text.push_str(&one(state, port, number));
    }
    text
}

fn one(state: &State, port: &Port, number: u32) -> String {
    let is_uplink = !port.alias.is_empty();
    // An uplink has no uplink of its own.
    let active = if is_uplink {
        String::new()
    } else {
        let names: Vec<&str> =
            if state.dvs_uplinks.len() > 1 { vec!["Uplink 1;", "Uplink 2;"] } else { vec!["Uplink 1;"] };
        names.join(" ")
    };
    let vlan = match port.vlan {
        None => "Guest VLAN tagging\n\t\t\tranges = 0-4094".to_owned(),
        Some(vlan) => format!("VLAN {vlan}"),
    };
    let (bytes_in, bytes_out) = traffic::port(state, port);
    let statistics = [
        ("pktsInUnicast", bytes_in / 1400),
        ("bytesInUnicast", bytes_in),
        ("pktsInMulticast", bytes_in / 2_000_000),
        ("bytesInMulticast", bytes_in / 20_000),
        ("pktsInBroadcast", bytes_in / 3_000_000),
        ("bytesInBroadcast", bytes_in / 50_000),
        ("pktsOutUnicast", bytes_out / 1400),
        ("bytesOutUnicast", bytes_out),
        ("pktsOutMulticast", bytes_out / 2_000_000),
        ("bytesOutMulticast", bytes_out / 20_000),
        ("pktsOutBroadcast", bytes_out / 3_000_000),
        ("bytesOutBroadcast", bytes_out / 50_000),
        ("pktsInDropped", 0),
        ("pktsOutDropped", 0),
        ("pktsInException", 17),
        ("pktsOutException", 0),
    ];
    let statistics: String = statistics.iter().map(|(name, value)| format!("\t\t\t{name} = {value}\n")).collect();
    let link = if port.up { "linkUp" } else { "linkDown" };
    format!(
        "\tport {id}:\n\
         \t\tcom.vmware.common.port.alias = {alias} ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.connectid = {connection} ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.portgroupid = {group} ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.block = false ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.dvfilter = filters (num = 0):\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.ptAllowed = 0x 0. 0. 0. 0\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.port.teaming:\n\
         \t\t\tload balancing = source virtual port id\n\
         \t\t\tlink selection = link state up;\n\
         \t\t\tlink behavior = notify switch; best effort on failure; shotgun on failure;\n\
         \t\t\tactive = {active}\n\
         \t\t\tstandby =\n\
         \t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.port.security = deny promiscuous; deny mac change; deny forged frames\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.port.vlan = {vlan}\n\t\t\tpropType = CONFIG\n\
         \t\tcom.vmware.etherswitch.port.txUplink = normal ,\tpropType = CONFIG\n\
         \t\tcom.vmware.common.port.volatile.vlan = {vlan}\n\t\t\tpropType = RUNTIME VOLATILE\n\
         \t\tcom.vmware.common.port.statistics:\n{statistics}\t\t\tpropType = RUNTIME\n\
         \t\tcom.vmware.common.port.volatile.status = inUse {link} portID={port_id}  propType = RUNTIME\n\
         \t\tcom.vmware.common.port.volatile.ptstatus = noPassthruReason=32,  propType = RUNTIME\n",
        id = port.id,
        alias = port.alias,
        connection = port.connection,
        group = port.group,
        port_id = 67_108_864 + number,
    )
}
