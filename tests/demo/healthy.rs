//! Healthy snapshots of a console on the lab, over real SSH: what is kept while nothing is wrong, and what is told once
//! something is.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Reading two hosts in full takes some time on a machine that is busy.
const LONG: Duration = Duration::from_mins(3);

/// A console on the targets of this inventory.
fn live(home: &Path, state: &Path, config: &Path, more: &[&str]) -> Console {
    let (home, state) = (home.to_str().expect("UTF-8"), state.to_str().expect("UTF-8"));
    let environment = [
        ("TMPDIR", home),
        ("HOME", home),
        ("PATH", "/usr/bin:/bin"),
        ("SSH_AUTH_SOCK", ""),
        ("XDG_CONFIG_HOME", home),
        ("XDG_STATE_HOME", state),
        ("LANG", "C.UTF-8"),
    ];
    let arguments = [&["--config", config.to_str().expect("UTF-8")], more].concat();
    Console::start(PROGRAM, &arguments, Size { columns: 120, rows: 40 }, &environment)
}

/// The snapshots that lie in a folder of state, by whatever inventory.
fn kept(state: &Path) -> Vec<PathBuf> {
    let healthy = state.join("rdmascope/healthy");
    if !healthy.exists() {
        return Vec::new();
    }
    entries(&healthy).iter().flat_map(|folder| entries(folder)).collect()
}

fn leave(mut console: Console) {
    console.keys("q");
    assert!(console.wait_for_end(PATIENCE).success());
}

#[test]
fn a_site_in_good_order_is_kept_and_what_changed_is_told_when_it_breaks() {
    let home = folder();
    let (state, config) = (home.path().join("state"), home.path().join("site.toml"));
    let sound = Served::start(&["--scenario", "with-hosts"]);
    std::fs::write(&config, &sound.inventory).expect("written");
    let console = live(home.path(), &state, &config, &[]);
    console.keys("8");
    console.wait_for("it is kept", LONG, |view| view.has("nothing is wrong: the healthy snapshot of "));
    console.keys("d");
    console.wait_for("nothing changed", LONG, |view| view.has("nothing that can be compared has changed"));
    console.keys("q");
    leave(console);
    drop(sound);
    let files = kept(&state);
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(std::fs::metadata(file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(file).expect("text");
    let document = json(&text);
    assert_eq!(document["schema"], "rdmascope.snapshot/1");
    let targets = document["targets"].as_array().expect("a list");
    assert_eq!(targets.len(), 7);
    assert!(targets.iter().all(|target| target["counters"].as_object().is_some_and(serde_json::Map::is_empty)));
    assert!(!text.to_lowercase().contains("password"), "no secret is kept");
    // Any other command reads it like a snapshot.
    let name = file.to_str().expect("UTF-8");
    assert_eq!(run(home.path(), &["diff", name, name]).0, 0);

    // The same site with a fault; a newer file is damaged.
    let broken = Served::start(&["--scenario", "ruleset-closed"]);
    std::fs::write(&config, &broken.inventory).expect("written");
    let yesterday = file.with_file_name("2001-01-01.json");
    std::fs::rename(file, &yesterday).expect("renamed");
    std::fs::write(file, &text[..text.len() / 2]).expect("written");
    let recording = home.path().join("session.rec");
    let console = live(home.path(), &state, &config, &["--record", recording.to_str().expect("UTF-8")]);
    console.keys("8");
    console.wait_for("the damaged one is passed over", LONG, |view| view.has("a healthy snapshot is passed over: "));
    console.keys("6");
    console.wait_for("the cause says what changed", LONG, |view| {
        view.has("host.pvrdma-ruleset") && view.has("enabled of ruleset pvrdma")
    });
    console.keys("d");
    console.wait_for("the list has it", LONG, |view| {
        view.has_row(&["esx02 ruleset pvrdma enabled"]) && view.has_row(&["yes", "no", "shows cause 1"])
    });
    console.keys("e");
    console.wait_for("the line of then", PATIENCE, |view| {
        view.has("when all was well") && view.has_row(&["line ", "pvrdma", "true"])
    });
    console.keys("q");
    console.keys("le");
    console.wait_for("the line of now", PATIENCE, |view| view.has("Evidence: ") && view.has_row(&["pvrdma", "false"]));
    console.keys("qq");
    leave(console);
    assert_eq!(std::fs::read_to_string(file).expect("text").len(), text.len() / 2, "nothing was kept of a broken site");
    drop(broken);

    // The recording shows the same without any of it.
    std::fs::remove_dir_all(&state).expect("removed");
    let arguments = ["replay", recording.to_str().expect("UTF-8")];
    let environment = [("HOME", ""), ("XDG_STATE_HOME", ""), ("LANG", "C.UTF-8")];
    let replay = Console::start(PROGRAM, &arguments, Size { columns: 120, rows: 40 }, &environment);
    replay.wait_for("the replay", PATIENCE, |view| view.has("REPLAY"));
    replay.keys("$");
    replay.wait_for("its end", PATIENCE, |view| view.has("1 FINDING"));
    replay.keys("d");
    replay.wait_for("the same list", PATIENCE, |view| view.has_row(&["yes", "no", "shows cause 1"]));
}

#[test]
fn a_folder_that_cannot_be_used_is_one_event_and_the_console_goes_on() {
    let served = Served::start(&[]);
    let config = served.write("");
    let home = folder();
    let state = home.path().join("state");
    std::fs::create_dir(&state).expect("a folder");
    std::fs::write(state.join("rdmascope"), "a file in its place").expect("written");
    let console = live(home.path(), &state, &config, &[]);
    console.keys("8");
    console.wait_for("the event", LONG, |view| view.has("healthy snapshots cannot be read: "));
    console.wait_for("the targets", LONG, |view| view.has_row(&["rdmascope", "5 up"]));
    leave(console);
    assert_eq!(std::fs::read_to_string(state.join("rdmascope")).expect("text"), "a file in its place");
}

#[test]
fn with_no_days_nothing_is_kept_and_the_demo_keeps_nothing() {
    let served = Served::start(&[]);
    let config = served.write("healthy_days = 0\n");
    let home = folder();
    let state = home.path().join("state");
    let console = live(home.path(), &state, &config, &[]);
    console.wait_for("the targets", LONG, |view| view.has_row(&["rdmascope", "5 up"]));
    console.keys("d");
    console.wait_for("why", PATIENCE, |view| view.has("no healthy snapshots are kept here"));
    console.keys("q");
    leave(console);
    assert_eq!(kept(&state), Vec::<PathBuf>::new());
    let wrong = served.write("healthy_days = 400\n");
    let (status, _, err) = run(home.path(), &["--config", wrong.to_str().expect("UTF-8"), "config", "show"]);
    assert_eq!(status, 2);
    assert!(err.contains("demo.toml:1: healthy_days must be a number of days from 0 to 365, not \"400\""), "{err}");
}
