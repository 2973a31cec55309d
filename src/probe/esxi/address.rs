//! PCI addresses in the ways in which ESXi writes them, and the one reader of all of them.
//!
//! - `0000:af:00.0`: hexadecimal, segment of four digits, bus of two.
//! - `00000:101:00.1`: decimal, segment of five digits, bus of three (`sriovnic vf list` up to 8.0 U2, `pciPassthruN.id`).
//! - `PCI 0:4:0:0`: decimal segment, bus, slot and function (`Parent Device`, `Dependent Device`).
//! - `0:66:0.0`: decimal without padding (backings of devices).
//! - `0000:4b:00:0`: hexadecimal with a colon before the function (`Bus Info`).

use std::fmt;

/// One PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// Segment (domain).
    pub segment: u32,
    /// Bus.
    pub bus: u8,
    /// Slot (device), below 32.
    pub slot: u8,
    /// Function, below 8.
    pub function: u8,
}

/// In which way an address was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Hexadecimal, with a dot or a colon before the function.
    Hexadecimal,
    /// Decimal.
    Decimal,
}

impl PciAddress {
    /// Reads an address in any of the ways, and says in which: `PCI` in front, a segment of five digits or a bus of three is
    /// decimal; one without padding is, if it can be; everything else is hexadecimal. Blanks around it do not matter.
    ///
    /// Gives `None` for what is no address.
    pub fn read(text: &str) -> Option<(Self, Written)> {
        let fields = Fields::of(text)?;
        let must = fields.words || fields.segment.len() == 5 || fields.bus.len() == 3;
        let hexadecimal = || Some((fields.address(16)?, Written::Hexadecimal));
        match fields.address(10) {
            Some(address) if must || fields.is_decimal_by_width() => Some((address, Written::Decimal)),
            _ if must => None,
            _ => hexadecimal(),
        }
    }

    /// The same without saying in which way it was written.
    pub fn of(text: &str) -> Option<Self> {
        Self::read(text).map(|(address, _)| address)
    }
}

/// The four fields of an address as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::probe) struct Fields<'a> {
    /// Segment; `0` where there is none.
    pub segment: &'a str,
    /// Bus.
    pub bus: &'a str,
    /// Slot.
    pub slot: &'a str,
    /// Function.
    pub function: &'a str,
    /// True with `PCI` in front.
    pub words: bool,
    /// True with a dot before the function.
    pub dotted: bool,
}

impl<'a> Fields<'a> {
    /// Takes an address apart, of which only the digits are known to be digits.
    pub fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (text, words) = match text.get(..3) {
            Some(prefix) if prefix.eq_ignore_ascii_case("pci") => (text[3..].trim_start(), true),
            _ => (text, false),
        };
        let mut parts: Vec<&str> = text.split(':').collect();
        let mut dotted = false;
        if let Some((slot, function)) = parts.last().copied().and_then(|last| last.split_once('.')) {
            parts.pop();
            parts.extend([slot, function]);
            dotted = true;
        }
        let [segment, bus, slot, function] = match parts.as_slice() {
            [segment, bus, slot, function] => [*segment, *bus, *slot, *function],
            [bus, slot, function] => ["0", *bus, *slot, *function],
            _ => return None,
        };
        let is_field =
            |field: &&str| (1..=5).contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_hexdigit());
        let all = [segment, bus, slot, function].iter().all(is_field);
        all.then_some(Self { segment, bus, slot, function, words, dotted })
    }

    /// The address if the digits are of this base.
    pub fn address(&self, base: u32) -> Option<PciAddress> {
        let number = |field, most| u32::from_str_radix(field, base).ok().filter(|number| *number <= most);
        let small = |field, most| number(field, most).and_then(|number| u8::try_from(number).ok());
        Some(PciAddress {
            segment: number(self.segment, 0xffff)?,
            bus: small(self.bus, 0xff)?,
            slot: small(self.slot, 0x1f)?,
            function: small(self.function, 7)?,
        })
    }

    /// True if the widths are those that only the decimal spelling has: five digits of segment, three of bus or slot, or no
    /// padding at all (`0:66:0.0`). The hexadecimal one has two digits of bus and slot.
    pub fn is_decimal_by_width(&self) -> bool {
        self.segment.len() == 5 || self.bus.len() != 2 || self.slot.len() != 2
    }
}

impl fmt::Display for PciAddress {
    /// The hexadecimal way, `0000:af:00.0`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04x}:{:02x}:{:02x}.{:x}", self.segment, self.bus, self.slot, self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ways_of_one_function() {
        let shown = |text| PciAddress::read(text).map(|(address, written)| (address.to_string(), written));
        let hexadecimal = |address: &str| Some((address.to_owned(), Written::Hexadecimal));
        let decimal = |address: &str| Some((address.to_owned(), Written::Decimal));
        assert_eq!(shown("0000:af:00.0"), hexadecimal("0000:af:00.0"));
        assert_eq!(shown("00000:175:00.0"), decimal("0000:af:00.0"));
        assert_eq!(shown("00000:101:00.1"), decimal("0000:65:00.1"));
        assert_eq!(shown("PCI 0:175:0:0"), decimal("0000:af:00.0"));
        assert_eq!(shown("PCI 0:0:2:0"), decimal("0000:00:02.0"));
        assert_eq!(shown("0000:4b:00:0"), hexadecimal("0000:4b:00.0"));
        assert_eq!(shown("0:66:0.0"), decimal("0000:42:00.0"));
        assert_eq!(shown("0:af:0.0"), hexadecimal("0000:af:00.0"));
        assert_eq!(shown("0000:10:00.0"), hexadecimal("0000:10:00.0"));
        assert_eq!(shown("00000:026:01.2"), decimal("0000:1a:01.2"));
        assert_eq!(shown("0000:B1:01.0"), hexadecimal("0000:b1:01.0"));
        assert_eq!(shown("af:00.0"), hexadecimal("0000:af:00.0"));
        assert_eq!(shown("00000:000:02.0"), decimal("0000:00:02.0"));
    }

    #[test]
    fn what_is_no_address() {
        for text in [
            "",
            "PCI",
            "N/A",
            "vmnic4",
            "0000:af:20.0",
            "0000:af:00.8",
            "00000:256:00.0",
            "+000:af:00.0",
            "0:+6:0.0",
            "a:b:c:d.0",
            "0000:zz:00.0",
            "00000:af:00.0",
        ] {
            assert_eq!(PciAddress::read(text), None, "{text}");
        }
    }
}
