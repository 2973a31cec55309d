//! The command palette: everything that can be done now, as a list that is narrowed by typing. What makes no sense at the
//! moment is listed too, last and with the reason: who looks for it learns when it works instead of doubting that it exists.
//! Left out are moves and keys of the palette's own kind, which mean nothing outside of a list.

mod rank;

use serde::{Deserialize, Serialize};

use super::action::{self, Action};
use super::copy;
use super::live;
use super::model::Model;
use super::screen::{Overlay, Panel, Purpose, WINDOWS};
use super::settings::Lever;
use crate::fabric::Text;

/// How many entries that were used are remembered.
const REMEMBERED: usize = 12;

/// The open palette. The typed text is the line that is being edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Palette {
    /// Index of the selected entry among those found.
    pub selected: usize,
}

/// Something that can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is done: the name of an action, or of a command and its word.
    pub action: Text,
    /// Its name in the list.
    pub title: String,
    /// What it does.
    pub detail: String,
    /// Why it cannot be done now, if it cannot.
    pub refusal: Option<String>,
}

/// An entry that fits the typed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// Indexes of the characters of its title that fit.
    pub positions: Vec<usize>,
}

/// Actions that mean nothing from a list: moves, keys of lists and of lines of text. (Answers are left out, too.)
const LEFT_OUT: &[&str] = &[
    "up",
    "down",
    "left",
    "right",
    "page-up",
    "page-down",
    "top",
    "bottom",
    "palette",
    "palette-run",
    "accept",
    "cancel",
    "change-setting",
    "next-page",
    // The commands `low-bandwidth` and `mouse` say which way they go.
    "toggle-low-bandwidth",
    "toggle-mouse",
];

/// Everything that can be done: panels, then targets, the other actions in the order of help, looks.
pub fn entries(model: &Model) -> Vec<Entry> {
    let mut entries: Vec<Entry> = action::ALL
        .iter()
        .filter(|action| !LEFT_OUT.contains(&action.name) && !action::answers(action.name))
        .filter(|action| model.mode.replay().is_some() || !action.name.starts_with("replay-"))
        .map(|action| of_action(model, action))
        .collect();
    // Where to go is what is looked for most; leaving is what nobody needs a list for.
    entries.sort_by_key(|entry| match entry.action.as_str() {
        name if name.starts_with("panel-") => 0,
        "quit" => 2,
        _ => 1,
    });
    let panels = entries.partition_point(|entry| entry.action.starts_with("panel-"));
    entries.splice(panels..panels, targets(model).chain(faults(model)));
    entries.extend(looks(model));
    entries
}

fn of_action(model: &Model, action: &Action) -> Entry {
    Entry {
        action: Text::new(action.name),
        title: action.name.to_owned(),
        detail: action.description.to_owned(),
        refusal: refusal(model, action.name),
    }
}

fn targets(model: &Model) -> impl Iterator<Item = Entry> {
    model.order.iter().map(|target| Entry {
        action: Text::new(&format!("target {target}")),
        title: format!("go to {target}"),
        detail: super::condition::of_target(model, target).word,
        refusal: None,
    })
}

/// What can go wrong in the embedded lab, each fault on each of its machines.
fn faults(model: &Model) -> impl Iterator<Item = Entry> {
    action::fault::choices(model).into_iter().map(|choice| Entry {
        action: Text::new(&choice.action),
        title: choice.title,
        detail: if choice.is_on {
            format!("Fault of the demo, on now: end it. {}", choice.description)
        } else {
            format!("Fault of the demo. {}", choice.description)
        },
        refusal: None,
    })
}

fn looks(model: &Model) -> Vec<Entry> {
    let mut entries = Vec::new();
    for lever in Lever::ALL {
        let current = lever.value(&model.screen.look);
        entries.extend(lever.values(model).into_iter().map(|value| {
            let title = format!("{} {value}", lever.command());
            let detail = format!("Set {} to {value} for this run", lever.name());
            let refusal = (value == current).then(|| "in force already".to_owned());
            Entry { action: Text::new(&title), title, detail, refusal }
        }));
    }
    entries
}

/// The entries that fit what was typed, the best first. With nothing typed: those used lately, then the others in order.
/// What cannot be done now comes last.
pub fn found(model: &Model) -> Vec<Found> {
    let query = model.screen.editing.as_ref().filter(|editing| editing.purpose == Purpose::Palette);
    let query = query.map_or("", |editing| editing.input.value());
    let recent = |action: &Text| {
        model.screen.recent.iter().position(|recent| recent == action).unwrap_or(model.screen.recent.len())
    };
    let mut found: Vec<(bool, i32, usize, Found)> = entries(model)
        .into_iter()
        .filter_map(|entry| {
            let matched = rank::matched(query, &entry.title, &entry.detail)?;
            let score = if query.trim().is_empty() { 0 } else { -matched.score };
            let found = Found { positions: matched.positions, entry };
            Some((found.entry.refusal.is_some(), score, recent(&found.entry.action), found))
        })
        .collect();
    found.sort_by_key(|(refused, score, recent, _)| (*refused, *score, *recent));
    found.into_iter().map(|(.., found)| found).collect()
}

/// Remembers that an entry was used.
pub fn remember(model: &mut Model, action: &Text) {
    let recent = &mut model.screen.recent;
    recent.retain(|known| known != action);
    recent.insert(0, action.clone());
    recent.truncate(REMEMBERED);
}

/// Why an action makes no sense now; `None` if it does.
fn refusal(model: &Model, name: &str) -> Option<String> {
    let screen = &model.screen;
    let unless = |holds: bool, why: &str| (!holds).then(|| why.to_owned());
    match name {
        "close" => unless(screen.top().is_some() || !screen.filter.is_empty(), "nothing is open and no filter is set"),
        "evidence" => unless(action::has_evidence(model), "nothing was read for the selected row"),
        "search" | "next-match" | "previous-match" => {
            unless(matches!(screen.top(), Some(Overlay::Evidence(_))), "only while evidence is shown")
        }
        "start-bench" | "bench-verb" | "bench-kind" | "bench-direction" => {
            unless(matches!(screen.top(), Some(Overlay::Bench { .. })), "only while a benchmark is shown (b)")
        }
        "stop-bench" => unless(model.tune.running().is_some(), "no benchmark is under way"),
        "end-line" | "take-answer" => {
            unless(matches!(screen.top(), Some(Overlay::Paste(_))), "only while an answer is pasted (p in Wizard)")
        }
        "answer-yes" | "answer-no" | "skip-question" | "paste-answer" => {
            unless(super::wizard::first_question(model).is_some(), "nothing is asked (a walk of the wizard asks: w)")
        }
        "next-target" | "previous-target" => unless(model.order.len() > 1, "there is no other target"),
        "read-now" => {
            let target = model.selected_target();
            let is_up = target.and_then(|id| model.targets.get(id)).is_some_and(|known| known.connection.is_up());
            let name = target.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            (!is_up).then(|| format!("{name} is not connected"))
        }
        "reconnect" => unless(model.selected_target().is_some(), "there is no target"),
        "zoom-in" => in_live(model).or_else(|| unless(screen.live.zoom > 0, "this is the shortest time")),
        "zoom-out" => {
            in_live(model).or_else(|| unless(screen.live.zoom + 1 < WINDOWS.len(), "this is all that is kept"))
        }
        "cursor" => in_live(model),
        "marks" | "next-mark" | "previous-mark" => unless(!model.marks.is_empty(), "no mark was put yet"),
        "go-to-mark" | "rename-mark" | "delete-mark" => {
            unless(super::marks::selected(model).is_some(), "no mark is selected (in Events or the list of marks)")
        }
        "copy" | "copy-row" => copy::selected(model, name == "copy-row").err().map(ToOwned::to_owned),
        _ => None,
    }
}

fn in_live(model: &Model) -> Option<String> {
    let shows = model.screen.panel == Panel::Live
        && model.selected_target().is_some_and(|target| !live::graphs(model, target).is_empty());
    (!shows).then(|| "no graph is shown".to_owned())
}
