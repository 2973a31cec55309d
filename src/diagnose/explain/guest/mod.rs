//! What guests print: tools for RDMA devices and interfaces, kernel messages, tests, MPI, UCX and NCCL, GPUs. Each tool has
//! a file with the forms of its output and what they mean; messages that are recognised by their words alone stand in lists
//! beside them. Lines are read each by what it is, not by where it stands, so that outputs which were mixed still say what
//! they say. Findings have the ids of the checks that look for the same on a live guest.

mod ethtool;
mod gids;
mod ibstat;
mod ibv_devinfo;
mod ip;
mod job;
mod journal;
mod kernel;
mod launch;
mod lspci;
mod machine;
mod mlnx_qos;
mod nccl;
mod nvidia_smi;
mod nvidia_smi_errors;
mod nvidia_smi_modes;
mod open_mpi;
mod perftest;
mod perftest_errors;
mod ports;
mod rdma_tool;
mod said;
mod status;
mod sysfs;
mod ucx;

use std::borrow::Cow;
use std::collections::BTreeSet;

pub(super) use job::is_command_line;
pub(super) use kernel::{is_stamped, log};

use super::parts::{Line, Part, parts};
use super::{Explained, Value};
use crate::fabric::{State, Text};

/// So many lines are read as output of tools; of what has more, only messages are looked for.
const MOST_LINES: usize = 200_000;

/// A line of a guest with what stands around it.
#[derive(Clone, Copy)]
struct Words<'a> {
    number: u32,
    /// The line without blanks around it.
    text: &'a str,
}

/// The lines of one part, with its host where several are in the text.
struct Output<'a> {
    host: Option<&'a str>,
    command: &'a str,
    lines: Vec<Words<'a>>,
}

impl<'a> Output<'a> {
    fn of(part: &'a Part<'_>, several: bool) -> Self {
        let lines = part.lines.iter().map(|(number, line)| Words { number: *number, text: line.trim() });
        Self {
            host: part.host.as_deref().filter(|_| several),
            command: part.command.as_ref().map_or("", |(_, command)| command),
            lines: lines.filter(|words| !words.text.is_empty()).collect(),
        }
    }

    /// The name of a thing, with its host where several are in the text.
    fn owner(&self, name: &str) -> String {
        match self.host {
            Some(host) => format!("{host}:{name}"),
            None => name.to_owned(),
        }
    }
}

/// Reads what guests printed.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let own: Vec<Line<'_>> = lines
        .iter()
        .map(|(number, line)| (*number, line.trim_start_matches('\u{feff}')))
        .filter(|(_, line)| !line.is_empty() && !is_of_host(line))
        .map(|(number, line)| (number, Cow::Borrowed(line)))
        .collect();
    if own.is_empty() {
        return;
    }
    let (first, more) = own.split_at(own.len().min(MOST_LINES));
    let parts = parts(first);
    let hosts: BTreeSet<&str> = parts.iter().filter_map(|part| part.host.as_deref()).collect();
    let mut ports = ports::Ports::default();
    let mut tests = perftest::Tests::default();
    let mut recognised = explained.kinds.len();
    for part in &parts {
        let output = Output::of(part, hosts.len() > 1);
        ibv_devinfo::read(explained, &output, &mut ports);
        ibstat::read(explained, &output, &mut ports);
        rdma_tool::read(explained, &output, &mut ports);
        gids::read(explained, &output);
        mlnx_qos::read(explained, &output);
        ethtool::read(explained, &output);
        ip::read(explained, &output);
        sysfs::read(explained, &output, &mut ports);
        machine::read(explained, &output);
        lspci::read(explained, &output);
        nvidia_smi::read(explained, &output);
        nvidia_smi_modes::read(explained, &output, &part.lines);
        perftest::read(explained, &output, &mut tests);
        ucx::read(explained, &output);
        open_mpi::read(explained, &output);
        nccl::read(explained, &output);
        job::read(explained, &output, part.command.as_ref().map(|(line, _)| *line));
    }
    kernel::read(explained, &own);
    said::read(explained, &own);
    status::read(explained, &own);
    // What is said in words decides what the states mean.
    ports.conclude(explained);
    tests.conclude(explained);
    recognised = explained.kinds.len() - recognised;
    if recognised > 0
        && let Some((number, _)) = more.first()
    {
        explained.leaves_out(format!("what stands from line {number} on was searched for messages only"));
    }
}

/// True for lines of the logs of hosts and VMs, which are read elsewhere; long ones are nothing else.
fn is_of_host(line: &str) -> bool {
    let bytes = line.as_bytes();
    if !bytes.first().is_some_and(u8::is_ascii_digit) || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let head = &line[..line.floor_char_boundary(90)];
    [" vmx", "vcpu-", "vmkernel", "vmkwarning", " mks", " svga"].iter().any(|word| head.contains(word))
        || head.contains("cpu") && head.contains(')')
}

/// A word as a value; an empty one is empty.
fn word(text: &str) -> State<Value> {
    super::value(text)
}

/// A text as it is.
fn text(text: &str) -> State<Value> {
    match text.trim() {
        "" => State::Empty,
        text => State::Known(Value::Text(Text::new(text))),
    }
}

/// A whole number.
fn number(number: u64) -> State<Value> {
    State::Known(Value::Number(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// Several names in a sentence.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 8;
    let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match all.len().checked_sub(MOST).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", all[..MOST].join(", ")),
        None => all.join(", "),
    }
}

/// `key: value`, the key without blanks around it.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// True for a name of a device or an interface.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// True for a PCI address, with or without its domain: `05:00.0`, `0000:05:00.0`, `00000000:05:00.0`.
fn is_address(word: &str) -> bool {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let Some(start) = bytes.len().checked_sub(7).filter(|start| matches!(start, 0 | 5 | 9)) else { return false };
    bytes.iter().all(plain)
        && bytes[start + 2] == b':'
        && bytes[start + 5] == b'.'
        && (start == 0 || bytes[start - 1] == b':')
}

#[cfg(test)]
mod tests;
