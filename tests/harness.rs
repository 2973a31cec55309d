//! The testing tools, tested: what checks the program must be able to fail.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use support::guest::Guest;
use support::parse;
use support::pty::{Console, Size};
use support::relay::Relay;
use support::words;

/// More than any of these programs ever needs.
const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str, environment: &[(&str, &str)]) -> Console {
    Console::start("/bin/sh", &["-c", script], Size::DESIGN, environment)
}

#[test]
fn a_console_shows_what_its_program_draws_and_takes_keys() {
    let mut console = shell("stty -echo; printf 'ready\\n'; read line; printf 'got <%s>\\n' \"$line\"; exit 3", &[]);
    console.wait_for("the program", PATIENCE, |view| view.has("ready"));
    console.keys("hello\r");
    console.wait_for("the answer", PATIENCE, |view| view.has("got <hello>"));
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 3);
}

#[test]
fn a_console_has_the_environment_of_a_terminal() {
    let script =
        "echo \"$TERM/$COLORTERM/${NO_COLOR-none}/${TMUX-none}/${EXTRA-none}/${PATH:+path}/${HOME-none}\"; stty size";
    let mut console = shell(script, &[("EXTRA", "more"), ("HOME", "")]);
    console.wait_for_end(PATIENCE);
    console.wait_for("its environment", PATIENCE, |view| {
        view.has("xterm-256color/truecolor/none/none/more/path/none") && view.has("24 80")
    });
}

#[test]
fn a_resize_reaches_the_program() {
    let console = shell("trap 'stty size' WINCH; echo ready; while :; do read line; done", &[]);
    console.wait_for("the program", PATIENCE, |view| view.has("ready"));
    console.resize(Size::LARGE);
    console.wait_for("the new size", PATIENCE, |view| view.has("50 200"));
    assert_eq!(console.view(|view| view.rows().len()), 50);
}

#[test]
fn the_alternate_screen_and_the_cursor_are_seen() {
    let console = shell("printf '\\033[?1049h\\033[?25l\\033[3;5Hhere'; read line", &[]);
    console.wait_for("the drawing", PATIENCE, |view| view.is_alternate() && view.hides_cursor());
    console.wait_for("the text", PATIENCE, |view| view.rows()[2] == "    here");
    assert!(console.ever_wrote(b"\x1b[?25l"));
    assert!(!console.ever_wrote(b"\x1b[6n"));
}

#[test]
fn queries_of_the_terminal_are_answered_even_when_split() {
    let script = "stty raw -echo; printf '\\033['; printf 'c'; dd bs=1 count=8 2>/dev/null | od -An -c";
    let console = shell(script, &[]);
    console.wait_for("the answer", PATIENCE, |view| view.has_row(&["033", "[", "?", "6", "2"]));
}

#[test]
#[should_panic(expected = "waited")]
fn a_wait_in_vain_panics() {
    let console = shell("echo something; read line", &[]);
    console.wait_for("what never comes", Duration::from_millis(300), |view| view.has("else"));
}

#[test]
#[should_panic(expected = "the program ended")]
fn a_wait_for_a_program_that_ended_panics_at_once() {
    let console = shell("echo short", &[]);
    console.wait_for("what never comes", Duration::from_hours(1), |view| view.has("else"));
}

#[test]
#[should_panic(expected = "did not hold")]
fn a_condition_that_breaks_is_seen() {
    let console = shell("echo one; read line; echo two; read line", &[]);
    console.wait_for("the first", PATIENCE, |view| view.has("one"));
    console.keys("\r");
    console.holds_for("no second word", PATIENCE, |view| !view.has("two"));
}

#[test]
#[should_panic(expected = "the program ended")]
fn a_condition_cannot_hold_on_a_dead_program() {
    let console = shell("echo one", &[]);
    console.holds_for("anything", PATIENCE, |_| true);
}

#[test]
fn a_dropped_console_leaves_no_process() {
    let console = shell("echo ready; read line", &[]);
    console.wait_for("the program", PATIENCE, |view| view.has("ready"));
    let process = format!("/proc/{}", console.id());
    assert!(Path::new(&process).exists());
    drop(console);
    assert!(!Path::new(&process).exists());
}

#[test]
fn a_hard_kill_is_told_by_the_status() {
    let mut console = shell("echo ready; read line", &[]);
    console.wait_for("the program", PATIENCE, |view| view.has("ready"));
    console.kill_hard();
    let status = console.wait_for_end(PATIENCE);
    assert!(!status.success());
}

#[test]
fn a_relay_counts_carries_and_falls_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let relay = Relay::to(listener.local_addr().expect("an address").port());
    assert_eq!(relay.connections(), 0);
    let mut near = TcpStream::connect(("127.0.0.1", relay.port())).expect("the relay accepts");
    let (mut far, _) = listener.accept().expect("the relay connects on");
    let mut buffer = [0_u8; 4];
    near.write_all(b"ping").expect("sent");
    far.read_exact(&mut buffer).expect("received");
    assert_eq!(&buffer, b"ping");
    far.write_all(b"pong").expect("sent");
    near.read_exact(&mut buffer).expect("received");
    assert_eq!(&buffer, b"pong");
    assert_eq!(relay.connections(), 1);
    relay.fall_silent();
    near.write_all(b"lost").expect("sent");
    drop(near);
    far.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let silence = far.read(&mut buffer).expect_err("neither data nor an end comes through");
    assert!(matches!(silence.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    drop(relay);
    far.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    assert_eq!(far.read(&mut buffer).unwrap_or_default(), 0);
}

/// A capture of a guest of the lab.
fn capture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/soft-roce").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_reader_understands_links_and_queue_pairs() {
    let links = parse::links(&capture("02-rdma-d-link-show.txt"));
    assert_eq!(links.len(), 1);
    assert_eq!(
        (links[0].name.as_str(), links[0].state.as_str(), links[0].physical_state.as_str(), links[0].netdev.as_str()),
        ("rxe0/1", "ACTIVE", "LINK_UP", "eth1")
    );
    let text = "link rxe0/1 lqpn 17 rqpn 31 type RC state RTS rq-psn 0 sq-psn 0 path-mig-state MIGRATED pdn 4 pid 193 comm ib_write_bw \n\
                link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] \nnoise\n";
    let pairs = parse::queue_pairs(text);
    assert_eq!(pairs.keys().copied().collect::<Vec<_>>(), [1, 17]);
    let pair = &pairs[&17];
    assert_eq!(
        (pair.name.as_str(), pair.kind.as_str(), pair.state.as_str(), pair.owner.as_str()),
        ("rxe0/17", "RC", "RTS", "ib_write_bw")
    );
    assert_eq!((pair.remote, pair.process), (Some(31), Some(193)));
    assert_eq!((pairs[&1].remote, pairs[&1].process, pairs[&1].owner.as_str()), (None, None, "ib_core"));
}

#[test]
fn the_reader_understands_counters_gids_and_addresses() {
    let counters = parse::counters("sent_pkts:12\nrcvd_pkts:0\nlifespan:N/A\n");
    assert_eq!(counters.get("sent_pkts"), Some(&12));
    assert_eq!(counters.len(), 2);
    let gids = parse::gids(
        "gids/0:fe80:0000:0000:0000:5054:00ff:fe00:0111\ngids/1:0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
         gids/2:0000:0000:0000:0000:0000:0000:0000:0000\ngid_attrs/types/0:RoCE v2\ngid_attrs/types/1:RoCE v2\n\
         gid_attrs/ndevs/1:eth1\n",
    );
    assert_eq!(gids.keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(gids[&1].0.to_string(), "::ffff:192.168.100.10");
    assert_eq!((gids[&1].1.as_str(), gids[&1].2.as_str()), ("RoCE v2", "eth1"));
    let addresses = parse::addresses(
        "3: eth1    inet 192.168.100.10/24 scope global eth1\\ valid_lft forever\n3: eth1    inet6 fe80::5054/64 scope link \\ valid",
    );
    assert_eq!(addresses.into_iter().collect::<Vec<_>>(), ["192.168.100.10/24", "fe80::5054/64"]);
    assert_eq!(parse::word_after("3: eth1: <UP> mtu 1500 qdisc", "mtu"), Some("1500"));
    assert_eq!(parse::word_after("3: eth1: <UP> mtu", "mtu"), None);
}

#[test]
fn the_reader_tells_its_own_session_from_others() {
    let text = "    1     0 /bin/bash /init.sh\n  140     1 sshd: /usr/sbin/sshd -E /var/log/sshd.log [listener] 0 of 10-100 startups\n\
                  200   140 sshd: root@notty\n  201   200 /bin/sh -s\n  300   140 sshd: root@notty\n  301   300 bash -c echo $$; ps\n\
                  302   301 ps -eo pid=,ppid=,args=\n  400     1 ib_write_bw\n";
    let foreign: Vec<u64> =
        parse::foreign_sessions(&parse::processes(text), 301).iter().map(|process| process.id).collect();
    assert_eq!(foreign, [200, 201]);
    let both: Vec<u64> =
        parse::foreign_sessions(&parse::processes(text), 400).iter().map(|process| process.id).collect();
    assert_eq!(both, [200, 201, 300, 301, 302]);
}

#[test]
fn numbers_on_the_screen_are_read_with_their_prefix() {
    assert_eq!(words::number_in(" 1.5 k/s"), Some(1500.0));
    assert_eq!(words::number_in("12,345 packets"), Some(12345.0));
    assert_eq!(words::number_in("3M"), Some(3e6));
    assert_eq!(words::number_in("none"), None);
    assert_eq!(words::rate_in("12.5 kpkt/s  x"), Some(12500.0));
    assert_eq!(words::rate_in("0 pkt/s"), Some(0.0));
    assert_eq!(words::rate_in("12.5 kb/s"), None);
    assert_eq!(words::rate_in("pkt/s"), None);
}

#[test]
fn rates_and_states_are_found_on_the_screen() {
    let script = "printf 'header\\r\\n \\342\\226\\276 softroce1   ok        \\342\\224\\202 eth1 tx 5 kb/s\\r\\n   softroce1-lab  stale 4s   \\342\\224\\202 x ok\\r\\n'; \
                  printf '%-30s\\342\\224\\202 rxe0/1 packets      tx 2.4 kpkt/s\\r\\n%-30s\\342\\224\\202 #####      rx 7 pkt/s\\r\\n'; read line";
    let console = shell(script, &[]);
    let events = shell(
        "printf ' t  ok \\342\\224\\202 14:03:27  x t: login refused\\r\\n        \\342\\224\\202 error t: login refused\\r\\n'; read line",
        &[],
    );
    events.wait_for("one event", PATIENCE, |view| words::events(view, &["t", "login refused"]).len() == 1);
    console.wait_for("the rates", PATIENCE, |view| words::packets(view) == Some((2400.0, 7.0)));
    console.view(|view| {
        assert!(words::is_up(view, "softroce1") && !words::is_stale(view, "softroce1"));
        assert!(!words::is_up(view, "softroce1-lab") && words::is_stale(view, "softroce1-lab"));
        assert!(!words::is_up(view, "softroce2"), "what is not there is not up");
        assert!(words::events(view, &[]).is_empty());
    });
}

#[test]
fn a_command_on_an_unreachable_guest_ends_with_ssh_s_own_status() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("config");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    std::fs::write(&config, format!("Host nobody\n  HostName 127.0.0.1\n  Port {port}\n")).expect("written");
    let start = Instant::now();
    let answer = Guest::new("nobody", &config).attempt("true", PATIENCE);
    assert_eq!(answer.status, 255);
    assert!(start.elapsed() < PATIENCE);
}
