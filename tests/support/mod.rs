//! What the end-to-end tests are made of: a console in a real pseudo-terminal, an independent reader of the lab's
//! guests over the system's own `ssh`, the lab with its faults, and the words that the console is expected to show.
//!
//! Nothing here uses the library: what checks the program must not share its mistakes.

#![allow(dead_code, reason = "each test program uses its own part of this")]

pub mod document;
pub mod guest;
pub mod lab;
pub mod parse;
pub mod pty;
pub mod relay;
pub mod words;
