//! The list of a VM's snapshots (`.vmsd`): the grammar of a VMX. Keys of one snapshot need not stand together, and the file
//! can count more snapshots than it describes.

use std::collections::BTreeMap;

use super::dictionary::Dictionary;

/// One snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// N of its keys `snapshotN.*`.
    pub number: u32,
    /// Its unique id.
    pub uid: Option<u64>,
    /// Its name.
    pub name: Option<String>,
    /// Unique id of the one before it; `None` for the first.
    pub parent: Option<u64>,
    /// When it was taken, in microseconds since 1970 (UTC).
    pub microseconds: Option<u64>,
}

/// What a VMSD says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    /// How many there are by the file's own count; `None` if it does not count.
    pub counted: Option<u64>,
    /// Unique id of the current one.
    pub current: Option<u64>,
    /// Those that it describes, by number.
    pub described: Vec<Snapshot>,
}

impl Snapshots {
    /// Reads a VMSD; an empty one is that of a VM without snapshots.
    pub fn read(file: &Dictionary) -> Self {
        // The file may come from anybody: a list would be searched for each of its lines.
        let mut described: BTreeMap<u32, Snapshot> = BTreeMap::new();
        for entry in file.entries() {
            let key = entry.key.to_ascii_lowercase();
            let Some((number, name)) = key.strip_prefix("snapshot").and_then(|rest| rest.split_once('.')) else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            let snapshot = described.entry(number).or_insert_with(|| Snapshot { number, ..Snapshot::default() });
            match name {
                "uid" => snapshot.uid = entry.value.trim().parse().ok(),
                "parent" => snapshot.parent = entry.value.trim().parse().ok(),
                "displayname" => snapshot.name = Some(entry.value.clone()),
                "createtimehigh" | "createtimelow" => {
                    let part = |name: &str| half(file.value(&format!("snapshot{number}.{name}"))?);
                    let both = part("createTimeHigh").zip(part("createTimeLow"));
                    snapshot.microseconds = both.map(|(high, low)| u64::from(high) << 32 | u64::from(low));
                }
                _ => {}
            }
        }
        Self {
            counted: file.number("snapshot.numSnapshots"),
            current: file.number("snapshot.current"),
            described: described.into_values().collect(),
        }
    }

    /// How many snapshots there are: the larger of what is counted and what is described.
    pub fn count(&self) -> u64 {
        self.counted.unwrap_or(0).max(self.described.len() as u64)
    }
}

/// One half of a time: 32 bits, which some versions print with a sign.
fn half(text: &str) -> Option<u32> {
    let number: i64 = text.trim().parse().ok()?;
    u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::testing;

    const REAL: &str = include_str!("../../../tests/fixtures/public/112-vmsd-interleaved-keys.txt");

    fn read(text: &str) -> Snapshots {
        Snapshots::read(&Dictionary::parse(text.as_bytes()))
    }

    #[test]
    fn keys_stand_in_any_order_and_the_count_rules() {
        let snapshots = read(REAL);
        assert_eq!((snapshots.counted, snapshots.current, snapshots.count()), (Some(4), Some(4), 4));
        let [first, second] = &snapshots.described[..] else { panic!("two are described: {snapshots:?}") };
        assert_eq!((first.name.as_deref(), first.parent), (Some("SNAPSHOT POST INSTALL"), None));
        assert_eq!((second.name.as_deref(), second.parent), (Some("SECOND"), Some(1)));
        // 388745 * 2^32 + 1991180826 microseconds: 28 November 2022.
        assert_eq!(first.microseconds, Some(1_669_649_052_664_346));
    }

    #[test]
    fn a_negative_half_is_the_same_bits() {
        assert_eq!(half("-1"), Some(u32::MAX));
        assert_eq!(half("-2147483648"), Some(0x8000_0000));
        assert_eq!(half("4294967296"), None);
    }

    #[test]
    fn no_snapshot_is_none() {
        assert_eq!(read("").count(), 0);
        assert_eq!(read(".encoding = \"UTF-8\"\nsnapshot.numSnapshots = \"0\"\n").count(), 0);
        assert_eq!(read("snapshot0.uid = \"1\"\n").count(), 1);
    }

    /// As many snapshots as a file of 4 MiB can name: a search for each of them would take minutes.
    #[test]
    fn a_file_full_of_snapshots_is_read_in_time() {
        let line = |number| format!("snapshot{number}.x=1\n");
        let text: String = (0..200_000).rev().map(line).collect();
        let snapshots = read(&text);
        assert_eq!(snapshots.count(), 200_000);
        assert!(snapshots.described.iter().zip(0..).all(|(one, number)| one.number == number));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::CASES))]

        #[test]
        fn damaged_files_are_survived(text in testing::mutated_texts(&[REAL])) {
            let snapshots = read(&text);
            prop_assert!(snapshots.described.windows(2).all(|pair| pair[0].number < pair[1].number));
        }
    }
}
