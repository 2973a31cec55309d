//! The console inside tmux, which most of its users live in: `TERM=screen`, 80 x 24, a terminal in a terminal. Without
//! tmux on this machine the tests say so and pass; with `RDMASCOPE_NO_SKIP=1` they fail instead.

mod support;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use support::pty::{Console, Size, View};
use support::words;

/// More than any of this ever needs.
const PATIENCE: Duration = Duration::from_secs(30);
const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmascope");

/// A tmux server of its own with one client, which this test plays the terminal of.
struct Tmux {
    client: Console,
    folder: tempfile::TempDir,
}

impl Tmux {
    /// A shell in tmux; nothing where no tmux is installed.
    fn start(test: &str, settings: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip(test, "tmux is not installed");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
        let basic = "set -g escape-time 0\nset -g status off\nset -g default-terminal screen\n\
                     set -g default-command 'bash --norc --noprofile -i'\n";
        std::fs::write(path("tmux.conf"), format!("{basic}{settings}")).expect("a file");
        let home = folder.path().to_str().expect("a plain path");
        let environment = [
            ("HOME", home),
            ("XDG_CONFIG_HOME", home),
            ("XDG_STATE_HOME", home),
            ("TMUX_TMPDIR", home),
            ("LC_ALL", "C.UTF-8"),
        ];
        let arguments = ["-u".to_owned(), "-f".to_owned(), path("tmux.conf"), "new-session".to_owned()];
        let client = Console::start("tmux", &arguments, Size::DESIGN, &environment);
        let tmux = Self { client, folder };
        tmux.client.wait_for("the shell in tmux", PATIENCE, |view| view.has("bash-"));
        tmux.client.keys("PS1='shell''> '; clear\r");
        tmux.client.wait_for("its prompt", PATIENCE, |view| view.has("shell>"));
        Some(tmux)
    }

    /// Runs tmux once more, beside the client.
    fn command(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(arguments)
            .env("TMUX_TMPDIR", self.folder.path())
            .env_remove("TMUX")
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Opens the console on this machine, and waits for it.
    fn open(&self) {
        self.run("local");
        self.client.wait_for("values of this machine", PATIENCE, |view| words::is_up(view, "local"));
    }

    /// Runs the program with these words, and waits for its console.
    fn run(&self, words: &str) {
        self.client.keys(&format!("clear; echo $$ $TERM; {PROGRAM} {words}; echo ended-$?\r"));
        self.client.wait_for("the console", PATIENCE, on_screen);
    }

    fn sees(&self, what: &str, condition: impl FnMut(&View<'_>) -> bool) {
        self.client.wait_for(what, PATIENCE, condition);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command(&["kill-server"]);
    }
}

/// Says that a test is skipped, and why; where nothing may be skipped it fails.
fn skip(test: &str, why: &str) {
    assert!(std::env::var_os("RDMASCOPE_NO_SKIP").is_none(), "{test}: {why}, and nothing may be skipped");
    let _ = writeln!(std::io::stderr(), "{test}: skipped: {why}");
}

/// The console fills the screen. (Inside tmux the client's own screen is always the alternate one.)
fn on_screen(view: &View<'_>) -> bool {
    view.rows()[0].trim_start().starts_with("rdmascope") && view.has("Fabric")
}

#[test]
fn every_panel_help_filter_and_the_way_out() {
    let Some(tmux) = Tmux::start("every_panel_help_filter_and_the_way_out", "") else { return };
    tmux.open();
    for (key, sign) in [(words::LIVE, "window"), (words::EVENTS, "connected"), (words::GUEST_LINK, "local")] {
        tmux.client.keys(key);
        tmux.sees(&format!("the panel of key {key}"), |view| on_screen(view) && view.has(sign));
    }
    tmux.client.keys(words::HELP);
    tmux.sees("the help", |view| view.has(words::HELP_TITLE));
    tmux.client.keys(words::CLOSE);
    tmux.sees("no help", |view| !view.has(words::HELP_TITLE));
    tmux.client.keys("/nothing-is-called-so");
    tmux.sees("the filter", |view| view.has("nothing-is-called-so"));
    tmux.client.keys("\r");
    tmux.sees("an empty panel", |view| view.has("nothing passes the filter"));
    tmux.client.keys(words::CLOSE);
    tmux.sees("the panel again", |view| !view.has("nothing passes the filter"));
    tmux.client.keys(words::QUIT);
    tmux.sees("the shell, with nothing of the console left", |view| {
        view.has("ended-0") && !view.has("Fabric") && view.has(" screen")
    });
}

#[test]
fn ctrl_z_and_fg_in_the_shell_of_tmux() {
    let Some(tmux) = Tmux::start("ctrl_z_and_fg_in_the_shell_of_tmux", "") else { return };
    tmux.open();
    tmux.client.keys("\x1a");
    tmux.sees("the shell", |view| view.has("Stopped") && !view.has("Fabric"));
    tmux.client.keys("clear; fg\r");
    tmux.sees("the console", on_screen);
    tmux.client.keys(words::HELP);
    tmux.sees("the help", |view| view.has(words::HELP_TITLE));
    tmux.client.keys("qq");
    tmux.sees("the shell", |view| view.has("shell>") && !view.has("Fabric"));
}

#[test]
fn it_follows_a_storm_of_sizes() {
    let Some(tmux) = Tmux::start("it_follows_a_storm_of_sizes", "") else { return };
    tmux.open();
    for (columns, rows) in [(20, 5), (300, 100), (80, 24), (21, 6), (200, 50), (20, 5), (120, 40), (299, 7), (20, 99)] {
        tmux.client.resize(Size { columns, rows });
    }
    tmux.client.resize(Size { columns: 120, rows: 40 });
    tmux.sees("the console in its last size", |view| {
        on_screen(view) && view.rows().len() == 40 && view.rows()[0].trim_end().chars().count() > 100
    });
    for (columns, rows) in [(20, 5), (300, 100)] {
        tmux.client.resize(Size { columns, rows });
        tmux.sees("the console in this size", |view| {
            view.rows()[0].contains("rdm") && view.rows()[0].trim_end().chars().count() > usize::from(columns) - 20
        });
    }
    tmux.client.keys(words::QUIT);
    tmux.sees("the shell", |view| view.has("ended-0"));
}

#[test]
fn a_recording_is_replayed() {
    let Some(tmux) = Tmux::start("a_recording_is_replayed", "") else { return };
    // Without hosts: all guests stand on a screen of 24 lines.
    tmux.run("--record \"$HOME/x.rec\" demo --scenario healthy");
    tmux.sees("the lab", |view| words::is_up(view, "pv-a") && words::is_up(view, "vf-a"));
    tmux.client.keys(words::EVENTS);
    tmux.sees("the events", |view| view.has("connected: "));
    tmux.client.keys(words::QUIT);
    tmux.sees("the shell", |view| view.has("ended-0"));
    tmux.run("replay \"$HOME/x.rec\"");
    tmux.sees("a replay", |view| view.rows()[0].contains("REPLAY"));
    tmux.client.keys("$");
    tmux.sees("its end: the lab, and the panel that was chosen", |view| {
        words::is_up(view, "pv-a") && view.has("connected: ")
    });
    tmux.client.keys(words::QUIT);
    tmux.sees("the shell", |view| view.has("ended-0") && !view.has("REPLAY"));
}

#[test]
fn a_panic_gives_the_shell_its_terminal_back() {
    let test = "a_panic_gives_the_shell_its_terminal_back";
    // Examples stand beside the folder of this very test; a run of this test program alone does not build them.
    let own = std::env::current_exe().expect("the path of this test");
    let program = own.parent().and_then(Path::parent).expect("a folder").join("examples/panicking_console");
    if !program.exists() {
        skip(test, "examples/panicking_console is not built: run all tests");
        return;
    }
    let Some(tmux) = Tmux::start(test, "") else { return };
    // A backtrace would push what happened off the screen.
    tmux.client.keys(&format!("clear; RUST_BACKTRACE=0 {}; echo ended-$?\r", program.display()));
    tmux.sees("the console", |view| view.has("ready to panic"));
    tmux.client.keys("e");
    tmux.sees("on the screen that something beside it broke", |view| view.has("a part of rdmascope failed"));
    tmux.client.keys("?");
    tmux.sees("the shell, with what happened", |view| view.has("ended-101") && view.has("the screen broke"));
    tmux.client.keys("clear; stty -a | tr ' ;' '\\n\\n' | grep -cxE 'icanon|echo|icrnl|opost|isig'\r");
    tmux.sees("a sane terminal", |view| view.rows().iter().any(|row| row == "5"));
}

#[test]
fn it_ends_with_its_window() {
    let Some(tmux) = Tmux::start("it_ends_with_its_window", "set -g exit-empty off\n") else { return };
    tmux.open();
    let shell = tmux.command(&["display-message", "-p", "#{pane_pid}"]);
    let children = |parent: &str| {
        let file = format!("/proc/{parent}/task/{parent}/children");
        std::fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let [console] = &children(shell.trim())[..] else { panic!("one child of the shell") };
    tmux.command(&["kill-session"]);
    let deadline = std::time::Instant::now() + PATIENCE;
    while std::path::Path::new(&format!("/proc/{console}")).exists() {
        assert!(std::time::Instant::now() < deadline, "the console lives on without a terminal");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn two_people_in_one_session_see_the_same() {
    let Some(tmux) = Tmux::start("two_people_in_one_session_see_the_same", "set -g window-size smallest\n") else {
        return;
    };
    tmux.open();
    let folder = tmux.folder.path().to_str().expect("a plain path");
    let other = Console::start("tmux", &["-u", "attach"], Size { columns: 60, rows: 20 }, &[("TMUX_TMPDIR", folder)]);
    other.wait_for("the same console, smaller", PATIENCE, |view| view.rows()[0].contains("rdmascope"));
    other.keys(words::HELP);
    tmux.sees("the help that the other opened", |view| view.has(words::HELP_TITLE));
    tmux.client.keys("q");
    other.wait_for("that it was closed here", PATIENCE, |view| !view.has(words::HELP_TITLE));
}
