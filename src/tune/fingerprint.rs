//! What a measurement was made on: by layer, the versions, settings and places that can explain why another measurement says
//! something else. What could not be read is known as not read; it has not changed, and nobody says that it has.
//!
//! In documents a fingerprint is an object of layers (`switch`, `host`, `vm`, `guest`, `gpu`, `mpi`, `tool`), each an object of
//! keys. A text, number or truth value was read; a list was read whole, so that what is missing in it is not there; `null` or
//! `{"state": "not-read", "why": "..."}` was not read. A key that is missing was not read either.

mod gather;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value as Json, json};

pub use gather::{Part, gather, guest_parts};

use super::settings::LAYERS;
use crate::fabric::Text;

/// What is said where nobody knows why something was not read.
const NO_REASON: &str = "nobody says why";

/// One thing that is known of what was measured on, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It was read. It may be empty.
    Said(Text),
    /// A list that was read whole.
    Listed(Vec<Text>),
    /// It was not read: why.
    NotRead(Text),
}

/// What a measurement was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint {
    /// By layer, by key.
    pub layers: BTreeMap<Text, BTreeMap<Text, Mark>>,
}

/// Something that changed from one measurement to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its layer.
    pub layer: Text,
    /// What.
    pub key: Text,
    /// What it was; of a list what is gone.
    pub before: Text,
    /// What it is; of a list what was added.
    pub after: Text,
}

/// Something that was not read on both sides, of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Its layer.
    pub layer: Text,
    /// What.
    pub key: Text,
    /// On which side it was not read: `before`, `after` or `both`.
    pub side: &'static str,
    /// Why.
    pub why: Text,
}

/// How two fingerprints differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// What changed, from the wire up.
    pub changed: Vec<Changed>,
    /// What cannot be told.
    pub unread: Vec<Unread>,
    /// How many marks are the same.
    pub same: usize,
}

impl Fingerprint {
    /// Notes one thing, in place of what was known of it.
    pub fn note(&mut self, layer: &str, key: &str, mark: Mark) {
        self.layers.entry(Text::new(layer)).or_default().insert(Text::new(key), mark);
    }

    /// True if nothing at all was read.
    pub fn is_blank(&self) -> bool {
        self.layers.values().flat_map(BTreeMap::values).all(|mark| matches!(mark, Mark::NotRead(_)))
    }

    /// What changed from this one to another.
    pub fn changes(&self, after: &Self) -> Changes {
        let mut found = Changes::default();
        let names: BTreeSet<&Text> = self.layers.keys().chain(after.layers.keys()).collect();
        let mut names: Vec<&Text> = names.into_iter().collect();
        // Layers that this version does not know stand last.
        names.sort_by_key(|name| LAYERS.iter().position(|layer| *layer == name.as_str()).unwrap_or(LAYERS.len()));
        let nothing = BTreeMap::new();
        for layer in names {
            let (old, new) = (self.layers.get(layer).unwrap_or(&nothing), after.layers.get(layer).unwrap_or(&nothing));
            let keys: BTreeSet<&Text> = old.keys().chain(new.keys()).collect();
            for key in keys {
                compare(layer, key, old.get(key), new.get(key), &mut found);
            }
        }
        found
    }
}

fn compare(layer: &Text, key: &Text, was: Option<&Mark>, is: Option<&Mark>, found: &mut Changes) {
    let read = |mark: Option<&Mark>| match mark {
        None => Err(Text::new("it is not in the fingerprint")),
        Some(Mark::NotRead(why)) => Err(why.clone()),
        Some(mark) => Ok(mark.clone()),
    };
    let (before, after) = match (read(was), read(is)) {
        (Ok(before), Ok(after)) => (before, after),
        (before, after) => {
            let side = match (&before, &after) {
                (Err(_), Err(_)) => "both",
                (Err(_), Ok(_)) => "before",
                _ => "after",
            };
            let why = before.err().or(after.err()).unwrap_or_else(|| Text::new(NO_REASON));
            found.unread.push(Unread { layer: layer.clone(), key: key.clone(), side, why });
            return;
        }
    };
    let (before, after) = match (before, after) {
        (Mark::Listed(before), Mark::Listed(after)) => {
            let lacks = |one: &[Text], other: &[Text]| {
                let missing: Vec<&str> = one.iter().filter(|item| !other.contains(item)).map(Text::as_str).collect();
                missing.join("; ")
            };
            (lacks(&before, &after), lacks(&after, &before))
        }
        (before, after) => (before.words(), after.words()),
    };
    if before == after {
        found.same += 1;
        return;
    }
    let (before, after) = (Text::new(&before), Text::new(&after));
    found.changed.push(Changed { layer: layer.clone(), key: key.clone(), before, after });
}

impl Mark {
    /// What was read, in one line.
    fn words(&self) -> String {
        match self {
            Self::Said(text) => text.to_string(),
            Self::Listed(items) => items.iter().map(Text::as_str).collect::<Vec<_>>().join("; "),
            Self::NotRead(why) => format!("not read: {why}"),
        }
    }

    fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::NotRead(Text::new(NO_REASON)),
            Json::Bool(flag) => Self::Said(Text::new(if *flag { "yes" } else { "no" })),
            Json::Number(number) => Self::Said(Text::new(&number.to_string())),
            Json::String(text) => Self::Said(Text::new(text)),
            Json::Array(items) => Self::Listed(items.iter().map(|item| Text::new(&plain(item))).collect()),
            Json::Object(members) => {
                let text = |name: &str| members.get(name).and_then(Json::as_str);
                match text("state") {
                    None | Some("known") if members.contains_key("value") => {
                        Self::from_json(members.get("value").unwrap_or(&Json::Null))
                    }
                    _ => Self::NotRead(Text::new(text("why").unwrap_or(NO_REASON))),
                }
            }
        }
    }
}

fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Said(text) => text.serialize(serializer),
            Self::Listed(items) => items.serialize(serializer),
            Self::NotRead(why) => json!({"state": "not-read", "why": why}).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_json(&Json::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Fingerprint {
        serde_json::from_str(json).expect(json)
    }

    #[test]
    fn changes_are_told_by_layer_and_what_was_not_read_is_no_change() {
        let before = of(r#"{
            "guest": {"a: kernel": "6.1.0-57", "a: MTU": 1500, "a: perftest": null, "a: tuned": "", "a: irqbalance": true},
            "vm": {"a: VMX lines": ["memSize = 4096", "sched.cpu.latencySensitivity = normal"]},
            "host": {"host of a: build": {"state": "not-read", "why": "the host is no target"}, "host of a: firmware": "1"}
        }"#);
        let after = of(r#"{
            "guest": {"a: kernel": "6.1.0-57", "a: MTU": 600, "a: perftest": "4.5", "a: irqbalance": true, "a: tuned": "x"},
            "vm": {"a: VMX lines": ["memSize = 4096", "sched.cpu.latencySensitivity = high"]},
            "host": {"host of a: build": "24022510"}
        }"#);
        let found = before.changes(&after);
        let changed: Vec<String> = found
            .changed
            .iter()
            .map(|one| format!("{} {}: {} -> {}", one.layer, one.key, one.before, one.after))
            .collect();
        assert_eq!(
            changed,
            [
                "vm a: VMX lines: sched.cpu.latencySensitivity = normal -> sched.cpu.latencySensitivity = high",
                "guest a: MTU: 1500 -> 600",
                "guest a: tuned:  -> x",
            ]
        );
        let unread: Vec<String> =
            found.unread.iter().map(|one| format!("{} {} {}", one.key, one.side, one.why)).collect();
        assert_eq!(
            unread,
            [
                "host of a: build before the host is no target",
                "host of a: firmware after it is not in the fingerprint",
                "a: perftest before nobody says why",
            ]
        );
        assert_eq!(found.same, 2);
        assert!(before.changes(&before).changed.is_empty());
    }

    #[test]
    fn documents_come_back_as_they_were() {
        let mut made = Fingerprint::default();
        made.note("guest", "a: kernel", Mark::Said(Text::new("6.1")));
        made.note("vm", "a: lines", Mark::Listed(vec![Text::new("x = 1")]));
        made.note("host", "a: build", Mark::NotRead(Text::new("no login")));
        let json = serde_json::to_string(&made).expect("a document");
        assert_eq!(of(&json), made);
        assert!(!made.is_blank() && Fingerprint::default().is_blank());
    }

    #[test]
    fn hostile_words_are_cleaned_and_odd_values_survived() {
        let found = of(
            r#"{"guest": {"k\u001b[2J": "v\u001b]0;x\u0007", "o": {"value": 3}, "n": {"state": "lost"}, "l": [1, {"a": 2}]}}"#,
        );
        let marks: Vec<(&Text, &Mark)> = found.layers.values().flatten().collect();
        assert!(
            marks.iter().all(|(key, mark)| !format!("{key}{}", mark.words()).chars().any(char::is_control)),
            "{marks:?}"
        );
        assert!(
            marks.iter().any(|(key, mark)| key.as_str() == "o" && **mark == Mark::Said(Text::new("3"))),
            "{marks:?}"
        );
    }
}
