//! How the console is wished to look, by names only: the screen holds what the names mean, and changes over when the
//! wish changes. The wish is part of the model, so a replay shows the same changes.

use serde::{Deserialize, Serialize};

use crate::config::GlyphSet;
use crate::fabric::Text;

/// The look that is wished for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookChoice {
    /// Name of the theme.
    pub theme: Text,
    /// Name of the key map.
    pub keymap: Text,
    /// What graphs and frames are drawn with.
    pub glyphs: GlyphSet,
    /// True for few frames and small ones.
    pub low_bandwidth: bool,
    /// True if the mouse selects; then the terminal's own selection needs Shift.
    pub mouse: bool,
}

impl Default for LookChoice {
    fn default() -> Self {
        Self {
            theme: Text::new("default"),
            keymap: Text::new("default"),
            glyphs: GlyphSet::default(),
            low_bandwidth: false,
            mouse: false,
        }
    }
}

/// What there is to choose from in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Names of the themes that could be read, in the order of lists.
    pub themes: Vec<Text>,
    /// Names of the key maps that could be read, in the order of lists.
    pub keymaps: Vec<Text>,
}

impl Default for Offered {
    fn default() -> Self {
        Self { themes: vec![Text::new("default")], keymaps: vec![Text::new("default")] }
    }
}

/// A setting as it was when the console started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its name, as files write it where files know it: `period_ms`.
    pub name: Text,
    /// Its value.
    pub value: Text,
    /// Where the value came from: `default`, `FILE:LINE`, `environment NAME`, `option --NAME`; empty where nothing could
    /// set it.
    pub whence: Text,
}
