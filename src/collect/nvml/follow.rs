//! Takes what the thread reads and hands it on; says so when the driver hangs.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::page::{Read, Sheet};
use super::trouble::{self, Trouble};
use super::worker::{Told, Worker};
use crate::app::{Message, Severity};
use crate::fabric::{Report, TargetId, Text, Timestamp};

/// How often it is looked whether a call hangs.
const WATCH: Duration = Duration::from_secs(1);

/// Follows the GPUs of this machine until it is cancelled. The thread that reads them is then left to itself.
pub async fn follow(
    target: TargetId,
    settings: Settings,
    messages: mpsc::Sender<Message>,
    cancelled: CancellationToken,
) {
    let mut following = Following { target, settings, messages, last: None, told: None, hangs: false };
    let worker = match Worker::start(following.settings.clone()) {
        Ok(worker) => worker,
        Err(error) => {
            following
                .notice(Severity::Warning, &format!("GPUs are not read: the system gives no thread ({error})"))
                .await;
            return;
        }
    };
    tokio::select! {
        () = cancelled.cancelled() => {}
        () = following.run(worker) => {}
    }
}

/// Reads the GPUs of this machine once. `None` where there is neither a driver nor a GPU.
pub async fn read_once(target: TargetId, settings: Settings, within: Duration) -> Option<Report> {
    let settings = Settings { states: Duration::ZERO, ..settings };
    let mut worker = Worker::start(settings.clone()).ok()?;
    let read = Read { sequence: 1, at: Timestamp::now(), took: Duration::ZERO };
    let of = |trouble: &Trouble| {
        Sheet::of_trouble(&trouble.state, &trouble.problem.to_string(), read, &settings).report(&target)
    };
    let first = async {
        loop {
            match worker.heard.recv().await? {
                Told::Sheet { sheet, .. } => return Some(sheet.report(&target)),
                Told::Trouble(trouble) => return Some(of(&trouble)),
                Told::Nothing => return None,
                Told::Event(..) => {}
            }
        }
    };
    match timeout(within, first).await {
        Ok(report) => report,
        Err(_) => Some(of(&trouble::hanging(within.as_secs()))),
    }
}

struct Following {
    target: TargetId,
    settings: Settings,
    messages: mpsc::Sender<Message>,
    /// The last row with states.
    last: Option<Sheet>,
    /// The trouble that was told last.
    told: Option<Trouble>,
    hangs: bool,
}

impl Following {
    async fn run(&mut self, mut worker: Worker) {
        loop {
            tokio::select! {
                told = worker.heard.recv() => match told {
                    Some(told) => self.take(told, &worker).await,
                    None => return,
                },
                () = sleep(WATCH) => {
                    if worker.hangs() && !self.hangs {
                        self.hangs = true;
                        self.hanging(&worker).await;
                    }
                }
            }
        }
    }

    async fn take(&mut self, told: Told, worker: &Worker) {
        // An event comes from a thread of its own: it says nothing of the call that hangs.
        if !matches!(told, Told::Event(..)) && std::mem::take(&mut self.hangs) {
            self.notice(Severity::Info, trouble::ANSWERS).await;
        }
        match told {
            Told::Sheet { sheet, dropped } => {
                self.told = None;
                if dropped > 0 {
                    let gap = Message::Gap { target: self.target.clone(), at: Timestamp::now(), dropped };
                    self.send(gap).await;
                }
                if sheet.with_states {
                    self.last = Some((*sheet).clone());
                }
                self.row(*sheet).await;
            }
            Told::Trouble(trouble) => {
                if self.told.as_ref() == Some(&*trouble) {
                    return;
                }
                let read = Read { sequence: worker.next_sequence(), at: Timestamp::now(), took: Duration::ZERO };
                let why = trouble.problem.to_string();
                self.notice(Severity::Warning, &format!("GPUs are not read: {why}")).await;
                self.row(Sheet::of_trouble(&trouble.state, &why, read, &self.settings)).await;
                self.last = None;
                self.told = Some(*trouble);
            }
            Told::Event(severity, text) => self.notice(severity, &text).await,
            Told::Nothing => {}
        }
    }

    /// What was known stays, with the time at which it was read; what moves has a gap.
    async fn hanging(&mut self, worker: &Worker) {
        let trouble = trouble::hanging(self.settings.patience.as_secs());
        let read = Read { sequence: worker.next_sequence(), at: Timestamp::now(), took: Duration::ZERO };
        let why = trouble.problem.to_string();
        self.notice(Severity::Error, &format!("GPUs are not read: {why}")).await;
        let sheet = match &self.last {
            Some(last) => last.silenced(&trouble.state, &why, read),
            None => Sheet::of_trouble(&trouble.state, &why, read, &self.settings),
        };
        self.row(sheet).await;
    }

    async fn row(&self, sheet: Sheet) {
        let row = sheet.measured(&self.target, self.settings.period);
        self.send(Message::Measured(Box::new(row))).await;
    }

    async fn notice(&self, severity: Severity, text: &str) {
        let (target, text) = (Some(self.target.clone()), Text::new(text));
        self.send(Message::Notice { target, at: Timestamp::now(), severity, text }).await;
    }

    async fn send(&self, message: Message) {
        // Nobody listens any more only while everything ends.
        let _ = self.messages.send(message).await;
    }
}
