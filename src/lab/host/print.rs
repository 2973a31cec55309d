//! The forms in which an ESXi host prints: tables with a rule of dashes, blocks of `Key: value`, dumps of API objects.
//!
//! Source: captures of `esxcli network nic list`, `hardware pci pcipassthru list` and `network nic pauseParams list`
//! (columns two blanks apart, numbers and booleans at the right of their column, texts at its left) and of
//! `network nic get` (structures six blanks deeper than their key).

use std::fmt::Write as _;

/// One column of a table: its heading and whether its cells stand at the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Texts, at the left.
    Left(&'static str),
    /// Numbers and booleans, at the right.
    Right(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Left(title) | Self::Right(title) => title,
        }
    }
}

/// A table; without rows it is nothing at all (UNSOURCED whether the head stays).
pub fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.chars().count());
            cells.chain([column.title().len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for ((column, width), cell) in columns.iter().zip(&widths).zip(cells) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let _infallible = match column {
                Column::Left(_) => write!(line, "{cell:<width$}"),
                Column::Right(_) => write!(line, "{cell:>width$}"),
            };
        }
        line.push('\n');
        // What stands at the left of the last column has no blanks behind it.
        format!("{}\n", line.trim_end())
    };
    let head: Vec<String> =
        columns.iter().zip(&widths).map(|(column, width)| format!("{:<width$}", column.title())).collect();
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = format!("{}\n{}\n", head.join("  ").trim_end(), rules.join("  "));
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

/// Lines of `Key: value`, three blanks in; a key without a value keeps its colon.
pub fn fields(pairs: &[(&str, String)]) -> String {
    indented(3, pairs)
}

/// Lines of `Key: value` with this many blanks before them.
pub fn indented(blanks: usize, pairs: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (key, value) in pairs {
        let line = format!("{:blanks$}{key}: {value}", "");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Blocks under titles, an empty line between two.
pub fn blocks(blocks: &[(String, String)]) -> String {
    let all: Vec<String> = blocks.iter().map(|(title, fields)| format!("{title}\n{fields}")).collect();
    all.join("\n")
}

/// `true` or `false`.
pub fn truth(value: bool) -> String {
    value.to_string()
}

/// Words as cells of a row.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_as_the_capture_of_it() {
        // Source: tests/fixtures of the same name in the public collection, "esxcli hardware pci pcipassthru list".
        let columns = [Column::Left("Device ID"), Column::Right("Enabled")];
        let text = table(&columns, &[row(["0000:3b:00.0", "true"])]);
        assert_eq!(text, "Device ID     Enabled\n------------  -------\n0000:3b:00.0     true\n");
        assert_eq!(table(&columns, &[]), "");
    }

    #[test]
    fn blocks_keep_empty_values_and_empty_lines_between() {
        let one = ("a".to_owned(), fields(&[("Key", "x".to_owned()), ("None", String::new())]));
        let two = ("b".to_owned(), indented(9, &[("Key", "y".to_owned())]));
        assert_eq!(blocks(&[one, two]), "a\n   Key: x\n   None:\n\nb\n         Key: y\n");
    }
}
