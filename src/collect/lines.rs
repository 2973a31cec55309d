//! Bytes of a stream become lines.

/// A line that is longer is dropped: no honest line of a stream is.
const LONGEST: usize = 1 << 20;

/// Takes pieces, gives whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    too_long: bool,
}

impl Lines {
    /// Takes a piece; gives the lines that are complete now, without their ends. Bytes that are no UTF-8 are replaced.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            if self.partial.len() + text.len() > LONGEST {
                self.too_long = true;
                self.partial = Vec::new();
            } else if !self.too_long {
                self.partial.extend_from_slice(text);
            }
            if ended {
                if !std::mem::take(&mut self.too_long) {
                    lines.push(String::from_utf8_lossy(&self.partial).into_owned());
                }
                self.partial.clear();
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_without_end_takes_no_memory_and_is_dropped() {
        let mut lines = Lines::default();
        for _ in 0..40 {
            assert!(lines.push(&vec![b'x'; 1 << 16]).is_empty());
        }
        assert!(lines.partial.len() <= LONGEST);
        assert_eq!(lines.push(b"end\nnext\n"), ["next"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn pieces_do_not_matter(text in "[a\n\0é]{0,30}", cut in 1..5usize) {
            let mut lines = Lines::default();
            let given: Vec<String> = text.as_bytes().chunks(cut).flat_map(|piece| lines.push(piece)).collect();
            let mut expected: Vec<&str> = text.split('\n').collect();
            expected.pop();
            prop_assert_eq!(given, expected);
        }
    }
}
