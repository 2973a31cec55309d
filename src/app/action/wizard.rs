//! The wizard: asking it about what is selected, beginning with a symptom, looking at steps, answering what it asks.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::screen::{Focus, Overlay, Panel};
use crate::app::wizard::asked::{self, Open, Said};
use crate::app::wizard::{self, Chosen, Shows, paste, pasted, walking};
use crate::fabric::EntityId;

pub(super) const HERE: Action = Action {
    name: "wizard-here",
    hint: "wizard",
    description: "Ask the wizard about what is selected: a symptom in your words, or prepare this pair for PVRDMA",
    run: |model| {
        if !model.prompts.is_empty() {
            return say(model, super::QUESTION_FIRST);
        }
        // What is selected is asked for before the panel is another one.
        wizard::open(model);
        model.screen.panel = Panel::Wizard;
        model.screen.is_chosen = true;
        model.screen.focus = Focus::Panel;
        model.screen.overlays.clear();
        // A filter for the rows of another panel would hide what is offered.
        if model.screen.filter_on == Focus::Panel {
            model.screen.filter = crate::app::filter::Filter::default();
        }
        Vec::new()
    },
};

pub(super) const OPEN: Action = Action {
    name: "wizard-open",
    hint: "open",
    description: "Begin with the selected symptom, look at a step or its evidence, open a cause; of what was found by itself \
                  show the remedy",
    run: |model| {
        if model.screen.wizard.shows == Shows::Causes {
            return (super::change::FIX.run)(model);
        }
        match wizard::chosen(model) {
            Chosen::Begin(name) if name == "again" => {
                model.screen.wizard.shows = Shows::Walk;
                Vec::new()
            }
            Chosen::Begin(name) => wizard::begin(model, &name),
            Chosen::Step(step) => {
                let walk = model.screen.wizard.walk.as_ref();
                let is_idle = walk.is_some_and(|walk| walk.stopped);
                let is_new = walk.is_some_and(|walk| walk.looked_at(step).is_none());
                if is_idle && is_new { walking::look_at(model, step) } else { (super::overlay::EVIDENCE.run)(model) }
            }
            Chosen::Cause(name) => {
                let opened = &mut model.screen.wizard.opened;
                *opened = if opened.as_ref() == Some(&name) { None } else { Some(name) };
                Vec::new()
            }
            Chosen::Question(..) => (PASTE.run)(model),
            Chosen::Port(uplink, port) => {
                pasted::plug(model, &uplink, &port);
                crate::app::diagnosis::judge_now(model);
                say(model, &format!("{} of {} is on {port}, as you said", uplink.entity.name(), uplink.target))
            }
            Chosen::Answer(_) => say(model, "y, n or s change this answer"),
            Chosen::Other => (super::overlay::EVIDENCE.run)(model),
        }
    },
};

pub(super) const YES: Action = Action {
    name: "answer-yes",
    hint: "yes",
    description: "Say yes to the selected question of the wizard; on any other row: copy what is selected",
    run: |model| match wizard::chosen(model) {
        Chosen::Question(open, None) => answer(model, &open, Said::Yes),
        Chosen::Answer(place) => change(model, place, Said::Yes),
        _ => (super::copy::COPY.run)(model),
    },
};

pub(super) const NO: Action = Action {
    name: "answer-no",
    hint: "no",
    description: "Say no to the selected question of the wizard; where nothing is asked: the next target",
    run: |model| match wizard::chosen(model) {
        Chosen::Question(open, _) => answer(model, &open, Said::No),
        Chosen::Answer(place) => change(model, place, Said::No),
        _ if model.screen.wizard.shows == Shows::Causes => (super::targets::NEXT.run)(model),
        _ => to_question(model),
    },
};

pub(super) const SKIP: Action = Action {
    name: "skip-question",
    hint: "skip",
    description: "Leave the selected question of the wizard open",
    run: |model| match wizard::chosen(model) {
        Chosen::Question(open, _) => answer(model, &open, Said::Skipped),
        Chosen::Answer(place) => change(model, place, Said::Skipped),
        _ => to_question(model),
    },
};

pub(super) const PASTE: Action = Action {
    name: "paste-answer",
    hint: "paste",
    description: "Paste what the switch printed as the answer to the selected question of the wizard; where nothing is asked: \
                  the previous target",
    run: |model| match wizard::chosen(model) {
        Chosen::Question(open, system) => {
            if pasted::commands(model, open.check, &open.subject).is_empty() {
                return say(model, "p: no output tells this one; y says yes, n says no, s leaves it open");
            }
            let view = paste::PasteView::new(open.check, &open.subject, &open.text, system);
            model.screen.overlays.push(Overlay::Paste(Box::new(view)));
            // What is pasted becomes evidence: a viewer of a recording cannot add any.
            vec![Effect::TakesAnswer]
        }
        _ if model.screen.wizard.shows == Shows::Causes => (super::targets::PREVIOUS.run)(model),
        _ => to_question(model),
    },
};

pub(super) const END_LINE: Action = Action {
    name: "end-line",
    hint: "take it",
    description: "Take what was pasted as the answer; what comes in as if it were typed goes on with the next line",
    run: |model| {
        match model.screen.overlays.last_mut() {
            Some(Overlay::Paste(view)) if !view.is_whole => view.end_line(),
            _ => paste::take(model),
        }
        Vec::new()
    },
};

pub(super) const TAKE: Action = Action {
    name: "take-answer",
    hint: "take it",
    description: "Take what was pasted or typed as the answer",
    run: |model| {
        paste::take(model);
        Vec::new()
    },
};

fn answer(model: &mut Model, open: &Open, said: Said) -> Vec<Effect> {
    note(model, open.check, &open.subject, &open.text, said);
    // The next question, so that one answers one after the other.
    model.screen.wizard.rows.selected =
        wizard::first_question(model).or_else(|| model.screen.wizard.rows.selected.clone());
    Vec::new()
}

fn change(model: &mut Model, place: usize, said: Said) -> Vec<Effect> {
    if let Some(answer) = model.screen.wizard.answers.get(place).cloned() {
        note(model, &answer.check, &answer.subject, &answer.text, said);
    }
    Vec::new()
}

fn note(model: &mut Model, check: &str, subject: &EntityId, text: &str, said: Said) {
    asked::note(model, check, subject, text, said);
    let notice = match said {
        Said::Yes => "you said yes: it stands as your word, below; it can be changed there",
        Said::No => "you said NO: it is a likely cause by your word, and proves nothing alone",
        Said::Skipped | Said::Pasted => "left open; it can be answered below",
    };
    model.screen.notice = Some((notice.to_owned(), model.now));
}

/// Which keys of the wizard do something where it stands.
pub(super) struct Offers {
    chosen: Chosen,
    is_asked: bool,
    in_walk: bool,
    has_evidence: bool,
}

impl Offers {
    pub(super) fn of(model: &Model) -> Self {
        let in_walk = model.screen.wizard.shows == Shows::Walk;
        let is_asked = in_walk && wizard::first_question(model).is_some();
        let has_evidence = super::has_evidence(model);
        Self { chosen: wizard::chosen(model), is_asked, in_walk, has_evidence }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let is_answer = self.in_walk && matches!(self.chosen, Chosen::Answer(_));
        match name {
            "answer-yes" => is_answer || matches!(self.chosen, Chosen::Question(..)),
            "answer-no" | "skip-question" => is_answer || self.is_asked,
            "paste-answer" => self.is_asked,
            "evidence" => self.has_evidence,
            _ => true,
        }
    }
}

/// The first key leads to the question, so that nothing is answered that was not looked at.
fn to_question(model: &mut Model) -> Vec<Effect> {
    match wizard::first_question(model) {
        Some(key) if model.screen.wizard.shows == Shows::Walk => {
            model.screen.wizard.rows.selected = Some(key);
            model.screen.wizard.rows.cell = 0;
            model.screen.focus = Focus::Panel;
            say(model, "this is the question; the same key again answers it")
        }
        _ => say(model, "nothing is asked here"),
    }
}

fn say(model: &mut Model, why: &str) -> Vec<Effect> {
    model.screen.notice = Some((why.to_owned(), model.now));
    Vec::new()
}
