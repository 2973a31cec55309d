//! Moving between targets, reading them now, connecting again.

use super::Action;
use crate::app::effect::Effect;
use crate::app::host_binding;
use crate::app::model::Model;
use crate::app::screen::{HostMode, Panel};
use crate::app::tree::Node;
use crate::fabric::TargetId;

pub(super) const NEXT: Action = Action {
    name: "next-target",
    hint: "next target",
    description: "Show the next target in the same panel",
    run: |model| step(model, true),
};

pub(super) const PREVIOUS: Action = Action {
    name: "previous-target",
    hint: "previous target",
    description: "Show the previous target in the same panel",
    run: |model| step(model, false),
};

pub(super) const READ_NOW: Action = Action {
    name: "read-now",
    hint: "read now",
    description: "Read everything of the selected target now, the slow things too; on Host everything of the host shown",
    run: |model| {
        let Some(target) = shown_target(model) else { return Vec::new() };
        if model.targets.get(&target).is_some_and(|known| known.connection.is_up()) {
            model.screen.notice = Some((format!("reading everything of {target}"), model.now));
            vec![Effect::ReadNow(target)]
        } else {
            model.screen.notice = Some((format!("{target} is not connected"), model.now));
            Vec::new()
        }
    },
};

pub(super) const RECONNECT: Action = Action {
    name: "reconnect",
    hint: "reconnect",
    description: "Connect to the selected target again now, whatever state it is in",
    run: |model| {
        let Some(target) = model.selected_target().cloned() else { return Vec::new() };
        model.screen.notice = Some((format!("connecting to {target} again"), model.now));
        vec![Effect::Reconnect(target)]
    },
};

/// The target whose values are looked at: on *Host* the host that is shown for a guest.
fn shown_target(model: &Model) -> Option<TargetId> {
    let host = match (model.screen.panel, model.screen.host.mode) {
        (Panel::Host, HostMode::One) => host_binding::selected_host(model),
        _ => None,
    };
    host.or_else(|| model.selected_target()).cloned()
}

fn step(model: &mut Model, forward: bool) -> Vec<Effect> {
    let count = model.order.len();
    if count == 0 {
        return Vec::new();
    }
    let current = model.selected_target().and_then(|id| model.order.iter().position(|other| other == id)).unwrap_or(0);
    let next = if forward { (current + 1) % count } else { (current + count - 1) % count };
    let target = model.order[next].clone();
    // What is selected is seen: a guest stands below its host.
    if let Some(host) = crate::app::tree::host_of(model, &target).cloned() {
        model.screen.tree.folded.remove(&Node::Target(host));
    }
    model.screen.tree.selected = Some(Node::Target(target));
    model.screen.guest.cell = 0;
    model.screen.vm = crate::app::screen::RowsView::default();
    Vec::new()
}
