//! `lspci`, with `-nn`, `-k` and `-vv`: functions, their drivers, the PCIe link as it is and as it could be, ACS.

use super::{Output, Words, is_address, listed, text};
use crate::diagnose::explain::{Explained, Kind};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// One function.
#[derive(Default)]
struct Function<'a> {
    address: &'a str,
    /// Class and name, as they are written.
    name: &'a str,
    line: u32,
    driver: Option<(&'a str, u32, &'a str)>,
    modules: Option<u32>,
    capable: Option<(&'a str, &'a str)>,
    /// Speed and width in force, with the line.
    link: Option<(&'a str, &'a str, u32, &'a str)>,
    denied: bool,
}

impl Function<'_> {
    fn is(&self, id: &str, name: &str) -> bool {
        self.name.contains(id) || self.name.contains(name)
    }

    fn is_gpu(&self) -> bool {
        self.is("[10de:", "NVIDIA")
            && (self.name.contains("3D controller")
                || self.name.contains("VGA compatible")
                || self.name.starts_with("Display"))
    }

    fn is_pvrdma(&self) -> bool {
        self.is("[15ad:0820]", "VMware Paravirtual RDMA")
    }

    fn is_vmxnet3(&self) -> bool {
        self.is("[15ad:07b0]", "VMXNET3")
    }

    /// True for hardware that a VM is only shown: what its link says is made up.
    fn is_virtual(&self) -> bool {
        self.is("[15ad:", "VMware")
            || self.name.contains("bridge")
            || self.name.contains("QEMU")
            || self.name.contains("Red Hat")
    }
}

/// Reads functions and what stands below them.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>) {
    let mut all: Vec<Function<'_>> = Vec::new();
    // What is told without the line that names the function: `lspci -s ... | grep LnkSta`.
    let mut nameless = Function::default();
    let mut acs: Option<Words<'_>> = None;
    for words in &output.lines {
        let line = words.text;
        let first = line.split(' ').next().unwrap_or_default();
        if is_address(first)
            && let Some(name) = line.get(first.len() + 1..).filter(|name| name.contains(": "))
        {
            all.push(Function { address: first, name, line: words.number, ..Function::default() });
            if line.contains("(rev ff)") {
                lost(explained, output, first, words);
            }
            continue;
        }
        if line.starts_with("!!! Unknown header type 7f") {
            if let Some(function) = all.last() {
                lost(explained, output, function.address, words);
            }
            continue;
        }
        if line.starts_with("Region ") && line.contains(": Memory at ") {
            explained.is(Kind::Lspci);
        }
        let marked = [
            "LnkCap:",
            "LnkSta:",
            "Kernel driver in use:",
            "Kernel modules:",
            "ACSCtl:",
            "Capabilities: <access denied>",
        ];
        let Some(mark) = marked.iter().find(|mark| line.starts_with(**mark)) else { continue };
        let rest = line[mark.len()..].trim();
        let function = all.last_mut().unwrap_or(&mut nameless);
        match *mark {
            "Kernel driver in use:" => function.driver = Some((rest, words.number, line)),
            "Kernel modules:" => function.modules = Some(words.number),
            "ACSCtl:" if rest.contains("SrcValid+") || rest.contains("ReqRedir+") => acs = acs.or(Some(*words)),
            "ACSCtl:" => explained.is(Kind::Lspci),
            "LnkCap:" => function.capable = speed_and_width(rest),
            // The second state of a link is another register, with a 2 in its name.
            "LnkSta:" if function.link.is_none() => {
                function.link = speed_and_width(rest).map(|(speed, width)| (speed, width, words.number, line));
            }
            "Capabilities: <access denied>" => function.denied = true,
            _ => {}
        }
    }
    if !all.is_empty() || nameless.link.is_some() {
        explained.is(Kind::Lspci);
    }
    for function in all.iter().chain(Some(&nameless)) {
        tell(explained, output, function);
        link(explained, output, function);
    }
    drivers(explained, output, &all);
    pairs(explained, output, &all);
    if let Some(words) = acs {
        explained.is(Kind::Lspci);
        judge_acs(explained, words);
    }
}

/// `Speed 8GT/s (downgraded), Width x8 (ok)`: what stands behind the names.
fn speed_and_width(rest: &str) -> Option<(&str, &str)> {
    let behind = |name: &str| {
        let (_, rest) = rest.split_once(name)?;
        rest.split([' ', ',']).next().filter(|word| !word.is_empty())
    };
    Some((behind("Speed ")?, behind("Width ")?))
}

fn tell(explained: &mut Explained, output: &Output<'_>, function: &Function<'_>) {
    let owner = output.owner(if function.address.is_empty() { "device" } else { function.address });
    if !function.name.is_empty() {
        explained.fact(function.line, &owner, text(function.name), None);
    }
    if let Some((driver, line, _)) = function.driver {
        explained.fact(line, &format!("{owner}.driver"), text(driver), None);
    }
    if let Some((speed, width, line, _)) = function.link {
        explained.fact(line, &format!("{owner}.link-speed"), text(speed), None);
        explained.fact(line, &format!("{owner}.link-width"), text(width), None);
    } else if function.denied {
        let why = "the PCIe link (lspci as root)";
        explained.fact(function.line, &format!("{owner}.link-width"), State::NeedsPrivilege(why.into()), None);
    }
    if let Some((speed, width)) = function.capable
        && let Some((_, _, line, _)) = function.link
    {
        explained.fact(line, &format!("{owner}.link-speed-max"), text(speed), None);
        explained.fact(line, &format!("{owner}.link-width-max"), text(width), None);
    }
}

fn lanes(width: &str) -> Option<u32> {
    width.trim_start_matches('x').parse().ok()
}

/// A link with fewer lanes than it could have is slow for good; one with a lower speed may be asleep.
fn link(explained: &mut Explained, output: &Output<'_>, function: &Function<'_>) {
    let (Some((speed, width, line, raw)), false) = (function.link, function.is_virtual()) else { return };
    let name = output.owner(if function.address.is_empty() { "the device" } else { function.address });
    let check = if function.is_gpu() { "gpu.pcie-link" } else { "guest.pcie-link" };
    let (most_speed, most_width) = function.capable.unwrap_or_default();
    let narrow = match (lanes(width), lanes(most_width)) {
        (Some(now), Some(most)) => now < most,
        _ => raw.split("Width").nth(1).is_some_and(|rest| rest.contains("(downgraded)")),
    };
    let slow = raw.split("Width").next().is_some_and(|begin| begin.contains("(downgraded)"))
        || (!most_speed.is_empty() && rate(speed).zip(rate(most_speed)).is_some_and(|(now, most)| now < most));
    let of = |most: &str| if most.is_empty() { String::new() } else { format!(" of {most}") };
    let finding = if narrow {
        let title = format!("{name} has {width}{} PCIe lanes", of(most_width));
        let cause = "A link does not give up lanes when it is idle: likely the slot, its riser or bifurcation has no more, possibly some are broken. \
                     What the adapter carries is cut in proportion.";
        Finding::new(check, Status::Warn, Confidence::Likely, &name, &title, cause)
            .decided_by("The same link on the host, and the wiring of the slot")
            .helped_by("Look at the link", &["sudo lspci -vv -s ADDRESS | grep -E 'LnkCap:|LnkSta:'"], "")
    } else if slow {
        let title = format!("the PCIe link of {name} runs at {speed}{}, with all its lanes", of(most_speed));
        let cause = "Links lower their speed when nothing is to be done, GPUs above all: read while idle this says nothing. Only a reading under \
                     load tells whether the slot or the firmware holds it back.";
        Finding::new(check, Status::Info, Confidence::Possible, &name, &title, cause)
            .decided_by("The same reading under load")
            .helped_by("Read it under load", &["sudo lspci -vv -s ADDRESS | grep LnkSta:"], "")
    } else {
        return;
    };
    explained.finding(finding.shown(line, raw));
}

/// `16GT/s` as a number.
fn rate(speed: &str) -> Option<f64> {
    speed.trim_end_matches("GT/s").parse().ok()
}

/// A function that reads as nothing but ones.
fn lost(explained: &mut Explained, output: &Output<'_>, address: &str, words: &Words<'_>) {
    explained.is(Kind::Lspci);
    let name = output.owner(address);
    let is_gpu = words.text.contains("NVIDIA") || words.text.contains("[10de:");
    let check = if is_gpu { "gpu.fell-off-bus" } else { "guest.pci-device-lost" };
    let finding = Finding::new(
        check,
        Status::Fail,
        Confidence::Proved,
        &name,
        &format!("{name} does not answer on PCIe any more"),
        "The bus reads nothing but ones from it (rev ff, header type 7f): the PCIe link is down, the card lost power or is too hot, or the host \
         reset it. Nothing in the guest brings it back.",
    );
    explained.finding(
        finding
            .shown(words.number, words.text)
            .decided_by("On the host: grep -e 'link to the device is down' -e AER /var/log/vmkernel.log; the hardware's own log")
            .helped_by("Power the VM off and on; if it is gone again, look at slot, power, cooling", &["lspci -nn"], ""),
    );
}

/// Which driver has the GPUs and RDMA functions, where the listing tells drivers.
fn drivers(explained: &mut Explained, output: &Output<'_>, all: &[Function<'_>]) {
    if !all.iter().any(|function| function.driver.is_some()) {
        return;
    }
    for function in all {
        let name = output.owner(function.address);
        let nouveau = function.driver.filter(|(driver, ..)| *driver == "nouveau");
        if function.is_gpu()
            && let Some((_, line, raw)) = nouveau
        {
            let finding = Finding::new(
                "gpu.driver-bound",
                Status::Fail,
                Confidence::Proved,
                &name,
                &format!("nouveau has {name}"),
                "nouveau came first and keeps the GPU; the NVIDIA module loads and finds nothing, so CUDA has no device.",
            );
            explained.finding(finding.shown(function.line, function.name).shown(line, raw).helped_by(
                "Keep nouveau off, rebuild the initramfs, start anew",
                &["printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/block-nouveau.conf", "sudo reboot"],
                "lspci -nnk: Kernel driver in use: nvidia",
            ));
        } else if function.driver.is_none() && function.is_gpu() {
            bare(
                explained,
                "gpu.driver-bound",
                &name,
                function,
                "CUDA has no device: the module of the NVIDIA driver is not installed, not built for this kernel, refused by Secure Boot, or it tried to start the GPU and failed",
                "sudo dmesg | grep -i -e nvrm -e nvidia",
            );
        } else if function.driver.is_none() && function.is_pvrdma() {
            bare(
                explained,
                "guest.pvrdma-driver",
                &name,
                function,
                "There is no RDMA device: vmw_pvrdma is not loaded (on some distributions it is in a package of extra modules), or it found no vmxnet3 or no RoCE on the host",
                "sudo modprobe vmw_pvrdma; sudo dmesg | grep vmw_pvrdma",
            );
        }
    }
}

fn bare(explained: &mut Explained, check: &str, name: &str, function: &Function<'_>, cause: &str, look: &str) {
    let finding = Finding::new(
        check,
        Status::Fail,
        Confidence::Likely,
        name,
        &format!("no driver has {name}"),
        &format!("{cause}."),
    );
    let line = function.modules.unwrap_or(function.line);
    explained.finding(
        finding
            .shown(function.line, function.name)
            .shown(line, "no line \"Kernel driver in use\" below it")
            .decided_by("What the kernel log says of the driver")
            .helped_by("Look for the reason", &[look], ""),
    );
}

/// A PVRDMA function needs the vmxnet3 at function 0 of its slot.
fn pairs(explained: &mut Explained, output: &Output<'_>, all: &[Function<'_>]) {
    // A listing of chosen functions does not tell what is not there.
    let whole = all.iter().any(|function| function.name.starts_with("Host bridge"));
    for function in all.iter().filter(|function| function.is_pvrdma()) {
        let Some((slot, _)) = function.address.rsplit_once('.') else { continue };
        let has = all
            .iter()
            .any(|other| other.is_vmxnet3() && other.address.strip_prefix(slot).is_some_and(|rest| rest == ".0"));
        if has || !whole {
            continue;
        }
        let name = output.owner(function.address);
        let finding = Finding::new(
            "guest.pvrdma-pairing",
            Status::Fail,
            Confidence::Proved,
            &name,
            &format!("{name} has no vmxnet3 at function 0 of its slot"),
            "vmw_pvrdma looks there for its network interface and refuses to start without it (probe error -19): one PVRDMA adapter is both \
             functions. Recipes that remove the network adapter break it.",
        );
        explained.finding(
            finding
                .shown(function.line, function.name)
                .decided_by("lspci -nn: is 15ad:07b0 at function 0 of that slot?")
                .helped_by(
                    "Restore the PVRDMA network adapter in the VM's settings",
                    &["sudo dmesg | grep vmw_pvrdma"],
                    "",
                ),
        );
    }
    let functions: Vec<&str> =
        all.iter().filter(|function| function.is_pvrdma()).map(|function| function.address).collect();
    if !functions.is_empty() {
        explained.fact(all[0].line, &output.owner("pvrdma-functions"), text(&listed(&functions)), None);
    }
}

fn judge_acs(explained: &mut Explained, words: Words<'_>) {
    let finding = Finding::new(
        "gpu.acs",
        Status::Info,
        Confidence::Possible,
        "ACS",
        "Access Control Services are on for a PCIe bridge",
        "With source validation or request redirection on, what two devices below this bridge send each other goes up through the root complex: \
         slower, and some platforms make transfers between GPUs hang. In a VM the bridges are virtual: only the list of the host counts, and \
         passthrough itself needs ACS for isolation.",
    );
    explained.finding(
        finding
            .shown(words.number, words.text)
            .decided_by("On the host: is the bridge above both devices of a pair that hangs or is slow?")
            .helped_by(
                "Look at the bridges above the pair",
                &["sudo lspci -vvv | grep -e '^[0-9a-f].*bridge' -e ACSCtl", "nvidia-smi topo -m"],
                "",
            ),
    );
}
