//! PCI addresses in the four ways in which ESXi writes them.
//!
//! - `0000:af:00.0`: hexadecimal, segment of four digits, bus of two.
//! - `00000:101:00.1`: decimal, segment of five digits, bus of three (`sriovnic vf list` up to 8.0 U2, `pciPassthruN.id`).
//! - `PCI 0:4:0:0`: decimal segment, bus, slot and function (`Parent Device`, `Dependent Device`).
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
    /// Reads an address in any of the ways, and says in which: `PCI` in front or a segment of five digits or a bus of
    /// three is decimal, everything else hexadecimal. Blanks around it do not matter.
    ///
    /// Gives `None` for what is no address.
    pub fn read(text: &str) -> Option<(Self, Written)> {
        let text = text.trim();
        let (text, words) = match text.get(..3) {
            Some(prefix) if prefix.eq_ignore_ascii_case("pci") => (text[3..].trim_start(), true),
            _ => (text, false),
        };
        let mut parts: Vec<&str> = text.split(':').collect();
        if let Some((slot, function)) = parts.last().copied().and_then(|last| last.split_once('.')) {
            parts.pop();
            parts.extend([slot, function]);
        }
        let [segment, bus, slot, function] = match parts.as_slice() {
            [segment, bus, slot, function] => [*segment, *bus, *slot, *function],
            [bus, slot, function] => ["0", *bus, *slot, *function],
            _ => return None,
        };
        let decimal = words || segment.len() == 5 || bus.len() == 3;
        let number = |part: &str, most: u32| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(part, if decimal { 10 } else { 16 }).ok().filter(|number| digits && *number <= most)
        };
        let small = |part, most| number(part, most).and_then(|number| u8::try_from(number).ok());
        let address = Self {
            segment: number(segment, 0xffff)?,
            bus: small(bus, 255)?,
            slot: small(slot, 31)?,
            function: small(function, 7)?,
        };
        Some((address, if decimal { Written::Decimal } else { Written::Hexadecimal }))
    }

    /// The same without saying in which way it was written.
    pub fn of(text: &str) -> Option<Self> {
        Self::read(text).map(|(address, _)| address)
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
            "0000:zz:00.0",
            "00000:af:00.0",
        ] {
            assert_eq!(PciAddress::read(text), None, "{text}");
        }
    }
}
