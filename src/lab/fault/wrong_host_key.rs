//! Somebody else answers in the place of a machine.

use super::{Fault, Of};

pub(super) const FAULT: Fault = Fault {
    name: "wrong-host-key",
    title: "wrong host key",
    description: "Connections end, and the next one is answered by another host key than the recorded one: it must be \
                  refused, for somebody may sit in between",
    of: Of::All,
    lasts: true,
    act: |host, on| {
        host.change_line(|line| {
            line.foreign_key = on;
            line.cut_connections();
        });
    },
};
