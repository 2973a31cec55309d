//! The console in a real terminal: it leaves no trace however it ends, it can be suspended, it takes any size, and it never
//! asks the terminal a question.

mod support;

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use support::pty::{Console, Size, View};
use support::words;

/// More than any of this ever needs.
const PATIENCE: Duration = Duration::from_secs(30);
const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmascope");
/// Stands in the header while the console is on the screen.
const NAME: &str = "rdmascope";

fn on_screen(view: &View<'_>) -> bool {
    view.is_alternate() && view.has(NAME)
}

/// Without settings of whoever runs the tests.
fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The console on this machine, as the first process of its terminal.
fn console(home: &tempfile::TempDir, environment: &[(&str, &str)]) -> Console {
    let folder = home.path().to_str().expect("a plain path");
    let mut all = vec![("HOME", folder), ("XDG_CONFIG_HOME", folder), ("XDG_STATE_HOME", folder)];
    all.extend_from_slice(environment);
    let console = Console::start(PROGRAM, &["local"], Size::DESIGN, &all);
    console.wait_for("the console", PATIENCE, on_screen);
    console
}

/// A shell with job control, in which the console runs; its number is left in a file.
struct Job {
    shell: Console,
    home: tempfile::TempDir,
}

impl Job {
    fn start() -> Self {
        let home = home();
        let folder = home.path().to_str().expect("a plain path").to_owned();
        let environment =
            [("HOME", folder.as_str()), ("XDG_CONFIG_HOME", &folder), ("XDG_STATE_HOME", &folder), ("ENV", "")];
        let shell = Console::start("/bin/bash", &["--norc", "--noprofile", "-i"], Size::DESIGN, &environment);
        shell.keys("PS1='shell> '; clear\r");
        shell.wait_for("the shell", PATIENCE, |view| view.has("shell>"));
        shell.keys(&format!("sh -c 'echo $$ > \"$HOME/pid\"; exec \"$0\" local' {PROGRAM}\r"));
        shell.wait_for("the console", PATIENCE, on_screen);
        Self { shell, home }
    }

    fn pid(&self) -> i32 {
        let text = std::fs::read_to_string(self.home.path().join("pid")).expect("the number of the console");
        text.trim().parse().expect("a number")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).expect("not zero"), signal).expect("the console lives");
    }

    /// Waits until the process is stopped. A signal that continues it has done so when it was sent.
    #[track_caller]
    fn wait_until_stopped(&self) {
        let deadline = Instant::now() + PATIENCE;
        let file = format!("/proc/{}/stat", self.pid());
        let is_stopped = || {
            let text = std::fs::read_to_string(&file).expect("the console lives");
            text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
        };
        while !is_stopped() {
            assert!(Instant::now() < deadline, "it still runs");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn wait_for_shell(&self, what: &str) {
        self.shell.wait_for(what, PATIENCE, |view| !view.is_alternate() && !view.hides_cursor() && view.has("Stopped"));
    }

    /// The shell's terminal is as it was: lines are edited and echoed.
    #[track_caller]
    fn assert_sane(&self, word: &str) {
        let count = "stty -a | tr ' ;' '\\n\\n' | grep -cxE 'icanon|echo|icrnl|opost|isig'";
        self.shell.keys(&format!("clear; echo {word}-$({count})\r"));
        let all = format!("{word}-5");
        self.shell.wait_for("the state of the terminal", PATIENCE, |view| view.has(&all));
    }

    #[track_caller]
    fn foreground(&self) {
        self.shell.keys("clear; fg\r");
        self.shell.wait_for("the console", PATIENCE, on_screen);
        self.answers();
    }

    /// Keys reach the console, not the shell.
    #[track_caller]
    fn answers(&self) {
        self.shell.keys(words::HELP);
        self.shell.wait_for("the help", PATIENCE, |view| view.has(words::HELP_TITLE));
        self.shell.keys("q");
        self.shell.wait_for("no help", PATIENCE, |view| on_screen(view) && !view.has(words::HELP_TITLE));
    }
}

/// Places on a screen count from 1; a terminal, or somebody's keys, may say 0 all the same.
#[test]
fn a_mouse_report_of_no_place_harms_nothing() {
    let home = home();
    let mut console = console(&home, &[]);
    for report in ["\x1b[<0;0;0M", "\x1b[<0;0;0m", "\x1b[<64;0;5M", "\x1b[M   ", "\x1b[0;0R", "\x1b[32;0;0M"] {
        console.keys(report);
    }
    console.keys(words::HELP);
    console.wait_for("the help", PATIENCE, |view| view.has(words::HELP_TITLE));
    console.keys(&format!("q{}", words::QUIT));
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
}

#[test]
#[allow(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough")]
fn it_starts_and_leaves_without_a_trace_and_never_asks_the_terminal_anything() {
    let home = home();
    let mut console = console(&home, &[]);
    console.wait_for("a hidden cursor", PATIENCE, |view| view.hides_cursor());
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    console.view(|view| assert!(!view.is_alternate() && !view.hides_cursor()));
    for question in [b"\x1b[6n".as_slice(), b"\x1b[c", b"\x1b[>c", b"\x1b[?u"] {
        assert!(!console.ever_wrote(question), "{}", question.escape_ascii());
    }
    assert!(console.ever_wrote(b"\x1b[?2026h") && console.ever_wrote(b"\x1b[?2026l"));
    assert!(console.ever_wrote(b"\x1b[?2004l"));
}

#[test]
fn signals_end_it_cleanly_with_their_number() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let home = home();
        let mut console = console(&home, &[]);
        console.signal(signal);
        assert_eq!(console.wait_for_end(PATIENCE).exit_code(), code);
        console.view(|view| assert!(!view.is_alternate() && !view.hides_cursor(), "{signal:?}"));
    }
}

#[test]
fn it_takes_any_size() {
    let home = home();
    let mut console = console(&home, &[]);
    for (columns, rows) in [(200, 50), (40, 10), (120, 40)] {
        console.resize(Size { columns, rows });
        console.wait_for("the header in the new size", PATIENCE, |view| {
            on_screen(view) && view.rows()[0].chars().count() > usize::from(columns) / 2
        });
    }
    console.resize(Size { columns: 1, rows: 1 });
    console.resize(Size::DESIGN);
    console.wait_for("the console", PATIENCE, on_screen);
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_brings_everything_back() {
    let job = Job::start();
    job.shell.keys("\x1a");
    job.wait_for_shell("the shell after Ctrl-Z");
    job.assert_sane("suspended");
    job.shell.resize(Size { columns: 100, rows: 30 });
    job.foreground();
    job.shell.keys(words::QUIT);
    job.shell.wait_for("the shell", PATIENCE, |view| !view.is_alternate() && !view.hides_cursor());
    job.assert_sane("left");
}

#[test]
fn a_stop_from_outside_is_like_ctrl_z_and_continuing_in_the_background_keeps_it_stopped() {
    let job = Job::start();
    job.signal(Signal::TSTP);
    job.wait_for_shell("the shell after a stop");
    job.signal(Signal::CONT);
    job.wait_until_stopped();
    job.assert_sane("continued");
    job.shell.view(|view| assert!(!view.is_alternate()));
    job.foreground();
}

#[test]
fn after_a_stop_that_nothing_can_catch_fg_repairs_the_terminal() {
    let job = Job::start();
    job.signal(Signal::STOP);
    job.shell.wait_for("the shell", PATIENCE, |view| view.has("Stopped"));
    job.shell.keys("stty sane; fg\r");
    job.shell.wait_for("the console", PATIENCE, |view| on_screen(view) && !view.has("Stopped"));
    job.answers();
    job.shell.keys(words::QUIT);
    job.shell.wait_for("the shell", PATIENCE, |view| !view.is_alternate() && !view.hides_cursor());
    job.assert_sane("left");
}

#[test]
fn without_colours_modifiers_are_still_there() {
    let home = home();
    let console = console(&home, &[("NO_COLOR", "1")]);
    let written = console.written();
    let sequences: Vec<&[u8]> = written.split(|byte| *byte == 0x1b).filter(|part| part.starts_with(b"[")).collect();
    let is_colour = |part: &&[u8]| {
        let digits = part[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        matches!(part.get(1 + digits), Some(b'm' | b';')) && matches!(&part[1..=digits], [b'3' | b'4', b'0'..=b'8'])
    };
    assert!(!sequences.iter().any(is_colour));
    assert!(sequences.iter().any(|part| part.starts_with(b"[7m") || part.starts_with(b"[1m")));
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let output = std::process::Command::new(PROGRAM).arg("local").env_remove("NO_COLOR").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("needs a terminal") && told.contains("rdmascope snapshot"), "{told}");
}

#[test]
fn the_palette_settings_marks_and_a_copy_in_a_real_terminal() {
    let home = home();
    let console = console(&home, &[]);
    console.keys(":");
    console.wait_for("the palette", PATIENCE, |view| view.has("things to do") && view.has("panel-events"));
    console.keys("ascii");
    console.wait_for("what was typed", PATIENCE, |view| view.has("glyphs ascii") && !view.has("panel-events"));
    console.keys("\r");
    console.wait_for("the other glyphs", PATIENCE, |view| view.has("glyphs ascii for this run") && !view.has("│"));
    console.keys(",");
    console.wait_for("the settings", PATIENCE, |view| view.has_row(&["glyphs", "ascii", "changed here"]));
    console.keys("q5m");
    console.wait_for("the line for the note", PATIENCE, |view| view.has(" note of mark A:"));
    console.keys("mtu 9000\r");
    console.wait_for("the mark", PATIENCE, |view| view.has_row(&["marks", "A ", "\"mtu 9000\""]));
    console.keys("\t");
    console.keys("y");
    console.wait_for("what was copied", PATIENCE, |view| view.has("copied name: OSC 52, if your terminal allows it"));
    assert!(console.ever_wrote(b"\x1b]52;c;bG9jYWw=\x1b\\"), "the name `local`");
}

#[test]
fn inside_of_tmux_a_copy_goes_into_its_buffer_too() {
    let home = home();
    // In place of tmux, whose server a test should not need: a program of that name that keeps what it is given.
    let program = home.path().join("tmux");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\" >\"$HOME/asked\"\ncat >\"$HOME/buffer\"\n").expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, executable).expect("a file of ours");
    let path = format!("{}:{}", home.path().display(), std::env::var("PATH").unwrap_or_default());
    let console = console(&home, &[("TMUX", "/tmp/tmux-1/default,1,0"), ("PATH", &path)]);
    console.keys("y");
    console.wait_for("what was copied", PATIENCE, |view| view.has("copied name: tmux buffer and OSC 52"));
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("tmux was asked");
    assert_eq!((read("asked").trim(), read("buffer").as_str()), ("load-buffer -w -", "local"));
    assert!(console.ever_wrote(b"\x1b]52;c;bG9jYWw=\x1b\\"));
}

/// Nobody shall wait for a program that waits for them: it says that it reads from the terminal, and how that ends.
#[test]
fn explain_says_that_it_reads_from_the_terminal() {
    let home = home();
    let folder = home.path().to_str().expect("a plain path");
    let mut console = Console::start(PROGRAM, &["explain", "-"], Size::DESIGN, &[("HOME", folder)]);
    console.wait_for("the note", PATIENCE, |view| view.has("reading from the terminal; end with Ctrl-D"));
    console.keys("esxcli hardware pci pcipassthru get -a\r\x04");
    console.wait_for("what it makes of the line", PATIENCE, |view| view.has("host.myth-pcipassthru-get"));
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    // Without a word it does not read from there by itself.
    let mut console = Console::start(PROGRAM, &["explain"], Size::DESIGN, &[("HOME", folder)]);
    console.wait_for("what to do", PATIENCE, |view| view.has("pipe something in"));
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 2);
}
