//! `show_gids` of the adapter vendors' packages: the GID table with its gaps.

use super::{Output, is_name, listed, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// One row.
pub(super) struct Row<'a> {
    pub(super) port: String,
    pub(super) index: u32,
    pub(super) gid: &'a str,
    /// Empty where the table does not tell it.
    pub(super) version: &'a str,
    pub(super) line: u32,
    pub(super) raw: &'a str,
}

/// Reads the table, also where rows lack their last cells.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut inside = false;
    let mut rows: Vec<Row<'_>> = Vec::new();
    for words in &output.lines {
        let line = words.text;
        if line.starts_with("DEV") && line.contains("INDEX") && line.contains("GID") {
            inside = true;
            explained.is(Kind::ShowGids);
            continue;
        }
        if !inside {
            continue;
        }
        let cells: Vec<&str> = line.split_whitespace().take(8).collect();
        let [device, port, index, gid, rest @ ..] = cells.as_slice() else { continue };
        let (Ok(port), Ok(index)) = (port.parse::<u32>(), index.parse::<u32>()) else { continue };
        if !is_name(device) || gid.matches(':').count() < 2 {
            continue;
        }
        let version = rest.iter().copied().find(|cell| is_version(cell)).unwrap_or_default();
        let address = rest.iter().copied().find(|cell| cell.matches('.').count() == 3).unwrap_or_default();
        let netdev = rest.iter().copied().rfind(|cell| is_name(cell) && !is_version(cell)).unwrap_or_default();
        let port = output.owner(&format!("{device}/{port}"));
        let name = format!("{port}.gid-{index}");
        explained.fact(words.number, &name, text(gid), None);
        // An address belongs to entries that were made from one; a version that is not told is not a version.
        if !address.is_empty() {
            explained.fact(words.number, &format!("{name}.address"), text(address), None);
        }
        let told = if version.is_empty() { State::NotPublished("this show_gids".into()) } else { text(version) };
        explained.fact(words.number, &format!("{name}.version"), told, None);
        if !netdev.is_empty() {
            explained.fact(words.number, &format!("{name}.netdev"), text(netdev), None);
        }
        rows.push(Row { port, index, gid, version, line: words.number, raw: line });
    }
    if !rows.is_empty() {
        judge(explained, &rows);
    }
}

fn is_version(cell: &str) -> bool {
    matches!(cell, "v1" | "v2" | "RoCEv1" | "RoCEv2" | "IB")
}

/// True for an entry made from an IPv4 address.
fn is_mapped(gid: &str) -> bool {
    gid.starts_with("0000:0000:0000:0000:0000:ffff:") || gid.starts_with("::ffff:")
}

/// Which entry is the right one, and which one programs take that are told none.
pub(super) fn judge(explained: &mut Explained, rows: &[Row<'_>]) {
    let mut ports: Vec<&str> = rows.iter().map(|row| row.port.as_str()).collect();
    ports.dedup();
    for port in ports {
        let own: Vec<&Row<'_>> = rows.iter().filter(|row| row.port == port).collect();
        let told = own.iter().any(|row| !row.version.is_empty());
        let best: Vec<&&Row<'_>> =
            own.iter().filter(|row| is_mapped(row.gid) && (!told || row.version.ends_with("v2"))).collect();
        let link_local = own.iter().find(|row| row.index == 0 && row.gid.starts_with("fe80"));
        let (Some(right), Some(first)) = (best.first(), link_local) else { continue };
        let indices: Vec<String> = best.iter().map(|row| row.index.to_string()).collect();
        let title = format!("{port}: GID index 0 is link-local, the one with the IPv4 address is {}", listed(&indices));
        let which = if told {
            ""
        } else {
            " The table does not tell versions: /sys/class/infiniband/DEVICE/ports/1/gid_attrs/types/N does."
        };
        let cause = format!(
            "Programs that are told no index may take 0: that entry is not routed and reaches peers on the same link at best.{which}"
        );
        let set = [
            format!("ib_write_bw -x {} ...", right.index),
            format!("UCX_IB_GID_INDEX={}", right.index),
            format!("NCCL_IB_GID_INDEX={}", right.index),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        explained.finding(
            Finding::new("guest.gid-index", Status::Info, Confidence::Likely, port, &title, &cause)
                .shown(first.line, first.raw)
                .shown(right.line, right.raw)
                .decided_by("The index that the program uses, and the table of the other side: the right index can be another one there")
                .helped_by("Name the index where a program fails", &set, ""),
        );
    }
}
