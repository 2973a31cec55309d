use std::cell::{Cell, RefCell};
use std::io::Write;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures::stream;
use tokio::task::LocalSet;

pub(super) use super::*;
use crate::app::Answer;
use crate::app::copy::CopyText;
pub(super) use crate::tui::frame::Pace;
use crate::tui::glyphs::GlyphSet;
pub(super) use crate::tui::keymap::Keymap;
use crate::tui::looks::Looks;
pub(super) use crate::tui::testing::actions;

mod copies_and_looks;
mod questions;

/// What the test and the loop share.
#[derive(Default)]
pub(super) struct Shared {
    /// What was done to the terminal and the program, in order.
    pub(super) log: RefCell<Vec<String>>,
    /// What the terminal has taken.
    bytes: RefCell<Vec<u8>>,
    /// Bytes that the terminal still takes; `None`: all.
    room: Cell<Option<usize>>,
    gone: Cell<bool>,
    no_shell: Cell<bool>,
    nudged: Cell<u32>,
    size: Cell<Size>,
    pub(super) drawn: Cell<u32>,
    pub(super) live_streams: Cell<u32>,
    revision: Cell<u64>,
    mouse: Cell<bool>,
    context: Cell<Option<Context>>,
    /// What is to be shown.
    text: RefCell<String>,
    /// How far the clock of the loop goes on with every message.
    cost: Cell<Duration>,
    clock: Cell<Duration>,
    pub(super) effects: RefCell<Vec<Effect>>,
    /// What the next copy holds.
    to_copy: RefCell<String>,
}

impl Shared {
    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }

    pub(super) fn noted(&self) -> Vec<String> {
        std::mem::take(&mut self.log.borrow_mut())
    }

    fn copied(&self) -> CopyText {
        CopyText::lines([self.to_copy.borrow().as_str()]).expect("something to copy")
    }

    pub(super) fn shown(&self) -> String {
        let size = self.size.get();
        let cells = |cells| NonZeroU16::new(cells).expect("a size");
        let mut parser = vt100::Parser::new(cells(size.height), cells(size.width), 0);
        parser.process(&self.bytes.borrow());
        parser.screen().contents().trim_end().to_owned()
    }
}

struct FakeTerminal {
    pub(super) shared: Rc<Shared>,
    pub(super) typed: Rc<RefCell<mpsc::UnboundedReceiver<io::Result<Event>>>>,
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
pub(super) struct Bench {
    pub(super) shared: Rc<Shared>,
    pub(super) typed: mpsc::UnboundedSender<io::Result<Event>>,
    pub(super) messages: mpsc::Sender<Message>,
    pub(super) signals: mpsc::Sender<Signal>,
    pub(super) reload: mpsc::Sender<Reloaded>,
    ended: tokio::task::JoinHandle<Result<Exit>>,
}

impl Bench {
    pub(super) fn start(pace: Pace) -> Self {
        Self::start_with(pace, Box::new(|| Err("there is no editor".to_owned())))
    }

    pub(super) fn start_with(pace: Pace, editor: Editor) -> Self {
        let shared = Rc::new(Shared::default());
        shared.size.set(Size::new(40, 5));
        let (typed, events) = mpsc::unbounded_channel();
        let (messages, received) = mpsc::channel(10_000);
        let (signals, arrived) = mpsc::channel(8);
        let terminal = FakeTerminal { shared: Rc::clone(&shared), typed: Rc::new(RefCell::new(events)) };
        let mut looks = Looks::embedded(&actions()).expect("valid");
        let keys = Keymap::embedded(&actions()).expect("valid");
        looks.add_keymap("other", keys.with("o", "[global]\n\"x\" = \"down\"\n", &actions()).expect("valid"));
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

    pub(super) fn key(&self, code: KeyCode) {
        self.typed.send(Ok(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))).expect("the loop runs");
    }

    pub(super) fn keys(&self, text: &str) {
        text.chars().for_each(|character| self.key(KeyCode::Char(character)));
    }

    pub(super) fn event(&self, event: Event) {
        self.typed.send(Ok(event)).expect("the loop runs");
    }

    pub(super) fn message(&self, id: u64) {
        self.messages.try_send(Message::Withdrawn { id }).expect("the loop runs");
    }

    /// Lets some of the virtual time pass.
    pub(super) async fn pass(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    /// Lets enough time pass for all that was sent.
    pub(super) async fn settle(&self) {
        self.pass(2_000).await;
    }

    pub(super) async fn exit(self) -> Exit {
        self.ended.await.expect("no panic").expect("no error")
    }
}

/// Runs a test on virtual time.
pub(super) fn on_virtual_time(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    LocalSet::new().block_on(&runtime, test);
}

#[test]
fn keys_become_actions_and_their_answer_is_drawn_until_quit_leaves() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("jgg");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "down", "top"]);
        assert_eq!(bench.shared.shown(), "top");
        bench.keys("q");
        let shared = Rc::clone(&bench.shared);
        assert_eq!(bench.exit().await, Exit::Quit);
        assert_eq!(shared.noted(), ["quit", "leave"]);
        assert_eq!(shared.live_streams.get(), 0);
    });
}

#[test]
fn nothing_is_drawn_while_nothing_changes() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        assert_eq!(bench.shared.drawn.get(), 1, "the first frame");
        for _ in 0..10 {
            bench.messages.try_send(Message::Clock(Timestamp::UNIX_EPOCH)).expect("sent");
            bench.pass(1_000).await;
        }
        assert_eq!(bench.shared.drawn.get(), 1);
        assert!((20..=26).contains(&bench.shared.nudged.get()), "twice a second a forgotten key is looked for");
    });
}

#[test]
fn a_flood_of_messages_makes_thirty_frames_a_second_and_three_on_a_dear_line() {
    for (pace, expected) in [(Pace::NORMAL, 28..=32), (Pace::LOW_BANDWIDTH, 3..=5)] {
        on_virtual_time(async {
            let bench = Bench::start(pace);
            for id in 0..1_000 {
                bench.message(id);
                bench.pass(1).await;
            }
            bench.settle().await;
            assert!(expected.contains(&bench.shared.drawn.get()), "{}", bench.shared.drawn.get());
            assert_eq!(bench.shared.shown(), "message 999", "the last one is shown");
        });
    }
}

#[test]
fn messages_are_taken_in_for_four_milliseconds_then_keys_have_their_turn() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.noted();
        bench.shared.cost.set(Duration::from_millis(1));
        for id in 0..100 {
            bench.message(id);
        }
        bench.keys("j");
        bench.settle().await;
        let log = bench.shared.noted();
        let turn = log.iter().position(|entry| entry == "down").expect("the key was seen");
        assert!(turn <= 6, "after {turn} messages");
        assert_eq!(log.len(), 101, "and no message was lost");
    });
}

#[test]
fn a_key_is_seen_and_a_frame_is_drawn_during_a_flood() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let drawn = bench.shared.drawn.get();
        for id in 0..5_000 {
            bench.message(id);
        }
        bench.keys("j");
        // The clock of the loop stands still for it, so the drain ends by itself only when nothing is left; a frame follows.
        bench.settle().await;
        assert!(bench.shared.drawn.get() > drawn);
        let log = bench.shared.noted();
        assert!(log.iter().position(|entry| entry == "down").expect("seen") <= 2, "keys come before messages");
    });
}

#[test]
fn of_many_resizes_the_last_counts_and_the_frame_is_whole() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.noted();
        for columns in (20..60).rev() {
            bench.typed.send(Ok(Event::Resize(columns, 4))).expect("sent");
        }
        bench.shared.size.set(Size::new(20, 4));
        bench.shared.bytes.borrow_mut().clear();
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["20x4"]);
        assert_eq!(bench.shared.shown(), "20x4");
        bench.typed.send(Ok(Event::Resize(0, 0))).expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["0x0"], "even a terminal without a cell");
    });
}

#[test]
fn a_sequence_is_forgotten_after_a_second() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("g");
        bench.pass(1_100).await;
        bench.keys("g");
        bench.pass(500).await;
        assert_eq!(bench.shared.noted(), ["enter"]);
        bench.keys("g");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["top"]);
    });
}

#[test]
fn text_is_edited_where_text_is_typed_and_pasted_nowhere_else() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        let paste = || bench.typed.send(Ok(Event::Paste("rxe0\rq".to_owned()))).expect("sent");
        paste();
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter"]);
        bench.shared.context.set(Some(Context::Filter));
        bench.keys("q");
        paste();
        bench.key(KeyCode::Enter);
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["Insert('q')", "Paste(\"rxe0 q\")", "accept"]);
    });
}

#[test]
fn suspending_hands_everything_over_and_takes_it_back_whole() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.noted();
        bench.shared.bytes.borrow_mut().clear();
        bench.shared.size.set(Size::new(30, 3));
        bench.typed.send(Ok(Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)))).expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["suspend", "stop", "enter", "30x3"]);
        assert_eq!(bench.shared.shown(), "30x3", "the frame is whole");
        bench.keys("j");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["down"], "keys come in again");
    });
}

#[test]
fn without_a_shell_suspending_says_so_and_goes_on() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.shared.no_shell.set(true);
        bench.signals.send(Signal::Stop).await.expect("sent");
        bench.settle().await;
        let told = "cannot suspend: no shell is there that could continue the console";
        assert_eq!(bench.shared.noted(), ["enter", "stop", told]);
        bench.keys("j");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["down"]);
    });
}

#[test]
fn continued_by_others_the_terminal_is_taken_again_and_redrawn() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        bench.signals.send(Signal::Continue).await.expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "message 1", "resume"]);
        assert_eq!(bench.shared.shown(), "message 1");
    });
}

#[test]
fn redraw_draws_everything_anew() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        bench.key(KeyCode::F(5));
        bench.settle().await;
        assert_eq!(bench.shared.shown(), "redraw");
        let bytes = bench.shared.bytes.borrow();
        assert!(bytes.windows(4).any(|part| part == b"\x1b[2J"), "{}", bytes.escape_ascii());
    });
}

#[test]
fn signals_end_the_console_cleanly_with_their_number() {
    for (signal, code) in
        [(Signal::Terminate, 143), (Signal::HangUp, 129), (Signal::Interrupt, 130), (Signal::Quit, 131)]
    {
        on_virtual_time(async {
            let bench = Bench::start(Pace::NORMAL);
            bench.settle().await;
            bench.signals.send(signal).await.expect("sent");
            let shared = Rc::clone(&bench.shared);
            let exit = bench.exit().await;
            assert_eq!((exit, exit.code()), (Exit::Signal(signal), code));
            assert_eq!(shared.noted().last().map(String::as_str), Some("leave"));
        });
    }
    assert_eq!(Exit::Quit.code(), 0);
}

#[test]
fn a_terminal_that_vanishes_ends_the_console() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.gone.set(true);
        let before = Instant::now();
        assert_eq!(bench.exit().await, Exit::TerminalGone);
        assert!(before.elapsed() <= CHECK);
    });
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.gone.set(true);
        bench.message(1); // the write of its frame fails before the next look
        assert_eq!(bench.exit().await, Exit::TerminalGone);
    });
    on_virtual_time(async {
        let Bench { typed, ended, messages: _messages, signals: _signals, .. } = Bench::start(Pace::NORMAL);
        drop(typed);
        assert_eq!(ended.await.expect("no panic").expect("no error"), Exit::TerminalGone);
    });
}

#[test]
fn a_slow_terminal_costs_frames_but_never_a_key_or_a_signal() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let drawn = bench.shared.drawn.get();
        bench.shared.room.set(Some(5));
        for id in 0..100 {
            bench.message(id);
            bench.pass(50).await;
        }
        assert_eq!(bench.shared.drawn.get(), drawn + 1, "one frame is on its way, none is queued behind it");
        bench.shared.noted();
        bench.keys("j");
        bench.pass(100).await;
        assert_eq!(bench.shared.noted(), ["down"], "the key was taken all the same");
        bench.shared.room.set(None);
        bench.settle().await;
        assert_eq!(bench.shared.shown(), "down", "the next frame is of now");
        assert_eq!(bench.shared.drawn.get(), drawn + 2);
        bench.shared.room.set(Some(0));
        bench.message(1);
        bench.settle().await;
        bench.signals.send(Signal::Terminate).await.expect("sent");
        assert_eq!(bench.exit().await, Exit::Signal(Signal::Terminate));
    });
}

#[test]
fn other_effects_go_outside() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("?");
        bench.settle().await;
        assert_eq!(*bench.shared.effects.borrow(), [Effect::Answer { id: 7, answer: Answer::Accept }]);
    });
}

#[test]
fn the_console_outlives_its_engine() {
    on_virtual_time(async {
        let Bench { shared, typed, messages, signals: _signals, reload: _reload, ended } = Bench::start(Pace::NORMAL);
        drop(messages);
        tokio::time::sleep(Duration::from_secs(2)).await;
        typed.send(Ok(Event::Key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)))).expect("sent");
        assert_eq!(ended.await.expect("no panic").expect("no error"), Exit::Quit);
        assert_eq!(shared.drawn.get(), 1);
    });
}
