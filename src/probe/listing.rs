//! Things on a host or a switch of which each is read by a command of its own, and how their names are listed there.

/// What stands before the output of one item, followed by a space and its name.
pub const ITEM: &str = "@item";

/// What may stand below the name of an item, followed by a space and the seconds since 1970 by the host's clock.
pub const CLOCK: &str = "@clock";

/// What stands after the output of one item, followed by a space and the exit status.
pub const STATUS: &str = "@status";

/// What stands after the last item where some were left out, followed by a space and their number.
pub const MORE: &str = "@more";

/// The most items that one read looks into.
pub const MOST_ITEMS: usize = 64;

/// Commands of which several sources of one host read the output, each of which takes most of a second there: within one
/// script such a command is run once.
pub const SHARED: &[&[&str]] = &[
    &["esxcli", "network", "nic", "list"],
    &["esxcli", "rdma", "device", "list"],
    &["esxcli", "network", "sriovnic", "list"],
    &["esxcli", "system", "module", "list"],
    &["vim-cmd", "vmsvc/getallvms"],
    &["esxcli", "system", "settings", "kernel", "list"],
];

/// What is listed. Names come one a line, so they may hold blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Physical network adapters, `vmnic0`.
    Uplinks,
    /// RDMA devices, `vmrdma0`.
    RdmaDevices,
    /// Physical adapters with virtual functions.
    SriovUplinks,
    /// Driver modules whose parameters matter: those of ConnectX, of RDMA, and of the usual adapters, where loaded.
    Drivers,
    /// Numbers of the registered VMs.
    Vms,
    /// Paths of the VMX files of the registered VMs.
    VmxFiles,
    /// Directories of the registered VMs.
    VmDirectories,
    /// Front ports of a switch that runs Cumulus Linux, `swp1`, `swp2s0`.
    FrontPorts,
}

impl Listing {
    /// What it lists, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Uplinks => "physical network adapter",
            Self::RdmaDevices => "RDMA device",
            Self::SriovUplinks => "adapter with virtual functions",
            Self::Drivers => "driver module",
            Self::Vms => "VM",
            Self::VmxFiles => "VMX file",
            Self::VmDirectories => "VM directory",
            Self::FrontPorts => "front port",
        }
    }

    /// The names in what the command of this listing printed: the same that the filter of sh makes of it.
    pub fn names(self, output: &str) -> Vec<String> {
        let is_module =
            |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'_');
        let needs_directory = self == Self::VmDirectories;
        let vm = |line: &str| -> Option<(String, String)> {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let rest = line[digits..].strip_prefix(' ').filter(|_| digits > 0)?;
            // First as a whole row: the file stands behind at least two blanks and before the guest and `vmx-19`. Names,
            // directories and annotations may hold brackets and `.vmx`, too.
            [true, false].into_iter().find_map(|as_row| {
                rest.rmatch_indices('[').filter(|(open, _)| !as_row || rest[..*open].ends_with("  ")).find_map(
                    |(open, _)| {
                        let (datastore, path) = rest[open + 1..].split_once(']')?;
                        let path = path.strip_prefix(' ')?;
                        let (end, _) = path.rmatch_indices(".vmx").find(|(at, ending)| {
                            let after = &path[at + ending.len()..];
                            if as_row { is_rest_of_row(after) } else { after.starts_with(' ') }
                        })?;
                        let path = &path[..end + ".vmx".len()];
                        (!needs_directory || path.contains('/')).then(|| (datastore.to_owned(), path.to_owned()))
                    },
                )
            })
        };
        match self {
            Self::Uplinks | Self::RdmaDevices | Self::SriovUplinks => output
                .lines()
                .skip_while(|line| !line.starts_with("---"))
                .filter_map(|line| {
                    let name = line.split(' ').next()?;
                    let first = name.chars().next()?;
                    let is_name = (first.is_ascii_alphanumeric() || first == '_')
                        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c));
                    (is_name && line.len() > name.len()).then(|| name.to_owned())
                })
                .collect(),
            Self::Drivers => output
                .lines()
                .filter_map(|line| {
                    let name = line.split(' ').next()?;
                    let known = name.strip_prefix("nmlx").is_some_and(is_module)
                        || ["vrdma", "i40en", "irdman", "ixgben", "bnxtnet", "bnxtroce", "qedentv", "qedrntv", "nenic"]
                            .contains(&name);
                    (known && line[name.len()..].trim_start_matches(' ').starts_with("true ")).then(|| name.to_owned())
                })
                .collect(),
            Self::FrontPorts => output
                .lines()
                .filter(|line| {
                    line.strip_prefix("swp").is_some_and(|rest| {
                        rest.starts_with(|first: char| first.is_ascii_digit())
                            && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b's')
                    })
                })
                .map(str::to_owned)
                .collect(),
            Self::Vms => output
                .lines()
                .filter_map(|line| {
                    let number: String = line.chars().take_while(char::is_ascii_digit).collect();
                    (!number.is_empty() && line[number.len()..].starts_with(' ')).then_some(number)
                })
                .collect(),
            Self::VmxFiles => output
                .lines()
                .filter_map(vm)
                .map(|(datastore, path)| format!("/vmfs/volumes/{datastore}/{path}"))
                .collect(),
            Self::VmDirectories => output
                .lines()
                .filter_map(vm)
                .filter_map(|(datastore, path)| Some(format!("/vmfs/volumes/{datastore}/{}", path.rsplit_once('/')?.0)))
                .collect(),
        }
    }

    /// The command that lists, and the filter of sh that makes names of its output. Only what stands below the rule of a
    /// table is a row.
    pub fn command(self) -> (&'static [&'static str], &'static str) {
        const ROWS: &str = "sed -n '/^---/,$ { /^---/d; s/^\\([A-Za-z0-9_][A-Za-z0-9_.:-]*\\) .*/\\1/p; }'";
        match self {
            Self::Uplinks => (&["esxcli", "network", "nic", "list"], ROWS),
            Self::RdmaDevices => (&["esxcli", "rdma", "device", "list"], ROWS),
            Self::SriovUplinks => (&["esxcli", "network", "sriovnic", "list"], ROWS),
            Self::Drivers => (
                &["esxcli", "system", "module", "list"],
                "sed -n 's/^\\(nmlx[0-9a-z_]*\\|vrdma\\|i40en\\|irdman\\|ixgben\\|bnxtnet\\|bnxtroce\\|qedentv\\|qedrntv\\|nenic\\) *true .*/\\1/p'",
            ),
            Self::Vms => (&["vim-cmd", "vmsvc/getallvms"], "sed -n 's/^\\([0-9][0-9]*\\) .*/\\1/p'"),
            Self::VmxFiles => (
                &["vim-cmd", "vmsvc/getallvms"],
                "sed -n -e 's/^[0-9][0-9]* .*  \\[\\([^]]*\\)\\] \\(.*\\.vmx\\)  *[^ ][^ ]*  *vmx-[0-9].*/\\/vmfs\\/volumes\\/\\1\\/\\2/p;t' \
                 -e 's/^[0-9][0-9]* .*\\[\\([^]]*\\)\\] \\(.*\\.vmx\\) .*/\\/vmfs\\/volumes\\/\\1\\/\\2/p'",
            ),
            Self::FrontPorts => (&["ls", "/sys/class/net"], "sed -n '/^swp[0-9][0-9s]*$/p'"),
            Self::VmDirectories => (
                &["vim-cmd", "vmsvc/getallvms"],
                "sed -n -e 's/^[0-9][0-9]* .*  \\[\\([^]]*\\)\\] \\(.*\\)\\/[^/]*\\.vmx  *[^ ][^ ]*  *vmx-[0-9].*/\\/vmfs\\/volumes\\/\\1\\/\\2/p;t' \
                 -e 's/^[0-9][0-9]* .*\\[\\([^]]*\\)\\] \\(.*\\)\\/[^/]*\\.vmx .*/\\/vmfs\\/volumes\\/\\1\\/\\2/p'",
            ),
        }
    }
}

/// True for what stands behind the file in a row of VMs: blanks, a word for the guest, blanks, the hardware version.
fn is_rest_of_row(after: &str) -> bool {
    let guest = after.trim_start_matches(' ');
    let Some((word, version)) = guest.split_once(' ') else { return false };
    let version = version.trim_start_matches(' ').strip_prefix("vmx-");
    guest.len() < after.len()
        && !word.is_empty()
        && version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}
