//! `ethtool`: driver, statistics, settings, pause.

use super::{Scene, fails, says};
use crate::lab::guest::state::{Family, Netdev};
use crate::lab::guest::templates::fill;
use crate::lab::machine::Answer;

/// Answers a question.
pub fn run(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (option, name) = match words {
        [name] if !name.starts_with('-') => ("", *name),
        [option, name, ..] => (*option, *name),
        // Source: ethtool.c of ethtool 6.1.
        _ => return fails("ethtool: bad command line argument(s)\nFor more information run ethtool -h\n", 1),
    };
    let netdev = scene.moment.state.netdev(name);
    match (option, netdev) {
        ("-i" | "--driver", Some(netdev)) => driver(netdev),
        ("-S" | "--statistics", Some(netdev)) => statistics(scene, netdev),
        ("-a" | "--show-pause", Some(netdev)) => pause(netdev),
        ("", Some(netdev)) => settings(netdev),
        // Source: captures "ethtool -i nope" and, in its end, "ethtool nope".
        ("", None) => fails(
            "netlink error: no device matches name (offset 24)\nnetlink error: No such device\nNo data available\n",
            75,
        ),
        ("-i" | "--driver", None) => fails("Cannot get driver information: No such device\n", 71),
        (_, None) => fails("netlink error: No such device\n", 1),
        _ => fails("netlink error: Operation not supported\n", 1),
    }
}

fn driver(netdev: &Netdev) -> Answer {
    let (Some(driver), Some(function)) = (&netdev.driver, &netdev.function) else {
        // Source: capture "ethtool -i lo".
        return fails("Cannot get driver information: Operation not supported\n", 71);
    };
    let is_mlx5 = driver.name == "mlx5_core";
    let answer = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    says(fill(
        include_str!("../templates/ethtool-i.txt"),
        &[
            ("driver", driver.name.to_owned()),
            ("version", driver.version.clone()),
            ("firmware", driver.firmware.clone()),
            ("function", function.clone()),
            ("test", answer(is_mlx5)),
            ("dump", answer(!is_mlx5)),
            ("flags", answer(is_mlx5)),
        ],
    ))
}

fn statistics(scene: &Scene<'_>, netdev: &Netdev) -> Answer {
    let counters = scene.moment.net_counters(netdev);
    match netdev.driver.as_ref().map(|driver| driver.name) {
        Some("vmxnet3") => {
            // Both directions carry a little multicast: neighbour discovery, of 84 and 110 octets.
            let (multicast_in, multicast_out) = (counters.multicast, counters.packets.1.min(8));
            let sent = counters.bytes.1.saturating_sub(multicast_out * 84);
            let received = counters.bytes.0.saturating_sub(multicast_in * 110);
            let (sent_packets, received_packets) =
                (counters.packets.1 - multicast_out, counters.packets.0.saturating_sub(multicast_in));
            let number = |value: u64| value.to_string();
            says(fill(
                include_str!("../templates/ethtool-s-vmxnet3.txt"),
                &[
                    ("tso_packets", number(sent_packets / 5 * 4)),
                    ("tso_bytes", number(sent / 5 * 4)),
                    ("sent_packets", number(sent_packets)),
                    ("sent_bytes", number(sent)),
                    ("mcast_sent_packets", number(multicast_out)),
                    ("mcast_sent_bytes", number(multicast_out * 84)),
                    ("lro_packets", number(received_packets / 5 * 4)),
                    ("lro_bytes", number(received / 5 * 4)),
                    ("received_packets", number(received_packets)),
                    ("received_bytes", number(received)),
                    ("mcast_received_packets", number(multicast_in)),
                    ("mcast_received_bytes", number(multicast_in * 110)),
                ],
            ))
        }
        Some("mlx5_core") => {
            let moment = &scene.moment;
            // sysfs shows words of 4 octets; here are the octets.
            let words = |name: &str| moment.port_counter(name) * 4;
            let packets = |name: &str| moment.port_counter(name);
            let values = [
                ("rx_packets", counters.packets.0),
                ("rx_bytes", counters.bytes.0),
                ("tx_packets", counters.packets.1),
                ("tx_bytes", counters.bytes.1),
                ("rdma_rx_packets", packets("port_rcv_packets")),
                ("rdma_rx_bytes", words("port_rcv_data")),
                ("rdma_tx_packets", packets("port_xmit_packets")),
                ("rdma_tx_bytes", words("port_xmit_data")),
                ("rx_packets_phy", counters.packets.0 + packets("port_rcv_packets")),
                ("tx_packets_phy", counters.packets.1 + packets("port_xmit_packets")),
                // On the wire each frame has a checksum of 4 octets more.
                ("rx_bytes_phy", counters.bytes.0 + words("port_rcv_data") + 4 * packets("port_rcv_packets")),
                ("tx_bytes_phy", counters.bytes.1 + words("port_xmit_data") + 4 * packets("port_xmit_packets")),
            ]
            .map(|(name, value)| (name, value.to_string()));
            let mut text = fill(include_str!("../templates/ethtool-s-mlx5.txt"), &values);
            if moment.state.adapter.family == Family::Mlx5 {
                text.push_str(&fill(include_str!("../templates/ethtool-s-mlx5-physical.txt"), &values));
            }
            says(text)
        }
        // Source: capture "ethtool -S lo".
        _ => fails("no stats available\n", 94),
    }
}

fn pause(netdev: &Netdev) -> Answer {
    // Source: capture "ethtool -a eth1" of an interface without pause; vmxnet3 has no such operation.
    if netdev.driver.as_ref().is_none_or(|driver| driver.name != "mlx5_core") {
        return fails("netlink error: Operation not supported\n", 1);
    }
    says(format!("Pause parameters for {}:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n\n", netdev.name))
}

fn settings(netdev: &Netdev) -> Answer {
    let template = match netdev.driver.as_ref().map(|driver| driver.name) {
        Some("vmxnet3") => include_str!("../templates/ethtool-vmxnet3.txt"),
        Some("mlx5_core") => include_str!("../templates/ethtool-mlx5.txt"),
        // UNSOURCED: what it prints of an interface without hardware.
        _ => return says(format!("Settings for {}:\n\tLink detected: yes\n", netdev.name)),
    };
    let is_running = netdev.is_running();
    says(fill(
        template,
        &[
            ("name", netdev.name.clone()),
            ("speed", if is_running { format!("{}Mb/s", netdev.speed) } else { "Unknown!".to_owned() }),
            ("duplex", if is_running { "Full" } else { "Unknown! (255)" }.to_owned()),
            ("link", if is_running { "yes" } else { "no" }.to_owned()),
        ],
    ))
}
