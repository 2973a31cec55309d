//! perftest (`ib_write_bw` and its kin): how one side of it is started and watched over, and what it prints, line by line.
//! The words of its banner and the titles of its columns are known here alone.

mod block;
mod read;
mod side;
mod table;

pub use block::{COUNTERS, Listens, PATIENCE_SECONDS, Side};
pub use read::{Item, Printed, Row};
pub use side::{Counters, Event, Reader};
pub use table::{BANNER, Column, Unit, banner, cells, columns, gid_of_decimals, title};
