//! Copying.

use super::Action;
use crate::app::copy;
use crate::app::effect::Effect;
use crate::app::model::Model;

pub(super) const COPY: Action = Action {
    name: "copy",
    hint: "copy",
    description: "Copy what is selected: name, value, event, values at the cursor, raw text; by OSC 52, if the terminal \
                  allows it, and into the buffer of tmux",
    run: |model| copy(model, false),
};

pub(super) const COPY_ROW: Action = Action {
    name: "copy-row",
    hint: "copy row",
    description: "Copy the whole row with its name; of graphs all values at the cursor; of evidence the command line",
    run: |model| copy(model, true),
};

fn copy(model: &mut Model, whole: bool) -> Vec<Effect> {
    match copy::selected(model, whole) {
        Ok(selected) => vec![Effect::Copy { text: selected.text, what: selected.what }],
        Err(why) => {
            model.screen.notice = Some((format!("nothing is copied: {why}"), model.now));
            Vec::new()
        }
    }
}
