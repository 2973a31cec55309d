//! Where the fabric keeps what is known: by target, and within it by entity. A look-up then compares the names of targets a
//! few times and not at each step on its way to the entity. In documents it is one flat map from entity ids, as ever.

use std::collections::BTreeMap;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::entity::{Entity, EntityId, TargetId};

/// Something known of each entity of each target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Records<T> {
    by_target: BTreeMap<TargetId, BTreeMap<Entity, T>>,
}

impl<T> Default for Records<T> {
    fn default() -> Self {
        Self { by_target: BTreeMap::new() }
    }
}

impl<T> Records<T> {
    /// What is known of an entity.
    pub(super) fn get(&self, id: &EntityId) -> Option<&T> {
        self.by_target.get(&id.target)?.get(&id.entity)
    }

    /// All that is known of a target, in the order of its entities; nothing of one that is not known.
    pub(super) fn of(&self, target: &TargetId) -> Option<&BTreeMap<Entity, T>> {
        self.by_target.get(target)
    }

    /// All that is known of a target, to be changed.
    pub(super) fn of_mut(&mut self, target: &TargetId) -> &mut BTreeMap<Entity, T> {
        self.by_target.entry(target.clone()).or_default()
    }

    /// Forgets a target.
    pub(super) fn forget(&mut self, target: &TargetId) {
        self.by_target.remove(target);
    }
}

/// An id that borrows its parts, in documents the same as [`EntityId`].
#[derive(Serialize)]
#[serde(rename = "EntityId")]
struct IdRef<'a> {
    target: &'a TargetId,
    entity: &'a Entity,
}

impl<T: Serialize> Serialize for Records<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.by_target.values().map(BTreeMap::len).sum();
        let mut map = serializer.serialize_map(Some(count))?;
        for (target, entities) in &self.by_target {
            for (entity, known) in entities {
                map.serialize_entry(&IdRef { target, entity }, known)?;
            }
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Records<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Flat<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Flat<T> {
            type Value = Records<T>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a map from entity ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut records = Records::default();
                while let Some((id, known)) = map.next_entry::<EntityId, T>()? {
                    records.of_mut(&id.target).insert(id.entity, known);
                }
                Ok(records)
            }
        }

        deserializer.deserialize_map(Flat(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_documents_they_are_a_flat_map() {
        let mut records: Records<u32> = Records::default();
        let mut flat: BTreeMap<EntityId, u32> = BTreeMap::new();
        for (number, (target, entity)) in
            [("b", Entity::Guest), ("a", Entity::port("rxe0", 1)), ("a", Entity::Guest), ("ab", Entity::Host)]
                .into_iter()
                .enumerate()
        {
            let (target, number) = (TargetId::new(target), u32::try_from(number).expect("small"));
            flat.insert(EntityId::new(&target, entity.clone()), number);
            records.of_mut(&target).insert(entity, number);
        }
        let bytes = rmp_serde::to_vec(&records).expect("serialised");
        assert_eq!(bytes, rmp_serde::to_vec(&flat).expect("serialised"));
        assert_eq!(rmp_serde::to_vec_named(&records).ok(), rmp_serde::to_vec_named(&flat).ok());
        assert_eq!(rmp_serde::from_slice::<Records<u32>>(&bytes).expect("read again"), records);
        for (id, number) in &flat {
            assert_eq!(records.get(id), Some(number));
        }
        records.forget(&TargetId::new("a"));
        assert_eq!(records.of(&TargetId::new("a")), None);
        assert_eq!(records.of_mut(&TargetId::new("b")).len(), 1);
    }
}
