//! `mpirun` starts its daemons over SSH unless a scheduler does: from the node where it is called it must get into the others
//! without being asked anything.

use super::jobs::{open_mpi, system};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// SSH from node to node asks nothing.
pub const CHECK: Check = Check {
    id: "mpi.ssh-between-nodes",
    title: "SSH leads from node to node without a question",
    gate: "pairs of guests with Open MPI, each way",
    rule: "warns if no public key of the login on one node is among the keys let in on the other one, or if the other one's host \
           key is not known and SSH asks about such; informs where a scheduler starts jobs; unknown where the login has a private \
           key alone, whose public half is not read",
    source: Source { text: "Open MPI FAQ: running jobs over rsh and ssh", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Words of `StrictHostKeyChecking` with which nobody is asked about a host key that is not known. For which hosts they hold
/// is a matter of patterns; where they stand at all, somebody thought of it.
const DO_NOT_ASK: [&str; 3] = ["no", "off", "accept-new"];

/// Daemons that start ranks on their own ways.
const SCHEDULERS: [&str; 3] = ["slurmd", "pbs_mom", "slurmstepd"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let has_it = |guest: &TargetId| open_mpi(scene, guest).is_some();
    let pairs = scene.pairs.iter().filter(|(one, other)| has_it(one) && has_it(other));
    pairs.flat_map(|(one, other)| [way(scene, one, other), way(scene, other, one)]).collect()
}

fn way(scene: &Scene<'_>, from: &TargetId, to: &TargetId) -> Judged {
    let (own, theirs) = (system(from), system(to));
    let decide = format!("on {from}: ssh -o BatchMode=yes {to} true");
    for guest in [from, to] {
        if scene.fabric.reading(&system(guest), Attribute::HostKeys).is_none() {
            let (lack, why) = scene
                .unread(guest, "linux.ssh-trust")
                .unwrap_or((Lack::NotObservable, format!("{guest} tells nothing of its keys")));
            return Judged::unknown(&own, lack, format!("SSH from {from} to {to}: {why}"), decide);
        }
    }
    let list = |id: &EntityId, attribute| scene.list(id, attribute).unwrap_or_default();
    let common = |one: &[Text], other: &[Text]| one.iter().any(|key| other.contains(key));
    let (keys, let_in) = (list(&own, Attribute::OwnKeys), list(&theirs, Attribute::AuthorizedKeys));
    let (known, host_keys) = (list(&own, Attribute::KnownHostKeys), list(&theirs, Attribute::HostKeys));
    let is_let_in = common(keys, let_in);
    let asks = !list(&own, Attribute::HostKeyChecking).iter().any(|word| DO_NOT_ASK.contains(&word.as_str()));
    let is_known = host_keys.is_empty() || common(known, host_keys) || !asks;
    if is_let_in && is_known {
        return Judged::pass(&own, format!("SSH leads from {from} to {to} without a question"));
    }
    let alone = list(&own, Attribute::PrivateKeysAlone);
    if !is_let_in && is_known && !alone.is_empty() && !let_in.is_empty() {
        let names: Vec<&str> = alone.iter().map(Text::as_str).collect();
        let names = names.join(", ");
        let title = format!(
            "SSH from {from} to {to}: whether {to} lets {names} in is not known: the public half is not beside it, and private \
             keys are not opened"
        );
        return Judged::unknown(&own, Lack::NotObservable, title, decide);
    }
    let (what, cause) = match (is_let_in, keys.is_empty(), is_known) {
        (false, true, _) => (
            format!("{from}: the login has no key of its own to get into {to}"),
            "mpirun starts its daemon on the other node over SSH and may not be asked for a password: it ends with \"Permission \
             denied\" or \"ORTE was unable to reliably start one or more daemons\"",
        ),
        (false, false, _) => (
            format!("{from}: no key of the login is let in on {to}"),
            "mpirun starts its daemon on the other node over SSH and may not be asked for a password: it ends with \"Permission \
             denied\" or \"ORTE was unable to reliably start one or more daemons\"",
        ),
        (true, _, _) => (
            format!("{from}: the host key of {to} is not known"),
            "SSH asks whether to go on, and nobody is there to answer: mpirun ends with \"Host key verification failed\"",
        ),
    };
    let scheduler = scene.fabric.of_kind(from, Entity::Process(0)).find_map(|entity| {
        let id = EntityId::new(from, entity.clone());
        let name = scene.text(&id, Attribute::ProcessCommand)?;
        SCHEDULERS.contains(&name).then_some((id, name))
    });
    if let Some((id, name)) = scheduler {
        return Judged::info(
            &own,
            what,
            format!("{name} starts ranks by itself, so jobs of it run all the same; mpirun outside of it does not get through"),
        )
        .shown(&id, Attribute::ProcessCommand, format!("{name} runs on {from}"))
        .decided_by(decide);
    }
    let hosts = (&theirs, Attribute::HostKeys, format!("host keys of {to}"));
    let mut judged = Judged::warn(&own, Confidence::Possible, what, cause).decided_by(decide);
    for (id, attribute, says) in [
        (&own, Attribute::OwnKeys, format!("public keys of the login on {from}")),
        (&theirs, Attribute::AuthorizedKeys, format!("keys that are let in on {to}")),
        (&own, Attribute::KnownHostKeys, format!("host keys that are known on {from}")),
        hosts,
    ] {
        if !list(id, attribute).is_empty() {
            judged = judged.shown(id, attribute, says);
        }
    }
    judged.cured_by(cure(from, to, keys.is_empty(), is_let_in))
}

fn cure(from: &TargetId, to: &TargetId, has_no_key: bool, is_let_in: bool) -> Cure {
    let (mut steps, mut undo) = (Vec::new(), Vec::new());
    if has_no_key {
        steps.push(Step::ByHand(format!("{from}: ssh-keygen -t ed25519, without a passphrase")));
        undo.push(Step::ByHand(format!("{from}: remove ~/.ssh/id_ed25519 and ~/.ssh/id_ed25519.pub")));
    }
    if !is_let_in {
        steps.push(Step::ByHand(format!("{from}: ssh-copy-id {to} (asks for the password of the login there)")));
        undo.push(Step::ByHand(format!("{to}: take the line of {from} out of ~/.ssh/authorized_keys")));
    }
    steps.push(Step::ByHand(format!("{from}: ssh {to} true, and compare the fingerprint before it is accepted")));
    undo.push(Step::ByHand(format!("{from}: ssh-keygen -R {to}")));
    Cure::by_hand("Let the node in", steps)
        .risking(Risk::None)
        .undone_by(undo, vec![(system(from), Attribute::OwnKeys), (system(to), Attribute::AuthorizedKeys)])
        .verified_by(&["mpi.ssh-between-nodes"])
        .noting("a directory of keys, an agent or host-based login may let it in without these files")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || without_scheduler().with("pv-b", says("linux.ssh-trust", HOST_KEY_ONLY)),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-b", fails("linux.ssh-trust", 1, "sh: 1: Cannot fork")),
    };

    const HOST_KEY_ONLY: &str =
        "/etc/ssh/ssh_host_ed25519_key.pub SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n";

    fn without_scheduler() -> Site {
        ["pv-a", "pv-b"].iter().fold(Site::sound(), |site, guest| {
            site.replacing(guest, "linux.limits-launchers", "comm:slurmd", "comm:orted")
        })
    }

    #[test]
    fn each_way_is_judged_by_itself() {
        let site = (SAMPLES.trouble)();
        let judged = site.judge(&CHECK);
        assert_eq!(judged[0].title, "pv-a: no key of the login is let in on pv-b");
        assert_eq!(judged[1].title, "pv-b: the login has no key of its own to get into pv-a");
        let unknown = without_scheduler().replacing("pv-b", "linux.ssh-trust", "known_hosts", "known_hosts.old");
        assert_eq!(unknown.statuses(&CHECK)[..2], [Status::Pass, Status::Warn]);
        assert_eq!(unknown.judge(&CHECK)[1].title, "pv-b: the host key of pv-a is not known");
    }

    #[test]
    fn what_real_nodes_without_a_known_hosts_file_say() {
        let alone = "/etc/ssh/ssh_host_ed25519_key.pub SHA256:fDni5NplBk7zERuFwZ0q1lea5mtxSzSq6HNtlBJBgSk\n\
                     authorized_keys SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY\nid_ed25519 alone\n\
                     config:  StrictHostKeyChecking no\n";
        let pair = |text: &str| {
            let site = without_scheduler();
            ["pv-a", "pv-b"].iter().fold(site, |site, guest| site.with(guest, says("linux.ssh-trust", text)))
        };
        assert_eq!(pair(alone).statuses(&CHECK)[..2], [Status::Unknown; 2]);
        let judged = &pair(alone).judge(&CHECK)[0];
        assert_eq!(
            (judged.lack, judged.decide.as_str()),
            (Some(Lack::NotObservable), "on pv-a: ssh -o BatchMode=yes pv-b true")
        );
        // With its public half it is known to be let in; without the setting SSH asks.
        let both =
            alone.replace("id_ed25519 alone", "id_ed25519.pub SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY");
        assert_eq!(pair(&both).statuses(&CHECK)[..2], [Status::Pass; 2]);
        assert_eq!(
            pair(&both.replace("config:  StrictHostKeyChecking no\n", "")).statuses(&CHECK)[..2],
            [Status::Warn; 2]
        );
        // Nobody at all is let in there: no key can be.
        let nobody = alone.replace("authorized_keys SHA256:DOXE3eJkFAkOwcwYd6+wtx+TrZAes7kbZumNbSYv9dY\n", "");
        assert_eq!(pair(&nobody).statuses(&CHECK)[..2], [Status::Warn; 2]);
    }

    #[test]
    fn a_scheduler_does_without() {
        let site = Site::sound().with("pv-b", says("linux.ssh-trust", HOST_KEY_ONLY));
        assert_eq!(site.statuses(&CHECK)[..2], [Status::Info, Status::Info]);
    }
}
