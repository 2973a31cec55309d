use std::sync::Arc;

use crate::tui::looks::Looks;
use crate::tui::theme::Theme;

use super::tests::*;
use super::*;

#[test]
fn the_mouse_is_the_consoles_while_the_model_wishes_so() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("tmjtm");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "toggle-mouse", "mouse on", "down", "toggle-mouse", "mouse off"]);
    });
}

#[test]
fn frames_are_fewer_while_another_window_has_the_focus_or_the_line_is_dear() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let drawn_in_a_second = async || {
            let before = bench.shared.drawn.get();
            for id in 0..100 {
                bench.message(id);
                bench.pass(10).await;
            }
            bench.shared.drawn.get() - before
        };
        assert!((26..=32).contains(&drawn_in_a_second().await));
        bench.event(Event::FocusLost);
        assert!((3..=5).contains(&drawn_in_a_second().await));
        bench.event(Event::FocusGained);
        assert!((26..=33).contains(&drawn_in_a_second().await));
        bench.event(Event::FocusLost);
        bench.keys("j"); // no terminal without the focus has keys: it forgot to say so
        assert!((26..=33).contains(&drawn_in_a_second().await));
        bench.keys("tl");
        assert!((3..=5).contains(&drawn_in_a_second().await));
        bench.keys("tl");
        assert!((26..=33).contains(&drawn_in_a_second().await));
    });
}

#[test]
fn what_is_read_again_is_in_force_before_the_model_hears_of_it() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let mut looks = Looks::embedded(&actions()).expect("valid");
        let keys = Keymap::embedded(&actions()).expect("valid");
        let keys = keys.with("k", "[global]\n\"x\" = \"top\"\n", &actions()).expect("valid");
        looks.add_keymap("default", keys);
        looks.add_theme("default", Theme::default());
        let said = Message::Said { at: Timestamp::UNIX_EPOCH, text: Text::new("read again") };
        let reloaded = Reloaded { looks: Some(Arc::new(looks)), messages: vec![said] };
        bench.reload.try_send(reloaded).expect("the loop runs");
        bench.settle().await;
        bench.keys("x");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "read again", "top"]);
        assert_eq!(bench.shared.shown(), "top");
        let failed = Message::Said { at: Timestamp::UNIX_EPOCH, text: Text::new("a mistake") };
        bench.reload.try_send(Reloaded { looks: None, messages: vec![failed] }).expect("the loop runs");
        bench.keys("x");
        bench.settle().await;
        let noted = bench.shared.noted();
        assert!(noted.contains(&"a mistake".to_owned()) && noted.contains(&"top".to_owned()), "{noted:?}");
    });
}

#[test]
fn without_an_editor_the_screen_stays_and_says_why() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("E");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "edit-configuration", "there is no editor"]);
    });
}

/// An editor that runs a line of sh.
fn sh(line: &'static str) -> Editor {
    Box::new(move || {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", line]);
        Ok(command)
    })
}

/// Runs a test on real time: an editor is a process.
fn on_real_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn an_editor_has_the_terminal_to_itself_then_all_is_read_again() {
    on_real_time(async {
        let folder = tempfile::tempdir().expect("a folder");
        let flag = folder.path().join("go");
        let line = format!("while ! [ -e {} ]; do sleep 0.02; done", flag.display());
        let bench = Bench::start_with(Pace::NORMAL, sh(line.leak()));
        bench.keys("E");
        let shared = std::rc::Rc::clone(&bench.shared);
        until("the terminal is left", || shared.log.borrow().contains(&"leave".to_owned())).await;
        assert_eq!(shared.live_streams.get(), 0, "what is typed is the editor's");
        let drawn = shared.drawn.get();
        bench.message(1);
        until("messages are taken in", || shared.log.borrow().contains(&"message 1".to_owned())).await;
        assert_eq!(shared.drawn.get(), drawn, "nothing is drawn over the editor");
        assert!(shared.effects.borrow().is_empty());
        std::fs::write(&flag, "").expect("a file");
        until("it is read again", || shared.effects.borrow().contains(&Effect::Reload)).await;
        assert_eq!(shared.noted(), ["enter", "edit-configuration", "leave", "message 1", "enter"]);
        until("a frame", || shared.drawn.get() > drawn).await;
        bench.keys("q");
        assert_eq!(bench.exit().await, Exit::Quit);
    });
}

#[test]
fn an_editor_that_fails_or_is_not_there_is_told_and_nothing_is_read_again() {
    let missing: Editor = Box::new(|| Ok(std::process::Command::new("/no/such/editor")));
    for (editor, expected) in [(sh("exit 3"), "ended with exit status: 3"), (missing, "/no/such/editor cannot be run")]
    {
        on_real_time(async {
            let bench = Bench::start_with(Pace::NORMAL, editor);
            bench.keys("E");
            let shared = std::rc::Rc::clone(&bench.shared);
            until(expected, || shared.log.borrow().iter().any(|line| line.contains(expected))).await;
            assert!(shared.effects.borrow().is_empty());
            bench.keys("q");
            assert_eq!(bench.exit().await, Exit::Quit);
        });
    }
}

#[test]
fn a_signal_that_ends_the_console_ends_the_editor_too_and_one_for_the_editor_does_not_end_the_console() {
    on_real_time(async {
        let bench = Bench::start_with(Pace::NORMAL, sh("trap 'exit 0' TERM; while :; do sleep 0.02; done"));
        bench.keys("E");
        let shared = std::rc::Rc::clone(&bench.shared);
        until("the terminal is left", || shared.log.borrow().contains(&"leave".to_owned())).await;
        bench.signals.try_send(Signal::Interrupt).expect("the loop runs");
        bench.message(2);
        until("it lives", || shared.log.borrow().contains(&"message 2".to_owned())).await;
        bench.signals.try_send(Signal::Terminate).expect("the loop runs");
        assert_eq!(bench.exit().await, Exit::Signal(Signal::Terminate));
        assert!(shared.effects.borrow().is_empty());
    });
}
