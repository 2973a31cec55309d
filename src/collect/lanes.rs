//! How the sources of one batch are spread over shells that run side by side on an ESXi host. Each command there waits most
//! of a second for its interpreter and for the management agent, so that one after the other is what takes long.
//!
//! A host serves a few at a time without anybody noticing, and a connection has room for few: at most four shells, and one
//! only where there is little to read. Each takes some sources at a time, less and less towards the end, so that all are
//! done at about the same time; lists are read first, and what reads each thing of a list waits for it. What the host worked
//! is the sum of what its shells took, and is charged as such.

use std::collections::{BTreeMap, BTreeSet};

use crate::probe::dialect::posix::Listed;
use crate::probe::{Listing, MOST_ITEMS, Read, Source, Word};

/// The most shells that one batch runs on a host.
pub const MOST: usize = 4;

/// So many commands are worth a shell of their own.
const WORTH: usize = 2;

/// What a command of the agent weighs beside one that is none.
const BY_AGENT: usize = 16;

/// How many commands a listing is taken for, before anybody knows what there is.
const ITEMS: usize = 4;

/// The most that a shell takes at a time where there are several, in commands: who wants to run something else in between
/// waits for no more.
const MOST_TAKEN: usize = 6;

/// What a shell that is free does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It reads the sources at these places, in this order.
    Read(Vec<usize>),
    /// It waits: a list that all the rest needs is being read.
    Wait,
    /// There is nothing more.
    Done,
}

/// The sources of one batch that were not begun yet.
#[derive(Debug)]
pub struct Queue<'a> {
    sources: &'a [Source],
    shells: usize,
    /// Places of those that no shell has begun, in their order.
    waiting: Vec<usize>,
    /// Places of those that are being read and are lists.
    reading: BTreeSet<usize>,
}

impl<'a> Queue<'a> {
    /// All of them wait, for at most so many shells.
    pub fn new(sources: &'a [Source], most: usize) -> Self {
        let nothing = Listed::new();
        let commands: usize = sources.iter().map(|source| weight(source, &nothing) / BY_AGENT).sum();
        let shells = (commands / WORTH).clamp(1, most.max(1));
        Self { sources, shells, waiting: (0..sources.len()).collect(), reading: BTreeSet::new() }
    }

    /// How many shells are worth it.
    pub fn shells(&self) -> usize {
        self.shells
    }

    /// What a shell that is free does next, where these lists are known.
    pub fn next(&mut self, listed: &Listed) -> Next {
        if self.waiting.is_empty() {
            return Next::Done;
        }
        if self.shells == 1 {
            return Next::Read(std::mem::take(&mut self.waiting));
        }
        let mut lists: Vec<usize> =
            self.waiting.iter().copied().filter(|&place| self.is_wanted(place, listed)).collect();
        let mut seen = BTreeSet::new();
        lists.retain(|&place| seen.insert(self.list(place)));
        if !lists.is_empty() {
            lists.truncate(lists.len().div_ceil(self.shells));
            self.reading.extend(&lists);
            return self.take(lists);
        }
        let free: Vec<usize> = self.waiting.iter().copied().filter(|&place| !self.is_held_up(place, listed)).collect();
        let weights: BTreeMap<usize, usize> =
            self.waiting.iter().map(|&place| (place, weight(&self.sources[place], listed))).collect();
        let of = |place: &usize| weights.get(place).copied().unwrap_or_default();
        let Some(largest) = free.iter().copied().rev().max_by_key(of) else { return Next::Wait };
        let left: usize = self.waiting.iter().map(of).sum();
        // Near the end what takes longest is begun first; before that the order is the one that was asked for.
        let first = if left < 2 * self.shells * of(&largest) { largest } else { free[0] };
        let least = (WORTH * (BY_AGENT + 1)).min(left.div_ceil(self.shells));
        let most = (left / (2 * self.shells)).min(MOST_TAKEN * BY_AGENT).max(least);
        let mut own = vec![first];
        let mut taken = of(&first);
        let unknown = self.unknown(first, listed);
        for &place in free.iter().filter(|&&place| place != first) {
            // A list that nobody else reads is read once for all that need it.
            let is_same = unknown.is_some() && self.unknown(place, listed) == unknown;
            if is_same || taken + of(&place) <= most {
                own.push(place);
                taken += of(&place);
            }
        }
        self.take(own)
    }

    /// These, and what reads the same lists: a script runs the command of a list once.
    fn take(&mut self, mut own: Vec<usize>) -> Next {
        let lists: BTreeSet<usize> = own.iter().filter_map(|&place| self.list(place)).collect();
        let is_same = |&place: &usize| self.list(place).is_some_and(|list| lists.contains(&list));
        own.extend(self.waiting.iter().copied().filter(is_same));
        own.sort_unstable();
        own.dedup();
        self.waiting.retain(|place| !own.contains(place));
        Next::Read(own)
    }

    /// A shell is done with these.
    pub fn ended(&mut self, places: &[usize]) {
        self.reading.retain(|place| !places.contains(place));
    }

    /// The host allows no shell beside another: these are read by one that it allows, with all the rest.
    pub fn refused(&mut self, places: &[usize]) {
        self.ended(places);
        self.waiting.extend(places);
        self.waiting.sort_unstable();
        self.shells = 1;
    }

    /// What no shell has begun.
    pub fn left(&self) -> Vec<usize> {
        self.waiting.clone()
    }

    /// The list of which a source reads each thing, if it is not known.
    fn unknown(&self, place: usize, listed: &Listed) -> Option<usize> {
        let read = &self.sources[place].read;
        read.shared().filter(|shared| matches!(read, Read::Each { .. }) && !listed.contains_key(shared))
    }

    /// The list that a source reads itself.
    fn list(&self, place: usize) -> Option<usize> {
        let read = &self.sources[place].read;
        read.shared().filter(|_| !matches!(read, Read::Each { .. }))
    }

    /// True for a list that another source waits for.
    fn is_wanted(&self, place: usize, listed: &Listed) -> bool {
        let list = self.list(place);
        let is_read = self.reading.iter().any(|&other| self.list(other) == list);
        list.is_some() && !is_read && self.waiting.iter().any(|&other| self.unknown(other, listed) == list)
    }

    /// True for a source that needs a list which is being read.
    fn is_held_up(&self, place: usize, listed: &Listed) -> bool {
        let unknown = self.unknown(place, listed);
        unknown.is_some() && self.reading.iter().any(|&other| self.list(other) == unknown)
    }
}

/// What a source costs a shell, where these lists are known.
fn weight(source: &Source, listed: &Listed) -> usize {
    let by_agent = |argv: &[Word]| match argv.first() {
        Some(Word::Plain("esxcli" | "vim-cmd")) => BY_AGENT,
        _ => 0,
    };
    let items = |of: Listing, known: &str| of.names(known).len().min(MOST_ITEMS);
    let own = match &source.read {
        Read::Each { of, argv, .. } => match source.read.shared().map(|shared| listed.get(&shared)) {
            Some(Some(known)) => by_agent(argv) * items(*of, known),
            Some(None) => BY_AGENT + by_agent(argv) * ITEMS,
            None => by_agent(argv) * ITEMS,
        },
        Read::Command { argv, .. } | Read::Privileged { argv, .. } => by_agent(argv),
        Read::Files(_) | Read::ProcessFiles { .. } | Read::Environment(_) => 0,
    };
    own + 1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::esxi::PROBES;

    fn sources(names: &[&str]) -> Vec<Source> {
        let all = PROBES.iter().flat_map(|probe| probe.sources.iter().copied());
        all.filter(|source| names.is_empty() || names.contains(&source.name)).collect()
    }

    fn name(sources: &[Source], next: &Next) -> Vec<&'static str> {
        let Next::Read(places) = next else { panic!("{next:?}") };
        places.iter().map(|&place| sources[place].name).collect()
    }

    #[test]
    fn every_source_is_read_once_and_what_a_shell_takes_is_bounded() {
        let all = sources(&[]);
        let nics: Arc<str> = Arc::from("---\nvmnic0 x\nvmnic1 x\n");
        let listed: Listed = (0..crate::probe::SHARED.len()).map(|place| (place, Arc::clone(&nics))).collect();
        let mut queue = Queue::new(&all, MOST);
        assert_eq!(queue.shells(), MOST);
        let (mut read, mut last) = (Vec::new(), usize::MAX);
        loop {
            let places = match queue.next(&listed) {
                Next::Read(places) => places,
                Next::Done => break,
                Next::Wait => panic!("every list is known"),
            };
            assert!(places.is_sorted());
            // A list that several read is one command.
            let mut lists = BTreeSet::new();
            let counts = |&&place: &&usize| queue.list(place).is_none_or(|list| lists.insert(list));
            let taken: usize = places.iter().filter(counts).map(|&place| weight(&all[place], &listed)).sum();
            assert!(taken <= MOST_TAKEN * BY_AGENT, "{places:?}");
            queue.ended(&places);
            last = taken;
            read.extend(places);
        }
        assert!(last <= WORTH * BY_AGENT + 2, "little is taken at the end: {last}");
        read.sort_unstable();
        assert_eq!(read, (0..all.len()).collect::<Vec<_>>());
    }

    #[test]
    fn little_is_read_by_one_shell() {
        assert_eq!(Queue::new(&[], MOST).next(&Listed::new()), Next::Done);
        for (names, shells) in [
            (&["esxi.rdma-devices"][..], 1),
            (&["esxi.net-dvs-list", "esxi.rdma-devices", "esxi.rdma-vmknics"], 1),
            (&["esxi.rdma-devices", "esxi.nic-get"], 3),
        ] {
            let own = sources(names);
            let mut queue = Queue::new(&own, MOST);
            assert_eq!(queue.shells(), shells, "{names:?}");
            if shells == 1 {
                assert_eq!(queue.next(&Listed::new()), Next::Read((0..own.len()).collect()));
                assert_eq!(queue.next(&Listed::new()), Next::Done);
            }
        }
    }

    #[test]
    fn a_list_is_read_first_and_what_needs_it_waits() {
        let own = sources(&["esxi.nic-list", "esxi.nic-pause", "esxi.nic-get", "esxi.nic-dcb"]);
        let (mut queue, nothing) = (Queue::new(&own, MOST), Listed::new());
        let first = queue.next(&nothing);
        assert_eq!(name(&own, &first), ["esxi.nic-list"]);
        assert_eq!(name(&own, &queue.next(&nothing)), ["esxi.nic-pause"]);
        assert_eq!(queue.next(&nothing), Next::Wait);
        let listed: Listed = [(0, Arc::from("---\nvmnic0 x\nvmnic1 x\nvmnic2 x\n"))].into();
        assert_eq!(name(&own, &queue.next(&listed)), ["esxi.nic-get"]);
        // It could not be read: whoever needs it tries again, one shell for all.
        let Next::Read(places) = first else { panic!("it is read") };
        queue.ended(&places);
        assert_eq!(name(&own, &queue.next(&nothing)), ["esxi.nic-dcb"]);
        assert_eq!(queue.next(&nothing), Next::Done);
    }

    #[test]
    fn a_list_that_two_probes_read_is_read_by_one_shell() {
        let own = sources(&["esxi.pci-adapters", "esxi.nic-list", "esxi.nic-get", "esxi.nic-pause", "esxi.pci-list"]);
        let mut queue = Queue::new(&own, MOST);
        assert_eq!(name(&own, &queue.next(&Listed::new())), ["esxi.pci-adapters", "esxi.nic-list"]);
    }

    #[test]
    fn a_list_that_nobody_reads_is_read_by_one_shell_for_all() {
        let own = sources(&["esxi.nic-pause", "esxi.nic-get", "esxi.nic-dcb", "esxi.rdma-vmknics"]);
        let mut queue = Queue::new(&own, MOST);
        assert_eq!(name(&own, &queue.next(&Listed::new())), ["esxi.nic-get", "esxi.nic-dcb"]);
    }

    #[test]
    fn what_was_refused_is_read_by_one_shell_with_the_rest() {
        let own = sources(&[]);
        let mut queue = Queue::new(&own, MOST);
        let Next::Read(first) = queue.next(&Listed::new()) else { panic!("something") };
        let Next::Read(refused) = queue.next(&Listed::new()) else { panic!("something") };
        queue.refused(&refused);
        assert_eq!(queue.left().len(), own.len() - first.len());
        let Next::Read(rest) = queue.next(&Listed::new()) else { panic!("something") };
        assert_eq!(rest.len(), own.len() - first.len());
        assert_eq!((queue.next(&Listed::new()), queue.left()), (Next::Done, vec![]));
    }
}
