//! Kernel messages of dmesg, the journal and syslog: of RDMA and network drivers, of GPUs, of the virtual machine. What they
//! mean is the same table that a live guest is read with; how grave they are is said as the checks say it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::is_address;
use crate::diagnose::check::kernel;
use crate::diagnose::explain::parts::Line;
use crate::diagnose::explain::{Explained, Kind, MOST_EVIDENCE};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::probe::linux::kernel_log::{self, MATTERS};
use crate::probe::needles::Needles;

static WORDS: LazyLock<Needles> = LazyLock::new(|| Needles::new(MATTERS.iter().map(|word| (*word, 0))));

/// Names that begin a message of a driver where the stamp was left out.
const DRIVERS: [&str; 10] = [
    "NVRM:",
    "vmw_pvrdma",
    "mlx5_core",
    "mlx4_core",
    "vmxnet3 ",
    "nvidia-modeset:",
    "nouveau ",
    "infiniband ",
    "rdma_rxe:",
    "bnxt_re",
];

/// What a line looks like that the kernel wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Of something else.
    None,
    /// `[   12.345678] ...`, or a driver's name at the begin.
    Dmesg,
    /// `Apr 29 19:24:11 host kernel: ...`
    Journal,
    /// A line of another program in the journal.
    Program,
}

fn shape(line: &str) -> Shape {
    let text = line.trim_start();
    let first = text.as_bytes().first().copied().unwrap_or_default();
    if first == b'[' || first == b'<' {
        let inside = text.trim_start_matches(|c: char| c == '<' || c == '>' || c.is_ascii_digit());
        let stamp =
            inside.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(stamp, _)| stamp.trim());
        // Seconds since the boot; UCX and others write those since 1970 in the same form.
        let seconds = stamp.split_once('.').is_some_and(|(whole, part)| {
            part.len() == 6
                && (1..=9).contains(&whole.len())
                && whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit())
        });
        // `[Sat Nov 29 19:24:11 2025]`
        let written =
            stamp.len() == 24 && stamp.matches(':').count() == 2 && stamp.starts_with(|c: char| c.is_ascii_uppercase());
        let more = text.split_once(']').is_some_and(|(_, rest)| rest.starts_with(' '));
        return if (seconds || written) && more { Shape::Dmesg } else { Shape::None };
    }
    if is_of_driver(text) {
        return Shape::Dmesg;
    }
    if is_syslog(text) {
        let program = text.get(16..).unwrap_or_default();
        return if program.contains(" kernel: ") { Shape::Journal } else { Shape::Program };
    }
    if first.is_ascii_digit() && text[..text.floor_char_boundary(120)].contains(" kernel: ") {
        return Shape::Journal;
    }
    Shape::None
}

/// The log that a line is of which begins with a time, or as messages of drivers do.
pub(in crate::diagnose::explain) fn log(line: &str) -> Option<Kind> {
    match shape(line) {
        Shape::Dmesg => Some(Kind::KernelLog),
        Shape::Journal | Shape::Program => Some(Kind::Journal),
        Shape::None => None,
    }
}

/// True for a message of a driver: its name with a colon, or with its device behind it. Tables begin with such names too.
fn is_of_driver(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_device = |word: &str| word.ends_with(':') || is_address(word);
    DRIVERS.iter().any(|driver| text.starts_with(driver))
        && (first.ends_with(':') || words.next().is_some_and(is_device))
}

/// True for a line that begins with the time of a message, which no line goes on with that was wrapped.
pub(in crate::diagnose::explain) fn is_stamped(line: &str) -> bool {
    match shape(line) {
        Shape::Dmesg => line.trim_start().starts_with(['[', '<']) || line.trim_start().starts_with("NVRM:"),
        Shape::Journal | Shape::Program => true,
        Shape::None => false,
    }
}

/// `Apr 29 19:24:11 host program[12]: ...`
fn is_syslog(text: &str) -> bool {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let bytes = text.as_bytes();
    let Some(head) = bytes.get(..16) else { return false };
    let digit = |at: usize| head[at].is_ascii_digit();
    MONTHS.contains(&&head[..3])
        && head[3] == b' '
        && (digit(4) || head[4] == b' ')
        && digit(5)
        && head[6] == b' '
        && digit(7)
        && digit(8)
        && head[9] == b':'
        && digit(10)
        && head[12] == b':'
        && digit(13)
        && head[15] == b' '
        && text.get(16..).is_some_and(|rest| {
            let (_, rest) = rest.split_once(' ').unwrap_or_default();
            rest.split_once(": ").is_some_and(|(program, _)| !program.is_empty() && !program.contains(' '))
        })
}

/// Reads all of it.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut kept: Vec<(u32, &str)> = Vec::new();
    let mut before = Shape::None;
    for (number, line) in lines {
        let shape = match shape(line) {
            // The second line of a message has no stamp and is indented.
            Shape::None if before == Shape::Dmesg && line.starts_with([' ', '\t']) && line.contains("NVRM:") => {
                Shape::Dmesg
            }
            shape => shape,
        };
        match shape {
            Shape::Dmesg => explained.is(Kind::KernelLog),
            Shape::Journal | Shape::Program => explained.is(Kind::Journal),
            Shape::None => {}
        }
        if matches!(shape, Shape::Dmesg | Shape::Journal) {
            // A message goes on in the next line: what is known of its words is decided when it is whole.
            if WORDS.groups(line) != 0 {
                kept.push((*number, line));
            }
        }
        before = shape;
    }
    if kept.is_empty() {
        return;
    }
    let messages = kernel_log::explained(kept.iter().copied());
    let raw = |(first, last): (u32, u32)| {
        let from = kept.partition_point(|(number, _)| *number < first);
        kept[from..].iter().take_while(move |(number, _)| *number <= last).take(4).copied()
    };
    gpus(explained, &messages, &raw);
    drivers(explained, &messages, &raw);
}

type Message = kernel_log::Explained;

fn shown<'a, I: Iterator<Item = (u32, &'a str)>>(
    finding: Finding,
    messages: &[&Message],
    raw: &dyn Fn((u32, u32)) -> I,
) -> Finding {
    let lines = messages.iter().flat_map(|message| raw(message.lines));
    lines.take(MOST_EVIDENCE).fold(finding, |finding, (number, line)| finding.shown(number, line.trim()))
}

/// What the NVIDIA driver says.
fn gpus<'a, I: Iterator<Item = (u32, &'a str)>>(
    explained: &mut Explained,
    messages: &[Message],
    raw: &dyn Fn((u32, u32)) -> I,
) {
    let with = |words: &[&str]| -> Vec<&Message> {
        messages.iter().filter(|message| words.iter().any(|word| message.text.contains(word))).collect()
    };
    let xids: Vec<(&Message, u64, bool)> = messages
        .iter()
        .filter_map(|message| kernel::xid(&message.text).map(|(number, is_switch)| (message, number, is_switch)))
        .collect();
    let off: Vec<&Message> = messages.iter().filter(|message| kernel::fell_off_bus(&message.text)).collect();
    if !off.is_empty() {
        let finding = Finding::new(
            "gpu.fell-off-bus",
            Status::Fail,
            Confidence::Proved,
            "GPU",
            "a GPU has fallen off the bus",
            "The driver reads nothing but ones from it (with Xid 79 or without): the PCIe link is down, the card lost power or is too hot, or the host \
             reset it. Nothing in the guest brings it back.",
        );
        explained.finding(
            shown(finding, &off, raw)
                .decided_by("On the host: grep -e 'link to the device is down' -e AER /var/log/vmkernel.log; the hardware's own log")
                .helped_by("Power the VM off and on, then look at the hardware: seat, power cables, cooling, firmware of the card", &["lspci -nnk -d 10de:", "nvidia-smi"], ""),
        );
    }
    let mut numbers: BTreeMap<(u64, bool, &str), Vec<&Message>> = BTreeMap::new();
    for (message, number, is_switch) in xids.iter().filter(|(_, number, is_switch)| *is_switch || *number != 79) {
        // What the driver wants done is a state of each GPU.
        let of = message.meaning.as_deref().and_then(|meaning| meaning.split_once(": ")).map_or("", |(of, _)| of);
        let of = if *number == 154 { of } else { "" };
        numbers.entry((*number, *is_switch, of)).or_default().push(message);
    }
    for ((number, is_switch, _), own) in numbers.into_iter().take(64) {
        let kind = if is_switch { "SXid" } else { "Xid" };
        // The last action that was wanted holds.
        let Some(decides) = (if number == 154 { own.last() } else { own.first() }) else { continue };
        let meaning = decides.meaning.clone().unwrap_or_default();
        let (of, meaning) = meaning.split_once(": ").unwrap_or(("", &meaning));
        let of = of.split_once(" of ").map_or("a GPU", |(_, of)| of);
        let title = format!("{kind} {number} of {of}: {}", meaning.split(';').next().unwrap_or_default());
        let (status, what) = match kernel::xid_status(&decides.text, number, is_switch) {
            Status::Info if number == 154 => (Status::Info, "What was wanted of it before is done or over."),
            Status::Info => (Status::Info, "An application caused it; the GPU is well."),
            Status::Warn => (Status::Warn, "It ends jobs or announces trouble."),
            status if number == 154 => (status, "An error left the GPU in a state that this action ends."),
            status => (status, "The GPU, or the link, must be reset, or is broken."),
        };
        let cause = format!("{what} {meaning}.");
        let finding = Finding::new("gpu.xid", status, Confidence::Proved, of, &title, &cause);
        explained.finding(
            shown(finding, &own, raw)
                .decided_by("The messages just before it, and the number in NVIDIA's Xid catalogue")
                .helped_by(
                    "Look at the GPU",
                    &["sudo dmesg | grep -A3 Xid", "nvidia-smi -q -d ECC,ROW_REMAPPER,PERFORMANCE"],
                    "",
                ),
        );
    }
    let nouveau = with(&["probe routine was not called"]);
    if !nouveau.is_empty() {
        let mut own = with(&["Initialized nouveau", "registered panic notifier"]);
        own.truncate(2);
        own.extend(&nouveau);
        let named = own.iter().any(|message| message.text.contains("nouveau"));
        let title = if named { "nouveau has the GPU" } else { "another driver has the GPU" };
        let finding = Finding::new(
            "gpu.driver-bound",
            Status::Fail,
            Confidence::Proved,
            "GPU",
            title,
            "It came first and keeps the GPU: the NVIDIA module loads and finds nothing (\"probe routine was not called\"; \"probe routine failed\" would be \
             another thing: then the driver tried and failed). CUDA has no device.",
        );
        explained.finding(
            shown(finding, &own, raw)
                .decided_by("\"Kernel driver in use\" of lspci -nnk")
                .helped_by(
                    "Keep nouveau off, rebuild the initramfs, start anew",
                    &["lspci -nnk -d 10de:", "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/block-nouveau.conf", "sudo update-initramfs -u   (Red Hat: dracut --force)", "sudo reboot"],
                    "lspci -nnk: Kernel driver in use: nvidia",
                ),
        );
    }
    let unsupported: Vec<&Message> = messages
        .iter()
        .filter(|message| message.text.contains("not supported by the") && message.text.contains("driver release"))
        .collect();
    if !unsupported.is_empty() {
        let finding = Finding::new(
            "gpu.driver-support",
            Status::Fail,
            Confidence::Proved,
            "GPU",
            "the NVIDIA driver does not serve this GPU",
            "One of three: the VM has a vGPU and needs the guest driver of its host's vGPU release; the release is older than the GPU; or the open module \
             does not know a GPU as old as this one. That no device was initialised follows from it.",
        );
        explained.finding(
            shown(finding, &unsupported, raw)
                .decided_by("lspci -nn -v -d 10de:: the subsystem of a vGPU is one of a profile; on its host: the kind of its device")
                .helped_by("Look at the device and the driver", &["lspci -nn -v -d 10de:", "modinfo nvidia | grep -e ^version -e license"], ""),
        );
    }
    let regions = with(&["PCI I/O region assigned to your NVIDIA device is invalid"]);
    let failed = with(&["RmInitAdapter failed", "rm_init_adapter failed"]);
    // What lspci says in the same text is told already.
    let told = explained.findings.iter().any(|finding| finding.check == "vm.bar-unassigned");
    if !(told || regions.is_empty() && failed.is_empty()) {
        let finding = if regions.is_empty() {
            Finding::new(
                "gpu.bar-unassigned",
                Status::Fail,
                Confidence::Likely,
                "GPU",
                "the NVIDIA driver could not start the GPU",
                "\"RmInitAdapter failed\": in a VM most often a window above 4 GiB that is missing or too small, or no EFI firmware; else a driver of the \
                 wrong release, or the card itself.",
            )
        } else {
            Finding::new(
                "gpu.bar-unassigned",
                Status::Fail,
                Confidence::Proved,
                "GPU",
                "a memory region of the GPU has no place in the address space",
                "The VM's firmware could not place it: a VM for a GPU with large regions needs EFI firmware and a window above 4 GiB that is large enough for \
                 all of them.",
            )
        };
        let own: Vec<&Message> = regions.iter().chain(&failed).copied().collect();
        explained.finding(
            shown(finding, &own, raw)
                .decided_by("\"<unassigned>\" in lspci; firmware, pciPassthru.use64bitMMIO and pciPassthru.64bitMMIOSizeGB in the VMX")
                .helped_by("Look at the regions", &["sudo lspci -vv -d 10de: | grep Region", "grep -e firmware -e MMIO VM.vmx   (on the host)"], ""),
        );
    }
    let alone = with(&["NVIDIA probe routine failed"]);
    if !alone.is_empty()
        && unsupported.is_empty()
        && regions.is_empty()
        && failed.is_empty()
        && off.is_empty()
        && nouveau.is_empty()
    {
        let finding = Finding::new(
            "gpu.driver-bound",
            Status::Fail,
            Confidence::Likely,
            "GPU",
            "the NVIDIA driver tried to start a GPU and failed",
            "The lines before it say why; they are not in this text.",
        );
        explained.finding(shown(finding, &alone, raw).decided_by("All lines of NVRM").helped_by(
            "Look",
            &["sudo dmesg | grep -B10 'probe routine failed'"],
            "",
        ));
    }
}

/// What other drivers say, grouped by what it means, as far as a later message does not settle it.
fn drivers<'a, I: Iterator<Item = (u32, &'a str)>>(
    explained: &mut Explained,
    messages: &[Message],
    raw: &dyn Fn((u32, u32)) -> I,
) {
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    let mut groups: BTreeMap<String, Vec<&Message>> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        // What the NVIDIA driver says is told above.
        if message.is_error
            && !message.text.starts_with("NVRM")
            && kernel::is_of_rdma(&message.text)
            && !kernel::is_settled(&message.text, texts[at + 1..].iter().copied())
        {
            let meaning = message.meaning.clone().unwrap_or_else(|| message.text.clone());
            groups.entry(meaning).or_default().push(message);
        }
    }
    // "probe of ... failed" only repeats what the line before it says.
    let repeated: Vec<&Message> =
        groups.values().flatten().copied().filter(|message| message.text.contains("failed with error")).collect();
    if groups.len() > 1 {
        groups.retain(|_, messages| !messages.iter().all(|message| message.text.contains("failed with error")));
    }
    for (meaning, mut own) in groups.into_iter().take(64) {
        let first = own[0];
        own.extend(
            repeated
                .iter()
                .filter(|message| message.lines.0 > first.lines.0 && !own.contains(message))
                .take(1)
                .copied()
                .collect::<Vec<_>>(),
        );
        let fatal = own.iter().any(|message| kernel::is_fatal(&message.text));
        let title: String = first.text.chars().take(110).collect();
        let (status, confidence, cause) = if fatal {
            (Status::Fail, Confidence::Proved, format!("{meaning}."))
        } else {
            (Status::Warn, Confidence::Likely, format!("{meaning}; it may be over since."))
        };
        let subject = first.text.split(": ").next().unwrap_or_default();
        let finding = Finding::new("guest.kernel-messages", status, confidence, subject, &title, &cause);
        explained.finding(shown(finding, &own, raw).decided_by(kernel::decision(&first.text)).helped_by(
            "Look further",
            &["sudo dmesg -T", "rdma link show"],
            "",
        ));
    }
}
