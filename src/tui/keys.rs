//! From keys to messages: a key is looked up in the key map of the moment; sequences such as `g g` wait for their next key
//! for a second; where text is typed, keys that the map does not know edit it. Raw keys go no further than this file.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use keybinds::KeyInput;
use tokio::time::Instant;

use super::keymap::{Keymap, Resolution};
use crate::app::action::Context;
use crate::app::wizard::pasted;
use crate::app::{Edit, Message};
use crate::fabric::Text;

/// How long the start of a sequence waits for its next key.
pub const SEQUENCE_PATIENCE: Duration = Duration::from_secs(1);
/// The longest text that a paste may bring, in characters: a filter is a line, not a document.
const LONGEST_PASTE: usize = 4096;

/// Where a key is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where keys go.
    pub context: Context,
    /// The panel that is shown.
    pub panel: Context,
}

impl From<Context> for Place {
    fn from(context: Context) -> Self {
        Self { context, panel: context }
    }
}

/// The keys of a sequence that has begun.
#[derive(Debug, Default)]
pub struct Keys {
    typed: Vec<KeyInput>,
    begun_in: Option<(Context, Instant)>,
}

impl Keys {
    /// When the sequence that has begun is given up; `None` if none has.
    pub fn deadline(&self) -> Option<Instant> {
        self.begun_in.map(|(_, at)| at + SEQUENCE_PATIENCE)
    }

    /// Gives up the sequence that has begun.
    pub fn forget(&mut self) {
        self.typed.clear();
        self.begun_in = None;
    }

    /// What a key means; `None` if nothing (yet).
    pub fn press(&mut self, keymap: &Keymap, place: impl Into<Place>, key: KeyEvent, now: Instant) -> Option<Message> {
        let place = place.into();
        let context = place.context;
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if self.begun_in.is_some_and(|(begun_in, at)| begun_in != context || now >= at + SEQUENCE_PATIENCE) {
            self.forget();
        }
        let input = KeyInput::from(key);
        let mut resolution = self.look_up(keymap, place, input);
        if resolution == Resolution::Unknown && self.typed.len() > 1 {
            // The sequence was another one: it is given up, and this key stands for itself.
            self.forget();
            resolution = self.look_up(keymap, place, input);
        }
        match resolution {
            Resolution::Action(name) => {
                let message = Message::Action(Text::new(name));
                self.forget();
                Some(message)
            }
            Resolution::Prefix => {
                self.begun_in = Some((context, now));
                None
            }
            Resolution::Unknown => {
                self.forget();
                context.takes_text().then(|| edit(key)).flatten().map(Message::Edit)
            }
        }
    }

    fn look_up<'map>(&mut self, keymap: &'map Keymap, place: Place, input: KeyInput) -> Resolution<'map> {
        self.typed.push(input);
        keymap.resolve_beside(place.context, place.panel, &self.typed)
    }
}

/// What a pasted text means: text where text is typed, nothing elsewhere (a paste is no sequence of commands).
pub fn paste(context: Context, text: &str) -> Option<Message> {
    if context == Context::Paste {
        // An answer of a switch has lines; controls are taken out where it is taken in.
        return Some(Message::Edit(Edit::Paste(pasted::clean(text))));
    }
    let clean: String = text
        .chars()
        .map(|character| if matches!(character, '\r' | '\n' | '\t') { ' ' } else { character })
        .filter(|character| !character.is_control())
        .take(LONGEST_PASTE)
        .collect();
    let clean = clean.trim_end();
    (context.takes_text() && !clean.is_empty()).then(|| Message::Edit(Edit::Paste(clean.to_owned())))
}

fn edit(key: KeyEvent) -> Option<Edit> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::META | KeyModifiers::SUPER);
    Some(match key.code {
        KeyCode::Char('w') if control && !alt => Edit::DeleteWord,
        KeyCode::Char('u') if control && !alt => Edit::DeleteToStart,
        KeyCode::Char(character) if !control && !alt && !character.is_control() => Edit::Insert(character),
        KeyCode::Backspace if control || alt => Edit::DeleteWord,
        KeyCode::Backspace => Edit::DeleteBefore,
        KeyCode::Delete => Edit::DeleteAt,
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Home => Edit::Start,
        KeyCode::End => Edit::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIONS: [&str; 5] = ["quit", "top", "down", "accept", "next-focus"];

    fn keymap() -> Keymap {
        let text = "[global]\n\"q\" = \"quit\"\n\"g g\" = \"top\"\n\"j\" = \"down\"\n\"Shift+Tab\" = \"next-focus\"\n\"?\" = \"top\"\n[filter]\n\"Enter\" = \"accept\"\n";
        Keymap::embedded(&crate::tui::testing::actions()).expect("valid").with("k", text, &ACTIONS).expect("valid")
    }

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn action(name: &str) -> Message {
        Message::Action(Text::new(name))
    }

    #[tokio::test(start_paused = true)]
    async fn keys_become_actions_and_releases_nothing() {
        let (map, mut keys, now) = (keymap(), Keys::default(), Instant::now());
        assert_eq!(keys.press(&map, Context::Tree, key(KeyCode::Char('q')), now), Some(action("quit")));
        let release = KeyEvent { kind: KeyEventKind::Release, ..key(KeyCode::Char('q')) };
        assert_eq!(keys.press(&map, Context::Tree, release, now), None);
        let back_tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(keys.press(&map, Context::Tree, back_tab, now), Some(action("next-focus")));
        let question_mark = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT);
        assert_eq!(
            keys.press(&map, Context::Tree, question_mark, now),
            Some(action("top")),
            "some terminals tell Shift with it"
        );
        assert_eq!(keys.press(&map, Context::Tree, key(KeyCode::Char('z')), now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn in_the_tree_keys_of_the_panel_beside_it_work_too_but_none_that_change_its_selected_row() {
        let map = Keymap::embedded(&crate::tui::testing::actions()).expect("valid");
        let now = Instant::now();
        let press = |panel: Context, code: KeyCode| {
            Keys::default().press(&map, Place { context: Context::Tree, panel }, key(code), now)
        };
        assert_eq!(press(Context::Host, KeyCode::Char('c')), Some(action("compare-hosts")));
        assert_eq!(press(Context::Host, KeyCode::Char('a')), Some(action("show-same")));
        assert_eq!(press(Context::Host, KeyCode::Char('v')), Some(action("versions")));
        assert_eq!(press(Context::Live, KeyCode::Char('c')), Some(action("cursor")));
        assert_eq!(press(Context::Guest, KeyCode::Char('c')), None);
        assert_eq!(press(Context::Host, KeyCode::Enter), Some(action("fold")), "the tree's own keys come first");
        assert_eq!(press(Context::Wizard, KeyCode::Char('y')), Some(action("copy")));
        assert_eq!(press(Context::Events, KeyCode::Delete), None);
        let overlay = Place { context: Context::Help, panel: Context::Host };
        assert_eq!(Keys::default().press(&map, overlay, key(KeyCode::Char('c')), now), None);
        assert_eq!(map.hint_beside(Context::Tree, Context::Host, "versions").as_deref(), Some("v"));
        assert_eq!(map.hint_beside(Context::Tree, Context::Guest, "versions"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sequence_ends_with_its_last_key_with_another_key_with_time_or_with_the_context() {
        let (map, mut keys, now) = (keymap(), Keys::default(), Instant::now());
        let g = key(KeyCode::Char('g'));
        assert_eq!(keys.press(&map, Context::Tree, g, now), None);
        assert_eq!(keys.deadline(), Some(now + SEQUENCE_PATIENCE));
        assert_eq!(keys.press(&map, Context::Tree, g, now), Some(action("top")));
        assert_eq!(keys.deadline(), None);

        keys.press(&map, Context::Tree, g, now);
        assert_eq!(
            keys.press(&map, Context::Tree, key(KeyCode::Char('j')), now),
            Some(action("down")),
            "the other key stands for itself"
        );
        assert_eq!(keys.deadline(), None);

        keys.press(&map, Context::Tree, g, now);
        assert_eq!(
            keys.press(&map, Context::Tree, g, now + SEQUENCE_PATIENCE),
            None,
            "too late: a new sequence begins"
        );
        assert_eq!(
            keys.press(&map, Context::Help, g, now + SEQUENCE_PATIENCE),
            None,
            "another context: a new sequence begins"
        );
        assert_eq!(keys.press(&map, Context::Help, g, now + SEQUENCE_PATIENCE), Some(action("top")));
    }

    #[tokio::test(start_paused = true)]
    async fn where_text_is_typed_unknown_keys_edit_it() {
        let (map, mut keys, now) = (keymap(), Keys::default(), Instant::now());
        let mut press = |code, modifiers| keys.press(&map, Context::Filter, KeyEvent::new(code, modifiers), now);
        let edit = |edit| Some(Message::Edit(edit));
        assert_eq!(press(KeyCode::Char('q'), KeyModifiers::NONE), edit(Edit::Insert('q')));
        assert_eq!(press(KeyCode::Char('G'), KeyModifiers::SHIFT), edit(Edit::Insert('G')));
        assert_eq!(press(KeyCode::Char('ö'), KeyModifiers::NONE), edit(Edit::Insert('ö')));
        assert_eq!(press(KeyCode::Char('w'), KeyModifiers::CONTROL), edit(Edit::DeleteWord));
        assert_eq!(press(KeyCode::Char('u'), KeyModifiers::CONTROL), edit(Edit::DeleteToStart));
        assert_eq!(press(KeyCode::Char('t'), KeyModifiers::CONTROL), None);
        assert_eq!(press(KeyCode::Char('x'), KeyModifiers::ALT), None);
        for (code, expected) in [
            (KeyCode::Backspace, Edit::DeleteBefore),
            (KeyCode::Delete, Edit::DeleteAt),
            (KeyCode::Left, Edit::Left),
            (KeyCode::Right, Edit::Right),
            (KeyCode::Home, Edit::Start),
            (KeyCode::End, Edit::End),
        ] {
            assert_eq!(press(code, KeyModifiers::NONE), edit(expected));
        }
        assert_eq!(press(KeyCode::Enter, KeyModifiers::NONE), Some(action("accept")));
    }

    #[test]
    fn a_paste_is_text_in_one_line_where_text_is_typed_and_nothing_elsewhere() {
        let expected = Message::Edit(Edit::Paste("mlx5_0  port 1".to_owned()));
        assert_eq!(paste(Context::Filter, "mlx5_0\r\nport\t1\x1b\r"), Some(expected));
        assert_eq!(paste(Context::Filter, "\r\n"), None);
        assert_eq!(paste(Context::Tree, "q"), None);
        // That nothing was in it is told where an answer is waited for, and that not all of it is kept.
        assert_eq!(paste(Context::Paste, " \r"), Some(Message::Edit(Edit::Paste(" ".to_owned()))));
        let Some(Message::Edit(Edit::Paste(long))) = paste(Context::Paste, &"x".repeat(1_000_000)) else {
            panic!("a paste")
        };
        assert_eq!(long.len(), pasted::MOST + 1);
        let Some(Message::Edit(Edit::Paste(long))) = paste(Context::Filter, &"x".repeat(1_000_000)) else {
            panic!("a paste")
        };
        assert_eq!(long.len(), LONGEST_PASTE);
    }
}
