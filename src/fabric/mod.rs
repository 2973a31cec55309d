//! What exists: entities, what is known of each, where it was read, and how counters move over time.
//!
//! Everything here is pure data and arithmetic. A parser makes [`Fact`]s out of [`Observation`]s; the [`Fabric`] is the
//! fold of all facts; [`SeriesStore`] is the fold of all samples.

pub mod attribute;
pub mod counter;
pub mod entity;
mod entity_key;
pub mod fact;
pub mod measure;
pub mod observation;
pub mod reading;
mod records;
pub mod series;
pub mod slow;
pub mod store;
pub mod text;
pub mod value;

pub use attribute::{Attribute, Unit};
pub use entity::{Entity, EntityId, TargetId};
pub use fact::{Fact, Report};
pub use jiff::Timestamp;
pub use measure::{Measure, Measured};
pub use observation::{Observation, ObservationRef, Outcome, SourceId};
pub use reading::{Reading, State};
pub use series::{Sample, SeriesKey, SeriesStore};
pub use slow::SlowStore;
pub use store::{Change, Fabric};
pub use text::Text;
pub use value::{Gid, GidType, LinkLayer, MacAddress, PhysicalState, PortState, QueuePairState, QueuePairType, Value};
