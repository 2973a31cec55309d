//! The stand-in lays its answers out as the bindings expect them; else it would prove nothing.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::process::Command;

use nvml_wrapper_sys::bindings as nvml;

use crate::stand_in::compile;

macro_rules! layout {
    ($type:ty: $($field:ident),*) => {
        vec![size_of::<$type>(), $(offset_of!($type, $field)),*]
    };
}

#[test]
fn structures_have_the_sizes_and_the_versions_of_the_bindings() {
    let program = compile("layout", "layout.c", &[]);
    let printed = Command::new(&program).output().expect("it runs").stdout;
    let printed = String::from_utf8(printed).expect("text");
    let mut said: BTreeMap<&str, Vec<usize>> = printed
        .lines()
        .map(|line| {
            let (name, numbers) = line.split_once(' ').expect("a name and numbers");
            (name, numbers.split(' ').map(|number| number.parse().expect("a number")).collect())
        })
        .collect();
    let version = said.remove("memory_v2.version").expect("the version");
    let bindings = BTreeMap::from([
        ("pci_info", layout!(nvml::nvmlPciInfo_t: domain, pciSubSystemId, busId)),
        ("memory_v2", layout!(nvml::nvmlMemory_v2_t: total, free, used)),
        ("bar1_memory", layout!(nvml::nvmlBAR1Memory_t: bar1Free, bar1Used)),
        ("utilization", layout!(nvml::nvmlUtilization_t: memory)),
        ("process_info", layout!(nvml::nvmlProcessInfo_t: usedGpuMemory, gpuInstanceId, computeInstanceId)),
        ("field_value", layout!(nvml::nvmlFieldValue_t: timestamp, valueType, nvmlReturn, value)),
        ("event_data", layout!(nvml::nvmlEventData_t: eventType, eventData, gpuInstanceId)),
        ("gpm_support", layout!(nvml::nvmlGpmSupport_t: isSupportedDevice)),
        (
            "gpm_metric",
            vec![
                size_of::<nvml::nvmlGpmMetric_t>(),
                offset_of!(nvml::nvmlGpmMetric_t, value),
                offset_of!(nvml::nvmlGpmMetric_t, metricInfo.unit),
            ],
        ),
        ("gpm_metrics", layout!(nvml::nvmlGpmMetricsGet_t: sample1, metrics)),
    ]);
    assert_eq!(said, bindings);
    // `NVML_STRUCT_VERSION(Memory, 2)`; the stand-in refuses any other, as the driver does.
    assert_eq!(version, [size_of::<nvml::nvmlMemory_v2_t>() | 2 << 24]);
}
