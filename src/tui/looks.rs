//! The looks there are to choose from, and the one in force. The model wishes by name; what a name means is here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::DefinitionError;
use super::frame::Pace;
use super::glyphs::Glyphs;
use super::keymap::Keymap;
use super::theme::Theme;
use crate::app::{LookChoice, Offered};
use crate::fabric::Text;

/// The name of the theme and of the key map that are always there.
pub const DEFAULT: &str = "default";

/// Everything that was read, by name. At least the default theme and key map are there.
#[derive(Clone, Debug)]
pub struct Looks {
    themes: BTreeMap<String, Theme>,
    keymaps: BTreeMap<String, Keymap>,
}

impl Looks {
    /// What is embedded in the program. `actions` are the names of all actions that exist.
    pub fn embedded(actions: &[&str]) -> Result<Self, DefinitionError> {
        let themes = BTreeMap::from([(DEFAULT.to_owned(), Theme::embedded())]);
        let keymaps = BTreeMap::from([(DEFAULT.to_owned(), Keymap::embedded(actions)?)]);
        Ok(Self { themes, keymaps })
    }

    /// Adds a theme, or replaces the one of that name.
    pub fn add_theme(&mut self, name: &str, theme: Theme) {
        self.themes.insert(name.to_owned(), theme);
    }

    /// Adds a key map, or replaces the one of that name.
    pub fn add_keymap(&mut self, name: &str, keymap: Keymap) {
        self.keymaps.insert(name.to_owned(), keymap);
    }

    /// The same, with the keys of a replay in force in every key map.
    #[must_use]
    pub fn for_replay(&self) -> Self {
        let keymaps = self.keymaps.iter().map(|(name, keymap)| (name.clone(), keymap.for_replay())).collect();
        Self { themes: self.themes.clone(), keymaps }
    }

    /// The names, the default first.
    pub fn offered(&self) -> Offered {
        Offered { themes: default_first(self.themes.keys()), keymaps: default_first(self.keymaps.keys()) }
    }
}

fn default_first<'a>(names: impl Iterator<Item = &'a String>) -> Vec<Text> {
    let mut names: Vec<Text> = names.map(|name| Text::new(name)).collect();
    names.sort_by_key(|name| *name != DEFAULT);
    names
}

/// How the console looks, and which keys it knows.
#[derive(Clone, Debug)]
pub struct Look {
    /// Colours and modifiers.
    pub theme: Theme,
    /// Characters.
    pub glyphs: Glyphs,
    /// Keys.
    pub keymap: Keymap,
    /// How often frames may come.
    pub pace: Pace,
    /// False draws modifiers only (`NO_COLOR`).
    pub colours: bool,
    /// What this look was wished by.
    pub chosen: LookChoice,
    /// What else there is to choose from.
    pub looks: Arc<Looks>,
}

impl Look {
    /// The look that is wished for. A name that is not known leaves the default in its place, and is returned in a
    /// sentence.
    pub fn new(looks: Arc<Looks>, wished: &LookChoice, colours: bool) -> (Self, Vec<String>) {
        let glyphs = Glyphs::new(wished.glyphs);
        let mut look = Self {
            theme: looks.themes.get(DEFAULT).cloned().unwrap_or_else(Theme::embedded),
            glyphs,
            keymap: looks.keymaps.get(DEFAULT).cloned().unwrap_or_default().told_in(&glyphs),
            pace: Pace::NORMAL,
            colours,
            chosen: wished.clone(),
            looks,
        };
        let unknown = look.change(wished);
        (look, unknown)
    }

    /// The same look for a replay, whose keys lie over those of every key map.
    #[must_use]
    pub fn for_replay(self) -> Self {
        let wished = self.chosen.clone();
        Self::new(Arc::new(self.looks.for_replay()), &wished, self.colours).0
    }

    /// Changes over to what is wished for. A name that is not known (a recording from a machine with other files) leaves
    /// what is in force, and is returned in a sentence.
    pub fn change(&mut self, wished: &LookChoice) -> Vec<String> {
        let mut unknown = Vec::new();
        match self.looks.themes.get(wished.theme.as_str()) {
            Some(theme) => self.theme = theme.clone(),
            None => unknown.push(format!("there is no theme {:?} here", wished.theme)),
        }
        self.glyphs = Glyphs::new(wished.glyphs);
        let keymap = self.looks.keymaps.get(wished.keymap.as_str());
        if keymap.is_none() {
            unknown.push(format!("there is no key map {:?} here", wished.keymap));
        }
        self.keymap = keymap.unwrap_or(&self.keymap).clone().told_in(&self.glyphs);
        self.pace = if wished.low_bandwidth { Pace::LOW_BANDWIDTH } else { Pace::NORMAL };
        self.chosen = wished.clone();
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GlyphSet;
    use crate::tui::testing::actions;

    fn looks() -> Arc<Looks> {
        let mut looks = Looks::embedded(&actions()).expect("valid");
        let bold = Theme::embedded().with("bold", "[roles]\ntext = \"bold\"\n").expect("valid");
        looks.add_theme("bold", bold);
        let keys = Keymap::embedded(&actions()).expect("valid");
        looks.add_keymap("a", keys.with("a", "[global]\n\"x\" = \"quit\"\n", &actions()).expect("valid"));
        Arc::new(looks)
    }

    #[test]
    fn what_is_wished_for_by_name_is_in_force() {
        let (mut look, unknown) = Look::new(looks(), &LookChoice::default(), true);
        assert_eq!((unknown, look.theme.clone()), (vec![], Theme::embedded()));
        let wished = LookChoice {
            theme: Text::new("bold"),
            keymap: Text::new("a"),
            glyphs: GlyphSet::Ascii,
            low_bandwidth: true,
            mouse: false,
        };
        assert_eq!(look.change(&wished), Vec::<String>::new());
        assert_ne!(look.theme, Theme::embedded());
        assert_eq!((look.glyphs.set, look.pace), (GlyphSet::Ascii, Pace::LOW_BANDWIDTH));
        let context = crate::app::action::Context::Tree;
        assert!(look.keymap.keys_for(context, "quit").contains(&"x".to_owned()));
        assert_eq!(look.keymap.keys_for(context, "up"), ["k", "Up"], "keys are told in the glyphs in force");
    }

    #[test]
    fn an_unknown_name_is_told_and_changes_nothing() {
        let looks = looks();
        let names: Vec<String> = looks.offered().keymaps.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["default", "a"]);
        let wished = LookChoice { theme: Text::new("neon"), keymap: Text::new("vi"), ..LookChoice::default() };
        let (mut look, unknown) = Look::new(looks, &wished, true);
        assert_eq!(unknown, ["there is no theme \"neon\" here", "there is no key map \"vi\" here"]);
        assert_eq!(look.theme, Theme::embedded());
        assert_eq!(look.change(&wished).len(), 2);
        assert!(!look.keymap.keys_for(crate::app::action::Context::Tree, "quit").is_empty());
    }
}
