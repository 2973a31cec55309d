//! The loop of the console: signals first, then keys, then messages, then a frame if one is due. It draws on demand only,
//! takes at most four milliseconds of messages before it looks at keys and frames again, and never waits for anything but
//! the next thing that happens. All that it touches is handed in, so that tests drive it without a terminal.

mod hand_over;
mod program;
mod typing;
mod waiting;

use std::io::{self, ErrorKind};
use std::time::Duration;

use color_eyre::eyre::{Result, WrapErr, eyre};
use crossterm::event::Event;
use ratatui::layout::Size;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

pub use hand_over::Editor;
pub use program::{Exit, Inputs, Program, Reloaded};
use waiting::{arrived, at, next, reloaded};

use super::clipboard::Clipboard;
use super::frame::{FrameLimiter, Reason};
use super::keys::{self, Keys, Place};
use super::looks::Look;
use super::pointer;
use super::screen::Screen;
use super::secret::SecretLine;
use super::seen::Seen;
use super::signals::Signal;
use super::terminal::{Device, background_panic};
use crate::app::{Effect, LookChoice, Message, Severity};
use crate::fabric::{Text, Timestamp};

/// The longest time that messages are taken in before keys and frames have their turn.
const DRAIN: Duration = Duration::from_millis(4);
/// How long the loop waits before it offers the rest of a frame to a terminal that was full.
const RETRY: Duration = Duration::from_millis(10);
/// How often the loop looks whether the terminal still exists (its reader would spin on a dead one) and other threads live.
const CHECK: Duration = Duration::from_millis(500);

/// Runs a program on a terminal until the user, a signal or the terminal ends it. The terminal is left in every case.
pub async fn run<P: Program, D: Device>(program: P, look: Look, inputs: Inputs, mut device: D) -> Result<Exit> {
    device.set_mouse(look.chosen.mouse).wrap_err("the terminal refuses to be set up")?;
    device.enter().wrap_err("the terminal refuses to be set up")?;
    let screen = Screen::new(device.size(), look.colours)?;
    let console = Console {
        drawn: program.revision(),
        limiter: FrameLimiter::new(look.pace, Instant::now()),
        events: Some(device.events()),
        keys: Keys::default(),
        secret: SecretLine::default(),
        seen: Seen::default(),
        on_screen: OnScreen::default(),
        resized: Some(device.size()),
        wanted: None,
        effects: inputs.effects,
        now: inputs.now,
        clipboard: inputs.clipboard,
        editor: inputs.editor,
        reloads: Some(inputs.reloads),
        focused: true,
        program,
        look,
        device,
        screen,
    };
    console.run(inputs.messages, inputs.signals).await
}

struct Console<P, D: Device> {
    program: P,
    look: Look,
    device: D,
    screen: Screen,
    limiter: FrameLimiter,
    keys: Keys,
    secret: SecretLine,
    seen: Seen,
    /// What the frame shows that is on its way, or that the terminal has.
    on_screen: OnScreen,
    /// `None` while the terminal is handed over.
    events: Option<D::Events>,
    effects: Box<dyn FnMut(Effect)>,
    now: Box<dyn Fn() -> Instant>,
    clipboard: Clipboard,
    editor: Editor,
    /// `None` once nobody can read anything again.
    reloads: Option<mpsc::Receiver<Reloaded>>,
    /// False while the terminal says that another window has the focus.
    focused: bool,
    /// The revision of the program that was seen last.
    drawn: u64,
    /// A size that the screen does not have yet: of many only the last counts, and only when a frame is drawn.
    resized: Option<Size>,
    /// What is to be done before anything else.
    wanted: Option<Wanted>,
}

/// What a frame shows of questions.
#[derive(Clone, Debug, Default)]
struct OnScreen {
    secret: Option<u64>,
    unseen: Option<Vec<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Exit(Exit),
    Suspend,
    Resume,
    Edit,
}

/// What woke the loop.
enum Turn {
    Signal(Signal),
    Check,
    Event(Option<io::Result<Event>>),
    Message(Message),
    Reloaded(Option<Reloaded>),
    SequenceEnds,
    Seen,
    Copied(String),
    Draw,
    Write,
}

impl<P: Program, D: Device> Console<P, D> {
    async fn run(mut self, mut messages: mpsc::Receiver<Message>, mut signals: mpsc::Receiver<Signal>) -> Result<Exit> {
        let ended = self.turns(&mut messages, &mut signals).await;
        self.events = None;
        self.device.leave();
        match ended {
            // A terminal that was closed shows itself in many ways: an error of a read, of a write, of a mode.
            // (No report is made of that: with backtraces it takes seconds.)
            Err(_) if self.device.is_gone() => Ok(Exit::TerminalGone),
            ended => ended.map_err(|error| eyre!(error)),
        }
    }

    async fn turns(
        &mut self,
        messages: &mut mpsc::Receiver<Message>,
        signals: &mut mpsc::Receiver<Signal>,
    ) -> io::Result<Exit> {
        let mut check = interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.limiter.request(Reason::News);
        loop {
            let turn = tokio::select! {
                biased;
                Some(signal) = signals.recv() => Turn::Signal(signal),
                _ = check.tick() => Turn::Check,
                event = next(&mut self.events) => Turn::Event(event),
                Some(message) = messages.recv() => Turn::Message(message),
                reloaded = reloaded(&mut self.reloads) => Turn::Reloaded(reloaded),
                () = at(self.keys.deadline()) => Turn::SequenceEnds,
                () = at(self.seen.due()) => Turn::Seen,
                Some(said) = self.clipboard.outcome() => Turn::Copied(said),
                () = at(self.limiter.due()), if self.screen.is_idle() => Turn::Draw,
                () = sleep(RETRY), if !self.screen.is_idle() => Turn::Write,
            };
            match turn {
                Turn::Signal(signal) => self.signal(signal),
                Turn::Check => self.check(),
                Turn::Event(event) => self.event(event)?,
                Turn::Message(message) => self.update(message, Reason::News),
                Turn::Reloaded(Some(reloaded)) => self.reloaded(reloaded),
                Turn::Reloaded(None) => self.reloads = None,
                Turn::SequenceEnds => self.keys.forget(),
                Turn::Seen => {
                    if let Some(questions) = self.seen.take(Instant::now()) {
                        self.update(Message::Seen { questions }, Reason::News);
                    }
                }
                Turn::Copied(said) => self.say(&said),
                Turn::Draw | Turn::Write => {}
            }
            self.drain(messages).await?;
            match self.wanted.take() {
                Some(Wanted::Exit(exit)) => return Ok(exit),
                Some(Wanted::Suspend) => self.suspend()?,
                Some(Wanted::Resume) => self.resume()?,
                Some(Wanted::Edit) => self.edit(messages, signals).await?,
                None => {}
            }
            self.draw_if_due()?;
        }
    }

    /// Takes in what has come meanwhile, for a few milliseconds, keys before messages.
    async fn drain(&mut self, messages: &mut mpsc::Receiver<Message>) -> io::Result<()> {
        let end = (self.now)() + DRAIN;
        while self.wanted.is_none() {
            if let Some(event) = arrived(&mut self.events).await {
                self.event(event)?;
            } else if let Ok(message) = messages.try_recv() {
                self.update(message, Reason::News);
            } else {
                break;
            }
            if (self.now)() >= end {
                break;
            }
        }
        Ok(())
    }

    fn signal(&mut self, signal: Signal) {
        self.wanted = Some(match signal {
            Signal::Stop => Wanted::Suspend,
            Signal::Continue => Wanted::Resume,
            ends => Wanted::Exit(Exit::Signal(ends)),
        });
    }

    fn check(&mut self) {
        self.device.nudge();
        if self.device.is_gone() {
            self.wanted = Some(Wanted::Exit(Exit::TerminalGone));
        } else if let Some(text) = background_panic() {
            self.notice(
                Severity::Error,
                &format!("a part of rdmascope failed and may show nothing new any more: {text}"),
            );
        }
    }

    fn event(&mut self, event: Option<io::Result<Event>>) -> io::Result<()> {
        let message = match event {
            Some(Ok(Event::Key(key))) if self.secret.prompt().is_some() => {
                self.secret_key(key);
                None
            }
            Some(Ok(Event::Paste(text))) if self.secret.prompt().is_some() => {
                self.secret_paste(text);
                None
            }
            Some(Ok(Event::Key(key))) => {
                self.focus(true); // whoever types here is here, whatever the terminal forgot to say
                let place = Place { context: self.program.context(), panel: self.program.panel() };
                self.keys.press(&self.look.keymap, place, key, Instant::now())
            }
            Some(Ok(Event::Paste(text))) => keys::paste(self.program.context(), &text),
            Some(Ok(Event::Resize(columns, rows))) => {
                self.resized = Some(Size::new(columns, rows));
                self.limiter.request(Reason::News);
                None
            }
            Some(Ok(Event::FocusGained)) => {
                self.focus(true);
                None
            }
            Some(Ok(Event::FocusLost)) => {
                self.focus(false);
                None
            }
            Some(Ok(Event::Mouse(event))) => self.program.hits().and_then(|hits| pointer::message(hits, event)),
            Some(Err(error)) if error.kind() == ErrorKind::Interrupted => None,
            Some(Err(error)) => return Err(told("the terminal cannot be read", &error)),
            None => {
                self.wanted = Some(Wanted::Exit(Exit::TerminalGone));
                None
            }
        };
        if let Some(message) = message {
            self.update(message, Reason::Answer);
        }
        Ok(())
    }

    fn update(&mut self, message: Message, reason: Reason) {
        for effect in self.program.update(message) {
            match effect {
                Effect::Quit => self.wanted = Some(Wanted::Exit(Exit::Quit)),
                Effect::EditConfiguration => self.wanted = self.wanted.or(Some(Wanted::Edit)),
                Effect::Suspend => self.wanted = self.wanted.or(Some(Wanted::Suspend)),
                Effect::Redraw => {
                    self.resized = Some(self.device.size());
                    self.limiter.request(Reason::Answer);
                }
                Effect::Copy { text, what } => {
                    let copied = self.clipboard.copy(&text, what);
                    if let Some(sequence) = copied.sequence {
                        self.screen.append(sequence.as_bytes());
                    }
                    if let Some(notice) = copied.notice {
                        self.say(&notice);
                    }
                }
                Effect::Notify { text, by } => {
                    let in_tmux = self.clipboard.is_in_tmux();
                    self.screen.append(super::notice::sequence(&text, by, in_tmux).as_bytes());
                }
                effect => (self.effects)(effect),
            }
        }
        // What is typed from now on belongs to the question that is in front now.
        self.secret.follow(self.program.secret_prompt());
        if let Some(wished) = self.program.look()
            && *wished != self.look.chosen
        {
            let wished = wished.clone();
            self.change_look(&wished);
        }
        if self.program.revision() != self.drawn {
            self.drawn = self.program.revision();
            self.limiter.request(reason);
        }
    }

    fn notice(&mut self, severity: Severity, text: &str) {
        let notice = Message::Notice { target: None, at: Timestamp::now(), severity, text: Text::new(text) };
        self.update(notice, Reason::Answer);
    }

    /// Tells in the footer what became of something that the user asked for.
    fn say(&mut self, text: &str) {
        self.update(Message::Said { at: Timestamp::now(), text: Text::new(text) }, Reason::Answer);
    }

    fn change_look(&mut self, wished: &LookChoice) {
        let unknown = self.look.change(wished);
        self.set_pace();
        if let Err(error) = self.device.set_mouse(wished.mouse) {
            self.say(&format!("the terminal refuses the mouse: {error}"));
        }
        self.keys.forget();
        self.limiter.request(Reason::Answer);
        for sentence in unknown {
            self.say(&sentence);
        }
    }

    /// Takes in what was read again: definitions first, then what the model makes of it.
    fn reloaded(&mut self, reloaded: Reloaded) {
        if let Some(looks) = reloaded.looks {
            self.look.looks = looks;
            let chosen = self.look.chosen.clone();
            // A name that is gone is told when the model, which hears of it next, chooses another.
            self.look.change(&chosen);
            self.keys.forget();
        }
        for message in reloaded.messages {
            self.update(message, Reason::Answer);
        }
        self.limiter.request(Reason::Answer);
    }

    /// Takes in whether the terminal has the focus.
    fn focus(&mut self, focused: bool) {
        if self.focused != focused {
            self.focused = focused;
            self.set_pace();
            self.limiter.request(Reason::News);
        }
    }

    fn set_pace(&mut self) {
        let pace = self.look.pace;
        self.limiter.set_pace(if self.focused { pace } else { pace.unwatched() });
    }

    /// Gives the terminal to the shell until it gives it back.
    fn suspend(&mut self) -> io::Result<()> {
        self.events = None; // else its reader would take the shell's keys
        self.secret.wipe();
        let stopped = self.device.stop().map_err(|error| told("the program cannot be suspended", &error))?;
        if stopped {
            self.device.enter().map_err(|error| told("the terminal cannot be taken again", &error))?;
        }
        self.events = Some(self.device.events());
        if stopped {
            self.taken_again();
        } else {
            self.notice(Severity::Info, "cannot suspend: no shell is there that could continue the console");
        }
        Ok(())
    }

    /// Others stopped the process and continued it; the shell may have changed everything meanwhile.
    fn resume(&mut self) -> io::Result<()> {
        self.device.resume().map_err(|error| told("the terminal cannot be taken again", &error))?;
        self.taken_again();
        Ok(())
    }

    fn taken_again(&mut self) {
        self.keys.forget();
        self.secret.wipe();
        self.seen.forget();
        self.resized = Some(self.device.size());
        self.limiter.request(Reason::Answer);
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        if !self.screen.is_idle() {
            self.write()?;
            if !self.screen.is_idle() {
                return Ok(()); // a frame drawn now would take the place of what is on its way
            }
        }
        let now = Instant::now();
        if self.limiter.due().is_none_or(|due| due > now) {
            return Ok(());
        }
        if let Some(size) = self.resized.take() {
            if size != self.screen.size() {
                self.update(Message::Resized { columns: size.width, rows: size.height }, Reason::News);
            }
            self.screen.resize(size)?;
        }
        self.limiter.began(now);
        let (program, look, typed) = (&self.program, &self.look, self.secret.typed());
        self.screen.draw(|frame| program.draw(frame, look, typed))?;
        self.on_screen = OnScreen {
            secret: self.secret.prompt().map(|prompt| prompt.id),
            unseen: program.unseen(self.screen.size()),
        };
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.screen.write_to(&mut self.device).map_err(|error| told("the terminal cannot be written to", &error))?;
        if self.screen.is_idle() {
            let now = Instant::now();
            self.limiter.written(now);
            self.seen.drawn(self.on_screen.unseen.as_deref(), now);
            if let Some(id) = self.on_screen.secret {
                self.secret.drawn(id, now);
            }
        }
        Ok(())
    }
}

/// The error with what it means here.
fn told(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod surroundings_tests;
#[cfg(test)]
mod tests;
