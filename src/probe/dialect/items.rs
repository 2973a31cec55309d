//! The lines that stand around the items of a [`Read::Each`]. On their way they carry the nonce of their script; what is
//! taken apart, parsed and kept has them in their fixed form ([`ITEM`], [`CLOCK`], [`STATUS`], [`MORE`]).
//!
//! Outputs hold what people, and the systems inside of VMs, have written: notes, guestinfo, lines of logs, with line ends in
//! it. A line of them that looks like the fixed form gets a backslash before it, so that one VM cannot print what would
//! pass for another one.
//!
//! [`Read::Each`]: crate::probe::Read::Each

use std::borrow::Cow;

use crate::probe::{CLOCK, ITEM, MORE, STATUS};

/// The word of each line behind the marker of a script, and its fixed form.
const WORDS: [(&str, &str); 4] = [("item", ITEM), ("clock", CLOCK), ("status", STATUS), ("more", MORE)];

/// What stands before a line of an output that only looks like one of ours.
const ESCAPE: u8 = b'\\';

/// True if a script whose marker lines begin with `marker` printed items here. One of an older version printed the fixed
/// form; what it printed cannot be told from what only looks so.
pub fn are_marked(output: &[u8], marker: &str) -> bool {
    output.split_inclusive(|&byte| byte == b'\n').any(|line| of_script(line, marker).is_some())
}

/// The output with the lines of the script in their fixed form, and with all others that look like it escaped.
pub fn settled<'o>(output: &'o [u8], marker: &str) -> Cow<'o, [u8]> {
    let mut settled = Vec::with_capacity(output.len());
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        if let Some((fixed, rest)) = of_script(line, marker) {
            settled.extend_from_slice(fixed.as_bytes());
            settled.extend_from_slice(rest);
            continue;
        }
        // To some readers a lone carriage return ends a line, too.
        for piece in line.split_inclusive(|&byte| byte == b'\r') {
            if looks_fixed(piece) {
                settled.push(ESCAPE);
            }
            settled.extend_from_slice(piece);
        }
    }
    if settled == output { Cow::Borrowed(output) } else { Cow::Owned(settled) }
}

/// The fixed form of a line of the script, and what stands behind its word.
fn of_script<'l>(line: &'l [u8], marker: &str) -> Option<(&'static str, &'l [u8])> {
    let rest = line.strip_prefix(marker.as_bytes())?.strip_prefix(b" ")?;
    WORDS.iter().find_map(|(word, fixed)| {
        let rest = rest.strip_prefix(word.as_bytes())?;
        rest.starts_with(b" ").then_some((*fixed, rest))
    })
}

fn looks_fixed(line: &[u8]) -> bool {
    WORDS.iter().any(|(_, fixed)| {
        line.strip_prefix(fixed.as_bytes())
            .is_some_and(|rest| rest.first().is_none_or(|byte| matches!(byte, b' ' | b'\n' | b'\r')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "@rdmascope:c0ffee";

    fn of(output: &str) -> String {
        String::from_utf8(settled(output.as_bytes(), MARKER).into_owned()).expect("text")
    }

    #[test]
    fn lines_of_the_script_get_their_fixed_form() {
        let output = "@rdmascope:c0ffee item a b\n@rdmascope:c0ffee clock 7\nx\n\n@rdmascope:c0ffee status 0\n@rdmascope:c0ffee more 3\n";
        assert!(are_marked(output.as_bytes(), MARKER));
        assert_eq!(of(output), "@item a b\n@clock 7\nx\n\n@status 0\n@more 3\n");
    }

    #[test]
    fn what_only_looks_like_it_is_escaped() {
        for (forged, kept) in [
            ("@item 2\n", "\\@item 2\n"),
            ("a\n@status 0\r\n@clock 1\n", "a\n\\@status 0\r\n\\@clock 1\n"),
            ("a\r@item 2\rb", "a\r\\@item 2\rb"),
            ("@more", "\\@more"),
            ("@rdmascope:0badcafe item 2\n", "@rdmascope:0badcafe item 2\n"),
            (" @rdmascope:c0ffee item 2\n", " @rdmascope:c0ffee item 2\n"),
            ("@itemize 2\n @item 2\n", "@itemize 2\n @item 2\n"),
        ] {
            assert_eq!(of(forged), kept);
            assert!(!are_marked(forged.as_bytes(), MARKER), "{forged:?}");
        }
    }
}
