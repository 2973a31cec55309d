//! The passed-through GPUs of a machine: two A100 with a driver of one of two generations, which the seed draws. One of them works at
//! full load, the other one has nothing to do; what goes wrong strikes the one that works.

pub mod load;
mod print;
pub mod smi;

use std::collections::BTreeSet;

use super::load::mix;
use super::state::{Function, Module, Node, State, uuid};
use super::tree::{Entry, Tree};
use crate::lab::machine::{GpuTrouble, NotRead};

/// NVIDIA.
pub const VENDOR: u16 = 0x10de;

/// A release of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// `550.90.07`.
    pub version: &'static str,
    /// The CUDA version that it serves.
    pub cuda: &'static str,
    /// When it was built, as its version file says.
    pub built: &'static str,
    /// True since 535, which renamed much.
    pub is_new: bool,
}

/// The two releases. UNSOURCED: the dates of their builds.
const RELEASES: [Release; 2] = [
    Release { version: "525.147.05", cuda: "12.0", built: "Wed Oct 25 20:27:35 UTC 2023", is_new: false },
    Release { version: "550.90.07", cuda: "12.4", built: "Fri May 31 09:35:42 UTC 2024", is_new: true },
];

/// Addresses of the cards: behind the second and the fourth root port.
const ADDRESSES: [&str; 2] = ["0000:0b:00.0", "0000:1b:00.0"];

/// One card.
#[derive(Clone, Debug)]
pub struct Card {
    /// `0000:0b:00.0`.
    pub address: &'static str,
    /// `GPU-838f60d9-...`.
    pub uuid: String,
    /// Its serial number.
    pub serial: u64,
}

/// The GPUs of a machine.
#[derive(Clone, Debug)]
pub struct Gpus {
    /// The driver.
    pub release: Release,
    /// The cards in the order of their indices.
    pub cards: Vec<Card>,
    /// The card that works, and that troubles strike.
    pub struck: usize,
    /// What goes wrong.
    pub troubles: BTreeSet<GpuTrouble>,
    /// What the machine had before another driver took its cards.
    before: Option<(Vec<Function>, Vec<Module>)>,
}

impl Gpus {
    /// The GPUs of this seed.
    pub fn new(seed: u64) -> Self {
        let cards = ADDRESSES.iter().zip(0u64..).map(|(address, index)| Card {
            address,
            uuid: format!("GPU-{}", uuid(seed, 70 + index)),
            serial: 1_565_021_000_000 + mix(seed, 80 + index) % 1_000_000,
        });
        let drawn = |index: u64, of: u64| usize::try_from(mix(seed, index) % of).unwrap_or(0);
        Self {
            release: RELEASES[drawn(90, 2)],
            cards: cards.collect(),
            struck: drawn(91, 2),
            troubles: BTreeSet::new(),
            before: None,
        }
    }

    /// True if this goes wrong.
    pub fn has(&self, trouble: GpuTrouble) -> bool {
        self.troubles.contains(&trouble)
    }

    /// True if this card suffers it.
    pub fn suffers(&self, card: usize, trouble: GpuTrouble) -> bool {
        card == self.struck && self.has(trouble)
    }
}

/// Gives a machine its GPUs.
pub fn install(state: &mut State) {
    let gpus = Gpus::new(state.seed);
    for card in &gpus.cards {
        // Source: pci.ids for the names and numbers.
        state.functions.push(Function {
            address: card.address.to_owned(),
            class_name: "3D controller",
            class: 0x03_0200,
            ids: (VENDOR, 0x20f1),
            name: "NVIDIA Corporation GA100 [A100 PCIe 40GB]",
            revision: 0xa1,
            subsystem: Some(("NVIDIA Corporation GA100 [A100 PCIe 40GB]", VENDOR, 0x145f)),
            driver: Some("nvidia"),
            modules: vec!["nouveau", "nvidia_drm", "nvidia"],
            link: Some(("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe", 16)),
        });
    }
    state.functions.sort_by(|one, other| one.address.cmp(&other.address));
    // UNSOURCED: sizes of the modules.
    let module = |name, size, uses, users| Module { name, size, uses, users };
    let own = [
        module("nvidia_uvm", 1_523_712, 2, ""),
        module("nvidia_drm", 94_208, 0, ""),
        module("nvidia_modeset", 1_314_816, 1, "nvidia_drm"),
        module("nvidia", 56_823_808, 44, "nvidia_uvm,nvidia_modeset"),
    ];
    state.modules.splice(0..0, own);
    state.module_versions.push(("nvidia", gpus.release.version));
    state.nodes = vec![
        Node { processors: (0, 7), kibibytes: (65_936_108, 41_208_512) },
        Node { processors: (8, 15), kibibytes: (66_057_212, 43_110_920) },
    ];
    for (name, value) in &mut state.tools {
        if *name == "memres" {
            *value = "131072 MB";
        }
    }
    state.gpus = Some(gpus);
}

/// Begins or ends a trouble.
pub fn suffer(state: &mut State, now: f64, trouble: GpuTrouble, on: bool) {
    let at = now - state.boot.at;
    let Some(gpus) = &mut state.gpus else { return };
    let is_new = if on { gpus.troubles.insert(trouble) } else { gpus.troubles.remove(&trouble) };
    if !is_new {
        return;
    }
    if on {
        let card = &gpus.cards[gpus.struck];
        let lines = messages(trouble, card.address, &card.uuid, gpus.cards.len());
        state.log.extend(lines.into_iter().zip(0u32..).map(|(line, nth)| (at + 0.000_2 * f64::from(nth), line)));
    }
    if trouble == GpuTrouble::Nouveau {
        hand_over(state, on);
    }
}

/// What the kernel says when it happens.
///
/// Source: tests/fixtures/public/79-journal-xid-79.txt and 118-dmesg-nouveau-owns-gpu.txt; NVIDIA's Xid catalogue and published
/// messages for 48 and 63.
fn messages(trouble: GpuTrouble, address: &str, uuid: &str, cards: usize) -> Vec<String> {
    let slot = address.split('.').next().unwrap_or(address);
    match trouble {
        GpuTrouble::OffTheBus => vec![
            format!("NVRM: GPU at PCI:{slot}: {uuid}"),
            format!("NVRM: Xid (PCI:{slot}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
            format!("NVRM: GPU {address}: GPU has fallen off the bus."),
        ],
        GpuTrouble::DoubleBit => vec![
            format!("NVRM: GPU at PCI:{slot}: {uuid}"),
            format!(
                "NVRM: Xid (PCI:{slot}): 48, pid=4711, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in \
                 the framebuffer at partition 3, subpartition 1."
            ),
            format!(
                "NVRM: Xid (PCI:{slot}): 63, pid=4711, name=python3, Row Remapper: New row marked for remapping, reset gpu to activate."
            ),
        ],
        GpuTrouble::Nouveau => vec![
            format!("nouveau {address}: NVIDIA GA100 (170000a1)"),
            format!("NVRM: The NVIDIA probe routine was not called for {cards} device(s)."),
            "NVRM: This can occur when a driver such as:".to_owned(),
            "NVRM: nouveau, rivafb, nvidiafb or rivatv".to_owned(),
            "NVRM: was loaded and obtained ownership of the NVIDIA device(s).".to_owned(),
            "NVRM: Try unloading the conflicting kernel module (and/or".to_owned(),
            "NVRM: reconfigure your kernel without the conflicting".to_owned(),
            "NVRM: driver(s)), then try loading the NVIDIA kernel module".to_owned(),
            "NVRM: again.".to_owned(),
            "NVRM: No NVIDIA devices probed.".to_owned(),
        ],
        GpuTrouble::PcieSaturated | GpuTrouble::NarrowLink | GpuTrouble::TooHot | GpuTrouble::MigPending => Vec::new(),
    }
}

/// Gives the cards to nouveau, or back.
pub fn hand_over(state: &mut State, on: bool) {
    let Some(gpus) = &mut state.gpus else { return };
    if !on {
        if let Some((functions, modules)) = gpus.before.take() {
            (state.functions, state.modules) = (functions, modules);
        }
        return;
    }
    if gpus.before.is_some() {
        return;
    }
    gpus.before = Some((state.functions.clone(), state.modules.clone()));
    for function in state.functions.iter_mut().filter(|function| function.ids.0 == VENDOR) {
        function.driver = Some("nouveau");
    }
    state.modules.retain(|module| !module.name.starts_with("nvidia"));
    // UNSOURCED: its size.
    state.modules.insert(0, Module { name: "nouveau", size: 2_433_024, uses: 2, users: "" });
}

/// True if the driver of the cards is another one than NVIDIA's.
pub fn is_foreign(state: &State) -> bool {
    state.gpus.as_ref().is_some_and(|gpus| gpus.before.is_some())
}

/// The file by which the driver tells its version.
///
/// Source: the form of published `/proc/driver/nvidia/version`.
pub fn fill_tree(tree: &mut Tree, state: &State) {
    if state.gpus.is_none() {
        return;
    }
    let version = |state: &State| {
        let gpus = state.gpus.as_ref().filter(|_| !is_foreign(state)).ok_or(NotRead::Missing)?;
        let Release { version, built, .. } = gpus.release;
        Ok(format!(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  {built}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n"
        ))
    };
    tree.put("/proc/driver/nvidia/version", Entry::File(0o444, Box::new(move |moment| version(moment.state))));
}

/// The files of the link of a card in its folder of sysfs: they follow what the card does.
pub fn link_files(tree: &mut Tree, folder: &str, address: &str) {
    let card = ADDRESSES.iter().position(|known| *known == address).unwrap_or(0);
    tree.put(
        &format!("{folder}/current_link_speed"),
        Entry::text(move |moment| format!("{}\n", speed(load::now(moment.state, card, moment.now).generation))),
    );
    tree.put(
        &format!("{folder}/current_link_width"),
        Entry::text(move |moment| format!("{}\n", load::now(moment.state, card, moment.now).lanes)),
    );
    tree.fixed(&format!("{folder}/max_link_speed"), format!("{}\n", speed(4)));
    tree.fixed(&format!("{folder}/max_link_width"), "16\n");
}

fn speed(generation: u64) -> &'static str {
    match generation {
        1 => "2.5 GT/s PCIe",
        2 => "5.0 GT/s PCIe",
        3 => "8.0 GT/s PCIe",
        _ => "16.0 GT/s PCIe",
    }
}

/// Lines of a boot.
///
/// Source: facts of the driver's words; UNSOURCED: their times.
pub fn boot_lines(state: &State) -> Vec<(f64, String)> {
    let Some(gpus) = &state.gpus else { return Vec::new() };
    let Release { version, built, .. } = gpus.release;
    vec![
        (6.410_021, "nvidia: module license 'NVIDIA' taints kernel.".to_owned()),
        (6.520_077, format!("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {version}  {built}")),
    ]
}
