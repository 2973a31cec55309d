//! How the console looks: the theme, the characters and the keys that the settings name.

use std::sync::Arc;

use super::super::{Failure, Session, library};
use crate::app::LookChoice;
use crate::app::action;
use crate::config::settings::Whence;
use crate::fabric::Text;
use crate::tui::{self, GlyphSet, Look, Looks};

/// The looks that there are, those of the user's directory among them; what is broken is left out, unless it was chosen.
pub fn looks(session: &Session) -> Result<Looks, Failure> {
    let (settings, library) = (&session.settings, &session.library);
    let theme = library.theme(&settings.theme.value).and_then(|theme| theme.definition.as_ref().err());
    let keymap = library.keymap(&settings.keymap.value).and_then(|keymap| keymap.definition.as_ref().err());
    let broken: Vec<_> = theme.into_iter().chain(keymap).map(library::defect).collect();
    if !broken.is_empty() {
        return Err(Failure::Usage(broken));
    }
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let embedded = Looks::embedded(&names);
    let mut looks = embedded.map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    for theme in &library.themes {
        if let Ok(definition) = &theme.definition {
            looks.add_theme(&theme.name, definition.clone());
        }
    }
    for keymap in &library.keymaps {
        if let Ok(definition) = &keymap.definition {
            looks.add_keymap(&keymap.name, definition.clone());
        }
    }
    Ok(looks)
}

/// The look that the settings of the session ask for.
pub fn look(session: &Session) -> Result<Look, Failure> {
    let (look, unknown) = Look::new(Arc::new(looks(session)?), &wished(session), tui::colours_wanted());
    debug_assert!(unknown.is_empty(), "whoever opened the session looked: {unknown:?}");
    Ok(look)
}

/// What the settings of the session wish for.
pub fn wished(session: &Session) -> LookChoice {
    let settings = &session.settings;
    // A terminal that was told to speak no UTF-8 gets none, unless someone chose glyphs.
    let glyphs = match settings.glyphs.whence {
        Whence::Default if !locale_is_utf8(|name| std::env::var(name).ok()) => GlyphSet::Ascii,
        _ => settings.glyphs.value,
    };
    LookChoice {
        theme: Text::new(&settings.theme.value),
        keymap: Text::new(&settings.keymap.value),
        glyphs,
        low_bandwidth: settings.low_bandwidth.value,
        mouse: settings.mouse.value,
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
