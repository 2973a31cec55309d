//! Recognises what our own collector sends to a `/bin/sh -s`: the batch of [`compile`] and the stream of `block`. Each
//! is compared with what those two make of the sources that the program knows; nothing is interpreted. A piece that is
//! not known is none that this lab could answer.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::engine::CLOCK;
use crate::probe::dialect::posix::{Listed, ONCE, change_script, compile, marker, quote};
use crate::probe::gpu;
use crate::probe::linux::stream;
use crate::probe::{Probe, Read, Source, esxi, linux};

/// The end of every batch.
const BATCH_END: &str = "exit 0\n}\n";

/// The end of every stream's block.
const STREAM_END: &str = "done\n}\n";

/// The end of a script that changes something.
const CHANGE_END: &str = "exit $?\n}\n";

/// What raises the privilege of one command.
const SUDO: &str = "sudo -n ";

/// What may stand for `esxcli`.
const TOOLS: [&str; 2] = ["esxcli", "localcli"];

/// The longest nonce that is believed.
const LONGEST_NONCE: usize = 64;

/// What came in on the input of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    /// A batch of reads.
    Batch(Batch),
    /// The block that answers ticks. Its lines begin with this nonce.
    Stream {
        /// The nonce.
        nonce: String,
        /// True if it lists queue pairs under `sudo`.
        sudo: bool,
    },
    /// The block that reads GPUs. Its own lines begin with this nonce.
    Gpus {
        /// The nonce.
        nonce: String,
    },
    /// One command that changes something.
    Change {
        /// Its words.
        words: Vec<String>,
        /// True if it runs under `sudo`.
        sudo: bool,
    },
    /// The block that passes on what `esxtop` prints.
    Esxtop {
        /// The nonce.
        nonce: String,
        /// Time between two rows.
        period: Duration,
    },
    /// Something that nobody here understands.
    Foreign,
}

/// A batch of reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What its markers carry.
    pub nonce: String,
    /// The program that stands for `esxcli`.
    pub tool: &'static str,
    /// What commands that several sources read are said to have printed already, by their places.
    pub listed: Listed,
    /// Its pieces, in their order.
    pub pieces: Vec<Piece>,
}

/// One piece of a batch: what stands between two markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number that its markers carry.
    pub index: usize,
    /// What is to be read.
    pub wanted: Wanted,
}

/// What a piece of script asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A read that the program knows.
    Known {
        /// The read.
        read: Read,
        /// True if its command runs under `sudo`.
        sudo: bool,
    },
    /// Something else; the word that a shell without it would complain of.
    Unknown(String),
}

/// Every piece of script that a source of the program compiles to, and what it reads.
static KNOWN: LazyLock<BTreeMap<String, Read>> = LazyLock::new(|| {
    probes().flat_map(|probe| probe.sources).filter_map(|source| Some((compiled(*source)?, source.read))).collect()
});

/// All probes of the program.
fn probes() -> impl Iterator<Item = &'static Probe> {
    // Counters are read a second time by commands that look once, and so is the clock.
    linux::PROBES.iter().chain(esxi::PROBES).chain([&linux::statistics::PROBE, &CLOCK])
}

/// The piece of script that one source becomes.
fn compiled(source: Source) -> Option<String> {
    let script = compile(&[source], "");
    let (_, rest) = script.split_once("_mark 0 begin\n")?;
    let (piece, _) = rest.split_once("_mark 0 \"$_s\"\n")?;
    Some(piece.to_owned())
}

/// Looks at what came in so far. Gives what it is and how many bytes of it belong to that; `None` while it may still
/// become something. `ended` says that no more comes.
pub fn recognise(input: &str, ended: bool) -> Option<(Script, usize)> {
    let group = input.starts_with("{\n");
    let ends = [BATCH_END, STREAM_END, CHANGE_END].map(|end| {
        let line = format!("\n{end}");
        input.find(&line).map(|at| at + line.len())
    });
    match ends.into_iter().flatten().min() {
        Some(end) if group => {
            let text = &input[..end];
            let script = batch(text)
                .map(Script::Batch)
                .or_else(|| stream(text))
                .or_else(|| gpus(text))
                .or_else(|| change(text))
                .or_else(|| esxtop(text))
                .unwrap_or(Script::Foreign);
            Some((script, end))
        }
        _ if ended => Some((Script::Foreign, input.len())),
        _ => None,
    }
}

fn batch(text: &str) -> Option<Batch> {
    let key = text.lines().find_map(|line| line.strip_prefix("_k="))?;
    let nonce = nonce(key.strip_prefix(&marker(""))?)?;
    let frame = compile(&[], nonce);
    let opening = frame.strip_suffix(BATCH_END)?;
    // Only a batch that asks an ESXi host has the lines that choose its program and that run a command once.
    let (text, listed) = listed(text)?;
    let text = &text;
    let tool = TOOLS.into_iter().find(|tool| text.contains(&format!("\n_x={tool}\n_n='")));
    let text = match tool {
        Some(tool) => text.replacen(&format!("\n_x={tool}\n_n='"), "\n_n='", 1),
        None => text.to_owned(),
    };
    let mut rest = text.strip_prefix(opening)?.strip_suffix(BATCH_END)?;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (index, after) = rest.strip_prefix("_mark ")?.split_once(" begin\n")?;
        let index: usize = index.parse().ok()?;
        let (piece, after) = after.split_once(&format!("_mark {index} \"$_s\"\n"))?;
        pieces.push(Piece { index, wanted: wanted(piece) });
        rest = after;
    }
    Some(Batch { nonce: nonce.to_owned(), tool: tool.unwrap_or(TOOLS[0]), listed, pieces })
}

/// A script without the lines that run a command once, and the lists that are known in it.
fn listed(text: &str) -> Option<(String, Listed)> {
    let mut listed = Listed::new();
    let Some((before, mut rest)) = text.split_once(&format!("\n{ONCE}")) else {
        return Some((text.to_owned(), listed));
    };
    while let Some(known) = rest.strip_prefix("_s") {
        let (place, known) = known.split_once("=0 _l")?;
        let known = known.strip_prefix(place)?.strip_prefix('=')?;
        // The value ends where a word of sh does: what it is quotes to the same again.
        let (end, value) = known.match_indices('\n').find_map(|(end, _)| {
            let [value] = &shlex::split(&known[..end])?[..] else { return None };
            (quote(value) == known[..end]).then(|| (end, value.clone()))
        })?;
        listed.insert(place.parse().ok()?, Arc::from(value));
        rest = &known[end + 1..];
    }
    Some((format!("{before}\n{rest}"), listed))
}

fn wanted(piece: &str) -> Wanted {
    if let Some(&read) = KNOWN.get(piece) {
        return Wanted::Known { read, sudo: false };
    }
    if let Some(&read) = KNOWN.get(&piece.replace(SUDO, "")) {
        return Wanted::Known { read, sudo: true };
    }
    let command = piece.split_once("command -v ").map_or(piece, |(_, rest)| rest);
    Wanted::Unknown(command.split_whitespace().next().unwrap_or_default().to_owned())
}

fn stream(text: &str) -> Option<Script> {
    let nonce = text.lines().find_map(|line| line.strip_prefix("n='")?.strip_suffix('\''))?;
    let nonce = self::nonce(nonce)?;
    let known = stream::block(nonce);
    let sudo = match text {
        text if text == known => false,
        text if text.replace(SUDO, "") == known => true,
        _ => return None,
    };
    Some(Script::Stream { nonce: nonce.to_owned(), sudo })
}

fn gpus(text: &str) -> Option<Script> {
    let nonce = text.lines().find_map(|line| line.strip_prefix("n='")?.strip_suffix('\''))?;
    let nonce = self::nonce(nonce)?;
    (text == gpu::stream::block(nonce)).then(|| Script::Gpus { nonce: nonce.to_owned() })
}

/// The words of a change: those of which our own script is made.
fn change(text: &str) -> Option<Script> {
    let line = text.lines().find_map(|line| line.strip_suffix(" </dev/null"))?;
    [true, false].into_iter().find_map(|sudo| {
        let line = if sudo { line.strip_prefix("sudo -n -- ")? } else { line };
        let words = shlex::split(line)?;
        (change_script(&words, sudo) == text).then_some(Script::Change { words, sudo })
    })
}

fn esxtop(text: &str) -> Option<Script> {
    let nonce = nonce(text.lines().find_map(|line| line.strip_prefix("n='")?.strip_suffix('\''))?)?;
    let command = text.lines().find_map(|line| line.strip_prefix("esxtop -b -d "))?;
    let period = Duration::from_secs(command.split(' ').next()?.parse().ok()?);
    (esxi::esxtop::block(nonce, period) == text).then(|| Script::Esxtop { nonce: nonce.to_owned(), period })
}

/// A nonce is letters and digits.
fn nonce(text: &str) -> Option<&str> {
    let is_one = !text.is_empty() && text.len() <= LONGEST_NONCE && text.chars().all(|c| c.is_ascii_alphanumeric());
    is_one.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Word;
    use crate::probe::dialect::posix::compile_knowing;

    fn all_sources() -> Vec<Source> {
        probes().flat_map(|probe| probe.sources.iter().copied()).collect()
    }

    #[test]
    fn every_source_of_the_program_is_recognised_again() {
        let sources = all_sources();
        assert!(sources.len() > 30, "{}", sources.len());
        let text = compile(&sources, "c0ffee");
        let (Script::Batch(batch), length) = recognise(&text, false).expect("it is whole") else { panic!("a batch") };
        assert_eq!((batch.nonce.as_str(), length), ("c0ffee", text.len()));
        assert_eq!(batch.pieces.len(), sources.len());
        for (piece, source) in batch.pieces.iter().zip(&sources) {
            assert_eq!(piece.wanted, Wanted::Known { read: source.read, sudo: false }, "{}", source.name);
        }
        for (at, _) in text.char_indices() {
            assert_eq!(recognise(&text[..at], false), None, "half a script is none");
        }
        assert_eq!(recognise(&text[..text.len() - 1], true).map(|(script, _)| script), Some(Script::Foreign));
    }

    #[test]
    fn sudo_before_a_command_is_the_same_command() {
        let text = compile(&all_sources(), "c0ffee").replace("$_t dmesg", "sudo -n $_t dmesg");
        let (Script::Batch(batch), _) = recognise(&text, false).expect("it is whole") else { panic!("a batch") };
        let raised = batch.pieces.iter().filter(|piece| matches!(piece.wanted, Wanted::Known { sudo: true, .. }));
        assert_eq!(raised.count(), 1);
        let block = stream::block("n1").replace("rdma -j res", "sudo -n rdma -j res");
        let (script, _) = recognise(&block, false).expect("it is whole");
        assert_eq!(script, Script::Stream { nonce: "n1".to_owned(), sudo: true });
    }

    #[test]
    fn lists_that_a_script_knows_are_taken_out_of_it() {
        let sources = all_sources();
        let known: Listed = [(1, Arc::from("a\n---\nit's 'x'\n")), (4, Arc::from("plain"))].into();
        let each: Vec<Source> = sources.into_iter().filter(|one| matches!(one.read, Read::Each { .. })).collect();
        let text = compile_knowing(&each, "c0ffee", "esxcli", &known, |_| None);
        let (Script::Batch(batch), length) = recognise(&text, false).expect("it is whole") else { panic!("a batch") };
        assert_eq!((&batch.listed, length, batch.pieces.len()), (&known, text.len(), each.len()));
        assert!(batch.pieces.iter().all(|piece| matches!(piece.wanted, Wanted::Known { .. })));
        let changed = text.replacen("_s4=0", "touch /tmp/x; _s4=0", 1);
        assert_eq!(recognise(&changed, false).map(|(script, _)| script), Some(Script::Foreign));
    }

    #[test]
    fn a_stream_is_told_from_its_ticks() {
        let text = format!("{}7 q\n8\n", stream::block("abc"));
        let (script, length) = recognise(&text, false).expect("it is whole");
        assert_eq!(script, Script::Stream { nonce: "abc".to_owned(), sudo: false });
        assert_eq!(&text[length..], "7 q\n8\n");
    }

    #[test]
    fn the_stream_of_a_host_is_known_by_its_period() {
        let period = Duration::from_secs(2);
        let text = esxi::esxtop::block("abc", period);
        let found = recognise(&text, false);
        assert_eq!(found, Some((Script::Esxtop { nonce: "abc".to_owned(), period }, text.len())));
        let changed = text.replacen("kill $w", "kill 1", 1);
        assert_eq!(recognise(&changed, false).map(|(script, _)| script), Some(Script::Foreign));
    }

    #[test]
    fn a_change_is_known_by_its_words() {
        let words = ["esxcli", "set", "-s", "it's 5"].map(str::to_owned).to_vec();
        for sudo in [false, true] {
            let text = change_script(&words, sudo);
            let found = recognise(&text, false).map(|(script, _)| script);
            assert_eq!(found, Some(Script::Change { words: words.clone(), sudo }));
        }
        let two = change_script(&words, false).replace("exit $?", "reboot\nexit $?");
        assert_eq!(recognise(&two, false).map(|(script, _)| script), Some(Script::Foreign));
    }

    #[test]
    fn what_is_not_ours_is_foreign() {
        let stranger = Source {
            name: "test.stranger",
            read: Read::Command { argv: &[Word::Plain("touch"), Word::Plain("/tmp/x")], keep: None },
        };
        let text = compile(&[stranger], "abc");
        let (Script::Batch(batch), _) = recognise(&text, false).expect("it is whole") else { panic!("a batch") };
        assert_eq!(batch.pieces, [Piece { index: 0, wanted: Wanted::Unknown("touch".to_owned()) }]);
        let changed = compile(&all_sources(), "abc").replacen("unset GREP_OPTIONS\n", "touch /tmp/x\n", 1);
        assert_eq!(recognise(&changed, false).map(|(script, _)| script), Some(Script::Foreign));
        let changed = stream::block("abc").replacen("exec 2>/dev/null\n", "touch /tmp/x\n", 1);
        assert_eq!(recognise(&changed, false).map(|(script, _)| script), Some(Script::Foreign));
        assert_eq!(recognise("touch /tmp/x\n", false), None);
        assert_eq!(recognise("touch /tmp/x\n", true), Some((Script::Foreign, 13)));
    }
}
