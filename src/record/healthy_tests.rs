//! Healthy snapshots in true folders: what is there whole, what is passed over, what goes.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use proptest::prelude::*;

use super::*;
use crate::probe::testing;

/// The document of some targets, in the form that the console writes.
fn document(at: &str, targets: &[&str], version: &str) -> String {
    let fact = |value: &str| {
        format!(
            r#"{{"state": "known", "value": "{value}", "unit": null, "why": null, "at": "{at}", "source": "linux.host", "command": "hostname", "line": 3, "said": "name {value}"}}"#
        )
    };
    let target = |name: &&str| {
        let facts =
            format!(r#"{{"guest": {{"hostname": {}}}, "process/1": {{"hostname": {}}}}}"#, fact(name), fact("x"));
        format!(
            r#"{{"name": "{name}", "kind": "linux", "reachable": true, "problem": null, "facts": {facts}, "counters": {{}}}}"#
        )
    };
    let targets: Vec<String> = targets.iter().map(target).collect();
    format!(
        r#"{{"schema": "rdmascope.snapshot/1", "at": "{at}", "rdmascope": "{version}", "targets": [{}], "links": []}}"#,
        targets.join(", ")
    )
}

fn of(day: &str, targets: &[&str]) -> String {
    document(&format!("{day}T08:00:00Z"), targets, env!("CARGO_PKG_VERSION"))
}

fn now() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("a time")
}

/// A folder of 14 days within one of its own.
fn folder() -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("state/healthy/site-1");
    (home, Folder::new(path, 14))
}

fn wanted(names: &[&str]) -> Vec<TargetId> {
    names.iter().map(|name| TargetId::new(name)).collect()
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_kept_comes_back_with_the_lines_it_was_read_from() {
    let (_home, folder) = folder();
    assert_eq!(folder.read(&wanted(&["a"]), now()), Ok(Found::default()), "no folder is an empty one");
    folder.keep("2026-11-30", of("2026-11-30", &["a"]).as_bytes()).expect("kept");
    let file = folder.path().join("2026-11-30.json");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(folder.path()).expect("it is there").permissions().mode() & 0o777, 0o700);
    let found = folder.read(&wanted(&["a"]), now()).expect("read");
    assert_eq!(found.read.passed_over, Vec::<Text>::new());
    let kept = &found.read.targets[&TargetId::new("a")];
    assert_eq!(
        (kept.at.to_string().as_str(), kept.file.as_str()),
        ("2026-11-30T08:00:00Z", file.to_str().expect("text"))
    );
    let [part] = &found.parts[..] else { panic!("one target") };
    assert_eq!(part.facts.len(), 1, "what comes and goes is not compared");
    assert_eq!(&*part.observations[0].stdout, "line 3: name x\n", "one line of one read");
}

#[test]
fn the_newest_one_in_which_a_target_is_counts_for_it() {
    let (_home, folder) = folder();
    for (day, targets) in
        [("2026-11-27", &["a", "b", "old"][..]), ("2026-11-28", &["b", "a"]), ("2026-11-29", &["a", "gone"])]
    {
        folder.keep(day, of(day, targets).as_bytes()).expect("kept");
    }
    let found = folder.read(&wanted(&["a", "b", "new"]), now()).expect("read");
    let days: Vec<String> =
        found.read.targets.iter().map(|(name, kept)| format!("{name} {}", kept.at.strftime("%d"))).collect();
    assert_eq!(days, ["a 29", "b 28", "gone 29"]);
    assert_eq!(found.parts.len(), 3);
}

#[test]
fn what_cannot_be_used_is_told_and_an_older_one_is_taken() {
    let (_home, folder) = folder();
    folder.keep("2026-11-25", of("2026-11-25", &["a"]).as_bytes()).expect("kept");
    let whole = of("2026-11-26", &["a"]);
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    put("2026-11-26.json", &whole[..whole.len() / 2]);
    put("2026-11-27.json", &document("2026-11-27T08:00:00Z", &["a"], "99.0.0"));
    put("2026-11-28.json", "");
    put("2026-12-24.json", &whole);
    put("2026-1-1.json", "of somebody else");
    put("notes.txt", "of somebody else");
    symlink("/etc/hostname", folder.path().join("2026-11-29.json")).expect("a link");
    fs::create_dir(folder.path().join("2026-11-30.json")).expect("a folder");
    let found = folder.read(&wanted(&["a"]), now()).expect("read");
    let told: Vec<&str> = found.read.passed_over.iter().map(Text::as_str).collect();
    assert_eq!(told.len(), 6, "{told:#?}");
    for (told, word) in told.iter().zip([
        "12-24.json: it is of a day to come",
        "11-30.json: it is no regular file",
        "11-29.json: it is a symbolic link, which is not followed",
        "11-28.json: it is empty",
        "11-27.json: it was written by version 99.0.0",
        "11-26.json: it is a damaged snapshot",
    ]) {
        assert!(told.contains(word), "{told} / {word}");
    }
    assert_eq!(found.read.targets[&TargetId::new("a")].at.to_string(), "2026-11-25T08:00:00Z");
}

#[test]
fn one_that_says_that_it_is_of_a_day_to_come_is_passed_over_and_so_is_a_document_of_another_kind() {
    let (_home, folder) = folder();
    folder.keep("2026-11-25", of("2026-11-25", &["a"]).as_bytes()).expect("kept");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    put("2026-11-26.json", &document("2099-01-01T08:00:00Z", &["a"], env!("CARGO_PKG_VERSION")));
    put("2026-11-27.json", "{\"schema\": \"rdmascope.check/1\"}");
    let found = folder.read(&wanted(&["a"]), now()).expect("read");
    let told: Vec<&str> = found.read.passed_over.iter().map(Text::as_str).collect();
    assert!(told[0].contains("11-27.json: it is no snapshot"), "{told:#?}");
    assert!(told[1].contains("11-26.json: it says that it was made on 2099-01-01"), "{told:#?}");
    assert_eq!(found.read.targets[&TargetId::new("a")].at.to_string(), "2026-11-25T08:00:00Z");
}

#[test]
fn old_ones_go_and_what_is_not_ours_stays() {
    let (_home, folder) = folder();
    for day in ["2026-11-01", "2026-11-16", "2026-11-17", "2026-11-29"] {
        folder.keep(day, of(day, &["a"]).as_bytes()).expect("kept");
    }
    fs::write(folder.path().join("notes.txt"), "mine").expect("written");
    folder.keep("2026-11-30", of("2026-11-30", &["a"]).as_bytes()).expect("kept");
    assert_eq!(names(&folder), ["2026-11-17.json", "2026-11-29.json", "2026-11-30.json", "notes.txt"]);
}

#[test]
fn what_a_killed_program_left_goes_after_a_day() {
    let (_home, folder) = folder();
    folder.keep("2026-11-29", of("2026-11-29", &["a"]).as_bytes()).expect("kept");
    let (fresh, old) = (folder.path().join(".healthy-1.tmp"), folder.path().join(".healthy-2.tmp"));
    for file in [&fresh, &old] {
        fs::write(file, "half").expect("written");
    }
    let long_ago = std::time::SystemTime::now() - 2 * LONGEST_WRITE;
    File::options().write(true).open(&old).and_then(|file| file.set_modified(long_ago)).expect("its time is set");
    folder.keep("2026-11-30", of("2026-11-30", &["a"]).as_bytes()).expect("kept");
    assert!(fresh.exists() && !old.exists());
}

#[test]
fn the_first_of_a_day_stays_and_one_that_is_damaged_is_replaced() {
    let (_home, folder) = folder();
    folder.keep("2026-11-30", of("2026-11-30", &["first"]).as_bytes()).expect("kept");
    folder.keep("2026-11-30", of("2026-11-30", &["second"]).as_bytes()).expect("that of another console is as good");
    let read = || fs::read_to_string(folder.path().join("2026-11-30.json")).expect("it is there");
    assert!(read().contains("\"first\"") && !read().contains("\"second\""));
    fs::write(folder.path().join("2026-11-30.json"), "{\"schema\": \"rdmascope.snap").expect("a full disk");
    folder.keep("2026-11-30", of("2026-11-30", &["second"]).as_bytes()).expect("kept");
    assert!(read().contains("\"second\""));
    assert_eq!(names(&folder), ["2026-11-30.json"], "nothing unfinished is left");
}

#[test]
fn many_consoles_at_once_leave_one_whole_file() {
    let (_home, folder) = folder();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                let name = format!("console-{number}");
                folder.keep("2026-11-30", of("2026-11-30", &[&name]).as_bytes()).expect("kept");
                let found = folder.read(&[], now()).expect("read");
                assert_eq!((found.read.targets.len(), found.read.passed_over.len()), (1, 0));
            });
        }
    });
    assert_eq!(names(&folder), ["2026-11-30.json"]);
}

#[test]
fn links_files_and_folders_that_cannot_be_written_are_told() {
    let home = tempfile::tempdir().expect("a folder");
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    symlink(&elsewhere, home.path().join("link")).expect("a link");
    let content = of("2026-11-30", &["a"]);
    let told = |path: &str| {
        let folder = Folder::new(home.path().join(path), 14);
        folder.keep("2026-11-30", content.as_bytes()).expect_err("it is refused")
    };
    assert!(told("link").ends_with("link: it is a symbolic link, which is not followed"), "{}", told("link"));
    assert!(told("link/site").ends_with("link: it is a symbolic link, which is not followed"));
    fs::write(home.path().join("file"), "").expect("a file");
    assert!(told("file/site").contains("file"), "{}", told("file/site"));
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    let folder = Folder::new(home.path().join("link"), 14);
    assert!(folder.read(&[], now()).expect_err("a link").contains("symbolic link"));
    let folder = Folder::new(home.path().join("taken"), 14);
    fs::create_dir(folder.path()).expect("a folder");
    symlink("/etc/hostname", folder.path().join("2026-11-30.json")).expect("a link");
    let error = folder.keep("2026-11-30", content.as_bytes()).expect_err("a link lies there");
    assert!(error.ends_with("it is no regular file; remove it"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_files_are_survived(text in testing::mutated_texts(&[
        r#"{"schema": "rdmascope.snapshot/1", "at": "2026-11-30T08:00:00Z", "rdmascope": "0.1.0", "targets": [{"name": "a",
        "kind": "linux", "reachable": true, "problem": null, "facts": {"guest": {"hostname": {"state": "known", "value": "a",
        "unit": null, "why": null, "at": "2026-11-30T08:00:00Z", "source": "s", "command": "hostname", "line": 1,
        "said": "a"}}}, "counters": {}}], "links": []}"#,
    ]), cut in 0_usize..400) {
        let (_home, folder) = folder();
        folder.keep("2026-11-29", of("2026-11-29", &["a"]).as_bytes()).expect("kept");
        let end = text.floor_char_boundary(cut);
        for text in [text.as_str(), text.get(..end).unwrap_or_default()] {
            fs::write(folder.path().join("2026-11-30.json"), text).expect("written");
            let found = folder.read(&wanted(&["a"]), now()).expect("the folder can be read");
            prop_assert!(found.read.passed_over.len() <= 1);
            let mut lines = found.parts.iter().flat_map(|part| &part.observations).flat_map(|read| read.stdout.lines());
            let is_clean = lines.all(|line| !line.chars().any(char::is_control));
            prop_assert!(is_clean);
            if found.read.passed_over.len() == 1 {
                prop_assert!(found.read.targets.contains_key(&TargetId::new("a")), "the older one is taken");
            }
        }
    }
}
