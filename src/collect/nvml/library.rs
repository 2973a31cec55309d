//! Opening the library, and what it says of the driver as a whole.

use std::fs;

use nvml_wrapper::Nvml;

use super::Settings;
use super::answer::{self, Answer, Refusal};
use super::page::Page;
use super::trouble::{self, Trouble};
use crate::fabric::{Attribute, Entity, Value};

/// Opens the library and says it hello.
pub(super) fn open(settings: &Settings) -> Result<Nvml, Trouble> {
    let mut builder = Nvml::builder();
    if let Some(library) = &settings.library {
        builder.lib_path(library);
    }
    builder.init().map_err(|error| trouble::opening(&error, &settings.named()))
}

/// How many GPUs the driver counts.
pub(super) fn count(nvml: &Nvml) -> Answer<u32> {
    answer::of(nvml.device_count())
}

/// Writes what the driver says of itself.
pub(super) fn describe(nvml: &Nvml, page: &mut Page) {
    let version = answer::of(nvml.sys_driver_version()).and_then(|text| filled(&text));
    page.state(&Entity::Guest, Attribute::NvidiaDriver, "nvmlSystemGetDriverVersion", &version);
    let cuda = answer::of(nvml.sys_cuda_driver_version()).and_then(|version| match version {
        1000.. => Ok(Value::from(format!("{}.{}", version / 1000, version % 1000 / 10).as_str())),
        _ => Err(Refusal::short()),
    });
    page.state(&Entity::Guest, Attribute::CudaVersion, "nvmlSystemGetCudaDriverVersion_v2", &cuda);
    page.state(&Entity::Guest, Attribute::GpuReadBy, "nvmlInit_v2", &Ok(Value::from("NVML")));
}

/// A text that has letters.
pub(super) fn filled(text: &str) -> Answer<Value> {
    if text.trim().is_empty() { Err(Refusal::short()) } else { Ok(Value::from(text)) }
}

/// True if this machine has an NVIDIA GPU at all, whatever its driver.
pub(super) fn has_card() -> bool {
    let Ok(functions) = fs::read_dir("/sys/bus/pci/devices") else { return false };
    functions.flatten().any(|function| {
        let says = |file: &str, beginning: &str| {
            fs::read_to_string(function.path().join(file)).is_ok_and(|text| text.trim_start().starts_with(beginning))
        };
        says("vendor", "0x10de") && says("class", "0x03")
    })
}
