//! What `lint` says: the JSON document of `schema/lint-1.json`, and text at 80 columns.

use std::fmt::Write as _;

use super::super::text::wrap;
use crate::diagnose::lint::{Finding, PowerOn, Severity, Source, Verdict, catalogue};
use crate::fabric::text::clean_line;

/// What was found out about one file.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Its path as it was given or found; `-` for standard input.
    pub path: String,
    /// What would happen at power-on.
    pub power_on: PowerOn,
    /// What the rules found, the gravest first.
    pub findings: Vec<Finding>,
    /// Why it could not be judged, if that is so.
    pub problem: Option<String>,
    /// What `--fix` did, if it was asked for and there was something to do.
    pub fixed: Option<Fixed>,
}

/// What `--fix` did to a file.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Fixed {
    /// The assignments that were or would be made.
    pub changes: Vec<Change>,
    /// The file with the old bytes; `None` if nothing was written.
    pub backup: Option<String>,
    /// Why nothing was written, if that is so.
    pub refused: Option<String>,
}

/// One assignment.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Change {
    /// Name of the key.
    pub key: String,
    /// Its value before; `None` if it had none.
    pub before: Option<String>,
    /// Its value now; `None` if it was taken out.
    pub after: Option<String>,
}

/// How the VM learns of a changed file.
pub(super) const RELOAD: &str = "the host reads a changed file of a registered VM only when told to: vim-cmd vmsvc/getallvms shows its \
                                 number N, then vim-cmd vmsvc/reload N";

#[derive(Debug, serde::Serialize)]
struct Document<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    /// The host whose facts the rules had.
    host: Option<&'a str>,
    /// What could not be found out about it.
    host_problems: Vec<String>,
    files: Vec<FileDocument<'a>>,
}

#[derive(Debug, serde::Serialize)]
struct FileDocument<'a> {
    path: &'a str,
    power_on: &'a PowerOn,
    findings: Vec<FindingDocument<'a>>,
    problem: Option<&'a str>,
    fixed: Option<&'a Fixed>,
}

#[derive(Debug, serde::Serialize)]
struct FindingDocument<'a> {
    rule: &'static str,
    severity: &'static str,
    line: Option<u32>,
    key: Option<&'a str>,
    message: String,
    source: &'static str,
    /// False where no public document says so.
    source_is_public: bool,
    versions: &'static str,
    power_on_fails: Option<&'a str>,
    fix: Vec<Fix<'a>>,
}

#[derive(Debug, serde::Serialize)]
struct Fix<'a> {
    key: &'a str,
    value: Option<&'a str>,
}

/// The document of schema `rdmascope.lint/1`.
pub(super) fn document<'a>(
    files: &'a [File],
    host: Option<&'a str>,
    problems: &[String],
) -> impl serde::Serialize + use<'a> {
    let finding = |finding: &'a Finding| FindingDocument {
        rule: finding.rule.id,
        severity: word(finding.rule.severity),
        line: finding.found.line,
        key: finding.found.key.as_deref(),
        message: clean_line(&finding.found.message),
        source: finding.rule.source.text,
        source_is_public: !finding.rule.source.weak,
        versions: finding.rule.versions,
        power_on_fails: finding.found.power_on_fails.as_deref(),
        fix: finding.found.fix.iter().map(|(key, value)| Fix { key, value: value.as_deref() }).collect(),
    };
    let files = files.iter().map(|file| FileDocument {
        path: &file.path,
        power_on: &file.power_on,
        findings: file.findings.iter().map(finding).collect(),
        problem: file.problem.as_deref(),
        fixed: file.fixed.as_ref(),
    });
    Document {
        schema: "rdmascope.lint/1",
        rdmascope: env!("CARGO_PKG_VERSION"),
        host,
        host_problems: problems.iter().map(|problem| clean_line(problem)).collect(),
        files: files.collect(),
    }
}

/// The word of a severity in documents.
pub(super) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// All rules with what each rests on, in the order of the catalogue.
pub(super) fn rules() -> String {
    let mut text = String::new();
    for rule in catalogue() {
        let _ = writeln!(text, "{}  {}", rule.id, word(rule.severity));
        paragraph(&mut text, rule.title, 2);
        if !rule.versions.is_empty() {
            paragraph(&mut text, &format!("versions: {}", rule.versions), 2);
        }
        paragraph(&mut text, &format!("source: {}", sourced(rule.source)), 2);
    }
    text
}

/// The same for people.
pub(super) fn text(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        one(&mut text, file);
        text.push('\n');
    }
    let count = |severity| {
        files.iter().flat_map(|file| &file.findings).filter(|finding| finding.rule.severity == severity).count()
    };
    let failing = files.iter().filter(|file| file.power_on.verdict == Verdict::Fails).count();
    let unread = files.iter().filter(|file| file.problem.is_some()).count();
    let mut parts = vec![
        counted(files.len(), "file"),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        format!("{} for information", count(Severity::Info)),
    ];
    if failing > 0 {
        parts.push(format!("{failing} would fail at power-on"));
    }
    if unread > 0 {
        parts.push(format!("{unread} could not be judged"));
    }
    paragraph(&mut text, &parts.join(", "), 0);
    text
}

fn one(text: &mut String, file: &File) {
    let name = if file.path == "-" { "standard input".to_owned() } else { clean_line(&file.path) };
    let _ = writeln!(text, "{name}");
    if let Some(problem) = &file.problem {
        return paragraph(text, &format!("not judged: {}", clean_line(problem)), 2);
    }
    let verdict = file.power_on.verdict.name();
    paragraph(text, &format!("power-on: {verdict}: {}", clean_line(&file.power_on.reason)), 2);
    for finding in &file.findings {
        let place = finding.found.line.map_or(String::new(), |line| format!("line {line}"));
        let key = finding.found.key.as_deref().map(clean_line).unwrap_or_default();
        let words = [word(finding.rule.severity), place.as_str(), key.as_str(), finding.rule.id];
        let head: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        text.push('\n');
        paragraph(text, &head.join("  "), 2);
        paragraph(text, &clean_line(&finding.found.message), 4);
        if !finding.rule.source.text.is_empty() {
            paragraph(text, &format!("source: {}", sourced(finding.rule.source)), 4);
        }
        for (key, value) in &finding.found.fix {
            let fix = match value {
                Some(value) => format!("fix: {} = \"{}\"", clean_line(key), clean_line(value)),
                None => format!("fix: take {} out", clean_line(key)),
            };
            paragraph(text, &fix, 4);
        }
    }
    let Some(fixed) = &file.fixed else { return };
    text.push('\n');
    match (&fixed.backup, &fixed.refused) {
        (Some(backup), _) => {
            let what =
                format!("{} written; the old file is {}", counted(fixed.changes.len(), "change"), clean_line(backup));
            paragraph(text, &what, 2);
            paragraph(text, RELOAD, 2);
        }
        (None, Some(refused)) => paragraph(text, &format!("not changed: {}", clean_line(refused)), 2),
        (None, None) => {}
    }
}

fn sourced(source: Source) -> String {
    format!("{}{}", source.text, if source.weak { " (no public document says so)" } else { "" })
}

fn paragraph(text: &mut String, what: &str, indent: usize) {
    for line in wrap(what, 80 - indent) {
        let _ = writeln!(text, "{}{line}", " ".repeat(indent));
    }
}

fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
