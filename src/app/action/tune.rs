//! Benchmarks: the panel, what is about to run, and its beginning and end.

use super::Action;
use crate::app::screen::{Focus, Overlay, Panel};
use crate::app::tune;

pub(super) const PANEL: Action = Action {
    name: "panel-tune",
    hint: "Tune",
    description: "Show benchmarks between two guests: what would run, what runs with its curve, what came of those before",
    run: |model| {
        model.screen.panel = Panel::Tune;
        model.screen.focus = Focus::Panel;
        Vec::new()
    },
};

pub(super) const BENCH: Action = Action {
    name: "bench",
    hint: "bench",
    description: "Show the benchmark between the two ends of the path: what it runs and loads; nothing begins before you say so",
    run: |model| {
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
        } else if !matches!(model.screen.overlays.last(), Some(Overlay::Bench { .. })) {
            model.screen.overlays.push(Overlay::Bench { scroll: 0 });
        }
        Vec::new()
    },
};

pub(super) const START: Action = Action {
    name: "start-bench",
    hint: "begin",
    description: "Begin the benchmark that is shown",
    run: |model| {
        // Nothing begins that is not shown.
        if !matches!(model.screen.overlays.last(), Some(Overlay::Bench { .. })) {
            return Vec::new();
        }
        let effects = tune::start(model);
        if !effects.is_empty() {
            model.screen.overlays.pop();
            model.screen.panel = Panel::Tune;
            model.screen.focus = Focus::Panel;
        }
        effects
    },
};

pub(super) const STOP: Action = Action {
    name: "stop-bench",
    hint: "end it",
    description: "End the benchmark that is under way, on both sides",
    run: tune::stop,
};

pub(super) const VERB: Action = Action {
    name: "bench-verb",
    hint: "verb",
    description: "Measure by the next verb: write, read, send",
    run: |model| {
        tune::next_verb(model);
        Vec::new()
    },
};

pub(super) const KIND: Action = Action {
    name: "bench-kind",
    hint: "bandwidth/latency",
    description: "Measure the latency instead of the bandwidth, or the other way round",
    run: |model| {
        tune::other_kind(model);
        Vec::new()
    },
};

pub(super) const DIRECTION: Action = Action {
    name: "bench-direction",
    hint: "one way/both",
    description: "Measure the bandwidth both ways at once, or one way again",
    run: |model| {
        tune::other_direction(model);
        Vec::new()
    },
};
