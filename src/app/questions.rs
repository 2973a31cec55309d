//! The open questions as the screen shows them. Unknown host keys are one table, whoever asked; a secret is asked for
//! alone. What was seen decides what can be accepted: a key that came up in the very moment of a key press, or a row that
//! nobody scrolled to, is never trusted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::model::Model;
use super::prompt::{Prompt, PromptKind, SecretRequest, UnknownHostKey};
use crate::fabric::TargetId;

/// What the screen holds of the table of unknown host keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionView {
    /// Number of the selected question; the first one where there is none.
    pub selected: Option<u64>,
    /// Numbers of the questions whose rows stood on the screen, whole, long enough to be read.
    pub seen: BTreeSet<u64>,
    /// Whether the table itself stood on the screen for long enough: a key that was meant for something else must not
    /// answer it.
    pub noticed: bool,
}

/// The question that has the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Front<'m> {
    /// The table of unknown host keys.
    HostKeys,
    /// A secret is asked for.
    Secret(&'m Prompt, &'m SecretRequest),
}

/// The question in front: the oldest one, with all host keys counted as one.
pub fn front(model: &Model) -> Option<Front<'_>> {
    let prompt = model.prompts.first()?;
    Some(match &prompt.kind {
        PromptKind::UnknownHostKey(_) => Front::HostKeys,
        PromptKind::Secret(request) => Front::Secret(prompt, request),
    })
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyRow<'m> {
    /// Number of the question.
    pub id: u64,
    /// Who cannot be reached without an answer.
    pub target: &'m TargetId,
    /// The key.
    pub key: &'m UnknownHostKey,
}

/// The rows of the table, oldest first.
pub fn host_keys(model: &Model) -> Vec<KeyRow<'_>> {
    let rows = model.prompts.iter().filter_map(|prompt| match &prompt.kind {
        PromptKind::UnknownHostKey(key) => Some(KeyRow { id: prompt.id, target: &prompt.target, key }),
        PromptKind::Secret(_) => None,
    });
    rows.collect()
}

/// The place of the selected row.
pub fn selected(model: &Model, rows: &[KeyRow<'_>]) -> usize {
    let chosen = model.screen.questions.selected;
    rows.iter().position(|row| Some(row.id) == chosen).unwrap_or(0)
}

/// Moves the selection.
pub fn move_by(model: &mut Model, steps: isize) {
    let rows = host_keys(model);
    let Some(last) = rows.len().checked_sub(1) else { return };
    let next = selected(model, &rows).saturating_add_signed(steps).min(last);
    let id = rows[next].id;
    model.screen.questions.selected = Some(id);
}

/// The rows of these questions stood on the screen, and so did the table.
pub fn note_seen(model: &mut Model, ids: &[u64]) {
    let open: BTreeSet<u64> = host_keys(model).iter().map(|row| row.id).collect();
    if open.is_empty() {
        return;
    }
    model.screen.questions.noticed = true;
    model.screen.questions.seen.extend(ids.iter().filter(|id| open.contains(id)));
}

/// Takes away questions; what was seen of them is forgotten, and the selection stays where it was as far as it can.
pub fn close(model: &mut Model, ids: &[u64]) {
    let rows = host_keys(model);
    let place = selected(model, &rows);
    let left: Vec<u64> = rows.iter().map(|row| row.id).filter(|id| !ids.contains(id)).collect();
    let before = rows.iter().take(place).filter(|row| !ids.contains(&row.id)).count();
    let view = &mut model.screen.questions;
    if left.is_empty() {
        *view = QuestionView::default();
    } else {
        view.selected = left.get(before.min(left.len() - 1)).copied();
        view.seen.retain(|id| left.contains(id));
    }
    model.prompts.retain(|prompt| !ids.contains(&prompt.id));
}
