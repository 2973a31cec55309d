//! `themes`: the themes that there are and where they come from, which one is in force, and its roles.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use serde::Serialize;

use super::args::{Format, Global};
use super::text::{Row, rows};
use super::{Exit, Failure, library, output};
use crate::tui::library::{Named, Origin};
use crate::tui::{self, Theme, sgr};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    themes: Vec<Listed>,
    roles: Vec<Role>,
    problems: Vec<String>,
}

/// One theme or key map of a list.
#[derive(Serialize)]
pub(super) struct Listed {
    name: String,
    in_force: bool,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Role {
    role: &'static str,
    style: String,
}

/// All that there are, each with what is to be said of it.
pub(super) fn listed<T>(all: &[Named<T>], in_force: &str) -> Vec<Listed> {
    all.iter()
        .map(|named| Listed {
            name: named.name.clone(),
            in_force: named.name == in_force,
            origin: match named.origin {
                Origin::Embedded => "embedded",
                Origin::File(_) => "file",
            },
            file: match &named.origin {
                Origin::Embedded => None,
                Origin::File(file) => Some(file.clone()),
            },
            description: named.description.clone(),
            error: named.definition.as_ref().err().map(ToString::to_string),
        })
        .collect()
}

/// The list as text: name, what it says of itself, where it comes from, what is wrong with it.
pub(super) fn list_text(all: &[Listed]) -> String {
    let lines: Vec<Row> = all
        .iter()
        .map(|listed| {
            let mut parts = Vec::new();
            parts.extend(listed.in_force.then(|| "(in force)".to_owned()));
            parts.extend((!listed.description.is_empty()).then(|| listed.description.clone()));
            match (&listed.error, &listed.file) {
                (Some(error), _) => parts.push(format!("BROKEN: {error}")),
                (None, Some(file)) => parts.push(format!("({file})")),
                (None, None) => {}
            }
            Row::new(&listed.name, &parts.join(" "))
        })
        .collect();
    rows(&lines, 2)
}

/// Prints the list and the roles.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let (settings, library) = library::settings_and_library(global)?;
    let chosen = library.theme(&settings.theme.value);
    let theme = chosen.and_then(|named| named.definition.as_ref().ok());
    let themes = listed(&library.themes, &settings.theme.value);
    let text = match global.format {
        Format::Json => {
            let styles = theme.map(Theme::styles).unwrap_or_default();
            let roles = styles.into_iter().map(|(role, style)| Role { role, style: sgr::words(style) }).collect();
            let problems = library.problems.clone();
            output::json(&Document { schema: "rdmascope.themes/1", themes, roles, problems })?
        }
        Format::Text | Format::Sarif | Format::Junit => {
            let coloured = std::io::stdout().is_terminal() && tui::colours_wanted();
            let mut text = format!("Themes\n{}", list_text(&themes));
            for problem in &library.problems {
                let _ = writeln!(text, "  {problem}");
            }
            if let Some(theme) = theme {
                let _ = write!(text, "\nRoles of {}\n{}", settings.theme.value, roles_text(theme, coloured));
            }
            text
        }
    };
    output::print(&text)?;
    match chosen.map(|named| &named.definition) {
        Some(Err(error)) => Err(library::defect(error).into()),
        _ => Ok(Exit::Done),
    }
}

/// Each role with its style in words, and a sample where it can be shown.
fn roles_text(theme: &Theme, coloured: bool) -> String {
    let styles = theme.styles();
    let role_room = styles.iter().map(|(role, _)| role.len()).max().unwrap_or(0);
    let words_room = styles.iter().map(|(_, style)| sgr::words(*style).len()).max().unwrap_or(0);
    let mut text = String::new();
    for (role, style) in styles {
        let words = sgr::words(style);
        if coloured {
            let sample = sgr::styled(theme.text.patch(style), " 14:03:27 ACTIVE 92.6 Gb/s ");
            let _ = writeln!(text, "  {role:role_room$}  {words:words_room$}  {sample}");
        } else {
            let _ = writeln!(text, "  {role:role_room$}  {words}");
        }
    }
    text
}
