//! The commands that a machine answers, each from its state. Options are read as the real tools read them, as far as
//! they are known here; what is not known is refused in their words.

mod ethtool;
mod files;
mod grep;
mod ip;
mod ip_set;
mod mpi;
mod rdma;
mod sudo;
mod system;
mod verbs;

use super::gpus;
use super::state::{Moment, State};
use super::tree::Tree;
use crate::lab::machine::{Answer, Login};

/// What a command may look at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The machine at this moment, seen by the login.
    pub moment: Moment<'a>,
    /// Its files.
    pub tree: &'a Tree,
}

/// Names of all commands, for `command -v` and the like.
pub const NAMES: [&str; 43] = [
    "[",
    "cat",
    "date",
    "dmesg",
    "dpkg-query",
    "echo",
    "env",
    "ethtool",
    "false",
    "free",
    "grep",
    "head",
    "hostname",
    "ibstat",
    "ibv_devices",
    "ibv_devinfo",
    "id",
    "ip",
    "ls",
    "lscpu",
    "lsmod",
    "lspci",
    "modinfo",
    "mpirun",
    "nproc",
    "numactl",
    "ompi_info",
    "printenv",
    "ps",
    "rdma",
    "readlink",
    "sh",
    "stat",
    "sudo",
    "sysctl",
    "systemctl",
    "true",
    "ucx_info",
    "ulimit",
    "uname",
    "uptime",
    "vmware-toolbox-cmd",
    "whoami",
];

/// An answer on standard output with status 0.
pub fn says(stdout: impl Into<String>) -> Answer {
    Answer { stdout: stdout.into(), ..Answer::default() }
}

/// An answer on standard error with a status.
pub fn fails(stderr: impl Into<String>, status: u32) -> Answer {
    Answer { stderr: stderr.into(), status, ..Answer::default() }
}

/// What bash says of a command that is not there.
///
/// Source: capture "foo" over SSH on a Debian 12 guest.
pub fn not_found(name: &str) -> Answer {
    fails(format!("bash: line 1: {name}: command not found\n"), 127)
}

/// Runs a command that changes nothing; `None` if there is none of this name, or if it changes something.
pub fn look(scene: &Scene<'_>, argv: &[String]) -> Answer {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (name, words) = match words.split_first() {
        Some((name, words)) => (without_folder(name), words),
        None => return Answer::default(),
    };
    match name {
        "rdma" => rdma::run(scene, words),
        "ip" => ip::run(scene, words),
        "ethtool" => ethtool::run(scene, words),
        "ibv_devices" => verbs::devices(scene),
        "ibv_devinfo" => verbs::devinfo(scene, words),
        "ibstat" => verbs::ibstat(scene, words),
        "show_gids" => verbs::show_gids(scene),
        "grep" => grep::run(scene, words),
        "cat" => files::cat(scene, words),
        "head" => files::head(scene, words),
        "ls" => files::ls(scene, words),
        "stat" => files::stat(scene, words),
        "readlink" => files::readlink(scene, words),
        "env"
            if words.iter().any(|word| !word.contains('=')) && words.first().is_some_and(|word| word.contains('=')) =>
        {
            // Variables for one command: none of the commands here heeds them.
            look(scene, &argv.iter().skip(1).skip_while(|word| word.contains('=')).cloned().collect::<Vec<_>>())
        }
        "env" | "printenv" => system::env(scene, words),
        "nvidia-smi" => gpus::smi::nvidia_smi(scene, words).unwrap_or_else(|| not_found(name)),
        "dcgmi" => gpus::smi::dcgmi(scene, words).unwrap_or_else(|| not_found(name)),
        "mpirun" => mpi::mpirun(scene, words),
        "ompi_info" => mpi::ompi_info(scene, words),
        "ucx_info" => mpi::ucx_info(scene, words),
        "systemctl" => mpi::systemctl(words),
        "sh" => mpi::shell(scene, words),
        "echo" => says(format!("{}\n", words.join(" "))),
        "true" | "[" => Answer::default(),
        "false" => fails("", 1),
        _ => system::run(scene, name, words).unwrap_or_else(|| not_found(name)),
    }
}

/// Runs a command that changes the machine; `None` if it changes nothing.
pub fn change(state: &mut State, now: f64, argv: &[String], login: &Login) -> Option<Answer> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (name, words) = words.split_first()?;
    match without_folder(name) {
        "ip" => ip_set::run(state, now, words, login),
        "sysctl" => system::sysctl_set(state, words, login),
        "rdma" => rdma::set(state, words, login),
        _ => None,
    }
}

/// What `sudo` was asked to do.
pub fn through_sudo(argv: &[String], login: &Login) -> Option<Result<Vec<String>, Answer>> {
    let (name, words) = argv.split_first()?;
    (without_folder(name) == "sudo").then(|| sudo::run(words, login))
}

/// The name of a program without the folder in which it lies.
fn without_folder(name: &str) -> &str {
    for folder in ["/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"] {
        if let Some(name) = name.strip_prefix(folder) {
            return name;
        }
    }
    name
}
