//! Published advice that is wrong, as an explicit list: how each piece is recognised in a line, what kind of wrong it is,
//! what is true, and where that is written. A line that is not on the list is never called a myth, however odd it looks;
//! some entries hold only beside other things of the same text (switching off `ethernet0` is ordinary, but not in a recipe
//! for PVRDMA), which the [`Context`] carries.

mod guest;
mod host;
mod said;
mod versions;
mod vm;

use std::sync::LazyLock;

use crate::probe::needles::Needles;
pub(crate) use said::is_command;
pub use said::{Context, Said};

/// What is wrong with a piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It belongs to another layer: a guest's thing on the host, Linux's on ESXi, InfiniBand's on RoCE.
    WrongLayer,
    /// There is no such command.
    NoSuchCommand,
    /// There is no such key or setting.
    NoSuchKey,
    /// The command has no such option.
    NoSuchOption,
    /// It does the opposite of what is wanted.
    Opposite,
    /// The value is wrong.
    WrongValue,
    /// It changes nothing that matters here.
    Irrelevant,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::WrongLayer => "wrong layer",
            Self::NoSuchCommand => "no such command",
            Self::NoSuchKey => "no such key",
            Self::NoSuchOption => "no such option",
            Self::Opposite => "does the opposite",
            Self::WrongValue => "wrong value",
            Self::Irrelevant => "irrelevant",
        }
    }
}

/// One piece of wrong advice.
#[derive(Clone, Copy)]
pub struct Myth {
    /// Its id, `host.myth-pcipassthru-get`: the layer it speaks of, and a name.
    pub id: &'static str,
    /// What kind of wrong it is.
    pub verdict: Verdict,
    /// What it says, in a few words.
    pub claim: &'static str,
    /// What is true.
    pub truth: &'static str,
    /// Where that is written, in words that can be found again.
    pub source: &'static str,
    /// True if no public document says so.
    pub weak: bool,
    /// Words of which one stands in every line that says it, in small letters: other lines are not looked at.
    pub needs: &'static [&'static str],
    /// Recognises it in a line.
    pub says: fn(&Said<'_>) -> bool,
}

impl std::fmt::Debug for Myth {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Myth").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Myth {
    /// The layer that it speaks of.
    pub fn layer(&self) -> &'static str {
        self.id.split_once('.').map_or("tool", |(layer, _)| layer)
    }
}

/// The whole list.
pub fn all() -> impl Iterator<Item = &'static Myth> {
    host::MYTHS.iter().chain(versions::MYTHS).chain(vm::MYTHS).chain(guest::MYTHS)
}

/// The words of all entries, each with the place of its entry in the list.
static NEEDS: LazyLock<Needles> = LazyLock::new(|| {
    let words = all().zip(0_u8..).flat_map(|(myth, at)| myth.needs.iter().map(move |word| (*word, at)));
    Needles::new(words)
});

/// Which pieces of wrong advice a line repeats. `context` is that of the whole text in which it stands.
pub fn judge(line: &str, context: Context) -> Vec<&'static Myth> {
    judge_for(line, context, candidates(line)).into_iter().map(|(_, myth)| myth).collect()
}

/// The entries that a line may repeat, a bit for each in the order of the list: its words are there, no more is known.
pub(crate) fn candidates(line: &str) -> u64 {
    NEEDS.groups(line)
}

/// The same as [`judge`] for some entries only, with their places in the list.
pub(crate) fn judge_for(line: &str, context: Context, candidates: u64) -> Vec<(u32, &'static Myth)> {
    if candidates == 0 {
        return Vec::new();
    }
    let said = Said::new(line, context);
    if said.is_empty() {
        return Vec::new();
    }
    (0_u32..).zip(all()).filter(|(at, myth)| candidates >> at & 1 == 1 && (myth.says)(&said)).collect()
}

#[cfg(test)]
mod tests;
