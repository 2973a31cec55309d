//! A machine answers garbage.

use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _};

use super::{Fault, Of};

pub(super) const FAULT: Fault = Fault {
    name: "garbage",
    title: "garbage for answers",
    description: "Answers break off in the middle, and random bytes with control sequences follow, as from a broken disk or \
                  a program that is not what it seems",
    of: Of::All,
    lasts: true,
    act: |host, on| host.change_line(|line| line.garbled = on),
};

/// Control sequences of a terminal, which must never reach one.
const SEQUENCES: &[u8] = b"\x1b[2J\x1b[31m\x1b]0;garbage\x07\r\x08\x00\xff\xfe";

/// What becomes of an answer: it breaks off, or it is no answer at all. (Single characters never change in it: a checksum of
/// the connection would see that, and a value that looks whole would be believed by everybody.)
pub fn of(answer: &[u8], random: &mut StdRng) -> Vec<u8> {
    if answer.is_empty() {
        return Vec::new();
    }
    if random.random_ratio(1, 3) {
        return answer[..random.random_range(0..answer.len())].to_vec();
    }
    let mut bytes = vec![0; answer.len()];
    random.fill_bytes(&mut bytes);
    if random.random_ratio(1, 2) {
        bytes.splice(0..0, SEQUENCES.iter().copied());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn an_answer_is_not_what_it_was_and_the_same_for_one_seed() {
        let answer: Vec<u8> = (0..200).map(|number| b'a' + (number % 26)).collect();
        let mut changed = 0;
        for seed in 0..100 {
            let garbage = of(&answer, &mut StdRng::seed_from_u64(seed));
            assert_eq!(garbage, of(&answer, &mut StdRng::seed_from_u64(seed)));
            changed += usize::from(garbage != answer);
        }
        assert_eq!(changed, 100);
        assert!(of(b"", &mut StdRng::seed_from_u64(1)).is_empty());
    }
}
