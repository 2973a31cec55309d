//! A recording shows again what was live, screen for screen; it survives a kill and a full disk; secrets never get into it.

#[path = "screens/guest.rs"]
#[allow(dead_code, reason = "shared with the tests of screens")]
mod guest;
mod support;

#[path = "journal/program.rs"]
mod program;

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use rdmascope::app::action::{self, Context};
use rdmascope::app::screen::Panel;
use rdmascope::app::{
    Connection, Control, Edit, Effect, Message, Mode, Model, Problem, Prompt, PromptKind, SecretKind, SecretRequest,
    Severity, UnknownHostKey, update,
};
use rdmascope::fabric::{Attribute, Entity, Fact, Observation, PortState, Reading, Sample, TargetId, Text};
use rdmascope::record::format::{Header, Micros};
use rdmascope::record::writer::Writer;
use rdmascope::record::{Player, Recorder, Recording};
use rdmascope::tui::paint::Paint;
use rdmascope::tui::{GlyphSet, Glyphs, Keymap, Theme, view};

const SECOND: Micros = 1_000_000;
const TARGETS: [&str; 3] = ["softroce1", "softroce1-lab", "softroce2"];

/// The screen as cells, as it is live.
fn drawn(model: &Model, (columns, rows): (u16, u16)) -> Buffer {
    let glyphs = Glyphs::new(GlyphSet::Braille);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap = Keymap::embedded(&names).expect("the embedded key map").told_in(&glyphs);
    let keymap = if model.mode.replay().is_some() { keymap.for_replay() } else { keymap };
    let (theme, zone) = (Theme::embedded(), TimeZone::UTC);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend without a terminal");
    let paint = Paint { theme: &theme, glyphs: &glyphs, keymap: &keymap, zone: &zone };
    terminal.draw(|frame| view::draw(frame, model, paint)).expect("drawing cannot fail");
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let area = buffer.area();
    let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..area.height).map(row).collect::<Vec<_>>().join("\n")
}

/// The screen that a replay shows, without what it says of itself.
fn shown(player: &Player) -> Buffer {
    let mut model = player.model().clone();
    model.mode = Mode::default();
    let size = (model.screen.columns, model.screen.rows);
    drawn(&model, size)
}

fn action(name: &str) -> Message {
    Message::Action(Text::new(name))
}

fn start() -> Model {
    let mut model = guest::connected(&TARGETS);
    update(&mut model, Message::Resized { columns: 80, rows: 24 });
    model
}

fn port_state(second: i64, state: PortState) -> Message {
    let observation = Observation {
        target: TargetId::new("softroce1"),
        sequence: second.unsigned_abs(),
        ..Observation::of_text("linux.stream", "/sys/class/infiniband/rxe0/ports/1/state:1: DOWN\n")
    };
    let fact = observation.known(Entity::port("rxe0", 1), Attribute::PortState, state, 1);
    let fact = Fact { reading: Reading { at: guest::at(second), ..fact.reading }, ..fact };
    let Message::Sample(tick) = guest::tick("softroce1", second, 7, 7) else { panic!("a sample") };
    Message::Sample(Sample { facts: vec![fact], observation: Some(observation.into()), ..tick })
}

fn host_key(id: u64, second: i64) -> Message {
    let key = UnknownHostKey {
        host: Text::new("[127.0.0.1]:2203"),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new("SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"),
        recorded_in: Text::new("/root/.ssh/known_hosts"),
    };
    let prompt = Prompt { id, target: TargetId::new("softroce2"), kind: PromptKind::UnknownHostKey(key) };
    Message::Asked { at: guest::at(second), prompt }
}

/// One thing that happens; times are filled in where it is used.
#[derive(Clone, Debug)]
enum Happening {
    /// So many seconds of ticks.
    Ticks {
        seconds: u8,
        load: u32,
        silent: u8,
    },
    Reports {
        which: usize,
    },
    Act(usize),
    Edit(Edit),
    Resized {
        columns: u16,
        rows: u16,
    },
    Port(bool),
    Failed,
    BackingOff,
    Connected,
    Gap(u8),
    Notice(bool),
    Asked,
    Withdrawn(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (1u8..20, any::<u16>(), 0u8..4).prop_map(|(seconds, load, silent)| Happening::Ticks {
            seconds,
            load: u32::from(load),
            silent
        }),
        1 => (0usize..2).prop_map(|which| Happening::Reports { which }),
        8 => (0..action::ALL.len()).prop_map(Happening::Act),
        2 => prop_oneof![
            prop::sample::select(vec!['r', 'x', 'e', ' ', '!', 'ö']).prop_map(Edit::Insert),
            Just(Edit::Paste("eth1 up".to_owned())),
            Just(Edit::DeleteBefore),
            Just(Edit::Left),
            Just(Edit::Start),
            Just(Edit::DeleteWord),
        ].prop_map(Happening::Edit),
        1 => prop::sample::select(vec![(80, 24), (200, 50), (40, 10), (120, 40)])
            .prop_map(|(columns, rows)| Happening::Resized { columns, rows }),
        1 => any::<bool>().prop_map(Happening::Port),
        1 => Just(Happening::Failed),
        1 => Just(Happening::BackingOff),
        1 => Just(Happening::Connected),
        1 => (0u8..9).prop_map(Happening::Gap),
        1 => any::<bool>().prop_map(Happening::Notice),
        1 => Just(Happening::Asked),
        1 => (0u8..4).prop_map(Happening::Withdrawn),
    ]
}

/// What live showed, moment by moment, and its recording.
struct Live {
    model: Model,
    writer: Writer<Vec<u8>>,
    second: i64,
    sent: u64,
    questions: u64,
    now: Micros,
    moments: Vec<(Micros, Buffer)>,
}

impl Live {
    fn new() -> Self {
        let model = start();
        let header = Header::of(&model, guest::at(0), (80, 24));
        let writer = Writer::new(Vec::new(), &header, model.clone()).expect("memory");
        Self { model, writer, second: 0, sent: 0, questions: 0, now: 0, moments: Vec::new() }
    }

    fn take(&mut self, message: Message) {
        self.now += 1;
        self.writer.take(self.now, message.clone()).expect("memory");
        update(&mut self.model, message);
    }

    /// Remembers what is shown now.
    fn look(&mut self) {
        let size = (self.model.screen.columns, self.model.screen.rows);
        self.moments.push((self.now, drawn(&self.model, size)));
    }

    fn ticks(&mut self, seconds: u8, load: u32, silent: u8) {
        for _ in 0..seconds {
            self.second += 1;
            self.now = self.second.unsigned_abs() * SECOND;
            self.sent += u64::from(load);
            for (number, target) in TARGETS.iter().enumerate() {
                if number != usize::from(silent) {
                    self.take(guest::tick(target, self.second, self.sent, self.sent / 50));
                }
            }
            self.take(Message::Clock(guest::at(self.second)));
        }
    }

    fn happen(&mut self, happening: Happening) {
        let (at, target) = (guest::at(self.second), TargetId::new("softroce2"));
        let problem = Problem::new("softroce2 does not answer", "it is off", "switch it on, then press R");
        match happening {
            Happening::Ticks { seconds, load, silent } => self.ticks(seconds, load, silent),
            Happening::Reports { which } => {
                for report in guest::reports(TARGETS[which], TARGETS[which], self.second) {
                    self.take(Message::Report { at, report });
                }
            }
            Happening::Act(number) => self.take(action(action::ALL[number].name)),
            Happening::Edit(edit) => self.take(Message::Edit(edit)),
            Happening::Resized { columns, rows } => self.take(Message::Resized { columns, rows }),
            Happening::Port(up) => {
                self.take(port_state(self.second, if up { PortState::Active } else { PortState::Down }));
            }
            Happening::Failed => {
                self.take(Message::Connection { target, at, connection: Connection::Failed { problem } })
            }
            Happening::BackingOff => {
                let until = at + Duration::from_secs(9);
                self.take(Message::Connection {
                    target,
                    at,
                    connection: Connection::BackingOff { until, attempt: 2, problem },
                });
            }
            Happening::Connected => {
                let connection = Connection::Connected { since: at, via: Text::new("root@10.0.0.2") };
                self.take(Message::Connection { target, at, connection });
            }
            Happening::Gap(dropped) => self.take(Message::Gap { target, at, dropped: dropped.into() }),
            Happening::Notice(bad) => {
                let severity = if bad { Severity::Error } else { Severity::Info };
                self.take(Message::Notice { target: None, at, severity, text: Text::new("a channel was refused") });
            }
            Happening::Asked => {
                self.questions += 1;
                self.take(host_key(self.questions, self.second));
            }
            Happening::Withdrawn(id) => self.take(Message::Withdrawn { id: id.into() }),
        }
        self.look();
    }

    fn replay(self) -> (Player, Vec<(Micros, Buffer)>) {
        let bytes = self.writer.finish().expect("memory");
        let recording = Recording::read(Path::new("x.rec"), Box::new(Cursor::new(bytes))).expect("a recording");
        assert_eq!(recording.loss(&TimeZone::UTC), None);
        let mut player = Player::new(recording, TimeZone::UTC);
        player.control(Control::Pause);
        (player, self.moments)
    }
}

#[track_caller]
fn same(player: &Player, (at, live): &(Micros, Buffer)) {
    let replayed = shown(player);
    assert!(replayed == *live, "at {at}: live\n{}\nreplayed\n{}", text(live), text(&replayed));
}

/// A session of some minutes with a bit of everything, long enough for several keyframes.
fn session() -> Live {
    let mut live = Live::new();
    for which in 0..2 {
        live.happen(Happening::Reports { which });
    }
    let keys = [
        "panel-live",
        "down",
        "zoom-in",
        "freeze",
        "cursor",
        "left",
        "left",
        "freeze",
        "panel-guest",
        "down",
        "down",
        "right",
        "evidence",
        "page-down",
        "close",
        "panel-events",
        "up",
        "filter",
        "accept",
        "help",
        "close",
        "next-target",
        "next-focus",
        "fold",
        "panel-live",
        "zoom-out",
        "zoom-out",
    ];
    for (number, key) in keys.iter().cycle().take(120).enumerate() {
        live.happen(Happening::Ticks {
            seconds: 9,
            load: 1000 + 37 * (u32::try_from(number).expect("small") % 11),
            silent: 3,
        });
        live.take(action(key));
        live.look();
        if *key == "filter" {
            live.happen(Happening::Edit(Edit::Paste("rxe".to_owned())));
        }
        match number % 17 {
            3 => live.happen(Happening::Port(false)),
            5 => live.happen(Happening::Port(true)),
            8 => live.happen(Happening::Failed),
            9 => live.happen(Happening::Asked),
            11 => live.happen(Happening::Withdrawn(u8::try_from(live.questions).expect("few"))),
            12 => live.happen(Happening::Resized { columns: 200, rows: 50 }),
            14 => live.happen(Happening::Resized { columns: 80, rows: 24 }),
            15 => live.happen(Happening::Connected),
            16 => live.happen(Happening::Reports { which: number % 2 }),
            _ => {}
        }
    }
    live
}

#[test]
fn a_replay_shows_what_live_showed_screen_for_screen_also_after_seeks() {
    let (mut player, moments) = session().replay();
    // From the start to the end, then all over the place.
    for moment in &moments {
        player.seek(moment.0);
        same(&player, moment);
    }
    let count = moments.len();
    for number in 0..60 {
        let moment = &moments[number * 7919 % count];
        player.seek(moment.0);
        same(&player, moment);
    }
    // Message by message.
    player.seek(moments[count / 2].0);
    let mut next = count / 2 + 1;
    while next < count / 2 + 6 {
        player.control(Control::StepMessage);
        let here = Micros::try_from(player.position().as_micros()).expect("short");
        if here == moments[next].0 {
            same(&player, &moments[next]);
            next += 1;
        }
    }
    assert_eq!(player.unknown(), 0);
}

#[test]
fn a_replay_that_runs_by_itself_shows_the_same_and_stands_still_at_the_end() {
    let mut live = session();
    let last = live.now;
    live.look();
    let (mut player, moments) = live.replay();
    player.control(Control::Pause);
    for _ in 0..6 {
        player.control(Control::Faster);
    }
    let replay = |player: &Player| player.model().mode.replay().expect("a replay").clone();
    let mut moments = moments.iter().peekable();
    let (mut steps, mut compared) = (0, 0);
    while !replay(&player).paused {
        player.advance(Duration::from_millis(100));
        let here = Micros::try_from(player.position().as_micros()).expect("short");
        // What was shown at the last look before the next message that is still to come.
        while moments.peek().is_some_and(|(at, _)| *at < here) {
            moments.next();
        }
        if let Some(moment) = moments.peek().filter(|(at, _)| *at == here) {
            same(&player, moment);
            compared += 1;
        }
        steps += 1;
        assert!(steps < 1000);
    }
    assert!(compared > 0, "the end at least");
    assert_eq!(player.position(), Duration::from_micros(last));
    assert!(steps > 100, "6.4 s at a time: {steps}");
    assert_eq!(replay(&player).notice.as_deref(), Some("this is the end of the recording"));
    player.control(Control::Pause);
    assert!(!replay(&player).paused);
    assert_eq!(player.position(), Duration::ZERO, "it begins anew");
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 100, ..ProptestConfig::with_cases(12) })]
    #[test]
    fn any_session_comes_out_as_it_went_in(
        happenings in prop::collection::vec(happening(), 20..120),
        seeks in prop::collection::vec(any::<prop::sample::Index>(), 30),
    ) {
        let mut live = Live::new();
        for happening in happenings {
            live.happen(happening);
        }
        let (mut player, moments) = live.replay();
        for index in seeks {
            let moment = index.get(&moments);
            player.seek(moment.0);
            same(&player, moment);
        }
    }
}

#[test]
fn the_viewers_keys_give_him_a_view_of_his_own_and_the_way_back() {
    let (mut player, moments) = session().replay();
    let following = |player: &Player| player.model().mode.replay().expect("a replay").following;
    player.take(Message::Resized { columns: 100, rows: 30 });
    let moment = &moments[moments.len() / 3];
    player.seek(moment.0);
    same(&player, moment);
    assert!(following(&player));
    assert_eq!(player.take(action("panel-events")), []);
    assert!(!following(&player));
    let screen = &player.model().screen;
    assert_eq!((screen.panel, screen.columns, screen.rows), (Panel::Events, 100, 30));
    // The recorded user goes on elsewhere; the viewer stays.
    for to in [moments.len() / 2, moments.len() - 1, 3] {
        player.seek(moments[to].0);
        assert_eq!(player.model().screen.panel, Panel::Events);
        assert_eq!(player.model().screen.columns, 100);
        assert!(!player.model().events.is_empty());
    }
    player.take(Message::Resized { columns: 90, rows: 20 });
    assert_eq!(player.model().screen.columns, 90);
    player.seek(moment.0);
    player.take(action("replay-follow"));
    assert!(following(&player));
    same(&player, moment);
    let buffer = drawn(player.model(), (90, 20));
    assert!(text(&buffer).starts_with(" rdmascope  REPLAY 00:"), "{}", text(&buffer));
    player.take(action("replay-follow"));
    assert!(text(&drawn(player.model(), (90, 20))).contains("own view"));
}

#[test]
fn nothing_is_asked_of_targets_and_leaving_works() {
    let (mut player, moments) = session().replay();
    player.seek(moments[40].0);
    let before = player.model().screen.clone();
    for name in ["reconnect", "read-now"] {
        assert_eq!(player.take(action(name)), [], "{name}");
        let replay = player.model().mode.replay().expect("a replay");
        assert!(
            replay.following && replay.notice.as_ref().is_some_and(|text| text.contains("this is a recording")),
            "{name}"
        );
        assert_eq!(player.model().screen.notice, before.notice);
    }
    assert_eq!(player.take(action("quit")), [Effect::Quit]);
    assert_eq!(player.take(action("suspend")), [Effect::Suspend]);
    assert_eq!(player.take(action("redraw")), [Effect::Redraw]);
    assert!(player.model().mode.replay().is_some_and(|replay| replay.following));
    // A question of the recording is not the viewer's to answer.
    let asked = moments.iter().position(|(at, _)| {
        player.seek(*at);
        !player.model().prompts.is_empty()
    });
    assert!(asked.is_some());
    assert_ne!(action::context(player.model()), Context::Prompt);
    player.take(action("answer-yes"));
    assert!(!player.model().prompts.is_empty());
}

#[test]
fn the_viewer_goes_to_times_and_to_what_broke() {
    let (mut player, moments) = session().replay();
    let end = moments.last().expect("a moment").0;
    let notice =
        |player: &Player| player.model().mode.replay().and_then(|replay| replay.notice.clone()).unwrap_or_default();
    let type_time = |player: &mut Player, text: &str, end: &str| {
        player.take(action("replay-go-to"));
        assert_eq!(action::context(player.model()), Context::Filter);
        for character in text.chars() {
            player.take(Message::Edit(Edit::Insert(character)));
        }
        let line = self::text(&drawn(player.model(), (80, 24)));
        assert!(line.ends_with(&format!("to time: {text}")), "{line}");
        player.take(action(end));
        assert_ne!(action::context(player.model()), Context::Filter);
    };
    type_time(&mut player, "3:20", "accept");
    assert_eq!(player.position(), Duration::from_secs(200));
    type_time(&mut player, "-20", "accept");
    assert_eq!(player.position(), Duration::from_secs(180));
    type_time(&mut player, "1:00", "cancel");
    assert_eq!(player.position(), Duration::from_secs(180));
    type_time(&mut player, "@09:02", "accept");
    assert!(notice(&player).contains("does not reach 09:02:00"), "{}", notice(&player));
    type_time(&mut player, "@08:02", "accept");
    assert_eq!(player.position(), Duration::from_secs(120), "{}", notice(&player));
    assert!(player.model().mode.replay().is_some_and(|replay| replay.following), "nothing was done to the screen");

    player.control(Control::Start);
    let mut found = Vec::new();
    for _ in 0..4 {
        player.control(Control::Landmark { forward: true });
        found.push((player.position(), notice(&player)));
        let newest = player.model().events.iter().rev().find(|event| event.severity == Severity::Error);
        assert!(newest.is_some_and(|event| found[found.len() - 1].1.ends_with(&event.text)), "{found:?}");
    }
    assert!(found.is_sorted_by(|one, other| one.0 < other.0), "{found:?}");
    player.control(Control::Landmark { forward: false });
    assert_eq!(player.position(), found[2].0);
    player.control(Control::End);
    assert_eq!(player.position(), Duration::from_micros(end));
    player.control(Control::Landmark { forward: true });
    assert_eq!(notice(&player), "nothing broke after this moment");
    player.control(Control::Seek(-60));
    player.control(Control::Seek(10));
    assert_eq!(player.position(), Duration::from_micros(end - 50 * SECOND));
    player.control(Control::StepSecond);
    assert_eq!(player.position(), Duration::from_micros(end - 49 * SECOND));
}

#[test]
fn a_time_without_anything_is_passed_over() {
    let mut live = Live::new();
    live.ticks(5, 10, 9);
    live.second += 3600;
    live.ticks(5, 10, 9);
    let (mut player, _) = live.replay();
    player.control(Control::Pause);
    player.seek(4 * SECOND);
    for _ in 0..20 {
        player.advance(Duration::from_millis(100));
    }
    let position = player.position();
    assert!(position > Duration::from_secs(3604) && position < Duration::from_secs(3608), "{position:?}");
    let notice = player.model().mode.replay().and_then(|replay| replay.notice.clone());
    assert_eq!(notice.as_deref(), Some("59 min without anything were passed over"));
}

#[test]
fn live_keys_for_replays_say_what_they_are_for() {
    let mut model = start();
    for action in action::ALL.iter().filter(|action| action.name.starts_with("replay-")) {
        assert_eq!(update(&mut model, Message::Action(Text::new(action.name))), []);
    }
    assert!(model.screen.notice.is_some_and(|(text, _)| text.contains("this is live")));
}

/// A recorder on a file of its own, and the model that it looks at.
fn recorder(folder: &tempfile::TempDir) -> (Recorder, Model) {
    let model = start();
    (Recorder::begin(&folder.path().join("x.rec"), &model, (80, 24)).expect("a recorder"), model)
}

fn record(recorder: &mut Recorder, model: &mut Model, message: Message) {
    let note = recorder.note(model, &message);
    update(model, message);
    recorder.take(note, model);
}

#[test]
fn questions_for_secrets_are_not_recorded_and_the_rest_replays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut recorder, mut model) = recorder(&folder);
    let secret = Prompt {
        id: 1,
        target: TargetId::new("softroce2"),
        kind: PromptKind::Secret(SecretRequest {
            what: SecretKind::Interactive,
            asked_by: Text::new("root@10.0.0.2:22"),
            instruction: Text::new("INSTRUCTION-7f3a"),
            question: Text::new("QUESTION-91bc"),
            echo: true,
            may_reuse: true,
        }),
    };
    record(&mut recorder, &mut model, Message::Asked { at: guest::at(1), prompt: secret });
    record(&mut recorder, &mut model, host_key(2, 2));
    for name in ["help", "panel-events", "answer-no", "panel-live"] {
        record(&mut recorder, &mut model, action(name));
    }
    record(&mut recorder, &mut model, Message::Answered { id: 1 });
    record(&mut recorder, &mut model, Message::Withdrawn { id: 9 });
    record(&mut recorder, &mut model, Message::Clock(guest::at(3)));
    assert!(recorder.is_running() && recorder.problem().is_none());
    drop(recorder);
    let file = folder.path().join("x.rec");
    let mut player = Player::new(Recording::open(&file).expect("a recording"), TimeZone::UTC);
    player.control(Control::End);
    assert_eq!(player.model().events, model.events, "who was asked stands among the events");
    assert_eq!(player.model().prompts.iter().map(|prompt| prompt.id).collect::<Vec<_>>(), [2]);
    assert_eq!(player.model().screen.panel, Panel::Live);
    assert!(player.model().screen.overlays.is_empty());
    // Packed text can hide what it holds: look at the messages themselves.
    let all = format!("{:?}", player.model());
    assert!(!all.contains("INSTRUCTION-7f3a") && !all.contains("QUESTION-91bc"));
    let bytes = std::fs::read(&file).expect("a file");
    for words in ["INSTRUCTION-7f3a", "QUESTION-91bc"] {
        assert!(!bytes.windows(words.len()).any(|window| window == words.as_bytes()));
    }
}

#[test]
fn a_file_that_is_there_is_left_alone_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let model = start();
    let begin = |name: &str| Recorder::begin(&folder.path().join(name), &model, (80, 24));
    drop(begin("new.rec").expect("a recorder"));
    let mode = std::fs::metadata(folder.path().join("new.rec")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(folder.path().join("old"), "precious").expect("a file");
    symlink(folder.path().join("old"), folder.path().join("link")).expect("a link");
    symlink(folder.path().join("nothing"), folder.path().join("dangling")).expect("a link");
    for name in ["old", "link", "dangling", "new.rec"] {
        let error = begin(name).expect_err(name).to_string();
        assert!(error.contains("is there already and is left as it is; give --record another name"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("old")).expect("a file"), "precious");
    assert!(!folder.path().join("nothing").exists());
    let error = begin("no/such.rec").expect_err("no folder").to_string();
    assert!(error.contains("its folder does not exist"), "{error}");
}
