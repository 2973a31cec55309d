//! The terminal, entered and left without a trace. What is switched on when the screen is entered stands in one table, and
//! leaving walks it backwards; leaving is safe to call any number of times and from anywhere: the end of the program, a
//! panic, a signal and Ctrl-Z all go through it. The terminal's own modes are read once, at the start, and given back then.
//! The device is opened anew, so that it can be written to without waiting and without changing what the shell shares.

use std::cell::Cell;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream};
use futures::Stream;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, getpgrp, getpid, getsid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

/// What is switched on, in this order, and off, in the opposite one.
const MODES: [(&str, &str); 4] = [
    ("\x1b[?1049h", "\x1b[?1049l"), // alternate screen
    ("\x1b[?2004h", "\x1b[?2004l"), // a paste comes as one event
    ("\x1b[?1004h", "\x1b[?1004l"), // whether the terminal has the focus
    ("\x1b[?25l", "\x1b[?25h"),     // cursor
];
/// Clicks and the wheel, with places beyond column 223; off is safe where they never were on.
const MOUSE: (&str, &str) = ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l");
/// Ends a frame that was cut off: colours and modifiers, synchronized update.
const CUT_OFF: &str = "\x1b[m\x1b[?2026l";
/// How long a terminal that takes no bytes may hold up entering and leaving.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the event loop needs of a terminal. Its writer takes what fits and gives [`ErrorKind::WouldBlock`] when full.
pub trait Device: Write {
    /// Keys, pastes, resizes. Only one stream may live at a time: it reads what is typed.
    type Events: Stream<Item = io::Result<Event>> + Unpin;

    /// Takes the whole screen.
    fn enter(&mut self) -> io::Result<()>;
    /// Gives everything back; again and again without harm.
    fn leave(&mut self);
    /// What is typed, from now on.
    fn events(&mut self) -> Self::Events;
    /// Leaves, and stops the process until the shell brings it to the foreground; then the caller enters again. False, and
    /// nothing done, if there is no shell that could.
    fn stop(&mut self) -> io::Result<bool>;
    /// After the process was stopped and continued by others: waits for the foreground and enters again if need be.
    fn resume(&mut self) -> io::Result<()>;
    /// Wakes the reader of events if something typed is still waiting for it: it is told of each arrival once, and forgets
    /// that when a signal or a hand-over arrives in the same moment; the key would wait for the next one.
    fn nudge(&self);
    /// Whether clicks and the wheel come as events; remembered while the terminal is left.
    fn set_mouse(&mut self, on: bool) -> io::Result<()>;
    /// True if the terminal no longer exists.
    fn is_gone(&self) -> bool;
    /// Its size in cells.
    fn size(&self) -> Size;
}

/// Why there is no terminal to draw on.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// Standard output is no terminal.
    #[error("the console needs a terminal; use `rdmascope snapshot` without one")]
    None,
    /// A terminal that can only print lines.
    #[error(
        "this terminal can only print lines (TERM=dumb); use `rdmascope snapshot`, or set TERM to what the terminal is"
    )]
    Dumb,
    /// The system refused.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl TerminalError {
    /// The exit status of the program: wrong usage.
    pub fn exit_code(&self) -> u8 {
        2
    }
}

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct Tty {
    shared: &'static Shared,
}

/// What the panic hook needs too.
#[derive(Debug)]
struct Shared {
    device: OwnedFd,
    /// The modes at the start of the program.
    modes: Termios,
    entered: AtomicBool,
    mouse: AtomicBool,
}

static SHARED: OnceLock<Shared> = OnceLock::new();
static PANICKED: AtomicBool = AtomicBool::new(false);
static PANIC_TEXT: Mutex<String> = Mutex::new(String::new());

thread_local! {
    /// True on the thread that draws.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

impl Tty {
    /// Finds the terminal, and remembers its modes; changes nothing yet.
    pub fn open() -> Result<Self, TerminalError> {
        if !isatty(rustix::stdio::stdout()) {
            return Err(TerminalError::None);
        }
        if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return Err(TerminalError::Dumb);
        }
        if let Some(shared) = SHARED.get() {
            return Ok(Self { shared });
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = rustix::fs::open("/dev/tty", flags, Mode::empty())
            .or_else(|_| rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3))
            .map_err(io::Error::from)?;
        let modes = tcgetattr(&device).map_err(io::Error::from)?;
        Ok(Self {
            shared: SHARED.get_or_init(|| Shared {
                device,
                modes,
                entered: AtomicBool::new(false),
                mouse: AtomicBool::new(false),
            }),
        })
    }
}

impl Device for Tty {
    type Events = EventStream;

    fn enter(&mut self) -> io::Result<()> {
        DRAWS.set(true);
        self.shared.entered.store(true, Ordering::Release);
        tcsetattr(&self.shared.device, OptionalActions::Now, &self.shared.raw())?;
        let mut on = MODES.map(|(on, _)| on).concat();
        if self.shared.mouse.load(Ordering::Acquire) {
            on.push_str(MOUSE.0);
        }
        self.shared.write(&on)
    }

    fn leave(&mut self) {
        self.shared.leave();
    }

    fn events(&mut self) -> EventStream {
        EventStream::new()
    }

    fn stop(&mut self) -> io::Result<bool> {
        if getpgrp() == getsid(None)? {
            return Ok(false); // the first job of its session: nobody is there to continue it
        }
        self.shared.leave();
        stop_job()?;
        self.shared.wait_for_foreground()?;
        Ok(true)
    }

    fn resume(&mut self) -> io::Result<()> {
        self.shared.wait_for_foreground()?;
        let modes = tcgetattr(&self.shared.device)?;
        if modes.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO) { self.enter() } else { Ok(()) }
    }

    fn nudge(&self) {
        if self.shared.poll(PollFlags::IN).contains(PollFlags::IN) && !self.shared.is_in_background() {
            // Setting the modes that are set already changes nothing, and wakes all who wait for the terminal.
            let _ = tcsetattr(&self.shared.device, OptionalActions::Now, &self.shared.raw());
        }
    }

    fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        let was = self.shared.mouse.swap(on, Ordering::AcqRel);
        if was == on || !self.shared.entered.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared.write(if on { MOUSE.0 } else { MOUSE.1 })
    }

    fn is_gone(&self) -> bool {
        self.shared.poll(PollFlags::empty()).intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    }

    fn size(&self) -> Size {
        match tcgetwinsize(&self.shared.device) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(size.ws_col, size.ws_row),
            _ => Size::new(80, 24), // a serial console that does not know
        }
    }
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.shared.device, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.shared.leave();
    }
}

impl Shared {
    fn raw(&self) -> Termios {
        let mut modes = self.modes.clone();
        modes.make_raw();
        modes
    }

    fn leave(&self) {
        if !self.entered.swap(false, Ordering::AcqRel) {
            return;
        }
        let mut off = CUT_OFF.to_owned();
        if self.mouse.load(Ordering::Acquire) {
            off.push_str(MOUSE.1);
        }
        off.extend(MODES.iter().rev().map(|(_, off)| *off));
        // Nothing can be done about a terminal that refuses, and the program is on its way out.
        let _ = self.write(&off);
        if !self.is_in_background() {
            // In the background the shell has set its own modes already, and setting ours would stop this process.
            let _ = tcsetattr(&self.device, OptionalActions::Now, &self.modes);
        }
    }

    /// Writes all of a short text, and gives up on a terminal that takes nothing for [`PATIENCE`].
    fn write(&self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        let deadline = Instant::now() + PATIENCE;
        while !rest.is_empty() {
            match rustix::io::write(&self.device, rest).map_err(io::Error::from) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                    let pause = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                    let _ = poll(&mut [PollFd::new(&self.device, PollFlags::OUT)], Some(&pause));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is the case now, of these and of the end of the terminal.
    fn poll(&self, flags: PollFlags) -> PollFlags {
        let mut asked = [PollFd::new(&self.device, flags)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut asked, Some(&now)).is_ok() { asked[0].revents() } else { PollFlags::empty() }
    }

    /// False too for a terminal that does not control this process and so knows no foreground.
    fn is_in_background(&self) -> bool {
        tcgetpgrp(&self.device).is_ok_and(|group| group != getpgrp())
    }

    /// A process that is continued in the background stops again: drawing there would spoil the shell's screen.
    fn wait_for_foreground(&self) -> io::Result<()> {
        while self.is_in_background() {
            stop_job()?;
        }
        Ok(())
    }
}

/// Stops this process, and the leader of its job (a script that runs it), for which the shell waits. Not the whole job: a
/// child that is stopped just before it becomes another program holds a thread of this one in the kernel, which then cannot
/// stop either, and the shell would wait for ever.
fn stop_job() -> io::Result<()> {
    let leader = getpgrp();
    if leader != getpid() {
        // A leader that has ended already needs no stopping.
        let _ = kill_process(leader, Signal::STOP);
    }
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// Makes panics leave the terminal sane. On the thread that draws, the terminal is left before the message is printed.
/// On any other thread the screen goes on: the message is logged, and [`background_panic`] gives it to the loop.
/// Install it after the hook that prints the message.
pub fn install_panic_hook() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let on_screen = SHARED.get().filter(|shared| shared.entered.load(Ordering::Acquire));
        match on_screen {
            None => print(info),
            Some(shared) if DRAWS.get() => {
                shared.leave();
                print(info);
            }
            Some(_) => {
                PANICKED.store(true, Ordering::Release);
                let text = info.to_string();
                tracing::error!(panic = %text, "a thread in the background panicked");
                if let Ok(mut kept) = PANIC_TEXT.try_lock() {
                    *kept = text;
                }
            }
        }
    }));
}

/// The message of a panic on another thread than the one that draws, once.
pub fn background_panic() -> Option<String> {
    if !PANICKED.load(Ordering::Acquire) {
        return None;
    }
    let text = PANIC_TEXT.try_lock().map(|mut text| std::mem::take(&mut *text)).ok()?;
    (!text.is_empty()).then(|| {
        PANICKED.store(false, Ordering::Release);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_the_error_names_the_way_out() {
        assert_eq!(
            TerminalError::None.to_string(),
            "the console needs a terminal; use `rdmascope snapshot` without one"
        );
        assert!(TerminalError::Dumb.to_string().contains("`rdmascope snapshot`"));
        assert_eq!(TerminalError::Dumb.exit_code(), 2);
    }

    #[test]
    fn everything_that_is_switched_on_is_switched_off() {
        let mouse = (MOUSE.0.replace('h', "l"), MOUSE.1.to_owned());
        let halves = |text: &str| text.split_inclusive('l').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(halves(&mouse.0).into_iter().rev().collect::<Vec<_>>(), halves(&mouse.1));
        for (on, off) in MODES {
            let (on, off) = (on.trim_start_matches("\x1b[?"), off.trim_start_matches("\x1b[?"));
            assert_eq!(on[..on.len() - 1], off[..off.len() - 1]);
            assert_ne!(on, off);
        }
    }
}
