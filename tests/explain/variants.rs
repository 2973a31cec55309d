//! The same paste in another dress says the same: with other line ends, wrapped, quoted in a mail, fenced, numbered,
//! coloured, indented, with the names of hosts and the times of another site, beside another paste, and mixed with it line by
//! line. All public inputs that are known at all are dressed in each way.

use std::collections::BTreeSet;
use std::path::Path;

use super::{checks, inputs};
use rdmascope::diagnose::explain::explain;

/// An input that is known, with what is found in it.
struct Known {
    name: String,
    text: String,
    kinds: Vec<&'static str>,
    found: BTreeSet<String>,
}

fn found(text: &str) -> BTreeSet<String> {
    let explained = explain("-", text.as_bytes());
    checks(&explained).into_iter().map(str::to_owned).collect()
}

fn known() -> Vec<Known> {
    let mut all = Vec::new();
    for (name, bytes) in
        inputs().into_iter().filter(|(name, _)| Path::new(name).extension().is_none_or(|extension| extension != "md"))
    {
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let explained = explain("-", text.as_bytes());
        if explained.is_recognised() {
            let kinds = explained.kinds.iter().map(|kind| kind.name()).collect();
            let found = found(&text);
            all.push(Known { name, text, kinds, found });
        }
    }
    assert!(all.len() > 25, "{}", all.len());
    all
}

/// Lists all inputs of which something else is found in another dress.
fn same(how: &str, inputs: &[Known], dress: impl Fn(&str) -> String) -> Vec<String> {
    let mut wrong = Vec::new();
    for known in inputs {
        let dressed = dress(&known.text);
        let now = found(&dressed);
        if now != known.found {
            let lost: Vec<_> = known.found.difference(&now).collect();
            let new: Vec<_> = now.difference(&known.found).collect();
            wrong.push(format!("{how}, {}: lost {lost:?}, new {new:?}", known.name));
        }
    }
    wrong
}

fn none(wrong: &[Vec<String>]) {
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Both texts together say what each of them says. What a command means depends on the machine, so advice on commands may
/// be judged where another machine is in the text; and two configurations read as one hold names twice.
fn both(one: &Known, other: &Known, text: &str) -> Option<String> {
    let expected: BTreeSet<String> = one.found.union(&other.found).cloned().collect();
    let now = found(text);
    let lost: Vec<_> = expected.difference(&now).collect();
    let is_one = one.kinds.iter().any(|kind| other.kinds.contains(kind));
    let new: Vec<_> = now
        .difference(&expected)
        .filter(|check| !(check.contains(".myth-") || is_one && *check == "vmx.duplicate-key"))
        .collect();
    (!lost.is_empty() || !new.is_empty())
        .then(|| format!("{} and {}: lost {lost:?}, new {new:?}", one.name, other.name))
}

/// A mark of the byte order is one only at the begin of a file.
fn without_mark(inputs: Vec<Known>) -> Vec<Known> {
    inputs.into_iter().filter(|known| !known.text.starts_with('\u{feff}')).collect()
}

fn each_line(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| change(at, line) + "\n").collect()
}

/// Breaks lines as a mail program does, at the last blank before the width.
fn folded(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width {
            let cut = rest[..width].iter().rposition(|c| *c == ' ').filter(|at| *at > 0).map_or(width, |at| at + 1);
            out.extend(rest.drain(..cut));
            out.push('\n');
        }
        out.extend(rest);
        out.push('\n');
    }
    out
}

/// Breaks lines as a terminal does.
fn broken(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let characters: Vec<char> = line.chars().collect();
        for piece in characters.chunks(width) {
            out.extend(piece);
            out.push('\n');
        }
        if characters.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// Every number of hours, the year, and seconds since the start of a machine, moved.
fn shifted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = text.to_owned().into_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    for at in 0..bytes.len() {
        let shape = |shape: &str| {
            shape.bytes().enumerate().all(|(place, sign)| match sign {
                b'0' => digit(at + place),
                sign => bytes.get(at + place) == Some(&sign),
            })
        };
        let alone = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b':');
        if alone && shape("0000-00-00T") {
            out[at..at + 4].copy_from_slice(b"2031");
        }
        // An address of a device has dots and more digits.
        let time = at > 0 && (bytes[at - 1] == b'T' || bytes[at - 1] == b' ');
        if time && shape("00:00:00") && !matches!(bytes.get(at + 8), Some(b':')) {
            let hours: u32 = text[at..at + 2].parse().expect("two digits");
            out[at..at + 2].copy_from_slice(format!("{:02}", (hours + 5) % 24).as_bytes());
        }
    }
    String::from_utf8(out).expect("UTF-8")
}

/// Names of hosts as they stand in prompts and before messages.
fn hosts(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in text.lines() {
        if let Some((_, behind)) = line.split_once('@') {
            let name: String = behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            if name.len() > 2 && line.contains([']', '#', '$']) {
                names.insert(name);
            }
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, day, time, host, ..] = words[..]
            && day.parse::<u8>().is_ok()
            && time.matches(':').count() == 2
        {
            names.insert(host.to_owned());
        }
    }
    names
}

fn renamed(text: &str) -> String {
    hosts(text)
        .iter()
        .enumerate()
        .fold(text.to_owned(), |text, (at, host)| text.replace(host.as_str(), &format!("rack7-gpu-node{at:03}")))
}

#[test]
fn line_ends_names_and_times_change_nothing() {
    let all = known();
    none(&[
        same("CRLF", &all, |text| text.replace('\n', "\r\n")),
        same("old line ends", &all, |text| text.replace("\r\n", "\n").replace('\n', "\r")),
        same("times shifted", &all, shifted),
        same("hosts renamed", &all, renamed),
        same("empty lines around", &without_mark(known()), |text| format!("\n\n{text}\n\n")),
    ]);
    assert!(all.iter().any(|known| shifted(&known.text) != known.text));
    assert!(all.iter().any(|known| renamed(&known.text) != known.text));
}

#[test]
fn wrapped_pastes_say_the_same() {
    let all = known();
    let of = |width| {
        let mut wrong = same(&format!("wrapped at blanks, {width}"), &all, |text| folded(text, width));
        wrong.extend(same(&format!("wrapped anywhere, {width}"), &all, |text| broken(text, width)));
        wrong
    };
    none(&[of(72), of(80)]);
    // A message of two long lines, cut at each place that a terminal can cut it.
    let ucx: Vec<Known> = known().into_iter().filter(|known| known.name.starts_with("47-")).collect();
    let cut = |width| same(&format!("cut at {width}"), &ucx, |text| broken(text, width));
    assert_eq!(ucx.len(), 1);
    none(&(60..=132).map(cut).collect::<Vec<_>>());
}

#[test]
fn what_mail_forums_and_terminals_put_around_is_taken_off() {
    let all = without_mark(known());
    none(&[
        same("quoted", &all, |text| each_line(text, |_, line| format!("> {line}"))),
        same("quoted twice", &all, |text| each_line(text, |_, line| format!(">> {line}"))),
        same("fenced", &all, |text| format!("We see this on two hosts:\n\n```text\n{text}\n```\n\nWhat is it?\n")),
        same("indented", &all, |text| each_line(text, |_, line| format!("    {line}"))),
        same("numbered by a pager", &all, |text| each_line(text, |at, line| format!("{:6}\t{line}", at + 1))),
        same("found by grep -n", &all, |text| each_line(text, |at, line| format!("{}:{line}", at + 1))),
        same("coloured", &all, |text| each_line(text, |_, line| format!("\u{1b}[0;32m{line}\u{1b}[0m"))),
        same("without tabs", &all, |text| text.replace('\t', "        ")),
        same("blanks of the web", &all, |text| text.replace(' ', "\u{a0}")),
        same("written for the web", &all, |text| {
            if !text.contains(['"', '<', '>']) {
                return text.to_owned();
            }
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
        }),
    ]);
}

/// What a program gathered from two machines, each line with its name, reads as both texts together.
#[test]
fn two_machines_mixed_line_by_line_are_told_apart() {
    let all = without_mark(known());
    let mut wrong = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for step in [1, 5] {
            let other = &all[(at + step) % all.len()];
            let named = |known: &Known, name: &str| each_line(&known.text, |_, line| format!("{name}: {line}"));
            wrong.extend(both(one, other, &mixed(&named(one, "esx01"), &named(other, "esx02"))));
        }
    }
    none(&[wrong]);
}

/// One line of each in turn.
fn mixed(one: &str, other: &str) -> String {
    let (mut one, mut other) = (one.lines(), other.lines());
    let mut out = String::new();
    loop {
        let pair = (one.next(), other.next());
        if pair == (None, None) {
            return out;
        }
        for line in [pair.0, pair.1].into_iter().flatten() {
            out.push_str(line);
            out.push('\n');
        }
    }
}

/// Messages of logs are known line by line, so they may stand between the lines of anything.
#[test]
fn a_log_mixed_with_something_else_line_by_line_says_both() {
    let all = without_mark(known());
    let logs = ["vmware.log", "vmkernel.log", "power-on-error", "dmesg", "journal"];
    let mut wrong = Vec::new();
    let mut tried = 0;
    for log in all.iter().filter(|known| known.kinds.len() == 1 && logs.contains(&known.kinds[0])) {
        // Two logs of kernels mixed line by line tear each other's messages apart, which are of several lines.
        let of_kernel = |known: &Known| known.kinds.iter().any(|kind| ["dmesg", "journal"].contains(kind));
        for other in all.iter().filter(|other| other.name != log.name && !(of_kernel(log) && of_kernel(other))) {
            tried += 1;
            wrong.extend(both(log, other, &mixed(&log.text, &other.text)));
        }
    }
    assert!(tried > 100, "{tried}");
    none(&[wrong]);
}

#[test]
fn two_pastes_one_below_the_other_say_both() {
    let all = without_mark(known());
    let mut wrong = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for step in [1, 3, 8] {
            let other = &all[(at + step) % all.len()];
            wrong.extend(both(one, other, &format!("{}\n\n{}", one.text.trim_end(), other.text)));
        }
    }
    none(&[wrong]);
}
