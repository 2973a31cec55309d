//! The console: what runs when no command is given.

mod healthy;
pub mod look;
mod reload;
mod started;

use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Rect, Size};
use tokio::sync::mpsc;

use super::{Exit, Failure, Session, plain};
use crate::app::action::{self, Context};
use crate::app::model::{self, Model, TargetKind};
use crate::app::{Effect, LookChoice, Message, Mode, Severity, update};
use crate::config::Defect;
use crate::config::inventory::{Kind, Target};
use crate::engine::plan::{Options, TargetPlan};
use crate::engine::run::Engine;
use crate::engine::targets;
use crate::fabric::{TargetId, Text, Timestamp};
use crate::record::Recorder;
use crate::record::healthy::Folder;
use crate::tui::paint::Paint;
use crate::tui::pointer::HitMap;
use crate::tui::{self, Device as _, Look, Program, SecretPrompt, Tty, Typed, overlay, view};

use healthy::Keeper;
pub use reload::Configuration;

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
    /// True for linear text in place of a screen.
    pub plain: bool,
    /// Where its configuration comes from, if from files: then it can be edited and read again.
    pub configuration: Option<Configuration>,
    /// Where healthy snapshots are kept, if they are; the error says why there is no place.
    pub healthy: Option<Result<Folder, String>>,
    /// The file into which all that happens is recorded, if any.
    pub record: Option<PathBuf>,
    /// Does what the engine does not do, as the faults of the embedded lab; false for what is not its own either.
    pub beside: Box<dyn FnMut(&Effect) -> bool>,
}

/// Opens the console on the targets of the session, until the user leaves it.
pub fn run(session: &Session) -> Result<Exit, Failure> {
    let resolver = session.resolver();
    let plans = session.targets.iter().map(|target| targets::plan(target, &resolver)).collect();
    let healthy = healthy::folder(session);
    let mut setup = Setup { configuration: Some(Configuration::of(session)), healthy, ..setup(session, plans)? };
    setup.model.options.keeps_healthy = setup.healthy.is_some();
    setup.model.options.alert_hook = !session.alert_hook.is_empty();
    open(setup)
}

/// A console on the targets of the session, which are reached like this. Its configuration is not read again.
pub fn setup(session: &Session, plans: Vec<TargetPlan>) -> Result<Setup, Failure> {
    let look = look::look(session)?;
    Ok(Setup {
        plans,
        model: model(session),
        period: session.period(),
        look,
        plain: session.settings.plain.value,
        configuration: None,
        healthy: None,
        record: session.global.record.clone(),
        beside: Box::new(|_| false),
    })
}

/// Opens a console, until the user leaves it.
pub fn open(setup: Setup) -> Result<Exit, Failure> {
    let Setup { plans, mut model, period, look, plain, configuration, healthy, record, mut beside } = setup;
    model.options.offered = look.looks.offered();
    model.options.look = look.chosen.clone();
    model.screen.look = look.chosen.clone();
    // Before anything is started: without a terminal nothing may run on a target.
    let terminal = if plain {
        None
    } else {
        let terminal = Tty::open().map_err(|error| Failure::Terminal(error.to_string(), error.exit_code()))?;
        tui::install_panic_hook();
        Some(terminal)
    };
    if record.is_some() && terminal.is_none() {
        return Err(Defect::somewhere("--record", "what --plain prints is a record itself; it is not recorded").into());
    }
    let size = terminal.as_ref().map_or((0, 0), |terminal| (terminal.size().width, terminal.size().height));
    // A size that the terminal has from the start is no change of it, so nobody would tell.
    if terminal.is_some() {
        (model.screen.columns, model.screen.rows) = size;
    }
    let recorder = record
        .map(|file| Recorder::begin(&file, &model, size))
        .transpose()
        .map_err(|error| Defect::somewhere(&error.file.display().to_string(), error.what))?;
    model.mode = Mode::Live { recording: recorder.is_some() };
    let audit = model.options.allow_changes.then(crate::engine::audit).flatten();
    // The lab of the demo has no configuration of its own, and nobody is to be called for what it makes up.
    let hook = configuration.as_ref().map(Configuration::hook).unwrap_or_default();
    let options = Options { period, audit, hook, ..Options::default() };
    let (engine, messages) =
        Engine::start(plans, &options).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let (reloaded, reloads) = mpsc::channel(4);
    let wanted = model.order.clone();
    let keeper = healthy
        .map(|folder| Keeper::start(folder, wanted, reloaded.clone()))
        .transpose()
        .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let editor = Box::new(reload::editor(configuration.clone()));
    let engine = std::rc::Rc::new(engine);
    let hands = engine.clone();
    let effects = move |effect: Effect| match (&effect, &configuration) {
        (Effect::KeepHealthy(asked), _) => {
            if let Some(keeper) = &keeper {
                keeper.keep(asked.clone());
            }
        }
        (Effect::Reload, Some(configuration)) => configuration.reload(&reloaded),
        (Effect::Open(target), Some(configuration)) => {
            if let Some(plan) = configuration.plan(target) {
                hands.open(plan);
            }
        }
        _ => {
            if !hands.run(&effect) {
                beside(&effect);
            }
        }
    };
    let ended = match terminal {
        Some(terminal) => {
            let console = Console { model, zone: TimeZone::system(), hits: HitMap::default(), recorder };
            let surroundings = tui::Surroundings { reloads, editor };
            let ended = tui::show(console, look, terminal, messages, effects, surroundings);
            ended.map_err(Failure::Internal).map(|exit| match exit {
                tui::Exit::Quit => Exit::Done,
                other => Exit::Signal(other.code()),
            })
        }
        None => plain::run(plain::Inputs { model, messages, reloads, effects: Box::new(effects) }),
    };
    if let Some(engine) = std::rc::Rc::into_inner(engine) {
        engine.shutdown();
    }
    ended
}

/// The model that runs on the screen.
struct Console {
    model: Model,
    zone: TimeZone,
    hits: HitMap,
    /// Dropped with the console, however that ends: what is there is written then.
    recorder: Option<Recorder>,
}

impl Program for Console {
    fn context(&self) -> Context {
        action::context(&self.model)
    }

    fn panel(&self) -> Context {
        self.model.screen.panel.context()
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

    fn draw(&self, frame: &mut Frame<'_>, look: &Look, typed: Typed<'_>) {
        let Look { glyphs, keymap, .. } = look;
        let plain = (!look.colours).then(|| look.theme.without_colours());
        let theme = plain.as_ref().unwrap_or(&look.theme);
        let hits = self.model.screen.look.mouse.then_some(&self.hits);
        view::draw(frame, &self.model, Paint { theme, glyphs, keymap, zone: &self.zone, typed, hits });
    }

    fn hits(&self) -> Option<&HitMap> {
        Some(&self.hits)
    }

    fn secret_prompt(&self) -> Option<SecretPrompt> {
        overlay::prompt::secret(&self.model)
    }

    fn unseen(&self, size: Size) -> Option<Vec<u64>> {
        overlay::prompt::unseen(&self.model, view::body(Rect::new(0, 0, size.width, size.height)))
    }

    fn revision(&self) -> u64 {
        self.model.revision
    }

    fn look(&self) -> Option<&LookChoice> {
        Some(&self.model.screen.look)
    }
}

fn model(session: &Session) -> Model {
    let targets = session.targets.iter().map(|target| (TargetId::new(&target.name), known(target))).collect();
    let options = model::Options {
        inventory: Text::new(&session.inventory_name()),
        allow_changes: session.global.allow_changes,
        period: session.period(),
        settings: started::settings(session),
        site: session.site(),
        alert_notice: session.settings.alert_notice.value,
        ..model::Options::default()
    };
    Model::new(targets, options, Timestamp::now())
}

fn known(target: &Target) -> model::Target {
    let kind = match target.kind {
        Some(Kind::Linux) => TargetKind::Linux,
        Some(Kind::Saved) | None => TargetKind::Unknown,
        Some(Kind::Local) => TargetKind::Local,
        Some(Kind::Esxi) => TargetKind::Esxi,
        Some(Kind::Switch(_)) => TargetKind::Switch,
    };
    let mut known = model::Target::new(kind);
    known.tags = target.tags.iter().map(|tag| Text::new(tag)).collect();
    known
}
