//! Version, build and release of the hypervisor, and what machine it runs on. The version number hides the release:
//! `7.0.3` is 7.0 U3 and every patch of it, only the build tells which.

use std::sync::Arc;

use super::block;
use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Version and machine.
pub const PROBE: Probe = Probe {
    name: "esxi.version",
    title: "version, build and release; machine and system UUID",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.first(),
    sources: &[
        command!("esxi.system-version", "esxcli" "system" "version" "get"),
        command!("esxi.vmware-v", "vmware" "-v"),
        command!("esxi.system-uuid", "esxcli" "system" "uuid" "get"),
        command!("esxi.platform", "esxcli" "hardware" "platform" "get"),
        command!("esxi.hostname", "esxcli" "system" "hostname" "get"),
    ],
    parse,
};

/// Builds that public lists name. A build that is not among them is not guessed.
const RELEASES: &[(u32, &str)] = &[
    (18_644_231, "7.0 U3"),
    (19_193_900, "7.0 U3c"),
    (19_482_537, "7.0 U3d"),
    (20_513_097, "8.0"),
    (21_495_797, "8.0 U1"),
    (22_380_479, "8.0 U2"),
    (23_305_546, "8.0 U2b"),
    (24_022_510, "8.0 U3"),
    (24_280_767, "8.0 U3b"),
    (24_674_464, "8.0 U3e"),
    (24_755_229, "9.0"),
    (24_957_456, "9.0.1"),
];

/// Name of the release of a build, if a public list names it.
pub fn release(build: u32) -> Option<&'static str> {
    RELEASES.iter().find(|(known, _)| *known == build).map(|(_, name)| *name)
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [version, banner, uuid, platform, hostname] = observations else { return Vec::new() };
    let mut all = version_facts(version, banner);
    let mut facts = Facts::of(uuid);
    let state = reply::trouble(uuid).map(|state| (0, state)).or_else(|| {
        let mut lines = uuid.lines().map(|(number, line)| (number, line.trim()));
        let (number, line) = lines.find(|(_, line)| !line.is_empty())?;
        let word = line.rsplit(' ').next().unwrap_or(line);
        let plain = word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        Some((number, if plain { State::Known(word.into()) } else { reply::not_understood(line) }))
    });
    let (line, state) = state.unwrap_or((0, State::Empty));
    facts.say(&Entity::Host, Attribute::HostUuid, Some(state), line);
    all.extend(facts.said);
    all.extend(keys(
        platform,
        &[(Attribute::SystemVendor, &["Vendor Name"]), (Attribute::ProductName, &["Product Name"])],
    ));
    all.extend(keys(hostname, &[(Attribute::Hostname, &["Fully Qualified Domain Name", "Host Name"])]));
    all
}

/// Facts about the host from keys at any depth of one block.
fn keys(observation: &Observation, wanted: &[(Attribute, &[&str])]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let trouble = reply::trouble(observation);
    let block = block::block(&observation.stdout, 1);
    for (attribute, keys) in wanted {
        let (state, line) = match (&trouble, block.anywhere(keys)) {
            (Some(state), _) => (Some(state.clone()), 0),
            (None, Some(field)) => (Some(reply::text(&field.value)), field.line),
            (None, None) => (None, 0),
        };
        facts.say(&Entity::Host, *attribute, state, line);
    }
    facts.said
}

fn version_facts(version: &Observation, banner: &Observation) -> Vec<Fact> {
    let trouble = reply::trouble(version);
    let block = block::block(&version.stdout, 1);
    let field = |key: &str| block.anywhere(&[key]).filter(|_| trouble.is_none());
    let mut facts = Facts::of(version);
    let mut said = |attribute, key, value: Option<&str>| {
        let Some(field) = field(key) else { return false };
        let state = reply::text(value.unwrap_or(&field.value));
        facts.say(&Entity::Host, attribute, Some(state), field.line);
        true
    };
    let number = field("Build").map(|field| digits(&field.value));
    let shown = field("Version").map(|field| field.value.to_string());
    let update = field("Update").and_then(|field| field.value.parse::<u32>().ok());
    said(Attribute::OperatingSystem, "Product", None);
    let by_esxcli = said(Attribute::EsxiVersion, "Version", None)
        & said(Attribute::EsxiBuild, "Build", number.filter(|n| !n.is_empty()));
    if by_esxcli {
        let line = field("Build").map_or(0, |field| field.line);
        let state = release_of(number.unwrap_or(""), shown.as_deref().unwrap_or(""), update);
        facts.say(&Entity::Host, Attribute::EsxiRelease, Some(state), line);
        return facts.said;
    }
    // `vmware -v` asks no agent: it still tells when hostd is dead.
    let mut facts = Facts::of(banner);
    let found = banner.lines().find_map(|(number, line)| Some((number, banner_parts(line)?)));
    if let Some((line, (version, build))) = found {
        facts.say(&Entity::Host, Attribute::EsxiVersion, Some(State::Known(version.into())), line);
        facts.say(&Entity::Host, Attribute::EsxiBuild, Some(State::Known(build.into())), line);
        facts.say(&Entity::Host, Attribute::EsxiRelease, Some(release_of(build, version, None)), line);
    } else {
        let state = trouble.or_else(|| reply::trouble(banner)).unwrap_or(State::Empty);
        for attribute in [Attribute::EsxiVersion, Attribute::EsxiBuild, Attribute::EsxiRelease] {
            facts.say(&Entity::Host, attribute, Some(state.clone()), 0);
        }
    }
    facts.said
}

/// Version and build of `VMware ESXi 8.0.0 build-20513097`.
fn banner_parts(line: &str) -> Option<(&str, &str)> {
    let (before, build) = line.trim().split_once(" build-")?;
    let version = before.rsplit(' ').next()?;
    let build = digits(build);
    (version.starts_with(|first: char| first.is_ascii_digit()) && !build.is_empty()).then_some((version, build))
}

/// The digits at the end of `Releasebuild-19482537`.
fn digits(text: &str) -> &str {
    let text = text.trim();
    let start = text
        .rfind(|character: char| !character.is_ascii_digit())
        .map_or(0, |place| place + text[place..].chars().next().map_or(1, char::len_utf8));
    &text[start..]
}

fn release_of(build: &str, version: &str, update: Option<u32>) -> State<Value> {
    if let Some(name) = build.parse().ok().and_then(release) {
        return State::Known(name.into());
    }
    let near = match (version.rsplit_once('.'), update) {
        (Some((major, _)), Some(update)) if update > 0 => {
            format!("; by its version it is {major} U{update} or a patch of it")
        }
        _ => String::new(),
    };
    State::NotPublished(Text::new(&format!("the list of releases (build {build} is not in it{near})")))
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As they were published; the platform's layout is known from a few keys only.
    const VERSION: &str =
        "   Product: VMware ESXi\n   Version: 7.0.3\n   Build: Releasebuild-19482537\n   Update: 3\n   Patch: 40\n";
    const BANNER: &str = "VMware ESXi 8.0.0 build-20513097\n";
    const UUID: &str = "5b645dbf-d27a-664c-e76a-1402ec67d6e6\n";
    const PLATFORM: &str = "Platform Information\n   UUID: 0x5b 0x64\n   Product Name: PowerEdge R740\n   Vendor Name: Dell Inc.\n   Serial Number: X\n";
    const NAME: &str = "   Domain Name: example\n   Fully Qualified Domain Name: esx01.example\n   Host Name: esx01\n";

    fn host(facts: &[Fact], attribute: Attribute) -> String {
        shown(facts, &Entity::Host, attribute)
    }

    #[test]
    fn a_release_is_known_by_its_build() {
        for text in [VERSION.to_owned(), with_carriage_returns(VERSION), VERSION.replace("   ", "")] {
            let facts =
                run(&PROBE, &[(&text, "", 0), (BANNER, "", 0), (UUID, "", 0), (PLATFORM, "", 0), (NAME, "", 0)]);
            assert_eq!(host(&facts, Attribute::EsxiVersion), "7.0.3");
            assert_eq!(host(&facts, Attribute::EsxiBuild), "19482537");
            assert_eq!(host(&facts, Attribute::EsxiRelease), "7.0 U3d");
            assert_eq!(host(&facts, Attribute::HostUuid), "5b645dbf-d27a-664c-e76a-1402ec67d6e6");
            assert_eq!(host(&facts, Attribute::SystemVendor), "Dell Inc.");
            assert_eq!(host(&facts, Attribute::ProductName), "PowerEdge R740");
            assert_eq!(host(&facts, Attribute::Hostname), "esx01.example");
        }
    }

    #[test]
    fn a_build_that_no_list_names_is_not_guessed() {
        let text = VERSION.replace("19482537", "18643491");
        let facts = run(&PROBE, &[(&text, "", 0), ("", "", 0), ("", "", 0), ("", "", 0), ("", "", 0)]);
        assert_eq!(
            host(&facts, Attribute::EsxiRelease),
            "<not published by the list of releases (build 18643491 is not in it; by its version it is 7.0 U3 or a patch of it)>"
        );
        assert_eq!(host(&facts, Attribute::HostUuid), "<empty>");
    }

    #[test]
    fn the_banner_tells_where_the_agent_is_dead() {
        let dead = ("", HOSTD_DEAD, 1);
        let facts = run(&PROBE, &[dead, (BANNER, "", 0), dead, dead, dead]);
        assert_eq!(host(&facts, Attribute::EsxiRelease), "8.0");
        assert!(host(&facts, Attribute::HostUuid).contains("hostd does not answer"));
        let facts = run(&PROBE, &[dead, ("", "vmware: not found", 127), dead, dead, dead]);
        assert!(host(&facts, Attribute::EsxiVersion).contains("hostd does not answer"));
    }

    survives_damage!(PROBE, VERSION, BANNER, UUID, PLATFORM, NAME);
}
