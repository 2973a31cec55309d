//! Collecting: one supervisor a target, and the transports it reads through.
//!
//! A [`poller`] keeps one connection ([`link`]) up. Over it run the batches ([`rounds`]) and the stream of ticks
//! ([`sampler`]), side by side, or by turns where the target allows one channel only ([`turns`]).

pub mod backoff;
pub mod bench;
pub mod cadence;
pub mod change;
pub mod connectors;
pub mod esxcli;
pub mod esxtop;
pub mod governor;
pub mod gpus;
pub mod kind;
pub mod lanes;
pub mod lines;
pub mod link;
pub mod lists;
pub mod nvml;
pub mod outlet;
pub mod poller;
pub mod privilege;
pub mod process_group;
pub(crate) mod reason;
pub mod rhythm;
pub mod round;
pub mod rounds;
pub mod sampler;
pub mod schedule;
pub mod setback;
pub mod shell;
pub mod standing;
pub mod switch;
pub mod transport;
pub mod turns;
pub mod window;
pub mod work;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
