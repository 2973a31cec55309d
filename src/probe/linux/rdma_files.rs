//! What the RDMA probes share when they read `/sys/class/infiniband`: files as `path:line`, the reasons why some could
//! not be read, and which driver stands behind a device.

use std::collections::BTreeMap;

use crate::fabric::observation::is_permission_error;
use crate::fabric::{Observation, State, Text, Value};
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

/// Files as they were printed by a read of files: the first line that is not blank, and why others could not be read.
#[derive(Debug, Default)]
pub(super) struct Files<'a> {
    values: BTreeMap<&'a str, (u32, &'a str)>,
    errors: BTreeMap<&'a str, &'a str>,
}

impl<'a> Files<'a> {
    /// Reads `path:line` lines and the `grep: path: reason` lines of standard error.
    pub(super) fn of(observation: &'a Observation) -> Self {
        let mut files = Self::default();
        files.add(observation);
        files
    }

    /// Takes in one more observation of files.
    pub(super) fn add(&mut self, observation: &'a Observation) {
        for (number, line) in observation.lines() {
            // Names below /sys/class/infiniband hold no colon; values may.
            let Some((path, value)) = line.split_once(':') else { continue };
            if !path.starts_with('/') {
                continue;
            }
            let value = value.trim();
            let known = self.values.entry(path).or_insert((number, value));
            // A file may begin with, or consist of, blank lines (PVRDMA's firmware version carries one).
            if known.1.is_empty() && !value.is_empty() {
                *known = (number, value);
            }
        }
        for line in observation.stderr.lines() {
            let Some(rest) = line.trim().strip_prefix("grep: ") else { continue };
            if let Some((path, reason)) = rest.rsplit_once(": ")
                && path.starts_with('/')
            {
                self.errors.insert(path.trim_matches('\''), reason);
            }
        }
    }

    /// All files that could be read, in order of their names: path, line, value (empty for an empty line).
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, u32, &'a str)> {
        self.values.iter().map(|(path, (line, value))| (*path, *line, *value))
    }

    /// Files that could not be read, with the reason. Patterns that matched nothing are here too.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.errors.iter().map(|(path, reason)| (*path, *reason))
    }

    /// Line and value of one file.
    pub(super) fn get(&self, path: &str) -> Option<(u32, &'a str)> {
        self.values.get(path).copied()
    }

    /// Why one file could not be read, if it was tried; a file that is not there is no failure.
    pub(super) fn failure(&self, path: &str, adds: &str) -> Option<State<Value>> {
        self.errors.get(path).and_then(|reason| failure(reason, adds))
    }
}

/// The state that a reason of the kernel stands for; `None` if there is just no such file.
pub(super) fn failure(reason: &str, adds: &str) -> Option<State<Value>> {
    if reason.contains("No such file") {
        None
    } else if is_permission_error(reason) {
        Some(State::NeedsPrivilege(Text::new(adds)))
    } else {
        Some(State::Failed(Text::new(reason)))
    }
}

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
    let at = |file: &str| files.get(&format!("{CLASS}{device}/{file}")).map(|(_, value)| value);
    if at("hca_type").is_some_and(|model| model.starts_with("VMW_PVRDMA")) {
        return Some("vmw_pvrdma");
    }
    // Whoever made the device chose its name: only rxe tells the netdev it rides on in a file of this name, and of the
    // software drivers only siw is an RNIC.
    if at("parent").is_some() {
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
    fn files_are_split_and_errors_kept() {
        let observation = Observation::of_text("x", "/sys/class/infiniband/a/fw_ver:\n/sys/class/infiniband/a/fw_ver:3.0.0\nnoise\n")
            .with_stderr("grep: /sys/class/infiniband/a/board_id: Permission denied\ngrep: /sys/class/infiniband/*/x: No such file or directory\n");
        let files = Files::of(&observation);
        assert_eq!(files.get("/sys/class/infiniband/a/fw_ver"), Some((2, "3.0.0")));
        assert_eq!(files.iter().count(), 1);
        assert_eq!(files.errors().count(), 2);
        assert!(matches!(files.failure("/sys/class/infiniband/a/board_id", "x"), Some(State::NeedsPrivilege(_))));
        assert_eq!(files.failure("/sys/class/infiniband/*/x", "x"), None);
    }

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
        let files = Files::of(&files);
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
            assert_eq!(family(&links, &Files::default(), "rocep3s0"), None);
        }
        let none = Observation::of_text("x", "")
            .with_stderr("stat: cannot statx '/sys/class/infiniband': No such file or directory");
        assert_eq!(Links::of(&none).class, Some(false));
    }
}
