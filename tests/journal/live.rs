//! A console that is live, and the recording that is made of it: what it showed at each moment is kept for comparison.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use rdmascope::app::{
    Connection, Control, Edit, Message, Mode, Model, Problem, Prompt, PromptKind, Severity, UnknownHostKey, action,
    update,
};
use rdmascope::fabric::{Attribute, Entity, Fact, Observation, PortState, Reading, Sample, TargetId, Text};
use rdmascope::record::format::{Header, Micros};
use rdmascope::record::writer::Writer;
use rdmascope::record::{Player, Recording};
use rdmascope::tui::paint::Paint;
use rdmascope::tui::{GlyphSet, Glyphs, Keymap, Theme, view};

use crate::guest;

pub const SECOND: Micros = 1_000_000;
pub const TARGETS: [&str; 3] = ["softroce1", "softroce1-lab", "softroce2"];

/// The screen as cells, as it is live.
pub fn drawn(model: &Model, (columns, rows): (u16, u16)) -> Buffer {
    let glyphs = Glyphs::new(GlyphSet::Braille);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap = Keymap::embedded(&names).expect("the embedded key map").told_in(&glyphs);
    let keymap = if model.mode.replay().is_some() { keymap.for_replay() } else { keymap };
    let (theme, zone) = (Theme::embedded(), TimeZone::UTC);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend without a terminal");
    let paint = Paint {
        theme: &theme,
        glyphs: &glyphs,
        keymap: &keymap,
        zone: &zone,
        hits: None,
        typed: rdmascope::tui::Typed::default(),
    };
    terminal.draw(|frame| view::draw(frame, model, paint)).expect("drawing cannot fail");
    terminal.backend().buffer().clone()
}

pub fn text(buffer: &Buffer) -> String {
    let area = buffer.area();
    let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..area.height).map(row).collect::<Vec<_>>().join("\n")
}

/// The screen that a replay shows, without what it says of itself.
pub fn shown(player: &Player) -> Buffer {
    let mut model = player.model().clone();
    model.mode = Mode::default();
    let size = (model.screen.columns, model.screen.rows);
    drawn(&model, size)
}

pub fn action(name: &str) -> Message {
    Message::Action(Text::new(name))
}

pub fn start() -> Model {
    let mut model = guest::connected(&TARGETS);
    update(&mut model, Message::Resized { columns: 80, rows: 24 });
    model
}

pub fn port_state(second: i64, state: PortState) -> Message {
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

pub fn host_key(id: u64, second: i64) -> Message {
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
pub enum Happening {
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

pub fn happening() -> impl Strategy<Value = Happening> {
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
pub struct Live {
    pub model: Model,
    pub writer: Writer<Vec<u8>>,
    pub second: i64,
    pub sent: u64,
    pub questions: u64,
    pub now: Micros,
    pub moments: Vec<(Micros, Buffer)>,
}

impl Live {
    pub fn new() -> Self {
        let model = start();
        let header = Header::of(&model, guest::at(0), (80, 24));
        let writer = Writer::new(Vec::new(), &header, model.clone()).expect("memory");
        Self { model, writer, second: 0, sent: 0, questions: 0, now: 0, moments: Vec::new() }
    }

    pub fn take(&mut self, message: Message) {
        self.now += 1;
        self.writer.take(self.now, message.clone()).expect("memory");
        update(&mut self.model, message);
    }

    /// Remembers what is shown now.
    pub fn look(&mut self) {
        let size = (self.model.screen.columns, self.model.screen.rows);
        self.moments.push((self.now, drawn(&self.model, size)));
    }

    pub fn ticks(&mut self, seconds: u8, load: u32, silent: u8) {
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

    pub fn happen(&mut self, happening: Happening) {
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
                self.take(Message::Connection { target, at, connection: Connection::Failed { problem } });
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

    pub fn replay(self) -> (Player, Vec<(Micros, Buffer)>) {
        let bytes = self.writer.finish().expect("memory");
        let recording = Recording::read(Path::new("x.rec"), Box::new(Cursor::new(bytes))).expect("a recording");
        assert_eq!(recording.loss(&TimeZone::UTC), None);
        let mut player = Player::new(recording, TimeZone::UTC);
        player.control(Control::Pause);
        (player, self.moments)
    }
}

#[track_caller]
pub fn same(player: &Player, (at, live): &(Micros, Buffer)) {
    let replayed = shown(player);
    assert!(replayed == *live, "at {at}: live\n{}\nreplayed\n{}", text(live), text(&replayed));
}

/// A session of some minutes with a bit of everything, long enough for several keyframes.
pub fn session() -> Live {
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
