//! Output that is kept up to a limit and counted beyond it.

use crate::probe::dialect::sections::{MOST_OF_BATCH, MOST_OF_SECTION};

/// Bytes of one output.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: u64,
}

impl Kept {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(MOST_OF_SECTION.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&bytes[..kept]);
        self.cut = self.cut.saturating_add((bytes.len() - kept) as u64);
    }

    /// True once so much was dropped that reading on is pointless.
    pub(super) fn is_flooded(&self) -> bool {
        self.cut > MOST_OF_BATCH
    }
}
