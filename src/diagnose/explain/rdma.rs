//! RDMA devices of a host that are down: what the text says of their uplinks decides whether that is a fault.

use super::Fact;
use super::host::{of, shown, words};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Devices of `esxcli rdma device list` whose state is Down, each with what is known of the uplink it is paired with.
pub(super) fn down(facts: &[Fact]) -> Vec<Finding> {
    let states = of(facts, "state").into_iter();
    let down = states.filter(|(owner, fact)| is_device(owner) && words(fact).eq_ignore_ascii_case("down"));
    down.take(super::MOST_FINDINGS).map(|(owner, fact)| one(facts, owner, fact)).collect()
}

/// `vmrdma0` or `esx01:vmrdma0`.
fn is_device(owner: &str) -> bool {
    let name = owner.rsplit(':').next().unwrap_or(owner);
    name.strip_prefix("vmrdma").is_some_and(|rest| rest.parse::<u32>().is_ok())
}

fn one(facts: &[Fact], owner: &str, state: &Fact) -> Finding {
    let uplink = of(facts, "paired-uplink")
        .into_iter()
        .find(|(other, fact)| *other == owner && fact.state.known().is_some())
        .map(|(_, fact)| words(fact));
    let Some(uplink) = uplink else {
        let title = format!("{owner} is down");
        let cause = "Nothing can use RDMA over it. Its paired uplink is not in this text.";
        let finding = Finding::new("host.rdma-device-down", Status::Warn, Confidence::Possible, owner, &title, cause);
        return shown(asks(finding, "its uplink", &["esxcli rdma device list", "esxcli network nic list"]), &[state]);
    };
    let host = owner.rsplit_once(':').map_or_else(String::new, |(host, _)| format!("{host}:"));
    let told = |name: &str| {
        let mut all = of(facts, name).into_iter();
        all.find(|(other, _)| other.strip_prefix(&host) == Some(&uplink)).map(|(_, fact)| fact)
    };
    let says = |fact: Option<&Fact>, word: &str| fact.is_some_and(|fact| words(fact).eq_ignore_ascii_case(word));
    let (link, admin) = (told("link-status"), told("admin-status"));
    let evidence: Vec<&Fact> = [Some(state), link, admin].into_iter().flatten().collect();
    let get = format!("esxcli network nic get -n {uplink}");
    let look = [get.as_str(), "esxcli network vswitch dvs vmware list", "esxcli network vswitch standard list"];
    let finding = |status, confidence, title: &str, cause: &str| {
        Finding::new("host.rdma-device-down", status, confidence, owner, title, cause)
    };
    let finding = if says(link, "up") {
        let title = format!("{owner} is down, although its uplink {uplink} has a link");
        let cause = "Nothing can use RDMA over it, while ordinary traffic goes on: the link is not what is missing.";
        finding(Status::Fail, Confidence::Likely, &title, cause)
            .decided_by("What vmkernel.log says of the RDMA driver (nmlx5_rdma, nmlx4_rdma and their like), last at the start of the host")
            .helped_by("Look for the reason", &["grep -iE '_rdma|vmrdma|rdma' /var/log/vmkernel.log", &get], "")
    } else if says(admin, "down") {
        let title = format!("{owner} is down because its uplink {uplink} is switched off");
        let cause = "Its administrative state is down: somebody, or a script, switched it off.";
        finding(Status::Warn, Confidence::Likely, &title, cause)
            .decided_by(&format!("Is {uplink} meant to be used?"))
            .helped_by("Look at the uplink", &look, "")
    } else if says(link, "down") {
        let title = format!("{owner} is down, and its uplink {uplink} has no link");
        let cause = "The RDMA device follows its uplink: cable, transceiver, the port of the switch. An uplink that nobody uses has no link either.";
        asks(finding(Status::Warn, Confidence::Likely, &title, cause), &uplink, &look)
    } else {
        let title = format!("{owner} is down; its uplink is {uplink}");
        let cause = "Nothing can use RDMA over it. This text does not say whether the uplink has a link.";
        asks(finding(Status::Warn, Confidence::Possible, &title, cause), &uplink, &look)
    };
    shown(finding, &evidence)
}

fn asks(finding: Finding, uplink: &str, commands: &[&str]) -> Finding {
    finding
        .decided_by(&format!(
            "Has {uplink} a link, and is it an uplink of a switch that VMs use? If nothing uses it, nothing is wrong"
        ))
        .helped_by("Look at the uplink", commands, "")
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::explain;
    use crate::diagnose::finding::{Finding, Status};

    const DEVICES: &str = "Name     Driver      State   MTU   Speed     Paired Uplink  Description\n\
        -------  ----------  ------  ----  --------  -------------  -----------\n\
        vmrdma0  nmlx5_rdma  Active  4096  100 Gbps  vmnic2         MT28800 Family\n\
        vmrdma1  nmlx5_rdma  Down    1024  0 bps     vmnic3         MT28800 Family\n";

    const NICS: &str = "Name    PCI Device    Driver      Admin Status  Link Status   Speed  Duplex  MAC Address         MTU  Description\n\
        ------  ------------  ----------  ------------  -----------  ------  ------  -----------------  ----  -----------\n\
        vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full    ec:0d:9a:00:00:01  9000  MT28800 Family\n\
        vmnic3  0000:5e:00.1  nmlx5_core  Up            Down              0  Half    ec:0d:9a:00:00:02  9000  MT28800 Family\n";

    fn one(text: &str) -> Finding {
        let mut found = explain("-", text.as_bytes()).findings;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].check.as_str(), found[0].subject.as_str()), ("host.rdma-device-down", "vmrdma1"));
        found.remove(0)
    }

    #[test]
    fn what_is_known_of_the_uplink_decides() {
        let alone = one(DEVICES);
        assert!(alone.status == Status::Warn && alone.title.contains("its uplink is vmnic3"), "{}", alone.title);
        assert!(alone.decide.contains("nothing is wrong") && alone.remedies[0].commands[0].ends_with("-n vmnic3"));
        assert_eq!(alone.evidence[0].line, Some(4));
        let of = |nics: &str| {
            let found = one(&format!(
                "[root@esx01:~] esxcli rdma device list\n{DEVICES}[root@esx01:~] esxcli network nic list\n{nics}"
            ));
            (found.status, found.title)
        };
        assert_eq!(of(NICS), (Status::Warn, "vmrdma1 is down, and its uplink vmnic3 has no link".to_owned()));
        let up = NICS.replace("Up            Down    ", "Up            Up      ");
        assert_eq!(of(&up), (Status::Fail, "vmrdma1 is down, although its uplink vmnic3 has a link".to_owned()));
        let off = NICS.replace("Up            Down    ", "Down          Down    ");
        assert_eq!(of(&off), (Status::Warn, "vmrdma1 is down because its uplink vmnic3 is switched off".to_owned()));
    }

    #[test]
    fn what_is_not_down_is_not_told() {
        for text in [
            DEVICES.replace("Down  ", "Active"),
            DEVICES.replace("Down  ", "Init  "),
            // A state of something else.
            DEVICES.replace("vmrdma1", "session"),
            NICS.to_owned(),
        ] {
            assert_eq!(explain("-", text.as_bytes()).findings, [], "{text}");
        }
    }
}
