//! What the words of the command line mean as targets: a name of the inventory, an OpenSSH alias, `user@host[:port]`,
//! `local`, or `offline:PATH`.

use std::path::Path;

use super::address::Address;
use super::error::{Defect, nearest, quoted};
use super::inventory::{Access, Inventory, Kind, Links, Target};
use crate::probe::privilege::Become;

/// What stands before the name of a file with saved outputs.
pub const OFFLINE: &str = "offline:";

impl Target {
    /// This machine.
    pub fn local() -> Self {
        Self {
            name: "local".to_owned(),
            kind: Some(Kind::Local),
            address: None,
            tags: Vec::new(),
            links: Links::default(),
            by: Become::None,
            access: Access::default(),
            line: 0,
        }
    }

    /// The target that one word of the command line means. The error says what is wrong with the word.
    pub fn of_word(word: &str, inventory: &Inventory) -> Result<Self, String> {
        if let Some(target) = inventory.get(word) {
            return Ok(target.clone());
        }
        if word == "local" {
            return Ok(Self::local());
        }
        if let Some(file) = word.strip_prefix(OFFLINE) {
            if file.is_empty() || file.contains('\0') {
                return Err(format!("{} names no file; write offline:FILE", quoted(word)));
            }
            return Ok(Self { name: word.to_owned(), kind: Some(Kind::Saved), ..Self::local() });
        }
        let address = Address::parse(word)?;
        Ok(Self {
            name: word.to_owned(),
            kind: None,
            address: Some(address),
            tags: Vec::new(),
            links: Links::default(),
            by: Become::None,
            access: Access::default(),
            line: 0,
        })
    }

    /// The file of saved outputs that it is; `None` for what is read live.
    pub fn saved(&self) -> Option<&Path> {
        self.name.strip_prefix(OFFLINE).filter(|_| self.kind == Some(Kind::Saved)).map(Path::new)
    }

    /// What it is, as documents say it: `unknown` until it is found out by connecting.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            None | Some(Kind::Saved) => "unknown",
            Some(kind) => kind.name(),
        }
    }
}

/// The targets that the words of the command line choose, each once, in their order; without a word, all of the
/// inventory. All wrong words are told at once.
pub fn choose(words: &[String], inventory: &Inventory) -> Result<Vec<Target>, Vec<Defect>> {
    if words.is_empty() {
        if inventory.targets.is_empty() {
            return Err(vec![Defect::somewhere(
                "no target",
                "none is given and the inventory is empty; try `rdmascope local` or `rdmascope user@host`, or write an \
                 inventory: `rdmascope config init`",
            )]);
        }
        return Ok(inventory.targets.clone());
    }
    let mut targets: Vec<Target> = Vec::new();
    let mut defects = Vec::new();
    for word in words {
        match Target::of_word(word, inventory) {
            Ok(target) if targets.iter().any(|other| other.name == target.name) => {}
            Ok(target) => targets.push(target),
            Err(what) => defects.push(Defect::somewhere("target", what)),
        }
    }
    if defects.is_empty() { Ok(targets) } else { Err(defects) }
}

/// The name of the inventory that a word which could not be reached was perhaps meant to be.
pub fn meant<'i>(word: &str, inventory: &'i Inventory) -> Option<&'i str> {
    if inventory.get(word).is_some() {
        return None;
    }
    nearest(word, inventory.targets.iter().map(|target| target.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::Configuration;
    use super::*;

    const INVENTORY: &str = "[[target]]\nname = \"gpu-vm-01\"\naddress = \"root@192.0.2.1\"\n\
                             [[target]]\nname = \"esx\"\nkind = \"esxi\"\n\
                             [[target]]\nname = \"leaf\"\nkind = \"switch\"\nsystem = \"eos\"\n";

    fn inventory() -> Inventory {
        Configuration::parse("config.toml", INVENTORY).expect("a right inventory").inventory
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn each_word_of_the_grammar_means_its_target() {
        let inventory = inventory();
        let given = words(&["gpu-vm-01", "softroce1", "bob@h:2222", "[::1]:22", "local", "esx", "gpu-vm-01"]);
        let found = choose(&given, &inventory).expect("all are right");
        let shown: Vec<(&str, &str, String)> = found
            .iter()
            .map(|target| {
                let address = target.address.as_ref().map_or("-".to_owned(), ToString::to_string);
                (target.name.as_str(), target.kind_name(), address)
            })
            .collect();
        let expected = [
            ("gpu-vm-01", "unknown", "root@192.0.2.1"),
            ("softroce1", "unknown", "softroce1"),
            ("bob@h:2222", "unknown", "bob@h:2222"),
            ("[::1]:22", "unknown", "[::1]:22"),
            ("local", "local", "-"),
            ("esx", "esxi", "esx"),
        ];
        assert_eq!(shown, expected.map(|(name, kind, address)| (name, kind, address.to_owned())));
    }

    #[test]
    fn a_file_of_saved_outputs_is_a_target() {
        let found = Target::of_word("offline:saved/esx 1.txt", &inventory()).expect("a file");
        assert_eq!(found.saved(), Some(Path::new("saved/esx 1.txt")));
        assert_eq!(found.kind_name(), "unknown");
        assert_eq!(Target::local().saved(), None);
    }

    #[test]
    fn without_a_word_the_whole_inventory_is_chosen() {
        let found = choose(&[], &inventory()).expect("the whole inventory");
        let kinds: Vec<_> = found.iter().map(Target::kind_name).collect();
        assert_eq!(kinds, ["unknown", "esxi", "switch"]);
    }

    #[test]
    fn wrong_words_are_told_together() {
        let given = words(&["offline:", "-oA=b", "h:0", "ok"]);
        let found = choose(&given, &inventory()).expect_err("three are wrong");
        let text: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(text.len(), 3);
        assert!(text[0].contains("names no file; write offline:FILE"));
        assert!(text[1].contains("begins with a hyphen"));
        assert!(text[2].contains("no port"));
        let none = choose(&[], &Inventory::default()).expect_err("nothing to show");
        assert!(none[0].to_string().contains("rdmascope local"), "{}", none[0]);
    }

    #[test]
    fn a_near_name_of_the_inventory_is_offered() {
        assert_eq!(meant("gpu-vm-1", &inventory()), Some("gpu-vm-01"));
        assert_eq!(meant("gpu-vm-01", &inventory()), None);
        assert_eq!(meant("elsewhere", &inventory()), None);
    }
}
