//! `/var/log/vmkernel.log`: what led to the state of a host. 8.0 puts severity and program before the place in the code.
//!
//! Source: published lines of both forms, and the captures of `vmkernel.log` with passthrough and hotplug lines. The lines of `nmlx5` beyond
//! those are UNSOURCED in their wording.

use jiff::{SignedDuration, Timestamp};

use super::super::machine::HostTrouble;
use super::state::{Release, State};

/// How bad a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Info,
    Warning,
    Alert,
}

/// The whole log. `began` is the wall clock at which the lab began.
pub fn vmkernel(state: &State, began: Timestamp) -> String {
    let mut text = String::new();
    let mut line = |seconds: i64, cpu: u32, level: Level, message: &str| {
        let at = began.checked_add(SignedDuration::from_secs(-seconds)).unwrap_or(began);
        let stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let world = 2_097_152 + cpu * 17;
        let (head, word) = match (state.release, level) {
            (Release::Seven, Level::Info) => (String::new(), ""),
            (Release::Seven, Level::Warning) => (String::new(), "WARNING: "),
            (Release::Seven, Level::Alert) => (String::new(), "ALERT: "),
            (Release::Eight, Level::Info) => ("In(182) vmkernel: ".to_owned(), ""),
            (Release::Eight, Level::Warning) => ("Wa(180) vmkwarning: ".to_owned(), "WARNING: "),
            (Release::Eight, Level::Alert) => ("Al(177) vmkalert: ".to_owned(), "ALERT: "),
        };
        text.push_str(&format!("{stamp} {head}cpu{cpu}:{world}){word}{message}\n"));
    };
    for function in
        state.functions.iter().filter(|function| function.module == Some("pciPassthru") && function.slot.is_some())
    {
        let address = function.address();
        line(
            517_300,
            98,
            Level::Info,
            &format!("PCIPassthru: 3873: pcipDevInfo(0x43174d483300) allocated for {address}"),
        );
    }
    if state.uplinks.iter().any(|uplink| uplink.rdma.is_some()) {
        line(517_250, 11, Level::Info, "nmlx5_rdma: nmlx5_RdmaAttachDevice:618: vmrdma0 attached to vmnic2");
    }
    line(90_000, 3, Level::Info, "SchedVsi: 1098: max memory of group 2101441 set");
    line(
        3_700,
        32,
        Level::Warning,
        "Vol3: 4678: Failed to refresh FS 5b645dbf descriptor: Device is permanently unavailable",
    );
    for trouble in &state.troubles {
        match trouble {
            HostTrouble::CeeMode => {
                line(
                    600,
                    24,
                    Level::Warning,
                    "<NMLX_WRN> nmlx5_core: vmnic2: DCBX mode changed to CEE, pfc is not in force",
                );
            }
            HostTrouble::HcaPassthrough => {
                line(600, 59, Level::Info, "PCIPassthru: 1750: Disable Domain for device 0000:5e:00.0");
            }
            HostTrouble::UplinkDown => {
                line(60, 24, Level::Warning, "<NMLX_WRN> nmlx5_core: vmnic2: link down");
                line(59, 66, Level::Alert, "<NMLX_ERR> nmlx5_coreQueryTir:268 command failed: IO was aborted");
            }
            _ => {}
        }
    }
    text
}
