//! Small tools about the system: kernel, identity, memory, packages, modules, VMware Tools.

use super::{NAMES, Scene, fails, says};
use crate::lab::guest::load::whole;
use crate::lab::guest::procfs::{memlock_kibibytes, memory, ulimit_all};
use crate::lab::guest::state::State;
use crate::lab::guest::templates::Append as _;
use crate::lab::guest::templates::lists;
use crate::lab::guest::tree::matches;
use crate::lab::machine::{Answer, Login};

/// Tools that only a machine with GPUs has.
const GPU_TOOLS: [&str; 2] = ["dcgmi", "nvidia-smi"];

/// Runs one of these tools; `None` for a name that is none of them.
pub fn run(scene: &Scene<'_>, name: &str, words: &[&str]) -> Option<Answer> {
    let moment = &scene.moment;
    let state = moment.state;
    Some(match name {
        "uname" => uname(state, words),
        "hostname" => says(format!("{}\n", state.name)),
        "whoami" => says(if moment.login.is_root { "root\n".to_owned() } else { format!("{}\n", moment.login.user) }),
        "id" => id(moment.login, words),
        "uptime" => uptime(scene, words),
        "nproc" => says(format!("{}\n", state.processors())),
        "date" => date(scene, words),
        "dmesg" => dmesg(scene, words),
        "lsmod" => says(lists::lsmod(&state.modules)),
        "lspci" => lspci(state, words),
        "modinfo" => modinfo(state, words),
        "numactl" => numactl(state, words),
        "dpkg-query" => dpkg_query(state, words),
        "vmware-toolbox-cmd" => return toolbox(state, words),
        "ulimit" => ulimit(state, words),
        "sysctl" => sysctl(state, words),
        "free" => free(state),
        "ps" => ps(scene),
        "lscpu" => lscpu(state),
        "command" => match words {
            ["-v", name] if NAMES.contains(name) || state.gpus.is_some() && GPU_TOOLS.contains(name) => {
                says(format!("{name}\n"))
            }
            _ => fails("", 1),
        },
        _ => return None,
    })
}

/// Source: captures "uname", "uname -a" of Debian 12 guests.
fn uname(state: &State, words: &[&str]) -> Answer {
    let letters: String = words.concat();
    let (release, build) = (&state.kernel.0, &state.kernel.1);
    let all = letters.contains('a');
    let parts = [('s', "Linux"), ('n', &state.name), ('r', release), ('v', build), ('m', "x86_64"), ('o', "GNU/Linux")];
    let wanted = |letter: char| all || letters.contains(letter) || (words.is_empty() && letter == 's');
    let chosen: Vec<&str> = parts.iter().filter(|(letter, _)| wanted(*letter)).map(|(_, part)| *part).collect();
    says(format!("{}\n", chosen.join(" ")))
}

/// Source: captures "id" of root and of `lab`.
fn id(login: &Login, words: &[&str]) -> Answer {
    let (number, name) = if login.is_root { (0, "root") } else { (1000, login.user.as_str()) };
    match words {
        ["-u"] => says(format!("{number}\n")),
        ["-un"] => says(format!("{name}\n")),
        _ => says(format!("uid={number}({name}) gid={number}({name}) groups={number}({name})\n")),
    }
}

/// Source: captures "uptime" and "uptime -p". UNSOURCED: the form with days.
fn uptime(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let minutes = whole(scene.moment.uptime() / 60.0);
    let (days, hours, rest) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    if words == ["-p"] {
        let count = |number: u64, word: &str| {
            (number > 0).then(|| format!("{number} {word}{}", if number == 1 { "" } else { "s" }))
        };
        let parts: Vec<String> =
            [count(days, "day"), count(hours, "hour"), count(rest, "minute")].into_iter().flatten().collect();
        return says(format!("up {}\n", parts.join(", ")));
    }
    let up = match (days, hours) {
        (0, 0) => format!("{rest} min"),
        (0, hours) => format!("{hours:>2}:{rest:02}"),
        (1, hours) => format!("1 day, {hours:>2}:{rest:02}"),
        (days, hours) => format!("{days} days, {hours:>2}:{rest:02}"),
    };
    let load = scene.tree.read("/proc/loadavg", &scene.moment).unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let clock = scene.moment.wall().strftime("%H:%M:%S").to_string();
    says(format!(" {clock} up {up},  1 user,  load average: {}\n", load.join(", ")))
}

fn date(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let wall = scene.moment.wall();
    let format = match words.iter().find_map(|word| word.strip_prefix('+')) {
        // Parts of a second are told where `%N` stands.
        Some(format) => format
            .replace("%s", &wall.as_second().to_string())
            .replace("%N", &format!("{:09}", wall.subsec_nanosecond())),
        None => "%a %b %e %H:%M:%S UTC %Y".to_owned(),
    };
    match jiff::fmt::strtime::format(&format, wall) {
        Ok(text) => says(format!("{text}\n")),
        Err(_) => fails("date: invalid format\n", 1),
    }
}

/// Source: capture "dmesg" of root and of `lab`.
fn dmesg(scene: &Scene<'_>, words: &[&str]) -> Answer {
    if !scene.moment.login.is_root {
        return fails("dmesg: read kernel buffer failed: Operation not permitted\n", 1);
    }
    let letters: String = words.iter().filter_map(|word| word.strip_prefix('-')).collect();
    let booted = scene.moment.booted();
    let lines: Vec<String> = scene
        .moment
        .state
        .log
        .iter()
        .map(|(at, text)| {
            if letters.contains('T') {
                let at = booted + jiff::SignedDuration::from_secs_f64(*at);
                format!("[{}] {text}\n", at.strftime("%a %b %e %H:%M:%S %Y"))
            } else {
                format!("[{at:>12.6}] {text}\n")
            }
        })
        .collect();
    says(lines.concat())
}

fn lspci(state: &State, words: &[&str]) -> Answer {
    let mut asked = lists::Pci::default();
    let (mut vendor, mut slot, mut rest) = (None, None, words.iter().copied());
    while let Some(word) = rest.next() {
        match word {
            "-d" => vendor = rest.next(),
            "-s" => slot = rest.next(),
            word => {
                asked.numbers |= word.contains("nn");
                asked.drivers |= word.contains('k') || word.contains('v');
                asked.domain |= word.contains('D');
            }
        }
    }
    let number = |text: Option<&str>| text.and_then(|text| u16::from_str_radix(text, 16).ok());
    let (wanted_vendor, wanted_device) = vendor.map_or((None, None), |text| {
        let (vendor, device) = text.split_once(':').unwrap_or((text, ""));
        (number(Some(vendor)), number(Some(device)))
    });
    let text: Vec<String> = state
        .functions
        .iter()
        .filter(|function| wanted_vendor.is_none_or(|vendor| vendor == function.ids.0))
        .filter(|function| wanted_device.is_none_or(|device| device == function.ids.1))
        .filter(|function| {
            slot.is_none_or(|slot| {
                function.address.trim_start_matches("0000:").starts_with(slot.trim_start_matches("0000:"))
            })
        })
        .map(|function| lists::function(function, asked))
        .collect();
    says(text.concat())
}

fn modinfo(state: &State, words: &[&str]) -> Answer {
    let Some(name) = words.last() else { return fails("modinfo: ERROR: missing module or filename.\n", 1) };
    let Some((_, version)) = state.module_versions.iter().find(|(other, _)| other == name) else {
        return fails(format!("modinfo: ERROR: Module {name} not found.\n"), 1);
    };
    match words {
        ["-F", "version", _] => says(format!("{version}\n")),
        _ => says(format!("version:        {version}\n")),
    }
}

fn numactl(state: &State, words: &[&str]) -> Answer {
    match words {
        ["-H" | "--hardware"] => says(lists::numactl(&state.nodes)),
        // UNSOURCED: the usage is longer.
        _ => fails("usage: numactl [--hardware] [--show]\n", 1),
    }
}

/// Source: captures of `dpkg-query -W` with and without `-f` (tests/fixtures/pvrdma-guest/28-*.txt,
/// tests/fixtures/guest-probes/linux.packages-dpkg.txt).
fn dpkg_query(state: &State, words: &[&str]) -> Answer {
    let (mut format, mut names, mut rest) = (None, Vec::new(), words.iter().copied());
    while let Some(word) = rest.next() {
        match word {
            "-f" => format = rest.next(),
            word if word.starts_with("--showformat=") => format = word.split_once('=').map(|(_, format)| format),
            word if word.starts_with('-') => {}
            word => names.push(word),
        }
    }
    let mut answer = Answer::default();
    for (name, version, with_architecture) in &state.packages {
        if !names.is_empty() && !names.iter().any(|pattern| matches(pattern, name)) {
            continue;
        }
        let line = match format {
            Some(format) => format
                .replace("${Package}", name)
                .replace("${Version}", version)
                .replace("${Status}", "install ok installed")
                .replace("${db:Status-Status}", "installed")
                .replace("\\t", "\t")
                .replace("\\n", "\n"),
            None => format!("{name}{}\t{version}\n", if *with_architecture { ":amd64" } else { "" }),
        };
        answer.stdout.push_str(&line);
    }
    for pattern in names {
        if !state.packages.iter().any(|(name, ..)| matches(pattern, name)) {
            answer.stderr.add(format_args!("dpkg-query: no packages found matching {pattern}\n"));
            answer.status = 1;
        }
    }
    answer
}

/// Source: open-vm-tools, toolbox/toolboxcmd-stat.c. UNSOURCED: the number that stands for "no limit".
fn toolbox(state: &State, words: &[&str]) -> Option<Answer> {
    if state.tools.is_empty() {
        return None;
    }
    Some(match words {
        ["stat", name] => match state.tools.iter().find(|(other, _)| other == name) {
            Some((_, value)) => says(format!("{value}\n")),
            None => fails(format!("Unknown subcommand: {name}\n"), 64),
        },
        ["-v"] => says("12.2.0.41219 (build-21223074)\n"),
        _ => fails("toolbox-cmd: Missing command\n", 64),
    })
}

fn ulimit(state: &State, words: &[&str]) -> Answer {
    match words {
        ["-a"] => says(ulimit_all(state)),
        ["-l" | "-Hl" | "-Sl"] | ["-H" | "-S", "-l"] => says(format!("{}\n", memlock_kibibytes(state))),
        ["-n"] => says("1024\n"),
        _ => says("unlimited\n"),
    }
}

/// Source: capture "sysctl vm.swappiness".
fn sysctl(state: &State, words: &[&str]) -> Answer {
    let mut answer = Answer::default();
    let bare = words.contains(&"-n");
    for name in words.iter().filter(|word| !word.starts_with('-')) {
        match state.settings.get(name) {
            Some(value) if bare => answer.stdout.add(format_args!("{value}\n")),
            Some(value) => answer.stdout.add(format_args!("{name} = {value}\n")),
            None => {
                let path = name.replace('.', "/");
                answer.stderr.add(format_args!("sysctl: cannot stat /proc/sys/{path}: No such file or directory\n"));
                answer.status = 255;
            }
        }
    }
    answer
}

/// `sysctl [-w] NAME=VALUE`; `None` if the words ask a question.
pub fn sysctl_set(state: &mut State, words: &[&str], login: &Login) -> Option<Answer> {
    let (name, value) = words.iter().find_map(|word| word.split_once('='))?;
    let (name, value) = (name.trim(), value.trim());
    let Some(setting) = state.settings.get_mut(name) else {
        let path = name.replace('.', "/");
        return Some(fails(format!("sysctl: cannot stat /proc/sys/{path}: No such file or directory\n"), 255));
    };
    if !login.is_root {
        // Source: procps-ng 4.0. UNSOURCED: no capture shows it.
        return Some(fails(format!("sysctl: permission denied on key \"{name}\"\n"), 255));
    }
    value.clone_into(setting);
    Some(says(format!("{name} = {value}\n")))
}

/// Source: capture "free".
fn free(state: &State) -> Answer {
    let (total, free, available) = memory(state);
    says(format!(
        "{:>19}{:>12}{:>12}{:>12}{:>12}{:>12}\nMem:   {total:>12}{:>12}{free:>12}{:>12}{:>12}{available:>12}\nSwap:  {:>12}{:>12}{:>12}\n",
        "total",
        "used",
        "free",
        "shared",
        "buff/cache",
        "available",
        total - available,
        9204,
        available - free,
        0,
        0,
        0,
    ))
}

/// Source: capture "ps -e".
fn ps(scene: &Scene<'_>) -> Answer {
    let mut text = "    PID TTY          TIME CMD\n".to_owned();
    for process in scene.moment.processes() {
        text.add(format_args!("{:>7} ?        00:00:00 {}\n", process.pid, process.command));
    }
    says(text)
}

/// Source: capture "lscpu", its lines about nodes; an excerpt.
fn lscpu(state: &State) -> Answer {
    let count = state.processors();
    let mut text = format!(
        "Architecture:                            x86_64\nByte Order:                              Little Endian\n\
         CPU(s):                                  {count}\nOn-line CPU(s) list:                     0-{}\n\
         Vendor ID:                               GenuineIntel\n\
         Model name:                              Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\n\
         Hypervisor vendor:                       VMware\nVirtualization type:                     full\n\
         NUMA node(s):                            {}\n",
        count - 1,
        state.nodes.len(),
    );
    for (number, node) in state.nodes.iter().enumerate() {
        let name = format!("NUMA node{number} CPU(s):");
        text.add(format_args!("{name:<41}{}-{}\n", node.processors.0, node.processors.1));
    }
    says(text)
}

/// `env` and `printenv NAME`.
pub fn env(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let variables = super::super::environment_of(scene.moment.state, scene.moment.login);
    if let Some(name) = words.first() {
        let found = variables.iter().find(|(other, _)| other == name);
        return found.map_or_else(|| fails("", 1), |(_, value)| says(format!("{value}\n")));
    }
    let lines: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    says(lines.concat())
}
