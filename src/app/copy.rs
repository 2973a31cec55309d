//! What is copied: whatever is selected, as plain text. A copied line never ends in a newline, so that pasting it into a
//! shell runs nothing; controls and escape sequences are taken out of everything. Questions and what is typed into them
//! are never copied.

use super::host_binding;
use super::live::{self, Graph};
use super::message::Severity;
use super::model::Model;
use super::screen::{Focus, Overlay, Panel};
use super::settings;
use super::table;
use super::tree::{self, Node};
use crate::fabric::text::clean_line;
use crate::fabric::{Entity, Observation, Timestamp};

/// A text that may be copied: lines without controls, none of them at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyText(String);

impl CopyText {
    /// One line: newlines become blanks. `None` if nothing is left.
    pub fn line(raw: &str) -> Option<Self> {
        let joined = raw.split(['\n', '\r']).map(str::trim_end).filter(|part| !part.is_empty()).collect::<Vec<_>>();
        Self::of(clean(&joined.join(" ")).trim())
    }

    /// Some lines. `None` if nothing is left.
    pub fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let lines: Vec<String> = lines.into_iter().flat_map(str::lines).map(clean).collect();
        Self::of(lines.join("\n").trim_end())
    }

    fn of(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many lines it has, at least one.
    pub fn count(&self) -> usize {
        self.0.lines().count()
    }
}

/// A line without controls; tabs, which carry the columns of many outputs, stay.
fn clean(line: &str) -> String {
    line.split('\t').map(clean_line).collect::<Vec<_>>().join("\t")
}

/// Something to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The text.
    pub text: CopyText,
    /// What it is, in words: `raw text`.
    pub what: &'static str,
}

/// What is selected; with `whole` the row that it belongs to. The error says why there is nothing.
pub fn selected(model: &Model, whole: bool) -> Result<Selected, &'static str> {
    if !model.prompts.is_empty() {
        return Err("nothing is copied from a question");
    }
    let found = match model.screen.top() {
        Some(Overlay::Evidence(evidence)) => {
            let observation = evidence.observation.as_deref().ok_or("its text is no longer kept")?;
            if whole {
                (CopyText::line(&observation.command), "command line")
            } else {
                (raw_text(observation), "raw text")
            }
        }
        Some(Overlay::Settings(view)) => {
            let rows = settings::rows(model);
            let row = rows.get(view.selected).ok_or("nothing is selected")?;
            (CopyText::line(&format!("{}: {}", row.name, row.value)), "setting")
        }
        Some(Overlay::Marks { .. }) => {
            let mark = super::marks::selected(model).ok_or("no mark was put yet")?;
            (CopyText::line(&format!("{}  mark {}  {}", time(mark.at), mark.letter(), mark.note)), "mark")
        }
        Some(Overlay::Change { .. }) => {
            let change = model.change.as_ref().ok_or("no remedy is shown")?;
            let steps: Vec<String> = change.steps().iter().map(super::super::diagnose::remedy::Step::shown).collect();
            (CopyText::lines(steps.iter().map(String::as_str)), "remedy")
        }
        Some(Overlay::Bench { .. }) => {
            let plan = super::tune::planned(model).map_err(|_| "nothing would run")?;
            (CopyText::lines(plan.words().iter().map(String::as_str)), "benchmark")
        }
        Some(Overlay::Healthy(view)) => {
            let line = super::healthy::view::line(model, *view).ok_or("nothing is in this list")?;
            (CopyText::line(&line), "change")
        }
        Some(Overlay::Help { .. } | Overlay::Paste(_) | Overlay::Palette(_)) => {
            return Err("nothing is selected in this list");
        }
        None if model.screen.focus == Focus::Tree => of_tree(model, whole).ok_or("nothing is selected")?,
        None => match model.screen.panel {
            panel if panel.has_rows() => of_rows(model, whole).ok_or("no value is selected")?,
            Panel::Live => of_live(model, whole).ok_or("no graph is shown")?,
            _ => of_event(model).ok_or("no event is selected")?,
        },
    };
    let (text, what) = found;
    text.map(|text| Selected { text, what }).ok_or("it is empty")
}

/// A time as it is copied: the same in every zone.
fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn raw_text(observation: &Observation) -> Option<CopyText> {
    CopyText::lines([&*observation.stdout, &*observation.stderr])
}

fn of_tree(model: &Model, whole: bool) -> Option<(Option<CopyText>, &'static str)> {
    let rows = tree::rows(model);
    let row = rows.iter().find(|row| Some(&row.node) == model.screen.tree.selected.as_ref())?;
    let name = match &row.node {
        Node::Target(target) => target.to_string(),
        Node::Entity(id) if matches!(id.entity, Entity::Vm(_)) => row.label.clone(),
        Node::Entity(id) => id.entity.name(),
    };
    if whole {
        return Some((CopyText::line(&format!("{name}: {}", row.condition.word)), "row"));
    }
    Some((CopyText::line(&name), "name"))
}

fn of_rows(model: &Model, whole: bool) -> Option<(Option<CopyText>, &'static str)> {
    let view = table::view(&model.screen)?;
    // Without a selection the first row is meant, as for evidence; one whose row went away means none.
    let is_meant = |row: &table::Row| view.selected.as_ref().is_none_or(|key| *key == row.key);
    let (row, cell) = table::selected(model).filter(|(row, _)| is_meant(row))?;
    if host_binding::shows_qualification(model) {
        return qualification(model, &row, view.cell, whole);
    }
    if whole {
        let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        return Some((CopyText::line(&format!("{}: {}", row.label, cells.join("  "))), "row"));
    }
    Some((CopyText::line(&cell.text), "value"))
}

/// A word alone says nothing where it was pasted: the sentence behind it is copied, or each word with what it is of.
fn qualification(
    model: &Model,
    row: &table::Row,
    cell: usize,
    whole: bool,
) -> Option<(Option<CopyText>, &'static str)> {
    if !whole {
        return Some((CopyText::line(&host_binding::sentence(model, &row.key, cell)?), "sentence"));
    }
    let headings = host_binding::headings(model);
    let rows = table::rows(model)?;
    let before = rows.iter().take_while(|one| one.key != row.key);
    let section = before.filter(|one| one.is_section()).last().map(|section| section.label.as_str());
    let heading = headings.iter().find(|heading| Some(heading.section.as_str()) == section);
    let cells: Vec<String> = match heading.filter(|heading| heading.names.len() == row.cells.len()) {
        Some(heading) => {
            heading.names.iter().zip(&row.cells).map(|([name, _], cell)| format!("{name} {}", cell.text)).collect()
        }
        None => row.cells.iter().map(|cell| cell.text.clone()).collect(),
    };
    Some((CopyText::line(&format!("{}: {}", row.label, cells.join("  "))), "row"))
}

/// The values at the cursor, one line each: of the selected graph, or of all.
fn of_live(model: &Model, whole: bool) -> Option<(Option<CopyText>, &'static str)> {
    let target = model.selected_target()?;
    let graphs = live::graphs(model, target);
    let selected = model.screen.live.selected.min(graphs.len().checked_sub(1)?);
    let shown: &[Graph] = if whole { &graphs } else { &graphs[selected..=selected] };
    let at = model.cursor_time();
    let mut lines = Vec::new();
    for graph in shown {
        for line in &graph.lines {
            let value =
                line.fresh_value(model, at).map_or_else(|| "no value".to_owned(), |value| graph.unit.format(value));
            lines.push(format!("{}  {target} {}  {}  {value}", time(at), graph.whole_title(), line.label));
        }
        if graph.lines.is_empty() {
            let why = graph.sentence.as_deref().unwrap_or("no value");
            lines.push(format!("{}  {target} {}  {why}", time(at), graph.title));
        }
    }
    Some((CopyText::lines(lines.iter().map(String::as_str)), "values at the cursor"))
}

fn of_event(model: &Model) -> Option<(Option<CopyText>, &'static str)> {
    let event = model.selected_event()?;
    let severity = match event.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let target = event.target.as_ref().map_or_else(String::new, |target| format!("{target}: "));
    Some((CopyText::line(&format!("{}  {severity}  {target}{}", time(event.at), event.text)), "event"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_no_newline_and_no_control() {
        let line = |raw| CopyText::line(raw).map(|text| text.as_str().to_owned());
        assert_eq!(line("rdma link show\n"), Some("rdma link show".to_owned()));
        assert_eq!(line("a \\\r\n  b\x1b[2J\x07c\n\n"), Some("a \\   bc".to_owned()));
        assert_eq!(line("\x1b]0;x\x07\n"), None);
    }

    #[test]
    fn lines_keep_their_tabs_and_blanks_and_end_without_a_newline() {
        let text = CopyText::lines(["a\tb\r\n  c\x1b[31m\n\n", "d\n\n"]).expect("something");
        assert_eq!(text.as_str(), "a\tb\n  c\n\nd");
        assert_eq!(text.count(), 4);
        assert_eq!(CopyText::lines(["\n", ""]), None);
    }

    proptest! {
        #[test]
        fn nothing_that_runs_or_draws_by_being_pasted_is_left(raw in "(?s)[\\PC\u{0}-\u{20}\u{7f}-\u{9f}\\[\\]0-9;m]{0,80}") {
            for text in [CopyText::line(&raw), CopyText::lines([raw.as_str()])].into_iter().flatten() {
                prop_assert!(!text.as_str().ends_with(['\n', '\r']));
                prop_assert!(!text.as_str().chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", text);
            }
            prop_assert!(CopyText::line(&raw).is_none_or(|text| !text.as_str().contains('\n')));
        }
    }
}
