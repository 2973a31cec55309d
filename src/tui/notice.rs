//! An alert outside of the frame: the bell of the terminal, or a notification of the desktop by OSC 9. Inside of tmux the
//! bell comes through as tmux is set up for it; the notification is wrapped for its terminal, and comes through where tmux lets
//! that pass (`allow-passthrough`).

use crate::config::AlertNotice;
use crate::fabric::Text;

/// The longest notification, in characters: some terminals show no more.
const LONGEST: usize = 200;

/// What the terminal is to be sent, which may be one inside of tmux.
pub fn sequence(text: &Text, by: AlertNotice, in_tmux: bool) -> String {
    match by {
        AlertNotice::None => String::new(),
        AlertNotice::Bell => "\x07".to_owned(),
        // The text is clean: it holds neither a control character nor the end of the sequence.
        AlertNotice::Osc9 => {
            let short: String = text.as_str().chars().take(LONGEST).collect();
            // In tmux each escape of what is wrapped is doubled; the bell ends the sequence without one.
            if in_tmux {
                format!("\x1bPtmux;\x1b\x1b]9;rdmascope: {short}\x07\x1b\\")
            } else {
                format!("\x1b]9;rdmascope: {short}\x1b\\")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_ends_no_sequence() {
        let text = Text::new("GPU\x07 is \x1b\\hot\n");
        let sent = sequence(&text, AlertNotice::Osc9, false);
        assert!(sent.starts_with("\x1b]9;rdmascope: GPU") && sent.ends_with("\x1b\\"), "{sent:?}");
        assert_eq!(sent.chars().filter(|letter| letter.is_control()).count(), 2, "{sent:?}");
        let wrapped = sequence(&text, AlertNotice::Osc9, true);
        assert!(
            wrapped.starts_with("\x1bPtmux;\x1b\x1b]9;rdmascope: GPU") && wrapped.ends_with("\x07\x1b\\"),
            "{wrapped:?}"
        );
        assert_eq!(wrapped.chars().filter(|letter| letter.is_control()).count(), 5, "{wrapped:?}");
        assert_eq!(sequence(&text, AlertNotice::Bell, false), "\x07");
        assert_eq!(sequence(&text, AlertNotice::None, true), "");
        let long = Text::new(&"x".repeat(400));
        assert!(sequence(&long, AlertNotice::Osc9, false).len() < 230);
    }
}
