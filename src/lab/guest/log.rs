//! The kernel log of a boot, and the lines that drivers write later.

use super::gpus;
use super::state::{Family, Netdev, State};
use super::templates::fill;

/// The lines of a boot with their times in seconds.
pub fn of_boot(state: &State) -> Vec<(f64, String)> {
    let adapter = &state.adapter;
    let netdev = state.rdma_netdev();
    let management = state.netdevs.iter().find(|other| !other.is_loopback() && other.index != netdev.index);
    let bandwidth = match adapter.family {
        // Shape: drivers/pci/pci.c. A slot that takes all that the adapter gives.
        Family::Mlx5 => format!(
            "2.105902 mlx5_core {}: 126.016 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x16 link)\n",
            adapter.function
        ),
        Family::Mlx5Vf | Family::Pvrdma => String::new(),
    };
    let values = [
        ("release", state.kernel.0.clone()),
        ("build", state.kernel.1.clone()),
        ("function", adapter.function.clone()),
        ("firmware", adapter.firmware.clone()),
        ("device", adapter.device.clone()),
        ("netdev", netdev.name.clone()),
        ("rdma_function", netdev.function.clone().unwrap_or_default()),
        ("speed", netdev.speed.to_string()),
        ("management", management.map_or(String::new(), |other| other.name.clone())),
        ("management_function", management.and_then(|other| other.function.clone()).unwrap_or_default()),
        ("bandwidth", bandwidth),
    ];
    let own = match adapter.family {
        Family::Pvrdma => include_str!("templates/boot-log-pvrdma.txt"),
        Family::Mlx5 | Family::Mlx5Vf => include_str!("templates/boot-log-mlx5.txt"),
    };
    let text = fill(include_str!("templates/boot-log.txt"), &values) + &fill(own, &values);
    let mut lines: Vec<(f64, String)> = text
        .lines()
        .filter_map(|line| {
            let (at, text) = line.split_once(' ')?;
            Some((at.parse().ok()?, text.to_owned()))
        })
        .collect();
    lines.extend(gpus::boot_lines(state));
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    // A link that is down at the boot is never told to be up.
    if !netdev.carrier {
        let up = link_line(netdev, true).unwrap_or_default();
        lines.retain(|(_, text)| *text != up);
    }
    lines
}

/// What the driver of an interface tells when its link goes up or down.
///
/// Source: messages of drivers/net/vmxnet3 and drivers/net/ethernet/mellanox/mlx5/core.
pub fn link_line(netdev: &Netdev, is_up: bool) -> Option<String> {
    let (driver, function) = (netdev.driver.as_ref()?.name, netdev.function.as_ref()?);
    let head = format!("{driver} {function} {}:", netdev.name);
    Some(match (driver, is_up) {
        ("vmxnet3", true) => format!("{head} NIC Link is Up {} Mbps", netdev.speed),
        ("vmxnet3", false) => format!("{head} NIC Link is Down"),
        (_, true) => format!("{head} Link up"),
        (_, false) => format!("{head} Link down"),
    })
}
