//! The machines, as the program itself reads them: its own probes and its own stream parser run over their answers, and
//! the forms of answers are compared with real output, byte for byte.

mod captures;
mod gpus;
mod probes;
mod reader;
mod stream;
mod troubles;

use crate::lab::guest::templates::Append as _;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::data_centre_by;
use crate::lab::machine::{Answer, Login, Machine};

/// The machines of a lab and the clock that they go by.
pub struct Lab {
    pub machines: Vec<Arc<dyn Machine>>,
    pub clock: Clock,
}

impl Lab {
    pub fn new(seed: u64) -> Self {
        let clock = Clock::standing();
        Self { machines: data_centre_by(seed, &clock), clock }
    }

    pub fn machine(&self, name: &str) -> &dyn Machine {
        &**self.machines.iter().find(|machine| machine.name() == name).expect("a machine of the lab")
    }

    pub fn at(&self, seconds: u64) -> &Self {
        self.clock.set(Duration::from_secs(seconds));
        self
    }
}

pub fn root() -> Login {
    Login { user: "root".to_owned(), is_root: true }
}

pub fn lab() -> Login {
    Login { user: "lab".to_owned(), is_root: false }
}

/// Runs a command written as in a shell, without quotation marks; patterns are expanded.
pub fn run(machine: &dyn Machine, command: &str, login: &Login) -> Answer {
    let argv: Vec<String> = command
        .split(' ')
        .flat_map(|word| {
            let found = if word.contains(['*', '[']) { machine.expand(word) } else { Vec::new() };
            if found.is_empty() { vec![word.to_owned()] } else { found }
        })
        .collect();
    machine.run(&argv, login)
}

/// Standard output of a command that has to succeed.
pub fn out(machine: &dyn Machine, command: &str, login: &Login) -> String {
    let answer = run(machine, command, login);
    assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{command} on {}", machine.name());
    answer.stdout
}

/// The content of a file that can be read.
pub fn file(machine: &dyn Machine, path: &str) -> String {
    let bytes = machine.read(path, &root()).unwrap_or_else(|why| panic!("{path} on {}: {why:?}", machine.name()));
    String::from_utf8(bytes).expect("text")
}

/// The number that a file holds.
pub fn number(machine: &dyn Machine, path: &str) -> u64 {
    file(machine, path).trim().parse().unwrap_or_else(|_| panic!("a number in {path}"))
}

#[test]
fn a_lab_has_its_five_machines() {
    let lab = Lab::new(1);
    let names: Vec<&str> = lab.machines.iter().map(|machine| machine.name()).collect();
    assert_eq!(names, ["pv-a", "pv-b", "hca-a", "hca-b", "vf-a"]);
}

#[test]
fn the_same_seed_and_the_same_time_give_the_same_answers() {
    let commands = [
        "rdma -j -d dev show",
        "rdma -j res show qp",
        "rdma -j statistic",
        "ip -j -d -s addr",
        "dmesg",
        "uptime",
        "cat /proc/sys/kernel/random/boot_id",
        "grep -H . /sys/class/infiniband/*/ports/*/counters/*",
    ];
    let everything = |seed: u64, seconds: u64| {
        let lab = Lab::new(seed);
        lab.at(seconds);
        let mut all = String::new();
        for machine in &lab.machines {
            for command in commands {
                let answer = run(&**machine, command, &root());
                all.add(format_args!("{command}\n{}{}{}\n", answer.stdout, answer.stderr, answer.status));
            }
        }
        all
    };
    let one = everything(7, 321);
    assert_eq!(one, everything(7, 321));
    assert_ne!(one, everything(8, 321), "another seed is another lab");
    assert_ne!(one, everything(7, 322), "time goes on");
}

#[test]
fn every_command_of_the_list_is_there_and_no_other() {
    let lab = Lab::new(1);
    let machine = lab.machine("hca-a");
    for name in crate::lab::guest::command::NAMES {
        assert_ne!(run(machine, name, &root()).status, 127, "{name}");
        assert_eq!(out(machine, &format!("command -v {name}"), &root()), format!("{name}\n"));
    }
    for name in ["nvidia-smi", "rpm", "esxcli", "modprobe"] {
        assert_eq!(run(machine, name, &root()).status, 127, "{name:?}");
        assert_eq!(run(machine, &format!("command -v {name}"), &root()).status, 1);
    }
    assert_eq!(run(machine, "show_gids", &root()).status, 0);
    assert_eq!(run(lab.machine("pv-a"), "show_gids", &root()).stderr, "bash: line 1: show_gids: command not found\n");
}

#[test]
fn no_template_has_a_place_that_nobody_fills() {
    let lab = Lab::new(3);
    lab.at(60);
    for machine in &lab.machines {
        let netdev = if machine.name().starts_with("hca") {
            "ens224np0"
        } else if machine.name().starts_with("pv") {
            "ens192"
        } else {
            "ens224"
        };
        for command in [
            "ibv_devinfo -v",
            "ibstat",
            "dmesg",
            "cat /proc/meminfo /proc/cpuinfo /proc/self/status /proc/self/limits /proc/modules /etc/network/interfaces",
            "ulimit -a",
            &format!("ethtool {netdev}"),
            &format!("ethtool -i {netdev}"),
            &format!("ethtool -S {netdev}"),
        ] {
            let answer = out(&**machine, command, &root());
            assert!(!answer.contains(['{', '}']), "{command}: {answer}");
            assert!(!answer.lines().any(|line| line.starts_with("#: ")), "{command}: {answer}");
        }
    }
}
