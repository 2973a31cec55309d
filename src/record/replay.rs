//! Plays a recording: feeds its messages to `update` as they came, as fast as the viewer wants, and goes to any moment of
//! it. No clock in here: time comes in from outside. What the recorded user did moves the screen, until the viewer moves
//! by himself; then both screens live on side by side, and the viewer can go back to the other at any time.

mod feed;
mod journey;

use std::time::Duration;

use jiff::tz::TimeZone;

use self::feed::{Feed, Item};
use self::journey::{Journey, Loading};
use super::chunk::Keyframe;
use super::format::Micros;
use super::position::{self, Place, Span, written};
use super::reader::Recording;
use crate::app::action;
use crate::app::model::{Model, Options, Target};
use crate::app::screen::{Editing, Overlay, Purpose, Screen};
use crate::app::{Control, Effect, Message, Mode, Replay, update, wizard};
use crate::fabric::Text;

/// The longest step at once: who comes back to a replay that was suspended goes on where it was.
const LONGEST_STEP: Duration = Duration::from_millis(500);

/// A time without any message that is longer than this is passed over.
const GAP: Micros = 10_000_000;

/// So much of such a time is shown before its end.
const BEFORE_END_OF_GAP: Micros = 1_000_000;

/// How near before the viewer a moment may lie and yet be taken for the one that is shown.
const SAME_MOMENT: Micros = 1_500_000;

/// How long a sentence about the replay stands.
const NOTICE: Duration = Duration::from_secs(8);

/// A replay.
#[derive(Debug)]
pub struct Player {
    recording: Recording,
    zone: TimeZone,
    model: Model,
    /// The screen that is not shown: that of the recording, while the viewer has one of his own.
    aside: Option<Screen>,
    /// The viewer's terminal.
    size: (u16, u16),
    position: Micros,
    feed: Feed,
    /// On the way to where.
    journey: Option<Journey>,
    /// So much of the recording should have been played by now, and was not for want of time.
    behind: Micros,
    loading: Option<Loading>,
    notice_left: Duration,
    /// True while the sentence about the replay is the one that tells where the player goes.
    going_is_told: bool,
    /// Messages of kinds that this program does not know.
    unknown: u64,
    revision: u64,
}

/// What is said to whoever wants something of targets that are a recording.
const NOTHING_ASKED: &str = "this is a recording: nothing can be asked of its targets";

impl Player {
    /// A replay at the start of a recording, running. Times of day are told in `zone`.
    pub fn new(recording: Recording, zone: TimeZone) -> Self {
        let replay = Replay {
            position: Duration::ZERO,
            length: Duration::from_micros(recording.end()),
            speed: crate::app::mode::Speed::default(),
            paused: false,
            following: true,
            entry: None,
            notice: None,
        };
        let mut model = blank(&recording);
        model.mode = Mode::Replay(Box::new(replay));
        let mut player = Self {
            recording,
            zone,
            model,
            aside: None,
            size: (80, 24),
            position: 0,
            feed: Feed::start(0),
            journey: None,
            behind: 0,
            loading: None,
            notice_left: Duration::ZERO,
            going_is_told: false,
            unknown: 0,
            revision: 0,
        };
        player.start();
        if let Some(loss) = player.recording.loss(&player.zone) {
            player.say(loss);
        }
        player
    }

    /// What is shown.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Rises whenever something visible changes.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Where in the recording the replay is.
    pub fn position(&self) -> Duration {
        Duration::from_micros(self.position)
    }

    /// How many messages were passed over because this program does not know their kind.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Lets time pass. Messages are taken in as long as `more` says that there is time for it, and at least one if there
    /// are any; what is left is taken in at the next call.
    pub fn advance(&mut self, passed: Duration, more: &mut dyn FnMut() -> bool) {
        let passed = passed.min(LONGEST_STEP);
        if self.replay().notice.is_some() {
            self.notice_left = self.notice_left.saturating_sub(passed);
            if self.notice_left.is_zero() {
                self.replay_mut().notice = None;
                self.revision += 1;
            }
        }
        if self.is_under_way() {
            self.go_on(more);
            return;
        }
        if self.replay().paused {
            return;
        }
        let speed = self.replay().speed;
        let to = self.position + self.behind + micros(speed.of(passed));
        if self.play_to(to, more) {
            self.behind = 0;
            self.pass_over_gap();
        } else {
            // A machine that cannot play so fast plays as fast as it can.
            self.behind = to.saturating_sub(self.position).min(micros(speed.of(LONGEST_STEP)));
        }
    }

    /// True while there is more to do than there was time for: time should pass in small steps then.
    pub fn is_busy(&self) -> bool {
        self.is_under_way() || self.behind > 0
    }

    /// Takes in what comes from the viewer's terminal; returns what is to be done outside.
    pub fn take(&mut self, message: Message) -> Vec<Effect> {
        self.revision += 1;
        match message {
            Message::Resized { columns, rows } => {
                self.size = (columns, rows);
                // The recorded screen keeps its own size: a page that was turned there was as long as there.
                if self.aside.is_some() {
                    (self.model.screen.columns, self.model.screen.rows) = self.size;
                }
                Vec::new()
            }
            Message::Notice { text, .. } | Message::Said { text, .. } => {
                self.say(text.to_string());
                Vec::new()
            }
            Message::Action(name) => self.act(name),
            Message::Edit(edit) => {
                if let Some(entry) = &mut self.replay_mut().entry {
                    entry.apply(&edit);
                } else if self.aside.is_some() {
                    // Only the viewer's own line is ever edited by his keys.
                    drop(update(&mut self.model, Message::Edit(edit)));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn act(&mut self, name: Text) -> Vec<Effect> {
        if self.replay().entry.is_some() && matches!(&*name, "accept" | "cancel") {
            let entry = self.replay_mut().entry.take();
            if let Some(entry) = entry.filter(|_| name == "accept") {
                self.go_to(entry.input.value());
            }
            return Vec::new();
        }
        let (screen, prompts) = (self.model.screen.clone(), self.model.prompts.clone());
        // The wizard can go on by itself where it has nothing to read: what it says then is no part of what was recorded.
        if name == "wizard-open" && wizard::would_go_on(&self.model) {
            self.say(NOTHING_ASKED.to_owned());
            return Vec::new();
        }
        if moves_the_screen(&name) && self.aside.is_none() {
            self.leave();
        }
        let mut effects = update(&mut self.model, Message::Action(name));
        if effects.iter().any(|effect| !effect.is_on_in_replay()) {
            // Nothing of it was done, so nothing of it shall be seen.
            self.model.prompts = prompts;
            if self.replay().following {
                self.aside = None;
            }
            self.model.screen = screen;
            self.say(NOTHING_ASKED.to_owned());
        } else if self.aside.is_some() {
            self.replay_mut().following = false;
        }
        effects.retain(|effect| match effect {
            Effect::Replay(control) => {
                self.control(*control);
                false
            }
            effect => effect.is_on_in_replay(),
        });
        effects
    }

    /// Moves in the recording. To another moment it only sets out: [`Self::go_on`] or [`Self::finish`] go there.
    pub fn control(&mut self, control: Control) {
        self.revision += 1;
        match control {
            Control::Pause if self.destination() >= self.recording.end() && self.replay().paused => {
                self.set_out(0, None);
                self.replay_mut().paused = false;
            }
            Control::Pause => {
                self.behind = 0;
                self.replay_mut().paused ^= true;
            }
            Control::Faster => self.replay_mut().speed = self.replay().speed.faster(),
            Control::Slower => self.replay_mut().speed = self.replay().speed.slower(),
            Control::Seek(seconds) => {
                let (from, distance) = (self.destination(), u64::from(seconds.unsigned_abs()) * 1_000_000);
                let to = if seconds < 0 { from.saturating_sub(distance) } else { from.saturating_add(distance) };
                self.set_out(to, None);
            }
            Control::Start => self.set_out(0, None),
            Control::End => self.set_out(self.recording.end(), None),
            Control::Enter => self.replay_mut().entry = Some(Editing::new(Purpose::Position, "")),
            Control::Landmark { forward } => self.go_to_landmark(forward),
            Control::StepMessage => {
                self.replay_mut().paused = true;
                self.step();
            }
            Control::StepSecond => {
                self.replay_mut().paused = true;
                self.set_out(self.destination() + 1_000_000, None);
            }
            Control::Follow if self.aside.is_some() => self.follow(),
            Control::Follow => {
                self.leave();
                self.replay_mut().following = false;
            }
        }
    }

    fn adopt(&mut self, model: Model) {
        let mode = std::mem::take(&mut self.model.mode);
        self.model = model;
        self.model.mode = mode;
    }

    /// Does something with the recorded screen in its place.
    fn recorded<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.swap();
        let result = work(self);
        self.swap();
        // Sentences of the viewer's own screen grow old, too; after a step back they can be of the future.
        if self.aside.is_some()
            && let Some((_, said)) = &self.model.screen.notice
            && !(0..5).contains(&self.model.now.duration_since(*said).as_secs())
        {
            self.model.screen.notice = None;
        }
        result
    }

    fn swap(&mut self) {
        if let Some(aside) = &mut self.aside {
            std::mem::swap(&mut self.model.screen, aside);
        }
    }

    /// Gives the viewer a screen of his own, which begins as the recorded one.
    fn leave(&mut self) {
        self.aside = Some(self.model.screen.clone());
        let screen = &mut self.model.screen;
        (screen.columns, screen.rows) = self.size;
        // What somebody else typed is not to be gone on with.
        screen.editing = None;
        screen.overlays.retain(|overlay| !matches!(overlay, Overlay::Paste(_)));
    }

    fn follow(&mut self) {
        if let Some(screen) = self.aside.take() {
            self.model.screen = screen;
        }
        self.replay_mut().following = true;
    }

    /// Plays up to a moment; false if there was no time for all of it.
    fn play_to(&mut self, to: Micros, more: &mut dyn FnMut() -> bool) -> bool {
        let end = self.recording.end();
        let shown = self.position / 1_000_000;
        let (folded, complete) = self.recorded(|player| player.fold_until(to.min(end), more));
        if complete {
            self.position = to.min(end);
        }
        if folded || self.position / 1_000_000 != shown {
            self.revision += 1;
        }
        if self.position == end && self.next_at().is_none() && !self.replay().paused {
            self.replay_mut().paused = true;
            let loss = self.recording.loss(&self.zone);
            self.say(loss.unwrap_or_else(|| "this is the end of the recording".to_owned()));
        }
        self.moved();
        complete
    }

    fn pass_over_gap(&mut self) {
        let Some(next) = self.next_at().filter(|next| next.saturating_sub(self.position) > GAP) else { return };
        let passed = next - BEFORE_END_OF_GAP - self.position;
        self.position = next - BEFORE_END_OF_GAP;
        self.say(format!("{} without anything were passed over", crate::app::format::span(passed / 1_000_000)));
        self.moved();
    }

    fn moved(&mut self) {
        self.replay_mut().position = Duration::from_micros(self.position);
    }

    fn go_to_landmark(&mut self, forward: bool) {
        let here = self.destination();
        let landmarks = self.recording.landmarks();
        let found = if forward {
            landmarks.iter().find(|landmark| landmark.at > here)
        } else {
            landmarks.iter().rev().find(|landmark| landmark.at + SAME_MOMENT < here)
        };
        let Some(landmark) = found.cloned() else {
            return self.say(format!("nothing broke {} this moment", if forward { "after" } else { "before" }));
        };
        self.set_out(landmark.at, Some(format!("{}  {}", written(landmark.at), landmark.text)));
    }

    fn go_to(&mut self, text: &str) {
        let span = Span {
            started: self.recording.header().started,
            end: self.recording.end(),
            here: self.destination(),
            zone: self.zone.clone(),
        };
        match position::read(text, &span) {
            Ok(Place { at, beyond }) => {
                // At the end it stands still, and what was asked for stays told.
                self.replay_mut().paused |= beyond.is_some();
                self.set_out(at, beyond);
            }
            Err(why) => self.say(why),
        }
    }

    fn say(&mut self, text: String) {
        self.replay_mut().notice = Some(text);
        self.going_is_told = false;
        self.notice_left = NOTICE;
        self.revision += 1;
    }

    fn replay(&self) -> &Replay {
        self.model.mode.replay().expect("the model of a player is always in a replay")
    }

    fn replay_mut(&mut self) -> &mut Replay {
        match &mut self.model.mode {
            Mode::Replay(replay) => replay,
            Mode::Live { .. } => unreachable!("the model of a player is always in a replay"),
        }
    }

    /// When the next message came.
    fn next_at(&mut self) -> Option<Micros> {
        self.feed.next_at(&mut self.recording)
    }

    /// Takes in the messages up to a moment, as long as `more` says that there is time: whether there were any, and
    /// whether these were all.
    fn fold_until(&mut self, to: Micros, more: &mut dyn FnMut() -> bool) -> (bool, bool) {
        let (mut folded, mut complete) = (false, true);
        while let Some(at) = self.next_at().filter(|at| *at <= to) {
            if folded && !more() {
                complete = false;
                break;
            }
            self.take_next();
            self.position = self.position.max(at);
            folded = true;
        }
        if complete && let Some((from, until)) = self.feed.broken() {
            self.say(format!("the recording is broken from {} to {}", written(from), written(until)));
        }
        (folded, complete)
    }

    fn take_next(&mut self) {
        match self.feed.take() {
            Some(Item::Message(timed)) => match timed.message {
                Some(message) => {
                    // What was live is taken in as live; effects of a recording are off, whatever they are.
                    let mode = std::mem::take(&mut self.model.mode);
                    drop(update(&mut self.model, message));
                    self.model.mode = mode;
                }
                None => self.unknown += 1,
            },
            Some(Item::Broken(segment)) => {
                let keyframe = segment.and_then(|segment| self.recording.keyframe(segment));
                if let Some(model) = keyframe.and_then(Keyframe::model) {
                    self.adopt(model);
                }
                self.feed = Feed::start(segment.unwrap_or(self.recording.segments()));
            }
            None => {}
        }
    }
}

/// A model of the targets that the header names, of which nothing is known yet.
fn blank(recording: &Recording) -> Model {
    let header = recording.header();
    let targets = header.targets.iter().map(|target| (target.name.clone(), Target::new(target.kind))).collect();
    let options = Options {
        inventory: header.inventory.clone(),
        period: Duration::from_millis(header.period_ms.clamp(1, 86_400_000)),
        ..Options::default()
    };
    let mut model = Model::new(targets, options, header.started);
    (model.screen.columns, model.screen.rows) = (header.columns, header.rows);
    model
}

/// False for actions that leave the screen as it is: those that move in the recording, and those that leave the program.
fn moves_the_screen(name: &str) -> bool {
    action::by_name(name).is_some() && !name.starts_with("replay-") && !matches!(name, "quit" | "suspend" | "redraw")
}

fn micros(time: Duration) -> Micros {
    Micros::try_from(time.as_micros()).unwrap_or(Micros::MAX)
}
