//! The themes and key maps that there are: the embedded ones, and those of the user's directory (`themes/NAME.toml` and
//! `keymaps/NAME.toml` beside the configuration file). A file of the user's with the name of an embedded one lies over it;
//! any other lies over `default`, or over what its first line says: `inherits = "dark"`. A broken file breaks only itself:
//! it is listed as broken, and is an error for whoever chooses it.

use std::collections::BTreeMap;
use std::path::Path;

use super::definition::{DefinitionError, Source, nearest};
use super::keymap::Keymap;
use super::looks::DEFAULT;
use super::theme::Theme;
use crate::collect::reason::reason;
use crate::config::settings::is_look_name;
use crate::engine::settings::read_text;

/// What may stand before the first table of a theme or a key map.
pub(super) const HEADS: [&str; 2] = ["inherits", "description"];

/// How many files of one directory are read: more are no themes.
const MOST_FILES: usize = 200;

/// The embedded themes: name and text.
pub const EMBEDDED_THEMES: [(&str, &str); 6] = [
    (DEFAULT, include_str!("../../themes/default.toml")),
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("ansi16", include_str!("../../themes/ansi16.toml")),
    ("mono", include_str!("../../themes/mono.toml")),
    ("colour-blind-safe", include_str!("../../themes/colour-blind-safe.toml")),
];

/// The embedded key maps: name and text.
pub const EMBEDDED_KEYMAPS: [(&str, &str); 3] = [
    (DEFAULT, include_str!("../../keymaps/default.toml")),
    ("vim", include_str!("../../keymaps/vim.toml")),
    ("tmux-safe", include_str!("../../keymaps/tmux-safe.toml")),
];

/// Where a theme or a key map comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is part of the program.
    Embedded,
    /// It is this file, as the user knows it.
    File(String),
}

/// A theme or a key map with its name.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// Its name in settings and options.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What it says of itself; may be empty.
    pub description: String,
    /// The thing itself, or what is wrong with its file.
    pub definition: Result<T, DefinitionError>,
}

/// All themes and key maps that there are.
#[derive(Clone, Debug)]
pub struct Library {
    /// The themes: `default`, the other embedded ones, then the user's by name.
    pub themes: Vec<Named<Theme>>,
    /// The key maps in the same order.
    pub keymaps: Vec<Named<Keymap>>,
    /// Directories that could not be read, and why.
    pub problems: Vec<String>,
}

/// A file of the user's directory.
#[derive(Clone, Debug)]
pub struct UserFile {
    /// Its name without folder and ending.
    pub name: String,
    /// The file as the user knows it.
    pub shown: String,
    /// Its text, or why it cannot be read.
    pub text: Result<String, String>,
}

impl Library {
    /// Those that are part of the program. `actions` are the names of all actions.
    pub fn embedded(actions: &[&str]) -> Self {
        Self::new(&[], &[], actions)
    }

    /// Those that are part of the program, and these files of the user's.
    pub fn new(themes: &[UserFile], keymaps: &[UserFile], actions: &[&str]) -> Self {
        let over_theme = |base: &Theme, file: &str, text: &str| base.with(file, text);
        let over_keymap = |base: &Keymap, file: &str, text: &str| base.with(file, text, actions);
        Self {
            themes: named("themes", &EMBEDDED_THEMES, &Theme::default(), themes, &over_theme),
            keymaps: named("keymaps", &EMBEDDED_KEYMAPS, &Keymap::empty(), keymaps, &over_keymap),
            problems: Vec::new(),
        }
    }

    /// The theme of this name, broken or not.
    pub fn theme(&self, name: &str) -> Option<&Named<Theme>> {
        self.themes.iter().find(|theme| theme.name == name)
    }

    /// The key map of this name, broken or not.
    pub fn keymap(&self, name: &str) -> Option<&Named<Keymap>> {
        self.keymaps.iter().find(|keymap| keymap.name == name)
    }

    /// What is broken, each in a sentence: files that cannot be chosen, directories that cannot be read.
    pub fn broken(&self) -> impl Iterator<Item = String> {
        let themes = self.themes.iter().filter_map(|named| named.definition.as_ref().err());
        let keymaps = self.keymaps.iter().filter_map(|named| named.definition.as_ref().err());
        themes.chain(keymaps).map(ToString::to_string).chain(self.problems.iter().cloned())
    }

    /// The names of the themes, the broken ones too.
    pub fn theme_names(&self) -> Vec<&str> {
        self.themes.iter().map(|theme| theme.name.as_str()).collect()
    }

    /// The names of the key maps, the broken ones too.
    pub fn keymap_names(&self) -> Vec<&str> {
        self.keymaps.iter().map(|keymap| keymap.name.as_str()).collect()
    }
}

/// Reads the themes and key maps of a directory, beside those that are part of the program. A directory that is not there
/// is normal.
pub fn load(directory: Option<&Path>, actions: &[&str]) -> Library {
    let mut problems = Vec::new();
    let mut read = |folder: &str| {
        directory.map(|directory| directory.join(folder)).map_or_else(Vec::new, |folder| files(&folder, &mut problems))
    };
    let (themes, keymaps) = (read("themes"), read("keymaps"));
    Library { problems, ..Library::new(&themes, &keymaps, actions) }
}

/// The `NAME.toml` files of a folder, by name.
fn files(folder: &Path, problems: &mut Vec<String>) -> Vec<UserFile> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(format!("{}: cannot be read: {}", folder.display(), reason(&error)));
            return Vec::new();
        }
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    if paths.len() > MOST_FILES {
        problems.push(format!("{}: only the first {MOST_FILES} files are read", folder.display()));
        paths.truncate(MOST_FILES);
    }
    paths
        .iter()
        .map(|path| UserFile {
            name: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
            shown: path.display().to_string(),
            text: read_text(path).map_err(|error| format!("cannot be read: {}", reason(&error))),
        })
        .collect()
}

/// Lays a file over a theme or a key map: what is below, the file's name, its text.
type Over<'a, T> = &'a dyn Fn(&T, &str, &str) -> Result<T, DefinitionError>;

fn named<T: Clone>(
    folder: &str,
    embedded: &[(&str, &str)],
    nothing: &T,
    files: &[UserFile],
    over: Over<'_, T>,
) -> Vec<Named<T>> {
    let mut base: BTreeMap<String, T> = BTreeMap::new();
    let mut all: Vec<Named<T>> = Vec::new();
    for (name, text) in embedded {
        let below = base.get(DEFAULT).unwrap_or(nothing);
        let definition = over(below, &format!("{folder}/{name}.toml"), text);
        if let Ok(definition) = &definition {
            base.insert((*name).to_owned(), definition.clone());
        }
        let (name, description) = ((*name).to_owned(), description(text));
        all.push(Named { name, origin: Origin::Embedded, description, definition });
    }
    let layers = Layers { base: &base, files, over };
    for file in files {
        let found = Named {
            name: file.name.clone(),
            origin: Origin::File(file.shown.clone()),
            description: file.text.as_deref().map_or_else(|_| String::new(), description),
            definition: layers.of_file(file, &mut Vec::new()),
        };
        match all.iter_mut().find(|known| known.name == file.name) {
            Some(known) => {
                let below = std::mem::take(&mut known.description);
                *known = found;
                if known.description.is_empty() {
                    known.description = below;
                }
            }
            None => all.push(found),
        }
    }
    all
}

/// What a file of the user's may lie over.
struct Layers<'a, T> {
    base: &'a BTreeMap<String, T>,
    files: &'a [UserFile],
    over: Over<'a, T>,
}

impl<T: Clone> Layers<'_, T> {
    /// A file on top of what it lies over. `above` are the names of the files that lie over it.
    fn of_file(&self, file: &UserFile, above: &mut Vec<String>) -> Result<T, DefinitionError> {
        let text = match &file.text {
            Ok(text) => text,
            Err(why) => return Err(Source::new(&file.shown, "").error(0, why.clone())),
        };
        let source = Source::new(&file.shown, text);
        if !is_look_name(&file.name) {
            return Err(source.error(0, "its name may hold only letters, digits, - and _"));
        }
        let document = source.document(&HEADS)?;
        let inherits = document.head.iter().find(|entry| entry.key == "inherits");
        let below = match inherits {
            // A file may lie over the embedded one of its own name, and over nothing else that is called like it.
            Some(entry) if entry.value == file.name && !self.base.contains_key(&file.name) => {
                return Err(source.error(entry.line, format!("inherits in a circle: {}", file.name)));
            }
            Some(entry) if entry.value != file.name => {
                if above.contains(&entry.value) {
                    let circle = format!("{}, {}", above.join(", "), file.name);
                    return Err(source.error(entry.line, format!("inherits in a circle: {circle}")));
                }
                above.push(file.name.clone());
                let below = self.of_name(&entry.value, above).map_err(|why| match why {
                    Some(broken) if broken.message.starts_with("inherits in a circle") => broken,
                    Some(broken) => source.error(entry.line, format!("`{}` is broken: {broken}", entry.value)),
                    None => {
                        let names = self.base.keys().chain(self.files.iter().map(|file| &file.name));
                        let hint = nearest(&entry.value, names.map(String::as_str));
                        source.error(entry.line, format!("nothing is named `{}`{hint}", entry.value))
                    }
                })?;
                above.pop();
                Some(below)
            }
            _ => self.base.get(&file.name).or_else(|| self.base.get(DEFAULT)).cloned(),
        };
        let below = below.ok_or_else(|| source.error(0, "the default is missing"))?;
        (self.over)(&below, &file.shown, text)
    }

    /// What has this name: a file of the user's, else what is embedded. `None` as the error: nothing has it.
    fn of_name(&self, name: &str, above: &mut Vec<String>) -> Result<T, Option<DefinitionError>> {
        match self.files.iter().find(|file| file.name == name) {
            Some(file) => self.of_file(file, above).map_err(Some),
            None => self.base.get(name).cloned().ok_or(None),
        }
    }
}

fn description(text: &str) -> String {
    let document = Source::new("", text).document(&HEADS);
    let entry = document.ok().and_then(|document| document.head.into_iter().find(|entry| entry.key == "description"));
    entry.map_or_else(String::new, |entry| crate::fabric::Text::new(&entry.value).to_string())
}

#[cfg(test)]
mod tests;
