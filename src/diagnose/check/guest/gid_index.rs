//! The place in the GID table that programs are told to use, or that they find themselves.

use super::ask::{self, Facing, GidEntry};
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// The index in use is filled, and the same thing on both sides.
pub const CHECK: Check = Check {
    id: "guest.gid-index",
    title: "The GID index in use is filled, and stands for the same type on both sides of a pair",
    gate: "guests whose login sets UCX_IB_GID_INDEX or NCCL_IB_GID_INDEX, and pairs with RoCE ports",
    rule: "fails if the index set is empty in the table, or if the two sides of a pair have other types at their index; warns if it is a link-local or RoCE v1 entry while \
           a RoCE v2 entry with an IPv4 address is there; informs if the right index differs between the sides",
    source: Source {
        text: "openucx/ucx issues 2434 and 6000; perftest issue 44; captures of perftest with an empty index",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.queue-pairs", "guest.transport"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const VARIABLES: [&str; 2] = ["UCX_IB_GID_INDEX", "NCCL_IB_GID_INDEX"];

/// The index that a variable of the login sets.
fn set(scene: &Scene<'_>, guest: &TargetId, variable: &str) -> Option<u32> {
    ask::variable(scene, guest, variable)?.trim().parse().ok()
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all = Vec::new();
    for guest in scene.guests() {
        let ports: Vec<Port> =
            scene.ports(guest).into_iter().filter(|port| !port.is_infiniband && ask::is_in_use(scene, port)).collect();
        for variable in VARIABLES {
            if let Some(index) = set(scene, guest, variable) {
                all.extend(ports.iter().map(|port| judge_set(scene, port, variable, index)));
            }
        }
    }
    for pair in ask::facing(scene) {
        match pair {
            Ok(pair) if pair.one.is_infiniband || pair.other.is_infiniband => {}
            Ok(pair) => all.extend(judge_pair(scene, &pair)),
            Err(unknown) => all.push(*unknown),
        }
    }
    all
}

fn judge_set(scene: &Scene<'_>, port: &Port, variable: &str, index: u32) -> Judged {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let entries = ask::gids(scene, port);
    let id = ask::variable_id(guest, variable);
    if entries.is_empty()
        && let Some((lack, why)) = ask::gids_unread(scene, port)
    {
        let decide = format!("cat /sys/class/infiniband/{}/ports/*/gids/{index}", port.device.entity.name());
        return Judged::unknown(&id, lack, format!("{guest}: the GID table of {name}: {why}"), decide);
    }
    let best = entries.iter().find(|entry| entry.is_v2_of_ipv4());
    let cured = |judged: Judged| match best {
        Some(best) => judged.cured_by(correct(variable, index, best)),
        None => judged.decided_by("the check guest.gid-table: no entry of the table is RoCE v2 with an IPv4 address"),
    };
    let Some(entry) = entries.iter().find(|entry| entry.index == index) else {
        let judged = Judged::fail(
            &id,
            Confidence::Proved,
            format!("{guest}: {variable} names GID index {index}, which is empty on {name}"),
            "a queue pair with an empty GID cannot be brought to RTR: every connection of a program that obeys the variable fails",
        )
        .shown(&id, Attribute::VariableValue, format!("{variable} is {index}"));
        let judged = match entries.last() {
            Some(last) => judged.shown(
                &last.id,
                Attribute::GidValue,
                format!("the last filled entry of {name} is {}", last.index),
            ),
            None => judged,
        };
        return cured(judged).reaching(ask::here(scene, port));
    };
    if entry.is_v2_of_ipv4() || best.is_none() {
        return Judged::pass(&id, format!("{guest}: {variable} names {}", entry.words()));
    }
    cured(
        Judged::warn(
            &id,
            Confidence::Proved,
            format!("{guest}: {variable} names GID index {index}, which is {}", entry.words()),
            "the entry works between two ports of one link at best: it is not routed and carries no class of traffic; a RoCE v2 \
             entry with the IPv4 address is in the table too",
        )
        .shown(&id, Attribute::VariableValue, format!("{variable} is {index}"))
        .shown(&entry.id, Attribute::GidValue, entry.words()),
    )
    .reaching(ask::here(scene, port))
}

fn correct(variable: &str, index: u32, best: &GidEntry) -> Cure {
    Cure::by_hand(
        "Set the index of the RoCE v2 entry",
        vec![Step::ByHand(format!(
            "where {variable}={index} is set (profile of the login, job script, mpirun -x): {variable}={}, or leave it out so that the program looks itself",
            best.index
        ))],
    )
    .verified_by(&["guest.gid-index"])
}

fn judge_pair(scene: &Scene<'_>, pair: &Facing) -> Vec<Judged> {
    let mut all = Vec::new();
    let (ones, others) = (ask::gids(scene, &pair.one), ask::gids(scene, &pair.other));
    let at =
        |entries: &[GidEntry], index: Option<u32>| entries.iter().find(|entry| Some(entry.index) == index).cloned();
    let mut is_set = false;
    for variable in VARIABLES {
        let indices = [set(scene, &pair.one.id.target, variable), set(scene, &pair.other.id.target, variable)];
        is_set |= indices.iter().any(Option::is_some);
        let (Some(one), Some(other)) = (at(&ones, indices[0]), at(&others, indices[1])) else { continue };
        let family = |entry: &GidEntry| (entry.kind.clone(), entry.gid.ipv4().is_some());
        if family(&one) != family(&other) {
            let of = |port: &Port| -> EntityId { ask::variable_id(&port.id.target, variable) };
            all.push(
                Judged::fail(
                    &pair.one.id,
                    Confidence::Proved,
                    format!("{}: {variable} stands for another kind of GID on each side", pair.names()),
                    "both ends of a connection must use the same version of RoCE and the same family of addresses",
                )
                .shown(&one.id, Attribute::GidValue, format!("{}: {}", pair.one.id.target, one.words()))
                .shown(&other.id, Attribute::GidValue, format!("{}: {}", pair.other.id.target, other.words()))
                .shown(&of(&pair.one), Attribute::VariableValue, "the index of the one side")
                .decided_by("the right index of each side: the check guest.gid-index informs of it")
                .reaching(pair.way(scene)),
            );
        }
    }
    let best = |entries: &[GidEntry]| entries.iter().find(|entry| entry.is_v2_of_ipv4()).cloned();
    let (Some(one), Some(other)) = (best(&ones), best(&others)) else { return all };
    if is_set || one.index == other.index {
        if all.is_empty() {
            all.push(Judged::pass(
                &pair.one.id,
                format!("{}: the GID index is {} and {}", pair.names(), one.index, other.index),
            ));
        }
        return all;
    }
    all.push(
        Judged::info(
            &pair.one.id,
            format!("{}: the RoCE v2 entry stands at index {} and {}", pair.names(), one.index, other.index),
            "a program that is given one index for both sides uses a wrong entry on one of them: give each its own (perftest: -x)",
        )
        .shown(&one.id, Attribute::GidValue, one.words())
        .shown(&other.id, Attribute::GidValue, other.words()),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::finding::Status;

    fn index(site: Site, name: &str, value: &str) -> Site {
        site.replacing(
            name,
            "linux.environment",
            "UCX_NET_DEVICES=",
            &format!("UCX_IB_GID_INDEX={value}\nUCX_NET_DEVICES="),
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || index(Site::sound(), "pv-a", "7"),
        healthy: || index(Site::sound(), "pv-a", "1"),
        unclear: || Site::sound().silent("pv-b", "no route to host"),
    };

    #[test]
    fn an_index_of_a_link_local_entry_is_warned_of() {
        let site = index(index(Site::sound(), "pv-a", "0"), "pv-b", "0");
        let judged = site.judge(&CHECK);
        assert_eq!(judged.iter().filter(|judged| judged.status == Status::Warn).count(), 2, "{judged:#?}");
    }

    #[test]
    fn other_kinds_on_the_two_sides_fail() {
        let site = index(index(Site::sound(), "pv-a", "0"), "pv-b", "1");
        assert!(site.statuses(&CHECK).contains(&Status::Fail));
    }

    #[test]
    fn words_that_are_no_index_say_nothing() {
        let site = index(Site::sound(), "pv-a", "auto");
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }

    #[test]
    fn other_places_of_the_right_entry_are_told() {
        let moved = "/sys/class/infiniband/rxe0/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:c0a8:640b\n\
                     /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/3:RoCE v2\n/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/3:eth1\n";
        let site = soft_roce(soft_roce(Site::new(), "rxe-a", 10), "rxe-b", 11).pair("rxe-a", "rxe-b");
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
        assert_eq!(site.with("rxe-b", says("linux.gids", moved)).statuses(&CHECK), [Status::Info]);
    }
}
