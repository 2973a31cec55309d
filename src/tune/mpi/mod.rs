//! Open MPI: what its releases call things, and which options and parameters a line for given guests needs. Release 5
//! starts ranks with PRRTE, whose words for mapping and binding are others than those of 4.1.

pub mod build;
pub mod options;
pub mod used;

use std::net::IpAddr;

use crate::tune::advice::{Form, Item, Job, Layer, Side, Sure, Way, holds};

/// Launchers of MPI.
pub const LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "orterun", "prterun", "srun"];

/// What `--mca btl ^tcp,self` does.
pub const BTL_WITHOUT_SELF: &str = "The ^ takes out all that follows, self too, which a rank needs to reach itself: the job ends. With pml ucx no BTL \
                                    carries messages at all.";

/// Where [`BTL_WITHOUT_SELF`] is written.
pub const BTL_SOURCE: &str = "Open MPI README; open-mpi/ompi issue 9838";

/// Why UCX must be asked for by name.
pub const MUST_BE_ASKED_FOR: &str = "Open MPI takes UCX by itself only for devices called mlx*: for others pml ucx gets priority 19 and loses to ob1, \
                                     and messages go over TCP in silence";

/// Where [`MUST_BE_ASKED_FOR`] is written.
pub const PML_SOURCE: &str = "Open MPI opal/mca/common/ucx/common_ucx.c, ompi/mca/pml/ucx";

/// Releases that differ in what they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 4.1 and older.
    Four,
    /// 5.0 and newer: PRRTE.
    Five,
}

impl Release {
    /// By a version, `5.0.3`; `None` if that is no version.
    pub fn from_version(version: &str) -> Option<Self> {
        let major: u32 = version.trim().split('.').next()?.parse().ok()?;
        Some(if major >= 5 { Self::Five } else { Self::Four })
    }

    /// The release of the guest that starts the job, the first of which it is known; 4.1 where none says.
    pub fn of(sides: &[Side]) -> Self {
        let mut known = sides.iter().filter_map(|side| Self::from_version(side.open_mpi.as_deref()?));
        known.next().unwrap_or(Self::Four)
    }

    /// What the component for ranks of one guest is called.
    pub fn shared_memory(self) -> &'static str {
        match self {
            Self::Four => "vader",
            Self::Five => "sm",
        }
    }
}

/// True if a parameter is about the openib BTL, which is gone since 5.0.
pub fn is_of_openib(parameter: &str, value: &str) -> bool {
    let named = parameter == "btl" && !value.starts_with('^') && value.split(',').any(|one| one.trim() == "openib");
    named || parameter.starts_with("btl_openib_")
}

/// True if a list of BTLs reaches other nodes by TCP alone.
pub fn is_only_tcp(list: &str) -> bool {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    !list.starts_with('^')
        && names.contains(&"tcp")
        && !names.iter().any(|name| matches!(*name, "openib" | "uct" | "ofi" | "usnic"))
}

/// True if a list of BTLs leaves `self` out.
pub fn leaves_self_out(list: &str) -> bool {
    let names = || list.trim_start_matches('^').split(',').map(str::trim);
    !list.trim().is_empty() && names().any(|name| name == "self") == list.trim().starts_with('^')
}

fn item(form: Form, name: &str, value: &str, reason: &str, source: &'static str, sure: Sure) -> Item {
    Item::new(Layer::OpenMpi, form, name, value, reason.to_owned(), source, sure)
}

/// The beginning of the line: how many ranks, where.
pub fn start(sides: &[Side], job: &Job) -> Vec<Item> {
    let orterun = "Open MPI mpirun(1)";
    let mut items = Vec::new();
    let count = sides.len().max(1);
    let most = sides.iter().filter_map(|side| side.processors).min();
    if let Some((file, slots)) = &job.hostfile {
        let ranks = if *slots == 0 { count as u64 } else { *slots };
        let reason = "as many ranks as the file of hosts gives slots";
        items.push(item(Form::Option, "-np", &ranks.to_string(), reason, orterun, Sure::Proved));
        items.push(item(Form::Option, "--hostfile", file, "the hosts and their slots", orterun, Sure::Proved));
    } else {
        let more = most.map_or_else(
                || "for more, give -np and the numbers behind the hosts and in ppr:N:node".to_owned(),
                |most| {
                    format!(
                        "for up to {most} on each, the processors of the smallest guest: -np {}, :{most} behind each host and ppr:{most}:node",
                        most.saturating_mul(count as u64)
                    )
                },
            );
        let reason = format!("one rank on each guest to begin with; {more}");
        items.push(item(Form::Option, "-np", &count.to_string(), &reason, orterun, Sure::Proved));
        let hosts: Vec<String> = sides.iter().map(|side| format!("{}:1", side.name())).collect();
        let reason = "the guests by the names that they call themselves, each with its slots: one without would be given as many as it \
                          has cores";
        items.push(
            item(Form::Option, "--host", &hosts.join(","), reason, orterun, Sure::Likely)
                .decided_by("ssh from the first guest to each of these names works without a question".to_owned()),
        );
    }
    if sides.first().is_some_and(|side| side.is_root) {
        let reason =
            "this login is root, as whom mpirun starts nothing unless it is told to; leave it out as another user";
        items.push(item(Form::Option, "--allow-run-as-root", "", reason, orterun, Sure::Proved));
    }
    items
}

/// Parameters with which UCX carries the messages.
pub fn by_ucx(sides: &[Side], release: Release, way: Way) -> Vec<Item> {
    let mut items = Vec::new();
    let any = |value: &str| item(Form::Parameter, value, "any", "", PML_SOURCE, Sure::Proved);
    let has_ucx = sides.iter().all(|side| side.has_component("pml ucx") == Some(true));
    let sure = if has_ucx { Sure::Proved } else { Sure::Likely };
    items.push(
        item(Form::Parameter, "pml", "ucx", MUST_BE_ASKED_FOR, PML_SOURCE, sure)
            .decided_by("ompi_info --parsable | grep mca:pml:ucx on each guest; --mca pml_base_verbose 10 says in the job what is taken".to_owned()),
    );
    if sides.iter().all(|side| side.has_component("osc ucx") == Some(true)) {
        let reason = "one-sided operations (MPI_Put, MPI_Get) over UCX, too; without effect on a job that has none";
        items.push(item(Form::Parameter, "osc", "ucx", reason, "Open MPI ompi/mca/osc/ucx", Sure::Likely));
    }
    let devices: Vec<&str> =
        sides.iter().filter_map(|side| side.port(sides)).map(|port| port.device.as_str()).collect();
    let is_mlx = !devices.is_empty() && devices.iter().all(|device| device.starts_with("mlx"));
    if way != Way::Rdma || !is_mlx {
        let reason = if way == Way::Rdma {
            format!("its default is mlx*, and the devices here are called {}", listed(&devices))
        } else {
            "its default is mlx*, which no interface for TCP is called".to_owned()
        };
        items.push(Item { reason, ..any("opal_common_ucx_devices") });
    }
    if way == Way::UcxTcp {
        let reason =
            "its default names transports over RDMA only: with tcp alone Open MPI says \"PML ucx cannot be selected\""
                .to_owned();
        items.push(Item { reason, ..any("opal_common_ucx_tls") });
    }
    let has_openib = sides.iter().any(|side| side.has_component("btl openib") == Some(true));
    if release == Release::Four && has_openib {
        items.push(item(
            Form::Parameter,
            "btl",
            "^openib",
            "the old openib BTL is not asked, whose boxes of warnings are noise beside UCX; it is the only one that is left out, so that self and \
             tcp stay",
            "Open MPI README",
            Sure::Proved,
        ));
    }
    items
}

/// Parameters with which Open MPI's own TCP carries the messages.
pub fn by_tcp(sides: &[Side], release: Release) -> Vec<Item> {
    let list = format!("tcp,self,{}", release.shared_memory());
    let mut items = vec![
        item(
            Form::Parameter,
            "pml",
            "ob1",
            "ob1 carries messages over BTLs, without UCX: this is what Open MPI takes in silence where nothing else can be used",
            "Open MPI ompi/mca/pml/ob1",
            Sure::Proved,
        ),
        item(
            Form::Parameter,
            "btl",
            &list,
            "tcp between guests, self for a rank with itself, shared memory within a guest; a list that is not turned round by ^ names all",
            BTL_SOURCE,
            Sure::Proved,
        ),
    ];
    if let Some(names) = interfaces(sides) {
        let reason = "the network that the guests share; otherwise every interface that is up is used, and a bridge of containers has the same \
                      address on every node";
        items.push(item(Form::Parameter, "btl_tcp_if_include", &names, reason, "Open MPI issue 11789", Sure::Likely));
    }
    items
}

/// The network that all guests share under their RDMA ports, else under any interface: in CIDR form, which means the same
/// on machines that call their interfaces differently.
fn interfaces(sides: &[Side]) -> Option<String> {
    let network = shared(sides)?;
    let bits = |address: IpAddr, length: u8| match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv6Addr::from(u128::from(address) & mask))
        }
    };
    Some(bits(network.0, network.1))
}

/// A network in which every guest has an address: under RDMA ports before others, IPv4 only.
fn shared(sides: &[Side]) -> Option<(IpAddr, u8)> {
    let first = sides.first()?;
    let under_ports = |side: &Side, name: &str| side.ports.iter().any(|port| port.netdev.as_deref() == Some(name));
    let mut own: Vec<(bool, (IpAddr, u8))> = first
        .interfaces
        .iter()
        .flat_map(|(name, addresses)| addresses.iter().map(|address| (!under_ports(first, name), *address)))
        .filter(|(_, (address, _))| address.is_ipv4())
        .collect();
    own.sort_by_key(|(away, _)| *away);
    own.into_iter().map(|(_, network)| network).find(|network| {
        sides[1..].iter().all(|side| {
            side.interfaces.iter().flat_map(|(_, addresses)| addresses).any(|(address, _)| {
                // The same address on two guests leads each of them to itself.
                *address != network.0 && holds(*network, *address)
            })
        })
    })
}

/// The interfaces with an address in the network that all guests share, by the names that the guests have for them.
pub fn netdevs(sides: &[Side]) -> Option<String> {
    let network = shared(sides)?;
    let mut names: Vec<&str> = Vec::new();
    for side in sides {
        for (name, addresses) in &side.interfaces {
            if addresses.iter().any(|(address, _)| holds(network, *address)) && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}

fn listed(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "otherwise".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        for (version, release) in [
            ("4.1.4", Some(Release::Four)),
            ("5.0.3", Some(Release::Five)),
            ("10.0", Some(Release::Five)),
            ("", None),
            ("main", None),
        ] {
            assert_eq!(Release::from_version(version), release, "{version}");
        }
    }

    #[test]
    fn lists_of_btls() {
        assert!(leaves_self_out("^tcp,self") && leaves_self_out("tcp,vader") && leaves_self_out("^self"));
        assert!(!leaves_self_out("^openib") && !leaves_self_out("tcp,self") && !leaves_self_out(""));
        assert!(is_only_tcp("tcp,self,vader") && !is_only_tcp("^tcp") && !is_only_tcp("tcp,openib"));
        assert!(is_of_openib("btl_openib_allow_ib", "1") && is_of_openib("btl", "openib,self"));
        assert!(!is_of_openib("btl", "^openib"));
    }
}
