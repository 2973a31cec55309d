//! In which VLAN what an adapter sends leaves its host: that of its port, or the one that the guest tags with where the port
//! is a trunk.

use std::fmt;

use super::ends::{End, addresses};
use crate::diagnose::check::Scene;
use crate::diagnose::join::{Chain, LinkKind};
use crate::fabric::{Attribute, EntityId, Value};

/// A VLAN.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vlan {
    /// Frames leave without a tag.
    Untagged,
    /// Frames carry this number.
    Number(u64),
    /// The port lets the guest tag: `trunk 100-200`. What the guest does is not known.
    Trunk(String),
}

impl Vlan {
    /// What a property says; `None` if it is no VLAN that is understood.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => {
                let ranges = text.strip_prefix("trunk")?;
                Some(Self::Trunk(ranges.trim().to_owned()))
            }
            other => match other.as_count()? {
                0 => Some(Self::Untagged),
                // 4095 on a standard switch stands for all of them: the guest tags.
                4095 => Some(Self::Trunk("0-4094".to_owned())),
                number => Some(Self::Number(number)),
            },
        }
    }

    /// True if frames of the one arrive as frames of the other; `None` if that cannot be told.
    pub fn meets(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Trunk(_), _) | (_, Self::Trunk(_)) => None,
            (one, other) => Some(one == other),
        }
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untagged => formatter.write_str("untagged"),
            Self::Number(number) => number.fmt(formatter),
            Self::Trunk(ranges) if ranges.is_empty() => formatter.write_str("trunk"),
            Self::Trunk(ranges) => write!(formatter, "trunk {ranges}"),
        }
    }
}

/// True if ranges like `1,100-200` hold a number.
pub(super) fn holds(ranges: &str, number: u64) -> bool {
    ranges.split([',', ' ', ';']).map(str::trim).filter(|part| !part.is_empty()).any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.trim().parse::<u64>(), last.trim().parse::<u64>()), (Ok(first), Ok(last)) if first <= number && number <= last)
    })
}

/// The port or port group of a virtual switch that an adapter is on.
pub(super) fn port_of(chain: &Chain) -> Option<&EntityId> {
    chain.links.iter().find(|link| link.kind == LinkKind::AdapterPort).map(|link| &link.to)
}

/// The VLAN in which what an end sends leaves its host, and the fact that says so.
pub fn vlan_of(scene: &Scene<'_>, end: &End<'_>) -> Option<(Vlan, (EntityId, Attribute))> {
    let port = port_of(end.chain?)?;
    let vlan = Vlan::of(scene.value(port, Attribute::VlanId)?)?;
    if let Vlan::Trunk(ranges) = &vlan {
        let tags = addresses(scene, end.port.as_ref()?);
        for (netdev, _) in &tags {
            if let Some(number) = scene.count(netdev, Attribute::VlanId)
                && holds(ranges, number)
            {
                return Some((Vlan::Number(number), (netdev.clone(), Attribute::VlanId)));
            }
        }
    }
    Some((vlan, (port.clone(), Attribute::VlanId)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlans_meet_where_their_numbers_are_equal() {
        let trunk = Vlan::of(&Value::from("trunk 0-4094")).expect("a trunk");
        assert_eq!(Vlan::of(&Value::from(0_u64)), Some(Vlan::Untagged));
        assert_eq!(Vlan::of(&Value::from(4095_u64)), Some(trunk.clone()));
        assert_eq!(Vlan::of(&Value::from("private 7")), None);
        assert_eq!(Vlan::Number(100).meets(&Vlan::Number(100)), Some(true));
        assert_eq!(Vlan::Number(100).meets(&Vlan::Number(200)), Some(false));
        assert_eq!(Vlan::Number(100).meets(&Vlan::Untagged), Some(false));
        assert_eq!(Vlan::Number(100).meets(&trunk), None);
        assert!(holds("1,100-200", 150) && holds("7", 7) && !holds("1-9", 10) && !holds("", 1) && !holds("a-b", 1));
    }
}
