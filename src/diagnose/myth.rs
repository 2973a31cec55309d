//! Published advice that is wrong, as an explicit list: how each piece is recognised in a line, what kind of wrong it is,
//! what is true, and where that is written. A line that is not on the list is never called a myth, however odd it looks;
//! some entries hold only beside other things of the same text (switching off `ethernet0` is ordinary, but not in a recipe
//! for PVRDMA), which the [`Context`] carries.

mod host;
mod said;
mod vm;

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
    host::MYTHS.iter().chain(vm::MYTHS)
}

/// Which pieces of wrong advice a line repeats. `context` is that of the whole text in which it stands.
pub fn judge(line: &str, context: Context) -> Vec<&'static Myth> {
    let said = Said::new(line, context);
    if said.is_empty() {
        return Vec::new();
    }
    all().filter(|myth| (myth.says)(&said)).collect()
}

#[cfg(test)]
mod tests;
