//! Hides the last column of `vim-cmd vmsvc/getallvms`: notes of people, which run over several lines and hold what
//! nobody knows.

use std::borrow::Cow;

use super::MASK;
use crate::probe::esxi::vms;

/// The table of registered VMs without annotations, each line with its number as before. What stands before the titles
/// is an error and stays.
pub fn without_annotations(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    let mut is_below = false;
    for piece in text.split_inclusive(['\n', '\r']) {
        let line = piece.trim_end_matches(['\n', '\r']);
        let end = &piece[line.len()..];
        if line.starts_with("Vmid") {
            is_below = true;
        } else if let Some(columns) = vms::columns_end(line) {
            is_below = true;
            kept.push_str(&line[..columns]);
            if !line[columns..].trim().is_empty() {
                kept.push_str("   ");
                kept.push_str(MASK);
            }
            kept.push_str(end);
            continue;
        } else if is_below && !line.trim().is_empty() && vms::skipped(line).is_none() {
            kept.push_str(MASK);
            kept.push_str(end);
            continue;
        }
        kept.push_str(piece);
    }
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLES: &str = "Vmid   Name   File   Guest OS   Version   Annotation\n";

    #[test]
    fn only_annotations_go_and_lines_keep_their_numbers() {
        let table = format!(
            "{TITLES}3      vm001   [ds] vm001/vm001.vmx   ubuntu64Guest   vmx-11\n\
             24     T [T]   [ds] T/T.vmx   otherGuest64    vmx-17    root / HIDDEN [x] y.vmx vmx-3\n\
             HIDDEN on the second line\n7 HIDDEN\n\nSkipping invalid VM '31' HIDDEN\nSkipping invalid VM '31'\n"
        );
        let shown = without_annotations(&table);
        assert!(!shown.contains("HIDDEN"), "{shown}");
        assert_eq!(
            shown,
            format!(
                "{TITLES}3      vm001   [ds] vm001/vm001.vmx   ubuntu64Guest   vmx-11\n\
                 24     T [T]   [ds] T/T.vmx   otherGuest64    vmx-17   <masked>\n\
                 <masked>\n<masked>\n\n<masked>\nSkipping invalid VM '31'\n"
            )
        );
        assert_eq!(without_annotations(&table.replace('\n', "\r\n")), shown.replace('\n', "\r\n"));
    }

    #[test]
    fn an_error_stays_as_it_is() {
        let error = "Failed to login: Connection failure\n";
        assert!(matches!(without_annotations(error), Cow::Borrowed(_)));
        assert_eq!(without_annotations(""), "");
    }
}
