//! Reads a machine as a shell with our script would: the same text on both outputs for the same [`Read`].

use crate::lab::guest::templates::Append as _;
use std::sync::Arc;

use crate::fabric::{Fact, Observation, Outcome};
use crate::lab::machine::{Login, Machine};
use crate::probe::dialect::posix::MOST_PROCESSES;
use crate::probe::{Probe, Read, Source, Word};

/// What an answer consists of.
#[derive(Debug, Default)]
struct Text {
    stdout: String,
    stderr: String,
    status: u32,
}

/// Reads one source.
pub fn observe(machine: &dyn Machine, source: &Source, login: &Login) -> Arc<Observation> {
    let text = match source.read {
        Read::Files(patterns) => files(machine, patterns, login),
        Read::Each { .. } => Text { stdout: String::new(), stderr: String::new(), status: 127 },
        Read::Command { argv, keep } | Read::Privileged { argv, keep, .. } => {
            let argv: Vec<String> = argv
                .iter()
                .flat_map(|word| match word {
                    Word::Plain(text) => vec![(*text).to_owned()],
                    Word::Item(..) => vec![word.shown("")],
                    Word::Glob(pattern) => expanded(machine, pattern),
                })
                .collect();
            let answer = machine.run(&argv, login);
            let mut stdout = answer.stdout;
            if let Some(keep) = keep {
                let lines: Vec<&str> =
                    stdout.lines().filter(|line| keep.any_of.iter().any(|text| line.contains(text))).collect();
                let first = lines.len().saturating_sub(keep.last);
                stdout = lines[first..].iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
            }
            Text { stdout, stderr: answer.stderr, status: answer.status }
        }
        Read::ProcessFiles { names, files: wanted } => processes(machine, names, wanted, login),
        Read::Environment(prefixes) => {
            let variables = machine.environment(login).into_iter();
            let chosen = variables.filter(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
            let lines: Vec<String> = chosen.map(|(name, value)| format!("{name}={value}\n")).collect();
            Text { stdout: lines.concat(), ..Text::default() }
        }
    };
    let mut observation = Observation::of_text(source.name, &text.stdout).with_stderr(&text.stderr);
    observation.outcome = Outcome::Exit(i32::try_from(text.status).expect("a status"));
    Arc::new(observation)
}

/// The facts that a probe finds on a machine.
pub fn facts(machine: &dyn Machine, probe: &Probe, login: &Login) -> Vec<Fact> {
    let observations: Vec<_> = probe.sources.iter().map(|source| observe(machine, source, login)).collect();
    (probe.parse)(&observations)
}

fn expanded(machine: &dyn Machine, pattern: &str) -> Vec<String> {
    let found = machine.expand(pattern);
    // A pattern that matches nothing stays as it is.
    if found.is_empty() { vec![pattern.to_owned()] } else { found }
}

fn files(machine: &dyn Machine, patterns: &[&str], login: &Login) -> Text {
    let paths: Vec<String> = patterns.iter().flat_map(|pattern| expanded(machine, pattern)).collect();
    grep(machine, &paths, login)
}

fn grep(machine: &dyn Machine, paths: &[String], login: &Login) -> Text {
    let mut text = Text::default();
    for path in paths {
        match machine.read(path, login) {
            Ok(content) => {
                let content = String::from_utf8(content).expect("text");
                for line in content.lines() {
                    text.stdout.add(format_args!("{path}:{line}\n"));
                }
            }
            Err(why) => {
                text.stderr.add(format_args!("grep: {path}: {}\n", why.words()));
                text.status = 2;
            }
        }
    }
    text
}

fn processes(machine: &dyn Machine, names: &[&str], wanted: &[&str], login: &Login) -> Text {
    let mut paths = Vec::new();
    let mut count = 0;
    for folder in machine.expand("/proc/[0-9]*") {
        let Ok(name) = machine.read(&format!("{folder}/comm"), login) else { continue };
        let name = String::from_utf8(name).expect("a name");
        if count < MOST_PROCESSES && names.contains(&name.trim_end()) {
            count += 1;
            paths.push(format!("{folder}/comm"));
            paths.extend(wanted.iter().map(|file| format!("{folder}/{file}")));
        }
    }
    grep(machine, &paths, login)
}
