use tokio::sync::oneshot;
use tokio::time::sleep;

use super::*;
use crate::collect::outlet::{Outlet, Samples};
use crate::collect::privilege::Privilege;
use crate::collect::rounds::{Delivered, Sequence};
use crate::collect::shell::ShellLink;
use crate::collect::testing::{Act, Behaviour, Fake, Far};
use crate::collect::transport::Input;
use crate::collect::turns::Turns;
use crate::collect::{sampler, transport::TransportError};

/// A sampler at work on a target that does `acts`.
fn sampled(acts: Vec<Act>) -> (mpsc::Receiver<Message>, JoinHandle<()>) {
    let (sender, messages) = mpsc::channel(64);
    let task = tokio::spawn(async move {
        let link = ShellLink::new(Fake::new(&Behaviour::of(acts)), Privilege::default());
        let outlet = Outlet::new(TargetId::new("t"), sender);
        let (mut samples, forward) = Samples::new(outlet.clone());
        tokio::spawn(forward);
        let (sequence, turns, delivered) = (Sequence::default(), Turns::default(), Delivered::default());
        sampler::run(&link, Duration::from_secs(1), &outlet, &mut samples, &sequence, &turns, &delivered).await;
    });
    (messages, task)
}

/// A target that the test plays.
async fn played(receiver: oneshot::Receiver<(String, Far)>) -> (Far, String) {
    let (command, mut far) = receiver.await.expect("a command");
    assert_eq!(command, "/bin/sh -s");
    let Some(Input::Bytes(block)) = far.input.recv().await else { panic!("no block") };
    let block = String::from_utf8(block).expect("our own block");
    // The nonce is the one word of 32 digits.
    let nonce = block.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 32).expect("a nonce");
    (far, nonce.to_owned())
}

/// Number of the next tick, if one comes within `patience`.
async fn tick(far: &mut Far, patience: Duration) -> Option<u64> {
    match tokio::time::timeout(patience, far.input.recv()).await {
        Ok(Some(Input::Bytes(line))) => {
            let line = String::from_utf8(line).expect("our own line");
            Some(line.split_whitespace().next().expect("a number").parse().expect("a number"))
        }
        Ok(other) => panic!("{other:?}"),
        Err(_) => None,
    }
}

async fn next(messages: &mut mpsc::Receiver<Message>) -> Message {
    messages.recv().await.expect("the sampler lives")
}

/// The text of the notice that comes with a gap; they travel by two ways, so either may come first.
async fn gap_and_notice(messages: &mut mpsc::Receiver<Message>) -> String {
    let both = [next(messages).await, next(messages).await];
    assert!(both.iter().any(|message| matches!(message, Message::Gap { dropped: 0, .. })), "{both:?}");
    let text =
        |message: &Message| if let Message::Notice { text, .. } = message { Some(text.to_string()) } else { None };
    both.iter().find_map(text).expect("a notice")
}

#[tokio::test(start_paused = true)]
async fn a_tick_a_second_and_none_while_an_answer_is_out() {
    let (sender, receiver) = oneshot::channel();
    let (mut messages, task) = sampled(vec![Act::Play(sender)]);
    let (mut far, nonce) = played(receiver).await;
    assert_eq!(tick(&mut far, Duration::from_secs(5)).await, None, "not before the target is ready");
    far.say(format!("{nonce} H boot\n{nonce} R 0 0 1.00 1700000000.500000000 0\n")).await;
    let first = tick(&mut far, Duration::from_secs(2)).await.expect("a tick");
    assert_eq!(tick(&mut far, Duration::from_secs(10)).await, None, "the answer is out");
    far.say(format!("{nonce} T {first} 12.00\n")).await;
    let Message::Sample(sample) = next(&mut messages).await else { panic!("no sample") };
    assert_eq!(sample.uptime_centiseconds, 1200);
    assert_eq!(sample.round_trip.as_secs(), 10);
    // Ten seconds on the way: as many answers may be out as are worth it, and no more.
    for _ in 0..3 {
        tick(&mut far, Duration::from_secs(2)).await.expect("a tick");
    }
    assert_eq!(tick(&mut far, Duration::from_secs(9)).await, None);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn answers_in_the_rhythm_of_the_ticks_become_samples() {
    let (sender, receiver) = oneshot::channel();
    let (mut messages, task) = sampled(vec![Act::Play(sender)]);
    let (mut far, nonce) = played(receiver).await;
    far.say(format!("Welcome\n{nonce} H boot\n{nonce} R 0 0 1.00 x 0\n")).await;
    let mut before = None;
    for second in 1..=5u64 {
        let number = tick(&mut far, Duration::from_secs(2)).await.expect("a tick");
        assert!(before.is_none_or(|before| number > before), "numbers rise");
        before = Some(number);
        sleep(Duration::from_millis(40)).await;
        far.say(format!("garbage \u{1b}[2J\n{nonce} T {number} {second}.00\n{nonce} T 9999 1.00\n")).await;
        let Message::Sample(sample) = next(&mut messages).await else { panic!("no sample") };
        assert_eq!((sample.uptime_centiseconds, sample.round_trip), (100 * second, Duration::from_millis(40)));
    }
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn the_wall_clock_of_a_target_is_compared_once_each_time_it_comes() {
    let (sender, receiver) = oneshot::channel();
    let (mut messages, task) = sampled(vec![Act::Play(sender)]);
    let (mut far, nonce) = played(receiver).await;
    // A target that is an hour ahead.
    let ahead = crate::fabric::Timestamp::now().as_millisecond() + 3_600_000;
    far.say(format!("{nonce} H boot\n{nonce} R 0 0 1.00 {}.{:03} 0\n", ahead / 1000, ahead % 1000)).await;
    let mut offsets = Vec::new();
    for _ in 0..3 {
        let number = tick(&mut far, Duration::from_secs(2)).await.expect("a tick");
        sleep(Duration::from_millis(40)).await;
        far.say(format!("{nonce} T {number} {number}.00\n")).await;
        let Message::Sample(sample) = next(&mut messages).await else { panic!("no sample") };
        offsets.push(sample.clock_offset_ms);
    }
    let first = offsets[0].expect("compared with the first answer");
    // The way back of 20 ms is taken off; the rest is the time that this test takes.
    assert!((3_590_000..=3_600_020).contains(&first), "{offsets:?}");
    assert_eq!(offsets[1..], [None, None]);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_made_anew_after_a_gap() {
    let (sender, receiver) = oneshot::channel();
    let (again, restarted) = oneshot::channel();
    let (mut messages, task) = sampled(vec![Act::Play(sender), Act::Play(again)]);
    let (mut far, nonce) = played(receiver).await;
    far.say(format!("{nonce} H boot\n{nonce} R 0 0 1.00 x 0\n")).await;
    tick(&mut far, Duration::from_secs(2)).await.expect("a tick");
    let text = gap_and_notice(&mut messages).await;
    assert!(text.contains("no answer for 30 s"), "{text}");
    assert!(far.output.is_closed(), "the old stream is ended");
    let (far, other) = played(restarted).await;
    assert_ne!(nonce, other);
    drop(far);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_says_why_once_and_waits_longer_each_time() {
    let broken = || Act::Say("", "sh: read: Illegal option -r\n", 2);
    let (mut messages, task) =
        sampled(vec![broken(), broken(), broken(), Act::Refuse(TransportError::Closed), Act::Hang]);
    let (mut gaps, mut notices) = (0, Vec::new());
    while notices.len() < 2 || gaps < 4 {
        match next(&mut messages).await {
            Message::Gap { dropped: 0, .. } => gaps += 1,
            Message::Notice { text, .. } => notices.push(text),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(notices[0], "the stream of samples ended: the shell ended (status 2): sh: read: Illegal option -r");
    assert_eq!(notices[1], "the stream of samples ended: the connection is closed");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_target_that_sends_anything_but_answers_is_given_up() {
    let (sender, receiver) = oneshot::channel();
    let (mut messages, task) = sampled(vec![Act::Play(sender), Act::Hang]);
    let (far, _) = played(receiver).await;
    let flood = tokio::spawn(async move {
        while far.output.send(crate::collect::transport::Output::Stdout(vec![b'x'; 1 << 18])).await.is_ok() {}
    });
    let text = gap_and_notice(&mut messages).await;
    assert!(text.contains("too much"), "{text}");
    flood.await.expect("the channel was closed");
    task.abort();
}
