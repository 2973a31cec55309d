//! What the doctor looks at.

use std::fs;
use std::io::IsTerminal as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Item, Verdict};
use crate::cli::Failure;
use crate::cli::args::Global;
use crate::config::Defects;
use crate::engine::openssh::surroundings;
use crate::engine::program::{Run, run};
use crate::engine::settings;
use crate::fabric::Text;

/// How long a program may take that is asked for its version or state.
const DEADLINE: Duration = Duration::from_secs(5);

/// Looks at everything.
pub(super) fn all(global: &Global) -> Result<Vec<Item>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Internal(error.into()))?;
    let home = surroundings().home;
    let mut items = versions();
    items.extend(terminal());
    items.extend(runtime.block_on(multiplexer()));
    items.extend(configuration(global));
    items.extend(runtime.block_on(ssh()));
    items.extend(ssh_files(&home));
    let home = home.to_string_lossy();
    for item in &mut items {
        // The name of the user is nobody's business.
        if home.len() > 1 {
            item.value = item.value.replace(&*home, "~");
        }
    }
    Ok(items)
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .map(|value| Text::new(&value.to_string_lossy()).to_string())
        .filter(|value| !value.is_empty())
}

fn versions() -> Vec<Item> {
    let system = fs::read_to_string("/etc/os-release").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(Text::new(line.trim_matches('"')).to_string())
    });
    let kernel = rustix::system::uname();
    let shown = |text: &std::ffi::CStr| Text::new(&text.to_string_lossy()).to_string();
    let kernel = format!("{} {} {}", shown(kernel.sysname()), shown(kernel.release()), shown(kernel.machine()));
    vec![
        Item::ok("versions", "rdmascope", env!("CARGO_PKG_VERSION")),
        Item::ok("versions", "built with", env!("RDMASCOPE_COMPILER")),
        Item::ok("versions", "system", system.unwrap_or_else(|| "not told by /etc/os-release".to_owned())),
        Item::ok("versions", "kernel", kernel),
    ]
}

fn terminal() -> Vec<Item> {
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let mut items = Vec::new();
    let own = Item::ok("terminal", "terminal", if is_terminal { "yes" } else { "no" });
    items.push(if is_terminal {
        own
    } else {
        own.but(Verdict::Note, "input or output is redirected; the console needs a terminal")
    });
    let term = variable("TERM");
    let shown = Item::ok("terminal", "TERM", term.clone().unwrap_or_else(|| "not set".to_owned()));
    items.push(match term.as_deref() {
        None | Some("dumb") if is_terminal => {
            shown.but(Verdict::Problem, "a terminal that can move its cursor is needed; set TERM")
        }
        _ => shown,
    });
    let colour = variable("COLORTERM");
    items.push(Item::ok("terminal", "COLORTERM", colour.unwrap_or_else(|| "not set".to_owned())));
    if let Some(program) = variable("TERM_PROGRAM") {
        let version = variable("TERM_PROGRAM_VERSION").unwrap_or_default();
        items.push(Item::ok("terminal", "program", format!("{program} {version}").trim_end().to_owned()));
    }
    if variable("NO_COLOR").is_some() {
        items.push(Item::ok("terminal", "NO_COLOR", "set"));
    }
    let size = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stdin()))
        .ok()
        .filter(|size| size.ws_col != 0 && size.ws_row != 0);
    items.push(match size {
        Some(size) => {
            let shown = Item::ok("terminal", "size", format!("{}x{}", size.ws_col, size.ws_row));
            if size.ws_col < 80 || size.ws_row < 24 {
                shown.but(Verdict::Note, "the console is made for 80x24 and more")
            } else {
                shown
            }
        }
        None => Item::ok("terminal", "size", "not known"),
    });
    items.push(locale(["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, variable(name)?)))));
    items
}

/// The first of the three variables that is set decides.
fn locale(set: Option<(&str, String)>) -> Item {
    let advice = "without a UTF-8 locale graphs are drawn in ascii; set LC_ALL or --glyphs";
    let Some((name, value)) = set else {
        return Item::ok("terminal", "locale", "not set").but(Verdict::Note, advice);
    };
    let item = Item::ok("terminal", "locale", format!("{name}={value}"));
    let lower = value.to_lowercase();
    if lower.contains("utf-8") || lower.contains("utf8") { item } else { item.but(Verdict::Note, advice) }
}

async fn multiplexer() -> Vec<Item> {
    let mut items = Vec::new();
    if variable("TMUX").is_some() {
        items.push(Item::ok("terminal", "multiplexer", first_line(run("tmux", &["-V"], DEADLINE).await)));
        let clipboard = first_line(run("tmux", &["show-options", "-gv", "set-clipboard"], DEADLINE).await);
        let item = Item::ok("terminal", "set-clipboard", clipboard.clone());
        items.push(match clipboard.as_str() {
            "on" | "external" => item,
            _ => item.but(Verdict::Note, "copying does not reach the clipboard; tmux set -g set-clipboard on"),
        });
    } else if variable("STY").is_some() {
        let version = first_line(run("screen", &["-v"], DEADLINE).await);
        let advice = "screen passes neither the clipboard nor synchronized updates on";
        items.push(Item::ok("terminal", "multiplexer", version).but(Verdict::Note, advice));
    } else {
        items.push(Item::ok("terminal", "multiplexer", "none"));
    }
    items
}

fn first_line(run: Run) -> String {
    match run {
        Run::Ended { output, .. } => Text::new(output.lines().next().unwrap_or_default()).to_string(),
        Run::NotInstalled => "not installed".to_owned(),
        Run::Failed(why) => why,
    }
}

fn configuration(global: &Global) -> Vec<Item> {
    let path = match settings::path(global.config.as_deref()) {
        Ok(path) => path.display().to_string(),
        Err(defect) => {
            return vec![Item::ok("configuration", "file", "not known").but(Verdict::Problem, defect.to_string())];
        }
    };
    let mut items = Vec::new();
    match settings::load(global.config.as_deref()) {
        Ok(mut loaded) => {
            let state = if loaded.exists { "" } else { " (not there: defaults)" };
            items.push(Item::ok("configuration", "file", format!("{path}{state}")));
            items.push(targets(&loaded.configuration.inventory.targets));
            if let Err(defects) = global.overlay(&mut loaded.configuration.settings) {
                items.extend(wrong(&Defects(defects)));
            }
        }
        Err(defects) => {
            items.push(Item::ok("configuration", "file", path));
            items.extend(wrong(&defects));
        }
    }
    items
}

/// How many targets there are, by kind: their names and addresses are not told.
fn targets(targets: &[crate::config::Target]) -> Item {
    let mut kinds: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for target in targets {
        *kinds.entry(target.kind_name()).or_default() += 1;
    }
    let counted: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Item::ok("configuration", "targets", if counted.is_empty() { "none".to_owned() } else { counted.join(", ") })
}

fn wrong(defects: &Defects) -> Vec<Item> {
    let item = |defect: &crate::config::Defect| {
        Item::ok("configuration", "error", defect.to_string()).but(Verdict::Problem, "correct it; nothing else is read")
    };
    defects.0.iter().map(item).collect()
}

async fn ssh() -> Vec<Item> {
    let version = run("ssh", &["-V"], DEADLINE).await;
    let installed = version != Run::NotInstalled;
    let item = Item::ok("ssh", "OpenSSH", first_line(version));
    let mut items = vec![if installed {
        item
    } else {
        item.but(Verdict::Note, "its configuration files are read without it; `Match exec` is skipped")
    }];
    items.push(match variable("SSH_AUTH_SOCK") {
        None => {
            Item::ok("ssh", "agent", "none (SSH_AUTH_SOCK is not set)").but(Verdict::Note, "only key files are tried")
        }
        Some(_) => agent(run("ssh-add", &["-l"], DEADLINE).await),
    });
    items
}

/// What `ssh-add -l` says: how many identities, never which.
fn agent(asked: Run) -> Item {
    let item = |value: &str| Item::ok("ssh", "agent", value);
    match asked {
        Run::Ended { status: 0, output } => match output.lines().count() {
            1 => item("reachable, 1 identity"),
            many => item(&format!("reachable, {many} identities")),
        },
        Run::Ended { status: 1, .. } => {
            item("reachable, no identity").but(Verdict::Note, "only key files are tried; add a key with ssh-add")
        }
        Run::Ended { .. } => item("not reachable")
            .but(Verdict::Problem, "SSH_AUTH_SOCK names a socket where no agent answers; start one or unset it"),
        Run::NotInstalled => item("not known").but(Verdict::Note, "ssh-add is not installed"),
        Run::Failed(why) => item("not reachable").but(Verdict::Problem, format!("ssh-add: {why}")),
    }
}

fn ssh_files(home: &Path) -> Vec<Item> {
    let folder = home.join(".ssh");
    let mut items = Vec::new();
    items.push(match fs::metadata(&folder) {
        Ok(found) => {
            let item = Item::ok("ssh", "~/.ssh", format!("mode {:03o}", found.mode() & 0o777));
            if found.mode() & 0o022 == 0 {
                item
            } else {
                item.but(Verdict::Problem, "others can write there: chmod 700 ~/.ssh")
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Item::ok("ssh", "~/.ssh", "not there").but(Verdict::Note, "no key and no known host yet")
        }
        Err(error) => Item::ok("ssh", "~/.ssh", "not readable").but(Verdict::Problem, error.to_string()),
    });
    items.push(match fs::read(folder.join("known_hosts")) {
        Ok(bytes) => {
            let lines = bytes.split(|byte| *byte == b'\n');
            let entries = lines.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#")).count();
            Item::ok("ssh", "known_hosts", format!("{entries} entries"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Item::ok("ssh", "known_hosts", "not there")
            .but(Verdict::Note, "each host key is asked about at its first connection"),
        Err(error) => Item::ok("ssh", "known_hosts", "not readable").but(Verdict::Problem, error.to_string()),
    });
    items
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn ended(status: i32, output: &str) -> Run {
        Run::Ended { status, output: output.to_owned() }
    }

    #[test]
    fn agents_are_told_apart() {
        for (asked, value, verdict) in [
            (ended(0, "256 SHA256:x a (ED25519)\n"), "reachable, 1 identity", Verdict::Ok),
            (ended(0, "a\nb\n"), "reachable, 2 identities", Verdict::Ok),
            (ended(1, "The agent has no identities.\n"), "reachable, no identity", Verdict::Note),
            (ended(2, "Error connecting to agent\n"), "not reachable", Verdict::Problem),
            (Run::NotInstalled, "not known", Verdict::Note),
            (Run::Failed("no answer within 5 s".to_owned()), "not reachable", Verdict::Problem),
        ] {
            let item = agent(asked);
            assert_eq!((item.value.as_str(), item.verdict), (value, verdict));
        }
    }

    #[test]
    fn a_locale_without_utf8_is_worth_a_note() {
        for (set, verdict) in [
            (Some(("LANG", "en_US.UTF-8".to_owned())), Verdict::Ok),
            (Some(("LC_ALL", "C.utf8".to_owned())), Verdict::Ok),
            (Some(("LC_ALL", "C".to_owned())), Verdict::Note),
            (None, Verdict::Note),
        ] {
            assert_eq!(locale(set).verdict, verdict);
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_a_problem() {
        let home = tempfile::tempdir().expect("a folder");
        let verdicts = || ssh_files(home.path()).iter().map(|item| item.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(), [Verdict::Note, Verdict::Note]);
        let folder = home.path().join(".ssh");
        fs::create_dir(&folder).expect("a folder");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a mode");
        fs::write(folder.join("known_hosts"), "# c\n\nh ssh-ed25519 AAAA\n").expect("a file");
        assert_eq!(verdicts(), [Verdict::Problem, Verdict::Ok]);
        assert_eq!(ssh_files(home.path())[1].value, "1 entries");
    }
}
