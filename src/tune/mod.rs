//! Tuning without I/O: honest comparisons of measurements, baselines with the fingerprint of what they were measured on,
//! and how well a program scales.

pub mod baseline;
pub mod compare;
pub mod fingerprint;
pub mod scaling;
pub mod settings;
