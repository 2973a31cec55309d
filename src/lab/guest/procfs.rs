//! `/proc` and `/etc` of a machine.

use std::collections::BTreeMap;

use super::gpus;
use super::load::whole;
use super::state::{Moment, Process, State};
use super::templates::{fill, lists};
use super::tree::{Entry, Tree};
use crate::lab::machine::NotRead;

/// The most processes of one user: the kernel derives it from the memory.
fn most_processes(state: &State) -> u64 {
    memory(state).0 / 256
}

/// Memory in KiB: all of it, free, available.
pub fn memory(state: &State) -> (u64, u64, u64) {
    let total = state.nodes.iter().map(|node| node.kibibytes.0).sum();
    let free: u64 = state.nodes.iter().map(|node| node.kibibytes.1).sum();
    (total, free, free + (total - free) / 2)
}

/// Puts all of `/proc` and `/etc` into a tree.
pub fn fill_tree(tree: &mut Tree, state: &State) {
    tree.put("/proc", Entry::Folder(BTreeMap::new(), Some(Box::new(process_folders))));
    // Whoever reads /proc/self is grep or cat; the number is that of nobody else.
    tree.put(
        "/proc/self/status",
        Entry::text(|moment| {
            let pid = moment.drawn(71, 30_000, 32_000);
            status(
                moment,
                "grep",
                u32::try_from(pid).unwrap_or(1),
                u32::try_from(pid - 2).unwrap_or(1),
                moment.login.is_root,
            )
        }),
    );
    tree.put("/proc/self/limits", Entry::text(|moment| limits(moment.state, moment.state.memlock)));
    tree.fixed("/proc/self/comm", "cat\n");
    tree.put(
        "/proc/uptime",
        Entry::text(|moment| {
            let idle = moment.uptime() * f64::from(moment.state.processors()) * 0.71;
            format!("{:.2} {:.2}\n", floor_hundredths(moment.uptime()), idle)
        }),
    );
    tree.put(
        "/proc/loadavg",
        Entry::text(|moment| {
            let jobs = moment.job().map_or(0, |here| here.ranks.len());
            format!("{jobs}.08 {jobs}.05 {jobs}.01 {}/212 {}\n", jobs + 1, moment.drawn(72, 30_000, 32_000))
        }),
    );
    tree.put("/proc/modules", Entry::text(|moment| lists::proc_modules(&moment.state.modules, moment.login.is_root)));
    tree.put("/proc/version", Entry::text(|moment| {
        let (release, build) = &moment.state.kernel;
        format!(
            "Linux version {release} (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) {build}\n"
        )
    }));
    tree.put(
        "/proc/meminfo",
        Entry::text(|moment| {
            let (total, free, available) = memory(moment.state);
            let number = |value: u64| value.to_string();
            fill(
                include_str!("templates/meminfo.txt"),
                &[
                    ("total", number(total)),
                    ("free", number(free)),
                    ("available", number(available)),
                    ("half", number(total / 2)),
                ],
            )
        }),
    );
    tree.put(
        "/proc/cpuinfo",
        Entry::text(|moment| {
            let mut text = String::new();
            for (node, info) in moment.state.nodes.iter().enumerate() {
                for number in info.processors.0..=info.processors.1 {
                    text.push_str(&fill(
                        include_str!("templates/cpuinfo.txt"),
                        &[
                            ("number", number.to_string()),
                            ("node", node.to_string()),
                            ("core", (number - info.processors.0).to_string()),
                            ("siblings", (info.processors.1 - info.processors.0 + 1).to_string()),
                        ],
                    ));
                }
            }
            text
        }),
    );
    tree.put("/proc/sys/kernel/osrelease", Entry::text(|moment| format!("{}\n", moment.state.kernel.0)));
    tree.put("/proc/sys/kernel/hostname", Entry::text(|moment| format!("{}\n", moment.state.name)));
    tree.put("/proc/sys/kernel/random/boot_id", Entry::text(|moment| format!("{}\n", moment.state.boot.id)));
    for name in state.settings.keys().copied() {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        tree.put(
            &path,
            Entry::File(
                0o644,
                Box::new(move |moment| {
                    moment.state.settings.get(name).map(|value| format!("{value}\n")).ok_or(NotRead::Missing)
                }),
            ),
        );
    }
    gpus::fill_tree(tree, state);
    tree.fixed("/etc/machine-id", format!("{}\n", state.machine_id));
    tree.fixed("/etc/hostname", format!("{}\n", state.name));
    tree.fixed("/etc/debian_version", "12.15\n");
    tree.link("/etc/os-release", "../usr/lib/os-release");
    tree.fixed("/usr/lib/os-release", fill(include_str!("templates/os-release.txt"), &[]));
    for (path, content, mode) in &state.files {
        let content = content.clone();
        tree.put(path, Entry::File(*mode, Box::new(move |_| Ok(content.clone()))));
    }
}

/// A time as the kernel cuts it: hundredths, never rounded up.
pub fn floor_hundredths(seconds: f64) -> f64 {
    whole(seconds * 100.0) as f64 / 100.0
}

fn process_folders(moment: &Moment<'_>) -> Vec<(String, Entry)> {
    moment.processes().into_iter().map(|process| (process.pid.to_string(), process_folder(process))).collect()
}

fn process_folder(process: Process) -> Entry {
    let Process { pid, command, memlock, is_roots } = process;
    let (name, line) = (command.clone(), format!("{command}\0"));
    // All of it may be read by everybody.
    let entries = [
        ("comm", Entry::fixed(format!("{command}\n"))),
        ("limits", Entry::text(move |moment| limits(moment.state, memlock))),
        ("status", Entry::text(move |moment| status(moment, &name, pid, 1, is_roots))),
        ("cmdline", Entry::fixed(line)),
    ];
    Entry::Folder(entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect(), None)
}

/// The limits of a process.
pub fn limits(state: &State, memlock: Option<u64>) -> String {
    fill(
        include_str!("templates/limits.txt"),
        &[
            ("processes", most_processes(state).to_string()),
            ("files", if state.processors() > 1 { "1048576" } else { "4096" }.to_owned()),
            ("memlock", memlock.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string())),
        ],
    )
}

fn status(moment: &Moment<'_>, name: &str, pid: u32, parent: u32, is_root: bool) -> String {
    let state = moment.state;
    fill(
        include_str!("templates/status.txt"),
        &[
            ("name", name.to_owned()),
            ("state", if name == "grep" { "R (running)" } else { "S (sleeping)" }.to_owned()),
            ("pid", pid.to_string()),
            ("parent", parent.to_string()),
            ("user", if is_root { "0" } else { "1000" }.to_owned()),
            ("processes", most_processes(state).to_string()),
            ("capabilities", if is_root { "000001ffffffffff" } else { "0000000000000000" }.to_owned()),
            ("processors", format!("0-{}", state.processors() - 1)),
            ("nodes", if state.nodes.len() == 1 { "0".to_owned() } else { format!("0-{}", state.nodes.len() - 1) }),
        ],
    )
}

/// `ulimit -a` of a login.
pub fn ulimit_all(state: &State) -> String {
    fill(
        include_str!("templates/ulimit-a.txt"),
        &[("processes", most_processes(state).to_string()), ("memlock", memlock_kibibytes(state))],
    )
}

/// Locked memory of a login as `ulimit -l` prints it.
pub fn memlock_kibibytes(state: &State) -> String {
    state.memlock.map_or_else(|| "unlimited".to_owned(), |bytes| (bytes / 1024).to_string())
}
