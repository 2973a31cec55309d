//! Questions, with the real model and the real view on the screen: what a key can answer and when, and where the text of
//! a secret can be found afterwards (nowhere).

use std::cell::RefCell;
use std::sync::Arc;

use proptest::prelude::*;
use ratatui::Frame;

use super::*;
use crate::app::model::{Target, TargetKind};
use crate::app::{
    Answer, Model, Options, Prompt, PromptKind, Secret, SecretKind, SecretRequest, UnknownHostKey, action, update,
};
use crate::fabric::TargetId;
use crate::tui::glyphs::GlyphSet;
use crate::tui::looks::Looks;
use crate::tui::paint::Paint;
use crate::tui::secret::{PATIENCE, SecretPrompt, Typed};
use crate::tui::{overlay, view};

const WORD: &str = "hunterzwei";

#[derive(Default)]
struct Seen {
    /// Every message that the model consumed.
    messages: RefCell<Vec<Message>>,
    model: RefCell<Option<Model>>,
}

struct RealProgram {
    model: Model,
    seen: Rc<Seen>,
}

impl Program for RealProgram {
    fn context(&self) -> Context {
        action::context(&self.model)
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        self.seen.messages.borrow_mut().push(message.clone());
        let effects = update(&mut self.model, message);
        *self.seen.model.borrow_mut() = Some(self.model.clone());
        effects
    }

    fn draw(&self, frame: &mut Frame, look: &Look, typed: Typed<'_>) {
        let Look { theme, glyphs, keymap, .. } = look;
        let zone = jiff::tz::TimeZone::UTC;
        view::draw(frame, &self.model, Paint { theme, glyphs, keymap, zone: &zone, typed, hits: None });
    }

    fn secret_prompt(&self) -> Option<SecretPrompt> {
        overlay::prompt::secret(&self.model)
    }

    fn unseen(&self, size: Size) -> Option<Vec<u64>> {
        overlay::prompt::unseen(&self.model, view::body(ratatui::layout::Rect::new(0, 0, size.width, size.height)))
    }

    fn revision(&self) -> u64 {
        self.model.revision
    }
}

struct Desk {
    shared: Rc<Shared>,
    seen: Rc<Seen>,
    typed: mpsc::UnboundedSender<io::Result<Event>>,
    messages: mpsc::Sender<Message>,
    signals: mpsc::Sender<Signal>,
}

impl Desk {
    fn start(columns: u16, rows: u16) -> Self {
        let shared = Rc::new(Shared::default());
        shared.size.set(Size::new(columns, rows));
        let (typed, events) = mpsc::unbounded_channel();
        let (messages, received) = mpsc::channel(10_000);
        let (signals, arrived) = mpsc::channel(8);
        let terminal = FakeTerminal { shared: Rc::clone(&shared), typed: Rc::new(RefCell::new(events)) };
        let looks = Looks::embedded(&actions()).expect("valid");
        let wished = LookChoice { glyphs: GlyphSet::Ascii, ..LookChoice::default() };
        let (look, _) = Look::new(Arc::new(looks), &wished, true);
        let sink = Rc::clone(&shared);
        let inputs = Inputs {
            messages: received,
            signals: arrived,
            effects: Box::new(move |effect| sink.effects.borrow_mut().push(effect)),
            now: Box::new(Instant::now),
            clipboard: Clipboard::new(None),
            reloads: mpsc::channel(1).1,
            editor: Box::new(|| Err("no editor".to_owned())),
        };
        let targets = ["one", "two"].map(|name| (TargetId::new(name), Target::new(TargetKind::Linux)));
        let model = Model::new(targets.to_vec(), Options::default(), Timestamp::UNIX_EPOCH);
        let seen = Rc::new(Seen::default());
        let program = RealProgram { model, seen: Rc::clone(&seen) };
        tokio::task::spawn_local(run(program, look, inputs, terminal));
        Self { shared, seen, typed, messages, signals }
    }

    fn key_with(&self, code: KeyCode, modifiers: KeyModifiers) {
        self.typed.send(Ok(Event::Key(KeyEvent::new(code, modifiers)))).expect("the loop runs");
    }

    fn key(&self, code: KeyCode) {
        self.key_with(code, KeyModifiers::NONE);
    }

    fn keys(&self, text: &str) {
        text.chars().for_each(|character| self.key(KeyCode::Char(character)));
    }

    fn tell(&self, message: Message) {
        self.messages.try_send(message).expect("the loop runs");
    }

    fn ask(&self, id: u64, target: &str, kind: PromptKind) {
        let prompt = Prompt { id, target: TargetId::new(target), kind };
        self.tell(Message::Asked { at: Timestamp::UNIX_EPOCH, prompt });
    }

    /// Long enough for a frame, too short for a question to be read.
    async fn moment(&self) {
        tokio::time::sleep(PATIENCE / 4).await;
    }

    /// Long enough for a question to be read.
    async fn pause(&self) {
        tokio::time::sleep(2 * PATIENCE).await;
    }

    fn effects(&self) -> Vec<Effect> {
        std::mem::take(&mut self.shared.effects.borrow_mut())
    }

    fn open(&self) -> Vec<u64> {
        self.seen.model.borrow().as_ref().expect("a model").prompts.iter().map(|prompt| prompt.id).collect()
    }

    /// Nothing that is kept, told, recorded or drawn holds the text.
    fn holds_nowhere(&self, text: &str) {
        let model = format!("{:?}", self.seen.model.borrow());
        assert!(!model.contains(text), "the model");
        let messages = format!("{:?}", self.seen.messages.borrow());
        assert!(!messages.contains(text), "the messages");
        for message in self.seen.messages.borrow().iter() {
            let journal = serde_json::to_string(message).expect("text");
            assert!(!journal.contains(text), "what a journal records");
        }
        assert!(!format!("{:?}", self.shared.effects.borrow()).contains(text), "the effects as they print");
        let bytes = self.shared.bytes.borrow();
        assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()), "the screen");
    }
}

fn host_key(host: &str) -> PromptKind {
    PromptKind::UnknownHostKey(UnknownHostKey {
        host: Text::new(host),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new(&format!("SHA256:{}", "x".repeat(43))),
        recorded_in: Text::new("known_hosts"),
    })
}

fn password(echo: bool, may_reuse: bool) -> PromptKind {
    PromptKind::Secret(SecretRequest {
        what: if echo { SecretKind::Interactive } else { SecretKind::Password },
        asked_by: Text::new("lab@one:22"),
        instruction: Text::new(""),
        question: Text::new("Password:"),
        echo,
        may_reuse,
    })
}

fn given(id: u64, text: &str, reuse: bool) -> Effect {
    Effect::Answer { id, answer: Answer::Secret { secret: Secret::new(text.to_owned()), reuse } }
}

fn accepted(id: u64) -> Effect {
    Effect::Answer { id, answer: Answer::Accept }
}

fn refused(id: u64) -> Effect {
    Effect::Answer { id, answer: Answer::Refuse }
}

#[test]
fn a_secret_goes_to_the_one_that_asked_and_is_found_nowhere_else() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.ask(7, "one", password(false, true));
        desk.pause().await;
        desk.keys(&WORD[..3]);
        desk.moment().await;
        assert!(desk.shared.shown().contains("something is typed"), "{}", desk.shared.shown());
        let early = desk.shared.shown();
        desk.typed.send(Ok(Event::Paste(format!("{}\r\n", &WORD[3..])))).expect("sent");
        desk.moment().await;
        assert_eq!(desk.shared.shown(), early, "how much is typed shows nowhere");
        desk.key(KeyCode::Tab);
        desk.moment().await;
        assert!(desk.shared.shown().contains("[x] also for the other targets"), "{}", desk.shared.shown());
        desk.holds_nowhere(&WORD[..3]);
        desk.key(KeyCode::Enter);
        desk.moment().await;
        desk.holds_nowhere(WORD);
        assert_eq!(desk.effects(), [given(7, WORD, true)]);
        assert_eq!(desk.open(), Vec::<u64>::new());
        let last = desk.seen.messages.borrow().last().cloned();
        assert_eq!(last, Some(Message::Answered { id: 7 }));
        desk.holds_nowhere(WORD);
    });
}

#[test]
fn what_was_typed_for_one_question_never_reaches_another() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.ask(7, "one", password(false, true));
        desk.ask(8, "two", password(false, true));
        desk.pause().await;
        desk.key(KeyCode::Tab);
        desk.keys(WORD);
        desk.moment().await;
        desk.tell(Message::Withdrawn { id: 7 });
        desk.moment().await;
        desk.keys("too early");
        desk.key(KeyCode::Enter);
        desk.pause().await;
        assert_eq!(desk.effects(), [], "Enter came too early for the second one");
        assert!(desk.shared.shown().contains("two asks"), "{}", desk.shared.shown());
        assert!(desk.shared.shown().contains("nothing is typed yet"), "{}", desk.shared.shown());
        desk.keys("second");
        desk.key(KeyCode::Enter);
        desk.pause().await;
        assert_eq!(desk.effects(), [given(8, "second", false)]);
        desk.holds_nowhere(WORD);
    });
}

#[test]
fn suspending_and_refusing_wipe_what_was_typed() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.ask(7, "one", password(false, false));
        for by_key in [true, false] {
            desk.pause().await;
            desk.keys(WORD);
            if by_key {
                desk.key_with(KeyCode::Char('z'), KeyModifiers::CONTROL);
            } else {
                desk.signals.send(Signal::Continue).await.expect("sent");
            }
            desk.moment().await;
            desk.key(KeyCode::Enter);
            desk.pause().await;
            desk.key(KeyCode::Enter);
            desk.moment().await;
            assert_eq!(desk.effects(), [], "nothing was left to give");
        }
        assert!(desk.shared.noted().contains(&"stop".to_owned()));
        desk.pause().await;
        desk.keys(WORD);
        desk.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
        desk.moment().await;
        assert_eq!(desk.effects(), [refused(7)], "and the console goes on");
        desk.ask(8, "one", password(false, false));
        desk.pause().await;
        desk.key(KeyCode::Enter);
        desk.key(KeyCode::Esc);
        desk.moment().await;
        assert_eq!(desk.effects(), [refused(8)]);
        desk.holds_nowhere(WORD);
    });
}

#[test]
fn the_line_is_edited_and_keys_of_the_map_are_no_text() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.ask(7, "one", password(true, false));
        desk.pause().await;
        desk.keys("wrong");
        desk.key_with(KeyCode::Char('u'), KeyModifiers::CONTROL);
        desk.keys("q12?4");
        desk.key(KeyCode::Backspace);
        desk.key_with(KeyCode::Char('h'), KeyModifiers::CONTROL);
        desk.keys("3");
        desk.key(KeyCode::Left);
        desk.key(KeyCode::F(1));
        desk.key(KeyCode::Tab);
        desk.moment().await;
        assert!(desk.shared.shown().contains("> q123"), "the server lets it be seen: {}", desk.shared.shown());
        desk.key(KeyCode::Enter);
        desk.moment().await;
        assert_eq!(desk.effects(), [given(7, "q123", false)], "there is nothing to tick");
        let actions =
            desk.seen.messages.borrow().iter().filter(|message| matches!(message, Message::Action(_))).count();
        assert_eq!(actions, 0);
    });
}

#[test]
fn a_filter_that_is_being_typed_keeps_its_keys() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.keys("/");
        desk.moment().await;
        desk.ask(7, "one", password(false, false));
        desk.pause().await;
        desk.keys("rx");
        desk.moment().await;
        let filter = desk.seen.model.borrow().as_ref().map(|model| model.screen.filter.text().to_owned());
        assert_eq!(filter.as_deref(), Some("rx"));
        desk.key(KeyCode::Enter);
        desk.keys("y");
        desk.pause().await;
        desk.key(KeyCode::Enter);
        desk.moment().await;
        assert_eq!(desk.effects(), [], "what came right after the filter is no password");
    });
}

#[test]
fn a_key_that_was_typed_for_something_else_answers_nothing() {
    on_virtual_time(async {
        for key in [KeyCode::Char('y'), KeyCode::Enter, KeyCode::Char('n'), KeyCode::Char('N'), KeyCode::Esc] {
            let desk = Desk::start(80, 24);
            desk.ask(1, "one", host_key("one"));
            desk.moment().await;
            desk.key(key);
            desk.moment().await;
            assert_eq!(desk.effects(), []);
            assert!(desk.shared.shown().contains("nothing was answered"), "{}", desk.shared.shown());
            desk.pause().await;
            desk.key(key);
            desk.moment().await;
            assert_eq!(desk.effects().len(), 1, "{key:?}");
        }
    });
}

#[test]
fn what_comes_between_drawing_and_the_key_is_not_accepted() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        desk.ask(1, "one", host_key("one"));
        desk.pause().await;
        desk.ask(2, "two", host_key("two"));
        desk.keys("y");
        desk.moment().await;
        assert_eq!(desk.effects(), [accepted(1)]);
        assert_eq!(desk.open(), [2]);
        desk.keys("y");
        desk.moment().await;
        assert_eq!(desk.effects(), [], "it stands there for too short a time");
        desk.pause().await;
        desk.keys("y");
        desk.moment().await;
        assert_eq!(desk.effects(), [accepted(2)]);
    });
}

#[test]
fn rows_that_were_not_scrolled_to_are_not_accepted() {
    on_virtual_time(async {
        let desk = Desk::start(80, 24);
        for id in 1..=30 {
            desk.ask(id, "one", host_key(&format!("host-{id}")));
        }
        desk.pause().await;
        desk.keys("y");
        desk.moment().await;
        let first: Vec<Effect> = desk.effects();
        assert!((3..12).contains(&first.len()), "{first:?}");
        assert_eq!(first[0], accepted(1));
        assert_eq!(desk.open().len() + first.len(), 30);
        desk.pause().await;
        desk.keys("G");
        desk.pause().await;
        assert!(desk.shared.shown().contains("host-30"), "{}", desk.shared.shown());
        desk.keys("y");
        desk.moment().await;
        let then: Vec<Effect> = desk.effects();
        assert!(then.contains(&accepted(30)) && then.len() > first.len(), "{then:?}");
        assert!(!then.contains(&accepted(20)), "the middle was never shown: {then:?}");
        desk.pause().await;
        desk.keys("N");
        desk.moment().await;
        assert_eq!(desk.effects().len(), 30 - first.len() - then.len(), "all others are refused");
        assert_eq!(desk.open(), Vec::<u64>::new());
    });
}

#[test]
fn one_row_is_accepted_or_refused_by_itself() {
    on_virtual_time(async {
        let desk = Desk::start(120, 40);
        for id in 1..=3 {
            desk.ask(id, "one", host_key(&format!("host-{id}")));
        }
        desk.pause().await;
        desk.keys("j");
        desk.key(KeyCode::Enter);
        desk.moment().await;
        assert_eq!(desk.effects(), [accepted(2)]);
        desk.keys("n");
        desk.moment().await;
        assert_eq!(desk.effects(), [refused(3)], "the selection stays where it was");
        desk.keys("o");
        desk.moment().await;
        assert_eq!(desk.effects(), [accepted(1)]);
    });
}

#[test]
fn where_a_fingerprint_has_no_room_nothing_is_accepted_but_all_can_be_refused() {
    on_virtual_time(async {
        let desk = Desk::start(20, 5);
        desk.ask(1, "one", host_key("one"));
        desk.pause().await;
        desk.keys("y");
        desk.key(KeyCode::Enter);
        desk.moment().await;
        assert_eq!(desk.effects(), []);
        desk.tell(Message::Clock("2026-01-01T00:00:00Z".parse().expect("a time")));
        desk.tell(Message::Clock("2026-01-01T00:00:09Z".parse().expect("a time")));
        desk.moment().await;
        let screen = desk.shared.shown();
        assert!(screen.contains("enlarge to"), "{screen}");
        desk.key(KeyCode::Esc);
        desk.moment().await;
        assert_eq!(desk.effects(), [refused(1)]);
    });
}

/// What may happen while questions are open.
#[derive(Clone, Debug)]
enum Happens {
    Key(KeyCode, KeyModifiers),
    Paste,
    Asked(u8),
    Withdrawn(u8),
    Passes(u16),
    Resized(u16, u16),
}

fn happens() -> impl Strategy<Value = Happens> {
    let codes = prop_oneof![
        3 => Just(KeyCode::Char('s')),
        1 => any::<char>().prop_map(KeyCode::Char),
        2 => Just(KeyCode::Enter),
        1 => prop_oneof![Just(KeyCode::Esc), Just(KeyCode::Tab), Just(KeyCode::Backspace), Just(KeyCode::Down)],
        1 => prop_oneof![Just('y'), Just('n'), Just('N'), Just('o'), Just('G'), Just('/')].prop_map(KeyCode::Char),
    ];
    let modifiers = prop_oneof![4 => Just(KeyModifiers::NONE), 1 => Just(KeyModifiers::CONTROL)];
    prop_oneof![
        8 => (codes, modifiers).prop_map(|(code, modifiers)| Happens::Key(code, modifiers)),
        1 => Just(Happens::Paste),
        2 => any::<u8>().prop_map(Happens::Asked),
        1 => any::<u8>().prop_map(Happens::Withdrawn),
        3 => (0u16..2000).prop_map(Happens::Passes),
        1 => (1u16..130, 1u16..45).prop_map(|(columns, rows)| Happens::Resized(columns, rows)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_keys_on_open_questions_keep_the_rules(all in proptest::collection::vec(happens(), 1..60)) {
        on_virtual_time(async {
            let desk = Desk::start(80, 24);
            let mut asked = std::collections::BTreeMap::new();
            let mut next = 0;
            for happens in all {
                match happens {
                    // What ends or suspends the console is tested elsewhere.
                    Happens::Key(KeyCode::Char('q' | 'z'), _) => {}
                    Happens::Key(KeyCode::Char('c'), KeyModifiers::CONTROL) => {}
                    Happens::Key(code, modifiers) => desk.key_with(code, modifiers),
                    Happens::Paste => desk.typed.send(Ok(Event::Paste(WORD.to_owned()))).expect("the loop runs"),
                    Happens::Asked(kind) => {
                        next += 1;
                        let kind = match kind % 4 {
                            0 => password(false, false),
                            1 => password(false, true),
                            2 => password(true, true),
                            _ => host_key(&format!("host-{next}")),
                        };
                        asked.insert(next, (kind.clone(), Instant::now()));
                        desk.ask(next, "one", kind);
                    }
                    Happens::Withdrawn(id) => desk.tell(Message::Withdrawn { id: u64::from(id % 8) }),
                    Happens::Passes(milliseconds) => {
                        tokio::time::sleep(Duration::from_millis(u64::from(milliseconds))).await;
                    }
                    Happens::Resized(columns, rows) => {
                        desk.shared.size.set(Size::new(columns, rows));
                        desk.typed.send(Ok(Event::Resize(columns, rows))).expect("the loop runs");
                    }
                }
                for effect in desk.effects() {
                    let Effect::Answer { id, answer } = effect else { continue };
                    let (kind, at) = asked.remove(&id).expect("each question is answered once");
                    assert!(at.elapsed() >= PATIENCE, "{id} was answered too early");
                    let fits = match (&kind, &answer) {
                        (PromptKind::UnknownHostKey(_), Answer::Accept) | (_, Answer::Refuse) => true,
                        (PromptKind::Secret(request), Answer::Secret { reuse, .. }) => !reuse || request.may_reuse,
                        _ => false,
                    };
                    assert!(fits, "{kind:?} was answered by {answer:?}");
                }
            }
            desk.pause().await;
            let model = format!("{:?}", desk.seen.model.borrow());
            let messages = format!("{:?}", desk.seen.messages.borrow());
            // A paste into the filter is no secret.
            if !messages.contains("Paste(") {
                assert!(!model.contains(WORD) && !messages.contains(WORD));
            }
        });
    }
}
