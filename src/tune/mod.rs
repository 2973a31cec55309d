//! What makes a job or a test fast, as far as that can be said without running one: which command line and environment suit
//! a very pair of guests, what an existing one does there, and what a job that ran has really used. All of it rests on
//! facts and on text that somebody gives; nothing is read here.

pub mod advice;
pub mod line;
pub mod mpi;
pub mod nccl;
pub mod numa;
pub mod ucx;
