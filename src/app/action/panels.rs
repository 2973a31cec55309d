//! Choosing the panel and the focus.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::path;
use crate::app::screen::{Focus, Panel};

pub(super) const PATH: Action = Action {
    name: "panel-path",
    hint: "Path",
    description: "Show the way between two guests, hop by hop, and the transport they use",
    run: |model| show(model, Panel::Path),
};

pub(super) const WIZARD: Action = Action {
    name: "panel-wizard",
    hint: "Wizard",
    description: "Show what is wrong, the surest cause first, with what shows it and what helps",
    run: |model| show(model, Panel::Wizard),
};

pub(super) const OTHER_END: Action = Action {
    name: "other-end",
    hint: "other end",
    description: "Show the way to the next guest",
    run: |model| {
        path::next_end(model);
        show(model, Panel::Path)
    },
};

pub(super) const HOST: Action = Action {
    name: "panel-host",
    hint: "Host",
    description: "Show what a host binds to RDMA: devices, uplinks, switches, settings, modules; hosts side by side; versions",
    run: |model| show(model, Panel::Host),
};

pub(super) const VM: Action = Action {
    name: "panel-vm",
    hint: "VM",
    description: "Show the devices of a VM, the way of each to the wire, and the VMX with its findings",
    run: |model| show(model, Panel::Vm),
};

pub(super) const GUEST: Action = Action {
    name: "panel-guest",
    hint: "Guest link",
    description: "Show the guest's RDMA links, GIDs, queue pairs, interfaces, limits and software",
    run: |model| show(model, Panel::GuestLink),
};

pub(super) const LIVE: Action = Action {
    name: "panel-live",
    hint: "Live",
    description: "Show the graphs of traffic, errors, queue pairs and interfaces",
    run: |model| show(model, Panel::Live),
};

pub(super) const EVENTS: Action = Action {
    name: "panel-events",
    hint: "Events",
    description: "Show everything that happened",
    run: |model| show(model, Panel::Events),
};

pub(super) const GPU: Action = Action {
    name: "panel-gpu",
    hint: "GPU",
    description: "Show the GPUs: what holds each back, its use, memory, power, PCIe and NVLink, MIG, processes and state",
    run: |model| show(model, Panel::Gpu),
};

pub(super) const NEXT_FOCUS: Action = Action {
    name: "next-focus",
    hint: "focus",
    description: "Move the focus between the fabric tree and the panel",
    run: |model| {
        model.screen.focus = match model.screen.focus {
            Focus::Tree => Focus::Panel,
            Focus::Panel => Focus::Tree,
        };
        Vec::new()
    },
};

pub(super) fn show(model: &mut Model, panel: Panel) -> Vec<Effect> {
    model.screen.panel = panel;
    model.screen.is_chosen = true;
    model.screen.focus = Focus::Panel;
    model.screen.overlays.clear();
    Vec::new()
}
