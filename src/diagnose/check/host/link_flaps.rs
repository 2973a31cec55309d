//! A link that falls and comes back again and again breaks RDMA each time, and looks healthy whenever one looks.

use super::bearing::{names as vms, rdma_uplinks, way};
use super::messages::{names, of_host, quoted};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};

/// The link does not flap.
pub const CHECK: Check = Check {
    id: "host.link-flaps",
    title: "The link under the VMs' RDMA adapters does not fall again and again",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "warns if the VMkernel's log has as many falls of the link as the thresholds say, in half a day or in a day; passes if \
           it has fewer",
    source: Source { text: "GPUd: 3 falls in 12 hours; Azure HPC node health checks: 5 in 24 hours", weak: false },
    thresholds: &[HALF_DAY, DAY],
    explains: &["guest.transport", "guest.retransmits", "guest.queue-pairs", "host.rdma-errors", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const HALF_DAY: Threshold = Threshold {
    key: "host.link-flaps.half-day",
    default: 3.0,
    unit: "falls",
    meaning: "falls of the link in 12 hours from which on it flaps",
    source: "GPUd",
};

const DAY: Threshold = Threshold {
    key: "host.link-flaps.day",
    default: 5.0,
    unit: "falls",
    meaning: "falls of the link in 24 hours from which on it flaps",
    source: "Azure HPC node health checks",
};

/// Seconds of half a day.
const TWELVE_HOURS: i64 = 43_200;

/// True if a line of the log tells that the link of this uplink fell.
fn is_fall(text: &str, uplink: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    names(text, uplink) && ["link down", "link is down", "link state down"].iter().any(|words| lower.contains(words))
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let (half, whole) = (scene.thresholds.of(&HALF_DAY), scene.thresholds.of(&DAY));
    rdma_uplinks(scene)
        .iter()
        .map(|used| {
            let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
            let messages = match of_host(scene, host) {
                Ok(messages) => messages,
                Err((lack, why)) => {
                    let title = format!("how often the link of {name} of {host} fell: {why}");
                    return Judged::unknown(id, lack, title, format!("grep -i 'link down' /var/log/vmkernel.log | grep {name}"));
                }
            };
            let falls: Vec<_> = messages.iter().filter(|message| is_fall(message.text, &name)).collect();
            let recent = falls.iter().filter(|message| message.ago <= TWELVE_HOURS).count();
            let (count, time) = if recent as f64 >= half {
                (recent, "12 hours")
            } else if falls.len() as f64 >= whole {
                (falls.len(), "24 hours")
            } else {
                return Judged::pass(id, format!("the link of {name} of {host} does not flap"));
            };
            let step = format!(
                "exchange cable and transceiver of {name} one after the other, and look at the port of the switch: its errors, FEC \
                 and log"
            );
            Judged::warn(
                id,
                Confidence::Proved,
                format!("{host}: the link of {name} fell {count} times in {time}"),
                format!(
                    "each fall breaks the connections of {} and lets retries run out: a cable or transceiver that is loose or \
                     dying, or a switch port that restarts",
                    vms(scene, &used.chains)
                ),
            )
            .shown_by(falls.iter().rev().take(3).map(|message| Exhibit::thing(&message.id, quoted(message.text))))
            .cured_by(
                Cure::by_hand("Find the loose end", vec![Step::ByHand(step)]).verified_by(&["host.link-flaps"]),
            )
            .reaching(way(scene, &used.chains))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || log("vmnic2", &["01:10", "03:20", "09:45"]),
        healthy: || log("vmnic2", &["01:10", "09:45"]),
        unclear: || {
            let no = "tail: can't open '/var/log/vmkernel.log': Permission denied";
            Site::sound().with("esx02", fails("esxi.vmkernel-log-tail", 1, no))
        },
    };

    fn log(uplink: &str, times: &[&str]) -> Site {
        let mut lines = String::new();
        for time in times {
            let head = format!("2026-11-24T{time}");
            let both = format!(
                "{head}:00.973Z Wa(180) vmkwarning: cpu24:2097339)WARNING: <NMLX_WRN> nmlx5_core: {uplink}: link down\n\
                 {head}:31.112Z In(182) vmkernel: cpu24:2097339)<NMLX_INF> nmlx5_core: {uplink}: link up\n"
            );
            lines += &both;
        }
        Site::sound().with("esx02", says("esxi.vmkernel-log-tail", &lines))
    }

    #[test]
    fn another_uplink_and_an_older_fall_do_not_count() {
        assert_eq!(log("vmnic3", &["01:10", "03:20", "09:45"]).statuses(&CHECK), [Status::Pass, Status::Pass]);
        let spread = ["01:10", "03:20", "20:45"];
        assert_eq!(log("vmnic2", &spread).statuses(&CHECK), [Status::Pass, Status::Pass], "over twelve hours apart");
        let five = ["00:10", "03:20", "08:00", "16:00", "20:45"];
        let judged = log("vmnic2", &five).judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: the link of vmnic2 fell 5 times in 24 hours");
    }
}
