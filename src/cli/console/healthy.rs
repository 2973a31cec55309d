//! Healthy snapshots of a console: a thread of its own reads them at the start and writes one when it is asked to, so that
//! a disk that is slow or full never holds up the screen. What comes of it goes to the console as messages.

use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc::Sender;

use super::super::document::{Collected, TargetStatus};
use super::super::{Session, output};
use crate::app::Message;
use crate::app::healthy::{HealthyNews, ToKeep, day};
use crate::engine;
use crate::fabric::{TargetId, Text, Timestamp};
use crate::record::healthy::Folder;
use crate::tui::Reloaded;

/// How many requests may wait: the console asks once a day.
const WAITING: usize = 2;

/// What helps where snapshots cannot be kept.
const ADVICE: &str = "make room there, or let it be read and written by you alone; healthy_days = 0 keeps none. \
                      The console goes on, and tries again tomorrow";

/// Where the snapshots of a console are; `None` where they are switched off. The error says why there is no place.
pub fn folder(session: &Session) -> Option<Result<Folder, String>> {
    let days = session.settings.healthy_days.value;
    let state = engine::state_folder().map(|state| state.join("healthy").join(name(session)));
    (days > 0).then(|| match state {
        Some(path) => Ok(Folder::new(path, days)),
        None => Err("healthy snapshots have no place: neither XDG_STATE_HOME nor HOME is set".to_owned()),
    })
}

/// The name of the folder: that of the inventory for people, and a number that tells it from others of that name. Who opens
/// some targets only has other snapshots than who opens all of them.
fn name(session: &Session) -> String {
    let file = engine::settings::path(session.global.config.as_deref()).ok();
    let file = file.map(|path| std::path::absolute(&path).unwrap_or(path)).unwrap_or_default();
    let mut words: Vec<&str> = session.words.iter().map(String::as_str).collect();
    words.sort_unstable();
    let stem = session.inventory_name();
    let stem: String = stem.chars().filter(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_')).collect();
    let stem = if stem.is_empty() { "inventory" } else { stem.get(..40).unwrap_or(&stem) };
    // FNV-1a: the same in each version of the program.
    let mut number = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes.iter().chain(b"\0") {
            number = (number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    take(std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str()));
    for word in words {
        take(word.as_bytes());
    }
    format!("{stem}-{number:016x}")
}

/// The thread behind its queue. It ends with this, once what it does is done.
#[derive(Debug)]
pub struct Keeper {
    requests: mpsc::SyncSender<Box<ToKeep>>,
}

impl Keeper {
    /// Starts it; at once it reads what there is of the wanted targets. What comes of anything goes to `to`.
    pub fn start(folder: Result<Folder, String>, wanted: Vec<TargetId>, to: Sender<Reloaded>) -> std::io::Result<Self> {
        let (requests, received) = mpsc::sync_channel::<Box<ToKeep>>(WAITING);
        thread::Builder::new().name("rdmascope-healthy".to_owned()).spawn(move || {
            let folder = match folder {
                Ok(folder) => folder,
                Err(why) => {
                    let why = format!("{why}; set one of them, or healthy_days = 0");
                    let _ = to.blocking_send(messages(vec![trouble(&why)]));
                    return;
                }
            };
            if to.blocking_send(messages(read(&folder, &wanted, false))).is_err() {
                return;
            }
            while let Ok(asked) = received.recv() {
                let news = match keep(&folder, &asked) {
                    Ok(()) => read(&folder, &asked.wanted, true),
                    Err(why) => vec![trouble(&format!("the healthy snapshot of today is not kept: {why}; {ADVICE}"))],
                };
                if to.blocking_send(messages(news)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests })
    }

    /// Asks to keep one. While others wait one more says nothing new.
    pub fn keep(&self, asked: Box<ToKeep>) {
        let _ = self.requests.try_send(asked);
    }
}

fn messages(news: Vec<HealthyNews>) -> Reloaded {
    let at = Timestamp::now();
    Reloaded { looks: None, messages: news.into_iter().map(|news| Message::Healthy { at, news }).collect() }
}

fn trouble(why: &str) -> HealthyNews {
    HealthyNews::Trouble(Text::new(why))
}

fn read(folder: &Folder, wanted: &[TargetId], is_new: bool) -> Vec<HealthyNews> {
    match folder.read(wanted, Timestamp::now()) {
        Ok(mut found) => {
            found.read.is_new = is_new;
            let parts = found.parts.into_iter().map(HealthyNews::Part);
            parts.chain([HealthyNews::Read(Box::new(found.read))]).collect()
        }
        Err(why) => vec![trouble(&format!("healthy snapshots cannot be read: {why}; {ADVICE}"))],
    }
}

/// Writes the snapshot; what it holds is a document like any other, so that `diff` reads it too.
fn keep(folder: &Folder, asked: &ToKeep) -> Result<(), String> {
    let status = |(name, kind): &(TargetId, crate::app::TargetKind)| TargetStatus {
        name: name.clone(),
        kind: kind.word().to_owned(),
        reachable: true,
        problem: None,
    };
    let is_counted = |source: &str| source == crate::probe::linux::counters::VALUES;
    let collected = Collected {
        at: asked.at,
        fabric: asked.kept(),
        // Counters are no settings.
        observations: asked.observations.iter().filter(|read| !is_counted(read.source.as_str())).cloned().collect(),
        targets: asked.targets.iter().map(status).collect(),
    };
    let text = output::json(&collected.document_with_lines()).map_err(|failure| format!("{failure:?}"))?;
    folder.keep(&day(asked.at), text.as_bytes())
}
