//! What was not read yet of a host: its time is spared, so the first reads take a while.

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use crate::fabric::{Entity, SourceId, TargetId};
use crate::probe::esxi::PROBES;
use crate::probe::{Probe, Rhythm};

/// A row for each probe of which nothing came yet, once all that presses is there: before, the panel fills anyway.
pub(super) fn rows(model: &Model, host: &TargetId) -> Vec<Row> {
    let Some(target) = model.targets.get(host) else { return Vec::new() };
    let is_unread = |probe: &&Probe| !target.read.contains(&SourceId::new(probe.name));
    if PROBES.iter().filter(is_unread).any(|probe| probe.rhythm.every == Some(Rhythm::PRESSES)) {
        return Vec::new();
    }
    PROBES
        .iter()
        .filter(is_unread)
        .map(|probe| {
            let text = "not read yet: slow reads wait, to spare the host; a key reads everything now".to_owned();
            Row {
                key: RowKey::Entity(Entity::Host, format!("unread-{}", probe.name).into()),
                label: probe.title.to_owned(),
                cells: vec![Cell { text, gravity: Gravity::Unknown, source: None }],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{Options, Target, TargetKind};
    use super::*;
    use crate::fabric::Timestamp;

    #[test]
    fn what_nothing_came_of_is_named_once_the_first_is_there() {
        let host = TargetId::new("esx");
        let targets = vec![(host.clone(), Target::new(TargetKind::Linux))];
        let mut model = Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH);
        let labels = |model: &Model| rows(model, &host).into_iter().map(|row| row.label).collect::<Vec<_>>();
        let read = |model: &mut Model, name: &str| {
            model.targets.get_mut(&host).expect("a target").read.insert(SourceId::new(name))
        };
        assert!(labels(&model).is_empty(), "nothing was read");
        for probe in PROBES.iter().filter(|probe| !matches!(probe.name, "esxi.software" | "esxi.rdma")) {
            read(&mut model, probe.name);
        }
        assert!(labels(&model).is_empty(), "what presses is missing");
        read(&mut model, "esxi.rdma");
        assert_eq!(labels(&model), ["VIBs and components"]);
        read(&mut model, "esxi.software");
        assert!(labels(&model).is_empty());
    }
}
