//! One message in, the model changed, effects out. Pure: time comes in the message, maps are ordered, nothing is
//! random, so that a replay of the same messages ends in the same model.

use super::action::{self};
use super::change;
use super::changes;
use super::clock;
use super::condition;
use super::connection::Connection;
use super::effect::Effect;
use super::events::Event;
use super::live::{QUEUE_PAIR_ERROR_SERIES, QUEUE_PAIR_SERIES};
use super::message::{Message, Severity};
use super::model::{Model, TargetKind};
use super::prompt::{PromptKind, SecretKind};
use super::screen::{Overlay, Purpose};
use super::{alerts, diagnosis, healthy, measured, moves, path, pointer, questions, reconfigure, tune, watch, wizard};
use crate::fabric::series::{GaugeValue, Incident};
use crate::fabric::{
    Attribute, Change, Entity, EntityId, Fact, Outcome, QueuePairState, Report, Sample, SourceId, State, TargetId,
    Text, Timestamp, Value,
};
use crate::probe::esxi::counting;
use crate::probe::linux::kernel_log::{self, Unstamped};
use crate::probe::linux::{queue_pairs, stream};
use crate::probe::switch;

/// Takes in one message.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    // What moves with each tick is no part of a way.
    let is_sample = matches!(message, Message::Sample(_) | Message::Measured(_));
    let told = model.events.iter().next_back().map_or(0, |event| event.number);
    let mut effects = take_in(model, message);
    read_gpus_again(model, told, &mut effects);
    if !is_sample {
        path::work_out(model);
        watch::ask(model, &mut effects);
    }
    effects
}

fn take_in(model: &mut Model, message: Message) -> Vec<Effect> {
    model.revision += 1;
    match message {
        Message::Clock(at) => {
            model.now = model.now.max(at);
            tell_stale(model);
            model.judge_gpus();
            diagnosis::judge(model);
            let mut effects = healthy::keep(model);
            effects.extend(alerts::tell(model));
            if model.screen.notice.as_ref().is_some_and(|(_, said)| at.duration_since(*said).as_secs() >= 5) {
                model.screen.notice = None;
            }
            effects.extend(wizard::tick(model));
            return effects;
        }
        Message::Resized { columns, rows } => {
            model.screen.columns = columns;
            model.screen.rows = rows;
        }
        Message::Connection { target, at, connection } => connected(model, &target, at, &connection),
        Message::Report { at, report } => return reported(model, at, &report),
        Message::Sample(sample) => sampled(model, &sample),
        Message::Measured(row) => measured::take_in(model, &row),
        Message::Gap { target, at, dropped } => {
            model.now = model.now.max(at);
            model.series.gap(&target, at);
            model.slow.gap(&target);
            if dropped > 0 {
                if let Some(known) = model.targets.get_mut(&target) {
                    known.dropped += dropped;
                }
                let text = format!("{dropped} samples were dropped: the screen did not keep up");
                tell(model, at, Some(&target), Severity::Warning, text);
            }
        }
        Message::Notice { target, at, severity, text } => {
            model.now = model.now.max(at);
            if target.is_none() {
                model.screen.notice = Some((text.to_string(), model.now));
            }
            tell(model, at, target.as_ref(), severity, text.to_string());
        }
        Message::Said { at, text } => {
            model.now = model.now.max(at);
            model.screen.notice = Some((text.to_string(), model.now));
        }
        Message::Asked { at, prompt } => {
            model.now = model.now.max(at);
            let text = match &prompt.kind {
                PromptKind::UnknownHostKey(key) => {
                    format!("asks whether to trust the {} key {} of {}", key.algorithm, key.fingerprint, key.host)
                }
                PromptKind::Secret(request) => match &request.what {
                    SecretKind::Passphrase(key) => format!("asks for the passphrase of {key}"),
                    SecretKind::Password => format!("asks for the password of {}", request.asked_by),
                    SecretKind::Interactive => format!("{} asks a question to log in", request.asked_by),
                },
            };
            tell(model, at, Some(&prompt.target), Severity::Warning, text);
            model.prompts.push(prompt);
        }
        Message::Change { at, number, news } => return change::news(model, number, at, news),
        Message::Bench { at, number, news } => tune::news(model, number, at, news),
        Message::Healthy { at, news } => healthy::news(model, at, news),
        Message::Withdrawn { id } | Message::Answered { id } => questions::close(model, &[id]),
        Message::Seen { questions } => questions::note_seen(model, &questions),
        Message::Reconfigured(new) => return reconfigure::apply(model, *new),
        Message::Pointed(pointed) => return pointer::apply(model, pointed),
        Message::Action(name) => return action::run(model, &name),
        Message::Edit(edit) => {
            if let Some(editing) = &mut model.screen.editing {
                editing.apply(&edit);
                let text = editing.input.value().to_owned();
                match editing.purpose {
                    Purpose::Filter => model.screen.filter = super::filter::Filter::new(&text),
                    Purpose::Search => {
                        let columns = model.screen.columns;
                        if let Some(evidence) = model.screen.evidence_mut() {
                            evidence.search = text;
                            evidence.find(true, true, columns);
                        }
                    }
                    Purpose::Palette => {
                        if let Some(Overlay::Palette(palette)) = model.screen.overlays.last_mut() {
                            palette.selected = 0;
                        }
                    }
                    Purpose::Note { .. } | Purpose::Confirm => {}
                    // It is typed into the replay, which is no part of what is recorded.
                    Purpose::Position => {}
                }
            } else if let Some(Overlay::Paste(view)) = model.screen.overlays.last_mut() {
                view.edit(&edit);
            }
        }
    }
    Vec::new()
}

/// Adds an event about a target as a whole, or about none.
fn tell(model: &mut Model, at: Timestamp, target: Option<&TargetId>, severity: Severity, text: String) {
    model.events.push(Event {
        number: 0,
        at,
        target: target.cloned(),
        severity,
        text,
        entity: None,
        evidence: None,
        line: 0,
    });
}

fn connected(model: &mut Model, id: &TargetId, at: Timestamp, connection: &Connection) {
    model.now = model.now.max(at);
    let Some(target) = model.targets.get_mut(id) else { return };
    let before = std::mem::replace(&mut target.connection, connection.clone());
    let (severity, text) = match connection {
        Connection::Connected { via, .. } => {
            target.staleness.now = false;
            target.told_problem = None;
            target.quickest = None;
            target.round_trip = None;
            target.late.clear();
            (Severity::Info, format!("connected: {via}"))
        }
        Connection::BackingOff { problem, .. } => {
            // The same failure over and over is one event, not one for each try.
            if target.told_problem.as_ref() == Some(problem) {
                return;
            }
            target.told_problem = Some(problem.clone());
            (Severity::Error, problem.to_string())
        }
        Connection::Failed { problem } => (Severity::Error, problem.to_string()),
        Connection::Waiting | Connection::Connecting { .. } | Connection::Asking => return,
    };
    if matches!(before, Connection::Connected { .. }) && !connection.is_up() {
        // Values of a stream are not what is now.
        model.series.gap(id, at);
        model.slow.gap(id);
    }
    tell(model, at, Some(id), severity, text);
}

/// What a target is on which a probe was read.
fn kind_of(probe: &SourceId) -> TargetKind {
    match probe.as_str().split_once('.') {
        Some(("esxi", _)) => TargetKind::Esxi,
        Some(("linux", _)) => TargetKind::Linux,
        _ if switch::probe(probe.as_str()).is_some() => TargetKind::Switch,
        _ => TargetKind::Unknown,
    }
}

/// True if an RDMA device came or went: what else hangs on it is read at once, and not when its turn comes.
fn moved_devices(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change, Change::Changed { attribute: Attribute::RdmaPresence, .. }))
}

/// What a target tells of its GPUs in trouble makes it read again at most this often, in seconds.
const READ_AGAIN_SECONDS: i64 = 60;

/// True if an event says that the driver or the stream of GPUs is in trouble: what else is known of them is old then.
fn is_trouble_of_gpus(text: &str) -> bool {
    let of_kernel = text.starts_with("kernel: ") && (text.contains("NVRM") || text.contains("nouveau"));
    let of_module = text.starts_with("module nvidia") || text.starts_with("module nouveau");
    of_kernel || of_module || text.starts_with("the stream of GPUs ended")
}

/// Reads targets at once whose GPUs came into trouble since event `told`, and not when their turn comes.
fn read_gpus_again(model: &mut Model, told: u64, effects: &mut Vec<Effect>) {
    let new = model.events.iter().rev().take_while(|event| event.number > told);
    let troubled: Vec<TargetId> =
        new.filter(|event| is_trouble_of_gpus(&event.text)).filter_map(|event| event.target.clone()).collect();
    for id in troubled {
        let Some(target) = model.targets.get_mut(&id).filter(|target| target.connection.is_up()) else { continue };
        let lately = |at: Timestamp| model.now.duration_since(at).as_secs() < READ_AGAIN_SECONDS;
        if target.read_again_at.is_some_and(lately) {
            continue;
        }
        target.read_again_at = Some(model.now);
        let read = Effect::ReadNow(id);
        if !effects.contains(&read) {
            effects.push(read);
        }
    }
}

fn reported(model: &mut Model, at: Timestamp, report: &Report) -> Vec<Effect> {
    model.now = model.now.max(at);
    if !model.targets.contains_key(&report.target) {
        return Vec::new(); // it was closed while this was on its way
    }
    let unstamped = unstamped_messages(model, report);
    for observation in &report.observations {
        model.raw.keep(observation);
    }
    if let Some(target) = model.targets.get_mut(&report.target) {
        target.last_report = Some(at);
        target.read.insert(report.probe.clone());
        clock::take_in(target, at, report);
        if report.observations.iter().any(|read| read.outcome == Outcome::TimedOut) {
            target.late.insert(report.probe.clone());
        } else {
            target.late.remove(&report.probe);
        }
        if target.kind == TargetKind::Unknown {
            target.kind = kind_of(&report.probe);
            model.open_panel();
        }
    }
    // A first report changes nothing, it only tells what there is.
    let is_first = !model.fabric.has_reported(&report.target, &report.probe);
    let changes = model.fabric.apply(report);
    if is_first || diagnosis::is_news(&changes) {
        model.fabric_changed();
        model.unjudged = true;
    }
    tell_changes(model, at, &changes);
    tell_unstamped(model, at, report, unstamped);
    if report.probe.as_str() == queue_pairs::PROBE.name {
        count_queue_pairs(model, at, report);
    }
    let slow = if counting::counts(&report.probe) {
        Some(counting::readings(report))
    } else {
        switch::counting::counts(&report.probe).then(|| switch::counting::readings(report))
    };
    if let Some(readings) = slow {
        for incident in model.slow.apply(&report.target, &report.probe, &readings) {
            if let Incident::Reset(entity) = incident {
                let text = format!("{entity}: counters were set back");
                tell(model, at, Some(&report.target), Severity::Info, text);
            }
        }
    }
    change::read_more(model);
    if !is_first && moved_devices(&changes) {
        return vec![Effect::ReadNow(report.target.clone())];
    }
    moves::left(model, &changes)
}

/// Kernel messages that came since the log was read last and have no stamp to tell them from others.
fn unstamped_messages(model: &Model, report: &Report) -> Vec<Unstamped> {
    let [now] = &report.observations[..] else { return Vec::new() };
    if report.probe.as_str() != kernel_log::PROBE.name {
        return Vec::new();
    }
    let before = model.raw.newest_good(&report.target, &now.source);
    before.map(|before| kernel_log::unstamped_since(before, now)).unwrap_or_default()
}

fn tell_unstamped(model: &mut Model, at: Timestamp, report: &Report, messages: Vec<Unstamped>) {
    let Some(observation) = report.observations.first().filter(|_| !messages.is_empty()) else { return };
    model.raw.cite(&observation.reference());
    for message in messages {
        model.events.push(changes::unstamped(&model.fabric, at, report, &message));
    }
}

/// Numbers of queue pairs of processes become series of their own; a read that failed leaves a gap in them.
fn count_queue_pairs(model: &mut Model, at: Timestamp, report: &Report) {
    let target = &report.target;
    let is_read = report.observations.iter().all(|observation| observation.is_whole())
        && !report.facts.iter().any(|fact| {
            fact.attribute == Attribute::ForeignQueuePairs
                && matches!(fact.reading.state, State::Failed(_) | State::NotInstalled(_))
        });
    let (mut all, mut broken) = (0u32, 0u32);
    for entity in model.fabric.entities(target).filter(|entity| matches!(entity, Entity::QueuePair { .. })) {
        let id = EntityId::new(target, entity.clone());
        if model.fabric.value(&id, Attribute::OwnerProcess).is_none() {
            continue;
        }
        all += 1;
        if model.fabric.value(&id, Attribute::QueuePairState) == Some(&Value::QueuePairState(QueuePairState::Error)) {
            broken += 1;
        }
    }
    let gauges = [(QUEUE_PAIR_SERIES, all), (QUEUE_PAIR_ERROR_SERIES, broken)].map(|(name, count)| GaugeValue {
        entity: Entity::Guest,
        name: Text::new(name),
        value: is_read.then(|| f64::from(count)),
    });
    model.series.gauges(target, at, &gauges);
}

fn sampled(model: &mut Model, sample: &Sample) {
    model.now = model.now.max(sample.at);
    let Some(target) = model.targets.get_mut(&sample.target) else { return };
    target.last_sample = Some(sample.at);
    target.round_trip = Some(sample.round_trip);
    target.quickest = Some(target.quickest.map_or(sample.round_trip, |quickest| quickest.min(sample.round_trip)));
    if sample.clock_offset_ms.is_some() {
        target.clock_offset_ms = sample.clock_offset_ms;
        target.clock_within = target.quickest.map(|quickest| quickest / 2);
    }
    let recovered = std::mem::take(&mut target.staleness.now);
    let told = std::mem::take(&mut target.staleness.told);
    if recovered {
        model.series.gap(&sample.target, sample.at);
        if told {
            tell(model, sample.at, Some(&sample.target), Severity::Info, "answers again".to_owned());
        }
    }
    if let Some(observation) = &sample.observation {
        model.raw.keep(observation);
    }
    for incident in model.series.apply(sample) {
        let (severity, text) = match incident {
            Incident::Reboot if was_told_rebooted(model, sample.at, &sample.target) => continue,
            Incident::Reboot => (Severity::Warning, changes::REBOOTED.to_owned()),
            Incident::Reset(entity) => (Severity::Info, format!("{entity}: counters were set back")),
        };
        tell(model, sample.at, Some(&sample.target), severity, text);
    }
    streamed(model, sample.at, &sample.target, stream::SOURCE, &sample.facts);
}

/// Takes in the states that a stream told; they replace what it told before.
pub(super) fn streamed(model: &mut Model, at: Timestamp, target: &TargetId, source: &str, facts: &[Fact]) {
    let source = SourceId::new(source);
    let is_first = !model.fabric.has_reported(target, &source);
    let changes = model.fabric.apply_facts(target, &source, facts);
    if is_first || diagnosis::is_news(&changes) {
        model.fabric_changed();
        model.unjudged = true;
    }
    tell_changes(model, at, &changes);
}

fn tell_changes(model: &mut Model, at: Timestamp, changes: &[Change]) {
    for event in changes::events(&model.fabric, at, changes) {
        let told = |target| was_told_rebooted(model, at, target);
        if event.text == changes::REBOOTED && event.target.as_ref().is_some_and(told) {
            continue;
        }
        if let Some(reference) = &event.evidence {
            model.raw.cite(reference);
        }
        model.events.push(event);
    }
}

/// True if a reboot was told within the last minute: the uptime of the stream and the boot id of a batch both show it,
/// in either order, and a target that was away for long shows it by the boot id alone.
fn was_told_rebooted(model: &Model, at: Timestamp, target: &TargetId) -> bool {
    let recent = model.events.iter().rev().take_while(|event| at.duration_since(event.at).as_secs() < 60);
    recent.filter(|event| event.target.as_ref() == Some(target)).any(|event| event.text == changes::REBOOTED)
}

/// A target that becomes stale again is told of at most this often, in seconds.
const STALE_AGAIN_SECONDS: i64 = 60;

/// Tells when the values of a connected target become stale. A connection that just came up has its time to give the
/// first ones.
fn tell_stale(model: &mut Model) {
    let (period, now) = (model.options.period, model.now);
    let silent: Vec<(TargetId, bool, u32)> = model
        .targets
        .iter_mut()
        .filter(|(_, target)| match target.connection {
            Connection::Connected { since, .. } => !target.staleness.now && condition::is_longer(since, period, now),
            _ => false,
        })
        .filter(|(_, target)| condition::stale_for(target, period, now).is_some())
        .filter_map(|(id, target)| {
            let staleness = &mut target.staleness;
            staleness.now = true;
            let lately = |at: Timestamp| now.duration_since(at).as_secs() < STALE_AGAIN_SECONDS;
            if staleness.told_at.is_some_and(lately) {
                staleness.untold += 1;
                return None;
            }
            staleness.told = true;
            staleness.told_at = Some(now);
            Some((id.clone(), target.last_sample.is_some(), std::mem::take(&mut staleness.untold)))
        })
        .collect();
    for (id, read, untold) in silent {
        let mut text = if read {
            format!("no answer for more than {} periods: its values are stale", condition::STALE_PERIODS)
        } else {
            "is connected, but gave no answer yet".to_owned()
        };
        match untold {
            0 => {}
            1 => text.push_str(" (and once more since this was told last)"),
            more => text = format!("{text} (and {more} times more since this was told last)"),
        }
        tell(model, now, Some(&id), Severity::Warning, text);
    }
}
