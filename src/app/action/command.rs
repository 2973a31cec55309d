//! Commands: actions that need one more word, as `theme dark`. They have no key of their own; the palette offers them with
//! each word that makes sense.

use super::motion;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::settings::{self, Lever};
use crate::app::tree::Node;

/// An action that needs one more word.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name: `theme`.
    pub name: &'static str,
    /// What the word stands for: `NAME`.
    pub word: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What it does to the model with this word, and what it asks the outside to do.
    pub run: fn(&mut Model, &str) -> Vec<Effect>,
}

/// All commands.
pub const ALL: &[&Command] = &[
    &Command { name: "target", word: "NAME", description: "Show this target in the same panel", run: target },
    &Command {
        name: "theme",
        word: "NAME",
        description: "Use this theme for this run",
        run: |model, word| set(model, Lever::Theme, word),
    },
    &Command {
        name: "keymap",
        word: "NAME",
        description: "Use this key map for this run",
        run: |model, word| set(model, Lever::Keymap, word),
    },
    &Command {
        name: "glyphs",
        word: "SET",
        description: "Draw with these characters for this run",
        run: |model, word| set(model, Lever::Glyphs, word),
    },
    &Command {
        name: "low-bandwidth",
        word: "on|off",
        description: "Draw less often for this run",
        run: |model, word| set(model, Lever::LowBandwidth, word),
    },
    &Command {
        name: "mouse",
        word: "on|off",
        description: "Let the mouse select for this run",
        run: |model, word| set(model, Lever::Mouse, word),
    },
];

/// The command that a text names, and its word.
pub fn parse(text: &str) -> Option<(&'static Command, &str)> {
    let (name, word) = text.split_once(' ')?;
    Some((ALL.iter().copied().find(|command| command.name == name)?, word.trim()))
}

fn set(model: &mut Model, lever: Lever, word: &str) -> Vec<Effect> {
    let text = match settings::set(model, lever, word) {
        Ok(()) => format!("{} {word} for this run", lever.command()),
        Err(why) => why,
    };
    model.screen.notice = Some((text, model.now));
    Vec::new()
}

fn target(model: &mut Model, word: &str) -> Vec<Effect> {
    let Some(target) = model.order.iter().find(|target| target.as_str() == word).cloned() else {
        model.screen.notice = Some((format!("no target is called {word:?}"), model.now));
        return Vec::new();
    };
    motion::select_node(model, Node::Target(target));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_names_of_their_own_and_take_one_word() {
        for command in ALL {
            assert!(super::super::by_name(command.name).is_none(), "{} is an action, too", command.name);
            assert!(!command.word.is_empty() && !command.description.is_empty());
            assert_eq!(ALL.iter().filter(|other| other.name == command.name).count(), 1);
        }
        assert_eq!(parse("theme dark").map(|(command, word)| (command.name, word)), Some(("theme", "dark")));
        assert!(parse("theme").is_none() && parse("quit now").is_none());
    }
}
