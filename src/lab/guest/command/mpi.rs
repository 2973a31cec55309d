//! What Open MPI and UCX tell of themselves, and what a login's keys look like from outside.

use super::{Scene, fails, not_found, says};
use crate::lab::guest::load::mix;
use crate::lab::guest::machines;
use crate::lab::guest::state::{Family, State};
use crate::lab::guest::templates::Append as _;
use crate::lab::guest::templates::fill;
use crate::lab::machine::Answer;
use crate::probe::linux::mpi::RECEIVE_QUEUE;
use crate::probe::linux::ssh_trust;

/// The value of a variable of every login.
fn variable<'a>(state: &'a State, name: &str) -> Option<&'a str> {
    state.environment.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// `ompi_info --parsable [--all]`.
pub fn ompi_info(scene: &Scene<'_>, words: &[&str]) -> Answer {
    if !words.contains(&"--parsable") {
        // UNSOURCED: the form for people is longer.
        let version = scene.moment.state.open_mpi;
        return says(format!("                 Package: Debian OpenMPI\n                Open MPI: {version}\n"));
    }
    let state = scene.moment.state;
    let parameter = |name: &str| {
        let value = variable(state, &format!("OMPI_MCA_{name}"));
        (value.unwrap_or_default().to_owned(), if value.is_some() { "environment" } else { "default" }.to_owned())
    };
    let (pml, pml_source) = parameter("pml");
    let (include, include_source) = parameter("btl_tcp_if_include");
    let text = fill(
        include_str!("../templates/ompi_info.txt"),
        &[("pml", pml), ("pml_source", pml_source), ("include", include), ("include_source", include_source)],
    );
    says(of_release(&text.replace(machines::OPEN_MPI, state.open_mpi), state.open_mpi))
}

/// True for 5.0 and newer.
fn is_five(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 5)
}

/// What `ompi_info` lists of another release.
///
/// UNSOURCED: no capture of 5.0 is at hand; by its release notes openib and the components of ORTE are gone, and vader is
/// called sm.
fn of_release(text: &str, version: &str) -> String {
    const GONE: [&str; 6] =
        ["mca:btl:openib:", "mca:ess:", "mca:errmgr:", "mca:plm:", "mca:oob:", "oob_tcp_if_include"];
    if !is_five(version) {
        return text.to_owned();
    }
    let stays = |line: &&str| !GONE.iter().any(|gone| line.contains(gone));
    let lines: Vec<String> =
        text.lines().filter(stays).map(|line| line.replace("mca:btl:vader:", "mca:btl:sm:") + "\n").collect();
    lines.concat()
}

/// `mpirun --version`: nothing else of it is answered, since no job runs here.
pub fn mpirun(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let version = scene.moment.state.open_mpi;
    if !matches!(words, ["--version" | "-V"]) {
        return fails("mpirun: no job runs in this lab\n", 1);
    }
    // Capture: "mpirun --version" of Open MPI 4.1.4 on Debian 12. UNSOURCED: 5.0 gives the address with https.
    let address = if is_five(version) { "https" } else { "http" };
    says(format!("mpirun (Open MPI) {version}\n\nReport bugs to {address}://www.open-mpi.org/community/help/\n"))
}

/// `ucx_info -v`, `-d`, `-c`.
pub fn ucx_info(scene: &Scene<'_>, words: &[&str]) -> Answer {
    match words {
        // Source: UCX src/tools/info/build_info.c, as releases from 1.14 on print it.
        ["-v"] if is_five(scene.moment.state.open_mpi) => says(
            "# Library version: 1.15.0\n# Library path: /usr/lib/x86_64-linux-gnu/libucs.so.0\n# API headers version: 1.15.0\n\
             # Git branch '', revision 0000000\n# Configured with: --prefix=/usr --enable-mt --with-verbs\n",
        ),
        ["-v"] => says(fill(include_str!("../templates/ucx_info-v.txt"), &[("prefix", "${prefix}".to_owned())])),
        ["-d"] => says(devices(scene)),
        ["-c", "-f"] | ["-f", "-c"] | ["-cf"] => {
            // Capture: "ucx_info -c -f" of UCX 1.13.1, one of its blocks.
            let depth = variable(scene.moment.state, RECEIVE_QUEUE).unwrap_or("4095");
            says(format!(
                "#\n# Length of receive queue in the QPs.\n#\n# syntax:    unsigned integer\n\
                 # inherits:  UCX_RC_RX_QUEUE_LEN, UCX_IB_RX_QUEUE_LEN\n#\n{RECEIVE_QUEUE}={depth}\n\n"
            ))
        }
        ["-c"] => {
            // Capture: "ucx_info -c" of UCX 1.13.1, an excerpt of 472 lines.
            let state = scene.moment.state;
            let lines = [
                ("UCX_NET_DEVICES", "all"),
                ("UCX_TLS", "all"),
                ("UCX_IB_GID_INDEX", "auto"),
                (RECEIVE_QUEUE, "4095"),
                ("UCX_UD_VERBS_RX_QUEUE_LEN", "4096"),
            ];
            let lines = lines.map(|(name, default)| format!("{name}={}\n", variable(state, name).unwrap_or(default)));
            says(lines.concat())
        }
        _ => fails("Usage: ucx_info [options]\n", 1),
    }
}

fn devices(scene: &Scene<'_>) -> String {
    let state = scene.moment.state;
    let block = |transport: &str, device: &str, system: &str| {
        format!(
            "#      Transport: {transport}\n#         Device: {device}\n#           Type: network\n\
             #  System device: {system}\n#\n"
        )
    };
    let running = state.netdevs.iter().filter(|netdev| netdev.is_running());
    let tcp: String = running.map(|netdev| block("tcp", &netdev.name, "<unknown>")).collect();
    let name = &state.adapter.device;
    let transports: &[&str] = match state.adapter.family {
        Family::Pvrdma => &["rc_verbs", "ud_verbs"],
        Family::Mlx5 | Family::Mlx5Vf => &["rc_verbs", "rc_mlx5", "dc_mlx5", "ud_verbs", "ud_mlx5"],
    };
    let rdma = if scene.moment.is_active() {
        transports.iter().map(|transport| block(transport, &format!("{name}:1"), &format!("{name} (0)"))).collect()
    } else {
        "#   < no supported devices found >\n#\n".to_owned()
    };
    let text =
        fill(include_str!("../templates/ucx_info-d.txt"), &[("tcp", tcp), ("device", name.clone()), ("rdma", rdma)]);
    if state.has_device() {
        return text;
    }
    // Without a device there is no domain of it.
    let begin = text.find(&format!("# Memory domain: {name}")).unwrap_or(text.len());
    let end = text.find("# Memory domain: cma").unwrap_or(text.len());
    format!("{}{}", &text[..begin], &text[end..])
}

/// `systemctl show --property=Id,LoadState,ActiveState UNIT...`.
pub fn systemctl(words: &[&str]) -> Answer {
    let Some(("show", units)) = words.split_first().map(|(first, rest)| (*first, rest)) else {
        // UNSOURCED: other commands of it are not known here.
        return fails("Unknown command verb.\n", 1);
    };
    let blocks: Vec<String> = units
        .iter()
        .filter(|word| !word.starts_with('-'))
        .map(|unit| {
            // Debian's SSH server answers to both names.
            let (id, state) = match *unit {
                "sshd.service" | "ssh.service" => ("ssh.service", "active"),
                "irqbalance.service" => ("irqbalance.service", "active"),
                other => (other, "inactive"),
            };
            let load = if state == "active" { "loaded" } else { "not-found" };
            format!("Id={id}\nLoadState={load}\nActiveState={state}\n")
        })
        .collect();
    says(blocks.join("\n"))
}

/// `sh -c SCRIPT` for the one script of the program's own that needs a shell.
pub fn shell(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let ["-c", script] = words else { return fails("sh: 0: not understood here\n", 2) };
    if *script != ssh_trust::SCRIPT {
        return not_found(script.split_whitespace().next().unwrap_or_default());
    }
    // All machines are nodes of one cluster: each lets all of them in, and knows them.
    let own = &scene.moment.state.name;
    let mut text = format!("/etc/ssh/ssh_host_ed25519_key.pub {}\n", fingerprint(own, "host"));
    text.add(format_args!("id_ed25519.pub {}\n", fingerprint(own, &scene.moment.login.user)));
    for name in machines::names() {
        text.add(format_args!("authorized_keys {}\n", fingerprint(name, &scene.moment.login.user)));
    }
    for name in machines::names() {
        text.add(format_args!("known_hosts {}\n", fingerprint(name, "host")));
    }
    says(text)
}

/// A fingerprint as `ssh-keygen -l` prints it: 43 characters of base 64.
fn fingerprint(machine: &str, of: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let seed = machine.bytes().chain(of.bytes()).fold(7, |seed, byte| mix(seed, u64::from(byte)));
    let letter = |index: u64| usize::try_from(mix(seed, index) % 64).map_or('A', |place| char::from(LETTERS[place]));
    format!("SHA256:{}", (0..43).map(letter).collect::<String>())
}
