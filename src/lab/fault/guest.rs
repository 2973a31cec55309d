//! What can go wrong inside a guest: with its modules, its software and what its logins are given.

use super::{Fault, Of};
use crate::lab::machine::GuestTrouble::{Ballooned, DriverUnloaded, NoLockedMemory, OtherOpenMpi, UcxOverTcp};
use crate::lab::machine::Trouble;

trouble!(
    DRIVER_UNLOADED,
    Of::Guests,
    Trouble::Guest(DriverUnloaded),
    "driver-unloaded",
    "RDMA driver not loaded",
    "The module that makes an RDMA device of the adapter is not loaded: the adapter is there, and no tool finds an RDMA device"
);
trouble!(
    OTHER_OPEN_MPI,
    Of::Guests,
    Trouble::Guest(OtherOpenMpi),
    "other-open-mpi",
    "another Open MPI",
    "Logins find an Open MPI of another series than on the other nodes: jobs over both end while they start"
);
trouble!(
    UCX_OVER_TCP,
    Of::Guests,
    Trouble::Guest(UcxOverTcp),
    "ucx-over-tcp",
    "UCX told to use TCP",
    "The environment of logins says UCX_TLS=tcp,sm,self: jobs run, and all they send goes over TCP"
);
trouble!(
    NO_LOCKED_MEMORY,
    Of::Guests,
    Trouble::Guest(NoLockedMemory),
    "no-locked-memory",
    "next to no locked memory",
    "Logins may lock 64 kB: whoever is not root can register no memory for RDMA"
);
trouble!(
    BALLOONED,
    Of::Guests,
    Trouble::Guest(Ballooned),
    "ballooned",
    "balloon in the guest",
    "The guest's own tools tell of 2 GiB that its balloon driver holds: what a host does that takes back reserved memory"
);
