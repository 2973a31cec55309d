//! Folders of labs that could not clean up behind themselves: a process that is killed outright leaves its folder, with a
//! key in it that opens nothing any more. The next lab of the same user removes it, and never anything else: the folder
//! has to say whose it was, and that process has to be gone.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// How the names of the folders begin.
pub const PREFIX: &str = "rdmascope-lab-";

/// The file in each folder that says whose it is.
pub const OWNER_FILE: &str = "owner";

/// What a folder of this process says of its owner: process id, when that process began (ticks since boot), and the
/// namespace in which the id counts. `None` where the system does not tell.
pub fn owner() -> Option<String> {
    let pid = std::process::id();
    Some(format!("{pid} {} {}\n", start_of(pid)?, namespace()?))
}

/// Removes the folders in `within` whose owners are gone. What cannot be removed stays: it is no reason not to start.
pub fn remove(within: &Path) {
    let Ok(entries) = std::fs::read_dir(within) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) && is_left(&entry.path()) {
            // Links in it are removed, not followed.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// True for a folder of our own user (no link to one) whose owner is told and is gone.
fn is_left(folder: &Path) -> bool {
    let is_own = |path: &Path| {
        path.symlink_metadata().is_ok_and(|metadata| {
            metadata.uid() == geteuid().as_raw() && [0o600, 0o700].contains(&(metadata.mode() & 0o777))
        })
    };
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) || !is_own(folder) {
        return false;
    }
    let path = folder.join(OWNER_FILE);
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(&path) else { return false };
    let mut text = String::new();
    if !is_own(&path) || file.take(200).read_to_string(&mut text).is_err() {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [pid, start, space] = words[..] else { return false };
    // Of the processes of another namespace, a container's, nothing is known here.
    let Some(pid) = pid.parse::<u32>().ok().filter(|_| Some(space) == namespace().as_deref()) else { return false };
    start_of(pid).is_none_or(|now| now != start)
}

/// When a process began, in ticks since boot; `None` if there is none of this id.
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything; the 20th field behind it is the time.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// The namespace of our process ids.
fn namespace() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_folders_of_the_own_user_whose_owner_is_gone_are_removed() {
        let within = tempfile::tempdir().expect("a folder");
        let at = |name: &str| within.path().join(name);
        let make = |name: &str, owner: Option<&str>| {
            std::fs::create_dir(at(name)).expect("a folder");
            let private = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
            private(&at(name), 0o700).expect("ours");
            if let Some(owner) = owner {
                let file = at(name).join(OWNER_FILE);
                std::fs::write(&file, owner).expect("a file");
                private(&file, 0o600).expect("ours");
            }
        };
        let ours = owner().expect("a Linux system");
        let space = namespace().expect("a Linux system");
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        child.wait().expect("its end");
        let gone = format!("{} 1 {space}\n", child.id());
        make("rdmascope-lab-gone", Some(&gone));
        std::fs::create_dir(at("kept")).expect("a folder");
        std::fs::write(at("kept").join("file"), "x").expect("a file");
        symlink(at("kept"), at("rdmascope-lab-gone").join("link")).expect("a link");
        make("rdmascope-lab-number-used-again", Some(&format!("{} 1 {space}\n", std::process::id())));
        make("rdmascope-lab-alive", Some(&ours));
        make("rdmascope-lab-elsewhere", Some(&gone.replace(&space, "pid:[1]")));
        make("rdmascope-lab-silent", None);
        make("rdmascope-lab-garbled", Some("x y z\n"));
        make("other", Some(&gone));
        make("rdmascope-lab-open", Some(&gone));
        std::fs::set_permissions(at("rdmascope-lab-open"), std::fs::Permissions::from_mode(0o755)).expect("ours");
        make("target", Some(&gone));
        symlink(at("target"), at("rdmascope-lab-link")).expect("a link");
        remove(within.path());
        for name in ["rdmascope-lab-gone", "rdmascope-lab-number-used-again"] {
            assert!(!at(name).exists(), "{name}");
        }
        for name in ["alive", "elsewhere", "silent", "garbled", "open", "link"] {
            assert!(at(&format!("{PREFIX}{name}")).exists(), "{name}");
        }
        assert!(at("other").exists() && at("target").join(OWNER_FILE).exists() && at("kept").join("file").exists());
    }
}
