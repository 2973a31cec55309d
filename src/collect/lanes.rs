//! How the sources of one batch are spread over shells that run side by side on an ESXi host. Each command there waits most
//! of a second for its interpreter and for the management agent, so that one after the other is what takes long.
//!
//! A host serves a few at a time without anybody noticing, and a connection has room for few: at most three shells, and one
//! only where there is little to read. What the host worked is the sum of what its shells took, and is charged as such.

use super::governor;
use crate::probe::{Read, Source, Word};

/// The most shells that one batch runs on a host.
pub const MOST: usize = 3;

/// So many commands are worth a shell of their own.
const WORTH: u32 = 2;

/// What a command of the agent weighs beside one that is none.
const BY_AGENT: u32 = 16;

/// How many commands a listing is taken for, before anybody knows what there is.
const ITEMS: u32 = 4;

/// Places of sources, for each shell those that it reads, in their order.
pub fn spread(sources: &[Source]) -> Vec<Vec<usize>> {
    let commands: u32 = sources.iter().map(|source| weight(source, true) / BY_AGENT).sum();
    let shells = usize::try_from(commands / WORTH).unwrap_or(MOST).clamp(1, MOST);
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(weight(&sources[place], true)));
    let mut lanes: Vec<(u32, Vec<usize>)> = vec![(0, Vec::new()); shells];
    for place in order {
        let shared = sources[place].read.shared();
        let added = |(_, own): &(u32, Vec<usize>)| {
            let is_new = shared.is_none() || !own.iter().any(|&other| sources[other].read.shared() == shared);
            weight(&sources[place], is_new)
        };
        // The shell that is done first with it; work that is done twice counts twice.
        if let Some(lane) = lanes.iter_mut().min_by_key(|lane| lane.0 + 2 * added(lane)) {
            lane.0 += added(lane);
            lane.1.push(place);
        }
    }
    let mut lanes: Vec<Vec<usize>> =
        lanes.into_iter().map(|(_, places)| places).filter(|own| !own.is_empty()).collect();
    for places in &mut lanes {
        places.sort_unstable();
    }
    lanes.sort_unstable();
    lanes
}

/// What a source costs a shell; `lists` says whether the shell still has to run what several sources read.
fn weight(source: &Source, lists: bool) -> u32 {
    let by_agent = |argv: &[Word]| {
        if matches!(argv.first(), Some(Word::Plain("esxcli" | "vim-cmd"))) { BY_AGENT } else { 0 }
    };
    let listing = if lists && source.read.shared().is_some() { BY_AGENT } else { 0 };
    let own = match &source.read {
        Read::Each { argv, .. } => listing + by_agent(argv) * ITEMS,
        Read::Command { .. } if source.read.shared().is_some() => listing,
        Read::Command { argv, .. } | Read::Privileged { argv, .. } => by_agent(argv),
        Read::Files(_) | Read::ProcessFiles { .. } | Read::Environment(_) => 0,
    };
    own + 1
}

/// The most that one batch may read of a host where nobody minds how long it works, in commands.
pub const MOST_COST: usize = governor::MOST_COST * MOST;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::esxi::PROBES;

    fn sources(names: &[&str]) -> Vec<Source> {
        let all = PROBES.iter().flat_map(|probe| probe.sources.iter().copied());
        all.filter(|source| names.is_empty() || names.contains(&source.name)).collect()
    }

    #[test]
    fn every_source_is_read_once_and_no_shell_waits_long_for_the_others() {
        let all = sources(&[]);
        let lanes = spread(&all);
        assert_eq!(lanes.len(), MOST);
        let mut places: Vec<usize> = lanes.concat();
        places.sort_unstable();
        assert_eq!(places, (0..all.len()).collect::<Vec<_>>());
        let cost = |lane: &Vec<usize>| {
            let mut listed = std::collections::BTreeSet::new();
            let of = |&place: &usize| {
                let shared = all[place].read.shared();
                weight(&all[place], shared.is_none_or(|shared| listed.insert(shared)))
            };
            lane.iter().map(of).sum::<u32>() / BY_AGENT
        };
        let costs: Vec<u32> = lanes.iter().map(cost).collect();
        let (least, most) = (costs.iter().min().expect("some"), costs.iter().max().expect("some"));
        assert!(most - least <= ITEMS + 1, "{costs:?}");
        assert!(lanes.iter().all(|lane| lane.is_sorted()));
    }

    #[test]
    fn little_is_read_by_one_shell() {
        assert_eq!(spread(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(spread(&sources(&["esxi.rdma-devices"])), [[0]]);
        assert_eq!(spread(&sources(&["esxi.net-dvs-list", "esxi.rdma-devices", "esxi.rdma-vmknics"])), [[0, 1, 2]]);
        assert_eq!(spread(&sources(&["esxi.rdma-devices", "esxi.nic-get"])).len(), 2);
    }

    #[test]
    fn what_reads_the_same_list_is_read_by_the_same_shell_where_that_is_less() {
        let own = sources(&["esxi.nic-list", "esxi.pci-adapters", "esxi.rdma-devices", "esxi.rdma-vmknics"]);
        let lanes = spread(&own);
        let of = |name: &str| {
            let place = own.iter().position(|source| source.name == name).expect("there");
            lanes.iter().position(|lane| lane.contains(&place))
        };
        assert_eq!(of("esxi.nic-list"), of("esxi.pci-adapters"), "{lanes:?}");
    }
}
