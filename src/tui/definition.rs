//! Reading of themes and key maps: small TOML files of tables whose values are all strings. A mistake in one of them is
//! an error that names the file, the line and the nearest right name; nothing is skipped in silence.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fabric::text::clean_line;

/// A mistake in a theme or a key map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}{message}", if *line == 0 { " ".to_owned() } else { format!("{line}: ") })]
pub struct DefinitionError {
    /// The file, as the reader named it.
    pub file: String,
    /// The line, from 1; 0 where the file as a whole is wrong.
    pub line: usize,
    /// What is wrong and, where it can be guessed, what was meant.
    pub message: String,
}

/// All of a file.
pub(super) struct Document {
    /// What stands before the first table.
    pub head: Vec<Entry>,
    /// Its tables, in the order of the file.
    pub tables: Vec<Table>,
}

/// One table of a file.
pub(super) struct Table {
    /// Its name.
    pub name: String,
    /// The line of its name, from 1.
    pub line: usize,
    /// Its entries in the order of the file.
    pub entries: Vec<Entry>,
}

/// One `key = "value"`.
pub(super) struct Entry {
    /// What stands on the left.
    pub key: String,
    /// What stands on the right.
    pub value: String,
    /// The line of the key, from 1.
    pub line: usize,
}

/// A file being read: its name and text, for errors with a line.
pub(super) struct Source<'text> {
    file: &'text str,
    text: &'text str,
}

impl<'text> Source<'text> {
    /// `file` is only named in errors.
    pub fn new(file: &'text str, text: &'text str) -> Self {
        Self { file, text }
    }

    /// An error at a line. What it quotes of the file may hold anything, and is cleaned.
    pub fn error(&self, line: usize, message: impl Into<String>) -> DefinitionError {
        DefinitionError { file: clean_line(self.file), line, message: clean_line(&message.into()) }
    }

    /// All tables in the order of the file.
    #[cfg(test)]
    pub fn tables(&self) -> Result<Vec<Table>, DefinitionError> {
        self.document(&[]).map(|document| document.tables)
    }

    /// The whole file. Entries before the first table are taken only if they are named in `heads`.
    pub fn document(&self, heads: &[&str]) -> Result<Document, DefinitionError> {
        let parsed = DeTable::parse(self.text)
            .map_err(|error| self.error(self.line(error.span().map_or(0, |span| span.start)), error.message()))?;
        let mut document = Document { head: Vec::new(), tables: Vec::new() };
        for (name, value) in in_file_order(parsed.get_ref()) {
            if heads.contains(&name.get_ref().as_ref()) {
                document.head.push(self.entry(name, value)?);
            } else {
                document.tables.push(self.table(name, value)?);
            }
        }
        Ok(document)
    }

    fn table(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Table, DefinitionError> {
        let line = self.line(name.span().start);
        let DeValue::Table(content) = value.get_ref() else {
            return Err(self.error(line, format!("`{}` stands outside of any [table]", name.get_ref())));
        };
        let entries =
            in_file_order(content).into_iter().map(|(key, value)| self.entry(key, value)).collect::<Result<_, _>>()?;
        Ok(Table { name: name.get_ref().to_string(), line, entries })
    }

    fn entry(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Entry, DefinitionError> {
        let line = self.line(key.span().start);
        match value.get_ref().as_str() {
            Some(text) => Ok(Entry { key: key.get_ref().to_string(), value: text.to_owned(), line }),
            None => Err(self.error(
                line,
                format!("`{}` must be a text in quotes, this is a TOML {}", key.get_ref(), value.get_ref().type_str()),
            )),
        }
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
    }
}

type Content<'a, 'i> = Vec<(&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)>;

fn in_file_order<'a, 'i>(table: &'a DeTable<'i>) -> Content<'a, 'i> {
    let by_position: BTreeMap<usize, _> = table.iter().map(|(key, value)| (key.span().start, (key, value))).collect();
    by_position.into_values().collect()
}

/// `; did you mean ...?` with the candidate nearest to a misspelt name, or nothing if none is near.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .filter(|(likeness, _)| *likeness > 0.75)
        .map_or_else(String::new, |(_, candidate)| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_quotes_reaches_no_terminal_as_it_is() {
        let error = Source::new("a\u{1b}[2J.toml", "").error(3, "nothing is named `a\u{1b}[31mx`");
        assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
    }

    #[test]
    fn tables_and_entries_come_in_the_order_of_the_file_with_their_lines() {
        let text = "# comment\n[zebra]\nb = \"1\"\na = \"2\"\n\n[ant]\n\"g g\" = \"3\"\n";
        let tables = Source::new("f.toml", text).tables().expect("valid");
        assert_eq!(
            tables.iter().map(|table| (table.name.as_str(), table.line)).collect::<Vec<_>>(),
            [("zebra", 2), ("ant", 6)]
        );
        let entries: Vec<_> =
            tables.iter().flat_map(|table| &table.entries).map(|entry| (entry.key.as_str(), entry.line)).collect();
        assert_eq!(entries, [("b", 3), ("a", 4), ("g g", 7)]);
    }

    #[test]
    fn broken_toml_a_bare_key_and_a_number_name_file_and_line() {
        let error = |text: &str| Source::new("f.toml", text).tables().err().expect("an error").to_string();
        assert!(
            error("[a]\nb = \"1\"\nb = \"2\"\n").starts_with("f.toml:3: duplicate key"),
            "{}",
            error("[a]\nb = \"1\"\nb = \"2\"\n")
        );
        assert_eq!(error("x = \"1\"\n"), "f.toml:1: `x` stands outside of any [table]");
        let head = Source::new("f.toml", "x = \"1\"\n[a]\n").document(&["x"]).map(|document| document.head.len());
        assert_eq!(head, Ok(1));
        assert_eq!(error("[a]\n\nx = 1\n"), "f.toml:3: `x` must be a text in quotes, this is a TOML integer");
    }

    #[test]
    fn the_nearest_name_is_offered_only_if_it_is_near() {
        assert_eq!(nearest("freze", ["zoom-in", "freeze", "filter"]), "; did you mean `freeze`?");
        assert_eq!(nearest("xyzzy", ["zoom-in", "freeze"]), "");
    }
}
