//! `nvidia-smi`: the table, `-q`, `-L` and `topo -m`. What it says where it fails stands in the lists of messages.

use super::{Output, Words, is_address, listed, pair, text, word};
use crate::diagnose::explain::{Explained, Kind, Value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// Reads what there is.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let asked = output.command.contains("nvidia-smi");
    let mut table = Table::default();
    let mut query = Query::default();
    let mut topology: Option<Words<'_>> = None;
    for words in &output.lines {
        let line = words.text;
        if line.starts_with('|') {
            table.row(explained, output, words);
        } else if is_topology(line) || topology.is_some() && line.contains('\t') {
            if topology.is_none() {
                explained.is(Kind::NvidiaSmi);
                topology = Some(*words);
            }
            // The titles name GPUs as the rows do.
            if is_topology(line) {
                continue;
            }
            let mut cells = line.split('\t').map(str::trim);
            if let Some(name) = cells.next().filter(|name| is_peer(name)) {
                let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
                explained.fact(words.number, &output.owner(&format!("{name}.paths")), text(&cells.join(" ")), None);
            }
        } else if let Some(name) = line
            .strip_prefix("GPU ")
            .and_then(|rest| rest.split_once(": "))
            .filter(|(at, rest)| at.parse::<u32>().is_ok() && rest.contains("(UUID: "))
        {
            explained.is(Kind::NvidiaSmi);
            let model = name.1.split(" (UUID").next().unwrap_or_default();
            explained.fact(words.number, &output.owner(&format!("gpu{}", name.0)), text(model), None);
        } else if line == "No devices were found" {
            explained.is(Kind::NvidiaSmi);
            no_devices(explained, words);
        } else {
            query.line(explained, output, words, asked);
        }
    }
    query.conclude(explained, output);
    if let Some(words) = topology {
        judge_topology(explained, &words);
    }
}

/// The table without options.
#[derive(Default)]
struct Table<'a> {
    /// The GPU whose second line comes next.
    gpu: Option<&'a str>,
}

impl<'a> Table<'a> {
    fn row(&mut self, explained: &mut Explained, output: &Output<'_>, words: &Words<'a>) {
        let line = words.text;
        if line.contains("NVIDIA-SMI ") && line.contains("Driver Version:") {
            explained.is(Kind::NvidiaSmi);
            let behind = |name: &str| line.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next());
            for (name, words_of) in [("driver", "Driver Version:"), ("cuda", "CUDA Version:")] {
                if let Some(value) = behind(words_of) {
                    explained.fact(words.number, &output.owner(name), text(value), None);
                }
            }
            return;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [first, second, third] = cells.as_slice() else { return };
        // `0  NVIDIA A100-PCIE-40GB  On | 00000000:0B:00.0 Off | 0`
        let bus = second.split_whitespace().next().unwrap_or_default();
        if is_address(bus)
            && let Some((index, name)) = first.split_once(char::is_whitespace)
            && index.parse::<u32>().is_ok()
        {
            explained.is(Kind::NvidiaSmi);
            self.gpu = Some(index);
            let gpu = output.owner(&format!("gpu{index}"));
            let name = name.trim();
            let name = name.strip_suffix("On").or_else(|| name.strip_suffix("Off")).unwrap_or(name).trim_end();
            explained.fact(words.number, &gpu, text(name), None);
            explained.fact(words.number, &format!("{gpu}.bus"), text(bus), None);
            let errors = third.split_whitespace().next().unwrap_or_default();
            explained.fact(words.number, &format!("{gpu}.uncorrected-ecc-errors"), word(errors), None);
            return;
        }
        let Some(index) = self.gpu.take().filter(|_| second.contains("MiB")) else { return };
        let gpu = output.owner(&format!("gpu{index}"));
        if first.contains("ERR!") || second.contains("ERR!") || third.contains("ERR!") {
            let finding = Finding::new(
                "gpu.fell-off-bus",
                Status::Fail,
                Confidence::Likely,
                &gpu,
                &format!("{gpu}: the driver cannot read it (ERR!)"),
                "Likely: the GPU does not answer any more, after a fault that the kernel log names as an Xid. Possible: a sensor that this board lacks.",
            );
            explained.finding(
                finding.shown(words.number, line).decided_by("The last Xid in the kernel log").helped_by(
                    "Look for the Xid",
                    &["sudo dmesg | grep -i xid", "nvidia-smi -q"],
                    "",
                ),
            );
        }
        // `N/A   34C    P0    52W / 400W`
        for cell in first.split_whitespace() {
            if let Some(degrees) = cell.strip_suffix('C').and_then(|degrees| degrees.parse::<i64>().ok()) {
                explained.fact(
                    words.number,
                    &format!("{gpu}.temperature"),
                    State::Known(Value::Number(degrees)),
                    Some("degrees C"),
                );
            } else if cell.len() < 4 && cell.strip_prefix('P').is_some_and(|state| state.parse::<u32>().is_ok()) {
                explained.fact(words.number, &format!("{gpu}.performance-state"), text(cell), None);
            }
        }
        if let Some((used, total)) = second.split_once('/') {
            for (name, value) in [("memory-used", used), ("memory", total)] {
                let number = value.trim().strip_suffix("MiB").and_then(|value| value.trim().parse::<i64>().ok());
                let state = number.map_or(State::NotAvailable, |number| State::Known(Value::Number(number)));
                explained.fact(words.number, &format!("{gpu}.{name}"), state, Some("MiB"));
            }
        }
        if let Some(percent) = third.split_whitespace().next().and_then(|cell| cell.strip_suffix('%')) {
            explained.fact(words.number, &format!("{gpu}.use"), word(percent), Some("%"));
        }
    }
}

/// Keys of `-q` that are told wherever they stand.
const KEYS: [&str; 16] = [
    "Product Name",
    "Driver Version",
    "CUDA Version",
    "Performance State",
    "Virtualization Mode",
    "Host VGPU Mode",
    "License Status",
    "Replays Since Reset",
    "Uncorrectable Error",
    "Remapping Failure Occurred",
    "HW Slowdown",
    "HW Thermal Slowdown",
    "HW Power Brake Slowdown",
    "GPU Reset Status",
    "Reset Required",
    "GPU Current Temp",
];

/// What `-q` says of the link, in blocks whose keys have the same names.
#[derive(Default)]
struct Query<'a> {
    /// What slows a GPU down: GPU, key and line.
    slowed: Vec<(String, String, Words<'a>)>,
    gpu: String,
    /// `generation` or `width`, while its block is read.
    block: &'static str,
    /// Its keys so far: one that comes again is of another block.
    seen: Vec<String>,
    widths: Vec<(String, Option<u32>, Option<u32>, u32)>,
}

impl<'a> Query<'a> {
    fn line(&mut self, explained: &mut Explained, output: &Output<'_>, words: &Words<'a>, asked: bool) {
        let line = words.text;
        if let Some(address) = line.strip_prefix("GPU ").filter(|rest| is_address(rest)) {
            explained.is(Kind::NvidiaSmi);
            (self.gpu, self.block) = (address.to_owned(), "");
            return;
        }
        match line {
            "GPU Link Info" | "PCIe Generation" | "Link Width" => {
                self.block = match line {
                    "PCIe Generation" => "generation",
                    "Link Width" => "width",
                    _ => "info",
                };
                self.seen.clear();
                if line == "GPU Link Info" {
                    explained.is(Kind::NvidiaSmi);
                }
                return;
            }
            "vGPU Software Licensed Product" => explained.is(Kind::NvidiaSmi),
            _ => {}
        }
        let Some((key, value)) = pair(line) else { return };
        if !explained.kinds.contains(&Kind::NvidiaSmi) && !asked {
            return;
        }
        let owner = output.owner(if self.gpu.is_empty() { "gpu" } else { &self.gpu });
        if matches!(self.block, "generation" | "width") {
            let is_own = matches!(key, "Max" | "Current" | "Device Current" | "Device Max" | "Host Max");
            if is_own && self.seen.iter().any(|seen| seen == key) {
                self.block = "";
            } else if is_own {
                self.seen.push(key.to_owned());
                let name = format!("{owner}.link-{}-{}", self.block, key.to_lowercase().replace(' ', "-"));
                explained.fact(words.number, &name, word(value), None);
                if self.block == "width" && matches!(key, "Max" | "Current") {
                    self.width(&owner, key, value, words.number);
                }
                return;
            }
        }
        // The counters of release 580 have the names of the reasons: `HW Thermal Slowdown : 0 us`.
        if !KEYS.contains(&key) || key.ends_with("Slowdown") && value.ends_with(" us") {
            return;
        }
        explained.fact(
            words.number,
            &format!("{owner}.{}", key.to_lowercase().replace(' ', "-")),
            text_or_missing(value),
            None,
        );
        match key {
            "License Status" if value.starts_with("Unlicensed") => unlicensed(explained, &owner, words),
            "HW Slowdown" | "HW Thermal Slowdown" | "HW Power Brake Slowdown" if value == "Active" => {
                self.slowed.push((owner, key.to_owned(), *words));
            }
            "Remapping Failure Occurred" | "Reset Required" if value == "Yes" => broken(explained, &owner, key, words),
            _ => {}
        }
    }

    fn width(&mut self, owner: &str, key: &str, value: &str, line: u32) {
        if self.widths.last().is_none_or(|(known, ..)| known != owner) {
            self.widths.push((owner.to_owned(), None, None, line));
        }
        let Some((_, most, now, at)) = self.widths.last_mut() else { return };
        // A link that has no lanes would not be there: `0x` says that nothing is told.
        let lanes = value.trim_end_matches('x').parse().ok().filter(|lanes| *lanes > 0);
        if key == "Max" {
            *most = lanes;
        } else {
            (*now, *at) = (lanes, line);
        }
    }

    fn conclude(&self, explained: &mut Explained, _output: &Output<'_>) {
        for (owner, key, words) in &self.slowed {
            // The reason above the others is active with any of them.
            let is_told = key == "HW Slowdown" && self.slowed.iter().any(|(of, own, _)| of == owner && own != key);
            if !is_told {
                slowed(explained, owner, key, words);
            }
        }
        for (owner, most, now, line) in &self.widths {
            let (Some(most), Some(now)) = (most, now) else { continue };
            if now >= most {
                continue;
            }
            let finding = Finding::new(
                "gpu.pcie-link",
                Status::Warn,
                Confidence::Proved,
                owner,
                &format!("{owner} has {now} of {most} PCIe lanes"),
                "A link does not give up lanes when it is idle, as it does with its speed (a generation below the largest one is normal then): the \
                 slot has no more, or some are broken. Copies between the memories of guest and GPU reach that part of what the link could carry.",
            );
            explained.finding(
                finding
                    .shown(*line, &format!("Link Width: Current {now}x, Max {most}x"))
                    .decided_by("On the host: lspci -v for the card; seat, riser and bifurcation of its slot")
                    .helped_by("Read it under load", &["nvidia-smi -q | grep -A12 'GPU Link Info'"], ""),
            );
        }
    }
}

fn text_or_missing(value: &str) -> State<Value> {
    match value {
        "N/A" | "[N/A]" | "[Not Supported]" => State::NotAvailable,
        value => text(value),
    }
}

fn unlicensed(explained: &mut Explained, owner: &str, words: &Words<'_>) {
    let finding = Finding::new(
        "gpu.licence",
        Status::Fail,
        Confidence::Proved,
        owner,
        "the vGPU has no licence",
        "Without one the driver slows the vGPU down some minutes after the start: fast at first, then it crawls. Likely: nvidia-gridd did not \
         reach the licence server or has no token; possible: the server has none left.",
    );
    explained.finding(
        finding
            .shown(words.number, words.text)
            .decided_by("What nvidia-gridd says, the clock of the VM, and whether sister VMs have their licence")
            .helped_by(
                "Look at the licence",
                &["nvidia-smi -q | grep -A2 -i licens", "sudo journalctl -u nvidia-gridd", "timedatectl"],
                "License Status: Licensed",
            ),
    );
}

fn slowed(explained: &mut Explained, owner: &str, key: &str, words: &Words<'_>) {
    let (what, cause) = match key {
        "HW Thermal Slowdown" => (
            "is too hot and slows down",
            "Its own protection lowers the clocks: cooling, air flow, or the card's neighbours",
        ),
        "HW Power Brake Slowdown" => {
            ("is braked by the server's power supply", "The server asked the card to take less power")
        }
        _ => ("is slowed down by its own protection", "Heat, or power that the server does not give"),
    };
    let finding =
        Finding::new("gpu.slowed", Status::Warn, Confidence::Proved, owner, &format!("{owner} {what}"), cause);
    explained.finding(
        finding
            .shown(words.number, words.text)
            .decided_by("Temperature and power of the card, and the hardware log of the host")
            .helped_by("Look at it", &["nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE"], ""),
    );
}

fn broken(explained: &mut Explained, owner: &str, key: &str, words: &Words<'_>) {
    let (status, title, cause) = if key == "Reset Required" {
        (Status::Warn, format!("{owner} wants a reset"), "An error left it in a state that only a reset ends.")
    } else {
        (
            Status::Fail,
            format!("{owner} could not replace a broken row of its memory"),
            "The card has no spare rows left: it is to be replaced.",
        )
    };
    let finding =
        Finding::new("gpu.memory", status, Confidence::Proved, owner, &title, cause).shown(words.number, words.text);
    explained.finding(finding.helped_by(
        "Look at the errors",
        &["nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT"],
        "",
    ));
}

fn no_devices(explained: &mut Explained, words: &Words<'_>) {
    let finding = Finding::new(
        "gpu.driver-bound",
        Status::Fail,
        Confidence::Proved,
        "GPU",
        "the NVIDIA driver is loaded and has no GPU",
        "Possible: the VM has none, the driver tried to start it and failed (MMIO window, firmware, a release that does not serve it), another \
         driver has it, or it fell off the bus.",
    );
    explained.finding(
        finding
            .shown(words.number, words.text)
            .decided_by("What NVRM says in the kernel log, and whether lspci lists the GPU")
            .helped_by("Look for the reason", &["lspci -nnk -d 10de:", "sudo dmesg | grep -e NVRM -e nouveau"], ""),
    );
}

fn is_peer(name: &str) -> bool {
    let numbered = |begin: &str| {
        name.strip_prefix(begin).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    numbered("GPU") || numbered("NIC") || (name.starts_with("mlx") && name.len() < 24)
}

/// The titles of `topo -m`: the GPUs and the affinities.
fn is_topology(line: &str) -> bool {
    line.contains("GPU0") && line.contains("CPU Affinity") && !line.contains(": ")
}

fn judge_topology(explained: &mut Explained, words: &Words<'_>) {
    let finding = Finding::new(
        "gpu.topology",
        Status::Info,
        Confidence::Likely,
        "topology",
        "read in a VM, this table shows the VM's virtual hardware",
        "Which devices are near each other (PIX, PXB) or far (PHB, NODE, SYS) is that of the virtual slots: it tells nothing of the sockets and \
         PCIe switches of the host. On bare metal it does.",
    );
    explained.finding(
        finding
            .shown(
                words.number,
                &listed(&words.text.split('\t').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()),
            )
            .decided_by(
                "The slots of the VM against the PCI addresses and NUMA nodes of the host; NCCL takes a topology file",
            )
            .helped_by("Compare with the host", &["esxcli hardware pci list", "nvidia-smi -q | grep 'Bus Id'"], ""),
    );
}
