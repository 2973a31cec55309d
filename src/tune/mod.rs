//! What tuning rests on, without doing any of it: what a benchmark runs and between whom, and what its result is held
//! against.

pub mod bench;
