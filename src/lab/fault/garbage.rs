//! A machine answers garbage.

use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _};

use super::Fault;

pub(super) const FAULT: Fault = Fault {
    name: "garbage",
    title: "garbage for answers",
    description: "Answers are random bytes, break off in the middle or carry control sequences, as from a broken disk or a \
                  program that is not what it seems",
    lasts: true,
    act: |host, on| host.change_line(|line| line.garbled = on),
};

/// Control sequences of a terminal, which must never reach one.
const SEQUENCES: &[u8] = b"\x1b[2J\x1b[31m\x1b]0;garbage\x07\r\x08\x00\xff\xfe";

/// What becomes of an answer.
pub fn of(answer: &[u8], random: &mut StdRng) -> Vec<u8> {
    if answer.is_empty() {
        return Vec::new();
    }
    match random.random_range(0..4) {
        0 => answer[..random.random_range(0..answer.len())].to_vec(),
        1 => {
            let mut bytes = vec![0; answer.len()];
            random.fill_bytes(&mut bytes);
            bytes
        }
        2 => {
            let mut bytes = answer.to_vec();
            for _ in 0..=bytes.len() / 16 {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
            bytes
        }
        _ => {
            let (head, tail) = answer.split_at(random.random_range(0..answer.len()));
            [head, SEQUENCES, tail].concat()
        }
    }
}

/// True if a batch breaks off after this answer: one in forty.
pub fn breaks_off(random: &mut StdRng) -> bool {
    random.random_ratio(1, 40)
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
