//! The themes and key maps that there are for this user, and whether those that were chosen are among them.

use super::Failure;
use super::args::Global;
use crate::app::action;
use crate::config::settings::unknown_name;
use crate::config::{Defect, Settings};
use crate::engine::settings;
use crate::tui::definition::DefinitionError;
use crate::tui::library::{self, Library};

/// Reads all of them.
pub fn load(global: &Global) -> Library {
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    library::load(settings::directory(global.config.as_deref()).as_deref(), &names)
}

/// What is wrong with the names that were chosen: there is none of that name.
pub fn unknown(settings: &Settings, library: &Library) -> Vec<Defect> {
    let mut defects = Vec::new();
    if library.theme(&settings.theme.value).is_none() {
        defects.push(unknown_name("theme", &settings.theme, &library.theme_names()));
    }
    if library.keymap(&settings.keymap.value).is_none() {
        defects.push(unknown_name("keymap", &settings.keymap, &library.keymap_names()));
    }
    defects
}

/// A broken file that was chosen, as a defect of the configuration.
pub fn defect(error: &DefinitionError) -> Defect {
    let line = u32::try_from(error.line).unwrap_or(u32::MAX);
    Defect { place: error.file.clone(), line, what: error.message.clone() }
}

/// The settings in force with all that was said on the command line, and what there is to choose from.
pub fn settings_and_library(global: &Global) -> Result<(Settings, Library), Failure> {
    let mut settings = settings::load(global.config.as_deref())?.configuration.settings;
    let mut defects = global.overlay(&mut settings).err().unwrap_or_default();
    let library = load(global);
    defects.extend(unknown(&settings, &library));
    if defects.is_empty() { Ok((settings, library)) } else { Err(Failure::Usage(defects)) }
}
