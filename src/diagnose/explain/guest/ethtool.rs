//! `ethtool`: driver (`-i`), statistics (`-S`), pause (`-a`), features (`-k`) and the link.

use super::{Output, is_name, listed, number, pair, text, word};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// Keys of `ethtool -i`.
const DRIVER: [&str; 10] = [
    "driver",
    "version",
    "firmware-version",
    "expansion-rom-version",
    "bus-info",
    "supports-statistics",
    "supports-test",
    "supports-eeprom-access",
    "supports-register-dump",
    "supports-priv-flags",
];

/// Keys of the link that are told.
const LINK: [&str; 6] = ["Speed", "Lanes", "Duplex", "Auto-negotiation", "Port", "Link detected"];

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Driver,
    Statistics,
    Pause,
    Features,
    Link,
}

/// Reads what the tool prints.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut section = Section::None;
    let mut name = named(output.command).to_owned();
    let mut queue = String::new();
    let mut alarms: Vec<(String, u64, u32)> = Vec::new();
    let mut before = "";
    for (at, words) in output.lines.iter().enumerate() {
        let line = words.text;
        let begins =
            |begin: &str| line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(':')).filter(|name| is_name(name));
        if line == "NIC statistics:" {
            explained.is(Kind::Ethtool);
            (section, queue) = (Section::Statistics, String::new());
        } else if let Some(interface) = begins("Pause parameters for ") {
            explained.is(Kind::Ethtool);
            (section, name) = (Section::Pause, interface.to_owned());
        } else if let Some(interface) = begins("Features for ") {
            explained.is(Kind::Ethtool);
            (section, name) = (Section::Features, interface.to_owned());
        } else if let Some(interface) = begins("Settings for ") {
            explained.is(Kind::Ethtool);
            (section, name) = (Section::Link, interface.to_owned());
        } else if line.starts_with("driver: ")
            && output.lines[at..].iter().take(4).any(|next| next.text.starts_with("firmware-version:"))
        {
            explained.is(Kind::Ethtool);
            section = Section::Driver;
        } else if section != Section::None
            && let Some((key, value)) = line.rsplit_once(':').map(|(key, value)| (key.trim(), value.trim()))
        {
            let owner = output.owner(if name.is_empty() { "interface" } else { &name });
            match section {
                Section::Statistics => {
                    if key.ends_with("Queue#") {
                        queue = format!("{}-{value}.", key.trim_end_matches(" Queue#").to_lowercase());
                    } else if let Ok(count) = value.parse::<u64>() {
                        explained.fact(words.number, &format!("{owner}.{queue}{key}"), number(count), None);
                        if count > 0 && is_alarm(key) {
                            alarms.push((key.to_owned(), count, words.number));
                        }
                    }
                }
                Section::Pause if matches!(key, "Autonegotiate" | "RX" | "TX" | "RX negotiated" | "TX negotiated") => {
                    explained.fact(words.number, &format!("{owner}.pause-{}", key.to_lowercase()), word(value), None);
                }
                Section::Features if matches!(value.split(' ').next(), Some("on" | "off")) => {
                    explained.fact(words.number, &format!("{owner}.{key}"), text(value), None);
                }
                _ => {}
            }
        }
        match (section, pair(line)) {
            (Section::Driver, Some((key, value))) if DRIVER.contains(&key) => {
                let owner = output.owner(if name.is_empty() { "interface" } else { &name });
                explained.fact(words.number, &format!("{owner}.{key}"), text(value), None);
            }
            (Section::Link, Some((key, value))) if LINK.contains(&key) => {
                let owner = output.owner(&name);
                link(explained, &owner, (key, value), words.number, line);
            }
            _ => {}
        }
        if is_refusal(line)
            && (before.contains("ethtool") || output.command.contains("ethtool") || line.starts_with("Cannot get "))
        {
            explained.is(Kind::Ethtool);
        }
        before = line;
    }
    judge(explained, &output.owner(if name.is_empty() { "interface" } else { &name }), &alarms);
}

fn is_refusal(line: &str) -> bool {
    line.starts_with("netlink error: ") || line.starts_with("Cannot get device ") && line.contains(": ")
}

/// The interface that a command names.
fn named(command: &str) -> &str {
    let mut words = command.split_whitespace();
    if !words.clone().any(|word| word == "ethtool" || word.ends_with("/ethtool")) {
        return "";
    }
    words.rfind(|word| is_name(word) && !word.ends_with("ethtool")).unwrap_or_default()
}

fn link(explained: &mut Explained, owner: &str, (key, value): (&str, &str), line: u32, raw: &str) {
    let name = format!("{owner}.{}", key.to_lowercase().replace(' ', "-"));
    if key == "Speed" {
        match value.strip_suffix("Mb/s").and_then(|speed| speed.parse::<u64>().ok()) {
            Some(speed) => explained.fact(line, &name, number(speed), Some("Mb/s each way")),
            // `Unknown!`
            None => explained.fact(line, &name, State::NotAvailable, None),
        }
        return;
    }
    explained.fact(line, &name, word(value), None);
    if key == "Link detected" && value.starts_with("no") {
        let finding = Finding::new(
            "guest.netdev-up",
            Status::Warn,
            Confidence::Proved,
            owner,
            &format!("{owner} has no link"),
            "Likely: the interface is down, the virtual network adapter is disconnected, or nothing answers at the other end of the cable. An \
             RDMA port on it is DOWN too.",
        );
        explained.finding(
            finding
                .shown(line, raw)
                .decided_by("ip link show: without UP the guest took it down itself; UP without LOWER_UP means that there is no carrier")
                .helped_by("Look further", &["ip link show", "rdma link show"], ""),
        );
    }
}

/// Counters that should stay at zero.
fn is_alarm(key: &str) -> bool {
    matches!(
        key,
        "rx_discards_phy"
            | "tx_discards_phy"
            | "rx_out_of_buffer"
            | "rx_symbol_err_phy"
            | "rx_crc_errors_phy"
            | "rx_pci_signal_integrity"
            | "tx_pci_signal_integrity"
            | "tx_pause_storm_warning_events"
            | "tx_pause_storm_error_events"
            | "pkts rx OOB"
            | "ring full"
            | "pkts tx discard"
            | "pkts rx err"
            | "pkts tx err"
            | "tx timeout count"
            | "rx buf alloc fail"
    ) || key.starts_with("rx_prio") && (key.ends_with("_discards") || key.ends_with("_buf_discard"))
}

fn judge(explained: &mut Explained, owner: &str, alarms: &[(String, u64, u32)]) {
    let groups: [(&str, Status, &str, &str, &str); 3] = [
        (
            "pause_storm",
            Status::Warn,
            "guest.port-errors",
            "stopped the other side for too long",
            "The adapter sent pause frames without end and gave up: its receiver was stalled, likely by a guest or a driver that did not take \
             what came in",
        ),
        (
            "prio",
            Status::Info,
            "guest.packet-loss",
            "dropped frames of a priority",
            "Frames came faster than the adapter could take them and PFC did not hold them back: likely PFC is off for that priority on one \
             side, or the traffic is on another priority than it should be",
        ),
        (
            "",
            Status::Info,
            "guest.port-errors",
            "has dropped or damaged packets",
            "Possible: receive rings that are too small for the load, a processor without time, cable or transceiver (crc, symbol), the slot (pci)",
        ),
    ];
    let group = |key: &str| {
        if key.contains("pause_storm") {
            0
        } else if key.starts_with("rx_prio") {
            1
        } else {
            2
        }
    };
    for (at, (_, status, check, what, cause)) in groups.into_iter().enumerate() {
        let own: Vec<&(String, u64, u32)> = alarms.iter().filter(|(key, ..)| group(key) == at).take(16).collect();
        if own.is_empty() {
            continue;
        }
        let said: Vec<String> = own.iter().map(|(key, count, _)| format!("{key} {count}")).collect();
        let title = format!("{owner} {what}: {}", listed(&said));
        let cause =
            format!("{cause}. These are totals since the driver was loaded: they do not say that it goes on now.");
        let finding = Finding::new(check, status, Confidence::Possible, owner, &title, &cause);
        let finding = own.iter().zip(&said).fold(finding, |finding, ((_, _, line), said)| finding.shown(*line, said));
        explained.finding(finding.decided_by("The same counters again under load: do they rise?").helped_by(
            "Read them twice",
            &["ethtool -S INTERFACE", "sleep 10", "ethtool -S INTERFACE"],
            "",
        ));
    }
}
