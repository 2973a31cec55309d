//! What the mouse points at, by the place of things in the lists that the model makes: where they are on the screen is
//! known to the view alone.

use serde::{Deserialize, Serialize};

use super::action;
use super::effect::Effect;
use super::model::Model;
use super::screen::{Focus, Panel};
use super::{live, table, tree};

/// What was pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pointed {
    /// A row of the fabric tree.
    Tree(u32),
    /// A row of a panel of rows: *Host binding*, *VM devices*, *Guest link*.
    Guest(u32),
    /// A graph of *Live*.
    Graph(u32),
    /// The event of this number.
    Event(u64),
    /// The wheel was turned over the tree or over what stands beside it; over an overlay it turns that.
    Wheel {
        /// True over the tree.
        tree: bool,
        /// Rows down; up if negative.
        rows: i8,
    },
}

/// Takes it in.
pub fn apply(model: &mut Model, pointed: Pointed) -> Vec<Effect> {
    let covered = !model.screen.overlays.is_empty() || !model.prompts.is_empty() || model.screen.editing.is_some();
    match pointed {
        Pointed::Wheel { tree, rows } => {
            if !covered {
                model.screen.focus = if tree { Focus::Tree } else { Focus::Panel };
            }
            let name = if rows < 0 { "up" } else { "down" };
            return (0..rows.unsigned_abs()).flat_map(|_| action::run(model, name)).collect();
        }
        _ if covered => {}
        Pointed::Tree(row) => {
            let rows = tree::rows(model);
            if let Some(row) = rows.get(index(row)) {
                let node = row.node.clone();
                // The selected row again: as Enter does.
                let again = model.screen.focus == Focus::Tree && model.screen.tree.selected.as_ref() == Some(&node);
                model.screen.focus = Focus::Tree;
                if again && row.folded.is_some() {
                    return action::run(model, "fold");
                }
                action::select_node(model, node);
            }
        }
        Pointed::Guest(row) => {
            let Some(rows) = table::rows(model) else { return Vec::new() };
            let Some(row) = rows.get(index(row)).filter(|row| !row.is_section()) else { return Vec::new() };
            let focused = model.screen.focus == Focus::Panel;
            model.screen.focus = Focus::Panel;
            let Some(view) = table::view_mut(&mut model.screen) else { return Vec::new() };
            if focused && view.selected.as_ref() == Some(&row.key) {
                let again = if model.screen.panel == Panel::Wizard { "wizard-open" } else { "evidence" };
                return action::run(model, again);
            }
            view.selected = Some(row.key.clone());
            view.cell = 0;
        }
        Pointed::Graph(graph) if model.screen.panel == Panel::Live => {
            let Some(target) = model.selected_target().cloned() else { return Vec::new() };
            let last = live::graphs(model, &target).len().saturating_sub(1);
            model.screen.focus = Focus::Panel;
            model.screen.live.selected = index(graph).min(last);
        }
        Pointed::Event(number) if model.screen.panel == Panel::Events => {
            model.screen.focus = Focus::Panel;
            if model.events.get(number).is_some() {
                model.screen.events.selected = Some(number);
            }
        }
        Pointed::Graph(_) | Pointed::Event(_) => {}
    }
    Vec::new()
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::{Options, Target, TargetKind};
    use crate::app::screen::Overlay;
    use crate::app::{Message, Severity, update};
    use crate::fabric::{TargetId, Text, Timestamp};

    fn model() -> Model {
        let targets = ["a", "b", "c"].map(|name| (TargetId::new(name), Target::new(TargetKind::Linux))).to_vec();
        let mut model = Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH);
        for text in ["one", "two"] {
            let text = Text::new(text);
            let (target, at, severity) = (None, Timestamp::UNIX_EPOCH, Severity::Info);
            update(&mut model, Message::Notice { target, at, severity, text });
        }
        model
    }

    fn point(model: &mut Model, pointed: Pointed) {
        update(model, Message::Pointed(pointed));
    }

    #[test]
    fn a_click_selects_what_it_is_on_and_gives_it_the_focus() {
        let mut model = model();
        point(&mut model, Pointed::Tree(2));
        assert_eq!(model.selected_target(), Some(&TargetId::new("c")));
        point(&mut model, Pointed::Tree(9));
        assert_eq!(model.selected_target(), Some(&TargetId::new("c")), "nothing is there");
        point(&mut model, Pointed::Event(1));
        assert_eq!((model.screen.events.selected, model.screen.focus), (None, Focus::Tree), "another panel is shown");
        update(&mut model, Message::Action(Text::new("panel-events")));
        point(&mut model, Pointed::Event(1));
        assert_eq!((model.screen.events.selected, model.screen.focus), (Some(1), Focus::Panel));
        point(&mut model, Pointed::Event(77));
        assert_eq!(model.screen.events.selected, Some(1));
    }

    #[test]
    fn the_wheel_moves_in_what_is_under_it() {
        let mut model = model();
        update(&mut model, Message::Action(Text::new("panel-events")));
        point(&mut model, Pointed::Wheel { tree: true, rows: 1 });
        assert_eq!((model.selected_target(), model.screen.focus), (Some(&TargetId::new("b")), Focus::Tree));
        point(&mut model, Pointed::Wheel { tree: false, rows: -1 });
        assert_eq!((model.screen.events.selected, model.screen.focus), (Some(1), Focus::Panel));
    }

    #[test]
    fn what_lies_under_an_overlay_is_not_touched_but_the_wheel_turns_the_overlay() {
        let mut model = model();
        model.screen.overlays.push(Overlay::Help { scroll: 0 });
        point(&mut model, Pointed::Tree(2));
        assert_eq!(model.selected_target(), Some(&TargetId::new("a")));
        point(&mut model, Pointed::Wheel { tree: true, rows: 3 });
        assert_eq!(model.screen.overlays, [Overlay::Help { scroll: 3 }]);
        assert_eq!(model.selected_target(), Some(&TargetId::new("a")));
    }
}
