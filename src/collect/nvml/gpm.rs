//! How much of a GPU worked between two moments, on the generations that count it (Hopper and later).

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};

use super::answer::{self, Answer, Refusal};
use super::page::Page;
use crate::fabric::{Entity, Measure};

/// What is asked for, and the things per unit of its numbers: `nvml.h` gives rates in MiB/s.
const METRICS: [(GpmMetricId, Measure, f64); 8] = [
    (GpmMetricId::SmUtil, Measure::SmActive, 1.0),
    (GpmMetricId::GraphicsUtil, Measure::GraphicsActive, 1.0),
    (GpmMetricId::DramBwUtil, Measure::DramActive, 1.0),
    (GpmMetricId::AnyTensorUtil, Measure::TensorActive, 1.0),
    (GpmMetricId::PcieTxPerSec, Measure::PcieSentWhole, MEBIBYTE),
    (GpmMetricId::PcieRxPerSec, Measure::PcieReceivedWhole, MEBIBYTE),
    (GpmMetricId::NvlinkTotalTxPerSec, Measure::NvLinkSent, MEBIBYTE),
    (GpmMetricId::NvlinkTotalRxPerSec, Measure::NvLinkReceived, MEBIBYTE),
];

const MEBIBYTE: f64 = 1_048_576.0;

/// The last look at one GPU or at one of its instances.
#[derive(Debug)]
pub(super) struct Counted<'nvml> {
    instance: Option<u32>,
    last: Option<GpmSample<'nvml>>,
}

impl<'nvml> Counted<'nvml> {
    /// Of a whole GPU, or of a GPU instance.
    pub(super) fn new(instance: Option<u32>) -> Self {
        Self { instance, last: None }
    }

    /// True where this GPU counts at all.
    pub(super) fn is_supported(device: &Device<'_>) -> bool {
        device.gpm_support().unwrap_or(false)
    }

    /// What it did since the last look; nothing at the first one.
    pub(super) fn look(&mut self, nvml: &'nvml Nvml, device: &Device<'nvml>, entity: &Entity, page: &mut Page) {
        let taken = match self.instance {
            None => device.gpm_sample(),
            Some(instance) => device.gpm_mig_sample(instance),
        };
        let now = match answer::of(taken) {
            Ok(now) => now,
            Err(refusal) => {
                self.last = None;
                for (_, measure, _) in METRICS {
                    page.gauge(entity, measure, &Err(refusal.clone()));
                }
                return;
            }
        };
        if let Some(last) = self.last.replace(now)
            && let Some(now) = &self.last
        {
            let ids = METRICS.map(|(id, ..)| id);
            let mut got = answer::of(gpm_metrics_get(nvml, &last, now, &ids)).map(Vec::into_iter);
            for (id, measure, scale) in METRICS {
                let answer = match &mut got {
                    Ok(results) => results.next().map_or(Err(Refusal::short()), |result| {
                        answer::of(result).and_then(|result| plausible(measure, result.value * scale))
                    }),
                    Err(refusal) => Err(refusal.clone()),
                };
                page.number(entity, measure, &format!("nvmlGpmMetricsGet {id:?}"), &answer);
            }
        }
    }
}

/// A number that such a measure can have.
fn plausible(measure: Measure, value: f64) -> Answer<f64> {
    let is_share = measure.unit() == crate::fabric::measure::MeasureUnit::Percent;
    if value.is_finite() && value >= 0.0 && !(is_share && value > 100.5) {
        Ok(value)
    } else {
        Err(Refusal::other("a number that cannot be"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_cannot_be_are_none() {
        assert_eq!(plausible(Measure::SmActive, 50.0), Ok(50.0));
        assert!(plausible(Measure::SmActive, f64::NAN).is_err());
        assert!(plausible(Measure::SmActive, 4000.0).is_err());
        assert_eq!(plausible(Measure::PcieSentWhole, 4.0e9), Ok(4.0e9));
        assert!(plausible(Measure::PcieSentWhole, -1.0).is_err());
    }
}
