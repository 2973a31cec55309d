//! Reading the configuration again while the console runs: on a thread of its own, because a home directory may hang, and
//! all or nothing: what cannot be read leaves everything as it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::super::args::Global;
use super::super::{Failure, Session};
use super::{look, started};
use crate::app::reconfigure::{OpenedTarget, Reconfigured};
use crate::app::{Message, Severity};
use crate::config::Target;
use crate::engine::hook::Hook;
use crate::engine::plan::TargetPlan;
use crate::engine::{settings, targets};
use crate::fabric::{TargetId, Text, Timestamp};
use crate::tui::Reloaded;

/// How many mistakes of one try are told: more do not fit on a screen.
const MOST_MISTAKES: usize = 8;

/// Where a console's configuration comes from, and what of it is in force.
#[derive(Clone)]
pub struct Configuration {
    global: Global,
    words: Vec<String>,
    shared: Arc<Shared>,
}

struct Shared {
    busy: AtomicBool,
    in_force: Mutex<InForce>,
    hook: Hook,
}

#[derive(Default)]
struct InForce {
    targets: Vec<Target>,
    /// Ways to targets that are to be opened.
    plans: BTreeMap<TargetId, TargetPlan>,
}

impl Configuration {
    /// That of a session, which is in force.
    pub fn of(session: &Session) -> Self {
        let in_force = InForce { targets: session.targets.clone(), plans: BTreeMap::new() };
        let shared = Arc::new(Shared {
            busy: AtomicBool::new(false),
            in_force: Mutex::new(in_force),
            hook: Hook::new(session.alert_hook.clone()),
        });
        Self { global: session.global.clone(), words: session.words.clone(), shared }
    }

    /// The program that is told of alerts, as it is in force at any time.
    pub fn hook(&self) -> Hook {
        self.shared.hook.clone()
    }

    /// The way to a target that is to be opened.
    pub fn plan(&self, target: &TargetId) -> Option<TargetPlan> {
        self.in_force().plans.remove(target)
    }

    /// The file that holds it, whether it is there or not.
    pub fn path(&self) -> Result<PathBuf, String> {
        settings::path(self.global.config.as_deref()).map_err(|defect| defect.to_string())
    }

    /// Reads everything again, on a thread of its own; what comes of it goes to `to`. While one reading is under way
    /// another one is not begun.
    pub fn reload(&self, to: &mpsc::Sender<Reloaded>) {
        if self.shared.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let (this, to) = (self.clone(), to.clone());
        let reading = std::thread::Builder::new().name("rdmascope-reload".to_owned()).spawn(move || {
            let read = this.read();
            this.shared.busy.store(false, Ordering::Release);
            // The console may have ended meanwhile.
            let _ = to.blocking_send(read);
        });
        if reading.is_err() {
            self.shared.busy.store(false, Ordering::Release);
        }
    }

    fn in_force(&self) -> MutexGuard<'_, InForce> {
        self.shared.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Reloaded {
        let read = Session::open(&self.global, &self.words).and_then(|session| {
            let looks = look::looks(&session)?;
            Ok((session, looks))
        });
        match read {
            Ok((session, looks)) => {
                let offered = looks.offered();
                let new = Reconfigured {
                    at: Timestamp::now(),
                    look: look::wished(&session),
                    offered,
                    settings: started::settings(&session),
                    ..self.take_over(&session)
                };
                let broken = session.library.broken().map(|what| Message::Notice {
                    target: None,
                    at: new.at,
                    severity: Severity::Warning,
                    text: Text::new(&what),
                });
                let mut messages: Vec<Message> = broken.take(MOST_MISTAKES).collect();
                messages.push(Message::Reconfigured(Box::new(new)));
                Reloaded { looks: Some(Arc::new(looks)), messages }
            }
            Err(failure) => Reloaded { looks: None, messages: mistakes(&failure) },
        }
    }

    /// Puts the targets of a session in force, and tells how they differ from those before.
    fn take_over(&self, session: &Session) -> Reconfigured {
        self.shared.hook.set(session.alert_hook.clone());
        let mut in_force = self.in_force();
        let before = std::mem::replace(&mut in_force.targets, session.targets.clone());
        // Lines of the file move when others are written.
        let same =
            |one: &Target, other: &Target| Target { line: 0, ..one.clone() } == Target { line: 0, ..other.clone() };
        let opened: Vec<&Target> =
            session.targets.iter().filter(|target| !before.iter().any(|old| same(old, target))).collect();
        let resolver = session.resolver();
        for target in &opened {
            let plan = targets::plan(target, &resolver);
            in_force.plans.insert(plan.id.clone(), plan);
        }
        let id = |target: &Target| TargetId::new(&target.name);
        let is_gone = |old: &&Target| session.targets.iter().all(|target| target.name != old.name);
        Reconfigured {
            at: Timestamp::UNIX_EPOCH,
            look: crate::app::LookChoice::default(),
            offered: crate::app::Offered::default(),
            settings: Vec::new(),
            site: session.site(),
            alert_notice: session.settings.alert_notice.value,
            alert_hook: !session.alert_hook.is_empty(),
            order: session.targets.iter().map(id).collect(),
            opened: opened
                .into_iter()
                .map(|target| {
                    let known = super::known(target);
                    OpenedTarget { id: id(target), kind: known.kind, tags: known.tags }
                })
                .collect(),
            closed: before.iter().filter(is_gone).map(id).collect(),
        }
    }
}

/// Mistakes as events: the first one last, because the footer shows the last one that was told.
fn mistakes(failure: &Failure) -> Vec<Message> {
    let at = Timestamp::now();
    let error = |text: String| Message::Notice { target: None, at, severity: Severity::Error, text: Text::new(&text) };
    let texts: Vec<String> = match failure {
        Failure::Usage(defects) => defects.iter().map(ToString::to_string).collect(),
        Failure::Terminal(what, _) | Failure::Output(what) => vec![what.clone()],
        Failure::Internal(report) => vec![report.to_string()],
    };
    let more = texts.len().saturating_sub(MOST_MISTAKES);
    let mut messages: Vec<Message> =
        texts.into_iter().take(MOST_MISTAKES).map(|text| error(format!("not read again: {text}"))).collect();
    messages.reverse();
    if more > 0 {
        messages.insert(0, error(format!("not read again: {more} mistakes more")));
    }
    messages
}

/// Makes the command line of the editor. Without a file the first wish is answered by what the second one will do.
pub fn editor(configuration: Option<Configuration>) -> impl FnMut() -> Result<Command, String> {
    let mut offered = false;
    move || {
        let Some(configuration) = &configuration else {
            return Err("there is no configuration file behind this console".to_owned());
        };
        let path = configuration.path()?;
        if !path.exists() {
            if !std::mem::replace(&mut offered, true) {
                return Err(format!(
                    "{} is not there yet: once more writes a commented sample and edits it",
                    path.display()
                ));
            }
            settings::write_sample(configuration.global.config.as_deref()).map_err(|defect| defect.to_string())?;
        }
        offered = false;
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (name, words) = ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| Some((name, variable(name)?)))
            .unwrap_or(("vi", "vi".to_owned()));
        let words = shlex::split(&words).ok_or_else(|| format!("{name} cannot be understood: a quote is open"))?;
        let (program, arguments) = words.split_first().ok_or_else(|| format!("{name} names no program"))?;
        let mut command = Command::new(program);
        command.args(arguments).arg(path);
        Ok(command)
    }
}
