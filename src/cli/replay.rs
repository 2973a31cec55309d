//! `replay`: the console on a recording instead of targets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::Size;
use tokio::sync::mpsc;

use super::args::Global;
use super::console::look;
use super::{Exit, Failure, lab};
use crate::app::action::{self, Context};
use crate::app::{Effect, LookChoice, Message};
use crate::config::Defect;
use crate::config::settings::Whence;
use crate::fabric::Timestamp;
use crate::record::{Player, Recording};
use crate::tui::paint::Paint;
use crate::tui::view;
use crate::tui::{self, Look, Program, SecretPrompt, Tty, Typed};

/// How often the replay goes on: often enough that messages seem to come one by one.
const STEP: Duration = Duration::from_millis(100);

/// How often while it is on its way to another moment.
const BUSY_STEP: Duration = Duration::from_millis(16);

/// How long messages may be taken in at once: a key that is pressed meanwhile waits so long.
const SLICE: Duration = Duration::from_millis(8);

/// Replays a recording until the viewer leaves it.
pub fn run(global: &Global, file: &Path) -> Result<Exit, Failure> {
    let session = lab::session(global)?;
    if session.settings.plain.value {
        return Err(Defect::somewhere("--plain", "a replay has no plain form").into());
    }
    let recording = Recording::open(file)
        .map_err(|error| Defect::somewhere(&error.file.display().to_string(), error.what.clone()))?;
    let look = look::look(&session)?.for_replay();
    let settings = &session.settings;
    let follows = settings.theme.whence == Whence::Default && settings.glyphs.whence == Whence::Default;
    let terminal = Tty::open().map_err(|error| Failure::Terminal(error.to_string(), error.exit_code()))?;
    tui::install_panic_hook();
    let zone = TimeZone::system();
    let player = Player::new(recording, zone.clone());
    let (ticks, messages) = mpsc::channel(1);
    let busy = Arc::new(AtomicBool::new(false));
    let is_busy = Arc::clone(&busy);
    // It ends with the loop that takes its ticks.
    let ticker = std::thread::Builder::new()
        .name("rdmascope-replay".to_owned())
        .spawn(move || {
            while ticks.blocking_send(Message::Clock(Timestamp::now())).is_ok() {
                std::thread::park_timeout(if is_busy.load(Ordering::Relaxed) { BUSY_STEP } else { STEP });
            }
        })
        .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let ticker = ticker.thread().clone();
    let wished = look.chosen.clone();
    let console = Replay { player, zone, last: Instant::now(), busy, ticker, wished, follows };
    let surroundings = tui::Surroundings::none("a replay has no configuration that could be edited");
    match tui::show(console, look, terminal, messages, |_| {}, surroundings).map_err(Failure::Internal)? {
        tui::Exit::Quit => Ok(Exit::Done),
        other => Ok(Exit::Signal(other.code())),
    }
}

/// The player on the screen.
struct Replay {
    player: Player,
    zone: TimeZone,
    last: Instant,
    /// Tells the ticker that the player is on its way.
    busy: Arc<AtomicBool>,
    ticker: Thread,
    /// How it is to look.
    wished: LookChoice,
    /// Whether theme and glyphs are those of the recording, because the viewer has chosen none.
    follows: bool,
}

impl Replay {
    /// The keys are always the viewer's own, and so is what his terminal and his line can do.
    fn follow_look(&mut self) {
        let recorded = &self.player.model().screen.look;
        if self.follows && (recorded.theme != self.wished.theme || recorded.glyphs != self.wished.glyphs) {
            self.wished.theme = recorded.theme.clone();
            self.wished.glyphs = recorded.glyphs;
        }
    }
}

impl Program for Replay {
    fn context(&self) -> Context {
        action::context(self.player.model())
    }

    fn panel(&self) -> Context {
        self.player.model().screen.panel.context()
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        let begun = Instant::now();
        let mut more = || begun.elapsed() < SLICE;
        let effects = if let Message::Clock(_) = message {
            let passed = self.last.elapsed();
            self.last += passed;
            self.player.advance(passed, &mut more);
            Vec::new()
        } else {
            let effects = self.player.take(message);
            // What is near is there at once.
            self.player.go_on(&mut more);
            effects
        };
        let is_busy = self.player.is_busy();
        if is_busy && !self.busy.swap(is_busy, Ordering::Relaxed) {
            self.ticker.unpark();
        }
        self.busy.store(is_busy, Ordering::Relaxed);
        self.follow_look();
        effects
    }

    fn draw(&self, frame: &mut Frame<'_>, look: &Look, typed: Typed<'_>) {
        let Look { glyphs, keymap, .. } = look;
        let plain = (!look.colours).then(|| look.theme.without_colours());
        let theme = plain.as_ref().unwrap_or(&look.theme);
        view::draw(frame, self.player.model(), Paint { theme, glyphs, keymap, zone: &self.zone, typed, hits: None });
    }

    /// Questions of a recording were answered long ago.
    fn secret_prompt(&self) -> Option<SecretPrompt> {
        None
    }

    fn unseen(&self, _: Size) -> Option<Vec<u64>> {
        None
    }

    fn look(&self) -> Option<&LookChoice> {
        Some(&self.wished)
    }

    fn revision(&self) -> u64 {
        self.player.revision()
    }
}
