//! How well a typed text fits an entry: its letters must occur in order, and count more at the starts of words and side by
//! side. A few dozen short entries: the plain way is fast enough.

/// What a text matched with, and how well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The higher, the better.
    pub score: i32,
    /// Indexes of the matched characters in the title, ascending.
    pub positions: Vec<usize>,
}

const LETTER: i32 = 16;
const WORD_START: i32 = 10;
const SIDE_BY_SIDE: i32 = 12;
const FIRST: i32 = 6;
/// What a word found in the detail counts, far below one found in the title.
const IN_DETAIL: i32 = 8;
/// The most that a gap costs.
const LONGEST_GAP: usize = 8;

/// How well all words of `query` fit: each must occur in the title, letter after letter, or begin a word of the detail. `None`
/// if one does not; an empty query fits everything.
pub fn matched(query: &str, title: &str, detail: &str) -> Option<Match> {
    let title: Vec<char> = title.chars().map(lower).collect();
    let detail: Vec<char> = detail.chars().map(lower).collect();
    let mut all = Match::default();
    for word in query.split_whitespace() {
        let word: Vec<char> = word.chars().map(lower).collect();
        if let Some(found) = subsequence(&word, &title) {
            all.score += found.score;
            all.positions.extend(found.positions);
        } else if begins_word(&detail, &word) {
            all.score += IN_DETAIL;
        } else {
            return None;
        }
    }
    // Of two that fit equally well the shorter one says more exactly what was typed.
    all.score -= i32::try_from(title.len()).unwrap_or(i32::MAX).min(60) / 4;
    all.positions.sort_unstable();
    all.positions.dedup();
    Some(all)
}

fn begins_word(text: &[char], word: &[char]) -> bool {
    (0..text.len()).any(|index| starts_word(text, index) && text[index..].starts_with(word))
}

fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// The best of the ways in which the letters of `word` occur in `text` in this order, one for each place to begin.
fn subsequence(word: &[char], text: &[char]) -> Option<Match> {
    let first = word.first()?;
    let starts = text.iter().enumerate().filter(|(_, character)| *character == first).map(|(index, _)| index);
    let mut best: Option<Match> = None;
    for start in starts {
        if let Some(found) = from(start, word, text)
            && best.as_ref().is_none_or(|best| found.score > best.score)
        {
            best = Some(found);
        }
    }
    best
}

fn from(start: usize, word: &[char], text: &[char]) -> Option<Match> {
    let mut positions = Vec::with_capacity(word.len());
    let mut next = start;
    for letter in word {
        let rest = text.get(next..)?;
        // The start of a word further on is what people abbreviate by.
        let plain = rest.iter().position(|character| character == letter)?;
        let offset = if plain == 0 || starts_word(text, next + plain) {
            plain
        } else {
            (plain..rest.len())
                .find(|offset| rest[*offset] == *letter && starts_word(text, next + offset))
                .filter(|offset| can_follow(word, positions.len(), &rest[offset + 1..]))
                .unwrap_or(plain)
        };
        positions.push(next + offset);
        next += offset + 1;
    }
    Some(Match { score: score(&positions, text), positions })
}

/// True if the letters after the one at `index` still occur in what is left.
fn can_follow(word: &[char], index: usize, rest: &[char]) -> bool {
    let mut rest = rest.iter();
    word[index + 1..].iter().all(|letter| rest.any(|character| character == letter))
}

fn starts_word(text: &[char], index: usize) -> bool {
    index == 0 || !text[index - 1].is_alphanumeric()
}

fn score(positions: &[usize], text: &[char]) -> i32 {
    let mut score = if positions.first() == Some(&0) { FIRST } else { 0 };
    let mut before: Option<usize> = None;
    for position in positions {
        score += LETTER;
        if starts_word(text, *position) {
            score += WORD_START;
        }
        if let Some(before) = before {
            let gap = position - before - 1;
            score += if gap == 0 { SIDE_BY_SIDE } else { -i32::try_from(gap.min(LONGEST_GAP)).unwrap_or(0) };
        }
        before = Some(*position);
    }
    score
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn best<'a>(query: &str, titles: &[&'a str]) -> Vec<&'a str> {
        let mut found: Vec<(i32, &str)> =
            titles.iter().filter_map(|title| Some((matched(query, title, "")?.score, *title))).collect();
        found.sort_by_key(|(score, _)| -score);
        found.into_iter().map(|(_, title)| title).collect()
    }

    #[test]
    fn letters_in_order_fit_and_starts_of_words_and_neighbours_come_first() {
        let titles = ["previous-target", "next-target", "panel-events", "next-mark", "theme light", "go to softroce1"];
        assert_eq!(best("nt", &titles)[0], "next-target");
        assert_eq!(best("nm", &titles)[0], "next-mark");
        assert_eq!(best("pe", &titles)[0], "panel-events");
        assert_eq!(best("roce1", &titles), ["go to softroce1"]);
        assert_eq!(best("light", &titles), ["theme light"]);
        assert_eq!(best("zzz", &titles), Vec::<&str>::new());
        assert_eq!(best("", &titles).len(), titles.len());
        assert_eq!(best("copy", &["copy-row", "copy"])[0], "copy", "the exact one");
    }

    #[test]
    fn every_word_must_fit_in_any_order_and_case_does_not_matter() {
        assert_eq!(
            matched("ROCE go", "go to softroce1", "").map(|found| found.positions),
            Some(vec![0, 1, 10, 11, 12, 13])
        );
        assert_eq!(matched("go esx", "go to softroce1", ""), None);
        let (title, detail) = (matched("stand", "stand still", ""), matched("stand", "freeze", "graphs stand still"));
        assert!(title.expect("in the title").score > detail.expect("in the detail").score);
        assert_eq!(matched("till", "freeze", "graphs stand still"), None, "the inside of a word says nothing");
    }

    proptest! {
        #[test]
        fn matched_letters_are_those_that_were_typed(query in "[a-c -]{0,6}", title in "[a-cA-C é-]{0,20}") {
            if let Some(found) = matched(&query, &title, "") {
                let characters: Vec<char> = title.chars().collect();
                prop_assert!(found.positions.windows(2).all(|pair| pair[0] < pair[1]));
                for position in &found.positions {
                    prop_assert!(query.contains(lower(characters[*position])));
                }
            }
        }

        #[test]
        fn whatever_has_the_letters_in_order_fits(title in "[a-z -]{1,30}", kept in proptest::collection::vec(any::<bool>(), 30)) {
            let query: String =
                title.chars().zip(kept).filter(|(character, kept)| *kept && character.is_alphabetic()).map(|(c, _)| c).collect();
            prop_assert!(matched(&query, &title, "").is_some(), "{:?} in {:?}", query, title);
        }
    }
}
