//! The report as SARIF 2.1.0, for code scanners.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::report::File;
use crate::diagnose::lint::{Finding, RULES, Severity};
use crate::fabric::text::clean_line;

/// The whole document; `host_problems` tell what could not be found out about the host that was asked for.
pub(super) fn document(files: &[File], host_problems: &[String]) -> Json {
    let mut rules: Vec<&'static crate::diagnose::lint::Rule> = RULES.iter().collect();
    for finding in files.iter().flat_map(|file| &file.findings) {
        if !rules.iter().any(|rule| rule.id == finding.rule.id) {
            rules.push(finding.rule);
        }
    }
    let described: Vec<Json> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.title },
                "help": { "text": format!("Source: {}", rule.source.text) },
                "defaultConfiguration": { "level": level(rule.severity) },
                "properties": { "versions": rule.versions, "publicSource": !rule.source.weak },
            })
        })
        .collect();
    let results: Vec<Json> =
        files.iter().flat_map(|file| file.findings.iter().map(|finding| result(file, finding, &rules))).collect();
    let of_host = host_problems.iter().map(|problem| {
        json!({ "level": "error", "message": { "text": format!("the host could not be read: {}", clean_line(problem)) } })
    });
    let problems: Vec<Json> = files
        .iter()
        .filter_map(|file| {
            let problem = file.problem.as_ref()?;
            Some(json!({
                "level": "error",
                "message": { "text": problem },
                "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&file.path) } } }],
            }))
        })
        .chain(of_host)
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "rdmascope",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": described,
            } },
            "columnKind": "unicodeCodePoints",
            "artifacts": files.iter().map(|file| json!({ "location": { "uri": uri(&file.path) } })).collect::<Vec<_>>(),
            "invocations": [{
                "executionSuccessful": problems.is_empty(),
                "toolExecutionNotifications": problems,
            }],
            "results": results,
        }],
    })
}

fn result(file: &File, finding: &Finding, rules: &[&'static crate::diagnose::lint::Rule]) -> Json {
    let mut place = json!({ "artifactLocation": { "uri": uri(&file.path) } });
    if let Some(line) = finding.found.line.filter(|line| *line > 0) {
        place["region"] = json!({ "startLine": line });
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": rules.iter().position(|rule| rule.id == finding.rule.id),
        "level": level(finding.rule.severity),
        "message": { "text": clean_line(&finding.found.message) },
        "locations": [{ "physicalLocation": place }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A path as a reference: relative as it is, absolute with its scheme.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("vms/a b.vmx"), "vms/a%20b.vmx");
        assert_eq!(uri("/vmfs/ü#.vmx"), "file:///vmfs/%C3%BC%23.vmx");
    }
}
