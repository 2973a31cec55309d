//! What mail, forums, pagers and terminals put around the lines of a paste, taken off again: marks of a quotation, fences,
//! colours, numbers and bullets, signs that the web writes for others. Lines keep their numbers.

use std::borrow::Cow;

use super::parts::Line;
use crate::fabric::text::clean_line;

/// So many lines with the same thing around them are no accident.
const FEW: usize = 3;

/// Texts larger than this are logs that were saved, not pasted: only colours are taken off.
const LARGEST: usize = 1 << 20;

/// The lines of a text as they were before they were pasted.
pub(super) fn cleaned<'a>(text: &str, mut lines: Vec<Line<'a>>) -> Vec<Line<'a>> {
    if text.contains('\u{1b}') || text.contains('\u{9b}') {
        each(&mut lines, |line| line.contains(['\u{1b}', '\u{9b}']).then(|| uncoloured(line)));
    }
    if text.len() > LARGEST {
        return lines;
    }
    each(&mut lines, |line| line.contains('\u{a0}').then(|| line.replace('\u{a0}', " ")));
    if is_quoted_printable(text) {
        lines = unquoted_printable(lines);
    }
    if ["&quot;", "&gt;", "&lt;", "&amp;", "&#39;"].iter().any(|entity| text.contains(entity)) {
        each(&mut lines, |line| line.contains('&').then(|| without_entities(line)));
    }
    unquote(&mut lines);
    each(&mut lines, |line| is_fence(line.trim()).then(String::new));
    unindent(&mut lines);
    // A list can stand in a list.
    for _ in 0..3 {
        let Some(take) = decoration(&lines) else { break };
        each(&mut lines, |line| take(line).map(str::to_owned));
        unindent(&mut lines);
    }
    lines
}

/// Changes lines of which `change` makes something else.
fn each(lines: &mut [Line<'_>], change: impl Fn(&str) -> Option<String>) {
    for (_, line) in lines {
        if let Some(changed) = change(line) {
            *line = Cow::Owned(changed);
        }
    }
}

/// A line without what only a terminal obeys; tabs stay, because columns stand at them.
fn uncoloured(line: &str) -> String {
    line.split('\t').map(clean_line).collect::<Vec<_>>().join("\t")
}

/// True for a text in which every equals sign is one of quoted-printable: hexadecimal digits stand behind it, or the end of
/// the line; and at least one stands for itself.
fn is_quoted_printable(text: &str) -> bool {
    text.contains("=3D")
        && text.match_indices('=').all(|(at, _)| {
            let behind = &text.as_bytes()[at + 1..];
            let hex = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
            matches!(behind.first(), None | Some(b'\n' | b'\r'))
                || matches!(behind, [first, second, ..] if hex(first) && hex(second))
        })
}

/// The text as it was before a mail program encoded it; a line that ends in an equals sign goes on in the next one.
fn unquoted_printable(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let mut all: Vec<Line<'_>> = Vec::new();
    let mut goes_on = false;
    for (number, line) in lines {
        let (piece, soft) = line.trim_end().strip_suffix('=').map_or((&*line, false), |piece| (piece, true));
        let piece = decoded(piece);
        match all.last_mut() {
            Some((_, above)) if goes_on => above.to_mut().push_str(&piece),
            _ => all.push((number, Cow::Owned(piece))),
        }
        goes_on = soft;
    }
    all
}

fn decoded(piece: &str) -> String {
    let mut bytes = Vec::with_capacity(piece.len());
    let mut pieces = piece.split('=');
    bytes.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for rest in pieces {
        let byte = rest.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = byte {
            bytes.push(byte);
            bytes.extend_from_slice(&rest.as_bytes()[2..]);
        } else {
            bytes.push(b'=');
            bytes.extend_from_slice(rest.as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn without_entities(line: &str) -> String {
    let named = [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    let plain = named.iter().fold(line.to_owned(), |line, (entity, sign)| line.replace(entity, sign));
    plain.replace("&amp;", "&")
}

/// Takes the marks of quotations off runs of lines that have them. One such line alone may be a prompt.
fn unquote(lines: &mut [Line<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        let run = lines[at..].iter().take_while(|(_, line)| line.starts_with('>')).count();
        if run > 1 {
            for (_, line) in &mut lines[at..at + run] {
                let mut rest: &str = line;
                while let Some(behind) = rest.strip_prefix('>') {
                    rest = behind.strip_prefix(' ').unwrap_or(behind);
                }
                let rest = rest.to_owned();
                *line = Cow::Owned(rest);
            }
        }
        at += run.max(1);
    }
}

/// True for a line that only says where code begins or ends.
fn is_fence(line: &str) -> bool {
    let behind = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~"));
    let is_word =
        |word: &str| word.len() < 20 && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+{}. ".contains(c));
    behind.is_some_and(is_word)
        || matches!(
            line,
            "<pre>"
                | "</pre>"
                | "<code>"
                | "</code>"
                | "<pre><code>"
                | "</code></pre>"
                | "{noformat}"
                | "{code}"
                | "[code]"
                | "[/code]"
        )
}

/// What takes off a thing that stands before every filled line: a bullet, or a number that rises.
fn decoration(lines: &[Line<'_>]) -> Option<fn(&str) -> Option<&str>> {
    let mut filled = lines.iter().map(|(_, line)| &**line).filter(|line| !line.trim().is_empty());
    let first = filled.next()?;
    for take in [bullet as fn(&str) -> Option<&str>, star] {
        if take(first).is_some() && filled.clone().count() + 1 >= FEW && filled.clone().all(|line| take(line).is_some())
        {
            return Some(take);
        }
    }
    let (begin, mark, _) = numbered(first)?;
    let mut last = begin;
    let mut count = 1;
    let mut consecutive = true;
    for line in filled {
        let (number, sign, _) = numbered(line)?;
        // Sections of lists are numbered again from 1, but no line stands out of order.
        if sign != mark || number <= last {
            return None;
        }
        consecutive &= number == last + 1;
        last = number;
        count += 1;
    }
    // Numbers of lines that a search found rise; those of a list and of a pager come one after the other, and a column of a
    // table may rise too.
    let is_list = consecutive || mark == ':';
    let is_short = count == 2 && begin == 1 && consecutive && matches!(mark, ':' | '\t');
    ((count >= FEW || is_short) && is_list).then_some(without_number as fn(&str) -> Option<&str>)
}

fn without_number(line: &str) -> Option<&str> {
    numbered(line).map(|(.., rest)| rest)
}

fn bullet(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("- ")
}

fn star(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("* ")
}

/// The number before a line, the sign behind the number, and the line.
fn numbered(line: &str) -> Option<(u32, char, &str)> {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit()).filter(|end| (1..=7).contains(end))?;
    let number = line[..end].parse().ok()?;
    let rest = &line[end..];
    let sign = rest.chars().next()?;
    let behind = &rest[sign.len_utf8()..];
    match sign {
        // `1.5 GB` is no item of a list.
        '.' | ')' => Some((number, sign, behind.strip_prefix(' ')?)),
        // What `grep -n` writes. An address of a device is no such number, and none has a zero before it.
        ':' if !line.starts_with('0') && !is_function(behind) && !is_link(behind) => Some((number, sign, behind)),
        '\t' => Some((number, sign, behind)),
        '|' => Some((number, sign, behind.strip_prefix(' ').unwrap_or(behind))),
        _ => None,
    }
}

/// True for what `ip` prints behind the number of an interface: ` eth1: <BROADCAST,UP> mtu 1500`.
fn is_link(text: &str) -> bool {
    text.starts_with(' ') && text.split_once(": <").is_some_and(|(name, _)| !name.trim().contains(' '))
}

/// True for device and function of an address: `00.1 Ethernet controller`.
fn is_function(text: &str) -> bool {
    matches!(text.as_bytes(), [first, second, b'.', function, ..]
        if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() && function.is_ascii_digit())
}

/// Takes off the indentation that all filled lines share.
fn unindent(lines: &mut [Line<'_>]) {
    let blank = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut common = usize::MAX;
    for (_, line) in lines.iter().filter(|(_, line)| !line.trim().is_empty()) {
        common = common.min(blank(line));
        if common == 0 {
            return;
        }
    }
    // Blanks and tabs are not counted against each other.
    let mut begins = lines.iter().filter(|(_, line)| !line.trim().is_empty()).map(|(_, line)| &line[..common]);
    // Nothing is filled.
    let Some(first) = begins.next().map(str::to_owned) else { return };
    if begins.any(|begin| begin != first) {
        return;
    }
    for (_, line) in lines {
        match line {
            Cow::Borrowed(text) => *text = text.get(common..).unwrap_or_default(),
            Cow::Owned(text) => *text = text.get(common..).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let lines = (1..).zip(text.lines().map(Cow::Borrowed)).collect();
        let lines = cleaned(text, lines);
        lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_was_put_around_goes() {
        for (pasted, plain) in [
            ("> a = \"1\"\n>\n> b\n>> c\n> > d", "a = \"1\"\n\nb\nc\nd"),
            ("See:\n```text\nvmnic3:\n  Mode: IEEE\n```\n", "See:\n\nvmnic3:\n  Mode: IEEE\n"),
            ("\u{1b}[1;31mvmnic3\u{1b}[0m\tup", "vmnic3\tup"),
            ("1. one\n2. two\n\n3. three", "one\ntwo\n\nthree"),
            ("    1\tone\n    2\t  two\n    3\tthree", "one\n  two\nthree"),
            ("12:one\n15:  two\n99:three", "one\n  two\nthree"),
            ("1:2026-11-30 a\n2:2026-11-30 b\n10:0000:04:00.0", "2026-11-30 a\n2026-11-30 b\n0000:04:00.0"),
            ("- one\n- two\n- three", "one\ntwo\nthree"),
            ("    one\n      two\n\n    three", "one\n  two\n\nthree"),
            ("DEVSEL=3Dfast\nmore of a long =\nline\n", "DEVSEL=fast\nmore of a long line"),
            ("firmware = &quot;efi&quot; &amp;amp;\n&gt;", "firmware = \"efi\" &amp;\n>"),
            ("a\u{a0}\u{a0}b", "a  b"),
        ] {
            assert_eq!(of(pasted).trim_end(), plain.trim_end(), "{pasted:?}");
        }
    }

    #[test]
    fn what_is_part_of_the_text_stays() {
        for text in [
            "Vmid  Name\n1  vm001\n2  vm002\n3  vm003",
            "1  vm001\n2  vm002\n3  vm003",
            "10:15:01 one\n10:15:02 two\n10:15:03 three",
            "1. one\n1. two\n1. three",
            "> esxcli network nic list\nName",
            "a = 3D\nb=3Dx\nc = 1",
            "13:00.0 VGA\n14:00.0 VGA\n15:00.0 VGA",
            "02:15:01 a\n03:15:01 b\n04:15:01 c",
            "- one\n- two",
            "0000: a\n  b\nc",
        ] {
            assert_eq!(of(text), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn lines_are_never_more(text in "(?s).{0,200}") {
            let lines: Vec<Line<'_>> = (1..).zip(text.lines().map(Cow::Borrowed)).collect();
            let before = lines.len();
            proptest::prop_assert!(cleaned(&text, lines).len() <= before);
        }
    }
}
