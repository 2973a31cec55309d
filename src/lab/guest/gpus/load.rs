//! What a card does at a moment: numbers with a little noise that is drawn from the seed, the same for whoever asks in the same
//! second.

use super::super::load::{mix, unit, whole};
use super::super::state::State;
use crate::lab::machine::GpuTrouble;

/// Memory of a card in MiB: all, and what the driver keeps for itself.
pub const MEMORY: (u64, u64) = (40_960, 443);

/// The most power that a card draws, in watts.
pub const POWER_LIMIT: f64 = 250.0;

/// Parts of what a PCIe link carries that are payload, at packets of 256 bytes.
const PAYLOAD: f64 = 0.914;

/// One card at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Now {
    /// Percent of time in which a kernel ran.
    pub used: u64,
    /// Percent of time in which its memory was busy.
    pub memory_busy: u64,
    /// Memory in use, in MiB.
    pub memory: u64,
    /// Power in watts.
    pub power: f64,
    /// Clock of the multiprocessors in MHz.
    pub sm_clock: u64,
    /// Degrees of the GPU and of its memory.
    pub temperatures: (u64, u64),
    /// Generation of the link.
    pub generation: u64,
    /// Lanes of the link.
    pub lanes: u64,
    /// Payload to the host and from it, in bytes a second.
    pub payload: (f64, f64),
    /// NVML's bits of what holds its clocks.
    pub reasons: u64,
    /// Performance state.
    pub state: &'static str,
    /// Shares of time, from 0 to 1: engines, multiprocessors, tensor cores, memory.
    pub active: [f64; 4],
}

impl Now {
    /// What the link carries with its headers, each way, in bytes a second.
    pub fn carried(&self) -> (f64, f64) {
        (self.payload.0 / PAYLOAD, self.payload.1 / PAYLOAD)
    }
}

/// A card at this many seconds since the lab began.
pub fn now(state: &State, card: usize, now: f64) -> Now {
    let seed = mix(state.seed, 300 + card as u64);
    let second = whole(now);
    let drawn =
        |index: u64, low: f64, high: f64| low + (high - low) * unit(seed, second.wrapping_mul(32).wrapping_add(index));
    let count = |index, low, high| whole(drawn(index, low, high));
    let Some(gpus) = state.gpus.as_ref().filter(|gpus| gpus.struck == card) else {
        return Now {
            used: 0,
            memory_busy: 0,
            memory: 4,
            power: drawn(0, 30.5, 32.5),
            sm_clock: 210,
            temperatures: (count(1, 31.0, 34.0), count(2, 30.0, 33.0)),
            generation: 1,
            lanes: 16,
            payload: (0.0, 0.0),
            reasons: 1,
            state: "P8",
            active: [0.0; 4],
        };
    };
    let busy = Now {
        used: count(0, 95.0, 100.9),
        memory_busy: count(1, 44.0, 56.0),
        memory: 31_002,
        power: drawn(2, 204.0, 226.0),
        sm_clock: 1410,
        temperatures: (count(3, 60.0, 65.0), count(4, 62.0, 67.0)),
        generation: 4,
        lanes: 16,
        payload: (drawn(5, 0.7e9, 1.4e9), drawn(6, 2.2e9, 4.8e9)),
        reasons: 0,
        state: "P0",
        active: [drawn(7, 0.95, 0.99), drawn(8, 0.86, 0.94), drawn(9, 0.42, 0.58), drawn(10, 0.44, 0.56)],
    };
    let waits = Now {
        memory_busy: count(1, 14.0, 22.0),
        used: count(0, 56.0, 72.0),
        power: drawn(2, 118.0, 136.0),
        temperatures: (count(3, 46.0, 50.0), count(4, 47.0, 52.0)),
        active: [drawn(7, 0.58, 0.7), drawn(8, 0.28, 0.4), drawn(9, 0.14, 0.22), drawn(10, 0.16, 0.24)],
        ..busy
    };
    if gpus.has(GpuTrouble::NarrowLink) {
        // 7.2 GB/s is what eight lanes of generation 3 carry.
        let payload = (drawn(5, 0.3e9, 0.6e9), drawn(6, 6.3e9, 6.95e9));
        return Now { generation: 3, lanes: 8, payload, ..waits };
    }
    if gpus.has(GpuTrouble::PcieSaturated) {
        // 28.8 GB/s is what sixteen lanes of generation 4 carry.
        return Now { payload: (drawn(5, 0.8e9, 1.6e9), drawn(6, 24.6e9, 26.4e9)), ..waits };
    }
    if gpus.has(GpuTrouble::TooHot) {
        return Now {
            temperatures: (count(3, 90.0, 92.0), count(4, 88.0, 92.0)),
            sm_clock: count(11, 38.0, 50.0) * 15,
            power: drawn(2, 112.0, 131.0),
            payload: (drawn(5, 0.3e9, 0.6e9), drawn(6, 1.0e9, 2.1e9)),
            reasons: 8 | 64,
            ..busy
        };
    }
    busy
}
