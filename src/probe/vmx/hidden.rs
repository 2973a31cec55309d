//! A VMX as it may be shown: without the values that are nobody's business. Its lines keep their numbers, and what is wrong
//! with a line stays wrong with it.

use std::borrow::Cow;

use super::dictionary::{Content, Dictionary, Entry, Fault, ODD_QUOTES};
use crate::probe::esxi::{MASK, masked, masked_commands, secret};

impl Dictionary {
    /// The same file in which a mask stands for each value of a secret, for what people noted, and for the lines that such
    /// a value runs on to; for these also in [`Dictionary::text`]. The bytes stay as they are: it is to be judged and shown,
    /// not to be written.
    pub fn without_secrets(&self) -> Cow<'_, Self> {
        let malformed = self.lines.iter().any(|line| matches!(line.content, Content::Malformed(_)));
        // Names are ASCII in every character set.
        let raw = String::from_utf8_lossy(&self.bytes);
        if !malformed && !secret(&raw) && !raw.contains("napshot") {
            return Cow::Borrowed(self);
        }
        let texts: Vec<String> = self.lines.iter().map(|line| self.text(line)).collect();
        let whole = texts.iter().fold(String::new(), |whole, text| whole + text + "\n");
        let shown = masked(&whole);
        let mut other = self.clone();
        for ((line, text), shown) in other.lines.iter_mut().zip(&texts).zip(shown.split('\n')) {
            let shown = match line.content {
                Content::Malformed(fault) => malformed_text(fault, shown, text),
                _ => Cow::Borrowed(shown),
            };
            if shown == *text {
                continue;
            }
            let is_rest = shown.is_empty();
            match &mut line.content {
                Content::Entry(entry) if is_rest && !Self::is_usual(&entry.key) => line.content = Content::Comment,
                // A setting below a value that does not close: the host reads it, so it counts.
                Content::Entry(entry) if is_rest && !secret(&entry.key) => {
                    if masked(text) == *text {
                        continue;
                    }
                    hide(entry);
                }
                Content::Entry(entry) => hide(entry),
                Content::Blank | Content::Comment | Content::Malformed(_) => {}
            }
            other.hidden.insert(line.number, if is_rest { MASK.to_owned() } else { shown.into_owned() });
        }
        let lines = &other.lines;
        other.by_key.retain(|at| lines.get(*at).is_some_and(|line| matches!(line.content, Content::Entry(_))));
        Cow::Owned(other)
    }
}

/// A line that is no assignment, without what it may give away: what stands behind the name of a secret, and what the
/// rules for commands hide, since pasted commands are such lines.
fn malformed_text<'t>(fault: Fault, shown: &'t str, text: &str) -> Cow<'t, str> {
    // The rest of a value above it.
    if shown.is_empty() && !text.is_empty() {
        return Cow::Borrowed(MASK);
    }
    let shown = masked_commands(shown);
    if fault != Fault::NoEquals {
        return shown;
    }
    let mut words = 0;
    let is_blank = |c: char| c.is_whitespace() || c == ':';
    for word in shown.split_inclusive(is_blank) {
        words += word.len();
        if secret(word) && words < shown.len() && shown[words..].trim() != MASK {
            return Cow::Owned(format!("{} {MASK}", shown[..words].trim_end()));
        }
    }
    shown
}

/// Hides the value and the comment of an assignment. What kind of quotes stands around the value is kept.
fn hide(entry: &mut Entry) {
    if secret(&entry.key) || masked(&entry.value) != entry.value {
        let value = entry.value.as_str();
        let first = value.chars().next().filter(|first| !entry.quoted && ODD_QUOTES.contains(first));
        let last = value.chars().last().filter(|last| !entry.quoted && ODD_QUOTES.contains(last));
        if !value.is_empty() {
            entry.value = first.into_iter().chain(MASK.chars()).chain(last).collect();
        }
    }
    if let Some(comment) = &mut entry.comment {
        *comment = format!("# {MASK}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (Dictionary, String) {
        let dictionary = Dictionary::parse(text.as_bytes());
        let shown = dictionary.without_secrets().into_owned();
        let lines: Vec<String> = shown.lines.iter().map(|line| shown.text(line)).collect();
        (shown, lines.join("\n"))
    }

    #[test]
    fn a_file_without_secrets_is_the_same() {
        let file = Dictionary::parse(b"memSize = \"4096\"\r\n# note\r\nnumvcpus = 2 # two\r\n");
        assert!(matches!(file.without_secrets(), Cow::Borrowed(_)));
    }

    #[test]
    fn values_go_and_what_is_wrong_with_them_stays() {
        let (file, text) = shown(
            "memSize = \"4096\"\nguestinfo.a = HIDDEN # HIDDEN\nGuestInfo.A = \"HIDDEN\"\nRemoteDisplay.vnc.password = \u{201c}HIDDEN\u{201d}\n\
             guestinfo.b HIDDEN HIDDEN\nannotation = \"HIDDEN\ntool -p HIDDEN\nguestinfo.c = \"\"\nguestinfo.d = a \"HIDDEN\"\n",
        );
        assert!(!text.contains("HIDDEN"), "{text}");
        let debug: Vec<String> = file.lines.iter().map(|line| format!("{:?}", line.content)).collect();
        assert!(!debug.concat().contains("HIDDEN"), "{debug:?}");
        assert_eq!(file.value("memSize"), Some("4096"));
        assert_eq!(file.duplicates().len(), 1);
        assert_eq!(file.get("guestinfo.a").map(|entry| (entry.value.as_str(), entry.quoted)), Some((MASK, false)));
        assert!(file.get("remotedisplay.vnc.password").is_some_and(Entry::odd_quotes));
        assert_eq!(file.value("guestinfo.c"), Some(""));
        let faults: Vec<Fault> = file
            .lines
            .iter()
            .filter_map(|line| match line.content {
                Content::Malformed(fault) => Some(fault),
                _ => None,
            })
            .collect();
        assert_eq!(faults, [Fault::NoEquals, Fault::OpenQuote, Fault::NoEquals, Fault::AfterValue]);
        assert!(text.contains("guestinfo.b <masked>\n"), "{text}");
    }

    #[test]
    fn the_lines_of_a_value_that_does_not_close_are_hidden_and_settings_below_it_count() {
        let (file, text) = shown("guestinfo.userdata = \"QUFB\nHIDDEN==\nx HIDDEN\nmemSize = 4096\nnumvcpus = \"2\"\n");
        assert!(!text.contains("HIDDEN"), "{text}");
        assert_eq!(
            (file.value("memSize"), file.value("numvcpus"), file.get("HIDDEN")),
            (Some("4096"), Some("2"), None)
        );
    }
}
