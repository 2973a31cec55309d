//! The long forms: `nvidia-smi -q` and `topo -m`.

use super::super::command::Scene;
use super::super::state::State;
use super::load::{self, MEMORY};
use crate::lab::guest::templates::{Append as _, body, fill};
use crate::lab::machine::GpuTrouble;

/// An address as the tool prints it: `00000000:0B:00.0`.
pub fn bus(address: &str) -> String {
    format!("0000{}", address.to_ascii_uppercase())
}

/// `nvidia-smi -q`.
pub fn query(scene: &Scene<'_>) -> String {
    let state = scene.moment.state;
    let Some(gpus) = &state.gpus else { return String::new() };
    let width = if gpus.release.is_new { 50 } else { 42 };
    let wall = scene.moment.wall().strftime("%a %b %e %H:%M:%S %Y").to_string();
    let mut text = "\n==============NVSMI LOG==============\n\n".to_owned();
    for (key, value) in
        [("Timestamp", wall.as_str()), ("Driver Version", gpus.release.version), ("CUDA Version", gpus.release.cuda)]
    {
        text.add(format_args!("{key:<width$}: {value}\n"));
    }
    text.add(format_args!("\n{:<width$}: {}\n", "Attached GPUs", gpus.cards.len()));
    for index in 0..gpus.cards.len() {
        text.push_str(&card(scene, index, width));
    }
    text
}

fn card(scene: &Scene<'_>, index: usize, width: usize) -> String {
    let state = scene.moment.state;
    let Some(gpus) = &state.gpus else { return String::new() };
    let (card, now) = (&gpus.cards[index], load::now(state, index, scene.moment.now));
    let suffers = |trouble| gpus.suffers(index, trouble);
    let broken = suffers(GpuTrouble::DoubleBit);
    let bus = bus(card.address);
    let number = |number: u64| number.to_string();
    let choose = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
    let active = |bit: u64| choose(now.reasons & bit != 0, "Active", "Not Active");
    let bus_number = bus.get(9..11).unwrap_or("00").to_owned();
    let kilobytes = |bytes: f64| format!("{:.0}", bytes / 1000.0);
    let values = [
        ("board", format!("{bus_number}00")),
        ("bus_number", bus_number),
        ("bus", bus),
        ("uuid", card.uuid.clone()),
        ("serial", number(card.serial)),
        ("index", index.to_string()),
        ("gsp", choose(gpus.release.is_new, gpus.release.version, "N/A")),
        ("persistence", "Enabled".to_owned()),
        ("compute_mode", "Default".to_owned()),
        ("mig", "Disabled".to_owned()),
        ("mig_pending", choose(suffers(GpuTrouble::MigPending), "Enabled", "Disabled")),
        ("ecc_pending", "Enabled".to_owned()),
        ("reset", "No".to_owned()),
        ("drain", choose(broken, "Yes", "No")),
        ("generation", number(now.generation)),
        ("lanes", number(now.lanes)),
        ("replays", "0".to_owned()),
        ("sent", kilobytes(now.payload.0)),
        ("received", kilobytes(now.payload.1)),
        ("pstate", now.state.to_owned()),
        ("idle", active(1)),
        ("hw_slowdown", active(8)),
        ("hw_thermal", active(64)),
        ("used", number(now.memory)),
        ("free", number(MEMORY.0 - MEMORY.1 - now.memory)),
        ("use", number(now.used)),
        ("memory_busy", number(now.memory_busy)),
        ("uncorrected", choose(broken, "1", "0")),
        ("remap_pending", choose(broken, "Yes", "No")),
        ("banks", choose(broken, "639", "640")),
        ("banks_high", choose(broken, "1", "0")),
        ("temperature", number(now.temperatures.0)),
        ("memory_temperature", number(now.temperatures.1)),
        ("power", format!("{:.2}", now.power)),
        ("sm_clock", number(now.sm_clock)),
        ("video_clock", choose(now.used > 0, "1275", "585")),
    ];
    let mut text = String::new();
    for line in body(include_str!("../templates/nvidia-smi-q.txt")).lines() {
        let Some((of, line)) = line.split_at_checked(1) else { continue };
        if of == "<" && gpus.release.is_new || of == ">" && !gpus.release.is_new {
            continue;
        }
        let line = fill(line, &values);
        match line.split_once('|') {
            Some((key, value)) => text.add(format_args!("{key:<width$}: {value}\n")),
            None => text.add(format_args!("{line}\n")),
        }
    }
    if now.used == 0 {
        text.add(format_args!("{:<width$}: None\n\n", "    Processes"));
        return text;
    }
    text.push_str("    Processes\n");
    for (key, value) in [
        ("        GPU instance ID", "N/A".to_owned()),
        ("        Compute instance ID", "N/A".to_owned()),
        ("        Process ID", "4711".to_owned()),
        ("            Type", "C".to_owned()),
        ("            Name", "/usr/bin/python3".to_owned()),
        ("            Used GPU Memory", format!("{} MiB", now.memory - 6)),
    ] {
        text.add(format_args!("{key:<width$}: {value}\n"));
    }
    text.push('\n');
    text
}

/// `nvidia-smi topo -m`: titles are underlined also without a terminal, and tabs before the last columns are doubled.
///
/// Source: facts of its form. UNSOURCED: what it says of the affinity in a VM that tells no node of its devices.
pub fn topology(state: &State) -> String {
    let Some(gpus) = &state.gpus else { return String::new() };
    let last = if gpus.release.is_new { "\tGPU NUMA ID" } else { "" };
    let cpus = format!("0-{}", state.processors() - 1);
    let mut text = format!("\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity{last}\u{1b}[0m\n");
    let end = if gpus.release.is_new { "\t\tN/A" } else { "" };
    text.add(format_args!("GPU0\t X \tNV12\tPHB\t{cpus}\tN/A{end}\n"));
    text.add(format_args!("GPU1\tNV12\t X \tPHB\t{cpus}\tN/A{end}\n"));
    text.add(format_args!("NIC0\tPHB\tPHB\t X \t\t{}\n", if gpus.release.is_new { "\t\t" } else { "" }));
    text.push_str(
        "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n  \
         NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n  PHB  = Connection \
         traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n  PXB  = Connection traversing multiple PCIe bridges (without \
         traversing the PCIe Host Bridge)\n  PIX  = Connection traversing at most a single PCIe bridge\n  NV#  = Connection traversing a \
         bonded set of # NVLinks\n",
    );
    text.add(format_args!("\nNIC Legend:\n\n  NIC0: {}\n\n", state.adapter.device));
    text
}
