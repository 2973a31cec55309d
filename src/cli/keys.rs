//! `keys`: every key of the key map in force, with the action it stands for, what that does and where it was bound; and
//! the key maps that there are.

use std::fmt::Write as _;

use serde::Serialize;

use super::args::{Format, Global};
use super::themes::{Listed, list_text, listed};
use super::{Exit, Failure, library, output};
use crate::app::action;
use crate::app::context::Context;
use crate::tui::looks::DEFAULT;
use crate::tui::{GlyphSet, Glyphs, Keymap};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    keymap: String,
    keymaps: Vec<Listed>,
    keys: Vec<Row>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    context: &'static str,
    keys: Vec<String>,
    action: &'static str,
    description: &'static str,
    /// Where each of the keys was bound, in their order: `file:line`.
    from: Vec<String>,
}

/// Prints the list.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let (settings, library) = library::settings_and_library(global)?;
    let name = &settings.keymap.value;
    let chosen = library.keymap(name).map(|named| &named.definition);
    let keymaps = listed(&library.keymaps, name);
    let rows = match chosen {
        Some(Ok(keymap)) => rows(&keymap.clone().told_in(&Glyphs::new(GlyphSet::Ascii))),
        _ => Vec::new(),
    };
    let text = match global.format {
        Format::Json => {
            let (keymap, problems) = (name.clone(), library.problems.clone());
            output::json(&Document { schema: "rdmascope.keys/1", keymap, keymaps, keys: rows, problems })?
        }
        Format::Text | Format::Sarif | Format::Junit => {
            let mut head = format!("Key maps\n{}", list_text(&keymaps));
            for problem in &library.problems {
                let _ = writeln!(head, "  {problem}");
            }
            format!("{head}\n{}", text(&rows))
        }
    };
    output::print(&text)?;
    match chosen {
        Some(Err(error)) => Err(library::defect(error).into()),
        _ => Ok(Exit::Done),
    }
}

/// One row for each action of each context, in the order of contexts and actions.
fn rows(keymap: &Keymap) -> Vec<Row> {
    let mut rows = Vec::new();
    for context in Context::ALL {
        for action in action::ALL {
            let bound = keymap.told(context).filter(|(_, told)| told.action == action.name);
            let (keys, from): (Vec<String>, Vec<String>) =
                bound.map(|(key, told)| (key, format!("{}:{}", told.file, told.line))).unzip();
            if !keys.is_empty() {
                let (name, description) = (action.name, action.description);
                rows.push(Row { context: context.name(), keys, action: name, description, from });
            }
        }
    }
    rows
}

/// Where the keys of a row were bound that the default map does not have, with those keys.
fn elsewhere(row: &Row) -> String {
    let default = format!("keymaps/{DEFAULT}.toml:");
    let others = row.keys.iter().zip(&row.from).filter(|(_, from)| !from.starts_with(&default));
    let told: Vec<String> = others.map(|(key, from)| format!("{key}: {from}")).collect();
    if told.is_empty() { String::new() } else { format!("  ({})", told.join(", ")) }
}

fn text(rows: &[Row]) -> String {
    let keys = |row: &Row| row.keys.join("  ");
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
        let from = elsewhere(row);
        let _ = writeln!(text, "{:key_room$}  {:name_room$}  {}{from}", keys(row), row.action, row.description);
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
