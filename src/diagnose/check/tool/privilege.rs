//! What a target would tell with more privilege.

use crate::diagnose::check::{Check, Exhibit, Judged, MachineKind, Reached, Scene, Source};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Entity, EntityId, State, TargetId, Text};

/// The login sees everything that is asked for.
pub const CHECK: Check = Check {
    id: "tool.privilege",
    title: "The login may see everything that is asked for",
    gate: "guests that were reached",
    rule: "informs about what the login may not see",
    source: Source { text: "Linux: CAP_NET_ADMIN, CAP_SYSLOG, modes of files", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Judged {
    let id = EntityId::new(guest, Entity::Guest);
    let reached = scene.machines.get(guest).map(|machine| (machine.kind, &machine.reached));
    if let Some((MachineKind::Guest, Reached::No(_))) = reached {
        let (lack, why) = scene.silence(guest);
        return Judged::unknown(&id, lack, why, format!("ssh {guest} true"));
    }
    let mut hidden: Vec<(Exhibit, Text)> = Vec::new();
    for entity in scene.fabric.entities(guest) {
        let about = EntityId::new(guest, entity.clone());
        for (attribute, reading) in scene.fabric.readings(&about) {
            if let State::NeedsPrivilege(adds) = &reading.state
                && !hidden.iter().any(|(_, other)| other == adds)
            {
                hidden
                    .push((Exhibit::of(&about, attribute, format!("{} is not told", attribute.label())), adds.clone()));
            }
        }
    }
    if hidden.is_empty() {
        return Judged::pass(&id, format!("{guest}: the login may see all that is asked for"));
    }
    let adds: Vec<&str> = hidden.iter().map(|(_, adds)| adds.as_str()).filter(|adds| !adds.is_empty()).collect();
    let what = if adds.is_empty() { "some values".to_owned() } else { adds.join("; ") };
    Judged::info(
        &id,
        format!("{guest}: the login may not see everything"),
        format!("hidden from it: {what}. Checks that need it say that they do not know"),
    )
    // What is refused has no line of its own; the guest stands for it.
    .shown_by([Exhibit::thing(&id, "read by this login")])
    .shown_by(hidden.into_iter().map(|(exhibit, _)| exhibit))
    .cured_by(
        Cure::by_hand(
            "Let the two commands that tell more to root run by sudo",
            vec![Step::ByHand(format!(
                "inventory: become = \"sudo\" for {guest}; on {guest}: the line for /etc/sudoers.d that the commented inventory shows"
            ))],
        )
        .undone_by(vec![Step::ByHand("take both out again".to_owned())], Vec::new())
        .verified_by(&["tool.privilege"]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        // One guest is read by an ordinary user.
        trouble: Site::sound,
        healthy: || Site::sound().without_target("vf-a"),
        unclear: || Site::sound().silent("vf-a", "no route to host"),
    };

    #[test]
    fn it_says_what_is_hidden() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let told = judged.iter().find(|judged| judged.status == Status::Info).expect("told");
        assert!(told.cause.contains("kernel messages"), "{}", told.cause);
    }
}
