//! `keys`: every key of the key map in force, with the action it stands for and what that does.

use std::fmt::Write as _;

use serde::Serialize;

use super::args::{Format, Global};
use super::{Exit, Failure, output};
use crate::app::action;
use crate::app::context::Context;
use crate::engine::settings;
use crate::tui::{GlyphSet, Glyphs, Keymap};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    keymap: String,
    keys: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    context: &'static str,
    keys: Vec<String>,
    action: &'static str,
    description: &'static str,
}

/// Prints the list.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let mut settings = settings::load(global.config.as_deref())?.configuration.settings;
    global.overlay(&mut settings).map_err(Failure::Usage)?;
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap = Keymap::embedded(&names)
        .map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?
        .told_in(&Glyphs::new(GlyphSet::Ascii));
    let rows = rows(&keymap);
    let text = match global.format {
        Format::Json => {
            let keymap = settings.keymap.value;
            output::json(&Document { schema: "rdmascope.keys/1", keymap, keys: rows })?
        }
        Format::Text => text(&rows),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

/// One row for each action of each context, in the order of contexts and actions.
fn rows(keymap: &Keymap) -> Vec<Row> {
    let mut rows = Vec::new();
    for context in Context::ALL {
        for action in action::ALL {
            let keys: Vec<String> =
                keymap.table(context).filter(|(_, name)| *name == action.name).map(|(key, _)| key).collect();
            if !keys.is_empty() {
                let (name, description) = (action.name, action.description);
                rows.push(Row { context: context.name(), keys, action: name, description });
            }
        }
    }
    rows
}

fn text(rows: &[Row]) -> String {
    let keys = |row: &Row| row.keys.join(" ");
    let key_room = rows.iter().map(|row| keys(row).len()).max().unwrap_or(0);
    let name_room = rows.iter().map(|row| row.action.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut context = "";
    for row in rows {
        if row.context != context {
            if !context.is_empty() {
                text.push('\n');
            }
            context = row.context;
            let _ = writeln!(text, "[{context}]");
        }
        let _ = writeln!(text, "{:key_room$}  {:name_room$}  {}", keys(row), row.action, row.description);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_key_and_every_key_a_row() {
        let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
        let keymap = Keymap::embedded(&names).expect("the embedded key map");
        let rows = rows(&keymap);
        for name in names {
            assert!(rows.iter().any(|row| row.action == name), "{name} cannot be reached by any key");
        }
        let bound: usize = Context::ALL.iter().map(|context| keymap.table(*context).count()).sum();
        assert_eq!(rows.iter().map(|row| row.keys.len()).sum::<usize>(), bound);
        let text = text(&rows);
        assert!(text.contains("\n[live]\n") && text.lines().all(|line| line == line.trim_end()), "{text}");
    }
}
