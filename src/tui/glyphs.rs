//! The characters that the console draws with, in three sets. `braille` is the finest; `block` is for fonts without
//! braille; `ascii` is for terminals that know nothing else, for screens whose fonts take ambiguous characters for wide
//! ones, and for logs: every character of it is plain ASCII. A set changes the looks only, never what is said.

pub use crate::config::GlyphSet;

/// The characters of one set. Every text is one cell wide, except [`Glyphs::link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Which set this is; graphs draw by it.
    pub set: GlyphSet,
    /// A tree row whose children are shown.
    pub unfolded: &'static str,
    /// A tree row whose children are hidden.
    pub folded: &'static str,
    /// The first broken hop of a path, and the row that the eye should go to.
    pub broken: &'static str,
    /// Beside the word for a good state.
    pub ok: &'static str,
    /// Beside the word for a state worth a look.
    pub warning: &'static str,
    /// Beside the word for a broken state.
    pub error: &'static str,
    /// Beside the word for a state that is not known.
    pub unknown: &'static str,
    /// Beside the age of a value that is no longer fresh.
    pub stale: &'static str,
    /// The line of a physical ceiling.
    pub ceiling: &'static str,
    /// Points up to a ceiling above the scale.
    pub above: &'static str,
    /// The axis of a graph, and the line between two panes.
    pub vertical: &'static str,
    /// A rule across a pane.
    pub horizontal: &'static str,
    /// The line under the letter of a mark.
    pub mark: &'static str,
    /// A text was cut here.
    pub ellipsis: &'static str,
    /// Between two ends that talk to each other.
    pub link: &'static str,
    /// Keys: up, down, left, right.
    pub arrows: [&'static str; 4],
}

impl Glyphs {
    /// The characters of a set.
    pub fn new(set: GlyphSet) -> Self {
        match set {
            GlyphSet::Braille | GlyphSet::Block => Self {
                set,
                unfolded: "▾",
                folded: "▸",
                broken: "▶",
                ok: "✔",
                warning: "!",
                error: "✖",
                unknown: "?",
                stale: "~",
                ceiling: "┈",
                above: "↑",
                vertical: "│",
                horizontal: "─",
                mark: "┊",
                ellipsis: "…",
                link: "⇄",
                arrows: ["↑", "↓", "←", "→"],
            },
            GlyphSet::Ascii => Self {
                set,
                unfolded: "v",
                folded: ">",
                broken: ">",
                ok: "+",
                warning: "!",
                error: "x",
                unknown: "?",
                stale: "~",
                ceiling: "-",
                above: "^",
                vertical: "|",
                horizontal: "-",
                mark: ":",
                ellipsis: "~",
                link: "<->",
                arrows: ["Up", "Down", "Left", "Right"],
            },
        }
    }
}

impl Default for Glyphs {
    fn default() -> Self {
        Self::new(GlyphSet::default())
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn all(glyphs: &Glyphs) -> Vec<&'static str> {
        let Glyphs {
            set: _,
            unfolded,
            folded,
            broken,
            ok,
            warning,
            error,
            unknown,
            stale,
            ceiling,
            above,
            vertical,
            horizontal,
            mark,
            ellipsis,
            link: _,
            arrows: _,
        } = *glyphs;
        vec![
            unfolded, folded, broken, ok, warning, error, unknown, stale, ceiling, above, vertical, horizontal, mark,
            ellipsis,
        ]
    }

    #[test]
    fn every_glyph_is_one_cell_wide() {
        for set in GlyphSet::ALL {
            for glyph in all(&Glyphs::new(set)) {
                assert_eq!(glyph.width(), 1, "{glyph} of {}", set.name());
            }
        }
    }

    #[test]
    fn the_ascii_set_is_ascii() {
        let glyphs = Glyphs::new(GlyphSet::Ascii);
        for glyph in all(&glyphs).into_iter().chain(glyphs.arrows).chain([glyphs.link]) {
            assert!(glyph.is_ascii(), "{glyph}");
        }
    }

    #[test]
    fn states_differ_by_character_too() {
        for set in GlyphSet::ALL {
            let glyphs = Glyphs::new(set);
            let mut marks = vec![glyphs.ok, glyphs.warning, glyphs.error, glyphs.unknown, glyphs.stale];
            marks.sort_unstable();
            marks.dedup();
            assert_eq!(marks.len(), 5, "{}", set.name());
        }
    }
}
