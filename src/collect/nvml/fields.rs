//! Values that NVML gives by number. They are asked for together, and each has an answer of its own.

use nvml_wrapper::Device;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id as id;

use super::answer::{self, Answer, Refusal};

/// Temperature of the memory.
pub(super) const MEMORY_TEMPERATURE: u32 = id::NVML_FI_DEV_MEMORY_TEMP;
/// Links of NVLink that the GPU has.
pub(super) const LINKS: u32 = id::NVML_FI_DEV_NVLINK_LINK_COUNT;
/// Speed of its links, in MB/s each way.
pub(super) const LINK_SPEED: u32 = id::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
/// Rows remapped after correctable errors.
pub(super) const REMAPPED_CORRECTABLE: u32 = id::NVML_FI_DEV_REMAPPED_COR;
/// Rows remapped after uncorrectable errors.
pub(super) const REMAPPED_UNCORRECTABLE: u32 = id::NVML_FI_DEV_REMAPPED_UNC;
/// Whether a remap waits for a reset.
pub(super) const REMAP_PENDING: u32 = id::NVML_FI_DEV_REMAPPED_PENDING;
/// Whether a remap failed.
pub(super) const REMAP_FAILED: u32 = id::NVML_FI_DEV_REMAPPED_FAILURE;
/// Pages retired after single-bit errors.
pub(super) const RETIRED_SINGLE: u32 = id::NVML_FI_DEV_RETIRED_SBE;
/// Pages retired after double-bit errors.
pub(super) const RETIRED_DOUBLE: u32 = id::NVML_FI_DEV_RETIRED_DBE;
/// Whether a page waits for its retirement.
pub(super) const RETIREMENT_PENDING: u32 = id::NVML_FI_DEV_RETIRED_PENDING;
/// What the driver wants done.
pub(super) const RECOVERY_ACTION: u32 = id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;

/// Asks for several at once; the answers come in the same order.
pub(super) fn read<const N: usize>(device: &Device<'_>, ids: [u32; N]) -> [Answer<u64>; N] {
    let wanted = ids.map(FieldId);
    let mut answers = match device.field_values_for(&wanted) {
        Ok(answers) => answers.into_iter(),
        Err(error) => {
            let refusal = Refusal::from(error);
            return ids.map(|_| Err(refusal.clone()));
        }
    };
    ids.map(|_| match answers.next() {
        Some(Ok(sample)) => answer::of(sample.value).and_then(|value| count(&value)),
        Some(Err(error)) => Err(error.into()),
        None => Err(Refusal::short()),
    })
}

/// The value as a whole number, which all of those above are. An answer that the driver did not fill is the double 0.0.
fn count(value: &SampleValue) -> Answer<u64> {
    match value {
        SampleValue::U32(value) => Ok(u64::from(*value)),
        SampleValue::U64(value) => Ok(*value),
        SampleValue::I64(value) => u64::try_from(*value).map_err(|_| Refusal::other("a number below zero")),
        SampleValue::F64(_) => Err(Refusal::short()),
    }
}

/// What the driver wants done (`nvmlDeviceGpuRecoveryAction_t`), in the words of `nvidia-smi`.
pub(super) fn recovery_action(number: u64) -> String {
    match number {
        0 => "none".to_owned(),
        1 => "reset the GPU".to_owned(),
        2 => "reboot".to_owned(),
        3 => "drain p2p".to_owned(),
        4 => "drain and reset".to_owned(),
        5 => "recover imex domain".to_owned(),
        other => format!("action {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_not_filled_is_no_zero() {
        assert_eq!(count(&SampleValue::U32(0)), Ok(0));
        assert_eq!(count(&SampleValue::U64(7)), Ok(7));
        assert_eq!(count(&SampleValue::F64(0.0)), Err(Refusal::short()));
        assert!(count(&SampleValue::I64(-1)).is_err());
    }
}
