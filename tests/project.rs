//! The project's own papers: what README promises exists, every dependency is accounted for, links lead somewhere, and
//! generated blocks of documentation are what the program prints today.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the program prints for these arguments, and whether it ended well.
fn program(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the program starts");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The project's files: those that git tracks, or all but build outputs where there is no git.
fn project_files() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    if let Ok(output) = listed
        && output.status.success()
        && !output.stdout.is_empty()
    {
        let names = String::from_utf8(output.stdout).expect("names are text");
        return names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    }
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder").flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                if !matches!(path.to_str(), Some("target" | ".git")) {
                    folders.push(path);
                }
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// The lines of the `sh` blocks of a page, without comments, prompts and continuations.
fn shell_lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            inside = !inside && line == "```sh";
        } else if inside {
            let command = line.split(" #").next().unwrap_or_default().trim();
            if !command.is_empty() && !command.starts_with('#') {
                lines.push(command.to_owned());
            }
        }
    }
    lines
}

/// The commands of this program that a page shows, in blocks and between back-ticks: their arguments.
fn program_commands(page: &str) -> Vec<Vec<String>> {
    let quoted = page.split('`').skip(1).step_by(2).map(str::to_owned);
    shell_lines(page)
        .into_iter()
        .chain(quoted)
        .filter_map(|line| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let at = match words.first()?.as_str() {
                "rdmascope" => 1,
                "cargo" if words.get(1).is_some_and(|word| word == "run") => {
                    words.iter().position(|word| word == "--")? + 1
                }
                _ => return None,
            };
            Some(words[at..].to_vec())
        })
        .collect()
}

/// Every word that could be a command of the program, now or later: a first argument of this name is no target.
const COMMANDS: [&str; 20] = [
    "demo",
    "snapshot",
    "diff",
    "check",
    "lint",
    "explain",
    "bench",
    "baseline",
    "tune",
    "replay",
    "report",
    "collector",
    "checks",
    "keys",
    "themes",
    "config",
    "init",
    "doctor",
    "completions",
    "man",
];

/// What a page promises and the help does not know. `help` gives the help of a command line's commands, empty if they do
/// not exist.
fn broken_promises(page: &str, help: impl Fn(&[&str]) -> String) -> Vec<String> {
    let mut broken = Vec::new();
    for arguments in program_commands(page) {
        let commands: Vec<&str> = match arguments.first().map(String::as_str) {
            Some("config") => arguments.iter().map(String::as_str).take(2).collect(),
            Some(first) if COMMANDS.contains(&first) => vec![first],
            _ => Vec::new(),
        };
        let text = help(&commands);
        if text.is_empty() {
            broken.push(format!("no help for {commands:?} of `rdmascope {}`", arguments.join(" ")));
            continue;
        }
        for option in arguments.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
            let option = option.split('=').next().unwrap_or(option);
            let known = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == option);
            if !known {
                broken.push(format!("no option {option} in `rdmascope {}`", arguments.join(" ")));
            }
        }
    }
    broken
}

/// The block behind a marker of a page.
fn marked_block(page: &str, marker: &str) -> Option<String> {
    let marker = format!("<!-- {marker} -->");
    let mut lines = page.lines().skip_while(|line| *line != marker).skip(1);
    lines.next().filter(|line| line.starts_with("```"))?;
    Some(lines.take_while(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_commands_of_the_readme_exist() {
    let help = |commands: &[&str]| {
        let (success, text) = program(&[commands, &["--help"]].concat());
        if success { text } else { String::new() }
    };
    let page = read("README.md");
    assert!(program_commands(&page).len() > 5, "the page shows commands");
    let broken = broken_promises(&page, help);
    assert!(broken.is_empty(), "README.md promises what is not there:\n{}", broken.join("\n"));
    let broken = broken_promises(&read("CONTRIBUTING.md"), help);
    assert!(broken.is_empty(), "CONTRIBUTING.md promises what is not there:\n{}", broken.join("\n"));
}

#[test]
fn the_marked_commands_are_there_for_those_who_run_them() {
    let page = read("README.md");
    assert_eq!(marked_block(&page, "first-command").as_deref(), Some("cargo run --release -- demo"));
    assert_eq!(marked_block(&page, "test-command").as_deref(), Some("cargo test"));
    let script = read(".ci/run");
    assert!(script.contains("readme_command test-command"), "the checks run the README's own test command");
}

#[test]
fn a_false_promise_is_seen() {
    let page = "Use `rdmascope snapshot --out x` or `rdmascope config show`.\n```sh\nrdmascope snapshot --output x   # wrong\n\
                rdmascope host --format=json\ncargo run --release -- lint --fix\ncargo test\n```\n```toml\nrdmascope bench\n```\n";
    let help = |commands: &[&str]| match commands {
        [] => "Usage: rdmascope [--format FORMAT]".to_owned(),
        ["snapshot"] => "  --out FILE  --format".to_owned(),
        ["config", "show"] => "shows".to_owned(),
        _ => String::new(),
    };
    assert_eq!(
        broken_promises(page, help),
        ["no option --output in `rdmascope snapshot --output x`", "no help for [\"lint\"] of `rdmascope lint --fix`"]
    );
}

/// Names of the crates in the dependency tables of a manifest.
fn direct_dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = toml::from_str(manifest).expect("a manifest");
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// Names and reasons in lines like ``- `name`: reason``.
fn accounted(page: &str) -> BTreeMap<String, String> {
    page.lines()
        .filter_map(|line| {
            let (name, reason) = line.strip_prefix("- `")?.split_once("`: ")?;
            Some((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

#[test]
fn every_direct_dependency_is_accounted_for() {
    let (needed, told) = (direct_dependencies(&read("Cargo.toml")), accounted(&read("CONTRIBUTING.md")));
    let missing: Vec<_> = needed.iter().filter(|name| told.get(*name).is_none_or(|reason| reason.len() < 5)).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md gives no reason for {missing:?}");
    let gone: Vec<_> = told.keys().filter(|name| !needed.contains(*name)).collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md gives reasons for {gone:?}, which Cargo.toml does not name");
}

#[test]
fn an_unaccounted_dependency_is_seen() {
    let needed = direct_dependencies(
        "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = { version = \"1\" }\n[features]\nc = []\n",
    );
    assert_eq!(needed.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    let told = accounted("- `a`: because\n- b: no\n* `c`: no\n");
    assert_eq!(told.into_iter().collect::<Vec<_>>(), [("a".to_owned(), "because".to_owned())]);
}

/// Words that have no place in a project that speaks of itself alone. They are put together here so that this file does
/// not hold them.
fn strange_words() -> [String; 8] {
    let join = |parts: &[&str]| parts.concat();
    [
        join(&["..", "/shared"]),
        join(&["/wo", "rk/"]),
        join(&["crates", ".io"]),
        join(&["deb.", "debian", ".org"]),
        join(&["py", "pi.org"]),
        join(&["npmjs", ".org"]),
        join(&["docker", ".io"]),
        join(&["ghcr", ".io"]),
    ]
}

fn strange_words_in(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    strange_words().into_iter().filter(|word| lower.contains(word)).collect()
}

#[test]
fn no_file_speaks_of_places_that_are_not_the_projects() {
    let files = project_files();
    assert!(files.len() > 100, "only {} files are looked at", files.len());
    let mut found = Vec::new();
    for file in files {
        // The lock file is cargo's own.
        if file == Path::new("Cargo.lock") {
            continue;
        }
        let Ok(bytes) = std::fs::read(root().join(&file)) else { continue };
        for word in strange_words_in(&String::from_utf8_lossy(&bytes)) {
            found.push(format!("{}: {word}", file.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_strange_word_is_seen() {
    for word in strange_words() {
        assert_eq!(strange_words_in(&format!("see {} there", word.to_uppercase())), [word]);
    }
    assert!(strange_words_in("the network, a workplace, shared memory").is_empty());
}

/// The targets of the links of a page that lead into the project, without anchors.
fn local_links(page: &str) -> Vec<String> {
    page.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.contains("://") && !link.starts_with('#'))
        .map(|link| link.split('#').next().unwrap_or(link).to_owned())
        .collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for link in local_links(&read(page)) {
            assert!(root().join(&link).exists(), "{page} links to {link}, which is not there");
        }
    }
    assert_eq!(local_links("[a](b.md#c) [d](https://e) [f](#g) [h](i/j)"), ["b.md", "i/j"]);
}

#[test]
fn the_licences_are_there() {
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).expect("a manifest");
    assert_eq!(manifest["package"]["license"].as_str(), Some("MIT OR Apache-2.0"));
    assert!(read("LICENSE-MIT").starts_with("MIT License"));
    assert!(read("LICENSE-APACHE").contains("Version 2.0, January 2004"));
    assert!(read("CHANGELOG.md").contains("## [Unreleased]"));
}

#[test]
fn no_scenario_of_the_lab_can_get_lost() {
    let entered: usize = std::fs::read_dir(root().join("tests/soft_roce"))
        .expect("the scenarios")
        .map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("a source"))
        .map(|source| source.matches("Lab::enter(").count())
        .sum();
    let script = read(".ci/run");
    let stated = script.lines().find_map(|line| line.strip_prefix("minimum_scenarios=")).expect("a number");
    assert_eq!(stated.trim().parse(), Ok(entered), "the checks state how many scenarios there are");
}

/// Pages with generated blocks, written anew: the text of each, with every block replaced by what `print` gives for its
/// command line.
fn regenerated(page: &str, print: impl Fn(&[&str]) -> String) -> String {
    const BEGIN: &str = "<!-- generated by: rdmascope ";
    const END: &str = "<!-- end of generated -->";
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(BEGIN) {
        let line_end = at + rest[at..].find("-->\n").expect("the marker ends its line") + 4;
        let end = line_end + rest[line_end..].find(END).expect("a generated block has an end");
        let arguments: Vec<&str> = rest[at + BEGIN.len()..line_end - 4].split_whitespace().collect();
        out.push_str(&rest[..line_end]);
        out.push_str("```text\n");
        out.push_str(print(&arguments).trim_end());
        out.push_str("\n```\n");
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[test]
fn generated_blocks_are_current() {
    for file in project_files() {
        let page_like = file.extension().is_some_and(|extension| extension == "md") && !file.starts_with("tests");
        if !page_like || file == Path::new("CONTRIBUTING.md") {
            continue;
        }
        let path = root().join(&file);
        let page = std::fs::read_to_string(&path).expect("a page");
        let fresh = regenerated(&page, |arguments| {
            let (success, text) = program(arguments);
            assert!(success, "rdmascope {} failed", arguments.join(" "));
            text
        });
        if std::env::var_os("RDMASCOPE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &fresh).expect("written");
        } else {
            assert_eq!(
                page,
                fresh,
                "{} is not current: RDMASCOPE_WRITE_DOCS=1 cargo test --test project",
                file.display()
            );
        }
    }
}

#[test]
fn generated_blocks_are_replaced_and_nothing_else() {
    let page = "# A\n<!-- generated by: rdmascope keys --plain -->\nold\n<!-- end of generated -->\nrest\n";
    let fresh = regenerated(page, |arguments| format!("{arguments:?}\n\n"));
    assert_eq!(
        fresh,
        "# A\n<!-- generated by: rdmascope keys --plain -->\n```text\n[\"keys\", \"--plain\"]\n```\n<!-- end of generated -->\nrest\n"
    );
    assert_eq!(regenerated(&fresh, |arguments| format!("{arguments:?}\n\n")), fresh);
    assert_eq!(regenerated("nothing\n", |_| unreachable!("there is no block")), "nothing\n");
}
