//! The loop's fakes: a terminal that keeps what was written to it, a program that shows the last message, and a bench on
//! which the loop runs with everything that it listens to, on virtual time.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures::{Stream, stream};
use ratatui::Frame;
use tokio::task::LocalSet;

use super::super::*;
use crate::app::Answer;
use crate::app::action::Context;
use crate::app::copy::CopyText;
use crate::tui::frame::Pace;
use crate::tui::glyphs::GlyphSet;
use crate::tui::keymap::Keymap;
use crate::tui::looks::Looks;
use crate::tui::secret::{SecretPrompt, Typed};
use crate::tui::testing::actions;

/// What the test and the loop share.
#[derive(Default)]
pub(in crate::tui::event_loop) struct Shared {
    /// What was done to the terminal and the program, in order.
    pub(in crate::tui::event_loop) log: RefCell<Vec<String>>,
    /// What the terminal has taken.
    pub(in crate::tui::event_loop) bytes: RefCell<Vec<u8>>,
    /// Bytes that the terminal still takes; `None`: all.
    pub(in crate::tui::event_loop) room: Cell<Option<usize>>,
    pub(in crate::tui::event_loop) gone: Cell<bool>,
    pub(in crate::tui::event_loop) no_shell: Cell<bool>,
    pub(in crate::tui::event_loop) nudged: Cell<u32>,
    pub(in crate::tui::event_loop) size: Cell<Size>,
    pub(in crate::tui::event_loop) drawn: Cell<u32>,
    pub(in crate::tui::event_loop) live_streams: Cell<u32>,
    pub(in crate::tui::event_loop) revision: Cell<u64>,
    pub(in crate::tui::event_loop) mouse: Cell<bool>,
    pub(in crate::tui::event_loop) context: Cell<Option<Context>>,
    /// What is to be shown.
    pub(in crate::tui::event_loop) text: RefCell<String>,
    /// How far the clock of the loop goes on with every message.
    pub(in crate::tui::event_loop) cost: Cell<Duration>,
    pub(in crate::tui::event_loop) clock: Cell<Duration>,
    pub(in crate::tui::event_loop) effects: RefCell<Vec<Effect>>,
    /// What the next copy holds.
    pub(in crate::tui::event_loop) to_copy: RefCell<String>,
}

impl Shared {
    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }

    pub(in crate::tui::event_loop) fn noted(&self) -> Vec<String> {
        std::mem::take(&mut self.log.borrow_mut())
    }

    pub(in crate::tui::event_loop) fn copied(&self) -> CopyText {
        CopyText::lines([self.to_copy.borrow().as_str()]).expect("something to copy")
    }

    pub(in crate::tui::event_loop) fn shown(&self) -> String {
        let size = self.size.get();
        let cells = |cells| NonZeroU16::new(cells).expect("a size");
        let mut parser = vt100::Parser::new(cells(size.height), cells(size.width), 0);
        parser.process(&self.bytes.borrow());
        parser.screen().contents().trim_end().to_owned()
    }
}

/// A terminal that keeps what was written to it.
pub(in crate::tui::event_loop) struct FakeTerminal {
    pub(in crate::tui::event_loop) shared: Rc<Shared>,
    pub(in crate::tui::event_loop) typed: Rc<RefCell<mpsc::UnboundedReceiver<io::Result<Event>>>>,
}

/// Counts the streams that are alive.
struct Alive(Rc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.live_streams.set(self.0.live_streams.get() - 1);
    }
}

impl Device for FakeTerminal {
    type Events = Pin<Box<dyn Stream<Item = io::Result<Event>>>>;

    fn enter(&mut self) -> io::Result<()> {
        self.shared.note("enter");
        Ok(())
    }

    fn leave(&mut self) {
        self.shared.note("leave");
    }

    fn events(&mut self) -> Self::Events {
        assert_eq!(self.shared.live_streams.get(), 0, "one reader at a time");
        self.shared.live_streams.set(1);
        let (alive, typed) = (Alive(Rc::clone(&self.shared)), Rc::clone(&self.typed));
        Box::pin(stream::poll_fn(move |task| {
            let _ = &alive;
            typed.borrow_mut().poll_recv(task)
        }))
    }

    fn stop(&mut self) -> io::Result<bool> {
        assert_eq!(self.shared.live_streams.get(), 0, "the shell's keys are the shell's");
        self.shared.note("stop");
        Ok(!self.shared.no_shell.get())
    }

    fn resume(&mut self) -> io::Result<()> {
        self.shared.note("resume");
        Ok(())
    }

    fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        if self.shared.mouse.replace(on) != on {
            self.shared.note(if on { "mouse on" } else { "mouse off" });
        }
        Ok(())
    }

    fn nudge(&self) {
        self.shared.nudged.set(self.shared.nudged.get() + 1);
    }

    fn is_gone(&self) -> bool {
        self.shared.gone.get()
    }

    fn size(&self) -> Size {
        self.shared.size.get()
    }
}

impl Write for FakeTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.shared.gone.get() {
            return Err(io::Error::other("gone"));
        }
        let count = self.shared.room.get().map_or(bytes.len(), |room| room.min(bytes.len()));
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.shared.room.set(self.shared.room.get().map(|room| room - count));
        self.shared.bytes.borrow_mut().extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows the last message, and does what actions named like effects say.
struct FakeProgram(Rc<Shared>, LookChoice);

impl Program for FakeProgram {
    fn context(&self) -> Context {
        self.0.context.get().unwrap_or(Context::Tree)
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        self.0.clock.set(self.0.clock.get() + self.0.cost.get());
        let text = match &message {
            Message::Action(name) => name.to_string(),
            Message::Resized { columns, rows } => format!("{columns}x{rows}"),
            Message::Notice { text, .. } | Message::Said { text, .. } => text.to_string(),
            Message::Edit(edit) => format!("{edit:?}"),
            Message::Withdrawn { id } => format!("message {id}"),
            Message::Clock(_) => return Vec::new(), // nothing visible changes
            other => format!("{other:?}"),
        };
        self.0.note(text.clone());
        *self.0.text.borrow_mut() = text.clone();
        self.0.revision.set(self.0.revision.get() + 1);
        match text.as_str() {
            "zoom-in" => self.1.keymap = Text::new("other"),
            "zoom-out" => self.1 = LookChoice { theme: Text::new("neon"), low_bandwidth: true, ..self.1.clone() },
            _ => {}
        }
        match text.as_str() {
            "quit" => vec![Effect::Quit],
            "suspend" => vec![Effect::Suspend],
            "redraw" => vec![Effect::Redraw],
            "copy" => vec![Effect::Copy { text: self.0.copied(), what: "raw text" }],
            "edit-configuration" => vec![Effect::EditConfiguration],
            "toggle-mouse" => {
                self.1.mouse = !self.1.mouse;
                Vec::new()
            }
            "toggle-low-bandwidth" => {
                self.1.low_bandwidth = !self.1.low_bandwidth;
                Vec::new()
            }
            "help" => vec![Effect::Answer { id: 7, answer: Answer::Accept }],
            _ => Vec::new(),
        }
    }

    fn draw(&self, frame: &mut Frame, _: &Look, _: Typed<'_>) {
        self.0.drawn.set(self.0.drawn.get() + 1);
        frame.render_widget(self.0.text.borrow().as_str(), frame.area());
    }

    fn secret_prompt(&self) -> Option<SecretPrompt> {
        None
    }

    fn unseen(&self, _: Size) -> Option<Vec<u64>> {
        None
    }

    fn revision(&self) -> u64 {
        self.0.revision.get()
    }

    fn look(&self) -> Option<&LookChoice> {
        Some(&self.1)
    }
}

/// The loop at work, and everything that it listens to.
pub(in crate::tui::event_loop) struct Bench {
    pub(in crate::tui::event_loop) shared: Rc<Shared>,
    pub(in crate::tui::event_loop) typed: mpsc::UnboundedSender<io::Result<Event>>,
    pub(in crate::tui::event_loop) messages: mpsc::Sender<Message>,
    pub(in crate::tui::event_loop) signals: mpsc::Sender<Signal>,
    pub(in crate::tui::event_loop) reload: mpsc::Sender<Reloaded>,
    pub(in crate::tui::event_loop) ended: tokio::task::JoinHandle<Result<Exit>>,
}

impl Bench {
    pub(in crate::tui::event_loop) fn start(pace: Pace) -> Self {
        Self::start_with(pace, Box::new(|| Err("there is no editor".to_owned())))
    }

    pub(in crate::tui::event_loop) fn start_with(pace: Pace, editor: Editor) -> Self {
        let shared = Rc::new(Shared::default());
        shared.size.set(Size::new(40, 5));
        let (typed, events) = mpsc::unbounded_channel();
        let (messages, received) = mpsc::channel(10_000);
        let (signals, arrived) = mpsc::channel(8);
        let terminal = FakeTerminal { shared: Rc::clone(&shared), typed: Rc::new(RefCell::new(events)) };
        let mut looks = Looks::embedded(&actions()).expect("valid");
        let keys = Keymap::embedded(&actions()).expect("valid");
        looks.add_keymap("other", keys.with("o", "[global]\n\"z\" = \"down\"\n", &actions()).expect("valid"));
        let low_bandwidth = pace == Pace::LOW_BANDWIDTH;
        let wished = LookChoice { glyphs: GlyphSet::Ascii, low_bandwidth, ..LookChoice::default() };
        let (look, _) = Look::new(Arc::new(looks), &wished, true);
        let (reload, reloads) = mpsc::channel(4);
        let start = Instant::now();
        let (clock, sink) = (Rc::clone(&shared), Rc::clone(&shared));
        let inputs = Inputs {
            messages: received,
            signals: arrived,
            effects: Box::new(move |effect| sink.effects.borrow_mut().push(effect)),
            now: Box::new(move || start + clock.clock.get()),
            clipboard: Clipboard::new(None),
            reloads,
            editor,
        };
        let ended = tokio::task::spawn_local(run(FakeProgram(Rc::clone(&shared), wished), look, inputs, terminal));
        Self { shared, typed, messages, signals, reload, ended }
    }

    pub(in crate::tui::event_loop) fn key(&self, code: KeyCode) {
        self.typed.send(Ok(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))).expect("the loop runs");
    }

    pub(in crate::tui::event_loop) fn keys(&self, text: &str) {
        text.chars().for_each(|character| self.key(KeyCode::Char(character)));
    }

    pub(in crate::tui::event_loop) fn event(&self, event: Event) {
        self.typed.send(Ok(event)).expect("the loop runs");
    }

    pub(in crate::tui::event_loop) fn message(&self, id: u64) {
        self.messages.try_send(Message::Withdrawn { id }).expect("the loop runs");
    }

    /// Lets some of the virtual time pass.
    pub(in crate::tui::event_loop) async fn pass(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    /// Lets enough time pass for all that was sent.
    pub(in crate::tui::event_loop) async fn settle(&self) {
        self.pass(2_000).await;
    }

    pub(in crate::tui::event_loop) async fn exit(self) -> Exit {
        self.ended.await.expect("no panic").expect("no error")
    }
}

/// Runs a test on virtual time.
pub(in crate::tui::event_loop) fn on_virtual_time(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    LocalSet::new().block_on(&runtime, test);
}
