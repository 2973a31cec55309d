//! Files of `/sys/class/infiniband` and `/sys/class/net` as `grep . FILES`, `head` and loops over them print them: a path, a
//! colon, the value; and the one value that `cat FILE` prints below its command.

use super::gids::{self, Row};
use super::ports::Ports;
use super::{Output, is_name, text, word};
use crate::diagnose::explain::{Explained, Kind, Value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// What a path is of.
struct Place<'a> {
    /// `rocep11s0f1/1` for a port, else the device or the interface.
    of: String,
    /// True for a port of an RDMA device.
    is_port: bool,
    /// The path within: `gid_attrs/types/0`.
    what: &'a str,
}

/// Files of RDMA devices that say one thing each.
const OF_DEVICE: [&str; 8] =
    ["node_type", "fw_ver", "node_guid", "sys_image_guid", "board_id", "hca_type", "hw_rev", "node_desc"];
/// Files and folders of ports.
const OF_PORT: [&str; 13] = [
    "state",
    "phys_state",
    "rate",
    "link_layer",
    "lid",
    "sm_lid",
    "sm_sl",
    "lid_mask_count",
    "cap_mask",
    "gids",
    "gid_attrs",
    "counters",
    "hw_counters",
];
/// Files and folders of interfaces.
const OF_NETDEV: [&str; 9] =
    ["operstate", "carrier", "mtu", "speed", "duplex", "address", "carrier_changes", "ifindex", "statistics"];

fn place(path: &str) -> Option<Place<'_>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_/.-:".contains(c);
    if path.len() > 300 || !path.chars().all(plain) {
        return None;
    }
    let begins = |what: &str, known: &[&str]| known.contains(&what.split('/').next().unwrap_or_default());
    if let Some((before, behind)) = path.split_once("/ports/") {
        let device = before.rsplit('/').next().unwrap_or_default();
        let (port, what) = behind.split_once('/')?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        return (is_name(device) && is_number && begins(what, &OF_PORT)).then(|| Place {
            of: format!("{device}/{port}"),
            is_port: true,
            what,
        });
    }
    let of = |folder: &str, known: &[&str]| {
        let (device, what) = path.split_once(folder)?.1.split_once('/')?;
        (is_name(device) && begins(what, known)).then(|| Place { of: device.to_owned(), is_port: false, what })
    };
    of("/infiniband/", &OF_DEVICE).or_else(|| of("class/net/", &OF_NETDEV))
}

/// The place and the value of a line; paths hold colons themselves. What could not be read is told by the reader's words.
fn entry(line: &str) -> Option<(Place<'_>, &str)> {
    let line = ["cat: ", "grep: ", "head: "].iter().find_map(|reader| line.strip_prefix(reader)).unwrap_or(line);
    let line = line.strip_prefix("cannot open ").unwrap_or(line);
    line.match_indices(':').take(12).find_map(|(at, _)| {
        let path = line[..at].trim_matches(['\'', '"']);
        Some((place(path)?, line[at + 1..].trim()))
    })
}

/// Reads what such lines say.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, ports: &mut Ports) {
    let mut gids: Vec<Entry<'_>> = Vec::new();
    let asked = asked(output);
    for words in &output.lines {
        let told = entry(words.text);
        let Some((place, value)) = told.or_else(|| Some((place(asked?)?, words.text))) else { continue };
        explained.is(Kind::Sysfs);
        let state = state(&place, value);
        let name = output.owner(&format!("{}.{}", place.of, attribute(place.what)));
        explained.fact(words.number, &name, state.clone(), None);
        if !place.is_port || !matches!(state, State::Known(_)) {
            continue;
        }
        // `4: ACTIVE`, `5: LinkUp`
        let said = value.split_once(": ").map_or(value, |(_, said)| said);
        match place.what {
            "state" => ports.state(output.host, &place.of, said, words.number, words.text),
            "phys_state" => {
                ports.port(output.host, &place.of).physical = match said {
                    "LinkUp" => "LINK_UP".to_owned(),
                    other => other.to_ascii_uppercase(),
                };
            }
            "link_layer" => ports.port(output.host, &place.of).is_infiniband = value == "InfiniBand",
            what => gid(&mut gids, &place.of, what, value, words.number, words.text),
        }
    }
    if let [words] = output.lines.as_slice() {
        alone(explained, words.text, words.number);
    }
    judge(explained, &gids);
}

/// The file that the command prints, where it is one.
fn asked<'a>(output: &Output<'a>) -> Option<&'a str> {
    let mut words = output.command.split_whitespace();
    let path = words.next().filter(|first| *first == "cat").and_then(|_| words.next())?;
    (words.next().is_none() && output.lines.len() == 1).then_some(path)
}

/// The value of a file, or how it is missing: an entry of a GID table that is not filled has no type and no interface.
fn state(place: &Place<'_>, value: &str) -> State<Value> {
    let is_table = place.what.starts_with("gid_attrs/");
    match value.rsplit(": ").next().unwrap_or_default() {
        "Invalid argument" if is_table => State::Empty,
        "Permission denied" => State::NeedsPrivilege("the file".into()),
        "No such file or directory" => State::NotPublished("this driver".into()),
        why @ ("Invalid argument" | "Operation not supported" | "Input/output error" | "No such device") => {
            State::Failed(why.into())
        }
        _ if place.what.starts_with("gids/") && is_zero(value) => State::Empty,
        _ if place.what.contains("counters/") || place.what.starts_with("statistics/") => word(value),
        _ => match value.parse() {
            Ok(number) => State::Known(Value::Number(number)),
            Err(_) => text(value),
        },
    }
}

fn is_zero(gid: &str) -> bool {
    gid.chars().all(|c| matches!(c, '0' | ':'))
}

/// `gid_attrs/types/1` is `gid-1.version`, `counters/port_rcv_data` is `port_rcv_data`.
fn attribute(what: &str) -> String {
    let named = [("gid_attrs/types/", ".version"), ("gid_attrs/ndevs/", ".netdev"), ("gids/", "")];
    for (begin, end) in named {
        if let Some(index) = what.strip_prefix(begin) {
            return format!("gid-{index}{end}");
        }
    }
    let begins = ["counters/", "hw_counters/", "statistics/"];
    begins.iter().find_map(|begin| what.strip_prefix(begin)).unwrap_or(what).replace('/', ".")
}

/// One value alone, as `cat` prints it: the number and the name of a state.
fn alone(explained: &mut Explained, line: &str, number: u32) {
    const STATES: [&str; 6] = ["0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE", "5: ACTIVE_DEFER"];
    const PHYSICAL: [&str; 7] = [
        "1: Sleep",
        "2: Polling",
        "3: Disabled",
        "4: PortConfigurationTraining",
        "5: LinkUp",
        "6: LinkErrorRecovery",
        "7: Phy Test",
    ];
    let name = match line {
        _ if STATES.contains(&line) => "port.state",
        _ if PHYSICAL.contains(&line) => "port.phys_state",
        _ => return,
    };
    explained.is(Kind::Sysfs);
    explained.fact(number, name, text(line), None);
}

/// An entry of a GID table, as far as the files tell it.
#[derive(Default)]
struct Entry<'a> {
    port: String,
    index: u32,
    gid: &'a str,
    version: &'a str,
    line: u32,
    raw: &'a str,
    /// The line that tells the version.
    of_version: (u32, &'a str),
}

fn gid<'a>(all: &mut Vec<Entry<'a>>, port: &str, what: &str, value: &'a str, line: u32, raw: &'a str) {
    let version = match value {
        "RoCE v2" => "v2",
        "IB/RoCE v1" | "RoCE v1" => "v1",
        _ => "",
    };
    let of = |begin: &str| what.strip_prefix(begin).and_then(|index| index.parse::<u32>().ok());
    let Some((index, is_gid)) =
        of("gids/").map(|index| (index, true)).or_else(|| of("gid_attrs/types/").map(|index| (index, false)))
    else {
        return;
    };
    let at = all.iter().position(|known| known.port == port && known.index == index).unwrap_or_else(|| {
        all.push(Entry { port: port.to_owned(), index, ..Entry::default() });
        all.len() - 1
    });
    let entry = &mut all[at];
    if is_gid {
        (entry.gid, entry.line, entry.raw) = (value, line, raw);
    } else {
        (entry.version, entry.of_version) = (version, (line, raw));
    }
}

/// What the tables mean.
fn judge(explained: &mut Explained, all: &[Entry<'_>]) {
    let filled: Vec<&Entry<'_>> =
        all.iter().take(4096).filter(|entry| !entry.gid.is_empty() && !is_zero(entry.gid)).collect();
    let rows: Vec<Row<'_>> = filled
        .iter()
        .map(|entry| Row {
            port: entry.port.clone(),
            index: entry.index,
            gid: entry.gid,
            version: entry.version,
            line: entry.line,
            raw: entry.raw,
        })
        .collect();
    gids::judge(explained, &rows);
    let mut ports: Vec<&str> = all.iter().map(|entry| entry.port.as_str()).collect();
    ports.dedup();
    for port in ports {
        let versions: Vec<&Entry<'_>> =
            all.iter().filter(|entry| entry.port == port && !entry.version.is_empty()).collect();
        let (Some(first), false) = (versions.first(), versions.iter().any(|entry| entry.version == "v2")) else {
            continue;
        };
        let title = format!("{port}: no entry of its GID table is RoCE v2");
        let finding = Finding::new(
            "guest.gid-roce-v2",
            Status::Info,
            Confidence::Likely,
            port,
            &title,
            "All types that stand here are RoCE v1. It is not routed, and does not reach a peer that offers v2 only; both sides need entries of one \
             type. A list that was cut or filtered may lack the others.",
        )
        .decided_by("The types of all entries, on both sides")
        .helped_by("Look at all of them", &["grep . /sys/class/infiniband/*/ports/*/gid_attrs/types/*"], "");
        explained.finding(finding.shown(first.of_version.0, first.of_version.1));
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::{Explained, Kind, Value, explain};
    use crate::fabric::State;

    fn of(text: &str) -> Explained {
        explain("-", text.as_bytes())
    }

    fn state(explained: &Explained, name: &str) -> Option<State<Value>> {
        explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
    }

    fn checks(explained: &Explained) -> Vec<&str> {
        explained.findings.iter().map(|finding| finding.check.as_str()).collect()
    }

    #[test]
    fn the_files_of_a_guest_are_read() {
        let values = include_str!("../../../../tests/fixtures/pvrdma-guest/14-sysfs-values.txt");
        let explained = of(values);
        assert_eq!(explained.kinds, [Kind::Sysfs]);
        assert_eq!(checks(&explained), ["guest.gid-roce-v2"]);
        assert_eq!(state(&explained, "rocep0s16f1/1.state"), Some(State::Known(Value::Text("4: ACTIVE".into()))));
        assert_eq!(state(&explained, "rocep0s16f1/1.gid-3.version"), Some(State::Empty));
        assert_eq!(state(&explained, "rocep0s16f1/1.gid-3"), Some(State::Empty));
        assert!(matches!(state(&explained, "rocep0s16f1/1.gid-1"), Some(State::Known(Value::Text(_)))));
        let soft = include_str!("../../../../tests/fixtures/soft-roce/14-sysfs-values.txt");
        assert_eq!(of(soft).kinds, [Kind::Sysfs]);
    }

    #[test]
    fn the_version_of_each_entry_decides_what_is_said() {
        let types = |second: &str| {
            format!(
                "$ grep . /sys/class/infiniband/*/ports/1/gid_attrs/types/*\n\
                 /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0:IB/RoCE v1\n\
                 /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1:{second}\n\
                 grep: /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/2: Invalid argument\n"
            )
        };
        assert_eq!(checks(&of(&types("IB/RoCE v1"))), ["guest.gid-roce-v2"]);
        assert_eq!(checks(&of(&types("RoCE v2"))), Vec::<&str>::new());
        let both = of("/sys/class/infiniband/mlx5_0/ports/1/gids/0:fe80:0000:0000:0000:0250:56ff:feb2:668c\n\
                       /sys/class/infiniband/mlx5_0/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
                       /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0:IB/RoCE v1\n\
                       /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/3:RoCE v2\n");
        assert_eq!(checks(&both), ["guest.gid-index"]);
        assert!(both.findings[0].title.contains("IPv4 address is 3"), "{}", both.findings[0].title);
    }

    #[test]
    fn states_decide_and_counters_are_only_told() {
        let down = of(
            "/sys/class/infiniband/mlx5_0/ports/1/state:1: DOWN\n/sys/class/infiniband/mlx5_0/ports/1/phys_state:3: Disabled\n",
        );
        assert_eq!(checks(&down), ["guest.port-active"]);
        let asked = of("[root@n1 ~]# cat /sys/class/infiniband/mlx5_0/ports/1/state\n1: DOWN\n");
        assert_eq!(checks(&asked), ["guest.port-active"], "{asked:?}");
        let counters = of("/sys/devices/pci0000:00/0000:00:10.1/infiniband/mlx5_0/ports/1/counters/symbol_error:7\n\
                           /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:12\n\
                           cat: /sys/class/infiniband/mlx5_0/ports/1/counters/x: Permission denied\n");
        assert_eq!((counters.kinds.as_slice(), counters.findings.len()), (&[Kind::Sysfs][..], 0));
        assert_eq!(state(&counters, "mlx5_0/1.symbol_error"), Some(State::Known(Value::Number(7))));
        assert!(matches!(state(&counters, "mlx5_0/1.x"), Some(State::NeedsPrivilege(_))));
        assert_eq!(of("4: ACTIVE\n").kinds, [Kind::Sysfs]);
        let net = of("/sys/class/net/ens192/operstate:up\n/sys/class/net/ens192/mtu:9000\n");
        assert_eq!(state(&net, "ens192.mtu"), Some(State::Known(Value::Number(9000))));
        for other in ["1: lo\n", "state: DOWN\n", "see /sys/class/infiniband for the rest: it is long\n"] {
            assert_eq!(of(other).kinds, [], "{other}");
        }
    }
}
