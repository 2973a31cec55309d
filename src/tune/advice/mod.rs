//! What is advised for a job between given guests: a command line for each way that may run, best first, and every item of
//! it with its reason, its source, how sure that is and what would settle it.

mod side;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub use side::{Adapter, Entry, HostSide, Node, Port, Side, holds};

use crate::fabric::TargetId;
use crate::tune::{mpi, nccl, numa, ucx};

/// What an item steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The launcher and Open MPI.
    OpenMpi,
    /// UCX.
    Ucx,
    /// On which processors ranks run.
    Binding,
    /// NCCL.
    Nccl,
    /// The guest itself.
    System,
}

impl Layer {
    /// It as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "open-mpi",
            Self::Ucx => "ucx",
            Self::Binding => "binding",
            Self::Nccl => "nccl",
            Self::System => "system",
        }
    }
}

/// How an item is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An option of the launcher.
    Option,
    /// A parameter: `--mca NAME VALUE`.
    Parameter,
    /// A variable that the launcher exports: `-x NAME=VALUE`.
    Export,
    /// A variable of programs without such a launcher (NCCL).
    Variable,
    /// Something to be set on one guest by itself.
    OnGuest,
    /// Nothing to set: something that was looked at.
    Note,
}

impl Form {
    /// It as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Parameter => "parameter",
            Self::Export => "export",
            Self::Variable => "variable",
            Self::OnGuest => "on-guest",
            Self::Note => "note",
        }
    }
}

/// How sure an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// Facts of these guests, or the source of the program, decide it.
    Proved,
    /// Nothing seen speaks against it.
    Likely,
    /// It fits, no more.
    Possible,
}

impl Sure {
    /// It as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it steers.
    pub layer: Layer,
    /// How it is given.
    pub form: Form,
    /// The variable, parameter or option.
    pub name: String,
    /// Its value; empty for an option without one.
    pub value: String,
    /// The guest that it is for; `None` for all.
    pub guest: Option<TargetId>,
    /// Why.
    pub reason: String,
    /// Where that is written.
    pub source: &'static str,
    /// How sure it is.
    pub sure: Sure,
    /// What would settle it; empty where nothing is open.
    pub decide: String,
    /// The value that it has now, where that is known.
    pub present: Option<String>,
}

impl Item {
    /// An item for all guests.
    pub fn new(
        layer: Layer,
        form: Form,
        name: &str,
        value: &str,
        reason: String,
        source: &'static str,
        sure: Sure,
    ) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        Self { layer, form, name, value, guest: None, reason, source, sure, decide: String::new(), present: None }
    }

    /// For one guest.
    #[must_use]
    pub fn of(mut self, guest: &TargetId) -> Self {
        self.guest = Some(guest.clone());
        self
    }

    /// With what would settle it.
    #[must_use]
    pub fn decided_by(mut self, decide: String) -> Self {
        self.decide = decide;
        self
    }

    /// With the value that it has now.
    #[must_use]
    pub fn now(mut self, present: String) -> Self {
        self.present = Some(present);
        self
    }

    /// The words that it puts on the line of a launcher.
    pub fn words(&self) -> Vec<String> {
        let words = match self.form {
            Form::Option => vec![self.name.clone(), self.value.clone()],
            Form::Parameter => vec!["--mca".to_owned(), self.name.clone(), self.value.clone()],
            Form::Export => vec!["-x".to_owned(), format!("{}={}", self.name, self.value)],
            Form::Variable | Form::OnGuest | Form::Note => Vec::new(),
        };
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    /// It as somebody would write it: `--mca pml ucx`, `UCX_TLS=rc_v`.
    pub fn written(&self) -> String {
        match self.form {
            Form::Option | Form::Parameter => self.words().join(" "),
            Form::OnGuest if self.layer == Layer::System => format!("{} {}", self.name, self.value),
            Form::Note if self.value.is_empty() => self.name.clone(),
            _ => format!("{}={}", self.name, self.value),
        }
    }
}

/// Which way messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// UCX over RDMA.
    Rdma,
    /// UCX over TCP.
    UcxTcp,
    /// Open MPI's own TCP.
    Tcp,
}

impl Way {
    /// It as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rdma => "ucx-rdma",
            Self::UcxTcp => "ucx-tcp",
            Self::Tcp => "tcp",
        }
    }

    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Rdma => "UCX over RDMA",
            Self::UcxTcp => "UCX over TCP",
            Self::Tcp => "Open MPI's own TCP",
        }
    }
}

/// One command line that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which way its messages take.
    pub way: Way,
    /// How sure it is that it runs.
    pub sure: Sure,
    /// Its items, in the order of the line.
    pub items: Vec<Item>,
}

impl Candidate {
    /// The words of the line, without a program.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["mpirun".to_owned()];
        words.extend(self.items.iter().flat_map(Item::words));
        words
    }

    /// The line for a shell, in pieces that belong together, each on a line of its own.
    pub fn line(&self, program: &str) -> String {
        let mut line = "mpirun".to_owned();
        for item in &self.items {
            let words = item.words();
            if words.is_empty() {
                continue;
            }
            let piece: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let _ = write!(line, " \\\n  {}", piece.join(" "));
        }
        let _ = write!(line, " \\\n  {program}");
        line
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What is advised for a job between some guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Lines, best first; empty where no launcher is known on any of the guests and no syntax is to be guessed.
    pub candidates: Vec<Candidate>,
    /// What is advised beside the line: NCCL, limits, what was looked at.
    pub items: Vec<Item>,
    /// What is wrong with what is installed, and what could not be told.
    pub build: Vec<mpi::build::Remark>,
}

/// How many ranks are to run, and where the hosts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The file of hosts, with how many slots it gives in all.
    pub hostfile: Option<(String, u64)>,
}

/// Advises. The guests stand in the order in which the line names them.
pub fn advise(sides: &[Side], job: &Job) -> Advice {
    let release = mpi::Release::of(sides);
    let binding = numa::binding(sides, release);
    let mut candidates = Vec::new();
    let has_ucx = sides.iter().all(|side| side.has_component("pml ucx") != Some(false));
    let start = mpi::start(sides, job);
    let line = |way, sure, middle: Vec<Item>, end: Vec<Item>| {
        let items = start.iter().chain(&binding.on_line).cloned().chain(middle).chain(end).collect();
        Candidate { way, sure, items }
    };
    if has_ucx && let Some(choice) = ucx::over_rdma(sides) {
        candidates.push(line(Way::Rdma, choice.sure, mpi::by_ucx(sides, release, Way::Rdma), choice.items));
    }
    let netdevs = mpi::netdevs(sides);
    if has_ucx {
        let end = ucx::over_tcp(netdevs.as_deref());
        candidates.push(line(Way::UcxTcp, Sure::Likely, mpi::by_ucx(sides, release, Way::UcxTcp), end));
    }
    candidates.push(line(Way::Tcp, Sure::Likely, mpi::by_tcp(sides, release), Vec::new()));
    let mut items = binding.beside;
    items.extend(nccl::items(sides));
    items.extend(system(sides));
    Advice { candidates, items, build: mpi::build::remarks(sides) }
}

/// Limits and settings of the guests themselves.
fn system(sides: &[Side]) -> Vec<Item> {
    const ENOUGH: u64 = 128 << 20;
    let mut items = Vec::new();
    for side in sides {
        if side.ports.is_empty() {
            continue;
        }
        let limit = |bytes: u64| match bytes {
            u64::MAX => "unlimited".to_owned(),
            bytes if bytes >= 1 << 20 => format!("{} MB", bytes >> 20),
            bytes => format!("{} kB", bytes >> 10),
        };
        let memlock = |form, sure, reason: &str| {
            Item::new(
                Layer::System,
                form,
                "ulimit -l",
                "unlimited",
                reason.to_owned(),
                "UCX docs/source/running.md (128 MB or unlimited); Linux drivers/infiniband/core/umem.c",
                sure,
            )
            .of(&side.guest)
            .decided_by("mpirun ... bash -c 'ulimit -l': the limit within the job itself".to_owned())
        };
        match side.memlock {
            Some(_) if side.is_root => items.push(
                memlock(Form::Note, Sure::Proved, "the login is root, whom the limit does not bind; another user's job is bound by it")
                    .now(limit(side.memlock.unwrap_or_default())),
            ),
            Some(bytes) if bytes < ENOUGH => items.push(
                memlock(
                    Form::OnGuest,
                    Sure::Proved,
                    "registering memory pins it, and what is pinned counts against this limit: beyond it jobs end with \"Cannot \
                     allocate memory\". In /etc/security/limits.d for logins, LimitMEMLOCK for services that start jobs",
                )
                .now(limit(bytes)),
            ),
            Some(bytes) => items.push(memlock(Form::Note, Sure::Proved, "enough for what jobs register").now(limit(bytes))),
            None => items.push(memlock(Form::Note, Sure::Possible, "the limit of this login was not read")),
        }
        let (enabled, defrag) = &side.huge_pages;
        let now = match (enabled, defrag) {
            (Some(enabled), Some(defrag)) => Some(format!("{enabled}, defragmentation {defrag}")),
            (Some(enabled), None) => Some(enabled.clone()),
            _ => None,
        };
        let stalls = enabled.as_deref() == Some("always") && defrag.as_deref() == Some("always");
        let (form, value, reason) = if stalls {
            (
                Form::OnGuest,
                "madvise",
                "huge pages and their defragmentation are both set to always: a page fault may wait until memory is compacted, which \
                 shows as single slow messages. Set defrag to madvise; it has nothing to do with the memory of GPUs",
            )
        } else {
            (Form::Note, "", "huge pages do not stop programs here; nothing is to be set")
        };
        let item = Item::new(
            Layer::System,
            form,
            "/sys/kernel/mm/transparent_hugepage/defrag",
            value,
            reason.to_owned(),
            "Linux Documentation/admin-guide/mm/transhuge.rst",
            if now.is_some() { Sure::Proved } else { Sure::Possible },
        )
        .of(&side.guest);
        items.extend(now.map(|now| item.now(now)));
    }
    items
}
