//! A host can be set to close its SSH service, or idle logins, after a while: then it can no longer be read.

use crate::diagnose::check::{Check, Judged, Lack, Reached, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Nothing closes by itself.
pub const CHECK: Check = Check {
    id: "host.shell-timeout",
    title: "The SSH service of the host does not close by itself",
    gate: "hosts that were reached",
    rule: "says so if ESXiShellTimeOut or ESXiShellInteractiveTimeOut is above 0; passes if both are 0, the default",
    source: Source { text: "vSphere Security: timeouts of the ESXi Shell (UserVars.ESXiShellTimeOut)", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The settings, with what follows from each.
const SETTINGS: [(&str, &str); 2] = [
    (
        "/UserVars/ESXiShellTimeOut",
        "the service takes no new logins after that time; a login that is there goes on, and a lost one does not come back until \
         somebody starts the service again",
    ),
    (
        "/UserVars/ESXiShellInteractiveTimeOut",
        "an interactive login without input ends after that time; commands that are run one by one do not mind",
    ),
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let reached = |host: &&TargetId| !matches!(scene.machines[*host].reached, Reached::No(_));
    scene.hosts().filter(reached).flat_map(|host| of_host(scene, host)).collect()
}

fn of_host(scene: &Scene<'_>, host: &TargetId) -> Vec<Judged> {
    let id = EntityId::new(host, Entity::Host);
    let mut found = Vec::new();
    for (path, follows) in SETTINGS {
        let setting = EntityId::new(host, Entity::AdvancedSetting(path.into()));
        if let Some(seconds) = scene.count(&setting, Attribute::SettingValue).filter(|seconds| *seconds > 0) {
            let name = path.rsplit('/').next().unwrap_or(path);
            found.push(Judged::info(&setting, format!("{host}: {name} is {seconds} s"), follows).shown(
                &setting,
                Attribute::SettingValue,
                format!("{name} is {seconds}"),
            ));
        }
    }
    if found.is_empty() {
        let failed = scene.unread(host, "esxi.advanced-changed").or_else(|| {
            let reading = scene.fabric.reading(&id, Attribute::SettingValue)?;
            reading.state.why().map(|why| (Lack::ProbeFailed, why))
        });
        found.push(match failed {
            Some((lack, why)) => {
                let title = format!("whether the shell of {host} closes by itself: {why}");
                Judged::unknown(&id, lack, title, "esxcli system settings advanced list -o /UserVars/ESXiShellTimeOut")
            }
            None => Judged::pass(&id, format!("the SSH service of {host} does not close by itself")),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || timeout("ESXiShellTimeOut", 3600),
        healthy: || timeout("SuppressShellWarning", 1),
        unclear: || Site::sound().with("esx02", fails("esxi.advanced-changed", 1, "Connect to localhost failed")),
    };

    fn timeout(name: &str, seconds: u32) -> Site {
        Site::sound().replacing(
            "esx02",
            "esxi.advanced-changed",
            "Path: /UserVars/SuppressShellWarning\n   Type: integer\n   Int Value: 1\n",
            &format!("Path: /UserVars/{name}\n   Type: integer\n   Int Value: {seconds}\n"),
        )
    }

    #[test]
    fn the_default_is_no_timeout() {
        assert_eq!(timeout("ESXiShellTimeOut", 0).statuses(&CHECK), [Status::Pass, Status::Pass]);
        assert_eq!(timeout("ESXiShellInteractiveTimeOut", 900).statuses(&CHECK), [Status::Pass, Status::Info]);
    }
}
