//! What can go wrong with the passed-through GPU of a guest. A guest without one suffers none of it.

use super::{Fault, Of};
use crate::lab::machine::GpuTrouble::{DoubleBit, MigPending, NarrowLink, Nouveau, OffTheBus, PcieSaturated, TooHot};
use crate::lab::machine::GuestTrouble::Gpu;
use crate::lab::machine::Trouble;

trouble!(
    PCIE_SATURATED,
    Of::Guests,
    Trouble::Guest(Gpu(PcieSaturated)),
    "gpu-pcie-saturated",
    "GPU waits for PCIe",
    "The GPU that works waits for what comes over its PCIe link, which is full: its multiprocessors rest most of the time"
);
trouble!(
    NARROW_LINK,
    Of::Guests,
    Trouble::Guest(Gpu(NarrowLink)),
    "gpu-narrow-link",
    "narrow PCIe link",
    "The link of the GPU that works has eight lanes of generation 3, also under load, and is full"
);
trouble!(
    TOO_HOT,
    Of::Guests,
    Trouble::Guest(Gpu(TooHot)),
    "gpu-too-hot",
    "GPU too hot",
    "The GPU that works is so hot that its own protection lowers the clocks to half"
);
trouble!(
    OFF_THE_BUS,
    Of::Guests,
    Trouble::Guest(Gpu(OffTheBus)),
    "gpu-off-the-bus",
    "GPU off the bus",
    "The GPU that works has fallen off the bus (Xid 79): nvidia-smi says that it is lost"
);
trouble!(
    DOUBLE_BIT,
    Of::Guests,
    Trouble::Guest(Gpu(DoubleBit)),
    "gpu-double-bit",
    "double-bit error",
    "An error of two bits in the memory of the GPU that works (Xid 48, 63): a row waits for a reset to be remapped"
);
trouble!(
    NOUVEAU,
    Of::Guests,
    Trouble::Guest(Gpu(Nouveau)),
    "gpu-nouveau",
    "nouveau holds the GPUs",
    "nouveau came before the driver of NVIDIA and has both GPUs: nvidia-smi finds no driver"
);
trouble!(
    MIG_PENDING,
    Of::Guests,
    Trouble::Guest(Gpu(MigPending)),
    "gpu-mig-pending",
    "MIG change pending",
    "MIG was switched on for the GPU that works, and nobody reset it since: the mode is not in force"
);
