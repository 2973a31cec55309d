//! `rdma` of iproute2 6.1.

use super::{Scene, fails, says};
use crate::lab::guest::counters::hardware_counters;
use crate::lab::guest::state::{Family, Moment, State};
use crate::lab::guest::templates::rdma::{
    Device, Link, Resources, queue_pair_json, queue_pair_text, resources_json, resources_text, statistic_json,
    statistic_text,
};
use crate::lab::guest::templates::{Json, body, json};
use crate::lab::machine::{Answer, Login};

/// Options before the object.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    details: bool,
    json: bool,
    pretty: bool,
}

/// Objects in the order in which the tool compares them: a beginning of a name is enough.
const OBJECTS: [&str; 6] = ["dev", "link", "resource", "system", "statistic", "help"];

fn options<'a, 'b>(words: &'b [&'a str]) -> Result<(Options, &'b [&'a str]), Answer> {
    let mut options = Options::default();
    let mut words = words;
    while let Some((word, rest)) = words.split_first() {
        let Some(letters) = word.strip_prefix('-') else { break };
        match letters {
            "-details" => options.details = true,
            "-json" => options.json = true,
            "-pretty" => options.pretty = true,
            "V" | "Version" | "-Version" => return Err(says("rdma utility, iproute2-6.1.0\n")),
            letters if letters.bytes().all(|letter| b"djpr".contains(&letter)) && !letters.is_empty() => {
                options.details |= letters.contains('d');
                options.json |= letters.contains('j');
                options.pretty |= letters.contains('p');
            }
            "details" | "json" | "pretty" | "raw" => {
                options.details |= letters == "details";
                options.json |= letters == "json";
                options.pretty |= letters == "pretty";
            }
            _ => return Err(says(body(include_str!("../templates/rdma-usage.txt")))),
        }
        words = rest;
    }
    Ok((options, words))
}

/// The object that a word means.
fn object(word: &str) -> Option<&'static str> {
    OBJECTS.into_iter().find(|object| object.starts_with(word))
}

/// Answers a question.
pub fn run(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (options, words) = match options(words) {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let Some((word, words)) = words.split_first() else {
        return says(body(include_str!("../templates/rdma-usage.txt")));
    };
    // "show" and "list" may be left out.
    let words = match words.split_first() {
        Some((word, rest)) if "show".starts_with(word) || "list".starts_with(word) => rest,
        _ => words,
    };
    let moment = &scene.moment;
    if !moment.state.has_device() && matches!(object(word), Some("dev" | "link" | "resource" | "statistic")) {
        let is_named =
            words.iter().any(|word| !matches!(*word, "qp" | "cm_id" | "cq" | "mr" | "pd" | "ctx" | "srq" | "link"));
        return if is_named { fails("Wrong device name\n", 1) } else { answer(options, String::new(), Vec::new()) };
    }
    match object(word) {
        Some("dev") => device(moment, options, words),
        Some("link") => link(moment, options, words),
        Some("resource") => resource(moment, options, words),
        Some("system") => says("netns shared copy-on-fork on\n"),
        Some("statistic") => statistic(moment, options, words),
        Some(_) => says(body(include_str!("../templates/rdma-usage.txt"))),
        // Source: capture "rdma foo": the tool ends with 0 all the same.
        None => fails(format!("Unknown object '{word}'.\n"), 0),
    }
}

fn answer(options: Options, text: String, objects: Vec<Vec<(&'static str, Json)>>) -> Answer {
    says(if options.json { json(objects, options.pretty) } else { text })
}

/// Whether a filter names the device, or its port; the tool's refusal if it names another one.
fn selects(moment: &Moment<'_>, name: Option<&&str>, with_port: bool) -> Result<(), Answer> {
    let device = &moment.state.adapter.device;
    match name {
        None => Ok(()),
        Some(name) if name == device || (with_port && **name == format!("{device}/1")) => Ok(()),
        Some(_) => Err(fails("Wrong device name\n", 1)),
    }
}

fn device(moment: &Moment<'_>, options: Options, words: &[&str]) -> Answer {
    if let Err(refusal) = selects(moment, words.first(), false) {
        return refusal;
    }
    let adapter = &moment.state.adapter;
    let firmware_end = if adapter.family == Family::Pvrdma { "\n" } else { "" };
    let firmware = format!("{}{firmware_end}", adapter.firmware);
    let row = Device {
        name: &adapter.device,
        firmware: &firmware,
        guids: (&adapter.node_guid, &adapter.system_guid),
        moderation: adapter.adaptive_moderation,
        capabilities: &adapter.capabilities,
    };
    answer(options, row.text(options.details), vec![row.json(options.details)])
}

fn link(moment: &Moment<'_>, options: Options, words: &[&str]) -> Answer {
    if let Err(refusal) = selects(moment, words.first(), true) {
        return refusal;
    }
    let netdev = moment.state.rdma_netdev();
    let active = moment.is_active();
    let row = Link {
        device: &moment.state.adapter.device,
        state: if active { "ACTIVE" } else { "DOWN" },
        physical: if active { "LINK_UP" } else { "DISABLED" },
        netdev: (&netdev.name, netdev.index),
    };
    answer(options, row.text(options.details), vec![row.json()])
}

/// What is open on the device.
pub fn resources(moment: &Moment<'_>) -> Resources {
    let ranks = moment.user_queue_pairs().len() as u64 / 2;
    // A rank of a job: one context, protection domain and memory region for each buffer, two completion queues.
    [
        ("pd", 1 + ranks),
        ("cq", 1 + 2 * ranks),
        ("qp", 1 + 2 * ranks),
        ("cm_id", 0),
        ("mr", 6 * ranks),
        ("ctx", ranks),
        ("srq", 0),
    ]
}

fn resource(moment: &Moment<'_>, options: Options, words: &[&str]) -> Answer {
    let name = &moment.state.adapter.device;
    let summary = || {
        let resources = resources(moment);
        answer(options, resources_text(name, &resources), vec![resources_json(name, &resources)])
    };
    let (kind, rest) = match words.split_first() {
        None => return summary(),
        Some((kind, rest)) => (*kind, rest),
    };
    // A filter by device or port may follow, after the word that says which.
    let filter = rest.iter().find(|word| !matches!(**word, "dev" | "link" | "show" | "list"));
    match kind {
        "qp" => {
            if let Err(refusal) = selects(moment, filter, true) {
                return refusal;
            }
            let pairs = moment.queue_pairs();
            let text: Vec<String> = pairs.iter().map(|pair| queue_pair_text(name, pair)).collect();
            answer(options, text.concat(), pairs.iter().map(|pair| queue_pair_json(name, pair)).collect())
        }
        "cm_id" | "cq" | "mr" | "pd" | "ctx" | "srq" => answer(options, String::new(), Vec::new()),
        other if other == name => summary(),
        _ => fails("Wrong device name\n", 1),
    }
}

fn statistic(moment: &Moment<'_>, options: Options, words: &[&str]) -> Answer {
    let adapter = &moment.state.adapter;
    let filter = words.iter().find(|word| !matches!(**word, "link" | "show"));
    if let Err(refusal) = selects(moment, filter, true) {
        return refusal;
    }
    if adapter.family == Family::Pvrdma {
        // Its driver has no counters, and the kernel refuses to list them.
        let stdout = if options.json { "[]\n" } else { "" };
        return Answer {
            stdout: stdout.to_owned(),
            stderr: "error: Invalid argument\n".to_owned(),
            status: 1,
            ..Answer::default()
        };
    }
    let counters: Vec<(&'static str, u64)> =
        hardware_counters(adapter.family).into_iter().map(|name| (name, moment.port_counter(name))).collect();
    answer(options, statistic_text(&adapter.device, &counters), vec![statistic_json(&adapter.device, &counters)])
}

/// Changes a device: `rdma dev set DEVICE adaptive-moderation on|off`.
pub fn set(state: &mut State, words: &[&str], login: &Login) -> Option<Answer> {
    let (_, words) = options(words).ok()?;
    let (word, words) = words.split_first()?;
    let ["set", device, "adaptive-moderation", value @ ("on" | "off")] = words else { return None };
    if object(word) != Some("dev") {
        return None;
    }
    if *device != state.adapter.device {
        return Some(fails("Wrong device name\n", 1));
    }
    // UNSOURCED: the words and the status of the refusal.
    if !login.is_root {
        return Some(fails("error: Operation not permitted\n", 1));
    }
    state.adapter.adaptive_moderation = *value == "on";
    Some(Answer::default())
}
