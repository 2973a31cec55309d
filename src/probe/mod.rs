//! How each fact is learned. A probe is data: the sources it reads and a pure parser of what came back.
//!
//! A source is described in a small closed language ([`Read`]) that every transport understands: the SSH transport
//! compiles all probes due on a target into one script (see [`dialect`]), the local transport opens the files and
//! starts the programs itself, without a shell. Both give the same text, so one parser serves both.

pub mod dialect;
pub mod esxi;
pub mod gpu;
pub mod linux;
mod listing;
pub mod logs;
pub(crate) mod needles;
pub mod perftest;
pub mod privilege;
mod rhythm;
pub mod switch;
#[cfg(test)]
pub mod testing;
pub mod vmx;

use std::borrow::Cow;
use std::sync::Arc;

use crate::fabric::{Fact, Observation, SourceId};
pub use listing::{CLOCK, ITEM, Listing, MORE, MOST_ITEMS, SHARED, STATUS};
use privilege::Needs;
pub use rhythm::{Rhythm, Turn};

/// How often a probe is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pace {
    /// States that matter within seconds: every five seconds.
    Fast,
    /// Things that change when someone works on the machine: every thirty seconds.
    Medium,
    /// Things that change when software is installed or hardware is changed: every five minutes.
    Slow,
}

impl Pace {
    /// Seconds between two reads.
    pub fn seconds(self) -> u64 {
        match self {
            Self::Fast => 5,
            Self::Medium => 30,
            Self::Slow => 300,
        }
    }
}

/// One word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Taken as it is.
    Plain(&'static str),
    /// A file name pattern (`*`, `?`, `[...]`), expanded on the target; one that matches nothing stays as it is.
    Glob(&'static str),
    /// The name that a run of [`Read::Each`] is for, between these two texts (`""` for none).
    Item(&'static str, &'static str),
}

impl Word {
    /// The word as a person would write it, with `name` where it stands for the item.
    pub fn shown(self, name: &str) -> String {
        match self {
            Self::Plain(text) | Self::Glob(text) => text.to_owned(),
            Self::Item(before, after) => format!("{before}{name}{after}"),
        }
    }
}

/// Which lines of a long output are kept, chosen on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// A line is kept if it holds one of these texts (no pattern characters, letter case matters).
    pub any_of: &'static [&'static str],
    /// At most this many, the last ones.
    pub last: usize,
}

impl Keep {
    /// How a person would pipe a command to keep the same.
    fn shown(&self) -> String {
        let texts: Vec<String> = self.any_of.iter().map(|text| format!("-e '{text}'")).collect();
        format!(" | grep -F {} | tail -n {}", texts.join(" "), self.last)
    }
}

/// What a source reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The content of all files that match these patterns, as `grep -H ''` prints it: `path:line` for each line, and on
    /// standard error `grep: path: reason` for each that cannot be read (also for a pattern that matches nothing).
    Files(&'static [&'static str]),
    /// The output of a program. Exit status 127 means that it is not installed.
    Command {
        /// Program and arguments.
        argv: &'static [Word],
        /// Which lines to keep; all when `None`.
        keep: Option<Keep>,
    },
    /// Like [`Read::Command`], but it tells more to root: it is run by `sudo` where the target's settings say so and the
    /// login lacks what it needs.
    Privileged {
        /// Program and arguments.
        argv: &'static [Word],
        /// Which lines to keep; all when `None`.
        keep: Option<Keep>,
        /// What it needs to tell everything.
        needs: Needs,
    },
    /// The output of a program that is run once for each of the things that a listing names on the target (at most
    /// [`MOST_ITEMS`]): before each the line [`ITEM`] with the name, after each the line [`STATUS`] with the exit status, and
    /// after the last one [`MORE`] with a number where some were left out. The exit status is that of the listing.
    Each {
        /// What is listed.
        of: Listing,
        /// Program and arguments.
        argv: &'static [Word],
        /// True if the output can hold secrets (guestinfo, passwords): it is masked before anything else sees it.
        masked: bool,
        /// True for counters, whose rates need the time of each read: below the name stands [`CLOCK`] with the seconds since
        /// 1970 by the target's own clock.
        timed: bool,
    },
    /// Files of the processes of certain names (at most 64 processes), like [`Read::Files`]:
    /// `/proc/1234/limits:Max locked memory ...`. `comm` always comes first.
    ProcessFiles {
        /// Names as in `/proc/PID/comm`.
        names: &'static [&'static str],
        /// File names below `/proc/PID/`.
        files: &'static [&'static str],
    },
    /// Environment variables of the login whose names begin with one of these, as `NAME=value` lines. Chosen on the
    /// target: no other variable ever travels.
    Environment(&'static [&'static str]),
}

/// Files that can hold secrets: settings that stand above every VMX, and a script that people write.
const SECRETIVE: &[&str] = &["/etc/vmware/config", "/etc/vmware/esx.conf", "/etc/rc.local.d/"];

/// Where the logs of a host lie; they can repeat settings.
const LOGS: &str = "/var/log/vm";

/// The word of a command that prints notes of people.
const NOTED: Word = Word::Plain("vmsvc/getallvms");

impl Read {
    /// The place in [`SHARED`] of a command whose output other sources read, too; `None` if it runs none.
    pub fn shared(&self) -> Option<usize> {
        match self {
            Self::Command { argv, keep: None } => SHARED.iter().position(|shared| {
                shared.len() == argv.len() && shared.iter().zip(*argv).all(|(shared, own)| *own == Word::Plain(shared))
            }),
            Self::Each { of, .. } => {
                let (command, _) = of.command();
                SHARED.iter().position(|shared| *shared == command)
            }
            _ => None,
        }
    }

    /// What it printed without secrets: nothing else is ever kept of it.
    pub fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Each { masked: true, .. } => esxi::masked(text),
            Self::Files(globs) if globs.iter().any(|glob| SECRETIVE.iter().any(|start| glob.starts_with(start))) => {
                esxi::masked_files(text)
            }
            Self::Command { argv, .. } if argv.contains(&NOTED) => esxi::without_annotations(text),
            Self::Command { argv, .. }
                if argv.iter().any(|word| matches!(word, Word::Plain(path) if path.starts_with(LOGS))) =>
            {
                esxi::masked(text)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// The command that a person would type to see the same.
    pub fn shown(&self) -> String {
        match self {
            Self::Files(globs) => format!("grep -H '' {}", globs.join(" ")),
            Self::Command { argv, keep } | Self::Privileged { argv, keep, .. } => {
                let words: Vec<String> = argv.iter().map(|word| word.shown("NAME")).collect();
                format!("{}{}", words.join(" "), keep.map_or(String::new(), |keep| keep.shown()))
            }
            Self::Each { of, argv, .. } => {
                let words: Vec<String> = argv.iter().map(|word| word.shown("NAME")).collect();
                format!("{} (NAME: every {})", words.join(" "), of.title())
            }
            Self::ProcessFiles { names, files } => {
                let paths: Vec<String> = files.iter().map(|file| format!("/proc/PID/{file}")).collect();
                format!("grep -H '' {} (PID: every {})", paths.join(" "), names.join(", "))
            }
            Self::Environment(prefixes) => format!("env | grep -E '^({})'", prefixes.join("|")),
        }
    }
}

/// One source of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name, unique in the program: `linux.rdma-link`.
    pub name: &'static str,
    /// What it reads.
    pub read: Read,
}

impl Source {
    /// The name as an id.
    pub fn id(&self) -> SourceId {
        SourceId::new(self.name)
    }
}

/// A pure parser: gets one observation for each source of its probe, in their order.
pub type Parse = fn(&[Arc<Observation>]) -> Vec<Fact>;

/// How some facts are learned.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Its name, unique in the program: `linux.rdma`.
    pub name: &'static str,
    /// What it tells, in a few words.
    pub title: &'static str,
    /// What more privilege would add; empty if nothing.
    pub privilege_adds: &'static str,
    /// How often it is due.
    pub pace: Pace,
    /// The same on a host that is to be spared.
    pub rhythm: Rhythm,
    /// What it reads.
    pub sources: &'static [Source],
    /// What it makes of that.
    pub parse: Parse,
}

impl Probe {
    /// True if it reads counters, which say something once they are read twice: by its name, `esxi.nic-statistics`,
    /// `eos.counters`.
    pub fn counts(&self) -> bool {
        ["statistics", "counters"].iter().any(|word| self.name.ends_with(word))
            && self.name != linux::counters::PROBE.name
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Probe").field("name", &self.name).field("pace", &self.pace).finish_non_exhaustive()
    }
}
