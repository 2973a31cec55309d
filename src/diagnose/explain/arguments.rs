//! Parameters of driver modules: the whole string as `esxcfg-module -g` shows it, or a bare one; and what is missing in it
//! for RoCE.

use super::parts::Line;
use super::{Explained, Value, value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;

/// Reads what such lines say.
pub(super) fn read(explained: &mut Explained, host: Option<&str>, lines: &[Line<'_>]) {
    for (number, line) in lines {
        if let Some((module, rest)) = line.trim().split_once(" enabled = ")
            && let Some((enabled, options)) = rest.split_once(" options = ")
            && !module.contains(' ')
        {
            let owner = host.map_or_else(|| module.to_owned(), |host| format!("{host}:{module}"));
            explained.fact(
                *number,
                &format!("{owner}.enabled"),
                State::Known(Value::Flag(enabled.trim() == "1")),
                None,
            );
            options_of(explained, *number, &owner, module, options.trim().trim_matches('\''));
        }
    }
}

/// The number that a parameter means: `8` and `0x08` are one mask.
fn mask(written: &str) -> Option<i64> {
    match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => written.parse().ok(),
    }
}

fn options_of(explained: &mut Explained, line: u32, owner: &str, module: &str, options: &str) {
    if options.is_empty() {
        explained.fact(line, &format!("{owner}.options"), State::Empty, None);
    }
    let mut given = Vec::new();
    for word in options.split_whitespace() {
        let Some((name, written)) = word.split_once('=') else { continue };
        let state = mask(written).map_or_else(|| value(written), |number| State::Known(Value::Number(number)));
        explained.fact(line, &format!("{owner}.{name}"), state, None);
        given.push((name.to_ascii_lowercase(), mask(written)));
    }
    if !(module.starts_with("nmlx") && module.ends_with("_core")) {
        return;
    }
    let get = |name: &str| given.iter().find(|(given, _)| given == name).and_then(|(_, value)| *value);
    let (tx, rx) = (get("pfctx"), get("pfcrx"));
    let (status, title, cause) = match (tx, rx) {
        (Some(tx), Some(rx)) if tx == rx && tx == 8 => (
            Status::Pass,
            format!("Priority flow control is configured for priority 3 on {module}"),
            "pfctx and pfcrx are both the mask 0x08. Every `set` replaces the whole string, so all parameters have to be given \
             together; what was changed since the host started is not in force yet."
                .to_owned(),
        ),
        (Some(tx), Some(rx)) if tx == rx && tx > 0 => (
            Status::Info,
            format!("Priority flow control is configured on {module} for another priority than 3"),
            format!("The mask is 0x{tx:02x}; the usual priority of RoCE is 3, mask 0x08. Hosts and switches have to agree."),
        ),
        (None, None) => (
            Status::Info,
            format!("The parameters of {module} set no priority flow control"),
            "Neither pfctx nor pfcrx is in the string. A second `set` without them removes those of the first one; then RoCE \
             depends on global pause or on what DCBX negotiates."
                .to_owned(),
        ),
        _ => (
            Status::Warn,
            format!("Priority flow control of {module} differs between sending and receiving"),
            "pfctx and pfcrx have to be the same mask; a second `set` that names only one of them removes the other.".to_owned(),
        ),
    };
    explained.finding(
        Finding::new("host.module-parameters", status, Confidence::Proved, module, &title, &cause).shown(line, options),
    );
}
