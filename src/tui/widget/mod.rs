//! Things to draw with that know nothing of the model.

pub mod graph;

pub use graph::{Ceiling, Form, Graph, GraphSeries};
