//! The PCI address in `pciPassthruN.id`. The host writes all its fields in decimal (`00000:175:00.0` is `0000:af:00.0`), while
//! `esxcli hardware pci list` and people write hexadecimal; some spellings can be read both ways, and only the list of
//! what the host has can tell which was meant.

use crate::probe::esxi::address::{Fields, PciAddress};

/// An address that was read, always given as the host lists it: hexadecimal, `0000:af:00.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PciId {
    /// Written in decimal, or with digits that mean the same in both.
    Decimal(String),
    /// Written in hexadecimal, as the host does not.
    Hex(String),
    /// Nothing in the spelling tells which it is.
    Ambiguous {
        /// Read as decimal.
        decimal: String,
        /// Read as hexadecimal.
        hex: String,
    },
    /// No address.
    Unreadable,
}

/// What an address means on a host whose functions are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnHost {
    /// The host has it, read as the host reads it.
    There(String),
    /// The host has it only if the id is read as hexadecimal, which the host does not do.
    OnlyAsHex(String),
    /// The host has a function for either reading; it takes the decimal one.
    Both {
        /// Read as decimal: what the host takes.
        decimal: String,
        /// Read as hexadecimal: what may have been meant.
        hex: String,
    },
    /// The host has none of these.
    Absent(Vec<String>),
    /// No address.
    Unreadable,
}

/// The fields of an id: a dot stands before the function, and no word in front.
fn fields(id: &str) -> Option<Fields<'_>> {
    Fields::of(id).filter(|fields| fields.dotted && !fields.words)
}

impl PciId {
    /// Reads an id.
    pub fn read(id: &str) -> Self {
        let Some(fields) = fields(id) else { return Self::Unreadable };
        let address = |base| fields.address(base).map(|address| address.to_string());
        match (address(10), address(16)) {
            (None, None) => Self::Unreadable,
            (Some(decimal), None) => Self::Decimal(decimal),
            (None, Some(hex)) => Self::Hex(hex),
            (Some(decimal), Some(hex)) if decimal == hex || fields.is_decimal_by_width() => Self::Decimal(decimal),
            (Some(decimal), Some(hex)) => Self::Ambiguous { decimal, hex },
        }
    }

    /// All addresses that it can mean, the one that the host takes first.
    pub fn addresses(&self) -> Vec<&str> {
        match self {
            Self::Decimal(address) | Self::Hex(address) => vec![address],
            Self::Ambiguous { decimal, hex } => vec![decimal, hex],
            Self::Unreadable => Vec::new(),
        }
    }

    /// What it means on a host of which `has` tells whether it has a function of this address.
    pub fn on(&self, has: impl Fn(&str) -> bool) -> OnHost {
        let absent = || OnHost::Absent(self.addresses().into_iter().map(str::to_owned).collect());
        match self {
            Self::Decimal(address) if has(address) => OnHost::There(address.clone()),
            Self::Hex(address) if has(address) => OnHost::OnlyAsHex(address.clone()),
            Self::Ambiguous { decimal, hex } => match (has(decimal), has(hex)) {
                (true, true) => OnHost::Both { decimal: decimal.clone(), hex: hex.clone() },
                (true, false) => OnHost::There(decimal.clone()),
                (false, true) => OnHost::OnlyAsHex(hex.clone()),
                (false, false) => absent(),
            },
            Self::Decimal(_) | Self::Hex(_) => absent(),
            Self::Unreadable => OnHost::Unreadable,
        }
    }
}

/// How the host writes an address (`0000:af:00.0`) as an id: `00000:175:00.0`. `None` if it is no such address.
pub fn id_of(address: &str) -> Option<String> {
    let PciAddress { segment, bus, slot, function } = fields(address)?.address(16)?;
    Some(format!("{segment:05}:{bus:03}:{slot:02}.{function}"))
}

/// True if the id is written as the host writes it: `%05d:%03d:%02d.%d`. Any other spelling is a person's.
pub fn is_canonical(id: &str) -> bool {
    fields(id).is_some_and(|fields| {
        let widths = [fields.segment.len(), fields.bus.len(), fields.slot.len(), fields.function.len()];
        let decimal = [fields.segment, fields.bus, fields.slot, fields.function]
            .iter()
            .all(|field| field.bytes().all(|byte| byte.is_ascii_digit()));
        widths == [5, 3, 2, 1] && decimal
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::vmx::Dictionary;

    fn decimal(address: &str) -> PciId {
        PciId::Decimal(address.to_owned())
    }

    fn both(decimal: &str, hex: &str) -> PciId {
        PciId::Ambiguous { decimal: decimal.to_owned(), hex: hex.to_owned() }
    }

    #[test]
    fn ids_of_real_files_are_judged_as_the_host_does() {
        let file =
            Dictionary::parse(include_bytes!("../../../tests/fixtures/public/68-vmx-pcipassthru-id-formats.txt"));
        let read: Vec<(PciId, bool)> =
            file.entries().map(|entry| (PciId::read(&entry.value), is_canonical(&entry.value))).collect();
        let expected = [
            (decimal("0000:0d:00.0"), true),
            (decimal("0000:42:00.0"), false),
            (decimal("0000:02:00.0"), true),
            (decimal("0000:02:00.1"), true),
            (decimal("0000:1a:01.2"), true),
            // Written by hand, but the same address either way.
            (decimal("0000:03:00.0"), false),
            (decimal("0000:04:00.0"), false),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn spellings_by_hand_are_told_apart_where_they_can_be() {
        assert_eq!(PciId::read("0000:0d:00.0"), PciId::Hex("0000:0d:00.0".to_owned()));
        assert_eq!(PciId::read("0000:af:00.0"), PciId::Hex("0000:af:00.0".to_owned()));
        assert_eq!(PciId::read("0000:41:00.0"), both("0000:29:00.0", "0000:41:00.0"));
        assert_eq!(PciId::read("41:00.0"), both("0000:29:00.0", "0000:41:00.0"));
        assert_eq!(PciId::read("0000:00:10.0"), both("0000:00:0a.0", "0000:00:10.0"));
        assert_eq!(PciId::read("06:00.0"), decimal("0000:06:00.0"));
        assert_eq!(PciId::read("130:00.0"), decimal("0000:82:00.0"));
        assert_eq!(PciId::read("00000:000:29.0"), decimal("0000:00:1d.0"));
        assert_eq!(PciId::read("00001:026:026.0"), decimal("0001:1a:1a.0"));
        for wrong in [
            "",
            "0000:0d:00",
            "0:4:0:0",
            "PCI 0:4:0:0",
            "300:00.0",
            "0000:04:00.9",
            "a.b",
            "0000:04:45.0",
            "::.",
            "-1:+2:3.0",
        ] {
            assert_eq!(PciId::read(wrong), PciId::Unreadable, "{wrong}");
        }
    }

    #[test]
    fn the_list_of_the_host_decides() {
        let on = |id: &str, host: &[&str]| PciId::read(id).on(|address| host.contains(&address));
        let hex = "0000:41:00.0".to_owned();
        let dec = "0000:29:00.0".to_owned();
        assert_eq!(on("0000:41:00.0", &[&hex]), OnHost::OnlyAsHex(hex.clone()));
        assert_eq!(on("0000:41:00.0", &[&dec]), OnHost::There(dec.clone()));
        assert_eq!(on("0000:41:00.0", &[&dec, &hex]), OnHost::Both { decimal: dec.clone(), hex: hex.clone() });
        assert_eq!(on("0000:41:00.0", &[]), OnHost::Absent(vec![dec.clone(), hex]));
        assert_eq!(on("00000:041:00.0", &[&dec]), OnHost::There(dec));
        assert_eq!(on("0000:af:00.0", &["0000:af:00.0"]), OnHost::OnlyAsHex("0000:af:00.0".to_owned()));
        assert_eq!(on("gpu", &[]), OnHost::Unreadable);
    }

    proptest! {
        #[test]
        fn what_the_host_writes_is_read_back(segment in 0_u32..=0xffff, bus in 0_u32..256, slot in 0_u32..32, function in 0_u32..8) {
            let address = format!("{segment:04x}:{bus:02x}:{slot:02x}.{function}");
            let id = id_of(&address).expect("an address");
            prop_assert!(is_canonical(&id));
            prop_assert_eq!(PciId::read(&id), PciId::Decimal(address));
        }

        #[test]
        fn anything_else_is_survived(id in "[0-9a-fA-F:. +-]{0,16}") {
            let read = PciId::read(&id);
            prop_assert!(read.addresses().iter().all(|address| id_of(address).is_some()));
        }
    }
}
