//! A finding as every document shows it: what is wrong, how sure that is, what shows it, what speaks against it, what would
//! settle it, and what helps.

use serde::Serialize;

use crate::fabric::Text;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Does not work.
    Fail,
    /// Works, but not as it should.
    Warn,
    /// Worth knowing.
    Info,
    /// As it should be.
    Pass,
    /// Cannot be told.
    Unknown,
}

impl Status {
    /// The status as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Pass => "pass",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// One decisive item and none against.
    Proved,
    /// Several items for it.
    Likely,
    /// It fits, no more.
    Possible,
}

/// One item that shows something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The machine it is from, if that is known.
    pub target: Option<Text>,
    /// The command that printed it, if that is known.
    pub command: Option<Text>,
    /// When it was so, if that is known: RFC 3339.
    pub at: Option<Text>,
    /// Line of the input, from 1.
    pub line: Option<u32>,
    /// The words that show it.
    pub excerpt: Text,
}

impl Evidence {
    /// A line of an input of which no more is known.
    pub fn of_line(line: u32, excerpt: &str) -> Self {
        Self { target: None, command: None, at: None, line: Some(line), excerpt: Text::new(excerpt) }
    }
}

/// Something that helps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What to do.
    pub title: String,
    /// Commands for it, shown to be run by a person.
    pub commands: Vec<String>,
    /// What it can break.
    pub risk: String,
    /// How it is undone.
    pub undo: String,
    /// How to see that it helped.
    pub verify: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Id of the check, `layer.kebab-name`.
    pub check: String,
    /// How it came out.
    pub status: Status,
    /// Layer: switch, host, vm, guest, gpu, mpi, tool.
    pub layer: String,
    /// The machine it is about, if that is known.
    pub target: Option<Text>,
    /// The thing it is about.
    pub subject: Text,
    /// What is the matter, one sentence.
    pub title: String,
    /// Why.
    pub cause: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<Evidence>,
    /// What would settle it; empty if nothing is open.
    pub decide: String,
    /// What helps.
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// A finding of this check without evidence yet; the layer is the first part of the id.
    pub fn new(check: &str, status: Status, confidence: Confidence, subject: &str, title: &str, cause: &str) -> Self {
        Self {
            check: check.to_owned(),
            status,
            layer: check.split_once('.').map_or("tool", |(layer, _)| layer).to_owned(),
            target: None,
            subject: Text::new(subject),
            title: title.to_owned(),
            cause: cause.to_owned(),
            confidence,
            evidence: Vec::new(),
            against: Vec::new(),
            decide: String::new(),
            remedies: Vec::new(),
        }
    }

    /// With a line of the input that shows it.
    #[must_use]
    pub fn shown(mut self, line: u32, excerpt: &str) -> Self {
        self.evidence.push(Evidence::of_line(line, excerpt));
        self
    }

    /// With what would settle it.
    #[must_use]
    pub fn decided_by(mut self, decide: &str) -> Self {
        decide.clone_into(&mut self.decide);
        self
    }

    /// With something that helps.
    #[must_use]
    pub fn helped_by(mut self, title: &str, commands: &[&str], verify: &str) -> Self {
        self.remedies.push(Remedy {
            title: title.to_owned(),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
            verify: verify.to_owned(),
            ..Remedy::default()
        });
        self
    }
}
