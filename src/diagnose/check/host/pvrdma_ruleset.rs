//! PVRDMA speaks to the other host through a ruleset of the firewall that is closed unless someone opened it.

use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The ruleset of a host with PVRDMA adapters is open.
pub const CHECK: Check = Check {
    id: "host.pvrdma-ruleset",
    title: "The firewall ruleset for PVRDMA is open",
    gate: "hosts with a VM that has a PVRDMA adapter",
    rule: "fails if the ruleset pvrdma is disabled; passes if it is enabled",
    source: Source { text: "vSphere Networking: Configure an ESXi Host for PVRDMA", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.hosts().filter_map(|host| {
        let chains: Vec<_> = scene.pvrdma_chains().filter(|chain| chain.vm.target == *host).collect();
        if chains.is_empty() {
            return None;
        }
        let ruleset = EntityId::new(host, Entity::Ruleset("pvrdma".into()));
        let judged = match scene.flag(&ruleset, Attribute::RulesetEnabled) {
            Some(true) => Judged::pass(&ruleset, format!("ruleset pvrdma of {host} is open")),
            Some(false) => {
                let set = |state: &str| {
                    let words = ["esxcli", "network", "firewall", "ruleset", "set", "-r", "pvrdma", "-e", state];
                    vec![Step::run(&words)]
                };
                Judged::fail(
                    &ruleset,
                    Confidence::Proved,
                    format!("{host}: the firewall ruleset pvrdma is closed"),
                    "PVRDMA agrees on each connection with the other host over TCP 28250-28761; while that is closed the \
                     adapters of this host fall back to TCP, or connections fail",
                )
                .shown(&ruleset, Attribute::RulesetEnabled, "ruleset pvrdma is disabled")
                .cured_by(
                    Cure::on(host, "Open the ruleset", Risk::None, set("true"))
                        .undone_by(set("false"), vec![(ruleset.clone(), Attribute::RulesetEnabled)])
                        .verified_by(&["host.pvrdma-ruleset"]),
                )
                .reaching(chains.iter().flat_map(|chain| scene.way_of(chain)))
            }
            None => {
                let (lack, why) = scene
                    .lack(&ruleset, Attribute::RulesetEnabled)
                    .or_else(|| scene.unread(host, "esxi.firewall-rulesets"))
                    .unwrap_or((Lack::NotObservable, format!("{host} lists no ruleset pvrdma")));
                let decide = "esxcli network firewall ruleset list | grep pvrdma";
                Judged::unknown(&ruleset, lack, format!("ruleset pvrdma of {host}: {why}"), decide)
            }
        };
        Some(judged)
    }).collect()
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)),
        healthy: || Site::sound().with("esx02", says("esxi.firewall-rulesets", OPEN)),
        unclear: || Site::sound().with("esx02", fails("esxi.firewall-rulesets", 1, "Connect to localhost failed")),
    };

    const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                          pvrdma                      false\n";
    const OPEN: &str = "Name       Enabled  Enable/Disable configurable  Allowed IP configurable\n\
                        ---------  -------  ---------------------------  -----------------------\n\
                        sshServer     true                         true                     true\n\
                        pvrdma         true                         true                     true\n";
}
