//! What the modules for RDMA complain of in the VMkernel's log: activation, pairing, connections.

use super::bearing::carriers;
use super::messages::{of_host, quoted};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Entity, EntityId};

/// The log has no complaints.
pub const CHECK: Check = Check {
    id: "host.pvrdma-log",
    title: "The modules for RDMA complain of nothing in the VMkernel's log",
    gate: "hosts with a VM that has a PVRDMA adapter",
    rule: "warns if a module for RDMA (vrdma, nmlx5_rdma and others) wrote warnings or errors in the last day; passes if none did",
    source: Source {
        text: "no message of these modules is documented: module and severity are what counts",
        weak: true,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// How the modules name themselves. That of storage over RDMA speaks of its own targets.
const MODULES: [&str; 10] =
    ["vrdma", "VRDMA", "pvrdma", "vmrdma", "vmkrdma", "RDMACM", "nmlx5_rdma", "nmlx4_rdma", "bnxtroce", "irdman"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    carriers(scene)
        .iter()
        .map(|carrier| {
            let host = carrier.host;
            let id = EntityId::new(host, Entity::Host);
            let messages = match of_host(scene, host) {
                Ok(messages) => messages,
                Err((lack, why)) => {
                    let title = format!("what the modules for RDMA say on {host}: {why}");
                    return Judged::unknown(&id, lack, title, "grep -i rdma /var/log/vmkernel.log");
                }
            };
            let complaints: Vec<_> = messages
                .iter()
                .filter(|message| matches!(message.severity, "warning" | "error"))
                .filter(|message| MODULES.iter().any(|name| message.text.contains(name)) && !message.text.contains("nvmerdma"))
                .collect();
            let Some(last) = complaints.last() else {
                return Judged::pass(&id, format!("the modules for RDMA complain of nothing on {host}"));
            };
            let count = match complaints.len() {
                1 => "a complaint".to_owned(),
                many => format!("{many} complaints"),
            };
            Judged::warn(
                &id,
                Confidence::Possible,
                format!("{host}: vmkernel.log has {count} of the modules for RDMA in the last day"),
                format!("the last one says: {}. It may say why RDMA of {} fails", quoted(last.text), carrier.names(scene)),
            )
            .shown_by(complaints.iter().rev().take(3).map(|message| Exhibit::thing(&message.id, quoted(message.text))))
            .decided_by("the lines around these in /var/log/vmkernel.log, and whether they come again when a connection is tried")
            .reaching(carrier.way(scene))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        // No text of these modules is public; the form of the line is that of 8.x.
        trouble: || {
            log(
                "2026-11-24T12:54:18.973Z Wa(180) vmkwarning: cpu11:2097339)WARNING: vrdma: VRDMA_ActivateDevice:618: failed",
            )
        },
        healthy: || {
            log(
                "2026-11-24T12:54:18.973Z In(182) vmkernel: cpu11:2097339)nmlx5_rdma: nmlx5_RdmaAttachDevice:618: vmrdma0 \
                 attached to vmnic2",
            )
        },
        unclear: || {
            let no = "tail: can't open '/var/log/vmkernel.log': No such file or directory";
            Site::sound().with("esx02", fails("esxi.vmkernel-log-tail", 1, no))
        },
    };

    fn log(line: &str) -> Site {
        Site::sound().with("esx02", says("esxi.vmkernel-log-tail", &format!("{line}\n")))
    }

    #[test]
    fn storage_over_rdma_is_another_matter() {
        let reject = include_str!("../../../../tests/fixtures/esxi-logs/vmkernel-nvmerdma-reject.txt");
        let site = Site::sound().with("esx02", says("esxi.vmkernel-log-tail", reject));
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
