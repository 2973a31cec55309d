//! What limits each GPU: the verdict in a word with its numbers, and below that why, what comes next, and what would disprove
//! it.

use super::super::condition::Gravity;
use super::super::table::{Cell, Origin, Row};
use super::Builder;
use crate::diagnose::limit::{Shown, Standing, Verdict};
use crate::fabric::EntityId;

/// The title above the verdicts.
pub(super) const TITLE: &str = "What limits each GPU";
/// A screen of so many columns has room for a sentence beside each verdict.
const WIDE: u16 = 120;
/// The title above the reasons.
pub(super) const WHY: &str = "Why";

impl Builder<'_> {
    /// The verdict on a GPU, for as long as its rows come: what was said before they ended is not what is now.
    fn verdict(&self, gpu: &EntityId) -> Option<&Verdict> {
        self.model.limits.of(gpu).filter(|_| self.silent_since(gpu).is_none())
    }

    /// The verdict on each GPU.
    pub(super) fn verdicts(&self) -> Vec<Row> {
        // The words of many would push all else off a small screen; those of limits stand below, too.
        let has_room = self.gpus.len() <= 2 || self.model.screen.columns >= WIDE;
        let row = |gpu: &EntityId| {
            let cells = match self.verdict(gpu) {
                Some(verdict) => vec![
                    Some(Cell {
                        source: self.first_evidence(verdict),
                        ..Cell::said(verdict.standing.name(), gravity(verdict))
                    }),
                    (has_room && !verdict.says.is_empty()).then(|| Cell::said(verdict.says.clone(), Gravity::Neutral)),
                ],
                None => self.without_verdict(gpu),
            };
            Self::row(gpu, "verdict", self.label(gpu), cells)
        };
        self.gpus.iter().filter_map(row).collect()
    }

    /// What shows each verdict, what speaks against it, what comes next and what would disprove it; nothing for GPUs that are
    /// well or idle.
    pub(super) fn why(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for gpu in &self.gpus {
            let Some(verdict) = self.verdict(gpu).filter(|verdict| verdict.factor().is_some()) else { continue };
            let label = self.label(gpu);
            let shown = verdict.evidence().iter().map(|shown| Some(self.shown(shown, Gravity::Neutral))).collect();
            rows.extend(Self::row(gpu, "for", format!("{label} shown by"), shown));
            let against = verdict.against().iter().map(|shown| Some(self.shown(shown, Gravity::Neutral))).collect();
            rows.extend(Self::row(gpu, "against", format!("{label} against it"), against));
            let next = verdict.runner_up.map_or("nothing else holds", crate::diagnose::limit::Factor::name);
            rows.extend(Self::row(
                gpu,
                "next",
                format!("{label} comes next"),
                vec![Some(Cell::said(next, Gravity::Neutral))],
            ));
            let disproved = Cell::said(verdict.disproved_by.clone(), Gravity::Neutral);
            rows.extend(Self::row(gpu, "disproved", format!("{label} disproved by"), vec![Some(disproved)]));
            if let Some(weakness) = verdict.weakness {
                let cell = Cell::said(weakness, Gravity::Warning);
                rows.extend(Self::row(gpu, "rule", format!("{label} rule"), vec![Some(cell)]));
            }
        }
        rows
    }

    fn shown(&self, shown: &Shown, gravity: Gravity) -> Cell {
        Cell { source: self.origin(shown), ..Cell::said(shown.says.clone(), gravity) }
    }

    fn first_evidence(&self, verdict: &Verdict) -> Option<Origin> {
        verdict.evidence().iter().find_map(|shown| self.origin(shown)).or_else(|| self.evidence(&verdict.gpu))
    }

    fn origin(&self, shown: &Shown) -> Option<Origin> {
        match shown.attribute {
            Some(attribute) => Some(Origin::Reading(shown.about.clone(), attribute)),
            None => self.evidence(&shown.about),
        }
    }
}

fn gravity(verdict: &Verdict) -> Gravity {
    match verdict.standing {
        Standing::Limited(factor) if verdict.factors.get(&factor).is_some_and(|assessed| assessed.is_grave) => {
            Gravity::Bad
        }
        Standing::Limited(_) => Gravity::Warning,
        Standing::Healthy => Gravity::Good,
        Standing::Idle => Gravity::Neutral,
        Standing::TooFewSamples | Standing::Unclear => Gravity::Unknown,
    }
}
