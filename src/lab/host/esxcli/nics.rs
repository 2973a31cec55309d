//! `esxcli network nic` and `sriovnic`: physical adapters, what they count, their virtual functions.

use super::super::Said;
use super::super::hosts::VIRTUAL_FUNCTIONS;
use super::super::print::{Column, fields, indented, row, table, truth};
use super::super::state::{Dcb, Release, State, Uplink, address};
use super::super::traffic;
use super::unknown;

pub fn answer(state: &State, words: &[&str], nic: Option<&str>) -> Said {
    let uplink = || {
        let name = nic.ok_or("Error: Missing required parameter -n|--nic-name")?;
        state.uplink(name).ok_or_else(|| format!("Unable to find NIC {name}: Not found"))
    };
    Ok(match words {
        ["nic", "list"] => list(&state.uplinks.iter().collect::<Vec<_>>(), true),
        ["nic", "get"] => get(state, uplink()?),
        ["nic", "stats", "get"] => stats(state, uplink()?),
        ["nic", "pauseParams", "list"] => pause(state),
        ["nic", "dcb", "status", "get"] => {
            let uplink = uplink()?;
            let Some(dcb) = uplink.dcb else {
                return Err("Unable to complete Sysinfo operation.  Please see the VMkernel log file for more details.: Sysinfo error: Not supported".to_owned());
            };
            dcb_status(uplink, dcb)
        }
        ["sriovnic", "list"] => list(&sriov(state), false),
        ["sriovnic", "vf", "list"] => {
            let name = nic.ok_or("Error: Missing required parameter -n|--nic-name")?;
            if !sriov(state).iter().any(|uplink| uplink.name == name) {
                return Err(format!("There is no SRIOV Nic with name {name}"));
            }
            virtual_functions(state, uplink()?)
        }
        _ => return unknown(&[&["network"], words].concat()),
    })
}

fn sriov(state: &State) -> Vec<&Uplink> {
    state.uplinks.iter().filter(|uplink| uplink.virtual_functions > 0).collect()
}

/// Source: outputs in public test code: a link that is down has speed 0 and duplex Half.
fn list(uplinks: &[&Uplink], all: bool) -> String {
    let mut titles = vec![Column::Left("Name"), Column::Left("PCI Device"), Column::Left("Driver")];
    if all {
        titles.push(Column::Left("Admin Status"));
    }
    titles.extend([
        Column::Left(if all { "Link Status" } else { "Link" }),
        Column::Right("Speed"),
        Column::Left("Duplex"),
        Column::Left("MAC Address"),
        Column::Right("MTU"),
        Column::Left("Description"),
    ]);
    let rows: Vec<Vec<String>> = uplinks
        .iter()
        .map(|uplink| {
            let mut cells = vec![uplink.name.to_owned(), address(uplink.at), uplink.driver.to_owned()];
            if all {
                cells.push(if uplink.enabled { "Up" } else { "Down" }.to_owned());
            }
            cells.extend([
                if uplink.up { "Up" } else { "Down" }.to_owned(),
                if uplink.up { uplink.speed } else { 0 }.to_string(),
                if uplink.up { "Full" } else { "Half" }.to_owned(),
                uplink.mac.clone(),
                uplink.mtu.to_string(),
                uplink.description.to_owned(),
            ]);
            cells
        })
        .collect();
    table(&titles, &rows)
}

/// Source: outputs in public test code: a colon before the function, `Backing DPUId` from 8.0 on, structures six blanks deeper.
fn get(state: &State, uplink: &Uplink) -> String {
    let (bus, slot, function) = uplink.at;
    let modes = if uplink.speed > 10_000 {
        "Auto, 25000BaseCR/Full, 50000BaseCR2/Full, 100000BaseCR4/Full"
    } else {
        "Auto, 100BaseT/Full, 1000BaseT/Full, 10000BaseT/Full"
    };
    let cable = if uplink.speed > 10_000 { "DA" } else { "Twisted Pair" };
    let mut pairs = vec![
        ("Advertised Auto Negotiation", truth(true)),
        ("Advertised Link Modes", modes.to_owned()),
        ("Auto Negotiation", truth(true)),
    ];
    if state.release == Release::Eight {
        pairs.push(("Backing DPUId", "N/A".to_owned()));
    }
    pairs.extend([
        ("Cable Type", cable.to_owned()),
        ("Current Message Level", "0".to_owned()),
        ("Driver Info", String::new()),
    ]);
    let driver = [
        ("Bus Info", format!("0000:{bus:02x}:{slot:02x}:{function:x}")),
        ("Driver", uplink.driver.to_owned()),
        ("Firmware Version", uplink.firmware.to_owned()),
        ("Version", uplink.driver_version.to_owned()),
    ];
    let more = [
        ("Link Detected", truth(uplink.up)),
        ("Link Status", if uplink.up { "Up" } else { "Down" }.to_owned()),
        ("Name", uplink.name.to_owned()),
        ("PHYAddress", "0".to_owned()),
        ("Pause Autonegotiate", truth(false)),
        ("Pause RX", truth(uplink.pause.0)),
        ("Pause TX", truth(uplink.pause.1)),
        ("Supported Ports", cable.to_owned()),
        ("Supports Auto Negotiation", truth(true)),
        ("Supports Pause", truth(true)),
        ("Supports Wakeon", truth(false)),
        ("Transceiver", String::new()),
        (
            "Virtual Address",
            format!("00:50:56:5{}:{bus:02x}:{function:02x}", u8::from(state.release == Release::Eight)),
        ),
        ("Wakeon", "None".to_owned()),
    ];
    format!("{}{}{}", fields(&pairs), indented(9, &driver), fields(&more))
}

/// Source: outputs in public test code.
fn stats(state: &State, uplink: &Uplink) -> String {
    let (received, sent) = traffic::uplink(state, uplink);
    let values: [(&str, u64); 23] = [
        ("Packets received", received / 1200),
        ("Packets sent", sent / 1200),
        ("Bytes received", received),
        ("Bytes sent", sent),
        ("Receive packets dropped", 0),
        ("Transmit packets dropped", 0),
        ("Multicast packets received", received / 900_000),
        ("Broadcast packets received", received / 700_000),
        ("Multicast packets sent", sent / 900_000),
        ("Broadcast packets sent", sent / 1_100_000),
        ("Total receive errors", 0),
        ("Receive length errors", 0),
        ("Receive over errors", 0),
        ("Receive CRC errors", 0),
        ("Receive frame errors", 0),
        ("Receive FIFO errors", 0),
        ("Receive missed errors", 0),
        ("Total transmit errors", 0),
        ("Transmit aborted errors", 0),
        ("Transmit carrier errors", 0),
        ("Transmit FIFO errors", 0),
        ("Transmit heartbeat errors", 0),
        ("Transmit window errors", 0),
    ];
    format!("NIC statistics for {}\n{}", uplink.name, fields(&values.map(|(label, value)| (label, value.to_string()))))
}

/// `localcli --plugin-dir DIR networkinternal nic privstats get -n vmnic2`.
///
/// Source: public driver documentation, names of two of the counters; the layout and the other names are UNSOURCED.
pub fn private_stats(state: &State, nic: Option<&str>) -> Said {
    let name = nic.unwrap_or_default();
    let uplink = state.uplink(name).ok_or_else(|| format!("Unable to find NIC {name}: Not found"))?;
    let (received, sent) = traffic::uplink(state, uplink);
    if uplink.dcb.is_none() {
        return Ok(fields(&[("rx_pkts", (received / 1200).to_string()), ("tx_pkts", (sent / 1200).to_string())]));
    }
    Ok(fields(&[
        ("rxBytesPhy", received.to_string()),
        ("txBytesPhy", sent.to_string()),
        ("rxPauseCtrlPhy", "0".to_owned()),
        ("txPauseCtrlPhy", "0".to_owned()),
        ("rxDiscardsPhy", "0".to_owned()),
        ("outOfBuffer", "0".to_owned()),
    ]))
}

/// Source: capture "esxcli network nic pauseParams list" of two hosts.
fn pause(state: &State) -> String {
    let titles = [
        Column::Left("NIC"),
        Column::Right("Pause Params Supported"),
        Column::Right("Pause RX"),
        Column::Right("Pause TX"),
        Column::Right("Auto Negotiation"),
        Column::Right("Auto Negotiation Resolution Avail"),
        Column::Right("RX Auto Negotiation Resolution"),
        Column::Right("TX Auto Negotiation Resolution"),
    ];
    let rows: Vec<Vec<String>> = state
        .uplinks
        .iter()
        .map(|uplink| {
            let (rx, tx) = (truth(uplink.pause.0), truth(uplink.pause.1));
            row([uplink.name, "true", &rx, &tx, "false", "false", "false", "false"])
        })
        .collect();
    table(&titles, &rows)
}

/// Source: four lines that are quoted in public; the layout around them is UNSOURCED.
fn dcb_status(uplink: &Uplink, dcb: Dcb) -> String {
    let numbers = |values: [u8; 8]| values.map(|value| value.to_string()).join(" ");
    let pfc = numbers(dcb.pfc);
    let enabled = dcb.pfc.contains(&1);
    let head = fields(&[
        ("Nic Name", uplink.name.to_owned()),
        ("Mode", if dcb.ieee { "3 - IEEE Mode" } else { "2 - CEE Mode" }.to_owned()),
        ("Enabled", truth(true)),
        ("Capabilities", String::new()),
    ]);
    let capabilities = indented(
        9,
        &[
            ("Priority Group", truth(true)),
            ("Priority Flow Control", truth(true)),
            ("PG Traffic Classes", "8".to_owned()),
            ("PFC Traffic Classes", "8".to_owned()),
        ],
    );
    let middle = fields(&[
        ("PFC Enabled", truth(enabled)),
        ("PFC Configuration", pfc.clone()),
        ("IEEE ETS Configuration", String::new()),
    ]);
    let ets = indented(
        9,
        &[
            ("Willing Bit In ETS Config TLV", "1".to_owned()),
            ("Supported Capacity", "8".to_owned()),
            ("Credit Based Shaper ETS Algorithm Supported", "0x0".to_owned()),
            ("TX Bandwidth Per TC", "13 13 13 13 12 12 12 12".to_owned()),
            ("RX Bandwidth Per TC", "13 13 13 13 12 12 12 12".to_owned()),
        ],
    );
    let flow = indented(
        9,
        &[
            ("Number Of Traffic Classes", "8".to_owned()),
            ("PFC Configuration", pfc),
            ("Macsec Bypass Capability Is Enabled", "0".to_owned()),
            ("Round Trip Propagation Delay Of Link", "0".to_owned()),
            ("Sent PFC Frames", numbers(dcb.pfc)),
            ("Received PFC Frames", numbers([0; 8])),
        ],
    );
    format!("{head}{capabilities}{middle}{ets}   IEEE PFC Configuration:\n{flow}   DCB Apps:\n")
}

/// Source: outputs in public test code: decimal with five and three digits before 8.0 U3, hexadecimal from then on.
fn virtual_functions(state: &State, uplink: &Uplink) -> String {
    let (bus, slot, _) = uplink.at;
    let rows: Vec<Vec<String>> = (0..VIRTUAL_FUNCTIONS)
        .map(|number| {
            let function = 2 + number;
            let address = match state.release {
                Release::Seven => format!("00000:{bus:03}:{slot:02}.{function}"),
                Release::Eight => address((bus, slot, function)),
            };
            vec![number.to_string(), truth(false), address, "-".to_owned()]
        })
        .collect();
    let titles =
        [Column::Right("VF ID"), Column::Right("Active"), Column::Left("PCI Address"), Column::Left("Owner World ID")];
    table(&titles, &rows)
}
