//! What the engine is asked to collect from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::hook::Hook;
use crate::app::Problem;
use crate::collect::connectors::Resolve;
use crate::collect::kind::System;
use crate::collect::nvml;
use crate::collect::standing::Sparing;
use crate::fabric::TargetId;
use crate::probe::privilege::Become;
use crate::probe::{Probe, esxi, linux};
use crate::record::audit::Audit;

/// How a target is reached.
#[derive(Clone)]
pub enum Way {
    /// It is this machine.
    Local,
    /// Over SSH.
    Ssh {
        /// Finds out the way there, anew for every connection.
        resolve: Resolve,
        /// What the inventory says that it is; else it is asked before anything is sent to it.
        known: Option<System>,
    },
    /// It is a file of saved outputs.
    Saved(PathBuf),
    /// It cannot be read, and why is known without a try.
    Refused(Problem),
}

impl std::fmt::Debug for Way {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => formatter.write_str("Local"),
            Self::Ssh { known, .. } => formatter.debug_struct("Ssh").field("known", known).finish_non_exhaustive(),
            Self::Saved(path) => formatter.debug_tuple("Saved").field(path).finish(),
            Self::Refused(problem) => formatter.debug_tuple("Refused").field(problem).finish(),
        }
    }
}

/// One target.
#[derive(Clone, Debug)]
pub struct TargetPlan {
    /// Its name; unique in a list of plans.
    pub id: TargetId,
    /// How it is reached.
    pub way: Way,
    /// How commands that tell more to root are run there.
    pub by: Become,
}

/// What is collected, and how often.
#[derive(Clone, Debug)]
pub struct Options {
    /// The probes of Linux targets.
    pub probes: Arc<[Probe]>,
    /// The probes of ESXi hosts.
    pub esxi: Arc<[Probe]>,
    /// Time between two samples.
    pub period: Duration,
    /// How ESXi hosts are spared.
    pub sparing: Sparing,
    /// Where changes of targets are noted; without it nothing is changed.
    pub audit: Option<Audit>,
    /// The program that is told of alerts.
    pub hook: Hook,
    /// Where one collection is enough: how long after the first read of counters they are read once more, if at all.
    pub again: Option<Duration>,
    /// Likewise: after so long reading ends, whatever was not read by then.
    pub within: Option<Duration>,
    /// The library that reads the GPUs of this machine, if not the driver's own.
    pub gpu_library: Option<OsString>,
}

impl Options {
    /// What checks want to know: everything, and counters a second time, so long after the first.
    pub fn of_check(again: Duration) -> Self {
        let probes = linux::PROBES.iter().chain([&linux::statistics::PROBE]).copied().collect();
        Self { probes, again: Some(again), ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            probes: Arc::from(linux::PROBES),
            esxi: Arc::from(esxi::PROBES),
            period: Duration::from_secs(1),
            sparing: Sparing::default(),
            audit: None,
            hook: Hook::default(),
            again: None,
            within: None,
            gpu_library: nvml::named_library(),
        }
    }
}
