//! The palette, the settings, marks on graphs and in their list, at all sizes.

use super::*;

use rdmascope::app::Edit;
use rdmascope::app::look::Started;
use rdmascope::tui::Theme;

const SIZES: [(u16, u16); 4] = [(20, 5), (80, 24), (120, 40), (200, 60)];

fn type_in(model: &mut Model, text: &str) {
    for character in text.chars() {
        update(model, Message::Edit(Edit::Insert(character)));
    }
}

/// A snapshot of each size, of the design size with its styles.
fn at_all_sizes(name: &str, model: &mut Model) {
    for (columns, rows) in SIZES {
        let buffer = drawn(model, columns, rows, GlyphSet::Braille);
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), text(&buffer));
        if rows == 24 {
            insta::assert_snapshot!(format!("{name}_{columns}x{rows}_styles"), styles(&buffer));
        }
    }
}

/// Two minutes with four marks, two of them in one column.
fn marked() -> Model {
    let mut model = running();
    model.mark(at(21), "mtu 1500 -> 9000");
    model.mark(at(22), "");
    model.mark(at(22), "rx ring 4096");
    model.mark(at(49), "the other side was changed, too: its switch port had PFC off");
    model
}

#[test]
fn the_palette() {
    let mut model = marked();
    act(&mut model, &["panel-live", "palette"]);
    type_in(&mut model, "ma");
    act(&mut model, &["down"]);
    at_all_sizes("palette", &mut model);
    let ascii = text(&drawn(&mut model, 80, 24, GlyphSet::Ascii));
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn the_settings() {
    let mut model = marked();
    model.options.offered.themes = ["default", "dark"].map(Text::new).to_vec();
    let started = [
        ("theme", "default", "/root/.config/rdmascope/config.toml:3"),
        ("glyphs", "braille", "environment RDMASCOPE_GLYPHS"),
        ("period_ms", "1000", "default"),
        ("changes", "not allowed, read-only", "default"),
        ("configuration", "/root/.config/rdmascope/a-rather-long-name-of-a-folder/config.toml", "option --config"),
    ];
    model.options.settings = started
        .map(|(name, value, whence)| Started {
            name: Text::new(name),
            value: Text::new(value),
            whence: Text::new(whence),
        })
        .to_vec();
    act(&mut model, &["settings", "right"]);
    at_all_sizes("settings", &mut model);
    act(&mut model, &["bottom"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("a-rather-long-name-of-a-folder/"), "the selected value is shown whole: {screen}");
    act(&mut model, &["next-page"]);
    insta::assert_snapshot!("settings_keys_80x24", shown(&mut model, 80, 24));
    act(&mut model, &["next-page"]);
    let buffer = drawn(&mut model, 80, 40, GlyphSet::Braille);
    let screen = text(&buffer);
    for (role, _) in Theme::embedded().styles() {
        assert!(screen.contains(&format!(" {role} ")), "{role} is not shown: {screen}");
    }
}

#[test]
fn marks_on_the_graphs_and_in_their_list() {
    let mut model = marked();
    act(&mut model, &["panel-live"]);
    at_all_sizes("marks", &mut model);
    act(&mut model, &["marks"]);
    at_all_sizes("marks_list", &mut model);
    act(&mut model, &["close", "panel-events"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("mark C (37 s back): rx ring 4096"), "{screen}");
    let buffer = drawn(&mut model, 80, 24, GlyphSet::Braille);
    let row = screen.lines().position(|line| line.contains("mark C")).and_then(|row| u16::try_from(row).ok());
    let style = row.map(|row| buffer[(45, row)].modifier);
    assert_eq!(style, Some(Theme::embedded().mark.add_modifier), "it stands out");
    assert!(screen.lines().last().is_some_and(|line| line.contains("F2 note")), "{screen}");
    act(&mut model, &["mark"]);
    type_in(&mut model, "a note");
    let screen = shown(&mut model, 80, 24);
    assert!(screen.lines().last().is_some_and(|line| line.starts_with(" note of mark E: a note")), "{screen}");
}

#[test]
fn a_mark_beyond_the_window_is_named_all_the_same() {
    let mut model = running();
    model.mark(at(1), "long ago");
    update(&mut model, Message::Clock(at(400)));
    act(&mut model, &["panel-live"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains(" marks out of sight  A ") && screen.contains("\"long ago\""), "{screen}");
}
