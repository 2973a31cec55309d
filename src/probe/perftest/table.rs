//! Titles, banners and tables of perftest, one line at a time. Rows of the banner come and go with versions and verbs; the
//! columns of a table are told by its header alone.

/// Begins of the titles of tests.
const TITLES: [&str; 8] =
    ["Send", "Send_imm", "RDMA_Write", "RDMA_Write_imm", "RDMA_Read", "Atomic", "Post", "Bidirectional"];

/// Keys of the banner.
pub const BANNER: [&str; 19] = [
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

/// What bandwidths are told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 2^20 octets a second, whether the title says MB (before 24.07) or MiB.
    Mebibytes,
    /// 10^9 bits a second.
    Gigabits,
}

impl Unit {
    /// A figure of this unit in 10^9 bits a second.
    pub fn gigabits(self, figure: f64) -> f64 {
        match self {
            Self::Gigabits => figure,
            Self::Mebibytes => figure * 8.0 * f64::from(1 << 20) / 1e9,
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Octets of a message.
    Bytes,
    /// Messages (of all queue pairs).
    Iterations,
    /// Service level of a table by service levels.
    ServiceLevel,
    /// Highest bandwidth; 0 stands for none measured.
    Peak,
    /// Average bandwidth.
    Average,
    /// 10^6 messages a second.
    MessageRate,
    /// Use of processors, in per cent.
    Processor,
    /// Shortest time, in microseconds, as all that follow.
    Least,
    /// Longest.
    Most,
    /// Typical.
    Typical,
    /// Average.
    Mean,
    /// Standard deviation.
    Deviation,
    /// 99 % took no longer.
    Percentile99,
    /// 99.9 % took no longer.
    Percentile999,
    /// Transactions a second.
    Transactions,
}

/// Titles of columns as they are printed. They hold blanks: each begins with what is known of it.
const COLUMNS: [(&str, Column); 15] = [
    ("#bytes", Column::Bytes),
    ("#iterations", Column::Iterations),
    ("#sl", Column::ServiceLevel),
    ("BW peak", Column::Peak),
    ("BW average", Column::Average),
    ("MsgRate", Column::MessageRate),
    ("CPU_Util", Column::Processor),
    ("t_min", Column::Least),
    ("t_max", Column::Most),
    ("t_typical", Column::Typical),
    ("t_avg", Column::Mean),
    ("t_stdev", Column::Deviation),
    ("99.9% percentile", Column::Percentile999),
    ("99% percentile", Column::Percentile99),
    ("tps average", Column::Transactions),
];

/// The name of a test, from a line without blanks around it: `RDMA_Write BW` of `RDMA_Write BW Test`.
pub fn title(line: &str) -> Option<&str> {
    let name = line.strip_suffix(" Test")?;
    let known = TITLES.contains(&name.split(' ').next().unwrap_or_default());
    (known && (name.contains(" BW") || name.contains(" Latency"))).then_some(name)
}

/// Rows of the banner in a line: one key or two with their values, with tabs or blanks between.
pub fn banner(line: &str) -> Vec<(&str, &str)> {
    let mut rest = line.trim();
    let mut found = Vec::new();
    for _ in 0..3 {
        let Some((key, behind)) = rest.split_once(':') else { break };
        let key = key.trim();
        if !BANNER.contains(&key) {
            break;
        }
        let behind = behind.trim_start();
        // A value ends where two blanks or a tab stand, or at the end.
        let end = behind.find('\t').into_iter().chain(behind.find("  ")).min().unwrap_or(behind.len());
        found.push((key, behind[..end].trim()));
        rest = behind[end..].trim_start();
    }
    found
}

/// Columns and unit of a table, from its header; `None` for a line that is none.
pub fn columns(line: &str) -> Option<(Vec<Column>, Option<Unit>)> {
    let line = line.trim();
    if !line.starts_with("#bytes") {
        return None;
    }
    let mut found: Vec<(usize, Column)> = Vec::new();
    for (title, column) in COLUMNS {
        // Tables of two ports have columns of a kind more than once.
        found.extend(line.match_indices(title).map(|(at, _)| (at, column)));
    }
    found.sort_by_key(|(at, _)| *at);
    let unit = if line.contains("[Gb/sec]") {
        Some(Unit::Gigabits)
    } else if line.contains("[MB/sec]") || line.contains("[MiB/sec]") {
        Some(Unit::Mebibytes)
    } else {
        None
    };
    Some((found.into_iter().map(|(_, column)| column).collect(), unit))
}

/// The figures of a row by column; the row ends with its first word that is no figure. Errors are glued to the last one
/// now and then.
pub fn cells(line: &str, columns: &[Column]) -> Vec<(Column, f64)> {
    let figures = line.split_whitespace().map(|cell| {
        let end = cell.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(cell.len());
        cell[..end].parse::<f64>().ok().filter(|figure| figure.is_finite())
    });
    columns.iter().copied().zip(figures.map_while(|figure| figure)).collect()
}

/// A GID as perftest prints it, in decimal octets: the IPv4 address in it, or the GID as it is written elsewhere.
pub fn gid_of_decimals(gid: &str) -> Option<String> {
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
    fn columns_are_told_by_their_titles() {
        let line = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]    CPU_Util[%]";
        let (bandwidth, unit) = columns(line).expect("a header");
        assert_eq!((bandwidth.len(), bandwidth[5], unit), (6, Column::Processor, Some(Unit::Mebibytes)));
        let line = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";
        let (latency, unit) = columns(line).expect("a header");
        assert_eq!((latency.len(), latency[7], unit), (9, Column::Percentile99, None));
        assert_eq!(columns(" 65536      5000"), None);
    }

    #[test]
    fn two_rows_of_the_banner_stand_in_a_line() {
        for line in [" Dual-port       : OFF\t\tDevice         : rxe0", " Dual-port       : OFF  Device         : rxe0"]
        {
            assert_eq!(banner(line), [("Dual-port", "OFF"), ("Device", "rxe0")]);
        }
        assert_eq!(banner(" local address: LID 0000"), []);
    }
}
