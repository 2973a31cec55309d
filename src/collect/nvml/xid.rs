//! Xid events, waited for on a thread of their own: `nvmlEventSetWait` sleeps in the driver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};
use tokio::sync::mpsc;

use super::gpu::address;
use super::worker::Told;
use crate::app::Severity;
use crate::probe::linux::kernel_meaning;

/// The same words are told again after this.
const AGAIN: Duration = Duration::from_secs(10);

/// How long one wait lasts at most, in milliseconds: so soon is it noticed that nobody wants to know any more.
const WAIT: u32 = 1000;

/// Waits for events until nobody wants to know any more, or none can come.
pub(super) fn wait(nvml: &Nvml, told: &mpsc::Sender<Told>, ended: &Arc<AtomicBool>) {
    let Some(set) = registered(nvml) else { return };
    let mut lately: BTreeMap<String, Instant> = BTreeMap::new();
    while !ended.load(Ordering::Relaxed) {
        match set.wait(WAIT) {
            Ok(event) => {
                let Some(xid) = event.event_data else { continue };
                let of =
                    address(&event.device).map_or_else(|_| "of this machine".to_owned(), |address| address.to_string());
                let (severity, text) = words(&xid, &of);
                // A GPU that repeats itself a thousand times a second is told of once in a while.
                lately.retain(|_, at| at.elapsed() < AGAIN);
                if lately.insert(text.clone(), Instant::now()).is_some() {
                    continue;
                }
                if told.blocking_send(Told::Event(severity, text)).is_err() {
                    return;
                }
            }
            Err(NvmlError::Timeout) => {}
            Err(NvmlError::GpuLost) => {
                let lost = "NVML: a GPU is lost; no further Xid can be told by it: read dmesg | grep Xid".to_owned();
                let _ = told.blocking_send(Told::Event(Severity::Error, lost));
                return;
            }
            // Without the driver's help there is nothing to wait for, and no reason to ask again and again.
            Err(_) => return,
        }
    }
}

/// A set that hears of the Xid of all GPUs that tell them. A registration that fails takes the whole set with it, so it is
/// begun anew without that GPU.
fn registered(nvml: &Nvml) -> Option<EventSet<'_>> {
    let wanted = EventTypes::CRITICAL_XID_ERROR;
    let mut devices: Vec<_> = (0..nvml.device_count().ok()?)
        .filter_map(|index| nvml.device_by_index(index).ok())
        .filter(|device| device.supported_event_types().is_ok_and(|types| types.contains(wanted)))
        .collect();
    while !devices.is_empty() {
        match set_of(nvml, &devices, wanted) {
            Ok(set) => return Some(set),
            Err(Some(refused)) => drop(devices.remove(refused)),
            Err(None) => return None,
        }
    }
    None
}

/// A set that hears of these events of all these devices; else the place of the one that refused, or none if there is no set.
fn set_of<'nvml>(
    nvml: &'nvml Nvml,
    devices: &[Device<'nvml>],
    wanted: EventTypes,
) -> Result<EventSet<'nvml>, Option<usize>> {
    let empty = nvml.create_event_set().map_err(|_| None)?;
    devices
        .iter()
        .enumerate()
        .try_fold(empty, |set, (at, device)| device.register_events(wanted, set).map_err(|_| Some(at)))
}

/// What such an event means, as the kernel's own message would be explained.
fn words(xid: &XidError, of: &str) -> (Severity, String) {
    let XidError::Value(number) = xid else {
        return (
            Severity::Error,
            format!("NVML: GPU {of} reported an Xid that NVML does not know; read dmesg | grep Xid"),
        );
    };
    let (severity, meaning) = kernel_meaning::explain(&format!("NVRM: Xid (PCI:{of}): {number},"));
    let severity = match severity {
        kernel_meaning::Severity::Info => Severity::Info,
        kernel_meaning::Severity::Warning => Severity::Warning,
        kernel_meaning::Severity::Error => Severity::Error,
    };
    (severity, format!("NVML: {}", meaning.unwrap_or_else(|| format!("Xid {number} of GPU {of}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_what_it_means_and_what_to_do() {
        let (severity, text) = words(&XidError::Value(79), "0000:0b:00.0");
        assert_eq!(severity, Severity::Error);
        assert!(text.contains("Xid 79 of GPU 0000:0b:00.0") && text.contains("fallen off the bus"), "{text}");
        assert_eq!(words(&XidError::Value(43), "0000:0b:00.0").0, Severity::Warning);
        let (_, unknown) = words(&XidError::Unknown, "0000:0b:00.0");
        assert!(unknown.contains("dmesg"), "{unknown}");
    }
}
