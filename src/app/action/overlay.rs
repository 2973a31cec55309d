//! Opening and closing what lies over the panels; folding the tree.

use super::Action;
use crate::app::evidence::Evidence;
use crate::app::model::Model;
use crate::app::screen::{Focus, Overlay, Panel};
use crate::app::table::{self, Origin};
use crate::app::tree::{self, Node};
use crate::app::{healthy, live, marks};
use crate::fabric::{Attribute, Entity, EntityId};
use crate::probe::esxi::esxtop;

pub(super) const HELP: Action = Action {
    name: "help",
    hint: "help",
    description: "Show all keys that work here",
    run: |model| {
        // It would open under the question, where it can be neither read nor closed.
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
            return Vec::new();
        }
        model.screen.overlays.push(Overlay::Help { scroll: 0 });
        Vec::new()
    },
};

pub(super) const CLOSE: Action = Action {
    name: "close",
    hint: "close",
    description: "Close what lies on top; without an overlay: hide the graphs' cursor, take the filter off, or go back in the \
                  wizard",
    run: |model| {
        if model.screen.overlays.pop().is_some() {
            return Vec::new();
        }
        if model.screen.panel == Panel::Live && model.screen.live.cursor.is_some() {
            model.screen.live.cursor = None;
        } else if !model.screen.filter.is_empty() {
            model.screen.filter = crate::app::filter::Filter::default();
        } else if model.screen.panel == Panel::Wizard && model.screen.focus == Focus::Panel {
            crate::app::wizard::back(model);
        }
        Vec::new()
    },
};

pub(super) const FOLD: Action = Action {
    name: "fold",
    hint: "fold",
    description: "Hide or show what lies below the selected row of the tree",
    run: |model| {
        if let Some(node) = &model.screen.tree.selected {
            let folded = model.screen.tree.folded.contains(&Node::Target(node.target().clone()));
            set_folded(model, !folded);
        }
        Vec::new()
    },
};

pub(super) const EVIDENCE: Action = Action {
    name: "evidence",
    hint: "evidence",
    description: "Show the raw text that the selected value came from: command, target, time, output",
    run: |model| {
        match selected_evidence(model) {
            Some(evidence) => model.screen.overlays.push(Overlay::Evidence(Box::new(evidence))),
            // What a mark is about is the graphs at its moment.
            None if marks::selected(model).is_some() => return (super::marks::GO_TO.run)(model),
            None => {
                model.screen.notice =
                    Some(("nothing was read for this row yet: there is no evidence to show".to_owned(), model.now));
            }
        }
        Vec::new()
    },
};

/// Hides or shows what lies below the target of the selected row.
pub(super) fn set_folded(model: &mut Model, folded: bool) {
    let Some(node) = model.screen.tree.selected.clone() else { return };
    let target = Node::Target(node.target().clone());
    if folded {
        model.screen.tree.folded.insert(target.clone());
        model.screen.tree.selected = Some(target);
    } else {
        model.screen.tree.folded.remove(&target);
    }
}

/// Evidence for whatever is selected.
pub(super) fn selected_evidence(model: &Model) -> Option<Evidence> {
    if let Some(Overlay::Healthy(view)) = model.screen.top() {
        return healthy::view::evidence(model, *view);
    }
    if model.screen.focus == Focus::Tree {
        return tree_evidence(model);
    }
    let target = model.selected_target()?;
    match model.screen.panel {
        panel if panel.has_rows() => {
            let (row, cell) = table::selected(model)?;
            match cell.source? {
                Origin::Reading(id, attribute) => Evidence::of_reading(model.sources(), &id, attribute),
                Origin::Line(reference, line) => {
                    Some(Evidence::new(model.sources(), row.label, cell.text, reference, line))
                }
            }
        }
        Panel::Live => {
            let graphs = live::graphs(model, target);
            let graph = graphs.get(model.screen.live.selected).or_else(|| graphs.first())?;
            graph_evidence(model, graph)
        }
        _ => {
            let event = model.selected_event()?;
            let reference = event.evidence.clone()?;
            Some(Evidence::new(
                model.sources(),
                format!("event {}", event.number),
                event.text.clone(),
                reference,
                event.line,
            ))
        }
    }
}

/// A graph's evidence is the newest tick; where nothing publishes the values, what says so.
fn graph_evidence(model: &Model, graph: &live::Graph) -> Option<Evidence> {
    let source = crate::fabric::SourceId::new(crate::probe::linux::stream::SOURCE);
    if let Some(key) = graph.lines.first().and_then(|line| line.keys.first())
        && let Some(observation) = model.raw.newest(&graph.id.target, &source)
    {
        let line = observation.lines().find(|(_, line)| {
            let path = line.split_once(':').map_or(*line, |(path, _)| path);
            path.ends_with(&format!("/{}", key.name)) && entity_in_path(&key.entity, path)
        });
        if let Some((number, _)) = line {
            let raw = model.series.get(key).and_then(|series| series.raw);
            let conclusion = raw.map_or_else(String::new, |raw| format!("{} = {raw}", key.name));
            return Some(Evidence::new(
                model.sources(),
                graph.title.clone(),
                conclusion,
                observation.reference(),
                number,
            ));
        }
    }
    if let Some(key) = graph.lines.first().and_then(|line| line.keys.first())
        && let Some(observation) = model.raw.newest(&graph.id.target, &crate::fabric::SourceId::new(esxtop::SOURCE))
        && let Some((number, cell)) = observation.lines().find_map(|(number, line)| {
            let (title, cell) = line.strip_prefix('"')?.split_once("\",\"")?;
            let (entity, measure) = esxtop::column::of_title(title)?;
            let is_it = entity == key.entity && measure.name() == key.name.as_str();
            is_it.then(|| (number, cell.trim_end_matches('"')))
        })
    {
        let conclusion = format!("{} = {cell}", key.name);
        let (sources, title) = (model.sources(), graph.title.clone());
        return Some(Evidence::new(sources, title, conclusion, observation.reference(), number));
    }
    Evidence::of_reading(model.sources(), &graph.id, graph.attribute)
}

fn entity_in_path(entity: &Entity, path: &str) -> bool {
    match entity {
        Entity::RdmaPort { device, port } => path.contains(&format!("/{device}/ports/{port}/")),
        Entity::Netdev(name) => path.contains(&format!("/net/{name}/")),
        _ => false,
    }
}

fn tree_evidence(model: &Model) -> Option<Evidence> {
    let rows = tree::rows(model);
    let selected = model.screen.tree.selected.as_ref();
    let row = rows.iter().find(|row| Some(&row.node) == selected)?;
    match &row.node {
        Node::Entity(id) => {
            let attribute = match id.entity {
                Entity::RdmaPort { .. } => Attribute::PortState,
                Entity::Netdev(_) => Attribute::OperationalState,
                Entity::PciFunction(_) => Attribute::DeviceId,
                Entity::Vm(_) => Attribute::PowerState,
                Entity::RdmaDevice(_) => Attribute::PairedUplink,
                _ => return None,
            };
            Evidence::of_reading(model.sources(), id, attribute)
        }
        Node::Target(target) => {
            let host = EntityId::new(target, Entity::Host);
            if let Some(evidence) = Evidence::of_reading(model.sources(), &host, Attribute::EsxiVersion) {
                return Some(evidence);
            }
            let id = EntityId::new(target, Entity::Guest);
            [Attribute::RdmaPresence, Attribute::KernelRelease, Attribute::BootId]
                .into_iter()
                .find_map(|attribute| Evidence::of_reading(model.sources(), &id, attribute))
        }
    }
}
