//! The connection to a machine is cut.

use super::{Fault, Of};

pub(super) const FAULT: Fault = Fault {
    name: "cut",
    title: "connection cut",
    description: "Every connection to the machine ends in the middle of whatever it does, and new ones are refused",
    of: Of::All,
    lasts: true,
    act: |host, on| {
        host.change_line(|line| {
            line.cut = on;
            if on {
                line.cut_connections();
            }
        });
    },
};
