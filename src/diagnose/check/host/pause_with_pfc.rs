//! Global pause and priority flow control exclude each other on one link.

use super::bearing::{rdma_uplinks, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;

/// Not both at once.
pub const CHECK: Check = Check {
    id: "host.pause-with-pfc",
    title: "Global pause is off where priority flow control is on",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by, with priority flow control on",
    rule: "warns if global pause is on for receiving or sending; passes if it is off",
    source: Source {
        text: "vSphere Storage: RoCE v2 adapters (global pause or PFC); nmlx5 refuses pause while PFC is on",
        weak: false,
    },
    thresholds: &[],
    explains: &["host.pause-drops", "switch.pause-with-pfc"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .filter(|used| scene.flag(&used.id, Attribute::PfcEnabled) == Some(true))
        .map(|used| {
            let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
            let (rx, tx) = (scene.flag(id, Attribute::PauseRx), scene.flag(id, Attribute::PauseTx));
            let (Some(rx), Some(tx)) = (rx, tx) else {
                let attribute = if rx.is_none() { Attribute::PauseRx } else { Attribute::PauseTx };
                let (lack, why) = why(scene, id, attribute, "esxi.nic-pause");
                let title = format!("global pause of {name} of {host}: {why}");
                return Judged::unknown(id, lack, title, "esxcli network nic pauseParams list");
            };
            if !rx && !tx {
                return Judged::pass(id, format!("global pause of {name} of {host} is off, as PFC needs it"));
            }
            let set = |rx: bool, tx: bool| {
                let (rx, tx) = (rx.to_string(), tx.to_string());
                vec![Step::run(&["esxcli", "network", "nic", "pauseParams", "set", "-n", &name, "-r", &rx, "-t", &tx])]
            };
            let way = way(scene, &used.chains);
            let mut judged = Judged::warn(
                id,
                Confidence::Proved,
                format!("{host}: {name} has global pause and priority flow control at once"),
                "the two exclude each other: a global pause stops every priority, also those that should go on, and switches \
                 ignore the one or the other",
            );
            if rx {
                judged = judged.shown(id, Attribute::PauseRx, format!("pause RX of {name} is on"));
            }
            if tx {
                judged = judged.shown(id, Attribute::PauseTx, format!("pause TX of {name} is on"));
            }
            judged
                .shown(id, Attribute::PfcEnabled, format!("PFC of {name} is on"))
                .cured_by(
                    Cure::on(host, &format!("Switch global pause of {name} off"), Risk::DisruptsRdma, set(false, false))
                        .undone_by(
                            set(rx, tx),
                            vec![(id.clone(), Attribute::PauseRx), (id.clone(), Attribute::PauseTx)],
                        )
                        .verified_by(&["host.pause-with-pfc"])
                        .noting("lost at the next start of the host unless /etc/rc.local.d/local.sh does it too; the switch port needs the same"),
                )
                .reaching(way)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const OFF: &str = "vmnic2                    true     false     false";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || pause("vmnic2                    true      true      true"),
        healthy: || Site::sound(),
        unclear: || {
            Site::sound()
                .with("esx02", fails("esxi.nic-pause", 1, "Connect to localhost failed"))
                .with("esx02", fails("esxi.nic-get", 1, "Connect to localhost failed"))
        },
    };

    fn pause(row: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.nic-pause", OFF, row)
    }

    #[test]
    fn the_way_back_knows_which_of_the_two_was_on() {
        let judged = pause("vmnic2                    true     false      true").judge(&CHECK).pop().expect("judged");
        let cure = &judged.cures[0];
        assert_eq!(cure.steps[0].shown(), "esxcli network nic pauseParams set -n vmnic2 -r false -t false");
        assert_eq!(cure.undo[0].shown(), "esxcli network nic pauseParams set -n vmnic2 -r false -t true");
    }

    #[test]
    fn pause_instead_of_flow_control_is_right() {
        let site = (SAMPLES.trouble)().replacing("esx02", "esxi.nic-dcb", "PFC Enabled: true", "PFC Enabled: false");
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
