//! Configuration files of every kind, right and wrong: `tests/config/valid` and `tests/config/invalid`. A wrong one
//! begins with a comment for each defect: `# expect LINE: message`.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rdmascope::config::{Configuration, GlyphSet, Kind, SwitchSystem};

fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(folder);
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

fn valid(name: &str) -> Configuration {
    let (_, text) = files("valid").into_iter().find(|(file, _)| file == name).expect("the file is there");
    Configuration::parse(name, &text).expect("it is right")
}

#[test]
fn every_valid_file_is_read() {
    let files = files("valid");
    assert!(files.len() >= 4);
    for (name, text) in files {
        if let Err(defects) = Configuration::parse(&name, &text) {
            panic!("{defects}");
        }
    }
    assert_eq!(valid("empty.toml"), Configuration::default());
    let settings = valid("settings.toml").settings;
    assert_eq!(
        (settings.glyphs.value, settings.low_bandwidth.value, settings.period_ms.value),
        (GlyphSet::Block, true, 500)
    );
    assert_eq!(settings.glyphs.whence.to_string(), "settings.toml:3");
    assert_eq!(valid("windows-lines.toml").settings.plain.whence.to_string(), "windows-lines.toml:2");
}

#[test]
fn a_valid_inventory_says_what_it_says() {
    let inventory = valid("inventory.toml").inventory;
    let shown: Vec<(&str, Option<Kind>, Option<String>, u32)> = inventory
        .targets
        .iter()
        .map(|target| {
            (target.name.as_str(), target.kind, target.address.as_ref().map(ToString::to_string), target.line)
        })
        .collect();
    let at = |text: &str| Some(text.to_owned());
    assert_eq!(
        shown,
        [
            ("gpu-vm-01", Some(Kind::Linux), at("root@192.0.2.11:2222"), 2),
            ("alias-only", None, at("alias-only"), 9),
            ("esx-01", Some(Kind::Esxi), at("root@[2001:db8::1]:22"), 12),
            ("leaf-1", Some(Kind::Switch(SwitchSystem::NxOs)), at("leaf-1"), 21),
            ("local", Some(Kind::Local), None, 27),
        ]
    );
    let guest = inventory.get("gpu-vm-01").expect("it is there");
    assert_eq!(guest.tags, ["training", "rack 7"]);
    assert_eq!((guest.links.vm.as_deref(), guest.links.host.as_deref()), (Some("GPU VM 01"), Some("esx-01")));
    let host = inventory.get("esx-01").expect("it is there");
    assert_eq!((host.links.switch.as_deref(), host.links.port.as_deref()), (Some("leaf-1"), Some("Ethernet1/1")));
    let command = ["pass", "show", "esx 01", ""].map(str::to_owned).to_vec();
    assert_eq!((&host.access.password_command, host.access.legacy_algorithms), (&Some(command), false));
    assert!(inventory.get("leaf-1").is_some_and(|switch| switch.access.legacy_algorithms));
}

#[test]
fn every_invalid_file_is_told_with_its_lines() {
    let files = files("invalid");
    assert!(files.len() >= 12);
    for (name, text) in files {
        let expected: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# expect "))
            .map(|expectation| format!("{name}:{expectation}"))
            .collect();
        assert!(!expected.is_empty(), "{name} expects nothing");
        let defects = Configuration::parse(&name, &text).expect_err(&name);
        let found: Vec<String> = defects.0.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// All valid files and the sample, one after the other where that gives a file.
fn seeds() -> Vec<String> {
    let mut seeds: Vec<String> = files("valid").into_iter().map(|(_, text)| text).collect();
    seeds.push(rdmascope::config::sample::SAMPLE.replace("\n# ", "\n"));
    seeds.extend(files("invalid").into_iter().map(|(_, text)| text));
    seeds.retain(|text| !text.is_empty());
    seeds
}

fn mutated() -> impl Strategy<Value = String> {
    let pieces = vec![
        "",
        "\"",
        "'",
        "=",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        ",",
        "\n",
        "#",
        ".",
        "\\",
        "\u{0}",
        "\u{1b}[31m",
        "ä",
        "-",
        "@",
        ":",
        "9999999999999999999999",
        "1e400",
        "inf",
        "2026-01-01",
        "true",
        "name = \"vm1\"\n",
        "[[target]]\n",
        "\"\"\"",
    ];
    let edit = (any::<prop::sample::Index>(), 0..10_usize, prop::sample::select(pieces));
    (prop::sample::select(seeds()), prop::collection::vec(edit, 0..6)).prop_map(|(mut text, edits)| {
        for (at, length, piece) in edits {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            text.replace_range(start..end, piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_breaks_the_reader(text in mutated()) {
        let lines = u32::try_from(text.lines().count()).expect("a short file") + 1;
        match Configuration::parse("config.toml", &text) {
            Ok(configuration) => {
                for (number, target) in configuration.inventory.targets.iter().enumerate() {
                    prop_assert!(!target.name.is_empty() && !target.name.starts_with('-'));
                    prop_assert!(!target.name.chars().any(char::is_control));
                    prop_assert!(target.address.as_ref().is_none_or(|address| !address.host.starts_with('-')));
                    let same = configuration.inventory.targets.iter().position(|other| other.name == target.name);
                    prop_assert_eq!(same, Some(number));
                }
            }
            Err(defects) => {
                prop_assert!(!defects.0.is_empty());
                for defect in defects.0 {
                    prop_assert!((1..=lines).contains(&defect.line), "{:?}", defect);
                    prop_assert!(!defect.to_string().chars().any(char::is_control), "{:?}", defect);
                }
            }
        }
    }
}
