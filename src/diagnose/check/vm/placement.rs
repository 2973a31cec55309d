//! Rules of DRS and the restarts of HA against where VMs run, and against the hosts that qualify for RDMA. No host tells of
//! them over SSH: the administrator declares them, or they stay out of sight.

use crate::config::declared::{Rule, RuleKind};
use crate::diagnose::check::{Check, Exhibit, Judged, Lack, Reached, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::path::runs_on;
use crate::diagnose::qualify::{self, Place};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, Text};

/// VMs run where the declared rules want them.
pub const CHECK: Check = Check {
    id: "vm.placement",
    title: "VMs run where the declared rules of DRS want them, and HA can restart them with RDMA",
    gate: "hosts in the inventory with a VM that has RDMA",
    rule: "warns if VMs run against a declared rule, if a rule allows a host on which a VM would lose RDMA, or if HA has no host \
           to restart a VM on with RDMA; informs if nothing is declared",
    source: Source { text: "vSphere Resource Management: Using DRS Affinity Rules; vSphere Availability", weak: false },
    thresholds: &[],
    explains: &["vm.host-qualifies"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let places = qualify::places_of(scene);
    if scene.declared.says_nothing_of_placement() {
        return places.first().map(undeclared).into_iter().collect();
    }
    let rules = scene.declared.rules.iter().map(|rule| judge_rule(scene, &places, rule));
    let restarts = scene.declared.restart.iter().flatten().map(|name| judge_restart(scene, &places, name));
    rules.chain(restarts).collect()
}

fn undeclared(place: &Place) -> Judged {
    Judged::info(
        &place.vm,
        "rules of DRS and restarts of HA cannot be observed",
        "only vCenter tells them. Declared in the configuration file as [[drs]] (kind, vms, hosts) and [ha] (restart) they are \
         compared with where VMs run and with the hosts that qualify for RDMA; rdmascope config init writes an example",
    )
    .shown(&place.vm, Attribute::VmName, format!("{} has RDMA", place.name))
}

/// The VM of a name: the one that runs, where two hosts know it.
fn vm_named(scene: &Scene<'_>, name: &str) -> Option<EntityId> {
    let known = scene.hosts().flat_map(|host| {
        let vms = scene.fabric.of_kind(host, Entity::Vm(Text::new("")));
        vms.map(move |entity| EntityId::new(host, entity.clone()))
    });
    let runs = |id: &EntityId| {
        scene.text(id, Attribute::PowerState).is_some_and(|word| word.to_ascii_lowercase().ends_with("on"))
            || scene.value(id, Attribute::WorldId).is_some()
    };
    known.filter(|id| scene.text(id, Attribute::VmName) == Some(name)).max_by_key(|id| runs(id))
}

/// What a declaration is about where no VM of it is known: the first host.
fn somewhere(scene: &Scene<'_>) -> EntityId {
    let target = scene.hosts().next().or_else(|| scene.machines.keys().next());
    let unnamed = crate::fabric::TargetId::new("inventory");
    EntityId::new(target.unwrap_or(&unnamed), Entity::Host)
}

fn missing(scene: &Scene<'_>, name: &str, what: &str) -> Judged {
    let silent = scene.hosts().find(|host| scene.machines.get(*host).is_some_and(|it| it.reached != Reached::Yes));
    let (lack, why) = match silent {
        Some(host) => scene.silence(host),
        None => (Lack::NotObservable, "no host of the inventory knows a VM of that name".to_owned()),
    };
    let subject = silent.map_or_else(|| somewhere(scene), |host| EntityId::new(host, Entity::Host));
    let title = format!("{what} names {}: {why}", Text::new(name));
    Judged::unknown(
        &subject,
        lack,
        title,
        "vim-cmd vmsvc/getallvms on each host: how the VM is called, and where it is",
    )
}

fn judge_rule(scene: &Scene<'_>, places: &[Place], rule: &Rule) -> Judged {
    let what = format!("the rule {} of line {}", rule.kind.name(), rule.line);
    let mut vms = Vec::new();
    for name in &rule.vms {
        match vm_named(scene, name) {
            Some(vm) => vms.push((name.as_str(), vm)),
            None => return missing(scene, name, &what),
        }
    }
    let Some((_, first)) = vms.first() else { return missing(scene, "", &what) };
    let shown: Vec<Exhibit> = vms.iter().map(|(_, vm)| runs_on(scene, vm)).collect();
    let placed: Vec<String> = vms.iter().map(|(name, vm)| format!("{name} on {}", vm.target)).collect();
    let is_kept = match rule.kind {
        RuleKind::KeepTogether => vms.iter().all(|(_, vm)| vm.target == first.target),
        RuleKind::KeepApart => {
            let hosts: std::collections::BTreeSet<_> = vms.iter().map(|(_, vm)| &vm.target).collect();
            hosts.len() == vms.len()
        }
        RuleKind::MustRunOn => vms.iter().all(|(_, vm)| rule.hosts.iter().any(|host| host == vm.target.as_str())),
    };
    if !is_kept {
        let step = format!(
            "vCenter: Migrate so that {what} holds again; see Cluster > Monitor > vSphere DRS > Faults for why it does not"
        );
        return Judged::warn(
            first,
            Confidence::Proved,
            format!("VMs run against {what}: {}", placed.join(", ")),
            "DRS is off or manual, the rule is a wish only, or it is disabled: where the VMs run, and so whether they use RDMA or \
             copy memory, is left to chance",
        )
        .shown_by(shown)
        .cured_by(Cure::by_hand("Move the VMs", vec![Step::ByHand(step)]).verified_by(&["vm.placement"]));
    }
    // A rule that DRS keeps may still lead a VM to a host that does not qualify.
    let lost = vms.iter().find_map(|(name, vm)| {
        let place = places.iter().find(|place| place.vm == *vm)?;
        let one = place
            .moves
            .iter()
            .find(|one| one.keeps == Status::Fail && rule.hosts.iter().any(|host| host == one.host.as_str()))?;
        Some((*name, one))
    });
    match lost {
        Some((name, one)) => Judged::warn(
            first,
            Confidence::Proved,
            format!("{what} allows {}, where {name} would lose RDMA", one.host),
            format!("{}: DRS {}", one.why, one.drs),
        )
        .shown_by(one.exhibits.clone())
        .cured_by(
            Cure::by_hand(
                "Take the host out of the rule, or let it qualify",
                vec![Step::ByHand(format!("vCenter: Cluster > Configure > VM/Host Groups: without {}", one.host))],
            )
            .verified_by(&["vm.placement"]),
        ),
        None => Judged::pass(first, format!("{what} is kept: {}", placed.join(", "))).shown_by(shown),
    }
}

fn judge_restart(scene: &Scene<'_>, places: &[Place], name: &str) -> Judged {
    let Some(vm) = vm_named(scene, name) else { return missing(scene, name, "[ha] restart") };
    let Some(place) = places.iter().find(|place| place.vm == vm) else {
        return Judged::pass(&vm, format!("{name} has no RDMA that a restart could lose"));
    };
    if let Some(one) = place.moves.iter().find(|one| one.keeps == Status::Pass) {
        return Judged::pass(&vm, format!("HA could restart {name} on {}", one.host));
    }
    if let Some(open) = place.moves.iter().find(|one| one.keeps == Status::Unknown) {
        let title = format!("whether HA could restart {name} with RDMA on {} is not known: {}", open.host, open.why);
        return Judged::unknown(&vm, open.lack.unwrap_or(Lack::NotObservable), title, open.decide.clone());
    }
    let Some(first) = place.moves.first() else {
        let title = format!("where HA could restart {name} is not known: no other host is in the inventory");
        return Judged::unknown(&vm, Lack::NotObservable, title, "the other hosts of its cluster in the inventory");
    };
    let each: Vec<String> = place.moves.iter().map(|one| format!("{}: HA {}", one.host, one.ha)).collect();
    Judged::warn(
        &vm,
        Confidence::Proved,
        format!("HA has no host on which {name} would have RDMA after a restart"),
        each.join("; "),
    )
    .shown_by(first.exhibits.clone())
    .decided_by("what each host lacks is in vm.migration-targets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};

    const APART: &str = "[[drs]]\nkind = \"keep-apart\"\nvms = [\"pv-a\", \"pv-b\"]\n";
    const TOGETHER: &str = "[[drs]]\nkind = \"keep-together\"\nvms = [\"pv-a\", \"pv-b\"]\n";
    const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                          pvrdma                      false\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().moving_vms("esx02", "esx01").declaring(APART),
        healthy: || Site::sound().declaring(APART),
        unclear: || Site::sound().declaring("[[drs]]\nkind = \"keep-apart\"\nvms = [\"pv-a\", \"pv-c\"]\n"),
    };

    #[test]
    fn nothing_declared_is_told_and_no_warning() {
        assert_eq!(Site::sound().statuses(&CHECK), [Status::Info]);
        assert_eq!(Site::new().statuses(&CHECK), []);
        assert_eq!(Site::sound().declaring("[ha]\nrestart = []\n").statuses(&CHECK), []);
    }

    #[test]
    fn each_kind_of_rule_is_compared_with_where_vms_run() {
        let on = |hosts: &str| format!("[[drs]]\nkind = \"must-run-on\"\nvms = [\"pv-a\"]\nhosts = [{hosts}]\n");
        for (text, wanted) in [
            (TOGETHER.to_owned(), Status::Warn),
            (on("\"esx01\""), Status::Pass),
            (on("\"esx01\", \"esx02\""), Status::Pass),
            (on("\"esx02\""), Status::Warn),
        ] {
            assert_eq!(Site::sound().declaring(&text).statuses(&CHECK), [wanted], "{text}");
        }
        let moved = Site::sound().moving_vms("esx02", "esx01");
        assert_eq!(moved.clone().declaring(TOGETHER).statuses(&CHECK), [Status::Pass]);
        // esx02 would not qualify: the rule lets DRS move pv-a there.
        let closed = moved.with("esx02", says("esxi.firewall-rulesets", CLOSED));
        assert_eq!(closed.declaring(&on("\"esx01\", \"esx02\"")).statuses(&CHECK), [Status::Warn]);
    }

    #[test]
    fn a_restart_needs_a_host_that_qualifies() {
        let text = "[ha]\nrestart = [\"pv-a\", \"gpu-a\"]\n";
        assert_eq!(Site::sound().declaring(text).statuses(&CHECK), [Status::Pass, Status::Pass]);
        let moved = Site::sound().moving_vms("esx02", "esx01");
        let closed = moved.with("esx02", says("esxi.firewall-rulesets", CLOSED)).declaring(text);
        assert_eq!(closed.statuses(&CHECK), [Status::Warn, Status::Pass]);
        let alone = Site::sound().without_target("esx02").declaring(text);
        assert_eq!(alone.statuses(&CHECK), [Status::Unknown, Status::Pass]);
    }
}
