//! `demo`: the console on the embedded lab; the list of its scenarios; the lab alone for other programs.

use std::fmt::Write as _;

use serde::Serialize;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::args::{DemoArguments, Format, Global};
use super::{Exit, Failure, console, lab, output};
use crate::app::Effect;
use crate::app::model::DemoFault;
use crate::fabric::{TargetId, Text};
use crate::lab::scenario::{After, Planned, by_name, scenarios};
use crate::lab::{Delays, Lab, Options, Timing};

/// The scenario that the console shows where none is named.
const WHOLE: &str = "data-centre";

/// Does what the arguments ask for.
pub fn run(global: &Global, arguments: &DemoArguments) -> Result<Exit, Failure> {
    if arguments.list {
        return list(global);
    }
    let named = arguments.scenario.as_deref().map(lab::find).transpose()?;
    let timing = Timing::AsPlanned;
    if arguments.serve {
        let scenario = named;
        // Whoever reads the lab from outside measures it: it takes no time of its own.
        return serve(&Options { seed: arguments.seed, delays: Delays::none(), scenario, timing });
    }
    // Whoever just looks is shown all there is: hosts and their guests.
    let scenario = named.or_else(|| by_name(WHOLE));
    let mut session = lab::session(global)?;
    let running = lab::start(&Options { seed: arguments.seed, delays: Delays::like_real(), scenario, timing })?;
    session.targets = lab::chosen(&running, &[])?;
    let mut setup = console::setup(&session, running.plans())?;
    setup.model.options.inventory = Text::new("demo");
    setup.model.options.demo_faults = faults(&running);
    let switcher = running.switcher();
    setup.beside = Box::new(move |effect| match effect {
        Effect::Fault { name, target, on } => switcher.switch(name.as_str(), target.as_str(), *on),
        _ => false,
    });
    let ended = console::open(setup);
    drop(running);
    ended
}

/// What can be switched, as the console knows it.
fn faults(lab: &Lab) -> Vec<DemoFault> {
    let hosts = |fault: &crate::lab::Fault| {
        let targets = lab.targets().iter().filter(|target| fault.of.admits(target.kind));
        targets.map(|target| TargetId::new(&target.name)).collect::<Vec<_>>()
    };
    let fault = |fault: &&'static crate::lab::Fault| DemoFault {
        name: Text::new(fault.name),
        title: Text::new(fault.title),
        description: Text::new(fault.description),
        lasts: fault.lasts,
        hosts: hosts(fault),
    };
    // What nothing here can suffer is not offered.
    lab.faults().iter().map(fault).filter(|fault| !fault.hosts.is_empty()).collect()
}

/// Runs the lab alone until a signal ends it: nothing else does, so it also serves a script that has no terminal.
fn serve(options: &Options) -> Result<Exit, Failure> {
    let internal = |error: std::io::Error| Failure::Internal(color_eyre::Report::new(error));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(internal)?;
    // Before anything is printed: whoever reads it may send the signal at once.
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _within = runtime.enter();
        let on = |kind| signal(kind).map_err(internal);
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?, on(SignalKind::hangup())?)
    };
    let lab = lab::start(options)?;
    let mut text = String::from(
        "# The embedded lab of rdmascope. It runs until the program that printed this gets a signal; save this text and\n\
         # name it with --config FILE.\n",
    );
    text.push_str(&lab.inventory());
    output::print(&text)?;
    let number = runtime.block_on(async {
        tokio::select! {
            _ = interrupt.recv() => 2,
            _ = terminate.recv() => 15,
            _ = hang_up.recv() => 1,
        }
    });
    drop(lab);
    Ok(Exit::Signal(128 + number))
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    scenarios: Vec<ShownScenario>,
}

#[derive(Serialize)]
struct ShownScenario {
    name: &'static str,
    title: &'static str,
    faults: Vec<ShownFault>,
    expected_causes: &'static [String],
}

#[derive(Serialize)]
struct ShownFault {
    kind: &'static str,
    host: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    among: &'static [String],
    after_seconds: [f64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    lasts_seconds: Option<f64>,
}

impl ShownFault {
    fn of(planned: &'static Planned) -> Self {
        let after_seconds = match planned.after {
            After::At(seconds) => [seconds; 2],
            After::Between(both) => both,
        };
        Self {
            kind: &planned.kind,
            host: &planned.host,
            among: &planned.among,
            after_seconds,
            lasts_seconds: planned.lasts,
        }
    }
}

fn list(global: &Global) -> Result<Exit, Failure> {
    let text = match global.format {
        Format::Json => output::json(&Document {
            schema: "rdmascope.scenarios/1",
            scenarios: scenarios()
                .iter()
                .map(|scenario| ShownScenario {
                    name: &scenario.name,
                    title: &scenario.title,
                    faults: scenario.faults.iter().map(ShownFault::of).collect(),
                    expected_causes: &scenario.expected_causes,
                })
                .collect(),
        })?,
        Format::Text | Format::Sarif | Format::Junit => {
            let room = scenarios().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
            let mut text = String::new();
            for scenario in scenarios() {
                let _ = writeln!(text, "{:room$}  {}", scenario.name, scenario.title);
            }
            text
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}
