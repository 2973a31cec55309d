//! Takes apart what [`Read::Each`] prints: the output of one command for each of several things.
//!
//! [`Read::Each`]: crate::probe::Read::Each

use std::collections::BTreeMap;

use crate::fabric::Observation;
use crate::probe::{CLOCK, ITEM, MORE, STATUS};

/// What the command printed for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Name of the thing.
    pub name: &'a str,
    /// When the read began, in seconds since 1970 by the host's clock, where the host told it.
    pub clock: Option<i64>,
    /// Exit status; `None` if the answer ended before it.
    pub status: Option<i32>,
    /// Standard output.
    pub output: &'a str,
    /// Standard error.
    pub errors: &'a str,
    /// Number of the first line of the output in the whole observation.
    pub first: u32,
}

/// The things of one observation in their order, and how many were left out because there were too many.
pub fn items(observation: &Observation) -> (Vec<Item<'_>>, u64) {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut left_out = 0;
    let text = &*observation.stdout;
    // Where the output of the item that is being read begins; `None` between two items.
    let mut open: Option<usize> = None;
    let mut place = 0;
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        let begin = place;
        place += line.len();
        if let Some(name) = after(line, ITEM) {
            if let (Some(from), Some(item)) = (open, items.last_mut()) {
                item.output = &text[from..begin];
            }
            items.push(Item { name, clock: None, status: None, output: "", errors: "", first: number + 1 });
            open = Some(place);
        } else if let (Some(clock), Some(from), Some(item)) = (after(line, CLOCK), open, items.last_mut())
            && from == begin
            && item.clock.is_none()
        {
            // Directly below the name: it is ours, and no line of the output.
            item.clock = clock.trim().parse().ok();
            item.first = number + 1;
            open = Some(place);
        } else if let (Some(status), Some(from), Some(item)) = (after(line, STATUS), open, items.last_mut()) {
            // The line end before the status is ours.
            let output = &text[from..begin];
            item.output = output.strip_suffix('\n').unwrap_or(output);
            item.status = status.trim().parse().ok();
            open = None;
        } else if open.is_none()
            && let Some(number) = after(line, MORE)
        {
            left_out = number.trim().parse().unwrap_or(0);
        }
    }
    if let (Some(from), Some(item)) = (open, items.last_mut()) {
        item.output = &text[from..];
    }
    let errors = errors(&observation.stderr);
    for item in &mut items {
        item.errors = errors.get(item.name).copied().unwrap_or("");
    }
    (items, left_out)
}

/// What stands on standard error under the name of each item.
fn errors(stderr: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    let mut open: Option<(&str, usize)> = None;
    let mut place = 0;
    for line in stderr.split_inclusive('\n') {
        let begin = place;
        place += line.len();
        if let Some(name) = after(line, ITEM) {
            if let Some((name, from)) = open {
                found.entry(name).or_insert(&stderr[from..begin]);
            }
            open = Some((name, place));
        }
    }
    if let Some((name, from)) = open {
        found.entry(name).or_insert(&stderr[from..]);
    }
    found
}

fn after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.trim_end_matches(['\n', '\r']).strip_prefix(mark)?.strip_prefix(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_their_status_their_errors_and_their_lines() {
        let observation = Observation::of_text(
            "each",
            "@item vmnic0\n   Name: vmnic0\n   MTU: 1500\n\n@status 0\n@item vm nic\n\n@status 1\n@item vmnic2\n   Name: vm",
        )
        .with_stderr("@item vmnic0\n@item vm nic\nno such thing\n@item vmnic2\n");
        let (items, left_out) = items(&observation);
        assert_eq!(left_out, 0);
        assert_eq!(items.len(), 3);
        assert_eq!((items[0].name, items[0].status, items[0].first), ("vmnic0", Some(0), 2));
        assert_eq!(items[0].output, "   Name: vmnic0\n   MTU: 1500\n");
        assert_eq!((items[1].name, items[1].status, items[1].output), ("vm nic", Some(1), ""));
        assert_eq!(items[1].errors, "no such thing\n");
        assert_eq!((items[2].status, items[2].output, items[2].first), (None, "   Name: vm", 10));
    }

    #[test]
    fn the_clock_below_a_name_is_no_output() {
        let observation =
            Observation::of_text("each", "@item a\n@clock 1764492000\nx\n@clock 5\n\n@status 0\n@item b\ny\n");
        let (items, _) = items(&observation);
        assert_eq!((items[0].clock, items[0].output, items[0].first), (Some(1_764_492_000), "x\n@clock 5\n", 3));
        assert_eq!((items[1].clock, items[1].output, items[1].first), (None, "y\n", 8));
    }

    #[test]
    fn what_was_left_out_is_counted() {
        let observation = Observation::of_text("each", "@item a\n@status 0\n@more 36\n");
        let (items, left_out) = items(&observation);
        assert_eq!((items.len(), left_out), (1, 36));
        assert_eq!(items[0].output, "");
    }
}
