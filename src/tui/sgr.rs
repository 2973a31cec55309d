//! A style in words, as a theme file writes it, and as the sequence that a terminal takes: for lists of themes.

use ratatui::style::{Color, Modifier, Style};

use super::theme::MODIFIERS;

/// The words of a style: `bold red on 234`; `terminal's own` if it says nothing.
pub fn words(style: Style) -> String {
    let mut words: Vec<String> = MODIFIERS
        .iter()
        .filter(|(_, modifier)| style.add_modifier.contains(*modifier))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    words.extend(style.fg.map(name));
    words.extend(style.bg.map(|colour| format!("on {}", name(colour))));
    if words.is_empty() { "terminal's own".to_owned() } else { words.join(" ") }
}

fn name(colour: Color) -> String {
    match colour {
        Color::Indexed(number) => number.to_string(),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Color::LightRed => "light-red".to_owned(),
        Color::LightGreen => "light-green".to_owned(),
        Color::LightYellow => "light-yellow".to_owned(),
        Color::LightBlue => "light-blue".to_owned(),
        Color::LightMagenta => "light-magenta".to_owned(),
        Color::LightCyan => "light-cyan".to_owned(),
        Color::DarkGray => "dark-gray".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

/// A text with the sequences that show it in a style, and the end of that style.
pub fn styled(style: Style, text: &str) -> String {
    let mut codes: Vec<String> = Vec::new();
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    codes.extend(
        modifiers
            .iter()
            .filter(|(modifier, _)| style.add_modifier.contains(*modifier))
            .map(|(_, code)| (*code).to_owned()),
    );
    codes.extend(style.fg.and_then(|colour| code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| code(colour, 40)));
    if codes.is_empty() { text.to_owned() } else { format!("\x1b[{}m{text}\x1b[m", codes.join(";")) }
}

/// The code of a colour; `base` is 30 for text and 40 for what is behind it.
fn code(colour: Color, base: u8) -> Option<String> {
    let sixteen = match colour {
        Color::Reset => return None,
        Color::Rgb(red, green, blue) => return Some(format!("{};2;{red};{green};{blue}", base + 8)),
        Color::Indexed(number) => return Some(format!("{};5;{number}", base + 8)),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
    };
    Some((base + sixteen).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::library::{EMBEDDED_THEMES, Library};
    use crate::tui::testing::actions;
    use crate::tui::theme::Theme;

    #[test]
    fn the_words_of_a_style_are_those_of_a_theme_file() {
        assert_eq!(words(Style::new()), "terminal's own");
        assert_eq!(words(Style::new().bold().fg(Color::Indexed(210)).bg(Color::Rgb(1, 2, 255))), "bold 210 on #0102ff");
        for named in Library::embedded(&actions()).themes {
            let theme = named.definition.expect("valid");
            for (role, style) in theme.styles().into_iter().filter(|(_, style)| *style != Style::new()) {
                let text = format!("[roles]\n{role} = \"{}\"\n", words(style));
                let again = Theme::default().with("again", &text).expect("words of a theme file");
                let read = again.styles().into_iter().find(|(name, _)| *name == role).map(|(_, style)| style);
                assert_eq!(read, Some(style), "{role} of {}", named.name);
            }
        }
        assert_eq!(EMBEDDED_THEMES.len(), 6);
    }

    #[test]
    fn a_terminal_shows_a_styled_text_in_its_style() {
        let size = |cells| std::num::NonZeroU16::new(cells).expect("not zero");
        let mut parser = vt100::Parser::new(size(1), size(20), 0);
        let style = Style::new().bold().underlined().fg(Color::LightRed).bg(Color::Indexed(234));
        parser.process(styled(style, "x").as_bytes());
        parser.process(styled(Style::new(), "y").as_bytes());
        let cell = |column| parser.screen().cell(0, column).expect("a cell").clone();
        assert_eq!((cell(0).fgcolor(), cell(0).bgcolor()), (vt100::Color::Idx(9), vt100::Color::Idx(234)));
        assert!(cell(0).bold() && cell(0).underline());
        assert_eq!((cell(1).fgcolor(), cell(1).bold()), (vt100::Color::Default, false));
    }
}
