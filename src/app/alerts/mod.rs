//! Alerts: what calls for attention, from when it comes until it is gone, and what the person at the console did about it.
//! The event tells it once; the bell and the hook tell it again outside, unless it was acknowledged or snoozed. What comes
//! back soon after it went is the same alert and is not told anew.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::diagnosis::{Finding, short};
use super::effect::Effect;
use super::events::Event;
use super::format;
use super::message::Severity;
use super::model::Model;
use crate::config::AlertNotice;
use crate::diagnose::cause::Cause;
use crate::fabric::{EntityId, TargetId, Text, Timestamp};

/// What comes back within so many seconds after it went is the same alert.
const AGAIN_SECONDS: i64 = 60;

/// A cause that comes within so many seconds of the end of another one of the same thing took that over.
const TAKEN_OVER_SECONDS: i64 = 10;

/// For how long an alert is snoozed, in minutes.
pub const SNOOZE_MINUTES: i64 = 15;

/// How many events of an alert are kept.
const KEPT_EVENTS: usize = 32;

/// How many alerts are kept; of more the oldest that are over go.
const KEPT: usize = 500;

/// One alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// Its number, from 1, for the whole session.
    pub number: u64,
    /// The check that raised it.
    pub check: Text,
    /// Of what.
    pub subject: EntityId,
    /// How grave.
    pub severity: Severity,
    /// What, in a sentence.
    pub text: String,
    /// Why, and what follows from it.
    pub cause: String,
    /// Since when.
    pub raised_at: Timestamp,
    /// When it went, if it did.
    pub cleared_at: Option<Timestamp>,
    /// When somebody took note of it.
    pub acknowledged_at: Option<Timestamp>,
    /// Until when it is not told.
    pub snoozed_until: Option<Timestamp>,
    /// True once it was told outside of the events.
    told: bool,
    /// True if it is to be told once more: after its rest, or because it became graver.
    again: bool,
    /// True once it was gone for so long that what comes is another one.
    over: bool,
    /// Numbers of the events that tell of it.
    events: Vec<u64>,
    /// Numbers of the events that tell what was done about it.
    #[serde(default)]
    notes: Vec<u64>,
}

/// All alerts that are open or were so lately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alerts {
    by_finding: BTreeMap<(TargetId, String), Alert>,
    made: u64,
    /// Until when nothing at all is told outside of the events.
    quiet_until: Option<Timestamp>,
}

/// What became of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It came.
    Raised,
    /// It is gone.
    Cleared,
}

impl Turn {
    /// The word for it in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Cleared => "cleared",
        }
    }
}

/// What is told of an alert outside of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertNews {
    /// Whether it came or went.
    pub turn: Turn,
    /// When.
    pub at: Timestamp,
    /// Number of the alert.
    pub number: u64,
    /// The check that raised it.
    pub check: Text,
    /// Of what.
    pub subject: EntityId,
    /// How grave.
    pub severity: Severity,
    /// What, in a sentence.
    pub text: String,
    /// Why, and what follows from it.
    pub cause: String,
    /// Since when.
    pub raised_at: Timestamp,
}

impl Alert {
    /// True while it is there.
    pub fn is_open(&self) -> bool {
        self.cleared_at.is_none()
    }

    /// One more event tells of it. Of one that comes and goes for hours the newest events are known.
    fn told_by(&mut self, event: u64) {
        self.events.push(event);
        if self.events.len() > KEPT_EVENTS {
            self.events.remove(0);
        }
    }

    /// For how many minutes it still rests, rounded up; `None` if it does not.
    fn rests_for(&self, now: Timestamp) -> Option<i64> {
        let left = self.snoozed_until?.duration_since(now).as_secs();
        (left > 0).then_some((left + 59) / 60)
    }

    fn is_told_by(&self, event: u64) -> bool {
        self.events.contains(&event) || self.notes.contains(&event)
    }

    fn news(&self, turn: Turn, at: Timestamp) -> AlertNews {
        AlertNews {
            turn,
            at,
            number: self.number,
            check: self.check.clone(),
            subject: self.subject.clone(),
            severity: self.severity,
            text: self.text.clone(),
            cause: self.cause.clone(),
            raised_at: self.raised_at,
        }
    }
}

impl Alerts {
    /// All of them, in the order of their targets.
    pub fn iter(&self) -> impl Iterator<Item = &Alert> {
        self.by_finding.values()
    }

    /// The alert that an event tells of, or that something was done about it.
    pub fn of_event(&self, event: u64) -> Option<&Alert> {
        self.by_finding.values().find(|alert| alert.is_told_by(event))
    }

    fn of_event_mut(&mut self, event: u64) -> Option<&mut Alert> {
        self.by_finding.values_mut().find(|alert| alert.is_told_by(event))
    }

    /// Until when nothing is told outside of the events, if that was asked for.
    pub fn quiet_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.quiet_until.filter(|until| *until > now)
    }

    /// Something calls for attention since now; `event` tells it.
    pub(super) fn raised(
        &mut self,
        target: &TargetId,
        key: &str,
        finding: &Finding,
        cause: &Cause,
        at: Timestamp,
        event: u64,
    ) {
        let key = (target.clone(), key.to_owned());
        if let Some(known) = self.by_finding.get_mut(&key) {
            // It is back, or has become graver: that is told anew only if it was not told as grave before.
            if finding.severity > known.severity {
                known.again = true;
                known.acknowledged_at = None;
            }
            known.cleared_at = None;
            known.severity = known.severity.max(finding.severity);
            known.text.clone_from(&finding.text);
            known.cause.clone_from(&cause.found.judged.cause);
            known.told_by(event);
            return;
        }
        self.made += 1;
        let judged = &cause.found.judged;
        let alert = Alert {
            number: self.made,
            check: Text::new(cause.found.check.id),
            subject: judged.subject.clone(),
            severity: finding.severity,
            text: finding.text.clone(),
            cause: judged.cause.clone(),
            raised_at: at,
            cleared_at: None,
            acknowledged_at: None,
            snoozed_until: None,
            told: false,
            again: false,
            over: false,
            events: vec![event],
            notes: Vec::new(),
        };
        self.by_finding.insert(key, alert);
        while self.by_finding.len() > KEPT {
            let over =
                self.by_finding.iter().filter(|(_, alert)| !alert.is_open()).min_by_key(|(_, alert)| alert.number);
            let Some(key) = over.map(|(key, _)| key.clone()) else { break };
            self.by_finding.remove(&key);
        }
    }

    /// It calls for attention no longer; `event` tells it.
    pub(super) fn cleared(&mut self, target: &TargetId, key: &str, at: Timestamp, event: u64) {
        if let Some(known) = self.by_finding.get_mut(&(target.clone(), key.to_owned())) {
            known.cleared_at = Some(at);
            known.told_by(event);
        }
    }

    /// Forgets those of a target; what was told of them is taken back by nobody.
    pub(super) fn forget(&mut self, target: &TargetId) {
        self.by_finding.retain(|(of, _), _| of != target);
    }

    /// What is to be told outside now.
    fn due(&mut self, now: Timestamp) -> Vec<AlertNews> {
        let is_quiet = self.quiet_until(now).is_some();
        let open: Vec<(EntityId, Timestamp)> =
            self.iter().filter(|alert| alert.is_open()).map(|alert| (alert.subject.clone(), alert.raised_at)).collect();
        // What another alert of the same thing took over as it came stands on by another name: it is not over before that is.
        let is_taken_over = |alert: &Alert, cleared: Timestamp| {
            let near = |raised: &Timestamp| raised.duration_since(cleared).as_secs().abs() <= TAKEN_OVER_SECONDS;
            open.iter().any(|(subject, raised)| *subject == alert.subject && near(raised))
        };
        let mut news = Vec::new();
        let mut over = Vec::new();
        for (key, alert) in self.by_finding.iter_mut().filter(|(_, alert)| !alert.over) {
            if let Some(cleared) = alert.cleared_at {
                if now.duration_since(cleared).as_secs() >= AGAIN_SECONDS && !is_taken_over(alert, cleared) {
                    // Whoever was told that it came is told that it went, whatever was done about it meanwhile.
                    if alert.told {
                        news.push(alert.news(Turn::Cleared, cleared));
                    }
                    alert.over = true;
                    over.push(key.clone());
                }
                continue;
            }
            let is_snoozed = alert.snoozed_until.is_some_and(|until| until > now);
            let is_due = !alert.told || alert.again;
            if is_due && alert.acknowledged_at.is_none() && !is_snoozed && !is_quiet {
                (alert.told, alert.again) = (true, false);
                alert.snoozed_until = None;
                news.push(alert.news(Turn::Raised, now));
            }
        }
        // It stays for as long as its event can be looked at, but is no part of what may come back.
        for key in over {
            if let Some(alert) = self.by_finding.remove(&key) {
                let key = (key.0, format!("{} #{}", key.1, alert.number));
                self.by_finding.insert(key, alert);
            }
        }
        news.sort_by_key(|one| (one.turn == Turn::Cleared, std::cmp::Reverse(one.severity), one.number));
        news
    }
}

/// What is to be told outside of the console now: by the terminal, and by the hook.
pub(super) fn tell(model: &mut Model) -> Vec<Effect> {
    let news = model.alerts.due(model.now);
    let mut effects = Vec::new();
    let raised: Vec<&AlertNews> = news.iter().filter(|one| one.turn == Turn::Raised).collect();
    if let Some(first) = raised.first()
        && model.options.alert_notice != AlertNotice::None
    {
        // Many at once ring once.
        let text = match raised.len() {
            1 => first.text.clone(),
            count => format!("{} (and {} more)", first.text, count - 1),
        };
        effects.push(Effect::Notify { text: Text::new(&text), by: model.options.alert_notice });
    }
    if model.options.alert_hook {
        effects.extend(news.into_iter().map(|one| Effect::Alert(Box::new(one))));
    }
    effects
}

/// How the alert of an event stands, in a few words; `None` for an event that tells of none. Times are told as such: how long
/// ago they were would change with every second.
pub fn standing(model: &Model, event: u64, zone: &jiff::tz::TimeZone) -> Option<String> {
    let alert = model.alerts.of_event(event)?;
    let clock = |at| format::clock(at, zone);
    let words = match (alert.is_open(), alert.acknowledged_at, alert.snoozed_until) {
        (false, ..) => "is over".to_owned(),
        (true, Some(at), _) => format!("acknowledged at {}", clock(at)),
        (true, None, Some(until)) if until > model.now => format!("snoozed until {}", clock(until)),
        (true, None, _) => format!("open since {}", clock(alert.raised_at)),
    };
    Some(words)
}

/// What a row of the events adds to an alert that somebody did something about.
pub fn flag(model: &Model, event: u64) -> Option<&'static str> {
    let alert = model.alerts.of_event(event).filter(|alert| alert.is_open() && alert.events.contains(&event))?;
    match (alert.acknowledged_at, alert.snoozed_until) {
        (Some(_), _) => Some("acknowledged"),
        (None, Some(until)) if until > model.now => Some("snoozed"),
        (None, _) => None,
    }
}

/// The open alert of the selected event.
pub fn selected(model: &Model) -> Option<&Alert> {
    let event = model.selected_event()?.number;
    model.alerts.of_event(event).filter(|alert| alert.is_open())
}

/// Takes note of the selected alert: it is not told outside any more until it becomes graver or comes anew.
pub(super) fn acknowledge(model: &mut Model) {
    act(model, |alert, now| {
        if alert.acknowledged_at.take().is_some() {
            let follows = match alert.rests_for(now) {
                Some(minutes) => format!("still rests for {minutes} minutes; snooze it once more to end that"),
                None => "is told again".to_owned(),
            };
            return ("no longer acknowledged", follows);
        }
        alert.acknowledged_at = Some(now);
        ("acknowledged", "is not told again until it is gone and comes back, or becomes graver".to_owned())
    });
}

/// Lets the selected alert rest for a while, or ends that.
pub(super) fn snooze(model: &mut Model) {
    act(model, |alert, now| {
        if alert.rests_for(now).is_some() {
            alert.snoozed_until = None;
            let stays = alert.acknowledged_at.is_some();
            let follows =
                if stays { "rests no longer, but stays acknowledged" } else { "rests no longer: it is told again" };
            return ("no longer snoozed", follows.to_owned());
        }
        alert.snoozed_until = Some(now + jiff::SignedDuration::from_mins(SNOOZE_MINUTES));
        // If it is still there then it is told once more.
        alert.again = true;
        ("snoozed", format!("rests for {SNOOZE_MINUTES} minutes"))
    });
}

fn act(model: &mut Model, does: impl FnOnce(&mut Alert, Timestamp) -> (&'static str, String)) {
    let now = model.now;
    let event = selected(model).and_then(|_| model.selected_event().map(|event| event.number));
    let Some(alert) = event.and_then(|event| model.alerts.of_event_mut(event)) else {
        let text = "the selected event tells of no alert that is open".to_owned();
        model.screen.notice = Some((text, now));
        return;
    };
    let (word, follows) = does(alert, now);
    let (text, subject) = (alert.text.clone(), alert.subject.clone());
    let said = format!("{word}: {}", short(&subject.target, &text));
    let note = note(model, Some(subject), said);
    // The selection may follow the newest event: there, too, the same key is about the same alert.
    if let Some(alert) = event.and_then(|event| model.alerts.of_event_mut(event)) {
        alert.notes.push(note);
    }
    model.screen.notice = Some((format!("{word}: the alert {follows}"), now));
}

/// Lets all alerts rest for a while, or ends that.
pub(super) fn snooze_all(model: &mut Model) {
    let now = model.now;
    let text = if model.alerts.quiet_until(now).is_some() {
        model.alerts.quiet_until = None;
        "alerts are told again".to_owned()
    } else {
        model.alerts.quiet_until = Some(now + jiff::SignedDuration::from_mins(SNOOZE_MINUTES));
        format!("all alerts rest for {SNOOZE_MINUTES} minutes; they are events all the same")
    };
    note(model, None, text.clone());
    model.screen.notice = Some((text, now));
}

/// Its number is returned.
fn note(model: &mut Model, subject: Option<EntityId>, text: String) -> u64 {
    model.events.push(Event {
        number: 0,
        at: model.now,
        target: subject.as_ref().map(|subject| subject.target.clone()),
        severity: Severity::Info,
        text,
        entity: subject,
        evidence: None,
        line: 0,
    })
}
