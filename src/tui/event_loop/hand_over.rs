//! Handing the terminal to an editor. The reader of keys is dropped first, so that what is typed goes to the editor; the
//! terminal is left as it was found; messages are taken in meanwhile, and nothing is drawn. What job control does to the
//! editor happens to the console too, so that the shell sees one job.

use std::io;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Console, Device, Exit, Program, Reason, Wanted, told};
use crate::app::{Effect, Message, Severity};
use crate::tui::signals::Signal;

/// Makes the command line of the editor with the file; or says why there is none, and what to do.
pub type Editor = Box<dyn FnMut() -> Result<Command, String> + Send>;

/// How often it is looked whether the editor was stopped.
const WATCH: Duration = Duration::from_millis(250);
/// How long an editor may take to end when the console has to end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the files that the editor's command line is made from may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the editor's turn ended.
enum Ended {
    /// The editor ended by itself.
    Editor(io::Result<std::process::ExitStatus>),
    /// The console has to end.
    Console(Exit),
}

impl<P: Program, D: Device> Console<P, D> {
    /// The editor's command line. It is made from files, and a home directory on a server may hang.
    async fn editor_command(&mut self) -> Result<Command, String> {
        let waiting: Editor = Box::new(|| Err("the folder of the configuration does not answer".to_owned()));
        let mut editor = std::mem::replace(&mut self.editor, waiting);
        let made = tokio::task::spawn_blocking(move || {
            let command = editor();
            (editor, command)
        });
        match tokio::time::timeout(PATIENCE, made).await {
            Ok(Ok((editor, command))) => {
                self.editor = editor;
                command
            }
            _ => (self.editor)(),
        }
    }

    /// Lets the user edit the configuration, and has it read again.
    pub(super) async fn edit(
        &mut self,
        messages: &mut mpsc::Receiver<Message>,
        signals: &mut mpsc::Receiver<Signal>,
    ) -> io::Result<()> {
        let command = match self.editor_command().await {
            Ok(command) => command,
            Err(why) => {
                self.say(&why);
                return Ok(());
            }
        };
        let name = command.get_program().to_string_lossy().into_owned();
        self.events = None; // else its reader would take the editor's keys
        self.device.leave();
        let ended = match tokio::process::Command::from(command).spawn() {
            Ok(child) => self.beside(child, messages, signals).await?,
            Err(error) => Ended::Editor(Err(error)),
        };
        if let Ended::Console(exit) = ended {
            self.wanted = Some(Wanted::Exit(exit));
            return Ok(());
        }
        self.device.enter().map_err(|error| told("the terminal cannot be taken again", &error))?;
        self.events = Some(self.device.events());
        self.taken_again();
        match ended {
            Ended::Editor(Ok(status)) if status.success() => (self.effects)(Effect::Reload),
            Ended::Editor(Ok(status)) => {
                let text = format!("the editor {name} ended with {status}: nothing was read again");
                self.notice(Severity::Warning, &text);
            }
            Ended::Editor(Err(error)) => {
                let text =
                    format!("the editor {name} cannot be run: {error}; set VISUAL or EDITOR to one that is there");
                self.notice(Severity::Error, &text);
            }
            Ended::Console(_) => {}
        }
        Ok(())
    }

    /// Takes in messages and signals until the editor ends.
    async fn beside(
        &mut self,
        mut child: Child,
        messages: &mut mpsc::Receiver<Message>,
        signals: &mut mpsc::Receiver<Signal>,
    ) -> io::Result<Ended> {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let mut watch = interval(WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                status = child.wait() => return Ok(Ended::Editor(status)),
                Some(signal) = signals.recv() => match signal {
                    // Typed at the editor, which has its own use for them.
                    Signal::Interrupt | Signal::Quit | Signal::Continue => {}
                    Signal::Stop => self.stop_beside(id)?,
                    ends => {
                        if let Some(id) = id {
                            // So that it saves what it has; the kernel itself tells it of a terminal that went.
                            let _ = kill_process(id, Kill::TERM);
                        }
                        let _ = timeout(LAST_WORDS, child.wait()).await;
                        return Ok(Ended::Console(Exit::Signal(ends)));
                    }
                },
                Some(message) = messages.recv() => self.update(message, Reason::News),
                _ = watch.tick() => if id.is_some_and(is_stopped) {
                    self.stop_beside(id)?;
                },
            }
        }
    }

    /// The editor was stopped: so is the console, until the shell continues its job.
    fn stop_beside(&mut self, editor: Option<Pid>) -> io::Result<()> {
        let stopped = self.device.stop().map_err(|error| told("the program cannot be suspended", &error))?;
        if let Some(editor) = editor.filter(|editor| !stopped || is_stopped(*editor)) {
            // The shell continues the whole job; where there is none, nobody else would.
            let _ = kill_process(editor, Kill::CONT);
        }
        Ok(())
    }
}

/// True if the process is stopped. Whether it has ended is left to be seen by others.
fn is_stopped(process: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(process), options), Ok(Some(status)) if status.stopped())
}
