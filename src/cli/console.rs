//! The console: what runs when no command is given.

use jiff::tz::TimeZone;
use ratatui::Frame;

use super::{Exit, Failure, Session};
use crate::app::action::{self, Context};
use crate::app::model::{self, Model, TargetKind};
use crate::app::{Effect, Message, update};
use crate::config::Defect;
use crate::config::inventory::{Kind, Target};
use crate::config::settings::Whence;
use crate::engine::plan::Options;
use crate::engine::run::Engine;
use crate::engine::targets;
use crate::fabric::{TargetId, Text, Timestamp};
use crate::tui::paint::Paint;
use crate::tui::view;
use crate::tui::{self, GlyphSet, Glyphs, Keymap, Look, Pace, Program, Theme, Tty};

/// Opens the console on the targets of the session, until the user leaves it.
pub fn run(session: &Session) -> Result<Exit, Failure> {
    if session.settings.plain.value {
        let what = "the console has no plain form yet; `rdmascope snapshot` prints linear text";
        return Err(Defect::somewhere("--plain", what).into());
    }
    let look = look(session)?;
    // Before anything is started: without a terminal nothing may run on a target.
    let terminal = Tty::open().map_err(|error| Failure::Terminal(error.to_string(), error.exit_code()))?;
    tui::install_panic_hook();
    let resolver = session.resolver();
    let plans = session.targets.iter().map(|target| targets::plan(target, &resolver)).collect();
    let options = Options { period: session.period(), ..Options::default() };
    let (engine, messages) =
        Engine::start(plans, &options).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let console = Console { model: model(session), zone: TimeZone::system() };
    let engine = std::rc::Rc::new(engine);
    let hands = engine.clone();
    let ended = tui::show(console, look, terminal, messages, move |effect| {
        hands.run(&effect);
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
}

impl Program for Console {
    fn context(&self) -> Context {
        action::context(&self.model)
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        update(&mut self.model, message)
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

fn look(session: &Session) -> Result<Look, Failure> {
    let settings = &session.settings;
    // A terminal that was told to speak no UTF-8 gets none, unless someone chose glyphs.
    let set = match settings.glyphs.whence {
        Whence::Default if !locale_is_utf8(|name| std::env::var(name).ok()) => GlyphSet::Ascii,
        _ => settings.glyphs.value,
    };
    let glyphs = Glyphs::new(set);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap =
        Keymap::embedded(&names).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?.told_in(&glyphs);
    Ok(Look {
        theme: Theme::embedded(),
        glyphs,
        keymap,
        pace: if settings.low_bandwidth.value { Pace::LOW_BANDWIDTH } else { Pace::NORMAL },
        colours: tui::colours_wanted(),
    })
}

/// False if the locale names a character set other than UTF-8. Where no locale is set nothing is known: most terminals of
/// today speak UTF-8.
fn locale_is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    set.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_counts() {
        let of = |set: &[(&str, &str)]| {
            locale_is_utf8(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(of(&[]));
        assert!(of(&[("LANG", "C.UTF-8")]));
        assert!(of(&[("LC_ALL", "de_DE.utf8"), ("LANG", "C")]));
        assert!(!of(&[("LC_ALL", ""), ("LANG", "C")]));
        assert!(!of(&[("LC_CTYPE", "en_US.ISO-8859-1"), ("LANG", "C.UTF-8")]));
    }
}
