//! What the user can do. An action is a name, a description and a pure function on the model; the key map, the footer,
//! the help overlay and the documents are all made from this one list.

mod alerts;
mod answer;
mod change;
pub mod command;
mod copy;
pub mod fault;
mod healthy;
mod host;
mod leave;
mod live;
mod marks;
mod motion;
mod overlay;
mod palette;
mod panels;
mod replay;
mod settings;
mod surroundings;
mod targets;
mod text;
mod tune;
mod wizard;

use super::connection::Connection;
pub use super::context::Context;
use super::effect::Effect;
use super::model::Model;
use super::questions::{self, Front};
use super::screen::{Editing, Focus, Overlay, Panel, Purpose, Screen};

pub(in crate::app) use motion::select_node;

/// What is said instead of opening something under a question, where it could be neither read nor closed.
const QUESTION_FIRST: &str = "the question comes first: its keys stand in it";

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
    &palette::PALETTE,
    &palette::RUN,
    &settings::SETTINGS,
    &settings::CHANGE,
    &settings::NEXT_PAGE,
    &overlay::CLOSE,
    &panels::PATH,
    &panels::HOST,
    &panels::VM,
    &panels::GUEST,
    &panels::LIVE,
    &panels::WIZARD,
    &tune::PANEL,
    &panels::EVENTS,
    &panels::GPU,
    &panels::OTHER_END,
    &tune::BENCH,
    &tune::START,
    &tune::STOP,
    &tune::VERB,
    &tune::KIND,
    &tune::DIRECTION,
    &change::FIX,
    &change::NEXT_REMEDY,
    &change::APPLY,
    &change::EXPORT,
    &change::UNDO,
    &healthy::CHANGES,
    &alerts::ACKNOWLEDGE,
    &alerts::SNOOZE,
    &alerts::SNOOZE_ALL,
    &wizard::HERE,
    &wizard::OPEN,
    &wizard::YES,
    &wizard::NO,
    &wizard::SKIP,
    &wizard::PASTE,
    &wizard::END_LINE,
    &wizard::TAKE,
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
    &host::COMPARE,
    &host::VERSIONS,
    &host::QUALIFICATION,
    &host::SHOW_ALL,
    &live::FREEZE,
    &live::ZOOM_IN,
    &live::ZOOM_OUT,
    &live::CURSOR,
    &marks::MARK,
    &marks::MARKS,
    &marks::PREVIOUS,
    &marks::NEXT,
    &marks::GO_TO,
    &marks::RENAME,
    &marks::DELETE,
    &copy::COPY,
    &copy::COPY_ROW,
    &text::FILTER,
    &text::SEARCH,
    &text::NEXT_MATCH,
    &text::PREVIOUS_MATCH,
    &text::ACCEPT,
    &text::CANCEL,
    &answer::ACCEPT_KEYS,
    &answer::ACCEPT_KEY,
    &answer::REFUSE_KEY,
    &answer::REFUSE_KEYS,
    &answer::GIVE_SECRET,
    &answer::CLEAR_SECRET,
    &answer::REUSE_SECRET,
    &answer::REFUSE_SECRET,
    &surroundings::RELOAD,
    &surroundings::EDIT,
    &surroundings::LOW_BANDWIDTH,
    &surroundings::MOUSE,
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

/// Does what the name says, of an action, of a command with its word or of a fault (see [`fault`]); a name that is not
/// known (an old journal) does nothing.
pub fn run(model: &mut Model, name: &str) -> Vec<Effect> {
    if let Some(words) = name.strip_prefix(fault::PREFIX) {
        return fault::run(model, words);
    }
    // What was said of the last key is over with the next.
    model.screen.notice = None;
    let effects = match (by_name(name), command::parse(name)) {
        (Some(action), _) => (action.run)(model),
        (None, Some((command, word))) => (command.run)(model, word),
        (None, None) => Vec::new(),
    };
    model.screen.settle();
    effects
}

/// True for the actions that answer an open question.
pub fn answers(name: &str) -> bool {
    answer::ALL.iter().any(|action| action.name == name)
}

/// True if there is evidence for what is selected.
pub fn has_evidence(model: &Model) -> bool {
    overlay::selected_evidence(model).is_some()
}

/// Where keys go now. A question never takes the keys from a line of text that is being edited: what was meant for the
/// filter must not answer it.
pub fn context(model: &Model) -> Context {
    let replay = model.mode.replay();
    if replay.is_some_and(|replay| replay.entry.is_some()) {
        return Context::Filter;
    }
    // While a replay shows the screen of whoever recorded it, that line is not the viewer's to edit.
    let own = replay.is_none_or(|replay| !replay.following);
    match model.screen.editing.as_ref().filter(|_| own) {
        Some(Editing { purpose: Purpose::Palette, .. }) => return Context::Palette,
        Some(_) => return Context::Filter,
        None => {}
    }
    // Nor does a question take them from an answer that is being pasted.
    if own && matches!(model.screen.overlays.last(), Some(Overlay::Paste(_))) {
        return Context::Paste;
    }
    // Nor are the questions of a recording his to answer.
    match questions::front(model).filter(|_| replay.is_none()) {
        Some(Front::HostKeys) => return Context::Prompt,
        Some(Front::Secret(..)) => return Context::Secret,
        None => {}
    }
    context_of(model.screen.overlays.last(), &model.screen)
}

/// Where keys go while this overlay is on top and nothing is typed or asked.
pub fn context_of(top: Option<&Overlay>, screen: &Screen) -> Context {
    match top {
        Some(Overlay::Help { .. }) => Context::Help,
        Some(Overlay::Evidence(_)) => Context::Evidence,
        Some(Overlay::Settings(_)) => Context::Settings,
        Some(Overlay::Marks { .. }) => Context::Marks,
        Some(Overlay::Change { .. }) => Context::Change,
        Some(Overlay::Bench { .. }) => Context::Bench,
        Some(Overlay::Healthy(_)) => Context::Healthy,
        Some(Overlay::Paste(_)) => Context::Paste,
        Some(Overlay::Palette(_)) => Context::Palette,
        None => match screen.focus {
            Focus::Tree => Context::Tree,
            Focus::Panel => screen.panel.context(),
        },
    }
}

/// The actions that the footer offers, the most useful first; as many are shown as fit. What would do nothing here is not
/// offered.
pub fn hints(model: &Model) -> Vec<&'static Action> {
    let in_place = place_hints(model).iter().copied();
    let is_helped = || super::diagnosis::selected_cause(model).is_some();
    let has_remedy = matches!(model.screen.panel, Panel::Path | Panel::Wizard | Panel::Events) && is_helped();
    let offers = (context(model) == Context::Wizard).then(|| wizard::Offers::of(model));
    in_place
        .filter(|action| match action.name {
            "fix" => has_remedy,
            name => offers.as_ref().is_none_or(|offers| offers.has(name)),
        })
        .collect()
}

/// The actions that make sense where the keys go.
fn place_hints(model: &Model) -> &'static [&'static Action] {
    match context(model) {
        context if context.is_panel() && model.mode.replay().is_some_and(|replay| !replay.following) => &[
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
        ],
        context if context.is_panel() && model.mode.replay().is_some() => &[
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
        ],
        Context::Filter => &[&text::ACCEPT, &text::CANCEL],
        Context::Prompt => {
            &[&answer::ACCEPT_KEYS, &answer::ACCEPT_KEY, &answer::REFUSE_KEY, &answer::REFUSE_KEYS, &leave::QUIT]
        }
        Context::Secret => match questions::front(model) {
            Some(Front::Secret(_, request)) if request.may_reuse => {
                &[&answer::GIVE_SECRET, &answer::REFUSE_SECRET, &answer::REUSE_SECRET, &answer::CLEAR_SECRET]
            }
            _ => &[&answer::GIVE_SECRET, &answer::REFUSE_SECRET, &answer::CLEAR_SECRET],
        },
        Context::Help => &[&overlay::CLOSE, &motion::DOWN, &motion::UP],
        Context::Evidence => &[
            &overlay::CLOSE,
            &text::SEARCH,
            &text::NEXT_MATCH,
            &copy::COPY,
            &copy::COPY_ROW,
            &motion::DOWN,
            &motion::UP,
        ],
        Context::Change => &[
            &overlay::CLOSE,
            &change::APPLY,
            &copy::COPY,
            &change::EXPORT,
            &change::NEXT_REMEDY,
            &change::UNDO,
            &motion::DOWN,
        ],
        Context::Bench => &[
            &overlay::CLOSE,
            &tune::START,
            &tune::VERB,
            &tune::KIND,
            &tune::DIRECTION,
            &panels::OTHER_END,
            &copy::COPY,
            &motion::DOWN,
        ],
        Context::Healthy => &[
            &overlay::CLOSE,
            &overlay::EVIDENCE,
            &motion::LEFT,
            &motion::RIGHT,
            &copy::COPY,
            &motion::DOWN,
            &motion::UP,
        ],
        // Once a text came whole the end of a line takes it; before that it belongs to the text.
        Context::Paste => match model.screen.overlays.last() {
            Some(Overlay::Paste(view)) if view.is_whole => &[&wizard::END_LINE, &overlay::CLOSE],
            _ => &[&wizard::TAKE, &overlay::CLOSE],
        },
        Context::Palette => &[&palette::RUN, &overlay::CLOSE, &motion::DOWN, &motion::UP],
        Context::Settings => &[&overlay::CLOSE, &settings::CHANGE, &settings::NEXT_PAGE, &motion::DOWN, &motion::UP],
        Context::Marks => {
            &[&overlay::CLOSE, &marks::GO_TO, &marks::RENAME, &marks::DELETE, &copy::COPY, &motion::DOWN, &motion::UP]
        }
        Context::Tune => &[
            &overlay::HELP,
            &leave::QUIT,
            &tune::BENCH,
            &tune::STOP,
            &panels::OTHER_END,
            &palette::PALETTE,
            &copy::COPY,
            &text::FILTER,
            &panels::NEXT_FOCUS,
        ],
        Context::Live => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &live::FREEZE,
            &live::CURSOR,
            &marks::MARK,
            &overlay::EVIDENCE,
            &live::ZOOM_IN,
            &live::ZOOM_OUT,
            &copy::COPY,
            &text::FILTER,
            &panels::NEXT_FOCUS,
        ],
        Context::Tree if model.screen.panel == Panel::Live => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &text::FILTER,
            &overlay::EVIDENCE,
            &live::FREEZE,
            &marks::MARK,
            &panels::NEXT_FOCUS,
            &targets::READ_NOW,
        ],
        Context::Events if super::marks::selected(model).is_some() => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &overlay::EVIDENCE,
            &marks::RENAME,
            &marks::DELETE,
            &copy::COPY,
            &panels::NEXT_FOCUS,
        ],
        Context::Events if super::alerts::selected(model).is_some() => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &overlay::EVIDENCE,
            &alerts::ACKNOWLEDGE,
            &alerts::SNOOZE,
            &change::FIX,
            &wizard::HERE,
            &text::FILTER,
            &panels::NEXT_FOCUS,
            &copy::COPY,
        ],
        // What helps a target that cannot be read comes first.
        context
            if context.is_panel()
                && model.selected_target().and_then(|id| model.targets.get(id)).is_some_and(|target| {
                    matches!(target.connection, Connection::BackingOff { .. } | Connection::Failed { .. })
                }) =>
        {
            &[
                &overlay::HELP,
                &leave::QUIT,
                &targets::RECONNECT,
                &palette::PALETTE,
                &targets::NEXT,
                &panels::NEXT_FOCUS,
                &text::FILTER,
            ]
        }
        // What stands beside the tree has keys of its own, which work from here too.
        Context::Tree if model.screen.panel == Panel::Host => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &host::QUALIFICATION,
            &host::COMPARE,
            &host::VERSIONS,
            &overlay::EVIDENCE,
            &panels::NEXT_FOCUS,
            &text::FILTER,
            &wizard::HERE,
            &targets::NEXT,
        ],
        Context::Host if model.screen.host.mode == super::screen::HostMode::Compare => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &host::COMPARE,
            &host::SHOW_ALL,
            &host::VERSIONS,
            &panels::NEXT_FOCUS,
            &overlay::EVIDENCE,
        ],
        Context::Host if model.screen.host.mode == super::screen::HostMode::Qualify => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &overlay::EVIDENCE,
            &host::QUALIFICATION,
            &copy::COPY,
            &host::COMPARE,
            &panels::NEXT_FOCUS,
            &text::FILTER,
        ],
        Context::Host => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &host::QUALIFICATION,
            &host::COMPARE,
            &host::VERSIONS,
            &overlay::EVIDENCE,
            &panels::NEXT_FOCUS,
            &host::SHOW_ALL,
            &text::FILTER,
            &copy::COPY,
        ],
        Context::Wizard if model.screen.wizard.shows != crate::app::wizard::Shows::Causes => &[
            &overlay::HELP,
            &leave::QUIT,
            &wizard::OPEN,
            &wizard::YES,
            &wizard::NO,
            &wizard::PASTE,
            &wizard::SKIP,
            &change::FIX,
            &overlay::EVIDENCE,
            &overlay::CLOSE,
            &copy::COPY_ROW,
            &text::FILTER,
            &panels::NEXT_FOCUS,
        ],
        Context::Wizard => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &wizard::HERE,
            &overlay::EVIDENCE,
            &change::FIX,
            &text::FILTER,
            &copy::COPY,
            &panels::NEXT_FOCUS,
            &targets::READ_NOW,
        ],
        Context::Path => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &overlay::EVIDENCE,
            &panels::OTHER_END,
            &wizard::HERE,
            &change::FIX,
            &panels::NEXT_FOCUS,
            &copy::COPY,
            &targets::READ_NOW,
        ],
        Context::Global
        | Context::Tree
        | Context::Vm
        | Context::Guest
        | Context::Events
        | Context::Gpu
        | Context::Replay => &[
            &overlay::HELP,
            &leave::QUIT,
            &palette::PALETTE,
            &text::FILTER,
            &overlay::EVIDENCE,
            &change::FIX,
            &wizard::HERE,
            &panels::NEXT_FOCUS,
            &targets::NEXT,
            &copy::COPY,
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
