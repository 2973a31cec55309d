//! SSH: placeholder of the transport's public face.

use super::{Asker, Exec, TransportError};
use crate::app::Problem;
use crate::config::openssh::HostSettings;
use crate::fabric::{TargetId, Text};

/// The way to a target.
#[derive(Clone, Debug)]
pub struct Route {
    /// Stops on the way, the target last.
    pub hops: Vec<HostSettings>,
}

/// A connection.
#[derive(Debug)]
pub struct Connected(std::convert::Infallible);

/// Why there is no connection.
#[derive(Debug)]
pub struct ConnectError;

/// Whether a further try is sensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// By itself, after a while.
    Automatic,
    /// Only when the user asks.
    OnlyWhenAsked,
}

/// Connects.
#[allow(clippy::unused_async)]
pub async fn connect(_target: &TargetId, _route: &Route, _asker: &Asker) -> Result<Connected, ConnectError> {
    Err(ConnectError)
}

impl Connected {
    /// Runs a command.
    #[allow(clippy::unused_async)]
    pub async fn exec(&self, _command: &str) -> Result<Exec, TransportError> {
        match self.0 {}
    }

    /// Waits until the connection ends.
    #[allow(clippy::unused_async)]
    pub async fn closed(&self) -> Text {
        match self.0 {}
    }

    /// True once it ended.
    pub fn is_closed(&self) -> bool {
        match self.0 {}
    }

    /// In words.
    pub fn described(&self) -> Text {
        match self.0 {}
    }

    /// Closes it.
    #[allow(clippy::unused_async)]
    pub async fn close(self) {
        match self.0 {}
    }
}

impl ConnectError {
    /// In sentences.
    pub fn problem(&self, target: &TargetId) -> Problem {
        Problem::new(&format!("{target} cannot be reached"), "", "")
    }

    /// Whether a further try is sensible.
    pub fn retry(&self) -> Retry {
        Retry::OnlyWhenAsked
    }
}
