//! What the console costs a line: six graphs that move every second on a screen of 200x50, as bytes a second to the
//! terminal. Time is the model's own, so the figures are the same on every machine.

use std::time::Duration;

use ratatui::layout::Size;
use rdmascope::app::action;
use rdmascope::app::model::{Model, Options, Target, TargetKind};
use rdmascope::app::{Connection, Message, update};
use rdmascope::fabric::counter::netdev_counter;
use rdmascope::fabric::series::CounterValue;
use rdmascope::fabric::{Attribute, Entity, Observation, Report, Sample, SourceId, TargetId, Text, Timestamp};
use rdmascope::tui::library::Library;
use rdmascope::tui::paint::Paint;
use rdmascope::tui::screen::Screen;
use rdmascope::tui::{GlyphSet, Glyphs, Keymap, Theme, view};

/// Graphs on the screen.
const GRAPHS: u64 = 6;
/// Seconds that are measured.
const SECONDS: u64 = 30;

fn at(milliseconds: u64) -> Timestamp {
    let milliseconds = i64::try_from(milliseconds).expect("within range");
    Timestamp::from_millisecond(1_795_910_400_000 + milliseconds).expect("within range")
}

fn interface(number: u64) -> Entity {
    Entity::Netdev(Text::new(&format!("eth{number}")))
}

/// A console in front of one guest with six interfaces.
fn console(low_bandwidth: bool) -> Model {
    let id = TargetId::new("vm1");
    let mut model = Model::new(vec![(id.clone(), Target::new(TargetKind::Linux))], Options::default(), at(0));
    model.screen.look.low_bandwidth = low_bandwidth;
    let via = Text::new("root@vm1, ed25519 key");
    let connection = Connection::Connected { since: at(0), via };
    update(&mut model, Message::Connection { target: id.clone(), at: at(0), connection });
    let observation = Observation { target: id.clone(), ..Observation::of_text("linux.netdev-links", "") };
    let facts = (0..GRAPHS)
        .map(|number| observation.known(interface(number), Attribute::OperationalState, Text::new("up"), 1))
        .collect();
    let (target, probe) = (id, SourceId::new("linux.netdevs"));
    let report = Report { target, probe, facts, observations: vec![observation.into()] };
    update(&mut model, Message::Report { at: at(0), report });
    update(&mut model, Message::Action(Text::new("panel-live")));
    update(&mut model, Message::Resized { columns: 200, rows: 50 });
    model
}

/// Numbers that look like traffic: between a half and the whole of a gigabyte a second, never the same twice.
struct Traffic(u64);

impl Traffic {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        500_000_000 + (self.0 >> 33) % 500_000_000
    }
}

fn sample(model: &mut Model, millisecond: u64, totals: &[[u64; 2]]) {
    let counters = (0u64..).zip(totals).flat_map(|(number, both)| {
        ["tx_bytes", "rx_bytes"].into_iter().zip(both).map(move |(name, raw)| CounterValue {
            entity: interface(number),
            name: Text::new(name),
            role: Some(netdev_counter(name).expect("a counter of interfaces").role),
            scale: 1,
            raw: *raw,
        })
    });
    let sample = Sample {
        target: TargetId::new("vm1"),
        at: at(millisecond),
        round_trip: Duration::from_micros(1000 + millisecond % 977),
        uptime_centiseconds: millisecond / 10 + 100_000,
        boot_id: None,
        counters: counters.collect(),
        gauges: vec![],
        facts: vec![],
        observation: None,
        clock_offset_ms: Some(-3),
    };
    update(model, Message::Sample(sample));
}

/// Bytes a second with all of it moving, and with nothing but the clock.
fn cost(theme: &Theme, low_bandwidth: bool) -> (u64, u64) {
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let glyphs = Glyphs::new(GlyphSet::Braille);
    let keymap = Keymap::embedded(&names).expect("valid").told_in(&glyphs);
    let zone = jiff::tz::TimeZone::UTC;
    let paint = Paint {
        theme,
        glyphs: &glyphs,
        keymap: &keymap,
        zone: &zone,
        hits: None,
        typed: rdmascope::tui::Typed::default(),
    };
    let mut model = console(low_bandwidth);
    let mut screen = Screen::new(Size::new(200, 50), true).expect("made");
    let mut draw = |model: &Model| {
        let mut bytes = Vec::new();
        screen.draw(|frame| view::draw(frame, model, paint)).expect("drawn");
        screen.write_to(&mut bytes).expect("a vector takes all");
        u64::try_from(bytes.len()).expect("few")
    };
    let (mut traffic, mut totals) = (Traffic(7), vec![[0u64; 2]; usize::try_from(GRAPHS).expect("few")]);
    let mut moving = 0;
    // Two minutes fill the window; then a frame after each message, which is the most that can be asked for.
    for second in 0..120 + SECONDS {
        totals.iter_mut().flatten().for_each(|total| *total += traffic.next());
        update(&mut model, Message::Clock(at(second * 1000)));
        let clock = if second >= 119 { draw(&model) } else { 0 };
        sample(&mut model, second * 1000 + 370, &totals);
        let news = if second >= 119 { draw(&model) } else { 0 };
        moving += if second >= 120 { clock + news } else { 0 };
    }
    update(&mut model, Message::Action(Text::new("panel-events")));
    update(&mut model, Message::Clock(at(400_000)));
    draw(&model);
    let idle: u64 = (0..SECONDS)
        .map(|second| {
            update(&mut model, Message::Clock(at(400_000 + second * 1000)));
            draw(&model)
        })
        .sum();
    (moving / SECONDS, idle / SECONDS)
}

#[test]
fn six_graphs_at_200x50_cost_little_and_on_a_slow_line_very_little() {
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let themes = Library::embedded(&names).themes;
    // The cheapest and the dearest of those with colours; the others lie between.
    for named in themes.into_iter().filter(|named| ["default", "dark"].contains(&named.name.as_str())) {
        let theme = named.definition.expect("valid");
        let (usual, low) = (cost(&theme, false), cost(&theme, true));
        assert!((2_000..25_000).contains(&usual.0), "{}: {} B/s", named.name, usual.0);
        assert!((200..3_000).contains(&low.0), "{}: {} B/s with low bandwidth", named.name, low.0);
        assert!(usual.1 < 200 && low.1 < usual.1, "{}: idle {} and {} B/s", named.name, usual.1, low.1);
    }
}
