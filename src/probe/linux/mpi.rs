//! What jobs ride on: Open MPI with its components and the parameters in force, and UCX with the transports that it can
//! open. Open MPI tells all of itself on eight thousand lines; a few hundred of them are kept. UCX opens each transport
//! once to describe it: its receive queue is kept short for that, since an adapter that offers less than the default
//! would refuse it with a kernel message each time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Keep, Pace, Probe, Read, Rhythm, Source, Word};

/// Parameters of Open MPI that steer how ranks reach each other.
pub const PARAMETERS: &[&str] = &[
    "pml",
    "btl",
    "btl_tcp_if_include",
    "btl_tcp_if_exclude",
    "oob_tcp_if_include",
    "btl_openib_allow_ib",
    "opal_common_ucx_devices",
    "opal_common_ucx_tls",
];

/// The variable that says how deep the receive queue of UCX's plain RC transport is.
pub const RECEIVE_QUEUE: &str = "UCX_RC_VERBS_RX_QUEUE_LEN";

const KEPT: Option<Keep> = Some(Keep {
    any_of: &[
        "ident:",
        ":version:\"component:",
        "_library_version:value:",
        "param:pml:value:",
        "param:pml:source:",
        "param:btl:value:",
        "param:btl:source:",
        "param:btl_tcp_if_include:value:",
        "param:btl_tcp_if_include:source:",
        "param:btl_tcp_if_exclude:value:",
        "param:btl_tcp_if_exclude:source:",
        "param:oob_tcp_if_include:value:",
        "param:oob_tcp_if_include:source:",
        "param:btl_openib_allow_ib:value:",
        "param:btl_openib_allow_ib:source:",
        "param:opal_common_ucx_devices:value:",
        "param:opal_common_ucx_devices:source:",
        "param:opal_common_ucx_tls:value:",
        "param:opal_common_ucx_tls:source:",
    ],
    last: 400,
});

const TRANSPORTS: Option<Keep> =
    Some(Keep { any_of: &["Memory domain", "Transport:", " Device:", "< failed", "< no "], last: 600 });

/// Open MPI and UCX.
pub const PROBE: Probe = Probe {
    name: "linux.mpi",
    title: "Open MPI and UCX: versions, components, transports, parameters",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        Source {
            name: "linux.open-mpi",
            read: Read::Command {
                argv: &[Word::Plain("ompi_info"), Word::Plain("--parsable"), Word::Plain("--all")],
                keep: KEPT,
            },
        },
        // Where Red Hat's packages put it: no search path has it until a module file is loaded.
        Source {
            name: "linux.open-mpi-elsewhere",
            read: Read::Command {
                argv: &[
                    Word::Plain("/usr/lib64/openmpi/bin/ompi_info"),
                    Word::Plain("--parsable"),
                    Word::Plain("--all"),
                ],
                keep: KEPT,
            },
        },
        Source {
            name: "linux.ucx-version",
            read: Read::Command { argv: &[Word::Plain("ucx_info"), Word::Plain("-v")], keep: None },
        },
        Source {
            name: "linux.ucx-transports",
            read: Read::Command {
                argv: &[
                    Word::Plain("env"),
                    Word::Plain("UCX_RC_VERBS_RX_QUEUE_LEN=64"),
                    Word::Plain("ucx_info"),
                    Word::Plain("-d"),
                ],
                keep: TRANSPORTS,
            },
        },
        Source {
            name: "linux.ucx-settings",
            read: Read::Command {
                argv: &[Word::Plain("ucx_info"), Word::Plain("-c")],
                keep: Some(Keep { any_of: &["UCX_RC_VERBS_RX_QUEUE_LEN=", "UCX_IB_GID_INDEX="], last: 10 }),
            },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [open_mpi, elsewhere, version, transports, settings] = observations else { return Vec::new() };
    let found = if open_mpi.outcome == Outcome::Exit(127) && elsewhere.outcome != Outcome::Exit(127) {
        elsewhere
    } else {
        open_mpi
    };
    let mut facts = of_open_mpi(found);
    facts.push(ucx_version(version));
    facts.push(ucx_transports(transports));
    for (number, line) in settings.lines() {
        if let Some((name, value)) = line.trim().split_once('=')
            && name.starts_with("UCX_")
            && is_name(name)
        {
            facts.push(settings.known(Entity::MpiParameter(Text::new(name)), Attribute::SettingValue, value, number));
        }
    }
    facts
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `key:value` lines, colon separated, some values in quotes.
fn of_open_mpi(observation: &Observation) -> Vec<Fact> {
    let missing = |state: State<Value>| observation.fact(Entity::Guest, Attribute::OpenMpiVersion, state, 0);
    if let Some(state) = observation.trouble("ompi_info (Open MPI)", "") {
        return vec![missing(state)];
    }
    let mut facts = Vec::new();
    let mut components: Vec<Text> = Vec::new();
    let mut first_component = 0;
    for (number, line) in observation.lines() {
        if let Some(version) = line.strip_prefix("ident:") {
            facts.push(observation.known(Entity::Guest, Attribute::OpenMpiVersion, version.trim(), number));
            continue;
        }
        let Some(rest) = line.strip_prefix("mca:") else { continue };
        let words: Vec<&str> = rest.splitn(6, ':').collect();
        match words[..] {
            [framework, component, "version", "\"component", ..] if is_name(framework) && is_name(component) => {
                components.push(Text::new(&format!("{framework} {component}")));
                first_component = if first_component == 0 { number } else { first_component };
            }
            [_, _, "param", name, kind @ ("value" | "source"), value] => {
                let value = value.trim().trim_matches('"');
                if name.ends_with("_library_version") && name.starts_with("pmix_") {
                    // "PMIx library version OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, ...)".
                    let pmix = value.split_whitespace().skip_while(|word| !word.ends_with("PMIx") || *word == "PMIx");
                    if let Some(version) = pmix.skip(1).map(|word| word.trim_end_matches(',')).next()
                        && kind == "value"
                    {
                        facts.push(observation.known(Entity::Guest, Attribute::PmixVersion, version, number));
                    }
                } else if PARAMETERS.contains(&name) {
                    let entity = Entity::MpiParameter(Text::new(name));
                    let (attribute, state) = match (kind, value) {
                        ("source", value) => (Attribute::ParameterSource, State::Known(value.into())),
                        (_, "") => (Attribute::SettingValue, State::Empty),
                        (_, value) => (Attribute::SettingValue, State::Known(value.into())),
                    };
                    facts.push(observation.fact(entity, attribute, state, number));
                }
            }
            _ => {}
        }
    }
    if !facts.iter().any(|fact| fact.attribute == Attribute::OpenMpiVersion) {
        facts.push(missing(State::Failed(Text::new("ompi_info does not name its version"))));
    }
    if !components.is_empty() {
        components.sort();
        components.dedup();
        facts.push(observation.known(Entity::Guest, Attribute::MpiComponents, components, first_component));
    }
    facts
}

/// `# Library version: 1.22.0`, in older releases `# Version 1.13.1` or `# UCT version=1.11.2 revision 0000000`.
fn ucx_version(observation: &Observation) -> Fact {
    let fact = |state, line| observation.fact(Entity::Guest, Attribute::UcxVersion, state, line);
    if let Some(state) = observation.trouble("ucx_info (UCX)", "") {
        return fact(state, 0);
    }
    for (number, line) in observation.lines() {
        let line = line.trim_start_matches('#').trim();
        let version = ["Library version: ", "Version ", "UCT version="].iter().find_map(|head| line.strip_prefix(head));
        if let Some(version) = version.and_then(|rest| rest.split_whitespace().next())
            && version.starts_with(|first: char| first.is_ascii_digit())
        {
            return fact(State::Known(version.into()), number);
        }
    }
    fact(State::Failed(Text::new("ucx_info does not name its version")), 0)
}

/// Blocks of a transport with its device; a transport that could not be opened has a line in angle brackets in the place
/// of its properties.
fn ucx_transports(observation: &Observation) -> Fact {
    let fact = |state, line| observation.fact(Entity::Guest, Attribute::UcxTransports, state, line);
    if let Some(state) = observation.trouble("ucx_info (UCX)", "") {
        return fact(state, 0);
    }
    let mut transport: Option<&str> = None;
    let mut found: BTreeMap<Text, u32> = BTreeMap::new();
    let mut last: Option<Text> = None;
    for (number, line) in observation.lines() {
        let line = line.trim_start_matches('#').trim();
        if let Some(name) = line.strip_prefix("Transport: ") {
            transport = Some(name.trim());
        } else if let Some(device) = line.strip_prefix("Device: ") {
            let name = Text::new(&format!("{} {}", transport.unwrap_or_default(), device.trim()));
            if transport.is_some_and(is_name) && found.insert(name.clone(), number).is_none() {
                last = Some(name);
            }
        } else if line.starts_with("< failed to open interface") {
            if let Some(name) = last.take() {
                found.remove(&name);
            }
        } else if line.starts_with("Memory domain") {
            transport = None;
            last = None;
        }
    }
    // The line of the first RDMA device, if there is one: that is what people look for.
    let shown = found.iter().find(|(name, _)| name.as_str().contains(':')).or_else(|| found.iter().next());
    let line = shown.map_or(0, |(_, line)| *line);
    let list: Vec<Text> = found.into_keys().collect();
    if list.is_empty() { fact(State::Empty, 0) } else { fact(State::Known(list.into()), line) }
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, state, survives_damage};
    use super::*;

    const OPEN_MPI: &str = include_str!("../../../tests/fixtures/guest-probes/linux.open-mpi.txt");
    const OLD_OPEN_MPI: &str =
        include_str!("../../../tests/fixtures/pvrdma-guest/30-ompi-info-parsable-2-dev-null-grep-ie-ident.txt");
    const UCX: &str = include_str!("../../../tests/fixtures/pvrdma-guest/29-ucx-info-v.txt");
    const TRANSPORTS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.ucx-transports.txt");
    const SETTINGS: &str = "UCX_IB_GID_INDEX=auto\nUCX_RC_VERBS_RX_QUEUE_LEN=4095\n";
    const ABSENT: Printed<'_> = ("", "sh: 1: not found\n", 127);

    fn parameter(name: &str) -> Entity {
        Entity::MpiParameter(Text::new(name))
    }

    fn guest(facts: &[Fact], attribute: Attribute) -> String {
        shown(facts, &Entity::Guest, attribute)
    }

    #[test]
    fn open_mpi_names_versions_components_and_parameters() {
        let facts = run(&PROBE, &[(OPEN_MPI, "", 0), ABSENT, (UCX, "", 0), (TRANSPORTS, "", 0), (SETTINGS, "", 0)]);
        assert_eq!(guest(&facts, Attribute::OpenMpiVersion), "4.1.4");
        assert_eq!(guest(&facts, Attribute::PmixVersion), "4.2.2rc2");
        assert_eq!(guest(&facts, Attribute::UcxVersion), "1.13.1");
        let components = guest(&facts, Attribute::MpiComponents);
        assert!(components.contains("pml ucx") && components.contains("btl openib"), "{components}");
        assert_eq!(shown(&facts, &parameter("pml"), Attribute::SettingValue), "ucx");
        assert_eq!(shown(&facts, &parameter("pml"), Attribute::ParameterSource), "environment");
        assert_eq!(shown(&facts, &parameter("btl"), Attribute::SettingValue), "<empty>");
        assert_eq!(shown(&facts, &parameter("btl_tcp_if_exclude"), Attribute::SettingValue), "127.0.0.1/8,sppp");
        assert_eq!(shown(&facts, &parameter(RECEIVE_QUEUE), Attribute::SettingValue), "4095");
        let old = run(&PROBE, &[(OLD_OPEN_MPI, "", 0), ABSENT, ABSENT, ABSENT, ABSENT]);
        assert_eq!(guest(&old, Attribute::OpenMpiVersion), "4.1.4");
        assert!(guest(&old, Attribute::MpiComponents).contains("osc ucx"));
        assert_eq!(guest(&old, Attribute::PmixVersion), "absent");
    }

    #[test]
    fn the_one_of_the_distribution_counts_where_the_search_path_has_none() {
        let facts = run(&PROBE, &[ABSENT, ("ident:4.1.1\n", "", 0), ABSENT, ABSENT, ABSENT]);
        assert_eq!(guest(&facts, Attribute::OpenMpiVersion), "4.1.1");
        let none = run(&PROBE, &[ABSENT, ABSENT, ABSENT, ABSENT, ABSENT]);
        assert_eq!(guest(&none, Attribute::OpenMpiVersion), "<ompi_info (Open MPI) is not installed>");
        assert_eq!(guest(&none, Attribute::UcxTransports), "<ucx_info (UCX) is not installed>");
        let silent = run(&PROBE, &[("package:x\n", "", 0), ABSENT, ("# Git branch\n", "", 0), ABSENT, ABSENT]);
        assert!(guest(&silent, Attribute::OpenMpiVersion).starts_with("<failed"));
        assert!(guest(&silent, Attribute::UcxVersion).starts_with("<failed"));
        let broken = run(
            &PROBE,
            &[("", "ompi_info: error while loading shared libraries\n", 1), ABSENT, ABSENT, ABSENT, ABSENT],
        );
        assert!(guest(&broken, Attribute::OpenMpiVersion).starts_with("<failed: ompi_info: error"));
    }

    #[test]
    fn versions_of_ucx_in_all_their_forms() {
        let of =
            |text: &str| guest(&run(&PROBE, &[ABSENT, ABSENT, (text, "", 0), ABSENT, ABSENT]), Attribute::UcxVersion);
        assert_eq!(of("# Library version: 1.22.0\n# Library path: /usr/lib64/libucs.so.0\n"), "1.22.0");
        assert_eq!(of("# UCT version=1.11.2 revision 0000000\n# configured with: --x\n"), "1.11.2");
    }

    #[test]
    fn transports_with_their_devices_and_those_that_do_not_open() {
        let of = |text: &str| {
            state(
                &run(&PROBE, &[ABSENT, ABSENT, ABSENT, (text, "", 0), ABSENT]),
                &Entity::Guest,
                Attribute::UcxTransports,
            )
        };
        let Some(State::Known(list)) = of(TRANSPORTS) else { panic!("known") };
        let list: Vec<String> = list.as_list().expect("a list").iter().map(ToString::to_string).collect();
        assert_eq!(list, ["cma memory", "posix memory", "self memory0", "sysv memory", "tcp eth0", "tcp lo"]);
        let ib = "# Memory domain: rocep27s0f1\n#     Component: ib\n#      Transport: rc_verbs\n\
                  #         Device: rocep27s0f1:1\n#           Type: network\n#   < failed to open interface >\n\
                  #      Transport: ud_verbs\n#         Device: rocep27s0f1:1\n";
        let Some(State::Known(list)) = of(ib) else { panic!("known") };
        assert_eq!(list.to_string(), "ud_verbs rocep27s0f1:1");
        assert_eq!(
            of("# Memory domain: mlx5_0\n#     Component: ib\n#   < no supported devices found >\n"),
            Some(State::Empty)
        );
    }

    survives_damage!(PROBE, OPEN_MPI, OLD_OPEN_MPI, UCX, TRANSPORTS, SETTINGS);
}
