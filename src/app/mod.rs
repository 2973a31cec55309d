//! The console without a terminal: model, messages, update, effects, actions.

pub mod action;
pub mod changes;
pub mod condition;
pub mod connection;
pub mod context;
pub mod effect;
pub mod events;
pub mod evidence;
pub mod filter;
pub mod format;
pub mod guest_link;
pub mod live;
pub mod message;
pub mod mode;
pub mod model;
pub mod prompt;
pub mod raw;
pub mod screen;
pub mod secret;
pub mod selection;
pub mod tree;
pub mod update;

pub use connection::{Connection, Problem};
pub use effect::Effect;
pub use message::{Edit, Message, Severity};
pub use mode::{Control, Mode, Replay};
pub use model::{Model, Options, Target, TargetKind};
pub use prompt::{Answer, Prompt, PromptKind, SecretKind, SecretRequest, UnknownHostKey};
pub use secret::Secret;
pub use update::update;
