//! A machine is slow.

use std::time::Duration;

use super::{Fault, Of};

/// How much longer each command takes. A first read of everything then takes about ten seconds.
const SLOWER_BY: Duration = Duration::from_millis(200);

pub(super) const FAULT: Fault = Fault {
    name: "slow",
    title: "target slow",
    description: "Every command takes a fifth of a second longer and every sample a second, as on a machine without a \
                  processor to spare",
    of: Of::All,
    lasts: true,
    act: |host, on| host.change_line(|line| line.slower_by = if on { SLOWER_BY } else { Duration::ZERO }),
};
