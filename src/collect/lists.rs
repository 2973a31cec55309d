//! What an ESXi host listed a moment ago: its adapters, RDMA devices, VMs, modules. Many sources run a command for each thing
//! of such a list. A shell is told the list that another one has just read, so that it need not ask the agent of the host
//! for it again, and it is known beforehand how many commands such a source is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::fabric::Outcome;
use crate::probe::dialect::posix::Listed;
use crate::probe::dialect::sections::Section;
use crate::probe::{Listing, Read, Source};

/// A list that is older is read again: something may have come or gone.
const FRESH: Duration = Duration::from_secs(30);

/// A list that is longer is not sent back: reading it again is less.
const LONGEST: usize = 64 * 1024;

/// The lists of one connection.
#[derive(Debug, Default)]
pub struct Lists(Mutex<BTreeMap<usize, (Instant, Arc<str>)>>);

impl Lists {
    fn all(&self) -> MutexGuard<'_, BTreeMap<usize, (Instant, Arc<str>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what a source said, if it reads a list; true if that list is known now.
    pub fn note(&self, source: &Source, section: &Section) -> bool {
        let (Read::Command { .. }, Some(place)) = (&source.read, source.read.shared()) else { return false };
        let text = std::str::from_utf8(&section.stdout).ok().filter(|text| text.len() <= LONGEST);
        let is_whole = section.outcome == Outcome::Exit(0) && section.cut == 0 && section.stderr.is_empty();
        let text = text.filter(|text| is_whole && !text.trim().is_empty() && !text.contains('\0'));
        let Some(text) = text else {
            self.all().remove(&place);
            return false;
        };
        // What must not be kept of it is not, if that leaves its names alone.
        let kept = source.read.masked(text);
        let is_same = |listing: Listing| listing.names(&kept) == listing.names(text);
        let is_kept =
            *kept == *text || [Listing::Vms, Listing::VmxFiles, Listing::VmDirectories].map(is_same) == [true; 3];
        if is_kept {
            self.all().insert(place, (Instant::now(), Arc::from(&*kept)));
        }
        is_kept
    }

    /// The lists that are fresh.
    pub fn known(&self) -> Listed {
        let all = self.all();
        let fresh = all.iter().filter(|(_, (at, _))| at.elapsed() <= FRESH);
        fresh.map(|(place, (_, text))| (*place, Arc::clone(text))).collect()
    }

    /// Somebody asked for a read: all of them are read again.
    pub fn forget(&self) {
        self.all().clear();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::probe::esxi::PROBES;

    fn source(name: &str) -> Source {
        let all = PROBES.iter().flat_map(|probe| probe.sources);
        *all.into_iter().find(|source| source.name == name).expect("there")
    }

    fn said(stdout: &str, status: i32) -> Section {
        let stdout = stdout.as_bytes().to_vec();
        Section {
            index: 0,
            outcome: Outcome::Exit(status),
            duration: None,
            stdout,
            stderr: vec![],
            cut: 0,
            command: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_known_for_a_while_and_until_somebody_asks() {
        let (lists, nics) = (Lists::default(), source("esxi.nic-list"));
        assert!(lists.note(&nics, &said("Name\n---\nvmnic0  x\n", 0)));
        assert_eq!(lists.known().get(&0).map(|text| &**text), Some("Name\n---\nvmnic0  x\n"));
        advance(FRESH + Duration::from_secs(1)).await;
        assert!(lists.known().is_empty());
        assert!(lists.note(&nics, &said("Name\n---\nvmnic0  x\n", 0)));
        lists.forget();
        assert!(lists.known().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_whole_list_is_none_and_makes_an_older_one_doubtful() {
        let (lists, nics) = (Lists::default(), source("esxi.nic-list"));
        let whole = said("Name\n---\nvmnic0  x\n", 0);
        let complaint = Section { stderr: b"hostd".to_vec(), ..whole.clone() };
        let cut = Section { cut: 1, ..whole.clone() };
        let bytes = Section { stdout: vec![0xff], ..whole.clone() };
        let long = Section { stdout: vec![b'x'; LONGEST + 1], ..whole.clone() };
        for wrong in [said("", 0), said("Name\n", 1), complaint, cut, bytes, long] {
            assert!(lists.note(&nics, &whole));
            assert!(!lists.note(&nics, &wrong), "{wrong:?}");
            assert!(lists.known().is_empty());
        }
        assert!(!lists.note(&source("esxi.nic-get"), &whole), "it reads each thing of a list");
        assert!(!lists.note(&source("esxi.rdma-vmknics"), &whole), "nobody else reads it");
    }

    #[tokio::test(start_paused = true)]
    async fn notes_of_vms_are_not_kept_and_their_names_are() {
        let text = "Vmid   Name   File                Guest OS   Version   Annotation\n\
                    1      a      [ds] a/a.vmx        other      vmx-19    the password is hunter2\n";
        let (lists, vms) = (Lists::default(), source("esxi.vm-list"));
        if lists.note(&vms, &said(text, 0)) {
            let known = lists.known();
            let kept = known.values().next().expect("it is known");
            assert!(!kept.contains("hunter2"), "{kept}");
            assert_eq!(Listing::VmxFiles.names(kept), Listing::VmxFiles.names(text));
        }
    }
}
