//! `rdma` of iproute2: links, devices, resources, queue pairs and statistics, as text of old and new versions and as JSON.

use serde_json::{Map, Value as Json};

use super::ports::Ports;
use super::{Output, Words, is_name, listed, number, text, word};
use crate::diagnose::explain::{Explained, Kind, MOST_EVIDENCE};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Counters of things that should not happen; each with what it tells.
const TROUBLE: [(&str, &str); 17] = [
    ("out_of_sequence", AGAIN),
    ("packet_seq_err", AGAIN),
    ("local_ack_timeout_err", AGAIN),
    ("implied_nak_seq_err", AGAIN),
    ("duplicate_request", AGAIN),
    ("out_of_seq_request", AGAIN),
    ("rcvd_seq_err", AGAIN),
    ("completer_retry_err", AGAIN),
    ("retry_exceeded_err", AGAIN),
    ("roce_adp_retrans", AGAIN),
    ("rnr_nak_retry_err", NOT_READY),
    ("out_of_buffer", NOT_READY),
    ("rcvd_rnr_err", NOT_READY),
    ("send_rnr_err", NOT_READY),
    ("retry_rnr_exceeded_err", NOT_READY),
    ("rx_icrc_encapsulated", BAD),
    ("link_downed", BAD),
];

const AGAIN: &str = "guest.retransmits";
const NOT_READY: &str = "guest.receiver-not-ready";
const BAD: &str = "guest.port-errors";

/// Counters that only some driver of an RDMA device has; one of them tells what a text of counters is.
const KNOWN: [&str; 9] = [
    "rx_write_requests",
    "rx_read_requests",
    "out_of_buffer",
    "sent_pkts",
    "rcvd_pkts",
    "duplicate_request",
    "active_qps",
    "rx_pkts",
    "ip4InOctets",
];

/// Reads what the tool prints.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, ports: &mut Ports) {
    let mut counters = Counters::default();
    for words in &output.lines {
        let line = words.text;
        if line.starts_with('[') && line.contains("\"ifname\"") {
            counters.end(explained, output);
            json(explained, output, ports, words);
            continue;
        }
        // Lines that were glued together are several.
        let pieces = pieces(line);
        if !pieces.is_empty() {
            counters.end(explained, output);
            for piece in pieces {
                one(explained, output, ports, &mut counters, &Words { number: words.number, text: piece });
            }
            continue;
        }
        // Versions before 5.5 write `1/1: mlx5_0/1: state DOWN physical_state DISABLED`.
        if let Some((name, rest)) = numbered(line) {
            counters.end(explained, output);
            if is_port(name) && rest.contains("state ") {
                link(explained, output, ports, name, &pairs_of(rest), words);
            } else if rest.starts_with("node_type ") || rest.starts_with("pd ") {
                explained.is(Kind::RdmaTool);
                facts(explained, output, name, &pairs_of(rest), words.number);
            }
            continue;
        }
        if line == "error: Invalid argument" && output.command.contains("rdma") && output.command.contains("stat") {
            explained.is(Kind::RdmaTool);
            let finding = Finding::new(
                "guest.no-counters",
                Status::Info,
                Confidence::Likely,
                "rdma statistic",
                "a device of this guest publishes no counters, and rdma stops at it",
                "vmw_pvrdma is such a driver: that is normal for it. Devices behind it in the list are not shown either.",
            );
            explained.finding(finding.shown(words.number, line).decided_by("Each port of its own").helped_by(
                "Ask for one port",
                &["rdma statistic show link DEVICE/1"],
                "",
            ));
        }
        if counters.is_open() && !counters.go_on(line.split_whitespace(), words.number) {
            counters.end(explained, output);
        }
    }
    counters.end(explained, output);
}

/// The pieces of a line of which each begins with `link` and a port; nothing if it does not begin so.
fn pieces(line: &str) -> Vec<&str> {
    let begins = |at: &usize| line[*at..].split_whitespace().nth(1).is_some_and(is_port);
    let mut starts: Vec<usize> = line.match_indices("link ").map(|(at, _)| at).take(1_000).filter(begins).collect();
    if starts.first() != Some(&0) {
        return Vec::new();
    }
    starts.push(line.len());
    starts.windows(2).map(|two| line[two[0]..two[1]].trim_end()).collect()
}

/// A link, a queue pair, or the begin of counters.
fn one<'a>(
    explained: &mut Explained,
    output: &Output<'_>,
    ports: &mut Ports,
    counters: &mut Counters<'a>,
    words: &Words<'a>,
) {
    let rest = words.text.strip_prefix("link ").unwrap_or_default();
    let mut tokens = rest.split_whitespace();
    let Some(name) = tokens.next() else { return };
    let keys: Vec<(&str, &str)> = pairs(rest);
    let has = |key: &str| keys.iter().any(|(known, _)| *known == key);
    counters.end(explained, output);
    if has("lqpn") || has("cm-idn") {
        queue_pair(explained, output, ports, name, &keys, words);
    } else if has("state") {
        link(explained, output, ports, name, &keys, words);
    } else {
        counters.begin(name, words);
        counters.go_on(tokens, words.number);
    }
}

/// `0: mlx5_0: pd 1 cq 1` and `1/1: mlx5_0/1: state ...`.
fn numbered(line: &str) -> Option<(&str, &str)> {
    if !line.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let (index, rest) = line.split_once(": ")?;
    let (name, rest) = rest.split_once(": ")?;
    let plain = index.len() <= 12 && index.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    (plain && is_name(name.split('/').next().unwrap_or_default())).then_some((name, rest.trim()))
}

/// `mlx5_0/1`, `mlx5_0/-`.
fn is_port(name: &str) -> bool {
    name.split_once('/').is_some_and(|(device, port)| is_name(device) && (port == "-" || port.parse::<u32>().is_ok()))
}

/// Keys and values behind the name.
fn pairs(rest: &str) -> Vec<(&str, &str)> {
    rest.split_once(char::is_whitespace).map_or_else(Vec::new, |(_, rest)| pairs_of(rest))
}

fn pairs_of(rest: &str) -> Vec<(&str, &str)> {
    let tokens: Vec<&str> = rest.split_whitespace().take(200).collect();
    tokens.chunks_exact(2).map(|two| (two[0], two[1])).collect()
}

fn facts(explained: &mut Explained, output: &Output<'_>, name: &str, keys: &[(&str, &str)], line: u32) {
    for (key, value) in keys.iter().filter(|(key, _)| is_name(key)) {
        let shown =
            if matches!(*key, "subnet_prefix" | "node_guid" | "sys_image_guid") { text(value) } else { word(value) };
        explained.fact(line, &format!("{}.{key}", output.owner(name)), shown, None);
    }
}

fn link(
    explained: &mut Explained,
    output: &Output<'_>,
    ports: &mut Ports,
    name: &str,
    keys: &[(&str, &str)],
    words: &Words<'_>,
) {
    explained.is(Kind::RdmaTool);
    facts(explained, output, name, keys, words.number);
    let of = |wanted: &str| keys.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    if let Some(state) = of("state") {
        ports.state(output.host, name, state, words.number, words.text);
    }
    let port = ports.port(output.host, name);
    port.is_infiniband |= of("subnet_prefix").is_some();
    if let Some(physical) = of("physical_state") {
        physical.clone_into(&mut port.physical);
    }
    if let Some(netdev) = of("netdev") {
        netdev.clone_into(&mut port.netdev);
    }
    port.manager = of("sm_lid").and_then(|lid| lid.parse().ok()).or(port.manager);
}

/// A queue pair or an identifier of the connection manager.
fn queue_pair(
    explained: &mut Explained,
    output: &Output<'_>,
    ports: &mut Ports,
    name: &str,
    keys: &[(&str, &str)],
    words: &Words<'_>,
) {
    explained.is(Kind::RdmaTool);
    let of = |wanted: &str| keys.iter().find(|(key, _)| *key == wanted).map_or("", |(_, value)| *value);
    let pair = if of("lqpn").is_empty() { format!("cm_id {}", of("cm-idn")) } else { format!("qp {}", of("lqpn")) };
    let owner = output.owner(&format!("{name} {pair}"));
    for key in ["type", "state", "rqpn", "pid", "comm", "src-addr", "dst-addr"] {
        if !of(key).is_empty() {
            explained.fact(words.number, &format!("{owner}.{key}"), word(of(key)), None);
        }
    }
    if !of("pid").is_empty() {
        ports.is_used(output.host, name);
    }
    if matches!(of("state"), "ERR" | "SQE") && !of("lqpn").is_empty() {
        let program = if of("comm").is_empty() { "a program" } else { of("comm") };
        let title = format!("{name}: queue pair {} of {program} is in {}", of("lqpn"), of("state"));
        let finding = Finding::new(
            "guest.queue-pairs",
            Status::Warn,
            Confidence::Proved,
            name,
            &title,
            "A request failed on it, and nothing more is sent: likely the other side does not answer any more (ended, unreachable, packets \
             lost), possibly it was asked for memory that it does not offer. A program that ends leaves it so for a moment.",
        );
        explained.finding(
            finding
                .shown(words.number, words.text)
                .decided_by("The status of the first failed completion, which the program tells; the same queue pair again in a minute")
                .helped_by("Look again", &["rdma res show qp", "rdma statistic show", "sudo dmesg | tail"], ""),
        );
    }
}

/// Counters as they come: a long line, one a line, or broken by a mail program.
#[derive(Default)]
struct Counters<'a> {
    name: &'a str,
    raw: &'a str,
    found: Vec<(&'a str, u64, u32)>,
    pending: Option<&'a str>,
}

impl<'a> Counters<'a> {
    fn begin(&mut self, name: &'a str, words: &Words<'a>) {
        *self = Self { name, raw: words.text, found: Vec::new(), pending: None };
    }

    fn is_open(&self) -> bool {
        !self.name.is_empty()
    }

    /// Takes names and numbers; false if the words are something else.
    fn go_on(&mut self, tokens: impl Iterator<Item = &'a str> + Clone, line: u32) -> bool {
        let fits = |token: &str| {
            token.bytes().all(|byte| byte.is_ascii_digit())
                || (is_name(token) && (token.contains('_') || token.starts_with("ip4") || token.starts_with("tcp")))
        };
        if !tokens.clone().all(fits) {
            return false;
        }
        for token in tokens {
            match (self.pending.take(), token.parse::<u64>()) {
                (Some(name), Ok(value)) => self.found.push((name, value, line)),
                (_, Err(_)) => self.pending = Some(token),
                (None, Ok(_)) => {}
            }
        }
        true
    }

    fn end(&mut self, explained: &mut Explained, output: &Output<'_>) {
        let found = std::mem::take(&mut self.found);
        let name = std::mem::take(&mut self.name);
        if found.len() < 2 || !found.iter().any(|(counter, ..)| KNOWN.contains(counter)) {
            return;
        }
        explained.is(Kind::RdmaTool);
        let owner = output.owner(name);
        for (counter, value, line) in &found {
            explained.fact(*line, &format!("{owner}.{counter}"), number(*value), None);
        }
        let found: Vec<(String, u64, u32)> =
            found.into_iter().map(|(counter, value, line)| (counter.to_owned(), value, line)).collect();
        judge(explained, &owner, &found, self.raw);
    }
}

/// What counters that are not zero mean: totals since the driver was loaded, so none proves that something is wrong now.
fn judge(explained: &mut Explained, owner: &str, found: &[(String, u64, u32)], raw: &str) {
    for (check, what, cause) in [
        (
            AGAIN,
            "has had to send again",
            "Packets were lost or came out of order on the way, in either direction: likely congestion without working PFC or ECN, \
             possibly a bad cable, or a peer that was gone for a time",
        ),
        (
            NOT_READY,
            "met receivers that had no buffer ready",
            "The program on the receiving side posts its buffers too slowly or too few of them; the network is not the cause",
        ),
        (
            BAD,
            "has counted errors of its link",
            "The link went down or brought broken frames: likely cable, transceiver or the port of the switch",
        ),
    ] {
        let own: Vec<&(String, u64, u32)> = found
            .iter()
            .filter(|(counter, value, _)| *value > 0 && TROUBLE.contains(&(counter.as_str(), check)))
            .collect();
        if own.is_empty() {
            continue;
        }
        let said: Vec<String> = own.iter().map(|(counter, value, _)| format!("{counter} {value}")).collect();
        let title = format!("{owner} {what}: {}", listed(&said));
        let cause =
            format!("{cause}. These are totals since the driver was loaded: they do not say that it goes on now.");
        let mut finding = Finding::new(check, Status::Info, Confidence::Likely, owner, &title, &cause);
        let mut last = 0;
        for ((_, _, line), said) in own.iter().zip(&said).take(MOST_EVIDENCE) {
            if *line != last {
                finding = finding.shown(*line, if raw.len() < 200 && own.len() == 1 { raw } else { said });
            }
            last = *line;
        }
        let show = format!("rdma statistic show link {}", owner.rsplit(':').next().unwrap_or(owner));
        explained.finding(finding.decided_by("The same counters again under load: do they rise?").helped_by(
            "Read them twice",
            &[show.as_str(), "sleep 10", show.as_str()],
            "",
        ));
    }
}

/// One line of JSON: links, devices, resources, queue pairs or counters.
fn json(explained: &mut Explained, output: &Output<'_>, ports: &mut Ports, words: &Words<'_>) {
    let Ok(Json::Array(all)) = serde_json::from_str::<Json>(words.text) else { return };
    for object in all.iter().filter_map(Json::as_object) {
        let Some(device) = object
            .get("ifname")
            .and_then(Json::as_str)
            .filter(|name| is_name(name.split('/').next().unwrap_or_default()))
        else {
            continue;
        };
        let name = match object.get("port").and_then(Json::as_u64) {
            Some(port) => format!("{device}/{port}"),
            None => device.to_owned(),
        };
        let shown: Vec<(String, String)> = object.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
        let keys: Vec<(&str, &str)> = shown
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "ifname" | "port" | "ifindex"))
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        if object.contains_key("lqpn") {
            queue_pair(explained, output, ports, &name, &keys, words);
        } else if object.contains_key("physical_state") {
            link(explained, output, ports, &name, &keys, words);
        } else if object.contains_key("node_type") || object.contains_key("pd") {
            explained.is(Kind::RdmaTool);
            facts(explained, output, &name, &keys, words.number);
        } else if KNOWN.iter().any(|counter| object.contains_key(*counter)) {
            explained.is(Kind::RdmaTool);
            let found = counted(object, words.number);
            let owner = output.owner(&name);
            for (counter, value, line) in &found {
                explained.fact(*line, &format!("{owner}.{counter}"), number(*value), None);
            }
            judge(explained, &owner, &found, words.text);
        }
    }
}

fn counted(object: &Map<String, Json>, line: u32) -> Vec<(String, u64, u32)> {
    object
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "port" | "ifindex"))
        .filter_map(|(key, value)| Some((key.clone(), value.as_u64()?, line)))
        .collect()
}

/// A value of JSON in words.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.trim().to_owned(),
        Json::Array(all) => all.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
