//! Answering a question.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::prompt::Answer;

pub(super) const YES: Action = Action {
    name: "answer-yes",
    hint: "trust and record",
    description: "Trust the shown host key, write it down and connect",
    run: |model| answer(model, Answer::Accept),
};

pub(super) const NO: Action = Action {
    name: "answer-no",
    hint: "refuse",
    description: "Do not trust the shown host key and do not connect",
    run: |model| answer(model, Answer::Refuse),
};

fn answer(model: &mut Model, answer: Answer) -> Vec<Effect> {
    if model.prompts.is_empty() {
        return Vec::new();
    }
    let prompt = model.prompts.remove(0);
    vec![Effect::Answer { id: prompt.id, answer }]
}
