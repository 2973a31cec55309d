//! The audit log: one line of JSON for each step of a change of a target, on the disk before the step is taken. Its file is
//! only ever appended to, belongs to its owner alone, and no symbolic link is followed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The schema of its lines.
const SCHEMA: &str = "rdmascope.audit/1";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry<'a> {
    /// When: RFC 3339, UTC.
    pub at: String,
    /// What happens: `begin`, `end`, `verdict`.
    pub event: &'static str,
    /// Number of the change within its session.
    pub number: u64,
    /// The target.
    pub target: &'a str,
    /// Id of the check behind it; empty where it is not known.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub check: &'a str,
    /// What is done, or how it came out.
    pub title: &'a str,
    /// The commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// What came of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    user: &'a str,
    process: u32,
    #[serde(flatten)]
    entry: &'a Entry<'a>,
}

/// An audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    path: PathBuf,
    user: String,
}

impl Audit {
    /// The log in this file, kept for this user of this machine.
    pub fn new(path: PathBuf, user: String) -> Self {
        Self { path, user }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line and waits until it is on the disk.
    pub fn append(&self, entry: &Entry<'_>) -> io::Result<()> {
        let line = Line { schema: SCHEMA, user: &self.user, process: std::process::id(), entry };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        let is_new = !self.path.exists();
        let mut file = self.open()?;
        // One write: lines of two consoles do not mix.
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // A new file is on the disk only once its folder knows it.
        match self.path.parent().filter(|folder| is_new && !folder.as_os_str().is_empty()) {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may read or write it; chmod 600 it"));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(event: &'static str) -> Entry<'static> {
        Entry {
            at: "2026-01-01T00:00:00Z".to_owned(),
            event,
            number: 1,
            target: "esx01",
            check: "host.pvrdma-ruleset",
            title: "open it",
            commands: vec!["esxcli network".to_owned()],
            results: Vec::new(),
        }
    }

    #[test]
    fn lines_are_appended_whole_to_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state/rdmascope/audit.jsonl");
        let audit = Audit::new(path.clone(), "admin".to_owned());
        audit.append(&entry("begin")).expect("it can be written");
        audit.append(&entry("end")).expect("it can be written");
        let text = std::fs::read_to_string(&path).expect("it is there");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0]["event"].as_str(), lines[1]["event"].as_str()), (Some("begin"), Some("end")));
        assert_eq!((lines[0]["user"].as_str(), lines[0]["schema"].as_str()), (Some("admin"), Some(SCHEMA)));
        assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn no_link_is_followed_and_no_open_file_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(Audit::new(link, String::new()).append(&entry("begin")).is_err());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("its own file");
        let error = Audit::new(file, String::new()).append(&entry("begin")).expect_err("others may read it");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
