//! Every screen in every look: panels and overlays at four sizes in all embedded themes, key maps and glyph sets. What is
//! stored is small: for each screen a number that stands for its text, and how many cells each style of the theme covers.
//! So a changed style, a role that is used elsewhere, a moved column and a changed word all show.

#[path = "screens/guest.rs"]
#[allow(dead_code, reason = "shared with the test of the screens")]
mod guest;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use rdmascope::app::action::{self, Context};
use rdmascope::app::{Message, Model, Prompt, PromptKind, UnknownHostKey, update};
use rdmascope::fabric::{TargetId, Text};
use rdmascope::tui::library::Library;
use rdmascope::tui::paint::Paint;
use rdmascope::tui::pointer::{Hit, HitMap};
use rdmascope::tui::{GlyphSet, Glyphs, Keymap, Theme, view};

use guest::at;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (20, 5)];

fn actions() -> Vec<&'static str> {
    action::ALL.iter().map(|action| action.name).collect()
}

fn library() -> Library {
    Library::embedded(&actions())
}

fn theme(name: &str) -> Theme {
    library().theme(name).expect("embedded").definition.clone().expect("valid")
}

fn keymap(name: &str) -> Keymap {
    library().keymap(name).expect("embedded").definition.clone().expect("valid")
}

/// The console as it is drawn in a look.
struct Look<'a> {
    theme: &'a Theme,
    keymap: &'a Keymap,
    set: GlyphSet,
    hits: Option<&'a HitMap>,
}

impl Look<'_> {
    fn draw(&self, model: &mut Model, (columns, rows): (u16, u16)) -> Buffer {
        update(model, Message::Resized { columns, rows });
        let glyphs = Glyphs::new(self.set);
        let keymap = self.keymap.clone().told_in(&glyphs);
        let zone = jiff::tz::TimeZone::UTC;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend without a terminal");
        let paint = Paint {
            theme: self.theme,
            glyphs: &glyphs,
            keymap: &keymap,
            zone: &zone,
            hits: self.hits,
            typed: rdmascope::tui::Typed::default(),
        };
        terminal.draw(|frame| view::draw(frame, model, paint)).expect("drawing cannot fail");
        terminal.backend().buffer().clone()
    }
}

fn act(model: &mut Model, names: &[&str]) {
    for name in names {
        update(model, Message::Action(Text::new(name)));
    }
}

fn question(model: &mut Model) {
    let kind = PromptKind::UnknownHostKey(UnknownHostKey {
        host: Text::new("[127.0.0.1]:2202"),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new("SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"),
        recorded_in: Text::new("/root/.ssh/known_hosts"),
    });
    let prompt = Prompt { id: 1, target: TargetId::new("softroce2"), kind };
    update(model, Message::Asked { at: at(61), prompt });
}

/// Every screen there is, by name.
fn screens() -> Vec<(&'static str, Model)> {
    static SCREENS: OnceLock<Vec<(&str, Model)>> = OnceLock::new();
    SCREENS.get_or_init(made).clone()
}

fn made() -> Vec<(&'static str, Model)> {
    let running = {
        let mut model = guest::running();
        guest::port_down(&mut model);
        model
    };
    let with = |names: &[&str]| {
        let mut model = running.clone();
        act(&mut model, names);
        model
    };
    let mut asked = with(&["panel-guest"]);
    question(&mut asked);
    let mut typing = with(&["panel-events", "filter"]);
    for character in "port".chars() {
        update(&mut typing, Message::Edit(rdmascope::app::Edit::Insert(character)));
    }
    let mut sweeping = with(&["panel-live"]);
    sweeping.screen.look.low_bandwidth = true;
    vec![
        ("guest", with(&["panel-guest", "down", "down"])),
        ("live", with(&["panel-live"])),
        ("frozen", with(&["panel-live", "freeze", "cursor"])),
        ("sweeping", sweeping),
        ("events", with(&["panel-events"])),
        ("help", with(&["panel-live", "help"])),
        ("evidence", with(&["panel-guest", "down", "evidence"])),
        ("question", asked),
        ("typing", typing),
        ("tree", with(&["panel-guest", "next-focus", "down"])),
    ]
}

/// FNV-1a: the same number on every machine.
fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content().chunks(usize::from(buffer.area().width.max(1)));
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
}

/// How many cells each style covers, and a number for where.
fn styles(buffer: &Buffer) -> (BTreeMap<String, usize>, u32) {
    let (mut counts, mut places) = (BTreeMap::new(), String::new());
    for cell in buffer.content() {
        let style = format!("{:?}/{:?}/{:?}", cell.fg, cell.bg, cell.modifier).to_lowercase();
        let _ = write!(places, "{style} ");
        *counts.entry(style).or_insert(0) += 1;
    }
    (counts, number(&places))
}

#[test]
fn every_screen_in_every_theme_at_every_size() {
    let keymap = keymap("default");
    for named in library().themes {
        let theme = named.definition.expect("valid");
        let look = Look { theme: &theme, keymap: &keymap, set: GlyphSet::Braille, hits: None };
        let mut table = String::new();
        let mut letters: BTreeMap<String, usize> = BTreeMap::new();
        for (name, mut model) in screens() {
            for size in SIZES {
                let buffer = look.draw(&mut model, size);
                let (counts, places) = styles(&buffer);
                let _ = write!(
                    table,
                    "{name} {}x{} text {:08x} styles {places:08x}",
                    size.0,
                    size.1,
                    number(&text(&buffer))
                );
                for (style, count) in counts {
                    let next = letters.len();
                    let letter = *letters.entry(style).or_insert(next);
                    let _ = write!(table, " {letter}:{count}");
                }
                table.push('\n');
            }
        }
        let mut legend: Vec<(usize, String)> = letters.into_iter().map(|(style, letter)| (letter, style)).collect();
        legend.sort_unstable();
        for (letter, style) in legend {
            let _ = writeln!(table, "{letter} = {style}");
        }
        insta::assert_snapshot!(format!("theme_{}", named.name), table);
    }
}

#[test]
fn a_theme_changes_colours_and_never_a_character() {
    let keymap = keymap("default");
    let names: Vec<String> = library().themes.into_iter().map(|named| named.name).collect();
    for (name, mut model) in screens() {
        for size in SIZES {
            let mut texts = names.iter().map(|theme_name| {
                let theme = theme(theme_name);
                text(
                    &Look { theme: &theme, keymap: &keymap, set: GlyphSet::Braille, hits: None }.draw(&mut model, size),
                )
            });
            let first = texts.next().expect("a theme");
            assert!(texts.all(|text| text == first), "{name} at {size:?}");
        }
    }
}

#[test]
fn a_theme_with_a_ground_paints_every_cell_and_one_without_paints_none() {
    let keymap = keymap("default");
    for named in library().themes {
        let theme = named.definition.expect("valid");
        let look = Look { theme: &theme, keymap: &keymap, set: GlyphSet::Braille, hits: None };
        for (name, mut model) in screens() {
            let buffer = look.draw(&mut model, (120, 40));
            let bare = buffer.content().iter().filter(|cell| cell.bg == ratatui::style::Color::Reset).count();
            if theme.has_background() {
                assert_eq!(bare, 0, "{name} in {}", named.name);
            } else {
                assert_eq!(bare, buffer.content().len(), "{name} in {}", named.name);
            }
        }
    }
}

#[test]
fn footer_and_help_tell_the_keys_of_the_key_map_in_force() {
    let theme = theme("default");
    let mut table = String::new();
    for named in library().keymaps {
        let keymap = named.definition.expect("valid");
        let look = Look { theme: &theme, keymap: &keymap, set: GlyphSet::Ascii, hits: None };
        for (name, mut model) in screens() {
            for size in [(80, 24), (200, 60)] {
                let buffer = look.draw(&mut model, size);
                let shown = text(&buffer);
                let footer = shown.lines().last().unwrap_or_default().trim_end().to_owned();
                let _ = writeln!(table, "{} {name} {}x{} {:08x}{footer}", named.name, size.0, size.1, number(&shown));
            }
        }
    }
    insta::assert_snapshot!(table);
    let (tmux, mut model) = (keymap("tmux-safe"), screens().remove(5).1);
    let look = Look { theme: &theme, keymap: &tmux, set: GlyphSet::Ascii, hits: None };
    let mut help = String::new();
    for _ in 0..5 {
        help.push_str(&text(&look.draw(&mut model, (200, 60))));
        act(&mut model, &["page-down"]);
    }
    let suspend = help.lines().find(|line| line.contains("Hand the terminal back to the shell")).expect("its line");
    assert!(suspend.contains("Z ") && !help.contains("Ctrl+z"), "{help}");
}

#[test]
fn in_ascii_no_character_of_ours_is_anything_else() {
    let keymap = keymap("vim");
    let theme = theme("dark");
    for (name, mut model) in screens() {
        for size in SIZES {
            let look = Look { theme: &theme, keymap: &keymap, set: GlyphSet::Ascii, hits: None };
            let shown = text(&look.draw(&mut model, size));
            let strange: String = shown.chars().filter(|character| !character.is_ascii()).collect();
            assert!(strange.is_empty(), "{strange:?} in {name} at {size:?}:\n{shown}");
        }
    }
}

#[test]
fn each_glyph_set_says_the_same_in_its_own_characters() {
    let (keymap, theme) = (keymap("default"), theme("default"));
    let braille = |text: &str| text.chars().any(|character| ('\u{2800}'..='\u{28ff}').contains(&character));
    for (name, mut model) in screens() {
        let mut draw =
            |set| text(&Look { theme: &theme, keymap: &keymap, set, hits: None }.draw(&mut model, (200, 60)));
        let sets = [draw(GlyphSet::Braille), draw(GlyphSet::Block), draw(GlyphSet::Ascii)];
        assert!(!braille(&sets[1]) && !braille(&sets[2]), "{name}");
        assert!(braille(&sets[0]) || !["live", "frozen", "sweeping"].contains(&name), "{name}");
        let words = |text: &str| -> Vec<String> {
            let is_word = |word: &&str| word.len() > 3 && word.chars().all(|letter| letter.is_ascii_alphabetic());
            text.split_whitespace().filter(is_word).map(str::to_owned).collect()
        };
        if !["help", "live", "frozen", "sweeping"].contains(&name) {
            assert_eq!(words(&sets[0]), words(&sets[2]), "{name}");
        }
    }
}

#[test]
fn wide_names_keep_the_columns_in_line() {
    let (keymap, theme) = (keymap("default"), theme("default"));
    for set in GlyphSet::ALL {
        let mut model = guest::connected(&["主机-一号", "ホスト", "plain"]);
        let look = Look { theme: &theme, keymap: &keymap, set, hits: None };
        let buffer = look.draw(&mut model, (80, 24));
        let line = if set == GlyphSet::Ascii { "|" } else { "│" };
        for y in 1..23 {
            assert_eq!(buffer[(28, y)].symbol(), line, "row {y} in {}:\n{}", set.name(), text(&buffer));
        }
    }
}

/// Where the letters of a text stand.
fn find(buffer: &Buffer, wanted: &str) -> (u16, u16) {
    let area = buffer.area();
    let length = u16::try_from(wanted.chars().count()).expect("short");
    for y in 0..area.height {
        for x in 0..=area.width.saturating_sub(length) {
            let here: String = (x..x + length).map(|x| buffer[(x, y)].symbol()).collect();
            if here == wanted {
                return (x, y);
            }
        }
    }
    panic!("{wanted} is not there:\n{}", text(buffer));
}

#[test]
fn a_click_means_what_stands_there() {
    let (keymap, theme, hits) = (keymap("default"), theme("default"), HitMap::default());
    let look = Look { theme: &theme, keymap: &keymap, set: GlyphSet::Braille, hits: Some(&hits) };
    let mut model = guest::running();
    act(&mut model, &["panel-guest"]);
    let clicked = |model: &mut Model, wanted: &str| {
        let buffer = look.draw(model, (120, 40));
        let (x, y) = find(&buffer, wanted);
        match hits.at(x + 1, y) {
            Hit::Nothing => false,
            Hit::Action(name) => {
                act(model, &[name]);
                true
            }
            Hit::Thing(pointed) => {
                update(model, Message::Pointed(pointed));
                true
            }
        }
    };
    assert!(clicked(&mut model, "softroce1-lab"));
    assert_eq!(model.selected_target(), Some(&TargetId::new("softroce1-lab")));
    assert!(clicked(&mut model, "kernel"));
    let selected = model.screen.guest.selected.clone().expect("a row");
    let rows = rdmascope::app::guest_link::rows(&model, &TargetId::new("softroce1-lab"));
    let row = rows.iter().find(|row| row.key == selected).expect("the selected row");
    let says = |text: &str| text.contains("kernel");
    assert!(says(&row.label) || row.cells.iter().any(|cell| says(&cell.text)), "{row:?}");
    assert_eq!(action::context(&model), Context::Guest);
    assert!(clicked(&mut model, "5 Live"));
    assert_eq!(action::context(&model), Context::Live);
    assert!(clicked(&mut model, "eth1 interface"));
    let graphs = rdmascope::app::live::graphs(&model, &TargetId::new("softroce1-lab"));
    assert_eq!(graphs[model.screen.live.selected].title, "eth1 interface");
    assert!(clicked(&mut model, "8 Events"));
    assert!(clicked(&mut model, "connected: root@127.0.0.1:2201"));
    let number = model.screen.events.selected.expect("an event");
    assert!(model.events.get(number).expect("kept").text.contains("2201"));
    let (tab, _) = find(&look.draw(&mut model, (120, 40)), "5 Live");
    assert!(clicked(&mut model, "? help"), "a word of the footer");
    assert_eq!(action::context(&model), Context::Help);
    look.draw(&mut model, (120, 40));
    assert_eq!(hits.at(tab, 1), Hit::Nothing, "what lies under an overlay");
    act(&mut model, &["close"]);
    question(&mut model);
    let asked = look.draw(&mut model, (120, 40));
    let (x, y) = find(&asked, "trust this one");
    assert_eq!(hits.at(x, y), Hit::Nothing, "a question is answered by a key");
}
