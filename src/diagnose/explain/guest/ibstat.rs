//! `ibstat`: channel adapters and their ports.

use super::ports::{Adapter, Ports};
use super::{Output, is_name, pair, text, word};
use crate::diagnose::explain::{Explained, Kind};

/// Keys of adapters and ports that are told.
const KEYS: [&str; 15] = [
    "CA type",
    "Number of ports",
    "Firmware version",
    "Hardware version",
    "Node GUID",
    "System image GUID",
    "State",
    "Physical state",
    "Rate",
    "Base lid",
    "LMC",
    "SM lid",
    "Capability mask",
    "Port GUID",
    "Link layer",
];

/// Reads adapters and ports.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, ports: &mut Ports) {
    let mut device = String::new();
    let mut port = String::new();
    let mut adapter = Adapter::Unclear;
    for words in &output.lines {
        let line = words.text;
        let named = line.strip_prefix("CA '").and_then(|rest| rest.strip_suffix('\'')).filter(|name| is_name(name));
        if let Some(name) = named {
            explained.is(Kind::Ibstat);
            (device, port, adapter) = (name.to_owned(), String::new(), Adapter::of_name(name));
            continue;
        }
        if device.is_empty() {
            continue;
        }
        let at = line.strip_prefix("Port ").and_then(|rest| rest.strip_suffix(':'));
        if let Some(at) = at.filter(|at| at.parse::<u32>().is_ok()) {
            port = format!("{device}/{at}");
            ports.port(output.host, &port).adapter = adapter;
            continue;
        }
        let Some((key, value)) = pair(line).filter(|(key, _)| KEYS.contains(key)) else { continue };
        let owner = output.owner(if port.is_empty() { &device } else { &port });
        let name = format!("{owner}.{}", key.to_lowercase().replace(' ', "-"));
        if key == "CA type" && value.contains("PVRDMA") {
            adapter = Adapter::Pvrdma;
        }
        let unit = (key == "Rate" && value.parse::<f64>().is_ok()).then_some("Gb/s each way");
        let shown = if key == "Rate" { text(value) } else { word(value) };
        explained.fact(words.number, &name, shown, unit);
        if port.is_empty() {
            continue;
        }
        match key {
            "State" => {
                let state = match value {
                    "Initializing" => "INIT".to_owned(),
                    value => value.to_uppercase(),
                };
                ports.state(output.host, &port, &state, words.number, line);
            }
            "Physical state" => {
                ports.port(output.host, &port).physical =
                    if value == "LinkUp" { "LINK_UP".to_owned() } else { value.to_uppercase() };
            }
            "SM lid" => ports.port(output.host, &port).manager = value.parse().ok(),
            "Link layer" => {
                ports.port(output.host, &port).is_infiniband =
                    value.eq_ignore_ascii_case("InfiniBand") || value == "IB";
            }
            _ => {}
        }
    }
}
