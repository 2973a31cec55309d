//! The GPUs of this machine, read from a stand-in for NVIDIA's library: it has as many GPUs as a test wants, and each of its
//! calls fails in each way that real drivers know. It is compiled here from `tests/nvml/stand_in.c`; a test that stands on a
//! machine with GPUs disturbs none of them.

#[path = "nvml/broken.rs"]
mod broken;
#[path = "nvml/layout.rs"]
mod layout;
#[path = "nvml/live.rs"]
mod live;
#[path = "nvml/program.rs"]
mod program;
#[path = "nvml/readings.rs"]
mod readings;
#[path = "nvml/stand_in.rs"]
mod stand_in;
