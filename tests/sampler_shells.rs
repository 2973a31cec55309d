//! The sampler's block of shell, run by real shells over a tree of files made for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rdmascope::fabric::counter::Role;
use rdmascope::fabric::{Attribute, Entity, State, TargetId, Timestamp, Value};
use rdmascope::probe::linux::stream::{MOST_FILES, StreamEvent, StreamParser, Tick, TickRequest, block, block_by_root};

const NONCE: &str = "n0nce5";

/// Shells as guests have them. The system's own is always tried, the others where they are installed.
const SHELLS: [&[&str]; 4] =
    [&["/bin/sh", "-s"], &["dash", "-s"], &["bash", "--posix", "-s"], &["busybox", "sh", "-s"]];

/// A tree like that of a soft-RoCE guest: one port, the netdev under it, a loopback, a bond, a bridge.
fn tree(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let port = "sys/class/infiniband/rxe0/ports/1";
    write("sys/class/infiniband/rxe0/parent", "eth1\n");
    write(&format!("{port}/state"), "4: ACTIVE\n");
    write(&format!("{port}/phys_state"), "5: LinkUp\n");
    write(&format!("{port}/gid_attrs/ndevs/0"), "rdma0\n");
    write(&format!("{port}/hw_counters/sent_pkts"), "18446744073709551615\n");
    write(&format!("{port}/hw_counters/rcvd_pkts"), "2026\n");
    write(&format!("{port}/hw_counters/lifespan"), "12\n");
    let port = "sys/class/infiniband/mlx5_0/ports/1";
    write(&format!("{port}/state"), "1: DOWN\n");
    write(&format!("{port}/phys_state"), "3: Disabled\n");
    write(&format!("{port}/counters/port_xmit_data"), "100\n");
    write(&format!("{port}/counters/symbol_error"), "N/A (no PMA)\n");
    write("sys/bus/pci/drivers/mlx5_core/bind", "");
    write("sys/class/infiniband/mlx5_0/device/vendor", "0x15b3\n");
    symlink("../../../../bus/pci/drivers/mlx5_core", root.join("sys/class/infiniband/mlx5_0/device/driver"))
        .expect("linked");
    for (name, mark) in
        [("lo", None), ("br0", None), ("rdma0", None), ("bond0", Some("bonding/mode")), ("eth0", Some("device/vendor"))]
    {
        let net = format!("sys/class/net/{name}");
        for (file, text) in [("operstate", "up\n"), ("mtu", "1500\n"), ("carrier", "1\n")] {
            write(&format!("{net}/{file}"), text);
        }
        for file in
            ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped"]
        {
            write(&format!("{net}/statistics/{file}"), "7\n");
        }
        if let Some(mark) = mark {
            write(&format!("{net}/{mark}"), "");
        }
    }
    write("sys/class/net/vlan7/operstate", "down\n");
    write("sys/class/net/vlan7/carrier", "");
    write("proc/net/vlan/vlan7", "");
    write("proc/uptime", "1234.56 99.00\n");
    write("proc/self/status", "Name:\tsh\nCapEff:\t0000000000000000\n");
    write("proc/sys/kernel/random/boot_id", "0ec47fa8-19b7-4ae0-9c42-1d2b3c4d5e6f\n");
}

struct Stream {
    root: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    parser: StreamParser,
}

impl Stream {
    /// Starts the shell, or `None` if it is not installed.
    fn start(shell: &[&str], root: &Path) -> Option<Self> {
        Self::run(&block(NONCE), "/usr/bin:/bin", shell, root)
    }

    /// Starts the shell with this block and search path.
    fn run(block: &str, path: &str, shell: &[&str], root: &Path) -> Option<Self> {
        let root = root.to_str().expect("a plain path").to_owned();
        // The block reads the real places; here they lie below another root.
        let text =
            block.replace("/sys/class", &format!("{root}/sys/class")).replace("/proc/", &format!("{root}/proc/"));
        let mut child = Command::new(shell[0])
            .args(&shell[1..])
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take().expect("piped");
        input.write_all(text.as_bytes()).expect("the shell reads");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Some(Self { root, child, input: Some(input), output, parser: StreamParser::new(&TargetId::new("t"), NONCE) })
    }

    fn next(&mut self) -> StreamEvent {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("text"), 0, "the shell ended");
            let line = line.replace(&self.root, "");
            if let Some(event) = self.parser.line(&line, Timestamp::UNIX_EPOCH) {
                return event;
            }
        }
    }

    fn ask(&mut self, number: u64, queue_pairs: bool, rescan: bool) {
        self.send(TickRequest { number, queue_pairs, by_root: false, rescan });
    }

    fn send(&mut self, request: TickRequest) {
        let line = request.line();
        self.input.as_mut().expect("open").write_all(line.as_bytes()).expect("the shell reads");
    }

    fn tick(&mut self) -> Tick {
        match self.next() {
            StreamEvent::Tick(tick) => tick,
            other => panic!("a tick was expected, not {other:?}"),
        }
    }

    /// Ends its input; the shell must end by itself, well.
    fn end(mut self) {
        drop(self.input.take());
        let mut line = String::new();
        assert_eq!(self.output.read_line(&mut line).expect("text"), 0, "{line}");
        assert!(self.child.wait().expect("ended").success());
    }
}

/// Runs a test in every shell there is, each over a tree of its own.
fn in_every_shell(test: impl Fn(Stream, &Path)) {
    let mut tried = 0;
    for shell in SHELLS {
        let folder = tempfile::tempdir().expect("a folder");
        tree(folder.path());
        if let Some(stream) = Stream::start(shell, folder.path()) {
            test(stream, folder.path());
            tried += 1;
        }
    }
    assert!(tried > 0, "not even /bin/sh could be started");
}

fn counter(tick: &Tick, entity: &Entity, name: &str) -> Option<(Option<Role>, u64, u64)> {
    let found = tick.counters.iter().find(|counter| counter.entity == *entity && counter.name == name)?;
    Some((found.role, found.scale, found.raw))
}

fn state(tick: &Tick, entity: &Entity, attribute: Attribute) -> Option<State<Value>> {
    let fact = tick.facts.iter().find(|fact| fact.entity == *entity && fact.attribute == attribute)?;
    Some(fact.reading.state.clone())
}

#[test]
fn a_tick_gives_counters_and_states_of_what_matters() {
    in_every_shell(|mut stream, _| {
        let StreamEvent::Ready { files, boot_id, wall_clock_ms, uptime_centiseconds } = stream.next() else {
            panic!("the header comes first");
        };
        // Ports: 2+3 and 2+2 files; netdevs eth0, bond0, rdma0 and vlan7, not lo and br0.
        assert_eq!(files, 5 + 4 + 4 * 11);
        assert_eq!(boot_id.as_deref(), Some("0ec47fa8-19b7-4ae0-9c42-1d2b3c4d5e6f"));
        assert_eq!(uptime_centiseconds, Some(123_456));
        assert!(wall_clock_ms.is_none_or(|clock| clock > 1_600_000_000_000), "{wall_clock_ms:?}");
        stream.ask(1, false, false);
        let tick = stream.tick();
        assert_eq!((tick.number, tick.uptime_centiseconds), (1, 123_456));
        let rxe = Entity::port("rxe0", 1);
        assert_eq!(counter(&tick, &rxe, "sent_pkts"), Some((Some(Role::TransmitPackets), 1, u64::MAX)));
        assert_eq!(counter(&tick, &rxe, "rcvd_pkts"), Some((Some(Role::ReceivePackets), 1, 2026)));
        assert_eq!(counter(&tick, &rxe, "lifespan"), None);
        let mlx5 = Entity::port("mlx5_0", 1);
        assert_eq!(counter(&tick, &mlx5, "port_xmit_data"), Some((Some(Role::TransmitBytes), 4, 100)));
        assert_eq!(counter(&tick, &mlx5, "symbol_error"), None);
        let shown = |entity: &Entity, attribute| {
            state(&tick, entity, attribute).and_then(|state| state.known().map(ToString::to_string))
        };
        assert_eq!(shown(&rxe, Attribute::PortState).as_deref(), Some("ACTIVE"));
        assert_eq!(shown(&mlx5, Attribute::PhysicalState).as_deref(), Some("DISABLED"));
        assert_eq!(shown(&Entity::Netdev("bond0".into()), Attribute::Mtu).as_deref(), Some("1500"));
        assert_eq!(shown(&Entity::Netdev("rdma0".into()), Attribute::Carrier).as_deref(), Some("yes"));
        let vlan = Entity::Netdev("vlan7".into());
        assert_eq!(shown(&vlan, Attribute::OperationalState).as_deref(), Some("down"));
        assert!(matches!(state(&tick, &vlan, Attribute::Carrier), Some(State::NotObservable(_))));
        // The made-up VLAN has no statistics and no MTU: nine files that cannot be opened.
        assert_eq!(tick.vanished, 9);
        assert_eq!(stream.parser.strangers(), 0);
        stream.end();
    });
}

#[test]
fn what_vanishes_is_counted_and_a_rescan_finds_what_is_new() {
    in_every_shell(|mut stream, root| {
        assert!(matches!(stream.next(), StreamEvent::Ready { files: 53, .. }));
        std::fs::remove_dir_all(root.join("sys/class/infiniband/mlx5_0/ports")).expect("removed");
        std::fs::remove_dir_all(root.join("sys/class/net/vlan7")).expect("removed");
        std::fs::write(root.join("sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_rnr_err"), "3\n")
            .expect("written");
        stream.ask(1, false, false);
        let tick = stream.tick();
        // The carrier of the VLAN is no loss by itself: it may just be down.
        assert_eq!(tick.vanished, 4 + 10);
        assert!(tick.wall_clock_ms.is_some() || tick.number == 1);
        stream.ask(2, false, true);
        assert!(matches!(stream.next(), StreamEvent::Ready { files: 39, .. }));
        let tick = stream.tick();
        assert_eq!((tick.number, tick.vanished), (2, 0));
        let found = counter(&tick, &Entity::port("rxe0", 1), "rcvd_rnr_err");
        assert_eq!(found, Some((Some(Role::ReceiverNotReady), 1, 3)));
        stream.ask(3, false, false);
        assert_eq!(stream.tick().wall_clock_ms, None);
        stream.end();
    });
}

#[test]
fn queue_pairs_come_on_request_and_a_missing_tool_is_said() {
    in_every_shell(|mut stream, _| {
        assert!(matches!(stream.next(), StreamEvent::Ready { .. }));
        stream.ask(7, true, false);
        assert_eq!(stream.tick().number, 7);
        let StreamEvent::QueuePairs { tick, report } = stream.next() else { panic!("queue pairs were asked for") };
        assert_eq!(tick, 7);
        assert_eq!(report.probe.as_str(), "linux.queue-pairs");
        // This machine may have RDMA, no RDMA, or not even the tool: never a list of none without a word.
        for fact in report.facts.iter().filter(|fact| fact.attribute == Attribute::ForeignQueuePairs) {
            let name = fact.reading.state.name();
            assert!(matches!(name, "needs-privilege" | "not-installed" | "failed"), "{name}");
        }
        stream.ask(8, false, false);
        assert_eq!(stream.tick().number, 8);
        stream.end();
    });
}

/// A program of ours in the folder `bin` of a tree.
fn program(root: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(root.join("bin")).expect("made");
    let path = root.join("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made to run");
}

#[test]
fn queue_pairs_are_read_by_sudo_where_a_tick_asks_for_that() {
    assert!(!block(NONCE).contains("sudo"), "not without being told to");
    let pairs = r#"[{"ifname":"rxe0","lqpn":19,"type":"RC","state":"RTS","pid":7,"comm":"ib_write_bw"}]"#;
    for shell in SHELLS {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        tree(root);
        program(root, "rdma", &format!("if [ -n \"$AS_ROOT\" ]; then echo '{pairs}'; else echo '[]'; fi"));
        program(
            root,
            "sudo",
            &format!(
                "echo \"$*\" >>'{0}'/log; [ -e '{0}'/no ] && {{ echo 'sudo: a password is required' >&2; exit 1; }}\n\
                 shift 2; AS_ROOT=1 exec \"$@\"",
                root.display()
            ),
        );
        let path = format!("{}/bin:/usr/bin:/bin", root.display());
        let Some(mut stream) = Stream::run(&block_by_root(NONCE), &path, shell, root) else { continue };
        assert!(matches!(stream.next(), StreamEvent::Ready { .. }));
        let mut ask = |number, by_root| {
            stream.send(TickRequest { number, queue_pairs: true, by_root, rescan: number == 3 });
            if number == 3 {
                assert!(matches!(stream.next(), StreamEvent::Ready { .. }));
            }
            assert_eq!(stream.tick().number, number);
            let StreamEvent::QueuePairs { tick, report } = stream.next() else { panic!("queue pairs were asked for") };
            assert_eq!(tick, number);
            let foreign = report.facts.iter().find(|fact| fact.attribute == Attribute::ForeignQueuePairs);
            let observation = &report.observations[0];
            (
                observation.command.to_string(),
                observation.stdout.to_string(),
                observation.stderr.to_string(),
                foreign.map(|fact| fact.reading.state.name()),
            )
        };
        let empty = String::new;
        assert_eq!(
            ask(1, false),
            ("rdma -j res show qp".to_owned(), "[]\n".to_owned(), empty(), Some("needs-privilege"))
        );
        let by_root = "sudo -n -- /bin/rdma -j res show qp";
        assert_eq!(ask(2, true), (by_root.to_owned(), format!("{pairs}\n"), empty(), Some("known")));
        assert_eq!(ask(3, true).1, format!("{pairs}\n"));
        std::fs::write(root.join("no"), "").expect("written");
        let (command, stdout, stderr, _) = ask(4, true);
        let said = "sudo: a password is required\n".to_owned();
        assert_eq!((command.as_str(), stdout, stderr), (by_root, empty(), said));
        assert_eq!(ask(5, false).0, "rdma -j res show qp", "and plainly after that");
        let log = std::fs::read_to_string(root.join("log")).expect("the log of sudo");
        let called = format!("-n -- {}/bin/rdma -j res show qp\n", root.display());
        assert_eq!(log, called.repeat(3));
        stream.end();
    }
}

#[test]
fn the_list_of_files_is_capped_by_whole_groups() {
    in_every_shell(|stream, root| {
        stream.end_after_header();
        for number in 0..70 {
            let net = root.join(format!("sys/class/net/many{number}"));
            std::fs::create_dir_all(net.join("device")).expect("made");
            std::fs::write(net.join("mtu"), "1500\n").expect("written");
        }
        for shell in SHELLS {
            let Some(mut stream) = Stream::start(shell, root) else { continue };
            let StreamEvent::Ready { files, .. } = stream.next() else { panic!("the header comes first") };
            // 9 files of ports and as many netdevs of 11 files as fit.
            assert_eq!(files, 9 + (MOST_FILES - 9) / 11 * 11);
            assert_eq!(stream.parser.left_out(), (74 - (MOST_FILES - 9) / 11) * 11);
            stream.end();
        }
    });
}

impl Stream {
    fn end_after_header(mut self) {
        assert!(matches!(self.next(), StreamEvent::Ready { .. }));
        self.end();
    }
}
