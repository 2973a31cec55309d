//! `config init`, `config show` and `config path`.

use serde::Serialize;

use super::args::{Format, Global};
use super::text::{Row, rows};
use super::{Exit, Failure, library, output};
use crate::config::settings::{Given, Name};
use crate::config::{Kind, Rules, Settings, SiteThreshold, Suppression, Target, Whence};
use crate::engine::rules;
use crate::engine::settings::{self, Loaded};
use crate::probe::privilege::Become;

/// Writes the commented sample and says where.
pub fn init(global: &Global) -> Result<Exit, Failure> {
    let path = settings::write_sample(global.config.as_deref())?;
    output::print(&format!("wrote {}\n", path.display()))?;
    Ok(Exit::Done)
}

/// Prints where the configuration is, or would be.
pub fn path(global: &Global) -> Result<Exit, Failure> {
    let path = settings::path(global.config.as_deref())?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(Exit::Done)
}

/// Prints what is in force, and whence.
pub fn show(global: &Global) -> Result<Exit, Failure> {
    let mut loaded = settings::load(global.config.as_deref())?;
    let mut defects = global.overlay(&mut loaded.configuration.settings).err().unwrap_or_default();
    defects.extend(library::unknown(&loaded.configuration.settings, &library::load(global)));
    defects.extend(rules::thresholds(&loaded.configuration.rules).err().unwrap_or_default());
    if !defects.is_empty() {
        return Err(Failure::Usage(defects));
    }
    let text = match global.format {
        Format::Json => output::json(&document(&loaded))?,
        Format::Text | Format::Sarif | Format::Junit => text(&loaded),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    file: String,
    file_exists: bool,
    settings: Vec<ShownSetting>,
    /// The program alone: its arguments may say more than a terminal should show.
    alert_hook: Option<String>,
    targets: Vec<ShownTarget>,
    thresholds: Vec<ShownThreshold>,
    suppressions: Vec<ShownSuppression>,
}

#[derive(Serialize)]
struct ShownThreshold {
    key: String,
    value: f64,
    line: u32,
}

#[derive(Serialize)]
struct ShownSuppression {
    check: String,
    target: Option<String>,
    reason: String,
    expires: Option<String>,
    line: u32,
}

#[derive(Serialize)]
struct ShownSetting {
    name: &'static str,
    value: serde_json::Value,
    whence: ShownWhence,
}

#[derive(Serialize)]
struct ShownWhence {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct ShownTarget {
    name: String,
    kind: &'static str,
    system: Option<&'static str>,
    address: Option<String>,
    tags: Vec<String>,
    links: std::collections::BTreeMap<&'static str, String>,
    r#become: &'static str,
    /// The program alone: its arguments may say more than a terminal should show.
    password_command: Option<String>,
    legacy_algorithms: bool,
    line: u32,
}

fn document(loaded: &Loaded) -> Document {
    Document {
        schema: "rdmascope.config/1",
        file: loaded.path.display().to_string(),
        file_exists: loaded.exists,
        settings: Name::ALL.into_iter().map(|name| shown_setting(&loaded.configuration.settings, name)).collect(),
        alert_hook: loaded.configuration.alert_hook.first().cloned(),
        targets: loaded.configuration.inventory.targets.iter().map(shown_target).collect(),
        thresholds: loaded.configuration.rules.thresholds.iter().map(shown_threshold).collect(),
        suppressions: loaded.configuration.rules.suppressions.iter().map(shown_suppression).collect(),
    }
}

fn shown_setting(settings: &Settings, name: Name) -> ShownSetting {
    let (value, whence) = settings.get(name);
    let value = match value {
        Given::Text(text) => text.into(),
        Given::Flag(flag) => flag.into(),
        Given::Number(number) => number.into(),
    };
    let whence = match whence {
        Whence::Default => ShownWhence { kind: "default", name: None, line: None },
        Whence::File { path, line } => ShownWhence { kind: "file", name: Some(path.clone()), line: Some(*line) },
        Whence::Environment(name) => ShownWhence { kind: "environment", name: Some((*name).to_owned()), line: None },
        Whence::Option(name) => ShownWhence { kind: "option", name: Some((*name).to_owned()), line: None },
    };
    ShownSetting { name: name.key(), value, whence }
}

fn shown_target(target: &Target) -> ShownTarget {
    let links = &target.links;
    let named = [
        ("vm", &links.vm),
        ("host", &links.host),
        ("uplink", &links.uplink),
        ("switch", &links.switch),
        ("port", &links.port),
    ];
    ShownTarget {
        name: target.name.clone(),
        kind: target.kind_name(),
        system: match target.kind {
            Some(Kind::Switch(system)) => Some(system.name()),
            _ => None,
        },
        address: target.address.as_ref().map(ToString::to_string),
        tags: target.tags.clone(),
        links: named.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect(),
        r#become: target.by.name(),
        password_command: target.access.password_command.as_ref().and_then(|words| words.first().cloned()),
        legacy_algorithms: target.access.legacy_algorithms,
        line: target.line,
    }
}

fn shown_threshold(given: &SiteThreshold) -> ShownThreshold {
    ShownThreshold { key: given.key.clone(), value: given.value, line: given.line }
}

fn shown_suppression(suppression: &Suppression) -> ShownSuppression {
    ShownSuppression {
        check: suppression.check.clone(),
        target: suppression.target.clone(),
        reason: suppression.reason.clone(),
        expires: suppression.expires.map(|day| day.to_string()),
        line: suppression.line,
    }
}

/// What the site says about the checks, where it says something.
fn rules_text(rules: &Rules) -> String {
    let mut text = String::new();
    if !rules.thresholds.is_empty() {
        let row = |one: &SiteThreshold| Row::new(&one.key, &format!("{}  (line {})", one.value, one.line));
        text.push_str("\nThresholds\n");
        text.push_str(&rows(&rules.thresholds.iter().map(row).collect::<Vec<_>>(), 2));
    }
    if !rules.suppressions.is_empty() {
        let row = |one: &Suppression| {
            let target = one.target.as_ref().map_or(String::new(), |target| format!(" on {target}"));
            let until = one.expires.map_or(String::new(), |day| format!(", until {day}"));
            Row::new(&format!("{}{target}", one.check), &format!("{}{until}  (line {})", one.reason, one.line))
        };
        text.push_str("\nAccepted\n");
        text.push_str(&rows(&rules.suppressions.iter().map(row).collect::<Vec<_>>(), 2));
    }
    text
}

fn text(loaded: &Loaded) -> String {
    let state = if loaded.exists { "" } else { " (not there: defaults)" };
    let mut text = format!("{}{state}\n\nSettings\n", loaded.path.display());
    let mut settings: Vec<Row> = Name::ALL
        .into_iter()
        .map(|name| {
            let (value, whence) = loaded.configuration.settings.get(name);
            Row::new(name.key(), &format!("{value}  ({whence})"))
        })
        .collect();
    settings.extend(loaded.configuration.alert_hook.first().map(|program| Row::new("alert_hook", program)));
    text.push_str(&rows(&settings, 2));
    text.push_str("\nTargets\n");
    let targets = &loaded.configuration.inventory.targets;
    if targets.is_empty() {
        text.push_str("  none\n");
    }
    let targets: Vec<Row> = targets
        .iter()
        .map(|target| {
            let shown = shown_target(target);
            let system = shown.system.map_or(String::new(), |system| format!(" {system}"));
            let mut words = vec![format!("{}{system}", shown.kind)];
            words.extend(shown.address);
            words.extend((!shown.tags.is_empty()).then(|| format!("tags {}", shown.tags.join(", "))));
            words.extend((target.by != Become::None).then(|| format!("become {}", shown.r#become)));
            words.extend(shown.password_command.map(|program| format!("password from {program}")));
            words.extend(shown.legacy_algorithms.then(|| "legacy algorithms".to_owned()));
            words.extend(shown.links.iter().map(|(key, value)| format!("{key} {value}")));
            Row::new(&shown.name, &format!("{}  (line {})", words.join("; "), shown.line))
        })
        .collect();
    text.push_str(&rows(&targets, 2));
    text.push_str(&rules_text(&loaded.configuration.rules));
    text
}
