//! What the panels of rows have in common: rows of cells, each with where it comes from; selection, motion and evidence
//! work alike on all of them.

use super::condition::Gravity;
use super::model::Model;
use super::screen::{Panel, RowsView, Screen};
pub use super::selection::RowKey;
use super::{gpu, guest_link, host_binding, path, tune, vm_devices, wizard};
use crate::fabric::{Attribute, EntityId, ObservationRef};

/// Where a cell comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A reading.
    Reading(EntityId, Attribute),
    /// A line of something that was read, from 1; 0 for all of it.
    Line(ObservationRef, u32),
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What is drawn.
    pub text: String,
    /// How it stands.
    pub gravity: Gravity,
    /// Where it comes from, for evidence.
    pub source: Option<Origin>,
}

impl Cell {
    /// A cell from nowhere: words of the program's own.
    pub fn said(text: impl Into<String>, gravity: Gravity) -> Self {
        Self { text: text.into(), gravity, source: None }
    }

    /// A cell made of a reading.
    pub fn of(text: impl Into<String>, gravity: Gravity, id: &EntityId, attribute: Attribute) -> Self {
        Self { text: text.into(), gravity, source: Some(Origin::Reading(id.clone(), attribute)) }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub key: RowKey,
    /// What stands at the left.
    pub label: String,
    /// Its values. None for a heading.
    pub cells: Vec<Cell>,
}

impl Row {
    /// A heading.
    pub fn section(title: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        let title = title.into();
        Self { label: title.to_string(), key: RowKey::Section(title), cells: Vec::new() }
    }

    /// True for a heading.
    pub fn is_section(&self) -> bool {
        matches!(self.key, RowKey::Section(_))
    }

    /// The gravest condition of its values.
    pub fn gravity(&self) -> Gravity {
        self.cells.iter().map(|cell| cell.gravity).max().unwrap_or(Gravity::Neutral)
    }

    /// All of it as one line, for the filter.
    pub fn line(&self) -> String {
        let cells: Vec<&str> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        format!("{} {}", self.label, cells.join(" "))
    }
}

/// Names of the columns of a section whose cells stand below each other, each in full and in at most four letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The title of the section.
    pub section: String,
    /// The names.
    pub names: Vec<[String; 2]>,
}

/// Names of the columns of the panel that is shown, by section.
pub fn headings(model: &Model) -> Vec<Heading> {
    match model.screen.panel {
        Panel::Gpu => gpu::headings(model),
        _ if host_binding::shows_qualification(model) => host_binding::headings(model),
        _ => Vec::new(),
    }
}

/// Sections with the rows that the filter lets pass; one without rows is left out.
pub fn sections(model: &Model, sections: Vec<(String, Vec<Row>)>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (title, section) in sections {
        let passing: Vec<Row> =
            section.into_iter().filter(|row| model.screen.panel_passes(&format!("{title} {}", row.line()))).collect();
        if !passing.is_empty() {
            rows.push(Row::section(title));
            rows.extend(passing);
        }
    }
    rows
}

/// The rows of the panel that is shown, if it is one of rows.
pub fn rows(model: &Model) -> Option<Vec<Row>> {
    let target = model.selected_target()?;
    match model.screen.panel {
        Panel::Path => Some(sections(model, path::rows(model))),
        Panel::Wizard => Some(sections(model, wizard::rows(model))),
        Panel::Host => Some(host_binding::rows(model)),
        Panel::Vm => Some(vm_devices::rows(model)),
        Panel::GuestLink => Some(guest_link::rows(model, target)),
        Panel::Gpu => Some(gpu::rows(model, target)),
        Panel::Tune => Some(tune::rows(model)),
        Panel::Live | Panel::Events => None,
    }
}

/// What is selected in the panel that is shown, if it is one of rows.
pub fn view(screen: &Screen) -> Option<&RowsView> {
    match screen.panel {
        Panel::Path => Some(&screen.path.rows),
        Panel::Wizard => Some(&screen.wizard.rows),
        Panel::Host => Some(&screen.host.rows),
        Panel::Vm => Some(&screen.vm),
        Panel::GuestLink => Some(&screen.guest),
        Panel::Gpu => Some(&screen.gpu),
        Panel::Tune => Some(&screen.tune),
        Panel::Live | Panel::Events => None,
    }
}

/// The same to change it.
pub fn view_mut(screen: &mut Screen) -> Option<&mut RowsView> {
    match screen.panel {
        Panel::Path => Some(&mut screen.path.rows),
        Panel::Wizard => Some(&mut screen.wizard.rows),
        Panel::Host => Some(&mut screen.host.rows),
        Panel::Vm => Some(&mut screen.vm),
        Panel::GuestLink => Some(&mut screen.guest),
        Panel::Gpu => Some(&mut screen.gpu),
        Panel::Tune => Some(&mut screen.tune),
        Panel::Live | Panel::Events => None,
    }
}

/// The selected row and cell; the first row where none is selected.
pub fn selected(model: &Model) -> Option<(Row, Cell)> {
    let rows = rows(model)?;
    let view = view(&model.screen)?;
    let row = rows
        .iter()
        .find(|row| Some(&row.key) == view.selected.as_ref())
        .or_else(|| rows.iter().find(|row| !row.is_section()))?;
    let cell = row.cells.get(view.cell).or_else(|| row.cells.first())?;
    Some((row.clone(), cell.clone()))
}

/// Moves a selection by `steps` rows, over headings, and stays within the rows. With no selection the first row with
/// evidence is taken.
pub fn moved(rows: &[Row], selected: Option<&RowKey>, steps: isize) -> Option<RowKey> {
    let items: Vec<&Row> = rows.iter().filter(|row| !row.is_section()).collect();
    let last = items.len().checked_sub(1)?;
    let Some(current) = selected.and_then(|key| items.iter().position(|row| row.key == *key)) else {
        // Rows that were read from nowhere have no evidence to show.
        let first = items.iter().find(|row| row.cells.iter().any(|cell| cell.source.is_some()));
        return Some(first.unwrap_or(&items[0]).key.clone());
    };
    Some(items[current.saturating_add_signed(steps).min(last)].key.clone())
}

/// Another target's panels begin at their tops.
pub fn reset(screen: &mut Screen) {
    screen.guest = RowsView::default();
    screen.vm = RowsView::default();
    screen.path.rows = RowsView::default();
    screen.host.rows = RowsView::default();
    screen.live.selected = 0;
}
