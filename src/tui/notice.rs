//! An alert outside of the frame: the bell of the terminal, or a notification of the desktop by OSC 9. Inside of tmux the
//! bell comes through as tmux is set up for it, the notification only if it lets sequences pass.

use crate::config::AlertNotice;
use crate::fabric::Text;

/// The longest notification, in characters: some terminals show no more.
const LONGEST: usize = 200;

/// What the terminal is to be sent.
pub fn sequence(text: &Text, by: AlertNotice) -> String {
    match by {
        AlertNotice::None => String::new(),
        AlertNotice::Bell => "\x07".to_owned(),
        // The text is clean: it holds neither a control character nor the end of the sequence.
        AlertNotice::Osc9 => {
            let short: String = text.as_str().chars().take(LONGEST).collect();
            format!("\x1b]9;rdmascope: {short}\x1b\\")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_ends_no_sequence() {
        let text = Text::new("GPU\x07 is \x1b\\hot\n");
        let sent = sequence(&text, AlertNotice::Osc9);
        assert!(sent.starts_with("\x1b]9;rdmascope: GPU") && sent.ends_with("\x1b\\"), "{sent:?}");
        assert_eq!(sent.chars().filter(|letter| letter.is_control()).count(), 2, "{sent:?}");
        assert_eq!(sequence(&text, AlertNotice::Bell), "\x07");
        assert_eq!(sequence(&text, AlertNotice::None), "");
        let long = Text::new(&"x".repeat(400));
        assert!(sequence(&long, AlertNotice::Osc9).len() < 230);
    }
}
