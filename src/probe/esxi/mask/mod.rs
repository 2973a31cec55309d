//! Takes secrets out of what an ESXi host prints before anything keeps it: values of `guestinfo.*` and of keys that are
//! named like a password, in a VMX, in the DICT lines of a `vmware.log`, and in the dumps of `vim-cmd`; and notes of people
//! at VMs and snapshots. Keys stay.
//!
//! What cannot be told apart is hidden: a value of several lines is hidden up to the end of its block, and where the end
//! is damaged, up to the end of that VM's output. Lines keep their numbers: what is hidden of a line leaves an empty one.

mod annotations;
mod collector;
mod commands;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

pub use annotations::without_annotations;
pub use collector::{FILTER_NAME, filter};
pub use commands::{masked_commands, masked_files};

use crate::probe::needles::Needles;
use crate::probe::{ITEM, MORE, STATUS};

/// What stands in the place of a secret.
pub const MASK: &str = "<masked>";

/// A key is secret if it holds one of these, whatever its letter case.
const SECRET: &[&str] = &[
    "guestinfo",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "encryption.",
    "encryptionkey",
    "keysafe",
    "datafilekey",
    "privatekey",
    "private_key",
    "apikey",
    "api_key",
    "accesskey",
    "access_key",
    "vnc.key",
    "machine.id",
    "ovfenv",
    // Notes of people: what they hold nobody knows, and passwords are often among it.
    "annotation",
];

/// The same, looked for at once.
static SECRETS: LazyLock<Needles> = LazyLock::new(|| Needles::new(SECRET.iter().map(|word| (word, 0))));

/// Fields that name a setting in a dump, and fields that hold its value.
const NAMES: &[&str] = &["key", "id", "name", "type"];
const VALUES: &[&str] = &["value", "defaultValue"];

/// Blocks deeper than this are not told apart; what they hold counts to the one around them.
const DEEPEST: usize = 64;

/// `text` without the values of secrets; their keys stay.
pub fn masked(text: &str) -> Cow<'_, str> {
    let pieces: Vec<&str> = text.split_inclusive(['\n', '\r']).collect();
    let mut masker = Masker { pieces: &pieces, fate: vec![Fate::Keep; pieces.len()], blocks: Vec::new() };
    masker.look();
    let fate = masker.fate;
    if fate.iter().all(|fate| *fate == Fate::Keep) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    for (piece, fate) in pieces.iter().zip(fate) {
        match fate {
            Fate::Keep => kept.push_str(piece),
            Fate::Drop => kept.push_str(&piece[piece.trim_end_matches(['\n', '\r']).len()..]),
            Fate::From(at) => push_masked(&mut kept, piece, at),
            Fate::Field(at) => {
                let line = piece.trim_end_matches(['\n', '\r']);
                push_masked(&mut kept, line, at);
                kept.push(',');
                kept.push_str(&piece[line.len()..]);
            }
            Fate::Note(at) => {
                kept.push_str(&piece[..at]);
                kept.push(' ');
                kept.push_str(MASK);
                kept.push_str(&piece[piece.trim_end_matches(['\n', '\r']).len()..]);
            }
        }
    }
    Cow::Owned(kept)
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Stays.
    Keep,
    /// The mask stands from this byte on.
    From(usize),
    /// The same for the first line of a field of several, behind whose last one the next field follows.
    Field(usize),
    /// The mask stands from this byte on, and nothing of the line behind it.
    Note(usize),
    /// Goes but for its end: the rest of a secret of several lines.
    Drop,
}

/// At which indentation the value of a secret name is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// No secret name came.
    No,
    /// At any.
    Any,
    /// At that of the name: the words `id`, `name` and `type` stand in many blocks that have no value.
    At(usize),
}

/// A block of a dump that is open.
struct Block {
    /// Blanks before the line that opened it.
    indent: usize,
    /// Values in it whose name did not come yet: line, place behind `=`.
    values: Vec<(usize, usize)>,
}

struct Masker<'a> {
    pieces: &'a [&'a str],
    fate: Vec<Fate>,
    blocks: Vec<Block>,
}

impl Masker<'_> {
    fn look(&mut self) {
        let mut awaited = Awaited::No;
        let mut at = 0;
        while at < self.pieces.len() {
            let piece = self.pieces[at];
            let line = piece.trim_end_matches(['\n', '\r']);
            let body = line.trim_start();
            let indent = line.len() - body.len();
            if self.is_marker(at) {
                self.blocks.clear();
                awaited = Awaited::No;
                at += 1;
                continue;
            }
            if let Some(from) = snapshot_note(line) {
                at = self.hide_note(at, from);
                continue;
            }
            let field = field(body);
            if let Some(from) = one_line_value(line) {
                self.fate[at] = Fate::From(from);
                at += 1;
                continue;
            }
            if let Some((name, rest)) = field {
                if VALUES.contains(&name) {
                    let from = line.len() - rest.len();
                    if awaited == Awaited::Any || awaited == Awaited::At(indent) {
                        at = self.hide_value(at, from, indent);
                        continue;
                    }
                    if let Some(block) = self.blocks.last_mut() {
                        block.values.push((at, from));
                    }
                } else if NAMES.contains(&name) {
                    let is_secret = tokens(rest).any(|(_, token)| secret(token));
                    awaited = match name {
                        _ if !is_secret => Awaited::No,
                        "key" => Awaited::Any,
                        _ => Awaited::At(indent),
                    };
                    if is_secret {
                        self.hide_before(at, indent);
                    }
                }
            }
            if let Some(from) = assignment(line) {
                at = self.hide_assignment(at, from);
                continue;
            }
            self.nest(body, indent, &mut awaited);
            at += 1;
        }
    }

    /// Hides a note in the tree of snapshots, which may have several lines: up to the next line of the tree.
    fn hide_note(&mut self, start: usize, from: usize) -> usize {
        self.fate[start] = Fate::Note(from);
        let goes_on = |at: &usize| {
            let piece = self.pieces[*at];
            !self.is_marker(*at) && !is_of_tree(piece)
        };
        let end = (start + 1..self.pieces.len()).take_while(goes_on).last().map_or(start + 1, |last| last + 1);
        self.fate[start + 1..end].fill(Fate::Drop);
        end
    }

    /// Keeps the list of open blocks.
    fn nest(&mut self, body: &str, indent: usize, awaited: &mut Awaited) {
        if body.starts_with('}') {
            while self.blocks.last().is_some_and(|block| block.indent >= indent) {
                self.blocks.pop();
            }
            *awaited = Awaited::No;
        } else if body.trim_end().ends_with('{') {
            if self.blocks.len() < DEEPEST {
                self.blocks.push(Block { indent, values: Vec::new() });
            }
            // The properties of a vApp hold what an appliance was given at its deployment, passwords mostly.
            if body.contains("vApp.PropertyInfo") {
                *awaited = Awaited::Any;
            } else if *awaited == Awaited::Any {
                *awaited = Awaited::No;
            }
        }
    }

    /// Hides the values of this block that came before their name.
    fn hide_before(&mut self, name: usize, indent: usize) {
        let Some(block) = self.blocks.last_mut() else { return };
        let values = std::mem::take(&mut block.values);
        for (line, from) in values {
            let its = self.pieces[line];
            if its.len() - its.trim_start().len() != indent {
                continue;
            }
            self.fate[line] = Fate::From(from);
            for between in line + 1..name {
                if self.fate[between] == Fate::Keep {
                    self.fate[between] = Fate::Drop;
                }
            }
        }
    }

    /// Hides the value of a dump that begins in this line; returns the line after it.
    fn hide_value(&mut self, start: usize, from: usize, indent: usize) -> usize {
        self.fate[start] = Fate::From(from);
        let value = self.pieces[start][from..].trim();
        if closed(value) && self.value_ends(start + 1) {
            return start + 1;
        }
        // Several lines: up to the brace that closes the block, and only where what follows goes on with the dump.
        let closes_at = self.blocks.last().map(|block| block.indent);
        let mut at = start + 1;
        while let Some(piece) = self.pieces.get(at) {
            let body = piece.trim();
            if self.is_marker(at) {
                break;
            }
            let its_indent = piece.len() - piece.trim_start().len();
            let closes = matches!(body, "}" | "},")
                && closes_at.map_or(its_indent < indent, |place| place == its_indent)
                && self.goes_on(at + 1);
            if closes {
                break;
            }
            self.fate[at] = Fate::Drop;
            at += 1;
        }
        at
    }

    /// True if a value has ended before this line: a field follows, or its block closes.
    fn value_ends(&self, from: usize) -> bool {
        self.filled(from)
            .is_none_or(|(at, body)| body.starts_with(['}', ']', '(']) || field(body).is_some() || self.is_marker(at))
    }

    /// True if the dump itself goes on with this line.
    fn goes_on(&self, from: usize) -> bool {
        self.filled(from)
            .is_none_or(|(at, body)| body.starts_with("(vim.") || body.starts_with([']', '}']) || self.is_marker(at))
    }

    /// The first line from here on that is not empty, without blanks around it.
    fn filled(&self, from: usize) -> Option<(usize, &str)> {
        (from..self.pieces.len()).map(|at| (at, self.pieces[at].trim())).find(|(_, body)| !body.is_empty())
    }

    /// True for a line around an item. A carriage return alone does not begin one.
    fn is_marker(&self, at: usize) -> bool {
        let begins = at.checked_sub(1).is_none_or(|above| self.pieces[above].ends_with('\n'));
        begins
            && [ITEM, STATUS, MORE].iter().any(|marker| {
                self.pieces[at]
                    .strip_prefix(marker)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
            })
    }

    /// Blanks before a line, and the line behind them.
    fn indented(&self, at: usize) -> (usize, &str) {
        let line = self.pieces[at].trim_end_matches(['\n', '\r']);
        let body = line.trim_start();
        (line.len() - body.len(), body)
    }

    /// Hides the string of a field of a dump, of which this is the first line; returns the line after it. Such strings
    /// hold quotes and line ends: it ends where a line ends in its quote and the dump goes on behind it.
    fn hide_string(&mut self, start: usize, indent: usize) -> usize {
        let mut at = start;
        while at < self.pieces.len() {
            let piece = self.pieces[at];
            if at > start {
                if self.is_marker(at) {
                    break;
                }
                self.fate[at] = Fate::Drop;
            }
            let end = piece.trim_end().trim_end_matches(',').trim_end();
            let opens_only = at == start && end.ends_with("= \"");
            if end.ends_with('"') && !opens_only && self.field_goes_on(at + 1, indent) {
                if at > start
                    && piece.trim_end().ends_with(',')
                    && let Fate::From(from) = self.fate[start]
                {
                    self.fate[start] = Fate::Field(from);
                }
                return at + 1;
            }
            at += 1;
        }
        at
    }

    /// True if this line is the next field of the same block, or closes it, or is none of the dump any more.
    fn field_goes_on(&self, from: usize, indent: usize) -> bool {
        let Some(at) = (from..self.pieces.len()).find(|at| !self.pieces[*at].trim().is_empty()) else { return true };
        let (its, body) = self.indented(at);
        self.is_marker(at)
            || (its == indent && field(body).is_some())
            || (its < indent
                && body.starts_with(['}', ']'])
                && self.blocks.last().is_none_or(|block| block.indent == its))
    }

    /// Hides the value of an assignment; returns the line after it.
    fn hide_assignment(&mut self, start: usize, from: usize) -> usize {
        self.fate[start] = Fate::From(from);
        let value = self.pieces[start][from..].trim();
        let (indent, body) = self.indented(start);
        // An indented line of a VMX is no field of a dump: nothing but a comment stands behind its closed quote.
        let is_of_dump = !self.blocks.is_empty() || !is_closed_setting(value);
        if indent > 0 && value.starts_with('"') && field(body).is_some() && is_of_dump {
            return self.hide_string(start, indent);
        }
        if !value.starts_with('"') || value[1..].contains('"') {
            return start + 1;
        }
        // The quote does not close here: a wrapped line, or a string of several lines.
        let mut at = start + 1;
        while let Some(piece) = self.pieces.get(at) {
            if self.is_marker(at) || begins_anew(piece) {
                break;
            }
            self.fate[at] = Fate::Drop;
            at += 1;
            if piece.contains('"') {
                break;
            }
        }
        at
    }
}

/// True if a line is surely no rest of a wrapped value: an assignment with a quoted value, or a stamp of a log.
fn begins_anew(piece: &str) -> bool {
    let assigns = piece.split_once('=').is_some_and(|(name, value)| {
        let name = name.trim();
        !name.is_empty() && !name.contains([' ', '\t', '"']) && value.trim_start().starts_with('"')
    });
    assigns
        || (piece.len() > 19
            && piece.is_char_boundary(19)
            && piece.as_bytes()[10] == b'T'
            && piece.as_bytes()[4] == b'-')
}

/// A field of a dump: name, and what stands behind its `=`.
fn field(body: &str) -> Option<(&str, &str)> {
    let (name, rest) = body.split_once('=')?;
    let name = name.trim_end();
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some((name, rest))
}

/// True if a value of a dump ends in its line: a closed string, or no string at all.
fn closed(value: &str) -> bool {
    let value = value.trim_end_matches(',');
    let value = value.trim_end();
    match value.find('"') {
        Some(open) => value.len() > open + 1 && value.ends_with('"'),
        None => !value.is_empty(),
    }
}

/// Words of a line that could be names, and where each ends.
fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || "_.-:/$".contains(c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(is_name)?;
        let end = line[start..].find(|c| !is_name(c)).map_or(line.len(), |length| start + length);
        at = end;
        Some((end, &line[start..end]))
    })
}

/// True for the name of a setting, an option or a variable whose value is hidden wherever it is kept or shown.
pub fn secret(name: &str) -> bool {
    SECRETS.groups(name) != 0 || is_note_of_snapshot(name)
}

/// True for the name of a snapshot's description or name in a list of them.
fn is_note_of_snapshot(name: &str) -> bool {
    const SNAPSHOT: &str = "snapshot";
    let begins = name.get(..SNAPSHOT.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(SNAPSHOT));
    let ends = |end: &str| {
        let at = name.len().checked_sub(end.len()).filter(|at| name.is_char_boundary(*at));
        at.is_some_and(|at| name[at..].eq_ignore_ascii_case(end))
    };
    begins && (ends(".description") || ends(".displayname"))
}

/// The place behind the colon of a name or a description in the tree that `snapshot.get` draws (`Snapshot Desciption`
/// there): both are notes of people.
fn snapshot_note(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(['-', '|', ' ']).strip_prefix("Snapshot ")?;
    let colon = line.find(':')?;
    (rest.starts_with("Name") || rest.starts_with("Des")).then_some(colon + 1)
}

/// True for a line that the tree of snapshots itself has.
fn is_of_tree(line: &str) -> bool {
    let body = line.trim_start_matches(['-', ' ']);
    ["Snapshot Name", "Snapshot Id", "Snapshot Des", "Snapshot Created On", "Snapshot State", "|-ROOT", "|-CHILD"]
        .iter()
        .any(|start| body.starts_with(start))
}

/// True for a value in quotes that close, with nothing behind them but a comment.
fn is_closed_setting(value: &str) -> bool {
    let closing = value.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    closing.is_some_and(|(_, behind)| behind.is_empty() || behind.trim_start().starts_with('#'))
}

/// The place behind the `=` that follows a secret name.
fn assignment(line: &str) -> Option<usize> {
    tokens(line).find_map(|(end, token)| {
        let rest = line[end..].trim_start_matches([' ', '\t', '"', '\'']);
        let rest = rest.strip_prefix('=')?;
        secret(token).then(|| line.len() - rest.len())
    })
}

/// The place of the value where a whole setting of a dump stands in one line: `{ key = "guestinfo.a", value = "b" }`.
fn one_line_value(line: &str) -> Option<usize> {
    let value = VALUES.iter().find_map(|value| {
        let at = line.find(&format!("{value} ="))?;
        Some(at + value.len() + 2)
    })?;
    let named = NAMES.iter().any(|name| line.contains(&format!("{name} =")));
    (named && tokens(line).any(|(_, token)| secret(token))).then_some(value)
}

/// The line with its secret masked: what closes blocks behind it stays.
fn push_masked(kept: &mut String, piece: &str, from: usize) {
    let line = piece.trim_end_matches(['\n', '\r']);
    let end = &piece[line.len()..];
    let value = &line[from..];
    kept.push_str(&line[..from]);
    kept.push_str(" \"");
    kept.push_str(MASK);
    kept.push('"');
    // A name that stands behind its value, in one line.
    let name = NAMES.iter().find_map(|name| value.rfind(&format!(", {name} = \"")));
    let behind = match name {
        Some(at) => &value[at..],
        None => &value[value.rfind('"').map_or(value.len(), |quote| quote + 1)..],
    };
    // Without such a name, only punctuation of the dump may follow.
    if name.is_some() || behind.chars().all(|c| matches!(c, ',' | '}' | ']' | ' ')) {
        kept.push_str(behind);
    }
    kept.push_str(end);
}
