//! Colours and modifiers by meaning. A theme is a TOML file of a palette (names for colours) and roles (what a colour is
//! used for); panels know roles only. A theme of the user's lies over the default one, so it may name as few roles as it likes.

use std::collections::BTreeMap;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};

use super::definition::{DefinitionError, Source, nearest};

const DEFAULT: &str = super::library::EMBEDDED_THEMES[0].1;

/// The styles by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// What matters less.
    pub dim: Style,
    /// Names of panels and columns.
    pub title: Style,
    /// Lines between panes.
    pub border: Style,
    /// The selected row.
    pub selection: Style,
    /// A good state.
    pub ok: Style,
    /// A state worth a look.
    pub warning: Style,
    /// A broken state.
    pub error: Style,
    /// A value that is not known, whatever the reason.
    pub unknown: Style,
    /// A value that is no longer fresh.
    pub stale: Style,
    /// The series of a graph, in order.
    pub graph: [Style; 6],
    /// The line of a physical ceiling and its name.
    pub ceiling: Style,
    /// The cursor column of a graph.
    pub cursor: Style,
    /// Marks on the time axis.
    pub mark: Style,
    /// The first line of the screen.
    pub header: Style,
    /// The last line of the screen.
    pub footer: Style,
    /// A key in the last line.
    pub footer_key: Style,
}

impl Theme {
    /// The embedded theme.
    pub fn embedded() -> Self {
        Self::default().with("themes/default.toml", DEFAULT).expect("the embedded theme is tested")
    }

    /// The names of all roles, as a theme file writes them.
    pub fn roles() -> Vec<&'static str> {
        let mut names: Vec<_> = Self::default().slots().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    /// This theme with the roles of another file laid over it. `file` is named in errors only.
    pub fn with(&self, file: &str, text: &str) -> Result<Self, DefinitionError> {
        let source = Source::new(file, text);
        let tables = source.document(&super::library::HEADS)?.tables;
        if let Some(table) = tables.iter().find(|table| table.name != "palette" && table.name != "roles") {
            let hint = nearest(&table.name, ["palette", "roles"]);
            return Err(source.error(
                table.line,
                format!("unknown table [{}]; a theme has [palette] and [roles]{hint}", table.name),
            ));
        }
        let mut palette = BTreeMap::new();
        for entry in tables.iter().filter(|table| table.name == "palette").flat_map(|table| &table.entries) {
            let colour = Color::from_str(&entry.value).map_err(|_| {
                source.error(
                    entry.line,
                    format!(
                        "`{}` is no colour: use a name (`light-red`), a number up to 255 or `#rrggbb`",
                        entry.value
                    ),
                )
            })?;
            if modifier(&entry.key).is_some() || entry.key == "on" {
                return Err(source
                    .error(entry.line, format!("`{}` cannot name a colour: it has a meaning in roles", entry.key)));
            }
            palette.insert(entry.key.as_str(), colour);
        }
        let mut theme = self.clone();
        for entry in tables.iter().filter(|table| table.name == "roles").flat_map(|table| &table.entries) {
            let style = style(&entry.value, &palette).map_err(|message| source.error(entry.line, message))?;
            let mut slots = theme.slots();
            let Some((_, slot)) = slots.iter_mut().find(|(name, _)| *name == entry.key) else {
                let hint = nearest(&entry.key, Self::roles());
                return Err(source.error(entry.line, format!("unknown role `{}`{hint}", entry.key)));
            };
            **slot = style;
        }
        Ok(theme)
    }

    /// The style of the series with this number; it starts anew after the sixth.
    pub fn series(&self, number: usize) -> Style {
        self.graph[number % self.graph.len()]
    }

    /// The roles in the order in which a theme file lists them, each with its style.
    pub fn styles(&self) -> Vec<(&'static str, Style)> {
        self.clone().slots().into_iter().map(|(name, style)| (name, *style)).collect()
    }

    /// The same theme for a screen that shows no colours: what stood out by its ground is reversed.
    #[must_use]
    pub fn without_colours(&self) -> Self {
        let ground = self.text.bg;
        let mut plain = self.clone();
        for (_, style) in plain.slots() {
            let stands_out = style.bg.is_some() && style.bg != ground;
            let modifiers = if stands_out { style.add_modifier | Modifier::REVERSED } else { style.add_modifier };
            *style = Style::new().add_modifier(modifiers);
        }
        plain
    }

    /// True if the theme paints a background of its own under everything.
    pub fn has_background(&self) -> bool {
        self.text.bg.is_some()
    }

    fn slots(&mut self) -> Vec<(&'static str, &mut Style)> {
        let [first, second, third, fourth, fifth, sixth] = &mut self.graph;
        vec![
            ("text", &mut self.text),
            ("dim", &mut self.dim),
            ("title", &mut self.title),
            ("border", &mut self.border),
            ("selection", &mut self.selection),
            ("ok", &mut self.ok),
            ("warning", &mut self.warning),
            ("error", &mut self.error),
            ("unknown", &mut self.unknown),
            ("stale", &mut self.stale),
            ("graph-1", first),
            ("graph-2", second),
            ("graph-3", third),
            ("graph-4", fourth),
            ("graph-5", fifth),
            ("graph-6", sixth),
            ("ceiling", &mut self.ceiling),
            ("cursor", &mut self.cursor),
            ("mark", &mut self.mark),
            ("header", &mut self.header),
            ("footer", &mut self.footer),
            ("footer-key", &mut self.footer_key),
        ]
    }
}

pub(super) const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("crossed-out", Modifier::CROSSED_OUT),
];

fn modifier(word: &str) -> Option<Modifier> {
    MODIFIERS.iter().find(|(name, _)| *name == word).map(|(_, modifier)| *modifier)
}

/// A style from words: `bold accent on black`.
fn style(text: &str, palette: &BTreeMap<&str, Color>) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(modifier) = modifier(word) {
            style = style.add_modifier(modifier);
        } else if word == "on" {
            let word = words.next().ok_or("a colour is missing after `on`")?;
            if style.bg.replace(colour(word, palette)?).is_some() {
                return Err("two backgrounds".to_owned());
            }
        } else if style.fg.replace(colour(word, palette)?).is_some() {
            return Err(format!("two colours: `{word}` follows another one (a background is written `on {word}`)"));
        }
    }
    Ok(style)
}

fn colour(word: &str, palette: &BTreeMap<&str, Color>) -> Result<Color, String> {
    if let Some(colour) = palette.get(word) {
        return Ok(*colour);
    }
    Color::from_str(word).map_err(|_| {
        let known = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray", "white"];
        let modifiers = MODIFIERS.iter().map(|(name, _)| *name);
        let hint = nearest(word, palette.keys().copied().chain(known).chain(modifiers));
        format!("`{word}` is neither a modifier nor a colour{hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Theme::embedded().with("mine.toml", text).expect_err("a mistake").to_string()
    }

    #[test]
    fn the_embedded_theme_shows_selection_and_state_without_any_colour() {
        let theme = Theme::embedded();
        assert_eq!(theme.text, Style::new());
        assert_eq!(theme.selection, Style::new().add_modifier(Modifier::REVERSED));
        assert!(theme.selection.fg.is_none() && theme.selection.bg.is_none());
        assert!(theme.error.add_modifier.contains(Modifier::BOLD));
        assert_eq!(theme.series(0), theme.series(6));
        assert!(theme.graph.iter().all(|style| style.fg.is_some()));
    }

    #[test]
    fn the_embedded_theme_names_every_role() {
        let tables = Source::new("default", DEFAULT).document(&super::super::library::HEADS).expect("valid").tables;
        let mut named: Vec<_> = tables
            .iter()
            .filter(|table| table.name == "roles")
            .flat_map(|table| &table.entries)
            .map(|entry| entry.key.clone())
            .collect();
        named.sort_unstable();
        assert_eq!(named, Theme::roles());
    }

    #[test]
    fn a_file_of_the_users_lies_over_the_default() {
        let theme = Theme::embedded()
            .with("mine.toml", "[palette]\naccent = \"#50c878\"\n[roles]\ntitle = \"bold underlined accent on 17\"\n")
            .expect("valid");
        let expected = Style::new()
            .fg(Color::Rgb(0x50, 0xc8, 0x78))
            .bg(Color::Indexed(17))
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        assert_eq!(theme.title, expected);
        assert_eq!(theme.selection, Theme::embedded().selection);
    }

    #[test]
    fn mistakes_are_told_with_file_line_and_the_nearest_name() {
        assert_eq!(
            error("[roles]\n\nselecton = \"bold\"\n"),
            "mine.toml:3: unknown role `selecton`; did you mean `selection`?"
        );
        assert_eq!(
            error("[rolls]\n"),
            "mine.toml:1: unknown table [rolls]; a theme has [palette] and [roles]; did you mean `roles`?"
        );
        assert_eq!(
            error("[roles]\ntext = \"bld\"\n"),
            "mine.toml:2: `bld` is neither a modifier nor a colour; did you mean `bold`?"
        );
        assert_eq!(
            error("[palette]\nbold = \"red\"\n"),
            "mine.toml:2: `bold` cannot name a colour: it has a meaning in roles"
        );
        assert_eq!(
            error("[palette]\na = \"reddish\"\n"),
            "mine.toml:2: `reddish` is no colour: use a name (`light-red`), a number up to 255 or `#rrggbb`"
        );
        assert_eq!(
            error("[roles]\ntext = \"red blue\"\n"),
            "mine.toml:2: two colours: `blue` follows another one (a background is written `on blue`)"
        );
        assert_eq!(error("[roles]\ntext = \"on\"\n"), "mine.toml:2: a colour is missing after `on`");
    }
}
