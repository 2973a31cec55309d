//! The tools of the console on a console that watches real guests: the command palette, the settings overlay, marks,
//! copying; and that any sequence of keys leaves a console that holds together.

#[expect(dead_code, reason = "some of it is for other tests")]
#[path = "screens/guest.rs"]
mod guest;

use proptest::prelude::*;
use rdmascope::app::action::{self, Context, context};
use rdmascope::app::look::Started;
use rdmascope::app::screen::{Editing, Focus, Overlay, Panel, Purpose};
use rdmascope::app::{
    Edit, Effect, Message, Model, Prompt, PromptKind, UnknownHostKey, marks, palette, settings, update,
};
use rdmascope::fabric::{TargetId, Text};

use guest::{at, connected, running};

fn act(model: &mut Model, names: &[&str]) -> Vec<Effect> {
    names.iter().flat_map(|name| update(model, Message::Action(Text::new(name)))).collect()
}

fn type_in(model: &mut Model, text: &str) {
    for character in text.chars() {
        update(model, Message::Edit(Edit::Insert(character)));
    }
}

fn titles(model: &Model) -> Vec<String> {
    palette::found(model).into_iter().map(|found| found.entry.title).collect()
}

fn notice(model: &Model) -> &str {
    model.screen.notice.as_ref().map_or("", |(text, _)| text)
}

fn ask(model: &mut Model) {
    let key = UnknownHostKey {
        host: Text::new("[127.0.0.1]:2202"),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new("SHA256:abc"),
        recorded_in: Text::new("/root/.ssh/known_hosts"),
    };
    let prompt = Prompt { id: 1, target: TargetId::new("softroce2"), kind: PromptKind::UnknownHostKey(key) };
    update(model, Message::Asked { at: at(61), prompt });
}

/// A console with something to choose from.
fn with_looks() -> Model {
    let mut model = running();
    model.options.offered.themes = ["default", "dark", "mono"].map(Text::new).to_vec();
    model.options.settings = [("theme", "default", "/c.toml:3"), ("period_ms", "1000", "default")]
        .map(|(name, value, whence)| Started {
            name: Text::new(name),
            value: Text::new(value),
            whence: Text::new(whence),
        })
        .to_vec();
    model
}

#[test]
fn the_palette_lists_panels_and_targets_first_and_narrows_as_one_types() {
    let mut model = running();
    act(&mut model, &["palette"]);
    assert_eq!(context(&model), Context::Palette);
    let all = titles(&model);
    assert_eq!(
        all[..12],
        [
            "panel-path",
            "panel-host",
            "panel-vm",
            "panel-guest",
            "panel-live",
            "panel-wizard",
            "panel-tune",
            "panel-events",
            "panel-gpu",
            "go to softroce1",
            "go to softroce1-lab",
            "go to softroce2"
        ]
    );
    type_in(&mut model, "go lab");
    assert_eq!(titles(&model), ["go to softroce1-lab"]);
    act(&mut model, &["palette-run"]);
    assert_eq!(model.selected_target(), Some(&TargetId::new("softroce1-lab")));
    assert_eq!(context(&model), Context::Tree, "it is closed");
    assert!(model.screen.editing.is_none());
    act(&mut model, &["palette"]);
    assert_eq!(titles(&model)[0], "go to softroce1-lab", "what was used lately comes first");
    act(&mut model, &["down", "down", "down", "down", "palette-run"]);
    assert_eq!(model.screen.panel, Panel::GuestLink);
    act(&mut model, &["palette"]);
    assert_eq!(titles(&model)[..2], ["panel-guest", "go to softroce1-lab"]);
}

#[test]
fn what_makes_no_sense_now_comes_last_and_says_why() {
    let mut model = running();
    act(&mut model, &["palette"]);
    type_in(&mut model, "next-ma");
    let found = palette::found(&model);
    let refusals: Vec<_> = found.iter().map(|found| (&*found.entry.title, found.entry.refusal.as_deref())).collect();
    let no_mark = ("next-mark", Some("no mark was put yet"));
    let no_search = ("next-match", Some("only while evidence is shown"));
    assert!(refusals.contains(&no_mark) && refusals.contains(&no_search), "{refusals:?}");
    let before = model.screen.overlays.len();
    act(&mut model, &["palette-run"]);
    assert_eq!((model.screen.overlays.len(), context(&model)), (before, Context::Palette), "it stays open");
    assert!(
        notice(&model).contains("no mark was put yet") || notice(&model).contains("only while"),
        "{}",
        notice(&model)
    );
    update(&mut model, Message::Edit(Edit::DeleteToStart));
    let refused: Vec<bool> = palette::found(&model).iter().map(|found| found.entry.refusal.is_some()).collect();
    assert!(refused.is_sorted(), "all that can be done comes first");
    type_in(&mut model, "qqqqq");
    assert_eq!(titles(&model), Vec::<String>::new());
    act(&mut model, &["down", "palette-run"]);
    assert_eq!(notice(&model), "nothing of that name can be done");
}

#[test]
fn entries_act_on_what_lies_below_the_palette() {
    let mut model = running();
    act(&mut model, &["panel-guest", "down", "evidence", "palette"]);
    type_in(&mut model, "search");
    assert_eq!(palette::found(&model)[0].entry.refusal, None);
    act(&mut model, &["palette-run"]);
    assert!(matches!(model.screen.editing, Some(Editing { purpose: Purpose::Search, .. })));
    act(&mut model, &["cancel", "palette"]);
    type_in(&mut model, "copy-row");
    let effects = act(&mut model, &["palette-run"]);
    assert!(matches!(&effects[..], [Effect::Copy { what: "command line", .. }]), "{effects:?}");
    act(&mut model, &["palette"]);
    type_in(&mut model, "close");
    act(&mut model, &["palette-run"]);
    assert!(model.screen.overlays.is_empty(), "the evidence is closed, not only the palette");
}

#[test]
fn every_entry_of_the_palette_does_something_that_exists() {
    let mut model = with_looks();
    act(&mut model, &["mark", "accept", "panel-live"]);
    for entry in palette::entries(&model) {
        let known = action::by_name(&entry.action).is_some() || action::command::parse(&entry.action).is_some();
        assert!(known && !entry.detail.is_empty(), "{entry:?}");
        let mut copy = model.clone();
        act(&mut copy, &["palette"]);
        type_in(&mut copy, &entry.title);
        assert_eq!(palette::found(&copy)[0].entry.title, entry.title, "its whole name finds it");
    }
}

#[test]
fn a_question_comes_before_palette_settings_and_marks_and_nothing_of_it_is_copied() {
    let mut model = running();
    ask(&mut model);
    for name in ["palette", "settings", "marks", "help"] {
        act(&mut model, &[name]);
        assert!(model.screen.overlays.is_empty() && model.screen.editing.is_none(), "{name}");
        assert_eq!(notice(&model), "the question comes first: its keys stand in it");
        assert_eq!(context(&model), Context::Prompt);
    }
    assert_eq!(act(&mut model, &["copy", "copy-row"]), vec![]);
    assert_eq!(notice(&model), "nothing is copied: nothing is copied from a question");
    let mut model = running();
    act(&mut model, &["palette"]);
    ask(&mut model);
    assert_eq!(context(&model), Context::Palette, "what is typed must not answer it");
    act(&mut model, &["close"]);
    assert_eq!(context(&model), Context::Prompt);
}

#[test]
fn settings_change_for_this_run_and_tell_what_they_were() {
    let mut model = with_looks();
    act(&mut model, &["settings"]);
    assert_eq!(context(&model), Context::Settings);
    act(&mut model, &["right"]);
    assert_eq!(model.screen.look.theme, "dark");
    let row = &settings::rows(&model)[0];
    assert_eq!((row.value.as_str(), row.whence.as_str()), ("dark", "changed here; default at the start (/c.toml:3)"));
    act(&mut model, &["left", "left"]);
    assert_eq!(model.screen.look.theme, "mono", "around the end");
    act(&mut model, &["change-setting"]);
    assert_eq!(settings::rows(&model)[0].whence, "/c.toml:3", "as it was");
    act(&mut model, &["down", "change-setting"]);
    assert_eq!(notice(&model), "default is the only keymap there is");
    act(&mut model, &["down", "down", "change-setting"]);
    assert!(model.screen.look.low_bandwidth);
    act(&mut model, &["bottom", "change-setting"]);
    assert_eq!(notice(&model), "period_ms is decided at the start and cannot be changed while the console runs");
    act(&mut model, &["next-page", "change-setting", "down", "next-page", "next-page"]);
    assert!(
        matches!(model.screen.overlays.last(), Some(Overlay::Settings(view)) if view.page == settings::Page::InForce)
    );
    act(&mut model, &["close", "theme dark", "glyphs ascii", "mouse on"]);
    assert_eq!(
        (&*model.screen.look.theme, model.screen.look.glyphs.name(), model.screen.look.mouse),
        ("dark", "ascii", true)
    );
    act(&mut model, &["theme neon"]);
    assert_eq!(notice(&model), "no theme is called \"neon\"; known here: default, dark, mono");
    assert_eq!(model.screen.look.theme, "dark");
    act(&mut model, &["target nowhere", "mouse perhaps"]);
    assert!(model.screen.look.mouse);
}

fn last_event(model: &Model) -> &str {
    model.events.iter().next_back().map_or("", |event| &event.text)
}

#[test]
fn a_mark_is_put_now_its_note_is_typed_and_both_are_an_event() {
    let mut model = running();
    let now = model.now;
    act(&mut model, &["mark"]);
    assert_eq!(last_event(&model), "mark A", "it is there before its note");
    assert_eq!(context(&model), Context::Filter);
    type_in(&mut model, "mtu 1500 -> 9000");
    update(&mut model, Message::Clock(at(70)));
    act(&mut model, &["accept"]);
    let mark = model.marks.iter().next().expect("the mark");
    assert_eq!((mark.at, &*mark.note, mark.letter()), (now, "mtu 1500 -> 9000", "A".to_owned()));
    let event = model.events.get(mark.event).map(|event| event.text.as_str());
    assert_eq!(event, Some("mark A: mtu 1500 -> 9000"));
    act(&mut model, &["mark", "accept"]);
    assert_eq!(last_event(&model), "mark B");
    assert_eq!(model.mark(at(30), "put by a change"), 2);
    assert_eq!(last_event(&model), "mark C (40 s back): put by a change");
    let order: Vec<String> = model.marks.iter().map(marks::Mark::letter).collect();
    assert_eq!(order, ["C", "A", "B"], "by their moments");
}

#[test]
fn a_mark_taken_back_leaves_nothing_unless_something_followed_it() {
    let mut model = running();
    let events = model.events.len();
    act(&mut model, &["mark"]);
    type_in(&mut model, "oops");
    act(&mut model, &["cancel"]);
    assert_eq!((model.marks.len(), model.events.len()), (0, events));
    act(&mut model, &["mark"]);
    guest::port_down(&mut model);
    act(&mut model, &["cancel"]);
    assert!(model.marks.is_empty());
    let texts: Vec<&str> = model.events.iter().map(|event| event.text.as_str()).collect();
    assert!(texts.contains(&"mark A was taken back"), "{texts:?}");
    act(&mut model, &["mark", "accept"]);
    assert_eq!(last_event(&model), "mark B", "a letter that was told is not given again");
}

#[test]
fn the_cursor_appears_where_values_are_and_escape_takes_it_away() {
    let mut model = running();
    act(&mut model, &["panel-live", "freeze", "zoom-in", "cursor"]);
    let middle = model.screen.live.window() / 2;
    assert_eq!(model.screen.live.cursor, Some(middle), "values are that old");
    act(&mut model, &["close"]);
    assert_eq!(model.screen.live.cursor, None);
    // A window so long that nothing is as old as its middle.
    act(&mut model, &["zoom-out", "zoom-out", "zoom-out", "zoom-out", "cursor"]);
    let cursor = model.screen.live.cursor.expect("a cursor");
    assert!(cursor < model.screen.live.window() / 2, "{cursor} of {}", model.screen.live.window());
    // With an overlay above it that is closed first; elsewhere the cursor is left alone.
    act(&mut model, &["help", "close"]);
    assert_eq!(model.screen.live.cursor, Some(cursor));
    act(&mut model, &["panel-guest", "close"]);
    assert_eq!(model.screen.live.cursor, Some(cursor));
}

#[test]
fn a_mark_stands_where_the_cursor_stands_while_graphs_are_shown() {
    let mut model = running();
    act(&mut model, &["panel-live", "freeze", "cursor"]);
    model.screen.live.cursor = Some(60);
    let cursor = model.cursor_time();
    act(&mut model, &["mark", "accept"]);
    assert_eq!(model.marks.iter().next().map(|mark| mark.at), Some(cursor));
    assert_eq!(last_event(&model), "mark A (1 min back)");
    act(&mut model, &["panel-guest", "mark", "accept"]);
    assert_eq!(model.marks.iter().next_back().map(|mark| mark.at), Some(model.now), "elsewhere it is now");
}

#[test]
fn the_graphs_go_from_mark_to_mark() {
    let mut model = running();
    for (second, note) in [(5, "one"), (40, "two"), (50, "three")] {
        model.mark(at(second), note);
    }
    for second in 60..300 {
        update(&mut model, Message::Clock(at(second)));
    }
    let here = |model: &Model| (model.cursor_time(), notice(model).to_owned());
    act(&mut model, &["next-mark"]);
    assert_eq!(notice(&model), "there is no later mark");
    assert_eq!(model.screen.live.frozen, None, "nothing moves");
    act(&mut model, &["previous-mark"]);
    assert_eq!(here(&model), (at(50), "mark C: three".to_owned()));
    assert_eq!((model.screen.panel, model.screen.focus), (Panel::Live, Focus::Panel));
    let edge = model.screen.live.frozen;
    assert_eq!(edge, Some(at(110)), "in the middle of two minutes");
    act(&mut model, &["previous-mark"]);
    assert_eq!((here(&model).0, model.screen.live.frozen), (at(40), edge), "one in sight moves the cursor only");
    act(&mut model, &["previous-mark", "previous-mark"]);
    assert_eq!(here(&model), (at(5), "there is no earlier mark".to_owned()));
    act(&mut model, &["next-mark"]);
    assert_eq!(here(&model).0, at(40));
    act(&mut model, &["marks"]);
    assert_eq!(marks::selected(&model).map(marks::Mark::letter), Some("C".to_owned()), "the newest is selected");
    act(&mut model, &["top", "go-to-mark"]);
    assert_eq!((here(&model).0, model.screen.overlays.len()), (at(5), 0));
}

#[test]
fn marks_are_renamed_and_deleted_from_their_list_and_from_the_events() {
    let mut model = running();
    model.mark(at(40), "one");
    model.mark(at(50), "two");
    act(&mut model, &["marks", "up", "rename-mark"]);
    type_in(&mut model, "!");
    act(&mut model, &["accept"]);
    assert_eq!(model.marks.iter().next().map(|mark| mark.note.to_string()), Some("one!".to_owned()));
    act(&mut model, &["rename-mark"]);
    type_in(&mut model, "?");
    act(&mut model, &["cancel"]);
    assert_eq!(model.marks.iter().next().map(|mark| mark.note.to_string()), Some("one!".to_owned()), "taken back");
    act(&mut model, &["delete-mark", "delete-mark", "delete-mark"]);
    assert!(model.marks.is_empty());
    assert_eq!(last_event(&model), "mark B (deleted): two");
    assert_eq!(notice(&model), "no mark was put yet");
    act(&mut model, &["close", "panel-events"]);
    model.mark(at(20), "three");
    act(&mut model, &["evidence"]);
    assert_eq!((model.screen.panel, model.cursor_time()), (Panel::Live, at(20)), "its evidence is the graphs");
    act(&mut model, &["panel-events", "rename-mark", "accept", "delete-mark"]);
    assert!(model.marks.is_empty());
    assert_eq!(last_event(&model), "mark C (deleted): three");
    act(&mut model, &["up", "delete-mark", "go-to-mark", "rename-mark"]);
    assert_eq!(notice(&model), "no mark was put yet");
}

fn copied(model: &mut Model, name: &str) -> (String, &'static str) {
    match act(model, &[name]).into_iter().next() {
        Some(Effect::Copy { text, what }) => (text.as_str().to_owned(), what),
        other => panic!("{name} copies nothing: {other:?}, {}", notice(model)),
    }
}

#[test]
fn what_is_selected_is_copied() {
    let mut model = running();
    assert_eq!(copied(&mut model, "copy"), ("softroce1".to_owned(), "name"));
    assert_eq!(copied(&mut model, "copy-row"), ("softroce1: ok".to_owned(), "row"));
    act(&mut model, &["down"]);
    assert_eq!(copied(&mut model, "copy"), ("rxe0/1".to_owned(), "name"));
    act(&mut model, &["panel-guest", "top"]);
    assert_eq!(copied(&mut model, "copy"), ("ACTIVE".to_owned(), "value"));
    let (row, what) = copied(&mut model, "copy-row");
    assert!(row.starts_with("rxe0/1: ACTIVE  ") && what == "row", "{row}");
    act(&mut model, &["evidence"]);
    let (raw, what) = copied(&mut model, "copy");
    assert!(what == "raw text" && raw.contains("\"rxe0\"") && !raw.ends_with('\n'), "{raw}");
    let (command, what) = copied(&mut model, "copy-row");
    assert!(what == "command line" && command.lines().count() == 1, "{command}");
    act(&mut model, &["close", "panel-events"]);
    let (event, what) = copied(&mut model, "copy");
    assert!(event.starts_with("2026-11-29T") && event.contains("Z  ") && what == "event", "{event}");
    act(&mut model, &["panel-live", "freeze", "cursor", "right", "right"]);
    model.screen.live.cursor = Some(20);
    let (values, what) = copied(&mut model, "copy");
    assert_eq!(what, "values at the cursor");
    let lines: Vec<&str> = values.lines().collect();
    assert_eq!(lines.len(), 2, "one line each way: {values}");
    assert!(lines[0].contains("Z  softroce1 rxe0/1 packets  tx  4.") && lines[0].ends_with(" kpkt/s"), "{values}");
    let (all, _) = copied(&mut model, "copy-row");
    assert!(all.starts_with(&values) && all.lines().count() > 4, "{all}");
    act(&mut model, &["mark"]);
    type_in(&mut model, "n");
    act(&mut model, &["accept", "marks"]);
    assert!(copied(&mut model, "copy").0.ends_with("  mark A  n"));
    act(&mut model, &["close", "settings"]);
    assert_eq!(copied(&mut model, "copy"), ("theme: default".to_owned(), "setting"));
}

#[test]
fn where_nothing_is_selected_a_sentence_says_so() {
    let mut model = connected(&["one"]);
    for (keys, why) in [
        (&["panel-guest"][..], "no value is selected"),
        (&["panel-live"], "no graph is shown"),
        (&["help"], "nothing is selected in this list"),
        (&["close", "marks"], "no mark was put yet"),
    ] {
        act(&mut model, keys);
        assert_eq!(act(&mut model, &["copy"]), vec![]);
        assert_eq!(notice(&model), format!("nothing is copied: {why}"));
    }
}

#[test]
fn what_became_of_a_copy_is_said_in_the_footer_and_is_no_event() {
    let mut model = running();
    let events = model.events.len();
    update(&mut model, Message::Said { at: at(62), text: Text::new("copied name: OSC 52") });
    assert_eq!((notice(&model), model.events.len(), model.now), ("copied name: OSC 52", events, at(62)));
    update(&mut model, Message::Clock(at(67)));
    assert_eq!(notice(&model), "", "for five seconds");
}

/// Something that may happen to a console.
#[derive(Clone, Debug)]
enum Step {
    Action(String),
    Type(char),
    Clock,
    Asked,
    Resized(u16, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names: Vec<String> = action::ALL.iter().map(|action| action.name.to_owned()).collect();
    let commands = [
        "target softroce2",
        "theme dark",
        "theme x",
        "glyphs ascii",
        "mouse on",
        "low-bandwidth off",
        "target",
        "no such",
    ];
    let step = prop_oneof![
        8 => proptest::sample::select(names).prop_map(Step::Action),
        1 => proptest::sample::select(commands.to_vec()).prop_map(|name| Step::Action(name.to_owned())),
        3 => proptest::char::range('a', 'z').prop_map(Step::Type),
        1 => Just(Step::Clock),
        1 => Just(Step::Asked),
        1 => (0u16..200, 0u16..60).prop_map(|(columns, rows)| Step::Resized(columns, rows)),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_keys_leave_a_console_that_holds_together(steps in steps()) {
        let mut model = with_looks();
        let mut second = 60;
        for step in &steps {
            let effects = match step {
                Step::Action(name) => act(&mut model, &[name]),
                Step::Type(character) => update(&mut model, Message::Edit(Edit::Insert(*character))),
                Step::Clock => {
                    second += 1;
                    update(&mut model, Message::Clock(at(second)))
                }
                Step::Asked => {
                    ask(&mut model);
                    Vec::new()
                }
                Step::Resized(columns, rows) => update(&mut model, Message::Resized { columns: *columns, rows: *rows }),
            };
            for effect in effects {
                if let Effect::Copy { text, .. } = effect {
                    let clean = !text.as_str().ends_with('\n') && !text.as_str().contains('\x1b');
                    prop_assert!(clean);
                }
            }
            let screen = &model.screen;
            let palettes = screen.overlays.iter().filter(|overlay| matches!(overlay, Overlay::Palette(_))).count();
            let typed = matches!(screen.editing, Some(Editing { purpose: Purpose::Palette, .. }));
            prop_assert_eq!(palettes, usize::from(typed), "the palette has its line of text: {:?}", steps);
            if typed {
                prop_assert!(matches!(screen.overlays.last(), Some(Overlay::Palette(_))));
                prop_assert_eq!(context(&model), Context::Palette);
            }
            match screen.overlays.last() {
                Some(Overlay::Palette(palette)) => {
                    let found = palette::found(&model).len();
                    prop_assert!(palette.selected < found.max(1), "{} of {}", palette.selected, found);
                }
                Some(Overlay::Settings(view)) => prop_assert!(view.selected < settings::rows(&model).len()),
                Some(Overlay::Marks { .. }) => {
                    prop_assert_eq!(marks::selected(&model).is_some(), !model.marks.is_empty());
                }
                _ => {}
            }
            prop_assert!(screen.live.cursor.is_none_or(|cursor| cursor <= screen.live.window()));
            let moments: Vec<_> = model.marks.iter().map(|mark| (mark.at, mark.event)).collect();
            prop_assert!(moments.is_sorted_by_key(|(at, _)| *at));
            for (_, event) in moments {
                prop_assert!(model.events.get(event).is_some_and(|event| event.text.starts_with("mark ")));
            }
            prop_assert!(model.options.offered.themes.contains(&screen.look.theme));
        }
    }
}
