//! The same stream without a shell, for this very machine: the collector opens the files itself, and these pure
//! functions say which they are and make the lines that a shell would have printed, for the same parser.
//!
//! How a collector goes about it: [`Watched::scan`] looks at a [`Place`] and makes the list; feed [`Watched::header`]; then
//! for each tick read all files of the list and feed [`tick_line`], and, when queue pairs are due, [`queue_pair_lines`].

use super::MOST_FILES;

/// The files of one machine, as whoever answers ticks without a shell sees them.
pub trait Place {
    /// The paths that match a pattern of sh, sorted; none where nothing matches.
    fn expand(&self, pattern: &str) -> Vec<String>;
    /// True if there is something of this path, whatever it is.
    fn exists(&self, path: &str) -> bool;
    /// The first line of a file; an empty text if it can be opened and not read, `None` if it cannot be opened.
    fn value(&self, path: &str) -> Option<String>;
    /// All of a file; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
    /// The last part of where a symbolic link leads.
    fn leads_to(&self, path: &str) -> Option<String>;
    /// Wall clock, in milliseconds since 1970.
    fn wall_clock_ms(&self) -> i64;
}

/// What is watched on a machine, and what the header says beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// The files, in the order of the values of a tick.
    pub files: Vec<String>,
    left_out: usize,
    drivers: Vec<(String, String)>,
    boot_id: Option<String>,
    uptime: Option<String>,
    wall_clock_ms: i64,
    capabilities: Option<String>,
}

impl Watched {
    /// Looks for what there is to watch.
    pub fn scan(place: &impl Place) -> Self {
        let port_files: Vec<String> = wanted_globs().iter().flat_map(|pattern| place.expand(pattern)).collect();
        let carriers: Vec<String> = place.expand(carrier_glob()).iter().filter_map(|path| place.value(path)).collect();
        let netdevs: Vec<Netdev> = names(place, "/sys/class/net/*")
            .map(|name| Netdev {
                has_device: place.exists(&format!("/sys/class/net/{name}/device")),
                is_bond: place.exists(&format!("/sys/class/net/{name}/bonding")),
                is_vlan: place.exists(&format!("/proc/net/vlan/{name}")),
                carries_rdma: carriers.contains(&name),
                name,
            })
            .collect();
        let (files, left_out) = watch(&port_files, &netdevs);
        let drivers = names(place, "/sys/class/infiniband/*")
            .filter_map(|device| Some((device.clone(), driver(place, &device)?)))
            .collect();
        Self {
            files,
            left_out,
            drivers,
            boot_id: place.value("/proc/sys/kernel/random/boot_id"),
            uptime: uptime(place),
            wall_clock_ms: place.wall_clock_ms(),
            capabilities: capabilities(place),
        }
    }

    /// The lines of its header. An empty text is how a line says that something could not be read.
    pub fn header(&self, nonce: &str) -> Vec<String> {
        let told = |value: &Option<String>| value.clone().unwrap_or_default();
        let facts = HeaderFacts {
            drivers: &self.drivers,
            boot_id: &told(&self.boot_id),
            uptime: &told(&self.uptime),
            wall_clock_ms: self.wall_clock_ms,
            capabilities: &told(&self.capabilities),
            left_out: self.left_out,
        };
        header_lines(nonce, &self.files, &facts)
    }
}

/// The last parts of the paths that match.
fn names(place: &impl Place, pattern: &str) -> impl Iterator<Item = String> {
    place.expand(pattern).into_iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned))
}

fn driver(place: &impl Place, device: &str) -> Option<String> {
    let folder = format!("/sys/class/infiniband/{device}");
    if place.exists(&format!("{folder}/device")) {
        return place.leads_to(&format!("{folder}/device/driver"));
    }
    place.exists(&format!("{folder}/parent")).then(|| "rxe".to_owned())
}

/// The first word of `/proc/uptime`.
pub fn uptime(place: &impl Place) -> Option<String> {
    place.value("/proc/uptime")?.split(' ').next().map(str::to_owned)
}

fn capabilities(place: &impl Place) -> Option<String> {
    let status = place.text("/proc/self/status")?;
    status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(|mask| mask.trim().to_owned())
}

/// Patterns of the files of RDMA ports that are watched. The folder of `state` is the port.
pub fn wanted_globs() -> &'static [&'static str] {
    &[
        "/sys/class/infiniband/*/ports/*/state",
        "/sys/class/infiniband/*/ports/*/phys_state",
        "/sys/class/infiniband/*/ports/*/hw_counters/*",
        "/sys/class/infiniband/*/ports/*/counters/*",
    ]
}

/// Pattern of the files that name the netdevs under RDMA ports, for [`Netdev::carries_rdma`]: each holds one name.
pub fn carrier_glob() -> &'static str {
    "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/[0-9]"
}

/// Files of a netdev that are watched, below `/sys/class/net/NAME/`.
pub const NETDEV_FILES: [&str; 11] = [
    "operstate",
    "mtu",
    "carrier",
    "statistics/rx_bytes",
    "statistics/tx_bytes",
    "statistics/rx_packets",
    "statistics/tx_packets",
    "statistics/rx_errors",
    "statistics/tx_errors",
    "statistics/rx_dropped",
    "statistics/tx_dropped",
];

/// What decides whether a netdev is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netdev {
    /// Its name: the folder in `/sys/class/net`.
    pub name: String,
    /// True if `/sys/class/net/NAME/device` is there: it has hardware, or what a VM takes for it.
    pub has_device: bool,
    /// True if `/sys/class/net/NAME/bonding` is there.
    pub is_bond: bool,
    /// True if `/proc/net/vlan/NAME` is there.
    pub is_vlan: bool,
    /// True if a file of [`carrier_glob`] names it.
    pub carries_rdma: bool,
}

/// True for netdevs that matter: not loopback, bridges, containers' ends and the like.
pub fn keep_netdev(netdev: &Netdev) -> bool {
    netdev.has_device || netdev.is_bond || netdev.is_vlan || netdev.carries_rdma
}

/// The list of files to watch, and how many were left out because the list would be longer than [`MOST_FILES`]. Takes
/// the paths that [`wanted_globs`] matched, in any order. A port or netdev is taken whole or not at all, RDMA first.
pub fn watch(port_files: &[String], netdevs: &[Netdev]) -> (Vec<String>, usize) {
    let mut ports: std::collections::BTreeMap<&str, Vec<&String>> = std::collections::BTreeMap::new();
    for path in port_files {
        // /sys/class/infiniband/DEVICE/ports/PORT is a port's folder: seven parts, the first one empty.
        let end = path.match_indices('/').nth(6).map_or(path.len(), |(at, _)| at);
        ports.entry(&path[..end]).or_default().push(path);
    }
    let (mut files, mut left_out): (Vec<String>, usize) = (Vec::new(), 0);
    let groups = ports.into_values().map(|paths| paths.into_iter().cloned().collect::<Vec<_>>()).chain(
        netdevs.iter().filter(|netdev| keep_netdev(netdev)).map(|netdev| {
            NETDEV_FILES.iter().map(|file| format!("/sys/class/net/{}/{file}", netdev.name)).collect::<Vec<_>>()
        }),
    );
    for group in groups {
        if files.len() + group.len() > MOST_FILES {
            left_out += group.len();
        } else {
            files.extend(group);
        }
    }
    (files, left_out)
}

/// What a header tells beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderFacts<'a> {
    /// RDMA devices and the kernel drivers of their functions: the last part of where
    /// `/sys/class/infiniband/DEVICE/device/driver` leads. For a device without `device` but with a file `parent`: `rxe`.
    pub drivers: &'a [(String, String)],
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: &'a str,
    /// The first word of `/proc/uptime`.
    pub uptime: &'a str,
    /// Wall clock, in milliseconds since 1970.
    pub wall_clock_ms: i64,
    /// The mask behind `CapEff:` in `/proc/self/status`.
    pub capabilities: &'a str,
    /// Files that [`watch`] left out.
    pub left_out: usize,
}

/// The lines of a header; the last one makes the parser say that it is ready.
pub fn header_lines(nonce: &str, files: &[String], facts: &HeaderFacts<'_>) -> Vec<String> {
    let mut lines = vec![format!("{nonce} H {}", facts.boot_id.trim())];
    lines.extend(facts.drivers.iter().map(|(device, driver)| format!("{nonce} D {device} {driver}")));
    lines.extend(files.iter().map(|path| format!("{nonce} F {}", one_line(path))));
    let clock = format!("{}.{:03}", facts.wall_clock_ms.div_euclid(1000), facts.wall_clock_ms.rem_euclid(1000));
    lines.push(format!(
        "{nonce} R {} {} {} {clock} {}",
        files.len(),
        facts.left_out,
        facts.uptime.trim(),
        facts.capabilities.trim()
    ));
    lines
}

/// The line of one tick. `uptime` is the first word of `/proc/uptime`. One value for each file of the list: what its
/// first line holds, an empty text for a file that could be opened and not read, `None` for one that could not be opened.
pub fn tick_line(nonce: &str, number: u64, uptime: &str, values: &[Option<String>]) -> String {
    let mut line = format!("{nonce} T {number} {}", uptime.trim());
    for value in values {
        line.push('|');
        match value {
            // Neither can be in a value of sysfs; if one were, it would shift all that follow.
            Some(value) => line.push_str(&one_line(value).replace('|', "")),
            None => line.push('!'),
        }
    }
    line
}

/// The lines that carry the answer of `rdma -j res show qp`. `status` is its exit status: 127 if it is not installed, 124
/// if it was ended at its deadline.
/// `path` is that of the program if `sudo` ran it.
pub fn queue_pair_lines(
    nonce: &str,
    number: u64,
    path: Option<&str>,
    stdout: &str,
    stderr: &str,
    status: i32,
) -> Vec<String> {
    let by_root = path.map_or(String::new(), |path| format!(" {path}"));
    let mut lines = vec![format!("{nonce} Q {number}{by_root}")];
    lines.extend(stderr.lines().chain(stdout.lines()).map(str::to_owned));
    lines.push(format!("{nonce} E {number} {status}"));
    lines
}

fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
