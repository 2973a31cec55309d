//! What a stream of `esxtop` costs: 50,000 columns of which some hundreds are wanted, a row each two seconds. Reading a row and
//! taking it in shall take less than a twentieth of a core, and all that is held less than 30 MB.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdmascope::app::{Message, Model, Options, Target, TargetKind, update};
use rdmascope::fabric::{Measured, Observation, TargetId, Text, Timestamp};
use rdmascope::probe::esxi::esxtop::{Event, Reader, SOURCE};

/// Columns of one row, VMs among them, and rows: ten minutes at two seconds fill what a series keeps by half, twenty all of it.
const COLUMNS: usize = 50_000;
const VMS: usize = 40;
const ROWS: usize = 620;

/// Time between two rows, and the part of a core that they may take.
const PERIOD: Duration = Duration::from_secs(2);
const SHARE: f64 = 0.05;

/// The most that may be held, in bytes.
const HELD: u64 = 30 << 20;

/// So much comes at once.
const PIECE: usize = 32 * 1024;

fn titles() -> String {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    let mut count = 1;
    let mut add = |text: &mut String, title: &str| {
        let _ = write!(text, ",\"\\\\esx01.example.com\\{title}\"");
        count += 1;
    };
    for counter in ["Memory State", "Free MBytes", "Memctl Current MBytes", "Swap Used MBytes", "Swap MBytes Read/sec"]
    {
        add(&mut text, &format!("Memory\\{counter}"));
    }
    for vm in 0..VMS {
        let name = format!("{}:production, vm {vm} (west)", 28_000 + vm);
        for counter in ["% Used", "% Ready", "% CoStop", "% Max Limited", "% Swap Wait"] {
            add(&mut text, &format!("Group Cpu({name})\\{counter}"));
        }
        for counter in ["Memory Size MBytes", "Memctl MBytes", "Memctl Target MBytes", "Swapped MBytes", "NUMA % Local"]
        {
            add(&mut text, &format!("Group Memory({name})\\{counter}"));
        }
        for counter in ["MBits Transmitted/sec", "MBits Received/sec"] {
            add(&mut text, &format!("Network Port(vSwitch0:{}:{}:vm {vm})\\{counter}", 33_554_440 + vm, 40_000 + vm));
        }
    }
    for number in count..COLUMNS {
        let _ = write!(text, ",\"\\\\esx01.example.com\\Virtual Disk(vm {number}:scsi0:1)\\Average MilliSec/Write\"");
    }
    text.push('\n');
    text
}

fn row(number: usize) -> String {
    let (minute, second) = (number / 30, number % 30 * 2);
    let mut text = format!("\"05/15/2018 {:02}:{:02}:{second:02}\"", 2 + minute / 60, minute % 60);
    for column in 1..COLUMNS {
        let _ = write!(text, ",\"{}.{:02}\"", (column * 7 + number) % 90, number % 100);
    }
    text.push('\n');
    text
}

/// Bytes of memory that this process holds.
fn held() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[expect(clippy::print_stdout, reason = "a benchmark reports to whoever ran it")]
fn main() {
    let host = TargetId::new("esx01");
    let mut model =
        Model::new(vec![(host.clone(), Target::new(TargetKind::Esxi))], Options::default(), Timestamp::UNIX_EPOCH);
    let titles = titles();
    // What makes the rows is no part of what is measured.
    drop(row(0));
    let before = held();
    let mut reader = Reader::new("bench");
    let began = Instant::now();
    for piece in titles.as_bytes().chunks(PIECE) {
        reader.push(piece);
    }
    let of_titles = began.elapsed();
    let (mut work, mut rows, mut longest) = (Duration::ZERO, 0_u32, Duration::ZERO);
    for number in 0..ROWS {
        let text = row(number);
        let began = Instant::now();
        for piece in text.as_bytes().chunks(PIECE) {
            for event in reader.push(piece) {
                let Event::Row(row) = event else { continue };
                let observation = Observation::of_text(SOURCE, &row.evidence);
                let facts = row.facts(&observation);
                let measured = Measured {
                    target: host.clone(),
                    at: row.at,
                    stream: Text::new(SOURCE),
                    period: row.period,
                    gauges: row.gauges,
                    facts,
                    observation: Some(Arc::new(observation)),
                };
                update(&mut model, Message::Measured(Box::new(measured)));
                rows += 1;
            }
        }
        let took = began.elapsed();
        (work, longest) = (work + took, longest.max(took));
    }
    let held = held().saturating_sub(before);
    let each = work / rows.max(1);
    let share = each.as_secs_f64() / PERIOD.as_secs_f64();
    println!(
        "esxtop: {COLUMNS} columns ({} kept): titles {of_titles:.1?} once; a row {each:.2?} (longest {longest:.2?}), {:.2} % of a core at 2 s; \
         {:.1} MB held after {rows} rows",
        reader.kept().len(),
        share * 100.0,
        held as f64 / f64::from(1 << 20),
    );
    if !cfg!(debug_assertions) {
        assert!(share < SHARE, "{share}");
        assert!(held < HELD, "{held}");
    }
}
