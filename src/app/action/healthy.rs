//! The list of what changed since nothing was wrong.

use super::Action;
use crate::app::healthy::view::HealthyView;
use crate::app::screen::Overlay;

pub(super) const CHANGES: Action = Action {
    name: "what-changed",
    hint: "changes",
    description: "List what changed since the last healthy snapshot, what a cause stands on first",
    run: |model| {
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
            return Vec::new();
        }
        // The list may be under something that was opened from it.
        model.screen.overlays.retain(|overlay| !matches!(overlay, Overlay::Healthy(_)));
        model.screen.overlays.push(Overlay::Healthy(HealthyView::default()));
        Vec::new()
    },
};
