//! The closed set of properties that facts can state, each with its name in documents, its unit and whether it is a
//! setting (compared between snapshots) or a measurement (which moves by itself). The properties stand in four lists, in
//! the order of drawing: those of guests first, then those of hosts and their VMs, of switches, and of GPUs.

mod gpu;
mod guest;
mod host;
mod switch;

use gpu::gpu;
use guest::guest;
use host::host;
use serde::{Deserialize, Serialize};
use switch::switch;

/// Unit of an attribute's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: text, names, states.
    None,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Megahertz.
    Megahertz,
    /// Megabytes as VMware Tools counts them (2^20 bytes).
    Mebibytes,
    /// Milliseconds.
    Milliseconds,
    /// Milliwatts.
    Milliwatts,
    /// Degrees Celsius.
    Celsius,
}

impl Unit {
    /// The unit as documents print it; `None` where there is none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Count => Some("count"),
            Self::Bytes => Some("bytes"),
            Self::BitsPerSecond => Some("bits-per-second"),
            Self::Megahertz => Some("megahertz"),
            Self::Mebibytes => Some("mebibytes"),
            Self::Milliseconds => Some("milliseconds"),
            Self::Milliwatts => Some("milliwatts"),
            Self::Celsius => Some("celsius"),
        }
    }
}

/// What kind of knowledge an attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Set by someone, stays until changed.
    Setting,
    /// A state that the target reports and that matters when it changes.
    Status,
    /// Moves by itself.
    Measure,
}

macro_rules! attributes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, $label:literal, $unit:ident, $class:ident;)*) => {
        /// A property that a fact can state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Attribute {
            $($(#[$meta])* #[serde(rename = $name)] $variant,)*
        }

        impl Attribute {
            /// All of them, in the order of drawing.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in documents and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The words beside the value on the screen.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// The unit of its numbers.
            pub fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// What kind of knowledge it is.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

guest!(host, switch, gpu, attributes);

impl Attribute {
    /// The attribute of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|attribute| attribute.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: BTreeSet<_> = Attribute::ALL.iter().map(|attribute| attribute.name()).collect();
        assert_eq!(names.len(), Attribute::ALL.len());
        for attribute in Attribute::ALL {
            assert_eq!(Attribute::from_name(attribute.name()), Some(*attribute));
            let json = serde_json::to_string(attribute).expect("a unit variant");
            assert_eq!(json, format!("{:?}", attribute.name()));
        }
        assert_eq!(Attribute::from_name("no-such"), None);
    }
}
