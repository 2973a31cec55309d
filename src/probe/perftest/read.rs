//! What a running perftest has printed so far, as values.

use super::table::{Column, Unit, banner, cells, columns, title};
use crate::fabric::Text;

/// So many lines that are neither banner nor table are kept: complaints, which an explanation is made of.
const MOST_LINES: usize = 200;

/// One row of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Octets of a message.
    pub bytes: u64,
    /// Messages of all queue pairs.
    pub iterations: Option<u64>,
    /// Average bandwidth, in 10^9 bits a second.
    pub gigabits: Option<f64>,
    /// Highest bandwidth likewise; `None` where none was measured.
    pub peak_gigabits: Option<f64>,
    /// Messages a second.
    pub messages: Option<f64>,
    /// Time in microseconds, by column.
    pub times: Vec<(Column, f64)>,
    /// Use of processors, in per cent.
    pub processor: Option<f64>,
    /// The line itself.
    pub line: Text,
}

impl Row {
    /// A time of this column, in microseconds.
    pub fn time(&self, column: Column) -> Option<f64> {
        self.times.iter().find(|(known, _)| *known == column).map(|(_, time)| *time)
    }

    /// The latency that stands for the row: typical, else average.
    pub fn latency(&self) -> Option<f64> {
        self.time(Column::Typical).or_else(|| self.time(Column::Mean))
    }
}

/// What a line was.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The title of a test.
    Title(Text),
    /// Rows of the banner.
    Banner(Vec<(Text, Text)>),
    /// The header of a table.
    Header,
    /// A row of it.
    Row(Row),
    /// Something else that it said.
    Said(Text),
}

/// All that one side printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    /// Title of the test.
    pub title: Option<Text>,
    /// Its banner.
    pub banner: Vec<(Text, Text)>,
    /// Its results.
    pub rows: Vec<Row>,
    /// What else it said.
    pub said: Vec<Text>,
    columns: Vec<Column>,
    unit: Option<Unit>,
}

impl Printed {
    /// Takes one more line in; `None` for one that says nothing.
    pub fn line(&mut self, line: &str) -> Option<Item> {
        let line = line.trim();
        if line.is_empty() || line.chars().all(|c| matches!(c, '-' | '*')) {
            return None;
        }
        if let Some(name) = title(line) {
            self.title = Some(Text::new(name));
            self.columns.clear();
            return Some(Item::Title(Text::new(name)));
        }
        if let Some((columns, unit)) = columns(line) {
            (self.columns, self.unit) = (columns, unit);
            return Some(Item::Header);
        }
        if !self.columns.is_empty()
            && let Some(row) = row(line, &self.columns, self.unit)
        {
            self.rows.push(row.clone());
            // What is glued to the last figure is a complaint.
            if let Some(at) = line.find(char::is_alphabetic) {
                self.keep(&line[at..]);
            }
            return Some(Item::Row(row));
        }
        let pairs: Vec<(Text, Text)> =
            banner(line).into_iter().map(|(key, value)| (Text::new(key), Text::new(value))).collect();
        if !pairs.is_empty() {
            self.banner.extend(pairs.iter().cloned());
            return Some(Item::Banner(pairs));
        }
        if ["local address:", "remote address:", "GID:"].iter().any(|begin| line.starts_with(begin)) {
            return None;
        }
        self.keep(line);
        Some(Item::Said(Text::new(line)))
    }

    fn keep(&mut self, line: &str) {
        if self.said.len() < MOST_LINES {
            self.said.push(Text::new(line));
        }
    }

    /// The value of a row of the banner.
    pub fn of(&self, key: &str) -> Option<&str> {
        self.banner.iter().find(|(known, _)| known.as_str() == key).map(|(_, value)| value.as_str())
    }
}

fn row(line: &str, columns: &[Column], unit: Option<Unit>) -> Option<Row> {
    let bytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    let cells = cells(line, columns);
    // A row of bandwidths has both, whatever stands behind them; a row of times has at least one.
    if cells.len() < 3 {
        return None;
    }
    let of = |column: Column| cells.iter().find(|(known, _)| *known == column).map(|(_, figure)| *figure);
    let in_gigabits = |column: Column| Some(unit?.gigabits(of(column)?));
    let is_time = |column: &Column| {
        matches!(
            column,
            Column::Least
                | Column::Most
                | Column::Typical
                | Column::Mean
                | Column::Deviation
                | Column::Percentile99
                | Column::Percentile999
        )
    };
    Some(Row {
        bytes,
        iterations: line.split_whitespace().nth(1).and_then(|word| word.parse().ok()),
        gigabits: in_gigabits(Column::Average),
        peak_gigabits: in_gigabits(Column::Peak).filter(|peak| *peak > 0.0),
        messages: of(Column::MessageRate).map(|millions| millions * 1e6).or_else(|| of(Column::Transactions)),
        times: cells.iter().filter(|(column, _)| is_time(column)).copied().collect(),
        processor: of(Column::Processor),
        line: Text::new(line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/soft-roce/perftest/", $name))
        };
    }

    fn printed(text: &str) -> Printed {
        let mut printed = Printed::default();
        for line in text.lines() {
            let _ = printed.line(line);
        }
        printed
    }

    #[test]
    fn rows_are_read_by_their_header() {
        let all = printed(fixture!("ib_write_bw-all-sizes-client.txt"));
        assert_eq!(all.title.as_ref().map(Text::as_str), Some("RDMA_Write BW"));
        assert_eq!((all.of("Mtu"), all.of("TX depth"), all.of("Device")), (Some("1024[B]"), Some("128"), Some("rxe0")));
        let sizes: Vec<u64> = all.rows.iter().map(|row| row.bytes).collect();
        assert_eq!(sizes[..3], [2, 4, 8]);
        let last = all.rows.iter().find(|row| row.bytes == 32768).expect("a row");
        // 7.94 MB/sec are 7.94 times 2^20 octets.
        assert!((last.gigabits.expect("a rate") - 7.94 * 8.0 * 1_048_576.0 / 1e9).abs() < 1e-9);
        assert_eq!((last.iterations, last.messages.map(f64::round)), (Some(5000), Some(254.0)));

        let by_time = printed(fixture!("ib_write_bw-duration-gbits-client.txt"));
        let [row] = by_time.rows.as_slice() else { panic!("{by_time:?}") };
        assert_eq!((row.gigabits, row.peak_gigabits, row.iterations), (Some(0.0754), None, Some(432)));

        let latency = printed(fixture!("ib_write_lat-client.txt"));
        let [row] = latency.rows.as_slice() else { panic!("{latency:?}") };
        assert_eq!((row.latency(), row.time(Column::Percentile999)), (Some(24735.81), Some(32200.95)));
        assert_eq!((row.time(Column::Percentile99), row.gigabits), (Some(31905.68), None));

        let endless = printed(fixture!("ib_write_bw-run-infinitely-client.txt"));
        assert_eq!(endless.rows.len(), 2);
    }

    #[test]
    fn rows_of_other_versions_and_options() {
        let header =
            " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]    CPU_Util[%]\n";
        let text =
            format!("{header} 65536      5000             92.57              92.56  \t\t     0.176544       3.21\n");
        let rows = printed(&text).rows;
        assert_eq!(rows[0].processor, Some(3.21));
        let by_time = " #bytes        #iterations       t_avg[usec]    tps average\n 2             4712345            1.06           942469.00\n";
        let rows = printed(by_time).rows;
        assert_eq!((rows[0].latency(), rows[0].messages), (Some(1.06), Some(942_469.0)));
        let glued = format!(
            "{header} 65536      200              2.23               1.82   \t\t   0.000029ethernet_read_data: Couldn't read reports\n"
        );
        let printed = printed(&glued);
        assert_eq!(printed.rows.len(), 1);
        assert_eq!(printed.said[0].as_str(), "ethernet_read_data: Couldn't read reports");
    }

    #[test]
    fn complaints_are_kept() {
        let refused = printed(fixture!("ib_write_bw-no-server-client.txt"));
        assert!(refused.rows.is_empty() && refused.said[0].starts_with("Couldn't connect to"), "{refused:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(crate::probe::testing::CASES))]
        #[test]
        fn damaged_output_does_no_harm(text in crate::probe::testing::mutated_texts(&[
            fixture!("ib_write_bw-all-sizes-client.txt"), fixture!("ib_write_lat-client.txt"),
        ])) {
            let _ = printed(&text);
        }
    }
}
