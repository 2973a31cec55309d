use proptest::prelude::*;

use super::*;
use crate::probe::testing;

macro_rules! public {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/fixtures/public/", $name))
    };
}

const SEEDS: &[&[u8]] = &[
    public!("03-vmx-pvrdma-from-web-guide-stripped.txt"),
    public!("105-vmx-duplicate-key-case.txt"),
    public!("106-vmx-bom-and-fullwidth-quotes.txt"),
    public!("107-vmx-value-with-equals-and-quotes.txt"),
    public!("110-vmx-sriov-bypass.txt"),
    public!("111-vmx-comments-unquoted-hex-id.txt"),
    public!("63c-vmx-p40.txt"),
    public!("68-vmx-pcipassthru-id-formats.txt"),
    public!("75-vmx-smart-quotes.txt"),
];

/// What each line is, in short.
fn shown(text: &[u8]) -> Vec<String> {
    let dictionary = Dictionary::parse(text);
    let line = |line: &Line| match &line.content {
        Content::Blank => "blank".to_owned(),
        Content::Comment => "comment".to_owned(),
        Content::Malformed(fault) => format!("{fault:?}"),
        Content::Entry(entry) => {
            let quote = if entry.quoted { "\"" } else { "" };
            let comment = entry.comment.as_deref().unwrap_or_default();
            format!("{}={quote}{}{quote}{comment}", entry.key, entry.value)
        }
    };
    dictionary.lines.iter().map(line).collect()
}

#[test]
fn each_kind_of_line_is_told() {
    let text = b"a = \"b\"\n\n  # c\n\td=e # f\ng = \nh = \"i #j\" #k\nl m\n= n\no = \"p\nq = \"r\" s\nt = u v\nw=\"x\"\"y\"\nz";
    let expected = [
        "a=\"b\"",
        "blank",
        "comment",
        "d=e# f",
        "g=",
        "h=\"i #j\"#k",
        "NoEquals",
        "NoName",
        "OpenQuote",
        "AfterValue",
        "AfterValue",
        "AfterValue",
        "NoEquals",
    ];
    assert_eq!(shown(text), expected);
}

#[test]
fn lines_end_in_three_ways_and_places_are_those_of_the_file() {
    let text = b"\xef\xbb\xbfa = \"1\"\r\nb = 2\rc = \"3\"\n\nd = \"4\"";
    let dictionary = Dictionary::parse(text);
    assert!(dictionary.byte_order_mark);
    let seen: Vec<_> =
        dictionary.entries().map(|entry| (entry.line, entry.key.as_str(), &text[entry.place.clone()])).collect();
    let expected: [(u32, &str, &[u8]); 4] =
        [(1, "a", b"\"1\""), (2, "b", b"2"), (3, "c", b"\"3\""), (5, "d", b"\"4\"")];
    assert_eq!(seen, expected);
    assert_eq!(&text[dictionary.lines[1].place.clone()], b"b = 2");
}

#[test]
fn bytes_are_read_from_their_escapes_and_the_rest_stays() {
    let of = |value: &str| Dictionary::parse(format!("a = \"{value}\"").as_bytes()).value("a").map(str::to_owned);
    assert_eq!(of("x|22y|22|7C|7f").as_deref(), Some("x\"y\"|\u{7f}"));
    assert_eq!(of("100|2|").as_deref(), Some("100|2|"));
    assert_eq!(of("|zz|0g").as_deref(), Some("|zz|0g"));
    assert_eq!(of(r"C:\x").as_deref(), Some(r"C:\x"));
}

#[test]
fn the_character_set_is_that_of_the_file() {
    let western = Dictionary::parse(b"displayName = \"M\xfcller\"\n.encoding = \"windows-1252\"\n");
    assert_eq!(western.value("DISPLAYNAME"), Some("Müller"));
    let gbk = Dictionary::parse(b".encoding = \"GBK\"\ndisplayName = \"\xc4\xda1\"\n");
    assert_eq!(gbk.value("displayname"), Some("\u{fffd}\u{fffd}1"));
    let utf8 = Dictionary::parse("displayName = \"内存\"\n".as_bytes());
    assert_eq!(utf8.value("displayname"), Some("内存"));
}

#[test]
fn names_are_compared_without_letter_case_and_the_first_one_counts() {
    let dictionary = Dictionary::parse(public!("105-vmx-duplicate-key-case.txt"));
    assert_eq!(dictionary.all("MSG.AUTOANSWER").map(|entry| entry.line).collect::<Vec<_>>(), [1, 2]);
    let duplicates = dictionary.duplicates();
    assert_eq!(duplicates.len(), 1);
    assert_eq!((duplicates[0].0.line, duplicates[0].1.line), (1, 2));
    let three = Dictionary::parse(b"A=1\nb=2\na=3\nab=4\na=5");
    assert_eq!(three.value("a"), Some("1"));
    assert_eq!(
        three.duplicates().iter().map(|(one, other)| (one.line, other.line)).collect::<Vec<_>>(),
        [(1, 3), (1, 5)]
    );
    assert_eq!(three.get("c"), None);
}

#[test]
fn flags_numbers_and_devices() {
    let dictionary = Dictionary::parse(
        b"a=yes\nb=\"oFF\"\nc=2\nmemsize = \" 16384 \"\nEthernet3.Present = \"True\"\nethernet0.present=1\nethernet1.present=FALSE\n\
          ethernetX.present=1\nethernet2.virtualDev=x\nethernet.present=TRUE\npciPassthru31.present=TRUE",
    );
    assert_eq!((dictionary.flag("a"), dictionary.flag("b"), dictionary.flag("c")), (Some(true), Some(false), None));
    assert_eq!(dictionary.number("memSize"), Some(16384));
    assert_eq!(dictionary.present("ethernet"), [0, 3]);
    assert_eq!(dictionary.present("pcipassthru"), [31]);
}

#[test]
fn quotes_of_word_processors_are_part_of_the_value() {
    let dictionary = Dictionary::parse(public!("106-vmx-bom-and-fullwidth-quotes.txt"));
    assert!(dictionary.byte_order_mark);
    let first = dictionary.get("isolation.tools.copy.disable").expect("there");
    assert_eq!((first.value.as_str(), first.quoted, first.odd_quotes()), ("“FALSE”", false, true));
    assert_eq!(dictionary.duplicates().len(), 1);
    let dictionary = Dictionary::parse(public!("75-vmx-smart-quotes.txt"));
    let odd: Vec<bool> = dictionary.entries().map(Entry::odd_quotes).collect();
    assert_eq!(odd, [false, true, true]);
    assert_eq!(dictionary.flag("pciPassthru.use64bitMMIO"), None);
    assert_eq!(shown("a = “b c”".as_bytes()), ["OddQuotes"]);
    assert_eq!(shown("a = ＂b＂".as_bytes()), ["a=＂b＂"]);
}

#[test]
fn a_value_keeps_what_looks_like_grammar() {
    let dictionary = Dictionary::parse(public!("107-vmx-value-with-equals-and-quotes.txt"));
    let value = dictionary.value("guestOS.detailed.data").expect("there");
    assert!(value.starts_with("bitness='64' distroName='Ubuntu'") && value.ends_with("LTS'"), "{value}");
}

#[test]
fn lines_that_lost_their_equals_sign_are_kept_and_told() {
    let dictionary = Dictionary::parse(public!("03-vmx-pvrdma-from-web-guide-stripped.txt"));
    let malformed: Vec<&Line> =
        dictionary.lines.iter().filter(|line| line.content == Content::Malformed(Fault::NoEquals)).collect();
    assert_eq!(malformed.len(), 6);
    assert_eq!(dictionary.text(malformed[0]), "pvrdma0.present TRUE");
    assert_eq!(dictionary.entries().count(), 0);
}

#[test]
fn what_can_be_a_vmx_and_what_cannot() {
    for seed in SEEDS {
        assert!(Dictionary::parse(seed).is_plausible(), "{}", String::from_utf8_lossy(seed));
    }
    let no: &[&[u8]] = &[
        b"",
        b"# only a comment\n",
        b"Dear all,\nthe ethernet is down. x = 5\n",
        b"#include <stdio.h>\nint main(void) { int x = 5; }\n",
        b"\x7fELF\x02\x01\x01\0\0\0memsize = \"4\"\n",
        b"[section]\nkey = value\n",
        b"{\"schema\": \"rdmascope.snapshot/1\"}\n",
        public!("112-vmsd-interleaved-keys.txt"),
        b"version=1\nencoding=\"UTF-8\"\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"vmfs\"\nddb.adapterType = \"lsilogic\"\n",
    ];
    for text in no {
        assert!(!Dictionary::parse(text).is_plausible(), "{}", String::from_utf8_lossy(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::CASES))]

    /// Every byte belongs to one line or to an end of a line, and each value stands where its place says.
    #[test]
    fn damaged_files_are_survived(
        text in testing::mutated(SEEDS.iter().map(|seed| String::from_utf8_lossy(seed).into_owned()).collect()),
    ) {
        let bytes = text.as_bytes();
        let dictionary = Dictionary::parse(bytes);
        let mut at = if dictionary.byte_order_mark { 3 } else { 0 };
        for line in &dictionary.lines {
            prop_assert!(bytes[at..line.place.start].iter().all(|byte| matches!(byte, b'\r' | b'\n')));
            prop_assert!(line.place.start - at <= 2);
            at = line.place.end;
        }
        prop_assert!(bytes[at..].iter().all(|byte| matches!(byte, b'\r' | b'\n')));
        for entry in dictionary.entries() {
            let raw = &bytes[entry.place.clone()];
            prop_assert_eq!(raw.starts_with(b"\""), entry.quoted);
            prop_assert_eq!(dictionary.all(&entry.key).filter(|one| one.line == entry.line).count(), 1);
            prop_assert!(dictionary.get(&entry.key).is_some_and(|first| first.line <= entry.line));
        }
        dictionary.is_plausible();
        dictionary.present("ethernet");
    }
}
