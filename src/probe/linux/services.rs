//! Services that stand between the nodes of a job or change how they run: firewalls and their zones, remote login,
//! irqbalance, the helpers of the NVIDIA driver. No rule of a firewall is read that only root may see.

use std::sync::Arc;

use super::files::Files;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const UFW: &str = "/etc/ufw/ufw.conf";

/// Firewalls and other services.
pub const PROBE: Probe = Probe {
    name: "linux.services",
    title: "firewalls and services that jobs depend on",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        Source {
            name: "linux.services",
            read: Read::Command {
                argv: &[
                    Word::Plain("systemctl"),
                    Word::Plain("show"),
                    Word::Plain("--property=Id,LoadState,ActiveState"),
                    Word::Plain("firewalld.service"),
                    Word::Plain("ufw.service"),
                    Word::Plain("nftables.service"),
                    Word::Plain("iptables.service"),
                    Word::Plain("sshd.service"),
                    Word::Plain("irqbalance.service"),
                    Word::Plain("nvidia-fabricmanager.service"),
                    Word::Plain("nvidia-persistenced.service"),
                    Word::Plain("nvidia-gridd.service"),
                ],
                keep: None,
            },
        },
        Source {
            name: "linux.firewall-zones",
            read: Read::Command { argv: &[Word::Plain("firewall-cmd"), Word::Plain("--list-all-zones")], keep: None },
        },
        Source { name: "linux.firewall-ufw", read: Read::Files(&[UFW]) },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [services, zones, ufw] = observations else { return Vec::new() };
    let mut facts = of_services(services);
    facts.extend(of_zones(zones));
    let files = Files::new(ufw, &[UFW]);
    for (number, line) in files.lines(UFW) {
        if let Some(word) = line.trim().strip_prefix("ENABLED=") {
            let on = word.trim_matches('"').eq_ignore_ascii_case("yes");
            facts.push(ufw.known(Entity::Service(Text::new("ufw")), Attribute::FirewallEnabled, on, *number));
        }
    }
    facts
}

/// Blocks of `Key=value` lines, one for each service, an empty line between them.
fn of_services(observation: &Observation) -> Vec<Fact> {
    let no_systemd = ["has not been booted with systemd", "Failed to connect to bus"];
    let state = if no_systemd.iter().any(|words| observation.stderr.contains(words)) {
        Some(State::NotObservable(Text::new("this system does not run systemd")))
    } else {
        observation.trouble("systemctl", "").filter(|state| !matches!(state, State::NotInstalled(_)))
    };
    if let Some(state) = state {
        return vec![observation.fact(Entity::Service(Text::new("firewalld")), Attribute::ServiceState, state, 0)];
    }
    let mut facts = Vec::new();
    let (mut name, mut found, mut active): (Option<&str>, Option<&str>, Option<(u32, &str)>) = (None, None, None);
    let mut lines: Vec<(u32, &str)> = observation.lines().collect();
    lines.push((0, ""));
    for (number, line) in lines {
        let line = line.trim();
        match line.split_once('=') {
            Some(("Id", id)) => name = id.strip_suffix(".service"),
            Some(("LoadState", state)) => found = Some(state),
            Some(("ActiveState", state)) => active = Some((number, state)),
            _ if line.is_empty() => {
                if let (Some(name), Some((number, state))) = (name, active) {
                    let state = if found == Some("not-found") { "not-found" } else { state };
                    let entity = Entity::Service(Text::new(name));
                    facts.push(observation.known(entity, Attribute::ServiceState, state, number));
                }
                (name, found, active) = (None, None, None);
            }
            _ => {}
        }
    }
    facts
}

/// Zones that have something in them: a line with the name, then indented `key: values`.
fn of_zones(observation: &Observation) -> Vec<Fact> {
    let mut facts = Vec::new();
    if observation.outcome != Outcome::Exit(0) {
        return facts;
    }
    let mut zone: Option<Entity> = None;
    let mut open: Vec<Text> = Vec::new();
    let mut opened = 0;
    for (number, line) in observation.lines() {
        if !line.starts_with([' ', '\t']) {
            // "public (active)", "public (default, active)"; of the others nothing is in force.
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            zone = rest.contains("active").then(|| Entity::Ruleset(Text::new(name.trim())));
            open.clear();
            continue;
        }
        let (Some(zone), Some((key, value))) = (&zone, line.trim().split_once(':')) else { continue };
        let list: Vec<Text> = value.split_whitespace().map(Text::new).collect();
        let mut known = |attribute, value: Value| facts.push(observation.known(zone.clone(), attribute, value, number));
        match key {
            "target" => known(Attribute::ZoneTarget, value.trim().into()),
            "interfaces" => known(Attribute::ZoneInterfaces, list.into()),
            "sources" => known(Attribute::ZoneSources, list.into()),
            "services" | "ports" => {
                opened = if open.is_empty() { number } else { opened };
                open.extend(list);
                if key == "ports" {
                    facts.push(observation.known(zone.clone(), Attribute::ZoneOpen, open.clone(), opened));
                }
            }
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    const SERVICES: &str = "Id=firewalld.service\nLoadState=loaded\nActiveState=active\n\nId=ufw.service\n\
                            LoadState=not-found\nActiveState=inactive\n\nId=ssh.service\nLoadState=loaded\nActiveState=active\n";
    const ZONES: &str = "block\n  target: %%REJECT%%\n  icmp-block-inversion: no\n  interfaces: \n  sources: \n\n\
                         public (active)\n  target: default\n  icmp-block-inversion: no\n  interfaces: ens160 ens192\n  sources: \n  \
                         services: cockpit dhcpv6-client ssh\n  ports: 4791/udp\n  protocols: \n  forward: yes\n\n\
                         trusted (active)\n  target: ACCEPT\n  interfaces: \n  sources: 192.168.100.0/24\n  services: \n  ports: \n";
    const ENABLED: &str = "/etc/ufw/ufw.conf:# /etc/ufw/ufw.conf\n/etc/ufw/ufw.conf:#\n/etc/ufw/ufw.conf:ENABLED=yes\n/etc/ufw/ufw.conf:LOGLEVEL=low\n";
    const ABSENT: Printed<'_> = ("", "firewall-cmd: not found\n", 127);
    const NO_FILE: Printed<'_> = ("", "grep: /etc/ufw/ufw.conf: No such file or directory\n", 2);

    fn service(name: &str) -> Entity {
        Entity::Service(Text::new(name))
    }

    #[test]
    fn services_and_those_that_are_not_there() {
        let facts = run(&PROBE, &[(SERVICES, "", 0), ABSENT, NO_FILE]);
        let of = |name| shown(&facts, &service(name), Attribute::ServiceState);
        assert_eq!(
            (of("firewalld"), of("ufw"), of("ssh"), of("nftables")),
            ("active".into(), "not-found".into(), "active".into(), "absent".into())
        );
        let container = "System has not been booted with systemd as init system (PID 1). Can't operate.\n";
        let facts = run(&PROBE, &[("", container, 1), ABSENT, NO_FILE]);
        assert!(shown(&facts, &service("firewalld"), Attribute::ServiceState).starts_with("<not observable"));
        assert!(run(&PROBE, &[ABSENT, ABSENT, NO_FILE]).is_empty());
    }

    #[test]
    fn zones_that_are_in_force() {
        let facts = run(&PROBE, &[(SERVICES, "", 0), (ZONES, "", 0), NO_FILE]);
        let of = |name: &str, attribute| shown(&facts, &Entity::Ruleset(Text::new(name)), attribute);
        assert_eq!(of("public", Attribute::ZoneTarget), "default");
        assert_eq!(of("public", Attribute::ZoneInterfaces), "ens160, ens192");
        assert!(of("public", Attribute::ZoneOpen).ends_with("4791/udp"));
        assert_eq!(of("trusted", Attribute::ZoneSources), "192.168.100.0/24");
        assert_eq!(of("block", Attribute::ZoneTarget), "absent", "nothing is in it");
    }

    #[test]
    fn ufw_is_on_where_its_file_says_so() {
        let on = |text: &str| {
            shown(
                &run(&PROBE, &[(SERVICES, "", 0), ABSENT, (text, "", 0)]),
                &service("ufw"),
                Attribute::FirewallEnabled,
            )
        };
        assert_eq!(on(ENABLED), "yes");
        assert_eq!(on("/etc/ufw/ufw.conf:ENABLED=no\n"), "no");
        assert_eq!(on("/etc/ufw/ufw.conf:# ENABLED=yes\n"), "absent");
    }

    survives_damage!(PROBE, SERVICES, ZONES, ENABLED);
}
