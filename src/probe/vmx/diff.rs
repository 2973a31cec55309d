//! What differs between two VMX: names without regard to letter case, values as the host reads them. Order, comments,
//! quotes and letter case of names are no difference.

use super::dictionary::{Dictionary, Entry};

/// A name that the two files do not assign alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    /// The name as the first file that has it writes it.
    pub key: &'a str,
    /// The assignment of the one file; `None` if it has none.
    pub one: Option<&'a Entry>,
    /// That of the other.
    pub other: Option<&'a Entry>,
}

/// All names whose values differ, in the order of the one file, then of the other.
pub fn differences<'a>(one: &'a Dictionary, other: &'a Dictionary) -> Vec<Difference<'a>> {
    let value = |entry: &'a Entry| entry.value.as_str();
    // Only the first assignment of a name is looked at: with a second one the host does not load the file at all.
    let first =
        |file: &'a Dictionary, entry: &Entry| file.get(&entry.key).is_some_and(|first| first.line == entry.line);
    let mut differences: Vec<Difference<'a>> = one
        .entries()
        .filter(|entry| first(one, entry))
        .map(|entry| Difference { key: &entry.key, one: Some(entry), other: other.get(&entry.key) })
        .filter(|difference| difference.one.map(value) != difference.other.map(value))
        .collect();
    let only_other = other.entries().filter(|entry| first(other, entry) && one.get(&entry.key).is_none());
    differences.extend(only_other.map(|entry| Difference { key: &entry.key, one: None, other: Some(entry) }));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_told() {
        let one = Dictionary::parse(b"a = \"1\"\nB = \"2\"\nc = 3\nd = \"x\"\n");
        let other = Dictionary::parse(b"# twin\ne = \"5\"\nC = \"3\"\nb = \"4\"\na = \"1\"\n");
        let found: Vec<_> = differences(&one, &other)
            .into_iter()
            .map(|d| (d.key, d.one.map(|e| e.value.as_str()), d.other.map(|e| e.value.as_str())))
            .collect();
        assert_eq!(found, [("B", Some("2"), Some("4")), ("d", Some("x"), None), ("e", None, Some("5"))]);
        assert!(differences(&one, &one).is_empty());
    }
}
