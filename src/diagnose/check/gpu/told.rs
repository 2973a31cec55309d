//! What the checks of a GPU's own states ask: which GPUs a tool of NVIDIA read, and what it said of them.

use super::gpus::called;
use crate::diagnose::check::{Judged, Scene};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text, Value};

/// All GPUs that the driver told of, each with its guest.
pub fn read<'a>(scene: &Scene<'a>) -> Vec<(&'a TargetId, EntityId)> {
    let of = |guest: &'a TargetId| {
        let gpus = scene.fabric.of_kind(guest, Entity::Gpu(Text::new("")));
        gpus.map(move |entity| (guest, EntityId::new(guest, entity.clone())))
    };
    scene.guests().flat_map(of).collect()
}

/// What a GPU says of an attribute.
pub enum Told<'a> {
    /// This GPU or this release of its driver does not have it.
    Nothing,
    /// It could not be read: what to say of that.
    Unclear(Box<Judged>),
    /// This.
    Known(&'a Value),
}

/// What a GPU says of an attribute; `what` names it in a sentence, `shows` are options of `nvidia-smi` that show it.
pub fn told<'a>(scene: &Scene<'a>, gpu: &EntityId, attribute: Attribute, what: &str, shows: &str) -> Told<'a> {
    let guest = &gpu.target;
    match scene.fabric.reading(gpu, attribute).map(|reading| &reading.state) {
        Some(State::Known(value)) => Told::Known(value),
        Some(State::Failed(_) | State::NeedsPrivilege(_)) => {
            let (lack, why) = scene.lack(gpu, attribute).unwrap_or_else(|| scene.silence(guest));
            let title = format!("{guest}: {what} of {}: {why}", named(gpu));
            Told::Unclear(Box::new(Judged::unknown(gpu, lack, title, format!("on {guest}: nvidia-smi {shows}"))))
        }
        _ => Told::Nothing,
    }
}

/// A GPU as a sentence names it: `GPU 0000:9b:00.0`.
pub fn named(gpu: &EntityId) -> String {
    called(&function(gpu))
}

/// The PCI function of a GPU: what the kernel says of it is said of that.
pub fn function(gpu: &EntityId) -> EntityId {
    let Entity::Gpu(address) = &gpu.entity else { return gpu.clone() };
    EntityId::new(&gpu.target, Entity::PciFunction(address.clone()))
}

/// Raw text for the tests of these checks.
#[cfg(test)]
pub mod testing {
    use super::super::gpus::testing::guest;
    use crate::diagnose::check::testing::{Site, says};

    /// A guest whose driver says this of its GPU: lines of `nvidia-smi -q` with their indentation.
    pub fn query(lines: &str) -> Site {
        let text = format!(
            "\nDriver Version                            : 550.90.07\n\nAttached GPUs                             : 1\nGPU 00000000:05:00.0\n    \
             Product Name                          : NVIDIA A100-PCIE-40GB\n{lines}"
        );
        guest().with("gpu-1", says("gpu.query", &text))
    }
}
