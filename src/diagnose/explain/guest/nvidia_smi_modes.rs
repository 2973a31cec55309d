//! What `nvidia-smi -q` says in blocks: modes that wait for a reset, errors of the memory and what was repaired of them. Keys
//! have the same names in several blocks, so they are read by their blocks, as those of a live guest are.

use super::Output;
use crate::diagnose::explain::parts::Line as Raw;
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::probe::gpu::blocks::{self, Device, Line};
use crate::probe::gpu::cells;

/// As many retired pages are a reason to replace a GPU, which can retire 64.
const MOST_PAGES: u64 = 60;

/// Reads the GPUs in a part.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, lines: &[Raw<'_>]) {
    if !explained.kinds.contains(&Kind::NvidiaSmi) {
        return;
    }
    for device in blocks::devices(lines.iter().map(|(number, line)| (*number, &**line))) {
        let Some(address) = device.address else { continue };
        let owner = output.owner(address);
        modes(explained, &owner, &device);
        errors(explained, &owner, &device);
        rows(explained, &owner, &device);
        pages(explained, &owner, &device);
    }
}

/// What a key says, if it says something.
fn flag<'a, 'b>(device: &'b Device<'a>, way: &[&str]) -> Option<(bool, &'b Line<'a>)> {
    let line = device.find(&[way])?;
    Some((cells::flag(line.value)?, line))
}

fn shown(finding: Finding, lines: &[&Line<'_>]) -> Finding {
    lines
        .iter()
        .fold(finding, |finding, line| finding.shown(line.number, &format!("{}: {}", line.way.join(": "), line.value)))
}

fn modes(explained: &mut Explained, owner: &str, device: &Device<'_>) {
    for (check, name, block) in [("gpu.mig-pending", "MIG", "MIG Mode"), ("gpu.ecc-pending", "ECC", "ECC Mode")] {
        let (Some((now, current)), Some((then, pending))) =
            (flag(device, &[block, "Current"]), flag(device, &[block, "Pending"]))
        else {
            continue;
        };
        if now == then {
            continue;
        }
        let word = |on| if on { "on" } else { "off" };
        let title = format!("{name} of {owner} was switched {} and is still {}", word(then), word(now));
        let cause = "The change waits for a reset of the GPU, which in a VM often takes its power off and on.";
        let finding = Finding::new(check, Status::Warn, Confidence::Proved, owner, &title, cause);
        explained.finding(shown(finding, &[current, pending]).decided_by("Both modes after a reset").helped_by(
            "Reset the GPU when nothing uses it",
            &["nvidia-smi --gpu-reset"],
            "",
        ));
    }
}

/// Errors since the driver was loaded that could not be corrected, and the lines that count some.
fn uncorrected<'a, 'b>(device: &'b Device<'a>) -> (u64, Vec<&'b Line<'a>>) {
    let lines: Vec<(u64, &Line<'_>)> = device
        .lines
        .iter()
        .filter(|line| match line.way[..] {
            [block, "Volatile", key] => block.eq_ignore_ascii_case("ECC Errors") && key.contains("Uncorrectable"),
            [block, "Volatile", "Double Bit", "Total"] => block.eq_ignore_ascii_case("ECC Errors"),
            _ => false,
        })
        .filter(|line| cells::absent(line.value).is_none())
        .filter_map(|line| Some((cells::count(line.value)?, line)))
        .filter(|(errors, _)| *errors > 0)
        .collect();
    let sum = lines.iter().fold(0_u64, |sum, (errors, _)| sum.saturating_add(*errors));
    (sum, lines.into_iter().map(|(_, line)| line).collect())
}

fn errors(explained: &mut Explained, owner: &str, device: &Device<'_>) {
    let (errors, lines) = uncorrected(device);
    if errors == 0 {
        return;
    }
    let count = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
    let title = format!("{owner} had {count} of its memory that could not be corrected");
    let cause = "What used that memory computed with wrong data or was ended; it was since the driver was loaded.";
    let finding = Finding::new("gpu.ecc", Status::Fail, Confidence::Proved, owner, &title, cause);
    explained.finding(shown(finding, &lines).decided_by("Xid 48, 94 or 95 in the kernel log").helped_by(
        "Look at the errors, then reset the GPU",
        &["nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT", "sudo dmesg | grep Xid"],
        "",
    ));
}

fn rows(explained: &mut Explained, owner: &str, device: &Device<'_>) {
    let Some((true, pending)) = flag(device, &["Remapped Rows", "Pending"]) else { return };
    let (errors, mut lines) = uncorrected(device);
    lines.insert(0, pending);
    let (status, cause) = if errors > 0 {
        (Status::Fail, "An error that could not be corrected hit that memory; until the GPU is reset the row stays.")
    } else {
        (Status::Warn, "Until the GPU is reset the broken row stays in use, or the driver keeps jobs off it.")
    };
    let title = format!("a row of {owner} waits for a reset to be replaced");
    let finding = Finding::new("gpu.row-remap", status, Confidence::Proved, owner, &title, cause);
    explained.finding(shown(finding, &lines).decided_by("\"Pending\" of the remapped rows after a reset").helped_by(
        "Reset the GPU when nothing uses it",
        &["nvidia-smi -q -d ROW_REMAPPER,ECC", "nvidia-smi --gpu-reset"],
        "",
    ));
}

fn pages(explained: &mut Explained, owner: &str, device: &Device<'_>) {
    let pending = ["Pending Page Blacklist", "Pending"].iter().find_map(|key| flag(device, &["Retired Pages", key]));
    let kinds = ["Single Bit ECC", "Double Bit ECC"].map(|kind| device.find(&[&["Retired Pages", kind]]));
    let retired: Vec<&Line<'_>> = kinds.into_iter().flatten().collect();
    let counts = retired.iter().filter(|line| cells::absent(line.value).is_none());
    let sum = counts.filter_map(|line| cells::count(line.value)).fold(0_u64, u64::saturating_add);
    let mut lines = retired;
    let (status, title, cause) = match pending {
        _ if sum >= MOST_PAGES => {
            (Status::Fail, format!("{sum} pages of {owner} are retired"), "A GPU can retire 64: it is to be replaced.")
        }
        Some((true, line)) => {
            lines.insert(0, line);
            (
                Status::Warn,
                format!("a page of {owner} waits for a reboot to be retired"),
                "It stays in use until the driver is loaded anew, and its errors can come back until then.",
            )
        }
        _ => return,
    };
    let finding = Finding::new("gpu.retired-pages", status, Confidence::Proved, owner, &title, cause);
    explained.finding(shown(finding, &lines).decided_by("The retired pages after a restart of the guest").helped_by(
        "Look at the pages",
        &["nvidia-smi -q -d PAGE_RETIREMENT"],
        "",
    ));
}
