//! Whether what is installed can do what the line asks for: built without UCX, UCX without its InfiniBand module, releases
//! that differ between guests. What was not read is said, too.

use crate::fabric::TargetId;
use crate::tune::advice::{Side, Sure};

/// What is said of what is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The guest; `None` where it is about several.
    pub guest: Option<TargetId>,
    /// True if jobs fail or go another way for it.
    pub is_trouble: bool,
    /// What is so.
    pub title: String,
    /// What follows.
    pub cause: String,
    /// Where that is written.
    pub source: &'static str,
    /// How sure it is.
    pub sure: Sure,
    /// What would settle it.
    pub decide: String,
}

/// What is said of the installations of these guests.
pub fn remarks(sides: &[Side]) -> Vec<Remark> {
    let mut found: Vec<Remark> = sides.iter().flat_map(of_guest).collect();
    found.extend(differing(
        "Open MPI",
        "orted of another release ends with \"Unpack data\" errors or hangs",
        sides,
        |side| side.open_mpi.as_deref(),
    ));
    found.extend(differing(
        "UCX",
        "different releases of UCX may agree on other transports and protocols, and were not tested together",
        sides,
        |side| side.ucx.as_deref(),
    ));
    let without = |component| {
        let lacks: Vec<&Side> = sides.iter().filter(|side| side.has_component(component) == Some(false)).collect();
        (!lacks.is_empty() && lacks.len() < sides.len()).then_some(lacks)
    };
    if let Some(lacks) = without("pml ucx") {
        let names: Vec<&str> = lacks.iter().map(|side| side.guest.as_str()).collect();
        found.push(Remark {
            guest: None,
            is_trouble: true,
            title: format!("Open MPI has UCX on some of the guests, but not on {}", names.join(", ")),
            cause:
                "ranks that carry messages by different layers do not reach each other: the job ends while it starts"
                    .to_owned(),
            source: "Open MPI ompi/mca/pml/base (PML check)",
            sure: Sure::Proved,
            decide: "ompi_info --parsable | grep mca:pml:ucx on each guest".to_owned(),
        });
    }
    found
}

fn of_guest(side: &Side) -> Vec<Remark> {
    let guest = &side.guest;
    let remark = |is_trouble, title: String, cause: &str, source, sure, decide: &str| Remark {
        guest: Some(guest.clone()),
        is_trouble,
        title,
        cause: cause.to_owned(),
        source,
        sure,
        decide: decide.to_owned(),
    };
    let mut found = Vec::new();
    match (&side.open_mpi, &side.components) {
        (None, _) => found.push(remark(
            false,
            format!("{guest}: no Open MPI was seen"),
            "It is not in the search path of this login, or is another MPI: the line is that of 4.1 and may need other words.",
            "Open MPI ompi_info(1)",
            Sure::Possible,
            "which mpirun ompi_info; mpirun --version",
        )),
        (Some(version), None) => found.push(remark(
            false,
            format!("{guest}: Open MPI {version} does not list its components"),
            "Whether it was built with UCX is not known.",
            "Open MPI ompi_info(1)",
            Sure::Possible,
            "ompi_info --parsable | grep mca:pml:",
        )),
        (Some(version), Some(_)) if side.has_component("pml ucx") == Some(false) => found.push(remark(
            true,
            format!("{guest}: Open MPI {version} was built without UCX"),
            "It cannot use RDMA here: 5.x has TCP alone, 4.x the old openib BTL beside it, which knows no PVRDMA.",
            "Open MPI ompi_info(1): no line mca:pml:ucx",
            Sure::Proved,
            "ompi_info --parsable | grep mca:pml:ucx; which -a mpirun",
        )),
        _ => {}
    }
    let is_active = side.ports.iter().any(|port| port.is_active == Some(true));
    if let (Some(version), Some(transports)) = (&side.ucx, &side.transports) {
        let over_rdma = transports
            .iter()
            .any(|(transport, _)| ["rc_", "ud_", "dc_"].iter().any(|begin| transport.starts_with(begin)));
        if !over_rdma && is_active {
            found.push(remark(
                true,
                format!("{guest}: UCX {version} lists no transport over RDMA, although a port is active"),
                "Its InfiniBand module is missing (package ucx-ib, or built without --with-verbs), the verbs library has no provider \
                 for the adapter, or this login may not open /dev/infiniband.",
                "UCX ucx_info -d",
                Sure::Likely,
                "ibv_devinfo as the same user; ls -l /dev/infiniband; ucx_info -v",
            ));
        }
    }
    if side.ucx.is_none() && !side.ports.is_empty() {
        found.push(remark(
            false,
            format!("{guest}: ucx_info was not seen"),
            "Which transports UCX has there is not known; Open MPI may bring its own.",
            "UCX ucx_info",
            Sure::Possible,
            "which ucx_info; ucx_info -v; ucx_info -d",
        ));
    }
    found
}

/// Versions that differ, with who has which.
fn differing<'a>(
    what: &str,
    cause: &str,
    sides: &'a [Side],
    version: impl Fn(&'a Side) -> Option<&'a str>,
) -> Option<Remark> {
    let known: Vec<(&Side, &str)> = sides.iter().filter_map(|side| Some((side, version(side)?))).collect();
    let (_, first) = known.first()?;
    if known.iter().all(|(_, other)| other == first) {
        return None;
    }
    let who: Vec<String> = known.iter().map(|(side, version)| format!("{} {version}", side.guest)).collect();
    Some(Remark {
        guest: None,
        is_trouble: true,
        title: format!("{what} differs between the guests: {}", who.join(", ")),
        cause: format!("{cause}."),
        source: "Open MPI FAQ: the same release on all nodes; field report",
        sure: Sure::Likely,
        decide: "mpirun --version and ucx_info -v on each guest".to_owned(),
    })
}
