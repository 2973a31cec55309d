//! By which words an output of a switch is known, where it begins and where it ends.

use std::ops::Range;

use crate::probe::switch::names::is_port;
use crate::probe::switch::{SwitchSystem, is_title, probe};

/// Lines of a part that are one output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    /// The source whose parser reads it.
    pub(super) source: &'static str,
    pub(super) lines: Range<usize>,
}

/// Titles of outputs: all of the words stand in one line, in this order.
const TITLES: &[(&str, &[&str])] = &[
    ("eos.pfc-counters", &["Port", "RxPfc", "TxPfc"]),
    ("eos.pfc", &["The hardware supports PFC on priorities"]),
    ("eos.pfc", &["PFC receive processing is enabled"]),
    ("eos.pfc", &["E: PFC Enabled, D: PFC Disabled"]),
    ("eos.pfc", &["Port", "Enabled", "Priorities", "Active"]),
    ("eos.ecn", &["Tx-Queue", "Minimum Threshold", "Mark Probability"]),
    ("eos.trust", &["Port", "Trust Mode"]),
    ("nxos.pfc", &["Port", "Mode", "Oper", "RxPPP", "TxPPP"]),
    ("nxos.queuing", &["Egress Queuing for "]),
    ("nxos.queuing", &["Ingress Queuing for "]),
    ("nxos.queuing-policy", &["Class-map (queuing)"]),
    ("nxos.network-qos", &["policy-map type network-qos"]),
    ("nxos.network-qos", &["class type network-qos"]),
    ("nxos.pfc-watchdog", &["Interface PFC watchdog: ["]),
    ("nxos.version", &["Cisco Nexus Operating System (NX-OS) Software"]),
    ("onyx.pfc", &["Priority Enabled List"]),
    ("onyx.roce", &["RoCE mode", ":"]),
    ("onyx.switchport", &["Interface", "Mode", "Access vlan", "Allowed vlans"]),
    ("sonic.interfaces", &["Interface", "Lanes", "Oper", "Admin"]),
    ("sonic.pfc", &["Interface", "Lossless priorities"]),
    ("sonic.pfc-counters", &["Port Rx", "PFC0", "PFC7"]),
    ("sonic.pfc-counters", &["Port Tx", "PFC0", "PFC7"]),
    ("sonic.counters", &["IFACE", "RX_OK", "TX_OK"]),
    ("sonic.lldp", &["LocalPort", "RemoteDevice"]),
    ("sonic.vlans", &["Name", "VID", "Member", "Mode"]),
    ("sonic.pfc-watchdog", &["PORT", "ACTION", "DETECTION TIME"]),
    ("sonic.version", &["SONiC Software Version:"]),
];

/// Begins of lines of which all outputs of a kind have one.
const BEGINS: [(&str, &str); 2] = [("nxos.lldp", "Chassis id: "), ("onyx.version", "Product release:")];

/// Words of JSON by which its source is known; all of them stand in it. The first that fits counts.
const KEYS: &[(&str, &[&str])] = &[
    ("eos.interfaces", &["\"interfaces\"", "\"lineProtocolStatus\""]),
    ("eos.pfc-counters", &["\"interfaceCounters\"", "\"rxFrames\""]),
    ("eos.ecn-counters", &["\"intfQueueCounters\""]),
    ("eos.lldp", &["\"lldpNeighbors\"", "\"lldpNeighborInfo\""]),
    ("eos.switchport", &["\"switchports\"", "\"switchportInfo\""]),
    ("eos.flow-control", &["\"interfaceFlowControls\""]),
    ("eos.version", &["\"mfgName\"", "\"modelName\""]),
    ("eos.hostname", &["\"hostname\"", "\"fqdn\""]),
    ("cumulus.roce", &["\"congestion-mode\""]),
    ("cumulus.roce", &["\"pfc-priority\""]),
    ("cumulus.lldp", &["\"lldp\"", "\"neighbor\"", "\"chassis\""]),
    ("cumulus.interfaces", &["\"link\"", "\"oper-status\""]),
    ("cumulus.vlans", &["\"ifname\"", "\"vlans\""]),
    ("cumulus.system", &["\"product-release\"", "\"hostname\""]),
];

/// The source of which a line is a title.
fn titled(lines: &[&str], at: usize) -> Option<&'static str> {
    let line = lines[at];
    let trimmed = line.trim();
    if trimmed.is_empty() || line.len() > 512 {
        return None;
    }
    let has = |words: &[&str]| {
        let mut rest = trimmed;
        words.iter().all(|word| match rest.split_once(word) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    };
    if let Some((source, _)) = TITLES.iter().find(|(_, words)| trimmed.starts_with(words[0]) && has(words)) {
        return Some(source);
    }
    if let Some((_, words)) = TITLES.iter().find(|(source, _)| *source == "nxos.pfc-watchdog")
        && has(words)
    {
        return Some("nxos.pfc-watchdog");
    }
    if let Some((source, _)) = BEGINS.iter().find(|(_, begin)| trimmed.starts_with(begin)) {
        return Some(source);
    }
    let next =
        || lines[at + 1..].iter().take(8).map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    if let Some((name, state)) = trimmed.split_once(" is ")
        && line == trimmed
        && is_port(name)
        && (state.starts_with("up") || state.starts_with("down") || state.starts_with("administratively down"))
    {
        let source = if state.contains("line protocol") { "eos.interfaces" } else { "nxos.interfaces" };
        let is_eos = ["Ethernet", "Port-Channel", "Management"].iter().any(|begin| name.starts_with(begin));
        return (source == "eos.interfaces" && is_eos || next().starts_with("admin state is")).then_some(source);
    }
    if is_title(trimmed) {
        // Arista EOS shortens the names of ports to two letters, Cisco NX-OS to three.
        let first = lines[at + 1..]
            .iter()
            .take(64)
            .filter_map(|line| line.split_whitespace().next())
            .find(|word| is_port(word))?;
        return Some(if first.starts_with("Eth") { "nxos.interfaces" } else { "eos.interfaces" });
    }
    if trimmed.starts_with("operational") && trimmed.contains("applied") {
        let begins =
            |line: &&&str| ["congestion-control", "pfc-priority"].iter().any(|key| line.trim_start().starts_with(key));
        return lines[at + 1..].iter().take(40).find(begins).map(|_| "cumulus.roce");
    }
    if let Some(name) = trimmed.strip_prefix("Name: ") {
        return (is_port(name.trim()) && next().starts_with("Switchport:")).then_some("nxos.switchport");
    }
    let name = trimmed.strip_suffix(':').unwrap_or(trimmed);
    let name = name.split(" (").next().unwrap_or(name);
    if trimmed.starts_with("Eth") && is_port(name) {
        let next = next();
        if trimmed.ends_with(':') && next.starts_with("Admin state") {
            return Some("onyx.interfaces");
        }
        return next.starts_with("Remote Index").then_some("onyx.lldp");
    }
    (trimmed.starts_with("Profile: ") && next().starts_with("---")).then_some("sonic.ecn")
}

/// The outputs in these lines, in their order. Lines between the title of one and that of the next belong to the first.
pub(super) fn sections(lines: &[&str]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut at = 0;
    // Of a text with very many brackets that never close, only some are followed to the end.
    let mut tries = 0;
    while at < lines.len() {
        let end = if tries < MOST_TRIES { document(lines, at, &mut tries) } else { None };
        if let Some(end) = end {
            let text = lines[at..end].join("\n");
            if let Some((source, _)) = KEYS.iter().find(|(_, keys)| keys.iter().all(|key| text.contains(key))) {
                close(&mut sections, at);
                sections.push(Section { source, lines: at..end });
                at = end;
                continue;
            }
        }
        if let Some(source) = titled(lines, at) {
            let open = sections.last().filter(|last| last.lines.end == usize::MAX);
            if open.is_none_or(|open| open.source != source) {
                let begin = begin(lines, at, source);
                close(&mut sections, begin);
                sections.push(Section { source, lines: begin..usize::MAX });
            }
        }
        at += 1;
    }
    close(&mut sections, lines.len());
    sections.retain(|section| !section.lines.is_empty());
    sections
}

/// Ends the section that is still open.
fn close(sections: &mut [Section], at: usize) {
    if let Some(last) = sections.last_mut().filter(|last| last.lines.end == usize::MAX) {
        last.lines.end = at.max(last.lines.start);
    }
}

/// Where the output begins whose title stands at `at`: some have a line or two above it.
fn begin(lines: &[&str], at: usize, source: &str) -> usize {
    let above = |is_part: &dyn Fn(&str) -> bool, most: usize| {
        let first = at.saturating_sub(most);
        (first..at)
            .rev()
            .take_while(|at| lines[*at].trim().is_empty() || is_part(lines[*at].trim()))
            .last()
            .unwrap_or(at)
    };
    match source {
        "eos.ecn" => above(&|line| line.ends_with(':') && is_port(line.trim_end_matches(':')), 3),
        "onyx.pfc" => above(&|line| line.starts_with("PFC"), 2),
        "onyx.version" => above(&|line| line.starts_with("Product name"), 1),
        _ => at,
    }
}

/// So many begins of documents are followed that have no end.
const MOST_TRIES: usize = 16;

/// Where a document of JSON ends that begins with this line. Counts those that do not end.
fn document(lines: &[&str], at: usize, tries: &mut usize) -> Option<usize> {
    let first = lines[at].trim_start();
    let opens = first.starts_with('{') || first.starts_with('[');
    let behind = first.get(1..)?.trim_start();
    if !opens || !(behind.is_empty() || behind.starts_with(['{', '"'])) {
        return None;
    }
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (place, line) in lines.iter().enumerate().skip(at) {
        for byte in line.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth = depth.checked_sub(1)?,
                _ => {}
            }
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    *tries += 1;
    None
}

/// The words of a command, with the usual short forms written out and without what only chooses a form of output.
pub(super) fn words(command: &str) -> Vec<&str> {
    let command = command.split(['|', '>']).next().unwrap_or(command);
    let long = |word| match word {
        "sh" | "sho" => "show",
        "int" | "interf" | "interfaces" => "interface",
        "pri" | "prio" | "priority-flow" => "priority-flow-control",
        "neighbor" | "nei" => "neighbors",
        "det" => "detail",
        word => word,
    };
    command.split_whitespace().map(long).collect()
}

/// True for a command of a switch.
pub(super) fn is_command(words: &[&str]) -> bool {
    match words {
        ["show", second, ..] => [
            "interface",
            "priority-flow-control",
            "pfc",
            "qos",
            "queuing",
            "lldp",
            "roce",
            "dcb",
            "vlan",
            "ecn",
            "policy-map",
            "class-map",
            "version",
            "hostname",
            "hosts",
            "dcbx",
            "mac",
            "running-config",
            "system",
            "ip",
            "cdp",
            "flowcontrol",
            "queue",
        ]
        .contains(second),
        ["nv" | "pfcwd", "show", ..] | ["bridge", "-j", "vlan", ..] => true,
        _ => false,
    }
}

/// The source that a command asks for, where its output is not known by its words: the system whose parser makes most of it.
pub(super) fn by_command(command: &[&str], lines: &[&str]) -> Option<&'static str> {
    let text = lines.join("\n");
    let asks = |shown: &str| {
        let wanted = words(shown);
        let mut rest = command.iter();
        wanted.iter().all(|word| rest.any(|other| other == word))
    };
    let sources = SwitchSystem::ALL
        .iter()
        .flat_map(|system| system.probes())
        .filter(|probe| asks(&probe.sources[0].read.shown()));
    let made = |source: &'static str| {
        let observation = crate::fabric::Observation::of_text(source, &text);
        let facts = probe(source).map_or_else(Vec::new, |probe| (probe.parse)(&[std::sync::Arc::new(observation)]));
        facts.iter().filter(|fact| fact.reading.line > 0 && fact.reading.state.known().is_some()).count()
    };
    sources
        .map(|probe| (made(probe.name), probe.name))
        .filter(|(made, _)| *made > 0)
        .max_by_key(|(made, _)| *made)
        .map(|(_, name)| name)
}
