//! The folder of baselines: one file each, named like the baseline. A file is there whole or not at all and belongs to its
//! owner alone; no symbolic link is followed, and a name cannot lead out of the folder.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::private_file::{self, is_folder};
use crate::collect::reason::reason;
use crate::tune::baseline::{self, Baseline, wrong_name};

/// No baseline comes near this size.
pub const LARGEST: u64 = 64 << 20;

/// How files begin that are being written.
const UNFINISHED: &str = ".baseline-";

/// A folder of baselines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

/// Why a baseline could not be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// There is one of this name.
    Exists,
    /// What went wrong, with the file.
    Trouble(String),
}

/// One file of the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The name of the baseline.
    pub name: String,
    /// What is in it, or why it cannot be used.
    pub content: Result<Baseline, String>,
}

impl Folder {
    /// The folder at this path, whether it is there or not.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where a baseline lies. The error says what is wrong with the name.
    pub fn file(&self, name: &str) -> Result<PathBuf, String> {
        match wrong_name(name) {
            Some(what) => Err(what),
            None => Ok(self.path.join(format!("{name}.json"))),
        }
    }

    /// Reads one baseline. The error says why it cannot be used, with its file.
    pub fn read(&self, name: &str) -> Result<Baseline, String> {
        let file = self.file(name)?;
        let shown = file.display();
        match is_folder(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.missing(name)),
            Err(error) => return Err(format!("{}: {}", self.path.display(), reason(&error))),
            Ok(()) => {}
        }
        if fs::symlink_metadata(&file).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(self.missing(name));
        }
        let text = private_file::read(&file, LARGEST).map_err(|why| format!("{shown}: {why}"))?;
        baseline::read(&text).map_err(|why| format!("{shown}: {why}"))
    }

    fn missing(&self, name: &str) -> String {
        let there = self.names().unwrap_or_default();
        let nearest = there
            .iter()
            .max_by(|one, other| strsim::jaro_winkler(one, name).total_cmp(&strsim::jaro_winkler(other, name)));
        let hint = match nearest {
            None => "none is saved yet".to_owned(),
            Some(nearest) if strsim::jaro_winkler(nearest, name) > 0.8 => format!("is it {nearest}?"),
            Some(_) => format!("there are {}", there.join(", ")),
        };
        format!("there is no baseline of this name in {}: {hint}", self.path.display())
    }

    /// Saves one, whole or not at all. One of the same name is replaced if `replace` says so.
    pub fn save(&self, name: &str, baseline: &Baseline, replace: bool) -> Result<PathBuf, Unsaved> {
        let file = self.file(name).map_err(Unsaved::Trouble)?;
        let trouble = |error: &io::Error| Unsaved::Trouble(format!("{}: {}", file.display(), reason(error)));
        let content = serde_json::to_string_pretty(baseline).map_err(|error| trouble(&error.into()))? + "\n";
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path).map_err(|error| trouble(&error))?;
        is_folder(&self.path)
            .map_err(|error| Unsaved::Trouble(format!("{}: {}", self.path.display(), reason(&error))))?;
        if let Ok(found) = fs::symlink_metadata(&file)
            && !found.is_file()
        {
            return Err(Unsaved::Trouble(format!("{}: it is no regular file; remove it", file.display())));
        }
        let mut begun = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .suffix(".tmp")
            .tempfile_in(&self.path)
            .map_err(|error| trouble(&error))?;
        begun
            .write_all(content.as_bytes())
            .and_then(|()| begun.as_file().sync_all())
            .map_err(|error| trouble(&error))?;
        let kept = if replace { begun.persist(&file) } else { begun.persist_noclobber(&file) };
        match kept {
            Ok(_) => {}
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => return Err(Unsaved::Exists),
            Err(refused) => return Err(trouble(&refused.error)),
        }
        // A name that is lost with the power is saved again.
        let _ = File::open(&self.path).and_then(|folder| folder.sync_all());
        Ok(file)
    }

    /// All that there are, by name.
    pub fn list(&self) -> Result<Vec<Listed>, String> {
        let names = self.names()?;
        Ok(names.into_iter().map(|name| Listed { content: self.read(&name), name }).collect())
    }

    fn names(&self) -> Result<Vec<String>, String> {
        let told = |error: &io::Error| format!("{}: {}", self.path.display(), reason(error));
        match is_folder(&self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(told(&error)),
        }
        let entries = fs::read_dir(&self.path).map_err(|error| told(&error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
                // Anything else that lies there is none of ours.
                wrong_name(&name).is_none().then_some(name)
            })
            .collect();
        names.sort();
        Ok(names)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const MEASURED: &str =
        r#"{"schema": "rdmascope.baseline/1", "name": "a", "metrics": [{"name": "x", "values": [1, 2]}]}"#;

    fn folder() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("state").join("baselines");
        (home, Folder::new(path))
    }

    fn measured() -> Baseline {
        baseline::read(MEASURED).expect("a baseline")
    }

    #[test]
    fn what_is_saved_is_read_again_and_belongs_to_its_owner() {
        let (_home, folder) = folder();
        assert_eq!(folder.list(), Ok(Vec::new()));
        let file = folder.save("a", &measured(), false).expect("saved");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder.path()).expect("there").permissions().mode() & 0o777, 0o700);
        assert_eq!(folder.read("a"), Ok(measured()));
        assert_eq!(folder.save("a", &measured(), false), Err(Unsaved::Exists));
        assert!(folder.save("a", &measured(), true).is_ok());
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1, "nothing unfinished is left");
        let missing = folder.read("b").expect_err("it is not there");
        assert!(missing.contains("there is no baseline of this name"), "{missing}");
    }

    #[test]
    fn links_and_names_lead_nowhere() {
        let (home, folder) = folder();
        let secret = home.path().join("secret.json");
        fs::write(&secret, MEASURED).expect("written");
        folder.save("a", &measured(), false).expect("saved");
        symlink(&secret, folder.path().join("link.json")).expect("a link");
        assert!(folder.read("link").expect_err("a link").contains("symbolic link"));
        let refused = folder.save("link", &measured(), true).expect_err("a link");
        assert!(matches!(refused, Unsaved::Trouble(what) if what.contains("no regular file")));
        assert_eq!(fs::read_to_string(&secret).expect("there"), MEASURED);
        for name in ["../secret", "", "a/b"] {
            assert!(folder.read(name).is_err() && folder.save(name, &measured(), true).is_err(), "{name}");
        }
        let linked = Folder::new(home.path().join("elsewhere"));
        symlink(folder.path(), linked.path()).expect("a link");
        assert!(linked.read("a").expect_err("a link").contains("symbolic link") && linked.list().is_err());
        assert!(linked.save("b", &measured(), false).is_err());
    }

    #[test]
    fn what_cannot_be_used_is_listed_with_the_reason() {
        let (_home, folder) = folder();
        folder.save("good", &measured(), false).expect("saved");
        fs::write(folder.path().join("newer.json"), MEASURED.replace("/1", "/9")).expect("written");
        fs::write(folder.path().join("notes.txt"), "x").expect("written");
        let listed = folder.list().expect("a folder");
        let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["good", "newer"]);
        let why = listed[1].content.as_ref().expect_err("a newer one");
        assert!(why.contains("written by a newer one"), "{why}");
    }
}
