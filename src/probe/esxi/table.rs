//! Tables of `esxcli`: a line of titles, a line of dashes (the rule), rows. Only the rule says where a column begins:
//! titles and cells hold blanks, numbers and booleans stand at the right end of their column, and a last cell may run
//! past its dashes. A cell that is wider than its column pushes the rest of its row to the right.
//!
//! The JSON form of the same command is read too.

use super::json::{self, Json};
use super::lines::{self, WRAP};

/// A table as it was printed.
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Number of its line in the output.
    pub line: u32,
    cells: Vec<String>,
    raw: String,
}

impl Row {
    /// The cell of a column, without blanks around it; empty where the row has none.
    pub fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", |cell| cell.trim())
    }

    /// The row as it was printed.
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

impl Table {
    /// The first table in `text`, of which the first line has the number `first`. `known` are titles of it: a table from
    /// which the rule was lost is found by them. A row with an empty first cell continues the one above it.
    pub fn read(text: &str, first: u32, known: &[&str]) -> Option<Self> {
        Self::read_rows(text, first, known, |row| !row.cell(0).is_empty())
    }

    /// The same where `begins` says which row begins a record; any other is appended to the cells above it.
    pub fn read_rows(text: &str, first: u32, known: &[&str], begins: impl Fn(&Row) -> bool) -> Option<Self> {
        if let Some((records, line)) = json::records(text, first) {
            return Some(Self::of_records(&records, line));
        }
        let lines = mended(text, first);
        let head = match lines.iter().position(|line| is_rule(&line.text)) {
            Some(at) if at > 0 => Some(Head::by_rule(&lines, at)),
            _ => Head::by_titles(&lines, known),
        }?;
        Some(Self::below(&lines, head, &begins))
    }

    /// All tables in `text`, each by its rule.
    pub fn all(text: &str, first: u32) -> Vec<Self> {
        let lines = mended(text, first);
        let rules = (1..lines.len()).filter(|at| is_rule(&lines[*at].text));
        rules.map(|at| Self::below(&lines, Head::by_rule(&lines, at), &|row| !row.cell(0).is_empty())).collect()
    }

    /// A table with these titles and rows, each with its line.
    pub(super) fn of(titles: Vec<String>, rows: impl IntoIterator<Item = (u32, Vec<String>)>) -> Self {
        let row = |(line, cells): (u32, Vec<String>)| Row { line, raw: cells.join("  "), cells };
        Self { titles, rows: rows.into_iter().map(row).collect() }
    }

    /// The records of the JSON form, which all stand on the line on which it begins: their keys are the titles.
    fn of_records(records: &[Json<'_>], line: u32) -> Self {
        let mut titles: Vec<String> = Vec::new();
        for (key, _) in records.iter().flat_map(Json::fields) {
            if !titles.iter().any(|title| title == key) {
                titles.push(key.to_string());
            }
        }
        let cells = |record: &Json<'_>| {
            let cell = |title: &String| {
                let value = record.fields().iter().find(|(key, _)| key == title);
                value.and_then(|(_, value)| value.cell()).unwrap_or_default().into_owned()
            };
            (line, titles.iter().map(cell).collect())
        };
        let rows: Vec<(u32, Vec<String>)> = records.iter().map(cells).collect();
        Self::of(titles, rows)
    }

    fn below(lines: &[Line], head: Head, begins: &impl Fn(&Row) -> bool) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        for (at, line) in lines.iter().enumerate().skip(head.rows) {
            let next_is_rule = lines.get(at + 1).is_some_and(|next| is_rule(&next.text));
            if lines::is_prompt(&line.text) || is_rule(&line.text) || next_is_rule {
                break;
            }
            if line.text.trim().is_empty() {
                continue;
            }
            let row = Row { line: line.number, cells: cells(&line.text, &head.runs), raw: line.text.clone() };
            if begins(&row) {
                rows.push(row);
            } else if let Some(above) = rows.last_mut() {
                for (cell, more) in above.cells.iter_mut().zip(&row.cells) {
                    if !more.trim().is_empty() {
                        *cell = format!("{} {}", cell.trim(), more.trim());
                    }
                }
            }
        }
        Self { titles: head.titles, rows }
    }

    /// The column with one of these titles, the first that there is; letter case and blanks do not matter.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.titles.iter().position(|title| lines::same_name(title, name)))
    }

    /// The cell of a row under one of these titles: `None` if there is no such column, empty if the cell is.
    pub fn get<'r>(&self, row: &'r Row, names: &[&str]) -> Option<&'r str> {
        self.column(names).map(|column| row.cell(column))
    }

    /// Titles in their order.
    pub fn titles(&self) -> &[String] {
        &self.titles
    }

    /// The rows in their order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// One line with the number of its beginning.
struct Line {
    number: u32,
    text: String,
}

/// Where a table begins, and the runs of dashes over its columns: first character and the one behind the last.
struct Head {
    titles: Vec<String>,
    runs: Vec<(usize, usize)>,
    /// Index of the first line that can be a row.
    rows: usize,
}

impl Head {
    /// The head of the table of which the rule is the line `at`.
    fn by_rule(lines: &[Line], at: usize) -> Self {
        let runs = runs(&lines[at].text);
        let above = at.checked_sub(1).map_or("", |above| &*lines[above].text);
        Self { titles: trimmed(&cells(above, &runs)), runs, rows: at + 1 }
    }

    /// The head of a table without a rule: the first line that begins with the first of the known titles and holds most
    /// of the others. Each known title begins a column.
    fn by_titles(lines: &[Line], known: &[&str]) -> Option<Self> {
        let first = known.first()?;
        lines.iter().enumerate().find_map(|(at, line)| {
            let text = line.text.trim_end();
            if !text.starts_with(first) {
                return None;
            }
            let mut starts: Vec<usize> = known
                .iter()
                .filter_map(|title| {
                    let (place, _) = text.match_indices(title).find(|(place, _)| {
                        let alone = |next: Option<char>| next.is_none_or(|next| next == ' ');
                        alone(text[..*place].chars().next_back()) && alone(text[place + title.len()..].chars().next())
                    })?;
                    Some(text[..place].chars().count())
                })
                .collect();
            starts.sort_unstable();
            starts.dedup();
            if starts.len() < 2 || starts.len() * 2 <= known.len() {
                return None;
            }
            let ends = starts.iter().skip(1).map(|next| next - 1).chain([usize::MAX]);
            let runs: Vec<(usize, usize)> = starts.iter().copied().zip(ends).collect();
            Some(Self { titles: trimmed(&cells(text, &runs)), runs, rows: at + 1 })
        })
    }
}

fn trimmed(cells: &[String]) -> Vec<String> {
    cells.iter().map(|title| title.trim().to_owned()).collect()
}

/// True for the line under the titles: dashes and blanks only, at least three dashes at its start.
pub fn is_rule(line: &str) -> bool {
    line.trim_start().starts_with("---") && is_dashes(line)
}

fn is_dashes(line: &str) -> bool {
    line.contains('-') && line.bytes().all(|byte| matches!(byte, b'-' | b' ' | b'\t'))
}

fn runs(rule: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (place, _) in rule.chars().enumerate().filter(|(_, character)| *character == '-') {
        match runs.last_mut() {
            Some((_, end)) if *end == place => *end += 1,
            _ => runs.push((place, place + 1)),
        }
    }
    runs
}

/// Cuts a line where the columns begin. Where a word stands across such a place, the cell was wider than its column and
/// what follows is moved to the right.
fn cells(line: &str, runs: &[(usize, usize)]) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    let blank = |place: usize| characters.get(place).is_none_or(|character| *character == ' ');
    let mut bounds = vec![0];
    let mut shift = 0;
    for (&(_, end), &(start, _)) in runs.iter().zip(runs.iter().skip(1)) {
        let last = bounds.last().copied().unwrap_or(0);
        let mut place = start + shift;
        // People align by hand behind a cell that was too wide.
        if shift > 0 && start > last && blank(start - 1) && !blank(start) && (blank(place) || !blank(place - 1)) {
            shift = 0;
            place = start;
        }
        if !blank(place - 1) && !blank(place) {
            let over = (place..characters.len()).find(|place| blank(*place)).unwrap_or(characters.len());
            let next = (over..characters.len()).find(|place| !blank(*place)).unwrap_or(over);
            let moved = next.min(over + (start - end.min(start)));
            shift += moved - place;
            place = moved;
        }
        bounds.push(place.min(characters.len()).max(last));
    }
    bounds.push(characters.len());
    bounds.windows(2).map(|pair| characters[pair[0]..pair[1]].iter().collect()).collect()
}

/// The lines of a text; those that were broken at [`WRAP`] are one line again. A rule that stands in two lines, or a rest
/// that does not reach the last column, tells that they were.
fn mended(text: &str, first: u32) -> Vec<Line> {
    let lines: Vec<(u32, &str)> = (first..).zip(text.lines().map(|line| line.trim_end_matches('\r'))).collect();
    let rule = lines.iter().position(|(_, line)| is_rule(line)).filter(|_| lines::may_be_wrapped(text));
    let whole = |(number, line): &(u32, &str)| Line { number: *number, text: (*line).to_owned() };
    let Some(rule) = rule else { return lines.iter().map(whole).collect() };
    let length = |line: &str| line.chars().count();
    let broken = lines.get(rule + 1).is_some_and(|(_, next)| is_dashes(next));
    let hard = broken && length(lines[rule].1.trim_end()) + 2 >= WRAP;
    let last = runs(lines[rule].1).last().map_or(0, |(start, _)| *start);
    let mut mended: Vec<Line> = Vec::new();
    let mut before = "";
    for line in &lines {
        let (_, text) = line;
        let is_rest = match () {
            () if before.is_empty() || text.is_empty() || lines::is_prompt(before) => false,
            () if is_dashes(before) || is_dashes(text) => broken && is_dashes(before) && is_dashes(text),
            () if hard => length(before) + 2 >= WRAP,
            () if broken => lines::is_rest_of(length(before), text),
            () => length(text) < last && lines::is_rest_of(length(before), text),
        };
        match mended.last_mut() {
            Some(above) if is_rest => {
                if hard {
                    above.text.extend(std::iter::repeat_n(' ', WRAP.saturating_sub(length(before))));
                }
                above.text.push_str(text);
            }
            _ => mended.push(whole(line)),
        }
        before = text;
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Titles and rows of `network nic list`, as public test code has them.
    const NICS: &str = "\
Name    PCI Device    Driver      Admin Status  Link Status   Speed  Duplex  MAC Address         MTU  Description
------  ------------  ----------  ------------  -----------  ------  ------  -----------------  ----  -----------
vmnic0  0000:18:00.0  ixgben      Up            Up             1000  Full    00:00:00:00:00:00  1500  Intel(R) Ethernet Controller X550
vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full    ec:0d:9a:00:00:01  9000  Mellanox Technologies MT28800 Family [ConnectX-5 Ex]
";

    fn check(text: &str) {
        let table = Table::read(text, 1, &[]).expect("a table");
        assert_eq!(table.rows().len(), 2, "{text}");
        let of = |row: usize, name| table.get(&table.rows()[row], &[name]).expect("a column");
        assert_eq!(of(0, "name"), "vmnic0");
        assert_eq!(of(0, "Speed"), "1000");
        assert_eq!(of(1, "PCI Device"), "0000:5e:00.0");
        assert_eq!(of(1, "linkstatus"), "Up");
        assert_eq!(of(1, "MTU"), "9000");
        assert_eq!(of(1, "Description"), "Mellanox Technologies MT28800 Family [ConnectX-5 Ex]");
    }

    #[test]
    fn by_the_rule_with_any_ending_and_wrapped() {
        check(NICS);
        check(&NICS.replace('\n', "\r\n"));
        let hard = |line: &str| -> String {
            let characters: Vec<char> = line.chars().collect();
            characters.chunks(WRAP).map(|chunk| chunk.iter().collect::<String>() + "\n").collect()
        };
        check(&NICS.lines().map(hard).collect::<String>());
        // As `fold -s` breaks.
        let soft = |line: &str| {
            let mut rest = line;
            let mut out = String::new();
            while rest.len() > WRAP {
                let end = rest[..WRAP].rfind(' ').map_or(WRAP, |blank| blank + 1);
                out = out + &rest[..end] + "\n";
                rest = &rest[end..];
            }
            out + rest + "\n"
        };
        check(&NICS.lines().map(soft).collect::<String>());
    }

    #[test]
    fn a_short_rule_under_wrapped_rows() {
        let text = "Name     Driver      State   MTU  Description\n-------  ----------  ------  ---  -----------\n\
            vmrdma0  nmlx5_rdma  Active  102  MT28800 Family [ConnectX-5 Ex] with a \nlong name\nvmrdma1  nmlx5_rdma  Down    102  x\n";
        let table = Table::read(text, 10, &[]).expect("a table");
        assert_eq!(table.rows().len(), 2);
        assert_eq!(table.rows()[0].cell(4), "MT28800 Family [ConnectX-5 Ex] with a long name");
        assert_eq!(table.rows()[1].line, 14);
    }

    #[test]
    fn right_aligned_wide_and_continued_cells() {
        let text = "VF ID  Active  PCI Address     Owner World ID\n-----  ------  --------------  --------------\n    0   false  00000:101:00.1   -\n    1   true   00000:101:00.2   2103475\n";
        let table = Table::read(text, 1, &[]).expect("a table");
        assert_eq!(table.rows()[1].cell(1), "true");
        assert_eq!(table.rows()[0].cell(2), "00000:101:00.1");
        let text = "Name  Link  MTU\n----  ----  ---\nmuch-too-long  Up    1500\nb     Up    9000\n      and more\n";
        let table = Table::read(text, 1, &[]).expect("a table");
        assert_eq!(table.rows()[0].cell(0), "much-too-long");
        assert_eq!(table.rows()[0].cell(1), "Up");
        assert_eq!(table.rows()[0].cell(2), "1500");
        assert_eq!(table.rows().len(), 2);
        assert_eq!(table.rows()[1].cell(1), "Up and more");
    }

    #[test]
    fn a_table_without_a_rule_is_found_by_its_titles() {
        let text = "[root@hostA:~] esxcli network nic list\nName   PCI          Driver  Admin Status Link Status Speed Duplex\n\
            vmnic1 0000:36:00.1 ixgben  Up           Up          1000  Full\n[root@hostA:~] other\n";
        let known = ["Name", "PCI Device", "PCI", "Driver", "Admin Status", "Link Status", "Speed", "Duplex", "MTU"];
        let table = Table::read(text, 1, &known).expect("a table");
        assert_eq!(table.rows().len(), 1);
        assert_eq!(table.get(&table.rows()[0], &["PCI Device", "PCI"]), Some("0000:36:00.1"));
        assert_eq!(table.get(&table.rows()[0], &["Speed"]), Some("1000"));
        assert!(Table::read("nothing here\n", 1, &known).is_none());
    }
}
