//! Copies to a terminal, and changes of the look, in the loop.

use super::*;

#[test]
fn a_copy_is_sent_to_the_terminal_and_told() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        *bench.shared.to_copy.borrow_mut() = "port 1\nstate ACTIVE\n".to_owned();
        bench.keys("y");
        bench.settle().await;
        let said = "copied raw text, 2 lines: OSC 52, if your terminal allows it";
        assert_eq!(bench.shared.noted(), ["enter", "copy", said]);
        let bytes = String::from_utf8(bench.shared.bytes.borrow().clone()).expect("text");
        assert!(bytes.starts_with("\x1b]52;c;cG9ydCAxCnN0YXRlIEFDVElWRQ==\x1b\\"), "{bytes:?}");
        assert!(bench.shared.effects.borrow().is_empty(), "nobody else is asked");
        bench.shared.bytes.borrow_mut().clear();
        *bench.shared.to_copy.borrow_mut() = "x".repeat(100_000);
        bench.keys("y");
        bench.settle().await;
        assert_eq!(bench.shared.noted()[1], "raw text not copied: that is more than OSC 52 carries");
        assert!(!bench.shared.bytes.borrow().windows(4).any(|part| part == b"]52;"));
    });
}

#[test]
fn a_copy_to_a_terminal_that_is_full_goes_out_whole_before_the_next_frame() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.settle().await;
        bench.shared.bytes.borrow_mut().clear();
        *bench.shared.to_copy.borrow_mut() = "x".repeat(30_000);
        bench.shared.room.set(Some(1_000));
        bench.keys("y");
        bench.message(1);
        bench.settle().await;
        let drawn = bench.shared.drawn.get();
        assert_eq!(bench.shared.bytes.borrow().len(), 1_000);
        bench.message(2);
        bench.settle().await;
        assert_eq!(bench.shared.drawn.get(), drawn, "no frame is drawn over what is on its way");
        bench.shared.room.set(None);
        bench.settle().await;
        let bytes = bench.shared.bytes.borrow();
        let sequence = bytes.iter().position(|byte| *byte == 0x1b).expect("the copy");
        let end = bytes.windows(2).position(|pair| pair == b"\x1b\\").expect("its end");
        assert_eq!(end - sequence, "\x1b]52;c;".len() + 40_000);
        assert_eq!(bench.shared.shown(), "message 2");
    });
}

#[test]
fn another_look_is_in_force_at_once_and_one_that_is_not_here_is_told() {
    on_virtual_time(async {
        let bench = Bench::start(Pace::NORMAL);
        bench.keys("z+z");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["enter", "zoom-in", "down"], "z means something after the change only");
        bench.keys("-");
        bench.settle().await;
        assert_eq!(bench.shared.noted(), ["zoom-out", "there is no theme \"neon\" here"]);
        let drawn = bench.shared.drawn.get();
        for id in 0..1_000 {
            bench.message(id);
            bench.pass(1).await;
        }
        bench.settle().await;
        assert!((3..=6).contains(&(bench.shared.drawn.get() - drawn)), "frames come as seldom as was wished");
    });
}
