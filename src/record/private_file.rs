//! Files that belong to their owner alone, and the folders they lie in: no symbolic link is followed, and nothing waits at a
//! pipe.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::collect::reason::reason;

/// What is said of a link in the place of a file or a folder.
const LINK: &str = "it is a symbolic link, which is not followed";

/// A symbolic link to a folder is none.
pub(super) fn is_folder(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_dir() {
        return Ok(());
    }
    let what = if found.is_symlink() { LINK } else { "it is no folder" };
    Err(io::Error::new(ErrorKind::InvalidInput, what))
}

/// The text of a file of at most so many bytes; the error says why it cannot be used.
pub(super) fn read(path: &Path, largest: u64) -> Result<String, String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let read = || -> io::Result<String> {
        let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        if metadata.len() > largest {
            return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {largest} bytes")));
        }
        let mut text = String::new();
        file.take(largest).read_to_string(&mut text)?;
        Ok(text)
    };
    let is_link = |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    let text = read().map_err(|error| if is_link(&error) { LINK.to_owned() } else { reason(&error) })?;
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text) }
}
