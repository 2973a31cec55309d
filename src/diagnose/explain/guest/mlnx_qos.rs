//! `mlnx_qos`, and the traffic class of `sysfs`: which priority RDMA rides on, and whether PFC is on for it.

use super::{Output, number, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Reads trust state, map and PFC.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut trust = None;
    let mut class: Option<(u32, u32, &str)> = None;
    let mut pfc: Option<(u8, u32, &str)> = None;
    let mut map: Vec<(u8, u32)> = Vec::new();
    for words in &output.lines {
        // Copies from the web lose their line ends, so keys stand in the middle of lines too.
        let line = words.text;
        if let Some((_, rest)) = line.split_once("Priority trust state:") {
            let state = rest.trim_start();
            let state =
                if state.starts_with("dscp") { "dscp" } else { state.split_whitespace().next().unwrap_or_default() };
            explained.is(Kind::MlnxQos);
            explained.fact(words.number, &output.owner("trust"), text(state), None);
            trust = Some((words.number, words.text));
        }
        if let Some((_, rest)) = line.split_once("Global tclass=") {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            if let Ok(value) = digits.parse::<u32>() {
                explained.is(Kind::MlnxQos);
                explained.fact(words.number, &output.owner("traffic-class"), number(u64::from(value)), None);
                class = Some((value, words.number, words.text));
            }
        }
        if trust.is_some() && line.contains("prio:") {
            mapped(line, &mut map);
        }
        if trust.is_some()
            && let Some((_, rest)) = line.split_once("enabled")
            && let Some(mask) = mask(rest)
        {
            pfc = Some((mask, words.number, words.text));
            let on: Vec<String> = (0..8).filter(|bit| mask >> bit & 1 == 1).map(|bit: u8| bit.to_string()).collect();
            explained.fact(words.number, &output.owner("pfc-priorities"), text(&on.join(" ")), None);
        }
    }
    if let (Some((class, line, raw)), Some((mask, pfc_line, pfc_raw))) = (class, pfc) {
        judge(explained, (class, line, raw), (mask, pfc_line, pfc_raw), &map, trust);
    }
}

/// `prio:5 dscp:59` and `prio:0 dscp:07,06,...`: which priority each DSCP has.
fn mapped(line: &str, map: &mut Vec<(u8, u32)>) {
    for piece in line.split("prio:").skip(1).take(64) {
        let Some((priority, values)) = piece.split_once("dscp:") else { continue };
        let Ok(priority) = priority.trim().parse::<u8>() else { continue };
        let values = values.split_whitespace().next().unwrap_or_default();
        map.extend(values.split(',').filter_map(|value| Some((priority, value.parse::<u32>().ok()?))).take(64));
    }
}

/// `0 0 0 1 0 0 0 0` as bits.
fn mask(rest: &str) -> Option<u8> {
    let cells: Vec<&str> = rest.split_whitespace().take(8).collect();
    (cells.len() == 8 && cells.iter().all(|cell| matches!(*cell, "0" | "1")))
        .then(|| cells.iter().enumerate().fold(0, |mask, (bit, cell)| mask | u8::from(*cell == "1") << bit))
}

fn judge(
    explained: &mut Explained,
    (class, line, raw): (u32, u32, &str),
    (mask, pfc_line, pfc_raw): (u8, u32, &str),
    map: &[(u8, u32)],
    trust: Option<(u32, &str)>,
) {
    let dscp = class >> 2;
    // Without its own entry a DSCP has the priority of its upper three bits.
    let told = map.iter().find(|(_, known)| *known == dscp).map(|(priority, _)| *priority);
    let priority = told.unwrap_or_else(|| u8::try_from(dscp >> 3).unwrap_or(7)).min(7);
    let lossless = mask >> priority & 1 == 1;
    let (status, title) = if lossless {
        (Status::Info, format!("traffic class {class} is DSCP {dscp} on priority {priority}, for which PFC is on"))
    } else {
        (Status::Warn, format!("traffic class {class} is DSCP {dscp} on priority {priority}, for which PFC is off"))
    };
    let cause = if lossless {
        "Queue pairs that take the global class are on the lossless priority. Those made through DevX, and programs that set a class of their \
         own (NCCL_IB_TC, NCCL_GIN_IB_TC, UCX_IB_TRAFFIC_CLASS, perftest --tclass), do not inherit it: with class 0 they ride on priority 0."
    } else {
        "RDMA of this class rides on a lossy priority: under load its packets are dropped and sent again."
    };
    let confidence = if told.is_some() { Confidence::Proved } else { Confidence::Likely };
    let mut finding = Finding::new("guest.traffic-class", status, confidence, "traffic class", &title, cause)
        .shown(line, raw)
        .shown(pfc_line, pfc_raw);
    if let Some((line, raw)) = trust {
        finding = finding.shown(line, raw);
    }
    let decide = if lossless {
        "The counters of each priority under load: does the traffic of every program rise on the lossless one only?"
    } else {
        ""
    };
    explained.finding(finding.decided_by(decide).helped_by(
        "Look at it",
        &["mlnx_qos -i INTERFACE", "ethtool -S INTERFACE | grep -E 'prio[0-7]_(packets|pause|discards)'"],
        "",
    ));
}
