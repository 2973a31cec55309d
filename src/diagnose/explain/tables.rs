//! Tables and blocks of esxcli, whatever the command: each cell is a fact of the row's first cell, each `Key: value` one of
//! its block.

use super::host::is_setting;
use super::parts::{Line, Part};
use super::{Explained, value};
use crate::fabric::State;
use crate::probe::esxi::TITLES;
use crate::probe::esxi::block::blocks;
use crate::probe::esxi::table::{Table, is_rule};

/// Reads what there is.
pub(super) fn read(explained: &mut Explained, host: Option<&str>, part: &Part<'_>) {
    markdown(explained, part);
    cut_rows(explained, host, part);
    let esxi =
        part.command.as_ref().is_none_or(|(_, command)| command.contains("cli ") || command.starts_with("esxcfg"));
    if !esxi {
        return;
    }
    let (lines, more) = part.lines.split_at(part.lines.len().min(super::MOST_LINES));
    let mut is_read = false;
    for lines in pieces(lines) {
        is_read |= read_piece(explained, host, part, lines);
    }
    if let Some((number, _)) = more.first().filter(|_| is_read) {
        explained.leaves_out(format!("of this output, what stands from line {number} on was not read"));
    }
}

/// What lines between two empty ones are.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Table,
    Blocks,
    /// Of a report.
    Cells,
    /// It goes on with what stands above.
    Other,
}

fn shape(lines: &[Line<'_>]) -> Shape {
    let above = lines.iter().zip(lines.iter().skip(1));
    if above.into_iter().any(|((_, above), (_, line))| is_rule(line) && super::kind::is_header(above, line)) {
        Shape::Table
    } else if lines.iter().any(|(_, line)| super::kind::is_block_key(line.trim())) {
        Shape::Blocks
    } else if lines.iter().all(|(_, line)| line.trim_start().starts_with('|')) {
        Shape::Cells
    } else {
        Shape::Other
    }
}

/// Outputs of several kinds, one below the other with an empty line between: rows and blocks are read each on their own.
fn pieces<'a, 'b>(lines: &'b [Line<'a>]) -> Vec<&'b [Line<'a>]> {
    let mut pieces = Vec::new();
    let (mut begin, mut now, mut at) = (0, Shape::Other, 0);
    while at < lines.len() {
        let end =
            lines[at..].iter().position(|(_, line)| line.trim().is_empty()).map_or(lines.len(), |length| at + length);
        let next = shape(&lines[at..end]);
        if end > at && next != Shape::Other {
            if now != Shape::Other && now != next {
                pieces.push(&lines[begin..at]);
                begin = at;
            }
            now = next;
        }
        at = end + 1;
    }
    pieces.push(&lines[begin..]);
    pieces.retain(|piece| piece.iter().any(|(_, line)| !line.trim().is_empty()));
    pieces
}

/// True if tables or blocks were looked for in these lines.
fn read_piece(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, lines: &[Line<'_>]) -> bool {
    let at = |line: u32| number(lines, line);
    let text = lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n");
    let above = lines.iter().zip(lines.iter().skip(1));
    let ruled = above.into_iter().any(|((_, above), (_, line))| is_rule(line) && super::kind::is_header(above, line));
    let mut tables = if ruled { Table::all(&text, 1) } else { Vec::new() };
    // A table with the rule of another program is none of these.
    if !lines.iter().any(|(_, line)| is_rule(line)) {
        let begins = |titles: &[&str]| lines.iter().any(|(_, line)| line.starts_with(titles[0]));
        let known = TITLES.iter().filter(|titles| begins(titles));
        tables.extend(known.filter_map(|titles| Table::read(&text, 1, titles)).find(|table| table.titles().len() > 1));
    }
    if !tables.is_empty() {
        explained.is(super::Kind::Esxcli);
    }
    for table in &tables {
        for row in table.rows() {
            let owner = owner(host, row.cell(0));
            for (column, title) in table.titles().iter().enumerate().skip(1) {
                if !title.is_empty() {
                    explained.fact(at(row.line), &format!("{owner}.{}", kebab(title)), value(row.cell(column)), None);
                }
            }
        }
    }
    let blocks = tables.is_empty() && explained.kinds.contains(&super::Kind::Esxcli);
    if blocks {
        block_facts(explained, host, part, &text, &at);
    }
    blocks || !tables.is_empty()
}

/// The number in the whole text of a line of these, counted from 1: others may have stood between them.
pub(super) fn number(lines: &[Line<'_>], line: u32) -> u32 {
    let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    lines.get(at).or(lines.last()).map_or(line, |(number, _)| *number)
}

fn block_facts(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, text: &str, at: &dyn Fn(u32) -> u32) {
    // A command for one thing names it: `esxcli network nic dcb status get -n vmnic3`.
    let named = part.command.as_ref().and_then(|(_, command)| {
        let words: Vec<&str> = command.split_whitespace().collect();
        words
            .windows(2)
            .find(|pair| matches!(pair[0], "-n" | "-d" | "-m" | "--nic-name" | "--device" | "--module"))
            .map(|pair| pair[1].to_owned())
    });
    for block in blocks(text, 1) {
        let own =
            ["Path", "Address", "Device", "Nic Name"].iter().find_map(|key| block.get(&[key])).unwrap_or_default();
        let title = if !block.title.is_empty() { block.title } else { named.as_deref().unwrap_or(own) };
        let setting = own.starts_with('/').then(|| own.trim_start_matches('/').replace('/', "."));
        if let Some(setting) = setting {
            let kind = block.get(&["Type"]).unwrap_or("string");
            let key = if kind.eq_ignore_ascii_case("string") { "String Value" } else { "Int Value" };
            if let Some(field) = block.field(&[key]) {
                explained.fact(at(field.line), &setting, value(&field.value), None);
            }
            continue;
        }
        let owner = owner(host, title);
        for field in block.all() {
            let name = if owner.is_empty() { kebab(field.key) } else { format!("{owner}.{}", kebab(field.key)) };
            explained.fact(at(field.line), &name, value(&field.value), None);
        }
    }
}

/// What a row of a table of flags says that was cut out without its titles: the ruleset for PVRDMA (`pvrdma  false`, newer
/// hosts have more columns of flags behind), and modules of an RDMA adapter (`nmlx5_rdma  true  true`).
pub(super) fn cut_row(line: &str) -> Option<(&str, &'static [&'static str], Vec<&str>)> {
    const MOST_FLAGS: usize = 4;
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?;
    let flags: Vec<&str> = words.by_ref().take(MOST_FLAGS + 1).collect();
    let are_flags = flags.len() <= MOST_FLAGS && flags.iter().all(|word| matches!(*word, "true" | "false"));
    match (name, flags.len()) {
        _ if !are_flags => None,
        ("pvrdma", 1..) => Some((name, &["enabled"], flags)),
        (_, 2) if name.starts_with("nmlx") || name == "vrdma" => Some((name, &["is-loaded", "is-enabled"], flags)),
        _ => None,
    }
}

/// Rows that were cut out of tables. Below titles the table itself is read.
fn cut_rows(explained: &mut Explained, host: Option<&str>, part: &Part<'_>) {
    if part.lines.iter().any(|(_, line)| is_rule(line)) {
        return;
    }
    for (number, line) in part.lines.iter().take(super::MOST_LINES) {
        let Some((name, titles, flags)) = cut_row(line) else { continue };
        explained.is(super::Kind::Esxcli);
        for (title, flag) in titles.iter().zip(flags) {
            explained.fact(*number, &format!("{}.{title}", owner(host, name)), value(flag), None);
        }
    }
}

/// A table of advanced settings as reports print it: name, description, value, default, bounds.
fn markdown(explained: &mut Explained, part: &Part<'_>) {
    for (number, line) in part.lines.iter() {
        let Some(inside) = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) else { continue };
        let cells: Vec<&str> = inside.split('|').map(|cell| cell.trim().trim_matches('`').trim()).collect();
        let Some(name) = cells.first().map(|name| name.trim_start_matches('/').replace('/', ".")) else { continue };
        if cells.len() < 3 || !is_setting(&name) {
            continue;
        }
        // Some reports have no column of descriptions: a description holds blanks, a value seldom does.
        let at = if cells.len() > 3 && (cells[1].contains(' ') || cells[1].is_empty()) { 2 } else { 1 };
        explained.fact(*number, &name, markdown_value(cells[at]), None);
        if let Some(default) = cells.get(at + 1) {
            explained.fact(*number, &format!("{name}.default"), markdown_value(default), None);
        }
    }
}

fn markdown_value(cell: &str) -> State<super::Value> {
    value(cell)
}

/// The thing that a row or a block is about, with its host where several are in the text.
fn owner(host: Option<&str>, name: &str) -> String {
    let name = name.trim().trim_end_matches(':');
    match host {
        Some(host) => format!("{host}:{name}"),
        None => name.to_owned(),
    }
}

/// `Admin Status` is `admin-status`.
pub(super) fn kebab(title: &str) -> String {
    let words: Vec<String> =
        title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::explain;

    #[test]
    fn a_row_without_its_titles_says_what_it_says() {
        for (row, closed) in [
            ("pvrdma                      false\n", true),
            ("pvrdma  false  true  true\n", true),
            ("pvrdma  true\n", false),
        ] {
            let said = explain("-", row.as_bytes());
            assert!(said.is_recognised(), "{row}");
            assert_eq!(said.findings.iter().any(|found| found.check == "host.pvrdma-ruleset-closed"), closed, "{row}");
        }
        let said = explain("-", b"nmlx5_rdma          false   true\n");
        assert!(said.facts.iter().any(|fact| fact.name.as_str() == "nmlx5_rdma.is-loaded"), "{:?}", said.facts);
        for none in ["pvrdma is false", "sshServer  true", "pvrdma", "nmlx5_core false"] {
            assert!(!explain("-", none.as_bytes()).is_recognised(), "{none}");
        }
    }
}
