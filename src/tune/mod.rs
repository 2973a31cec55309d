//! What makes a job or a test fast, without I/O: which command line and environment suit a very pair of guests, what an
//! existing one does there, what a job that ran has really used; what a benchmark between two guests runs, loads and can
//! reach at most; honest comparisons of measurements, baselines with the fingerprint of what they were measured on, and how
//! well a program scales.

pub mod advice;
pub mod baseline;
pub mod bench;
pub mod compare;
pub mod fingerprint;
pub mod line;
pub mod mpi;
pub mod nccl;
pub mod numa;
pub mod scaling;
pub mod settings;
pub mod ucx;
