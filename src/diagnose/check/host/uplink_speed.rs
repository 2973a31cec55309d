//! The uplink runs at the speed of its twins, and full duplex.

use std::collections::BTreeMap;

use super::bearing::{rdma_uplinks, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId};

/// The uplink is as fast as its twins.
pub const CHECK: Check = Check {
    id: "host.uplink-speed",
    title: "The uplink under the VMs' RDMA adapters runs at full speed",
    gate: "uplinks with a link that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "warns if the uplink is half duplex, or slower than an adapter of the same model on this or another host; passes \
           otherwise",
    source: Source { text: "ESXCLI Command Reference: esxcli network nic list", weak: false },
    thresholds: &[],
    explains: &["switch.speed"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let used = rdma_uplinks(scene);
    // The fastest of each model.
    let mut fastest: BTreeMap<&str, (u64, &EntityId)> = BTreeMap::new();
    for uplink in &used {
        let speed = scene.count(&uplink.id, Attribute::Speed);
        if let (Some(model), Some(speed)) = (scene.text(&uplink.id, Attribute::DeviceName), speed) {
            let best = fastest.entry(model).or_insert((speed, &uplink.id));
            if speed > best.0 {
                *best = (speed, &uplink.id);
            }
        }
    }
    used.iter()
        .filter(|uplink| scene.flag(&uplink.id, Attribute::Carrier) != Some(false))
        .map(|uplink| {
            let (id, host, name) = (&uplink.id, &uplink.id.target, uplink.id.entity.name());
            let Some(speed) = scene.count(id, Attribute::Speed) else {
                let (lack, why) = why(scene, id, Attribute::Speed, "esxi.nic-list");
                let title = format!("the speed of {name} of {host}: {why}");
                return Judged::unknown(id, lack, title, format!("esxcli network nic get -n {name}"));
            };
            let reach = way(scene, &uplink.chains);
            let cure = || {
                let step = format!(
                    "cable and transceiver of {name}, and the speed, FEC and auto-negotiation of the port of the switch; then \
                     esxcli network nic set -n {name} -a, if the speed was set by hand"
                );
                Cure::by_hand("Bring the link to its full speed", vec![Step::ByHand(step)])
                    .verified_by(&["host.uplink-speed"])
            };
            if scene.text(id, Attribute::Duplex).is_some_and(|duplex| duplex.eq_ignore_ascii_case("half")) {
                return Judged::warn(
                    id,
                    Confidence::Proved,
                    format!("{host}: {name} is half duplex"),
                    "it sends or receives, never both: RoCE needs full duplex, and flow control does not exist without",
                )
                .shown(id, Attribute::Duplex, format!("{name} is half duplex"))
                .cured_by(cure())
                .reaching(reach);
            }
            let twin = scene.text(id, Attribute::DeviceName).and_then(|model| fastest.get(model));
            match twin {
                Some((best, twin)) if *best > speed => Judged::warn(
                    id,
                    Confidence::Proved,
                    format!(
                        "{host}: {name} runs at {}, {} of {} at {}",
                        words(speed),
                        twin.entity.name(),
                        twin.target,
                        words(*best)
                    ),
                    "the same model of adapter links slower here: the slower end sets the pace of every pair, and its switch \
                     port has to hold the faster one back",
                )
                .shown(id, Attribute::Speed, format!("{name} of {host}: {}", words(speed)))
                .shown(twin, Attribute::Speed, format!("{} of {}: {}", twin.entity.name(), twin.target, words(*best)))
                .cured_by(cure())
                .reaching(reach),
                _ => Judged::pass(id, format!("{name} of {host} runs at {}", words(speed))),
            }
        })
        .collect()
}

/// `100 Gbit/s`.
fn words(bits: u64) -> String {
    if bits >= 1_000_000_000 && bits.is_multiple_of(1_000_000_000) {
        format!("{} Gbit/s", bits / 1_000_000_000)
    } else {
        format!("{} Mbit/s", bits / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const UP: &str = "vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || link("vmnic2  0000:5e:00.0  nmlx5_core  Up            Up            25000  Full"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-list", 1, "Connect to localhost failed")),
    };

    fn link(row: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.nic-list", UP, row)
    }

    #[test]
    fn both_ends_are_named() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: vmnic2 runs at 25 Gbit/s, vmnic2 of esx01 at 100 Gbit/s");
        assert_eq!(words(2_500_000_000), "2500 Mbit/s");
    }

    #[test]
    fn half_duplex_and_another_model() {
        let half = link("vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Half");
        assert_eq!(half.statuses(&CHECK), [Status::Pass, Status::Warn]);
        let other = (SAMPLES.trouble)().replacing("esx02", "esxi.nic-list", "MT28908 Family", "MT27800 Family");
        assert_eq!(other.statuses(&CHECK), [Status::Pass, Status::Pass], "another adapter may be slower");
        let down = link("vmnic2  0000:5e:00.0  nmlx5_core  Up            Down              0  Half");
        assert_eq!(down.statuses(&CHECK), [Status::Pass], "without a link there is no speed");
    }
}
