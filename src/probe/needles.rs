//! Many words looked for at once, letter case aside: one pass over a text, however many words there are. Long logs are
//! sifted with it, so that only lines that can matter are looked at closely.

use std::ops::Range;

/// So many bytes of a word choose the places that are compared.
const HEAD: usize = 3;
/// So many hashes of such bytes there are.
const HASHES: usize = 1 << 15;

/// The words, each with the group it stands for: a byte, or more where there are more groups.
#[derive(Clone, Debug)]
pub(crate) struct Needles<G = u8> {
    /// Words in small letters, sorted by the hash of their first bytes.
    words: Vec<(usize, Vec<u8>, G)>,
    /// Which hashes a word has, a bit for each: small enough to stay near the processor while several lists take turns.
    heads: Box<[u64; HASHES / 64]>,
}

impl<G: Copy + Ord> Needles<G> {
    /// Words of at least three bytes with their groups. Shorter words are left out.
    pub(crate) fn new(words: impl IntoIterator<Item = (impl AsRef<str>, G)>) -> Self {
        let mut words: Vec<(usize, Vec<u8>, G)> = words
            .into_iter()
            .map(|(word, group)| (word.as_ref().to_ascii_lowercase().into_bytes(), group))
            .filter_map(|(word, group)| Some((word.get(..HEAD)?.iter().copied().fold(0, next), word, group)))
            .collect();
        words.sort();
        let mut heads = Box::new([0; HASHES / 64]);
        for (hash, ..) in &words {
            heads[hash / 64] |= 1 << (hash % 64);
        }
        Self { words, heads }
    }

    /// Calls `found` with the group of each word in the text and its place, in bytes.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(G, Range<usize>)) {
        let mut hash = 0;
        for (last, byte) in text.iter().enumerate() {
            hash = next(hash, *byte);
            if self.heads[hash / 64] >> (hash % 64) & 1 == 0 || last + 1 < HEAD {
                continue;
            }
            let at = last + 1 - HEAD;
            let first = self.words.partition_point(|(other, ..)| *other < hash);
            for (_, word, group) in self.words[first..].iter().take_while(|(other, ..)| *other == hash) {
                let end = at + word.len();
                if text.get(at..end).is_some_and(|here| here.eq_ignore_ascii_case(word)) {
                    found(*group, at..end);
                }
            }
        }
    }
}

impl Needles {
    /// The groups of which a word stands in the text, a bit for each; for groups below 64.
    pub(crate) fn groups(&self, text: &str) -> u64 {
        let mut groups = 0;
        self.each(text.as_bytes(), |group, _| groups |= 1 << group);
        groups
    }
}

/// The hash of the last three bytes, of that before the last one came; letter case does not matter to it.
#[inline]
fn next(hash: usize, byte: u8) -> usize {
    ((hash << 5) ^ usize::from(byte | 0x20)) & (HASHES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_are_found_whatever_their_case() {
        let needles = Needles::<u8>::new([("vmw_pvrdma", 0), ("PCIe", 1), ("pci", 2), ("::1", 3), ("ab", 4)]);
        assert_eq!(needles.groups("a PCIE link"), 0b110);
        assert_eq!(needles.groups("VMW_PVRDMA at ::1"), 0b1001);
        assert_eq!(needles.groups("ab pc"), 0, "a word of two bytes is left out");
        assert_eq!(needles.groups(""), 0);
        let mut places = Vec::new();
        needles.each(b"pcipci", |group, place| places.push((group, place)));
        assert_eq!(places, [(2, 0..3), (2, 3..6)]);
    }

    proptest::proptest! {
        #[test]
        fn a_word_is_found_if_it_is_contained(text in "[a-dA-D_ \u{e4}]{0,40}", words in proptest::collection::vec("[a-d_]{3,5}", 1..6)) {
            let needles = Needles::<u8>::new(words.iter().zip(0_u8..));
            let lower = text.to_ascii_lowercase();
            for (word, group) in words.iter().zip(0_u8..) {
                proptest::prop_assert_eq!(needles.groups(&text) >> group & 1 == 1, lower.contains(word));
            }
        }
    }
}
