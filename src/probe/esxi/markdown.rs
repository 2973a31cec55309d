//! Tables of Markdown, as reports of hosts and forums have them: `| Net.PVRDMAVmknic | Vmknic for PVRDMA |  |  | N/A |`.

use super::table::Table;

/// The table in `text`, of which the first line has the number `first`. Its titles stand above a line of dashes; where there
/// is none, they are the `known` ones in their order. `None` if the text has no such rows, or fewer than half of its lines
/// are.
pub fn read(text: &str, first: u32, known: &[&str]) -> Option<Table> {
    let mut rows: Vec<(u32, Vec<String>)> = Vec::new();
    let (mut titles, mut others) = (None, 0);
    for (number, line) in (first..).zip(text.lines()) {
        match cells(line) {
            Some(cells) if cells.iter().all(|cell| is_dashes(cell)) => titles = titles.or(rows.pop()),
            Some(cells) => rows.push((number, cells.into_iter().map(str::to_owned).collect())),
            None => others += usize::from(!line.trim().is_empty()),
        }
    }
    if rows.is_empty() || others > rows.len() {
        return None;
    }
    let titles = match titles {
        Some((_, titles)) => titles,
        None => known.iter().map(ToString::to_string).collect(),
    };
    Some(Table::of(titles, rows))
}

/// The cells of a row, without the back-quotes that people put around values.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`').trim()).collect();
    (cells.len() > 1).then_some(cells)
}

fn is_dashes(cell: &str) -> bool {
    cell.contains('-') && cell.bytes().all(|byte| matches!(byte, b'-' | b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str = include_str!("../../../tests/fixtures/public/08-esxi-advanced-options-table.txt");

    #[test]
    fn rows_with_and_without_titles() {
        let known = ["Name", "Description", "Value", "Default"];
        let table = read(OPTIONS, 1, &known).expect("a table");
        let row = table.rows().iter().find(|row| row.cell(0) == "Net.PVRDMAVmknic").expect("the option");
        assert_eq!(
            (table.get(row, &["Value"]), table.get(row, &["Description"])),
            (Some(""), Some("Vmknic for PVRDMA"))
        );
        assert_eq!(row.line, 4);
        let titled = "Options:\n| Value | Name |\n|:-----|-----:|\n| `vmk1` | `/Net/PVRDMAVmknic` |\n";
        let table = read(titled, 1, &known).expect("a table");
        assert_eq!(table.get(&table.rows()[0], &["Value"]), Some("vmk1"));
        assert_eq!(table.rows().len(), 1);
        for none in ["", "a | b\n", "| a\n", "one\ntwo\n| a | b |\n"] {
            assert!(read(none, 1, &known).is_none(), "{none}");
        }
    }
}
