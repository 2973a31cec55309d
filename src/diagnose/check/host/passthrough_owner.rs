//! Who owns a PCI function: what a VM is given must be in passthrough, and the adapter under PVRDMA must not be.

use std::collections::BTreeSet;

use super::bearing::{Carrier, carriers, is_running, passed, rdma_of, trouble, uplinks_of, vm_name, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// When a function changes hands.
const GIVEN_BACK: &str = "applied at once where nothing holds the device; else with the next start of the host";

/// Functions have the owner that is needed.
pub const CHECK: Check = Check {
    id: "host.passthrough-owner",
    title: "Functions that VMs are given are in passthrough, and the adapter under PVRDMA is not",
    gate: "functions that stand behind a device of a VM; hosts with PVRDMA adapters whose switch lost its RDMA adapter",
    rule: "fails if the VMkernel owns a function that a VM is given, or if network functions are in passthrough on a host whose \
           PVRDMA adapters have no RDMA device; warns where the VM is off; passes otherwise",
    source: Source {
        text: "VMware: DirectPath I/O; ESXCLI Command Reference: esxcli hardware pci pcipassthru",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "host.rdma-device",
        "host.sole-uplink",
        "host.uplink-link",
        "guest.transport",
        "vm.host-qualifies",
        "vm.power-on-failed",
        "vm.backing-function",
        "host.pvrdma-log",
        "guest.neighbour",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found: Vec<Judged> = passed(scene).into_iter().filter_map(|chain| of_device(scene, chain)).collect();
    for carrier in carriers(scene) {
        found.extend(of_carrier(scene, &carrier));
    }
    let mut seen = BTreeSet::new();
    found.retain(|judged| seen.insert(judged.subject.clone()));
    found
}

fn is_given(owner: &str) -> bool {
    owner.to_ascii_lowercase().contains("passthr")
}

/// The function behind a device of a VM.
fn of_device(scene: &Scene<'_>, chain: &Chain) -> Option<Judged> {
    let function = &chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction)?.to;
    // A vGPU is shared: its function stays with the driver of the host.
    if chain.kind.to_ascii_lowercase().contains("vgpu") {
        return None;
    }
    let (host, address, vm) = (&function.target, function.entity.name(), vm_name(scene, &chain.vm));
    let enabled = scene.flag(function, Attribute::PassthroughEnabled);
    let current = scene.text(function, Attribute::CurrentOwner);
    let is_kernels = current.is_some_and(|owner| owner.eq_ignore_ascii_case("VMkernel"));
    if is_kernels || (current.is_none() && enabled == Some(false)) {
        let waits = enabled == Some(true) || scene.text(function, Attribute::ConfiguredOwner).is_some_and(is_given);
        let title = if waits {
            format!("{host}: {address}, which {vm} needs, waits for a reboot to be in passthrough")
        } else {
            format!("{host}: {address}, which {vm} needs, is not in passthrough")
        };
        let cause = format!(
            "the VMkernel owns the function, so it cannot be given to {vm}: the VM does not power on, or runs without it"
        );
        let words = format!("{address} is owned by the VMkernel");
        let evidence = if is_kernels { Attribute::CurrentOwner } else { Attribute::PassthroughEnabled };
        let judged = trouble(is_running(scene, &chain.vm), function, Confidence::Proved, title, cause)
            .shown(function, evidence, words);
        return Some(judged.cured_by(give(host, function, waits)).reaching(scene.way_of(chain)));
    }
    if current.is_none() && enabled.is_none() {
        let (lack, why) = why(scene, function, Attribute::CurrentOwner, "esxi.pci-list");
        let title = format!("who owns {address} of {host}: {why}");
        return Some(Judged::unknown(
            function,
            lack,
            title,
            "esxcli hardware pci list; esxcli hardware pci pcipassthru list",
        ));
    }
    Some(Judged::pass(function, format!("{address} of {host} is in passthrough, as {vm} needs it")))
}

fn toggle(address: &str, state: &str) -> Vec<Step> {
    vec![Step::run(&["esxcli", "hardware", "pci", "pcipassthru", "set", "-d", address, "-e", state, "-a"])]
}

/// What a remedy that toggles a function rests on.
fn owners(function: &EntityId) -> Vec<(EntityId, Attribute)> {
    [Attribute::CurrentOwner, Attribute::ConfiguredOwner].map(|attribute| (function.clone(), attribute)).to_vec()
}

fn give(host: &TargetId, function: &EntityId, waits: bool) -> Cure {
    let address = function.entity.name();
    let verified = ["host.passthrough-owner", "host.reboot-pending"];
    if waits {
        let step = "vCenter: Hosts > Maintenance Mode > Enter, then Power > Reboot".to_owned();
        return Cure::by_hand("Start the host anew", vec![Step::ByHand(step)])
            .risking(Risk::RebootsHost)
            .verified_by(&verified);
    }
    let title = format!("Put {address} into passthrough");
    Cure::on(host, &title, Risk::RebootsHost, toggle(&address, "true"))
        .undone_by(toggle(&address, "false"), owners(function))
        .verified_by(&verified)
        .noting("applied at once where the driver lets go of the device; else with the next start of the host")
}

/// Network functions of a host that are in passthrough and stand behind no device of a VM, with words for each.
pub(super) fn given_away(scene: &Scene<'_>, host: &TargetId) -> Vec<(EntityId, String)> {
    let used: BTreeSet<&EntityId> = scene
        .joined
        .chains
        .iter()
        .flat_map(|chain| &chain.links)
        .filter(|link| link.kind == LinkKind::DeviceFunction)
        .map(|link| &link.to)
        .collect();
    scene
        .fabric
        .of_kind(host, Entity::PciFunction("".into()))
        .map(|entity| EntityId::new(host, entity.clone()))
        .filter(|id| {
            let text = |attribute| scene.text(id, attribute).unwrap_or_default();
            // Virtual functions are there to be given away.
            is_given(text(Attribute::CurrentOwner))
                && text(Attribute::ClassCode).trim_start_matches("0x").starts_with("02")
                && !text(Attribute::DeviceName).contains("Virtual Function")
                && !text(Attribute::KernelName).contains("_VF_")
                && !used.contains(id)
        })
        .map(|id| {
            let model = scene.text(&id, Attribute::DeviceName).unwrap_or("network adapter");
            let words = format!("{} ({model}) is in passthrough", id.entity.name());
            (id, words)
        })
        .collect()
}

/// The adapter under PVRDMA, where it was given away.
fn of_carrier(scene: &Scene<'_>, carrier: &Carrier<'_>) -> Option<Judged> {
    let host = carrier.host;
    let has_rdma = |switch: &&EntityId| uplinks_of(scene, switch).iter().any(|uplink| rdma_of(scene, uplink).is_some());
    let switches = &carrier.switches;
    let lacking = switches.iter().find(|switch| !has_rdma(switch))?;
    let away = given_away(scene, host);
    let (first, words) = away.first()?;
    let name = lacking.entity.name();
    let addresses: Vec<String> = away.iter().map(|(id, _)| id.entity.name()).collect();
    let mut judged = carrier
        .trouble(
            first,
            Confidence::Likely,
            format!("{host}: {words}, and {name} has no RDMA adapter"),
            format!(
                "PVRDMA needs the adapter in the hands of the VMkernel, as uplink of {name}; in passthrough it belongs to no \
                 switch any more, and {} falls back to TCP or reaches no other host. Passthrough is not a step of PVRDMA",
                carrier.names(scene)
            ),
        )
        .shown_by(away.iter().map(|(id, words)| {
            crate::diagnose::check::Exhibit::of(id, Attribute::CurrentOwner, words.clone())
        }))
        .shown(lacking, Attribute::Uplinks, format!("no uplink of {name} has an RDMA device"))
        .decided_by("was one of these adapters an uplink of the switch before? vCenter: Hosts > Monitor > Tasks and Events");
    let rests_on: Vec<_> = away.iter().flat_map(|(id, _)| owners(id)).collect();
    let then = format!("vCenter: Networking > {name} > Add and Manage Hosts: make it the only uplink of {host} again");
    // Whoever took them back already only has to start the host anew.
    let waits =
        away.iter().all(|(id, _)| scene.text(id, Attribute::ConfiguredOwner).is_some_and(|next| !is_given(next)));
    if waits {
        judged.title = format!("{host}: {words} until the host starts anew, and {name} has no RDMA adapter");
        let step = "vCenter: Hosts > Maintenance Mode > Enter, then Power > Reboot".to_owned();
        let cure = Cure::by_hand("Start the host anew", vec![Step::ByHand(step), Step::ByHand(then)]);
        judged = judged.cured_by(cure.risking(Risk::RebootsHost).verified_by(&["host.passthrough-owner"]));
    } else {
        let mut steps: Vec<Step> = addresses.iter().flat_map(|address| toggle(address, "false")).collect();
        steps.push(Step::ByHand(then));
        let undo = addresses.iter().rev().flat_map(|address| toggle(address, "true")).collect();
        judged = judged.cured_by(
            Cure::on(host, "Take the adapter out of passthrough", Risk::RebootsHost, steps)
                .undone_by(undo, rests_on)
                .verified_by(&["host.passthrough-owner"])
                .noting(&format!(
                    "{GIVEN_BACK}; then host.sole-uplink and host.rdma-device tell what {name} still lacks"
                )),
        );
    }
    Some(judged.reaching(carrier.way(scene)).reaching([EntityId::new(host, Entity::Host)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || gpu("VMkernel"),
        healthy: || Site::sound(),
        unclear: || {
            let dead = "Connect to localhost failed: Connection failure";
            Site::sound()
                .replacing("esx01", "esxi.pci-list", GPU, "")
                .with("esx01", fails("esxi.pci-passthrough", 1, dead))
        },
    };

    const GPU: &str = "   Configured Owner: VM Passthru\n   Current Owner: VM Passthru\n   Vendor ID: 0x10de\n";

    fn gpu(current: &str) -> Site {
        let owners = format!("   Configured Owner: VMkernel\n   Current Owner: {current}\n   Vendor ID: 0x10de\n");
        Site::sound().replacing("esx01", "esxi.pci-list", GPU, &owners).replacing(
            "esx01",
            "esxi.pci-passthrough",
            "0000:af:00.0     true",
            "0000:af:00.0    false",
        )
    }

    #[test]
    fn configured_and_not_in_force_needs_a_reboot_only() {
        let owners = GPU.replace("Current Owner: VM Passthru", "Current Owner: VMkernel");
        let site = Site::sound().replacing("esx01", "esxi.pci-list", GPU, &owners);
        let judged = site.judge(&CHECK);
        assert!(judged[0].title.contains("waits for a reboot"), "{judged:#?}");
        assert!(matches!(judged[0].cures[0].steps[..], [Step::ByHand(_)]));
    }

    #[test]
    fn for_a_vm_that_is_off_it_is_a_warning() {
        let site = gpu("VMkernel").replacing("esx01", "esxi.vm-summary", "\"poweredOn\"", "\"poweredOff\"");
        assert_eq!(site.statuses(&CHECK), [Status::Warn]);
    }

    #[test]
    fn the_adapter_of_pvrdma_was_given_away() {
        let hca = "   Device Name: MT28908 Family [ConnectX-6]\n   Configured Owner: VM";
        let site = ["esxi.rdma-devices", "esxi.rdma-vmknics", "esxi.rdma-protocols", "esxi.rdma-stats"]
            .iter()
            .fold(Site::sound(), |site, source| site.with("esx02", says(source, "")))
            .replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks:")
            .replacing(
                "esx02",
                "esxi.pci-list",
                &format!("{hca}kernel\n   Current Owner: VMkernel\n"),
                &format!("{hca} Passthru\n   Current Owner: VM Passthru\n"),
            );
        let judged = site.judge(&CHECK);
        let away = judged.iter().find(|judged| judged.status == Status::Fail).expect("told");
        assert!(away.title.ends_with("is in passthrough, and dvs-rdma has no RDMA adapter"), "{}", away.title);
        let shown: Vec<String> = away.cures[0].steps.iter().map(Step::shown).collect();
        assert_eq!(shown[0], "esxcli hardware pci pcipassthru set -d 0000:5e:00.0 -e false -a");
        let last = away.cures[0].undo.last().map(Step::shown);
        assert_eq!(last.as_deref(), Some("esxcli hardware pci pcipassthru set -d 0000:5e:00.0 -e true -a"));
        assert!(
            matches!(away.cures[0].steps.last(), Some(Step::ByHand(then)) if then.contains("only uplink of esx02"))
        );
    }

    #[test]
    fn an_adapter_beside_a_working_one_may_be_given_away() {
        let given = given_away;
        let site = Site::sound();
        let joined = site.joined();
        let scene = site.scene(&joined);
        assert!(given(&scene, &TargetId::new("esx01")).is_empty(), "virtual functions are no loss");
    }
}
