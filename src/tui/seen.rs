//! What stood on the screen for long enough to be read. A row of a question counts as seen only then: what is accepted
//! must have been looked at, not just drawn between two keys.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::secret::PATIENCE;

/// What stands on the screen and was not seen yet.
#[derive(Debug, Default)]
pub struct Seen {
    /// Since when each row stands there; `None` is the table as a whole.
    since: BTreeMap<Option<u64>, Instant>,
}

impl Seen {
    /// The terminal has a frame with these rows; `None`: without the table. What left the screen begins anew when it
    /// comes back.
    pub fn drawn(&mut self, rows: Option<&[u64]>, now: Instant) {
        let Some(rows) = rows else {
            self.since.clear();
            return;
        };
        self.since.retain(|row, _| row.is_none_or(|row| rows.contains(&row)));
        for row in rows.iter().copied().map(Some).chain([None]) {
            self.since.entry(row).or_insert(now);
        }
    }

    /// When the next one was there long enough.
    pub fn due(&self) -> Option<Instant> {
        self.since.values().min().map(|since| *since + PATIENCE)
    }

    /// Takes out the rows that were there long enough; `None` if nothing was.
    pub fn take(&mut self, now: Instant) -> Option<Vec<u64>> {
        let mut rows = Vec::new();
        let mut any = false;
        self.since.retain(|row, since| {
            let waits = *since + PATIENCE > now;
            any |= !waits;
            rows.extend(row.filter(|_| !waits));
            waits
        });
        any.then_some(rows)
    }

    /// Nobody looks at the screen any more.
    pub fn forget(&mut self) {
        self.since.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_row_has_its_own_moment() {
        let (mut seen, now, half) = (Seen::default(), Instant::now(), PATIENCE / 2);
        assert_eq!(seen.due(), None);
        seen.drawn(Some(&[1, 2]), now);
        seen.drawn(Some(&[2, 3]), now + half);
        assert_eq!(seen.take(now + half), None);
        assert_eq!(seen.due(), Some(now + PATIENCE));
        assert_eq!(seen.take(now + PATIENCE), Some(vec![2]), "1 left the screen, 3 came later");
        assert_eq!(seen.take(now + PATIENCE + half), Some(vec![3]));
        assert_eq!(seen.due(), None);
        seen.drawn(Some(&[1]), now + 2 * PATIENCE);
        seen.drawn(None, now + 2 * PATIENCE + half);
        assert_eq!(seen.take(now + 4 * PATIENCE), None, "the table went away");
        seen.drawn(Some(&[]), now + 4 * PATIENCE);
        assert_eq!(seen.take(now + 5 * PATIENCE), Some(vec![]), "a table without room for a row");
        seen.drawn(Some(&[4]), now);
        seen.forget();
        assert_eq!(seen.due(), None);
    }
}
