//! A program of this machine together with all that it starts: it runs in a process group of its own, and when nobody
//! waits for it any more, the whole group ends. A terminal's Ctrl-C does not reach such a group, so this is what ends it.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A running process group. Dropping it kills all of it.
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// Makes a command that is about to be started the leader of a group of its own.
    pub fn lead(command: &mut Command) {
        command.process_group(0).kill_on_drop(true);
    }

    /// The group of a program that was started so.
    pub fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// It ended by itself: its number may soon be another's.
    pub fn ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended just now.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
