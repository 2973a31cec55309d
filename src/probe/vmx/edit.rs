//! Changes to a VMX that touch no other byte: comments, order, line ends, the byte order mark and the character set stay as
//! they are.

use std::collections::HashMap;

use super::dictionary::{Dictionary, Entry};

/// One change: a name and its new value, `None` to take the name out.
pub type Assignment = (String, Option<String>);

/// Why a change cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The name holds something that the grammar does not allow.
    #[error("{0:?} is no name of a VMX")]
    Name(String),
    /// The file's character set lacks a character of the value.
    #[error("the character set of the file cannot hold the value of {0}")]
    Charset(String),
}

/// What is to be done at one place of the file.
struct Splice {
    start: usize,
    end: usize,
    with: Vec<u8>,
}

/// The file with all changes made, in their order; of two changes to one name the later one counts. A name that is assigned
/// more than once gets its value where the first assignment stands, and the others go: the host refuses a file with both.
pub fn edited(file: &Dictionary, changes: &[Assignment]) -> Result<Vec<u8>, EditError> {
    let mut splices = Vec::new();
    let mut added: Vec<u8> = Vec::new();
    let line_end = line_end(&file.bytes);
    let last: HashMap<String, usize> =
        changes.iter().enumerate().map(|(at, (key, _))| (key.to_ascii_lowercase(), at)).collect();
    for (at, (key, value)) in changes.iter().enumerate() {
        if !is_name(key) {
            return Err(EditError::Name(key.clone()));
        }
        if last.get(&key.to_ascii_lowercase()) != Some(&at) {
            continue;
        }
        let mut assigned = file.all(key);
        if let Some(value) = value {
            let written = written(file, key, value)?;
            match assigned.next() {
                Some(entry) if entry.quoted && entry.value == *value => {}
                Some(entry) => splices.push(replace(entry, written)),
                None => {
                    added.extend_from_slice(key.as_bytes());
                    added.extend_from_slice(b" = ");
                    added.extend_from_slice(&written);
                    added.extend_from_slice(line_end);
                }
            }
        }
        splices.extend(assigned.map(|entry| remove(file, entry)));
    }
    splices.sort_by_key(|splice| splice.start);
    let mut bytes = Vec::with_capacity(file.bytes.len() + added.len());
    let mut at = 0;
    for splice in &splices {
        bytes.extend_from_slice(file.bytes.get(at..splice.start).unwrap_or_default());
        bytes.extend_from_slice(&splice.with);
        at = splice.end;
    }
    bytes.extend_from_slice(file.bytes.get(at..).unwrap_or_default());
    // The last line may lack its end.
    if !added.is_empty()
        && !bytes.is_empty()
        && !matches!(bytes.last(), Some(b'\n' | b'\r'))
        && bytes != super::BYTE_ORDER_MARK
    {
        bytes.extend_from_slice(line_end);
    }
    bytes.extend_from_slice(&added);
    Ok(bytes)
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'=' | b'#' | b'"'))
}

/// A value in quotes, as the host writes it: `"`, `|`, DEL and control characters but the tab as `|XX`.
fn written(file: &Dictionary, key: &str, value: &str) -> Result<Vec<u8>, EditError> {
    let encoded = file.charset().encode(value).ok_or_else(|| EditError::Charset(key.to_owned()))?;
    let mut bytes = vec![b'"'];
    for byte in encoded {
        if matches!(byte, b'"' | b'|' | 0x7f) || (byte < 0x20 && byte != b'\t') {
            bytes.extend_from_slice(format!("|{byte:02X}").as_bytes());
        } else {
            bytes.push(byte);
        }
    }
    bytes.push(b'"');
    Ok(bytes)
}

fn replace(entry: &Entry, with: Vec<u8>) -> Splice {
    Splice { start: entry.place.start, end: entry.place.end, with }
}

/// Takes a whole line out, with its end.
fn remove(file: &Dictionary, entry: &Entry) -> Splice {
    let at = usize::try_from(entry.line).unwrap_or_default();
    let place = file.lines.get(at.saturating_sub(1)).map_or(entry.place.clone(), |line| line.place.clone());
    // To where the next line begins.
    let end = file.lines.get(at).map_or(file.bytes.len(), |next| next.place.start);
    Splice { start: place.start, end, with: Vec::new() }
}

/// How the lines of the file end; LF if it has no line end.
fn line_end(bytes: &[u8]) -> &'static [u8] {
    match bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(at) if bytes.get(at..).is_some_and(|end| end.starts_with(b"\r\n")) => b"\r\n",
        Some(at) if bytes.get(at) == Some(&b'\r') => b"\r",
        _ => b"\n",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::testing;

    fn edit(text: &[u8], changes: &[(&str, Option<&str>)]) -> Vec<u8> {
        let changes: Vec<Assignment> =
            changes.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
        edited(&Dictionary::parse(text), &changes).expect("a change that can be made")
    }

    #[test]
    fn only_the_value_changes() {
        let text = b"\xef\xbb\xbf# x\r\n a\t=  1 # one\r\nB = \"2\"\r\nbad line\r\n";
        assert_eq!(
            edit(text, &[("A", Some("7"))]),
            b"\xef\xbb\xbf# x\r\n a\t=  \"7\" # one\r\nB = \"2\"\r\nbad line\r\n"
        );
        assert_eq!(edit(text, &[("b", None)]), b"\xef\xbb\xbf# x\r\n a\t=  1 # one\r\nbad line\r\n");
        let added = b"\xef\xbb\xbf# x\r\n a\t=  1 # one\r\nB = \"2\"\r\nbad line\r\nc = \"|22|7C\"\r\n";
        assert_eq!(edit(text, &[("c", Some("\"|"))]), added);
        assert_eq!(edit(text, &[("b", Some("2"))]), text);
        assert_eq!(edit(text, &[]), text);
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        assert_eq!(edit(b"a = \"1\"", &[("b", Some("2"))]), b"a = \"1\"\nb = \"2\"\n");
        assert_eq!(edit(b"a = \"1\"\rb = \"2\"", &[("b", None), ("c", Some("3"))]), b"a = \"1\"\rc = \"3\"\r");
        assert_eq!(edit(b"", &[("b", Some("2"))]), b"b = \"2\"\n");
        assert_eq!(edit(b"\xef\xbb\xbf", &[("b", Some("2"))]), b"\xef\xbb\xbfb = \"2\"\n");
    }

    #[test]
    fn a_repeated_name_is_assigned_once_after_an_edit() {
        assert_eq!(edit(b"a=1\nb=2\nA=3\n", &[("a", Some("1"))]), b"a=\"1\"\nb=2\n");
        assert_eq!(edit(b"a=1\nb=2\nA=3\n", &[("a", None)]), b"b=2\n");
        assert_eq!(edit(b"a=1\n", &[("a", Some("2")), ("A", Some("3"))]), b"a=\"3\"\n");
    }

    #[test]
    fn bytes_of_another_character_set_stay() {
        let text = b".encoding = \"windows-1252\"\nn = \"M\xfcller\"\na = \"\"\n";
        assert_eq!(edit(text, &[("a", Some("ü"))]), b".encoding = \"windows-1252\"\nn = \"M\xfcller\"\na = \"\xfc\"\n");
        let gbk = Dictionary::parse(b".encoding = \"GBK\"\nn = \"\xc4\xda\"\n");
        assert_eq!(edited(&gbk, &[("a".into(), Some("内".into()))]), Err(EditError::Charset("a".into())));
        assert_eq!(edited(&gbk, &[("a b".into(), None)]), Err(EditError::Name("a b".into())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_set_is_read_back_and_the_rest_stays(
            text in testing::mutated_texts(&[
                include_str!("../../../tests/fixtures/public/110-vmx-sriov-bypass.txt"),
                include_str!("../../../tests/fixtures/public/105-vmx-duplicate-key-case.txt"),
                include_str!("../../../tests/fixtures/public/75-vmx-smart-quotes.txt"),
            ]),
            value in "[ -~äé\t\n|\"]{0,12}",
            which in any::<prop::sample::Index>(),
        ) {
            let before = Dictionary::parse(text.as_bytes());
            let keys: Vec<String> = before.entries().map(|entry| entry.key.clone()).filter(|key| is_name(key)).collect();
            let key = if keys.is_empty() { "new.key".to_owned() } else { which.get(&keys).clone() };
            prop_assume!(!key.eq_ignore_ascii_case(".encoding"));
            let after = Dictionary::parse(&edited(&before, &[(key.clone(), Some(value.clone()))]).expect("a name and UTF-8"));
            prop_assert_eq!(after.value(&key), Some(value.as_str()));
            prop_assert_eq!(after.all(&key).count(), 1);
            let rest = |file: &Dictionary| -> Vec<String> {
                let other = |line: &&super::super::Line| !matches!(&line.content,
                    super::super::Content::Entry(entry) if entry.key.eq_ignore_ascii_case(&key));
                file.lines.iter().filter(other).map(|line| file.text(line)).collect()
            };
            prop_assert_eq!(rest(&before), rest(&after));
        }

        #[test]
        fn no_byte_of_another_line_changes(
            text in testing::mutated_texts(&[
                include_str!("../../../tests/fixtures/public/110-vmx-sriov-bypass.txt"),
                include_str!("../../../tests/fixtures/public/75-vmx-smart-quotes.txt"),
            ]),
            value in "[ -~äé|\"]{0,12}",
            noise in prop::collection::vec((any::<prop::sample::Index>(), 0x80_u8..), 0..4),
            which in any::<prop::sample::Index>(),
        ) {
            let mut bytes = text.into_bytes();
            for (place, byte) in noise {
                if !bytes.is_empty() {
                    let at = place.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            let before = Dictionary::parse(&bytes);
            let places: Vec<usize> = (0..before.lines.len())
                .filter(|at| matches!(&before.lines[*at].content,
                    super::super::Content::Entry(entry) if is_name(&entry.key)
                        && !entry.key.eq_ignore_ascii_case(".encoding") && before.all(&entry.key).count() == 1))
                .collect();
            prop_assume!(!places.is_empty());
            let at = *which.get(&places);
            let super::super::Content::Entry(entry) = &before.lines[at].content else { unreachable!() };
            let Ok(after) = edited(&before, &[(entry.key.clone(), Some(value))]) else { return Ok(()) };
            let start = before.lines[at].place.start;
            let end = before.lines.get(at + 1).map_or(bytes.len(), |next| next.place.start);
            prop_assert!(after.starts_with(&bytes[..start]));
            prop_assert!(after.ends_with(&bytes[end..]));
        }
    }
}
