//! Whether the PCIe link of a passed-through adapter carries what its port can.

use super::ask;
use super::vf_state::is_virtual_function;
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The slot is fast enough.
pub const CHECK: Check = Check {
    id: "guest.pcie-link",
    title: "The PCIe link of a passed-through adapter carries what its port can",
    gate: "whole RDMA adapters that are passed through (virtual functions and PVRDMA have no link of their own)",
    rule: "warns if the throughput of the link now is below the rate of the port; informs if it has fewer lanes than both ends could use",
    source: Source { text: "kernel source: drivers/pci/pci.c (pcie_bandwidth_available)", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    let whole = |port: &&Port| port.kind == DeviceKind::Passthrough && !is_virtual_function(scene, port);
    ports.iter().filter(whole).filter_map(|port| judge_port(scene, port)).collect()
}

/// What a link carries, in bits a second: the rate of each lane without the coding of its generation.
fn throughput(speed: &str, lanes: u64) -> Option<u64> {
    // `8.0 GT/s PCIe`, on old kernels `8 GT/s`.
    let (whole, fraction) = speed.split(' ').next()?.split_once('.').unwrap_or((speed.split(' ').next()?, "0"));
    let tenths = whole.parse::<u64>().ok()?.checked_mul(10)?.checked_add(fraction.get(..1)?.parse().ok()?)?;
    let (payload, coded) = match tenths {
        0..=50 => (8, 10),
        51..=320 => (128, 130),
        _ => (98, 100),
    };
    tenths.checked_mul(100_000_000)?.checked_mul(lanes)?.checked_mul(payload)?.checked_div(coded)
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let guest = &port.id.target;
    let address = scene.text(&port.device, Attribute::PciAddress)?;
    let function = EntityId::new(guest, Entity::PciFunction(address.into()));
    let decide = format!("lspci -vv -s {address} | grep LnkSta, as root");
    let Some(speed) = scene.text(&function, Attribute::LinkSpeed) else {
        return Some(ask::untold(scene, &function, Attribute::LinkSpeed, "linux.pci-links", &decide));
    };
    let Some(lanes) = scene.count(&function, Attribute::LinkWidth) else {
        return Some(ask::untold(scene, &function, Attribute::LinkWidth, "linux.pci-links", &decide));
    };
    let carried = throughput(speed, lanes)?;
    let gigabits = |bits: u64| bits / 1_000_000_000;
    let link = format!("{speed} x{lanes}");
    if let Some(rate) = scene.count(&port.id, Attribute::Ceiling)
        && carried < rate
    {
        return Some(
            Judged::warn(
                &function,
                Confidence::Proved,
                format!("{guest}: the PCIe link of {address} carries less than its port"),
                format!("{link} carries {} Gb/s, the port {} Gb/s: the adapter is in a slot with too few lanes or of an older generation, or its link came up degraded", gigabits(carried), gigabits(rate)),
            )
            .shown(&function, Attribute::LinkSpeed, format!("speed {speed}"))
            .shown(&function, Attribute::LinkWidth, format!("{lanes} lanes"))
            .shown(&port.id, Attribute::PortRate, format!("the port has {} Gb/s", gigabits(rate)))
            .cured_by(Cure::by_hand(
                "Move or reseat the adapter",
                vec![Step::ByHand("on the host: the slot's lanes and generation in its manual, bifurcation in the firmware, and the seat of the card; the host's own view is in esxcli hardware pci list".to_owned())],
            ))
            .reaching(ask::here(scene, port)),
        );
    }
    let most = scene.count(&function, Attribute::LinkWidthMax);
    if let Some(most) = most.filter(|most| lanes < *most) {
        return Some(
            Judged::info(
                &function,
                format!("{guest}: {address} uses {lanes} of {most} lanes"),
                format!("{link} carries {} Gb/s, which is enough for its port", gigabits(carried)),
            )
            .shown(&function, Attribute::LinkWidth, format!("{lanes} lanes")),
        );
    }
    Some(Judged::pass(&function, format!("{guest}: {link} carries {} Gb/s", gigabits(carried))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn lanes(number: &str) -> Site {
        Site::sound().replacing(
            "hca-a",
            "linux.pci-links",
            "0000:13:00.0/current_link_width:16",
            &format!("0000:13:00.0/current_link_width:{number}"),
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || lanes("8"),
        healthy: Site::sound,
        unclear: || Site::sound().with("hca-a", fails("linux.pci-links", 124, "timeout")),
    };

    #[test]
    fn links_carry_what_their_generation_does() {
        assert_eq!(throughput("8.0 GT/s PCIe", 16), Some(126_030_769_230), "as the kernel prints it: 126 Gb/s");
        assert_eq!(throughput("2.5 GT/s PCIe", 1), Some(2_000_000_000));
        assert_eq!(throughput("fast", 1), None);
    }

    #[test]
    fn fewer_lanes_that_are_enough_are_only_told() {
        let site = lanes("8").replacing(
            "hca-a",
            "linux.pci-links",
            "0000:13:00.0/current_link_speed:8.0 GT/s",
            "0000:13:00.0/current_link_speed:16.0 GT/s",
        );
        assert!(site.statuses(&CHECK).contains(&Status::Info));
    }
}
