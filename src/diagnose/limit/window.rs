//! N of M with hysteresis: a condition holds once it was met often enough in the last rows, and ends only when it is hardly
//! met any more, by a limit that is easier to meet. Rows in which it cannot be told count for neither.

/// How often of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Begins when this many rows meet it.
    pub raise: usize,
    /// Ends when no more than this many rows do.
    pub clear: usize,
    /// Of so many last rows.
    pub of: usize,
}

/// Rows of a GPU: one a second or two.
pub const GPU: Rule = Rule { raise: 4, clear: 1, of: 6 };
/// Rows of `esxtop`, one in five seconds, and of VMware Tools.
pub const HOST: Rule = Rule { raise: 3, clear: 1, of: 4 };

/// What the last rows say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// There are fewer rows than it takes.
    TooFew,
    /// There are rows enough, and too few of them tell it.
    Untold,
    /// It holds: in so many of so many rows.
    Holds(usize, usize),
    /// It does not.
    Clear,
}

impl Rule {
    /// Looks at the last rows: each says whether it meets the strict limit and the easier one. `raised` says whether the
    /// condition held before, and is set to whether it holds now.
    pub fn look(self, raised: &mut bool, rows: impl ExactSizeIterator<Item = Option<(bool, bool)>>) -> Seen {
        let skipped = rows.len().saturating_sub(self.of);
        let (mut rows_seen, mut told, mut strict, mut easy) = (0, 0, 0, 0);
        for row in rows.skip(skipped) {
            rows_seen += 1;
            if let Some((meets, meets_easier)) = row {
                told += 1;
                strict += usize::from(meets);
                easy += usize::from(meets_easier);
            }
        }
        let holds = if *raised { easy > self.clear } else { strict >= self.raise };
        *raised = holds;
        match holds {
            true => Seen::Holds(if strict >= self.raise { strict } else { easy }, rows_seen),
            false if rows_seen < self.of => Seen::TooFew,
            false if told < self.raise => Seen::Untold,
            false => Seen::Clear,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str) -> Vec<Option<(bool, bool)>> {
        let row = |letter| match letter {
            'X' => Some((true, true)),
            'x' => Some((false, true)),
            '-' => Some((false, false)),
            _ => None,
        };
        text.chars().map(row).collect()
    }

    fn look(raised: &mut bool, text: &str) -> Seen {
        GPU.look(raised, rows(text).into_iter())
    }

    #[test]
    fn it_begins_with_many_and_ends_with_few() {
        let mut raised = false;
        assert_eq!(look(&mut raised, "XXX"), Seen::TooFew);
        assert_eq!(look(&mut raised, "XXX---"), Seen::Clear, "three of six are not enough");
        assert_eq!(look(&mut raised, "xxxxxx"), Seen::Clear, "nor is the easier limit");
        assert_eq!(look(&mut raised, "XX-XX-"), Seen::Holds(4, 6));
        assert_eq!(look(&mut raised, "--x-x-"), Seen::Holds(2, 6), "it goes on with less");
        assert_eq!(look(&mut raised, "----x-"), Seen::Clear);
        assert_eq!(look(&mut raised, "--x-x-"), Seen::Clear, "and does not begin anew with that");
        assert_eq!(look(&mut raised, "------XXXX--"), Seen::Holds(4, 6), "only the last ones count");
        raised = false;
        assert_eq!(look(&mut raised, "?????X"), Seen::Untold, "what is not told is no zero");
        assert_eq!(look(&mut raised, "XXXX"), Seen::Holds(4, 4), "four are enough, whatever the others will be");
    }

    proptest! {
        /// A condition that is met in each second row neither flickers nor begins by itself.
        #[test]
        fn it_never_flickers(start in any::<bool>(), text in "[Xx?-]{0,40}") {
            let all = rows(&text);
            let (mut raised, mut turns) = (start, 0);
            for end in 0..=all.len() {
                let before = raised;
                GPU.look(&mut raised, all[..end].iter().copied());
                turns += usize::from(before != raised);
            }
            let met = all.iter().flatten().filter(|(strict, _)| *strict).count();
            prop_assert!(turns <= 3 + 2 * met / (GPU.raise - GPU.clear), "{turns} turns with {met} rows that meet it");
        }
    }
}
