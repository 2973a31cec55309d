//! What the lab's SSH server needs of a machine: its files, its commands and what can happen to it. The server speaks
//! SSH and understands our own scripts; a machine knows what would be read.

use std::time::Duration;

use crate::config::Kind;

/// Who is logged in, and what that login may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Name of the account.
    pub user: String,
    /// True for root, and while a command runs under `sudo`.
    pub is_root: bool,
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// No such file or directory.
    Missing,
    /// Permission denied.
    Denied,
    /// It is a directory.
    Directory,
    /// Invalid argument: a file of sysfs that this driver does not fill.
    Invalid,
}

impl NotRead {
    /// The words of the C library for it, as `grep` and `cat` print them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Missing => "No such file or directory",
            Self::Denied => "Permission denied",
            Self::Directory => "Is a directory",
            Self::Invalid => "Invalid argument",
        }
    }
}

/// What a command gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status; 127 if there is no such command.
    pub status: u32,
    /// How long it took by itself, before the lab's own delays.
    pub took: Duration,
    /// How many times the management agent of an ESXi host was asked for it: each costs what the lab was told.
    pub by_agent: u32,
}

/// What can happen to a machine itself. What happens to its connection is the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The link of its first RDMA port goes down.
    LinkDown,
    /// Packets are lost on the path: retransmissions rise, queue pairs end in ERR.
    Loss,
    /// It was booted anew: another boot id, counters from zero.
    Reboot,
    /// Something that only a guest suffers.
    Guest(GuestTrouble),
    /// Something that only an ESXi host suffers.
    Host(HostTrouble),
    /// Something that only a switch suffers, at one of its ports.
    Switch(SwitchTrouble),
}

/// What can happen to a guest: to what is installed and set in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuestTrouble {
    /// The module that makes an RDMA device of its adapter is not loaded.
    DriverUnloaded,
    /// Logins find an Open MPI of another series.
    OtherOpenMpi,
    /// Logins tell UCX to use TCP alone.
    UcxOverTcp,
    /// Logins may lock next to no memory.
    NoLockedMemory,
    /// Its balloon holds memory that is reserved.
    Ballooned,
    /// Something that only a guest with GPUs suffers.
    Gpu(GpuTrouble),
}

/// What can happen to the GPU of a guest that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuTrouble {
    /// Its work waits for what comes over a PCIe link that is full.
    PcieSaturated,
    /// Its link has eight lanes of generation 3, also under load.
    NarrowLink,
    /// It is so hot that its own protection lowers the clocks.
    TooHot,
    /// It has fallen off the bus.
    OffTheBus,
    /// An error of two bits in its memory: a row waits for a reset to be remapped.
    DoubleBit,
    /// nouveau has the GPUs, so the driver of NVIDIA has none.
    Nouveau,
    /// MIG was switched on and waits for a reset.
    MigPending,
}

/// What can happen to a switch: to one of its ports, or where the system sets it for all of them, to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchTrouble {
    /// Priority flow control is off at a port.
    PfcOff,
    /// Another priority is lossless than at the hosts.
    OtherPriority,
    /// No queue marks congestion.
    EcnOff,
    /// The MTU of a port is smaller than that of what is plugged into it.
    SmallMtu,
    /// A trunk does not let the VLAN of RDMA pass.
    NoVlan,
    /// A cable garbles frames: errors of a port rise.
    Errors,
}

/// What can happen to an ESXi host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostTrouble {
    /// No VMkernel adapter is tagged for PVRDMA.
    VmknicUntagged,
    /// The ruleset `pvrdma` of the firewall is closed.
    RulesetClosed,
    /// The distributed switch has two uplinks.
    TwoUplinks,
    /// The RDMA adapter was given to VMs.
    HcaPassthrough,
    /// The port of the VM's RDMA adapter has another VLAN than everybody else's.
    VlanMismatch,
    /// The adapter negotiated DCB in CEE mode: no priority has flow control.
    CeeMode,
    /// The adapter has an older firmware.
    FirmwareOlder,
    /// The RDMA driver has other parameters.
    ParameterDiffers,
    /// Settings wait for a reboot.
    RebootPending,
    /// Its VM with PVRDMA was moved to the other host, which has no RDMA any more.
    VmMoved,
    /// The management agent does not answer.
    HostdDead,
    /// The link of the RDMA adapter is down.
    UplinkDown,
    /// The VMkernel owns the graphics device that a VM is given: the VM does not start.
    GpuNotGiven,
    /// A VM has no window for the large BARs of its graphics device: the VM does not start.
    GpuWindowMissing,
    /// Its VMs wait for processors.
    ReadyHigh,
    /// Another VM was powered on for which there is no memory: the host takes it back from that one.
    NeighbourBalloons,
    /// The balloon of the VM with a graphics device holds memory, although all of it is reserved.
    OwnBalloon,
    /// Most of the memory of that VM lies on the other NUMA node.
    NumaRemote,
}

/// How the SSH server of a machine behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// The secret that logs in by questions; where there is one, no key does.
    pub secret: Option<&'static str>,
    /// Failed logins in a row after which the account is locked, and for how long; never where it is `None`.
    pub locks: Option<(u32, Duration)>,
    /// True if only algorithms of FIPS 140 are offered: nothing with curve 25519.
    pub fips: bool,
}

impl Manners {
    /// Those of an ordinary Linux machine: keys alone.
    pub const LINUX: Self = Self { secret: None, locks: None, fips: false };

    /// Those of an ESXi host.
    ///
    /// Source: reports about public clients of its server: no method `password`, questions of which one round is empty;
    /// the defaults of its advanced settings: five failures lock the account for 900 seconds; FIPS mode.
    pub const fn esxi(secret: &'static str) -> Self {
        Self { secret: Some(secret), locks: Some((5, Duration::from_mins(15))), fips: true }
    }
}

/// A machine of the lab. All methods answer at once, from the state as it is at this moment.
pub trait Machine: Send + Sync + 'static {
    /// Its host name.
    fn name(&self) -> &str;

    /// What the greeting of its SSH server says after `SSH-2.0-`.
    fn ssh_version(&self) -> &str;

    /// The content of a file.
    fn read(&self, path: &str, login: &Login) -> Result<Vec<u8>, NotRead>;

    /// The paths that match a pattern of sh (`*`, `?`, `[...]`), sorted as sh does; none if nothing matches.
    fn expand(&self, pattern: &str) -> Vec<String>;

    /// Where a symbolic link leads, as `readlink` prints it.
    fn link(&self, path: &str) -> Option<String>;

    /// Runs a command. `argv` has at least one word; patterns in it are expanded already.
    fn run(&self, argv: &[String], login: &Login) -> Answer;

    /// Environment variables of a login.
    fn environment(&self, login: &Login) -> Vec<(String, String)>;

    /// Begins (`true`) or ends (`false`) a trouble; a reboot has no end.
    fn suffer(&self, trouble: Trouble, on: bool);

    /// What it is.
    fn kind(&self) -> Kind {
        if self.manners().secret.is_some() { Kind::Esxi } else { Kind::Linux }
    }

    /// What a command line of its own answers to a line, where it has one in the place of a shell.
    fn command_line(&self, _line: &str) -> Option<Answer> {
        None
    }

    /// How its SSH server behaves.
    fn manners(&self) -> Manners {
        Manners::LINUX
    }
}
