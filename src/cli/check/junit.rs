//! The findings of `check` as XML of the kind that `JUnit` made common, for whatever collects the results of tests: one suite
//! a layer, one case for each check and subject, and one for each target.

use std::fmt::Write as _;

use super::report::{LAYERS, confidence, item};
use super::{Grave, Outcome, is_grave};
use crate::config::Suppression;
use crate::diagnose::cause::Found;
use crate::diagnose::check::Lack;
use crate::diagnose::finding::{Finding, Status};

/// How one case came out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Result {
    Passed,
    /// Passed, and there is something to say.
    Noted(String),
    Failed {
        kind: &'static str,
        message: String,
        text: String,
    },
    Error {
        message: String,
    },
    Skipped {
        message: String,
    },
}

/// One case.
#[derive(Clone, Debug)]
struct Case {
    class: String,
    name: String,
    result: Result,
}

/// The whole document.
pub(super) fn document(outcome: &Outcome, fail_on: Grave) -> String {
    let mut suites: Vec<(String, Vec<Case>)> = Vec::new();
    let reached = outcome.examined.targets.iter().map(|target| Case {
        class: "rdmascope.target".to_owned(),
        name: format!("{} is read", target.name),
        result: match &target.problem {
            Some(problem) => Result::Error { message: problem.to_string() },
            None => Result::Passed,
        },
    });
    suites.push(("targets".to_owned(), reached.collect()));
    for layer in LAYERS {
        let mut cases: Vec<Case> = Vec::new();
        for cause in &outcome.diagnosis.causes {
            let because = format!("explained by {}: {}", cause.found.check.id, cause.found.judged.title);
            cases.push(case(outcome, &cause.found, None, fail_on));
            cases.extend(cause.symptoms.iter().map(|found| case(outcome, found, Some(&because), fail_on)));
        }
        cases.extend(outcome.diagnosis.rest.iter().map(|found| case(outcome, found, None, fail_on)));
        cases.extend(outcome.accepted.iter().map(|accepted| suppressed(outcome, &accepted.found, &accepted.by)));
        cases.retain(|case| case.class.strip_prefix("rdmascope.").is_some_and(|of| of == layer));
        if !cases.is_empty() {
            suites.push((layer.to_owned(), cases));
        }
    }
    print(&suites, &outcome.at.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

fn place(finding: &Finding) -> (String, String) {
    let target = finding.target.as_ref().map(|target| format!(" {target}")).unwrap_or_default();
    (format!("rdmascope.{}", finding.layer), format!("{}{target} {}", finding.check, finding.subject))
}

fn case(outcome: &Outcome, found: &Found, because: Option<&str>, fail_on: Grave) -> Case {
    let finding = outcome.document_of(found);
    let (class, name) = place(&finding);
    let result = match finding.status {
        status if is_grave(status, fail_on) => Result::Failed {
            kind: finding.status.name(),
            message: finding.title.clone(),
            text: because.map(|why| format!("{why}\n")).unwrap_or_default() + &words(&finding),
        },
        Status::Fail | Status::Warn | Status::Info => {
            Result::Noted(format!("{}: {}\n{}", finding.status.name(), finding.title, words(&finding)))
        }
        Status::Pass => Result::Passed,
        Status::Unknown => {
            let message = format!("{}; would settle it: {}", finding.title, finding.decide);
            match found.judged.lack {
                Some(Lack::Unreached | Lack::ProbeFailed) => Result::Error { message },
                _ => Result::Skipped { message },
            }
        }
    };
    Case { class, name, result }
}

fn suppressed(outcome: &Outcome, found: &Found, by: &Suppression) -> Case {
    let finding = outcome.document_of(found);
    let (class, name) = place(&finding);
    let until = by.expires.map_or(String::new(), |day| format!(" (until {day})"));
    let message = format!("accepted: {}{until}: {} {}", by.reason, finding.status.name(), finding.title);
    Case { class, name, result: Result::Skipped { message } }
}

/// All that a finding says, a line each.
fn words(finding: &Finding) -> String {
    let mut lines = vec![finding.cause.clone(), format!("confidence: {}", confidence(finding.confidence))];
    lines.extend(finding.evidence.iter().map(|shown| format!("for: {}", item(shown))));
    lines.extend(finding.against.iter().map(|shown| format!("against: {}", item(shown))));
    if !finding.decide.is_empty() {
        lines.push(format!("would settle it: {}", finding.decide));
    }
    for remedy in &finding.remedies {
        lines.push(format!("what helps: {} (risk: {})", remedy.title, remedy.risk));
        lines.extend(remedy.commands.iter().map(|command| format!("  {command}")));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

fn print(suites: &[(String, Vec<Case>)], at: &str) -> String {
    let numbers = |cases: &[&Case]| {
        let count = |is: fn(&Result) -> bool| cases.iter().filter(|case| is(&case.result)).count();
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
            cases.len(),
            count(|result| matches!(result, Result::Failed { .. })),
            count(|result| matches!(result, Result::Error { .. })),
            count(|result| matches!(result, Result::Skipped { .. })),
        )
    };
    let all: Vec<&Case> = suites.iter().flat_map(|(_, cases)| cases).collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"rdmascope check\" {}>", numbers(&all));
    for (name, cases) in suites {
        let of: Vec<&Case> = cases.iter().collect();
        let _ = writeln!(out, "  <testsuite name=\"{}\" timestamp=\"{at}\" {}>", escaped(name), numbers(&of));
        for Case { class, name, result } in cases {
            let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(class), escaped(name));
            let _ = match result {
                Result::Passed => writeln!(out, "{head}/>"),
                Result::Noted(text) => {
                    writeln!(out, "{head}>\n      <system-out>{}</system-out>\n    </testcase>", escaped(text))
                }
                Result::Failed { kind, message, text } => writeln!(
                    out,
                    "{head}>\n      <failure type=\"{kind}\" message=\"{}\">{}</failure>\n    </testcase>",
                    escaped(message),
                    escaped(text)
                ),
                Result::Error { message } => {
                    writeln!(out, "{head}>\n      <error message=\"{}\"/>\n    </testcase>", escaped(message))
                }
                Result::Skipped { message } => {
                    writeln!(out, "{head}>\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(message))
                }
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Text as it may stand in XML 1.0, within and without quotes. Characters that XML cannot hold at all become a sign.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push('\n'),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_xml_cannot_hold_comes_through() {
        assert_eq!(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;");
        assert_eq!(escaped("\u{1b}[31m\0\u{ffff}\tx\n"), "\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}x\n");
        assert_eq!(escaped("]]>"), "]]&gt;");
    }
}
