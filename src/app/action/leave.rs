//! Leaving, suspending, drawing anew.

use super::Action;
use crate::app::effect::Effect;

pub(super) const QUIT: Action =
    Action { name: "quit", hint: "quit", description: "Leave the program", run: |_| vec![Effect::Quit] };

pub(super) const SUSPEND: Action = Action {
    name: "suspend",
    hint: "suspend",
    description: "Hand the terminal back to the shell; `fg` brings the console back",
    run: |_| vec![Effect::Suspend],
};

pub(super) const REDRAW: Action = Action {
    name: "redraw",
    hint: "redraw",
    description: "Draw the whole screen anew, after something else wrote on it",
    run: |_| vec![Effect::Redraw],
};
