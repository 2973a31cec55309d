//! A machine hangs.

use super::{Fault, Of};

pub(super) const FAULT: Fault = Fault {
    name: "hang",
    title: "target hangs",
    description: "The machine takes every byte and answers none, on old connections and on new ones, as a kernel that \
                  hangs does",
    of: Of::All,
    lasts: true,
    act: |host, on| host.change_line(|line| line.silent = on),
};
