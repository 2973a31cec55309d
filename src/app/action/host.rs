//! What *Host binding* shows: one host, all side by side, or the versions of everything.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::screen::{HostMode, Panel, RowsView};

pub(super) const COMPARE: Action = Action {
    name: "compare-hosts",
    hint: "compare",
    description: "Show all hosts side by side, only what differs; again: one host",
    run: |model| toggle(model, HostMode::Compare),
};

pub(super) const VERSIONS: Action = Action {
    name: "versions",
    hint: "versions",
    description: "Show firmware, drivers, packages, builds and kernels of all targets, the odd ones out first; again: one \
                  host",
    run: |model| toggle(model, HostMode::Versions),
};

pub(super) const QUALIFICATION: Action = Action {
    name: "qualification",
    hint: "qualify",
    description: "Show which hosts qualify for PVRDMA, requirement by requirement, and where each VM would keep RDMA; again: one \
                  host",
    run: |model| toggle(model, HostMode::Qualify),
};

pub(super) const SHOW_ALL: Action = Action {
    name: "show-same",
    hint: "all",
    description: "Show also what is the same on all hosts, or only what differs",
    run: |model| {
        let host = &mut model.screen.host;
        host.all = !host.all;
        let words = if host.all { "all values are shown" } else { "only what differs is shown" };
        // What one host has is always shown whole.
        if matches!(host.mode, HostMode::One | HostMode::Qualify) {
            model.screen.host.mode = HostMode::Compare;
        }
        model.screen.notice = Some((words.to_owned(), model.now));
        show(model)
    },
};

fn toggle(model: &mut Model, mode: HostMode) -> Vec<Effect> {
    let shown = model.screen.panel == Panel::Host;
    let host = &mut model.screen.host;
    host.mode = if host.mode == mode && shown { HostMode::One } else { mode };
    host.rows = RowsView::default();
    show(model)
}

/// Also from elsewhere: the palette offers these actions everywhere.
fn show(model: &mut Model) -> Vec<Effect> {
    super::panels::show(model, Panel::Host)
}
