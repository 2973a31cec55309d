//! Links that go down, logins that hang, guests that reboot.

use std::time::{Duration, Instant};

use crate::support::document::Snapshot;
use crate::support::lab::{Lab, sees};
use crate::support::pty::Size;
use crate::support::words;
use crate::{BOOT, SLACK, START, lab_assert, lab_assert_eq};

#[test]
fn a_link_that_goes_down_is_on_the_screen_and_in_the_events() {
    let Some(lab) = Lab::enter("a_link_that_goes_down_is_on_the_screen_and_in_the_events") else { return };
    let console = lab.console(&["softroce1"], Size { columns: 120, rows: 40 });
    sees(&console, "softroce1 to be up", START, |view| words::is_up(view, "softroce1"));
    console.keys(words::GUEST_LINK);
    sees(&console, "an active port", START, |view| view.has_row(&["rxe0", words::PORT_UP]));

    let down = lab.one.change("ip link set eth1 down", "ip link set eth1 up");
    let limit = Duration::from_secs(3) + SLACK;
    let took = sees(&console, "the port to be down", limit, |view| view.has_row(&["rxe0", words::PORT_DOWN]));
    println!("down on the screen after {:.1} s", took.as_secs_f64());
    lab_assert_eq!(lab.one.links()[0].state, "DOWN", "the guest says so too");
    console.keys(words::EVENTS);
    sees(&console, "the event", limit, |view| !words::events(view, &["softroce1", words::WENT_DOWN]).is_empty());

    drop(down);
    let took = sees(&console, "the event of coming back", limit, |view| {
        !words::events(view, &["softroce1", words::CAME_UP]).is_empty()
    });
    println!("up in the events after {:.1} s", took.as_secs_f64());
    console.keys(words::GUEST_LINK);
    sees(&console, "an active port again", limit, |view| view.has_row(&["rxe0", words::PORT_UP]));
}

#[test]
fn a_hung_login_is_stale_and_disturbs_nobody_else() {
    let Some(lab) = Lab::enter("a_hung_login_is_stale_and_disturbs_nobody_else") else { return };
    let console = lab.console(&["softroce1", "softroce2"], Size { columns: 120, rows: 40 });
    sees(&console, "both to be up", START, |view| words::is_up(view, "softroce1") && words::is_up(view, "softroce2"));

    let stopped_for = Duration::from_secs(30);
    lab.one.run("setsid sh -c 'sleep 1; pkill -STOP sshd; sleep 30; pkill -CONT sshd' >/dev/null 2>&1 </dev/null &");
    let stopped = Instant::now();
    let limit = Duration::from_secs(1 + 3) + SLACK;
    sees(&console, "softroce1 to be stale", limit, |view| words::is_stale(view, "softroce1"));
    println!("stale {:.1} s after the login began to hang", stopped.elapsed().as_secs_f64() - 1.0);
    lab_assert!(console.view(|view| words::is_up(view, "softroce2")), "the other one is not concerned");

    // Keys answer at once while one target hangs.
    for _ in 0..3 {
        console.keys(words::HELP);
        let took = sees(&console, "the help", Duration::from_secs(1), |view| view.has(words::HELP_TITLE));
        println!("the help was open after {} ms", took.as_millis());
        console.keys(words::CLOSE);
        sees(&console, "the help closed", Duration::from_secs(1), |view| !view.has(words::HELP_TITLE));
    }
    let left = (Duration::from_secs(1) + stopped_for).saturating_sub(stopped.elapsed() + Duration::from_secs(4));
    console.holds_for("the other guest keeps its rhythm", left, |view| words::is_up(view, "softroce2"));
    sees(&console, "softroce1 to recover by itself", Duration::from_mins(1) + SLACK, |view| {
        words::is_up(view, "softroce1") && words::is_up(view, "softroce2")
    });
}

#[test]
fn a_reboot_is_survived_and_counters_start_anew() {
    let Some(lab) = Lab::enter("a_reboot_is_survived_and_counters_start_anew") else { return };
    // Counters above zero, so that a restart is a fall.
    {
        let _server = lab.one.start("ib_write_bw -d rxe0 -x 1 -n 20 -s 4096 -F -p 19700");
        lab.one.wait_until("a server", "ss -Hltn 'sport = :19700'", Duration::from_mins(1), |text| {
            !text.trim().is_empty()
        });
        lab.two.run("ib_write_bw -d rxe0 -x 1 -n 20 -s 4096 -F -p 19700 192.168.100.10");
    }
    let counted = lab.one.counters();
    lab_assert!(counted["rcvd_pkts"] > 0, "packets were counted before");
    let booted = lab.one.run("cat /proc/sys/kernel/random/boot_id");

    let console = lab.console(&["softroce1"], Size::LARGE);
    sees(&console, "softroce1 to be up", START, |view| words::is_up(view, "softroce1"));
    console.keys(words::LIVE);
    sees(&console, "packet rates", START, |view| words::packets(view).is_some());

    // The command is left behind: its own connection does not outlive it, and may be slow to come.
    lab.one.run("setsid sh -c 'sleep 1; echo b > /proc/sysrq-trigger' >/dev/null 2>&1 </dev/null &");
    sees(&console, "softroce1 not to be up", Duration::from_mins(1) + SLACK, |view| !words::is_up(view, "softroce1"));
    // No rate may come out of counters that fell: neither a wrap of 32 nor of 64 bits is plausible.
    let plausible = |view: &crate::support::pty::View<'_>| {
        words::packets(view).is_none_or(|(sent, received)| sent < 1e6 && received < 1e6)
    };
    let mut all_plausible = true;
    sees(&console, "softroce1 to be up by itself", BOOT, |view| {
        all_plausible &= plausible(view);
        words::is_up(view, "softroce1")
    });
    sees(&console, "packet rates again", START, |view| {
        all_plausible &= plausible(view);
        words::packets(view).is_some()
    });
    console.holds_for("plausible rates", Duration::from_secs(5), plausible);
    lab_assert!(all_plausible, "no rate was ever drawn from counters that fell");
    lab_assert!(lab.one.run("cat /proc/sys/kernel/random/boot_id") != booted, "the guest did reboot");
    console.keys(words::EVENTS);
    sees(&console, "the reboot among the events", SLACK, |view| {
        !words::events(view, &["softroce1", words::REBOOTED]).is_empty()
    });

    let low = lab.one.counters();
    let config = lab.config.to_str().expect("a path of text");
    let snapshot = Snapshot::take(&["--ssh-config", config, "softroce1"]);
    let high = lab.one.counters();
    let ours = snapshot.target("softroce1").counter("rdma-port/rxe0/1", "rcvd_pkts");
    lab_assert!((low["rcvd_pkts"]..=high["rcvd_pkts"]).contains(&ours), "the new counters are read: {ours}");
}
