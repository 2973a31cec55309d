//! What surrounds the console, in a real terminal: its configuration read again, its editor, the mouse, the focus, and the
//! console as linear text at a terminal and in a pipe.

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::pty::{Console, Size, View};
use support::words;

/// More than any of this ever needs.
const PATIENCE: Duration = Duration::from_mins(1);
const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmascope");
const RELOAD: &str = "U";
const EDIT: &str = "E";
/// Stands in the footer once the configuration was read again.
const READ_AGAIN: &str = "read the configuration again";

fn on_screen(view: &View<'_>) -> bool {
    view.is_alternate() && view.has("rdmascope")
}

/// A home directory with a configuration in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new(configuration: Option<&str>) -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(home.path("rdmascope/themes")).expect("a folder");
        std::fs::create_dir_all(home.path("rdmascope/keymaps")).expect("a folder");
        if let Some(text) = configuration {
            home.write("rdmascope/config.toml", text);
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    /// Writes a script that can be run.
    fn script(&self, name: &str, text: &str) -> String {
        self.write(name, &format!("#!/bin/sh\n{text}"));
        let mut mode = std::fs::metadata(self.path(name)).expect("a file").permissions();
        mode.set_mode(0o700);
        std::fs::set_permissions(self.path(name), mode).expect("a mode");
        self.path(name).to_str().expect("a plain path").to_owned()
    }

    fn console(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Console {
        let folder = self.0.path().to_str().expect("a plain path");
        let mut all = vec![("HOME", folder), ("XDG_CONFIG_HOME", folder), ("VISUAL", ""), ("EDITOR", "")];
        all.extend_from_slice(environment);
        Console::start(PROGRAM, arguments, Size { columns: 100, rows: 24 }, &all)
    }

    fn started(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Console {
        let console = self.console(arguments, environment);
        console.wait_for("the console", PATIENCE, on_screen);
        console
    }
}

const HERE: &str = "[[target]]\nname = \"here\"\nkind = \"local\"\n";

#[test]
fn what_is_read_again_is_in_force_at_once_and_a_mistake_changes_nothing() {
    let home = Home::new(Some(&format!("theme = \"mine\"\n{HERE}")));
    home.write("rdmascope/themes/mine.toml", "inherits = \"mono\"\n");
    let mut console = home.started(&[], &[]);
    console.wait_for("its target", PATIENCE, |view| words::is_up(view, "here"));
    assert!(!console.ever_wrote(b"48;5;234"));
    home.write("rdmascope/themes/mine.toml", "inherits = \"dark\"\n");
    home.write("rdmascope/keymaps/mine.toml", "[global]\n\"x\" = \"help\"\n");
    let two = format!("{HERE}[[target]]\nname = \"there\"\nkind = \"local\"\n");
    home.write("rdmascope/config.toml", &format!("theme = \"mine\"\nkeymap = \"mine\"\n{two}"));
    console.keys(RELOAD);
    console.wait_for("the word of it", PATIENCE, |view| view.has_row(&[READ_AGAIN, "+there"]));
    console.wait_for("the new target", PATIENCE, |view| words::is_up(view, "there"));
    assert!(console.ever_wrote(b"48;5;234"), "the ground of the changed theme");
    console.keys("x");
    console.wait_for("the new key", PATIENCE, |view| view.has(words::HELP_TITLE));
    console.keys("q");

    home.write("rdmascope/keymaps/mine.toml", "[global]\n\"x\" = \"help\"\n\"x y\" = \"quit\"\n");
    console.keys(RELOAD);
    console.wait_for("the mistake", PATIENCE, |view| view.has_row(&["not read again", "mine.toml:3", "line 2"]));
    home.write("rdmascope/config.toml", "thme = \"dark\"\n");
    console.keys(RELOAD);
    console.wait_for("the mistake", PATIENCE, |view| view.has_row(&["not read again", "config.toml:1"]));
    console.keys(words::EVENTS);
    console.wait_for("the event", PATIENCE, |view| !words::events(view, &["not read again"]).is_empty());
    assert!(console.view(|view| words::is_up(view, "there") && words::is_up(view, "here")));

    home.write("rdmascope/config.toml", HERE);
    console.keys(RELOAD);
    console.wait_for("one target less", PATIENCE, |view| words::tree_row(view, "there").is_none());
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
}

#[test]
fn the_editor_has_the_terminal_as_the_shell_had_it_and_then_all_is_read_again() {
    let home = Home::new(None);
    let lines = "stty -a > \"$HOME/modes\"\nprintf 'name? '\nread name\necho \"$1 $name\" > \"$HOME/typed\"\n\
                 printf 'theme = \"dark\"\\n' > \"$1\"\n";
    let editor = home.script("editor", lines);
    let mut console = home.started(&["local"], &[("EDITOR", &format!("'{editor}'"))]);
    console.keys(EDIT);
    console.wait_for("the offer", PATIENCE, |view| view.has("is not there yet"));
    assert!(!home.path("rdmascope/config.toml").exists());
    console.keys(EDIT);
    console.wait_for("the editor", PATIENCE, |view| !view.is_alternate() && view.has("name?") && !view.hides_cursor());
    console.keys("q was typed\r");
    console.wait_for("the console", PATIENCE, |view| on_screen(view) && view.has(READ_AGAIN));
    let file = home.path("rdmascope/config.toml");
    assert_eq!(home.read("typed"), format!("{} q was typed\n", file.display()), "all keys were the editor's");
    let modes = home.read("modes");
    for mode in ["icanon", "echo", "isig", "icrnl", "opost"] {
        assert!(modes.split_whitespace().any(|word| word == mode), "{mode}: {modes}");
    }
    assert!(console.ever_wrote(b"48;5;234"), "the theme that the editor wrote");
    console.keys(words::HELP);
    console.wait_for("keys are the console's again", PATIENCE, |view| view.has(words::HELP_TITLE));
    console.keys("qq");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    console.view(|view| assert!(!view.is_alternate() && !view.hides_cursor()));
}

#[test]
fn an_editor_that_is_missing_or_fails_is_told() {
    let home = Home::new(Some(HERE));
    for (editor, expected) in
        [("/no/such/editor -x", "/no/such/editor cannot be run"), ("false", "ended with exit status: 1")]
    {
        let console = home.started(&["local"], &[("VISUAL", editor), ("EDITOR", "true")]);
        console.keys(EDIT);
        console.wait_for(expected, PATIENCE, |view| on_screen(view) && view.has(expected));
    }
}

#[test]
fn an_editor_that_is_suspended_takes_the_console_with_it_and_fg_brings_both_back() {
    let home = Home::new(Some(HERE));
    let editor = home.script("editor", "echo editing\nkill -STOP $$\necho edited > \"$HOME/done\"\n");
    let folder = home.0.path().to_str().expect("a plain path");
    let environment = [("HOME", folder), ("XDG_CONFIG_HOME", folder), ("ENV", ""), ("VISUAL", editor.as_str())];
    let shell = Console::start("/bin/bash", &["--norc", "--noprofile", "-i"], Size::DESIGN, &environment);
    shell.keys("PS1='shell> '; clear\r");
    shell.wait_for("the shell", PATIENCE, |view| view.has("shell>"));
    shell.keys(&format!("{PROGRAM} local\r"));
    shell.wait_for("the console", PATIENCE, on_screen);
    shell.keys(EDIT);
    shell.wait_for("the shell", PATIENCE, |view| !view.is_alternate() && view.has("Stopped"));
    assert!(!home.path("done").exists());
    shell.keys("clear; fg\r");
    shell.wait_for("the console", PATIENCE, |view| on_screen(view) && view.has(READ_AGAIN));
    assert!(home.path("done").exists());
    shell.keys(words::QUIT);
    shell.wait_for("the shell", PATIENCE, |view| !view.is_alternate() && view.has("shell>"));
}

#[test]
fn the_mouse_is_off_until_it_is_wished_for_and_off_again_at_the_end() {
    let home = Home::new(None);
    let mut console = home.started(&["local"], &[]);
    assert!(!console.ever_wrote(b"\x1b[?1000h"));
    console.keys("tm");
    console.wait_for("the word of it", PATIENCE, |view| view.has("the mouse selects here"));
    assert!(console.ever_wrote(b"\x1b[?1000h\x1b[?1006h"));
    let place = |view: &View<'_>| {
        let row = view.rows()[1].clone();
        let at = row.find("8 Events").or_else(|| row.find("8Event"))?;
        Some(row[..at].chars().count() + 1)
    };
    let column = console.view(place).expect("the tab");
    console.keys(&format!("\x1b[<0;{column};2M\x1b[<0;{column};2m"));
    console.wait_for("the panel", PATIENCE, |view| !words::events(view, &["connected"]).is_empty());
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    assert!(console.ever_wrote(b"\x1b[?1006l\x1b[?1000l"));
}

#[test]
fn the_focus_comes_and_goes_and_is_given_back() {
    let home = Home::new(None);
    let mut console = home.started(&["local"], &[("RDMASCOPE_MOUSE", "yes")]);
    assert!(console.ever_wrote(b"\x1b[?1004h") && console.ever_wrote(b"\x1b[?1000h"));
    console.keys("\x1b[O");
    console.keys(words::EVENTS);
    console.wait_for("the panel", PATIENCE, |view| !words::events(view, &["connected"]).is_empty());
    console.keys("\x1b[I");
    console.keys(words::HELP);
    console.wait_for("the help", PATIENCE, |view| view.has(words::HELP_TITLE));
    console.keys("qq");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    assert!(console.ever_wrote(b"\x1b[?1004l"));
}

#[test]
fn a_paste_is_text_in_the_filter_and_nothing_elsewhere() {
    let home = Home::new(None);
    let console = home.started(&["local"], &[]);
    console.keys("\x1b[200~qqq\x1b[201~");
    console.keys("/\x1b[200~lo\rcal q\x1b[201~");
    console.wait_for("the pasted text", PATIENCE, |view| view.has("filter: lo cal q"));
}

#[test]
fn a_slow_line_gets_graphs_that_sweep() {
    let home = Home::new(None);
    let console = home.started(&["local", "--low-bandwidth"], &[]);
    console.keys("tl");
    console.wait_for("full", PATIENCE, |view| view.has("full bandwidth"));
    console.keys("tl");
    console.wait_for("low", PATIENCE, |view| view.has("low bandwidth"));
}

/// The plain console with its output in a pipe.
fn logger(home: &Home, arguments: &[&str]) -> std::process::Child {
    Command::new(PROGRAM)
        .args(["--plain"])
        .args(arguments)
        .env("HOME", home.0.path())
        .env("XDG_CONFIG_HOME", home.0.path())
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs")
}

#[test]
fn as_a_logger_it_tells_lines_until_a_signal_ends_it() {
    let home = Home::new(None);
    let mut child = logger(&home, &["local"]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    let mut seen = Vec::new();
    for line in lines.by_ref() {
        assert!(!line.contains('\u{1b}') && line.is_ascii(), "{line:?}");
        let last = line.contains(" info local is read: ");
        seen.push(line);
        if last {
            break;
        }
    }
    assert!(seen[0].starts_with("date 20"), "{seen:?}");
    assert!(seen[1].starts_with("rdmascope ") && seen[1].ends_with("1 target: local"), "{seen:?}");
    assert!(seen.iter().any(|line| line.contains(" info local connected: ")), "{seen:?}");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let mut complaints = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut complaints).expect("text");
    assert_eq!(complaints, "");
}

#[test]
fn a_reader_that_goes_away_or_never_reads_does_not_keep_it() {
    let home = Home::new(None);
    let mut child = logger(&home, &["local"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let mut child = logger(&home, &["local"]);
    kill_process(Pid::from_child(&child), Signal::HUP).expect("it runs");
    let status = child.wait().expect("it ends");
    // Before it listens to signals, the system ends it.
    let by_system = std::os::unix::process::ExitStatusExt::signal(&status) == Some(1);
    assert!(status.code() == Some(129) || by_system, "{status:?}");
}

#[test]
fn at_a_terminal_it_answers_typed_lines_and_moves_no_cursor() {
    let home = Home::new(None);
    let mut console = home.console(&["--plain", "local"], &[]);
    let type_and_wait = |typed: &str, expected: &str| {
        console.keys(&format!("{typed}\r"));
        console.wait_for(expected, PATIENCE, |view| view.has(expected));
    };
    console.wait_for("the first read", PATIENCE, |view| view.has("local is read"));
    type_and_wait("help", "values TARGET");
    type_and_wait("statsu", "did you mean status?");
    type_and_wait("status", "local: ok (local)");
    type_and_wait("values local", "kernel");
    type_and_wait("values lcal", "did you mean local?");
    type_and_wait("reload", READ_AGAIN_EVENTLESS);
    let written = console.written();
    assert!(!written.contains(&0x1b), "no sequence of any kind");
    console.keys("quit\r");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    let mut console = home.console(&["--plain", "local"], &[]);
    console.wait_for("it", PATIENCE, |view| view.has("help and Enter"));
    console.keys("\x04");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0, "the end of input leaves");
}

/// Answers `reload` in the plain console.
const READ_AGAIN_EVENTLESS: &str = "reading the configuration again";

#[test]
fn the_lists_of_themes_and_keys_show_what_is_broken_and_choosing_it_is_an_error() {
    let home = Home::new(None);
    home.write("rdmascope/themes/mine.toml", "description = \"my own\"\n[roles]\nok = \"cyan\"\n");
    home.write("rdmascope/themes/bad.toml", "[roles]\nok = \"cyna\"\n");
    home.write("rdmascope/keymaps/mine.toml", "inherits = \"vim\"\n[global]\n\"x\" = \"quit\"\n");
    let run = |arguments: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .env("HOME", home.0.path())
            .env("XDG_CONFIG_HOME", home.0.path())
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, out, err) = run(&["themes"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("my own") && out.contains("BROKEN: ") && out.contains("bad.toml:2:"), "{out}");
    assert!(!out.contains('\u{1b}'), "no colour in a pipe");
    let (status, out, _) = run(&["themes", "--theme", "mine"]);
    assert!(status == Some(0) && out.contains("  ok          cyan\n"), "{out}");
    let (status, _, err) = run(&["--theme", "bad", "local"]);
    assert!(status == Some(2) && err.contains("bad.toml:2: `cyna` is neither"), "{err}");
    let (status, _, err) = run(&["--theme", "mien", "local"]);
    assert!(
        status == Some(2) && err.contains("did you mean \"mine\"?") && err.contains("known here: default, dark"),
        "{err}"
    );
    let (status, out, _) = run(&["keys", "--keymap", "mine"]);
    assert!(status == Some(0) && out.contains("x: ") && out.contains("mine.toml:3"), "{out}");
    assert!(out.contains("Ctrl+d: keymaps/vim.toml:"), "{out}");
    let document: serde_json::Value = serde_json::from_str(&run(&["themes", "--format", "json"]).1).expect("JSON");
    let bad = document["themes"].as_array().expect("a list").iter().find(|theme| theme["name"] == "bad");
    assert!(bad.expect("listed")["error"].as_str().expect("a text").contains("bad.toml:2"), "{document}");
    assert_eq!(document["roles"][0]["role"], "text");
    assert!(Path::new(&home.path("rdmascope")).exists());
}
