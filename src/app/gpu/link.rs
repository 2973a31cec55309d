//! The PCIe link of a GPU as it is trained now: what it can carry each way, and which measures are held against that.

use super::super::model::Model;
use crate::diagnose::limit::pcie;
use crate::fabric::{Attribute, EntityId, Measure};

/// One link.
pub struct Link {
    /// Generation and lanes, where both are told.
    pub trained: Option<(u32, u32)>,
    /// Bytes per second each way; `None` too for a link that does not exist.
    pub carries: Option<f64>,
    /// True if headers of packets are among what is measured, and among what it carries.
    pub with_headers: bool,
    /// What is measured towards the GPU.
    pub received: Measure,
    /// What is measured from it.
    pub sent: Measure,
}

/// The link by what `number` says of a measure at a moment, else by what was read of it as a state.
pub fn of(model: &Model, gpu: &EntityId, number: impl Fn(Measure) -> Option<f64>) -> Link {
    let now =
        |measure, attribute| number(measure).or_else(|| super::count(model, gpu, attribute).map(|count| count as f64));
    let generation = now(Measure::PcieGenerationNow, Attribute::PcieGeneration);
    let lanes = now(Measure::PcieLanesNow, Attribute::PcieLanes);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small whole numbers")]
    let trained = generation.zip(lanes).map(|(generation, lanes)| (generation.max(0.0) as u32, lanes.max(0.0) as u32));
    // What DCGM counts holds the headers of packets; of the rest only the data is known.
    let of_dcgm = number(Measure::PcieReceivedWhole).is_some();
    let carries =
        trained.and_then(
            |(generation, lanes)| {
                if of_dcgm { pcie::raw(generation, lanes) } else { pcie::usable(generation, lanes) }
            },
        );
    let (received, sent) = if of_dcgm {
        (Measure::PcieReceivedWhole, Measure::PcieSentWhole)
    } else {
        (Measure::PcieReceived, Measure::PcieSent)
    };
    Link { trained, carries, with_headers: of_dcgm, received, sent }
}
