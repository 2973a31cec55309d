//! Answering questions.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::prompt::Answer;
use crate::app::questions::{self, Front};

/// All of them.
pub(super) const ALL: [&Action; 8] =
    [&ACCEPT_KEYS, &ACCEPT_KEY, &REFUSE_KEY, &REFUSE_KEYS, &GIVE_SECRET, &CLEAR_SECRET, &REUSE_SECRET, &REFUSE_SECRET];

pub(super) const ACCEPT_KEYS: Action = Action {
    name: "accept-keys",
    hint: "trust all shown",
    description: "Trust every host key that was on the screen, write them down and connect; those that were not are left open",
    run: |model| {
        let open: Vec<u64> = questions::host_keys(model).iter().map(|row| row.id).collect();
        let seen = &model.screen.questions.seen;
        let ids: Vec<u64> = open.into_iter().filter(|id| seen.contains(id)).collect();
        if ids.is_empty() { too_early(model) } else { answer(model, &ids, &Answer::Accept) }
    },
};

pub(super) const ACCEPT_KEY: Action = Action {
    name: "accept-key",
    hint: "trust this one",
    description: "Trust the selected host key, write it down and connect",
    run: |model| match selected(model) {
        Some(id) if model.screen.questions.seen.contains(&id) => answer(model, &[id], &Answer::Accept),
        _ => too_early(model),
    },
};

pub(super) const REFUSE_KEY: Action = Action {
    name: "refuse-key",
    hint: "refuse this one",
    description: "Do not trust the selected host key and do not connect",
    run: |model| match selected(model) {
        Some(id) if model.screen.questions.noticed => answer(model, &[id], &Answer::Refuse),
        _ => too_early(model),
    },
};

pub(super) const REFUSE_KEYS: Action = Action {
    name: "refuse-keys",
    hint: "refuse all",
    description: "Trust none of the unknown host keys and connect to none of these hosts",
    run: |model| {
        if !model.screen.questions.noticed {
            return too_early(model);
        }
        let ids: Vec<u64> = questions::host_keys(model).iter().map(|row| row.id).collect();
        answer(model, &ids, &Answer::Refuse)
    },
};

// The text of a secret never enters the model: where it is typed, the loop of the screen does these three itself.

pub(super) const GIVE_SECRET: Action = Action {
    name: "give-secret",
    hint: "give it",
    description: "Give what was typed to the one that asked, and to nobody else",
    run: |_| Vec::new(),
};

pub(super) const CLEAR_SECRET: Action = Action {
    name: "clear-secret",
    hint: "type anew",
    description: "Forget all that was typed so far",
    run: |_| Vec::new(),
};

pub(super) const REUSE_SECRET: Action = Action {
    name: "reuse-secret",
    hint: "for others too",
    description: "Also use it for the other targets that ask for the same; off unless ticked, and only where that can be",
    run: |_| Vec::new(),
};

pub(super) const REFUSE_SECRET: Action = Action {
    name: "refuse-secret",
    hint: "do not answer",
    description: "Give no secret; the target is left alone until it is connected again",
    run: |model| match questions::front(model) {
        Some(Front::Secret(prompt, _)) => {
            let id = prompt.id;
            answer(model, &[id], &Answer::Refuse)
        }
        Some(Front::HostKeys) | None => Vec::new(),
    },
};

fn selected(model: &Model) -> Option<u64> {
    let rows = questions::host_keys(model);
    rows.get(questions::selected(model, &rows)).map(|row| row.id)
}

fn answer(model: &mut Model, ids: &[u64], answer: &Answer) -> Vec<Effect> {
    questions::close(model, ids);
    ids.iter().map(|id| Effect::Answer { id: *id, answer: answer.clone() }).collect()
}

/// Nothing is answered that could not be read yet; the footer says so.
fn too_early(model: &mut Model) -> Vec<Effect> {
    if !questions::host_keys(model).is_empty() {
        let text = "nothing was answered: this key was pressed before the question could be read";
        model.screen.notice = Some((text.to_owned(), model.now));
    }
    Vec::new()
}
