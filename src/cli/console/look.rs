//! How the console looks: the theme, the characters and the keys that the settings name.

use std::sync::Arc;

use super::super::{Failure, Session};
use crate::app::LookChoice;
use crate::app::action;
use crate::config::settings::Whence;
use crate::fabric::Text;
use crate::tui::{self, GlyphSet, Look, Looks};

/// The look that the settings of the session ask for.
pub fn look(session: &Session) -> Result<Look, Failure> {
    let settings = &session.settings;
    // A terminal that was told to speak no UTF-8 gets none, unless someone chose glyphs.
    let set = match settings.glyphs.whence {
        Whence::Default if !locale_is_utf8(|name| std::env::var(name).ok()) => GlyphSet::Ascii,
        _ => settings.glyphs.value,
    };
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let looks = Looks::embedded(&names).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let wished = LookChoice {
        theme: Text::new(&settings.theme.value),
        keymap: Text::new(&settings.keymap.value),
        glyphs: set,
        low_bandwidth: settings.low_bandwidth.value,
        mouse: false,
    };
    let (look, unknown) = Look::new(Arc::new(looks), &wished, tui::colours_wanted());
    match unknown.into_iter().next() {
        None => Ok(look),
        Some(sentence) => Err(Failure::Internal(color_eyre::eyre::eyre!(sentence))),
    }
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
