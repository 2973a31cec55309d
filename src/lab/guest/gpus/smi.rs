//! `nvidia-smi` and `dcgmi` of a machine with GPUs, each answer rendered from its state.

use super::super::command::{Scene, fails, says};
use super::load::{self, MEMORY, Now, POWER_LIMIT};
use super::print;
use super::{Card, Gpus, is_foreign};
use crate::lab::guest::templates::Append as _;
use crate::lab::machine::{Answer, GpuTrouble};

/// The tool is there and the driver is not.
///
/// Source: published output, exit status 9 by its manual.
const NO_DRIVER: &str = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA \
                         driver is installed and running.\n\n";

/// `nvidia-smi`; `None` on a machine without GPUs.
pub fn nvidia_smi(scene: &Scene<'_>, words: &[&str]) -> Option<Answer> {
    let gpus = scene.moment.state.gpus.as_ref()?;
    if is_foreign(scene.moment.state) {
        return Some(Answer { stdout: NO_DRIVER.to_owned(), status: 9, ..Answer::default() });
    }
    if gpus.has(GpuTrouble::OffTheBus) {
        // Source: published output. UNSOURCED: the exit status.
        let address = gpus.cards[gpus.struck].address.to_ascii_uppercase();
        let stdout = format!(
            "Unable to determine the device handle for GPU{address}: GPU is lost.  Reboot the system to recover this GPU\n\n"
        );
        return Some(Answer { stdout, status: 15, ..Answer::default() });
    }
    let words: Vec<&str> = loop_mode_taken_out(words);
    let list = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    Some(match words[..] {
        ["-L"] => says(gpus.cards.iter().zip(0..).map(|(card, index)| heading(card, index)).collect::<String>()),
        ["-q", ..] => says(print::query(scene)),
        ["topo", "-m"] => says(print::topology(scene.moment.state)),
        ["nvlink", "-s"] => says(links(gpus, |link| format!("\t Link {link}: 25 GB/s\n"))),
        ["nvlink", "-e"] => says(links(gpus, |link| {
            ["Replay", "Recovery", "CRC"].map(|kind| format!("\t Link {link}: {kind} Errors: 0\n")).concat()
        })),
        // Source: published output of a machine without MIG. UNSOURCED: the exit status.
        ["mig", "-lgi" | "-lci"] => {
            Answer { stdout: "No MIG-enabled devices found.\n".to_owned(), status: 6, ..Answer::default() }
        }
        ["dmon", ..] => says(dmon(scene, gpus)),
        _ if list("--query-gpu=").is_some() => query_gpu(scene, gpus, list("--query-gpu=").unwrap_or_default(), &words),
        _ if list("--query-compute-apps=").is_some() => {
            apps(scene, gpus, list("--query-compute-apps=").unwrap_or_default(), &words)
        }
        _ => fails("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", 2),
    })
}

/// The words without those that ask for a loop: who runs the loop asks for one round at a time.
fn loop_mode_taken_out<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        if word == "-l" {
            rest.next();
        } else {
            kept.push(word);
        }
    }
    kept
}

/// Source: the form of published `nvidia-smi -L`.
fn heading(card: &Card, index: usize) -> String {
    format!("GPU {index}: NVIDIA A100-PCIE-40GB (UUID: {})\n", card.uuid)
}

/// A bridge of three joins both cards by twelve links.
fn links(gpus: &Gpus, of: impl Fn(u32) -> String) -> String {
    let of = |(card, index)| heading(card, index) + &(0..12).map(&of).collect::<String>();
    gpus.cards.iter().zip(0..).map(of).collect()
}

/// The column's name in the header and its unit: names of the old release come back as they were asked for.
fn column(name: &str) -> (&str, &'static str) {
    match name {
        "clocks.sm" => ("clocks.current.sm", "MHz"),
        "clocks.mem" => ("clocks.current.memory", "MHz"),
        "utilization.gpu" | "utilization.memory" => (name, "%"),
        "memory.total" | "memory.used" | "memory.free" => (name, "MiB"),
        "used_memory" => ("used_gpu_memory", "MiB"),
        "power.draw" | "power.limit" => (name, "W"),
        name => (name, ""),
    }
}

fn value(scene: &Scene<'_>, gpus: &Gpus, index: usize, now: &Now, name: &str) -> Option<String> {
    let card = &gpus.cards[index];
    let pending = gpus.suffers(index, GpuTrouble::MigPending);
    Some(match name {
        "index" => index.to_string(),
        "count" => gpus.cards.len().to_string(),
        "uuid" | "gpu_uuid" => card.uuid.clone(),
        "name" | "gpu_name" => "NVIDIA A100-PCIE-40GB".to_owned(),
        "pci.bus_id" | "gpu_bus_id" => print::bus(card.address),
        "driver_version" => gpus.release.version.to_owned(),
        "timestamp" => scene.moment.wall().strftime("%Y/%m/%d %H:%M:%S.000").to_string(),
        "pstate" => now.state.to_owned(),
        "clocks_throttle_reasons.active" => format!("0x{:016x}", now.reasons),
        "clocks_event_reasons.active" if gpus.release.is_new => format!("0x{:016x}", now.reasons),
        "utilization.gpu" => now.used.to_string(),
        "utilization.memory" => now.memory_busy.to_string(),
        "memory.total" => MEMORY.0.to_string(),
        "memory.used" => now.memory.to_string(),
        "memory.free" => (MEMORY.0 - MEMORY.1 - now.memory).to_string(),
        "power.draw" => format!("{:.2}", now.power),
        "power.limit" => format!("{POWER_LIMIT:.2}"),
        "clocks.sm" => now.sm_clock.to_string(),
        "clocks.mem" => "1215".to_owned(),
        "temperature.gpu" => now.temperatures.0.to_string(),
        "temperature.memory" => now.temperatures.1.to_string(),
        "pcie.link.gen.current" => now.generation.to_string(),
        "pcie.link.gen.gpucurrent" if gpus.release.is_new => now.generation.to_string(),
        "pcie.link.gen.max" => "4".to_owned(),
        "pcie.link.width.current" => now.lanes.to_string(),
        "pcie.link.width.max" => "16".to_owned(),
        "mig.mode.current" => "Disabled".to_owned(),
        "mig.mode.pending" => if pending { "Enabled" } else { "Disabled" }.to_owned(),
        "compute_mode" => "Default".to_owned(),
        "persistence_mode" => "Enabled".to_owned(),
        _ => return None,
    })
}

/// What the tool says of a field that it does not know.
///
/// Source: facts of its words. UNSOURCED: the exit status.
fn not_a_field(name: &str) -> Answer {
    Answer { stdout: format!("Field \"{name}\" is not a valid field to query.\n\n"), status: 2, ..Answer::default() }
}

fn header(names: &[&str], words: &[&str]) -> String {
    let format = words.iter().find_map(|word| word.strip_prefix("--format=")).unwrap_or_default();
    if format.contains("noheader") {
        return String::new();
    }
    let titles = names.iter().map(|name| match column(name) {
        (name, "") => name.to_owned(),
        (name, unit) => format!("{name} [{unit}]"),
    });
    titles.collect::<Vec<_>>().join(", ") + "\n"
}

fn cell(name: &str, value: String, words: &[&str]) -> String {
    let is_bare = words.iter().any(|word| word.contains("nounits"));
    match column(name).1 {
        "" => value,
        _ if is_bare => value,
        unit => format!("{value} {unit}"),
    }
}

/// Source: facts of `--query-gpu`: fields, header, separator, units.
fn query_gpu(scene: &Scene<'_>, gpus: &Gpus, fields: &str, words: &[&str]) -> Answer {
    let names: Vec<&str> = fields.split(',').map(str::trim).collect();
    let mut text = header(&names, words);
    for index in 0..gpus.cards.len() {
        let now = load::now(scene.moment.state, index, scene.moment.now);
        let mut row = Vec::new();
        for name in &names {
            match value(scene, gpus, index, &now, name) {
                Some(value) => row.push(cell(name, value, words)),
                None => return not_a_field(name),
            }
        }
        text.add(format_args!("{}\n", row.join(", ")));
    }
    says(text)
}

/// Source: facts of `--query-compute-apps`.
fn apps(scene: &Scene<'_>, gpus: &Gpus, fields: &str, words: &[&str]) -> Answer {
    let names: Vec<&str> = fields.split(',').map(str::trim).collect();
    let mut text = header(&names, words);
    let now = load::now(scene.moment.state, gpus.struck, scene.moment.now);
    let mut row = Vec::new();
    for name in &names {
        let value = match *name {
            "pid" => Some("4711".to_owned()),
            "process_name" | "name" => Some("/usr/bin/python3".to_owned()),
            "used_memory" | "used_gpu_memory" => Some((now.memory - 6).to_string()),
            name => value(scene, gpus, gpus.struck, &now, name),
        };
        match value {
            Some(value) => row.push(cell(name, value, words)),
            None => return not_a_field(name),
        }
    }
    text.add(format_args!("{}\n", row.join(", ")));
    says(text)
}

/// Source: published output of `nvidia-smi dmon -s t`.
fn dmon(scene: &Scene<'_>, gpus: &Gpus) -> String {
    let mut text = "# gpu  rxpci  txpci \n# Idx   MB/s   MB/s \n".to_owned();
    for index in 0..gpus.cards.len() {
        let (sent, received) = load::now(scene.moment.state, index, scene.moment.now).payload;
        text.add(format_args!("{index:>5}  {:>5.0}  {:>5.0} \n", received / 1e6, sent / 1e6));
    }
    text
}

/// Fields of DCGM by their numbers, and the names of their columns.
const DCGM: [(&str, &str); 11] = [
    ("1001", "GRACT"),
    ("1002", "SMACT"),
    ("1004", "TENSO"),
    ("1005", "DRAMA"),
    ("1009", "PCITX"),
    ("1010", "PCIRX"),
    ("1011", "NVLTX"),
    ("1012", "NVLRX"),
    ("203", "GPUTL"),
    ("155", "POWER"),
    ("150", "TMPTR"),
];

/// `dcgmi`; `None` on a machine without GPUs.
///
/// Source: facts of `dcgmi dmon`, from a published capture. UNSOURCED: the table of `discovery`.
pub fn dcgmi(scene: &Scene<'_>, words: &[&str]) -> Option<Answer> {
    let gpus = scene.moment.state.gpus.as_ref()?;
    if is_foreign(scene.moment.state) || gpus.has(GpuTrouble::OffTheBus) {
        let complaint = "Error: unable to establish a connection to the specified host: localhost\n";
        return Some(Answer { stdout: complaint.to_owned(), status: 255, ..Answer::default() });
    }
    if words == ["discovery", "-l"] {
        return Some(says(format!("{} GPUs found.\n", gpus.cards.len())));
    }
    let ("dmon", Some(fields)) = (*words.first()?, words.iter().position(|word| *word == "-e")) else {
        return Some(fails("Error: Unable to parse the command line.\n", 1));
    };
    let fields: Vec<&str> = words.get(fields + 1).map(|fields| fields.split(',').collect()).unwrap_or_default();
    let name = |field: &str| DCGM.iter().find(|(number, _)| *number == field).map(|(_, name)| *name);
    let Some(names) = fields.iter().map(|field| name(field)).collect::<Option<Vec<&str>>>() else {
        return Some(fails("Error: Unknown field\n", 1));
    };
    let line = |first: &str, cells: Vec<String>| {
        let mut text = format!("{first:<10}");
        for cell in cells {
            text.add(format_args!("{cell:<21}"));
        }
        text + "\n"
    };
    let mut text = line("#Entity", names.iter().map(|name| (*name).to_owned()).collect());
    text.push_str(&line("ID", names.iter().map(|_| String::new()).collect()));
    for index in 0..gpus.cards.len() {
        let now = load::now(scene.moment.state, index, scene.moment.now);
        let (sent, received) = now.carried();
        let cells = names.iter().map(|name| match *name {
            "GRACT" => format!("{:.3}", now.active[0]),
            "SMACT" => format!("{:.3}", now.active[1]),
            "TENSO" => format!("{:.3}", now.active[2]),
            "DRAMA" => format!("{:.3}", now.active[3]),
            "PCITX" => format!("{sent:.0}"),
            "PCIRX" => format!("{received:.0}"),
            "GPUTL" => now.used.to_string(),
            "POWER" => format!("{:.3}", now.power),
            "TMPTR" => now.temperatures.0.to_string(),
            // Both cards compute alone.
            _ => "0".to_owned(),
        });
        text.push_str(&line(&format!("GPU {index}"), cells.collect()));
    }
    Some(says(text))
}
