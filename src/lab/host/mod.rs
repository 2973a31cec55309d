//! The hosts of the lab: two ESXi hosts, 7.0 U3 and 8.0 U3, with a distributed switch over one ConnectX each and four VMs,
//! of which two are guests of the lab. Every answer is rendered from one `State` by a form that names the published
//! output or the capture that it was made after.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "an answer is made once a command, and the text reads as it is printed"
)]

mod administered;
mod change;
mod esxcli;
mod esxtop;
mod files;
mod functions;
mod hosts;
mod log;
mod net_dvs;
mod print;
mod state;
mod traffic;
mod vim;
mod vm;

pub mod cables;

#[cfg(test)]
mod reactions;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::cables::{Cable, Cables};
use self::hosts::Cluster;
pub use self::hosts::VLAN;
use self::state::{Carried, Release, State};
use super::guest::Identity;
use super::guest::clock::Clock;
use super::guest::wire::Way;
use super::machine::{Answer, HostTrouble, Login, Machine, Manners, NotRead, Trouble};

/// What a call gives: its output, or what it complains of.
type Said = Result<String, String>;

/// How long a host has been up when the lab begins, in seconds.
const UP: f64 = 517_400.0;

/// What a call says that needs the host's agent, while that is dead.
const NO_AGENT: &str = "Connect to localhost failed: Connection failure.";

/// Programs that ask the host's agent, and so take long.
const BY_AGENT: [&str; 2] = ["esxcli", "vim-cmd"];

/// The secret of every account on the hosts of the lab.
pub const SECRET: &str = "only-in-the-lab";

/// A stretch of time in which nothing changed on a host.
#[derive(Clone, Debug)]
struct Stretch {
    from: f64,
    linked: bool,
    /// Places of its guests with PVRDMA.
    guests: Vec<usize>,
}

/// What both hosts share.
#[derive(Debug)]
struct Shared {
    cluster: Cluster,
    stretches: [Vec<Stretch>; 2],
    way: Way,
    /// Whether a cable on the way garbles frames.
    damaged: bool,
    booted: [f64; 2],
}

/// One host of the lab.
#[derive(Debug)]
pub struct Host {
    index: usize,
    name: &'static str,
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
}

/// Both hosts of the data centre of this seed. `guests` are its guests with PVRDMA, one for each host.
pub fn hosts_by(seed: u64, guests: Vec<Identity>, clock: &Clock) -> Vec<Arc<dyn Machine>> {
    hosts_and_cables(seed, guests, clock, true).0
}

/// The same, and the far ends of their cables. `edited` says whether one has a VM that somebody edited by hand.
pub fn hosts_and_cables(
    seed: u64,
    guests: Vec<Identity>,
    clock: &Clock,
    edited: bool,
) -> (Vec<Arc<dyn Machine>>, Cables) {
    let mut cluster = Cluster::new(seed, guests);
    cluster.edited = edited;
    let shared =
        Shared { cluster, stretches: [Vec::new(), Vec::new()], way: Way::Adapter, damaged: false, booted: [-UP; 2] };
    let shared = Arc::new(Mutex::new(shared));
    let cables = Cables { shared: shared.clone(), clock: clock.clone() };
    let hosts = (0..2)
        .map(|index| {
            let host = Host { index, name: ["esx01", "esx02"][index], shared: shared.clone(), clock: clock.clone() };
            host.lock().note(0.0);
            Arc::new(host) as Arc<dyn Machine>
        })
        .collect();
    (hosts, cables)
}

impl Shared {
    /// Notes how both hosts carry traffic from now on, and lets the guests feel it.
    fn note(&mut self, now: f64) {
        let states = [self.cluster.state(0), self.cluster.state(1)];
        for (index, state) in states.iter().enumerate() {
            let guests = self.cluster.pvrdma.iter().enumerate();
            let here = guests.filter(|(_, guest)| state.vms.iter().any(|vm| vm.on && vm.name == guest.name));
            let guests = here.map(|(place, _)| place).collect();
            self.stretches[index].push(Stretch { from: now, linked: state.is_linked(), guests });
        }
        let way = traffic::way(&states, &self.cluster.pvrdma, self.cluster.cables);
        for guest in &self.cluster.pvrdma {
            guest.wire.lead(way, now);
        }
        // The path of two guests has a cable of each host, as long as they are not on the same one.
        let damaged = way != Way::Memory && self.cluster.cables.contains(&Cable::Damaged);
        if std::mem::replace(&mut self.damaged, damaged) != damaged {
            for guest in &self.cluster.pvrdma {
                guest.wire.change(guest.side, now, |end| end.damaged = damaged);
            }
        }
        self.way = way;
    }

    fn state(&self, index: usize, now: f64) -> State {
        let mut state = self.cluster.state(index);
        state.carried = self.carried(index, now);
        state
    }

    fn carried(&self, index: usize, now: f64) -> Carried {
        let (stretches, booted) = (&self.stretches[index], self.booted[index]);
        let mut carried = Carried { up: now - booted, rdma_now: self.way == Way::Adapter, ..Carried::default() };
        if booted < 0.0 {
            carried.linked = -booted;
            for &place in stretches.first().map_or(&[][..], |first| &first.guests) {
                let guest = &self.cluster.pvrdma[place];
                carried.count(&guest.name, &guest.wire.before(guest.side, -booted), Way::Adapter);
            }
        }
        for (place, stretch) in stretches.iter().enumerate() {
            let end = stretches.get(place + 1).map_or(now, |next| next.from.min(now));
            let from = stretch.from.max(booted).max(0.0);
            if stretch.linked {
                carried.linked += (end - from).max(0.0);
            }
            for &place in &stretch.guests {
                let guest = &self.cluster.pvrdma[place];
                for way in [Way::Adapter, Way::Tcp, Way::Memory] {
                    let octets = guest.wire.carried_where(guest.side, from, end, |one| one == way);
                    carried.count(&guest.name, &octets, way);
                }
            }
        }
        carried
    }
}

impl Host {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A poisoned lock only says that a reader panicked; a change is made in one step.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> State {
        let now = self.clock.elapsed().as_secs_f64();
        self.lock().state(self.index, now)
    }

    fn say(&self, state: &State, argv: &[String], login: &Login) -> Option<Said> {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (_, rest) = argv.split_first()?;
        Some(match words.as_slice() {
            ["esxcli" | "vim-cmd", ..] if state.hostd_dead => Err(NO_AGENT.to_owned()),
            ["esxcli" | "localcli", ..] => esxcli::answer(state, rest),
            ["vim-cmd", ..] => vim::answer(state, rest),
            ["esxtop", rest @ ..] => {
                let now = self.clock.began().checked_add(self.clock.elapsed()).unwrap_or(self.clock.began());
                esxtop::answer(state, rest, now)
            }
            ["net-dvs", "-l"] => Ok(net_dvs::list(state)),
            ["esxcfg-module", "-g", name] => esxcli::options(state, name),
            ["lspci", "-p"] => Ok(esxcli::lspci(state)),
            ["vmkchdev", "-l"] => Ok(esxcli::vmkchdev(state)),
            ["vsish", "-e" | "-pe", "get", path] => vsish(state, path),
            ["vmware", option] => vmware(state, option),
            ["uname", "-s"] | ["uname"] => Ok("VMkernel\n".to_owned()),
            // Source: a published banner for the release; the order of the fields is that of `uname` everywhere.
            ["uname", "-a"] => {
                let (version, _, build) = state.release.version();
                Ok(format!(
                    "VMkernel {} {version} #1 SMP Release build-{build} x86_64 x86_64 x86_64 ESXi\n",
                    state.name
                ))
            }
            ["uname", "-n"] | ["hostname", ..] => Ok(format!("{}\n", state.name)),
            ["uname", "-r"] => Ok(format!("{}\n", state.release.version().0)),
            ["cat", paths @ ..] => return Some(self.cat(paths, login)),
            ["tail", "-n", count, path] => {
                let count = count.parse().unwrap_or(10);
                self.cat(&[path], login).map(|text| {
                    let lines: Vec<&str> = text.lines().collect();
                    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("{line}\n")).collect()
                })
            }
            ["grep", rest @ ..] => return Some(self.grep(rest, login)),
            ["ls", paths @ ..] => Ok(self.ls(paths)),
            ["id", "-u"] => Ok("0\n".to_owned()),
            ["true"] => Ok(String::new()),
            ["date", ..] => {
                let now = self.clock.began().checked_add(self.clock.elapsed()).unwrap_or(self.clock.began());
                let form = words.get(1).and_then(|word| word.strip_prefix('+')).unwrap_or("%a %b %e %H:%M:%S UTC %Y");
                Ok(format!("{}\n", now.strftime(form)))
            }
            _ => return None,
        })
    }

    fn cat(&self, paths: &[&str], login: &Login) -> Said {
        let mut text = String::new();
        for path in paths {
            match self.read(path, login) {
                Ok(content) => text.push_str(&String::from_utf8_lossy(&content)),
                // Source: the `cat` of busybox.
                Err(why) => return Err(format!("cat: can't open '{path}': {}", why.words())),
            }
        }
        Ok(text)
    }

    /// `grep -F -e TEXT ... FILE`: nothing found is no complaint, but status 1.
    fn grep(&self, words: &[&str], login: &Login) -> Said {
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        let mut rest = words.iter().copied();
        while let Some(word) = rest.next() {
            match word {
                "-e" => texts.extend(rest.next()),
                word if word.starts_with('-') => {}
                word => files.push(word),
            }
        }
        let content = self
            .cat(&files, login)
            .map_err(|complaint| complaint.replace("cat: can't open '", "grep: ").replace("':", ":"))?;
        let lines = content.lines().filter(|line| texts.iter().any(|text| line.contains(text)));
        let found: String = lines.map(|line| format!("{line}\n")).collect();
        if found.is_empty() { Err(String::new()) } else { Ok(found) }
    }

    fn ls(&self, paths: &[&str]) -> String {
        let state = self.state();
        let wanted = paths.iter().find(|path| !path.starts_with('-')).copied().unwrap_or("/");
        let under = format!("{}/", wanted.trim_end_matches('/'));
        let mut names: Vec<String> = files::all(&state, self.clock.began())
            .iter()
            .filter_map(|(path, _)| Some(path.strip_prefix(&under)?.split('/').next()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// Source: outputs in public test code.
fn vmware(state: &State, option: &str) -> Said {
    let (version, update, build) = state.release.version();
    match option {
        "-v" => Ok(format!("VMware ESXi {version} build-{build}\n")),
        "-l" => Ok(format!("VMware ESXi {}.0 Update {update}\n", &version[..1])),
        "-vl" => Ok(format!("VMware ESXi {version} build-{build}\nVMware ESXi {}.0 Update {update}\n", &version[..1])),
        other => Err(format!("vmware: unknown option {other}")),
    }
}

/// Source: public test code, the line of the NUMA node; the lines around it are UNSOURCED.
fn vsish(state: &State, path: &str) -> Said {
    let missing = || Err(format!("VSISHCmdGetInt():Get failed: Not found: {path}"));
    let Some(name) = path.strip_prefix("/net/pNics/").and_then(|rest| rest.strip_suffix("/properties")) else {
        return missing();
    };
    let Some(uplink) = state.uplink(name) else { return missing() };
    let node = i32::from(uplink.at.0 >= 0x80);
    Ok(format!(
        "properties {{\n   Driver Name:{}\n   Driver Version:{}\n   Module Interface Used By The Driver:native\n   Device Hardware Cap Supported:: 0x493c032b -> VMNET_CAP_SG VMNET_CAP_IP4_CSUM\n   Device NUMA Node:{node}\n   MTU:{}\n}}\n",
        uplink.driver, uplink.driver_version, uplink.mtu
    ))
}

impl Machine for Host {
    fn name(&self) -> &str {
        self.name
    }

    /// UNSOURCED: the versions of OpenSSH of these releases.
    fn ssh_version(&self) -> &str {
        if self.index == 0 { "OpenSSH_8.8" } else { "OpenSSH_9.1" }
    }

    fn read(&self, path: &str, _login: &Login) -> Result<Vec<u8>, NotRead> {
        let files = files::all(&self.state(), self.clock.began());
        if let Some((_, content)) = files.iter().find(|(known, _)| known == path) {
            return Ok(content.clone().into_bytes());
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let is_folder = files.iter().any(|(known, _)| known.starts_with(&folder));
        Err(if is_folder { NotRead::Directory } else { NotRead::Missing })
    }

    fn expand(&self, pattern: &str) -> Vec<String> {
        let Ok(wanted) = glob::Pattern::new(pattern) else { return Vec::new() };
        let options = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        let mut paths: Vec<String> = Vec::new();
        for (path, _) in files::all(&self.state(), self.clock.began()) {
            paths.extend(path.match_indices('/').skip(1).map(|(at, _)| path[..at].to_owned()));
            paths.push(path);
        }
        paths.retain(|path| wanted.matches_with(path, options));
        paths.sort();
        paths.dedup();
        paths
    }

    fn link(&self, path: &str) -> Option<String> {
        (path == "/vmfs/volumes/datastore1").then(|| self.state().vms.first().map_or("", |vm| vm.volume).to_owned())
    }

    fn run(&self, argv: &[String], login: &Login) -> Answer {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (state, changed) = (self.state(), self.change(&words, login));
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let mut answer = match changed.or_else(|| self.say(&state, argv, login)) {
            Some(Ok(stdout)) => Answer { stdout, ..Answer::default() },
            Some(Err(complaint)) => {
                // Complaints of `esxcli` stand in either output, by the version.
                let text = if complaint.is_empty() { String::new() } else { format!("{complaint}\n") };
                let on_stdout = state.release == Release::Seven && program == "esxcli";
                let (stdout, stderr) = if on_stdout { (text, String::new()) } else { (String::new(), text) };
                Answer { stdout, stderr, status: 1, ..Answer::default() }
            }
            None => Answer { status: 127, ..Answer::default() },
        };
        answer.took = Duration::from_millis(2);
        answer.by_agent = u32::from(BY_AGENT.contains(&program));
        answer
    }

    fn environment(&self, login: &Login) -> Vec<(String, String)> {
        [("USER", login.user.as_str()), ("HOME", "/"), ("SHELL", "/bin/sh"), ("PATH", "/bin:/sbin")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    fn suffer(&self, trouble: Trouble, on: bool) {
        let now = self.clock.elapsed().as_secs_f64();
        let mut shared = self.lock();
        let trouble = match trouble {
            Trouble::Host(trouble) => trouble,
            Trouble::LinkDown => HostTrouble::UplinkDown,
            Trouble::Loss | Trouble::Switch(_) | Trouble::Guest(_) => return,
            Trouble::Reboot => {
                if on {
                    shared.booted[self.index] = now;
                    // What waits for a reboot is done by one; the agent is started again.
                    let troubles = &mut shared.cluster.troubles[self.index];
                    troubles.remove(&HostTrouble::HostdDead);
                    troubles.remove(&HostTrouble::RebootPending);
                    shared.cluster.administered[self.index].reboot();
                    shared.note(now);
                }
                return;
            }
        };
        // What somebody set against it meanwhile is no longer so. A VM that moves concerns the other host.
        let of = if trouble == HostTrouble::VmMoved { 1 - self.index } else { self.index };
        shared.cluster.administered[of].forget(trouble);
        let troubles = &mut shared.cluster.troubles[self.index];
        if on {
            troubles.insert(trouble);
        } else {
            troubles.remove(&trouble);
        }
        shared.note(now);
    }

    fn manners(&self) -> Manners {
        Manners::esxi(SECRET)
    }
}
