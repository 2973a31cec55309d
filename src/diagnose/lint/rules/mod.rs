//! All rules, a file for each family, and what they share.

pub(super) mod device;
mod dictionary;
mod gpu;
mod host;
mod mmio;
mod myth;
mod numa;
mod passthrough;
pub(super) mod passthrough_id;
mod platform;
mod pvrdma;
mod unknown;
mod vgpu;

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod public_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use platform::passthrough_limit;

use super::{AtPowerOn, Found, Rule, Severity, Source, Subject};
use crate::fabric::Text;
use crate::fabric::text::clean_line;
use crate::probe::vmx::{Dictionary, Entry};

/// The families, in the order of the catalogue.
const FAMILIES: &[&[Rule]] = &[
    dictionary::RULES,
    platform::RULES,
    pvrdma::RULES,
    passthrough_id::RULES,
    passthrough::RULES,
    mmio::RULES,
    vgpu::RULES,
    numa::RULES,
    host::RULES,
    myth::RULES,
    unknown::RULES,
];

/// How many rules there are.
const COUNT: usize = {
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

/// The families, one behind the other.
const ALL: [Rule; COUNT] = {
    let mut all = [FAMILIES[0][0]; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut one = 0;
        while one < FAMILIES[family].len() {
            all[at] = FAMILIES[family][one];
            at += 1;
            one += 1;
        }
        family += 1;
    }
    all
};

/// All rules, in the order of the catalogue.
pub static RULES: &[Rule] = &ALL;

/// A rule that holds for all versions.
const fn rule(
    id: &'static str,
    severity: Severity,
    title: &'static str,
    source: Source,
    check: fn(&Subject<'_>) -> Vec<Found>,
) -> Rule {
    let at_power_on = AtPowerOn::BySeverity;
    Rule { id, severity, title, versions: "", source, at_power_on, myths: &[], of_grammar: false, check }
}

impl Rule {
    /// The same rule, for these versions only.
    const fn only(self, versions: &'static str) -> Self {
        Self { versions, ..self }
    }

    /// The same rule, an error with which a VM starts all the same.
    const fn starts(self) -> Self {
        Self { at_power_on: AtPowerOn::Starts, ..self }
    }

    /// The same rule, no error, but nobody knows what the host makes of it at power-on.
    const fn open(self) -> Self {
        Self { at_power_on: AtPowerOn::Open, ..self }
    }

    /// The same rule, of which these entries of the list of wrong advice say the same.
    const fn like(self, myths: &'static [&'static str]) -> Self {
        Self { myths, ..self }
    }

    /// The same rule, which finds lines that are no assignment.
    const fn of_grammar(self) -> Self {
        Self { of_grammar: true, ..self }
    }
}

/// What a public document says.
const fn documented(text: &'static str) -> Source {
    Source { text, weak: false }
}

/// What no public document says.
const fn field(text: &'static str) -> Source {
    Source { text, weak: true }
}

/// A finding about an assignment.
fn at(entry: &Entry, message: impl Into<String>) -> Found {
    Found { line: Some(entry.line), key: Some(shown(&entry.key)), message: message.into(), ..Found::default() }
}

/// A finding about a key that is missing.
fn missing(key: &str, message: impl Into<String>) -> Found {
    Found { key: Some(key.to_owned()), message: message.into(), ..Found::default() }
}

impl Found {
    /// The same finding, which is known to make the power-on fail.
    fn fatal(self, why: impl Into<String>) -> Self {
        Self { power_on_fails: Some(why.into()), ..self }
    }

    /// The same finding with one assignment that mends it.
    fn mend(mut self, key: &str, value: &str) -> Self {
        self.fix.push((key.to_owned(), Some(value.to_owned())));
        self
    }

    /// The same finding, mended by taking a key out.
    fn take_out(mut self, key: &str) -> Self {
        self.fix.push((key.to_owned(), None));
        self
    }
}

/// Text of the file as it may be shown. What cannot be seen is named (once for several in a row): a message about
/// nothing but that would make no sense without.
pub(super) fn shown(raw: &str) -> String {
    let is_hidden = |character: char| character != '\t' && clean_line(character.encode_utf8(&mut [0; 4])).is_empty();
    if !raw.trim().contains(is_hidden) {
        return Text::new(raw).to_string();
    }
    let (mut text, mut before) = (String::new(), None);
    for character in raw.trim().chars() {
        if !is_hidden(character) {
            text.push(character);
        } else if before != Some(character) {
            text.extend(character.escape_unicode());
        } else if !text.ends_with('…') {
            text.push('…');
        }
        before = Some(character);
    }
    Text::new(&text).to_string()
}

/// The number and the rest of a key of a numbered device: `ethernet0.virtualDev` with `ethernet` is 0 and `virtualDev`.
fn numbered<'a>(key: &'a str, prefix: &str) -> Option<(u32, &'a str)> {
    let head = key.get(..prefix.len())?;
    if !head.eq_ignore_ascii_case(prefix) {
        return None;
    }
    let (number, rest) = key.get(prefix.len()..)?.split_once('.')?;
    Some((number.parse().ok()?, rest))
}

/// The virtual hardware version.
fn hardware(vmx: &Dictionary) -> Option<u64> {
    vmx.number("virtualHW.version")
}

/// Whether the VM boots with EFI firmware.
fn efi(vmx: &Dictionary) -> bool {
    vmx.value("firmware").is_some_and(|firmware| firmware.eq_ignore_ascii_case("efi"))
}

/// Whether all memory is reserved; `None` if the file does not say how much memory there is.
fn memory_reserved(vmx: &Dictionary) -> Option<bool> {
    if vmx.flag("sched.mem.pin") == Some(true) {
        return Some(true);
    }
    let size = vmx.number("memSize")?;
    // A value that is no number is a finding of its own.
    if vmx.get("sched.mem.min").is_some() && vmx.number("sched.mem.min").is_none() {
        return None;
    }
    Some(vmx.number("sched.mem.min") == Some(size))
}
