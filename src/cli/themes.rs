//! `themes`: the themes that exist, and which one is in force.

use serde::Serialize;

use super::args::{Format, Global};
use super::{Exit, Failure, output};
use crate::config::settings::THEMES;
use crate::engine::settings;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    themes: Vec<Theme<'a>>,
}

#[derive(Serialize)]
struct Theme<'a> {
    name: &'a str,
    in_force: bool,
}

/// Prints the list.
pub fn run(global: &Global) -> Result<Exit, Failure> {
    let mut settings = settings::load(global.config.as_deref())?.configuration.settings;
    global.overlay(&mut settings).map_err(Failure::Usage)?;
    let themes: Vec<Theme<'_>> =
        THEMES.iter().map(|&name| Theme { name, in_force: name == settings.theme.value }).collect();
    let text = match global.format {
        Format::Json => output::json(&Document { schema: "rdmascope.themes/1", themes })?,
        Format::Text => {
            let lines = themes.iter().map(|theme| {
                let mark = if theme.in_force { "  (in force)" } else { "" };
                format!("{}{mark}\n", theme.name)
            });
            lines.collect()
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}
