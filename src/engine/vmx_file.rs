//! VMX files on this machine: found below a folder, read within bounds, and replaced whole, with a backup, while their VM
//! is off.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::collect::reason::reason;
use crate::config::Defect;

/// No VMX comes near this size; what is larger is something else.
pub const LARGEST: u64 = 4 << 20;
/// Folders below one another at most; deeper ones are no datastore.
const DEEPEST: usize = 32;

/// All files `*.vmx` below a folder, in the order of their names. Links to folders are not followed: they can lead in a
/// circle. The second list tells what could not be looked into, and why.
pub fn below(folder: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, io::Error)>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    walk(folder, DEEPEST, &mut found, &mut problems);
    found.sort();
    (found, problems)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, problems: &mut Vec<(PathBuf, io::Error)>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return problems.push((folder.to_owned(), error)),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => match depth.checked_sub(1) {
                Some(depth) => walk(&path, depth, found, problems),
                None => problems.push((path, io::Error::other(format!("it lies more than {DEEPEST} folders below")))),
            },
            Ok((path, _)) => {
                if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vmx")) && !path.is_dir() {
                    found.push(path);
                }
            }
            Err(error) => problems.push((folder.to_owned(), error)),
        }
    }
}

/// The bytes of a regular file of at most [`LARGEST`] bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before it is opened: whoever opens a pipe waits for the other end.
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    bounded(File::open(path)?)
}

/// All bytes of a stream, at most [`LARGEST`].
pub fn bounded(stream: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {LARGEST} bytes")));
    }
    Ok(bytes)
}

/// The file beside a VMX that says its VM is on or its files are in use, if there is one: a lock, the swap file, or the copy
/// that the VM's process keeps while it runs.
pub fn in_use_by(path: &Path) -> io::Result<Option<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let of_vm = |other: &str| {
        let other = other.strip_prefix('.').unwrap_or(other);
        let other = other.strip_prefix("vmx-").unwrap_or(other);
        other.strip_prefix(stem.as_str()).is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        let other = entry.file_name().to_string_lossy().to_lowercase();
        let ending = other.rsplit_once('.').map_or("", |(_, ending)| ending);
        // `.lck-...` is how a datastore on NFS locks a file.
        if (matches!(ending, "lck" | "vswp") && of_vm(&other))
            || other.starts_with(".lck-")
            || other == format!("{name}~")
        {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Replaces a VMX that held `before`: the old bytes go to a backup beside it, the new ones take its place in one step, with
/// its owner, group and mode. Refused if it is a link, is in use, or holds something else by now. Returns the backup.
pub fn replace(path: &Path, before: &[u8], after: &[u8], stamp: &str) -> Result<PathBuf, Defect> {
    let shown = path.display().to_string();
    let refuse = |what: String| Defect::somewhere(&shown, what);
    let problem = |error: &io::Error| refuse(format!("cannot be written: {}", reason(error)));
    let found = fs::symlink_metadata(path).map_err(|error| problem(&error))?;
    if found.is_symlink() {
        return Err(refuse("is a symbolic link, which is not followed; name the file itself".to_owned()));
    }
    if !found.is_file() {
        return Err(refuse("is no regular file".to_owned()));
    }
    if let Some(lock) = in_use_by(path).map_err(|error| problem(&error))? {
        return Err(refuse(in_use(&lock)));
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(no_follow());
    let file = options.open(path).map_err(|error| problem(&error))?;
    let opened = file.metadata().map_err(|error| problem(&error))?;
    let same = (opened.dev(), opened.ino()) == (found.dev(), found.ino());
    if !same || bounded(&file).map_err(|error| problem(&error))? != before {
        return Err(refuse("was changed meanwhile; nothing was written".to_owned()));
    }
    let mut new = tempfile::NamedTempFile::new_in(folder_of(path)).map_err(|error| problem(&error))?;
    fill(new.as_file_mut(), after, &opened).map_err(|error| problem(&error))?;
    let backup = backup(path, before, &opened, stamp).map_err(|error| problem(&error))?;
    new.persist(path).map_err(|error| problem(&error.error))?;
    // The names themselves reach the disk with their folder; a file system that cannot do that has no more to offer.
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(backup)
}

/// Why a VMX is not touched while this file lies beside it.
pub fn in_use(lock: &Path) -> String {
    let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("{name} lies beside it: the VM is on, or its files are locked; shut the VM down first. Nothing was written")
}

/// Writes bytes, gives the file the owner, group and mode of another one, and waits for the disk.
fn fill(file: &mut File, bytes: &[u8], like: &fs::Metadata) -> io::Result<()> {
    file.write_all(bytes)?;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        fchown(&*file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
    file.sync_all()
}

/// A new file beside the VMX with its old bytes.
fn backup(path: &Path, before: &[u8], like: &fs::Metadata, stamp: &str) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    for number in 0..100 {
        let mut other = name.to_os_string();
        other.push(format!(".bak-{stamp}"));
        if number > 0 {
            other.push(format!("-{number}"));
        }
        let other = path.with_file_name(other);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&other) {
            Ok(mut file) => {
                if let Err(error) = fill(&mut file, before, like) {
                    let _ = fs::remove_file(&other);
                    return Err(error);
                }
                return Ok(other);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are a hundred backups of this second"))
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn vm() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vm 1.vmx");
        fs::write(&path, "a = \"1\"\n").expect("a file");
        (folder, path)
    }

    fn refused(path: &Path) -> String {
        replace(path, b"a = \"1\"\n", b"x", "s").expect_err("refused").to_string()
    }

    #[test]
    fn the_file_is_replaced_whole_with_a_backup_and_keeps_its_mode() {
        let (folder, path) = vm();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
        let backup = replace(&path, b"a = \"1\"\n", b"a = \"2\"\n", "20261130T070000Z").expect("written");
        assert_eq!(backup, folder.path().join("vm 1.vmx.bak-20261130T070000Z"));
        assert_eq!(fs::read(&path).expect("new"), b"a = \"2\"\n");
        assert_eq!(fs::read(&backup).expect("old"), b"a = \"1\"\n");
        for file in [&path, &backup] {
            assert_eq!(fs::metadata(file).expect("there").mode() & 0o7777, 0o755);
        }
        let second = replace(&path, b"a = \"2\"\n", b"a = \"3\"\n", "20261130T070000Z").expect("written");
        assert_eq!(second, folder.path().join("vm 1.vmx.bak-20261130T070000Z-1"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn links_and_changed_files_are_refused() {
        let (folder, path) = vm();
        let link = folder.path().join("link.vmx");
        symlink(&path, &link).expect("a link");
        assert!(refused(&link).contains("symbolic link"));
        fs::write(&path, "a = \"9\"\n").expect("changed");
        assert!(refused(&path).contains("was changed meanwhile"));
        assert_eq!(fs::read(&path).expect("there"), b"a = \"9\"\n");
    }

    #[test]
    fn a_vm_that_is_on_or_locked_is_refused() {
        for name in [
            "vm 1.vmx.lck",
            "vm 1.vmx~",
            "vm 1-1a2b.vswp",
            "vmx-vm 1-99.vswp",
            ".vm 1.vmx.lck",
            "vm 1.lck",
            ".lck-3409",
        ] {
            let (folder, path) = vm();
            fs::write(folder.path().join(name), "").expect("a file");
            assert!(refused(&path).contains("shut the VM down first"), "{name}");
            assert_eq!(fs::read(&path).expect("there"), b"a = \"1\"\n");
        }
        let (folder, path) = vm();
        for name in ["vm 10.vmx.lck", "other.vswp", "vm 1.vmx.bak", "vm 1.vmdk", "vmware.log"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        assert_eq!(in_use_by(&path).expect("read"), None);
    }

    #[test]
    fn folders_are_walked_without_their_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/c")).expect("folders");
        symlink(folder.path(), at("b/circle")).expect("a link");
        for name in ["b/c/z.VMX", "b/a.vmx", "b/a.vmxf", "b/a.vmx.bak", "b/a.vmsd"] {
            fs::write(at(name), "").expect("a file");
        }
        fs::create_dir(at("folder.vmx")).expect("a folder");
        let (found, problems) = below(folder.path());
        assert_eq!(found, [at("b/a.vmx"), at("b/c/z.VMX")]);
        assert!(problems.is_empty());
    }

    #[test]
    fn what_is_no_file_or_too_large_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(folder.path()).is_err());
        assert!(read(Path::new("/dev/zero")).is_err());
        assert_eq!(bounded(io::repeat(0)).expect_err("endless").kind(), io::ErrorKind::FileTooLarge);
    }
}
