//! Targets that are files: outputs that the script of `collector` saved. They are read once, and again when the user
//! asks; nothing in them is live, and each fact keeps the time at which it was saved.

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
use crate::fabric::{Report, TargetId, Text, Timestamp};

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
        Err(_) => {
            Err(Problem::new(&format!("{target} could not be read"), "", "report this with the file, if you can"))
        }
    }
}

fn read_file(target: &TargetId, path: &Path, options: &Options) -> Result<Saved, Problem> {
    let shown = path.display();
    let unreadable = |error: &std::io::Error| {
        Problem::new(&format!("{shown} cannot be read: {}", reason(error)), "", "check the path behind `offline:`")
    };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Problem::new(&format!("{shown} is no regular file"), "", "check the path behind `offline:`"));
    }
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Problem::new(
            &format!("{shown} is larger than {} MiB", MOST_BYTES >> 20),
            "what `rdmascope collector` saves is never so large",
            "check the path behind `offline:`",
        ));
    }
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return snapshot(path, &bytes);
    }
    let archive = Archive::parse(&bytes).map_err(|error| {
        Problem::new(
            &format!("{shown} cannot be read as saved outputs: {error}"),
            "",
            &format!("its first line must begin with {MAGIC}; make one by `rdmascope collector` on the machine"),
        )
    })?;
    Ok(saved(target, path, &archive, options))
}

/// A document of `snapshot --out`.
fn snapshot(path: &Path, bytes: &[u8]) -> Result<Saved, Problem> {
    let what = match serde_json::from_slice::<serde_json::Value>(bytes) {
        Ok(document) if document.get("schema").is_some() => "reading snapshots (snapshot --out) is not built yet",
        Ok(_) => "it is a JSON document, and no snapshot of rdmascope",
        Err(_) => "it is no whole JSON document",
    };
    Err(Problem::new(
        &format!("{} cannot be read as saved outputs: {what}", path.display()),
        "",
        "make a file by `rdmascope collector` on the machine",
    ))
}

fn saved(target: &TargetId, path: &Path, archive: &Archive, options: &Options) -> Saved {
    let (system, probes) = match archive.system {
        kind::System::Esxi => (System::Esxi, &options.esxi),
        kind::System::Linux => (System::Linux, &options.probes),
    };
    let incomplete = (!archive.is_whole).then(|| {
        let (there, all) = (archive.sections.len(), archive.sources);
        Problem::new(
            &format!("{} ends early: {there} of {all} outputs are in it", path.display()),
            "the collector was ended before it was done, or the file was cut on its way",
            "run the collector again, or copy the file again",
        )
    });
    let age = age(archive.at, Timestamp::now());
    let host = if archive.host.is_empty() { String::new() } else { format!("{}, ", archive.host) };
    Saved {
        system,
        at: archive.at,
        words: Text::new(&format!("{host}saved {age} ({})", archive.at.strftime("%Y-%m-%d %H:%M UTC"))),
        incomplete,
        reports: archive.reports(target, probes),
    }
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

    #[tokio::test]
    async fn a_file_is_shown_and_shown_again_when_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("saved");
        let text = "@rdmascope-archive 1\nversion: 1\nsystem: linux\nhost: gpu1\ndate: 2026-01-02T03:04:05Z\nnonce: ab\n\
                    source: linux.system-release\n\n\n@rdmascope:ab 0 - begin\nhello\n\n@rdmascope:ab 0 - 0\n";
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
        assert!(text.contains("ends early: 1 of 1 outputs"), "{text}");
        std::fs::write(&path, "{\"a\":").expect("written");
        asking.send(Command::ReadNow).await.expect("it listens");
        let Some(Message::Connection { connection: Connection::Failed { problem }, .. }) = messages.recv().await else {
            panic!("not failed")
        };
        assert!(problem.what.contains("it is no whole JSON document"), "{problem}");
        cancelled.cancel();
        task.await.expect("it ends");
    }
}
