//! The console without a terminal: model, messages, update, effects, actions.

pub mod connection;
pub mod effect;
pub mod message;
pub mod prompt;

pub use connection::{Connection, Problem};
pub use effect::Effect;
pub use message::{Edit, Message, Severity};
pub use prompt::{Prompt, PromptKind, UnknownHostKey};
