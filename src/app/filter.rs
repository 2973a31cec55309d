//! The filter of trees, tables and events: words that must all be there; `!word` must not be; letter case matters only
//! where the word has a capital letter.

use serde::{Deserialize, Serialize};

/// A filter as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Term {
    text: String,
    wanted: bool,
    exact_case: bool,
}

impl Filter {
    /// Reads a filter.
    pub fn new(text: &str) -> Self {
        let terms = text
            .split_whitespace()
            .filter_map(|word| {
                let (word, wanted) = word.strip_prefix('!').map_or((word, true), |rest| (rest, false));
                (!word.is_empty()).then(|| Term {
                    text: word.to_owned(),
                    wanted,
                    exact_case: word.chars().any(char::is_uppercase),
                })
            })
            .collect();
        Self { text: text.to_owned(), terms }
    }

    /// The filter as typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if everything passes.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if a line passes.
    pub fn passes(&self, line: &str) -> bool {
        if self.terms.is_empty() {
            return true;
        }
        let lower = line.to_lowercase();
        self.terms.iter().all(|term| {
            let there = if term.exact_case { line.contains(&term.text) } else { lower.contains(&term.text) };
            there == term.wanted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_must_be_there_and_negated_ones_must_not() {
        for (filter, line, passes) in [
            ("", "anything", true),
            ("eth1", "netdev eth1 up", true),
            ("eth1 down", "netdev eth1 up", false),
            ("ETH1", "netdev eth1 up", false),
            ("active", "rxe0/1 ACTIVE", true),
            ("!active", "rxe0/1 ACTIVE", false),
            ("!down eth", "eth1 up", true),
            ("!", "anything", true),
            ("  ", "anything", true),
        ] {
            assert_eq!(Filter::new(filter).passes(line), passes, "{filter:?} on {line:?}");
        }
    }
}
