//! Records a console while it runs. Writing happens on a thread of its own behind a queue: the console hands its messages
//! over and never waits. When the file can no longer be written, the recording stops and says so; the console goes on.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use super::JournalError;
use super::format::{Header, Micros};
use super::writer::{CHUNK, Writer};
use crate::app::healthy::HealthyNews;
use crate::app::{Message, Model, PromptKind, action};
use crate::fabric::{Observation, Text, Timestamp};

/// How many messages may wait for the disk: some minutes of many targets.
const WAITING_MESSAGES: usize = 16_384;

/// How many bytes may wait for it, about.
const WAITING_BYTES: usize = 32 << 20;

/// What a message, a fact or a counter takes besides its texts, about.
const EACH: usize = 256;

/// How long the end may take.
const END_DEADLINE: Duration = Duration::from_secs(2);

/// A running recording. Dropping it writes what is there.
#[derive(Debug)]
pub struct Recorder {
    file: PathBuf,
    begun: Instant,
    /// `None` once the recording has stopped.
    messages: Option<SyncSender<(Micros, usize, Message)>>,
    /// How many bytes wait for the disk, about.
    waiting: Arc<AtomicUsize>,
    /// Why the writer ended before its time.
    failure: Receiver<String>,
    ended: Receiver<()>,
    /// Open questions whose answers are secret: they are not recorded, nor is their end.
    secrets: BTreeSet<u64>,
    problem: Option<String>,
}

/// What is to be recorded of a message, decided before the message is taken in.
#[derive(Debug)]
pub struct Note(What);

#[derive(Debug)]
enum What {
    Nothing,
    As(Message),
    /// Only the event that it makes.
    Event(Timestamp),
}

impl Recorder {
    /// Begins a recording in a new file that only its owner may read. A file that is there already is left alone, and no
    /// symbolic link is followed. `size` is that of the terminal: cells across and down.
    pub fn begin(file: &Path, model: &Model, size: (u16, u16)) -> Result<Self, JournalError> {
        let refuse = |what: String| JournalError { file: file.to_owned(), what };
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
            .open(file);
        let opened = opened.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => refuse(
                "is there already and is left as it is; give --record another name, or remove this file first"
                    .to_owned(),
            ),
            ErrorKind::NotFound => refuse("cannot be made: its folder does not exist; make it first".to_owned()),
            _ => refuse(format!("cannot be made: {error}; give --record a place where you may write")),
        })?;
        let header = Header::of(model, Timestamp::now(), size);
        Self::start(file, opened, &header, model.clone())
            .map_err(|error| refuse(format!("cannot be written: {error}; give --record another place")))
    }

    /// Records into anything that takes bytes.
    fn start(file: &Path, out: impl Write + Send + 'static, header: &Header, model: Model) -> std::io::Result<Self> {
        let mut writer = Writer::new(out, header, model)?;
        let (messages, queue) = sync_channel(WAITING_MESSAGES);
        let (fails, failure) = channel();
        let (ends, ended) = channel();
        let begun = Instant::now();
        let waiting = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting);
        std::thread::Builder::new().name("rdmascope-record".to_owned()).spawn(move || {
            let now = || micros(begun.elapsed());
            if let Err(error) = write(&mut writer, &queue, &written, now) {
                let _ = fails.send(error.to_string());
            }
            drop(ends);
        })?;
        Ok(Self {
            file: file.to_owned(),
            begun,
            messages: Some(messages),
            waiting,
            failure,
            ended,
            secrets: BTreeSet::new(),
            problem: None,
        })
    }

    /// Decides what is recorded of a message that `model` is about to take in. Questions for secrets are not, whatever
    /// they say: only the event that somebody was asked.
    pub fn note(&mut self, model: &Model, message: &Message) -> Note {
        if self.messages.is_none() {
            return Note(What::Nothing);
        }
        let is_secret_first = model.prompts.first().is_some_and(|prompt| self.secrets.contains(&prompt.id));
        Note(match message {
            Message::Asked { at, prompt } if matches!(prompt.kind, PromptKind::Secret(_)) => {
                self.secrets.insert(prompt.id);
                What::Event(*at)
            }
            Message::Withdrawn { id } | Message::Answered { id } if self.secrets.remove(id) => What::Nothing,
            // The replay knows nothing of this question: there the same keys would answer another one, or open the help.
            Message::Action(name) if is_secret_first && (action::answers(name) || *name == "help") => What::Nothing,
            message => What::As(message.clone()),
        })
    }

    /// Records what was decided; `model` has taken the message in meanwhile.
    pub fn take(&mut self, note: Note, model: &Model) {
        let message = match note.0 {
            What::Nothing => return,
            What::As(message) => message,
            What::Event(at) => {
                let Some(event) = model.events.iter().next_back().filter(|event| event.at == at) else { return };
                let (target, severity, text) = (event.target.clone(), event.severity, Text::new(&event.text));
                Message::Notice { target, at, severity, text }
            }
        };
        let Some(messages) = &self.messages else { return };
        let bytes = bytes_of(&message);
        let too_slow = "the disk does not keep up; record to a faster one";
        // Counted before it is handed over: the writer must not take off what was never put on.
        if self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > WAITING_BYTES {
            return self.stop(too_slow);
        }
        match messages.try_send((micros(self.begun.elapsed()), bytes, message)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.stop(too_slow),
            Err(TrySendError::Disconnected(_)) => {
                let why = self.failure.try_recv().unwrap_or_else(|_| "the part that writes it has failed".to_owned());
                self.stop(&why);
            }
        }
    }

    /// True until the recording has stopped before its time.
    pub fn is_running(&self) -> bool {
        self.messages.is_some()
    }

    /// Why the recording has stopped; told once.
    pub fn problem(&mut self) -> Option<String> {
        if self.messages.is_some()
            && let Ok(why) = self.failure.try_recv()
        {
            self.stop(&why);
        }
        self.problem.take()
    }

    fn stop(&mut self, why: &str) {
        self.messages = None;
        self.problem = Some(format!(
            "recording has stopped, the console goes on: {why}; what {} holds so far can be replayed",
            self.file.display()
        ));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Who has stopped before its time waits for nothing any more, and a disk that hangs must not keep the program from ending.
        if self.messages.take().is_some() {
            let _ = self.ended.recv_timeout(END_DEADLINE);
        }
    }
}

/// Writes what comes until nobody is left who could send more.
fn write<W: Write>(
    writer: &mut Writer<W>,
    queue: &Receiver<(Micros, usize, Message)>,
    waiting: &AtomicUsize,
    now: impl Fn() -> Micros,
) -> std::io::Result<()> {
    loop {
        let wait = match writer.waiting_since() {
            Some(since) => (since + CHUNK).saturating_sub(now()),
            None => CHUNK,
        };
        match queue.recv_timeout(Duration::from_micros(wait)) {
            Ok((at, bytes, message)) => {
                writer.take(at, message)?;
                waiting.fetch_sub(bytes, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => writer.flush()?,
            Err(RecvTimeoutError::Disconnected) => return writer.flush(),
        }
    }
}

/// How many bytes a message takes, about: its texts, and so much for each thing in it.
fn bytes_of(message: &Message) -> usize {
    let texts = |observation: &Arc<Observation>| observation.stdout.len() + observation.stderr.len() + EACH;
    EACH + match message {
        Message::Sample(sample) => {
            let things = sample.facts.len() + sample.counters.len() + sample.gauges.len();
            EACH * things + sample.observation.as_ref().map_or(0, texts)
        }
        Message::Measured(row) => {
            EACH * (row.facts.len() + row.gauges.len()) + row.observation.as_ref().map_or(0, texts)
        }
        Message::Report { report, .. } | Message::Healthy { news: HealthyNews::Part(report), .. } => {
            EACH * report.facts.len() + report.observations.iter().map(texts).sum::<usize>()
        }
        _ => EACH,
    }
}

fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::app::{Options, Target, TargetKind};
    use crate::fabric::{Report, SourceId, TargetId};

    /// A disk that writes nothing while somebody holds it.
    struct Disk(Arc<Mutex<()>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            drop(self.0.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_hangs_stops_the_recording_before_much_memory_is_full() {
        let at = Timestamp::from_second(1_800_000_000).expect("a time");
        let targets = vec![(TargetId::new("a"), Target::new(TargetKind::Linux))];
        let model = Model::new(targets, Options::default(), at);
        let header = Header::of(&model, at, (80, 24));
        let disk = Arc::new(Mutex::new(()));
        let mut recorder =
            Recorder::start(Path::new("x.rec"), Disk(Arc::clone(&disk)), &header, model.clone()).expect("a thread");
        let hangs = disk.lock().expect("nobody panics");
        let observation = Observation::of_text("linux.devices", &"x".repeat(1 << 20));
        let (target, probe) = (TargetId::new("a"), SourceId::new("linux.devices"));
        let report = Report { target, probe, observations: vec![observation.into()], facts: Vec::new() };
        let message = Message::Report { at, report };
        let mut taken = 0;
        while recorder.is_running() && taken < 100 {
            let note = recorder.note(&model, &message);
            recorder.take(note, &model);
            taken += 1;
        }
        // The one that the writer holds counts, too, until it is written.
        assert!((31..=34).contains(&taken), "{taken}");
        let told = recorder.problem().unwrap_or_default();
        assert!(told.starts_with("recording has stopped, the console goes on: the disk does not keep up;"), "{told}");
        drop(hangs);
    }
}
