//! One value as it was read: known, or missing in one of several ways that must never look alike.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::observation::ObservationRef;
use super::text::Text;

/// What is known of one value. A missing value is never a zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State<T> {
    /// The value was read.
    Known(T),
    /// The source is there and holds nothing (an empty node description, a firmware version of zero length).
    Empty,
    /// The tool itself said that the value is not available (`N/A`).
    NotAvailable,
    /// This driver or device does not publish the value; says who does not.
    NotPublished(Text),
    /// The value exists but cannot be seen from here; says from where it could.
    NotObservable(Text),
    /// More privilege is needed; says what it would add.
    NeedsPrivilege(Text),
    /// The program that would tell is not installed; says which.
    NotInstalled(Text),
    /// Reading failed; says how.
    Failed(Text),
}

impl<T> State<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The name of the state as documents print it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Known(_) => "known",
            Self::Empty => "empty",
            Self::NotAvailable => "not-available",
            Self::NotPublished(_) => "not-published",
            Self::NotObservable(_) => "not-observable",
            Self::NeedsPrivilege(_) => "needs-privilege",
            Self::NotInstalled(_) => "not-installed",
            Self::Failed(_) => "failed",
        }
    }

    /// Why the value is missing, in words; `None` for a known one.
    pub fn why(&self) -> Option<String> {
        Some(match self {
            Self::Known(_) => return None,
            Self::Empty => "empty".to_owned(),
            Self::NotAvailable => "not available (the tool said N/A)".to_owned(),
            Self::NotPublished(by) => format!("not published by {by}"),
            Self::NotObservable(from) => format!("not observable: {from}"),
            Self::NeedsPrivilege(adds) => format!("needs privilege: {adds}"),
            Self::NotInstalled(program) => format!("{program} is not installed"),
            Self::Failed(reason) => format!("failed: {reason}"),
        })
    }

    /// The same state over another type; `convert` is applied to a known value only.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> State<U> {
        match self {
            Self::Known(value) => State::Known(convert(value)),
            Self::Empty => State::Empty,
            Self::NotAvailable => State::NotAvailable,
            Self::NotPublished(by) => State::NotPublished(by),
            Self::NotObservable(from) => State::NotObservable(from),
            Self::NeedsPrivilege(adds) => State::NeedsPrivilege(adds),
            Self::NotInstalled(program) => State::NotInstalled(program),
            Self::Failed(reason) => State::Failed(reason),
        }
    }
}

/// A state together with when and where it was read. Staleness is the view's business: it is `now - at`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading<T> {
    /// What was read.
    pub state: State<T>,
    /// When the read began, by our own clock.
    pub at: Timestamp,
    /// Which observation it came from.
    pub source: ObservationRef,
    /// The line of that observation's output, from 1; 0 when no single line says it.
    pub line: u32,
}
