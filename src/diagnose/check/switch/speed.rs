//! Both ends of a cable say one speed, and full duplex.

use super::ports::{missing, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;

/// One speed.
pub const CHECK: Check = Check {
    id: "switch.speed",
    title: "Switch port and uplink agree about speed and duplex",
    gate: "ports that are up into which uplinks with RDMA of VMs are plugged",
    rule: "fails if the port works in half duplex; warns if the two ends say different speeds; passes otherwise",
    source: Source {
        text: "IEEE 802.3: a link has one speed; field practice: fixed speed at one end, negotiation at the other",
        weak: false,
    },
    thresholds: &[],
    explains: &["host.uplink-speed", "switch.errors", "host.uplink-errors"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn gigabits(bits: u64) -> String {
    format!("{} Gb/s", bits as f64 / 1e9)
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, uplink, name, host) = (&wired.port, &wired.uplink, wired.name(), wired.host());
        if scene.text(port, Attribute::OperationalState).is_some_and(|state| !state.starts_with("up")) {
            return None;
        }
        let step = |what: &str| {
            let step = format!("{}: {what} on {}, and the same on {host}", port.target, port.entity.name());
            Cure::by_hand("Set both ends alike", vec![Step::ByHand(step)]).risking(Risk::DisruptsRdma).verified_by(&["switch.speed"])
        };
        if scene.text(port, Attribute::Duplex).is_some_and(|duplex| duplex.eq_ignore_ascii_case("half")) {
            let judged = Judged::fail(
                port,
                Confidence::Proved,
                format!("{name} works in half duplex"),
                "one end negotiates and the other is fixed: collisions are counted as errors, frames are lost under load",
            );
            return Some(
                judged
                    .shown(port, Attribute::Duplex, format!("{}: half duplex", port.entity.name()))
                    .cured_by(step("set speed and full duplex, or negotiation"))
                    .reaching(wired.way(scene)),
            );
        }
        let Some(speed) = scene.count(port, Attribute::Speed) else {
            let (lack, why, decide) = missing(scene, &wired, Attribute::Speed, "interfaces");
            return Some(Judged::unknown(port, lack, format!("how fast {name} is: {why}"), decide));
        };
        let Some(other) = scene.count(uplink, Attribute::Speed) else {
            let (lack, why) = scene.lack(uplink, Attribute::Speed).unwrap_or_else(|| scene.silence(&uplink.target));
            let decide = format!("on {}: esxcli network nic list", uplink.target);
            return Some(Judged::unknown(port, lack, format!("how fast {host} is: {why}"), decide));
        };
        if speed == other {
            return Some(Judged::pass(port, format!("{name} and {host}: {}", gigabits(speed))));
        }
        Some(
            Judged::warn(
                port,
                Confidence::Likely,
                format!("{name} says {}, {host} says {}", gigabits(speed), gigabits(other)),
                "a link has one speed: one of the two ends is another one than thought, or one of them reports what it was set to",
            )
            .shown(port, Attribute::Speed, format!("{}: {}", port.entity.name(), gigabits(speed)))
            .shown(uplink, Attribute::Speed, format!("{host}: {}", gigabits(other)))
            .cured_by(step("compare speed and neighbour"))
            .reaching(wired.way(scene)),
        )
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with("25000000000", "duplexFull"),
        healthy: || with("100000000000", "duplexFull"),
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    fn with(bandwidth: &str, duplex: &str) -> Site {
        let before = "\"description\": \"esx02 vmnic2\",\n            \"bandwidth\": 100000000000,\n            \"mtu\": 9214,\n            \
                      \"l3MtuConfigured\": false,\n            \"duplex\": \"duplexFull\"";
        let after = before.replace("100000000000", bandwidth).replace("duplexFull", duplex);
        Site::sound().replacing("leaf1", "eos.interfaces", before, &after)
    }

    #[test]
    fn half_duplex_fails() {
        assert_eq!(with("100000000000", "duplexHalf").statuses(&CHECK), [Status::Pass, Status::Fail]);
    }
}
