//! The lab at work: all machines with their servers, on a small runtime of their own, and what its clients need to reach
//! them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::delays::Delays;
use super::fault::{self, FAULTS, Fault};
use super::guest::clock::Clock;
use super::machine::{Answer, Login, Machine};
use super::scenario::{Happening, Scenario};
use super::server::keys::{self, Credential, Entry};
use super::server::logins::Served;
use super::server::{Host, Parts};
use super::{guest, host, switch};
use crate::app::Problem;
use crate::collect::kind::System;
use crate::collect::transport::ssh::Route;
use crate::config::inventory::Access;
use crate::config::openssh::{Base, Reading, Surroundings, parse_files};
use crate::config::{Address, Kind};
use crate::engine::plan::{TargetPlan, Way};
use crate::engine::run::end;
use crate::fabric::TargetId;
use crate::probe::privilege::Become;

/// Threads for the servers.
const WORKERS: usize = 2;

/// How long the end may take.
const END_DEADLINE: Duration = Duration::from_millis(300);

/// The accounts that every machine has.
const ACCOUNTS: &[&str] = &["root", UNPRIVILEGED];

/// The account that every switch has.
const SWITCH_ACCOUNTS: &[&str] = &["admin"];

/// The account that may do little.
const UNPRIVILEGED: &str = "lab";

/// How long it takes until what a fault does shows on a machine: retries of queue pairs have to run out.
const TAKES_HOLD: Duration = Duration::from_millis(700);

/// How many labs were started.
static LABS: AtomicU32 = AtomicU32::new(0);

/// When the faults of a scenario happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As the scenario has it: for those who watch.
    AsPlanned,
    /// Before anybody connects, and for good: for those who look once.
    AtOnce,
}

/// How a lab is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What everything that is drawn is drawn from.
    pub seed: u64,
    /// How long things take.
    pub delays: Delays,
    /// What goes wrong by itself, if anything.
    pub scenario: Option<&'static Scenario>,
    /// When.
    pub timing: Timing,
}

/// A machine of the lab, as a list of targets knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The account to log in to.
    pub user: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// What it is.
    pub kind: Kind,
    /// Words to find it by.
    pub tags: &'static [&'static str],
}

/// A running lab. Dropping it ends its servers and connections and removes its files.
pub struct Lab {
    runtime: Option<Runtime>,
    threads: String,
    hosts: Vec<Arc<Host>>,
    targets: Vec<Target>,
    credential: Credential,
    openssh: Arc<str>,
    /// What prints the secret of machines that ask for one, where there are any.
    secret: Option<Vec<String>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Lab {
    /// Starts the data centre. It accepts connections when this returns.
    pub fn start(options: &Options) -> io::Result<Self> {
        let clock = Clock::real();
        let mut machines = Vec::new();
        let guests = guest::Centre::new(options.seed, &clock);
        let (hosts, switches) = options.scenario.map_or((false, false), |plan| (plan.hosts, plan.switches));
        if hosts || switches {
            let (hosts, cables) = host::hosts_and_cables(options.seed, guests.pvrdma, &clock, !switches);
            machines.extend(hosts);
            machines.extend(guests.machines);
            if switches {
                machines.extend(switch::switches(options.seed, &cables, &guests.passed_through));
            }
        } else {
            machines.extend(guests.machines);
        }
        if options.scenario.is_some_and(|plan| plan.gpus) {
            machines.push(guest::with_gpus(options.seed, &clock));
        }
        Self::with_machines(machines, options)
    }

    /// Starts a lab of these machines, whose names differ.
    pub fn with_machines(machines: Vec<Arc<dyn Machine>>, options: &Options) -> io::Result<Self> {
        // The kernel keeps 15 characters of a name, and several labs may live side by side.
        let threads = format!("lab{}-rdmascope", LABS.fetch_add(1, Ordering::Relaxed));
        let runtime = Builder::new_multi_thread().worker_threads(WORKERS).thread_name(&threads).enable_all().build()?;
        let credential = Credential::new()?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let mut hosts = Vec::new();
        {
            let _within = runtime.enter();
            for (machine, seed) in machines.into_iter().zip(1u64..) {
                hosts.push(Host::start(Parts {
                    key: keys::host_key(machine.name(), machine.manners().fips)?,
                    accounts: if matches!(machine.kind(), Kind::Switch(_)) { SWITCH_ACCOUNTS } else { ACCOUNTS },
                    machine,
                    credential: credential.public().clone(),
                    delays: options.delays,
                    seed: options.seed.wrapping_add(seed << 32),
                    stop: stop.clone(),
                    tasks: tasks.clone(),
                })?);
            }
        }
        let targets: Vec<Target> = hosts.iter().map(|host| target(host)).collect();
        let entries: Vec<Entry> = hosts
            .iter()
            .zip(&targets)
            .map(|(host, target)| Entry {
                name: target.name.clone(),
                user: target.user,
                port: target.port,
                key: host.key().clone(),
            })
            .collect();
        let openssh = credential.write_files(&entries)?.into();
        let secret = hosts.iter().find_map(|host| host.manners().secret);
        let secret = secret.map(|secret| credential.write_secret(secret)).transpose()?;
        let lab = Self { runtime: Some(runtime), threads, hosts, targets, credential, openssh, secret, stop, tasks };
        if let Some(scenario) = options.scenario {
            lab.play(scenario, options);
        }
        Ok(lab)
    }

    /// What its threads are called.
    pub fn thread_name(&self) -> &str {
        &self.threads
    }

    /// Its machines, in order.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How the engine reaches a machine; `None` if there is none of this name. Needs no `ssh` and no home directory.
    pub fn plan(&self, name: &str) -> Option<TargetPlan> {
        let target = self.targets.iter().find(|target| target.name == name)?;
        let (text, path) = (self.openssh.clone(), self.ssh_config().display().to_string());
        let address = Address { user: None, host: target.name.clone(), port: None };
        let access =
            Access { password_command: self.secret.clone().filter(|_| target.kind == Kind::Esxi), ..Access::default() };
        let resolve = Arc::new(move || {
            let route = route(&text, &path, &address, access.clone());
            async move { route }.boxed()
        });
        // Hosts are asked what they are, as those of people whose inventory does not say it.
        let known = System::told(Some(target.kind));
        Some(TargetPlan { id: TargetId::new(name), way: Way::Ssh { resolve, known }, by: Become::None })
    }

    /// How the engine reaches all of them.
    pub fn plans(&self) -> Vec<TargetPlan> {
        self.targets.iter().filter_map(|target| self.plan(&target.name)).collect()
    }

    /// The folder with the key, the known host keys and OpenSSH's configuration.
    pub fn folder(&self) -> &Path {
        self.credential.folder()
    }

    /// A configuration file for OpenSSH, in which each machine has its name: `ssh -F FILE pv-a`.
    pub fn ssh_config(&self) -> PathBuf {
        self.credential.configuration_file()
    }

    /// All faults that can be switched.
    pub fn faults(&self) -> &'static [&'static Fault] {
        FAULTS
    }

    /// What a machine was asked to do since the lab began; `None` if there is none of this name.
    pub fn served(&self, name: &str) -> Option<Served> {
        self.hosts.iter().find(|host| host.machine().name() == name).map(|host| host.served())
    }

    /// What a machine answers to a command that somebody else gives as root, at the machine itself; `None` if there is none
    /// of this name.
    pub fn at_console(&self, name: &str, words: &[&str]) -> Option<Answer> {
        let host = self.hosts.iter().find(|host| host.machine().name() == name)?;
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Some(host.machine().run(&words, &Login { user: "root".to_owned(), is_root: true }))
    }

    /// Switches a fault of one machine on or off; false if there is no such fault or machine, or the machine is of a kind
    /// that does not suffer it.
    pub fn suffer(&self, fault: &str, host: &str, on: bool) -> bool {
        self.switcher().switch(fault, host, on)
    }

    /// What switches faults from another place, also when the lab is gone (then nothing happens).
    pub fn switcher(&self) -> Switcher {
        Switcher {
            hosts: self.hosts.iter().map(|host| (host.machine().name().to_owned(), Arc::downgrade(host))).collect(),
        }
    }

    /// A complete configuration file of this program for the lab, in which its machines are the targets.
    pub fn inventory(&self) -> String {
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut out = format!("ssh_config = {}\n", text(&self.ssh_config().display().to_string()));
        for target in &self.targets {
            let tags: Vec<String> = target.tags.iter().map(|tag| text(tag)).collect();
            let (name, tags) = (text(&target.name), tags.join(", "));
            let _ = write!(out, "\n[[target]]\nname = {name}\nkind = \"{}\"\ntags = [{tags}]\n", target.kind.name());
            if let Kind::Switch(system) = target.kind {
                let _ = writeln!(out, "system = \"{}\"", system.name());
            }
            if let Some(command) = self.secret.as_ref().filter(|_| target.kind == Kind::Esxi) {
                let words: Vec<String> = command.iter().map(|word| text(word)).collect();
                let _ = writeln!(out, "password_command = [{}]", words.join(", "));
            }
        }
        out
    }

    /// Lets happen what a scenario plans.
    fn play(&self, scenario: &Scenario, options: &Options) {
        let names: Vec<(&str, Kind)> = self.targets.iter().map(|target| (target.name.as_str(), target.kind)).collect();
        for Happening { fault, host, after, lasts } in scenario.draw(options.seed, &names) {
            let Some(host) = self.hosts.iter().find(|known| known.machine().name() == host).cloned() else { continue };
            if options.timing == Timing::AtOnce {
                (fault.act)(&host, true);
                // What a fault does to a machine takes a moment to be seen, and whoever looks once looks soon.
                std::thread::sleep(TAKES_HOLD);
                continue;
            }
            let stop = self.stop.clone();
            let happening = async move {
                tokio::time::sleep(after).await;
                (fault.act)(&host, true);
                if let Some(lasts) = lasts {
                    tokio::time::sleep(lasts).await;
                    (fault.act)(&host, false);
                }
            };
            if let Some(runtime) = &self.runtime {
                let task = async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = happening => {}
                    }
                };
                self.tasks.spawn_on(task, runtime.handle());
            }
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tasks.close();
        if let Some(runtime) = self.runtime.take() {
            end(runtime, &self.tasks, END_DEADLINE);
        }
    }
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lab").field("targets", &self.targets).finish_non_exhaustive()
    }
}

/// Switches faults.
#[derive(Clone)]
pub struct Switcher {
    hosts: HashMap<String, Weak<Host>>,
}

impl Switcher {
    /// Switches a fault of one machine on or off; false if there is no such fault or machine.
    pub fn switch(&self, fault: &str, host: &str, on: bool) -> bool {
        let host = self.hosts.get(host).and_then(Weak::upgrade);
        let (Some(fault), Some(host)) = (fault::by_name(fault), host) else { return false };
        if !fault.of.admits(host.machine().kind()) {
            return false;
        }
        (fault.act)(&host, on);
        true
    }
}

fn target(host: &Host) -> Target {
    let name = host.machine().name().to_owned();
    let (user, tags): (&str, &[&str]) = match name.as_str() {
        "pv-a" | "pv-b" => ("root", &["demo", "pvrdma"]),
        "hca-a" | "hca-b" => ("root", &["demo", "passthrough", "mlx5"]),
        "esx01" | "esx02" => ("root", &["demo", "esxi"]),
        "leaf1" => ("admin", &["demo", "switch", "eos"]),
        "leaf2" => ("admin", &["demo", "switch", "nxos"]),
        "gpu-a" => ("root", &["demo", "sr-iov", "gpu"]),
        "vf-a" => (UNPRIVILEGED, &["demo", "sr-iov", "mlx5"]),
        _ => ("root", &["demo"]),
    };
    Target { name, user, port: host.port(), kind: host.machine().kind(), tags }
}

/// The way to a machine, out of the lab's own configuration of OpenSSH.
fn route(text: &str, path: &str, address: &Address, access: Access) -> Result<Route, Problem> {
    let file = Reading { path: path.to_owned(), text: text.to_owned(), base: Base::User };
    let resolved = parse_files(&[file], address, &Surroundings::default(), &mut |_| Vec::new());
    match resolved {
        Ok(resolved) => Ok(Route { hops: vec![resolved.settings], access, ssh_config: Some(PathBuf::from(path)) }),
        Err(error) => Err(Problem::new(&error.to_string(), "", "this is a fault of the lab itself; report it")),
    }
}
