//! A hop while it is made: what is drawn of it, the things that it stands for, and the numbers by which it is compared with
//! the rest of the way.

use std::collections::BTreeSet;

use super::{Hop, HopKind, Side, Trait};
use crate::diagnose::check::{Exhibit, Scene};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, EntityId, TargetId, Value};

/// A hop that is being made.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// What is drawn.
    pub(super) hop: Hop,
    /// The things that it stands for: what a check says of one of them it says of the hop.
    pub(super) things: BTreeSet<EntityId>,
    /// The longest packet that passes it, in bytes.
    pub(super) mtu: Option<u64>,
    /// Priorities with flow control; `None` where nothing tells.
    pub(super) lossless: Option<Vec<String>>,
    /// What it alone, or beside the rest of the way, is found to be: the property, how it stands, why.
    marks: Vec<(String, Status, String)>,
}

impl Draft {
    pub(super) fn new(kind: HopKind, side: Side, id: &EntityId, name: impl Into<String>) -> Self {
        let mut draft = Self::unknown(kind, side, &id.target, name, "", "");
        draft.hop.id = Some(id.clone());
        draft.hop.status = Status::Pass;
        draft.things.insert(id.clone());
        draft
    }

    /// A hop of which nothing is known: why, and what would tell.
    pub(super) fn unknown(
        kind: HopKind,
        side: Side,
        target: &TargetId,
        name: impl Into<String>,
        why: &str,
        decide: &str,
    ) -> Self {
        let why = if decide.is_empty() { why.to_owned() } else { format!("{why}; what would tell: {decide}") };
        Self {
            hop: Hop {
                kind,
                side,
                target: target.clone(),
                id: None,
                name: name.into(),
                state: "not known".to_owned(),
                traits: Vec::new(),
                status: Status::Unknown,
                why,
                evidence: Vec::new(),
            },
            things: BTreeSet::new(),
            mtu: None,
            lossless: None,
            marks: Vec::new(),
        }
    }

    /// Stands for this too.
    pub(super) fn covering(&mut self, thing: &EntityId) {
        self.things.insert(thing.clone());
    }

    /// A property as it is drawn.
    pub(super) fn says(&mut self, name: &'static str, value: impl Into<String>, from: Option<(&EntityId, Attribute)>) {
        let value = value.into();
        let exhibit = from.map(|(about, attribute)| Exhibit::of(about, attribute, format!("{name} {value}")));
        self.hop.traits.push(Trait { name, value, status: Status::Pass, exhibit });
    }

    /// A property of a thing, as `show` words it; where it is missing it is drawn empty.
    pub(super) fn shows(
        &mut self,
        scene: &Scene<'_>,
        name: &'static str,
        id: &EntityId,
        attribute: Attribute,
        show: impl Fn(&Value) -> String,
    ) {
        match scene.value(id, attribute) {
            Some(value) => self.says(name, show(value), Some((id, attribute))),
            None => self.hop.traits.push(Trait { name, value: String::new(), status: Status::Unknown, exhibit: None }),
        }
    }

    /// A property does not fit the rest of the way, or is not known: why, one sentence.
    pub(super) fn mark(&mut self, name: &str, status: Status, why: &str) {
        self.marks.push((name.to_owned(), status, why.to_owned()));
    }

    /// Applies all marks. What a check has found to be in order is not said to be otherwise.
    pub(super) fn apply_marks(&mut self, in_order: &[&str]) {
        for (name, status, why) in std::mem::take(&mut self.marks) {
            let status =
                if status == Status::Warn && in_order.contains(&name.as_str()) { Status::Info } else { status };
            if let Some(one) = self.hop.traits.iter_mut().find(|one| one.name == name) {
                if worse(status, one.status) {
                    one.status = status;
                }
                if status != Status::Info {
                    self.hop.evidence.extend(one.exhibit.clone());
                }
            }
            if status != Status::Info {
                self.judge(status, &why);
            }
        }
    }

    /// The hop stands so: why, one sentence. The worst stays.
    pub(super) fn judge(&mut self, status: Status, why: &str) {
        if worse(status, self.hop.status) {
            self.hop.status = status;
            why.clone_into(&mut self.hop.why);
        }
    }
}

/// From what is in order to what is broken.
fn weight(status: Status) -> u8 {
    match status {
        Status::Pass => 0,
        Status::Info => 1,
        Status::Unknown => 2,
        Status::Warn => 3,
        Status::Fail => 4,
    }
}

/// True if the one is graver than the other.
pub(super) fn worse(one: Status, other: Status) -> bool {
    weight(one) > weight(other)
}

/// Bits per second in short: `100G`, `2.5G`, `100M`.
pub(super) fn rate(bits: u64) -> String {
    if bits >= 1_000_000_000 {
        let tenths = bits / 100_000_000;
        if tenths.is_multiple_of(10) {
            format!("{}G", tenths / 10)
        } else {
            format!("{}.{}G", tenths / 10, tenths % 10)
        }
    } else {
        format!("{}M", bits / 1_000_000)
    }
}
