//! `doctor`: what to paste into a bug report. Looks at the terminal, the configuration and OpenSSH; changes nothing,
//! reaches no target, and tells no secret: names of a few variables with their values, never the environment.

mod checks;

use serde::Serialize;

use super::args::{Format, Global};
use super::text::{Row, rows};
use super::{Exit, Failure, output};

/// What an item means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Something will not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// `versions`, `terminal`, `configuration`, `ssh`.
    pub section: &'static str,
    /// What it is.
    pub name: &'static str,
    /// What was found.
    pub value: String,
    /// What that means.
    pub verdict: Verdict,
    /// What to do about it, if something.
    pub advice: Option<String>,
}

impl Item {
    fn ok(section: &'static str, name: &'static str, value: impl Into<String>) -> Self {
        Self { section, name, value: value.into(), verdict: Verdict::Ok, advice: None }
    }

    fn but(mut self, verdict: Verdict, advice: impl Into<String>) -> Self {
        self.verdict = verdict;
        self.advice = Some(advice.into());
        self
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    verdict: Verdict,
    items: &'a [Item],
}

/// Looks at everything and prints it; findings if something will not work.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let items = checks::all(global)?;
    let worst = items.iter().map(|item| item.verdict).max().unwrap_or(Verdict::Ok);
    let text = match global.format {
        Format::Json => output::json(&Document {
            schema: "rdmascope.doctor/1",
            rdmascope: env!("CARGO_PKG_VERSION"),
            verdict: worst,
            items: &items,
        })?,
        Format::Text | Format::Sarif | Format::Junit => text(&items),
    };
    output::print(&text)?;
    Ok(if worst == Verdict::Problem { Exit::Findings } else { Exit::Done })
}

fn text(items: &[Item]) -> String {
    let mut text = String::new();
    let mut section = "";
    let mut block: Vec<Row> = Vec::new();
    for item in items {
        if item.section != section {
            text.push_str(&rows(&std::mem::take(&mut block), 2));
            section = item.section;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(section);
            text.push('\n');
        }
        let mark = match item.verdict {
            Verdict::Ok => "",
            Verdict::Note => "note: ",
            Verdict::Problem => "PROBLEM: ",
        };
        let advice = item.advice.as_ref().map_or(String::new(), |advice| format!("  [{mark}{advice}]"));
        block.push(Row::new(item.name, &format!("{}{advice}", item.value)));
    }
    text.push_str(&rows(&block, 2));
    let problems = items.iter().filter(|item| item.verdict == Verdict::Problem).count();
    let counted = match problems {
        0 => "no problem found".to_owned(),
        1 => "1 problem found".to_owned(),
        many => format!("{many} problems found"),
    };
    text + "\n" + &counted + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_marks_what_matters() {
        let items = [
            Item::ok("versions", "rdmascope", "0.1.0"),
            Item::ok("ssh", "agent", "none").but(Verdict::Note, "only key files are tried"),
            Item::ok("ssh", "~/.ssh", "mode 777").but(Verdict::Problem, "chmod 700 ~/.ssh"),
        ];
        assert_eq!(
            text(&items),
            "versions\n  rdmascope  0.1.0\n\nssh\n  agent   none  [note: only key files are tried]\n  \
             ~/.ssh  mode 777  [PROBLEM: chmod 700 ~/.ssh]\n\n1 problem found\n"
        );
    }
}
