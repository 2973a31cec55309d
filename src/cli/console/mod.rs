//! The console: what runs when no command is given.

pub mod look;

use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::Frame;

use super::{Exit, Failure, Session};
use crate::app::action::{self, Context};
use crate::app::model::{self, Model, TargetKind};
use crate::app::{Effect, Message, Mode, Severity, update};
use crate::config::Defect;
use crate::config::inventory::{Kind, Target};
use crate::engine::plan::{Options, TargetPlan};
use crate::engine::run::Engine;
use crate::engine::targets;
use crate::fabric::{TargetId, Text, Timestamp};
use crate::record::Recorder;
use crate::tui::paint::Paint;
use crate::tui::view;
use crate::tui::{self, Device as _, Look, Program, Tty};

/// What a console is opened on.
pub struct Setup {
    /// How each target is reached.
    pub plans: Vec<TargetPlan>,
    /// The model at the start.
    pub model: Model,
    /// Time between two samples.
    pub period: Duration,
    /// How it looks.
    pub look: Look,
    /// The file into which all that happens is recorded, if any.
    pub record: Option<PathBuf>,
    /// Does what the engine does not do, as the faults of the embedded lab; false for what is not its own either.
    pub beside: Box<dyn FnMut(&Effect) -> bool>,
}

/// Opens the console on the targets of the session, until the user leaves it.
pub fn run(session: &Session) -> Result<Exit, Failure> {
    if session.settings.plain.value {
        let what = "the console has no plain form yet; `rdmascope snapshot` prints linear text";
        return Err(Defect::somewhere("--plain", what).into());
    }
    let resolver = session.resolver();
    let setup = Setup {
        plans: session.targets.iter().map(|target| targets::plan(target, &resolver)).collect(),
        model: model(session),
        period: session.period(),
        look: look::look(&session.settings)?,
        record: session.global.record.clone(),
        beside: Box::new(|_| false),
    };
    open(setup)
}

/// Opens a console, until the user leaves it.
pub fn open(setup: Setup) -> Result<Exit, Failure> {
    let Setup { plans, mut model, period, look, record, mut beside } = setup;
    // Before anything is started: without a terminal nothing may run on a target.
    let terminal = Tty::open().map_err(|error| Failure::Terminal(error.to_string(), error.exit_code()))?;
    tui::install_panic_hook();
    let size = terminal.size();
    let recorder = record
        .map(|file| Recorder::begin(&file, &model, (size.width, size.height)))
        .transpose()
        .map_err(|error| Defect::somewhere(&error.file.display().to_string(), error.what))?;
    model.mode = Mode::Live { recording: recorder.is_some() };
    let options = Options { period, ..Options::default() };
    let (engine, messages) =
        Engine::start(plans, &options).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let console = Console { model, zone: TimeZone::system(), recorder };
    let engine = std::rc::Rc::new(engine);
    let hands = engine.clone();
    let ended = tui::show(console, look, terminal, messages, move |effect| {
        if !hands.run(&effect) {
            beside(&effect);
        }
    });
    if let Some(engine) = std::rc::Rc::into_inner(engine) {
        engine.shutdown();
    }
    match ended.map_err(Failure::Internal)? {
        tui::Exit::Quit => Ok(Exit::Done),
        other => Ok(Exit::Signal(other.code())),
    }
}

/// The model that runs on the screen.
struct Console {
    model: Model,
    zone: TimeZone,
    /// Dropped with the console, however that ends: what is there is written then.
    recorder: Option<Recorder>,
}

impl Program for Console {
    fn context(&self) -> Context {
        action::context(&self.model)
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        let Some(recorder) = &mut self.recorder else { return update(&mut self.model, message) };
        let note = recorder.note(&self.model, &message);
        let effects = update(&mut self.model, message);
        recorder.take(note, &self.model);
        if let Some(problem) = recorder.problem() {
            self.recorder = None;
            self.model.mode = Mode::Live { recording: false };
            let (at, severity, text) = (Timestamp::now(), Severity::Error, Text::new(&problem));
            self.model.screen.notice = Some((problem, self.model.now));
            drop(update(&mut self.model, Message::Notice { target: None, at, severity, text }));
        }
        effects
    }

    fn draw(&self, frame: &mut Frame<'_>, look: &Look) {
        let paint = Paint { theme: &look.theme, glyphs: &look.glyphs, keymap: &look.keymap, zone: &self.zone };
        view::draw(frame, &self.model, paint);
    }

    fn revision(&self) -> u64 {
        self.model.revision
    }
}

fn model(session: &Session) -> Model {
    let targets = session.targets.iter().map(|target| (TargetId::new(&target.name), known(target))).collect();
    let options = model::Options {
        inventory: Text::new(&session.inventory_name()),
        allow_changes: session.global.allow_changes,
        period: session.period(),
    };
    Model::new(targets, options, Timestamp::now())
}

fn known(target: &Target) -> model::Target {
    let kind = match target.kind {
        Some(Kind::Linux) => TargetKind::Linux,
        Some(Kind::Local) => TargetKind::Local,
        Some(Kind::Esxi) => TargetKind::Esxi,
        Some(Kind::Switch(_)) => TargetKind::Switch,
        None => TargetKind::Unknown,
    };
    let mut known = model::Target::new(kind);
    known.tags = target.tags.iter().map(|tag| Text::new(tag)).collect();
    known
}
