//! What is wrong with a configuration, told so that it can be mended: file, line, what was found, and the nearest right
//! name.

use std::fmt;

use crate::fabric::Text;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Defect {
    /// File, variable or option it stands in, as the user knows it.
    pub place: String,
    /// Line in a file, from 1; 0 where there are no lines.
    pub line: u32,
    /// What is wrong and what would be right.
    pub what: String,
}

impl Defect {
    /// Something wrong in a place that has no lines: an option, a variable, a file that cannot be read.
    pub fn somewhere(place: &str, what: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: 0, what: what.into() }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.place, self.what),
            line => write!(formatter, "{}:{line}: {}", self.place, self.what),
        }
    }
}

/// All that is wrong with a configuration, in the order of lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Defects(pub Vec<Defect>);

impl From<Defect> for Defects {
    fn from(defect: Defect) -> Self {
        Self(vec![defect])
    }
}

/// A name out of a file in quotes, cleaned: files may hold anything.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", Text::new(name))
}

/// The known name that `name` was most likely meant to be, if one is near enough.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_lowercase();
    // At most half of the shorter one may be wrong: "lunix" is meant to be "linux", "vm" is not meant to be "up".
    let allowed = |candidate: &str| (name.chars().count().min(candidate.chars().count()) / 2).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The second half of a sentence about a wrong name: what it was likely meant to be, or what there is.
pub(crate) fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(candidate) => format!("; did you mean {}?", quoted(candidate)),
        None => format!("; known here: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["theme", "keymap", "glyphs", "low_bandwidth"];
        assert_eq!(nearest("thme", known), Some("theme"));
        assert_eq!(nearest("Theme", known), Some("theme"));
        assert_eq!(nearest("htmee", known), Some("theme"));
        assert_eq!(nearest("low-bandwith", known), Some("low_bandwidth"));
        assert_eq!(nearest("color", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("lunix", ["linux", "esxi"]), Some("linux"));
        assert_eq!(nearest("vlan", ["vm", "port"]), None);
    }

    #[test]
    fn defects_say_where() {
        let defect = Defect { place: "config.toml".to_owned(), line: 7, what: "wrong".to_owned() };
        assert_eq!(defect.to_string(), "config.toml:7: wrong");
        let other = Defect::somewhere("RDMASCOPE_THEME", "wrong");
        assert_eq!(Defects(vec![defect, other]).to_string(), "config.toml:7: wrong\nRDMASCOPE_THEME: wrong");
    }
}
