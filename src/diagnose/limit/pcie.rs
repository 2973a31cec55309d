//! What a PCIe link can carry each way: the raw rate of its generation and width, and what is left of it for data beside
//! the headers of packets.

/// Bytes of data in one packet, as nearly all systems set it (`MaxPayload` of `lspci -vv`).
pub const PAYLOAD: u32 = 256;

/// Bytes that each packet costs beside its data: framing 4, sequence number and checksum 6, header 12 to 16.
const OVERHEAD: f64 = 24.0;

/// Rate of one lane in bytes per second, coding taken off; `None` for a generation that does not exist.
fn lane(generation: u32) -> Option<f64> {
    Some(match generation {
        1 => 2.5e9 * 0.8 / 8.0,
        2 => 5.0e9 * 0.8 / 8.0,
        3 => 8.0e9 * 128.0 / 130.0 / 8.0,
        4 => 16.0e9 * 128.0 / 130.0 / 8.0,
        5 => 32.0e9 * 128.0 / 130.0 / 8.0,
        // 64 GT/s in units of 256 bytes, of which 236 are packets.
        6 => 64.0e9 * 236.0 / 256.0 / 8.0,
        _ => return None,
    })
}

/// The rate of a link each way in bytes per second, with the headers of packets: what DCGM counts.
pub fn raw(generation: u32, lanes: u32) -> Option<f64> {
    (1..=32).contains(&lanes).then(|| lane(generation).map(|lane| lane * f64::from(lanes))).flatten()
}

/// What of it data can have, in bytes per second each way: the ceiling of a copy.
pub fn usable(generation: u32, lanes: u32) -> Option<f64> {
    let payload = f64::from(PAYLOAD);
    raw(generation, lanes).map(|raw| raw * payload / (payload + OVERHEAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_those_of_the_table() {
        let near =
            |value: Option<f64>, gigabytes: f64| value.is_some_and(|value| (value / 1e9 - gigabytes).abs() < 0.02);
        assert!(
            near(raw(2, 16), 8.0) && near(raw(3, 16), 15.754) && near(raw(4, 8), 15.754) && near(raw(5, 16), 63.015)
        );
        assert!(
            near(usable(2, 8), 3.66)
                && near(usable(3, 16), 14.40)
                && near(usable(4, 16), 28.81)
                && near(usable(5, 16), 57.61)
        );
        assert!(near(raw(6, 8), 59.0));
        assert_eq!((raw(0, 16), raw(7, 16), raw(4, 0), usable(4, 64)), (None, None, None, None), "no such link");
    }
}
