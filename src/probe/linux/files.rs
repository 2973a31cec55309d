//! Reads what [`Read::Files`] and [`Read::ProcessFiles`] print back into files: `path:line` for each line on standard
//! output, `grep: path: reason` on standard error for each file that could not be read. A file that is not there, one
//! that is empty, one that may not be read and one that answers "Invalid argument" are four different things, and each
//! line keeps its number in the whole output, so that a value can be shown where it was read.
//!
//! [`Read::Files`]: crate::probe::Read::Files
//! [`Read::ProcessFiles`]: crate::probe::Read::ProcessFiles

use std::collections::BTreeMap;

use crate::fabric::observation::is_permission_error;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};

/// Why a file gave no line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing<'a> {
    /// There is no such file.
    Absent,
    /// The file is there and holds nothing but blanks.
    Empty,
    /// More privilege is needed.
    Permission,
    /// The kernel refused to give a value (EINVAL: an empty entry, a link that is down).
    Invalid,
    /// Another error, in the target's own words.
    Other(&'a str),
    /// The answer ended before it could tell: a deadline, a lost connection, too much output.
    Incomplete(&'static str),
}

impl Missing<'_> {
    /// The state of a value that should have been in the file; `adds` says what more privilege would show. `None` when
    /// the file does not exist: what that means, only the caller knows.
    pub fn state(&self, adds: &str) -> Option<State<Value>> {
        Some(match self {
            Self::Absent => return None,
            Self::Empty => State::Empty,
            Self::Permission => State::NeedsPrivilege(Text::new(adds)),
            Self::Invalid => State::NotAvailable,
            Self::Other(reason) | Self::Incomplete(reason) => State::Failed(Text::new(reason)),
        })
    }
}

/// One line of a file: its number in the whole output, from 1, and its text as it came.
pub type Line<'a> = (u32, &'a str);

/// The files of one observation.
#[derive(Clone, Debug)]
pub struct Files<'a> {
    lines: BTreeMap<&'a str, Vec<Line<'a>>>,
    errors: BTreeMap<&'a str, Missing<'a>>,
    incomplete: Option<&'static str>,
    observation: &'a Observation,
}

impl<'a> Files<'a> {
    /// Sorts the output by file. `patterns` are those that were read (only `*` is known, and it matches no `/`): paths
    /// and contents both hold colons, so only a pattern can tell where a path ends.
    pub fn new(observation: &'a Observation, patterns: &[&str]) -> Self {
        let mut lines: BTreeMap<&str, Vec<Line<'_>>> = BTreeMap::new();
        let mut errors = BTreeMap::new();
        for (number, line) in observation.lines() {
            if let Some((path, content)) = split(line, patterns) {
                lines.entry(path).or_default().push((number, content));
            } else if let Some((path, reason)) = complaint(line) {
                // "grep: path: binary file matches" goes to standard output.
                errors.insert(path, reason);
            }
        }
        errors.extend(observation.stderr.lines().filter_map(complaint));
        let incomplete = match observation.outcome {
            Outcome::TimedOut => Some("no answer before its deadline"),
            Outcome::Cut => Some("the answer was cut off before its end"),
            Outcome::Exit(_) if observation.cut > 0 => Some("the output was too long and was cut off"),
            Outcome::Exit(_) => None,
        };
        Self { lines, errors, incomplete, observation }
    }

    /// All lines of a file, in order; none if it is empty, absent or cannot be read.
    pub fn lines(&self, path: &str) -> &[Line<'a>] {
        self.lines.get(path).map_or(&[], Vec::as_slice)
    }

    /// The first line that is not blank, trimmed, or why there is none.
    pub fn line(&self, path: &str) -> Result<Line<'a>, Missing<'a>> {
        let lines = self.lines(path);
        if let Some((number, line)) = lines.iter().find(|(_, line)| !line.trim().is_empty()) {
            return Ok((*number, line.trim()));
        }
        Err(match (self.errors.get(path), self.incomplete) {
            (Some(missing), _) => missing.clone(),
            (None, Some(reason)) => Missing::Incomplete(reason),
            (None, None) => Missing::Empty,
        })
    }

    /// The first line that is not blank, trimmed; an empty one if only blank lines were printed; `None` if none was.
    pub fn first(&self, path: &str) -> Option<Line<'a>> {
        self.line(path).ok().or_else(|| self.lines(path).first().map(|(number, _)| (*number, "")))
    }

    /// Why a file that gave no line could not be read; `None` if it is not there, or says nothing.
    pub fn failure(&self, path: &str, adds: &str) -> Option<State<Value>> {
        match self.line(path) {
            Ok(_) | Err(Missing::Empty) => None,
            Err(missing) => missing.state(adds),
        }
    }

    /// The paths that match `pattern`, each with what its first `*` stands for: those that gave lines and those that
    /// were there but could not be read, in the order of their names.
    pub fn matching<'p>(&self, pattern: &'p str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'_, 'a, 'p> {
        let failed = self.errors.iter().filter(|(_, missing)| **missing != Missing::Absent).map(|(path, _)| *path);
        let mut paths: Vec<&'a str> = self.lines.keys().copied().chain(failed).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().filter_map(move |path| Some((path, captured(pattern, path)?)))
    }

    /// The paths that more privilege would open.
    pub fn denied(&self) -> impl Iterator<Item = &'a str> + use<'_, 'a> {
        self.errors.iter().filter(|(_, missing)| **missing == Missing::Permission).map(|(path, _)| *path)
    }

    /// Why the answer as a whole ended before it could tell everything, if it did.
    pub fn incomplete(&self) -> Option<&'static str> {
        self.incomplete
    }

    /// The files that could not be read, in the order of their paths. Patterns that matched nothing are here too.
    pub fn errors(&self) -> impl Iterator<Item = (&'a str, &Missing<'a>)> {
        self.errors.iter().map(|(path, missing)| (*path, missing))
    }

    /// The files that gave lines, in the order of their paths.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &[Line<'a>])> {
        self.lines.iter().map(|(path, lines)| (*path, lines.as_slice()))
    }

    /// A fact from the first line of a file. Nothing if the file does not exist; `convert` gives `None` for a line that
    /// it does not understand.
    pub fn fact(
        &self,
        entity: Entity,
        attribute: Attribute,
        path: &str,
        adds: &str,
        convert: impl FnOnce(&str) -> Option<State<Value>>,
    ) -> Option<Fact> {
        let (state, number) = match self.line(path) {
            Ok((number, line)) => {
                let state = convert(line)
                    .unwrap_or_else(|| State::Failed(Text::new(&format!("not understood: {}", Text::new(line)))));
                (state, number)
            }
            Err(missing) => (missing.state(adds)?, 0),
        };
        Some(self.observation.fact(entity, attribute, state, number))
    }
}

/// Parts `path:line` where the shortest beginning that matches one of the patterns ends.
fn split<'a>(line: &'a str, patterns: &[&str]) -> Option<(&'a str, &'a str)> {
    if !line.starts_with('/') {
        return None;
    }
    // Nearly all patterns are out after a look at their fixed beginning.
    let fits = |pattern: &&&str| line.starts_with(pattern.split('*').next().unwrap_or(""));
    line.match_indices(':')
        .map(|(colon, _)| (&line[..colon], &line[colon + 1..]))
        .find(|(path, _)| patterns.iter().filter(fits).any(|pattern| captured(pattern, path).is_some()))
}

/// Reads `program: path: reason`.
fn complaint(line: &str) -> Option<(&str, Missing<'_>)> {
    let (_, rest) = line.split_once(": ")?;
    let (path, reason) = rest.rsplit_once(": ")?;
    let path = path.trim_matches('\'');
    if !path.starts_with('/') {
        return None;
    }
    let missing = if reason.contains("No such file or directory") {
        Missing::Absent
    } else if is_permission_error(reason) {
        Missing::Permission
    } else if reason.contains("Invalid argument") {
        Missing::Invalid
    } else {
        Missing::Other(reason.trim())
    };
    Some((path, missing))
}

/// Reads one line of `stat -c %N`: a path and what it links to, both without their quotation marks.
pub fn link(line: &str) -> Option<(&str, &str)> {
    let (path, target) = line.split_once(" -> ")?;
    let marks = ['\'', '"', '`', '\u{2018}', '\u{2019}'];
    let (path, target) = (path.trim().trim_matches(marks), target.trim().trim_matches(marks));
    if path.is_empty() || target.is_empty() { None } else { Some((path, target)) }
}

/// If `path` matches `pattern`: what the first `*` of the pattern stands for (the whole part of the path if that part
/// has more than one `*`; nothing if there is no `*` at all).
pub fn captured<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let mut first = None;
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        let part = parts.next()?;
        let Some((before, rest)) = wanted.split_once('*') else {
            if part == wanted {
                continue;
            }
            return None;
        };
        let mut inner = part.strip_prefix(before)?;
        let capture = if let Some((_, last)) = rest.rsplit_once('*') {
            inner.ends_with(last).then_some(())?;
            for middle in rest.split('*') {
                inner = &inner[inner.find(middle)? + middle.len()..];
            }
            part
        } else {
            inner.strip_suffix(rest)?
        };
        first = first.or(Some(capture));
    }
    if parts.next().is_some() { None } else { Some(first.unwrap_or("")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATTERNS: &[&str] = &[
        "/sys/bus/pci/devices/*/vendor",
        "/sys/class/net/*/address",
        "/sys/class/net/*/speed",
        "/sys/class/dmi/id/product_uuid",
        "/sys/class/infiniband/*/fw_ver",
        "/etc/machine-id",
    ];

    fn sample() -> Observation {
        Observation::of_text(
            "files",
            "/sys/bus/pci/devices/0000:1b:00.1/vendor:0x15ad\n\
             /sys/class/net/ens192/address:00:50:56:b2:66:8c\n\
             /sys/class/infiniband/rocep27s0f1/fw_ver:3.0.0\n\
             /sys/class/infiniband/rocep27s0f1/fw_ver:\n\
             /sys/class/infiniband/rxe0/fw_ver:\n",
        )
        .with_stderr(
            "grep: /sys/class/net/lo/speed: Invalid argument\n\
             grep: /sys/class/dmi/id/product_uuid: Permission denied\n\
             grep: /sys/class/net/gone/speed: No such file or directory\n\
             grep: /sys/class/net/odd/speed: Input/output error\n",
        )
        .with_outcome(Outcome::Exit(2))
    }

    #[test]
    fn colons_in_paths_and_in_contents_are_kept_apart() {
        let observation = sample();
        let files = Files::new(&observation, PATTERNS);
        assert_eq!(files.line("/sys/bus/pci/devices/0000:1b:00.1/vendor"), Ok((1, "0x15ad")));
        assert_eq!(files.line("/sys/class/net/ens192/address"), Ok((2, "00:50:56:b2:66:8c")));
        let found: Vec<_> = files.matching("/sys/bus/pci/devices/*/vendor").collect();
        assert_eq!(found, [("/sys/bus/pci/devices/0000:1b:00.1/vendor", "0000:1b:00.1")]);
    }

    #[test]
    fn a_value_that_is_missing_says_how() {
        let observation = sample();
        let files = Files::new(&observation, PATTERNS);
        assert_eq!(files.line("/sys/class/infiniband/rocep27s0f1/fw_ver"), Ok((3, "3.0.0")));
        assert_eq!(files.line("/sys/class/infiniband/rxe0/fw_ver"), Err(Missing::Empty));
        assert_eq!(files.line("/etc/machine-id"), Err(Missing::Empty));
        assert_eq!(files.first("/sys/class/infiniband/rocep27s0f1/fw_ver"), Some((3, "3.0.0")));
        assert_eq!(files.first("/sys/class/infiniband/rxe0/fw_ver"), Some((5, "")));
        assert_eq!(files.first("/etc/machine-id"), None);
        assert!(matches!(files.failure("/sys/class/dmi/id/product_uuid", "x"), Some(State::NeedsPrivilege(_))));
        for silent in ["/etc/machine-id", "/sys/class/net/gone/speed", "/sys/class/infiniband/rxe0/fw_ver"] {
            assert_eq!(files.failure(silent, "x"), None);
        }
        assert_eq!(files.line("/sys/class/net/lo/speed"), Err(Missing::Invalid));
        assert_eq!(files.line("/sys/class/dmi/id/product_uuid"), Err(Missing::Permission));
        assert_eq!(files.line("/sys/class/net/gone/speed"), Err(Missing::Absent));
        assert_eq!(files.line("/sys/class/net/odd/speed"), Err(Missing::Other("Input/output error")));
        let names: Vec<_> = files.matching("/sys/class/net/*/speed").map(|(_, name)| name).collect();
        assert_eq!(names, ["lo", "odd"]);
        let late = sample().with_outcome(Outcome::TimedOut);
        let late = Files::new(&late, PATTERNS);
        assert!(matches!(late.line("/etc/machine-id"), Err(Missing::Incomplete(_))));
        assert!(matches!(late.failure("/etc/machine-id", "x"), Some(State::Failed(_))));
        assert_eq!(late.line("/sys/class/net/ens192/address"), Ok((2, "00:50:56:b2:66:8c")));
    }

    #[test]
    fn facts_say_why_a_value_is_missing() {
        let observation = sample();
        let files = Files::new(&observation, PATTERNS);
        let uuid = |path| {
            files
                .fact(Entity::Guest, Attribute::BiosUuid, path, "the BIOS UUID", |line| Some(State::Known(line.into())))
        };
        let fact = uuid("/sys/class/dmi/id/product_uuid").expect("a fact");
        assert_eq!(fact.reading.state, State::NeedsPrivilege(Text::new("the BIOS UUID")));
        assert!(uuid("/sys/class/net/gone/speed").is_none());
        let refused = files.fact(Entity::Guest, Attribute::Mtu, "/sys/class/net/ens192/address", "", |_| None);
        assert!(matches!(refused.expect("a fact").reading.state, State::Failed(_)));
    }

    #[test]
    fn patterns_match_whole_paths_and_no_slash() {
        assert_eq!(captured("/a/*/c", "/a/b/c"), Some("b"));
        assert_eq!(captured("/a/*/c", "/a/b/b/c"), None);
        assert_eq!(captured("/a/*/c", "/a/b"), None);
        assert_eq!(captured("/a/ifcfg-*", "/a/ifcfg-eth0"), Some("eth0"));
        assert_eq!(captured("/a/*.yaml", "/a/50-cloud.yaml"), Some("50-cloud"));
        assert_eq!(captured("/a/*.yaml", "/a/50-cloud.yml"), None);
        assert_eq!(captured("/a/node*/x*", "/a/node3/xy"), Some("3"));
        assert_eq!(captured("/a/*-*", "/a/b-c"), Some("b-c"));
        assert_eq!(captured("/a/b", "/a/b"), Some(""));
        assert_eq!(captured("/a/*aa", "/a/a"), None);
    }

    #[test]
    fn links_are_read_with_any_quotation_marks() {
        for line in
            ["'/a/driver' -> '../../x/vmxnet3'", "/a/driver -> ../../x/vmxnet3", "`/a/driver' -> `../../x/vmxnet3'"]
        {
            assert_eq!(link(line), Some(("/a/driver", "../../x/vmxnet3")));
        }
        assert_eq!(link("/a/driver"), None);
        assert_eq!(link("'' -> ''"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Whatever comes, every line that is kept is a piece of the line of that number.
        #[test]
        fn any_text_gives_only_what_it_holds(
            stdout in "([ -~]|/sys/class/net/|/address|/speed|:|\n|[^\\x00-\\x7f]){0,60}",
            stderr in "(grep: |/sys/class/net/x/speed|: |Permission denied|\n|[ -~]){0,20}",
        ) {
            let observation = Observation::of_text("files", &stdout).with_stderr(&stderr);
            let files = Files::new(&observation, PATTERNS);
            let source: Vec<&str> = stdout.lines().collect();
            for (path, name) in files.matching("/sys/class/net/*/address") {
                prop_assert!(path.contains(name));
                for (number, line) in files.lines(path) {
                    let whole = source[*number as usize - 1];
                    prop_assert_eq!(whole, format!("{path}:{line}"));
                }
            }
        }
    }
}
