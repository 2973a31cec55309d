//! What happened on different machines, on one clock: lines of logs, kernel messages, queue pairs that broke, counters that
//! rose. Each machine stamps by its own clock; what is known of that clock corrects the stamp, and how wrong it may still be
//! is said. What came shortly before the evidence of a finding speaks for it; a cause that began after its symptom has that
//! against it.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;

use super::cause::Diagnosis;
use super::check::{Exhibit, Judged, MachineKind, Scene};
use super::finding::Confidence;
use super::since::{Changed, Since, What};
use crate::fabric::counter::{SharedRole, port_counter};
use crate::fabric::{Attribute, Entity, EntityId, QueuePairState, TargetId, Timestamp, Value};
use crate::probe::esxi::counting;

/// What lies this far back is no part of the same story.
pub const WINDOW: Duration = Duration::from_secs(5);

/// A batch of reads takes about as long: the uptime in it was taken at some moment of it.
const BATCH: Duration = Duration::from_secs(1);

/// Most items that are added to one cause.
const MOST: usize = 3;

/// Longest text of a message, in characters.
const LONGEST: usize = 120;

/// How the time of an event is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timing {
    /// It was stamped; the stamp may be wrong by this much, where that was measured.
    Stamped(Option<Duration>),
    /// It was so when it was read, and began before that.
    Seen,
    /// It happened within this time before.
    Within(Duration),
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by our clock.
    pub at: Timestamp,
    /// How that is known.
    pub timing: Timing,
    /// To which thing; a message is a thing of its own.
    pub about: EntityId,
    /// The property that tells it; `None` for a counter.
    pub attribute: Option<Attribute>,
    /// What, in a few words.
    pub says: String,
    /// True for what is a sign of trouble.
    pub is_trouble: bool,
}

impl Event {
    /// Itself as an item, in these words.
    fn exhibit(&self, says: String) -> Exhibit {
        match self.attribute {
            Some(attribute) => Exhibit::of(&self.about, attribute, says),
            None => Exhibit::thing(&self.about, says),
        }
    }
}

/// All events of a scene, in their order on our clock.
pub fn events(scene: &Scene<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    for (target, machine) in scene.machines {
        match machine.kind {
            MachineKind::Host => log_lines(scene, target, machine.clock, &mut events),
            MachineKind::Guest => {
                kernel_messages(scene, target, &mut events);
                queue_pairs(scene, target, &mut events);
            }
            MachineKind::Switch => {}
        }
    }
    events.extend(scene.movements.0.iter().filter_map(|(id, moved)| {
        let Entity::Counter { of, name } = &id.entity else { return None };
        let is_host = matches!(counting::role(name), Some(SharedRole::Error | SharedRole::Drop | SharedRole::Discard));
        let folders = ["counters", "hw_counters"];
        let is_guest =
            folders.iter().any(|folder| port_counter("", folder, name).is_some_and(|it| it.role.is_trouble()));
        (moved.by > 0 && (is_host || is_guest)).then(|| Event {
            at: scene.now,
            timing: Timing::Within(moved.over),
            about: id.clone(),
            attribute: None,
            says: format!("{name} of {of} rose by {}", moved.by),
            is_trouble: true,
        })
    }));
    events.sort_by(|one, other| (one.at, &one.about).cmp(&(other.at, &other.about)));
    events
}

/// A message in few words, and whether it is a sign of trouble.
fn message(scene: &Scene<'_>, id: &EntityId) -> Option<(String, bool)> {
    let text = scene.text(id, Attribute::Message)?;
    let words = text.to_ascii_lowercase();
    let is_grave = matches!(scene.text(id, Attribute::Severity), Some("warning" | "error"));
    // That a link came or went is told as plain news.
    let is_link = words.contains("link") && words.contains("down");
    Some((text.chars().take(LONGEST).collect(), is_grave || is_link))
}

fn shifted(at: Timestamp, by: SignedDuration) -> Option<Timestamp> {
    at.checked_add(by).ok()
}

fn log_lines(scene: &Scene<'_>, target: &TargetId, clock: Option<(i64, u64)>, events: &mut Vec<Event>) {
    for entity in scene.fabric.entities(target) {
        let Entity::LogMessage { stamp, .. } = entity else { continue };
        let id = EntityId::new(target, entity.clone());
        let Some((says, is_trouble)) = message(scene, &id) else { continue };
        let raw = i64::try_from(*stamp).ok().filter(|stamp| *stamp > 0);
        let Some(raw) = raw.and_then(|stamp| Timestamp::from_microsecond(stamp).ok()) else { continue };
        let (ahead, give_or_take) = match clock {
            Some((ahead, by)) => (ahead, Some(Duration::from_millis(by))),
            None => (0, None),
        };
        let Some(at) = shifted(raw, SignedDuration::from_millis(ahead.saturating_neg())) else { continue };
        let timing = Timing::Stamped(give_or_take);
        events.push(Event { at, timing, about: id, attribute: Some(Attribute::Message), says, is_trouble });
    }
}

/// Kernel messages are stamped by the time since boot; when that was follows from the uptime and the moment it was read.
fn kernel_messages(scene: &Scene<'_>, target: &TargetId, events: &mut Vec<Event>) {
    let system = EntityId::new(target, Entity::Guest);
    let Some(reading) = scene.fabric.reading(&system, Attribute::Uptime) else { return };
    let up = reading.state.known().and_then(Value::as_count).and_then(|up| i64::try_from(up).ok());
    let Some(boot) = up.and_then(|up| shifted(reading.at, SignedDuration::from_millis(up.saturating_neg()))) else {
        return;
    };
    for entity in scene.fabric.entities(target) {
        let Entity::KernelMessage { stamp, .. } = entity else { continue };
        let id = EntityId::new(target, entity.clone());
        let Some((says, is_trouble)) = message(scene, &id) else { continue };
        let since = i64::try_from(*stamp).ok().filter(|stamp| *stamp > 0);
        let Some(at) = since.and_then(|since| shifted(boot, SignedDuration::from_micros(since))) else { continue };
        let timing = Timing::Stamped(Some(BATCH));
        events.push(Event { at, timing, about: id, attribute: Some(Attribute::Message), says, is_trouble });
    }
}

fn queue_pairs(scene: &Scene<'_>, target: &TargetId, events: &mut Vec<Event>) {
    for entity in scene.fabric.entities(target) {
        let Entity::QueuePair { number, device, .. } = entity else { continue };
        let id = EntityId::new(target, entity.clone());
        let Some(reading) = scene.fabric.reading(&id, Attribute::QueuePairState) else { continue };
        let Some(Value::QueuePairState(state @ (QueuePairState::Error | QueuePairState::SendQueueError))) =
            reading.state.known()
        else {
            continue;
        };
        events.push(Event {
            at: reading.at,
            timing: Timing::Seen,
            says: format!("queue pair {number} of {device} is in {state}"),
            about: id,
            attribute: Some(Attribute::QueuePairState),
            is_trouble: true,
        });
    }
}

/// The first event that is evidence of a finding.
fn first_evidence<'e>(events: &'e [Event], judged: &Judged) -> Option<&'e Event> {
    let is_evidence = |event: &&Event| {
        judged.evidence.iter().any(|exhibit| exhibit.about == event.about) || event.about == judged.subject
    };
    events.iter().find(is_evidence)
}

/// Seconds with one decimal place.
fn seconds(duration: SignedDuration) -> String {
    let tenths = duration.as_millis().unsigned_abs().saturating_add(50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// By how much the distance of two events may be wrong, in words.
fn doubt(one: Timing, other: Timing) -> String {
    let of = |timing| match timing {
        Timing::Stamped(by) => by,
        Timing::Seen => Some(Duration::ZERO),
        Timing::Within(by) => Some(by),
    };
    match (of(one), of(other)) {
        (Some(one), Some(other)) => {
            let sum = one + other;
            if sum < Duration::from_millis(100) {
                format!("give or take {} ms", sum.as_millis())
            } else {
                format!("give or take {}", seconds(SignedDuration::try_from(sum).unwrap_or(SignedDuration::MAX)))
            }
        }
        _ => "by a clock that was not measured".to_owned(),
    }
}

/// What happened within a time before the evidence of a finding, on the machines that it reaches: the nearest first.
pub fn before(events: &[Event], judged: &Judged, window: Duration) -> Vec<Exhibit> {
    let Some(evidence) = first_evidence(events, judged) else { return Vec::new() };
    let targets: BTreeSet<&TargetId> =
        std::iter::once(&judged.subject).chain(&judged.reaches).map(|thing| &thing.target).collect();
    let known: BTreeSet<&EntityId> = judged.evidence.iter().map(|exhibit| &exhibit.about).collect();
    let window = SignedDuration::try_from(window).unwrap_or(SignedDuration::MAX);
    events
        .iter()
        .rev()
        .filter(|event| event.is_trouble && matches!(event.timing, Timing::Stamped(_)))
        .filter(|event| targets.contains(&event.about.target) && !known.contains(&event.about))
        .filter_map(|event| {
            let distance = evidence.at.duration_since(event.at);
            let is_before = distance > SignedDuration::ZERO && distance <= window;
            is_before.then(|| {
                let (says, machine) = (&event.says, &event.about.target);
                let doubt = doubt(event.timing, evidence.timing);
                let before = seconds(distance);
                event.exhibit(format!("{says} on {machine}, {before} before: {} ({doubt})", evidence.says))
            })
        })
        .take(MOST)
        .collect()
}

/// By how much a cause began after a symptom, where both were stamped and the doubt does not cover it.
fn began_after(cause: &Event, symptom: &Event) -> Option<SignedDuration> {
    let (Timing::Stamped(Some(one)), Timing::Stamped(Some(other))) = (cause.timing, symptom.timing) else {
        return None;
    };
    let late = cause.at.duration_since(symptom.at);
    let doubt = SignedDuration::try_from(one + other).unwrap_or(SignedDuration::MAX);
    (late > doubt).then_some(late)
}

/// Adds to each cause what happened just before its evidence, and what shows that it came too late to be one.
pub fn weigh(scene: &Scene<'_>, diagnosis: &mut Diagnosis) {
    let events = events(scene);
    for cause in &mut diagnosis.causes {
        let mut late = Vec::new();
        if let Some(own) = first_evidence(&events, &cause.found.judged) {
            for symptom in &cause.symptoms {
                let Some(event) = first_evidence(&events, &symptom.judged) else { continue };
                if let Some(by) = began_after(own, event) {
                    let says = format!("{} on {}, {} before this", event.says, event.about.target, seconds(by));
                    late.push(event.exhibit(says));
                }
            }
        }
        let judged = &mut cause.found.judged;
        let items = before(&events, judged, WINDOW);
        judged.evidence.extend(items);
        if !late.is_empty() {
            judged.against.extend(late);
            if judged.confidence == Confidence::Proved {
                judged.confidence = Confidence::Likely;
            }
        }
    }
}

/// Adds to each cause what changed of its evidence since nothing was wrong: of equal causes that with such a change is the
/// likelier, and of these the one that changed last. `say` tells a change in words.
pub fn weigh_changes(since: &Since, diagnosis: &mut Diagnosis, say: impl Fn(&Changed) -> String) {
    let mut latest: Vec<(&'static str, EntityId, Option<Timestamp>)> = Vec::new();
    for cause in &mut diagnosis.causes {
        let under: Vec<&Changed> = since.under(cause).into_iter().take(MOST).collect();
        let Some(first) = under.first() else { continue };
        latest.push((cause.found.check.id, cause.found.judged.subject.clone(), first.seen));
        for one in under {
            let about = one.what.about();
            let told_now = matches!(&one.what, What::Value(value) if value.after.is_some());
            let exhibit = match one.what.attribute().filter(|_| told_now) {
                Some(attribute) => Exhibit::of(about, attribute, say(one)),
                None => Exhibit::thing(about, say(one)),
            };
            cause.found.judged.evidence.push(exhibit);
        }
    }
    if !latest.is_empty() {
        diagnosis.rank_again(|cause| {
            let is_it =
                |one: &&(&str, EntityId, _)| (one.0, &one.1) == (cause.found.check.id, &cause.found.judged.subject);
            latest.iter().find(is_it).map(|one| one.2)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::cause::{Cause, Found};
    use crate::diagnose::check::by_id;
    use crate::diagnose::check::testing::{Site, says};

    /// Site time is the epoch: a guest that is up for 1000 s booted 1000 s before it.
    const UPTIME: &str = "/proc/uptime:1000.00 7321.44\n";
    const DMESG: &str = "[  999.500000] mlx5_core 0000:13:00.0 ens224np0: Link down\n\
                         [  998.000000] NVRM: Xid (PCI:0000:03:00): 79, pid=1234, GPU has fallen off the bus.\n";

    fn events_of(site: &Site) -> Vec<Event> {
        let joined = site.joined();
        events(&site.scene(&joined))
    }

    #[test]
    fn kernel_messages_are_placed_by_the_uptime() {
        let site = Site::new().guest("hpc-b", &[says("linux.uptime", UPTIME), says("linux.dmesg", DMESG)]);
        let found = events_of(&site);
        let times: Vec<i64> = found.iter().map(|event| event.at.as_millisecond()).collect();
        assert_eq!(times, [-2000, -500], "{found:#?}");
        assert!(found.iter().all(|event| event.is_trouble && event.timing == Timing::Stamped(Some(BATCH))));
        // Without an uptime nobody knows when that was.
        assert!(events_of(&Site::new().guest("hpc-b", &[says("linux.dmesg", DMESG)])).is_empty());
    }

    const LOG: &str = "2026-11-24T12:54:18.973Z cpu11:2097339)WARNING: nmlx5_rdma: vmrdma0 link is down\n";

    #[test]
    fn stamps_of_a_host_are_corrected_by_its_clock() {
        let site = Site::new().host("esx02", &[says("esxi.vmkernel-log-tail", LOG)]);
        let plain = events_of(&site);
        let ahead = events_of(&site.clone().clock_ahead("esx02", 1500));
        assert_eq!(plain.len(), 1);
        assert_eq!(plain[0].timing, Timing::Stamped(None));
        assert_eq!(ahead[0].timing, Timing::Stamped(Some(Duration::from_millis(1))));
        assert_eq!(plain[0].at.duration_since(ahead[0].at), SignedDuration::from_millis(1500));
    }

    fn queue_pair_site(uptime: &str) -> Site {
        let broken = r#"[{"ifindex":0,"ifname":"mlx5_0","port":1,"lqpn":17,"rqpn":9,"type":"RC","state":"ERR","pid":1,"comm":"a"}]"#;
        let dmesg = "[  999.600000] mlx5_core 0000:13:00.0 ens224np0: Link down\n";
        let outputs = [says("linux.queue-pairs", broken), says("linux.uptime", uptime), says("linux.dmesg", dmesg)];
        Site::new().guest("hpc-b", &outputs)
    }

    fn queue_pair() -> EntityId {
        let device = "mlx5_0".into();
        EntityId::new(&TargetId::new("hpc-b"), Entity::QueuePair { device, port: None, number: 17 })
    }

    #[test]
    fn what_came_shortly_before_speaks_for_a_finding() {
        let judged = Judged::fail(&queue_pair(), Confidence::Likely, "QP 17 is in ERR", "it broke");
        let found = before(&events_of(&queue_pair_site(UPTIME)), &judged, WINDOW);
        assert_eq!(found.len(), 1);
        let says = &found[0].says;
        assert!(says.contains("Link down on hpc-b, 0.4 s before: queue pair 17 of mlx5_0 is in ERR"), "{says}");
        assert!(says.contains("give or take 1.0 s"), "{says}");
        // An hour ago is another story.
        let old = queue_pair_site("/proc/uptime:4600.00 7321.44\n");
        assert!(before(&events_of(&old), &judged, WINDOW).is_empty());
    }

    #[test]
    fn a_cause_that_began_after_its_symptom_has_that_against_it() {
        let site = Site::new().guest(
            "hpc-b",
            &[
                says("linux.uptime", UPTIME),
                says(
                    "linux.dmesg",
                    "[  990.000000] NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.\n\
                                     [  999.500000] mlx5_core 0000:13:00.0 ens224np0: Link down\n",
                ),
            ],
        );
        let target = TargetId::new("hpc-b");
        let at = |stamp| EntityId::new(&target, Entity::KernelMessage { stamp, ordinal: 0 });
        let found = |stamp| Found {
            check: by_id("host.pvrdma-ruleset").expect("a check"),
            judged: Judged::fail(&at(stamp), Confidence::Proved, "t", "c"),
        };
        let joined = site.joined();
        let cause = Cause { found: found(999_500_000), symptoms: vec![found(990_000_000)] };
        let mut diagnosis = Diagnosis { causes: vec![cause], ..Diagnosis::default() };
        weigh(&site.scene(&joined), &mut diagnosis);
        let judged = &diagnosis.causes[0].found.judged;
        assert_eq!((judged.against.len(), judged.confidence), (1, Confidence::Likely), "{judged:#?}");
        // The other way round nothing speaks against it.
        let cause = Cause { found: found(990_000_000), symptoms: vec![found(999_500_000)] };
        let mut diagnosis = Diagnosis { causes: vec![cause], ..Diagnosis::default() };
        weigh(&site.scene(&joined), &mut diagnosis);
        assert_eq!(diagnosis.causes[0].found.judged.confidence, Confidence::Proved);
    }

    #[test]
    fn counters_that_rose_are_events_of_the_time_between_two_reads() {
        let counter = Entity::Counter { of: "mlx5_0".into(), name: "out_of_sequence".into() };
        let plain = Entity::Counter { of: "mlx5_0".into(), name: "port_xmit_data".into() };
        let target = TargetId::new("hpc-b");
        let site = queue_pair_site(UPTIME).moved(EntityId::new(&target, counter), 12, 30).moved(
            EntityId::new(&target, plain),
            12,
            30,
        );
        let found: Vec<Event> = events_of(&site).into_iter().filter(|event| event.attribute.is_none()).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].timing, Timing::Within(Duration::from_secs(30)));
    }
}
