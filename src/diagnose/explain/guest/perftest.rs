//! Results of perftest (`ib_write_bw` and its kin): what was tested between whom, and what came out, with unit and
//! direction.

use super::{Output, Words, number, text, word};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Begins of the titles of tests.
const TITLES: [&str; 8] =
    ["Send", "Send_imm", "RDMA_Write", "RDMA_Write_imm", "RDMA_Read", "Atomic", "Post", "Bidirectional"];

/// Rows of the banner that are told.
const ROWS: [&str; 19] = [
    "Dual-port",
    "Device",
    "Number of qps",
    "Transport type",
    "Connection type",
    "Using SRQ",
    "PCIe relax order",
    "ibv_wr* API",
    "TX depth",
    "RX depth",
    "CQ Moderation",
    "Mtu",
    "Link type",
    "GID index",
    "Gid index",
    "Max inline data",
    "Outstand reads",
    "rdma_cm QPs",
    "Data ex. method",
];

/// One test.
#[derive(Clone, Debug, Default)]
struct Test {
    title: String,
    device: String,
    transport: String,
    link: String,
    gid_index: Option<(u32, u32)>,
    mtu: Option<(u64, u32)>,
    /// The unit of the bandwidth columns, from their title.
    unit: Option<Unit>,
    /// Octets, average, peak, the line, of the row with the highest average.
    best: Option<(u64, f64, f64, u32, String)>,
    /// Octets, typical and 99 %, of the first row.
    latency: Option<(u64, f64, f64, u32, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// 2^20 octets a second, whether the title says MB or MiB.
    Mebibytes,
    /// 10^9 bits a second.
    Gigabits,
}

/// All tests of a text.
#[derive(Debug, Default)]
pub(super) struct Tests {
    tests: Vec<Test>,
}

/// The name of a test: `RDMA_Write BW Test`.
fn title(line: &str) -> Option<&str> {
    let name = line.strip_suffix(" Test")?;
    let known = TITLES.contains(&name.split(' ').next().unwrap_or_default());
    (known && (name.contains(" BW") || name.contains(" Latency"))).then_some(name)
}

/// Reads banners and tables.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, tests: &mut Tests) {
    let mut side = "";
    // The columns of the table that is read; empty outside of one.
    let mut columns: Vec<&str> = Vec::new();
    let mut inside = false;
    for words in &output.lines {
        let line = words.text;
        if let Some(title) = title(line) {
            explained.is(Kind::Perftest);
            tests.tests.push(Test { title: title.to_owned(), ..Test::default() });
            (side, inside) = ("", true);
            columns.clear();
            continue;
        }
        if line.starts_with("* Waiting for client to connect") {
            explained.is(Kind::Perftest);
            continue;
        }
        if line.starts_with("#bytes") {
            explained.is(Kind::Perftest);
            if !inside {
                tests.tests.push(Test::default());
                inside = true;
            }
            columns = header(line);
            if let Some(test) = tests.tests.last_mut() {
                test.unit = if line.contains("[Gb/sec]") {
                    Some(Unit::Gigabits)
                } else if line.contains("[MB/sec]") || line.contains("[MiB/sec]") {
                    Some(Unit::Mebibytes)
                } else {
                    None
                };
            }
            continue;
        }
        if !inside {
            continue;
        }
        let prefix = output.owner(&format!("test {}", tests.tests.len()));
        let Some(test) = tests.tests.last_mut() else { continue };
        if !columns.is_empty() && line.as_bytes()[0].is_ascii_digit() {
            row(explained, test, &prefix, &columns, words);
        } else if let Some(rest) = line.strip_prefix("local address:").or_else(|| line.strip_prefix("remote address:"))
        {
            side = if line.starts_with("local") { "local" } else { "remote" };
            let mut cells = rest.split_whitespace();
            while let (Some(key), Some(value)) = (cells.next(), cells.next()) {
                if matches!(key, "LID" | "QPN") {
                    explained.fact(words.number, &format!("{prefix}.{side}-{}", key.to_lowercase()), text(value), None);
                }
            }
        } else if let Some(gid) = line.strip_prefix("GID:").filter(|_| !side.is_empty()) {
            if let Some(address) = gid_of_decimals(gid.trim()) {
                explained.fact(words.number, &format!("{prefix}.{side}-gid"), text(&address), None);
            }
        } else {
            banner(explained, test, &prefix, words);
        }
    }
}

/// Rows of the banner: one key or two, behind each other with tabs or blanks between.
fn banner(explained: &mut Explained, test: &mut Test, prefix: &str, words: &Words<'_>) {
    let mut rest = words.text;
    for _ in 0..3 {
        let Some((key, behind)) = rest.split_once(':') else { return };
        let key = key.trim();
        if !ROWS.contains(&key) {
            return;
        }
        let behind = behind.trim_start();
        // A value ends where two blanks or a tab stand, or at the end.
        let end = behind.find('\t').into_iter().chain(behind.find("  ")).min().unwrap_or(behind.len());
        let value = behind[..end].trim();
        let name = format!("{prefix}.{}", key.to_lowercase().replace([' ', '.', '*'], "-").replace("--", "-"));
        if key == "Mtu" || key == "Max inline data" {
            let octets = value.trim_end_matches("[B]").parse::<u64>();
            if let Ok(octets) = octets {
                explained.fact(words.number, &name, number(octets), Some("octets"));
            }
            if key == "Mtu" {
                test.mtu = octets.ok().map(|octets| (octets, words.number));
            }
        } else {
            explained.fact(words.number, &name, word(value), None);
        }
        match key {
            "Device" => value.clone_into(&mut test.device),
            "Transport type" => value.clone_into(&mut test.transport),
            "Link type" => value.clone_into(&mut test.link),
            "GID index" | "Gid index" => test.gid_index = value.parse().ok().map(|index| (index, words.number)),
            _ => {}
        }
        rest = behind[end..].trim_start();
    }
}

/// Titles of columns, which hold blanks: each begins with what is known of it.
fn header(line: &str) -> Vec<&'static str> {
    const KNOWN: [&str; 14] = [
        "#bytes",
        "#iterations",
        "BW peak",
        "BW average",
        "MsgRate",
        "CPU_Util",
        "t_min",
        "t_max",
        "t_typical",
        "t_avg",
        "t_stdev",
        "99.9% percentile",
        "99% percentile",
        "tps average",
    ];
    let mut found: Vec<(usize, &'static str)> =
        KNOWN.iter().filter_map(|known| Some((line.find(known)?, *known))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, known)| known).collect()
}

/// One row of results.
fn row(explained: &mut Explained, test: &mut Test, prefix: &str, columns: &[&str], words: &Words<'_>) {
    // Errors are glued to the last number now and then.
    let figures = words.text.split_whitespace().map(|cell| {
        let end = cell.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(cell.len());
        cell[..end].parse::<f64>().ok()
    });
    let cells: Vec<(&str, f64)> =
        columns.iter().zip(figures.map_while(|figure| figure)).map(|(title, figure)| (*title, figure)).collect();
    let of = |title: &str| cells.iter().find(|(known, _)| *known == title).map(|(_, figure)| *figure);
    // The sizes are whole numbers.
    let Some(octets) = words.text.split_whitespace().next().and_then(|cell| cell.parse::<u64>().ok()) else { return };
    let name = format!("{prefix}.{octets} octets");
    if let (Some(average), Some(unit)) = (of("BW average"), test.unit) {
        explained.fact(words.number, &format!("{name}.average"), text(&rate(average, unit)), None);
        let peak = of("BW peak").unwrap_or(0.0);
        // Tests by time do not measure a peak and print zero.
        if peak > 0.0 {
            explained.fact(words.number, &format!("{name}.peak"), text(&rate(peak, unit)), None);
        } else {
            let why = "tests by time (-D, --run_infinitely) and of many iterations";
            explained.fact(words.number, &format!("{name}.peak"), crate::fabric::State::NotPublished(why.into()), None);
        }
        if test.best.as_ref().is_none_or(|(_, best, ..)| average > *best) {
            test.best = Some((octets, average, peak, words.number, words.text.to_owned()));
        }
    }
    if let Some(typical) = of("t_typical").or_else(|| of("t_avg")) {
        explained.fact(words.number, &format!("{name}.latency"), text(&format!("{typical}")), Some("us"));
        let last = of("99% percentile").unwrap_or(typical);
        if test.latency.is_none() {
            test.latency = Some((octets, typical, last, words.number, words.text.to_owned()));
        }
    }
}

fn gigabits(figure: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Gigabits => figure,
        Unit::Mebibytes => figure * 8.0 * f64::from(1 << 20) / 1e9,
    }
}

/// A rate in both units, since both are printed: `9.45 MiB/s = 0.079 Gb/s`.
fn rate(figure: f64, unit: Unit) -> String {
    let bits = gigabits(figure, unit);
    let bits = if bits < 1.0 { format!("{bits:.3}") } else { format!("{bits:.2}") };
    match unit {
        Unit::Gigabits => format!("{bits} Gb/s"),
        Unit::Mebibytes => format!("{figure} MiB/s = {bits} Gb/s"),
    }
}

/// A GID as perftest prints it, in decimal octets: the IPv4 address in it, or the GID as it is written elsewhere.
fn gid_of_decimals(gid: &str) -> Option<String> {
    let octets: Vec<u8> = gid.split(':').take(17).map(|octet| octet.parse().ok()).collect::<Option<_>>()?;
    let [.., a, b, c, d] = octets.as_slice() else { return None };
    if octets.len() != 16 {
        return None;
    }
    if octets[..10].iter().all(|octet| *octet == 0) && octets[10..12] == [255, 255] {
        return Some(format!("{a}.{b}.{c}.{d}"));
    }
    Some(octets.chunks(2).map(|two| format!("{:02x}{:02x}", two[0], two[1])).collect::<Vec<_>>().join(":"))
}

impl Tests {
    /// What the results mean, and what does not fit between the two sides of a test.
    pub(super) fn conclude(&self, explained: &mut Explained) {
        for test in &self.tests {
            bandwidth(explained, test);
            latency(explained, test);
        }
        let [one, other] = self.tests.as_slice() else { return };
        if one.title != other.title {
            return;
        }
        if let (Some((first, line)), Some((second, second_line))) = (one.gid_index, other.gid_index)
            && first != second
        {
            let title = format!("the two sides use GID index {first} and {second}");
            let cause = "The index means another entry on each machine: what counts is that both are of the same version of RoCE and have addresses \
                         that reach each other. Programs choose by themselves where -x is not given, and then often not alike.";
            let finding =
                Finding::new("guest.gid-index", Status::Info, Confidence::Possible, "GID index", &title, cause)
                    .shown(line, &format!("GID index: {first}"))
                    .shown(second_line, &format!("GID index: {second}"))
                    .decided_by("The version and the address behind the index on each side")
                    .helped_by(
                        "Look at both tables",
                        &["show_gids", "grep . /sys/class/infiniband/*/ports/1/gid_attrs/types/* 2>/dev/null"],
                        "",
                    );
            explained.finding(finding);
        }
        if let (Some((first, line)), Some((second, second_line))) = (one.mtu, other.mtu)
            && first != second
        {
            let title = format!("the two sides use MTU {first} and {second}");
            let cause =
                "Both ends of a connection must use the same size: the larger side's packets do not fit the other.";
            let finding = Finding::new("guest.mtu-pair", Status::Warn, Confidence::Likely, "MTU", &title, cause)
                .shown(line, &format!("Mtu: {first}"))
                .shown(second_line, &format!("Mtu: {second}"))
                .decided_by("The MTU of both interfaces")
                .helped_by("Give both the same MTU", &["ip link show", "ib_write_bw -m 1024 ..."], "");
            explained.finding(finding);
        }
    }
}

fn bandwidth(explained: &mut Explained, test: &Test) {
    let (Some((octets, average, peak, line, raw)), Some(unit)) = (&test.best, test.unit) else { return };
    let name = if test.title.is_empty() { "a test of perftest" } else { &test.title };
    let on = if test.device.is_empty() { String::new() } else { format!(" on {}", test.device) };
    let title = format!("{name}{on}: {} on average with {octets} octets", rate(*average, unit));
    let direction = if test.title.contains("Bidirectional") {
        "Both directions are summed up: compare with twice the rate of the link"
    } else if test.title.contains("Read") {
        "One direction, from the server to the client, who reads: compare with the rate of the link"
    } else if test.title.is_empty() {
        "Which direction it was is not told here: -b sums up both"
    } else {
        "One direction, from the client to the server: compare with the rate of the link"
    };
    let mut cause = format!("{direction}.");
    if unit == Unit::Mebibytes {
        cause.push_str(
            " The unit is 2^20 octets a second, whether the title says MB or MiB; --report_gbits prints Gb/s.",
        );
    }
    if *peak <= 0.0 {
        cause.push_str(" A peak of 0 is none that was measured: tests by time have no peak.");
    }
    if super::ports::Adapter::of_name(&test.device) == super::ports::Adapter::Software {
        cause.push_str(" The device is soft-RoCE: the processor does the work, so this tells nothing of an adapter.");
    }
    cause.push_str(" Between two VMs of one host the data is copied in memory and tells nothing of the wire.");
    let finding = Finding::new("guest.perftest-result", Status::Info, Confidence::Proved, name, &title, &cause);
    explained.finding(
        finding
            .shown(*line, raw)
            .decided_by("The rate of the link, and the same test between VMs of two hosts")
            .helped_by(
                "Compare",
                &["ethtool INTERFACE | grep Speed", "ib_write_bw -d DEVICE -x INDEX --report_gbits -D 10 SERVER"],
                "",
            ),
    );
}

fn latency(explained: &mut Explained, test: &Test) {
    let Some((octets, typical, last, line, raw)) = &test.latency else { return };
    let name = if test.title.is_empty() { "a test of perftest" } else { &test.title };
    let on = if test.device.is_empty() { String::new() } else { format!(" on {}", test.device) };
    let title = format!("{name}{on}: {typical} us typically with {octets} octets, 99 % within {last} us");
    let way = if test.title.contains("Read") || test.title.contains("Atomic") {
        "This is the whole round trip."
    } else {
        "This is half of the round trip: one way."
    };
    let cause = format!("{way} Between two VMs of one host it tells nothing of the wire.");
    let finding = Finding::new("guest.perftest-result", Status::Info, Confidence::Proved, name, &title, &cause);
    explained.finding(
        finding
            .shown(*line, raw)
            .decided_by("The same test between VMs of two hosts, and of the processor's power states"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_in_decimal_octets_are_addresses() {
        assert_eq!(gid_of_decimals("00:00:00:00:00:00:00:00:00:00:255:255:11:00:00:72").as_deref(), Some("11.0.0.72"));
        let link_local = gid_of_decimals("254:128:00:00:00:00:00:00:80:84:00:255:254:00:01:17");
        assert_eq!(link_local.as_deref(), Some("fe80:0000:0000:0000:5054:00ff:fe00:0111"));
        for bad in ["", "1:2:3", "00:00:00:00:00:00:00:00:00:00:256:255:11:00:00:72", "x"] {
            assert_eq!(gid_of_decimals(bad), None, "{bad}");
        }
    }

    #[test]
    fn both_units_are_told() {
        assert_eq!(rate(9.45, Unit::Mebibytes), "9.45 MiB/s = 0.079 Gb/s");
        assert_eq!(rate(92.56, Unit::Gigabits), "92.56 Gb/s");
        assert_eq!(
            header(" #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]    CPU_Util[%]")
                .len(),
            6
        );
        let latency = header(
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ",
        );
        assert_eq!((latency.len(), latency[7]), (9, "99% percentile"));
    }
}
