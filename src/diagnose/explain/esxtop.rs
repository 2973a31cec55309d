//! A file that `esxtop -b` wrote: what was short on the host while it was written, and which VM felt it. Such a file has
//! hundreds of megabytes in lines of megabytes, so it is read as bytes, by the reader of the stream, and only the highest and
//! mean values are held.

use std::collections::BTreeMap;

use super::{Explained, Kind, MOST_EVIDENCE, Value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::{Entity, Measure, State, Text, Timestamp};
use crate::probe::esxi::esxtop::{Event, Reader, Row, column, state_name};

/// Where the titles begin, behind a mark of the byte order and a quote.
const OPENING: &[u8] = b"(PDH-CSV ";

/// So many names of objects are told, and so many VMs.
const MOST_TOLD: usize = 32;

/// The host takes memory back from this state on: `soft`.
const SOFT: f64 = 2.0;

/// Swapping in counts from this rate on, in bytes per second.
const SWAPPING: f64 = 1_000_000.0;

/// A VM waits for processors from this share of each virtual processor on, in percent.
const STARVED: f64 = 10.0;

/// Memory of a VM is remote below this share of local memory, in percent.
const LOCAL: f64 = 80.0;

const MEBIBYTE: f64 = 1_048_576.0;

/// What is held of the rows of one measure.
#[derive(Clone, Debug)]
struct Seen {
    sum: f64,
    count: u32,
    least: f64,
    most: f64,
    /// The line of the highest and of the lowest value, and the cells there.
    at_most: (u32, String),
    at_least: (u32, String),
}

impl Seen {
    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

type Rows = BTreeMap<(Entity, Measure), Seen>;

/// What a file of `esxtop -b` says; nothing if it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Explained> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if !text.strip_prefix(b"\"").unwrap_or(text).starts_with(OPENING) {
        return None;
    }
    let titles = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let (machine, objects) = named(titles)?;
    let mut reader = Reader::new("end");
    let (mut columns, mut printed, mut refused, mut impossible) = (0, 0_i64, 0_u32, 0_u32);
    let (mut first, mut last): (Option<Timestamp>, Option<Timestamp>) = (None, None);
    let mut rows = Rows::new();
    for (number, line) in (1_u32..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
        printed += i64::from(number > 1 && is_sample(line));
        let mut events = reader.push(line);
        if !line.ends_with(b"\n") {
            events.extend(reader.finish());
        }
        for event in events {
            match event {
                Event::Titles { columns: count, .. } => columns = count,
                Event::Row(row) => {
                    first = first.or(row.at.checked_sub(row.period).ok());
                    last = Some(row.at);
                    note(&mut rows, &row, number, &mut impossible);
                }
                Event::Refused(_) => refused += 1,
                Event::Ended(_) => {}
            }
        }
    }
    // Titles that somebody wrote below each other are no file of it.
    if columns < 2 {
        return None;
    }
    let mut told = Explained::default();
    told.is(Kind::Esxtop);
    let text = |text: &str| State::Known(Value::Text(Text::new(text)));
    told.fact(1, "esxtop.columns", State::Known(Value::Number(i64::try_from(columns - 1).unwrap_or(i64::MAX))), None);
    told.fact(1, "esxtop.samples", State::Known(Value::Number(printed)), None);
    told.fact(1, "esxtop.host", text(&machine), None);
    told.fact(1, "esxtop.groups", text(&objects.join(", ")), None);
    if let (Some(first), Some(last)) = (first, last) {
        told.fact(2, "esxtop.from", text(&first.to_string()), None);
        told.fact(2, "esxtop.until", text(&last.to_string()), None);
    }
    if refused > 0 {
        let rows = if refused == 1 { "1 row was".to_owned() } else { format!("{refused} rows were") };
        told.leaves_out(format!("{rows} cut off or broken: which cell belongs to which title is not known there"));
    }
    if impossible > 0 {
        let values = if impossible == 1 { "1 value was".to_owned() } else { format!("{impossible} values were") };
        told.leaves_out(format!("{values} negative or larger than any host has"));
    }
    values(&mut told, &rows);
    without_rdma(&mut told, titles);
    pressure(&mut told, &rows);
    vms(&mut told, &rows);
    Some(told)
}

/// The host and the objects that the titles name.
fn named(titles: &[u8]) -> Option<(String, Vec<String>)> {
    let (mut machine, mut objects) = (None, Vec::new());
    for piece in titles.split(|&byte| byte == b'"').filter(|piece| piece.contains(&b'\\')) {
        let title = String::from_utf8_lossy(piece);
        let Some((object, _, _)) = column::parts(&title) else { continue };
        if machine.is_none() {
            machine = title.trim_start_matches('\\').split('\\').next().map(str::to_owned);
        }
        if objects.len() < MOST_TOLD && !objects.iter().any(|known| known == object) {
            objects.push(object.to_owned());
        }
    }
    objects.sort();
    Some((machine?, objects))
}

/// A line that begins with a day, a month, a year and a time.
fn is_sample(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let shape = |byte: &u8| if byte.is_ascii_digit() { b'0' } else { *byte };
    line.get(..19).is_some_and(|time| time.iter().map(shape).eq(*b"00/00/0000 00:00:00"))
}

/// True for a number that a host can have: none is negative, and no memory has a pebibyte.
fn is_possible(measure: Measure, value: f64) -> bool {
    const LARGEST: f64 = 1_125_899_906_842_624.0;
    // Each of at most some thousand processors, in percent.
    const MOST_PERCENT: f64 = 1_000_000.0;
    let most = match measure {
        Measure::Ready | Measure::CoStop | Measure::ProcessorUse => MOST_PERCENT,
        Measure::NumaLocal => 100.0,
        _ => LARGEST,
    };
    (0.0..=most).contains(&value)
}

fn note(rows: &mut Rows, row: &Row, number: u32, impossible: &mut u32) {
    let lines: Vec<&str> = row.evidence.lines().collect();
    for (gauge, &line) in row.gauges.iter().zip(&row.lines) {
        let (Some(value), Some(measure)) = (gauge.value, Measure::from_name(gauge.name.as_str())) else { continue };
        if matches!(gauge.entity, Entity::SwitchPort { .. }) {
            continue;
        }
        if !is_possible(measure, value) {
            *impossible += 1;
            continue;
        }
        let cell = || {
            let place = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
            place.and_then(|place| lines.get(place)).map_or_else(String::new, |cell| (*cell).to_owned())
        };
        let seen = rows.entry((gauge.entity.clone(), measure)).or_insert_with(|| Seen {
            sum: 0.0,
            count: 0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            at_most: (number, String::new()),
            at_least: (number, String::new()),
        });
        (seen.sum, seen.count) = (seen.sum + value, seen.count + 1);
        if value > seen.most {
            (seen.most, seen.at_most) = (value, (number, cell()));
        }
        if value < seen.least {
            (seen.least, seen.at_least) = (value, (number, cell()));
        }
    }
}

fn whole(value: f64) -> State<Value> {
    #[expect(clippy::cast_possible_truncation, reason = "a size or a share, rounded")]
    State::Known(Value::Number(value.round() as i64))
}

/// A share with one decimal, where it has one.
fn share(value: f64) -> State<Value> {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { whole(rounded) } else { State::Known(Value::Text(Text::new(&format!("{rounded:.1}")))) }
}

/// Highest and mean values of what decides something.
fn values(told: &mut Explained, rows: &Rows) {
    let mut vms = 0;
    let mut before = None;
    for ((entity, measure), seen) in rows {
        if before.replace(entity) != Some(entity) && matches!(entity, Entity::Group(_)) {
            vms += 1;
        }
        if vms > MOST_TOLD {
            told.leaves_out(format!("the values of the first {MOST_TOLD} VMs are told"));
            return;
        }
        let name = match entity {
            Entity::Host => "host".to_owned(),
            other => format!("vm.{}", other.name()),
        };
        let line = seen.at_most.0;
        match measure {
            Measure::MemoryState => {
                let text = |name| State::Known(Value::Text(Text::new(name)));
                let state = state_name(seen.most).map_or(State::NotAvailable, text);
                told.fact(line, &format!("{name}.worst-memory-state"), state, None);
            }
            Measure::HostBalloon | Measure::HostSwapUsed | Measure::VmBalloon | Measure::VmSwapped => {
                told.fact(line, &format!("{name}.most-{}", measure.name()), whole(seen.most / MEBIBYTE), Some("MiB"));
            }
            Measure::Ready | Measure::CoStop | Measure::ProcessorUse => {
                told.fact(line, &format!("{name}.mean-{}", measure.name()), share(seen.mean()), Some("%"));
            }
            Measure::NumaLocal => {
                told.fact(seen.at_least.0, &format!("{name}.least-{}", measure.name()), whole(seen.least), Some("%"));
            }
            _ => {}
        }
    }
}

/// What such a file cannot tell.
fn without_rdma(told: &mut Explained, titles: &[u8]) {
    let words = String::from_utf8_lossy(titles.get(..80).unwrap_or(titles)).into_owned();
    let finding = Finding::new(
        "tool.esxtop-without-rdma",
        Status::Info,
        Confidence::Proved,
        "esxtop -b",
        "No column of esxtop counts RDMA",
        "What RDMA sends bypasses the virtual ports that esxtop counts, so a busy adapter looks idle here. The columns of CPU (ready, \
         co-stop), memory and ports still tell what slows a VM down. The first sample counts from the start of the host.",
    )
    .helped_by("Read what the RDMA device counts", &["esxcli rdma device stats get -d vmrdma0", "esxcli network nic stats get -n vmnic0"], "");
    told.finding(finding.shown(1, &words));
}

/// Whether the host was short of memory.
fn pressure(told: &mut Explained, rows: &Rows) {
    let of = |measure| rows.get(&(Entity::Host, measure));
    let state = of(Measure::MemoryState).filter(|seen| seen.most >= SOFT);
    let swapping = of(Measure::HostSwapIn).filter(|seen| seen.most >= SWAPPING);
    if state.is_none() && swapping.is_none() {
        return;
    }
    let mut finding = Finding::new(
        "host.memory-pressure",
        Status::Warn,
        Confidence::Proved,
        "esxtop -b",
        "The host was short of memory and took it back from VMs",
        "VMs without a reservation lose memory to the balloon and to swap first, and whatever waits for them gets slow; what is reserved \
         stays, but the host works on the rest.",
    )
    .helped_by("See which VMs lose memory", &["esxtop, then m: the columns MCTLSZ and SWCUR"], "");
    for seen in [state, swapping, of(Measure::HostBalloon)].into_iter().flatten() {
        finding = finding.shown(seen.at_most.0, &seen.at_most.1);
    }
    told.finding(finding);
}

/// VMs that waited, lost memory, or had it on other nodes.
fn vms(told: &mut Explained, rows: &Rows) {
    let groups =
        rows.keys().filter(|(entity, measure)| matches!(entity, Entity::Group(_)) && *measure == Measure::Ready);
    let (mut waiting, mut taken, mut remote) = (Vec::new(), Vec::new(), Vec::new());
    for (group, _) in groups {
        let of = |measure| rows.get(&(group.clone(), measure));
        let processors = of(Measure::VmProcessors).map(|seen| seen.most).filter(|count| *count >= 1.0);
        if let (Some(ready), Some(count)) = (of(Measure::Ready), processors)
            && ready.mean() / count >= STARVED
        {
            waiting.push((group.name(), format!("{:.0} %", ready.mean() / count), ready.at_most.clone()));
        }
        for (measure, way) in [(Measure::VmBalloon, "by the balloon"), (Measure::VmSwapped, "in swap")] {
            if let Some(seen) = of(measure).filter(|seen| seen.most >= MEBIBYTE) {
                taken.push((group.name(), format!("{:.0} MiB {way}", seen.most / MEBIBYTE), seen.at_most.clone()));
            }
        }
        if let Some(seen) = of(Measure::NumaLocal).filter(|seen| seen.mean() < LOCAL) {
            remote.push((group.name(), format!("{:.0} % local", seen.mean()), seen.at_least.clone()));
        }
    }
    let mut tell = |check, status, title: &str, cause: &str, found: &[(String, String, (u32, String))]| {
        if found.is_empty() {
            return;
        }
        let mut names: Vec<String> =
            found.iter().take(MOST_EVIDENCE).map(|(name, amount, _)| format!("{name} ({amount})")).collect();
        if found.len() > MOST_EVIDENCE {
            names.push(format!("{} more", found.len() - MOST_EVIDENCE));
        }
        let title = format!("{title}: {}", names.join(", "));
        let finding = Finding::new(check, status, Confidence::Proved, "esxtop -b", &title, cause);
        let shown = found.iter().take(MOST_EVIDENCE);
        told.finding(shown.fold(finding, |finding, (_, _, (line, cell))| finding.shown(*line, cell)));
    };
    tell(
        "vm.processor-wait",
        Status::Warn,
        "VMs were ready to run and got no processor, as a mean of each virtual processor",
        "The host promised more processors than it has, or a limit holds the VM back; what polls, as MPI and NCCL do, suffers first.",
        &waiting,
    );
    tell(
        "vm.memory-taken",
        Status::Info,
        "The host held memory of VMs back",
        "In a VM with PVRDMA or a device of its host all memory is reserved: there it means that the reservation is broken. In any other it \
         says that the host is or was short of memory.",
        &taken,
    );
    tell(
        "vm.memory-remote",
        Status::Info,
        "Memory of VMs lies on other NUMA nodes than their processors",
        "Every access to it takes longer, and a device near the one node reads it through the other. The limit of 80 % is a field report.",
        &remote,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::explain::explain;

    const RUN: &str = include_str!("../../../tests/fixtures/esxtop/two-vms.csv");

    fn fact(told: &Explained, name: &str) -> Option<String> {
        told.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| format!("{:?}", fact.state))
    }

    #[test]
    fn a_saved_run_tells_what_was_short() {
        let told = explain("-", RUN.as_bytes());
        assert_eq!(told.kinds, [Kind::Esxtop]);
        assert!(told.not_read.is_empty(), "{:?}", told.not_read);
        for (name, expected) in [
            ("esxtop.columns", "Known(Number(30))"),
            ("esxtop.samples", "Known(Number(3))"),
            ("host.worst-memory-state", "Known(Text(\"soft\"))"),
            ("vm.vm001.most-vm-balloon", "Known(Number(512))"),
            ("vm.vm001.least-numa-local", "Known(Number(61))"),
            ("vm.vm001.mean-ready", "Known(Text(\"82.3\"))"),
        ] {
            assert_eq!(fact(&told, name).as_deref(), Some(expected), "{name}");
        }
        let checks: Vec<&str> = told.findings.iter().map(|finding| finding.check.as_str()).collect();
        for check in ["host.memory-pressure", "vm.processor-wait", "vm.memory-taken", "vm.memory-remote"] {
            assert!(checks.contains(&check), "{checks:?}");
        }
        let waits = told.findings.iter().find(|finding| finding.check == "vm.processor-wait").expect("it is told");
        assert!(waits.title.contains("vm001 (41 %)") && !waits.title.contains("db, main"), "{}", waits.title);
        assert!(
            waits.evidence.iter().any(|shown| shown.line == Some(3) && shown.excerpt.contains("84.50")),
            "{:?}",
            waits.evidence
        );
    }

    #[test]
    fn a_host_that_lacks_nothing_raises_nothing() {
        let calm = RUN
            .replace("\"84.50\"", "\"0.50\"")
            .replace("\"80.00\"", "\"0.50\"")
            .replace("\"512.00\"", "\"0.00\"")
            .replace("\"61\"", "\"100\"")
            .replace("\"1.50\"", "\"0.00\"")
            .replace("\"0\",\"2\",\"0\"", "\"0\",\"0\",\"0\"")
            .replace("\"0.02\",\"2\",", "\"0.02\",\"0\",");
        let told = explain("-", calm.as_bytes());
        let checks: Vec<&str> = told.findings.iter().map(|finding| finding.check.as_str()).collect();
        assert_eq!(checks, ["tool.esxtop-without-rdma"]);
    }

    #[test]
    fn what_no_host_has_is_not_told() {
        for broken in ["1e308", "-1", "-3000000000"] {
            let told = explain("-", RUN.replace("\"84.50\"", &format!("\"{broken}\"")).as_bytes());
            assert_eq!(fact(&told, "vm.vm001.mean-ready").as_deref(), Some("Known(Number(80))"), "{broken}");
        }
        let told = explain("-", RUN.as_bytes());
        let taken = told.findings.iter().find(|finding| finding.check == "vm.memory-taken").expect("it is told");
        assert!(taken.title.contains("vm001 (512 MiB by the balloon)"), "{}", taken.title);
    }

    #[test]
    fn damage_is_told_and_what_is_whole_is_read() {
        let cut = &RUN[..RUN.trim_end().len() - 4];
        let told = explain("-", cut.as_bytes());
        assert_eq!(fact(&told, "esxtop.samples").as_deref(), Some("Known(Number(3))"));
        assert!(told.not_read.iter().any(|what| what.starts_with("1 row was cut off")), "{:?}", told.not_read);
        assert_eq!(fact(&told, "vm.vm001.mean-ready").as_deref(), Some("Known(Text(\"84.5\"))"), "one row is left");
        // A name with a comma is one name.
        assert!(told.facts.iter().any(|fact| fact.name.contains("db, main (old):2")));
    }
}
