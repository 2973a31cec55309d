//! Settings, the inventory and OpenSSH's own settings, all from text: whoever reads the files is the engine.

pub mod address;
pub mod declared;
pub mod error;
pub mod inventory;
pub mod openssh;
mod reader;
pub mod rules;
pub mod sample;
pub mod settings;
pub mod target;

pub use crate::probe::switch::SwitchSystem;
pub use address::Address;
pub use declared::Declared;
pub use error::{Defect, Defects};
pub use inventory::{Access, Inventory, Kind, Links, Target};
pub use rules::{Rules, SiteThreshold, Suppression};
pub use settings::{AlertNotice, GlyphSet, GpuRule, Setting, Settings, Whence};

use reader::Reader;

/// All that the configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// How the program looks and behaves.
    pub settings: Settings,
    /// The targets.
    pub inventory: Inventory,
    /// What only vCenter knows, as the administrator declares it.
    pub declared: Declared,
    /// What the site says about the checks.
    pub rules: Rules,
    /// The program that is told of alerts, by its full path, with its arguments; empty for none. Only a file can name it.
    pub alert_hook: Vec<String>,
}

impl Configuration {
    /// Reads the text of a configuration file that the user knows as `path`. All defects are told at once.
    pub fn parse(path: &str, text: &str) -> Result<Self, Defects> {
        let mut configuration = Self::default();
        let (mut reader, document) = Reader::parse(path, text);
        let mut host_places = Vec::new();
        for (key, item) in &document {
            if configuration.settings.take_file(&mut reader, path, key, item)
                || configuration.declared.take_file(&mut reader, &mut host_places, key, item)
            {
                continue;
            }
            match key.get_ref().as_ref() {
                "target" => configuration.inventory = Inventory::read(&mut reader, key, item),
                "thresholds" => configuration.rules.read_thresholds(&mut reader, item),
                "suppress" => configuration.rules.read_suppressions(&mut reader, key, item),
                "alert_hook" => configuration.alert_hook = read_hook(&mut reader, item),
                _ => {
                    let others = ["target", "thresholds", "suppress", "alert_hook"];
                    let settings = settings::Name::ALL.into_iter().map(settings::Name::key);
                    let known: Vec<&str> = settings.chain(others).chain(declared::KEYS).collect();
                    reader.unknown_key(key, "", &known);
                }
            }
        }
        Declared::check_hosts(&mut reader, &host_places, &configuration.inventory);
        let defects = reader.into_defects();
        if defects.is_empty() { Ok(configuration) } else { Err(Defects(defects)) }
    }
}

/// The words of a program. No shell and no search for it stand in between, so it is named by its full path.
fn read_hook(reader: &mut Reader<'_>, item: &reader::Item<'_>) -> Vec<String> {
    let words = reader.labels("alert_hook", item);
    if words.first().is_some_and(|program| !program.starts_with('/')) {
        let what =
            "\"alert_hook\" must begin with the full path of a program: [\"/usr/local/bin/page\", \"--team\", \"hpc\"]";
        reader.defect(item.span().start, what.to_owned());
        return Vec::new();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_a_program_by_its_full_path() {
        let read = |text: &str| Configuration::parse("c.toml", text).map(|read| read.alert_hook);
        let told = |text: &str| read(text).expect_err("wrong").to_string();
        assert_eq!(read("alert_hook = [\"/bin/page\", \"a b\"]\n"), Ok(vec!["/bin/page".to_owned(), "a b".to_owned()]));
        assert_eq!(read("alert_hook = []\n"), Ok(Vec::new()));
        assert!(told("alert_hook = [\"page\"]\n").contains("c.toml:1: \"alert_hook\" must begin with the full path"));
        assert!(told("alert_hook = \"page | sh\"\n").contains("must be a list of texts"));
    }
}
