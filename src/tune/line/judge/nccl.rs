//! Variables of NCCL.

use super::super::Verdict;
use super::{Said, Seen};
use crate::tune::advice::{Adapter, Port};
use crate::tune::nccl::{GONE, KNOWN, takes};

const GUIDE: &str = "NVIDIA NCCL user guide: environment variables";

impl Seen<'_> {
    pub(super) fn of_nccl(&self, name: &str, value: &str) -> Said {
        match name {
            "NCCL_IB_DISABLE" if value == "1" && self.has_rdma() => {
                let reason = "keeps NCCL off RDMA: it goes over TCP sockets (\"NET/Socket\" in its log), whatever adapter there is";
                Said::new(Verdict::Opposite, reason, GUIDE).instead("leave it out")
            }
            "NCCL_IB_HCA" => self.adapters(value),
            "NCCL_SOCKET_IFNAME" => self.sockets(value),
            "NCCL_IB_GID_INDEX" => self.gid_index(name, value, GUIDE),
            "NCCL_NET_GDR_LEVEL" | "NCCL_NET_GDR_READ" if self.any(Adapter::Pvrdma) => {
                let reason = "PVRDMA has no GPUDirect RDMA at all: its driver registers no memory of other devices, whatever level is set";
                Said::new(Verdict::Harmless, reason, "Linux pvrdma_main.c (no reg_user_mr_dmabuf)")
                    .instead("leave it out")
            }
            _ => {
                if let Some((_, since, instead)) = GONE.iter().find(|(gone, ..)| *gone == name) {
                    return Said::new(Verdict::Gone, format!("gone since NCCL {since}"), GUIDE).instead(*instead);
                }
                if KNOWN.contains(&name) {
                    return Said::new(Verdict::Fine, "NCCL has this variable", GUIDE);
                }
                Said::new(
                    Verdict::Unknown,
                    "not in our catalogue; NCCL ignores what it does not know, in silence",
                    GUIDE,
                )
            }
        }
    }

    fn adapters(&self, value: &str) -> Said {
        for side in self.sides.iter().filter(|side| !side.ports.is_empty()) {
            if side.ports.iter().any(|port| takes(value, &port.device)) {
                continue;
            }
            let names: Vec<String> = side.ports.iter().map(Port::name).collect();
            let instead = side.port(self.sides).map(|port| format!("NCCL_IB_HCA=={}", port.name())).unwrap_or_default();
            let reason = format!(
                "matches no RDMA device of {}, which has {}: NCCL goes over TCP sockets there, in silence",
                side.guest,
                names.join(", ")
            );
            return Said::new(Verdict::WrongName, reason, GUIDE).instead(instead);
        }
        if !self.has_rdma() {
            return Said::new(Verdict::Unknown, "no RDMA device is known on all of these guests", GUIDE);
        }
        Said::new(Verdict::Fine, "matches a device on every guest", GUIDE)
    }

    fn sockets(&self, value: &str) -> Said {
        let mut is_known = false;
        for side in self.sides.iter().filter(|side| !side.interfaces.is_empty()) {
            is_known = true;
            let names: Vec<&str> = side.interfaces.iter().map(|(name, _)| name.as_str()).collect();
            if names.iter().any(|name| takes(value, name)) {
                continue;
            }
            let instead = side
                .port(self.sides)
                .and_then(|port| port.netdev.clone())
                .map(|name| format!("NCCL_SOCKET_IFNAME=={name}"));
            let reason = format!(
                "matches no interface of {}, which has {}: NCCL ends with \"no socket interface found\"",
                side.guest,
                names.join(", ")
            );
            return Said::new(Verdict::WrongName, reason, GUIDE).instead(instead.unwrap_or_default());
        }
        if is_known {
            Said::new(Verdict::Fine, "matches an interface on every guest", GUIDE)
        } else {
            Said::new(Verdict::Unknown, "the interfaces of these guests were not read", GUIDE)
        }
    }
}
