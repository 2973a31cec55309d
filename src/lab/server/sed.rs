//! What `sed` makes of an output, for the filters with which a listing finds its names: the lab reads the text of the filter
//! itself, as the shell of a host does, so a filter that is wrong is wrong here too.
//!
//! Known are addresses (`/RE/`, `$`, ranges of them), blocks, `d`, `s/RE/TEXT/p` and `t`, with basic regular expressions.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;

/// Expressions that were read before: a host is asked again and again.
static KNOWN: LazyLock<Mutex<BTreeMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// The lines that a filter such as `sed -n 's/^\(a*\).*/\1/p'` prints of this input.
///
/// # Errors
///
/// What it does not understand of the filter.
pub fn lines(filter: &str, input: &str) -> Result<Vec<String>, String> {
    let unknown = || format!("sed: not understood: {filter}");
    let words = shlex::split(filter).ok_or_else(unknown)?;
    let (program, rest) = words.split_first().ok_or_else(unknown)?;
    if program != "sed" || rest.first().is_none_or(|word| word != "-n") {
        return Err(unknown());
    }
    let scripts = rest[1..].iter().filter(|word| *word != "-e").map(String::as_str).collect::<Vec<_>>().join("\n");
    let mut script = Script { rest: &scripts };
    let commands = script.commands().ok_or_else(unknown)?;
    if !script.rest.is_empty() {
        return Err(unknown());
    }
    let mut printed = Vec::new();
    let all: Vec<&str> = input.lines().collect();
    for (place, line) in all.iter().enumerate() {
        let mut space = Space { text: (*line).to_owned(), is_last: place + 1 == all.len(), changed: false };
        run(&commands, &mut space, &mut printed);
    }
    Ok(printed)
}

/// The line that is worked on.
struct Space {
    text: String,
    is_last: bool,
    /// Something was replaced since it was read.
    changed: bool,
}

#[derive(Debug)]
enum Address {
    Matches(Regex),
    Last,
}

#[derive(Debug)]
enum Action {
    Block(Vec<Command>),
    Delete,
    /// Replaces the match and prints the line.
    Replace(Regex, String),
    /// To the end of the script if something was replaced.
    Leave,
}

#[derive(Debug)]
struct Command {
    from: Option<Address>,
    to: Option<Address>,
    inside: Cell<bool>,
    action: Action,
}

impl Address {
    fn is(&self, space: &Space) -> bool {
        match self {
            Self::Matches(expression) => expression.is_match(&space.text),
            Self::Last => space.is_last,
        }
    }
}

impl Command {
    fn applies(&self, space: &Space) -> bool {
        match (&self.from, &self.to) {
            (None, _) => true,
            (Some(from), None) => from.is(space),
            (Some(_), Some(to)) if self.inside.get() => {
                self.inside.set(!to.is(space));
                true
            }
            (Some(from), Some(_)) => {
                let begins = from.is(space);
                self.inside.set(begins);
                begins
            }
        }
    }
}

/// False if the rest of the script is not for this line.
fn run(commands: &[Command], space: &mut Space, printed: &mut Vec<String>) -> bool {
    for command in commands {
        if !command.applies(space) {
            continue;
        }
        match &command.action {
            Action::Block(inner) => {
                if !run(inner, space, printed) {
                    return false;
                }
            }
            Action::Delete => return false,
            Action::Replace(expression, with) => {
                if let Some(found) = expression.captures(&space.text) {
                    let whole = found.get(0).map_or(0..0, |whole| whole.range());
                    let mut text = space.text[..whole.start].to_owned();
                    found.expand(with, &mut text);
                    text.push_str(&space.text[whole.end..]);
                    space.text = text;
                    space.changed = true;
                    printed.push(space.text.clone());
                }
            }
            Action::Leave if space.changed => return false,
            Action::Leave => {}
        }
    }
    true
}

/// What is left of the text of a script.
struct Script<'a> {
    rest: &'a str,
}

impl Script<'_> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Commands up to the end or to the brace that closes their block.
    fn commands(&mut self) -> Option<Vec<Command>> {
        let mut all = Vec::new();
        loop {
            self.rest = self.rest.trim_start_matches([' ', ';', '\n']);
            if self.rest.is_empty() || self.rest.starts_with('}') {
                return Some(all);
            }
            let from = self.address()?;
            let to = if from.is_some() && self.takes(",") { Some(self.address()??) } else { None };
            self.rest = self.rest.trim_start_matches(' ');
            let action = if self.takes("{") {
                let inner = self.commands()?;
                self.takes("}").then_some(Action::Block(inner))?
            } else if self.takes("d") {
                Action::Delete
            } else if self.takes("t") {
                Action::Leave
            } else if self.takes("s/") {
                let (expression, with) = (self.until_slash()?, self.until_slash()?);
                self.takes("p").then_some(())?;
                Action::Replace(expression_of(&expression)?, replacement(&with))
            } else {
                return None;
            };
            all.push(Command { from, to, inside: Cell::new(false), action });
        }
    }

    /// An address, if one stands here; the outer `None` if it is none that is known.
    fn address(&mut self) -> Option<Option<Address>> {
        if self.takes("$") {
            return Some(Some(Address::Last));
        }
        if !self.takes("/") {
            return Some(None);
        }
        let expression = self.until_slash()?;
        Some(Some(Address::Matches(expression_of(&expression)?)))
    }

    /// What stands before the next slash that is none of the text, with `\/` as a slash.
    fn until_slash(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut signs = self.rest.char_indices();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '/' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => match signs.next()?.1 {
                    '/' => text.push('/'),
                    other => text.extend(['\\', other]),
                },
                other => text.push(other),
            }
        }
        None
    }
}

/// A basic regular expression in the syntax of ours: brackets and the bar mean something behind a backslash only.
fn expression_of(basic: &str) -> Option<Regex> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(expression) = known.get(basic) {
        return Some(expression.clone());
    }
    let expression = Regex::new(&syntax_of(basic)?).ok()?;
    known.insert(basic.to_owned(), expression.clone());
    Some(expression)
}

fn syntax_of(basic: &str) -> Option<String> {
    let mut text = String::new();
    let mut signs = basic.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next()? {
                special @ ('(' | ')' | '|' | '{' | '}') => text.push(special),
                other => text.push_str(&regex::escape(&other.to_string())),
            },
            '[' => {
                text.push('[');
                text.extend(signs.next_if_eq(&'^'));
                // A bracket that stands first is one of the set.
                if signs.next_if_eq(&']').is_some() {
                    text.push_str("\\]");
                }
                for inner in signs.by_ref() {
                    if inner == '\\' || inner == '[' || inner == '&' || inner == '~' {
                        text.push('\\');
                    }
                    text.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '(' | ')' | '|' | '{' | '}' | '+' | '?' => text.extend(['\\', sign]),
            other => text.push(other),
        }
    }
    Some(text)
}

/// `\1` is the first group.
fn replacement(with: &str) -> String {
    let mut text = String::new();
    let mut signs = with.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next() {
                Some(digit) if digit.is_ascii_digit() => text.push_str(&format!("${{{digit}}}")),
                other => text.extend(other),
            },
            '$' => text.push_str("$$"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::probe::Listing;

    const ALL: [Listing; 7] = [
        Listing::Uplinks,
        Listing::RdmaDevices,
        Listing::SriovUplinks,
        Listing::Drivers,
        Listing::Vms,
        Listing::VmxFiles,
        Listing::VmDirectories,
    ];

    const TEXT: &str = "\
Name    PCI Device    Driver
vmnic9  not below the rule
------  ------------  ------
vmnic0  0000:18:00.0  ixgben
vmnic1
 vmnic2  begins with a blank
vm nic   0000:18:00.0
vm/nic3  0000:18:00.0
nmlx5_core      true       true
nmlx5_rdma      false      false
vrdma           true       true
ixgbenx         true       true
Vmid   Name             File                                   Guest OS            Version   Annotation
1      pv-a             [datastore1] pv-a/pv-a.vmx             debian11_64Guest    vmx-19
7      pv c [copy]      [ds (1)] pv c/pv c.vmx                 ubuntu64Guest       vmx-13    see [old] x/y.vmx there
33     a  [b] c.vmx d   [ds1] e/f.vmx                          otherGuest          vmx-9
34 odd [ds2] g/h.vmx end
35     at the top       [ds3] k.vmx                            otherGuest          vmx-21
@status 0
";

    /// What the shell of this machine makes of it.
    fn real(filter: &str, input: &str) -> Vec<String> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", filter])
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        shell.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        let output = shell.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{filter}");
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_filters_print_what_a_real_sed_prints() {
        for listing in ALL {
            let (_, filter) = listing.command();
            assert_eq!(lines(filter, TEXT), Ok(real(filter, TEXT)), "{listing:?}");
        }
        let of = |listing: Listing| lines(listing.command().1, TEXT).expect("a filter");
        assert_eq!(of(Listing::Uplinks)[..2], ["vmnic0", "vm"]);
        assert_eq!(of(Listing::Drivers), ["nmlx5_core", "vrdma"]);
        assert_eq!(of(Listing::Vms), ["1", "7", "33", "34", "35"]);
        let files = ["datastore1/pv-a/pv-a.vmx", "ds (1)/pv c/pv c.vmx", "ds1/e/f.vmx", "ds2/g/h.vmx", "ds3/k.vmx"];
        assert_eq!(of(Listing::VmxFiles), files.map(|file| format!("/vmfs/volumes/{file}")));
    }

    #[test]
    fn a_wrong_filter_is_wrong_here_too() {
        assert_eq!(
            lines("sed -n 's/^\\(vmnic[0-9]\\).*/\\1/p'", TEXT),
            Ok(vec!["vmnic9".to_owned(), "vmnic0".to_owned(), "vmnic1".to_owned()])
        );
        for unknown in ["sed 's/a/b/p'", "awk x", "sed -n 'y/a/b/'", "sed -n 's/a/b/g'", "sed -n '/a/ { d'", ""] {
            assert!(lines(unknown, TEXT).is_err(), "{unknown}");
        }
    }
}
