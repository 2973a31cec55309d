//! Results of perftest (`ib_write_bw` and its kin): what was tested between whom, and what came out, with unit and
//! direction.

use super::{Output, Words, number, text, word};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::probe::perftest::{self, Column, Unit, cells, columns, gid_of_decimals, title};

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

/// All tests of a text.
#[derive(Debug, Default)]
pub(super) struct Tests {
    tests: Vec<Test>,
}

/// Reads banners and tables.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, tests: &mut Tests) {
    let mut side = "";
    // The columns of the table that is read; empty outside of one.
    let mut titles: Vec<Column> = Vec::new();
    let mut inside = false;
    for words in &output.lines {
        let line = words.text;
        if let Some(title) = title(line) {
            explained.is(Kind::Perftest);
            tests.tests.push(Test { title: title.to_owned(), ..Test::default() });
            (side, inside) = ("", true);
            titles.clear();
            continue;
        }
        if line.starts_with("* Waiting for client to connect") {
            explained.is(Kind::Perftest);
            continue;
        }
        if let Some((found, unit)) = columns(line) {
            explained.is(Kind::Perftest);
            if !inside {
                tests.tests.push(Test::default());
                inside = true;
            }
            titles = found;
            if let Some(test) = tests.tests.last_mut() {
                test.unit = unit;
            }
            continue;
        }
        if !inside {
            continue;
        }
        let prefix = output.owner(&format!("test {}", tests.tests.len()));
        let Some(test) = tests.tests.last_mut() else { continue };
        if !titles.is_empty() && line.as_bytes()[0].is_ascii_digit() {
            row(explained, test, &prefix, &titles, words);
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
    for (key, value) in perftest::banner(words.text) {
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
    }
}

/// One row of results.
fn row(explained: &mut Explained, test: &mut Test, prefix: &str, titles: &[Column], words: &Words<'_>) {
    let cells = cells(words.text, titles);
    let of = |title: Column| cells.iter().find(|(known, _)| *known == title).map(|(_, figure)| *figure);
    // The sizes are whole numbers.
    let Some(octets) = words.text.split_whitespace().next().and_then(|cell| cell.parse::<u64>().ok()) else { return };
    let name = format!("{prefix}.{octets} octets");
    if let (Some(average), Some(unit)) = (of(Column::Average), test.unit) {
        explained.fact(words.number, &format!("{name}.average"), text(&rate(average, unit)), None);
        let peak = of(Column::Peak).unwrap_or(0.0);
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
    if let Some(typical) = of(Column::Typical).or_else(|| of(Column::Mean)) {
        explained.fact(words.number, &format!("{name}.latency"), text(&format!("{typical}")), Some("us"));
        let last = of(Column::Percentile99).unwrap_or(typical);
        if test.latency.is_none() {
            test.latency = Some((octets, typical, last, words.number, words.text.to_owned()));
        }
    }
}

/// A rate in both units, since both are printed: `9.45 MiB/s = 0.079 Gb/s`.
fn rate(figure: f64, unit: Unit) -> String {
    let bits = unit.gigabits(figure);
    let bits = if bits < 1.0 { format!("{bits:.3}") } else { format!("{bits:.2}") };
    match unit {
        Unit::Gigabits => format!("{bits} Gb/s"),
        Unit::Mebibytes => format!("{figure} MiB/s = {bits} Gb/s"),
    }
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
    fn both_units_are_told() {
        assert_eq!(rate(9.45, Unit::Mebibytes), "9.45 MiB/s = 0.079 Gb/s");
        assert_eq!(rate(92.56, Unit::Gigabits), "92.56 Gb/s");
    }
}
