//! What the checks of GPUs and of what is around them ask of the verdict: how a factor stands on each GPU, as a judgement.

use super::{Exhibit, Judged, Lack, Scene};
use crate::diagnose::finding::Status;
use crate::diagnose::limit::{self, Assessed, Factor, Outcome, Shown, Verdict};
use crate::diagnose::remedy::Cure;
use crate::fabric::{Attribute, Entity, EntityId};

/// How a check words one factor.
pub(super) struct Words {
    /// Which.
    pub factor: Factor,
    /// Why it matters, and what follows from it.
    pub cause: &'static str,
    /// What would tell it where it is not told.
    pub ask: &'static str,
}

/// The judgement on each GPU whose verdict tells this factor.
pub(super) fn each_gpu(scene: &Scene<'_>, words: &Words) -> Vec<Judged> {
    let verdicts = scene.limits.all().filter(|verdict| scene.machines.contains_key(&verdict.gpu.target));
    verdicts.filter_map(|verdict| one(scene, verdict, &verdict.gpu, words)).collect()
}

/// The judgement on what stands around GPUs, each subject once; the first GPU that is in trouble speaks for it.
pub(super) fn each_around(
    scene: &Scene<'_>,
    words: &Words,
    subject: impl Fn(&Verdict) -> Option<EntityId>,
) -> Vec<Judged> {
    let mut judged: Vec<Judged> = Vec::new();
    for verdict in scene.limits.all().filter(|verdict| scene.machines.contains_key(&verdict.gpu.target)) {
        let Some(subject) = subject(verdict) else { continue };
        let Some(now) = one(scene, verdict, &subject, words) else { continue };
        match judged.iter_mut().find(|known| known.subject == subject) {
            Some(known) if is_trouble(&now) && !is_trouble(known) => *known = now,
            Some(_) => {}
            None => judged.push(now),
        }
    }
    judged
}

/// The same with what helps where something is wrong.
pub(super) fn cured(judged: Vec<Judged>, help: impl Fn(&Judged) -> Cure) -> Vec<Judged> {
    let with_help = |judged: Judged| {
        if !is_trouble(&judged) {
            return judged;
        }
        let cure = help(&judged);
        judged.cured_by(cure)
    };
    judged.into_iter().map(with_help).collect()
}

fn is_trouble(judged: &Judged) -> bool {
    matches!(judged.status, Status::Fail | Status::Warn)
}

fn one(scene: &Scene<'_>, verdict: &Verdict, subject: &EntityId, words: &Words) -> Option<Judged> {
    let assessed = verdict.factors.get(&words.factor)?;
    let target = &subject.target;
    let name = called(scene, subject);
    match &assessed.outcome {
        // Nothing runs that would tell it, or not for long enough: there is nothing to judge yet.
        Outcome::Unseen(limit::Lack::NotRead | limit::Lack::TooFew) => None,
        Outcome::Unseen(limit::Lack::Missing(why)) => {
            let title = format!("{target}: {} of {name} cannot be told: {why}", words.factor.name());
            Some(Judged::unknown(
                subject,
                Lack::NotObservable,
                title,
                format!("on {}: {}", verdict.gpu.target, words.ask),
            ))
        }
        Outcome::Clear => Some(Judged::pass(subject, format!("{target}: {name}: {}", assessed.says))),
        Outcome::Holds { .. } => Some(trouble(scene, verdict, assessed, subject, &name, words)),
    }
}

fn trouble(
    scene: &Scene<'_>,
    verdict: &Verdict,
    assessed: &Assessed,
    subject: &EntityId,
    name: &str,
    words: &Words,
) -> Judged {
    let title = format!("{}: {name} is {}: {}", subject.target, worded(words.factor), assessed.says);
    let make = if assessed.is_grave { Judged::fail } else { Judged::warn };
    let weakness = verdict.weakness.filter(|_| verdict.factor() == Some(words.factor));
    let cause = match weakness {
        Some(weakness) => format!("{}; {weakness}", words.cause),
        None => words.cause.to_owned(),
    };
    let mut judged = make(subject, assessed.confidence, title, cause)
        .shown_by(assessed.evidence.iter().map(|shown| exhibit(scene, shown)))
        .decided_by(words.factor.disproved_by());
    for shown in &assessed.against {
        judged = judged.but(exhibit(scene, shown));
    }
    // The function of the guest is the same card, and its VM carries what its memory and processors do.
    let function = match &verdict.gpu.entity {
        Entity::Gpu(address) => Some(EntityId::new(&verdict.gpu.target, Entity::PciFunction(address.clone()))),
        _ => None,
    };
    let around = [Some(verdict.gpu.clone()), function, verdict.vm.clone()];
    let guest = EntityId::new(&verdict.gpu.target, Entity::Guest);
    judged.reaching(around.into_iter().flatten().chain([guest]).filter(|thing| thing != subject))
}

/// The factor as a sentence has it after `is`.
fn worded(factor: Factor) -> &'static str {
    match factor {
        Factor::ReservationBroken => "not holding its memory, although all of it must be reserved",
        Factor::MemoryPressure => "short of memory",
        other => other.name(),
    }
}

fn exhibit(scene: &Scene<'_>, shown: &Shown) -> Exhibit {
    match shown.attribute.filter(|attribute| scene.fabric.reading(&shown.about, *attribute).is_some()) {
        Some(attribute) => Exhibit::of(&shown.about, attribute, shown.says.clone()),
        None => Exhibit::thing(&shown.about, shown.says.clone()),
    }
}

fn called(scene: &Scene<'_>, subject: &EntityId) -> String {
    match &subject.entity {
        Entity::Gpu(address) => format!("GPU {address}"),
        Entity::Vm(_) => {
            scene.text(subject, Attribute::VmName).map_or_else(|| "its VM".to_owned(), |name| format!("VM {name}"))
        }
        Entity::Host => "the host".to_owned(),
        other => other.to_string(),
    }
}

/// Sites with a GPU that works, for the tests of these checks.
#[cfg(test)]
pub mod testing {
    use crate::diagnose::check::testing::{Site, says};
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, half_a_minute};

    /// The functions of a guest with the A100 that its host passes through.
    const FUNCTIONS: &str = "/sys/bus/pci/devices/0000:03:00.0/vendor:0x15ad\n/sys/bus/pci/devices/0000:05:00.0/vendor:0x10de\n\
                             /sys/bus/pci/devices/0000:03:00.0/device:0x07b0\n/sys/bus/pci/devices/0000:05:00.0/device:0x20f1\n\
                             /sys/bus/pci/devices/0000:03:00.0/class:0x020000\n/sys/bus/pci/devices/0000:05:00.0/class:0x030200\n\
                             /sys/bus/pci/devices/0000:03:00.0/numa_node:-1\n/sys/bus/pci/devices/0000:05:00.0/numa_node:-1\n";
    const ADDRESSES: &str = "/sys/class/net/ens160/address:00:50:56:b2:20:11\n/sys/class/net/ens160/operstate:up\n\
                             /sys/class/net/ens160/carrier:1\n/sys/class/net/ens160/mtu:1500\n";
    const LINKS: &str = "'/sys/class/net/ens160' -> '../../devices/pci0000:00/0000:00:15.0/0000:03:00.0/net/ens160'\n\
                         '/sys/class/net/ens160/device/driver' -> '../../../../bus/pci/drivers/vmxnet3'\n";

    const SYSTEM: &str = "/proc/sys/kernel/hostname:gpu-a\n/sys/class/dmi/id/sys_vendor:VMware, Inc.\n\
                          /sys/class/dmi/id/product_uuid:6a76cf14-6501-4b65-a2c3-910960f3dfd5\n";

    /// The sound site with the guest in the VM that has the GPU.
    pub fn around() -> Site {
        Site::sound().guest(
            "gpu-a",
            &[
                says("linux.system-files", SYSTEM),
                says("linux.pci-functions", FUNCTIONS),
                says("linux.netdev-files", ADDRESSES),
                says("linux.netdev-links", LINKS),
            ],
        )
    }

    /// The same with half a minute of rows.
    pub fn with(smi: &str, dcgm: &str, host: &str) -> Site {
        around().measured(&half_a_minute(smi, dcgm, host))
    }

    /// A GPU at full work in a VM that lacks nothing.
    pub fn sound() -> Site {
        with(SMI, DCGM, ESXTOP)
    }
}
