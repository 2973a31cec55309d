//! The links of NVLink of one GPU: which are active, how fast, with how many errors.
//!
//! What they carry is told by GPM only (Hopper and later): the counters of older generations want a scope that the wrapper
//! cannot give, or a setting of the GPU, which is not ours to change.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;

use super::answer::{self, Answer};
use super::fields;
use super::page::Page;
use crate::fabric::{Attribute, Entity, Text, Value};

/// No GPU has more (`NVML_NVLINK_MAX_LINKS`).
const MOST: u32 = 18;

/// Writes what is known of them.
pub(super) fn read(device: &Device<'_>, gpu: &Entity, address: &Text, page: &mut Page) {
    let [count, speed] = fields::read(device, [fields::LINKS, fields::LINK_SPEED]);
    let Ok(links) = count else {
        page.state(gpu, Attribute::NvLinks, "nvmlDeviceGetFieldValues LINK_COUNT", &count.map(Value::Count));
        return;
    };
    page.state(gpu, Attribute::NvLinks, "nvmlDeviceGetFieldValues LINK_COUNT", &Ok(Value::Count(links)));
    let links = u32::try_from(links).unwrap_or(MOST).min(MOST);
    let (mut active, mut said) = (0_u64, true);
    for link in 0..links {
        let entity = Entity::NvLink { gpu: address.clone(), link };
        let wrapper = device.link_wrapper_for(link);
        let is_active = answer::of(wrapper.is_active());
        active += u64::from(is_active == Ok(true));
        said &= is_active.is_ok();
        let call = format!("nvmlDeviceGetNvLinkState({link})");
        page.state(&entity, Attribute::NvLinkActive, &call, &is_active.clone().map(Value::Flag));
        if is_active != Ok(true) {
            continue; // its speed and its errors are those of no link
        }
        let bits = speed.clone().map(|megabytes| Value::Count(megabytes.saturating_mul(8_000_000)));
        page.state(&entity, Attribute::NvLinkSpeed, "nvmlDeviceGetFieldValues NVLINK_SPEED_MBPS_COMMON", &bits);
        let counter = |which| answer::of(wrapper.error_counter(which));
        let errors = sum([
            counter(ErrorCounter::DlReplay),
            counter(ErrorCounter::DlRecovery),
            counter(ErrorCounter::DlCrcFlit),
            counter(ErrorCounter::DlCrcData),
        ]);
        let call = format!("nvmlDeviceGetNvLinkErrorCounter({link}), all four");
        page.state(&entity, Attribute::NvLinkErrors, &call, &errors.map(Value::Count));
    }
    // A link that does not tell may be active: then the sum is not known.
    if said && links > 0 {
        page.state(gpu, Attribute::NvLinksActive, "nvmlDeviceGetNvLinkState, all", &Ok(Value::Count(active)));
    }
}

/// All counters that this generation has, together: it is only unknown if none of them is there.
fn sum(counters: [Answer<u64>; 4]) -> Answer<u64> {
    let mut known = None;
    let mut refused = None;
    for counter in counters {
        match counter {
            Ok(value) => known = Some(known.unwrap_or(0_u64).saturating_add(value)),
            Err(refusal) if refusal.is_lasting() => refused = refused.or(Some(refusal)),
            Err(refusal) => return Err(refusal),
        }
    }
    match (known, refused) {
        (Some(known), _) => Ok(known),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Refusal;
    use super::*;

    #[test]
    fn a_counter_that_failed_makes_the_sum_unknown_and_one_that_does_not_exist_does_not() {
        assert_eq!(sum([Ok(1), Ok(2), Err(Refusal::Unsupported), Ok(0)]), Ok(3));
        assert_eq!(sum([Ok(1), Ok(2), Err(Refusal::Lost), Ok(0)]), Err(Refusal::Lost));
        let none = [(); 4].map(|()| Err(Refusal::Unsupported));
        assert_eq!(sum(none), Err(Refusal::Unsupported));
    }
}
