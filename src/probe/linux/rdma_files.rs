//! What the RDMA probes share when they read `/sys/class/infiniband`: what a path is about, and which driver stands
//! behind a device.

use std::collections::BTreeMap;

use super::files::Files;
use crate::fabric::{Observation, Text};
use crate::probe::Word;

/// The folder of all RDMA devices.
pub(super) const CLASS: &str = "/sys/class/infiniband/";

/// `stat` of the class itself and of the links that lead to the PCI function and to its driver. The class is there as
/// soon as the kernel's RDMA core is loaded; software devices have neither link.
pub(super) const LINKS: &[Word] = &[
    Word::Plain("stat"),
    Word::Plain("-c"),
    Word::Plain("%N"),
    Word::Plain("/sys/class/infiniband"),
    Word::Glob("/sys/class/infiniband/*/device"),
    Word::Glob("/sys/class/infiniband/*/device/driver"),
];

/// Splits `/sys/class/infiniband/DEVICE/rest`. A pattern that matched nothing is no device.
pub(super) fn device_path(path: &str) -> Option<(&str, &str)> {
    let (device, rest) = path.strip_prefix(CLASS)?.split_once('/')?;
    (!device.is_empty() && !device.contains('*')).then_some((device, rest))
}

/// Splits `ports/PORT/rest`; ports count from 1.
pub(super) fn port_path(rest: &str) -> Option<(u32, &str)> {
    let (port, rest) = rest.strip_prefix("ports/")?.split_once('/')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    Some((port, rest))
}

/// What the links of the devices say.
#[derive(Debug, Default)]
pub(super) struct Links<'a> {
    /// Whether the class is there at all, that is, the RDMA core is loaded; `None` if that could not be told.
    pub(super) class: Option<bool>,
    device: BTreeMap<&'a str, (u32, &'a str)>,
    driver: BTreeMap<&'a str, (u32, &'a str)>,
    /// True if the links could be read: then a device without one is a software device.
    readable: bool,
}

impl<'a> Links<'a> {
    /// Reads lines of the shape `'path' -> 'target'`.
    pub(super) fn of(observation: &'a Observation) -> Self {
        let mut links = Self::default();
        let quotes = |c: char| matches!(c, '\'' | '`' | '"' | '\u{2018}' | '\u{2019}') || c.is_whitespace();
        for (number, line) in observation.lines() {
            let Some((path, target)) = line.split_once(" -> ") else {
                if line.trim_matches(quotes) == CLASS.trim_end_matches('/') {
                    links.class = Some(true);
                }
                continue;
            };
            let last = target.trim_matches(quotes).rsplit('/').next().unwrap_or_default();
            if last.is_empty() {
                continue;
            }
            match device_path(path.trim_matches(quotes)) {
                Some((device, "device")) => links.device.insert(device, (number, last)),
                Some((device, "device/driver")) => links.driver.insert(device, (number, last)),
                _ => None,
            };
        }
        let missing = |line: &str| line.contains("No such file");
        if links.class.is_none() && observation.stderr.lines().any(|line| is_about_class(line) && missing(line)) {
            links.class = Some(false);
        }
        links.readable =
            links.class == Some(true) && !observation.stderr.lines().any(|line| line.contains(CLASS) && !missing(line));
        links
    }

    /// The PCI function behind a device, with its line.
    pub(super) fn function(&self, device: &str) -> Option<(u32, &'a str)> {
        self.device.get(device).copied()
    }

    /// The driver of that function, with its line.
    pub(super) fn driver(&self, device: &str) -> Option<(u32, &'a str)> {
        self.driver.get(device).copied()
    }

    /// True if the device is known to have no hardware behind it.
    pub(super) fn is_software(&self, device: &str) -> bool {
        self.readable && !self.device.contains_key(device) && !self.driver.contains_key(device)
    }
}

fn is_about_class(line: &str) -> bool {
    line.contains("/sys/class/infiniband'") || line.contains("/sys/class/infiniband:")
}

/// The driver behind a device: of its PCI function, else by what only one software driver has, else by its name.
/// `None` for a device that has hardware whose driver could not be read.
pub(super) fn family<'a>(links: &Links<'a>, files: &Files<'_>, device: &'a str) -> Option<&'a str> {
    if let Some((_, driver)) = links.driver(device) {
        return Some(driver);
    }
    if links.function(device).is_some() {
        return None;
    }
    let at = |file: &str| files.line(&format!("{CLASS}{device}/{file}")).ok().map(|(_, value)| value);
    if at("hca_type").is_some_and(|model| model.starts_with("VMW_PVRDMA")) {
        return Some("vmw_pvrdma");
    }
    // Whoever made the device chose its name: only rxe tells the netdev it rides on in a file of this name, and of the
    // software drivers only siw is an RNIC.
    if files.first(&format!("{CLASS}{device}/parent")).is_some() {
        return Some("rxe");
    }
    if links.is_software(device) && at("node_type").is_some_and(|kind| kind.starts_with("4:")) {
        return Some("siw");
    }
    let stem = crate::fabric::counter::driver_family(None, device);
    (links.is_software(device) || matches!(stem, "rxe" | "siw" | "vmw_pvrdma")).then_some(stem)
}

/// What there is, in one sentence, worded alike by all probes.
pub(super) fn presence(loaded: Option<bool>, devices: usize, ports: usize) -> Text {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if devices > 0 {
        return Text::new(&format!("{}, {}", plural(devices, "device"), plural(ports, "port")));
    }
    Text::new(match loaded {
        Some(false) => "no RDMA: the kernel's RDMA core (ib_core) is not loaded",
        _ => "no RDMA device",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_strictly() {
        assert_eq!(device_path("/sys/class/infiniband/rxe0/ports/1/state"), Some(("rxe0", "ports/1/state")));
        assert_eq!(device_path("/sys/class/infiniband/*/fw_ver"), None);
        assert_eq!(device_path("/sys/class/net/eth0/mtu"), None);
        assert_eq!(port_path("ports/2/pkeys/0"), Some((2, "pkeys/0")));
        assert_eq!(port_path("ports/0/state"), None);
        assert_eq!(port_path("ports/99999999999/state"), None);
    }

    #[test]
    fn drivers_are_told_by_links_and_never_guessed_for_hardware() {
        let links = Observation::of_text(
            "x",
            "'/sys/class/infiniband'\n'/sys/class/infiniband/mlx5_0/device' -> '../../../0000:1b:00.0'\n\
             '/sys/class/infiniband/mlx5_0/device/driver' -> '../../../../bus/pci/drivers/mlx5_core'\n\
             '/sys/class/infiniband/odd0/device' -> '../../../0000:1c:00.0'\n",
        );
        let links = Links::of(&links);
        let files = Observation::of_text(
            "x",
            "/sys/class/infiniband/mine/parent:eth0\n/sys/class/infiniband/soft/node_type:4: RNIC\n",
        );
        let files = Files::new(&files, &["/sys/class/infiniband/*/parent", "/sys/class/infiniband/*/node_type"]);
        assert_eq!(links.class, Some(true));
        assert_eq!(links.function("mlx5_0"), Some((2, "0000:1b:00.0")));
        assert_eq!(family(&links, &files, "mlx5_0"), Some("mlx5_core"));
        assert_eq!(family(&links, &files, "odd0"), None);
        assert_eq!(family(&links, &files, "mine"), Some("rxe"));
        assert_eq!(family(&links, &files, "soft"), Some("siw"));
        assert_eq!(family(&links, &files, "rxe7"), Some("rxe"));
    }

    #[test]
    fn without_links_nothing_is_called_software() {
        for observation in [
            Observation::of_text("x", "").with_stderr("sh: stat: not found"),
            Observation::of_text("x", "'/sys/class/infiniband'\n")
                .with_stderr("stat: cannot statx '/sys/class/infiniband/rocep3s0/device': Permission denied"),
        ] {
            let links = Links::of(&observation);
            assert!(!links.is_software("rocep3s0"));
            assert_eq!(family(&links, &Files::new(&observation, &[]), "rocep3s0"), None);
        }
        let none = Observation::of_text("x", "")
            .with_stderr("stat: cannot statx '/sys/class/infiniband': No such file or directory");
        assert_eq!(Links::of(&none).class, Some(false));
    }
}
