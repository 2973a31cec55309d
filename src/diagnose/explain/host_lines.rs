//! What lines of a host say against each other: pairs of RDMA devices and uplinks of which two sources differ, parameters of a
//! module that a second command wipes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Fact;
use super::host::{of, words};
use super::parts::Line;
use crate::diagnose::finding::{Confidence, Evidence, Finding, Status};
use crate::probe::needles::Needles;

/// A name as a scanner or a person mistyped it: `vmrdmal` is vmrdma1, `vmnico` vmnic0.
fn plain(name: &str) -> String {
    match name.strip_suffix('l') {
        Some(rest) if rest == "vmrdma" || rest == "vmnic" || rest == "vmhba" => format!("{rest}1"),
        _ => match name.strip_suffix('o') {
            Some(rest) if rest == "vmrdma" || rest == "vmnic" || rest == "vmhba" => format!("{rest}0"),
            _ => name.to_owned(),
        },
    }
}

/// So many adapters are compared; no host has as many.
const MOST_ADAPTERS: usize = 256;

/// Two sources that pair an RDMA device with different uplinks.
pub(super) fn pairs(facts: &[Fact], lines: &[Line<'_>]) -> Vec<Finding> {
    let listed: Vec<(String, String, &Fact)> = of(facts, "paired-uplink")
        .into_iter()
        .map(|(device, fact)| (plain(device.rsplit(':').next().unwrap_or(device)), plain(&words(fact)), fact))
        .filter(|(device, uplink, _)| device.starts_with("vmrdma") && uplink.starts_with("vmnic"))
        .collect();
    let mut found = Vec::new();
    let adapters: Vec<(u32, &str, Vec<String>)> = lines
        .iter()
        .filter(|(_, line)| !listed.is_empty() && line.trim_start().starts_with("vmhba"))
        .take(MOST_ADAPTERS)
        .map(|(number, line)| (*number, &**line, line.split(|c: char| !c.is_ascii_alphanumeric()).map(plain).collect()))
        .collect();
    for (device, uplink, fact) in listed.iter().take(MOST_ADAPTERS) {
        let mut others: Vec<(u32, String, &str)> = Vec::new();
        for (number, line, names) in &adapters {
            if names.contains(device) {
                let uplinks = names
                    .iter()
                    .filter(|name| name.strip_prefix("vmnic").is_some_and(|rest| rest.parse::<u32>().is_ok()));
                others.extend(uplinks.filter(|other| *other != uplink).map(|other| (*number, other.clone(), *line)));
            }
        }
        let Some((_, other, _)) = others.first() else { continue };
        let title = format!("{device} is paired with {uplink} by one source and with {other} by another");
        let mut cause = "The sources of this text contradict each other; neither is taken for true.".to_owned();
        let told = |name: &str, of_what: &str| {
            of(facts, name)
                .into_iter()
                .find(|(owner, _)| plain(owner.rsplit(':').next().unwrap_or(owner)) == of_what)
                .map(|(_, fact)| words(fact))
        };
        if let (Some(driver), Some(own)) = (told("driver", uplink), told("driver", device))
            && driver != own
        {
            cause.push_str(&format!(
                " {uplink} is driven by {driver}, {device} by {own}: that speaks against {uplink}."
            ));
        }
        let mut finding =
            Finding::new("host.rdma-pairing-disagrees", Status::Warn, Confidence::Proved, device, &title, &cause)
                .decided_by("esxcli rdma device list and esxcli network nic list, run again on one host at one time")
                .shown(fact.line, &format!("{}: {uplink}", fact.name));
        for (number, _, line) in &others {
            finding.evidence.push(Evidence::of_line(*number, line));
        }
        found.push(finding);
    }
    found
}

/// Words of which one stands in every line that sets a module's parameters.
static SETS: LazyLock<Needles> = LazyLock::new(|| Needles::new([("module parameters set", 0), ("esxcfg-module", 0)]));

/// A second `set` of a module's parameters that leaves out those of the first.
pub(super) fn wiped(lines: &[Line<'_>]) -> Vec<Finding> {
    let mut before: BTreeMap<String, (Vec<String>, u32)> = BTreeMap::new();
    let mut found = Vec::new();
    for (number, line) in lines {
        if SETS.groups(line) == 0 || found.len() > super::MOST_FINDINGS {
            continue;
        }
        let lower = line.to_lowercase();
        let sets = lower.contains("module parameters set") || (lower.contains("esxcfg-module") && lower.contains("-s"));
        if !sets
            || lower.trim_start().starts_with('#') && !lower.contains("# esxc")
            || lower.contains("--append")
            || lower.split_whitespace().any(|word| word == "-a")
        {
            continue;
        }
        let words: Vec<&str> =
            lower.split(|c: char| c.is_whitespace() || "\"'".contains(c)).filter(|word| !word.is_empty()).collect();
        let module = words
            .iter()
            .find(|word| word.starts_with("nmlx") || word.contains("=nmlx"))
            .map(|word| word.rsplit('=').next().unwrap_or(word));
        let Some(module) = module else { continue };
        let names: Vec<String> = words
            .iter()
            .filter(|word| !word.contains("=nmlx"))
            .filter_map(|word| {
                let word = word.trim_start_matches('-');
                let word = word.strip_prefix("parameter-string=").unwrap_or(word);
                word.split_once('=').map(|(name, _)| name.to_owned())
            })
            .collect();
        if let Some((first, at)) = before.get(module) {
            let lost: Vec<&str> = first.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
            if !lost.is_empty() {
                let title = format!("The second command for {module} takes back {}", lost.join(", "));
                let cause = "Setting the parameters of a module replaces the whole string. Give all of them in one command, or append.";
                let finding = Finding::new(
                    "host.module-parameters-wiped",
                    Status::Warn,
                    Confidence::Likely,
                    module,
                    &title,
                    cause,
                )
                .decided_by(&format!("esxcli system module parameters list -m {module}"));
                found.push(finding.shown(*at, "the first command").shown(*number, line));
            }
        }
        before.insert(module.to_owned(), (names, *number));
    }
    found
}
