//! Says of each item that a text gives what it does between some guests.

mod launcher;
mod nccl;
#[cfg(test)]
pub(super) mod tests;
mod ucx;

use super::read::{Given, How, read};
use super::{Comment, Verdict};
use crate::tune::advice::{Adapter, Entry, Port, Side};
use crate::tune::mpi::Release;
use crate::tune::{mpi, ucx as of_ucx};

/// What is said of one value, before it has a place.
struct Said {
    verdict: Verdict,
    reason: String,
    source: &'static str,
    instead: String,
}

impl Said {
    fn new(verdict: Verdict, reason: impl Into<String>, source: &'static str) -> Self {
        Self { verdict, reason: reason.into(), source, instead: String::new() }
    }

    fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead = instead.into();
        self
    }
}

/// What every question is asked of.
struct Seen<'a> {
    sides: &'a [Side],
    release: Release,
    items: &'a [Given],
}

/// Comments on all items of a text, in their order, and at its end on what is missing.
pub fn judge(text: &str, sides: &[Side]) -> Vec<Comment> {
    let items = read(text);
    let seen = Seen { sides, release: Release::of(sides), items: &items };
    let mut comments: Vec<Comment> = items
        .iter()
        .map(|given| {
            let said = seen.said(given);
            Comment {
                line: given.line,
                written: given.written.clone(),
                verdict: said.verdict,
                reason: said.reason,
                source: said.source,
                instead: said.instead,
            }
        })
        .collect();
    comments.extend(seen.missing());
    comments
}

impl Seen<'_> {
    fn said(&self, given: &Given) -> Said {
        match given.how {
            How::Parameter => self.parameter(&given.name, &given.value),
            How::Option => self.option(&given.name, &given.value),
            How::Strange => Said::new(
                Verdict::Unknown,
                "this option of the launcher is not in our catalogue; mpirun --help all lists those of this release",
                "Open MPI mpirun(1)",
            ),
            How::Slurm => Self::slurm(&given.name, &given.value),
            How::Passed => self.passed(&given.name),
            How::Variable | How::Exported => self.variable(&given.name, &given.value),
        }
    }

    fn variable(&self, name: &str, value: &str) -> Said {
        if name.starts_with("UCX_") {
            self.of_ucx(name, value)
        } else if name.starts_with("NCCL_") {
            self.of_nccl(name, value)
        } else if name.starts_with("PRTE_MCA_") || name.starts_with("PMIX_MCA_") {
            if self.release == Release::Five {
                Said::new(Verdict::Fine, "a parameter of the launcher of Open MPI 5", "PRRTE prterun(1)")
            } else {
                Said::new(
                    Verdict::Gone,
                    "Open MPI 4.1 has no PRRTE, which takes these since 5.0; here they do nothing",
                    "PRRTE prterun(1)",
                )
            }
        } else {
            Said::new(
                Verdict::Unknown,
                "not in our catalogue; ompi_info --all lists the parameters of this release",
                "Open MPI ompi_info(1)",
            )
        }
    }

    /// `-x NAME`: exported as it is set where the launcher runs.
    fn passed(&self, name: &str) -> Said {
        let source = "Open MPI mpirun(1): -x";
        let first = self.sides.first();
        if let Some(value) = first.and_then(|side| side.variables.get(name)) {
            let said = self.variable(name, value);
            return Said { reason: format!("it is {value} in this login: {}", said.reason), ..said };
        }
        let is_given = self.items.iter().any(|given| given.how == How::Variable && given.name == name);
        if is_given || !["UCX_", "NCCL_", "OMPI_"].iter().any(|begin| name.starts_with(begin)) {
            return Said::new(Verdict::Fine, "exports the variable as it is set where the launcher runs", source);
        }
        Said::new(Verdict::Harmless, "the variable is not set in this login, so that nothing is exported", source)
            .instead(format!("-x {name}=VALUE"))
    }

    /// The value that the text itself gives something, the last one.
    fn given(&self, name: &str) -> Option<&str> {
        self.items
            .iter()
            .rev()
            .find(|given| given.name == name && given.how != How::Option)
            .map(|given| given.value.as_str())
    }

    /// The port of each guest that a job would take.
    fn ports(&self) -> impl Iterator<Item = (&Side, &Port)> {
        self.sides.iter().filter_map(|side| Some((side, side.port(self.sides)?)))
    }

    fn has_rdma(&self) -> bool {
        !self.sides.is_empty() && self.ports().count() == self.sides.len()
    }

    fn all(&self, adapter: Adapter) -> bool {
        self.has_rdma() && self.ports().all(|(_, port)| port.adapter == adapter)
    }

    fn any(&self, adapter: Adapter) -> bool {
        self.ports().any(|(_, port)| port.adapter == adapter)
    }

    /// The kind of adapter in words, for sentences.
    fn adapter(&self) -> &'static str {
        self.ports().next().map_or("no RDMA port", |(_, port)| port.adapter.words())
    }

    /// A GID index that a variable names, on all guests.
    fn gid_index(&self, name: &str, value: &str, source: &'static str) -> Said {
        if matches!(value, "auto" | "-1") {
            return Said::new(Verdict::Fine, "the program looks for the entry itself", source);
        }
        let Ok(index) = value.parse::<u32>() else {
            return Said::new(Verdict::WrongName, format!("{value} is no index of a table"), source);
        };
        let mut checked = 0;
        for (side, port) in self.ports().filter(|(_, port)| !port.is_infiniband && !port.gids.is_empty()) {
            checked += 1;
            let best = port.gid();
            let better = || best.map(|best| format!("{name}={}", best.index)).unwrap_or_default();
            match port.gids.iter().find(|entry| entry.index == index) {
                None => {
                    let reason = format!("{} of {} has no entry at index {index}", port.name(), side.guest);
                    return Said::new(Verdict::WrongName, reason, source).instead(better());
                }
                Some(Entry { is_v2_of_ipv4: false, words, .. }) if best.is_some() => {
                    let reason = format!(
                        "index {index} of {} on {} is {words}, which is not routed and carries no class of traffic; a RoCE v2 entry with \
                         the IPv4 address is there, too",
                        port.name(),
                        side.guest
                    );
                    return Said::new(Verdict::Better, reason, source).instead(better());
                }
                Some(_) => {}
            }
        }
        if checked == 0 {
            return Said::new(Verdict::Unknown, "no table of GIDs was read on these guests: show_gids tells", source);
        }
        Said::new(Verdict::Fine, "the entry with the IPv4 address, or the best that there is, on all guests", source)
    }

    /// What a command that starts a job lacks.
    fn missing(&self) -> Vec<Comment> {
        let starts = self.items.iter().find(|given| given.how == How::Option || given.how == How::Parameter);
        let Some(first) = starts.filter(|_| self.items.iter().any(|given| given.how == How::Option)) else {
            return Vec::new();
        };
        let comment = |written: String, reason: String, source| Comment {
            line: first.line,
            written: "(missing)".to_owned(),
            verdict: Verdict::Better,
            reason,
            source,
            instead: written,
        };
        let mut found = Vec::new();
        let is_mlx = self.ports().all(|(_, port)| port.device.starts_with("mlx"));
        let in_login = |name: &str| {
            self.sides.first().is_some_and(|side| side.variables.contains_key(&format!("OMPI_MCA_{name}")))
        };
        if self.has_rdma()
            && !is_mlx
            && self.given("pml").is_none()
            && !in_login("pml")
            && self.given("opal_common_ucx_devices").is_none()
        {
            found.push(comment("--mca pml ucx".to_owned(), mpi::MUST_BE_ASKED_FOR.to_owned(), mpi::PML_SOURCE));
        }
        if self
            .given("UCX_TLS")
            .is_none_or(|tls| of_ucx::Asked::of(tls).over_rdma.iter().any(|one| one.starts_with("rc") || *one == "ib"))
            && let Some((reason, instead)) = self.short_queue()
            && !self.items.iter().any(|given| of_ucx::is_receive_queue(&given.name))
        {
            found.push(comment(format!("-x {instead}"), reason, "Linux pvrdma_srq.c; UCX src/uct/ib/rc/verbs"));
        }
        found
    }
}
