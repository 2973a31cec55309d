//! Lines of the VMkernel's log that matter, of the last day.

use crate::diagnose::check::{Lack, Scene};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The log of the VMkernel.
const LOG: &str = "/var/log/vmkernel.log";

/// Seconds of a day.
const DAY: i64 = 86_400;

/// One line.
pub(super) struct Message<'a> {
    /// The line as a thing.
    pub(super) id: EntityId,
    /// How long ago it was written, in seconds, counted from now or from the last line, what is later; 0 where it has no stamp.
    pub(super) ago: i64,
    /// What it says.
    pub(super) text: &'a str,
    /// `info`, `warning`, `error`.
    pub(super) severity: &'a str,
}

/// The lines of the last day, the oldest first. Why not, if the log could not be read.
pub(super) fn of_host<'a>(scene: &Scene<'a>, host: &TargetId) -> Result<Vec<Message<'a>>, (Lack, String)> {
    let id = EntityId::new(host, Entity::Host);
    if scene.flag(&id, Attribute::KernelLog) != Some(true) {
        return Err(super::bearing::why(scene, &id, Attribute::KernelLog, "esxi.vmkernel-log-tail"));
    }
    let first = Entity::LogMessage { log: LOG.into(), stamp: 0, ordinal: 0 };
    let stamped: Vec<(i64, EntityId)> = scene
        .fabric
        .of_kind(host, first)
        .take_while(|entity| matches!(entity, Entity::LogMessage { log, .. } if *log == *LOG))
        .filter_map(|entity| match entity {
            Entity::LogMessage { stamp, .. } => {
                let seconds = i64::try_from(stamp / 1_000_000).ok()?;
                Some((seconds, EntityId::new(host, entity.clone())))
            }
            _ => None,
        })
        .collect();
    let last = stamped.iter().map(|(at, _)| *at).max().unwrap_or(0).max(scene.now.as_second());
    Ok(stamped
        .into_iter()
        .map(|(at, id)| (if at > 0 { last.saturating_sub(at) } else { 0 }, id))
        .filter(|(ago, _)| *ago <= DAY)
        .filter_map(|(ago, id)| {
            let text = scene.text(&id, Attribute::Message)?;
            let severity = scene.text(&id, Attribute::Severity).unwrap_or("info");
            Some(Message { id, ago, text, severity })
        })
        .collect())
}

/// True if a name stands in a text by itself: `vmnic1` is not in `vmnic12`.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// A message as evidence quotes it, not too long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(LONGEST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Site, says};

    #[test]
    fn a_name_stands_by_itself() {
        assert!(names("nmlx5_core: vmnic1: link down", "vmnic1"));
        assert!(!names("nmlx5_core: vmnic12: link down", "vmnic1"));
        assert!(names("(0000:a9:00.0) Adapter removed.", "0000:a9:00.0"));
    }

    #[test]
    fn what_is_older_than_a_day_is_over() {
        let log = "2026-11-22T12:00:00.000Z cpu1:2)WARNING: PCI: 1: old\n2026-11-24T11:00:00.000Z cpu1:2)WARNING: PCI: 2: new\n";
        let site = Site::sound().with("esx01", says("esxi.vmkernel-log-tail", log));
        let joined = site.joined();
        let scene = site.scene(&joined);
        let found = of_host(&scene, &TargetId::new("esx01")).expect("read");
        assert_eq!(found.iter().map(|one| (one.ago, one.text)).collect::<Vec<_>>(), [(0, "PCI: 2: new")]);
    }
}
