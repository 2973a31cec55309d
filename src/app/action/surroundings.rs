//! What surrounds the console: its configuration, its editor, the line it is used over, the mouse.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;

pub(super) const RELOAD: Action = Action {
    name: "reload",
    hint: "reload",
    description: "Read the configuration, the themes and the key maps again; on a mistake the old ones stay",
    run: |_| vec![Effect::Reload],
};

pub(super) const EDIT: Action = Action {
    name: "edit-configuration",
    hint: "edit configuration",
    description: "Edit settings and inventory with $VISUAL, $EDITOR or vi, then read them again",
    run: |_| vec![Effect::EditConfiguration],
};

pub(super) const LOW_BANDWIDTH: Action = Action {
    name: "toggle-low-bandwidth",
    hint: "low bandwidth",
    description: "Draw less, for slow lines: fewer frames, graphs that sweep; or draw as usual again",
    run: |model| {
        model.screen.look.low_bandwidth = !model.screen.look.low_bandwidth;
        let text = if model.screen.look.low_bandwidth {
            "low bandwidth: fewer frames, graphs sweep"
        } else {
            "full bandwidth: graphs scroll"
        };
        say(model, text)
    },
};

pub(super) const MOUSE: Action = Action {
    name: "toggle-mouse",
    hint: "mouse",
    description: "Let clicks and the wheel select in the console, or leave them to the terminal",
    run: |model| {
        model.screen.look.mouse = !model.screen.look.mouse;
        let text = if model.screen.look.mouse {
            "the mouse selects here; the terminal's own selection needs Shift"
        } else {
            "the mouse is the terminal's own"
        };
        say(model, text)
    },
};

fn say(model: &mut Model, text: &str) -> Vec<Effect> {
    model.screen.notice = Some((text.to_owned(), model.now));
    Vec::new()
}
