//! What a shell would print for one read of a batch: the rules of `grep -aH ''`, of `command -v`, of the filters and of
//! the environment, applied to what the machine says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::command::run_as;
use super::sed;
use crate::lab::machine::{Answer, Login, Machine};
use crate::probe::dialect::posix::{Listed, MORE_LINES, MOST_PROCESSES, is_name};
use crate::probe::{Keep, Listing, MOST_ITEMS, Read, SHARED, Word};

/// What one read or command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit status.
    pub status: u32,
    /// How long it took by itself.
    pub took: Duration,
    /// How many times the management agent of an ESXi host was asked.
    pub by_agent: u32,
}

impl From<Answer> for Printed {
    fn from(answer: Answer) -> Self {
        Self {
            stdout: answer.stdout.into_bytes(),
            stderr: answer.stderr.into_bytes(),
            status: answer.status,
            took: answer.took,
            by_agent: answer.by_agent,
        }
    }
}

/// What a shell that cannot do it prints.
pub fn not_found(word: &str) -> Printed {
    Printed { stderr: format!("sh: 1: {word}: not found\n").into_bytes(), status: 127, ..Printed::default() }
}

/// What commands that several sources read printed in one batch, by their words: a script runs each of them once.
pub type Once = BTreeMap<Vec<String>, Printed>;

/// What a script was told that commands printed, where this stands for `esxcli`.
pub fn known(listed: &Listed, tool: &str) -> Once {
    let of = |(place, text): (&usize, &Arc<str>)| {
        let words = SHARED.get(*place)?.iter().map(|word| (*word).to_owned()).collect();
        Some((chosen(words, tool), Printed { stdout: text.as_bytes().to_vec(), ..Printed::default() }))
    };
    listed.iter().filter_map(of).collect()
}

/// Reads one source alone.
pub fn read(machine: &dyn Machine, login: &Login, read: &Read, sudo: bool, tool: &str, marker: &str) -> Printed {
    read_once(machine, login, read, sudo, tool, marker, &mut Once::new())
}

/// Reads one source of a batch. `tool` stands for `esxcli` where that is the program; the lines around items begin with
/// `marker`.
pub fn read_once(
    machine: &dyn Machine,
    login: &Login,
    read: &Read,
    sudo: bool,
    tool: &str,
    marker: &str,
    once: &mut Once,
) -> Printed {
    // The program itself may be another that takes the same words.
    let shared = read.shared().and_then(|place| SHARED.get(place));
    let is_shared = |words: &[String]| shared.is_some_and(|shared| shared[1..] == words[1..]);
    let mut run = |words: &[String], sudo: bool| {
        if let Some(known) = once.get(words) {
            return Printed { stdout: known.stdout.clone(), ..Printed::default() };
        }
        let printed = Printed::from(run_as(machine, login, words, sudo));
        if printed.status == 0 && is_shared(words) {
            once.insert(words.to_vec(), printed.clone());
        }
        printed
    };
    match read {
        Read::Files(globs) => files(machine, login, globs.iter().flat_map(|glob| expand(machine, glob))),
        Read::Command { argv, keep } | Read::Privileged { argv, keep, .. } => {
            command(machine, argv, *keep, tool, |words| run(words, sudo))
        }
        Read::Each { of, argv, timed, .. } => each((*of, argv, *timed), tool, marker, |words| run(words, false)),
        Read::ProcessFiles { names, files } => process_files(machine, login, names, files),
        Read::Environment(prefixes) => environment(machine, login, prefixes),
    }
}

/// What a pattern stands for: the paths that match it, or itself where none does.
pub fn expand(machine: &dyn Machine, pattern: &str) -> Vec<String> {
    if !is_pattern(pattern) {
        return vec![pattern.to_owned()];
    }
    let found = machine.expand(pattern);
    if found.is_empty() { vec![pattern.to_owned()] } else { found }
}

/// True for a word in which sh finds a pattern.
pub fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// `grep -aH ''` of some files. Status 1 (all are empty) counts as 0, as the script has it.
fn files(machine: &dyn Machine, login: &Login, paths: impl Iterator<Item = String>) -> Printed {
    let mut printed = Printed::default();
    for path in paths {
        match machine.read(&path, login) {
            Ok(content) => {
                for line in content.split_inclusive(|&byte| byte == b'\n') {
                    printed.stdout.extend_from_slice(path.as_bytes());
                    printed.stdout.push(b':');
                    printed.stdout.extend_from_slice(line);
                    if !line.ends_with(b"\n") {
                        printed.stdout.push(b'\n');
                    }
                }
            }
            Err(why) => {
                printed.stderr.extend_from_slice(format!("grep: {path}: {}\n", why.words()).as_bytes());
                printed.status = 2;
            }
        }
    }
    printed
}

/// A command for each thing that a listing names, as the script prints it.
fn each(
    (of, argv, timed): (Listing, &[Word], bool),
    tool: &str,
    marker: &str,
    mut run: impl FnMut(&[String]) -> Printed,
) -> Printed {
    let (list, filter) = of.command();
    let list: Vec<String> = chosen(list.iter().map(|word| (*word).to_owned()).collect(), tool);
    let mut listed = run(&list);
    let names = sed::lines(filter, &String::from_utf8_lossy(&listed.stdout)).unwrap_or_else(|why| {
        listed.stderr.extend_from_slice(format!("{why}\n").as_bytes());
        Vec::new()
    });
    let mut printed = Printed { stdout: Vec::new(), ..listed };
    for name in names.iter().take(MOST_ITEMS) {
        let mark = format!("{marker} item {name}\n");
        printed.stdout.extend_from_slice(mark.as_bytes());
        printed.stderr.extend_from_slice(mark.as_bytes());
        if timed {
            let now = run(&["date".to_owned(), "+%s".to_owned()]);
            printed.stdout.extend_from_slice(format!("{marker} clock ").as_bytes());
            printed.stdout.extend_from_slice(&now.stdout);
        }
        let words: Vec<String> = chosen(argv.iter().map(|word| word.shown(name)).collect(), tool);
        let one = run(&words);
        printed.stdout.extend_from_slice(&one.stdout);
        printed.stderr.extend_from_slice(&one.stderr);
        printed.stdout.extend_from_slice(format!("\n{marker} status {}\n", one.status).as_bytes());
        printed.took += one.took;
        printed.by_agent += one.by_agent;
    }
    if names.len() > MOST_ITEMS {
        printed.stdout.extend_from_slice(format!("{marker} more {}\n", names.len() - MOST_ITEMS).as_bytes());
    }
    printed
}

/// The words with the program that the script chose for `esxcli`.
fn chosen(mut words: Vec<String>, tool: &str) -> Vec<String> {
    if let Some(program) = words.first_mut().filter(|program| *program == "esxcli") {
        tool.clone_into(program);
    }
    words
}

fn command(
    machine: &dyn Machine,
    argv: &[Word],
    keep: Option<Keep>,
    tool: &str,
    run: impl FnOnce(&[String]) -> Printed,
) -> Printed {
    let words: Vec<String> = argv
        .iter()
        .flat_map(|word| match word {
            Word::Plain(text) => vec![(*text).to_owned()],
            Word::Item(..) => vec![word.shown("")],
            Word::Glob(pattern) => expand(machine, pattern),
        })
        .collect();
    let words = chosen(words, tool);
    let Some(program) = words.first() else { return Printed { status: 127, ..Printed::default() } };
    let mut printed = run(&words);
    if printed.status == 127 {
        // `command -v` found nothing, so nothing was started.
        return Printed { stderr: format!("{program}: not found\n").into_bytes(), status: 127, ..Printed::default() };
    }
    if let Some(keep) = keep {
        printed.stdout = kept(&printed.stdout, keep);
    }
    printed
}

/// The last lines that hold one of the texts.
fn kept(output: &[u8], keep: Keep) -> Vec<u8> {
    let holds = |line: &[u8]| {
        keep.any_of.is_empty()
            || keep
                .any_of
                .iter()
                .any(|text| text.is_empty() || line.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    let lines: Vec<&[u8]> = output.split_inclusive(|&byte| byte == b'\n').filter(|line| holds(line)).collect();
    let mut kept = Vec::new();
    for line in &lines[lines.len().saturating_sub(keep.last)..] {
        kept.extend_from_slice(line);
        if !line.ends_with(b"\n") && !keep.any_of.is_empty() {
            kept.push(b'\n');
        }
    }
    kept
}

fn process_files(machine: &dyn Machine, login: &Login, names: &[&str], wanted: &[&str]) -> Printed {
    let mut paths = Vec::new();
    let mut count = 0;
    for process in if names.is_empty() { Vec::new() } else { machine.expand("/proc/[0-9]*") } {
        let comm = format!("{process}/comm");
        let Ok(content) = machine.read(&comm, login) else { continue };
        let Some(name) = content.split(|&byte| byte == b'\n').next() else { continue };
        if !names.iter().any(|known| known.as_bytes() == name) {
            continue;
        }
        paths.push(comm);
        paths.extend(wanted.iter().filter(|&&file| file != "comm").map(|file| format!("{process}/{file}")));
        count += 1;
        if count == MOST_PROCESSES {
            break;
        }
    }
    files(machine, login, paths.into_iter())
}

fn environment(machine: &dyn Machine, login: &Login, prefixes: &[&str]) -> Printed {
    let wanted =
        |name: &str| is_name(name) && prefixes.iter().any(|prefix| is_name(prefix) && name.starts_with(prefix));
    let mut lines: Vec<String> = machine
        .environment(login)
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| match value.split_once('\n') {
            None => format!("{name}={value}\n"),
            Some((first, _)) => format!("{name}={first}{MORE_LINES}\n"),
        })
        .collect();
    lines.sort();
    lines.dedup();
    Printed { stdout: lines.concat().into_bytes(), ..Printed::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::testing::TestMachine;

    fn root() -> Login {
        Login { user: "root".to_owned(), is_root: true }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn files_are_printed_as_grep_does() {
        let machine = TestMachine::new("t").file("/a/1/x", "one\ntwo").file("/a/2/x", "").file("/b", "b\n");
        let machine = machine.refused("/a/3/x", crate::lab::machine::NotRead::Invalid);
        let printed = read(&machine, &root(), &Read::Files(&["/a/*/x", "/b", "/none/*"]), false, "esxcli", "@");
        assert_eq!(text(&printed.stdout), "/a/1/x:one\n/a/1/x:two\n/b:b\n");
        let complaints = "grep: /a/3/x: Invalid argument\ngrep: /none/*: No such file or directory\n";
        assert_eq!((text(&printed.stderr).as_str(), printed.status), (complaints, 2));
        let empty = read(&machine, &root(), &Read::Files(&["/a/2/x"]), false, "esxcli", "@");
        assert_eq!(empty, Printed::default());
    }

    #[test]
    fn programs_are_found_filtered_and_told_missing() {
        const ARGV: &[Word] = &[Word::Plain("say"), Word::Glob("/a/*")];
        let machine =
            TestMachine::new("t").file("/a/1", "").file("/a/2", "").says("say /a/1 /a/2", "1 x\n2 y\n3 x\n4 x", 3);
        let plain = read(&machine, &root(), &Read::Command { argv: ARGV, keep: None }, false, "esxcli", "@");
        assert_eq!((text(&plain.stdout).as_str(), plain.status), ("1 x\n2 y\n3 x\n4 x", 3));
        let keep = Some(Keep { any_of: &["x", "z"], last: 2 });
        let few = read(&machine, &root(), &Read::Command { argv: ARGV, keep }, false, "esxcli", "@");
        assert_eq!((text(&few.stdout).as_str(), few.status), ("3 x\n4 x\n", 3));
        let tail = Some(Keep { any_of: &[], last: 1 });
        assert_eq!(
            text(&read(&machine, &root(), &Read::Command { argv: ARGV, keep: tail }, false, "esxcli", "@").stdout),
            "4 x"
        );
        let missing =
            read(&machine, &root(), &Read::Command { argv: &[Word::Plain("nope")], keep }, false, "esxcli", "@");
        assert_eq!((text(&missing.stderr).as_str(), missing.status), ("nope: not found\n", 127));
    }

    #[test]
    fn processes_are_found_by_name_in_the_order_of_sh() {
        let mut machine = TestMachine::new("t");
        for (id, name) in [("7", "ib_write_bw"), ("10", "mpirun"), ("11", "sh")] {
            machine = machine.file(&format!("/proc/{id}/comm"), &format!("{name}\n"));
            machine = machine.file(&format!("/proc/{id}/limits"), "Max locked memory\n");
        }
        let wanted = Read::ProcessFiles { names: &["mpirun", "ib_write_bw"], files: &["comm", "limits"] };
        let printed = read(&machine, &root(), &wanted, false, "esxcli", "@");
        let expected = "/proc/10/comm:mpirun\n/proc/10/limits:Max locked memory\n/proc/7/comm:ib_write_bw\n/proc/7/limits:Max locked memory\n";
        assert_eq!((text(&printed.stdout).as_str(), printed.status), (expected, 0));
        let nobody =
            read(&machine, &root(), &Read::ProcessFiles { names: &["x"], files: &["limits"] }, false, "esxcli", "@");
        assert_eq!(nobody, Printed::default());
    }

    #[test]
    fn only_wanted_variables_are_printed() {
        let machine = TestMachine::new("t").variable("UCX_TLS", "rc").variable("UCX_L", "a\nb").variable("SECRET", "x");
        let printed = read(&machine, &root(), &Read::Environment(&["UCX_"]), false, "esxcli", "@");
        assert_eq!(text(&printed.stdout), "UCX_L=a [more lines]\nUCX_TLS=rc\n");
    }
}
