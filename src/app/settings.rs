//! The settings overlay: what is in force, where it came from, and what can be changed for this run. Nothing here is
//! written to a file.

use serde::{Deserialize, Serialize};

use super::look::LookChoice;
use super::model::Model;
use super::screen::{Overlay, SCROLL_END};
use crate::config::GlyphSet;
use crate::fabric::Text;

/// The pages of the overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Page {
    /// All settings with their values.
    #[default]
    InForce,
    /// The whole key map.
    Keys,
    /// The roles of the theme, each in its own style.
    Theme,
}

impl Page {
    /// All pages, in order.
    pub const ALL: [Self; 3] = [Self::InForce, Self::Keys, Self::Theme];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::InForce => "In force",
            Self::Keys => "Keys",
            Self::Theme => "Theme",
        }
    }

    fn next(self) -> Self {
        let position = Self::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Self::ALL[(position + 1) % Self::ALL.len()]
    }
}

/// The open overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// The page shown.
    pub page: Page,
    /// Index of the selected setting.
    pub selected: usize,
    /// First line shown of the other pages.
    pub scroll: usize,
}

/// A setting that can be changed while the console runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// Colours and modifiers.
    Theme,
    /// Keys.
    Keymap,
    /// What graphs and frames are drawn with.
    Glyphs,
    /// Few frames and small ones.
    LowBandwidth,
    /// Whether the mouse selects.
    Mouse,
}

impl Lever {
    /// All of them, in the order of the overlay.
    pub const ALL: [Self; 5] = [Self::Theme, Self::Keymap, Self::Glyphs, Self::LowBandwidth, Self::Mouse];

    /// The name of the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Keymap => "keymap",
            Self::Glyphs => "glyphs",
            Self::LowBandwidth => "low_bandwidth",
            Self::Mouse => "mouse",
        }
    }

    /// The name of the command that sets it: `theme dark`.
    pub fn command(self) -> &'static str {
        if self == Self::LowBandwidth { "low-bandwidth" } else { self.name() }
    }

    /// The value in a look.
    pub fn value(self, look: &LookChoice) -> String {
        match self {
            Self::Theme => look.theme.to_string(),
            Self::Keymap => look.keymap.to_string(),
            Self::Glyphs => look.glyphs.name().to_owned(),
            Self::LowBandwidth => on_off(look.low_bandwidth).to_owned(),
            Self::Mouse => on_off(look.mouse).to_owned(),
        }
    }

    /// All values that it may have.
    pub fn values(self, model: &Model) -> Vec<String> {
        let names = |names: &[Text]| names.iter().map(ToString::to_string).collect();
        match self {
            Self::Theme => names(&model.options.offered.themes),
            Self::Keymap => names(&model.options.offered.keymaps),
            Self::Glyphs => GlyphSet::ALL.map(|glyphs| glyphs.name().to_owned()).to_vec(),
            Self::LowBandwidth | Self::Mouse => vec![on_off(false).to_owned(), on_off(true).to_owned()],
        }
    }
}

/// A switch in a word.
pub fn on_off(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}

/// One line of the overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the setting.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value came from, in words.
    pub whence: String,
    /// What changes it, if anything does while the console runs.
    pub lever: Option<Lever>,
}

/// All settings: first those that can be changed here, then those that were decided at the start.
pub fn rows(model: &Model) -> Vec<Row> {
    let started = |name: &str| model.options.settings.iter().find(|started| started.name == *name);
    let mut rows: Vec<Row> = Lever::ALL
        .into_iter()
        .map(|lever| {
            let (value, before) = (lever.value(&model.screen.look), lever.value(&model.options.look));
            let whence = started(lever.name()).map_or_else(String::new, |started| started.whence.to_string());
            let whence = if value == before {
                whence
            } else if whence.is_empty() {
                format!("changed here; {before} at the start")
            } else {
                format!("changed here; {before} at the start ({whence})")
            };
            Row { name: lever.name().to_owned(), value, whence, lever: Some(lever) }
        })
        .collect();
    let fixed =
        model.options.settings.iter().filter(|started| Lever::ALL.iter().all(|lever| started.name != *lever.name()));
    rows.extend(fixed.map(|started| Row {
        name: started.name.to_string(),
        value: started.value.to_string(),
        whence: started.whence.to_string(),
        lever: None,
    }));
    rows
}

/// Sets what a lever moves. The error says why not.
pub fn set(model: &mut Model, lever: Lever, value: &str) -> Result<(), String> {
    let values = lever.values(model);
    if !values.iter().any(|known| known == value) {
        return Err(format!("no {} is called {value:?}; known here: {}", lever.name(), values.join(", ")));
    }
    let look = &mut model.screen.look;
    match lever {
        Lever::Theme => look.theme = Text::new(value),
        Lever::Keymap => look.keymap = Text::new(value),
        Lever::Glyphs => {
            look.glyphs = GlyphSet::ALL.into_iter().find(|glyphs| glyphs.name() == value).unwrap_or_default();
        }
        Lever::LowBandwidth => look.low_bandwidth = value == on_off(true),
        Lever::Mouse => look.mouse = value == on_off(true),
    }
    Ok(())
}

/// Gives the selected setting its next (or previous) value; what cannot be changed says so.
pub fn change_selected(model: &mut Model, forward: bool) {
    let Some(Overlay::Settings(view)) = model.screen.overlays.last() else { return };
    if view.page != Page::InForce {
        return;
    }
    let rows = rows(model);
    let Some(row) = rows.get(view.selected.min(rows.len().saturating_sub(1))) else { return };
    let Some(lever) = row.lever else {
        let text = format!("{} is decided at the start and cannot be changed while the console runs", row.name);
        model.screen.notice = Some((text, model.now));
        return;
    };
    let values = lever.values(model);
    let count = values.len();
    if count < 2 {
        let text = format!("{} is the only {} there is", row.value, row.name);
        model.screen.notice = Some((text, model.now));
        return;
    }
    let current = values.iter().position(|value| *value == row.value).unwrap_or(0);
    let next = if forward { (current + 1) % count } else { (current + count - 1) % count };
    if let Err(why) = set(model, lever, &values[next]) {
        model.screen.notice = Some((why, model.now));
    }
}

/// Shows the next page.
pub fn next_page(model: &mut Model) {
    if let Some(Overlay::Settings(view)) = model.screen.overlays.last_mut() {
        view.page = view.page.next();
        view.scroll = 0;
    }
}

/// Moves the selection, or the text of the other pages.
pub fn scroll(model: &mut Model, steps: isize) {
    let last = rows(model).len().saturating_sub(1);
    if let Some(Overlay::Settings(view)) = model.screen.overlays.last_mut() {
        match view.page {
            Page::InForce => view.selected = view.selected.saturating_add_signed(steps).min(last),
            // How many lines there are is known to the view: it stops at the last one.
            Page::Keys | Page::Theme => view.scroll = view.scroll.saturating_add_signed(steps).min(SCROLL_END),
        }
    }
}
