//! Walks a parsed TOML document and keeps the line of everything, so that each wrong key and each wrong type is told
//! with its place. All defects of a file are collected; what is wrong is left out.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Defect, quoted, suggestion};

/// A key as it stands in the file.
pub(super) type Key<'t> = Spanned<std::borrow::Cow<'t, str>>;
/// A value as it stands in the file.
pub(super) type Item<'t> = Spanned<DeValue<'t>>;

/// Reads one file.
pub(super) struct Reader<'t> {
    place: &'t str,
    line_starts: Vec<usize>,
    defects: Vec<Defect>,
}

impl<'t> Reader<'t> {
    /// Parses `text` of the file that the user knows as `place`. What follows a syntax error is still read where the
    /// parser can find its way again.
    pub(super) fn parse(place: &'t str, text: &'t str) -> (Self, DeTable<'t>) {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut reader = Self { place, line_starts, defects: Vec::new() };
        let (document, errors) = DeTable::parse_recoverable(text);
        let mut last = 0;
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            // The first complaint about a line says it; the others come of finding the way again.
            if reader.line(at) != last {
                last = reader.line(at);
                reader.defect(at, crate::fabric::Text::new(&error.message().replace('\n', ", ")).to_string());
            }
        }
        (reader, document.into_inner())
    }

    /// The line, from 1, of a byte offset.
    pub(super) fn line(&self, offset: usize) -> u32 {
        u32::try_from(self.line_starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    /// The file, as the user knows it.
    pub(super) fn place(&self) -> &str {
        self.place
    }

    /// Notes that something at `offset` is wrong.
    pub(super) fn defect(&mut self, offset: usize, what: impl Into<String>) {
        let line = self.line(offset);
        self.defects.push(Defect { place: self.place.to_owned(), line, what: what.into() });
    }

    /// Everything found wrong, in the order of lines.
    pub(super) fn into_defects(self) -> Vec<Defect> {
        let unique: BTreeSet<Defect> = self.defects.into_iter().collect();
        unique.into_iter().collect()
    }

    /// Notes an unknown key; `within` names the table (` in [[target]]`) or is empty.
    pub(super) fn unknown_key(&mut self, key: &Key<'_>, within: &str, known: &[&str]) {
        let name = key.get_ref();
        let hint = suggestion(name, known.iter().copied());
        self.defect(key.span().start, format!("unknown key {}{within}{hint}", quoted(name)));
    }

    fn wrong_type(&mut self, name: &str, item: &Item<'_>, wanted: &str) {
        let found = shown(item.get_ref());
        self.defect(item.span().start, format!("\"{name}\" must be {wanted}, not {found}"));
    }

    /// A text.
    pub(super) fn text(&mut self, name: &str, item: &Item<'_>) -> Option<String> {
        let text = item.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(name, item, "a text in quotes");
        }
        text
    }

    /// A text that is shown and compared: not empty, without control characters.
    pub(super) fn label(&mut self, name: &str, item: &Item<'_>) -> Option<String> {
        let text = self.text(name, item)?;
        if text.trim().is_empty() {
            self.defect(item.span().start, format!("\"{name}\" is empty"));
            return None;
        }
        if crate::fabric::Text::new(&text) != text.as_str() {
            self.defect(
                item.span().start,
                format!(
                    "\"{name}\" holds characters that cannot be shown, begins or ends with a blank, or is too long"
                ),
            );
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &str, item: &Item<'_>) -> Option<bool> {
        let flag = item.get_ref().as_bool();
        if flag.is_none() {
            self.wrong_type(name, item, "true or false");
        }
        flag
    }

    /// A whole number that is not negative.
    pub(super) fn number(&mut self, name: &str, item: &Item<'_>) -> Option<u64> {
        let number = item
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok());
        if number.is_none() {
            self.wrong_type(name, item, "a whole number that is not negative");
        }
        number
    }

    /// A number that is not negative, with its unit where one is written: `5`, `0.5`, `"30 seconds"`.
    pub(super) fn quantity(&mut self, name: &str, item: &Item<'_>) -> Option<(f64, Option<String>)> {
        let text = match item.get_ref() {
            DeValue::Integer(number) => {
                let number = i64::from_str_radix(&number.as_str().replace('_', ""), number.radix());
                number.map(|number| number.to_string()).unwrap_or_default()
            }
            DeValue::Float(number) => number.as_str().replace('_', ""),
            DeValue::String(text) => text.to_string(),
            _ => String::new(),
        };
        let (number, unit) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        match number.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) if number < 0.0 => {
                self.defect(item.span().start, format!("{} must not be negative", quoted(name)));
                None
            }
            Some(number) => Some((number, Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty()))),
            None => {
                let found = shown(item.get_ref());
                let what =
                    format!("{} must be a number, or a number and its unit in quotes, not {found}", quoted(name));
                self.defect(item.span().start, what);
                None
            }
        }
    }

    /// A day: `2027-01-31`, in quotes or without.
    pub(super) fn date(&mut self, name: &str, item: &Item<'_>) -> Option<jiff::civil::Date> {
        let text = match item.get_ref() {
            DeValue::Datetime(moment) => moment.to_string(),
            DeValue::String(text) => text.to_string(),
            _ => String::new(),
        };
        let day = (text.len() == 10).then(|| text.parse().ok()).flatten();
        if day.is_none() {
            self.wrong_type(name, item, "a day, 2027-01-31");
        }
        day
    }

    /// A list of labels.
    pub(super) fn labels(&mut self, name: &str, item: &Item<'_>) -> Vec<String> {
        let Some(array) = item.get_ref().as_array() else {
            self.wrong_type(name, item, "a list of texts, [\"one\", \"two\"]");
            return Vec::new();
        };
        array.iter().filter_map(|element| self.label(name, element)).collect()
    }

    /// A table.
    pub(super) fn table<'i, 'd>(&mut self, name: &str, item: &'i Item<'d>) -> Option<&'i DeTable<'d>> {
        let table = item.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(name, item, "a table");
        }
        table
    }
}

/// What stands there, in words and short.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {}", quoted(text)),
        DeValue::Integer(number) => format!("the number {}", crate::fabric::Text::new(&number.to_string())),
        DeValue::Float(number) => format!("the number {}", crate::fabric::Text::new(number.as_str())),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
