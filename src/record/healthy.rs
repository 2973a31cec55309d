//! The folder of healthy snapshots of one inventory: a file for each day on which nothing was wrong at some time. A file is
//! there whole or not at all, belongs to its owner alone, and no symbolic link is followed; two consoles that keep the same
//! day do not disturb each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;

use super::private_file::{self, is_folder};
use super::snapshot_file::{self, SavedSnapshot};
use crate::app::healthy::{HealthyRead, KeptTarget};
use crate::collect::reason::reason;
use crate::diagnose::difference::is_kept;
use crate::fabric::{Report, TargetId, Text, Timestamp};

/// No healthy snapshot of a site comes near this size.
const LARGEST: u64 = 64 << 20;

/// How files begin that are being written.
const UNFINISHED: &str = ".healthy-";

/// How long a file may be written; an older one was left by a program that was killed.
const LONGEST_WRITE: Duration = Duration::from_hours(24);

/// So many snapshots stay whatever their days.
const LEAST: usize = 3;

/// A folder of healthy snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    /// How many days a snapshot is kept.
    days: u32,
}

/// What is in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// What was kept of each target.
    pub parts: Vec<Report>,
    /// From where, and what could not be used.
    pub read: HealthyRead,
}

impl Folder {
    /// The folder at this path, whether it is there or not.
    pub fn new(path: PathBuf, days: u32) -> Self {
        Self { path, days }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the newest snapshot, and for those of the wanted targets that are not in it the newest one in which they
    /// are. What cannot be used is passed over and told. A folder that is not there is empty.
    pub fn read(&self, wanted: &[TargetId], now: Timestamp) -> Result<Found, String> {
        let mut found = Found::default();
        let mut missing: BTreeSet<&TargetId> = wanted.iter().collect();
        let tomorrow = date(now).saturating_add(jiff::Span::new().days(1));
        let mut is_first = true;
        for (day, file) in self.files()?.into_iter().rev() {
            let mut pass_over = |why: String| {
                found.read.passed_over.push(Text::new(&format!("{}: {why}", file.display())));
            };
            if day > tomorrow {
                pass_over("it is of a day to come: a clock was wrong then, or is now; remove it".to_owned());
                continue;
            }
            let snapshot = match read_file(&file) {
                Ok(snapshot) => snapshot,
                Err(why) => {
                    pass_over(why);
                    continue;
                }
            };
            let at = snapshot.at;
            if date(at) > tomorrow {
                pass_over(format!("it says that it was made on {}, a day to come; remove it", date(at)));
                continue;
            }
            for target in snapshot.targets {
                let is_asked = is_first || missing.contains(&target.name);
                if !is_asked || found.read.targets.contains_key(&target.name) {
                    continue;
                }
                missing.remove(&target.name);
                let kept = KeptTarget { at, file: Text::new(&file.display().to_string()) };
                found.read.targets.insert(target.name, kept);
                let mut report = target.report;
                report.facts.retain(|fact| is_kept(&fact.entity, fact.attribute));
                found.parts.push(report);
            }
            is_first = false;
            if missing.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Keeps a snapshot of this day, unless there is one already that can be read; then older ones go whose days are over.
    /// The error says what went wrong with which file.
    pub fn keep(&self, day: &str, content: &[u8]) -> Result<(), String> {
        let file = self.path.join(format!("{day}.json"));
        let problem = |error: &io::Error| format!("{}: {}", file.display(), reason(error));
        self.make().map_err(|(path, error)| format!("{}: {}", path.display(), reason(&error)))?;
        let mut begun = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .suffix(".tmp")
            .tempfile_in(&self.path)
            .map_err(|error| problem(&error))?;
        begun.write_all(content).and_then(|()| begun.as_file().sync_all()).map_err(|error| problem(&error))?;
        match begun.persist_noclobber(&file) {
            Ok(_) => {}
            // Another console was quicker. What cannot be read is replaced: it was of no use to anyone.
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => {
                let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
                if is_file && read_file(&file).is_err() {
                    refused.file.persist(&file).map_err(|error| problem(&error.error))?;
                } else if !is_file {
                    return Err(format!("{}: it is no regular file; remove it", file.display()));
                }
            }
            Err(refused) => return Err(problem(&refused.error)),
        }
        // A name that is lost with the power is written again the next time.
        let _ = File::open(&self.path).and_then(|folder| folder.sync_all());
        self.prune(day);
        Ok(())
    }

    /// Makes the folder; the one in which the folders of all inventories lie, and that of this one, must be true folders.
    fn make(&self) -> Result<(), (PathBuf, io::Error)> {
        let parent = self.path.parent().unwrap_or(&self.path);
        for folder in [parent, &self.path] {
            let told = |error: io::Error| (folder.to_owned(), error);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(told)?;
            is_folder(folder).map_err(told)?;
        }
        Ok(())
    }

    /// The snapshots by day, the oldest first.
    fn files(&self) -> Result<BTreeMap<Date, PathBuf>, String> {
        let told = |error: &io::Error| format!("{}: {}", self.path.display(), reason(error));
        match is_folder(&self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(told(&error)),
        }
        let entries = fs::read_dir(&self.path).map_err(|error| told(&error))?;
        let days = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let day = path.file_name()?.to_str()?.strip_suffix(".json")?;
            // Anything else that lies there is none of ours.
            (day.len() == 10).then(|| day.parse().ok()).flatten().map(|day| (day, path.clone()))
        });
        Ok(days.collect())
    }

    /// Removes snapshots whose days are over, and what was never finished. What cannot be removed stays.
    fn prune(&self, today: &str) {
        let Ok(today) = today.parse::<Date>() else { return };
        let first = today.saturating_sub(jiff::Span::new().days(i64::from(self.days.max(1)) - 1));
        // A clock that was wrong once must not take all that there is.
        let files = self.files().unwrap_or_default();
        let over = files.len().saturating_sub(LEAST);
        for (_, file) in files.into_iter().take(over).filter(|(day, _)| *day < first) {
            let _ = fs::remove_file(file);
        }
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
            let age = entry.metadata().and_then(|known| known.modified()).map(|at| at.elapsed().unwrap_or_default());
            if is_ours && age.is_ok_and(|age| age > LONGEST_WRITE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn date(at: Timestamp) -> Date {
    at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date()
}

/// Reads one snapshot; the error says why it cannot be used.
fn read_file(path: &Path) -> Result<SavedSnapshot, String> {
    let text = private_file::read(path, LARGEST)?;
    let snapshot = snapshot_file::read(&text)?;
    let own = env!("CARGO_PKG_VERSION");
    match snapshot.version.as_deref() {
        Some(version) if version == own => Ok(snapshot),
        // Another version reads other things of a target: they would all look changed.
        Some(version) => Err(format!("it was written by version {version} of this program, which is {own}")),
        None => Err("it does not say by which version of the program it was written".to_owned()),
    }
}

#[cfg(test)]
#[path = "healthy_tests.rs"]
mod tests;
