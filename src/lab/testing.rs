//! A machine for tests: a handful of files and fixed answers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::machine::{Answer, Login, Machine, NotRead, Trouble};

/// A machine that knows what it was told.
pub struct TestMachine {
    name: String,
    files: BTreeMap<String, Result<String, NotRead>>,
    answers: BTreeMap<String, Answer>,
    variables: Vec<(String, String)>,
    boots: AtomicU64,
    booted: Mutex<Instant>,
    /// What it suffered, in order.
    pub suffered: Mutex<Vec<(Trouble, bool)>>,
}

impl TestMachine {
    /// One that has an uptime and a boot id.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            files: BTreeMap::new(),
            answers: BTreeMap::new(),
            variables: Vec::new(),
            boots: AtomicU64::new(1),
            booted: Mutex::new(Instant::now()),
            suffered: Mutex::new(Vec::new()),
        }
    }

    /// With a file.
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.files.insert(path.to_owned(), Ok(content.to_owned()));
        self
    }

    /// With a file that cannot be read.
    pub fn refused(mut self, path: &str, why: NotRead) -> Self {
        self.files.insert(path.to_owned(), Err(why));
        self
    }

    /// With the answer to a command line.
    pub fn says(mut self, line: &str, stdout: &str, status: u32) -> Self {
        let answer = Answer { stdout: stdout.to_owned(), status, ..Answer::default() };
        self.answers.insert(line.to_owned(), answer);
        self
    }

    /// With a variable of its environment.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With an RDMA device, its port and its netdev.
    pub fn with_rdma(self) -> Self {
        let port = "/sys/class/infiniband/rocep2s3/ports/1";
        self.file("/sys/class/infiniband/rocep2s3/device/vendor", "0x15ad\n")
            .file(&format!("{port}/state"), "4: ACTIVE\n")
            .file(&format!("{port}/phys_state"), "5: LinkUp\n")
            .file(&format!("{port}/gid_attrs/ndevs/0"), "ens3\n")
            .file("/sys/class/net/ens3/device/vendor", "0x15ad\n")
            .file("/sys/class/net/ens3/operstate", "up\n")
            .file("/sys/class/net/ens3/mtu", "1500\n")
            .file("/sys/class/net/ens3/carrier", "1\n")
            .file("/sys/class/net/ens3/statistics/rx_bytes", "1000\n")
            .file("/sys/class/net/ens3/statistics/tx_bytes", "2000\n")
            .file("/sys/class/net/lo/mtu", "65536\n")
            .says("uname -s", "Linux\n", 0)
            .says("rdma -j res show qp", "[]\n", 0)
            .says("rdma link", "link rocep2s3/1 state ACTIVE physical_state LINK_UP netdev ens3\n", 0)
    }

    /// All paths that exist, folders included.
    fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for file in self.files.keys() {
            paths.extend(file.match_indices('/').skip(1).map(|(at, _)| file[..at].to_owned()));
            paths.push(file.clone());
        }
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Machine for TestMachine {
    fn name(&self) -> &str {
        &self.name
    }

    fn ssh_version(&self) -> &'static str {
        "OpenSSH_9.6"
    }

    fn read(&self, path: &str, _login: &Login) -> Result<Vec<u8>, NotRead> {
        match path {
            "/proc/uptime" => {
                let up = self.booted.lock().expect("no panic").elapsed();
                return Ok(format!("{}.{:02} 1.00\n", 100 + up.as_secs(), up.subsec_millis() / 10).into_bytes());
            }
            "/proc/sys/kernel/random/boot_id" => {
                let boots = self.boots.load(Ordering::Relaxed);
                return Ok(format!("00000000-0000-4000-8000-{boots:012}\n").into_bytes());
            }
            "/proc/self/status" => return Ok(b"Name:\tsh\nCapEff:\t000001ffffffffff\n".to_vec()),
            _ => {}
        }
        match self.files.get(path) {
            Some(known) => known.clone().map(String::into_bytes),
            None if self.paths().iter().any(|known| known == path) => Err(NotRead::Directory),
            None => Err(NotRead::Missing),
        }
    }

    fn expand(&self, pattern: &str) -> Vec<String> {
        let pattern = glob::Pattern::new(pattern).expect("a pattern");
        let options = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        self.paths().into_iter().filter(|path| pattern.matches_with(path, options)).collect()
    }

    fn link(&self, path: &str) -> Option<String> {
        (path == "/sys/class/infiniband/rocep2s3/device/driver")
            .then(|| "../../../../bus/pci/drivers/vmw_pvrdma".to_owned())
    }

    fn run(&self, argv: &[String], _login: &Login) -> Answer {
        self.answers.get(&argv.join(" ")).cloned().unwrap_or_else(|| Answer { status: 127, ..Answer::default() })
    }

    fn environment(&self, _login: &Login) -> Vec<(String, String)> {
        self.variables.clone()
    }

    fn suffer(&self, trouble: Trouble, on: bool) {
        if trouble == Trouble::Reboot {
            self.boots.fetch_add(1, Ordering::Relaxed);
            *self.booted.lock().expect("no panic") = Instant::now();
        }
        self.suffered.lock().expect("no panic").push((trouble, on));
    }
}
