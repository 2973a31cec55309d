use proptest::prelude::*;

use super::*;

const NONCE: &str = "00c0ffee";

fn begin(index: usize, uptime: &str) -> Vec<u8> {
    format!("\n@rdmascope:{NONCE} {index} {uptime} begin\n").into_bytes()
}

fn end(index: usize, uptime: &str, status: i32) -> Vec<u8> {
    format!("\n@rdmascope:{NONCE} {index} {uptime} {status}\n").into_bytes()
}

fn one(stdout: &[u8], stderr: &[u8], status: i32) -> (Vec<u8>, Vec<u8>) {
    let both = |content: &[u8]| [begin(0, "5.00"), content.to_vec(), end(0, "5.25", status)].concat();
    (both(stdout), both(stderr))
}

#[test]
fn a_section_is_given_byte_for_byte_with_its_status_and_duration() {
    for text in [&b"a\nb\n"[..], b"no newline", b"", b"\n", b"\n\n", b"\0\xff\n\x1b[31m"] {
        let (stdout, stderr) = one(text, b"oops\n", 3);
        let mut reader = SectionReader::new(1, NONCE);
        assert!(reader.feed_stdout(&stdout).is_empty(), "standard error is still out");
        let sections = reader.feed_stderr(&stderr);
        assert_eq!(
            sections,
            [Section {
                index: 0,
                outcome: Outcome::Exit(3),
                duration: Some(Duration::from_millis(250)),
                stdout: text.to_vec(),
                stderr: b"oops\n".to_vec(),
                command: None,
                cut: 0
            }]
        );
        assert!(reader.is_complete());
    }
}

#[test]
fn a_banner_is_noise() {
    let (stdout, stderr) = one(b"x\n", b"", 0);
    let mut reader = SectionReader::new(1, NONCE);
    reader.feed_stdout(b"Welcome to softroce1\nLast login: today");
    assert!(!reader.has_started());
    reader.feed_stderr(b"bash: warning\n");
    reader.feed_stdout(&stdout);
    let sections = reader.feed_stderr(&stderr);
    assert_eq!(sections[0].stdout, b"x\n");
    assert_eq!(reader.noise(), (&b"Welcome to softroce1\nLast login: today"[..], &b"bash: warning\n"[..]));
}

#[test]
fn what_imitates_a_marker_is_content() {
    let fakes = format!(
        "\n@rdmascope:deadbeef 0 5.00 0\n\n@rdmascope:{NONCE} 1 5.00 0\n\n@rdmascope:{NONCE} 0 5.00 begin\n\n@rdmascope:{NONCE} 0 x\n\n@rdmascope:{NONCE} {}",
        "9".repeat(500)
    );
    let (stdout, stderr) = one(fakes.as_bytes(), b"", 0);
    let mut reader = SectionReader::new(1, NONCE);
    reader.feed_stdout(&stdout);
    let sections = reader.feed_stderr(&stderr);
    assert_eq!(String::from_utf8_lossy(&sections[0].stdout), fakes);
}

#[test]
fn lines_around_items_carry_the_nonce_and_no_output_can_print_them() {
    let output = format!(
        "@rdmascope:{NONCE} item 1\nx\n\n@status 0\n@item 2\nforged\n@rdmascope:deadbeef item 3\n\n\
         @rdmascope:{NONCE} status 0\n@rdmascope:{NONCE} item 2\n@clock 7\ny\n\n@rdmascope:{NONCE} status 1\n"
    );
    let errors = format!("@rdmascope:{NONCE} item 1\n@item 2\n@rdmascope:{NONCE} item 2\nno such VM\n");
    let (stdout, stderr) = one(output.as_bytes(), errors.as_bytes(), 0);
    let mut reader = SectionReader::new(1, NONCE);
    reader.feed_stdout(&stdout);
    let sections = reader.feed_stderr(&stderr);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let expected = "@item 1\nx\n\n\\@status 0\n\\@item 2\nforged\n@rdmascope:deadbeef item 3\n\n@status 0\n\
                    @item 2\n\\@clock 7\ny\n\n@status 1\n";
    assert_eq!(text(&sections[0].stdout), expected);
    assert_eq!(text(&sections[0].stderr), "@item 1\n\\@item 2\n@item 2\nno such VM\n");
    // What a script of an older version printed, in a saved file, is given as it is.
    let (stdout, stderr) = one(b"@item 1\nx\n\n@status 0\n", b"@item 1\n", 0);
    let mut reader = SectionReader::new(1, NONCE);
    reader.feed_stdout(&stdout);
    let sections = reader.feed_stderr(&stderr);
    assert_eq!(text(&sections[0].stdout), "@item 1\nx\n\n@status 0\n");
    assert_eq!(text(&sections[0].stderr), "@item 1\n");
}

#[test]
fn too_much_is_counted() {
    let line = vec![b'x'; MOST_OF_SECTION + 1000];
    let (stdout, stderr) = one(&line, b"", 0);
    let mut reader = SectionReader::new(1, NONCE);
    for piece in stdout.chunks(32 * 1024) {
        reader.feed_stdout(piece);
    }
    let sections = reader.feed_stderr(&stderr);
    assert_eq!(sections[0].stdout.len(), MOST_OF_SECTION);
    assert_eq!(sections[0].cut, 1000);
    assert!(!reader.flooded());
}

#[test]
fn a_flood_is_seen_and_takes_no_memory() {
    let mut reader = SectionReader::new(1, NONCE);
    reader.feed_stdout(&begin(0, "1.00"));
    let piece = vec![0u8; 1 << 16];
    while !reader.flooded() {
        reader.feed_stdout(&piece);
    }
    let sections = reader.finish(&Outcome::Cut);
    assert_eq!(sections[0].stdout.len(), MOST_OF_SECTION);
    assert!(sections[0].cut > 0);
}

#[test]
fn what_began_and_never_ended_is_cut_and_what_never_began_is_not_there() {
    let mut reader = SectionReader::new(3, NONCE);
    let (stdout, stderr) = one(b"first\n", b"", 0);
    reader.feed_stdout(&stdout);
    assert_eq!(reader.feed_stderr(&stderr).len(), 1);
    reader.feed_stdout(&begin(1, "6.00"));
    reader.feed_stdout(b"half a li");
    let rest = reader.finish(&Outcome::TimedOut);
    assert_eq!(rest.len(), 1);
    assert_eq!((rest[0].index, &rest[0].outcome, &rest[0].stdout[..]), (1, &Outcome::TimedOut, &b"half a li"[..]));
}

#[test]
fn a_status_that_came_is_kept_though_standard_error_is_missing() {
    let mut reader = SectionReader::new(1, NONCE);
    let (stdout, _) = one(b"x\n", b"", 7);
    reader.feed_stdout(&stdout);
    let rest = reader.finish(&Outcome::Cut);
    assert_eq!(rest[0].outcome, Outcome::Exit(7));
}

#[test]
fn a_deadline_on_the_target_is_told_from_a_status_of_the_program() {
    for (status, seconds, expected) in [
        (124, "15.02", Outcome::TimedOut),
        (124, "5.10", Outcome::Exit(124)),
        (137, "17.10", Outcome::TimedOut),
        (143, "15.00", Outcome::TimedOut),
        (143, "6.00", Outcome::Exit(143)),
        (0, "19.00", Outcome::Exit(0)),
        (124, "-", Outcome::TimedOut),
        (143, "-", Outcome::Exit(143)),
    ] {
        let mut reader = SectionReader::new(1, NONCE);
        reader.feed_stdout(&[begin(0, "5.00"), end(0, seconds, status)].concat());
        let sections = reader.feed_stderr(&[begin(0, "5.00"), end(0, seconds, status)].concat());
        assert_eq!(sections[0].outcome, expected, "{status} after {seconds}");
    }
}

/// Content that likes to look like markers.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        "[\n@a-f0-9 :.]{0,40}".prop_map(String::into_bytes),
        "(\n@rdmascope:[0-9a-f]{8} [0-9] [0-9]\\.[0-9]{2} (begin|0)\n){1,2}".prop_map(String::into_bytes),
        "(\n@rdmascope:00c0ffe|@rdmascope:00c0ffee |\n){1,6}".prop_map(String::into_bytes),
    ]
}

fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let length = cuts.next().map_or(rest.len(), |&cut| cut.clamp(1, rest.len()));
        pieces.push(rest[..length].to_vec());
        rest = &rest[length..];
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_content_in_any_pieces_comes_back_whole(
        noise in content(),
        contents in proptest::collection::vec((content(), content(), 0..256i32), 1..4),
        cuts in proptest::collection::vec(1..60usize, 1..5),
        order in proptest::collection::vec(any::<bool>(), 1..8),
    ) {
        let (mut stdout, mut stderr) = (noise.clone(), noise);
        for (index, (out, err, status)) in contents.iter().enumerate() {
            for (whole, part) in [(&mut stdout, out), (&mut stderr, err)] {
                whole.extend(begin(index, "1.00"));
                whole.extend(part);
                whole.extend(end(index, "2.00", *status));
            }
        }
        let mut reader = SectionReader::new(contents.len(), NONCE);
        let mut sections = Vec::new();
        let (out, err) = (pieces(&stdout, &cuts), pieces(&stderr, &cuts));
        let (mut out, mut err) = (out.iter(), err.iter());
        for &first in order.iter().cycle() {
            let next = if first { out.next() } else { err.next() };
            match (next, first) {
                (Some(piece), true) => sections.extend(reader.feed_stdout(piece)),
                (Some(piece), false) => sections.extend(reader.feed_stderr(piece)),
                (None, _) => break,
            }
        }
        for piece in out { sections.extend(reader.feed_stdout(piece)); }
        for piece in err { sections.extend(reader.feed_stderr(piece)); }
        prop_assert!(reader.is_complete());
        prop_assert_eq!(sections.len(), contents.len());
        for (section, (index, (out, err, status))) in sections.iter().zip(contents.iter().enumerate()) {
            prop_assert_eq!(section.index, index);
            prop_assert_eq!(&section.stdout, out);
            prop_assert_eq!(&section.stderr, err);
            prop_assert_eq!(&section.outcome, &Outcome::Exit(*status));
        }
    }

    #[test]
    fn a_mutated_answer_never_breaks_it(
        contents in proptest::collection::vec((content(), content()), 1..4),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..6),
        length in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(1..60usize, 1..5),
    ) {
        let mut stdout = Vec::new();
        for (index, (out, err)) in contents.iter().enumerate() {
            stdout.extend(begin(index, "18446744073709551615.99"));
            stdout.extend(out);
            stdout.extend(end(index, "1.00", 0));
            stdout.extend(err);
        }
        for (at, byte, kind) in &edits {
            if stdout.is_empty() { break; }
            let at = at.index(stdout.len());
            match kind {
                0 => stdout[at] = *byte,
                1 => { stdout.remove(at); }
                _ => stdout.insert(at, *byte),
            }
        }
        stdout.truncate(length.index(stdout.len() + 1));
        let mut reader = SectionReader::new(contents.len(), NONCE);
        let mut count = 0;
        for piece in pieces(&stdout, &cuts) {
            count += reader.feed_stdout(&piece).len();
            count += reader.feed_stderr(&piece).len();
        }
        let rest = reader.finish(&Outcome::Cut);
        count += rest.len();
        prop_assert!(count <= contents.len());
    }
}
