//! What the wizard looks like: the list, a walk that stops at a proof, questions, a paste, and a pair that is prepared, from
//! the raw text of a whole site.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::app::message::{Edit, Message};
use crate::app::model::Model;
use crate::app::selection::Node;
use crate::app::wizard::tests::{CLOSED, act, begin, model, pfc_question, select, serve, without_switch};
use crate::app::{action, update};
use crate::diagnose::check::testing::{Site, says};
use crate::fabric::TargetId;
use crate::tui::paint::Paint;
use crate::tui::{GlyphSet, Glyphs, Keymap, Theme, Typed, view};

fn drawn(model: &mut Model, columns: u16, rows: u16, set: GlyphSet) -> String {
    update(model, Message::Resized { columns, rows });
    let glyphs = Glyphs::new(set);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap = Keymap::embedded(&names).expect("the embedded key map").told_in(&glyphs);
    let theme = Theme::embedded();
    let zone = jiff::tz::TimeZone::UTC;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend without a terminal");
    let typed = Typed::default();
    let paint = Paint { theme: &theme, glyphs: &glyphs, keymap: &keymap, zone: &zone, typed, hits: None };
    terminal.draw(|frame| view::draw(frame, model, paint)).expect("drawing cannot fail");
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..rows {
        let row: String = (0..columns).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../../../tests/screens/snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("wizard__{name}"), text);
    });
}

/// The screen at the sizes that are looked at, and at one at which next to nothing fits.
fn at_all_sizes(name: &str, model: &mut Model) {
    for (columns, rows, set) in [(80, 24, GlyphSet::Braille), (200, 50, GlyphSet::Braille), (120, 40, GlyphSet::Ascii)]
    {
        let text = drawn(model, columns, rows, set);
        snapshot(&format!("{name}_{columns}x{rows}"), &text);
        if set == GlyphSet::Ascii {
            assert!(text.is_ascii(), "{text}");
        }
    }
    for (columns, rows) in [(20, 5), (40, 10), (1, 1), (59, 3)] {
        drawn(model, columns, rows, GlyphSet::Ascii);
    }
}

#[test]
fn the_list() {
    let mut model = model(&Site::sound(), true);
    act(&mut model, "wizard-here");
    at_all_sizes("list", &mut model);
}

#[test]
fn a_walk_that_is_under_way_and_one_that_found_the_cause() {
    let mut model = model(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), true);
    let effects = begin(&mut model, "slow");
    at_all_sizes("running", &mut model);
    serve(&mut model, effects);
    at_all_sizes("proved", &mut model);
}

#[test]
fn questions_answers_and_a_paste() {
    let mut model = without_switch();
    at_all_sizes("questions", &mut model);
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    act(&mut model, "answer-no");
    at_all_sizes("answered", &mut model);
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    act(&mut model, "paste-answer");
    at_all_sizes("paste_empty", &mut model);
    update(&mut model, Message::Edit(Edit::Paste("what is this\u{1b}[2J\nand this\n".to_owned())));
    act(&mut model, "end-line");
    at_all_sizes("paste_refused", &mut model);
}

#[test]
fn preparing_a_pair() {
    let mut model = model(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), true);
    begin(&mut model, "prepare");
    at_all_sizes("preparing", &mut model);
}

#[test]
fn the_tree_says_what_is_cut_off_and_whether_that_is_well() {
    let cut = |model: &mut Model| {
        let text = drawn(model, 80, 12, GlyphSet::Braille);
        let tree = |line: &str| line.split('│').next().unwrap_or_default().trim().to_owned();
        text.lines().map(tree).filter(|line| line.starts_with('…')).collect::<Vec<_>>()
    };
    let mut sound = model(&Site::sound(), true);
    let told = cut(&mut sound);
    assert!(told.len() == 1 && told[0].ends_with("more below"), "{told:?}");
    let mut closed = model(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), true);
    let told = cut(&mut closed);
    assert!(told.len() == 1 && told[0].contains("more below, 1 not well"), "{told:?}");
    closed.screen.tree.selected = Some(Node::Target(TargetId::new("leaf1")));
    let told = cut(&mut closed);
    assert!(told.iter().any(|line| line.contains("more above, 1 not well")), "{told:?}");
}
