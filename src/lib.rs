//! rdmascope: a terminal console for RDMA and GPU passthrough in virtual machines on VMware vSphere.
//!
//! Read the crate as the floors of a house, ground floor first; each floor imports only from floors below it:
//!
//! | floor | folder | what it is for |
//! |---|---|---|
//! | 1 | [`fabric`] | what exists: guests, RDMA devices, ports, queue pairs, readings, observations, series |
//! | 2 | [`probe`] | how each fact is learned: what to read on a target, and the pure parser of what came back |
//! | 3 | [`config`] | settings, the inventory and OpenSSH's own settings, from text |
//! | 4 | [`tune`] | what a benchmark runs, between whom, and what its result is held against |
//! | 5 | [`diagnose`] | what is wrong and how that is known: rules, judgement of pasted text, the join of targets |
//! | 6 | [`app`] | the console without a terminal: model, messages, update, effects, actions |
//! | 7 | [`collect`] | the pollers and their transports (SSH, local) |
//! | 8 | [`record`] | recordings of a console, and their replay |
//! | 9 | [`engine`] | runs pollers, effects and the clock; used alike by screen, command line and tests |
//! | 10 | [`lab`] | the demo data centre behind a real SSH server |
//! | 11 | [`tui`] | the only folder that knows a terminal |
//! | 12 | [`cli`] | one file a subcommand |
//!
//! The first six floors are pure: no I/O, no clock, no runtime. `tests/architecture.rs` holds the crate to that.

pub mod app;
pub mod cli;
pub mod collect;
pub mod config;
pub mod diagnose;
pub mod engine;
pub mod fabric;
pub mod lab;
pub mod probe;
pub mod record;
pub mod tui;
pub mod tune;
