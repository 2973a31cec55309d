//! An OpenSSH server of the tests' own, and settings to reach it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rdmascope::collect::transport::ssh::{Caller, ConnectError, Connected, Deadlines, Memory, Route, connect_within};
use rdmascope::collect::transport::{Asker, Exec, Output};
use rdmascope::config::openssh::{HostKeyChecking, HostSettings, IdentityAgent};
use rdmascope::fabric::TargetId;
use tempfile::TempDir;

/// No test waits longer than this for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, its folder and the keys in it. It ends with this value.
pub struct Server {
    pub folder: TempDir,
    pub port: u16,
    child: Child,
}

impl Server {
    /// Starts one with further lines of configuration; `None` where there is no `sshd`.
    pub fn start(further: &str) -> Option<Self> {
        let sshd =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"].iter().find(|path| Path::new(path).exists());
        let Some(sshd) = sshd else {
            assert!(std::env::var_os("RDMASCOPE_NO_SKIP").is_none(), "there is no sshd here, and skipping is off");
            println!("skipped: no sshd");
            return None;
        };
        if rustix::process::getuid().is_root() {
            std::fs::create_dir_all("/run/sshd").expect("the folder of privilege separation");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        keygen(path, "host", "ed25519", "");
        keygen(path, "login", "ed25519", "");
        std::fs::copy(path.join("login.pub"), path.join("authorized_keys")).expect("an authorised key");
        let mut tries = 0;
        loop {
            let port = free_port();
            let child = spawn(sshd, path, port, further);
            let mut server = Self { folder: folder_handle(&folder), port, child };
            if server.answers() {
                server.folder = folder;
                return Some(server);
            }
            tries += 1;
            let log = std::fs::read_to_string(path.join("log")).unwrap_or_default();
            assert!(tries < 5, "sshd does not start:\n{log}");
        }
    }

    fn answers(&mut self) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if self.child.try_wait().expect("its state").is_some() {
                return false;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Settings that reach this server with its key, nothing asked and nothing recorded before.
    pub fn settings(&self) -> HostSettings {
        HostSettings {
            alias: "guest".to_owned(),
            identity_files: vec![self.path("login")],
            identities_only: true,
            identity_agent: Some(IdentityAgent::None),
            user_known_hosts: vec![self.path("known_hosts")],
            host_key_checking: HostKeyChecking::AcceptNew,
            ..HostSettings::bare(&user(), "127.0.0.1", self.port)
        }
    }

    pub async fn connect(&self) -> Connected {
        connect(self.settings()).await.expect("connected")
    }

    /// Kills the processes that serve its connections.
    pub fn kill_sessions(&self) {
        let mut killed = 0;
        for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
            if parent == Some(&self.child.id().to_string()) {
                let pid = stat.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a number");
                let pid = rustix::process::Pid::from_raw(pid).expect("a process");
                if rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok() {
                    killed += 1;
                }
            }
        }
        assert!(killed > 0, "there was no session");
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("log of sshd:\n{}", self.log());
        }
    }
}

/// The folder must outlive a server that did not start, so each try has a stand-in of its own.
fn folder_handle(_real: &TempDir) -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn spawn(sshd: &str, path: &Path, port: u16, further: &str) -> Child {
    let folder = path.display();
    // The first value of a keyword counts: what the test wants goes first.
    let configuration = format!(
        "{further}\nPort {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\n\
         PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\n\
         PermitRootLogin yes\nMaxStartups 100\nLogLevel VERBOSE\n"
    );
    std::fs::write(path.join("sshd_config"), configuration).expect("its configuration");
    let log = std::fs::OpenOptions::new().create(true).append(true).open(path.join("log")).expect("its log");
    Command::new(sshd)
        .args(["-D", "-e", "-f"])
        .arg(path.join("sshd_config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("sshd starts")
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Makes a key pair with `ssh-keygen`.
pub fn keygen(folder: &Path, name: &str, kind: &str, passphrase: &str) -> PathBuf {
    let file = folder.join(name);
    let done = Command::new("ssh-keygen")
        .args(["-q", "-t", kind, "-N", passphrase, "-C", name, "-f"])
        .arg(&file)
        .stdin(Stdio::null())
        .status()
        .expect("ssh-keygen runs");
    assert!(done.success(), "ssh-keygen made no {kind} key");
    file
}

/// The fingerprint that `ssh-keygen` tells.
pub fn fingerprint(public: &Path) -> String {
    let output = Command::new("ssh-keygen").arg("-lf").arg(public).output().expect("ssh-keygen runs");
    let text = String::from_utf8(output.stdout).expect("text");
    text.split(' ').nth(1).expect("a fingerprint").to_owned()
}

/// Lets a key log in.
pub fn authorise(server: &Server, public: &Path) {
    let mut keys = std::fs::read_to_string(server.path("authorized_keys")).expect("authorised keys");
    write!(keys, "{}", std::fs::read_to_string(public).expect("a public key")).expect("text");
    std::fs::write(server.path("authorized_keys"), keys).expect("written");
}

pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode set");
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id runs");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

pub fn target() -> TargetId {
    TargetId::new("guest")
}

pub async fn connect(settings: HostSettings) -> Result<Connected, ConnectError> {
    connect_asking(settings, &None).await
}

pub async fn connect_asking(settings: HostSettings, asker: &Asker) -> Result<Connected, ConnectError> {
    connect_route(vec![settings], asker, Deadlines::default()).await
}

pub async fn connect_route(
    hops: Vec<HostSettings>,
    asker: &Asker,
    deadlines: Deadlines,
) -> Result<Connected, ConnectError> {
    let route = Route { hops, ..Route::default() };
    connect_remembering(&route, asker, &Memory::default(), deadlines).await
}

/// Connects with what an earlier connection has left in `memory`.
pub async fn connect_remembering(
    route: &Route,
    asker: &Asker,
    memory: &Memory,
    deadlines: Deadlines,
) -> Result<Connected, ConnectError> {
    let target = target();
    let connecting = connect_within(Caller { target: &target, asker, memory }, route, deadlines);
    tokio::time::timeout(PATIENCE * 2, connecting).await.expect("connecting ends in time")
}

/// All that a command gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finished {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: Option<u32>,
    pub signal: Option<String>,
}

impl Finished {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }
}

/// The next piece, in time.
pub async fn next(exec: &mut Exec) -> Option<Output> {
    tokio::time::timeout(PATIENCE, exec.next()).await.expect("output in time")
}

/// Reads a command to its end.
pub async fn finish(mut exec: Exec) -> Finished {
    let mut finished = Finished::default();
    while let Some(piece) = next(&mut exec).await {
        match piece {
            Output::Stdout(bytes) => finished.stdout.extend(bytes),
            Output::Stderr(bytes) => finished.stderr.extend(bytes),
            Output::Exit(status) => finished.exit = Some(status),
            Output::Signal(name) => finished.signal = Some(name),
        }
    }
    finished
}

pub async fn run(connected: &Connected, command: &str) -> Finished {
    finish(connected.exec(command).await.expect("started")).await
}

/// Waits until something holds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in vain waited until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The first line of a command's output.
pub async fn first_line(exec: &mut Exec) -> String {
    let mut text = Vec::new();
    while !text.contains(&b'\n') {
        match next(exec).await {
            Some(Output::Stdout(bytes)) => text.extend(bytes),
            other => panic!("no first line but {other:?}"),
        }
    }
    String::from_utf8(text).expect("text").lines().next().expect("a line").to_owned()
}

pub fn is_running(pid: &str) -> bool {
    // A process that is dead and not yet collected still has a folder.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
