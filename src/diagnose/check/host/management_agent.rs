//! The management agent hostd answers esxcli, vim-cmd and vCenter.

use crate::diagnose::check::{Answer, Check, Exhibit, Judged, Reached, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The agent answers.
pub const CHECK: Check = Check {
    id: "host.management-agent",
    title: "The management agent hostd answers",
    gate: "hosts that were reached",
    rule: "fails if commands say that they cannot connect to hostd, or localcli stands in for esxcli; passes if esxcli or \
           vim-cmd answered",
    source: Source { text: "KB 1003490: restarting the management agents of an ESXi host", weak: false },
    thresholds: &[],
    explains: &["vm.host-qualifies", "tool.completeness", "tool.joined"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// How commands say that hostd is gone.
const GONE: [&str; 3] = ["connect to localhost failed", "connection failure", "hostd does not answer"];

/// Sources that need no agent: what they answer says nothing of it.
const WITHOUT: [&str; 8] = [
    "esxi.date",
    "esxi.vmware-v",
    "esxi.config-file-lines",
    "esxi.vmkernel-log-tail",
    "esxi.vm-log-lines",
    "esxi.vmx-files",
    "esxi.nic-properties",
    "esxi.nic-privstats",
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.hosts().map(|host| of_host(scene, host)).collect()
}

fn of_host(scene: &Scene<'_>, host: &TargetId) -> Judged {
    let id = EntityId::new(host, Entity::Host);
    let machine = &scene.machines[host];
    let gone: Vec<(&str, &str)> = machine
        .answers
        .0
        .iter()
        .filter_map(|(source, answer)| match answer {
            Answer::Failed(why) if GONE.iter().any(|words| why.to_ascii_lowercase().contains(words)) => {
                Some((source.as_str(), why.as_str()))
            }
            _ => None,
        })
        .collect();
    let tool = scene.text(&id, Attribute::CommandLineTool).filter(|tool| {
        let lower = tool.to_ascii_lowercase();
        lower.starts_with("localcli") && lower.contains("hostd")
    });
    if !gone.is_empty() || tool.is_some() {
        // The word of which program reads the host; without it nothing but the answers themselves says so.
        let rests_on = tool.iter().map(|_| (id.clone(), Attribute::CommandLineTool)).collect();
        let restart = vec![Step::run(&["/etc/init.d/hostd", "restart"])];
        let mut judged = Judged::fail(
            &id,
            Confidence::Proved,
            format!("{host}: the management agent hostd does not answer"),
            "esxcli and vim-cmd fail and vCenter shows the host as not responding; its VMs run on. What the host says through \
             hostd cannot be read, so checks of it are left open",
        );
        if let Some((source, why)) = gone.first() {
            let more = gone.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            judged = judged.shown_by([Exhibit::thing(&id, format!("{source}: {why}{more}"))]);
        }
        if let Some(tool) = tool {
            judged = judged.shown(&id, Attribute::CommandLineTool, format!("read with {tool}"));
        }
        if scene.text(&id, Attribute::EsxiVersion).is_some() {
            judged = judged.shown(&id, Attribute::EsxiVersion, "what needs no agent still answers");
        }
        return judged.cured_by(
            Cure::on(host, "Start hostd anew", Risk::RestartsService, restart)
                .without_undo("nothing is set: the service runs again, as it should have before", rests_on)
                .verified_by(&["host.management-agent"])
                .noting("VMs run on; tasks that vCenter runs on the host are cut off. If it does not come back: /etc/init.d/vpxa restart, then look for a full disk (vdf -h)"),
        );
    }
    let answered = |source: &str| matches!(machine.answers.of(source), Some(Answer::Read));
    let has_answer =
        machine.answers.0.keys().any(|source| !WITHOUT.contains(&source.as_str()) && answered(source.as_str()));
    if has_answer {
        return Judged::pass(&id, format!("hostd of {host} answers"));
    }
    let (lack, why) = match &machine.reached {
        Reached::Yes => scene.unread(host, "esxi.system-version").unwrap_or_else(|| scene.silence(host)),
        _ => scene.silence(host),
    };
    Judged::unknown(
        &id,
        lack,
        format!("whether hostd of {host} answers: {why}"),
        format!("/etc/init.d/hostd status on {host}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::MachineKind;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            ["esxi.vm-list", "esxi.vm-summary"].iter().fold(Site::sound(), |site, source| {
                site.with("esx02", fails(source, 1, "Connect to localhost failed: Connection failure."))
            })
        },
        healthy: || Site::sound(),
        unclear: || Site::sound().silent("esx02", "connection refused"),
    };

    #[test]
    fn another_error_is_not_the_agents() {
        let site = Site::sound().with("esx02", fails("esxi.rdma-devices", 1, "Unable to complete Sysinfo operation."));
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
        let none = Site::new().unreached("esx09", MachineKind::Host, "no route to host");
        assert_eq!(none.statuses(&CHECK), [Status::Unknown]);
    }

    #[test]
    fn it_is_restarted_by_its_own_script() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.cures[0].steps[0].shown(), "/etc/init.d/hostd restart");
        assert_eq!(judged.cures[0].risk, Risk::RestartsService);
    }
}
