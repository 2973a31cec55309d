//! What `esxcli` and `localcli` answer. Every form names the published output or the capture that it was made
//! after, or says what of it is unsourced.

mod hardware;
mod network;
mod nics;
mod rdma;
mod system;

pub use hardware::{lspci, vmkchdev};
pub use system::{known_parameters, options};

use super::Said;
use super::state::State;

/// Words of a call, taken apart: the names of namespaces and of the command, and its options.
#[derive(Debug, Default)]
pub struct Call<'a> {
    words: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Call<'a> {
    /// `network nic get -n vmnic2`.
    pub fn new(words: &'a [String]) -> Self {
        let mut call = Self::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match (word.strip_prefix('-'), word.split_once('=')) {
                (None, _) => call.words.push(word),
                (Some(_), Some((name, value))) => call.options.push((name, value)),
                // `-a -d`: what is followed by another option has no value.
                (Some(_), None) => {
                    let is_option = |next: &str| {
                        next.strip_prefix('-').is_some_and(|name| !name.starts_with(|c: char| c.is_ascii_digit()))
                    };
                    let value = if rest.clone().next().is_some_and(is_option) { None } else { rest.next() };
                    call.options.push((word, value.unwrap_or_default()));
                }
            }
        }
        call
    }

    /// Names of namespaces and of the command.
    pub fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// True if an option is there, with or without a value.
    pub fn has(&self, short: &str, long: &str) -> bool {
        self.option(short, long).is_some()
    }

    /// The value of an option by its short or its long name.
    pub fn option(&self, short: &str, long: &str) -> Option<&'a str> {
        self.options.iter().find(|(name, _)| *name == short || *name == long).map(|(_, value)| *value)
    }
}

/// Answers a call.
pub fn answer(state: &State, words: &[String]) -> Said {
    let call = Call::new(words);
    if call.options.iter().any(|(name, _)| name.starts_with("--formatter")) {
        return Err("Error: the lab prints texts only, without a formatter".to_owned());
    }
    let nic = call.option("-n", "--nic-name");
    match call.words.as_slice() {
        ["system", rest @ ..] => system::answer(state, rest, &call),
        ["software", "vib", "list"] => Ok(system::vibs(state)),
        ["software", "component", "list"] => Ok(system::components(state)),
        ["hardware", rest @ ..] => hardware::answer(state, rest, &call),
        ["graphics", "device", "list"] => Ok(hardware::graphics(state)),
        ["graphics", "host", "get"] => Ok(hardware::graphics_host()),
        ["rdma", rest @ ..] => rdma::answer(state, rest, call.option("-d", "--device")),
        ["networkinternal", "nic", "privstats", "get"] => nics::private_stats(state, nic),
        ["network", rest @ ..] => network::answer(state, rest, nic, &call),
        ["vm", "process", "list"] => Ok(system::processes(state)),
        _ => unknown(&call.words),
    }
}

/// There is no such command. UNSOURCED wording.
fn unknown(words: &[&str]) -> Said {
    Err(format!("Error: Unknown command or namespace {}", words.join(" ")))
}
