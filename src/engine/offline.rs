//! Targets that are files: outputs that the script of `collector` saved, and documents of `snapshot --format json`. They
//! are read once, and again when the user asks; nothing in them is live, and each fact keeps the time at which it was
//! read. A snapshot of several targets needs the name of one of them behind the file: `offline:FILE#NAME`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::once::System;
use super::plan::Options;
use crate::app::{Connection, Message, Problem, Severity};
use crate::collect::kind;
use crate::collect::poller::Command;
use crate::collect::reason::reason;
use crate::collect::transport::offline::{Archive, MAGIC, MOST_BYTES};
use crate::fabric::{Report, SourceId, TargetId, Text, Timestamp};
use crate::probe::Probe;
use crate::probe::switch::SwitchSystem;
use crate::record::snapshot_file::{self, SavedSnapshot};

/// The most bytes that a snapshot may have.
const LARGEST_SNAPSHOT: u64 = 256 << 20;

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Saved {
    /// What was read.
    pub system: System,
    /// When, by that machine's clock.
    pub at: Timestamp,
    /// Host and age, in words.
    pub words: Text,
    /// What is missing, if something is.
    pub incomplete: Option<Problem>,
    /// One report for each probe of which something was saved.
    pub reports: Vec<Report>,
}

/// Reads a file of saved outputs.
pub async fn read(target: &TargetId, path: &Path, options: &Options) -> Result<Saved, Problem> {
    let (id, file, options) = (target.clone(), path.to_owned(), options.clone());
    let reading = tokio::task::spawn_blocking(move || read_file(&id, &file, &options));
    match reading.await {
        Ok(result) => result,
        Err(_) => Err(Problem::new("the file could not be read", "", "report this with the file, if you can")),
    }
}

fn read_file(target: &TargetId, path: &Path, options: &Options) -> Result<Saved, Problem> {
    let (path, name) = file_and_name(path);
    let shown = path.display();
    let unreadable = |error: &std::io::Error| {
        Problem::new(&format!("{shown} cannot be read: {}", reason(error)), "", "check the path behind `offline:`")
    };
    let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Problem::new(&format!("{shown} is no regular file"), "", "check the path behind `offline:`"));
    }
    let mut file = std::fs::File::open(&path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    (&mut file).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let is_snapshot = bytes.trim_ascii_start().first() == Some(&b'{');
    if is_snapshot {
        let rest = LARGEST_SNAPSHOT.saturating_sub(bytes.len() as u64) + 1;
        file.take(rest).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    }
    let most = if is_snapshot { LARGEST_SNAPSHOT } else { MOST_BYTES };
    if bytes.len() as u64 > most {
        return Err(Problem::new(
            &format!("{shown} is larger than {} MiB", most >> 20),
            "what rdmascope saves is never so large",
            "check the path behind `offline:`",
        ));
    }
    if is_snapshot {
        return snapshot(target, &path, name.as_deref(), &String::from_utf8_lossy(&bytes), options);
    }
    let archive = Archive::parse(&bytes).map_err(|error| {
        Problem::new(
            &format!("{shown} cannot be read as saved outputs: {error}"),
            "",
            &format!(
                "its first line must begin with {MAGIC}; make one by `rdmascope collector` on the machine, or by \
                 `rdmascope snapshot --format json --out FILE`"
            ),
        )
    })?;
    if let Some(name) = name.filter(|name| *name != archive.host.as_str()) {
        return Err(Problem::new(
            &format!("{shown} holds no {}", Text::new(&name)),
            &format!("it holds what was saved on {}", archive.host),
            "leave out `#` and the name",
        ));
    }
    saved(target, &path, &archive, options)
}

/// The file, and the name of a target in it where one is given. A file whose own name has a `#` is that file.
fn file_and_name(path: &Path) -> (PathBuf, Option<String>) {
    let whole = || (path.to_owned(), None);
    if path.exists() {
        return whole();
    }
    let Some((file, name)) = path.to_str().and_then(|text| text.rsplit_once('#')) else { return whole() };
    if file.is_empty() || name.is_empty() { whole() } else { (PathBuf::from(file), Some(name.to_owned())) }
}

/// One target of a document of `snapshot --format json`.
fn snapshot(
    target: &TargetId,
    path: &Path,
    name: Option<&str>,
    text: &str,
    options: &Options,
) -> Result<Saved, Problem> {
    let shown = path.display();
    let SavedSnapshot { at, targets, .. } = snapshot_file::read(text)
        .map_err(|what| Problem::new(&format!("{shown} cannot be read: {what}"), "", "save the snapshot again"))?;
    let names = || targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ");
    let chosen = match (name, &targets[..]) {
        (Some(name), all) => all.iter().find(|target| target.name.as_str() == name).ok_or_else(|| {
            let what = format!("{shown} holds no {}", Text::new(name));
            Problem::new(&what, &format!("it holds {}", names()), "name one of these behind `#`")
        })?,
        (None, [one]) => one,
        (None, []) => return Err(Problem::new(&format!("{shown} holds no target"), "", "save the snapshot again")),
        (None, _) => {
            return Err(Problem::new(
                &format!("{shown} holds several targets: {}", names()),
                "",
                &format!("name one of them: {target}#NAME"),
            ));
        }
    };
    if !chosen.reachable {
        let cause = chosen.problem.as_ref().map(ToString::to_string).unwrap_or_default();
        let what = format!("{} was not reached when {shown} was saved", chosen.name);
        return Err(Problem::new(&what, &cause, "save a snapshot when it can be reached"));
    }
    let system = match chosen.kind.as_str() {
        "esxi" => System::Esxi,
        "linux" => System::Linux,
        "local" => System::Local,
        "switch" => switch_system(&chosen.report).map_or(System::Unknown, System::Switch),
        _ => System::Unknown,
    };
    let probes: &[Probe] = match system {
        System::Esxi => &options.esxi,
        System::Linux | System::Local => &options.probes,
        System::Switch(system) => system.probes(),
        System::Unknown => &[],
    };
    Ok(Saved {
        system,
        at,
        words: described(chosen.name.as_str(), at),
        incomplete: chosen.problem.clone(),
        reports: by_probe(chosen.report_as(target), probes),
    })
}

/// The system of a switch, by what was read on it.
fn switch_system(report: &Report) -> Option<SwitchSystem> {
    let sources: Vec<&str> = report
        .observations
        .iter()
        .map(|observation| observation.source.as_str())
        .chain(report.facts.iter().map(|fact| fact.reading.source.source.as_str()))
        .collect();
    let reads = |system: &SwitchSystem| {
        let names = system.probes().iter().flat_map(|probe| probe.sources).map(|source| source.name);
        names.into_iter().any(|name| sources.contains(&name))
    };
    SwitchSystem::ALL.into_iter().find(reads)
}

/// One report for each probe, as if it had just been run, and one for what none of them reads. (A snapshot holds all that
/// was read, so a probe of which there is nothing had nothing to say.)
fn by_probe(whole: Report, probes: &[Probe]) -> Vec<Report> {
    let of =
        |name: &str| Report { target: whole.target.clone(), probe: name.into(), observations: vec![], facts: vec![] };
    let mut reports: Vec<Report> = probes.iter().map(|probe| of(probe.name)).collect();
    reports.push(of(whole.probe.as_str()));
    let rest = probes.len();
    let place = |source: &SourceId| {
        let reads = |probe: &Probe| probe.sources.iter().any(|known| known.name == source.as_str());
        probes.iter().position(reads).unwrap_or(rest)
    };
    for observation in whole.observations {
        let at = place(&observation.source);
        reports[at].observations.push(observation);
    }
    for fact in whole.facts {
        let at = place(&fact.reading.source.source);
        reports[at].facts.push(fact);
    }
    reports
}

fn saved(target: &TargetId, path: &Path, archive: &Archive, options: &Options) -> Result<Saved, Problem> {
    let (system, probes, others) = match archive.system {
        kind::System::Esxi => (System::Esxi, &options.esxi, &options.probes),
        // The collector knows no switches.
        kind::System::Linux | kind::System::Switch(_) => (System::Linux, &options.probes, &options.esxi),
    };
    let known = |probes: &[Probe]| {
        let is_known = |name: &str| probes.iter().flat_map(|probe| probe.sources).any(|source| source.name == name);
        archive.sections.iter().filter(|(name, _)| is_known(name)).count()
    };
    let (fitting, foreign) = (known(probes), known(others));
    if fitting == 0 || foreign > fitting {
        let what = match system {
            System::Esxi => "an ESXi host",
            _ => "a Linux system",
        };
        return Err(Problem::new(
            &format!("{} says that it is of {what}, and its outputs are not of one", path.display()),
            "its header was changed, or the collector is of another version",
            "run the collector of this version again",
        ));
    }
    Ok(Saved {
        system,
        at: archive.at,
        words: described(&archive.host, archive.at),
        incomplete: incomplete(path, archive),
        reports: archive.reports(target, probes),
    })
}

/// So many names of outputs are told.
const MOST_NAMES: usize = 4;

/// What is missing in a file, if something is.
fn incomplete(path: &Path, archive: &Archive) -> Option<Problem> {
    let (shown, all) = (path.display(), archive.sources);
    let whole = all - archive.damaged.len();
    if !archive.has_end {
        let more = if archive.goes_on { "; another archive follows, which is not read" } else { "" };
        return Some(Problem::new(
            &format!("{shown} ends early: {whole} of {all} outputs are whole in it{more}"),
            "the collector was ended before it was done, or the file was cut on its way",
            "run the collector again, or copy the file again",
        ));
    }
    if !archive.damaged.is_empty() {
        let mut names: Vec<String> =
            archive.damaged.iter().take(MOST_NAMES).map(|name| Text::new(name).to_string()).collect();
        if let Some(more) = archive.damaged.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
            names.push(format!("and {more} more"));
        }
        return Some(Problem::new(
            &format!("{shown} is damaged: {whole} of {all} outputs are whole in it; not {}", names.join(", ")),
            "lines of it were lost or changed on its way",
            "copy the file again, or run the collector again",
        ));
    }
    archive.goes_on.then(|| {
        Problem::new(
            &format!("{shown} goes on behind its end; what stands there is not read"),
            "several files were joined to one",
            "take each as a file of its own",
        )
    })
}

/// Whose values they are, and how old.
fn described(host: &str, at: Timestamp) -> Text {
    let age = age(at, Timestamp::now());
    let host = if host.is_empty() { String::new() } else { format!("{host}, ") };
    Text::new(&format!("{host}saved {age} ({})", at.strftime("%Y-%m-%d %H:%M UTC")))
}

/// How long ago something was, in the largest unit of which there are two.
fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    if seconds < 0 {
        return "in the future, by the clock of that machine".to_owned();
    }
    let (number, unit) = match seconds {
        0..120 => (seconds, "seconds"),
        120..7200 => (seconds / 60, "minutes"),
        7200..172_800 => (seconds / 3600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{number} {unit} ago")
}

/// Shows a file in the console until that is cancelled.
pub async fn show(
    target: TargetId,
    path: PathBuf,
    options: Options,
    messages: mpsc::Sender<Message>,
    mut commands: mpsc::Receiver<Command>,
    cancelled: CancellationToken,
) {
    loop {
        let showing = async {
            for message in all_messages(&target, read(&target, &path, &options).await) {
                // Nobody listens any more only while everything ends.
                let _ = messages.send(message).await;
            }
        };
        tokio::select! {
            () = cancelled.cancelled() => return,
            () = showing => {}
        }
        tokio::select! {
            () = cancelled.cancelled() => return,
            command = commands.recv() => if command.is_none() { return },
        }
    }
}

fn all_messages(target: &TargetId, read: Result<Saved, Problem>) -> Vec<Message> {
    let now = Timestamp::now();
    let connection = |connection| Message::Connection { target: target.clone(), at: now, connection };
    match read {
        Err(problem) => vec![connection(Connection::Failed { problem })],
        Ok(Saved { at, words, incomplete, reports, .. }) => {
            let mut messages = vec![connection(Connection::Connected { since: now, via: words })];
            if let Some(problem) = incomplete {
                let text = Text::new(&problem.to_string());
                messages.push(Message::Notice {
                    target: Some(target.clone()),
                    at: now,
                    severity: Severity::Warning,
                    text,
                });
            }
            messages.extend(reports.into_iter().map(|report| Message::Report { at, report }));
            messages
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_unit_of_which_there_are_two() {
        let at = Timestamp::UNIX_EPOCH;
        for (seconds, expected) in
            [(5, "5 seconds ago"), (119, "119 seconds ago"), (7199, "119 minutes ago"), (260_000, "3 days ago")]
        {
            let now = Timestamp::from_second(seconds).expect("a time");
            assert_eq!(age(at, now), expected);
        }
        assert!(age(Timestamp::from_second(9).expect("a time"), at).starts_with("in the future"));
    }

    /// A snapshot with these targets, each with the name of its host.
    fn document(targets: &[(&str, bool)]) -> String {
        let targets: Vec<String> = targets
            .iter()
            .map(|(name, reachable)| {
                let problem = if *reachable {
                    "null".to_owned()
                } else {
                    r#"{"what": "no route", "cause": "", "next_step": ""}"#.to_owned()
                };
                format!(
                    r#"{{"name": "{name}", "kind": "esxi", "reachable": {reachable}, "problem": {problem}, "counters": {{}},
                    "facts": {{"host": {{"hostname": {{"state": "known", "value": "{name}.lab", "unit": null, "why": null,
                    "at": "2026-01-02T03:04:05Z", "source": "esxi.hostname", "command": "hostname", "line": 1}}}}}}}}"#
                )
            })
            .collect();
        format!(
            r#"{{"schema": "rdmascope.snapshot/1", "at": "2026-01-02T03:04:06Z", "rdmascope": "0.1.0", "links": [],
            "targets": [{}]}}"#,
            targets.join(",")
        )
    }

    #[tokio::test]
    async fn a_target_of_a_snapshot_is_read_with_its_times_and_commands() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site #1.json");
        let id = TargetId::new("offline:site #1.json");
        let named = |name: &str| PathBuf::from(format!("{}#{name}", path.display()));
        std::fs::write(&path, document(&[("esx1", true)])).expect("written");
        let options = Options::default();
        for path in [path.clone(), named("esx1")] {
            let saved = read(&id, &path, &options).await.expect("a snapshot");
            assert_eq!((saved.system, saved.incomplete), (System::Esxi, None));
            assert!(saved.words.starts_with("esx1, saved ") && saved.words.ends_with("(2026-01-02 03:04 UTC)"));
            let full = saved.reports.iter().filter(|report| !report.facts.is_empty());
            let [report] = &full.collect::<Vec<_>>()[..] else { panic!("one report with facts") };
            assert!(report.probe.as_str().starts_with("esxi."), "{}", report.probe);
            let (fact, read) = (&report.facts[0], &report.observations[0]);
            assert_eq!((&report.target, &*read.command), (&id, "hostname"));
            assert_eq!(fact.reading.source, read.reference());
            assert_eq!(fact.reading.at.to_string(), "2026-01-02T03:04:05Z");
        }
        std::fs::write(&path, document(&[("esx1", true), ("esx2", false)])).expect("written");
        let several = read(&id, &path, &options).await.expect_err("several");
        assert!(several.what.contains("holds several targets: esx1, esx2"), "{several}");
        assert!(several.next_step.contains("#NAME"), "{several}");
        assert!(read(&id, &named("esx1"), &options).await.is_ok());
        let unreached = read(&id, &named("esx2"), &options).await.expect_err("not reached");
        assert!(unreached.what.starts_with("esx2 was not reached") && &*unreached.cause == "no route");
        let nobody = read(&id, &named("esx3"), &options).await.expect_err("nobody");
        assert!(nobody.what.contains("holds no esx3") && nobody.cause.contains("esx1, esx2"), "{nobody}");
    }

    /// An archive of one output, with these words in the place of others.
    fn archive(replaced: &[(&str, &str)]) -> String {
        let marks = |text: &str| format!("\n@rdmascope:ab 0 - begin\n{text}\n@rdmascope:ab 0 - 0\n");
        let text = format!(
            "@rdmascope-archive 1\nversion: 1\nsystem: linux\nhost: gpu1\ndate: 2026-01-02T03:04:05Z\nnonce: ab\n\
             source: linux.device-nodes\n\n{}\n@rdmascope-archive ab stderr\n{}\n@rdmascope-archive ab end\n",
            marks("hello\n"),
            marks("")
        );
        replaced.iter().fold(text, |text, (from, to)| text.replacen(from, to, 1))
    }

    #[tokio::test]
    async fn what_an_archive_lacks_is_told_with_numbers_that_fit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("saved");
        let id = TargetId::new("offline:saved");
        let read = async |text: String| {
            std::fs::write(&path, text).expect("written");
            read(&id, &path, &Options::default()).await
        };
        let incomplete =
            async |text: String| read(text).await.expect("an archive").incomplete.map(|problem| problem.what);
        assert_eq!(incomplete(archive(&[])).await, None);
        let whole = archive(&[]);
        for (text, expected) in [
            (archive(&[(" 0 - 0\n", "\n")]), "is damaged: 0 of 1 outputs are whole in it; not linux.device-nodes"),
            (archive(&[(" 0 - 0\n", " 0 - 99999999999\n")]), "is damaged: 0 of 1 outputs"),
            (archive(&[("@rdmascope-archive ab end\n", "")]), "ends early: 1 of 1 outputs are whole in it"),
            (whole.split_once("ab stderr").expect("there").0.to_owned(), "ends early: 0 of 1 outputs are whole in it"),
            (format!("{whole}{whole}"), "goes on behind its end"),
        ] {
            let what = incomplete(text.clone()).await.unwrap_or_else(|| panic!("nothing is said of {text}"));
            assert!(what.contains(expected), "{what}");
        }
        let foreign = read(archive(&[("system: linux", "system: esxi")])).await.expect_err("it does not fit");
        assert!(foreign.what.contains("says that it is of an ESXi host, and its outputs are not of one"), "{foreign}");
    }

    #[tokio::test]
    async fn a_file_is_shown_and_shown_again_when_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("saved");
        let text = "@rdmascope-archive 1\nversion: 1\nsystem: linux\nhost: gpu1\ndate: 2026-01-02T03:04:05Z\nnonce: ab\n\
                    source: linux.device-nodes\n\n\n@rdmascope:ab 0 - begin\nhello\n\n@rdmascope:ab 0 - 0\n";
        std::fs::write(&path, text).expect("written");
        let id = TargetId::new("offline:saved");
        let (sender, mut messages) = mpsc::channel(64);
        let (asking, commands) = mpsc::channel(4);
        let cancelled = CancellationToken::new();
        let task = tokio::spawn(show(id, path.clone(), Options::default(), sender, commands, cancelled.clone()));
        let Some(Message::Connection { connection: Connection::Connected { via, .. }, .. }) = messages.recv().await
        else {
            panic!("not connected")
        };
        assert!(via.starts_with("gpu1, saved ") && via.ends_with("(2026-01-02 03:04 UTC)"), "{via}");
        let Some(Message::Notice { text, .. }) = messages.recv().await else { panic!("no notice") };
        assert!(text.contains("ends early: 0 of 1 outputs are whole in it"), "{text}");
        assert!(matches!(messages.recv().await, Some(Message::Report { .. })));
        std::fs::write(&path, "{\"a\":").expect("written");
        asking.send(Command::ReadNow).await.expect("it listens");
        let Some(Message::Connection { connection: Connection::Failed { problem }, .. }) = messages.recv().await else {
            panic!("not failed")
        };
        assert!(problem.what.contains("it is no snapshot"), "{problem}");
        cancelled.cancel();
        task.await.expect("it ends");
    }
}
