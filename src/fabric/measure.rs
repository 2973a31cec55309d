//! What is measured from moment to moment beside the counters of a guest: GPUs by NVML, `nvidia-smi` or DCGM, memory and
//! processors of hosts and VMs by `esxtop`, the balloon by VMware Tools. One closed list with one unit each, so that a
//! value means the same whoever read it, and the verdicts and graphs know it by name.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::entity::{Entity, EntityId, TargetId};
use super::fact::Fact;
use super::observation::Observation;
use super::series::{GaugeValue, SeriesKey};
use super::text::Text;

/// Unit of a measure's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureUnit {
    /// 0 to 100; some of `esxtop` pass 100, because they add up processors.
    Percent,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Bits per second.
    BitsPerSecond,
    /// Packets per second.
    PacketsPerSecond,
    /// Megahertz.
    Megahertz,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// A number of things, or of a state.
    Number,
    /// Things per second.
    PerSecond,
}

macro_rules! measures {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, $label:literal, $unit:ident;)*) => {
        /// One thing that is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Measure {
            $($(#[$meta])* #[serde(rename = $name)] $variant,)*
        }

        impl Measure {
            /// All of them, in the order of drawing.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of its series.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The words beside the value on the screen.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// The unit of its numbers.
            pub fn unit(self) -> MeasureUnit {
                match self { $(Self::$variant => MeasureUnit::$unit,)* }
            }
        }
    };
}

measures! {
    // GPUs and MIG instances.
    /// Share of time in which at least one kernel ran: says nothing of how much of the GPU worked. None with MIG.
    GpuUse = "gpu-use", "use", Percent;
    /// Share of time in which the memory of the GPU was read or written.
    GpuMemoryBusy = "gpu-memory-busy", "memory busy", Percent;
    /// Share of the multiprocessors that worked (DCGM 1002, GPM).
    SmActive = "sm-active", "SM active", Percent;
    /// Share of time in which any engine worked (DCGM 1001).
    GraphicsActive = "graphics-active", "engines active", Percent;
    /// Share of time in which the memory moved data (DCGM 1005).
    DramActive = "dram-active", "DRAM active", Percent;
    /// Share of time in which tensor cores worked (DCGM 1004).
    TensorActive = "tensor-active", "tensor active", Percent;
    /// Memory in use.
    GpuMemoryUsed = "gpu-memory-used", "memory", Bytes;
    /// Power drawn.
    Power = "power", "power", Watts;
    /// Clock of the multiprocessors.
    SmClock = "sm-clock", "SM clock", Megahertz;
    /// Clock of the memory.
    MemoryClock = "memory-clock", "memory clock", Megahertz;
    /// Temperature of the GPU.
    Temperature = "temperature", "temperature", Celsius;
    /// Temperature of its memory.
    MemoryTemperature = "memory-temperature", "memory temperature", Celsius;
    /// Sent to the host, by NVML (a window of 20 ms).
    PcieSent = "pcie-sent", "PCIe tx", BytesPerSecond;
    /// Received from the host, by NVML (a window of 20 ms).
    PcieReceived = "pcie-received", "PCIe rx", BytesPerSecond;
    /// Sent to the host with protocol headers, over the whole period (DCGM 1009).
    PcieSentWhole = "pcie-sent-whole", "PCIe tx, with headers", BytesPerSecond;
    /// Received from the host with protocol headers, over the whole period (DCGM 1010).
    PcieReceivedWhole = "pcie-received-whole", "PCIe rx, with headers", BytesPerSecond;
    /// Generation of the PCIe link at that moment.
    PcieGenerationNow = "pcie-generation-now", "PCIe gen", Number;
    /// Lanes of the PCIe link at that moment.
    PcieLanesNow = "pcie-lanes-now", "PCIe lanes", Number;
    /// Replays of the PCIe link.
    PcieReplayRate = "pcie-replay-rate", "PCIe replays", PerSecond;
    /// Sent over NVLink.
    NvLinkSent = "nvlink-sent", "NVLink tx", BytesPerSecond;
    /// Received over NVLink.
    NvLinkReceived = "nvlink-received", "NVLink rx", BytesPerSecond;
    /// What holds the clocks down, as NVML's bits: idle 1, application clocks 2, software power cap 4, hardware slowdown 8,
    /// sync boost 16, software thermal 32, hardware thermal 64, power brake 128, display 256.
    ClockReasonBits = "clock-reason-bits", "clocks held by", Number;

    // Hosts, by esxtop.
    /// State of the host's memory: 0 high, 1 clear, 2 soft, 3 hard, 4 low.
    MemoryState = "memory-state", "memory state", Number;
    /// Memory promised to VMs beyond what there is, mean of one minute; 0.5 is one half more.
    Overcommit = "overcommit", "overcommit", Number;
    /// Memory that is free on the host.
    HostMemoryFree = "host-memory-free", "memory free", Bytes;
    /// Memory that balloons took from all VMs.
    HostBalloon = "host-balloon", "balloon of all VMs", Bytes;
    /// Memory of VMs that lies in swap.
    HostSwapUsed = "host-swap-used", "swap of all VMs", Bytes;
    /// Read back from swap.
    HostSwapIn = "host-swap-in", "swap in", BytesPerSecond;
    /// Written to swap.
    HostSwapOut = "host-swap-out", "swap out", BytesPerSecond;
    /// Use of all processors.
    ProcessorUse = "processor-use", "CPU", Percent;

    // VMs (groups of esxtop), and guests by VMware Tools.
    /// Processor time, all virtual processors added.
    VmUsed = "vm-used", "CPU used", Percent;
    /// Time in which it was ready to run and got no processor, all virtual processors added.
    Ready = "ready", "ready", Percent;
    /// Time in which it was stopped because its processors must advance together.
    CoStop = "co-stop", "co-stop", Percent;
    /// Time in which its limit held it back.
    MaxLimited = "max-limited", "held by limit", Percent;
    /// Time in which it waited for swap.
    SwapWait = "swap-wait", "swap wait", Percent;
    /// Virtual processors.
    VmProcessors = "vm-processors", "virtual CPUs", Number;
    /// Memory of the VM.
    VmMemory = "vm-memory", "memory", Bytes;
    /// Memory that its balloon took.
    VmBalloon = "vm-balloon", "balloon", Bytes;
    /// Memory that its balloon is to take.
    VmBalloonTarget = "vm-balloon-target", "balloon target", Bytes;
    /// Memory of it that lies in swap.
    VmSwapped = "vm-swapped", "swapped", Bytes;
    /// Read back from swap for it.
    VmSwapIn = "vm-swap-in", "swap in", BytesPerSecond;
    /// Share of its memory that lies on its home nodes.
    NumaLocal = "numa-local", "NUMA local", Percent;
    /// Memory of it on other nodes.
    NumaRemote = "numa-remote", "NUMA remote", Bytes;
    /// Its home nodes as bits: node 0 is 1, node 1 is 2.
    HomeNodes = "home-nodes", "home nodes", Number;

    // Ports of virtual switches, by esxtop.
    /// Sent.
    PortSent = "port-sent", "tx", BitsPerSecond;
    /// Received.
    PortReceived = "port-received", "rx", BitsPerSecond;
    /// Sent packets that were dropped, in percent of all.
    PortSentDropped = "port-sent-dropped", "tx dropped", Percent;
    /// Received packets that were dropped, in percent of all.
    PortReceivedDropped = "port-received-dropped", "rx dropped", Percent;
}

impl Measure {
    /// The measure whose series has this name.
    pub fn from_name(name: &str) -> Option<Self> {
        // Each number of each row is looked up.
        static BY_NAME: LazyLock<BTreeMap<&'static str, Measure>> =
            LazyLock::new(|| Measure::ALL.iter().map(|measure| (measure.name(), *measure)).collect());
        BY_NAME.get(name).copied()
    }

    /// Its value of an entity. Give `None` only where the source was asked and has none now: that is a gap, never a zero.
    pub fn of(self, entity: &Entity, value: Option<f64>) -> GaugeValue {
        GaugeValue { entity: entity.clone(), name: Text::new(self.name()), value }
    }

    /// The key of its series of an entity.
    pub fn key(self, id: &EntityId) -> SeriesKey {
        SeriesKey { target: id.target.clone(), entity: id.entity.clone(), name: Text::new(self.name()) }
    }
}

/// What one stream measured at one moment. Other than a tick it replaces nothing and ends no series of other streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Where it was read.
    pub target: TargetId,
    /// When it was measured, by our own clock.
    pub at: Timestamp,
    /// The stream, as the source of its facts: `gpu.nvml`, `gpu.stream`, `esxi.esxtop`.
    pub stream: Text,
    /// Time between two of its rows, as they really come.
    pub period: Duration,
    /// The numbers. A series of this stream that is missing here has a gap now.
    pub gauges: Vec<GaugeValue>,
    /// States read in the same moment; they replace those that the stream told before.
    pub facts: Vec<Fact>,
    /// The raw row, where it is short enough to be kept as evidence.
    pub observation: Option<Arc<Observation>>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        let names: BTreeSet<_> = Measure::ALL.iter().map(|measure| measure.name()).collect();
        assert_eq!(names.len(), Measure::ALL.len());
        for &measure in Measure::ALL {
            assert_eq!(Measure::from_name(measure.name()), Some(measure));
            assert!(!measure.label().is_empty());
        }
        assert_eq!(Measure::from_name("no-such"), None);
    }
}
