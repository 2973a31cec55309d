use std::path::PathBuf;

use super::*;

fn text(raw: &str) -> CopyText {
    CopyText::lines([raw]).expect("not empty")
}

#[test]
fn outside_of_tmux_the_terminal_is_sent_the_text() {
    let copied = Clipboard::new(None).copy(&text("a\nb\nc\n"), "raw text");
    assert_eq!(copied.sequence.as_deref(), Some("\x1b]52;c;YQpiCmM=\x1b\\"));
    assert_eq!(copied.notice.as_deref(), Some("copied raw text, 3 lines: OSC 52, if your terminal allows it"));
    let one = Clipboard::new(None).copy(&text("rxe0"), "name").notice;
    assert_eq!(one.as_deref(), Some("copied name: OSC 52, if your terminal allows it"));
}

#[test]
fn what_is_too_long_for_the_sequence_is_refused_in_a_sentence() {
    let largest = LONGEST_SEQUENCE / 4 * 3;
    let copied = Clipboard::new(None).copy(&text(&"x".repeat(largest)), "raw text");
    assert!(copied.sequence.is_some_and(|sequence| sequence.len() <= LONGEST_SEQUENCE + 9));
    let copied = Clipboard::new(None).copy(&text(&"x".repeat(largest + 1)), "raw text");
    assert_eq!(copied.sequence, None);
    assert_eq!(copied.notice.as_deref(), Some("raw text not copied: that is more than OSC 52 carries"));
}

#[test]
fn what_is_said_names_the_ways_that_were_used() {
    let refused = Buffer::Refused("no server running".to_owned());
    assert_eq!(told("name", true, &Buffer::Handed), "copied name: tmux buffer and OSC 52");
    assert_eq!(told("name", false, &Buffer::Kept), "copied name: tmux buffer only, too much for OSC 52");
    assert_eq!(told("name", true, &refused), "copied name: OSC 52; tmux: no server running");
    assert!(told("name", false, &refused).starts_with("name not copied"));
}

fn with_io(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test);
}

#[test]
fn a_tmux_that_fails_hangs_or_is_missing_is_told() {
    with_io(async {
        let run = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let refused = load_buffer(&run(&["sh", "-c", "cat >/dev/null; echo no server >&2; exit 1"]), &text("x")).await;
        assert_eq!(refused, Buffer::Refused("no server".to_owned()));
        let old = load_buffer(&run(&["sh", "-c", "cat >/dev/null; [ $1 != -w ]"]), &text("x")).await;
        assert_eq!(old, Buffer::Kept, "a tmux that knows no -w");
        let missing = load_buffer(&run(&["rdmascope-has-no-such-program"]), &text("x")).await;
        assert!(matches!(&missing, Buffer::Refused(why) if why.starts_with("it cannot be started")), "{missing:?}");
        let hangs = load_buffer(&run(&["sh", "-c", "exec sleep 60"]), &text("x")).await;
        assert_eq!(hangs, Buffer::Refused("no answer within 2 s".to_owned()));
    });
}

/// A tmux server of its own, ended with the test.
struct Server(PathBuf);

impl Server {
    fn tmux(&self, arguments: &[&str]) -> std::io::Result<std::process::Output> {
        std::process::Command::new("tmux").arg("-S").arg(&self.0).args(arguments).env_remove("TMUX").output()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_real_tmux_gets_the_text_into_its_buffer() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server(folder.path().join("socket"));
    let started = server.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sleep 60"]);
    if !started.is_ok_and(|output| output.status.success()) {
        #[expect(clippy::print_stderr, reason = "the one way in which a test tells that it did not run")]
        {
            eprintln!("skipped: no tmux can be started here");
        }
        return;
    }
    with_io(async {
        let command = vec!["tmux".into(), "-S".into(), server.0.clone().into_os_string()];
        let mut clipboard = Clipboard::new(Some(command));
        // Far more than a pipe holds at once, and more than OSC 52 carries.
        let long = (0..9_000).map(|line| format!("line {line} of the raw text")).collect::<Vec<_>>().join("\n");
        let copied = clipboard.copy(&text(&long), "raw text");
        assert_eq!(copied, Copied { sequence: None, notice: None });
        let said = clipboard.outcome().await;
        assert_eq!(said.as_deref(), Some("copied raw text, 9000 lines: tmux buffer only, too much for OSC 52"));
        let shown = server.tmux(&["show-buffer"]).expect("tmux runs");
        assert_eq!(String::from_utf8_lossy(&shown.stdout), long);
        let copied = clipboard.copy(&text("rdma link show"), "command line");
        assert!(copied.sequence.is_some() && copied.notice.is_none());
        assert_eq!(clipboard.outcome().await.as_deref(), Some("copied command line: tmux buffer and OSC 52"));
        let shown = server.tmux(&["show-buffer"]).expect("tmux runs");
        assert_eq!(shown.stdout, b"rdma link show", "and no newline");
    });
}
