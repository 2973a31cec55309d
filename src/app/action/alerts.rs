//! Alerts: taken note of, or given a rest.

use super::Action;
use crate::app::alerts;

pub(super) const ACKNOWLEDGE: Action = Action {
    name: "acknowledge",
    hint: "acknowledge",
    description: "Take note of the alert that the selected event tells of: neither bell nor hook tells it again; once more takes that \
                  back",
    run: |model| {
        alerts::acknowledge(model);
        Vec::new()
    },
};

pub(super) const SNOOZE: Action = Action {
    name: "snooze",
    hint: "snooze",
    description: "Let the alert that the selected event tells of rest for 15 minutes; if it is still there then it is told once more; \
                  once more ends that",
    run: |model| {
        alerts::snooze(model);
        Vec::new()
    },
};

pub(super) const SNOOZE_ALL: Action = Action {
    name: "snooze-all",
    hint: "all quiet",
    description: "Let all alerts rest for 15 minutes: neither bell nor hook tells any; once more ends that",
    run: |model| {
        alerts::snooze_all(model);
        Vec::new()
    },
};
