//! `replay`: the console on a recording instead of targets.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Frame;
use tokio::sync::mpsc;

use super::args::Global;
use super::console::look;
use super::{Exit, Failure};
use crate::app::action::{self, Context};
use crate::app::{Effect, Message};
use crate::config::Defect;
use crate::engine::settings;
use crate::fabric::Timestamp;
use crate::record::{Player, Recording};
use crate::tui::paint::Paint;
use crate::tui::view;
use crate::tui::{self, Look, Program, Tty};

/// How often the replay goes on: often enough that messages seem to come one by one.
const STEP: Duration = Duration::from_millis(100);

/// Replays a recording until the viewer leaves it.
pub fn run(global: &Global, file: &Path) -> Result<Exit, Failure> {
    let mut settings = settings::load(global.config.as_deref())?.configuration.settings;
    global.overlay(&mut settings).map_err(Failure::Usage)?;
    if settings.plain.value {
        return Err(Defect::somewhere("--plain", "a replay has no plain form").into());
    }
    let recording = Recording::open(file)
        .map_err(|error| Defect::somewhere(&error.file.display().to_string(), error.what.clone()))?;
    let mut look = look::look(&settings)?;
    look.keymap = look.keymap.for_replay();
    let terminal = Tty::open().map_err(|error| Failure::Terminal(error.to_string(), error.exit_code()))?;
    tui::install_panic_hook();
    let zone = TimeZone::system();
    let player = Player::new(recording, zone.clone());
    let (ticks, messages) = mpsc::channel(1);
    // It ends with the loop that takes its ticks.
    std::thread::Builder::new()
        .name("rdmascope-replay".to_owned())
        .spawn(move || {
            while ticks.blocking_send(Message::Clock(Timestamp::now())).is_ok() {
                std::thread::sleep(STEP);
            }
        })
        .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let console = Replay { player, zone, last: Instant::now() };
    match tui::show(console, look, terminal, messages, |_| {}).map_err(Failure::Internal)? {
        tui::Exit::Quit => Ok(Exit::Done),
        other => Ok(Exit::Signal(other.code())),
    }
}

/// The player on the screen.
struct Replay {
    player: Player,
    zone: TimeZone,
    last: Instant,
}

impl Program for Replay {
    fn context(&self) -> Context {
        action::context(self.player.model())
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        if let Message::Clock(_) = message {
            let passed = self.last.elapsed();
            self.last += passed;
            self.player.advance(passed);
            return Vec::new();
        }
        self.player.take(message)
    }

    fn draw(&self, frame: &mut Frame<'_>, look: &Look) {
        let paint = Paint { theme: &look.theme, glyphs: &look.glyphs, keymap: &look.keymap, zone: &self.zone };
        view::draw(frame, self.player.model(), paint);
    }

    fn revision(&self) -> u64 {
        self.player.revision()
    }
}
