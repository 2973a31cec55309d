//! `ip link`, `ip addr` and `ip -br` of iproute2, and their JSON: MTU, state and addresses of interfaces.

use serde::Deserialize;

use super::{Output, is_name, number, text};
use crate::diagnose::explain::{Explained, Kind, Value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// States of interfaces, as they are printed.
const STATES: [&str; 7] = ["UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT", "TESTING", "NOTPRESENT"];
/// So many interfaces are told.
const MOST: usize = 4_096;

/// Reads what there is.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut now = String::new();
    for words in &output.lines {
        let line = words.text;
        if let Some(header) = header(line) {
            explained.is(Kind::Ip);
            now = output.owner(header.name);
            explained.fact(words.number, &format!("{now}.mtu"), header.mtu, None);
            explained.fact(words.number, &format!("{now}.state"), text(header.state), None);
            judge(explained, &now, header.flags, words.number, line);
            continue;
        }
        if let Some((name, state, rest)) = brief(line) {
            explained.is(Kind::Ip);
            let name = output.owner(name);
            explained.fact(words.number, &format!("{name}.state"), text(state), None);
            for address in
                rest.split_whitespace().filter(|word| word.contains(['.', ':']) && !word.starts_with('<')).take(64)
            {
                explained.fact(words.number, &format!("{name}.address"), text(address), None);
            }
            continue;
        }
        if line.starts_with("[{\"ifindex\"") || line.starts_with("[{") && line.contains("\"ifname\"") {
            json(explained, output, line, words.number);
            continue;
        }
        let mut fields = line.split_whitespace();
        match (fields.next(), fields.next()) {
            (Some("inet" | "inet6"), Some(address)) if !now.is_empty() && address.contains(['.', ':']) => {
                explained.fact(words.number, &format!("{now}.address"), text(address), None);
            }
            (Some(link), Some(address)) if !now.is_empty() && link.starts_with("link/") => {
                explained.fact(words.number, &format!("{now}.link-address"), text(address), None);
            }
            _ => {}
        }
    }
}

struct Header<'a> {
    name: &'a str,
    flags: &'a str,
    mtu: State<Value>,
    state: &'a str,
}

/// `3: eth1@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP ...`
fn header(line: &str) -> Option<Header<'_>> {
    let (index, rest) = line.split_once(": ")?;
    let (name, rest) = rest.split_once(": <")?;
    let (flags, rest) = rest.split_once('>')?;
    let name = name.split('@').next().unwrap_or_default();
    let is_index = !index.is_empty() && index.len() < 9 && index.bytes().all(|byte| byte.is_ascii_digit());
    let is_flag = |flag: &str| {
        !flag.is_empty() && flag.bytes().all(|byte| byte.is_ascii_uppercase() || b"_-0123456789".contains(&byte))
    };
    if !(is_index && is_name(name) && flags.split(',').all(is_flag)) {
        return None;
    }
    let behind = |word: &str| {
        let mut words = rest.split_whitespace().skip_while(|other| *other != word);
        words.nth(1)
    };
    let mtu = behind("mtu")?.parse().ok().map(number)?;
    Some(Header { name, flags, mtu, state: behind("state").unwrap_or_default() })
}

/// `eth1  UP  192.168.100.50/24 fe80::1/64`, `eth1  UP  52:54:00:00:02:31 <BROADCAST,MULTICAST,UP,LOWER_UP>`
fn brief(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.split_once(' ')?;
    let name = name.split('@').next().unwrap_or_default();
    let (state, rest) = rest.trim_start().split_once(' ')?;
    let first = rest.split_whitespace().next()?;
    let is_address = first.matches(':').count() == 5 && rest.contains('<')
        || first.split_once('/').is_some_and(|(address, length)| {
            address.contains(['.', ':']) && length.parse::<u8>().is_ok_and(|length| length <= 128)
        });
    (is_name(name) && STATES.contains(&state) && is_address).then_some((name, state, rest))
}

#[derive(Deserialize)]
struct Link {
    ifname: String,
    /// The JSON of `rdma` has names of interfaces and no flags.
    flags: Vec<String>,
    mtu: Option<u64>,
    operstate: Option<String>,
    address: Option<String>,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    local: Option<String>,
    prefixlen: Option<u64>,
}

fn json(explained: &mut Explained, output: &Output<'_>, line: &str, at: u32) {
    let Ok(links) = serde_json::from_str::<Vec<Link>>(line) else { return };
    explained.is(Kind::Ip);
    for link in links.iter().take(MOST).filter(|link| is_name(&link.ifname)) {
        let name = output.owner(&link.ifname);
        if let Some(mtu) = link.mtu {
            explained.fact(at, &format!("{name}.mtu"), number(mtu), None);
        }
        if let Some(state) = &link.operstate {
            explained.fact(at, &format!("{name}.state"), text(state), None);
        }
        if let Some(address) = &link.address {
            explained.fact(at, &format!("{name}.link-address"), text(address), None);
        }
        for address in link.addr_info.iter().take(64) {
            if let (Some(local), Some(length)) = (&address.local, address.prefixlen) {
                explained.fact(at, &format!("{name}.address"), text(&format!("{local}/{length}")), None);
            }
        }
        judge(explained, &name, &link.flags.join(","), at, &format!("{}: <{}>", link.ifname, link.flags.join(",")));
    }
}

/// What the flags decide: an interface without a link keeps a RoCE port over it DOWN. Most machines have interfaces that
/// nobody uses, so it is told and no more.
fn judge(explained: &mut Explained, name: &str, flags: &str, line: u32, raw: &str) {
    let has = |flag: &str| flags.split(',').any(|other| other == flag);
    let own = name.rsplit(':').next().unwrap_or(name);
    let is_made =
        ["lo", "docker", "virbr", "veth", "br-", "dummy", "tun", "tap", "cni", "flannel", "cali", "sit", "ip6tnl"];
    if is_made.iter().any(|begin| own.starts_with(begin)) || has("LOOPBACK") {
        return;
    }
    let up = format!("sudo ip link set {own} up");
    let (title, cause, remedy, commands) = if !has("UP") {
        (
            format!("{name} is switched off"),
            "It has no flag UP: somebody, or the network service, took it down or never brought it up. A RoCE port over it stays DOWN as long.",
            "Look, and bring it up if it is in use",
            ["rdma link show", up.as_str()],
        )
    } else if has("NO-CARRIER") {
        (
            format!("{name} is switched on and has no link"),
            "NO-CARRIER: nothing answers on the other end. In a VM that is a virtual adapter that is not connected, or a port group whose uplinks are \
             down; on a passed-through card, its cable or the port of the switch. A RoCE port over it stays DOWN as long.",
            "Look at what it is connected to: on the host, the adapter of the VM and the uplinks of its port group",
            ["rdma link show", "esxcli network nic list"],
        )
    } else {
        return;
    };
    let finding = Finding::new("guest.netdev-up", Status::Info, Confidence::Proved, name, &title, cause)
        .decided_by("Whether an RDMA port is over it: rdma link show")
        .helped_by(remedy, &commands, "");
    explained.finding(finding.shown(line, raw));
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::{Explained, Kind, Value, explain};
    use crate::fabric::State;

    fn of(text: &str) -> Explained {
        explain("-", text.as_bytes())
    }

    fn known(explained: &Explained, name: &str) -> Option<Value> {
        explained.facts.iter().find(|fact| fact.name.as_str() == name).and_then(|fact| fact.state.known().cloned())
    }

    #[test]
    fn each_form_tells_the_same() {
        let plain = include_str!("../../../../tests/fixtures/pvrdma-guest/21-ip-link-show.txt");
        let json = include_str!("../../../../tests/fixtures/pvrdma-guest/20-ip-j-d-s-addr-show.txt");
        for text in [plain, json] {
            let explained = of(text);
            assert_eq!((explained.kinds.as_slice(), explained.findings.len()), (&[Kind::Ip][..], 0), "{text}");
            assert_eq!(known(&explained, "eth1.mtu"), Some(Value::Number(1500)));
            assert_eq!(known(&explained, "eth1.state"), Some(Value::Text("UP".into())));
            assert_eq!(known(&explained, "eth1.link-address"), Some(Value::Text("52:54:00:00:02:31".into())));
        }
        assert_eq!(known(&of(json), "eth1.address"), Some(Value::Text("192.168.100.50/24".into())));
        let brief = of(
            "lo               UNKNOWN        127.0.0.1/8 ::1/128 \neth1             UP             192.168.100.50/24 fe80::5054:ff:fe00:231/64 \n",
        );
        assert_eq!(brief.kinds, [Kind::Ip]);
        assert_eq!(known(&brief, "eth1.address"), Some(Value::Text("192.168.100.50/24".into())));
    }

    #[test]
    fn no_link_and_switched_off_are_told_apart() {
        let text = "2: ens192: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN mode DEFAULT group default qlen 1000\n\
                    3: ens224: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN mode DEFAULT group default qlen 1000\n\
                    4: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN\n";
        let titles: Vec<String> = of(text).findings.iter().map(|finding| finding.title.clone()).collect();
        assert_eq!(titles, ["ens192 is switched on and has no link", "ens224 is switched off"]);
    }

    #[test]
    fn what_only_looks_like_it_is_not_known() {
        for text in ["1: first: <b>bold</b> mtu\n", "status UP today\n", "eth1 UP and running\n", "[{\"ifname\": 3}]\n"]
        {
            let explained = of(text);
            assert!(!explained.kinds.contains(&Kind::Ip), "{text}");
            assert!(explained.facts.iter().all(|fact| !matches!(fact.state, State::Known(Value::Flag(_)))));
        }
    }
}
