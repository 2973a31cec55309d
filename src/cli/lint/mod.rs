//! `lint`: what would go wrong with the configuration file of a VM, before it is powered on.

mod fix;
mod report;
mod sarif;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::args::{FailOn, Format, Global, LintArguments};
use super::lab::Subject as Targets;
use super::snapshot;
use super::{Exit, Failure, output};
use crate::collect::reason::reason;
use crate::config::Defect;
use crate::diagnose::lint::{HostView, PowerOn, Severity, Subject, Verdict, lint};
use crate::engine::vmx_file;
use crate::fabric::TargetId;
use crate::probe::vmx::{Dictionary, Snapshots};
use crate::record::snapshot_file;

use fix::Consent;
use report::File;

/// No snapshot of a site comes near this size.
const LARGEST_SNAPSHOT: u64 = 256 << 20;

/// Looks at all files and says what it found.
pub fn run(global: &Global, arguments: &LintArguments) -> Result<Exit, Failure> {
    if arguments.rules {
        if global.format != Format::Text {
            return Err(Defect::somewhere("--rules", "prints text only").into());
        }
        output::print(&report::rules())?;
        return Ok(Exit::Done);
    }
    let inputs = inputs(&arguments.paths, arguments.fix)?;
    let host = match host(global, arguments)? {
        Ok(host) => host,
        Err(signal) => return Ok(Exit::Signal(128u8.saturating_add(u8::try_from(signal).unwrap_or_default()))),
    };
    let consent = Consent::of(arguments.yes);
    let mut files = Vec::new();
    for input in inputs {
        let (file, dictionary) = judged(&input, &host);
        let (Input::File(path), Some(dictionary), true) = (&input, dictionary, arguments.fix) else {
            files.push(file);
            continue;
        };
        let fixed = fix::fix(path, &dictionary, &file.findings, consent, global.format)?;
        // What was written is looked at again: what is left is what counts.
        let written = fixed.as_ref().is_some_and(|fixed| fixed.backup.is_some());
        let file = if written { judged(&input, &host).0 } else { file };
        files.push(File { fixed, ..file });
    }
    let name = host.view.as_ref().map(|host| host.name.as_str());
    let text = match global.format {
        Format::Json => output::json(&report::document(&files, name, &host.problems))?,
        Format::Sarif => output::json(&sarif::document(&files, &host.problems))?,
        Format::Text | Format::Junit => report::text(&files),
    };
    output::print(&text)?;
    for problem in &host.problems {
        output::complain(&format!("rdmascope: {problem}"));
    }
    let threshold = match arguments.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
    };
    let found = files.iter().flat_map(|file| &file.findings).any(|finding| finding.rule.severity >= threshold);
    let refused = |file: &File| file.fixed.as_ref().is_some_and(|fixed| fixed.refused.is_some());
    let incomplete = !host.problems.is_empty() || files.iter().any(|file| file.problem.is_some() || refused(file));
    Ok(match (found, incomplete) {
        (true, _) => Exit::Findings,
        (false, true) => Exit::Incomplete,
        (false, false) => Exit::Done,
    })
}

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Input {
    Stdin,
    File(PathBuf),
    /// Something that cannot be read, and why.
    Unreadable(PathBuf, String),
}

/// All that the paths name; folders are looked through for `*.vmx`.
fn inputs(paths: &[PathBuf], fix: bool) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    let mut defects = Vec::new();
    for path in paths {
        let defect = |what: &str| Defect::somewhere(&path.display().to_string(), what);
        if path.as_os_str() == "-" {
            if fix {
                defects.push(defect("standard input cannot be changed; --fix needs a file"));
            }
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let (found, problems) = vmx_file::below(path);
            if found.is_empty() && problems.is_empty() {
                inputs.push(Input::Unreadable(path.clone(), "there is no *.vmx in it".to_owned()));
            }
            inputs.extend(found.into_iter().map(Input::File));
            inputs.extend(problems.into_iter().map(|(path, error)| Input::Unreadable(path, reason(&error))));
        } else if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            defects.push(defect("no such file or folder"));
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    if !defects.is_empty() {
        return Err(Failure::Usage(defects));
    }
    let mut seen = HashSet::new();
    inputs.retain(|input| seen.insert(input.clone()));
    Ok(inputs)
}

/// Reads one file and runs the rules over it.
fn judged(input: &Input, host: &Host) -> (File, Option<Dictionary>) {
    let (path, bytes) = match input {
        Input::Stdin => ("-".to_owned(), vmx_file::bounded(std::io::stdin().lock()).map_err(|error| reason(&error))),
        Input::File(path) => (path.display().to_string(), vmx_file::read(path).map_err(|error| reason(&error))),
        Input::Unreadable(path, why) => (path.display().to_string(), Err(why.clone())),
    };
    let unjudged = |path, why: String| {
        let file = File {
            path,
            power_on: PowerOn::unknown(why.clone()),
            findings: Vec::new(),
            problem: Some(why),
            fixed: None,
        };
        (file, None)
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(why) => return unjudged(path, format!("cannot be read: {why}")),
    };
    // What Notepad calls Unicode.
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return unjudged(path, "it is UTF-16, which no host reads as a VMX; save it as UTF-8".to_owned());
    }
    let vmx = Dictionary::parse(&bytes);
    if !vmx.is_plausible() {
        return unjudged(path, "this is no configuration file of a VM (VMX)".to_owned());
    }
    let snapshots = if let Input::File(path) = input { snapshots_beside(path) } else { None };
    let subject = Subject { vmx: &vmx, host: host.view.as_ref(), snapshots };
    let findings = lint(&subject);
    let mut power_on = PowerOn::of(&subject, &findings);
    if power_on.verdict == Verdict::Starts && host.is_unread() {
        power_on = PowerOn::unknown("nothing in the file speaks against it, but its host could not be read");
    }
    (File { path, power_on, findings, problem: None, fixed: None }, Some(vmx))
}

/// How many snapshots the VM has by the list beside its configuration; `None` without such a list.
fn snapshots_beside(path: &Path) -> Option<u64> {
    let bytes = vmx_file::read(&path.with_extension("vmsd")).ok()?;
    Some(Snapshots::read(&Dictionary::parse(&bytes)).count())
}

/// The host that the rules look at.
#[derive(Debug, Default)]
struct Host {
    view: Option<HostView>,
    /// What could not be found out about it.
    problems: Vec<String>,
}

impl Host {
    /// True if one was asked for and nothing is known of it.
    fn is_unread(&self) -> bool {
        self.view.is_none() && !self.problems.is_empty()
    }
}

/// The facts of the host: read now, or out of a snapshot; the number of the signal that ended the reading.
fn host(global: &Global, arguments: &LintArguments) -> Result<Result<Host, i32>, Failure> {
    match (&arguments.snapshot, &arguments.host) {
        (Some(file), name) => of_snapshot(file, name.as_deref()).map(Ok),
        (None, Some(target)) => of_target(global, target),
        (None, None) => Ok(Ok(Host::default())),
    }
}

fn of_target(global: &Global, target: &str) -> Result<Result<Host, i32>, Failure> {
    let subject = Targets::open(global, None, &[target.to_owned()])?;
    let collected = match snapshot::collect(&subject)? {
        Ok(collected) => collected,
        Err(signal) => return Ok(Err(signal)),
    };
    let mut host = Host::default();
    for status in &collected.targets {
        host.view = HostView::of(&collected.fabric, &status.name);
        if let Some(problem) = &status.problem {
            host.problems.push(format!("{}: {problem}", status.name));
        } else if host.view.is_none() {
            return Err(Defect::somewhere(target, "is no ESXi host; --host takes the host of the VM").into());
        }
    }
    Ok(Ok(host))
}

fn of_snapshot(file: &Path, name: Option<&str>) -> Result<Host, Failure> {
    let defect = |what: String| Failure::from(Defect::somewhere(&file.display().to_string(), what));
    let text = read_text(file).map_err(|error| defect(format!("cannot be read: {}", reason(&error))))?;
    let saved = snapshot_file::read(&text).map_err(defect)?;
    let wanted = name.map(TargetId::new);
    let views = saved.targets.iter().filter(|target| wanted.as_ref().is_none_or(|name| *name == target.name));
    let mut views: Vec<HostView> = views.filter_map(|target| HostView::of(&saved.fabric, &target.name)).collect();
    match (views.len(), name) {
        (1, _) => Ok(Host { view: views.pop(), problems: Vec::new() }),
        (0, Some(name)) => Err(defect(format!("holds no ESXi host {}", crate::config::error::quoted(name)))),
        (0, None) => Err(defect("holds no ESXi host".to_owned())),
        (_, _) => {
            let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
            Err(defect(format!("holds several hosts: {}; --host NAME chooses one", names.join(", "))))
        }
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(LARGEST_SNAPSHOT).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
