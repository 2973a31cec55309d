//! The program on two real guests with software RoCE: what it shows is compared, over the system's own `ssh`, with what
//! the guests' own tools say, and it is held to its word when links go down, logins hang, guests reboot and keys are
//! refused. The lab is built and started by `tests/soft-roce/up.sh`; without it these tests are skipped.

#![allow(clippy::print_stdout, reason = "what was measured or drawn at random stands beside a failure")]

mod support;

#[path = "soft_roce/bench.rs"]
mod bench;
#[path = "soft_roce/faults.rs"]
mod faults;
#[path = "soft_roce/live.rs"]
mod live;
#[path = "soft_roce/logins.rs"]
mod logins;
#[path = "soft_roce/readings.rs"]
mod readings;
#[path = "soft_roce/remedies.rs"]
mod remedies;
#[path = "soft_roce/tools.rs"]
mod tools;
#[path = "soft_roce/troubles.rs"]
mod troubles;
#[path = "soft_roce/tune.rs"]
mod tune;

use std::time::Duration;

/// What a deadline of behaviour gets on top where the guests are emulated on a busy computer.
const SLACK: Duration = Duration::from_secs(6);

/// How long a connection and the first reading may take on such a computer.
const START: Duration = Duration::from_mins(1);

/// How long a guest may take to boot.
const BOOT: Duration = Duration::from_mins(4);
