//! The embedded lab on the command line: what a command works on is either the targets that the user has, or the lab in
//! one of its scenarios. Both are the same to whoever reads them.

use std::io::IsTerminal as _;

use super::args::{DEFAULT_SEED, Global};
use super::{Failure, Session, library, output};
use crate::app::Problem;
use crate::config::error::suggestion;
use crate::config::inventory::{Access, Links};
use crate::config::{Configuration, Declared, Defect, Inventory, Target};
use crate::diagnose::check::Thresholds;
use crate::engine::once::{self, Collected, Once};
use crate::engine::plan::{self, TargetPlan};
use crate::engine::{rules, settings, targets};
use crate::fabric::Text;
use crate::lab::scenario::{self, Scenario};
use crate::lab::{Delays, Lab, Options, Timing};
use crate::probe::privilege::Become;

/// What a command works on.
pub struct Subject {
    /// Settings and targets.
    pub session: Session,
    /// The lab that the targets are in, if they are in one, and its scenario; it ends with this.
    lab: Option<(Lab, &'static Scenario)>,
}

impl Subject {
    /// The targets that `words` mean: of the lab in the scenario of this name, where one is named.
    pub fn open(global: &Global, scenario: Option<&str>, words: &[String]) -> Result<Self, Failure> {
        let Some(name) = scenario else {
            return Ok(Self { session: Session::open(global, words)?, lab: None });
        };
        // Nobody waits for what a scenario plans for later.
        let scenario = find(name)?;
        let options =
            Options { seed: DEFAULT_SEED, delays: Delays::none(), scenario: Some(scenario), timing: Timing::AtOnce };
        let mut session = session(global)?;
        let lab = start(&options)?;
        session.targets = chosen(&lab, words)?;
        Ok(Self { session, lab: Some((lab, scenario)) })
    }

    /// True if the targets are in the lab.
    pub fn is_lab(&self) -> bool {
        self.lab.is_some()
    }

    /// All machines of the lab, where the targets are in one.
    pub fn machines(&self) -> Result<Option<Vec<Target>>, Failure> {
        self.lab.as_ref().map(|(lab, _)| chosen(lab, &[])).transpose()
    }

    /// How each target is reached, in their order.
    pub fn plans(&self) -> Vec<TargetPlan> {
        let targets = &self.session.targets;
        if let Some((lab, _)) = &self.lab {
            return targets.iter().filter_map(|target| lab.plan(&target.name)).collect();
        }
        let resolver = self.session.resolver();
        targets.iter().map(|target| targets::plan(target, &resolver)).collect()
    }
}

impl Subject {
    /// Reads all targets once, side by side; the number of the signal that ended it before it was done. It takes a while: whoever
    /// waits at a terminal is told that it works.
    pub fn collect(&self, options: &plan::Options) -> Result<Result<Vec<Collected>, i32>, Failure> {
        if std::io::stderr().is_terminal() {
            let names: Vec<&str> = self.session.targets.iter().map(|target| target.name.as_str()).collect();
            output::complain(&format!("rdmascope: looking at {} ...", names.join(", ")));
        }
        let once = once::collect_once(self.plans(), options)
            .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
        let mut results = match once {
            Once::Collected(results) => results,
            Once::Interrupted(signal) => return Ok(Err(signal)),
        };
        for result in &mut results {
            result.incomplete = result.incomplete.take().map(|problem| self.afterwards(problem));
            result.reached = result.reached.clone().map_err(|problem| self.afterwards(problem));
        }
        Ok(Ok(results))
    }

    /// A problem as it may be told once all is read: with the lab its folder goes, and nobody can look into it then.
    pub fn afterwards(&self, problem: Problem) -> Problem {
        let Some((lab, scenario)) = &self.lab else { return problem };
        let folder = format!("{}/", lab.folder().display());
        let next_step = if problem.next_step.contains(&folder) {
            let advice = format!(
                "this is the lab, which has ended; rdmascope demo --serve --scenario {} keeps it",
                scenario.name
            );
            Text::new(&advice)
        } else {
            problem.next_step
        };
        let without = |text: &Text| Text::new(&text.replace(&folder, ""));
        Problem { what: without(&problem.what), cause: without(&problem.cause), next_step }
    }
}

/// The scenario of this name; the error says which was probably meant.
pub fn find(name: &str) -> Result<&'static Scenario, Failure> {
    scenario::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = scenario::scenarios().iter().map(|scenario| scenario.name.as_str()).collect();
        let what = format!("unknown scenario {}{}", crate::config::error::quoted(name), suggestion(name, known));
        Defect::somewhere("--scenario", what).into()
    })
}

/// Starts the lab.
pub fn start(options: &Options) -> Result<Lab, Failure> {
    Lab::start(options).map_err(|error| {
        let what = format!(
            "it cannot be started: {}; it needs a folder for temporary files (TMPDIR) and ports on 127.0.0.1",
            crate::collect::reason::reason(&error)
        );
        Defect::somewhere("the embedded lab", what).into()
    })
}

/// A session without targets. The lab needs no configuration, so it also works where there can be none.
pub fn session(global: &Global) -> Result<Session, Failure> {
    let nowhere = global.config.is_none() && settings::path(None).is_err();
    let configuration =
        if nowhere { Configuration::default() } else { settings::load(global.config.as_deref())?.configuration };
    let Configuration { mut settings, rules, .. } = configuration;
    let mut defects = global.overlay(&mut settings).err().unwrap_or_default();
    let thresholds = rules::thresholds(&rules).unwrap_or_else(|wrong| {
        defects.extend(wrong);
        Thresholds::default()
    });
    let library = library::load(global);
    defects.extend(library::unknown(&settings, &library));
    if !defects.is_empty() {
        return Err(Failure::Usage(defects));
    }
    let (inventory, words, targets) = (Inventory::default(), Vec::new(), Vec::new());
    let declared = Declared::default();
    Ok(Session {
        global: global.clone(),
        settings,
        inventory,
        rules,
        declared,
        // Nobody is called for what the lab makes up.
        alert_hook: Vec::new(),
        thresholds,
        words,
        targets,
        library,
    })
}

/// The machines of the lab that the words name; all without one.
pub fn chosen(lab: &Lab, words: &[String]) -> Result<Vec<Target>, Failure> {
    let all: Vec<Target> = lab.targets().iter().map(target).collect();
    if words.is_empty() {
        return Ok(all);
    }
    let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
    let (mut targets, mut defects): (Vec<Target>, Vec<Defect>) = (Vec::new(), Vec::new());
    for word in words {
        match all.iter().find(|target| &target.name == word) {
            Some(target) if targets.contains(target) => {}
            Some(target) => targets.push(target.clone()),
            None => {
                let hint = suggestion(word, names.iter().copied());
                let what = format!("{} is no machine of the lab{hint}", crate::config::error::quoted(word));
                defects.push(Defect::somewhere("target", what));
            }
        }
    }
    if defects.is_empty() { Ok(targets) } else { Err(Failure::Usage(defects)) }
}

fn target(target: &crate::lab::Target) -> Target {
    Target {
        name: target.name.clone(),
        kind: Some(target.kind),
        address: None,
        tags: target.tags.iter().map(|&tag| tag.to_owned()).collect(),
        links: Links::default(),
        by: Become::None,
        access: Access::default(),
        line: 0,
    }
}
