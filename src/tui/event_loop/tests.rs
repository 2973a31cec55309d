use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(super) use super::*;
use crate::app::Answer;
pub(super) use crate::app::action::Context;
pub(super) use crate::tui::frame::Pace;
pub(super) use crate::tui::keymap::Keymap;
pub(super) use crate::tui::testing::actions;

mod copies_and_looks;
mod fakes;
mod questions;

pub(super) use fakes::*;

#[test]
fn keys_become_actions_and_their_answer_is_drawn_until_quit_leaves() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("jgg");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "down", "top"]);
        assert_eq!(bench.shared.shown(), "top");
        bench.keys("q");
        let shared = Rc::clone(&bench.shared);
        assert_eq!(bench.exit().await, Exit::Quit);
        assert_eq!(shared.noted(), ["quit", "leave"]);
        assert_eq!(shared.live_streams.get(), 0);
    });
}

#[test]
fn nothing_is_drawn_while_nothing_changes() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        assert_eq!(bench.shared.drawn.get(), 1, "the first frame");
        for _ in 0..10 {
            bench.messages.try_send(Message::Clock(Timestamp::UNIX_EPOCH)).expect("sent");
            bench.pass(1_000).await;
        }
        assert_eq!(bench.shared.drawn.get(), 1);
        assert!((20..=26).contains(&bench.shared.nudged.get()), "twice a second a forgotten key is looked for");
    });
}

#[test]
fn a_flood_of_messages_makes_thirty_frames_a_second_and_three_on_a_dear_line() {
    for (pace, expected) in [(Pace::NORMAL, 28..=32), (Pace::LOW_BANDWIDTH, 3..=5)] {
        on_virtual_time(async {
            let bench = Bench::start(pace);
            for id in 0..1_000 {
                bench.message(id);
                bench.pass(1).await;
            }
            bench.settle().await;
            assert!(expected.contains(&bench.shared.drawn.get()), "{}", bench.shared.drawn.get());
            assert_eq!(bench.shared.shown(), "message 999", "the last one is shown");
        });
    }
}

#[test]
fn messages_are_taken_in_for_four_milliseconds_then_keys_have_their_turn() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.noted();
        bench.shared.cost.set(Duration::from_millis(1));
        for id in 0..100 {
            bench.message(id);
        }
        bench.keys("j");
        bench.settle().await;
        let log = bench.shared.noted();
        let turn = log.iter().position(|entry| entry == "down").expect("the key was seen");
        assert!(turn <= 6, "after {turn} messages");
        assert_eq!(log.len(), 101, "and no message was lost");
    });
}

#[test]
fn a_key_is_seen_and_a_frame_is_drawn_during_a_flood() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let drawn = bench.shared.drawn.get();
        for id in 0..5_000 {
            bench.message(id);
        }
        bench.keys("j");
        // The clock of the loop stands still for it, so the drain ends by itself only when nothing is left; a frame follows.
        bench.settle().await;
        assert!(bench.shared.drawn.get() > drawn);
        let log = bench.shared.noted();
        assert!(log.iter().position(|entry| entry == "down").expect("seen") <= 2, "keys come before messages");
    });
}

#[test]
fn of_many_resizes_the_last_counts_and_the_frame_is_whole() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.noted();
        for columns in (20..60).rev() {
            bench.typed.send(Ok(Event::Resize(columns, 4))).expect("sent");
        }
        bench.shared.size.set(Size::new(20, 4));
        bench.shared.bytes.borrow_mut().clear();
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["20x4"]);
        assert_eq!(bench.shared.shown(), "20x4");
        bench.typed.send(Ok(Event::Resize(0, 0))).expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["0x0"], "even a terminal without a cell");
    });
}

#[test]
fn a_sequence_is_forgotten_after_a_second() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("g");
        bench.pass(1_100).await;
        bench.keys("g");
        bench.pass(500).await;
        assert_eq!(bench.shared.noted(), ["enter"]);
        bench.keys("g");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["top"]);
    });
}

#[test]
fn text_is_edited_where_text_is_typed_and_pasted_nowhere_else() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        let paste = || bench.typed.send(Ok(Event::Paste("rxe0\rq".to_owned()))).expect("sent");
        paste();
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter"]);
        bench.shared.context.set(Some(Context::Filter));
        bench.keys("q");
        paste();
        bench.key(KeyCode::Enter);
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["Insert('q')", "Paste(\"rxe0 q\")", "accept"]);
    });
}

#[test]
fn suspending_hands_everything_over_and_takes_it_back_whole() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.noted();
        bench.shared.bytes.borrow_mut().clear();
        bench.shared.size.set(Size::new(30, 3));
        bench.typed.send(Ok(Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)))).expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["suspend", "stop", "enter", "30x3"]);
        assert_eq!(bench.shared.shown(), "30x3", "the frame is whole");
        bench.keys("j");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["down"], "keys come in again");
    });
}

#[test]
fn without_a_shell_suspending_says_so_and_goes_on() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.shared.no_shell.set(true);
        bench.signals.send(Signal::Stop).await.expect("sent");
        bench.settle().await;
        let told = "cannot suspend: no shell is there that could continue the console";
        assert_eq!(bench.shared.noted(), ["enter", "stop", told]);
        bench.keys("j");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["down"]);
    });
}

#[test]
fn continued_by_others_the_terminal_is_taken_again_and_redrawn() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.message(1);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        bench.signals.send(Signal::Continue).await.expect("sent");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "message 1", "resume"]);
        assert_eq!(bench.shared.shown(), "message 1");
    });
}

#[test]
fn redraw_draws_everything_anew() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        bench.key(KeyCode::F(5));
        bench.settle().await;
        assert_eq!(bench.shared.shown(), "redraw");
        let bytes = bench.shared.bytes.borrow();
        assert!(bytes.windows(4).any(|part| part == b"\x1b[2J"), "{}", bytes.escape_ascii());
    });
}

#[test]
fn signals_end_the_console_cleanly_with_their_number() {
    for (signal, code) in
        [(Signal::Terminate, 143), (Signal::HangUp, 129), (Signal::Interrupt, 130), (Signal::Quit, 131)]
    {
        on_virtual_time(async {
            let bench = Bench::start(Pace::NORMAL);
            bench.settle().await;
            bench.signals.send(signal).await.expect("sent");
            let shared = Rc::clone(&bench.shared);
            let exit = bench.exit().await;
            assert_eq!((exit, exit.code()), (Exit::Signal(signal), code));
            assert_eq!(shared.noted().last().map(String::as_str), Some("leave"));
        });
    }
    assert_eq!(Exit::Quit.code(), 0);
}

#[test]
fn a_terminal_that_vanishes_ends_the_console() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.gone.set(true);
        let before = Instant::now();
        assert_eq!(bench.exit().await, Exit::TerminalGone);
        assert!(before.elapsed() <= CHECK);
    });
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.gone.set(true);
        bench.message(1); // the write of its frame fails before the next look
        assert_eq!(bench.exit().await, Exit::TerminalGone);
    });
    on_virtual_time(async {
        let Bench { typed, ended, messages: _messages, signals: _signals, .. } = Bench::start(Pace::NORMAL);
        drop(typed);
        assert_eq!(ended.await.expect("no panic").expect("no error"), Exit::TerminalGone);
    });
}

#[test]
fn a_slow_terminal_costs_frames_but_never_a_key_or_a_signal() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        let drawn = bench.shared.drawn.get();
        bench.shared.room.set(Some(5));
        for id in 0..100 {
            bench.message(id);
            bench.pass(50).await;
        }
        assert_eq!(bench.shared.drawn.get(), drawn + 1, "one frame is on its way, none is queued behind it");
        bench.shared.noted();
        bench.keys("j");
        bench.pass(100).await;
        assert_eq!(bench.shared.noted(), ["down"], "the key was taken all the same");
        bench.shared.room.set(None);
        bench.settle().await;
        assert_eq!(bench.shared.shown(), "down", "the next frame is of now");
        assert_eq!(bench.shared.drawn.get(), drawn + 2);
        bench.shared.room.set(Some(0));
        bench.message(1);
        bench.settle().await;
        bench.signals.send(Signal::Terminate).await.expect("sent");
        assert_eq!(bench.exit().await, Exit::Signal(Signal::Terminate));
    });
}

#[test]
fn other_effects_go_outside() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("?");
        bench.settle().await;
        assert_eq!(*bench.shared.effects.borrow(), [Effect::Answer { id: 7, answer: Answer::Accept }]);
    });
}

#[test]
fn the_console_outlives_its_engine() {
    on_virtual_time(async {
        let Bench { shared, typed, messages, signals: _signals, reload: _reload, ended } = Bench::start(Pace::NORMAL);
        drop(messages);
        tokio::time::sleep(Duration::from_secs(2)).await;
        typed.send(Ok(Event::Key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)))).expect("sent");
        assert_eq!(ended.await.expect("no panic").expect("no error"), Exit::Quit);
        assert_eq!(shared.drawn.get(), 1);
    });
}
