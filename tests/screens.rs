//! What the screen shows, cell by cell: panels and overlays at 80x24 and 200x50, from the raw text of real guests through
//! the real parsers, the real update and the real view; and that no size and no hostile text breaks it.

#[path = "screens/gpus.rs"]
mod gpus;
#[path = "screens/guest.rs"]
mod guest;
#[path = "screens/healthy.rs"]
mod healthy;
#[path = "screens/host_series.rs"]
mod host_series;
#[path = "screens/hosts.rs"]
mod hosts;
#[path = "screens/overlays.rs"]
mod overlays;
#[path = "screens/qualify.rs"]
mod qualify;
#[path = "screens/questions.rs"]
mod questions;

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use rdmascope::app::action;
use rdmascope::app::mode::Speed;
use rdmascope::app::{Connection, Message, Mode, Model, Problem, Prompt, PromptKind, Replay, UnknownHostKey, update};
use rdmascope::fabric::{TargetId, Text};
use rdmascope::tui::paint::Paint;
use rdmascope::tui::{GlyphSet, Glyphs, Keymap, Theme, Typed, view};

use guest::{at, connected, running, sample};

/// The screen as cells.
fn drawn(model: &mut Model, columns: u16, rows: u16, set: GlyphSet) -> Buffer {
    drawn_with(model, columns, rows, set, Typed::default())
}

/// The same while a secret is typed.
fn drawn_with(model: &mut Model, columns: u16, rows: u16, set: GlyphSet, typed: Typed<'_>) -> Buffer {
    update(model, Message::Resized { columns, rows });
    let glyphs = Glyphs::new(set);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap = Keymap::embedded(&names).expect("the embedded key map").told_in(&glyphs);
    let theme = Theme::embedded();
    let zone = jiff::tz::TimeZone::UTC;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend without a terminal");
    let paint = Paint { theme: &theme, glyphs: &glyphs, keymap: &keymap, zone: &zone, typed, hits: None };
    terminal.draw(|frame| view::draw(frame, model, paint)).expect("drawing cannot fail");
    terminal.backend().buffer().clone()
}

/// The text of all rows, without blanks at their ends.
fn text(buffer: &Buffer) -> String {
    let area = buffer.area();
    let mut text = String::new();
    for y in 0..area.height {
        let row: String = (0..area.width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// The styles of all rows: runs of cells with colours and modifiers, `first-last style`.
fn styles(buffer: &Buffer) -> String {
    let area = buffer.area();
    let mut text = String::new();
    for y in 0..area.height {
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for x in 0..area.width {
            let cell = &buffer[(x, y)];
            let style = format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier).to_lowercase();
            match runs.last_mut() {
                Some((_, last, same)) if *same == style && *last + 1 == x => *last = x,
                _ => runs.push((x, x, style)),
            }
        }
        let runs: Vec<String> = runs
            .into_iter()
            .filter(|(.., style)| style != "reset on reset modifier(0x0)")
            .map(|(first, last, style)| format!("{first}-{last} {style}"))
            .collect();
        if !runs.is_empty() {
            writeln!(text, "{y:2}: {}", runs.join(", ")).expect("a string takes all");
        }
    }
    text
}

fn shown(model: &mut Model, columns: u16, rows: u16) -> String {
    text(&drawn(model, columns, rows, GlyphSet::Braille))
}

fn act(model: &mut Model, names: &[&str]) {
    for name in names {
        update(model, Message::Action(Text::new(name)));
    }
}

#[test]
fn guest_link_at_the_design_size() {
    let mut model = running();
    act(&mut model, &["panel-guest"]);
    insta::assert_snapshot!(shown(&mut model, 80, 24));
}

#[test]
fn guest_link_with_room() {
    let mut model = running();
    act(&mut model, &["panel-guest", "down", "down", "right"]);
    let buffer = drawn(&mut model, 200, 50, GlyphSet::Braille);
    insta::assert_snapshot!("guest_link_with_room", text(&buffer));
    insta::assert_snapshot!("guest_link_with_room_styles", styles(&buffer));
}

#[test]
fn an_unprivileged_login_is_told_what_it_cannot_see() {
    let mut model = running();
    act(&mut model, &["next-target", "panel-guest"]);
    let screen = shown(&mut model, 120, 60);
    assert!(screen.contains("needs privilege: queue pairs of other users' processes"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn live_graphs() {
    let mut model = running();
    act(&mut model, &["panel-live"]);
    insta::assert_snapshot!("live_80x24", shown(&mut model, 80, 24));
    act(&mut model, &["freeze", "cursor"]);
    let buffer = drawn(&mut model, 200, 50, GlyphSet::Braille);
    insta::assert_snapshot!("live_200x50_frozen", text(&buffer));
    insta::assert_snapshot!("live_200x50_frozen_styles", styles(&buffer));
    insta::assert_snapshot!("live_80x24_ascii", text(&drawn(&mut model, 80, 24, GlyphSet::Ascii)));
}

#[test]
fn events_and_a_link_that_went_down() {
    let mut model = running();
    guest::port_down(&mut model);
    act(&mut model, &["panel-events"]);
    let buffer = drawn(&mut model, 80, 24, GlyphSet::Braille);
    insta::assert_snapshot!("events_80x24", text(&buffer));
    insta::assert_snapshot!("events_80x24_styles", styles(&buffer));
    act(&mut model, &["panel-guest"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("Attention"), "{screen}");
}

#[test]
fn evidence_shows_command_target_time_and_the_line() {
    let mut model = running();
    act(&mut model, &["panel-guest", "down", "evidence"]);
    insta::assert_snapshot!(shown(&mut model, 80, 24));
}

#[test]
fn help_from_the_live_key_map() {
    let mut model = running();
    act(&mut model, &["panel-live", "help"]);
    insta::assert_snapshot!(shown(&mut model, 80, 24));
}

#[test]
fn help_in_a_replay_begins_with_its_keys() {
    let mut model = running();
    act(&mut model, &["panel-live", "help"]);
    model.mode = Mode::Replay(Box::new(Replay {
        position: std::time::Duration::ZERO,
        length: std::time::Duration::from_mins(1),
        speed: Speed::default(),
        paused: true,
        following: false,
        entry: None,
        notice: None,
    }));
    let screen = shown(&mut model, 80, 24);
    let first = screen
        .lines()
        .find_map(|line| ["In a replay", "In Live", "Everywhere"].into_iter().find(|title| line.contains(title)));
    assert_eq!(first, Some("In a replay"), "{screen}");
}

#[test]
fn a_question_and_a_target_that_failed() {
    let mut model = running();
    let target = TargetId::new("softroce2");
    update(
        &mut model,
        Message::Connection {
            target: target.clone(),
            at: at(60),
            connection: Connection::Failed {
                problem: Problem::new(
                    "refused the login of root",
                    "none of the offered keys is in its authorized_keys",
                    "add the key there, then press R",
                ),
            },
        },
    );
    act(&mut model, &["next-target", "next-target", "panel-guest"]);
    insta::assert_snapshot!("failed_80x24", shown(&mut model, 80, 24));
    update(
        &mut model,
        Message::Asked {
            at: at(61),
            prompt: Prompt {
                id: 1,
                target,
                kind: PromptKind::UnknownHostKey(UnknownHostKey {
                    host: Text::new("[127.0.0.1]:2202"),
                    algorithm: Text::new("ssh-ed25519"),
                    fingerprint: Text::new("SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"),
                    recorded_in: Text::new("/root/.ssh/known_hosts"),
                }),
            },
        },
    );
    insta::assert_snapshot!("question_80x24", shown(&mut model, 80, 24));
}

#[test]
fn stale_values_look_stale() {
    let mut model = running();
    act(&mut model, &["panel-guest"]);
    for second in 0..20 {
        update(&mut model, Message::Clock(at(60 + second)));
        sample(&mut model, "softroce1-lab", 60 + second, 0, 0);
    }
    let buffer = drawn(&mut model, 80, 24, GlyphSet::Braille);
    let screen = text(&buffer);
    assert!(screen.contains("stale 20s"), "{screen}");
    assert!(screen.contains("the values below are"), "{screen}");
    insta::assert_snapshot!("stale_80x24_styles", styles(&buffer));
}

#[test]
fn a_console_without_targets_and_one_that_waits() {
    let mut model = Model::new(vec![], rdmascope::app::Options::default(), at(0));
    assert!(shown(&mut model, 80, 24).contains("no targets"));
    let mut model = connected(&["one"]);
    insta::assert_snapshot!(shown(&mut model, 60, 10));
}

#[test]
fn state_is_told_without_colour() {
    let mut model = running();
    guest::port_down(&mut model);
    act(&mut model, &["panel-guest"]);
    let screen = text(&drawn(&mut model, 80, 24, GlyphSet::Ascii));
    assert!(screen.contains("DOWN"), "{screen}");
    assert!(screen.is_ascii(), "{screen}");
}

#[test]
fn nothing_hostile_reaches_a_cell() {
    let mut model = running();
    guest::hostile(&mut model);
    for panel in ["panel-guest", "panel-live", "panel-events"] {
        act(&mut model, &[panel, "down", "evidence"]);
        let buffer = drawn(&mut model, 120, 60, GlyphSet::Braille);
        for cell in buffer.content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
        }
        act(&mut model, &["close"]);
    }
    let screen = shown(&mut model, 120, 60);
    assert!(!screen.contains('\u{1b}') && !screen.contains("[31m"), "{screen}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_size_and_any_keys_draw(
        columns in 0u16..220,
        rows in 0u16..70,
        keys in proptest::collection::vec(0..action::ALL.len(), 0..12),
        ascii in any::<bool>(),
    ) {
        let mut model = running();
        guest::port_down(&mut model);
        for key in keys {
            update(&mut model, Message::Action(Text::new(action::ALL[key].name)));
        }
        let buffer = drawn(&mut model, columns, rows, if ascii { GlyphSet::Ascii } else { GlyphSet::Block });
        prop_assert_eq!(buffer.area().width, columns);
        if columns >= 60 && rows >= 3 {
            prop_assert!(text(&buffer).contains("rdmascope"));
        }
    }
}

#[test]
fn the_clock_redraws_only_its_own_cells() {
    let mut model = running();
    act(&mut model, &["panel-events"]);
    let before = drawn(&mut model, 80, 24, GlyphSet::Braille);
    let next = model.now + Duration::from_secs(1);
    update(&mut model, Message::Clock(next));
    let after = drawn(&mut model, 80, 24, GlyphSet::Braille);
    let changed: Vec<(u16, u16)> = before.diff(&after).into_iter().map(|(x, y, _)| (x, y)).collect();
    assert!(!changed.is_empty() && changed.iter().all(|(_, y)| *y == 0), "{changed:?}");
}
