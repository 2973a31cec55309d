//! What a command of ESXi answered as a whole, and how its words become values. An old version that does not know a
//! command, a management agent (`hostd`) that is dead, a driver that cannot tell and an empty table are different things.

use super::block::{self, Block};
use super::each::Item;
use super::json;
use super::markdown;
use super::table::Table;
use crate::fabric::observation::is_permission_error;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::MOST_ITEMS;

/// Words of a source, as a list that a probe can hold.
macro_rules! argv {
    ($($word:literal)+) => {
        &[$($crate::probe::Word::Plain($word)),+]
    };
    ($($word:literal)+; item) => {
        &[$($crate::probe::Word::Plain($word)),+, $crate::probe::Word::Item("", "")]
    };
}
pub(super) use argv;

/// A source that runs one command.
macro_rules! command {
    ($name:literal, $($word:literal)+) => {
        $crate::probe::Source {
            name: $name,
            read: $crate::probe::Read::Command { argv: $crate::probe::esxi::reply::argv![$($word)+], keep: None },
        }
    };
}
pub(super) use command;

/// A source that runs one command for each thing of a listing; the name of the thing is its last word.
macro_rules! for_each {
    ($name:literal, $listing:ident, $($word:literal)+) => {
        $crate::probe::Source {
            name: $name,
            read: $crate::probe::Read::Each {
                of: $crate::probe::Listing::$listing,
                argv: $crate::probe::esxi::reply::argv![$($word)+; item],
                masked: false,
                timed: false,
            },
        }
    };
}
pub(super) use for_each;

/// Why a command as a whole gave nothing to parse, if that is so. An empty answer of a command that ended well is none.
pub fn trouble(observation: &Observation) -> Option<State<Value>> {
    let status = match observation.outcome {
        Outcome::TimedOut => return Some(State::Failed(Text::new("no answer before its deadline"))),
        Outcome::Cut => return Some(State::Failed(Text::new("the answer was cut off before its end"))),
        Outcome::Exit(status) => status,
    };
    judged(status, &observation.stdout, &observation.stderr, &observation.command)
}

/// The same for one thing of a [`Read::Each`](crate::probe::Read::Each).
pub fn trouble_of(item: &Item<'_>, command: &str) -> Option<State<Value>> {
    match item.status {
        None => Some(State::Failed(Text::new("the answer was cut off before its end"))),
        Some(status) => judged(status, item.output, item.errors, command),
    }
}

/// Errors stand on standard output or on standard error, by version: both are looked at.
fn judged(status: i32, stdout: &str, stderr: &str, command: &str) -> Option<State<Value>> {
    let first = |text: &str| -> Option<String> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('@'))?;
        Some(line.to_owned())
    };
    let program = command.split(' ').next().unwrap_or("esxcli");
    for said in [first(stdout), first(stderr)].into_iter().flatten() {
        if said.contains("Unknown command or namespace") {
            return Some(State::NotPublished(Text::new(&format!("this version of ESXi ({said})"))));
        }
        if said.contains("Connect to localhost failed") || said.contains("Connection failure") {
            return Some(State::Failed(Text::new(&format!("the management agent hostd does not answer: {said}"))));
        }
    }
    match status {
        0 => None,
        127 => Some(State::NotInstalled(Text::new(program))),
        // `timeout` ended it.
        124 | 137 | 143 => Some(State::Failed(Text::new("no answer before its deadline"))),
        _ => {
            let said = first(stderr).or_else(|| first(stdout));
            Some(match said {
                Some(said) if is_permission_error(&said) => {
                    State::NeedsPrivilege(Text::new("only the role of an administrator may read it"))
                }
                Some(said) => State::Failed(Text::new(&said)),
                None => State::Failed(Text::new(&format!("{program} ended with status {status} and said nothing"))),
            })
        }
    }
}

/// The table of a whole answer, of which `titles` are known and one of `keys` names each row. Nothing printed is a table
/// without rows. Why there is none where the command failed, or where what it printed is no such table: that would pass
/// for a host that has none of these things.
pub fn table(observation: &Observation, titles: &[&str], keys: &[&str]) -> Result<Table, State<Value>> {
    match trouble(observation) {
        Some(state) => Err(state),
        None => table_in(&observation.stdout, 1, titles, keys),
    }
}

/// The same for one thing of a [`Read::Each`](crate::probe::Read::Each).
pub fn table_of(item: &Item<'_>, command: &str, titles: &[&str], keys: &[&str]) -> Result<Table, State<Value>> {
    match trouble_of(item, command) {
        Some(state) => Err(state),
        None => table_in(item.output, item.first, titles, keys),
    }
}

fn table_in(text: &str, first: u32, titles: &[&str], keys: &[&str]) -> Result<Table, State<Value>> {
    // Reports of people have tables of Markdown.
    match markdown::read(text, first, titles).or_else(|| Table::read(text, first, titles)) {
        Some(table) if table.rows().is_empty() || table.column(keys).is_some() => Ok(table),
        Some(table) => Err(not_understood(&table.titles().join(" | "))),
        None => nothing_in(text).map(|()| Table::default()),
    }
}

/// The blocks of a whole answer; none if nothing was printed. Why there are none where the command failed, or where what
/// it printed has no blocks.
pub fn blocks(observation: &Observation) -> Result<Vec<Block<'_>>, State<Value>> {
    if let Some(state) = trouble(observation) {
        return Err(state);
    }
    let blocks = block::blocks(&observation.stdout, 1);
    // `[]` is the JSON form of nothing.
    if blocks.is_empty() && json::records(&observation.stdout, 1).is_some() {
        return Ok(blocks);
    }
    if blocks.iter().all(|block| block.all().is_empty()) {
        nothing_in(&observation.stdout)?;
    }
    Ok(blocks)
}

/// What was printed, if anything was, as a failure to understand it.
fn nothing_in(text: &str) -> Result<(), State<Value>> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map_or(Ok(()), |line| Err(not_understood(line)))
}

/// Says of the host that a read of each thing left some out, if it did.
pub fn say_left_out(facts: &mut Facts<'_>, attribute: Attribute, left_out: u64) {
    if left_out > 0 {
        facts.say(&Entity::Host, attribute, Some(not_read(left_out)), 0);
    }
}

fn not_read(left_out: u64) -> State<Value> {
    State::Failed(Text::new(&format!("{left_out} more were not read: one read looks into {MOST_ITEMS} at most")))
}

/// A word as it was printed; empty and `N/A` stay what they are.
pub fn text(word: &str) -> State<Value> {
    missing(word).unwrap_or_else(|| State::Known(word.into()))
}

/// `true` or `false`.
pub fn flag(word: &str) -> State<Value> {
    missing(word).unwrap_or_else(|| match as_flag(word) {
        Some(flag) => State::Known(flag.into()),
        None => not_understood(word),
    })
}

/// `true` or `false` in any letter case.
pub fn as_flag(word: &str) -> Option<bool> {
    let word = word.trim();
    if word.eq_ignore_ascii_case("true") || word == "1" || word.eq_ignore_ascii_case("yes") {
        Some(true)
    } else if word.eq_ignore_ascii_case("false") || word == "0" || word.eq_ignore_ascii_case("no") {
        Some(false)
    } else {
        None
    }
}

/// A number that cannot be negative, with or without a unit of one word behind it (`17169526784 Bytes`).
pub fn count(word: &str) -> State<Value> {
    missing(word).unwrap_or_else(|| match word.split(' ').next().and_then(|number| number.parse::<u64>().ok()) {
        Some(number) => State::Known(number.into()),
        None => not_understood(word),
    })
}

/// Empty and `N/A`; `None` for everything else.
pub fn missing(word: &str) -> Option<State<Value>> {
    let word = word.trim();
    if word.is_empty() {
        Some(State::Empty)
    } else if word.eq_ignore_ascii_case("N/A") {
        Some(State::NotAvailable)
    } else {
        None
    }
}

/// A word that says something else than it should.
pub fn not_understood(word: &str) -> State<Value> {
    State::Failed(Text::new(&format!("not understood: {}", Text::new(word))))
}

/// Facts of one observation about one thing.
pub struct Facts<'o> {
    observation: &'o Observation,
    /// What has been said so far.
    pub said: Vec<Fact>,
}

impl<'o> Facts<'o> {
    /// None yet.
    pub fn of(observation: &'o Observation) -> Self {
        Self { observation, said: Vec::new() }
    }

    /// States an attribute where there is something to say; a column or key that is not there says nothing.
    pub fn say(&mut self, entity: &Entity, attribute: Attribute, state: Option<State<Value>>, line: u32) {
        if let Some(state) = state {
            self.said.push(self.observation.fact(entity.clone(), attribute, state, line));
        }
    }
}

#[cfg(test)]
pub mod testing {
    //! What the tests of the probes of a host share.

    pub(in crate::probe::esxi) use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    /// What a dead management agent lets `esxcli` say.
    pub const HOSTD_DEAD: &str = "Connect to localhost failed: Connection failure\n";

    /// What an old version says of a command that it does not have.
    pub const UNKNOWN: &str = "Error: Unknown command or namespace rdma device list\n";

    /// What one thing of a listing printed, as the script brackets it.
    pub fn item(name: &str, output: &str, status: i32) -> String {
        format!("@item {name}\n{output}\n@status {status}\n")
    }

    /// The text with line ends of Windows.
    pub fn with_carriage_returns(text: &str) -> String {
        text.replace('\n', "\r\n")
    }

    /// The text broken at 72 characters, as a terminal does.
    pub fn wrapped(text: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let characters: Vec<char> = line.chars().collect();
            for chunk in characters.chunks(72) {
                out.extend(chunk);
                out.push('\n');
            }
            if characters.is_empty() {
                out.push('\n');
            }
        }
        out
    }

    /// The same table with its columns in another order and one more in front of the last: built from its cells.
    pub fn reordered(text: &str) -> String {
        let table = crate::probe::esxi::table::Table::read(text, 1, &[]).expect("a table");
        let mut columns: Vec<Vec<String>> = (0..table.titles().len())
            .map(|column| {
                let cells = table.rows().iter().map(|row| row.cell(column).to_owned());
                std::iter::once(table.titles()[column].clone()).chain(cells).collect()
            })
            .collect();
        columns[1..].reverse();
        let news = std::iter::once("News".to_owned()).chain(table.rows().iter().map(|_| "new thing".to_owned()));
        columns.insert(columns.len() - 1, news.collect());
        let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for row in 0..=table.rows().len() {
            let cells: Vec<String> =
                columns.iter().map(|column| format!("{:<1$}", column[row], width(column))).collect();
            out += cells.join("  ").trim_end();
            out.push('\n');
            if row == 0 {
                out += &columns.iter().map(|column| "-".repeat(width(column))).collect::<Vec<_>>().join("  ");
                out.push('\n');
            }
        }
        out
    }
}
