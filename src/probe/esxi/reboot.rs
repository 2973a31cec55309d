//! What waits for a reboot of a host. The host does not say it; it follows from what is configured against what is: the
//! owner of a PCI function, passthrough that is enabled and not active, boot-time settings.

use super::block::Block;
use super::pci::{self, Enabled};
use super::reply;
use super::table::Table;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};

/// The most things that are named; a host with more has another trouble.
const MOST: usize = 32;

/// The fact of the host, from the list of PCI functions as it came and as blocks. It is empty only if everything that could wait was read and nothing does.
pub(super) fn pending(
    list: &Observation,
    blocks: &Result<Vec<Block<'_>>, State<Value>>,
    enabled: &Result<Enabled, State<Value>>,
    settings: &Observation,
) -> Fact {
    let mut waiting = blocks.as_ref().map_or_else(|_| Vec::new(), |blocks| owners(blocks, enabled.as_ref().ok()));
    waiting.extend(boot_settings(settings));
    waiting.truncate(MOST);
    let state = if waiting.is_empty() {
        // Versions without the list of passthrough have nothing in it that could wait.
        let passthrough = enabled.as_ref().err().filter(|state| !matches!(state, State::NotPublished(_)));
        let unread =
            blocks.as_ref().err().cloned().or_else(|| passthrough.cloned()).or_else(|| settings_table(settings).err());
        unread.unwrap_or(State::Empty)
    } else {
        State::Known(Value::List(waiting))
    };
    list.fact(Entity::Host, Attribute::RebootPending, state, 0)
}

/// True if an owner says something: `Unknown` stands where none was ever configured, on healthy hosts too.
fn is_named(owner: &str) -> bool {
    let owner = owner.trim();
    !owner.is_empty() && !owner.eq_ignore_ascii_case("unknown")
}

/// True if a PCI function gets another owner with the next boot, by its owners as the list has them. The record of a
/// function that was taken out and put back looks the same.
pub fn is_owner_pending(configured: &str, current: &str) -> bool {
    is_named(configured) && is_named(current) && !configured.trim().eq_ignore_ascii_case(current.trim())
}

/// True if a boot-time setting waits for the next boot. Where the default is configured the kernel chooses by itself, and
/// what it chose can look different; only for a yes or no (`is_flag`) it cannot.
pub fn is_pending(configured: &str, runtime: &str, default: Option<&str>, is_flag: bool) -> bool {
    let is_default = default.is_some_and(|default| default.eq_ignore_ascii_case(configured));
    let differs = !configured.is_empty() && !runtime.is_empty() && !configured.eq_ignore_ascii_case(runtime);
    differs && (is_flag || !is_default)
}

fn owners(blocks: &[Block<'_>], enabled: Option<&Enabled>) -> Vec<Text> {
    let mut waiting = Vec::new();
    for block in blocks {
        let Some(address) = pci::address(block) else { continue };
        let configured = block.get(&["Configured Owner"]).unwrap_or("");
        let current = block.get(&["Current Owner"]).unwrap_or("");
        let is_enabled = enabled
            .and_then(|enabled| enabled.get(&address))
            .is_some_and(|(enabled, _)| *enabled == State::Known(true.into()));
        if is_owner_pending(configured, current) {
            waiting.push(format!("{address}: owner {configured} configured, {current} now (or its record is stale)"));
        } else if is_enabled && is_named(current) && !current.starts_with("VM Pass") {
            waiting.push(format!("{address}: passthrough enabled, not active ({current} owns it)"));
        }
    }
    waiting.iter().map(|words| Text::new(words)).collect()
}

fn settings_table(settings: &Observation) -> Result<Table, State<Value>> {
    reply::table(settings, &["Name", "Type", "Configured", "Runtime", "Default", "Description"], &["Name"])
}

/// Settings whose configured value is not in force.
fn boot_settings(settings: &Observation) -> Vec<Text> {
    let Ok(table) = settings_table(settings) else { return Vec::new() };
    let of = |row, title| table.get(row, &[title]);
    table
        .rows()
        .iter()
        .filter_map(|row| {
            let (name, configured, runtime) = (of(row, "Name")?, of(row, "Configured")?, of(row, "Runtime")?);
            let is_flag = of(row, "Type").is_some_and(|kind| kind.eq_ignore_ascii_case("bool"));
            is_pending(configured, runtime, of(row, "Default"), is_flag)
                .then(|| Text::new(&format!("kernel setting {name}: {configured} configured, {runtime} now")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_nobody_configured_waits_for_nothing() {
        assert!(is_owner_pending("VM Passthru", "VMkernel"));
        assert!(is_owner_pending("VMkernel", "VM Passthru"));
        for (configured, current) in
            [("Unknown", "VMkernel"), ("VMkernel", "Unknown"), ("", "VMkernel"), ("VMkernel ", "vmkernel")]
        {
            assert!(!is_owner_pending(configured, current), "{configured}, {current}");
        }
    }

    #[test]
    fn a_default_in_force_under_another_word_waits_for_nothing() {
        assert!(!is_pending("default", "none", Some("default"), false));
        assert!(!is_pending("0", "512", Some("0"), false));
        assert!(!is_pending("", "com2", Some("none"), false));
        assert!(is_pending("com1", "none", Some("default"), false));
        assert!(is_pending("com1", "none", None, false));
        assert!(is_pending("FALSE", "TRUE", Some("FALSE"), true), "a yes or no is what it says");
        assert!(!is_pending("TRUE", "true", Some("FALSE"), true));
    }
}
