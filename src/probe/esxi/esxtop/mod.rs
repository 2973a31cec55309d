//! `esxtop -b` on an ESXi host: memory and processors of the host and of its VMs, and the ports of its virtual switches.
//! One row has tens of thousands of cells, of which some hundreds are wanted. The titles say once which these are
//! ([`mod@column`]); after that a row is walked byte by byte, and only what is wanted is ever held ([`Reader`]).
//!
//! It is a stream: it runs while somebody needs it, and ends with its input (see [`block`]). Nothing on the host can be told
//! to print fewer columns without writing a file there, so the choice is made here.

mod cells;
pub mod column;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::cells::{Cells, Taken};
pub use self::column::state_name;
use self::column::{Column, Titles};
use super::reply::Facts;
use crate::fabric::series::GaugeValue;
use crate::fabric::{Attribute, Entity, Fact, Measure, Observation, State, Text, Timestamp, Value};

/// The name of the stream, and of the source of its facts.
pub const SOURCE: &str = "esxi.esxtop";

/// Rows that one run prints, the first among them: what runs alone for whatever reason is over after that, and VMs that were
/// powered on since are seen by the next one, because a run never changes its columns.
pub const MOST_ROWS: u32 = 120;

/// No more columns are kept, in the order in which they stand.
pub const MOST_KEPT: usize = 8_192;

/// A row is kept as evidence, cells that decide something only, up to so many bytes.
const MOST_EVIDENCE: usize = 64 * 1024;

/// What is said instead of the titles is kept up to so many bytes.
const MOST_SAID: usize = 512;

/// The command as a person would type it.
pub fn command(period: Duration) -> String {
    format!("esxtop -b -d {} -n {MOST_ROWS}", seconds(period))
}

/// Whole seconds; `esxtop` takes no less than two.
fn seconds(period: Duration) -> u64 {
    period.as_secs().max(2)
}

/// The block that a `/bin/sh -s` runs: `esxtop` beside a loop that waits for the end of the input and then ends it. Its output
/// and its complaints come as they are; the line `nonce E status` says that it ended by itself.
pub fn block(nonce: &str, period: Duration) -> String {
    let nonce: String = nonce.chars().filter(char::is_ascii_alphanumeric).collect();
    BLOCK.replace("@NONCE@", &nonce).replace("@COMMAND@", &command(period))
}

/// `esxtop` draws for a terminal of the kind that `TERM` names and fails without one, even in batch mode.
const BLOCK: &str = "{\nn='@NONCE@'\nexport LC_ALL=C TERM=xterm\n(\n@COMMAND@ </dev/null &\np=$!\ntrap 'kill $p 2>/dev/null; exit 0' TERM HUP INT PIPE\nwait $p\necho \"$n E $?\"\n) &\nw=$!\nwhile read -r t; do :; done\nkill $w 2>/dev/null\nwait $w 2>/dev/null\nexit 0\n}\n";

/// With this begins what is told where it cannot be read.
pub const NOT_READ: &str = "esxtop is not read";

/// What came of some bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The titles are read.
    Titles {
        /// How many columns there are.
        columns: usize,
        /// How many of them are kept.
        kept: usize,
    },
    /// A row that says something. The first one of a run is none: it tells of all the time since the host was booted.
    Row(Row),
    /// A row that cannot be used; says why.
    Refused(Text),
    /// It ended by itself, with this status.
    Ended(i32),
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// When, by the clock of the host, in whole seconds.
    pub at: Timestamp,
    /// Time since the row before, as it really was.
    pub period: Duration,
    /// What was measured; `None` where the cell is empty or no number.
    pub gauges: Vec<GaugeValue>,
    /// For each of them the line of the evidence; 0 where it has none.
    pub lines: Vec<u32>,
    /// Cells of the row as they came, `"title","cell"` a line.
    pub evidence: String,
}

impl Row {
    /// What is told as facts: the state of the host's memory, and what was taken from the host's VMs. `observation` holds the
    /// evidence of this row.
    pub fn facts(&self, observation: &Observation) -> Vec<Fact> {
        let mut facts = Facts::of(observation);
        let mebibytes = |value: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size, rounded")]
            State::Known(Value::Count((value / 1_048_576.0).round().max(0.0) as u64))
        };
        for (gauge, &line) in self.gauges.iter().zip(&self.lines).filter(|(_, line)| **line > 0) {
            let attribute = match Measure::from_name(gauge.name.as_str()) {
                Some(Measure::MemoryState) => Attribute::MemoryState,
                Some(Measure::HostBalloon | Measure::VmBalloon) => Attribute::Balloon,
                Some(Measure::HostSwapUsed | Measure::VmSwapped) => Attribute::HostSwap,
                _ => continue,
            };
            let state = match gauge.value {
                None => State::Empty,
                Some(value) if attribute == Attribute::MemoryState => {
                    column::state_name(value).map_or(State::Empty, |name| State::Known(Value::from(name)))
                }
                Some(value) => mebibytes(value),
            };
            facts.say(&gauge.entity, attribute, Some(state), line);
        }
        facts.said
    }
}

/// Takes the output of one run in pieces of any size. Holds the wanted columns and one cell, whatever comes.
#[derive(Debug)]
pub struct Reader {
    /// How the line begins that says its end.
    end: String,
    cells: Cells,
    stage: Stage,
    said: String,
    /// Seconds to add to a stamp for UTC.
    zone: i64,
    /// How many titles there are, without an empty one behind the last comma, and with it.
    columns: (usize, usize),
    kept: Vec<Column>,
    processors: Vec<(Entity, u32)>,
    before: Option<Timestamp>,
    row: Half,
}

/// What is read of a row.
#[derive(Debug, Default)]
struct Half {
    stamp: Option<Timestamp>,
    values: Vec<Option<f64>>,
    /// The column that comes next among those that are kept.
    next: usize,
    evidence: String,
    lines: u32,
}

#[derive(Debug)]
enum Stage {
    /// Lines before the titles: what a login or a program that fails says.
    Before,
    /// Within the titles.
    Titles(Titles),
    /// Behind them.
    Rows,
}

impl Reader {
    /// For a run that says its end by this nonce.
    pub fn new(nonce: &str) -> Self {
        Self {
            end: format!("{nonce} E "),
            cells: Cells::default(),
            stage: Stage::Before,
            said: String::new(),
            zone: 0,
            columns: (0, 0),
            kept: Vec::new(),
            processors: Vec::new(),
            before: None,
            row: Half::default(),
        }
    }

    /// What it said last before its titles.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// The columns that are kept.
    pub fn kept(&self) -> &[Column] {
        &self.kept
    }

    /// Takes a piece of its output.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            let wanted = !matches!(self.stage, Stage::Rows) || self.is_wanted();
            let (used, taken) = self.cells.take(bytes, wanted);
            bytes = &bytes[used..];
            if let Some(taken) = taken {
                events.extend(self.cell(taken));
            }
        }
        events
    }

    /// The output is over: a last row without an end of line counts if nothing of it is missing.
    pub fn finish(&mut self) -> Option<Event> {
        let taken = self.cells.finish()?;
        self.cell(taken)
    }

    /// True if the cell that comes now is kept, or is the first of its row.
    fn is_wanted(&self) -> bool {
        let place = self.cells.place();
        place == 0 || self.kept.get(self.row.next).is_some_and(|column| column.place == place)
    }

    fn cell(&mut self, taken: Taken) -> Option<Event> {
        match &mut self.stage {
            Stage::Before => self.before_titles(taken),
            Stage::Titles(titles) => {
                let text = self.cells.text();
                if !taken.is_cut {
                    titles.take(&text, taken.place, MOST_KEPT);
                }
                let trimmed = if text.is_empty() { taken.place } else { taken.place + 1 };
                taken.ends_row.then(|| self.titles_end((trimmed, taken.place + 1)))
            }
            Stage::Rows => {
                self.row.take(&mut self.kept, &self.cells, taken, self.zone);
                if taken.ends_row { self.row_end(taken) } else { None }
            }
        }
    }

    fn before_titles(&mut self, taken: Taken) -> Option<Event> {
        let text = self.cells.text();
        if taken.place == 0 && column::opens(&text) {
            self.zone = column::zone(&text);
            self.stage = Stage::Titles(Titles::default());
            return taken.ends_row.then(|| self.titles_end((1, 1)));
        }
        let text = text.trim();
        if let Some(status) = text.strip_prefix(&self.end) {
            return Some(Event::Ended(status.trim().parse().unwrap_or(1)));
        }
        if taken.place == 0 && !text.is_empty() {
            self.said = text.chars().take(MOST_SAID).collect();
        } else if taken.place > 0 && self.said.len() + text.len() < MOST_SAID {
            self.said = format!("{},{text}", self.said);
        }
        None
    }

    fn titles_end(&mut self, columns: (usize, usize)) -> Event {
        if let Stage::Titles(titles) = std::mem::replace(&mut self.stage, Stage::Rows) {
            (self.kept, self.processors) = titles.settle();
        }
        self.columns = columns;
        self.row = Half { values: vec![None; self.kept.len()], ..Half::default() };
        Event::Titles { columns: columns.0, kept: self.kept.len() }
    }

    fn row_end(&mut self, taken: Taken) -> Option<Event> {
        let cells = taken.place + 1;
        let event = if cells == 1 { self.lonely() } else { self.judge(cells, taken) };
        self.row = Half { values: std::mem::take(&mut self.row.values), ..Half::default() };
        self.row.values.fill(None);
        event
    }

    /// A line without a comma: nothing, the end, or what remains of a row.
    fn lonely(&self) -> Option<Event> {
        let text = self.cells.text();
        let said = text.trim();
        if said.is_empty() {
            return None;
        }
        Some(match said.strip_prefix(&self.end) {
            Some(status) => Event::Ended(status.trim().parse().unwrap_or(1)),
            None => Event::Refused(Text::new(&format!("a line that is no row: {}", Text::new(said)))),
        })
    }

    /// What a row of so many cells is. One that lacks some was cut, one that has more has a title that broke: in neither is it
    /// known which cell belongs to which title.
    fn judge(&mut self, cells: usize, taken: Taken) -> Option<Event> {
        let refused = |why: String| Some(Event::Refused(Text::new(&why)));
        let (titles, with_empty) = self.columns;
        let ends_empty = self.cells.text().is_empty();
        let fits = cells == titles || cells == with_empty || (ends_empty && cells == titles + 1);
        if !fits || taken.is_cut {
            return refused(format!("a row has {cells} cells where there are {titles} titles, or was cut"));
        }
        let Some(at) = self.row.stamp else { return refused("a row does not begin with a time".to_owned()) };
        // The first row of a run tells of all the time since the host was booted.
        let before = self.before.replace(at)?;
        let Ok(period) = Duration::try_from(at.duration_since(before)) else {
            return refused(format!("a row is older than the one before it: {at} after {before}"));
        };
        if period.is_zero() {
            return refused(format!("two rows have one time, {at}"));
        }
        let mut row =
            Row { at, period, gauges: Vec::new(), lines: Vec::new(), evidence: std::mem::take(&mut self.row.evidence) };
        for (column, value) in self.kept.iter().zip(&self.row.values) {
            row.gauges.push(column.measure.of(&column.entity, *value));
            row.lines.push(column.line);
        }
        for (entity, count) in &self.processors {
            row.gauges.push(Measure::VmProcessors.of(entity, Some(f64::from(*count))));
            row.lines.push(0);
        }
        Some(Event::Row(row))
    }
}

impl Half {
    /// Takes the cell that was read, if it is wanted.
    fn take(&mut self, kept: &mut [Column], cells: &Cells, taken: Taken, zone: i64) {
        if taken.place == 0 {
            let text = cells.text();
            self.stamp = column::stamp(&text, zone);
            self.note("Time", &text);
            return;
        }
        let Some(column) = kept.get_mut(self.next).filter(|column| column.place == taken.place) else { return };
        let text = cells.text();
        if let Some(value) = self.values.get_mut(self.next).filter(|_| !taken.is_cut) {
            *value = column.value(&text);
        }
        self.next += 1;
        column.line = if column.is_evidence() { self.note(&column.title, &text) } else { 0 };
    }

    /// Adds a line to the evidence and gives its number; 0 where there is no room.
    fn note(&mut self, title: &str, text: &str) -> u32 {
        if self.evidence.len() + title.len() + text.len() + 6 > MOST_EVIDENCE {
            return 0;
        }
        for part in ["\"", title, "\",\"", text, "\"\n"] {
            self.evidence.push_str(part);
        }
        self.lines += 1;
        self.lines
    }
}
