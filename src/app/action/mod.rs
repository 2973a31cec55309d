//! What the user can do. An action is a name, a description and a pure function on the model; the key map, the footer,
//! the help overlay and the documents are all made from this one list.

mod answer;
mod leave;
mod live;
mod motion;
mod overlay;
mod panels;
mod replay;
mod targets;
mod text;

use super::connection::Connection;
pub use super::context::Context;
use super::effect::Effect;
use super::model::Model;
use super::screen::{Focus, Overlay};

/// One action.
#[derive(Clone, Copy)]
pub struct Action {
    /// Its name in key maps: `freeze`.
    pub name: &'static str,
    /// One or two words for the footer.
    pub hint: &'static str,
    /// What it does, for help and documents.
    pub description: &'static str,
    /// What it does to the model, and what it asks the outside to do.
    pub run: fn(&mut Model) -> Vec<Effect>,
}

/// All actions, in the order in which help lists them.
pub const ALL: &[&Action] = &[
    &leave::QUIT,
    &overlay::HELP,
    &overlay::CLOSE,
    &panels::GUEST,
    &panels::LIVE,
    &panels::EVENTS,
    &panels::NEXT_FOCUS,
    &motion::UP,
    &motion::DOWN,
    &motion::LEFT,
    &motion::RIGHT,
    &motion::PAGE_UP,
    &motion::PAGE_DOWN,
    &motion::TOP,
    &motion::BOTTOM,
    &overlay::FOLD,
    &overlay::EVIDENCE,
    &targets::NEXT,
    &targets::PREVIOUS,
    &targets::READ_NOW,
    &targets::RECONNECT,
    &live::FREEZE,
    &live::ZOOM_IN,
    &live::ZOOM_OUT,
    &live::CURSOR,
    &text::FILTER,
    &text::SEARCH,
    &text::NEXT_MATCH,
    &text::PREVIOUS_MATCH,
    &text::ACCEPT,
    &text::CANCEL,
    &answer::YES,
    &answer::NO,
    &replay::PAUSE,
    &replay::FASTER,
    &replay::SLOWER,
    &replay::BACK,
    &replay::FORWARD,
    &replay::FAR_BACK,
    &replay::FAR_FORWARD,
    &replay::START,
    &replay::END,
    &replay::GO_TO,
    &replay::NEXT,
    &replay::PREVIOUS,
    &replay::STEP_MESSAGE,
    &replay::STEP_SECOND,
    &replay::FOLLOW,
    &leave::SUSPEND,
    &leave::REDRAW,
];

/// The action of this name.
pub fn by_name(name: &str) -> Option<&'static Action> {
    ALL.iter().copied().find(|action| action.name == name)
}

/// Does what the name says; a name that is not known (an old journal) does nothing.
pub fn run(model: &mut Model, name: &str) -> Vec<Effect> {
    by_name(name).map_or_else(Vec::new, |action| (action.run)(model))
}

/// Where keys go now. A question never takes the keys from a line of text that is being edited: what was meant for the
/// filter must not answer it.
pub fn context(model: &Model) -> Context {
    let replay = model.mode.replay();
    if replay.is_some_and(|replay| replay.entry.is_some()) {
        return Context::Filter;
    }
    // While a replay shows the screen of whoever recorded it, that line is not the viewer's to edit.
    if model.screen.editing.is_some() && replay.is_none_or(|replay| !replay.following) {
        return Context::Filter;
    }
    // Nor are the questions of a recording his to answer.
    if !model.prompts.is_empty() && replay.is_none() {
        return Context::Prompt;
    }
    match model.screen.overlays.last() {
        Some(Overlay::Help { .. }) => Context::Help,
        Some(Overlay::Evidence(_)) => Context::Evidence,
        None => match model.screen.focus {
            Focus::Tree => Context::Tree,
            Focus::Panel => model.screen.panel.context(),
        },
    }
}

/// The actions that the footer offers, the most useful first; as many are shown as fit.
pub fn hints(model: &Model) -> &'static [&'static Action] {
    match context(model) {
        Context::Global | Context::Tree | Context::Guest | Context::Live | Context::Events | Context::Replay
            if model.mode.replay().is_some_and(|replay| !replay.following) =>
        {
            &[
                &overlay::HELP,
                &leave::QUIT,
                &replay::FOLLOW,
                &replay::PAUSE,
                &replay::BACK,
                &replay::FORWARD,
                &replay::SLOWER,
                &replay::FASTER,
                &replay::NEXT,
                &replay::GO_TO,
            ]
        }
        Context::Global | Context::Tree | Context::Guest | Context::Live | Context::Events | Context::Replay
            if model.mode.replay().is_some() =>
        {
            &[
                &overlay::HELP,
                &leave::QUIT,
                &replay::PAUSE,
                &replay::BACK,
                &replay::FORWARD,
                &replay::SLOWER,
                &replay::FASTER,
                &replay::NEXT,
                &replay::GO_TO,
                &replay::STEP_SECOND,
                &replay::FOLLOW,
            ]
        }
        Context::Filter => &[&text::ACCEPT, &text::CANCEL],
        Context::Prompt => &[&answer::YES, &answer::NO, &leave::QUIT],
        Context::Help => &[&overlay::CLOSE, &motion::DOWN, &motion::UP],
        Context::Evidence => &[&overlay::CLOSE, &text::SEARCH, &text::NEXT_MATCH, &motion::DOWN, &motion::UP],
        Context::Live => &[
            &overlay::HELP,
            &leave::QUIT,
            &live::FREEZE,
            &live::CURSOR,
            &live::ZOOM_IN,
            &live::ZOOM_OUT,
            &overlay::EVIDENCE,
            &text::FILTER,
            &panels::NEXT_FOCUS,
        ],
        Context::Tree if model.screen.panel == super::screen::Panel::Live => &[
            &overlay::HELP,
            &leave::QUIT,
            &text::FILTER,
            &overlay::EVIDENCE,
            &live::FREEZE,
            &panels::NEXT_FOCUS,
            &targets::READ_NOW,
        ],
        // What helps a target that cannot be read comes first.
        Context::Global | Context::Tree | Context::Guest | Context::Events | Context::Replay
            if model.selected_target().and_then(|id| model.targets.get(id)).is_some_and(|target| {
                matches!(target.connection, Connection::BackingOff { .. } | Connection::Failed { .. })
            }) =>
        {
            &[&overlay::HELP, &leave::QUIT, &targets::RECONNECT, &targets::NEXT, &panels::NEXT_FOCUS, &text::FILTER]
        }
        Context::Global | Context::Tree | Context::Guest | Context::Events | Context::Replay => &[
            &overlay::HELP,
            &leave::QUIT,
            &text::FILTER,
            &overlay::EVIDENCE,
            &panels::NEXT_FOCUS,
            &targets::NEXT,
            &targets::READ_NOW,
            &targets::RECONNECT,
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_action_says_what_it_does() {
        let names: BTreeSet<_> = ALL.iter().map(|action| action.name).collect();
        assert_eq!(names.len(), ALL.len());
        for action in ALL {
            assert!(!action.hint.is_empty() && action.description.len() > action.hint.len(), "{}", action.name);
            assert!(by_name(action.name).is_some());
        }
    }
}
