//! The GPUs of this machine, by NVIDIA's own library: what `nvidia-smi` reads too, without its text.
//!
//! The library is called on an OS thread of its own (`worker`), because a call can hang in the driver for ever; a task
//! ([`follow()`]) takes its rows, says so when none come, and leaves the thread behind at the end. Xid events are waited for
//! on a second one (`xid`). Every value may be unsupported by itself, and none is ever a zero because it could not be read.
//!
//! While NVML is in use the driver counts this program among those who hold it: it cannot be unloaded, and MIG cannot be
//! switched, until the target is closed.

use std::ffi::OsString;
use std::time::Duration;

mod answer;
mod fields;
mod follow;
mod gpm;
mod gpu;
mod library;
mod links;
mod mig;
mod page;
mod trouble;
mod worker;
mod xid;

pub use follow::{follow, read_once};

/// The stream, as the source of its facts.
pub const STREAM: &str = "gpu.nvml";

/// The variable that names another library.
pub const LIBRARY_VARIABLE: &str = "RDMASCOPE_NVML";

/// The driver's library, as the loader finds it.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The library that the environment names in place of the driver's own.
pub fn named_library() -> Option<OsString> {
    std::env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty())
}

/// What is read, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Another library than the driver's own.
    pub library: Option<OsString>,
    /// Time between two rows.
    pub period: Duration,
    /// Time between two looks at what rarely changes: settings, states, links and processes.
    pub states: Duration,
    /// How long after a failure to open the library it is tried again.
    pub again: Duration,
    /// How long a call may last before the driver counts as hanging.
    pub patience: Duration,
}

impl Settings {
    /// What is usual, with the driver's own library or another one.
    pub fn new(period: Duration, library: Option<OsString>) -> Self {
        Self {
            library,
            period,
            states: Duration::from_secs(5),
            again: Duration::from_secs(30),
            patience: (period * 3).max(Duration::from_secs(5)),
        }
    }

    /// The library, as words name it.
    fn named(&self) -> String {
        self.library.as_ref().map_or_else(|| LIBRARY.to_owned(), |name| name.to_string_lossy().into_owned())
    }
}
