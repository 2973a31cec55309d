//! The whole lab as the checks see it: with switches in good order nothing is wrong anywhere, and each trouble of a switch is
//! found by its own check. What the checks see is what the machines print, read by the program's own parsers.

use std::collections::BTreeSet;

use super::tests::Site as Lab;
use super::*;
use crate::diagnose::check::testing::{Output, Site, fails, says};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};
use crate::lab::server::print;
use crate::probe::dialect::switch as dialect;
use crate::probe::dialect::{items, posix};
use crate::probe::{Probe, esxi, linux};

const MARKER: &str = "@rdmascope:5eed";

/// What one source printed: name, standard output, standard error, status.
type Printed = (&'static str, String, String, u32);

fn by_shell(machine: &dyn Machine, probes: &'static [Probe]) -> Vec<Printed> {
    let login = Login { user: "root".to_owned(), is_root: true };
    let text = |output: &[u8]| String::from_utf8_lossy(&items::settled(output, MARKER)).into_owned();
    let sources = probes.iter().flat_map(|probe| probe.sources);
    let printed = sources.map(|source| {
        let printed = print::read(machine, &login, &source.read, false, posix::ESXCLI, MARKER);
        (source.name, text(&printed.stdout), text(&printed.stderr), printed.status)
    });
    printed.collect()
}

fn by_command_line(machine: &dyn Machine, system: SwitchSystem) -> Vec<Printed> {
    let sources = system.probes().iter().flat_map(|probe| probe.sources);
    let printed = sources.map(|source| {
        let line = dialect::command(system, &source.read).expect("a command line");
        let answer = machine.command_line(&line).expect("a command line of its own");
        (source.name, answer.stdout, String::new(), answer.status)
    });
    printed.collect()
}

fn output((source, stdout, stderr, status): &Printed) -> Output<'_> {
    if *status == 0 || !stdout.is_empty() {
        says(source, stdout)
    } else {
        fails(source, i32::try_from(*status).expect("small"), stderr)
    }
}

fn outputs(printed: &[Printed]) -> Vec<Output<'_>> {
    printed.iter().map(output).collect()
}

/// The lab at this moment.
fn seen(lab: &Lab) -> Site {
    let mut site = Site::new();
    for host in &lab.hosts {
        site = site.host(host.name(), &outputs(&by_shell(host.as_ref(), esxi::PROBES)));
    }
    for guest in &lab.guests {
        site = site.guest(guest.name(), &outputs(&by_shell(guest.as_ref(), linux::PROBES)));
    }
    with_switches(site, lab).pair("pv-a", "pv-b").pair("hca-a", "hca-b")
}

fn with_switches(mut site: Site, lab: &Lab) -> Site {
    for switch in &lab.switches {
        let Kind::Switch(system) = switch.kind() else { panic!("a switch") };
        site = site.switch(switch.name(), system, &outputs(&by_command_line(switch.as_ref(), system)));
    }
    site
}

/// The lab after a minute, with what its switches counted in that.
fn watched(lab: &Lab) -> Site {
    lab.at(10);
    let before = with_switches(Site::new(), lab);
    lab.at(70);
    let mut after = seen(lab);
    for target in NAMES.map(TargetId::new) {
        let counters: Vec<Entity> = after
            .fabric()
            .entities(&target)
            .filter(|entity| matches!(entity, Entity::Counter { .. }))
            .cloned()
            .collect();
        for counter in counters {
            let id = EntityId::new(&target, counter);
            let count = |site: &Site| site.fabric().value(&id, Attribute::CounterValue)?.as_count();
            if let (Some(first), Some(last)) = (count(&before), count(&after)) {
                after = after.moved(id, last.saturating_sub(first), 60);
            }
        }
    }
    after
}

/// What is wrong of switches, or all that is wrong.
fn wrong(site: &Site, of: &str) -> BTreeSet<String> {
    let found = site.examine();
    let wrong = found
        .iter()
        .filter(|found| found.check.id.starts_with(of) && matches!(found.judged.status, Status::Fail | Status::Warn));
    wrong.map(|found| found.check.id.to_owned()).collect()
}

#[test]
fn in_good_order_nothing_of_a_switch_is_wrong() {
    for seed in [1, 7, 42] {
        let site = watched(&Lab::new(seed));
        assert_eq!(wrong(&site, "switch."), BTreeSet::new(), "seed {seed}");
        let passed = site.examine().iter().filter(|found| found.judged.status == Status::Pass).count();
        assert!(passed > 15, "{passed}");
    }
}

#[test]
fn each_trouble_is_found_by_its_own_check_and_by_no_other_of_switches() {
    for (trouble, check) in [
        (SwitchTrouble::PfcOff, "switch.pfc"),
        (SwitchTrouble::OtherPriority, "switch.pfc-priority"),
        (SwitchTrouble::EcnOff, "switch.ecn"),
        (SwitchTrouble::SmallMtu, "switch.mtu"),
        (SwitchTrouble::NoVlan, "switch.vlan"),
        (SwitchTrouble::Errors, "switch.errors"),
    ] {
        for (index, name) in NAMES.iter().enumerate() {
            let lab = Lab::new(7);
            lab.switches[index].suffer(Trouble::Switch(trouble), true);
            let site = watched(&lab);
            assert_eq!(wrong(&site, "switch."), BTreeSet::from([check.to_owned()]), "{trouble:?} of {name}");
        }
    }
}
