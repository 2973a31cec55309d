//! A secret that is typed at the plain console, in a real terminal: it opens the key, and is found nowhere afterwards:
//! neither in what was printed, which is the record of such a console, nor in any file.

use super::pty::{Console, Size};
use super::server::{PATIENCE, Server, authorise, keygen};

/// What is typed; nothing else has these letters.
const SECRET: &str = "hunter zwei, unverwechselbar";

#[test]
fn a_secret_typed_at_the_plain_console_is_neither_shown_nor_kept() {
    let Some(server) = Server::start("") else { return };
    let key = keygen(server.folder.path(), "locked", "ed25519", SECRET);
    authorise(&server, &key.with_extension("pub"));
    let home = tempfile::tempdir().expect("a folder");
    let path = |name: &str| home.path().join(name).to_str().expect("a plain path").to_owned();
    let settings = server.settings();
    let host_key = std::fs::read_to_string(server.path("host.pub")).expect("the host's key");
    std::fs::write(path("known_hosts"), format!("[127.0.0.1]:{} {host_key}", server.port)).expect("written");
    let configuration = format!(
        "Host guest\n  HostName 127.0.0.1\n  Port {}\n  User {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
         UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
        server.port,
        settings.user,
        key.display(),
        path("known_hosts"),
    );
    std::fs::write(path("ssh_config"), configuration).expect("written");
    let config = path("ssh_config");
    let arguments = ["--plain", "--ssh-config", &config, "guest"];
    let folder = home.path().to_str().expect("a plain path");
    let environment =
        [("HOME", folder), ("XDG_CONFIG_HOME", folder), ("XDG_STATE_HOME", folder), ("SSH_AUTH_SOCK", "")];
    let mut console = Console::start(env!("CARGO_BIN_EXE_rdmascope"), &arguments, Size::LARGE, &environment);
    console.wait_for("the question", PATIENCE, |view| view.has("it is not shown while you type"));
    console.keys(&format!("{SECRET}\r"));
    console.wait_for("the connection", PATIENCE, |view| view.has("taken") && view.has("connected:"));
    // What is typed after it is shown again.
    console.keys("status\r");
    console.wait_for("the echo and its answer", PATIENCE, |view| {
        view.rows().iter().any(|row| row.trim() == "status") && view.has("guest: ")
    });
    console.keys("quit\r");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    let parts = [SECRET, "hunter", "unverwechselbar"];
    let clean = |what: &str, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for part in parts {
            assert!(!text.contains(part), "{part} is in {what}");
        }
    };
    clean("what the terminal got", &console.written());
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                clean(&entry.path().display().to_string(), &std::fs::read(entry.path()).expect("a file"));
            }
        }
    }
}
