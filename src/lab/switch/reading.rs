//! The switches of the lab read as targets are: over SSH, by the program's own probes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::app::{Connection, Effect, Message};
use crate::engine::once::{Collected, Once, System, collect_once};
use crate::engine::plan;
use crate::engine::run::Engine;
use crate::fabric::{Outcome, Report, TargetId};
use crate::lab::{Delays, Lab, Options, Timing, scenario};
use crate::probe::switch::SwitchSystem;

const PATIENCE: Duration = Duration::from_mins(1);

fn lab(delays: Delays) -> Lab {
    let scenario = Some(scenario::by_name("data-centre").expect("it is there"));
    Lab::start(&Options { seed: 7, delays, scenario, timing: Timing::AtOnce }).expect("a lab")
}

fn read(lab: &Lab) -> Vec<Collected> {
    let plans = ["leaf1", "leaf2"].map(|name| lab.plan(name).expect("a switch")).into();
    let Once::Collected(collected) = collect_once(plans, &plan::Options::default()).expect("threads") else {
        panic!("nobody interrupts it");
    };
    collected
}

#[test]
fn both_dialects_are_read_whole_and_nothing_else_is_sent() {
    let lab = lab(Delays::none());
    let names: Vec<&str> = lab.targets().iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a", "leaf1", "leaf2"]);
    assert!(lab.inventory().contains("kind = \"switch\"") && lab.inventory().contains("system = \"nxos\""));
    let systems = [SwitchSystem::Eos, SwitchSystem::NxOs];
    for (collected, system) in read(&lab).iter().zip(systems) {
        assert_eq!(collected.system, System::Switch(system));
        let way = collected.reached.as_ref().expect("reached").as_str();
        assert!(way.contains(if system == SwitchSystem::Eos { "Arista EOS" } else { "Cisco NX-OS" }), "{way}");
        assert_eq!(collected.incomplete, None);
        assert_eq!(collected.reports.len(), system.probes().len());
        for observation in collected.reports.iter().flat_map(|report| &report.observations) {
            assert_eq!(observation.outcome, Outcome::Exit(0), "{}: {}", observation.command, observation.stdout);
            assert!(observation.command.starts_with("show "), "{}", observation.command);
        }
        let facts: usize = collected.reports.iter().map(|report| report.facts.len()).sum();
        assert!(facts > 80, "{facts}");
        // One command for each source: nothing was asked to find out what it is.
        let commands = system.probes().iter().map(|probe| probe.sources.len() as u64).sum::<u64>();
        assert_eq!(lab.served(collected.target.as_str()).expect("a switch").reads, commands);
    }
}

#[test]
fn a_slow_switch_is_read_one_command_after_the_other() {
    let lab = lab(Delays::like_real());
    let began = Instant::now();
    let collected = read(&lab);
    let took = began.elapsed();
    assert!(collected.iter().all(|collected| collected.incomplete.is_none()));
    let most = SwitchSystem::Eos.probes().len().max(SwitchSystem::NxOs.probes().len());
    assert!(took >= super::TAKES * u32::try_from(most).expect("few"), "{took:?}: one at a time");
}

#[test]
fn garbage_is_read_as_garbage() {
    let lab = lab(Delays::none());
    assert!(lab.suffer("garbage", "leaf1", true) && lab.suffer("garbage", "leaf2", true));
    for collected in read(&lab) {
        assert!(collected.reached.is_ok());
        assert!(!collected.reports.is_empty());
    }
    assert!(!lab.suffer("link-down", "leaf1", true), "a switch has no link of its own");
    assert!(!lab.suffer("switch-vlan", "esx01", true) && lab.suffer("switch-vlan", "leaf2", true));
}

/// Waits until each of these probes was told again, or, where there is none, at all.
fn reports(messages: &mut mpsc::Receiver<Message>, target: &str, count: usize) -> BTreeSet<String> {
    let until = Instant::now() + PATIENCE;
    let mut told = BTreeSet::new();
    while told.len() < count {
        assert!(Instant::now() < until, "only {told:?}");
        match messages.try_recv() {
            Ok(Message::Report { report, .. }) => {
                let Report { target: of, probe, .. } = &report;
                if of.as_str() == target {
                    told.insert(probe.as_str().to_owned());
                }
            }
            Ok(Message::Connection { connection: Connection::Failed { problem }, .. }) => panic!("{problem}"),
            Ok(_) => {}
            Err(_) => std::thread::yield_now(),
        }
    }
    told
}

#[test]
fn the_console_reads_a_switch_at_once_and_again_when_it_is_asked() {
    let lab = lab(Delays::none());
    let plans = vec![lab.plan("leaf2").expect("a switch")];
    let (engine, mut messages) = Engine::start(plans, &plan::Options::default()).expect("threads");
    let all = SwitchSystem::NxOs.probes().len();
    let first = reports(&mut messages, "leaf2", all);
    assert_eq!(first.len(), all);
    let commands = lab.served("leaf2").expect("a switch").reads;
    // Its time has not come, and somebody asks.
    assert!(engine.run(&Effect::ReadNow(TargetId::new("leaf2"))));
    assert_eq!(reports(&mut messages, "leaf2", all), first);
    assert_eq!(lab.served("leaf2").expect("a switch").reads, 2 * commands);
    engine.shutdown();
}
