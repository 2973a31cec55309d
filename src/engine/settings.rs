//! Finds, reads and writes the files that hold settings and inventory.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::collect::reason::reason;
use crate::config::sample::SAMPLE;
use crate::config::{Configuration, Defect, Defects, Settings};

/// The largest configuration file that is read, in bytes: a larger one is none of ours.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// What was read, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The file that holds the configuration, whether it is there or not.
    pub path: PathBuf,
    /// True if it is there.
    pub exists: bool,
    /// What it says; the defaults if it is not there.
    pub configuration: Configuration,
}

/// The file that holds the configuration: the one named on the command line, else `rdmascope/config.toml` in the XDG
/// configuration directory.
pub fn path(named: Option<&Path>) -> Result<PathBuf, Defect> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let strategy = etcetera::base_strategy::Xdg::new().map_err(|_| {
        Defect::somewhere("configuration", "the home directory is not known; name a file with --config FILE")
    })?;
    Ok(strategy.config_dir().join("rdmascope").join("config.toml"))
}

/// The directory of the user's own themes (`themes`) and key maps (`keymaps`): the one that the configuration file lies in.
pub fn directory(named: Option<&Path>) -> Option<PathBuf> {
    path(named).ok().map(|path| folder_of(&path).to_owned())
}

/// Reads the configuration and takes in the environment. A file that is not there is normal, unless it was named.
pub fn load(named: Option<&Path>) -> Result<Loaded, Defects> {
    let path = path(named)?;
    let shown = path.display().to_string();
    let text = match read_text(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => None,
        Err(error) => return Err(Defect::somewhere(&shown, format!("cannot be read: {}", reason(&error))).into()),
    };
    let exists = text.is_some();
    let mut configuration = match text {
        Some(text) => Configuration::parse(&shown, &text)?,
        None => Configuration::default(),
    };
    if !configuration.alert_hook.is_empty()
        && let Some(defect) = hook_defect(&path)
    {
        return Err(defect.into());
    }
    let look_up = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    configuration.settings.take_environment(look_up).map_err(Defects)?;
    Ok(Loaded { path, exists, configuration })
}

/// Writes the commented sample to where the configuration belongs. Never touches what is there already, not even
/// behind a symbolic link. Returns the path.
pub fn write_sample(named: Option<&Path>) -> Result<PathBuf, Defect> {
    let path = path(named)?;
    let shown = path.display().to_string();
    let problem = |error: &io::Error| Defect::somewhere(&shown, format!("cannot be written: {}", reason(error)));
    let folder = folder_of(&path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| problem(&error))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| problem(&error))?;
    file.write_all(SAMPLE.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(|error| problem(&error))?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Defect::somewhere(&shown, "is there already and is left as it is"))
        }
        Err(error) => Err(problem(&error.error)),
    }
}

/// Writes a file that only its owner may read, whole or not at all. An older file of that name is replaced; anything
/// else there (a symbolic link, a folder, a device) is refused.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), Defect> {
    let shown = path.display().to_string();
    let problem = |error: &io::Error| Defect::somewhere(&shown, format!("cannot be written: {}", reason(error)));
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            return Err(Defect::somewhere(&shown, "is a symbolic link, which is not followed; name the file itself"));
        }
        Ok(found) if !found.is_file() => return Err(Defect::somewhere(&shown, "is no regular file")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(problem(&error)),
    }
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path)).map_err(|error| problem(&error))?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(|error| problem(&error))?;
    file.persist(path).map(drop).map_err(|error| problem(&error.error))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// The text of a regular file of reasonable size.
pub fn read_text(path: &Path) -> io::Result<String> {
    // Asked before it is opened: whoever opens a pipe waits for the other end.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if metadata.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe"));
    }
    let file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {LARGEST_FILE} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8"))
    })
}

/// Why a file cannot stand for OpenSSH's configuration, if it cannot: `ssh` reads it anew for each host, takes a folder
/// for an empty file, waits for ever at a pipe and swallows memory at a device. `none` and `/dev/null` mean no file.
/// `said` names the option, variable or line that says so.
pub fn ssh_config_defect(path: &Path, said: &str) -> Option<Defect> {
    if path.as_os_str().eq_ignore_ascii_case("none") || path.as_os_str() == "/dev/null" {
        return None;
    }
    let why = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => return None,
        Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
        Ok(_) => "it is no regular file".to_owned(),
        Err(error) => reason(&error),
    };
    Some(Defect::somewhere(said, format!("{} cannot be read: {why}", path.display())))
}

/// Why a file must not name a program that is run, if it must not: somebody else could have written it.
fn hook_defect(path: &Path) -> Option<Defect> {
    let shown = path.display();
    let what = match fs::metadata(path) {
        Err(error) => format!("cannot be read: {}", reason(&error)),
        Ok(file) if file.uid() != rustix::process::geteuid().as_raw() => {
            format!(
                "names an \"alert_hook\" and belongs to another user: chown it, or take the line out (chown $USER {shown})"
            )
        }
        Ok(file) if file.mode() & 0o022 != 0 => format!(
            "names an \"alert_hook\" and can be written by others than you, who could have it run anything: chmod go-w {shown}"
        ),
        Ok(_) => return None,
    };
    Some(Defect::somewhere(&shown.to_string(), what))
}

/// The file that stands for OpenSSH's configuration, with `~` as the home directory.
pub fn ssh_config(settings: &Settings) -> Option<PathBuf> {
    let path = settings.ssh_config.value.as_ref()?;
    match path.strip_prefix("~").ok().zip(etcetera::home_dir().ok()) {
        Some((rest, home)) => Some(home.join(rest)),
        None => Some(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
    }

    #[test]
    fn the_sample_is_written_once_and_privately() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/rdmascope/config.toml");
        assert_eq!(write_sample(Some(&path)).expect("written"), path);
        assert_eq!(fs::read_to_string(&path).expect("text"), SAMPLE);
        assert_eq!(mode(&path), 0o600);
        assert!(load(Some(&path)).expect("the sample is valid").exists);
        fs::write(&path, "plain = true\n").expect("a change");
        let again = write_sample(Some(&path)).expect_err("it is there");
        assert!(again.to_string().ends_with("is there already and is left as it is"), "{again}");
        assert_eq!(fs::read_to_string(&path).expect("text"), "plain = true\n");
        assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("entries").count(), 1, "nothing is left over");
    }

    #[test]
    fn a_hook_is_taken_only_from_a_file_that_others_cannot_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "alert_hook = [\"/bin/true\"]\n").expect("a file");
        let set = |mode: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its own file");
        set(0o644);
        assert_eq!(load(Some(&path)).expect("its own file").configuration.alert_hook, ["/bin/true"]);
        for mode in [0o664, 0o646] {
            set(mode);
            let told = load(Some(&path)).expect_err("others can write it").to_string();
            assert!(told.contains("can be written by others than you") && told.contains("chmod go-w"), "{told}");
        }
        fs::write(&path, "plain = true\n").expect("a file");
        assert!(load(Some(&path)).is_ok(), "without a hook nothing hangs on it");
    }

    #[test]
    fn no_symbolic_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, elsewhere) = (folder.path().join("link"), folder.path().join("elsewhere"));
        symlink(&elsewhere, &link).expect("a dangling link");
        assert!(write_sample(Some(&link)).is_err());
        assert!(write_private(&link, b"x").expect_err("a link").to_string().contains("symbolic link"));
        assert!(write_private(folder.path(), b"x").expect_err("a folder").to_string().contains("no regular file"));
        assert!(!elsewhere.exists());
    }

    #[test]
    fn a_private_file_is_replaced_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.json");
        fs::write(&path, "old").expect("an older one");
        write_private(&path, b"new").expect("written");
        assert_eq!((fs::read_to_string(&path).expect("text").as_str(), mode(&path)), ("new", 0o600));
        let nowhere = write_private(&folder.path().join("no/such/out.json"), b"x").expect_err("no folder");
        assert!(nowhere.to_string().ends_with("cannot be written: no such file or directory"), "{nowhere}");
    }

    #[test]
    fn a_named_file_must_be_there_and_be_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let absent = load(Some(&folder.path().join("absent.toml"))).expect_err("not there");
        assert!(absent.to_string().ends_with("absent.toml: cannot be read: no such file or directory"), "{absent}");
        let binary = folder.path().join("binary.toml");
        fs::write(&binary, b"plain = true\n\xff\xfe").expect("a file");
        let wrong = load(Some(&binary)).expect_err("not text");
        assert!(wrong.to_string().contains("line 2 is not UTF-8"), "{wrong}");
        let folder_itself = load(Some(folder.path())).expect_err("a folder");
        assert!(folder_itself.to_string().contains("it is a directory"), "{folder_itself}");
    }
}
