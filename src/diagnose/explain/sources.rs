//! Lines of several sources in one text, each with the name of its source before it, as programs write that gather the
//! output of many: `node1: ...` of pdsh and clush, `[1,0]<stderr>:...` of mpirun, `Nov 30 12:00:01 node1 program[7]: ...` of
//! syslog and the journal, `==> file <==` of tail. Put side by side again, each reads as if it stood alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kind;
use super::parts::Line;

/// So many sources of one text are told apart.
const MOST: usize = 64;

/// Lines of one source.
#[derive(Debug, PartialEq)]
pub(super) struct Group<'a> {
    /// The machine, where the source is one.
    pub(super) host: Option<String>,
    pub(super) lines: Vec<Line<'a>>,
}

/// The text as its sources wrote it; nothing where its lines do not name any.
pub(super) fn groups<'a>(lines: &[Line<'a>]) -> Vec<Vec<Group<'a>>> {
    [files(lines), tagged(lines), stamped(lines), hosts(lines)].into_iter().flatten().collect()
}

fn cut<'a>(line: &Cow<'a, str>, at: usize) -> Cow<'a, str> {
    match line {
        Cow::Borrowed(text) => Cow::Borrowed(&text[at..]),
        Cow::Owned(text) => Cow::Owned(text[at..].to_owned()),
    }
}

/// Groups in the order in which their sources come first.
struct Sorting<'a> {
    places: BTreeMap<String, usize>,
    groups: Vec<Group<'a>>,
}

impl<'a> Sorting<'a> {
    fn new() -> Self {
        Self { places: BTreeMap::new(), groups: Vec::new() }
    }

    /// False if there are too many sources.
    fn add(&mut self, source: &str, host: Option<&str>, line: Line<'a>) -> bool {
        let at = match self.places.get(source) {
            Some(at) => *at,
            None if self.groups.len() >= MOST => return false,
            None => {
                self.places.insert(source.to_owned(), self.groups.len());
                self.groups.push(Group { host: host.map(str::to_owned), lines: Vec::new() });
                self.groups.len() - 1
            }
        };
        self.groups[at].lines.push(line);
        true
    }
}

/// `==> /var/log/vmkernel.log <==` stands above the lines of a file.
fn files<'a>(lines: &[Line<'a>]) -> Option<Vec<Group<'a>>> {
    let title =
        |line: &str| line.trim().strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")).map(str::to_owned);
    if !lines.iter().any(|(_, line)| title(line).is_some()) {
        return None;
    }
    let mut sorting = Sorting::new();
    let mut now = String::new();
    for (number, line) in lines {
        match title(line) {
            Some(name) => now = name,
            None if !sorting.add(&now, None, (*number, line.clone())) => return None,
            None => {}
        }
    }
    (sorting.groups.len() > 1).then_some(sorting.groups)
}

/// `[1,0]<stderr>:` before every line.
fn tagged<'a>(lines: &[Line<'a>]) -> Option<Vec<Group<'a>>> {
    let tag = |line: &str| -> Option<usize> {
        let inside = line.strip_prefix('[')?.split_once(']')?.0;
        let rank = inside.split_once(',')?;
        let behind = line[inside.len() + 2..].strip_prefix('<')?.split_once(">:")?.0;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(rank.0) && is_number(rank.1) && behind.starts_with("std")).then_some(inside.len() + behind.len() + 5)
    };
    by_begin(lines, |line| tag(line).map(|at| (line[..at].to_owned(), None, at)))
}

/// Host and program of syslog before every line, of lines that are no messages known by that very begin.
fn stamped<'a>(lines: &[Line<'a>]) -> Option<Vec<Group<'a>>> {
    by_begin(lines, |line| {
        let at = stamp(line)?;
        let rest = &line[at..];
        let named = rest.split_once(' ').and_then(|(host, program)| {
            let name = program.split([':', '[']).next().unwrap_or_default();
            let behind = program[name.len()..].split_once(": ").or_else(|| program[name.len()..].split_once(':'))?;
            let plain = |word: &str| {
                !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/@()".contains(c))
            };
            let pid = behind.0.trim_matches(['[', ']']);
            (plain(host) && plain(name) && pid.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| (format!("{host} {name}"), Some(host.to_owned()), line.len() - behind.1.len()))
        });
        // What the kernel says is read with what stands before it.
        match named {
            Some((source, ..)) if source.ends_with(" kernel") => None,
            Some(named) => Some(named),
            None => Some((String::new(), None, at)),
        }
    })
}

/// Where a line goes on behind a time: `Nov 30 12:00:01 `, `2026-11-30T12:00:01.123Z `, `[2026-11-30 12:00:01] `.
pub(super) fn stamp(line: &str) -> Option<usize> {
    let inside = line.strip_prefix('[').map_or(line, |inside| inside);
    let is_time = |word: &str| {
        let word = word.trim_end_matches(['Z', ']', ',']);
        let mut pieces = word.split(':');
        let two = |piece: Option<&str>| {
            piece.is_some_and(|piece| piece.len() == 2 && piece.bytes().all(|byte| byte.is_ascii_digit()))
        };
        two(pieces.next())
            && two(pieces.next())
            && pieces.next().is_some_and(|seconds| {
                seconds.len() >= 2 && seconds.bytes().all(|byte| byte.is_ascii_digit() || b".,+-".contains(&byte))
            })
    };
    let is_date = |word: &str| {
        word.len() == 10
            && word
                .bytes()
                .enumerate()
                .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' || byte == b'/' } else { byte.is_ascii_digit() })
    };
    let mut words = inside.split(' ').filter(|word| !word.is_empty());
    let first = words.next()?;
    let last = if let Some((_, time)) = first.split_once('T').filter(|(date, _)| is_date(date)) {
        is_time(time.get(..8)?).then_some(first)?
    } else if is_date(first) {
        words.next().filter(|word| is_time(word))?
    } else if first.len() == 3 && first.chars().all(|c| c.is_ascii_alphabetic()) {
        let day = words.next()?;
        day.parse::<u8>().ok().filter(|day| (1..=31).contains(day))?;
        words.next().filter(|word| is_time(word))?
    } else if is_time(first) && inside.len() > first.len() {
        first
    } else {
        return None;
    };
    let end = last.as_ptr() as usize - line.as_ptr() as usize + last.len();
    // One blank belongs to the time; further ones indent the line.
    Some(end + line[end..].starts_with(' ').then_some(1)?)
}

/// `node1: ` before every line, of few names.
fn hosts<'a>(lines: &[Line<'a>]) -> Option<Vec<Group<'a>>> {
    let groups = by_begin(lines, |line| {
        let (host, behind) = line.split_once(':')?;
        let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && host.len() <= 64;
        let behind = behind.strip_prefix(' ').or_else(|| behind.is_empty().then_some(behind))?;
        (plain && !host.is_empty()).then(|| (host.to_owned(), Some(host.to_owned()), line.len() - behind.len()))
    })?;
    // Names that all come once are keys.
    let count: usize = groups.iter().map(|group| group.lines.len()).sum();
    (groups.len() < count).then_some(groups)
}

/// Groups by what stands before each line; nothing if that is not the same for all filled lines.
fn by_begin<'a>(
    lines: &[Line<'a>],
    begin: impl Fn(&str) -> Option<(String, Option<String>, usize)>,
) -> Option<Vec<Group<'a>>> {
    let mut sorting = Sorting::new();
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        if kind::is_message(line) && !line.starts_with('[') && begin(line).is_none_or(|(_, host, _)| host.is_none()) {
            return None;
        }
        let (source, host, at) = begin(line)?;
        if !sorting.add(&source, host.as_deref(), (*number, cut(line, at))) {
            return None;
        }
    }
    (!sorting.groups.is_empty()).then_some(sorting.groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(Option<String>, Vec<String>)> {
        let lines: Vec<Line<'_>> = (1..).zip(text.lines().map(Cow::Borrowed)).collect();
        let first = groups(&lines).into_iter().next().unwrap_or_default();
        first
            .into_iter()
            .map(|group| (group.host, group.lines.iter().map(|(_, line)| line.to_string()).collect()))
            .collect()
    }

    fn group(host: Option<&str>, lines: &[&str]) -> (Option<String>, Vec<String>) {
        (host.map(str::to_owned), lines.iter().map(|line| (*line).to_owned()).collect())
    }

    #[test]
    fn each_source_stands_alone() {
        assert_eq!(
            of("n1: vmnic3:\nn2: vmnic5:\nn1:   Mode: IEEE\nn2:   Mode: CEE\n"),
            [group(Some("n1"), &["vmnic3:", "  Mode: IEEE"]), group(Some("n2"), &["vmnic5:", "  Mode: CEE"])]
        );
        assert_eq!(
            of("[1,0]<stdout>:a\n[1,1]<stderr>:b\n[1,0]<stdout>:c\n"),
            [group(None, &["a", "c"]), group(None, &["b"])]
        );
        assert_eq!(
            of(
                "Nov 30 12:00:01 esx01 run[77]: vmnic3:\nNov  3 12:00:02 esx01 run[77]:   Mode: IEEE\nNov 30 12:00:02 esx02 run: x\n"
            ),
            [group(Some("esx01"), &["vmnic3:", "  Mode: IEEE"]), group(Some("esx02"), &["x"])]
        );
        assert_eq!(
            of("==> a.log <==\none\n\n==> b.log <==\ntwo\n==> a.log <==\nthree\n"),
            [group(None, &["one", "", "three"]), group(None, &["two"])]
        );
        assert_eq!(of("2026-11-30T12:00:01.5Z a\n2026-11-30T12:00:02.5Z   b\n"), [group(None, &["a", "  b"])]);
        assert_eq!(of("[12:00:01] a\n[12:00:02] b\n"), [group(None, &["a", "b"])]);
    }

    #[test]
    fn what_names_no_source_is_left() {
        for text in [
            "",
            "a\nb\n",
            "Mode: IEEE\nPFC Enabled: true\n",
            "hca_id: mlx5_0\nport: 1\n",
            "12:00 a\n",
            "Nov 99 12:00:01 a b: c\n",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "(?s)(\\[|[a-z0-9:<>,. \\]\n\u{e4}]){0,120}") {
            let _ = of(&text);
        }
    }
}
