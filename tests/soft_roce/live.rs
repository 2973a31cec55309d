//! What the console shows while traffic runs, and to whom.

use std::time::{Duration, Instant};

use crate::support::guest::{Guest, Running};
use crate::support::lab::{Lab, sees};
use crate::support::pty::Size;
use crate::support::words;
use crate::{SLACK, START, lab_assert};

/// RDMA traffic from the second guest to the first for some seconds, with this many queue pairs; comes back when the
/// first guest's own counters have moved, with the moment of that.
pub fn traffic(lab: &Lab, seconds: u32, pairs: u32) -> (Running, Running, Instant) {
    const COUNTER: &str = "/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts";
    // Writes of one packet, and few at a time: an emulated wire loses what is more, and after a loss the soft device may
    // take the middle of a longer write that comes once more for an invalid request ("Failed status 9").
    let tool = format!("ib_write_bw -d rxe0 -x 1 -D {seconds} -q {pairs} -s 1024 -t 8 -F -p 19600");
    let server = lab.one.start(&tool);
    lab.one.wait_until("a server", "ss -Hltn 'sport = :19600'", Duration::from_mins(1), |text| !text.trim().is_empty());
    let before = lab.one.run(&format!("cat {COUNTER}"));
    let client = lab.two.start(&format!("{tool} 192.168.100.10"));
    lab.one.wait_until("packets", &format!("cat {COUNTER}"), Duration::from_mins(1), |now| now != before);
    (server, client, Instant::now())
}

/// What a guest's own counters say it sent and received in a second, over some seconds.
pub fn true_rates(guest: &Guest) -> (f64, f64) {
    let text = guest.run(
        "cd /sys/class/infiniband/rxe0/ports/1/hw_counters; read a x </proc/uptime; read s <sent_pkts; read r <rcvd_pkts; \
         sleep 3; read b x </proc/uptime; read t <sent_pkts; read q <rcvd_pkts; echo $a $b $s $t $r $q",
    );
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [start, end, sent_before, sent, received_before, received] = numbers[..] else { panic!("six numbers: {text}") };
    ((sent - sent_before) / (end - start), (received - received_before) / (end - start))
}

#[test]
fn traffic_is_on_the_screen_with_its_process_and_queue_pairs() {
    let Some(lab) = Lab::enter("traffic_is_on_the_screen_with_its_process_and_queue_pairs") else { return };
    let mut console = lab.console(&["softroce1"], Size::LARGE);
    sees(&console, "softroce1 to be up", START, |view| words::is_up(view, "softroce1"));
    console.keys(words::LIVE);
    sees(&console, "the missing byte rate to be explained", START, |view| view.has(words::NO_BYTES));
    sees(&console, "an unknown ceiling", START, |view| view.has_row(&words::CEILING_UNKNOWN));
    sees(&console, "packet rates at rest", START, |view| words::packets(view) == Some((0.0, 0.0)));

    let (_server, client, moved) = traffic(&lab, 40, 3);
    sees(&console, "packets each way", Duration::from_secs(2) + SLACK, |view| {
        words::packets(view).is_some_and(|(sent, received)| sent > 0.0 && received > 0.0)
    });
    println!("packets were on the screen at most {:.1} s after they flowed", moved.elapsed().as_secs_f64());
    let (sent, received) = true_rates(&lab.one);
    println!("the guest itself: {sent:.0} packets a second sent, {received:.0} received");
    lab_assert!(received > 0.0, "traffic flows; the client: {}", client.said());
    // An emulated guest does not keep a steady rate; what is shown must be of its size.
    let near = |shown: f64, truth: f64| shown > truth / 4.0 && shown < truth * 4.0;
    sees(&console, "the received rate to be about right", Duration::from_secs(2) + SLACK, |view| {
        words::packets(view).is_some_and(|(_, shown)| near(shown, received))
    });
    sees(&console, "no byte rate all the same", SLACK, |view| view.has(words::NO_BYTES));

    console.keys(words::GUEST_LINK);
    let pairs = lab.one.queue_pairs();
    let of_test: Vec<_> = pairs.values().filter(|pair| pair.owner == "ib_write_bw").collect();
    lab_assert!(of_test.len() == 3, "the guest has three queue pairs of the test: {pairs:?}");
    let texts = words::queue_pairs_of("ib_write_bw", of_test[0].process.expect("an owner"), 3);
    sees(&console, "the process and its queue pairs", Duration::from_secs(5) + SLACK, |view| {
        view.has_row(&[&texts[0], &texts[1]])
    });
    console.keys(words::QUIT);
    let status = console.wait_for_end(SLACK);
    lab_assert!(status.success(), "it ends well: {status:?}");
}

#[test]
fn a_user_without_privileges_sees_what_is_missing_and_no_zero() {
    let Some(lab) = Lab::enter("a_user_without_privileges_sees_what_is_missing_and_no_zero") else { return };
    let of_root = lab.one.start("ibv_rc_pingpong -d rxe0 -g 1 -p 19001");
    lab.one.wait_until("a queue pair", "rdma res show qp", START, |text| text.contains("pingpong"));
    let visible = lab.one_unprivileged().queue_pairs().values().any(|pair| pair.process == Some(of_root.process));
    let console = lab.console(&["softroce1-lab"], Size { columns: 120, rows: 40 });
    sees(&console, "softroce1-lab to be up", START, |view| words::is_up(view, "softroce1-lab"));
    console.keys(words::GUEST_LINK);
    sees(&console, "the need of privilege", START, |view| view.has(words::NEEDS_PRIVILEGE));
    if visible {
        sees(&console, "the queue pair that this user can see", START, |view| view.has("ibv_rc_pingpong"));
    } else {
        console.holds_for("no owner that this user cannot see", Duration::from_secs(7), |view| {
            !view.has("ibv_rc_pingpong")
        });
    }
}
