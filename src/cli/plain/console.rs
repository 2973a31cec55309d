//! What the plain console does with what happens and with what is typed: the model taken further, and lines to be written.

use std::collections::{BTreeSet, VecDeque};

use jiff::tz::TimeZone;

use super::typed::{self, Command, Unseen};
use super::words;
use crate::app::condition;
use crate::app::model::{Model, TargetKind};
use crate::app::{Answer, Effect, Message, PromptKind, Secret, Severity, update};
use crate::fabric::{SourceId, TargetId, Text, Timestamp};
use crate::probe::esxi;
use crate::probe::linux::PROBES;

/// Seconds between two lines of traffic of a target.
const TRAFFIC_SECONDS: i64 = 60;

/// The console without its loop.
pub(super) struct Plain {
    pub(super) model: Model,
    effects: Box<dyn FnMut(Effect)>,
    interactive: bool,
    pub(super) zone: TimeZone,
    /// Lines that are to be written.
    pub(super) lines: VecDeque<String>,
    /// Number of the last event that was told.
    told: u64,
    day: String,
    /// When traffic was told last.
    traffic: Timestamp,
    /// Targets that were read whole.
    read: BTreeSet<TargetId>,
    /// Number of the question that is being asked, and what hides its answer.
    asked: Option<(u64, Option<Unseen>)>,
}

impl Plain {
    pub(super) fn new(model: Model, effects: Box<dyn FnMut(Effect)>, interactive: bool) -> Self {
        let traffic = model.now;
        Self {
            model,
            effects,
            interactive,
            zone: TimeZone::system(),
            lines: VecDeque::new(),
            told: 0,
            day: String::new(),
            traffic,
            read: BTreeSet::new(),
            asked: None,
        }
    }

    fn say(&mut self, line: impl Into<String>) {
        self.lines.push_back(line.into());
    }

    pub(super) fn begin(&mut self) {
        self.tell_day();
        let names: Vec<&str> = self.model.order.iter().map(TargetId::as_str).collect();
        let noun = if names.len() == 1 { "target" } else { "targets" };
        let version = env!("CARGO_PKG_VERSION");
        let line = format!("rdmascope {version}, {} {noun}: {}", names.len(), names.join(", "));
        self.say(line);
        for target in self.model.order.clone() {
            self.lines.extend(words::status(&self.model, &target));
        }
        if self.interactive {
            self.say("help and Enter lists what can be typed; quit leaves");
        }
    }

    fn tell_day(&mut self) {
        let day = words::day(self.model.now, &self.zone);
        if day != self.day {
            self.day.clone_from(&day);
            self.say(day);
        }
    }

    /// Takes in one message and tells what came of it.
    pub(super) fn take_in(&mut self, message: Message) {
        let asked = match &message {
            Message::Asked { prompt, .. } if !self.interactive => Some(prompt.clone()),
            _ => None,
        };
        self.update(message);
        if let Some(prompt) = asked {
            let text = Text::new(&words::unanswered(&prompt));
            let (at, target) = (self.model.now, Some(prompt.target));
            self.update(Message::Notice { target, at, severity: Severity::Error, text });
            self.answer(prompt.id, Answer::Refuse);
        }
        self.tell();
    }

    fn update(&mut self, message: Message) {
        for effect in update(&mut self.model, message) {
            (self.effects)(effect);
        }
    }

    fn answer(&mut self, id: u64, answer: Answer) {
        (self.effects)(Effect::Answer { id, answer });
        self.update(Message::Answered { id });
    }

    /// Tells what is new: a question first, and nothing else while one is open.
    fn tell(&mut self) {
        if let Some((id, _)) = &self.asked
            && self.model.prompts.iter().all(|prompt| prompt.id != *id)
        {
            self.asked = None;
            self.say("");
            self.say("the question is no longer open");
        }
        if self.asked.is_some() {
            return;
        }
        self.tell_day();
        let new: Vec<String> = {
            let new = self.model.events.iter().rev().take_while(|event| event.number > self.told);
            new.map(|event| words::event(event, &self.zone)).collect()
        };
        self.told = self.model.events.iter().next_back().map_or(self.told, |event| event.number);
        self.lines.extend(new.into_iter().rev());
        self.tell_first_reads();
        if self.model.now.duration_since(self.traffic).as_secs() >= TRAFFIC_SECONDS {
            self.tell_traffic();
        }
        if self.interactive {
            self.ask();
        }
    }

    fn tell_first_reads(&mut self) {
        let whole = |target: &TargetId| {
            self.model.targets.get(target).is_some_and(|known| {
                let probes = match known.kind {
                    TargetKind::Esxi => esxi::PROBES,
                    TargetKind::Switch => condition::switch_probes(known),
                    _ => PROBES,
                };
                let probes = probes.iter();
                known.connection.is_up()
                    && probes.len() > 0
                    && probes.clone().all(|probe| known.read.contains(&SourceId::new(probe.name)))
            })
        };
        let new: Vec<TargetId> =
            self.model.order.iter().filter(|target| !self.read.contains(*target) && whole(target)).cloned().collect();
        for target in new {
            self.lines.push_back(words::first_read(&self.model, &target, &self.zone));
            self.read.insert(target);
        }
    }

    /// Tells what moves; true if there was anything to tell.
    fn tell_traffic(&mut self) -> bool {
        self.traffic = self.model.now;
        let lines: Vec<String> =
            self.model.order.iter().filter_map(|target| words::traffic(&self.model, target, &self.zone)).collect();
        let any = !lines.is_empty();
        self.lines.extend(lines);
        any
    }

    fn ask(&mut self) {
        let Some(prompt) = self.model.prompts.first() else { return };
        let id = prompt.id;
        let hidden = matches!(&prompt.kind, PromptKind::Secret(request) if !request.echo);
        let question = words::question(prompt, self.model.prompts.len());
        let unseen = if hidden {
            match Unseen::begin() {
                Ok(unseen) => Some(unseen),
                Err(error) => {
                    let text = format!("the terminal cannot hide what is typed ({error}): the question is refused");
                    self.say(text);
                    self.answer(id, Answer::Refuse);
                    return;
                }
            }
        } else {
            None
        };
        self.lines.extend(question);
        self.asked = Some((id, unseen));
    }

    /// Takes in a line that was typed; true if the user leaves.
    pub(super) fn typed(&mut self, line: String) -> bool {
        if let Some((id, unseen)) = self.asked.take() {
            self.typed_answer(id, unseen, line);
            self.tell();
            return false;
        }
        match Command::parse(&line) {
            Err(what) => self.say(what),
            Ok(Command::Quit) => return true,
            Ok(command) => self.command(command),
        }
        self.tell();
        false
    }

    fn typed_answer(&mut self, id: u64, unseen: Option<Unseen>, line: String) {
        let Some(prompt) = self.model.prompts.iter().find(|prompt| prompt.id == id) else { return };
        match &prompt.kind {
            PromptKind::UnknownHostKey(_) => match line.trim().to_lowercase().as_str() {
                "yes" => self.answer(id, Answer::Accept),
                "no" => self.answer(id, Answer::Refuse),
                _ => {
                    self.say("please type yes or no");
                    self.asked = Some((id, unseen));
                }
            },
            PromptKind::Secret(_) => {
                drop(unseen);
                if line.is_empty() {
                    self.say("refused");
                    self.answer(id, Answer::Refuse);
                } else {
                    self.say("taken");
                    self.answer(id, Answer::Secret { secret: Secret::new(line), reuse: false });
                }
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Help => self.lines.extend(typed::HELP.map(str::to_owned)),
            Command::Status(None) => {
                for target in self.model.order.clone() {
                    self.lines.extend(words::status(&self.model, &target));
                }
            }
            Command::Status(Some(name)) => self.of(&name, |this, target| {
                let lines = words::status(&this.model, target);
                this.lines.extend(lines);
            }),
            Command::Values(name) => self.of(&name, |this, target| {
                let lines = words::values(&this.model, target);
                this.lines.extend(lines);
            }),
            Command::Reconnect(name) => self.of(&name, |this, target| {
                this.say(format!("connecting to {target} again"));
                (this.effects)(Effect::Reconnect(target.clone()));
            }),
            Command::Read(name) => self.of(&name, |this, target| {
                if this.model.targets.get(target).is_some_and(|known| known.connection.is_up()) {
                    this.say(format!("reading everything of {target}"));
                    this.read.remove(target);
                    (this.effects)(Effect::ReadNow(target.clone()));
                } else {
                    this.say(format!("{target} is not connected"));
                }
            }),
            Command::Events(count) => {
                let newest: Vec<String> =
                    self.model.events.iter().rev().take(count).map(|event| words::event(event, &self.zone)).collect();
                if newest.is_empty() {
                    self.say("nothing happened yet");
                }
                self.lines.extend(newest.into_iter().rev());
            }
            Command::Traffic => {
                if !self.tell_traffic() {
                    self.say("no counters were read yet");
                }
            }
            Command::Reload => {
                self.say("reading the configuration again");
                (self.effects)(Effect::Reload);
            }
            Command::Quit => {}
        }
    }

    /// Does something with the target of this name; a name that is not known says what was meant.
    fn of(&mut self, name: &str, act: impl FnOnce(&mut Self, &TargetId)) {
        if let Some(target) = self.model.order.iter().find(|target| target.as_str() == name).cloned() {
            return act(self, &target);
        }
        let known: Vec<&str> = self.model.order.iter().map(TargetId::as_str).collect();
        let meant = crate::config::error::nearest(name, known.iter().copied());
        let meant = meant.map_or_else(|| ";".to_owned(), |meant| format!("; did you mean {meant}?"));
        let line =
            format!("no target is called {:?}{meant} known here: {}", Text::new(name).as_str(), known.join(", "));
        self.say(line);
    }
}

#[cfg(test)]
mod tests;
