//! A program in a real pseudo-terminal, and a screen to look at. Every wait is for a condition with a deadline; nothing
//! here sleeps for a guessed time.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Cells across.
    pub columns: u16,
    /// Cells down.
    pub rows: u16,
}

impl Size {
    /// The design size.
    pub const DESIGN: Self = Self { columns: 80, rows: 24 };
    /// The largest size the console is made for.
    pub const LARGE: Self = Self { columns: 200, rows: 50 };

    fn to_pty(self) -> PtySize {
        PtySize { rows: self.rows, cols: self.columns, pixel_width: 0, pixel_height: 0 }
    }

    fn cells(self) -> (NonZeroU16, NonZeroU16) {
        (NonZeroU16::new(self.rows).expect("rows"), NonZeroU16::new(self.columns).expect("columns"))
    }
}

/// What the reader thread and the test share.
struct Shared {
    screen: vt100::Parser,
    /// Everything the program ever wrote.
    raw: Vec<u8>,
    /// The program closed its side.
    ended: bool,
}

/// What a person would see now.
pub struct View<'a> {
    screen: &'a vt100::Screen,
}

impl View<'_> {
    /// All rows, without the blanks at their ends.
    pub fn rows(&self) -> Vec<String> {
        let (_, columns) = self.screen.size();
        self.screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
    }

    /// The whole screen as text.
    pub fn text(&self) -> String {
        self.rows().join("\n")
    }

    /// True if the text stands on the screen.
    pub fn has(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    /// True if one row holds all of these texts.
    pub fn has_row(&self, texts: &[&str]) -> bool {
        self.row(texts).is_some()
    }

    /// The first row that holds all of these texts.
    pub fn row(&self, texts: &[&str]) -> Option<String> {
        self.rows().into_iter().find(|row| texts.iter().all(|text| row.contains(text)))
    }

    /// True while the program draws on the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.screen.alternate_screen()
    }

    /// True while the cursor is hidden.
    pub fn hides_cursor(&self) -> bool {
        self.screen.hide_cursor()
    }
}

/// Why a condition was never seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotSeen {
    InVain,
    Ended,
}

impl NotSeen {
    fn words(self) -> &'static str {
        match self {
            Self::InVain => "in vain",
            Self::Ended => "but the program ended",
        }
    }
}

/// A program that runs in a pseudo-terminal. Dropping it ends it.
pub struct Console {
    child: Mutex<Box<dyn Child + Send + Sync>>,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

impl Console {
    /// Starts a program in a terminal of a size. `TERM` and `COLORTERM` are set, `NO_COLOR`, `TMUX`, `STY`, `LINES` and
    /// `COLUMNS` are removed; `environment` comes on top (an empty value removes the variable).
    pub fn start<S: AsRef<OsStr>>(program: &str, arguments: &[S], size: Size, environment: &[(&str, &str)]) -> Self {
        let pair = native_pty_system().openpty(size.to_pty()).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(std::env::temp_dir());
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        for name in ["NO_COLOR", "TMUX", "STY", "LINES", "COLUMNS"] {
            command.env_remove(name);
        }
        for (name, value) in environment {
            if value.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, value);
            }
        }
        let child = pair.slave.spawn_command(command).unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
        drop(pair.slave);
        let (rows, columns) = size.cells();
        let shared = Shared { screen: vt100::Parser::new(rows, columns, 0), raw: Vec::new(), ended: false };
        let shared = Arc::new((Mutex::new(shared), Condvar::new()));
        let writer = Arc::new(Mutex::new(pair.master.take_writer().expect("a writer")));
        let from = pair.master.try_clone_reader().expect("a reader");
        let reader = std::thread::spawn({
            let (shared, writer) = (Arc::clone(&shared), Arc::clone(&writer));
            move || read_all(from, &shared, &writer)
        });
        Self { child: Mutex::new(child), master: pair.master, writer, shared, reader: Some(reader) }
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        i32::try_from(lock(&self.child).process_id().expect("a process id")).expect("a process id of ordinary size")
    }

    /// Types these keys; escape sequences are written as such (`"\x1b[B"` is the down arrow).
    pub fn keys(&self, keys: &str) {
        let mut writer = lock(&self.writer);
        writer.write_all(keys.as_bytes()).and_then(|()| writer.flush()).expect("the program reads its keys");
    }

    /// Gives the terminal another size.
    pub fn resize(&self, size: Size) {
        let (rows, columns) = size.cells();
        lock(&self.shared.0).screen.screen_mut().set_size(rows, columns);
        self.master.resize(size.to_pty()).expect("a new size");
    }

    /// Waits until `condition` holds and returns how long that took. Panics with the screen after `within`, or at once
    /// if the program ended before.
    #[track_caller]
    pub fn wait_for(&self, what: &str, within: Duration, mut condition: impl FnMut(&View<'_>) -> bool) -> Duration {
        let start = Instant::now();
        match self.look(within, &mut condition) {
            Ok(()) => start.elapsed(),
            Err(why) => {
                let waited = start.elapsed().as_secs_f64();
                panic!("waited {waited:.1} s for {what}, {}:\n{}{}", why.words(), self.framed(), self.end(why))
            }
        }
    }

    /// Watches for a time that `condition` holds with every change of the screen. Panics with the screen if it does not.
    #[track_caller]
    pub fn holds_for(&self, what: &str, time: Duration, mut condition: impl FnMut(&View<'_>) -> bool) {
        match self.look(time, &mut |view| !condition(view)) {
            Err(NotSeen::InVain) => {}
            Ok(()) => panic!("{what}: did not hold for {:.1} s:\n{}", time.as_secs_f64(), self.framed()),
            Err(NotSeen::Ended) => panic!("{what}: the program ended:\n{}{}", self.framed(), self.end(NotSeen::Ended)),
        }
    }

    /// How a program ended and what it wrote last, for messages.
    fn end(&self, why: NotSeen) -> String {
        if why != NotSeen::Ended {
            return String::new();
        }
        let status = lock(&self.child).try_wait();
        let written = self.written();
        let tail = String::from_utf8_lossy(&written[written.len().saturating_sub(400)..]).escape_debug().to_string();
        format!("\nstatus {status:?}, last written: {tail}")
    }

    fn look(&self, within: Duration, condition: &mut dyn FnMut(&View<'_>) -> bool) -> Result<(), NotSeen> {
        let deadline = Instant::now() + within;
        let (mutex, changed) = &*self.shared;
        let mut shared = lock(mutex);
        loop {
            if condition(&View { screen: shared.screen.screen() }) {
                return Ok(());
            }
            if shared.ended {
                return Err(NotSeen::Ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotSeen::InVain);
            }
            shared = changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Looks at the screen once.
    pub fn view<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        look(&View { screen: lock(&self.shared.0).screen.screen() })
    }

    /// The screen in a frame, for messages.
    pub fn framed(&self) -> String {
        self.view(|view| {
            let rows = view.rows();
            let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or_default();
            let line = "-".repeat(width + 2);
            let body: Vec<String> = rows.iter().map(|row| format!("|{row:<width$}|")).collect();
            format!("{line}\n{}\n{line}", body.join("\n"))
        })
    }

    /// Everything the program wrote so far.
    pub fn written(&self) -> Vec<u8> {
        lock(&self.shared.0).raw.clone()
    }

    /// True if the program ever wrote these bytes.
    pub fn ever_wrote(&self, bytes: &[u8]) -> bool {
        lock(&self.shared.0).raw.windows(bytes.len()).any(|window| window == bytes)
    }

    /// Waits until the program has ended by itself.
    #[track_caller]
    pub fn wait_for_end(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        // The end of output says that it ended (or at least closed its terminal); then the status is there at once.
        {
            let (mutex, changed) = &*self.shared;
            let mut shared = lock(mutex);
            while !shared.ended {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    drop(shared);
                    panic!("the program still runs after {:.1} s:\n{}", within.as_secs_f64(), self.framed());
                }
                shared = changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        loop {
            if let Some(status) = lock(&self.child).try_wait().expect("a status") {
                return status;
            }
            assert!(Instant::now() < deadline, "the program closed its terminal and still runs");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Ends it the hard way, as `kill -9` does.
    pub fn kill_hard(&mut self) {
        signal(self.id(), rustix::process::Signal::KILL);
        lock(&self.child).wait().expect("a killed program ends");
    }

    /// Sends it a signal.
    pub fn signal(&self, which: rustix::process::Signal) {
        signal(self.id(), which);
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if !matches!(lock(&self.child).try_wait(), Ok(Some(_))) {
            signal(self.id(), rustix::process::Signal::KILL);
            let _ = lock(&self.child).wait();
        }
        // The thread ends with the terminal. A grandchild that still holds it must not hang the test.
        if lock(&self.shared.0).ended
            && let Some(reader) = self.reader.take()
        {
            let _ = reader.join();
        }
    }
}

fn signal(id: i32, which: rustix::process::Signal) {
    if let Some(id) = rustix::process::Pid::from_raw(id) {
        let _ = rustix::process::kill_process(id, which);
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_all(mut from: Box<dyn Read + Send>, shared: &(Mutex<Shared>, Condvar), writer: &Mutex<Box<dyn Write + Send>>) {
    let mut buffer = [0_u8; 1 << 13];
    let mut answered = 0;
    loop {
        // A terminal whose program is gone reads as an error.
        let count = from.read(&mut buffer).unwrap_or_default();
        let mut now = lock(&shared.0);
        if count == 0 {
            now.ended = true;
            shared.1.notify_all();
            return;
        }
        now.screen.process(&buffer[..count]);
        now.raw.extend_from_slice(&buffer[..count]);
        let answers = answer_queries(&now.raw, &mut answered);
        drop(now);
        shared.1.notify_all();
        if !answers.is_empty() {
            let mut writer = lock(writer);
            let _ = writer.write_all(&answers).and_then(|()| writer.flush());
        }
    }
}

/// The answers of an ordinary terminal to the queries in `raw` from `answered` on, which moves past them: a program that
/// asks what the terminal can do must not wait in vain.
fn answer_queries(raw: &[u8], answered: &mut usize) -> Vec<u8> {
    const QUERIES: [(&[u8], &[u8]); 7] = [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[0c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>0;276;0c"),
        (b"\x1b[>q", b"\x1bP>|test\x1b\\"),
        (b"\x1b[6n", b"\x1b[1;1R"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    ];
    let mut answers = Vec::new();
    let mut at = *answered;
    while at < raw.len() {
        if raw[at] != 0x1b {
            at += 1;
            continue;
        }
        let rest = &raw[at..];
        if let Some((query, answer)) = QUERIES.iter().find(|(query, _)| rest.starts_with(query)) {
            answers.extend_from_slice(answer);
            at += query.len();
        } else if QUERIES.iter().any(|(query, _)| query.starts_with(rest)) {
            break; // the rest of a query may come with the next read
        } else {
            at += 1;
        }
    }
    *answered = at;
    answers
}
