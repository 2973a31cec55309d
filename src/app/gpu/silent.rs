//! GPUs of which nothing is measured any more, or not yet: since when, and why, as far as that is known. What was said of such a
//! GPU is not what is now.

use jiff::SignedDuration;

use super::super::condition::Gravity;
use super::super::format;
use super::super::table::Cell;
use super::{Builder, State};
use crate::diagnose::cause::Found;
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId, Measure, Timestamp};

/// Rows that may be missing before what was measured is old, and the least time that they have, in seconds.
const PERIODS: i32 = 3;
const LEAST_SECONDS: i64 = 5;

/// For so long after a connection came up nobody wonders that nothing is measured, in seconds.
const FIRST_SECONDS: i64 = 15;

/// How the complaints about the streams begin.
const COMPLAINTS: [&str; 2] = ["the stream of GPUs", "GPUs are not read"];

impl Builder<'_> {
    /// When anything of a GPU was measured last.
    fn measured_at(&self, gpu: &EntityId) -> Option<Timestamp> {
        let of = |measure: Measure| {
            let points = &self.model.series.get(&measure.key(gpu))?.points;
            points.iter().rev().find(|point| point.value.is_some()).map(|point| point.at)
        };
        [Measure::GpuUse, Measure::SmActive, Measure::GpuMemoryUsed, Measure::Power, Measure::Temperature]
            .into_iter()
            .filter_map(of)
            .max()
    }

    /// Since when nothing was measured of a GPU that was measured before; `None` while its rows come, and before the first.
    pub(super) fn silent_since(&self, gpu: &EntityId) -> Option<Timestamp> {
        let rows = self.model.limits.rows(gpu);
        let last = rows.and_then(crate::diagnose::limit::Rows::last_at).max(self.measured_at(gpu))?;
        let mut newest = rows.into_iter().flat_map(|rows| rows.iter().rev()).map(|row| row.at);
        let period =
            newest.next().zip(newest.next()).map_or(SignedDuration::ZERO, |(now, before)| now.duration_since(before));
        let limit = SignedDuration::from_secs(LEAST_SECONDS).max(period * PERIODS);
        (self.model.now.duration_since(last) > limit).then_some(last)
    }

    /// Marks cells as old where nothing is measured of their GPU any more.
    pub(super) fn aged(&self, gpu: &EntityId, mut cells: Vec<Option<Cell>>) -> Vec<Option<Cell>> {
        if let Some(since) = self.silent_since(gpu).filter(|_| cells.iter().any(Option::is_some)) {
            for cell in cells.iter_mut().flatten().filter(|cell| cell.gravity == Gravity::Neutral) {
                cell.gravity = Gravity::Stale;
            }
            cells.push(Some(Cell::said(format!("{} old", format::age(since, self.model.now)), Gravity::Stale)));
        }
        cells
    }

    /// What stands in place of a verdict: the gravest finding about the GPU, and why nothing is measured.
    pub(super) fn without_verdict(&self, gpu: &EntityId) -> Vec<Option<Cell>> {
        let finding = self.gravest(gpu).map(|found| {
            let title = super::super::diagnosis::short(self.target, &found.judged.title);
            Cell::said(title, super::super::diagnosis::gravity(found.judged.status))
        });
        let missing = match (self.silent_since(gpu), self.why_silent()) {
            (Some(since), why) => {
                let was =
                    self.model.limits.of(gpu).map_or_else(String::new, |was| format!(" (was {})", was.standing.name()));
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                Cell::said(format!("not measured for {}{was}{why}", format::age(since, self.model.now)), Gravity::Stale)
            }
            (None, Some(why)) => Cell::said(format!("nothing is measured: {why}"), Gravity::Unknown),
            (None, None) => Cell::said("nothing is measured yet", Gravity::Unknown),
        };
        vec![finding, Some(missing)]
    }

    /// The gravest finding about a GPU itself, those that fail first.
    fn gravest(&self, gpu: &EntityId) -> Option<Found> {
        let is_it = |found: &&Found| {
            let subject = &found.judged.subject;
            let is_gpu = matches!(&subject.entity, Entity::Gpu(_) | Entity::PciFunction(_));
            found.check.id.starts_with("gpu.")
                && subject.target == gpu.target
                && is_gpu
                && subject.entity.name() == gpu.entity.name()
                && matches!(found.judged.status, Status::Fail | Status::Warn)
        };
        let diagnosed = self.model.diagnosed();
        let all =
            diagnosed.diagnosis.causes.iter().flat_map(|cause| std::iter::once(&cause.found).chain(&cause.symptoms));
        all.filter(is_it).min_by_key(|found| found.judged.status != Status::Fail).cloned()
    }

    /// Why nothing is measured, as far as that was told.
    fn why_silent(&self) -> Option<String> {
        let of_target = self.model.events.iter().rev().filter(|event| event.target.as_ref() == Some(self.target));
        let told = of_target
            .map(|event| event.text.as_str())
            .find(|text| COMPLAINTS.iter().any(|start| text.starts_with(start)));
        if let Some(told) = told {
            return Some(told.strip_prefix("GPUs are not read: ").unwrap_or(told).to_owned());
        }
        let since = match self.model.targets.get(self.target).map(|target| &target.connection)? {
            crate::app::Connection::Connected { since, .. } => *since,
            _ => return Some(format!("{} is not connected", self.target)),
        };
        if self.model.now.duration_since(since).as_secs() < FIRST_SECONDS {
            return None;
        }
        let guest = EntityId::new(self.target, Entity::Guest);
        Some(match self.model.fabric.reading(&guest, Attribute::GpuReadBy).map(|reading| &reading.state) {
            Some(state @ (State::Failed(_) | State::NotInstalled(_))) => format::state(Attribute::GpuReadBy, state),
            _ => "the stream gave no row yet, and no reason; nvidia-smi in the guest tells whether the driver answers"
                .to_owned(),
        })
    }
}
