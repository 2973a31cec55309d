//! What the plain console says, line by line: each line makes sense by itself, read aloud or found in a log.

use jiff::tz::TimeZone;

use crate::app::condition::{self, Gravity};
use crate::app::connection::Connection;
use crate::app::events::Event;
use crate::app::model::Model;
use crate::app::prompt::{Prompt, PromptKind, SecretKind};
use crate::app::tree::{self, Node};
use crate::app::{Severity, format, guest_link, host_binding, live};
use crate::fabric::{TargetId, Timestamp};

/// The word for a severity.
fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// `14:03:27 warning softroce1 rxe0/1 port state: ACTIVE -> DOWN`. What concerns no target concerns the program.
pub fn event(event: &Event, zone: &TimeZone) -> String {
    let target = event.target.as_ref().map_or("rdmascope", TargetId::as_str);
    format!("{} {} {target} {}", format::clock(event.at, zone), severity(event.severity), event.text)
}

/// The day, for the first line and for each midnight.
pub fn day(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned_datetime(zone.clone()).strftime("date %Y-%m-%d %Z").to_string()
}

/// How a target stands, and below it how the things on it stand.
pub fn status(model: &Model, target: &TargetId) -> Vec<String> {
    let Some(known) = model.targets.get(target) else { return vec![format!("{target}: not known")] };
    let condition = condition::of_target(model, target);
    let more = match &known.connection {
        Connection::Connected { via, .. } => format!(", {via}"),
        Connection::BackingOff { problem, .. } | Connection::Failed { problem } => format!(", {problem}"),
        Connection::Waiting | Connection::Connecting { .. } | Connection::Asking => String::new(),
    };
    let mut lines = vec![format!("{target}: {} ({}){more}", condition.word, known.kind.word())];
    lines.extend(known.findings.values().map(|finding| format!("  {}: {}", severity(finding.severity), finding.text)));
    lines.extend(things(model, target).into_iter().map(|thing| format!("  {thing}")));
    lines
}

/// The RDMA ports, GPUs and interfaces of a target, each with its state: `rxe0/1 ACTIVE`.
fn things(model: &Model, target: &TargetId) -> Vec<String> {
    let stale = if condition::is_stale(model, target) { " (stale)" } else { "" };
    let rows = tree::children(model, target).into_iter().filter(|row| matches!(row.node, Node::Entity(_)));
    rows.map(|row| format!("{} {}{stale}", row.label, row.condition.word)).collect()
}

/// One line that a target is read, and what is on it.
pub fn first_read(model: &Model, target: &TargetId, zone: &TimeZone) -> String {
    let things = things(model, target);
    let things = if things.is_empty() { "no RDMA device and no interface".to_owned() } else { things.join(", ") };
    format!("{} info {target} is read: {things}", format::clock(model.now, zone))
}

/// One line of what moves on a target: `14:04:00 traffic softroce1 rxe0/1 packets: tx 12 pkt/s, rx 3 pkt/s; ...`. `None`
/// if nothing was counted yet.
pub fn traffic(model: &Model, target: &TargetId, zone: &TimeZone) -> Option<String> {
    if condition::is_stale(model, target) {
        return None;
    }
    let at = model.targets.get(target)?.last_sample?;
    let graphs: Vec<String> = live::graphs(model, target)
        .iter()
        .filter_map(|graph| {
            let values = graph.lines.iter().filter_map(|line| {
                let value = if line.slow { line.fresh_value(model, at) } else { line.value_at(model, at) }?;
                Some(format!("{} {}", line.label, graph.unit.format(value)))
            });
            let values: Vec<String> = values.collect();
            (!values.is_empty()).then(|| format!("{}: {}", graph.whole_title(), values.join(", ")))
        })
        .collect();
    (!graphs.is_empty()).then(|| format!("{} traffic {target} {}", format::clock(model.now, zone), graphs.join("; ")))
}

/// Everything that is known of a target, section by section.
pub fn values(model: &Model, target: &TargetId) -> Vec<String> {
    let rows = if host_binding::is_host(model, target) {
        host_binding::of_host(model, target)
    } else {
        guest_link::rows(model, target)
    };
    if rows.is_empty() {
        return vec![format!("{target}: nothing was read yet")];
    }
    rows.iter()
        .map(|row| {
            if row.is_section() {
                return format!("{}:", row.label);
            }
            let cells = row.cells.iter().map(|cell| match cell.gravity {
                Gravity::Bad => format!("{} (bad)", cell.text),
                Gravity::Warning => format!("{} (warning)", cell.text),
                _ => cell.text.clone(),
            });
            format!("  {}: {}", row.label, cells.collect::<Vec<_>>().join(", "))
        })
        .collect()
}

/// A question, and how it is answered.
pub fn question(prompt: &Prompt, open: usize) -> Vec<String> {
    let of = if open > 1 { format!(" (one of {open})") } else { String::new() };
    let target = &prompt.target;
    match &prompt.kind {
        PromptKind::UnknownHostKey(key) => vec![
            format!("question of {target}{of}: the host key of {} is not known.", key.host),
            format!("It is {} {}.", key.algorithm, key.fingerprint),
            "Compare it with what the machine says on its own console: ssh-keygen -lf on its key file in /etc/ssh."
                .to_owned(),
            format!("Type yes to trust it, write it to {} and connect; type no to refuse it.", key.recorded_in),
        ],
        PromptKind::Secret(request) => {
            let what = match &request.what {
                SecretKind::Passphrase(key) => format!("the passphrase of {key}"),
                SecretKind::Password => format!("the password of {}", request.asked_by),
                SecretKind::Interactive => format!("an answer for {}", request.asked_by),
            };
            let mut lines = vec![format!("question of {target}{of}: {what} is needed.")];
            if !request.instruction.is_empty() {
                lines.push(format!("The server says: {}", request.instruction));
            }
            if !request.question.is_empty() {
                lines.push(format!("The server asks: {}", request.question));
            }
            let seen = if request.echo { "it is shown while you type" } else { "it is not shown while you type" };
            lines.push(format!("Type it and Enter ({seen}); an empty line refuses."));
            lines
        }
    }
}

/// Why a question gets no answer, and what to do.
pub fn unanswered(prompt: &Prompt) -> String {
    match &prompt.kind {
        PromptKind::UnknownHostKey(key) => format!(
            "not asked, for want of a terminal: whether to trust {} {} of {}; connect once with ssh, or in the console, \
             to record it",
            key.algorithm, key.fingerprint, key.host
        ),
        PromptKind::Secret(request) => format!(
            "not asked, for want of a terminal: a secret for {}; use a key that an agent holds, or start at a terminal",
            request.asked_by
        ),
    }
}
