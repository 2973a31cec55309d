//! What a bandwidth cannot exceed: the wire, what RoCE leaves of it for payload, and the PCIe slot. A result is stated
//! against the lowest one, by name; where none is known, that is said.

use super::{Pair, Place};

/// Octets around the payload of a full packet of RoCE v2 over IPv4: preamble 8, gap 12, Ethernet 14, check sum 4, IPv4 20,
/// UDP 8, base header 12, invariant check sum 4.
const AROUND: f64 = 82.0;
/// A VLAN tag.
const VLAN: f64 = 4.0;
/// What a PCIe slot leaves for data with packets of 256 octets and 24 octets around each.
const PCIE_SHARE: f64 = 256.0 / (256.0 + 24.0);

/// A ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Its name, with where it comes from.
    pub name: String,
    /// 10^9 bits a second, in one direction.
    pub gigabits: f64,
}

/// All ceilings that are known, the lowest first. Those of packets count in `directions`.
pub fn ceilings(pair: &Pair, mtu: Option<u64>, directions: u32) -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = [&pair.server, &pair.client].into_iter().flat_map(|place| of(place, mtu)).collect();
    for ceiling in &mut all {
        ceiling.gigabits *= f64::from(directions);
    }
    all.sort_by(|one, other| one.gigabits.total_cmp(&other.gigabits));
    all
}

#[allow(clippy::cast_precision_loss, reason = "rates and sizes are far below 2^52")]
fn of(place: &Place, mtu: Option<u64>) -> Vec<Ceiling> {
    let mut found = Vec::new();
    if let Some(wire) = place.wire {
        let wire = wire as f64 / 1e9;
        found.push(Ceiling { name: format!("wire of {} ({wire:.0} Gb/s)", place.target), gigabits: wire });
        if let Some(mtu) = mtu {
            let around = AROUND + if place.has_vlan { VLAN } else { 0.0 };
            let share = mtu as f64 / (mtu as f64 + around);
            found.push(Ceiling {
                name: format!("RoCE payload at MTU {mtu} on {}", place.target),
                gigabits: wire * share,
            });
        }
    }
    if let Some((speed, lanes)) = &place.pcie
        && let Some(rate) = transfers(speed.as_str())
    {
        // 8b/10b up to the second generation, 128b/130b from the third on.
        let coding = if rate < 8.0 { 0.8 } else { 128.0 / 130.0 };
        found.push(Ceiling {
            name: format!("PCIe of {} ({speed} x{lanes}, packets of 256 octets)", place.target),
            gigabits: rate * (*lanes as f64) * coding * PCIE_SHARE,
        });
    }
    found
}

/// 10^9 transfers a second: `8.0 GT/s PCIe`.
fn transfers(speed: &str) -> Option<f64> {
    speed.split_whitespace().next()?.parse().ok().filter(|rate: &f64| *rate > 0.0)
}

/// A result against the lowest ceiling, in a sentence.
pub fn stated(gigabits: f64, ceilings: &[Ceiling], pair: &Pair) -> String {
    if let Some(lowest) = ceilings.first() {
        return format!(
            "{:.1} % of the lowest ceiling: {}, {:.2} Gb/s",
            100.0 * gigabits / lowest.gigabits,
            lowest.name,
            lowest.gigabits
        );
    }
    let why = if pair.server.is_soft || pair.client.is_soft {
        "soft-RoCE has no rate of its own, the processor is the limit"
    } else if pair.server.is_pvrdma || pair.client.is_pvrdma {
        "a PVRDMA guest does not see the adapter of its host"
    } else {
        "nothing honest tells the rate of the link"
    };
    format!("no ceiling known: {why}")
}
