//! Names that are written in several ways: UUIDs of a BIOS, which firmware and host print in different byte orders.

/// The sixteen bytes of a UUID, in the order in which the text has them: `564da9ac-1cee-5dd7-f1ae-a595f83d2a2d`, or as
/// a host prints it, `56 4d a9 ac 1c ee 5d d7-f1 ae a5 95 f8 3d 2a 2d`. `None` if it is none, or all zero or all ones.
pub fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b' ' | b'-' | b':' | b'{' | b'}' | b'\t'))
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if digits.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    (bytes != [0; 16] && bytes != [0xff; 16]).then_some(bytes)
}

/// The same UUID with its first three fields in the other byte order: what `dmidecode` and the kernel make of it since
/// SMBIOS 2.6, against what the VMX has.
pub fn swapped(bytes: [u8; 16]) -> [u8; 16] {
    let mut other = bytes;
    other[..4].reverse();
    other[4..6].reverse();
    other[6..8].reverse();
    other
}

/// True if two texts are the same UUID in one byte order or the other; `None` if one of them is no UUID.
pub fn same_uuid(one: &str, other: &str) -> Option<bool> {
    let (one, other) = (uuid(one)?, uuid(other)?);
    Some(one == other || swapped(one) == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_the_same_in_both_byte_orders_and_spellings() {
        let host = "56 4d a9 ac 1c ee 5d d7-f1 ae a5 95 f8 3d 2a 2d";
        assert_eq!(same_uuid(host, "564da9ac-1cee-5dd7-f1ae-a595f83d2a2d"), Some(true));
        assert_eq!(same_uuid(host, "ACA94D56-EE1C-D75D-F1AE-A595F83D2A2D"), Some(true));
        assert_eq!(same_uuid(host, "564da9ac-1cee-5dd7-f1ae-a595f83d2a2e"), Some(false));
        assert_eq!(same_uuid(host, "vmid-12"), None);
        assert_eq!(same_uuid(host, "00000000-0000-0000-0000-000000000000"), None, "no UUID was ever set");
    }
}
