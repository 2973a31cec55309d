//! What can go wrong inside a guest: with its modules, its software and what its logins are given.

use super::{Fault, Of};
use crate::lab::machine::GuestTrouble::{self, DriverUnloaded, NoLockedMemory, OtherOpenMpi, UcxOverTcp};
use crate::lab::machine::Trouble;

macro_rules! trouble {
    ($fault:ident, $trouble:expr, $name:literal, $title:literal, $description:literal) => {
        pub(super) const $fault: Fault = Fault {
            name: $name,
            title: $title,
            description: $description,
            of: Of::Guests,
            lasts: true,
            act: |host, on| {
                const TROUBLE: GuestTrouble = $trouble;
                host.machine().suffer(Trouble::Guest(TROUBLE), on);
            },
        };
    };
}

trouble!(
    DRIVER_UNLOADED,
    DriverUnloaded,
    "driver-unloaded",
    "RDMA driver not loaded",
    "The module that makes an RDMA device of the adapter is not loaded: the adapter is there, and no tool finds an RDMA device"
);
trouble!(
    OTHER_OPEN_MPI,
    OtherOpenMpi,
    "other-open-mpi",
    "another Open MPI",
    "Logins find an Open MPI of another series than on the other nodes: jobs over both end while they start"
);
trouble!(
    UCX_OVER_TCP,
    UcxOverTcp,
    "ucx-over-tcp",
    "UCX told to use TCP",
    "The environment of logins says UCX_TLS=tcp,sm,self: jobs run, and all they send goes over TCP"
);
trouble!(
    NO_LOCKED_MEMORY,
    NoLockedMemory,
    "no-locked-memory",
    "next to no locked memory",
    "Logins may lock 64 kB: whoever is not root can register no memory for RDMA"
);
