use ratatui::style::{Color, Modifier, Style};

use super::*;
use crate::app::context::Context;
use crate::tui::keymap::Resolution;
use crate::tui::testing::actions;

fn file(name: &str, text: &str) -> UserFile {
    UserFile { name: name.to_owned(), shown: format!("/u/{name}.toml"), text: Ok(text.to_owned()) }
}

fn themes(files: &[(&str, &str)]) -> Library {
    Library::new(&files.iter().map(|(name, text)| file(name, text)).collect::<Vec<_>>(), &[], &actions())
}

fn theme(library: &Library, name: &str) -> Theme {
    library.theme(name).expect("it is listed").definition.clone().expect("valid")
}

fn broken(library: &Library, name: &str) -> String {
    library.theme(name).expect("it is listed").definition.as_ref().expect_err("broken").to_string()
}

#[test]
fn everything_embedded_is_valid_and_describes_itself() {
    let library = Library::embedded(&actions());
    assert_eq!(library.theme_names(), ["default", "dark", "light", "ansi16", "mono", "colour-blind-safe"]);
    assert_eq!(library.keymap_names(), ["default", "vim", "tmux-safe"]);
    for theme in &library.themes {
        assert!(theme.definition.is_ok() && !theme.description.is_empty(), "{theme:?}");
    }
    for keymap in &library.keymaps {
        assert!(keymap.definition.is_ok() && !keymap.description.is_empty(), "{:?}", keymap.definition);
    }
}

#[test]
fn every_embedded_theme_names_every_role() {
    for (name, text) in EMBEDDED_THEMES {
        let document = Source::new(name, text).document(&HEADS).expect("valid");
        let roles = document.tables.iter().filter(|table| table.name == "roles").flat_map(|table| &table.entries);
        let mut named: Vec<&str> = roles.map(|entry| entry.key.as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, Theme::roles(), "{name}");
    }
}

#[test]
fn a_file_lies_over_what_it_names_or_has_the_name_of() {
    let library = themes(&[
        ("dark", "[roles]\nok = \"bold blue\"\n"),
        ("mine", "[roles]\nok = \"cyan\"\n"),
        ("night", "description = \"late\"\ninherits = \"dark\"\n[roles]\nerror = \"bold 196\"\n"),
    ]);
    let embedded = Library::embedded(&actions());
    let (dark, plain) = (theme(&embedded, "dark"), theme(&embedded, "default"));
    assert_eq!(theme(&library, "dark").ok, Style::new().fg(Color::Blue).bold());
    assert_eq!(theme(&library, "dark").text, dark.text);
    assert_eq!(library.theme("dark").map(|dark| &dark.origin), Some(&Origin::File("/u/dark.toml".to_owned())));
    assert!(library.theme("dark").is_some_and(|dark| !dark.description.is_empty()), "that of the one below");
    assert_eq!((theme(&library, "mine").ok, theme(&library, "mine").text), (Style::new().fg(Color::Cyan), plain.text));
    let night = theme(&library, "night");
    assert_eq!((night.ok, night.text), (Style::new().fg(Color::Blue).bold(), dark.text), "over the user's own dark");
    assert_eq!(library.theme("night").map(|night| night.description.as_str()), Some("late"));
    let own = themes(&[("dark", "inherits = \"dark\"\n[roles]\nok = \"bold\"\n")]);
    assert_eq!(theme(&own, "dark").text, dark.text, "its own name means the embedded one");
}

#[test]
fn a_broken_file_breaks_itself_only_and_says_where() {
    let library = themes(&[
        ("bad", "[roles]\nok = \"gren\"\n"),
        ("onbad", "inherits = \"bad\"\n"),
        ("lost", "# nothing\ninherits = \"drak\"\n"),
        ("a", "inherits = \"b\"\n"),
        ("b", "inherits = \"a\"\n"),
        ("light", "[rolls]\n"),
    ]);
    assert!(broken(&library, "bad").starts_with("/u/bad.toml:2: `gren` is neither"), "{}", broken(&library, "bad"));
    assert!(broken(&library, "onbad").starts_with("/u/onbad.toml:1: `bad` is broken: /u/bad.toml:2: "));
    assert_eq!(broken(&library, "lost"), "/u/lost.toml:2: nothing is named `drak`; did you mean `dark`?");
    assert!(broken(&library, "a").contains("inherits in a circle: a, b"), "{}", broken(&library, "a"));
    assert!(broken(&library, "light").starts_with("/u/light.toml:1: unknown table [rolls]"));
    assert!(theme(&library, "default").ok.fg.is_some(), "the others are as they were");
    let odd = UserFile { text: Err("cannot be read: permission denied".to_owned()), ..file("secret", "") };
    let library = Library::new(&[odd, file("my theme", "")], &[], &actions());
    assert_eq!(broken(&library, "secret"), "/u/secret.toml: cannot be read: permission denied");
    assert_eq!(broken(&library, "my theme"), "/u/my theme.toml: its name may hold only letters, digits, - and _");
}

#[test]
fn key_maps_lie_over_each_other_too_and_tell_both_keys_that_clash() {
    let mine = "inherits = \"vim\"\n[global]\n\"x\" = \"quit\"\n";
    let clash = "[tree]\n\"x\" = \"fold\"\n\n\"x x\" = \"left\"\n";
    let library = Library::new(&[], &[file("mine", mine), file("clash", clash)], &actions());
    let map = library.keymap("mine").expect("listed").definition.as_ref().expect("valid");
    let typed = |keys: &str| keys.parse::<keybinds::KeySeq>().expect("keys").as_slice().to_vec();
    assert_eq!(map.resolve(Context::Tree, &typed("x")), Resolution::Action("quit"));
    assert_eq!(map.resolve(Context::Tree, &typed("Ctrl+d")), Resolution::Action("page-down"));
    let told: Vec<_> = map.told(Context::Global).filter(|(key, _)| key == "x" || key == "Ctrl+d").collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().any(|(_, told)| (told.file, told.line) == ("/u/mine.toml", 3)), "{told:?}");
    assert!(told.iter().any(|(_, told)| told.file == "keymaps/vim.toml"), "{told:?}");
    let error = library.keymap("clash").expect("listed").definition.as_ref().expect_err("a clash").to_string();
    assert!(error.starts_with("/u/clash.toml:4: `x x` clashes with `x` in line 2"), "{error}");
}

#[test]
fn the_directory_is_read_and_what_is_no_file_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = load(Some(folder.path()), &actions());
    assert_eq!((none.themes.len(), none.problems.len()), (EMBEDDED_THEMES.len(), 0));
    let themes = folder.path().join("themes");
    std::fs::create_dir(&themes).expect("a folder");
    std::fs::write(themes.join("mine.toml"), "[roles]\nok = \"cyan\"\n").expect("a file");
    std::fs::write(themes.join("notes.txt"), "no theme").expect("a file");
    std::fs::create_dir(themes.join("dir.toml")).expect("a folder");
    rustix::fs::mkfifoat(rustix::fs::CWD, themes.join("pipe.toml"), rustix::fs::Mode::RUSR).expect("a pipe");
    std::fs::write(folder.path().join("keymaps"), "no folder").expect("a file");
    let library = load(Some(folder.path()), &actions());
    let names: Vec<&str> = library.theme_names().into_iter().skip(EMBEDDED_THEMES.len()).collect();
    assert_eq!(names, ["dir", "mine", "pipe"]);
    assert!(broken(&library, "dir").ends_with("it is a directory"), "{}", broken(&library, "dir"));
    assert!(broken(&library, "pipe").ends_with("it is a pipe"), "{}", broken(&library, "pipe"));
    assert_eq!(library.problems.len(), 1, "{:?}", library.problems);
}

#[test]
fn no_embedded_key_map_takes_a_key_of_tmux_screen_or_the_line_discipline() {
    for keymap in Library::embedded(&actions()).keymaps {
        let map = keymap.definition.expect("valid");
        for context in Context::ALL {
            for (keys, _) in map.table(context) {
                for forbidden in ["Ctrl+a", "Ctrl+b", "Ctrl+o", "Ctrl+l", "Ctrl+g", "Ctrl+s", "Ctrl+q"] {
                    let taken = keys.split(' ').any(|key| key == forbidden);
                    assert!(!taken, "{keys} in [{}] of {}", context.name(), keymap.name);
                }
            }
        }
    }
}

#[test]
fn the_tmux_safe_map_has_no_ctrl_but_one_no_alt_and_needs_no_function_key() {
    let library = Library::embedded(&actions());
    let map = library.keymap("tmux-safe").expect("listed").definition.clone().expect("valid");
    for context in Context::ALL {
        for (keys, _) in map.table(context) {
            let unsafe_key = |key: &str| (key.contains("Ctrl+") && key != "Ctrl+c") || key.contains("Alt+");
            assert!(!keys.split(' ').any(unsafe_key), "{keys} in [{}]", context.name());
        }
    }
    let is_function = |keys: &str| keys.starts_with('F') && keys[1..].parse::<u8>().is_ok();
    for action in actions() {
        let keys = Context::ALL.into_iter().flat_map(|context| map.keys_for(context, action));
        assert!(keys.into_iter().any(|keys| !is_function(&keys)), "{action} needs a function key");
    }
}

#[test]
fn every_action_can_be_reached_in_every_embedded_key_map() {
    for keymap in Library::embedded(&actions()).keymaps {
        let map = keymap.definition.expect("valid");
        for action in actions() {
            let reached = Context::ALL.into_iter().any(|context| map.hint(context, action).is_some());
            assert!(reached, "no key for {action} in {}", keymap.name);
        }
    }
}

/// A colour as red, green and blue from 0 to 1, not linear. Those of the sixteen are the terminal's business: `None`.
fn rgb(colour: Color) -> Option<[f64; 3]> {
    let parts = |parts: [u8; 3]| Some(parts.map(|part| f64::from(part) / 255.0));
    match colour {
        Color::Rgb(red, green, blue) => parts([red, green, blue]),
        Color::Indexed(number @ 232..) => parts([8 + 10 * (number - 232); 3]),
        Color::Indexed(number @ 16..) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let number = number - 16;
            parts([level(number / 36), level(number / 6 % 6), level(number % 6)])
        }
        _ => None,
    }
}

fn linear(part: f64) -> f64 {
    if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
}

/// The contrast ratio of the WCAG 2.
fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let light = |colour: [f64; 3]| {
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (light(one), light(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn text_stands_out_from_the_ground_of_its_theme() {
    let mut checked = 0;
    for named in Library::embedded(&actions()).themes {
        let theme = named.definition.expect("valid");
        let Some(ground) = theme.text.bg.and_then(rgb) else { continue };
        let own = |style: Style| style.bg.and_then(rgb).unwrap_or(ground);
        let text = theme.text.fg.expect("a theme with a ground has a colour for text");
        for (role, style) in theme.styles() {
            if matches!(role, "border" | "cursor") {
                continue; // no text
            }
            let colour = rgb(style.fg.unwrap_or(text)).expect("themes with a ground of their own fix all colours");
            let found = contrast(colour, own(style));
            assert!(found >= 4.5, "{role} of {}: {found:.2}", named.name);
            checked += 1;
        }
        // What is drawn over something else.
        let over = [(theme.title, theme.header), (theme.warning, theme.footer), (theme.title, theme.footer)];
        for (above, below) in over {
            let both = below.patch(above);
            let found = contrast(rgb(both.fg.expect("a colour")).expect("fixed"), own(both));
            assert!(found >= 4.5, "{above:?} over {below:?} of {}: {found:.2}", named.name);
        }
    }
    assert!(checked >= 60, "only {checked} roles were looked at");
}

/// What a colour library like with normal sight, protanopia and deuteranopia (Viénot, Brettel and Mollon 1999), in CIE Lab.
fn seen(colour: [f64; 3]) -> [[f64; 3]; 3] {
    const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const PROTANOPIA: [[f64; 3]; 3] = [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]];
    const DEUTERANOPIA: [[f64; 3]; 3] = [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]];
    let colour = colour.map(linear);
    [NORMAL, PROTANOPIA, DEUTERANOPIA].map(|matrix| {
        let [red, green, blue] = matrix.map(|row| (0..3).map(|at| row[at] * colour[at]).sum::<f64>().clamp(0.0, 1.0));
        let curve = |value: f64| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 };
        let x = curve((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
        let y = curve(0.2126 * red + 0.7152 * green + 0.0722 * blue);
        let z = curve((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    })
}

/// The least distance of two colours in any sight; about 2 is just seen, 20 is plain.
fn distance(one: Style, other: Style) -> f64 {
    let of = |style: Style| seen(rgb(style.fg.expect("a colour")).expect("fixed"));
    let apart = |(one, other): ([f64; 3], [f64; 3])| (0..3).map(|at| (one[at] - other[at]).powi(2)).sum::<f64>().sqrt();
    of(one).into_iter().zip(of(other)).map(apart).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_colour_blind_safe_theme_keeps_series_and_states_apart_for_every_sight() {
    let library = Library::embedded(&actions());
    let theme = theme(&library, "colour-blind-safe");
    for (at, one) in theme.graph.iter().enumerate() {
        for other in &theme.graph[at + 1..] {
            assert!(distance(*one, *other) >= 30.0, "{one:?} and {other:?}: {:.1}", distance(*one, *other));
        }
    }
    for (one, other) in [(theme.ok, theme.warning), (theme.ok, theme.error), (theme.warning, theme.error)] {
        assert!(distance(one, other) >= 20.0, "{one:?} and {other:?}: {:.1}", distance(one, other));
    }
    // That the measure is one: the default of many programs fails it.
    let (red, green) = (Style::new().fg(Color::Indexed(167)), Style::new().fg(Color::Indexed(107)));
    assert!(distance(red, green) < 20.0);
}

#[test]
fn the_mono_theme_has_no_colour_and_the_sixteen_stay_sixteen() {
    let library = Library::embedded(&actions());
    for (role, style) in theme(&library, "mono").styles() {
        assert!(style.fg.is_none() && style.bg.is_none(), "{role}");
    }
    for name in ["ansi16", "default"] {
        for (role, style) in theme(&library, name).styles() {
            for colour in [style.fg, style.bg].into_iter().flatten() {
                assert!(!matches!(colour, Color::Indexed(_) | Color::Rgb(..)), "{role} of {name}");
            }
        }
    }
    assert!(!theme(&library, "default").has_background() && theme(&library, "dark").has_background());
}

#[test]
fn without_colours_the_selection_and_the_header_still_stand_out() {
    for named in Library::embedded(&actions()).themes {
        let plain = named.definition.expect("valid").without_colours();
        for (role, style) in plain.styles() {
            assert!(style.fg.is_none() && style.bg.is_none(), "{role} of {}", named.name);
        }
        for style in [plain.selection, plain.header, plain.cursor] {
            assert!(style.add_modifier.contains(Modifier::REVERSED), "{}", named.name);
        }
        assert!(!plain.text.add_modifier.contains(Modifier::REVERSED), "{}", named.name);
        assert!(plain.error.add_modifier.contains(Modifier::BOLD), "{}", named.name);
    }
}

#[test]
fn states_differ_in_every_theme() {
    for named in Library::embedded(&actions()).themes {
        let theme = named.definition.expect("valid");
        let states = [theme.ok, theme.warning, theme.error, theme.unknown, theme.stale];
        for (at, one) in states.iter().enumerate() {
            for other in &states[at + 1..] {
                assert_ne!(one, other, "{}", named.name);
            }
        }
        assert_ne!(theme.selection, Style::new(), "{}", named.name);
    }
}
