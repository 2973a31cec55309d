//! The thread that calls the library. It tells what it read, shows how long its present call lasts, and ends when it is
//! told to; if it hangs in the driver it never does, and nobody waits for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use tokio::sync::mpsc;

use super::Settings;
use super::answer::{self, Answer, Refusal};
use super::gpu::{Gpu, nameless};
use super::library;
use super::page::{Page, Read, Sheet};
use super::trouble::{self, Trouble};
use super::xid;
use crate::app::Severity;
use crate::fabric::{Attribute, Entity, Text, Timestamp, Value};

/// How many rows may wait to be taken.
const WAITING: usize = 8;

/// No machine has more GPUs, whatever a library says.
const MOST: u32 = 128;

/// Starting the driver for several GPUs takes some seconds where nothing keeps it loaded: so many times the patience.
const OPENING: u32 = 6;

/// What the threads tell.
#[derive(Debug)]
pub(super) enum Told {
    /// One look at all GPUs.
    Sheet {
        /// What was read.
        sheet: Box<Sheet>,
        /// How many before it found no room.
        dropped: u64,
    },
    /// Why the library cannot be used now.
    Trouble(Box<Trouble>),
    /// Something that happened to a GPU.
    Event(Severity, String),
    /// There is neither a driver nor a GPU, and nobody needs to be told.
    Nothing,
}

/// What the thread and whoever watches it share.
#[derive(Debug, Default)]
struct Shared {
    ended: Mutex<bool>,
    wake: Condvar,
    /// When the present call has to be done.
    due: Mutex<Option<Instant>>,
    sequence: AtomicU64,
}

impl Shared {
    fn has_ended(&self) -> bool {
        *lock(&self.ended)
    }

    /// Waits; true if it is to end.
    fn rest(&self, time: Duration) -> bool {
        let ended = lock(&self.ended);
        let waited = self.wake.wait_timeout_while(ended, time, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// A call begins that may last so long; `None` after it.
    fn call(&self, patience: Option<Duration>) {
        *lock(&self.due) = patience.map(|patience| Instant::now() + patience);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread, for whoever takes what it reads. Dropping it lets it end when its call comes back.
#[derive(Debug)]
pub(super) struct Worker {
    shared: Arc<Shared>,
    pub(super) heard: mpsc::Receiver<Told>,
}

impl Worker {
    /// Starts it.
    pub(super) fn start(settings: Settings) -> io::Result<Self> {
        let (told, heard) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        Builder::new().name("rdmascope-nvml".to_owned()).spawn(move || run(&settings, &told, &its))?;
        Ok(Self { shared, heard })
    }

    /// True while a call lasts longer than it may.
    pub(super) fn hangs(&self) -> bool {
        lock(&self.shared.due).is_some_and(|due| due <= Instant::now())
    }

    /// The number of one more read.
    pub(super) fn next_sequence(&self) -> u64 {
        self.shared.sequence.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        *lock(&self.shared.ended) = true;
        self.shared.wake.notify_all();
    }
}

fn run(settings: &Settings, told: &mpsc::Sender<Told>, shared: &Shared) {
    let mut addresses = BTreeMap::new();
    while !shared.has_ended() {
        shared.call(Some(settings.patience * OPENING));
        let opened = library::open(settings);
        shared.call(None);
        let trouble = match opened {
            Ok(nvml) => match session(&Arc::new(nvml), settings, told, shared, &mut addresses) {
                Some(trouble) => trouble,
                None => return,
            },
            Err(trouble) => trouble,
        };
        if tell(told, settings, trouble).is_err() || shared.rest(settings.again) {
            return;
        }
    }
}

/// Tells why the library cannot be used, where there is somebody who may want it.
fn tell(told: &mpsc::Sender<Told>, settings: &Settings, trouble: Trouble) -> Result<(), mpsc::error::SendError<Told>> {
    if trouble.may_be_none && settings.library.is_none() && !library::has_card() {
        return told.blocking_send(Told::Nothing);
    }
    told.blocking_send(Told::Trouble(Box::new(trouble)))
}

/// The events of one session; they end with it.
struct Events(Arc<AtomicBool>);

impl Events {
    fn of(nvml: &Arc<Nvml>, told: &mpsc::Sender<Told>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (nvml, told, its) = (Arc::clone(nvml), told.clone(), Arc::clone(&ended));
        // Without a thread for it there are no events, and that is all: the kernel's log tells them, too.
        let _ = Builder::new().name("rdmascope-xid".to_owned()).spawn(move || xid::wait(&nvml, &told, &its));
        Self(ended)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One GPU in the driver's order.
#[derive(Debug)]
struct Slot<'nvml> {
    gpu: Option<Gpu<'nvml>>,
    /// How it answered last.
    answers: Answer<()>,
}

/// Reads until it is to end (`None`), or until the library cannot be used any more.
fn session(
    nvml: &Arc<Nvml>,
    settings: &Settings,
    told: &mpsc::Sender<Told>,
    shared: &Shared,
    addresses: &mut BTreeMap<u32, Text>,
) -> Option<Trouble> {
    let events = Events::of(nvml, told);
    let nvml: &Nvml = nvml;
    let mut slots: Vec<Slot<'_>> = Vec::new();
    let (mut states_at, mut rates_from, mut dropped, mut told_none) = (None::<Instant>, 0, 0, false);
    loop {
        let (began, at) = (Instant::now(), Timestamp::now());
        shared.call(Some(settings.patience));
        let count = match library::count(nvml) {
            Ok(count) => count.min(MOST),
            Err(refusal) => {
                shared.call(None);
                drop(events);
                return Some(trouble::ended(&refusal));
            }
        };
        let is_new = slots.len() != usize::try_from(count).unwrap_or(0);
        if is_new {
            slots = (0..count).map(|_| Slot { gpu: None, answers: Ok(()) }).collect();
        }
        let with_states = is_new || states_at.is_none_or(|at| at.elapsed() >= settings.states);
        let mut page = Page::new(with_states);
        if with_states {
            states_at = Some(began);
            library::describe(nvml, &mut page);
        }
        let mut news = Vec::new();
        let mut without_rates = None;
        for step in 0..slots.len() {
            let place = (rates_from + step) % slots.len();
            // The rates of PCIe take 20 ms each: those that find no time are asked first the next time.
            let with_rates = began.elapsed() < settings.period / 2;
            if !with_rates {
                without_rates.get_or_insert(place);
            }
            shared.call(Some(settings.patience));
            let index = u32::try_from(place).unwrap_or(u32::MAX);
            news.extend(look(nvml, index, &mut slots[place], addresses, with_rates, &mut page));
        }
        shared.call(None);
        rates_from = without_rates.unwrap_or(0);
        if !news.is_empty() && !with_states {
            states_at = None; // what it means for the states is told at once with the next row
        }
        let read = Read { sequence: next(shared), at, took: began.elapsed() };
        let sheet = Told::Sheet { sheet: Box::new(page.finish(read, settings)), dropped };
        // States are never dropped, numbers are.
        if with_states {
            told.blocking_send(sheet).ok()?;
            dropped = 0;
        } else {
            match told.try_send(sheet) {
                Ok(()) => dropped = 0,
                Err(mpsc::error::TrySendError::Full(_)) => dropped += 1,
                Err(mpsc::error::TrySendError::Closed(_)) => return None,
            }
        }
        for (severity, text) in news {
            told.blocking_send(Told::Event(severity, text)).ok()?;
        }
        if count == 0 && !told_none {
            told_none = true;
            // The driver is read all the same: this is an event and no state in place of what it says.
            if settings.library.is_some() || library::has_card() {
                told.blocking_send(Told::Event(Severity::Warning, trouble::none().to_string())).ok()?;
            }
        }
        if shared.rest(settings.period.saturating_sub(began.elapsed())) {
            return None;
        }
    }
}

fn next(shared: &Shared) -> u64 {
    shared.sequence.fetch_add(1, Ordering::Relaxed) + 1
}

/// One look at one GPU. Says what is new of whether it answers.
fn look<'nvml>(
    nvml: &'nvml Nvml,
    index: u32,
    slot: &mut Slot<'nvml>,
    addresses: &mut BTreeMap<u32, Text>,
    with_rates: bool,
    page: &mut Page,
) -> Option<(Severity, String)> {
    if slot.answers.is_err() && !page.with_states {
        return None; // its values have a gap until the next look at the states, which may find it again
    }
    let handle = match slot.gpu.take() {
        Some(gpu) => Ok(gpu),
        None => answer::of(nvml.device_by_index(index)).map(|device| Gpu::new(index, device, addresses.get(&index))),
    };
    let (answers, of) = match handle {
        Ok(mut gpu) => {
            addresses.insert(index, gpu.address().clone());
            let answers = gpu.measure(nvml, with_rates, page);
            if page.with_states {
                gpu.describe(nvml, &answers, page);
            }
            let of = gpu.address().clone();
            // The handle of one that is gone is asked for anew: after a reset the old one leads nowhere.
            slot.gpu = answers.is_ok().then_some(gpu);
            (answers, of)
        }
        Err(refusal) => {
            let of = addresses.get(&index).cloned().unwrap_or_else(|| nameless(index));
            if page.with_states {
                let gpu = Entity::Gpu(of.clone());
                let health = match &refusal {
                    Refusal::NoPermission => Err(refusal.clone()),
                    refusal => Ok(Value::from(refusal.to_string().as_str())),
                };
                page.state(&gpu, Attribute::GpuHealth, "nvmlDeviceGetHandleByIndex_v2", &health);
                page.state(&gpu, Attribute::GpuIndex, "index", &Ok(Value::from(index)));
            }
            (Err(refusal), of)
        }
    };
    let before = std::mem::replace(&mut slot.answers, answers.clone());
    (before != answers).then(|| words(of.as_str(), &answers))
}

/// What is told of a GPU that answers no more, or again.
fn words(of: &str, answers: &Answer<()>) -> (Severity, String) {
    let next = match answers {
        Ok(()) => return (Severity::Info, format!("GPU {of} answers again")),
        Err(Refusal::Lost) => {
            "it fell off the PCIe bus (link, power, heat); dmesg | grep Xid tells more; power-cycle the VM, then the host"
        }
        Err(Refusal::ResetRequired) => {
            "end what uses it and reset it (nvidia-smi -r); in a VM, where that may fail, power-cycle the VM"
        }
        Err(Refusal::NoPermission) => "this login may not open its device node: ls -l /dev/nvidia*",
        Err(_) => "dmesg | grep -e Xid -e NVRM tells more",
    };
    let refusal = answers.as_ref().err().map_or_else(String::new, Refusal::to_string);
    let severity = if *answers == Err(Refusal::NoPermission) { Severity::Warning } else { Severity::Error };
    (severity, format!("GPU {of} does not answer: {refusal}; {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_hangs_only_while_it_lasts_too_long() {
        let (_, heard) = mpsc::channel(1);
        let worker = Worker { shared: Arc::default(), heard };
        assert!(!worker.hangs(), "nothing is called");
        worker.shared.call(Some(Duration::from_mins(1)));
        assert!(!worker.hangs());
        worker.shared.call(Some(Duration::ZERO));
        assert!(worker.hangs());
        worker.shared.call(None);
        assert!(!worker.hangs());
    }

    #[test]
    fn one_that_rests_ends_as_soon_as_nobody_listens() {
        let (_, heard) = mpsc::channel(1);
        let worker = Worker { shared: Arc::default(), heard };
        let shared = Arc::clone(&worker.shared);
        assert!(!shared.rest(Duration::ZERO));
        drop(worker);
        assert!(shared.rest(Duration::from_mins(10)), "it does not wait for ten minutes");
    }

    #[test]
    fn a_gpu_that_is_gone_is_told_with_what_to_do() {
        for refusal in [Refusal::Lost, Refusal::ResetRequired, Refusal::other("odd")] {
            let (severity, text) = words("0000:0b:00.0", &Err(refusal.clone()));
            assert_eq!(severity, Severity::Error);
            assert!(text.contains(&refusal.to_string()) && text.contains("0000:0b:00.0"), "{text}");
        }
        assert_eq!(words("x", &Err(Refusal::NoPermission)).0, Severity::Warning);
        assert_eq!(words("x", &Ok(())).0, Severity::Info);
    }
}
