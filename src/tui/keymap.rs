//! Which key does what, by context. The default key map is embedded; a file of the user's lies over it and may take keys
//! away. The map also answers the other way round, so that footer, help and documents always tell the keys in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use keybinds::{Key, KeyInput, KeySeq, Match, Mods};
use unicode_width::UnicodeWidthStr;

use super::definition::{DefinitionError, Entry, Source, nearest};
use super::glyphs::Glyphs;
use crate::app::action::Context;

const DEFAULT: &str = super::library::EMBEDDED_KEYMAPS[0].1;
/// Stands for an action in a file of the user's: the key does nothing any more.
const NONE: &str = "none";

/// Actions on the selected row of a panel.
const OF_A_ROW: &[&str] = &["rename-mark", "delete-mark"];

/// Which key does what.
#[derive(Clone, Debug, Default)]
pub struct Keymap {
    tables: BTreeMap<Context, Vec<Binding>>,
    arrows: [&'static str; 4],
}

/// One line of a key map.
#[derive(Clone, Debug, PartialEq)]
struct Binding {
    keys: KeySeq,
    action: String,
    /// The file that it stands in.
    file: Arc<str>,
    /// Its line there, from 1.
    line: usize,
}

/// One line of a key map as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'map> {
    /// The name of the action.
    pub action: &'map str,
    /// The file that it stands in.
    pub file: &'map str,
    /// Its line there, from 1.
    pub line: usize,
}

/// What the keys typed so far mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution<'map> {
    /// The name of an action.
    Action(&'map str),
    /// The start of a longer sequence.
    Prefix,
    /// Nothing.
    Unknown,
}

impl Keymap {
    /// The embedded key map. `actions` are the names of all actions that exist.
    pub fn embedded(actions: &[&str]) -> Result<Self, DefinitionError> {
        Self::empty().with("keymaps/default.toml", DEFAULT, actions)
    }

    /// A key map without any key.
    pub(super) fn empty() -> Self {
        Self { tables: BTreeMap::new(), arrows: Glyphs::default().arrows }
    }

    /// This key map with another file laid over it: a sequence of keys that stands in both does what the file says, and so
    /// does one that the file's sequence is the start of, or that is the start of it. `file` is named in errors only.
    pub fn with(&self, file: &str, text: &str, actions: &[&str]) -> Result<Self, DefinitionError> {
        let source = Source::new(file, text);
        let mut map = self.clone();
        let name: Arc<str> = Arc::from(file);
        for table in source.document(&super::library::HEADS)?.tables {
            let Some(context) = Context::ALL.into_iter().find(|context| context.name() == table.name) else {
                let hint = nearest(&table.name, Context::ALL.map(Context::name));
                return Err(source.error(table.line, format!("unknown context [{}]{hint}", table.name)));
            };
            let mut added: Vec<(Binding, usize, &str)> = Vec::new();
            for entry in &table.entries {
                let binding =
                    binding(entry, context, actions, &name).map_err(|message| source.error(entry.line, message))?;
                if let Some((_, line, key)) = added.iter().find(|(other, ..)| clash(&other.keys, &binding.keys)) {
                    let message = format!(
                        "`{}` clashes with `{key}` in line {line}: one is the same as, or the start of, the other",
                        entry.key
                    );
                    return Err(source.error(entry.line, message));
                }
                added.push((binding, entry.line, &entry.key));
            }
            let bindings = map.tables.entry(context).or_default();
            bindings.retain(|old| added.iter().all(|(new, ..)| !clash(&old.keys, &new.keys)));
            bindings.extend(added.into_iter().map(|(binding, ..)| binding).filter(|binding| binding.action != NONE));
        }
        if actions.contains(&"quit") && map.keys_for(Context::Global, "quit").is_empty() {
            return Err(source.error(1, "no key of [global] is left for `quit`"));
        }
        Ok(map)
    }

    /// The same map whose arrow keys are told in the characters of a glyph set (words in `ascii`).
    #[must_use]
    pub fn told_in(mut self, glyphs: &Glyphs) -> Self {
        self.arrows = glyphs.arrows;
        self
    }

    /// This key map as it is in a replay: the table [`Context::Replay`] lies over that of [`Context::Global`].
    #[must_use]
    pub fn for_replay(&self) -> Self {
        let mut map = self.clone();
        let over = map.tables.remove(&Context::Replay).unwrap_or_default();
        let global = map.tables.entry(Context::Global).or_default();
        global.retain(|old| over.iter().all(|new| !clash(&old.keys, &new.keys)));
        global.extend(over);
        map
    }

    /// What the keys typed so far mean in a context: its own table first, then that of [`Context::Global`], except where text is typed.
    pub fn resolve(&self, context: Context, typed: &[KeyInput]) -> Resolution<'_> {
        for context in lookup_order(context) {
            let mut prefix = false;
            for binding in self.bindings(context) {
                match binding.keys.match_to(typed) {
                    Match::Matched => return Resolution::Action(&binding.action),
                    Match::Prefix => prefix = true,
                    Match::Unmatch => {}
                }
            }
            if prefix {
                return Resolution::Prefix;
            }
        }
        Resolution::Unknown
    }

    /// What the keys typed so far mean while the tree has the focus: what neither it nor [`Context::Global`] knows means what
    /// it does in the panel beside it, but for what changes the selected row of that, which nobody looks at from there.
    pub fn resolve_beside(&self, context: Context, panel: Context, typed: &[KeyInput]) -> Resolution<'_> {
        match self.resolve(context, typed) {
            Resolution::Unknown if context == Context::Tree => match self.resolve(panel, typed) {
                Resolution::Action(name) if OF_A_ROW.contains(&name) => Resolution::Unknown,
                other => other,
            },
            other => other,
        }
    }

    /// The shortest key that does an action in a context, or from there in the panel beside it, for the footer.
    pub fn hint_beside(&self, context: Context, panel: Context, action: &str) -> Option<String> {
        let beside = || {
            let shown = self.bindings(panel).iter().filter(|binding| binding.action == action);
            let mut keys: Vec<String> = shown
                .filter(|binding| {
                    self.resolve_beside(context, panel, binding.keys.as_slice()) == Resolution::Action(action)
                })
                .map(|binding| self.text(&binding.keys))
                .collect();
            keys.sort_by_key(|text| text.width());
            keys.into_iter().next()
        };
        self.hint(context, action).or_else(beside)
    }

    /// The keys that do an action in a context, as texts, the shortest first.
    pub fn keys_for(&self, context: Context, action: &str) -> Vec<String> {
        let mut keys: Vec<String> = lookup_order(context)
            .flat_map(|table| self.bindings(table))
            .filter(|binding| binding.action == action)
            .filter(|binding| self.resolve(context, binding.keys.as_slice()) == Resolution::Action(action))
            .filter(|binding| !self.is_cut_short(context, binding.keys.as_slice()))
            .map(|binding| self.text(&binding.keys))
            .collect();
        keys.sort_by_key(|text| text.width()); // stable: of equally short ones the file's first
        keys.dedup();
        keys
    }

    /// The shortest key that does an action in a context, for the footer; `None` if no key does.
    pub fn hint(&self, context: Context, action: &str) -> Option<String> {
        self.keys_for(context, action).into_iter().next()
    }

    /// All bindings of one table (without those of [`Context::Global`]) as key text and action, in the order of the file.
    pub fn table(&self, context: Context) -> impl Iterator<Item = (String, &str)> {
        self.bindings(context).iter().map(|binding| (self.text(&binding.keys), binding.action.as_str()))
    }

    /// The same with the file and the line that each binding stands in.
    pub fn told(&self, context: Context) -> impl Iterator<Item = (String, Told<'_>)> {
        self.bindings(context).iter().map(|binding| {
            let told = Told { action: &binding.action, file: &binding.file, line: binding.line };
            (self.text(&binding.keys), told)
        })
    }

    fn bindings(&self, context: Context) -> &[Binding] {
        self.tables.get(&context).map_or(&[], Vec::as_slice)
    }

    /// True if an earlier key of the sequence already does something else in this context.
    fn is_cut_short(&self, context: Context, keys: &[KeyInput]) -> bool {
        (1..keys.len()).any(|length| self.resolve(context, &keys[..length]) != Resolution::Prefix)
    }

    fn text(&self, keys: &KeySeq) -> String {
        keys.as_slice().iter().map(|input| self.key_text(*input)).collect::<Vec<_>>().join(" ")
    }

    fn key_text(&self, input: KeyInput) -> String {
        let [up, down, left, right] = self.arrows;
        let key = match input.key() {
            Key::Up => up.to_owned(),
            Key::Down => down.to_owned(),
            Key::Left => left.to_owned(),
            Key::Right => right.to_owned(),
            Key::PageUp => "PgUp".to_owned(),
            Key::PageDown => "PgDn".to_owned(),
            Key::Char('+') => "+".to_owned(),
            other => other.to_string(),
        };
        if input.mods() == Mods::NONE { key } else { format!("{}+{key}", input.mods()) }
    }
}

/// Where a context library for a key.
fn lookup_order(context: Context) -> impl Iterator<Item = Context> {
    let falls_back = !context.takes_text() && context != Context::Global;
    [Some(context), falls_back.then_some(Context::Global)].into_iter().flatten()
}

fn binding(entry: &Entry, context: Context, actions: &[&str], file: &Arc<str>) -> Result<Binding, String> {
    let keys: KeySeq = entry.key.parse().map_err(|error: keybinds::Error| unparsable(&entry.key, &error))?;
    if entry.value != NONE && !actions.contains(&entry.value.as_str()) {
        return Err(format!("unknown action `{}`{}", entry.value, nearest(&entry.value, actions.iter().copied())));
    }
    let first = keys.as_slice().first().copied();
    if context.takes_text()
        && first.is_some_and(|input| matches!(input.key(), Key::Char(_)) && input.mods() == Mods::NONE)
    {
        return Err(format!("`{}` cannot be bound in [{}]: it is text there", entry.key, context.name()));
    }
    Ok(Binding { keys, action: entry.value.clone(), file: Arc::clone(file), line: entry.line })
}

fn unparsable(key: &str, error: &keybinds::Error) -> String {
    let names =
        ["Space", "Plus", "Enter", "Esc", "Tab", "Up", "Down", "Left", "Right", "Home", "End", "PageUp", "PageDown"];
    let names = names.into_iter().chain(["Backspace", "Delete", "Insert", "Ctrl", "Alt", "Shift"]);
    let advice = match error {
        keybinds::Error::EmptyModifier => "; the key + is written `Plus`".to_owned(),
        keybinds::Error::ShiftUnavailable(_) => {
            "; write the character that Shift gives, `Q` for Shift and q".to_owned()
        }
        keybinds::Error::UnknownKey(name) | keybinds::Error::UnknownModifier(name) => nearest(name, names),
        _ => String::new(),
    };
    format!("`{key}` is no key: {error}{advice}")
}

/// True if one sequence is the other or its start: then one of the two could never be typed.
fn clash(left: &KeySeq, right: &KeySeq) -> bool {
    left.match_to(right.as_slice()) != Match::Unmatch || right.match_to(left.as_slice()) != Match::Unmatch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::glyphs::GlyphSet;
    use crate::tui::testing::actions;

    const ACTIONS: [&str; 6] = ["quit", "close", "top", "freeze", "zoom-in", "accept"];

    fn map(text: &str) -> Keymap {
        empty().with("k.toml", text, &ACTIONS).expect("valid")
    }

    fn empty() -> Keymap {
        Keymap { tables: BTreeMap::new(), arrows: Glyphs::new(GlyphSet::Ascii).arrows }
    }

    fn error(text: &str) -> String {
        empty().with("k.toml", text, &ACTIONS).expect_err("a mistake").to_string()
    }

    fn typed(keys: &str) -> Vec<KeyInput> {
        keys.parse::<KeySeq>().expect("keys").as_slice().to_vec()
    }

    #[test]
    fn every_key_of_the_embedded_map_parses_without_a_clash() {
        let map = Keymap::embedded(&actions()).expect("valid");
        assert_eq!(map.resolve(Context::Tree, &typed("q")), Resolution::Action("quit"));
        assert_eq!(map.resolve(Context::Tree, &typed("Plus")), Resolution::Action("zoom-in"));
        assert_eq!(map.resolve(Context::Help, &typed("q")), Resolution::Action("close"));
        assert_eq!(map.hint(Context::Global, "freeze").as_deref(), Some("Space"));
        assert_eq!(map.hint(Context::Global, "zoom-in").as_deref(), Some("+"));
        for action in actions() {
            assert!(Context::ALL.into_iter().any(|context| map.hint(context, action).is_some()), "no key for {action}");
        }
    }

    #[test]
    fn no_default_key_is_one_that_tmux_screen_or_the_line_discipline_takes() {
        let map = Keymap::embedded(&actions()).expect("valid");
        for key in ["Ctrl+a", "Ctrl+b", "Ctrl+o", "Ctrl+l", "Ctrl+g", "Ctrl+s", "Ctrl+q"] {
            for context in Context::ALL {
                assert_eq!(map.resolve(context, &typed(key)), Resolution::Unknown, "{key} in {}", context.name());
            }
        }
    }

    #[test]
    fn the_context_in_front_is_asked_first_and_text_never_falls_back() {
        let map = map(
            "[global]\n\"q\" = \"quit\"\n\"x\" = \"top\"\n[help]\n\"q\" = \"close\"\n[filter]\n\"Enter\" = \"accept\"\n",
        );
        assert_eq!(map.resolve(Context::Help, &typed("q")), Resolution::Action("close"));
        assert_eq!(map.resolve(Context::Help, &typed("x")), Resolution::Action("top"));
        assert_eq!(map.resolve(Context::Filter, &typed("q")), Resolution::Unknown);
        assert_eq!(map.resolve(Context::Filter, &typed("Enter")), Resolution::Action("accept"));
    }

    #[test]
    fn a_sequence_is_a_prefix_until_it_is_whole() {
        let map = map("[global]\n\"q\" = \"quit\"\n\"g g\" = \"top\"\n");
        assert_eq!(map.resolve(Context::Tree, &typed("g")), Resolution::Prefix);
        assert_eq!(map.resolve(Context::Tree, &typed("g g")), Resolution::Action("top"));
        assert_eq!(map.resolve(Context::Tree, &typed("g q")), Resolution::Unknown);
    }

    #[test]
    fn a_file_of_the_users_replaces_adds_and_takes_away() {
        let map = map("[global]\n\"q\" = \"quit\"\n\"Q\" = \"quit\"\n\"g g\" = \"top\"\n\"Space\" = \"freeze\"\n");
        let mine = map.with("mine.toml", "[global]\n\"q\" = \"none\"\n\"g\" = \"freeze\"\n", &ACTIONS).expect("valid");
        assert_eq!(mine.resolve(Context::Tree, &typed("q")), Resolution::Unknown);
        assert_eq!(mine.resolve(Context::Tree, &typed("g")), Resolution::Action("freeze"));
        assert_eq!(mine.keys_for(Context::Tree, "freeze"), ["g", "Space"]);
        assert_eq!(mine.hint(Context::Tree, "top"), None);
    }

    #[test]
    fn hints_tell_only_keys_that_work_in_the_context() {
        let map = map(
            "[global]\n\"q\" = \"quit\"\n\"F10\" = \"quit\"\n\"g g\" = \"top\"\n\"Home\" = \"top\"\n[help]\n\"q\" = \"close\"\n\"g\" = \"close\"\n",
        );
        assert_eq!(map.keys_for(Context::Global, "quit"), ["q", "F10"]);
        assert_eq!(map.keys_for(Context::Help, "quit"), ["F10"]);
        assert_eq!(map.keys_for(Context::Tree, "top"), ["g g", "Home"]);
        assert_eq!(map.keys_for(Context::Help, "top"), ["Home"], "g closes the help before a second g can come");
        assert_eq!(map.hint(Context::Filter, "quit"), None);
    }

    #[test]
    fn keys_are_told_as_people_know_them() {
        let map = map(
            "[global]\n\"q\" = \"quit\"\n\"Up\" = \"top\"\n[live]\n\"Shift+Tab\" = \"close\"\n\"Ctrl+PageDown\" = \"freeze\"\n\"Plus\" = \"zoom-in\"\n",
        );
        let words: Vec<_> = map.table(Context::Live).map(|(keys, _)| keys).collect();
        assert_eq!(words, ["Shift+Tab", "Ctrl+PgDn", "+"]);
        assert_eq!(map.hint(Context::Tree, "top").as_deref(), Some("Up"));
        assert_eq!(map.told_in(&Glyphs::default()).hint(Context::Tree, "top").as_deref(), Some("↑"));
    }

    #[test]
    fn mistakes_are_told_with_file_line_and_the_nearest_name() {
        assert_eq!(error("[global]\n\"q\" = \"quti\"\n"), "k.toml:2: unknown action `quti`; did you mean `quit`?");
        assert_eq!(error("\n[globel]\n"), "k.toml:2: unknown context [globel]; did you mean `global`?");
        assert!(error("[global]\n\"Entr\" = \"quit\"\n").starts_with("k.toml:2: `Entr` is no key: "));
        assert!(error("[global]\n\"Entr\" = \"quit\"\n").ends_with("did you mean `Enter`?"));
        assert!(error("[global]\n\"+\" = \"quit\"\n").ends_with("the key + is written `Plus`"));
        assert!(
            error("[global]\n\"Shift+q\" = \"quit\"\n")
                .ends_with("write the character that Shift gives, `Q` for Shift and q")
        );
        assert_eq!(
            error("[global]\n\"q\" = \"quit\"\n\"Esc\" = \"close\"\n\"escape\" = \"top\"\n"),
            "k.toml:4: `escape` clashes with `Esc` in line 3: one is the same as, or the start of, the other"
        );
        assert!(error("[global]\n\"g\" = \"quit\"\n\"g g\" = \"top\"\n").contains("clashes with `g` in line 2"));
        assert_eq!(
            error("[filter]\n\"a b\" = \"accept\"\n"),
            "k.toml:2: `a b` cannot be bound in [filter]: it is text there"
        );
        assert_eq!(
            error("[secret]\n\"y\" = \"accept\"\n"),
            "k.toml:2: `y` cannot be bound in [secret]: it is text there"
        );
        assert_eq!(error("[tree]\n\"q\" = \"quit\"\n"), "k.toml:1: no key of [global] is left for `quit`");
    }
}
