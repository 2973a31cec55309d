//! The table of registered VMs, as `vim-cmd vmsvc/getallvms` prints it.

use super::lines;

/// One row of the table of registered VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registered {
    pub number: u64,
    pub name: String,
    /// `[datastore] directory/name.vmx` as a path of the host.
    pub path: String,
    pub line: u32,
}

/// The rows of the table. Its columns are not to be trusted: names hold brackets, annotations run over lines. A row
/// begins with a number and has `.vmx`, a word for the guest, and the version of the virtual hardware. A row that was
/// broken on its way is one again.
pub(super) fn registered(text: &str) -> Vec<Registered> {
    let rows: Vec<&str> = text.lines().collect();
    let may_be_wrapped = lines::may_be_wrapped(text);
    let mut found = Vec::new();
    for (at, line) in (1u32..).zip(&rows) {
        if !line.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        if let Some(row) = registered_row(line, at) {
            found.push(row);
        } else if may_be_wrapped {
            let mut whole = (*line).to_owned();
            let mut before = line.chars().count();
            for next in rows.iter().skip(at as usize).take(MOST_PIECES) {
                if registered_row(next, at).is_some() {
                    break;
                }
                // A line of the full width was broken anywhere, a shorter one at a blank.
                if before < lines::WRAP {
                    whole.push(' ');
                }
                before = next.chars().count();
                whole.push_str(next);
                if let Some(row) = registered_row(&whole, at) {
                    found.push(row);
                    break;
                }
            }
        }
    }
    found
}

/// In how many pieces a row may stand behind its first line.
const MOST_PIECES: usize = 4;

/// The number of a row, what stands behind it, and where in that the name of the file ends.
fn number_and_file(row: &str) -> Option<(u64, &str, usize)> {
    let digits = row.bytes().take_while(u8::is_ascii_digit).count();
    let number = row[..digits].parse().ok()?;
    let rest = &row[digits..];
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let end = rest.match_indices(".vmx").map(|(at, _)| at + 4).find(|&end| {
        let mut words = rest[end..].split_whitespace();
        rest[end..].starts_with([' ', '\t']) && words.by_ref().take(2).any(|word| word.starts_with("vmx-"))
    })?;
    Some((number, rest, end))
}

/// Where in a row of the table the column before the annotation ends; `None` if the line is no such row.
pub(super) fn columns_end(row: &str) -> Option<usize> {
    let (_, rest, file) = number_and_file(row)?;
    let version = file + rest[file..].find(" vmx-").or_else(|| rest[file..].find("\tvmx-"))? + 1;
    let end = rest[version..].find([' ', '\t']).map_or(rest.len(), |length| version + length);
    Some(row.len() - rest.len() + end)
}

/// The number of the VM that a line says is skipped.
pub(super) fn skipped(line: &str) -> Option<&str> {
    let number = line.trim().strip_prefix("Skipping invalid VM '")?.strip_suffix('\'')?;
    number.parse::<u64>().is_ok().then_some(number)
}

fn registered_row(row: &str, line: u32) -> Option<Registered> {
    let (number, rest, end) = number_and_file(row)?;
    let close = rest[..end].rfind("] ")?;
    let open = rest[..close].rfind('[')?;
    Some(Registered {
        number,
        name: rest[..open].trim().to_owned(),
        path: format!("/vmfs/volumes/{}/{}", &rest[open + 1..close], rest[close + 2..end].trim()),
        line,
    })
}
