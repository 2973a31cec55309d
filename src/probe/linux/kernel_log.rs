//! Kernel messages that matter to RDMA, GPUs and virtual machines, each with what it means. Messages over several lines
//! are joined before they are looked at: the words that decide are often split between two lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::kernel_meaning::{self, Severity};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State};
use crate::probe::privilege::Needs;
use crate::probe::{Keep, Pace, Probe, Read, Rhythm, Source, Word};

/// A message matters if it holds one of these.
pub const MATTERS: &[&str] = &[
    "vmw_pvrdma",
    "vmxnet3",
    "vmw_balloon",
    "vmw_vmci",
    "mlx5_",
    "mlx4_",
    "rdma_rxe",
    "infiniband ",
    "ib_core",
    "RDMA CMA",
    "bnxt_re",
    "irdma",
    "NVRM",
    "nvidia",
    "nouveau",
    "Xid",
    "AER:",
    "PCIe Bus Error",
    "available PCIe bandwidth",
    "Out of memory",
    "oom-kill",
    "soft lockup",
    "hard LOCKUP",
    "rcu_sched",
    "rcu_preempt",
    "mce:",
    "CE memory",
    "UE memory",
    "DMAR",
    "AMD-Vi: Event logged",
    "unstable",
];

const ADDS: &str = "kernel messages (kernel.dmesg_restrict is on)";

/// Kernel messages that matter.
pub const PROBE: Probe = Probe {
    name: "linux.kernel-log",
    title: "kernel messages about RDMA, GPUs and virtual hardware",
    privilege_adds: ADDS,
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "linux.dmesg",
        read: Read::Privileged {
            argv: &[Word::Plain("dmesg")],
            keep: Some(Keep { any_of: MATTERS, last: 200 }),
            needs: Needs::KernelLog,
        },
    }],
    parse,
};

/// One message, joined from its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    /// Microseconds since boot; 0 where the line does not say.
    stamp: u64,
    text: String,
    line: u32,
    /// The last of its lines.
    until: u32,
}

/// A message that has no stamp to know it by again, and came after an earlier read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstamped {
    /// Its words.
    pub text: String,
    /// Its first line, from 1; where it came more than once, of the last time.
    pub line: u32,
    /// How often it came.
    pub times: usize,
}

/// Messages without a stamp (or with that of the very start) that are in `now` and were not in `before`, in the order in
/// which they came; the same words only once. Both are the end of one log: what is new follows the lines of the earlier
/// read that are still there. Empty if one of the two is no whole read.
pub fn unstamped_since(before: &Observation, now: &Observation) -> Vec<Unstamped> {
    if [before, now].iter().any(|read| read.outcome != Outcome::Exit(0) || read.cut > 0) {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.stdout.lines().collect(), now.stdout.lines().collect());
    let known = (0..old.len()).map(|first| &old[first..]).find(|rest| new.starts_with(rest)).map_or(0, <[_]>::len);
    let mut unstamped: Vec<Unstamped> = Vec::new();
    let is_new = |message: &Message| usize::try_from(message.until).is_ok_and(|line| line > known);
    for Message { text, line, .. } in messages(now).into_iter().filter(|message| message.stamp == 0 && is_new(message))
    {
        match unstamped.iter_mut().find(|one| one.text == text) {
            Some(one) => (one.times, one.line) = (one.times + 1, line),
            None => unstamped.push(Unstamped { text, line, times: 1 }),
        }
    }
    unstamped
}

/// Joined messages stay shorter than this, in bytes.
const LONGEST: usize = 2_000;

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    if let Some(state) = observation.trouble("dmesg", ADDS) {
        return vec![observation.fact(Entity::Guest, Attribute::KernelLog, state, 0)];
    }
    let mut facts = vec![observation.known(Entity::Guest, Attribute::KernelLog, true, 0)];
    let mut ordinals: BTreeMap<u64, u32> = BTreeMap::new();
    for message in without_repetition(messages(observation)) {
        let ordinal = ordinals.entry(message.stamp).or_insert(0);
        let entity = Entity::KernelMessage { stamp: message.stamp, ordinal: *ordinal };
        *ordinal += 1;
        let (severity, meaning) = kernel_meaning::explain(&message.text);
        let mut known = |attribute, text: &str| {
            facts.push(observation.known(entity.clone(), attribute, text, message.line));
        };
        known(Attribute::Message, &message.text);
        known(
            Attribute::Severity,
            match severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
        );
        if let Some(meaning) = meaning {
            facts.push(observation.fact(
                entity,
                Attribute::Meaning,
                State::Known(meaning.as_str().into()),
                message.line,
            ));
        }
    }
    facts
}

/// A message of a saved log, joined from its lines, with what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Its first line and its last one.
    pub lines: (u32, u32),
    /// Its words, without what the log puts before them.
    pub text: String,
    /// True if something does not work.
    pub is_error: bool,
    /// What it means, if that is known.
    pub meaning: Option<String>,
}

/// What the messages of a saved log mean that matter: of dmesg, of the journal, of syslog.
pub fn explained<'a>(lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<Explained> {
    let explained = |message: Message| {
        let (severity, meaning) = kernel_meaning::explain(&message.text);
        let is_error = severity == Severity::Error;
        Explained { lines: (message.line, message.until), text: message.text, is_error, meaning }
    };
    without_repetition(gathered(lines)).into_iter().map(explained).collect()
}

/// All messages that matter, in order.
fn messages(observation: &Observation) -> Vec<Message> {
    gathered(observation.lines())
}

fn gathered<'a>(lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (line, raw) in lines {
        let (stamp, text) = split_stamp(raw);
        if text.is_empty() {
            continue;
        }
        if let Some(last) = messages.last_mut()
            && continues(last, stamp, raw, text)
        {
            if last.text.len() + text.len() < LONGEST {
                last.text.push(' ');
                last.text.push_str(text.strip_prefix("NVRM:").unwrap_or(text).trim());
            }
            last.until = line;
            continue;
        }
        messages.push(Message { stamp: stamp.unwrap_or(0), text: text.to_owned(), line, until: line });
    }
    messages.retain(|message| MATTERS.iter().any(|words| message.text.contains(words)));
    messages
}

/// True if a line goes on with the message before it.
fn continues(last: &Message, stamp: Option<u64>, raw: &str, text: &str) -> bool {
    // A second line of one message has no stamp of its own and is indented.
    if stamp.is_none() && last.stamp > 0 && raw.starts_with([' ', '\t']) {
        return true;
    }
    let (Some(before), Some(now)) = (last.text.strip_prefix("NVRM:"), text.strip_prefix("NVRM:")) else { return false };
    let now = now.trim_start();
    // Indented without any stamp before it (saved output): "... is invalid:" goes on.
    if stamp.is_none() && raw.starts_with([' ', '\t']) && before.trim_end().ends_with([':', ',']) {
        return true;
    }
    // The NVIDIA driver prints one paragraph as several messages, microseconds apart.
    let near = stamp.is_some_and(|stamp| stamp.saturating_sub(last.stamp) < 10_000);
    let broken_off = !before.trim_end().ends_with(['.', '!']) && now.starts_with(|first: char| first.is_lowercase());
    near && (broken_off || now.starts_with("This can occur") || now.starts_with("Try unloading"))
}

/// Of messages with the same words only the first and the last are kept: a flood says no more than that.
fn without_repetition(messages: Vec<Message>) -> Vec<Message> {
    let mut places: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (place, message) in messages.iter().enumerate() {
        places.entry(message.text.clone()).or_insert((place, place)).1 = place;
    }
    messages
        .into_iter()
        .enumerate()
        .filter(|(place, message)| {
            places.get(&message.text).is_some_and(|(first, last)| place == first || place == last)
        })
        .map(|(_, message)| message)
        .collect()
}

/// Parts the stamp from the text. Knows `[   12.345678] text`, the same after `<6>` or `kern  :info  : `, and with a
/// caller (`[    T1]`); `[Sat Nov 29 19:24:11 2025] text`; and the journal's `Nov 29 19:24:11 host kernel: text`.
fn split_stamp(raw: &str) -> (Option<u64>, &str) {
    let mut rest = raw.trim();
    if let Some(after) = rest.strip_prefix('<')
        && let Some((level, after)) = after.split_once('>')
        && level.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = after;
    }
    if let Some((facility, after)) = rest.split_once(" : [")
        && facility.len() < 24
        && !facility.contains('[')
    {
        rest = &rest[rest.len() - after.len() - 1..];
    }
    let Some(inside) = rest.strip_prefix('[') else {
        // A line of the journal or of syslog names the kernel as its program.
        return match rest.split_once(" kernel: ") {
            Some((head, text)) if head.len() < 100 => {
                if text.trim_start().starts_with('[') {
                    split_stamp(text)
                } else {
                    (None, text.trim())
                }
            }
            _ => (None, rest),
        };
    };
    let Some((stamp, text)) = inside.split_once(']') else { return (None, rest) };
    if let Some(microseconds) = microseconds(stamp.trim()) {
        return (Some(microseconds), without_caller(text).trim());
    }
    // "[Sat Nov 29 19:24:11 2025]" of dmesg -T; "[drm] ..." is text.
    if stamp.matches(':').count() == 2 { (None, text.trim()) } else { (None, rest) }
}

/// `[    T1] text` (printk.caller) without the caller.
fn without_caller(text: &str) -> &str {
    let caller = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).filter(|(caller, _)| {
        let caller = caller.trim();
        caller
            .strip_prefix(['T', 'C'])
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    });
    caller.map_or(text, |(_, rest)| rest)
}

/// `12.345678` in microseconds.
fn microseconds(stamp: &str) -> Option<u64> {
    let (seconds, fraction) = stamp.split_once('.')?;
    if fraction.len() != 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/", $name))
        };
    }

    const PVRDMA: &str = fixture!("pvrdma-guest/33-dmesg-tail-20.txt");
    const SOFT_ROCE: &str = fixture!("guest-probes/linux.dmesg.txt");
    const REFUSED: &str = fixture!("soft-roce-unprivileged/33-dmesg-tail-20.txt");
    const PROBE_FAILED: &str = fixture!("public/02-dmesg-vmw_pvrdma-probe-failed.txt");
    const BAR: &str = fixture!("public/63-guest-lspci-dmesg-bar1-unassigned.txt");
    const NOT_SUPPORTED: &str = fixture!("public/76-dmesg-nvrm-not-supported-multiline.txt");
    const OFF_THE_BUS: &str = fixture!("public/78-dmesg-fallen-off-bus-no-xid.txt");
    const JOURNAL: &str = fixture!("public/79-journal-xid-79.txt");
    const NOUVEAU: &str = fixture!("public/118-dmesg-nouveau-owns-gpu.txt");

    /// Stamp, severity, message and meaning of each message.
    fn read(text: &str) -> Vec<(String, String, String, String)> {
        let facts = run(&PROBE, &[(text, "", 0)]);
        let messages = facts.iter().filter(|fact| fact.attribute == Attribute::Message);
        messages
            .map(|fact| {
                let of = |attribute| shown(&facts, &fact.entity, attribute);
                (fact.entity.name(), of(Attribute::Severity), of(Attribute::Message), of(Attribute::Meaning))
            })
            .collect()
    }

    #[test]
    fn a_pvrdma_driver_that_starts() {
        let messages = read(PVRDMA);
        assert_eq!(messages.len(), 4, "{messages:?}");
        assert_eq!(messages[1].0, "217.241817/0");
        assert_eq!(messages[2].2, "vmw_pvrdma 0000:00:10.1: paired device to eth1");
        assert_eq!(messages[3].3, "the PVRDMA driver has started");
        assert!(messages.iter().all(|message| message.1 == "info"));
    }

    #[test]
    fn a_pvrdma_driver_that_the_host_gives_no_roce() {
        let messages = read(PROBE_FAILED);
        assert_eq!(messages.len(), 2);
        assert!(messages[0].3.contains("look at the host"), "{messages:?}");
        assert!(messages[1].3.contains("the line before it says why"));
        assert!(messages.iter().all(|message| message.1 == "error"));
        assert_eq!((messages[0].0.as_str(), messages[1].0.as_str()), ("0.000000/0", "0.000000/1"));
    }

    #[test]
    fn a_log_that_may_not_be_read_needs_privilege() {
        let facts = run(&PROBE, &[("", REFUSED, 1)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::KernelLog), format!("<needs privilege: {ADDS}>"));
        let facts = run(&PROBE, &[("", "", 0)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::KernelLog), "yes", "readable and nothing that matters");
    }

    #[test]
    fn messages_over_several_lines_are_one() {
        let messages = read(NOT_SUPPORTED);
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(
            messages[0].2.contains("installed in this system is not supported by the NVIDIA 570.86.15 driver release.")
        );
        assert!(messages[0].3.starts_with("this driver release does not serve this GPU"));
        assert!(messages[1].3.contains("tried to start the GPU and failed"));
        let messages = read(OFF_THE_BUS);
        assert!(messages[0].2.contains("has fallen off the bus"), "{messages:?}");
        assert!(messages[0].3.contains("as Xid 79"));
        let messages = read(NOUVEAU);
        let nvrm: Vec<_> = messages.iter().filter(|message| message.2.starts_with("NVRM")).collect();
        assert_eq!(nvrm.len(), 2, "{nvrm:?}");
        assert!(nvrm[0].2.ends_with("then try loading the NVIDIA kernel module again."));
        assert!(nvrm[0].3.starts_with("another driver (nouveau) owns the GPU"));
        let messages = read(BAR);
        let invalid = messages.iter().find(|message| message.2.contains("PCI I/O region")).expect("the region");
        assert!(invalid.2.contains("BAR1 is 0M @ 0x0"), "{invalid:?}");
        assert!(messages.iter().any(|message| message.2.contains("RmInitAdapter failed") && message.3.contains("EFI")));
    }

    #[test]
    fn xids_are_named_with_their_gpu() {
        let messages = read(JOURNAL);
        let xid = messages.iter().find(|message| message.2.contains("Xid")).expect("an Xid");
        assert_eq!(xid.1, "error");
        assert!(
            xid.3.starts_with("Xid 79 of GPU 0000:01:00: GPU has fallen off the bus; power-cycle the VM"),
            "{xid:?}"
        );
        let more = read(
            "[  1.000001] NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid=5, Graphics Exception\n\
             [  1.000002] NVRM: Xid (0000:02:00): 69, Class Error\n[  1.000003] NVRM: Xid (PCI:0000:03:00): 9999, new\n\
             [  1.000004] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal\n\
             [  1.000005] NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting\n",
        );
        let meanings: Vec<&str> = more.iter().map(|message| message.3.as_str()).collect();
        assert!(meanings[0].contains("MIG instance 05"), "{meanings:?}");
        assert!(meanings[1].contains("nothing to do with ACS"));
        assert!(meanings[2].contains("not in this program's table"));
        assert!(meanings[3].starts_with("SXid 20034 of the NVSwitch"));
        assert!(meanings[4].contains("GSP did not answer"));
    }

    #[test]
    fn a_flood_leaves_its_first_and_its_last() {
        let flood = (0..150)
            .map(|n| format!("[{:5}.000000] NVRM: Xid (PCI:0000:01:00): 31, fault\n", n + 10))
            .collect::<Vec<_>>()
            .concat();
        let messages = read(&flood);
        let stamps: Vec<&str> = messages.iter().map(|message| message.0.as_str()).collect();
        assert_eq!(stamps, ["10.000000/0", "159.000000/0"]);
    }

    #[test]
    fn messages_without_a_stamp_are_new_where_the_earlier_read_ends() {
        let read = |lines: &[&str]| Observation::of_text("linux.dmesg", &(lines.join("\n") + "\n"));
        let since = |before: &[&str], now: &[&str]| {
            let found = unstamped_since(&read(before), &read(now));
            found.into_iter().map(|one| format!("{}x {} in {}", one.times, one.text, one.line)).collect::<Vec<_>>()
        };
        let (a, b, c) = ("mlx5_core a", "mlx5_core b", "mlx5_core c");
        assert!(since(&[a, b], &[a, b]).is_empty());
        assert_eq!(since(&[a, b], &[b, c, a]), ["1x mlx5_core c in 2", "1x mlx5_core a in 3"], "the window moved");
        assert_eq!(since(&[a, b, a], &[a, b, a, a, c, a]), ["2x mlx5_core a in 6", "1x mlx5_core c in 5"]);
        assert_eq!(since(&[a, b], &[c]), ["1x mlx5_core c in 1"], "nothing of the earlier one is left");
        assert!(since(&[a], &[a, "[   12.345678] mlx5_core d"]).is_empty(), "its stamp tells that it is new");
        let broken = ["NVRM: the card is invalid:"];
        assert_eq!(
            since(&broken, &[broken[0], "  NVRM: BAR1 is 0M"]),
            ["1x NVRM: the card is invalid: BAR1 is 0M in 1"],
            "a message that went on"
        );
        let refused = read(&[]).with_outcome(Outcome::Exit(1));
        assert!(unstamped_since(&refused, &read(&[a])).is_empty(), "nothing to compare with");
    }

    #[test]
    fn stamps_in_all_their_spellings() {
        assert_eq!(split_stamp("[   12.345678] a: b"), (Some(12_345_678), "a: b"));
        assert_eq!(split_stamp("<6>[   12.345678] a"), (Some(12_345_678), "a"));
        assert_eq!(split_stamp("kern  :warn  : [   12.345678] a"), (Some(12_345_678), "a"));
        assert_eq!(split_stamp("[   12.345678][    T1] [drm] a"), (Some(12_345_678), "[drm] a"));
        assert_eq!(split_stamp("[Sat Nov 29 19:24:11 2025] a"), (None, "a"));
        assert_eq!(split_stamp("2025-04-29T19:24:11+0200 h kernel: a: b"), (None, "a: b"));
        assert_eq!(split_stamp("[drm] Initialized nouveau"), (None, "[drm] Initialized nouveau"));
        assert_eq!(split_stamp("[99999999999999999999.000000] a"), (None, "[99999999999999999999.000000] a"));
    }

    #[test]
    fn soft_roce_says_what_it_rides_on() {
        let messages = read(SOFT_ROCE);
        assert!(messages.iter().any(|message| message.3 == "the RDMA device rides on this netdev"), "{messages:?}");
    }

    mod damaged_pvrdma {
        use super::*;
        survives_damage!(PROBE, PVRDMA);
    }

    mod damaged_nvrm {
        use super::*;
        survives_damage!(PROBE, NOUVEAU);
    }

    mod damaged_paragraph {
        use super::*;
        survives_damage!(PROBE, NOT_SUPPORTED);
    }
}
