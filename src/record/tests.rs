//! What is read of a recording that is whole, cut or broken.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::chunk::Timed;
use super::format::{
    Head, Header, Kind, LONGEST_CHUNK, LONGEST_LANDMARKS, LONGEST_LANDMARKS_IN_ALL, Landmark, MAGIC, MOST_LANDMARKS,
    MOST_TARGETS, Micros, SCHEMA,
};
use super::packing::{Packer, Unpacker};
use super::reader::Recording;
use super::writer::{KEYFRAME_MESSAGES, Writer};
use super::{JournalError, Player};
use crate::app::{Control, Message, Model, Options, Severity, Target, TargetKind};
use crate::fabric::{TargetId, Text, Timestamp};

const SECOND: Micros = 1_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn model() -> Model {
    Model::new(vec![(TargetId::new("a"), Target::new(TargetKind::Linux))], Options::default(), at(0))
}

fn notice(second: i64, severity: Severity) -> Message {
    Message::Notice {
        target: Some(TargetId::new("a")),
        at: at(second),
        severity,
        text: Text::new(&format!("n{second}")),
    }
}

fn header() -> Header {
    Header::of(&model(), at(0), (80, 24))
}

/// A message a second, so many of them; now and then the clock, with which the checks run.
fn messages(seconds: i64) -> Vec<(Micros, Message)> {
    (0..seconds)
        .map(|second| {
            let message = match second % 10 {
                5 => notice(second, Severity::Error),
                8 => Message::Clock(at(second)),
                _ => notice(second, Severity::Info),
            };
            (second.unsigned_abs() * SECOND + 1, message)
        })
        .collect()
}

fn recorded(messages: &[(Micros, Message)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header(), model()).expect("memory");
    for (at, message) in messages {
        writer.take(*at, message.clone()).expect("memory");
    }
    writer.finish().expect("memory")
}

fn open(bytes: &[u8]) -> Result<Recording, JournalError> {
    Recording::read(Path::new("x.rec"), Box::new(Cursor::new(bytes.to_vec())))
}

/// All messages that can be read, in their order.
fn read(recording: &mut Recording) -> Vec<Timed> {
    let mut all = Vec::new();
    for segment in 0..recording.segments() {
        let mut unpacker = Unpacker::new().expect("memory");
        for chunk in 0..recording.chunks(segment) {
            let Some(messages) = recording.messages(segment, chunk, &mut unpacker) else { break };
            all.extend(messages);
        }
    }
    all
}

fn refused(bytes: &[u8]) -> String {
    open(bytes).expect_err("refused").to_string()
}

/// Where each chunk begins, and where the last one ends.
fn places(bytes: &[u8]) -> Vec<usize> {
    let header = u32::from_le_bytes(bytes[MAGIC.len() + 4..MAGIC.len() + 8].try_into().expect("four bytes"));
    let mut places = vec![MAGIC.len() + 12 + header as usize];
    while let Some(head) = bytes.get(places[places.len() - 1]..places[places.len() - 1] + Head::BYTES) {
        let head = Head::read(head.try_into().expect("a head")).expect("whole");
        places.push(places[places.len() - 1] + Head::BYTES + head.packed as usize);
    }
    places
}

#[test]
fn what_was_written_is_read_in_order_with_its_times() {
    let messages = messages(1000);
    let mut recording = open(&recorded(&messages)).expect("a recording");
    assert_eq!(recording.header(), &header());
    assert_eq!(recording.end(), 999 * SECOND + 1);
    assert_eq!(recording.loss(&TimeZone::UTC), None);
    assert!(recording.segments() > 3, "a keyframe now and then: {}", recording.segments());
    let timed = |(at, message): &(Micros, Message)| Timed { at: *at, message: Some(message.clone()) };
    assert_eq!(read(&mut recording), messages.iter().map(timed).collect::<Vec<_>>());
    let landmarks: Vec<_> =
        recording.landmarks().iter().map(|landmark| (landmark.at, landmark.text.to_string())).collect();
    assert_eq!(landmarks.len(), 100);
    assert_eq!(landmarks[1], (15 * SECOND + 1, "a: n15".to_owned()));
}

#[test]
fn what_is_no_recording_or_of_a_newer_program_is_told_so() {
    assert_eq!(refused(b""), "x.rec: is empty; a recording is made with `rdmascope --record FILE`");
    let none = "x.rec: is no recording of rdmascope; one is made with `rdmascope --record FILE`";
    assert_eq!(refused(b"x"), none);
    assert_eq!(refused(&[0; 1000]), none);
    let whole = recorded(&messages(3));
    let broken = "x.rec: is a recording whose start is broken: nothing of it can be replayed";
    assert_eq!(refused(&whole[..MAGIC.len()]), broken);
    assert_eq!(refused(&whole[..MAGIC.len() + 40]), broken);
    let mut newer = whole.clone();
    newer[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&(SCHEMA + 1).to_le_bytes());
    let told = refused(&newer);
    assert!(told.contains("was written by rdmascope") && told.ends_with("use a newer rdmascope"), "{told}");
    let mut huge = whole;
    huge[MAGIC.len() + 4..MAGIC.len() + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(refused(&huge), broken);
}

#[test]
fn a_cut_or_broken_end_is_left_out_with_a_sentence() {
    let messages = messages(20);
    let whole = recorded(&messages);
    let places = places(&whole);
    // The last message, its landmark-free chunk: everything of it is needed.
    let last = places[places.len() - 2];
    let mut cut = open(&whole[..whole.len() - 1]).expect("a recording");
    let size = crate::app::format::bytes((whole.len() - 1 - last) as u64);
    let expected = format!("the recording ends at 08:00:18; {size} after it are broken");
    assert_eq!(cut.loss(&TimeZone::UTC), Some(expected.clone()));
    assert_eq!(read(&mut cut).len(), 19);
    let mut flipped = whole.clone();
    flipped[last + Head::BYTES + 5] ^= 1;
    let mut flipped = open(&flipped).expect("a recording");
    assert_eq!(read(&mut flipped).len(), 19);
    assert!(flipped.loss(&TimeZone::UTC).is_some_and(|told| told.starts_with("the recording ends at 08:00:18")));
    let mut longer = whole.clone();
    longer.push(0);
    let longer = open(&longer).expect("a recording");
    assert_eq!(longer.loss(&TimeZone::UTC), Some("the recording ends at 08:00:19; 1 B after it is broken".to_owned()));
    let player = Player::new(longer, TimeZone::UTC);
    let told = player.model().mode.replay().and_then(|replay| replay.notice.clone());
    assert!(told.is_some_and(|told| told.contains("1 B after it is broken")));
}

#[test]
fn a_part_that_is_broken_is_passed_over_to_the_next_keyframe() {
    let mut bytes = recorded(&messages(900));
    let mut recording = open(&bytes).expect("a recording");
    let (second, third) = (recording.begins(2), recording.begins(3));
    assert!(third > second + 20 * SECOND);
    // Somewhere in the middle of the second segment.
    let middle = places(&bytes)
        .into_iter()
        .find(|at| {
            let head = bytes.get(*at..*at + Head::BYTES).and_then(|head| Head::read(head.try_into().expect("a head")));
            head.is_some_and(|head| head.from > second + 10 * SECOND && head.packed > 8)
        })
        .expect("a chunk");
    bytes[middle + Head::BYTES + 3] ^= 0xff;
    let all = read(&mut recording).len();
    let mut broken = open(&bytes).expect("a recording");
    assert_eq!(broken.loss(&TimeZone::UTC), None);
    assert!(read(&mut broken).len() < all - 10);
    let (mut player, mut whole) = (Player::new(broken, TimeZone::UTC), Player::new(recording, TimeZone::UTC));
    for to in [third + SECOND, second + 5 * SECOND, third, third + 20 * SECOND, second + 15 * SECOND] {
        player.seek(to);
        whole.seek(to);
        if to != second + 15 * SECOND {
            assert_eq!(player.model().events, whole.model().events, "at {to}");
        }
    }
    let told = player.model().mode.replay().and_then(|replay| replay.notice.clone());
    assert!(told.as_ref().is_some_and(|told| told.starts_with("the recording is broken from 00:")), "{told:?}");
}

#[test]
fn a_keyframe_that_cannot_be_read_costs_time_and_nothing_else() {
    let mut bytes = recorded(&messages(400));
    let whole = open(&bytes).expect("a recording");
    for place in places(&bytes) {
        if bytes.get(place) == Some(&2) {
            bytes[place + Head::BYTES + 1] ^= 0xff;
        }
    }
    let broken = open(&bytes).expect("a recording");
    let (mut broken, mut whole) = (Player::new(broken, TimeZone::UTC), Player::new(whole, TimeZone::UTC));
    for to in [399, 10, 200] {
        broken.seek(to * SECOND);
        whole.seek(to * SECOND);
        assert_eq!(broken.model().events, whole.model().events);
    }
}

#[test]
fn messages_and_chunks_of_a_newer_program_are_passed_over_and_counted() {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Newer {
        Teleport { to: u32 },
        Notice { target: Option<TargetId>, at: Timestamp, severity: Severity, text: Text, colour: &'static str },
    }
    let newer = [
        Newer::Teleport { to: 7 },
        Newer::Notice { target: None, at: at(1), severity: Severity::Info, text: Text::new("hello"), colour: "red" },
    ];
    let mut bytes = recorded(&[]);
    let mut raw = Vec::new();
    for message in &newer {
        let mut encoded = Vec::new();
        super::writer::encode(&mut encoded, message).expect("encoded");
        raw.extend_from_slice(&u32::try_from(encoded.len()).expect("short").to_le_bytes());
        raw.extend_from_slice(&5u64.to_le_bytes());
        raw.extend_from_slice(&encoded);
    }
    let packed = super::packing::Packer::new().and_then(|mut packer| packer.pack(&raw)).expect("packed");
    for (kind, packed, raw) in [(77, b"???".to_vec(), 9999), (1, packed, raw.len())] {
        let head = Head::new(super::format::Kind::of(kind), raw, 5, 5, &packed);
        bytes.extend_from_slice(&head.bytes());
        bytes.extend_from_slice(&packed);
    }
    let mut player = Player::new(open(&bytes).expect("a recording"), TimeZone::UTC);
    player.seek(5);
    assert_eq!(player.unknown(), 1);
    assert_eq!(player.model().events.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(), ["hello"]);
}

#[test]
fn a_length_that_lies_makes_nothing_big() {
    let whole = recorded(&messages(3));
    let place = places(&whole)[0];
    for (packed, raw) in [(u32::MAX, 10), (10, u32::MAX), (10, u32::try_from(LONGEST_CHUNK).expect("short"))] {
        let mut lying = whole.clone();
        lying[place + 1..place + 5].copy_from_slice(&packed.to_le_bytes());
        lying[place + 5..place + 9].copy_from_slice(&raw.to_le_bytes());
        let mut player = Player::new(open(&lying).expect("its start is whole"), TimeZone::UTC);
        player.seek(Micros::MAX);
        assert!(player.model().events.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    /// Whatever becomes of a file: no panic, and what is read is what was written, up to where it is broken.
    #[test]
    fn any_damage_leaves_a_valid_start_or_a_sentence(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        doubled in prop::option::of(any::<prop::sample::Index>()),
    ) {
        static WHOLE: std::sync::LazyLock<(Vec<Timed>, Vec<u8>)> = std::sync::LazyLock::new(|| {
            let messages = messages(6);
            let timed = messages.iter().map(|(at, message)| Timed { at: *at, message: Some(message.clone()) }).collect();
            (timed, recorded(&messages))
        });
        let (messages, whole) = &*WHOLE;
        let mut bytes = whole.clone();
        if let Some(from) = doubled {
            let tail = bytes[from.index(bytes.len())..].to_vec();
            bytes.extend_from_slice(&tail);
        }
        for (place, byte) in &changes {
            let place = place.index(bytes.len());
            bytes[place] ^= byte;
        }
        if let Some(end) = cut {
            bytes.truncate(end.index(bytes.len() + 1));
        }
        match open(&bytes) {
            Err(error) => prop_assert!(error.to_string().len() > 20),
            Ok(mut recording) => {
                let read = read(&mut recording);
                let same = read.iter().zip(messages).take_while(|(one, other)| one == other).count();
                // A part that was doubled may follow as if it had been said again.
                prop_assert!(same == read.len() || doubled.is_some(), "{:?}", read);
                let mut player = Player::new(recording, TimeZone::UTC);
                player.seek(Micros::MAX);
                player.seek(SECOND);
            }
        }
    }
}

#[test]
fn behind_a_broken_head_the_next_keyframe_is_found() {
    let mut bytes = recorded(&messages(400));
    let whole = open(&bytes).expect("a recording");
    let (first, second) = (whole.begins(1), whole.begins(2));
    let place = places(&bytes)[9];
    bytes[place] ^= 0x40;
    let broken = open(&bytes).expect("a recording");
    assert_eq!((broken.end(), broken.loss(&TimeZone::UTC)), (whole.end(), None));
    let (mut broken, mut whole) = (Player::new(broken, TimeZone::UTC), Player::new(whole, TimeZone::UTC));
    for to in [first + 2 * SECOND, second + 5 * SECOND, second + 5 * SECOND + 1, 399 * SECOND] {
        broken.seek(to);
        whole.seek(to);
        assert_eq!(broken.model().events, whole.model().events, "at {to}");
    }
    broken.seek(first + 20 * SECOND);
    let told = broken.model().mode.replay().and_then(|replay| replay.notice.clone());
    assert!(told.is_some_and(|told| told.starts_with("the recording is broken from 00:00:0")));
}

/// A chunk that is a stream of its own.
fn chunk(kind: Kind, raw: &[u8], at: Micros) -> Vec<u8> {
    let packed = Packer::new().and_then(|mut packer| packer.pack(raw)).expect("packed");
    let mut bytes = Head::new(kind, raw.len(), at, at, &packed).bytes().to_vec();
    bytes.extend_from_slice(&packed);
    bytes
}

fn encoded<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut raw = Vec::new();
    super::writer::encode(&mut raw, value).expect("encoded");
    raw
}

fn landmarks(count: usize, length: usize) -> Vec<Landmark> {
    (0..count).map(|number| Landmark { at: 0, text: Text::new(&"x".repeat(1 + number % length)) }).collect()
}

#[test]
fn a_small_file_with_endless_landmarks_opens_with_a_few_of_them() {
    let mut bytes = recorded(&[]);
    // Longer than a chunk of them may be: passed over.
    let long = encoded(&landmarks(9_000, 400));
    assert!(long.len() > LONGEST_LANDMARKS);
    bytes.extend(chunk(Kind::Landmarks, &long, 0));
    let some = encoded(&landmarks(2_000, 1));
    for _ in 0..3_000 {
        bytes.extend(chunk(Kind::Landmarks, &some, 0));
    }
    let recording = open(&bytes).expect("a recording");
    assert_eq!(recording.landmarks().len(), MOST_LANDMARKS);
    assert!(recording.landmarks().iter().all(|landmark| landmark.text.len() == 1));
    // What unpacks to a lot and is nothing is not unpacked again and again.
    let nothing = chunk(Kind::Landmarks, &vec![0; LONGEST_LANDMARKS], 0);
    let mut bytes = recorded(&[]);
    (0..LONGEST_LANDMARKS_IN_ALL / LONGEST_LANDMARKS).for_each(|_| bytes.extend_from_slice(&nothing));
    bytes.extend(chunk(Kind::Landmarks, &some, 0));
    assert_eq!(open(&bytes).expect("a recording").landmarks(), []);
}

#[test]
fn a_writer_keeps_to_as_many_landmarks_as_are_read() {
    let errors = 30_000i64;
    let messages: Vec<_> =
        (0..errors).map(|number| (number.unsigned_abs(), notice(number / 1_000, Severity::Error))).collect();
    let recording = open(&recorded(&messages)).expect("a recording");
    assert_eq!(recording.landmarks().len(), MOST_LANDMARKS);
    assert!(recording.landmarks().is_sorted_by_key(|landmark| landmark.at));
}

#[test]
fn messages_that_come_thick_and_fast_get_keyframes_too() {
    let messages: Vec<_> = (0..50_000u64).map(|number| (number, Message::Withdrawn { id: number })).collect();
    let mut recording = open(&recorded(&messages)).expect("a recording");
    // None before the first, one at the start, and two more, all within a second.
    assert_eq!(recording.segments(), 4);
    for segment in 0..recording.segments() {
        let mut unpacker = Unpacker::new().expect("memory");
        let mut count = 0;
        for chunk in 0..recording.chunks(segment) {
            count += recording.messages(segment, chunk, &mut unpacker).expect("whole").count();
        }
        assert!(count <= KEYFRAME_MESSAGES, "{count}");
    }
    let timed = |(at, message): &(Micros, Message)| Timed { at: *at, message: Some(message.clone()) };
    assert_eq!(read(&mut recording), messages.iter().map(timed).collect::<Vec<_>>());
}

#[test]
fn a_keyframe_that_is_a_bomb_is_not_unpacked() {
    let bomb = vec![0; 16 << 20];
    let mut bytes = recorded(&messages(3));
    for _ in 0..7 {
        bytes.extend(chunk(Kind::KeyframePart, &bomb, 3 * SECOND));
    }
    bytes.extend(chunk(Kind::Keyframe, &bomb, 3 * SECOND));
    let mut recording = open(&bytes).expect("a recording");
    assert_eq!(recording.segments(), 3);
    let keyframe = recording.keyframe(2).expect("short enough");
    assert!(keyframe.is_bomb());
    assert!(keyframe.model().is_none());
    let mut player = Player::new(recording, TimeZone::UTC);
    player.seek(Micros::MAX);
    assert_eq!(player.model().events.len(), 3);
}

#[test]
fn too_many_targets_are_no_header() {
    let of = |count: usize| {
        let mut header = header();
        header.targets = vec![header.targets[0].clone(); count];
        let text = serde_json::to_vec(&header).expect("a text");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&SCHEMA.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(text.len()).expect("short").to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        bytes.extend_from_slice(&text);
        bytes
    };
    assert!(open(&of(MOST_TARGETS)).is_ok());
    assert!(refused(&of(MOST_TARGETS + 1)).contains("whose start is broken"));
}

#[test]
fn broken_heads_are_searched_behind_only_so_far_in_all() {
    let whole = recorded(&messages(3));
    let keyframe = |second: Micros| chunk(Kind::Keyframe, &encoded(&model()), second * SECOND);
    // Each hole is as long as a search; the third one is too much.
    let mut bytes = whole.clone();
    for second in 3..6 {
        bytes.extend(std::iter::repeat_n(0u8, (32 << 20) - 1000));
        bytes.extend(keyframe(second));
    }
    let recording = open(&bytes).expect("a recording");
    assert_eq!((recording.segments(), recording.end()), (4, 4 * SECOND));
    assert!(recording.loss(&TimeZone::UTC).is_some_and(|told| told.starts_with("the recording ends at 08:00:04; 32")));
    // A head across the end of a piece is found.
    for short in [1, 20, 33] {
        let mut bytes = whole.clone();
        bytes.extend(std::iter::repeat_n(0u8, (1 << 20) - short));
        bytes.extend(keyframe(3));
        assert_eq!(open(&bytes).expect("a recording").end(), 3 * SECOND, "{short}");
    }
}

#[test]
fn the_way_to_a_moment_is_gone_in_slices_and_keys_work_meanwhile() {
    let recording = || open(&recorded(&messages(400))).expect("a recording");
    let (mut player, mut whole) = (Player::new(recording(), TimeZone::UTC), Player::new(recording(), TimeZone::UTC));
    let notice = |player: &Player| player.model().mode.replay().and_then(|replay| replay.notice.clone());
    let position = |player: &Player| Micros::try_from(player.position().as_micros()).expect("short");
    player.control(Control::Pause);
    // Within the first segment, ten messages at a time.
    let slice = |player: &mut Player| {
        let mut left = 9;
        player.advance(Duration::from_millis(16), &mut || {
            left -= 1;
            left >= 0
        });
    };
    player.control(Control::Seek(25));
    assert!(player.is_under_way());
    slice(&mut player);
    assert_eq!((position(&player), notice(&player).as_deref()), (9 * SECOND + 1, Some("going to 00:00:25 ...")));
    assert_eq!(player.model().events.len(), 9, "and the clock once");
    // Keys work, another wish counts from where the player goes to, and a step is done there.
    player.take(Message::Action(Text::new("panel-events")));
    assert!(player.model().mode.replay().is_some_and(|replay| !replay.following));
    player.control(Control::Seek(-2));
    player.control(Control::StepMessage);
    slice(&mut player);
    assert_eq!((position(&player), notice(&player).as_deref()), (19 * SECOND + 1, Some("going to 00:00:23 ...")));
    slice(&mut player);
    assert_eq!((position(&player), notice(&player)), (23 * SECOND + 1, None));
    assert!(!player.is_busy());
    // Elsewhere by a keyframe, which comes from a thread.
    for to in [390, 5, 200] {
        player.control(Control::Start);
        player.control(Control::Seek(to));
        let mut slices = 0u32;
        while player.is_under_way() {
            slice(&mut player);
            slices += 1;
            std::thread::yield_now();
        }
        assert!(slices > 0);
        whole.seek(u64::from(to.unsigned_abs()) * SECOND);
        assert_eq!(position(&player), position(&whole));
        assert_eq!(player.model().events, whole.model().events, "at {to}");
    }
    // What broke is told there, and not before.
    player.control(Control::Start);
    player.control(Control::Landmark { forward: true });
    player.finish();
    assert_eq!(notice(&player).as_deref(), Some("00:00:05  a: n5"));
}

#[test]
fn who_plays_faster_than_there_is_time_for_catches_up() {
    let mut player = Player::new(open(&recorded(&messages(400))).expect("a recording"), TimeZone::UTC);
    (0..6).for_each(|_| player.control(Control::Faster));
    player.advance(Duration::from_millis(500), &mut || false);
    assert_eq!((player.model().events.len(), player.is_busy()), (1, true));
    player.advance(Duration::ZERO, &mut || true);
    assert_eq!((player.position(), player.is_busy()), (Duration::from_secs(32), false));
    assert_eq!(player.model().events.len(), 29, "and the clock three times");
}

#[test]
fn a_model_comes_back_from_its_keyframe() {
    let mut model = model();
    crate::app::update(
        &mut model,
        Message::Connection {
            target: TargetId::new("a"),
            at: at(1),
            connection: crate::app::Connection::Connected { since: at(1), via: Text::new("x") },
        },
    );
    let mut raw = Vec::new();
    super::writer::encode(&mut raw, &model).expect("encoded");
    let again: Model = rmp_serde::from_slice(&raw).expect("decoded");
    assert_eq!(format!("{again:?}"), format!("{model:?}"));
}

/// How long a read took may be missing, and is no zero then; what older programs wrote, always a number, is read.
#[test]
fn a_time_that_nobody_measured_stays_missing() {
    use crate::fabric::Observation;
    #[derive(serde::Serialize)]
    struct Older {
        target: TargetId,
        source: &'static str,
        sequence: u64,
        command: &'static str,
        at: Timestamp,
        duration: std::time::Duration,
        outcome: crate::fabric::Outcome,
        stdout: &'static str,
        stderr: &'static str,
        cut: u64,
    }
    let read = |raw: &[u8]| -> Observation { rmp_serde::from_slice(raw).expect("decoded") };
    let missing = Observation::of_text("linux.x", "text");
    let millisecond = std::time::Duration::from_millis(1);
    let measured = Observation { duration: Some(millisecond), ..missing.clone() };
    for observation in [missing.clone(), measured.clone()] {
        assert_eq!(read(&encoded(&observation)), observation);
    }
    let older = Older {
        target: missing.target.clone(),
        source: "linux.x",
        sequence: 1,
        command: "linux.x",
        at: missing.at,
        duration: millisecond,
        outcome: crate::fabric::Outcome::Exit(0),
        stdout: "text",
        stderr: "",
        cut: 0,
    };
    assert_eq!(read(&encoded(&older)), measured);
}
