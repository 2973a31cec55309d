//! A machine is booted anew.

use super::{Fault, Of};
use crate::lab::machine::Trouble;

pub(super) const FAULT: Fault = Fault {
    name: "reboot",
    title: "reboot",
    description: "The machine is booted anew: connections end, its port is closed for a while, then it answers with \
                  another boot id and counters from zero",
    of: Of::All,
    lasts: false,
    act: |host, on| {
        if !on {
            return;
        }
        host.machine().suffer(Trouble::Reboot, true);
        host.change_line(|line| {
            line.booting = true;
            line.cut_connections();
        });
        host.after_boot(|line| line.booting = false);
    },
};
