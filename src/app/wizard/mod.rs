//! The wizard: from what somebody sees to its cause. It begins with what is selected, offers what people see in their own
//! words, walks the steps of a symptom, asks what cannot be seen, and prepares a pair of guests for PVRDMA; or it looks by
//! itself at everything. What it shows is a function of the messages: a replay shows the same.

pub mod about;
pub mod asked;
#[cfg(test)]
mod attack_tests;
pub mod paste;
pub mod pasted;
mod preparing;
mod rows;
#[cfg(test)]
pub(crate) mod tests;
pub mod walking;

use serde::{Deserialize, Serialize};

pub use about::About;
pub use asked::{Answer, Said};
pub use pasted::Pasted;
pub use preparing::work_out;
pub use rows::{Row as Chosen, chosen, first_question, heading, mark, rows};
pub use walking::{FIRST_READ, Walking};

use super::effect::Effect;
use super::model::Model;
use super::screen::{Panel, RowsView};
use crate::diagnose::wizard::{Symptom, by_name};

/// What the panel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// What it finds when it looks by itself.
    #[default]
    Causes,
    /// What can be asked of it.
    List,
    /// The way from a symptom.
    Walk,
    /// What a pair needs for PVRDMA.
    Preparing,
}

/// The *Wizard* panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WizardView {
    /// What is selected.
    pub rows: RowsView,
    /// What it is asked about.
    pub about: About,
    /// What is shown.
    pub shows: Shows,
    /// The walk, if one was begun.
    pub walk: Option<Walking>,
    /// What the user said; it ends with the session.
    pub answers: Vec<Answer>,
    /// What is shown in full: a cause, by the name of its rows.
    pub opened: Option<String>,
    /// How many reads were asked for.
    pub reads: u64,
}

/// The words for a row of the list that are no symptom.
pub const BY_ITSELF: &str = "by-itself";
/// See [`BY_ITSELF`].
pub const PREPARE: &str = "prepare";

/// Offers what can be asked about what is selected.
pub fn open(model: &mut Model) {
    let about = about::selected(model);
    let view = &mut model.screen.wizard;
    view.about = about;
    view.shows = Shows::List;
    view.rows = RowsView::default();
    model.screen.wizard.rows.selected = rows::first(model);
}

/// One step back: from a walk to the list, from the list to what it finds by itself. False if there is no way back.
pub fn back(model: &mut Model) -> bool {
    let view = &mut model.screen.wizard;
    view.shows = match view.shows {
        Shows::Causes => return false,
        Shows::List => Shows::Causes,
        Shows::Walk | Shows::Preparing => Shows::List,
    };
    view.rows = RowsView::default();
    model.screen.wizard.rows.selected = rows::first(model);
    true
}

/// Symptoms that need two ends to be seen.
fn needs_two(symptom: &Symptom) -> bool {
    matches!(symptom.name, "slow" | "queue-pairs-in-error" | "mpi-fails" | "mpi-slow" | "moved")
}

/// Begins with what was chosen of the list: a symptom by its name, or one of the other two.
pub fn begin(model: &mut Model, name: &str) -> Vec<Effect> {
    model.screen.wizard.rows = RowsView::default();
    match name {
        BY_ITSELF => model.screen.wizard.shows = Shows::Causes,
        PREPARE => {
            let Some((one, other)) = about::pair(model, &model.screen.wizard.about) else {
                let why = "PVRDMA is prepared for two guests: ask at one of two guests of the inventory";
                model.screen.notice = Some((why.to_owned(), model.now));
                return Vec::new();
            };
            let view = &mut model.screen.wizard;
            view.about = About::Pair(one, other);
            view.shows = Shows::Preparing;
        }
        name => {
            let Some(symptom) = by_name(name) else { return Vec::new() };
            let about = model.screen.wizard.about.clone();
            let about = if needs_two(symptom) { about::with_other_end(model, &about) } else { about };
            let begun = model.now;
            let view = &mut model.screen.wizard;
            view.shows = Shows::Walk;
            view.opened = None;
            view.walk = Some(Walking::new(symptom, about.clone(), begun));
            view.about = about;
            let effects = walking::go_on(model);
            model.screen.wizard.rows.selected = rows::first(model);
            return effects;
        }
    }
    model.screen.wizard.rows.selected = rows::first(model);
    Vec::new()
}

/// True if opening the selected row has something read, or judged anew: a recording holds what was read, and nothing can be
/// asked of its targets.
pub fn would_go_on(model: &Model) -> bool {
    if model.screen.panel != Panel::Wizard || model.screen.wizard.shows == Shows::Causes {
        return false;
    }
    let walk = model.screen.wizard.walk.as_ref();
    match chosen(model) {
        Chosen::Begin(name) => by_name(&name).is_some(),
        Chosen::Step(step) => walk.is_some_and(|walk| walk.stopped && walk.looked_at(step).is_none()),
        Chosen::Port(..) => true,
        Chosen::Question(..) | Chosen::Answer(_) | Chosen::Cause(_) | Chosen::Other => false,
    }
}

/// With the clock: what nobody answers is given up.
pub fn tick(model: &mut Model) -> Vec<Effect> {
    walking::give_up(model)
}
