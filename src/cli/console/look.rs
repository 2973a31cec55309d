//! How the console looks: the theme, the characters and the keys that the settings name.

use super::super::Failure;
use crate::app::action;
use crate::config::Settings;
use crate::config::settings::Whence;
use crate::tui::{self, GlyphSet, Glyphs, Keymap, Look, Pace, Theme};

/// The look that the settings ask for.
pub fn look(settings: &Settings) -> Result<Look, Failure> {
    // A terminal that was told to speak no UTF-8 gets none, unless someone chose glyphs.
    let set = match settings.glyphs.whence {
        Whence::Default if !locale_is_utf8(|name| std::env::var(name).ok()) => GlyphSet::Ascii,
        _ => settings.glyphs.value,
    };
    let glyphs = Glyphs::new(set);
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let keymap =
        Keymap::embedded(&names).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?.told_in(&glyphs);
    Ok(Look {
        theme: Theme::embedded(),
        glyphs,
        keymap,
        pace: if settings.low_bandwidth.value { Pace::LOW_BANDWIDTH } else { Pace::NORMAL },
        colours: tui::colours_wanted(),
    })
}

/// False if the locale names a character set other than UTF-8. Where no locale is set nothing is known: most terminals of
/// today speak UTF-8.
fn locale_is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    set.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_counts() {
        let of = |set: &[(&str, &str)]| {
            locale_is_utf8(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(of(&[]));
        assert!(of(&[("LANG", "C.UTF-8")]));
        assert!(of(&[("LC_ALL", "de_DE.utf8"), ("LANG", "C")]));
        assert!(!of(&[("LC_ALL", ""), ("LANG", "C")]));
        assert!(!of(&[("LC_CTYPE", "en_US.ISO-8859-1"), ("LANG", "C.UTF-8")]));
    }
}
