//! Drives 24 hours of 8 targets at one sample a second into the model, as fast as it takes them, and prints what the
//! process holds in memory after each hour: `cargo run --release --example compressed_time [HOURS [MINUTES]]`. Samples go
//! through the real parser of the stream; links flap, and every so many minutes a job with new queue pairs starts on each target.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::time::{Duration, Instant};

use rdmascope::app::{Connection, Message, Model, Options, Target, TargetKind, update};
use rdmascope::fabric::{Sample, TargetId, Text, Timestamp};
use rdmascope::probe::linux::stream::native::{HeaderFacts, header_lines, queue_pair_lines, tick_line};
use rdmascope::probe::linux::stream::{StreamEvent, StreamParser};

const TARGETS: u64 = 8;
const NONCE: &str = "n0nce";
const START: i64 = 1_700_000_000;

/// Counters that an mlx5 port has, besides those of `counters/`.
const HARDWARE: [&str; 20] = [
    "duplicate_request",
    "implied_nak_seq_err",
    "lifespan",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "rp_cnp_handled",
    "rx_write_requests",
];
const PORT: [&str; 10] = [
    "port_rcv_data",
    "port_rcv_packets",
    "port_xmit_data",
    "port_xmit_packets",
    "port_xmit_wait",
    "link_downed",
    "port_rcv_errors",
    "symbol_error",
    "port_xmit_discards",
    "link_error_recovery",
];
const NETDEV: [&str; 8] =
    ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped"];

/// The files that one target's stream watches.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    for port in ["mlx5_0/ports/1", "mlx5_1/ports/1"] {
        let folder = format!("/sys/class/infiniband/{port}");
        files.extend(["state", "phys_state"].map(|file| format!("{folder}/{file}")));
        files.extend(PORT.map(|file| format!("{folder}/counters/{file}")));
        files.extend(HARDWARE.map(|file| format!("{folder}/hw_counters/{file}")));
    }
    for netdev in ["ens192", "ens224", "ens256"] {
        let folder = format!("/sys/class/net/{netdev}");
        files.extend(["operstate", "mtu", "carrier"].map(|file| format!("{folder}/{file}")));
        files.extend(NETDEV.map(|file| format!("{folder}/statistics/{file}")));
    }
    files
}

/// What one file holds after so many seconds.
fn value(path: &str, second: u64, target: u64) -> String {
    let down = second % 3600 < 20 && path.contains("mlx5_1") && target == second / 3600 % TARGETS;
    match path.rsplit('/').next().unwrap_or_default() {
        "state" => if down { "1: DOWN" } else { "4: ACTIVE" }.to_owned(),
        "phys_state" => if down { "3: Disabled" } else { "5: LinkUp" }.to_owned(),
        "operstate" => "up".to_owned(),
        "mtu" => "9000".to_owned(),
        "carrier" => "1".to_owned(),
        name if name.contains("err") || name.contains("downed") => (second / 977).to_string(),
        name => (second * (1_000_003 + 7919 * name.len() as u64) + target).to_string(),
    }
}

/// The queue pairs of the job that runs at a second, where each runs for so many minutes.
fn queue_pairs(second: u64, minutes: u64) -> String {
    let job = second / (60 * minutes);
    let of_rank = |rank: u64| {
        let (number, peer, process) = (job * 8 + rank + 20, job * 8 + rank + 21, 4000 + job % 30_000);
        format!(
            "{{\"ifname\":\"mlx5_0\",\"port\":1,\"lqpn\":{number},\"rqpn\":{peer},\"type\":\"RC\",\"state\":\"RTS\",\
             \"sq-psn\":{second},\"path-mig-state\":\"MIGRATED\",\"pdn\":9,\"pid\":{process},\"comm\":\"osu_bw\"}}"
        )
    };
    format!("[{}]\n", (0..8).map(of_rank).collect::<Vec<_>>().join(","))
}

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(START + i64::try_from(second).expect("a day")).expect("a time of this century")
}

fn main() {
    let argument =
        |number| std::env::args().nth(number).and_then(|word| word.parse::<u64>().ok()).filter(|number| *number > 0);
    let (hours, minutes) = (argument(1).unwrap_or(24), argument(2).unwrap_or(15));
    let ids: Vec<TargetId> = (0..TARGETS).map(|number| TargetId::new(&format!("guest-{number}"))).collect();
    let targets = ids.iter().map(|id| (id.clone(), Target::new(TargetKind::Linux))).collect();
    let mut model = Model::new(targets, Options::default(), at(0));
    let files = files();
    let facts =
        HeaderFacts { boot_id: "b", uptime: "1.00", capabilities: "000001ffffffffff", ..HeaderFacts::default() };
    let mut parsers = Vec::new();
    for id in &ids {
        let connection = Connection::Connected { since: at(0), via: Text::new("root@192.0.2.1:22") };
        update(&mut model, Message::Connection { target: id.clone(), at: at(0), connection });
        let mut parser = StreamParser::new(id, NONCE);
        for line in header_lines(NONCE, &files, &facts) {
            parser.line(&line, at(0));
        }
        parsers.push(parser);
    }
    let began = Instant::now();
    let mut first_hour = 0;
    println!("{TARGETS} targets, {} watched files each, one sample a second", files.len());
    println!("hour  resident kB  events");
    for second in 1..=hours * 3600 {
        for (number, (id, parser)) in (0u64..).zip(ids.iter().zip(&mut parsers)) {
            let values: Vec<Option<String>> = files.iter().map(|path| Some(value(path, second, number))).collect();
            let mut lines = vec![tick_line(NONCE, second, &format!("{second}.00"), &values)];
            if second % 5 == 0 {
                lines.extend(queue_pair_lines(NONCE, second, None, &queue_pairs(second, minutes), "", 0));
            }
            for line in lines {
                let message = match parser.line(&line, at(second)) {
                    Some(StreamEvent::Tick(tick)) => Message::Sample(Sample {
                        target: id.clone(),
                        at: at(second),
                        round_trip: Duration::from_millis(2),
                        uptime_centiseconds: tick.uptime_centiseconds,
                        boot_id: None,
                        counters: tick.counters,
                        gauges: vec![],
                        facts: tick.facts,
                        observation: Some(std::sync::Arc::new(tick.observation)),
                        clock_offset_ms: None,
                    }),
                    Some(StreamEvent::QueuePairs { report, .. }) => Message::Report { at: at(second), report },
                    _ => continue,
                };
                update(&mut model, message);
            }
        }
        update(&mut model, Message::Clock(at(second)));
        if second % 3600 == 0 {
            let resident = resident_kilobytes();
            if second == 3600 {
                first_hour = resident;
            }
            println!("{:>4}  {resident:>11}  {:>6}", second / 3600, model.events.iter().count());
        }
    }
    let growth = 100.0 * (resident_kilobytes() as f64 / first_hour.max(1) as f64 - 1.0);
    println!("growth from 1 h to {hours} h: {growth:.2} %; took {:.1} s", began.elapsed().as_secs_f64());
}
