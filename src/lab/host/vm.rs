//! The VMs that are registered on a host, their configuration files, and what the host's agent says of them.

use crate::lab::machine::HostTrouble;

/// What a VM is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A guest with PVRDMA.
    Pvrdma,
    /// A guest with an A100 passed through.
    Gpu,
    /// A VM whose configuration somebody edited by hand, wrongly.
    Edited,
    /// An ordinary VM without any device of the host and without a reservation.
    Neighbour,
}

/// One VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    /// Its number on the host.
    pub number: u32,
    /// Name.
    pub name: String,
    /// Its folder on the datastore.
    pub folder: String,
    /// Datastore.
    pub datastore: &'static str,
    /// What it is for.
    pub role: Role,
    /// BIOS UUID, dashed.
    pub uuid: String,
    /// Instance UUID, dashed.
    pub instance: String,
    /// Hardware addresses of its adapters.
    pub macs: Vec<String>,
    /// Port of the distributed switch of its RDMA adapter, and the id of that connection.
    pub port: Option<(u32, u32)>,
    /// True if it runs.
    pub on: bool,
    /// MiB of memory.
    pub memory: u32,
    /// Processors.
    pub processors: u32,
    /// Host for which passthrough was configured.
    pub system: String,
    /// Id of its storage.
    pub volume: &'static str,
    /// MiB of its memory that its balloon holds, and that the host has swapped.
    pub taken: (u32, u32),
    /// What its host suffers that is about this VM.
    pub troubles: Vec<HostTrouble>,
}

impl Vm {
    /// True if it suffers this.
    pub fn suffers(&self, trouble: HostTrouble) -> bool {
        self.troubles.contains(&trouble)
    }

    /// Virtual hardware.
    pub fn hardware(&self) -> u32 {
        match self.role {
            Role::Pvrdma | Role::Gpu | Role::Neighbour => 19,
            Role::Edited => 13,
        }
    }

    /// `[datastore] dir/vm.vmx`.
    pub fn path(&self) -> String {
        format!("[{0}] {1}/{1}.vmx", self.datastore, self.folder)
    }

    /// Path of its configuration file on the host.
    pub fn file(&self) -> String {
        format!("/vmfs/volumes/{0}/{1}/{1}.vmx", self.datastore, self.folder)
    }

    /// The same by the id of the volume, as running VMs have it.
    pub fn file_by_id(&self) -> String {
        format!("/vmfs/volumes/{0}/{1}/{1}.vmx", self.volume, self.folder)
    }

    /// World of a running VM: the one of the VM and the one of its VMX cartel.
    pub fn worlds(&self) -> (u32, u32) {
        let cartel = 2_101_441 + self.number * 512;
        (cartel + 1, cartel)
    }

    /// A UUID as VMware writes it: `42 33 a1 b2 0d 4c 11 ee-be 56 02 42 ac 12 00 02`.
    pub fn spaced(uuid: &str) -> String {
        let digits: Vec<char> = uuid.chars().filter(char::is_ascii_hexdigit).collect();
        let octets: Vec<String> = digits.chunks(2).map(|pair| pair.iter().collect()).collect();
        let (first, second) = octets.split_at(octets.len() / 2);
        format!("{}-{}", first.join(" "), second.join(" "))
    }
}
