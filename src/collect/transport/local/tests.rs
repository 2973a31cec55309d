use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;
use crate::probe::dialect::posix::{compile, quote, quote_glob};
use crate::probe::dialect::sections::SectionReader;
use crate::probe::{Keep, Word};

const NONCE: &str = "5ca1ab1e";

/// Every shell of this machine that the script has to run in alike.
fn shells() -> Vec<Vec<&'static str>> {
    [vec!["/bin/sh"], vec!["dash"], vec!["bash", "--posix"], vec!["bash"], vec!["busybox", "ash"]]
        .into_iter()
        .filter(|words| Command::new(words[0]).args(&words[1..]).args(["-c", ":"]).status().is_ok_and(|s| s.success()))
        .collect()
}

/// Standard output and standard error of a shell that gets `script` on its input.
fn shell(words: &[&str], script: &str, environment: &[(&str, &str)]) -> (Vec<u8>, Vec<u8>) {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .arg("-s")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell of this machine");
    child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("the shell reads its script");
    let output = child.wait_with_output().expect("the shell ends");
    (output.stdout, output.stderr)
}

fn by_script(words: &[&str], sources: &[Source], environment: &[(&str, &str)]) -> Vec<Section> {
    let (stdout, stderr) = shell(words, &compile(sources, NONCE), environment);
    let mut reader = SectionReader::new(sources.len(), NONCE);
    let mut sections = reader.feed_stdout(&stdout);
    sections.extend(reader.feed_stderr(&stderr));
    assert!(
        reader.is_complete(),
        "{words:?}: {}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    );
    sections
}

async fn natively(sources: &[Source]) -> Vec<Section> {
    let local = Local::new();
    let mut sections = Vec::new();
    for (index, &source) in sources.iter().enumerate() {
        sections.push(local.read(index, source, None).await);
    }
    sections
}

fn assert_same(sources: &[Source], script: &[Section], native: &[Section], shell: &[&str]) {
    for ((source, script), native) in sources.iter().zip(script).zip(native) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&script.stdout), text(&native.stdout), "{} in {shell:?}", source.name);
        assert_eq!(text(&script.stderr), text(&native.stderr), "{} in {shell:?}", source.name);
        assert_eq!(script.outcome, native.outcome, "{} in {shell:?}", source.name);
        assert_eq!(script.cut, native.cut, "{} in {shell:?}", source.name);
    }
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn leaked<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}

fn source(name: &'static str, read: Read) -> Source {
    Source { name, read }
}

#[tokio::test]
async fn files_are_the_same_with_and_without_a_shell() {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let root = tree.path();
    std::fs::create_dir_all(root.join("net/eth0/device")).expect("a directory");
    std::fs::create_dir_all(root.join("net/eth-1")).expect("a directory");
    std::fs::create_dir_all(root.join("net/.hidden")).expect("a directory");
    std::fs::create_dir_all(root.join("a b")).expect("a directory");
    for (name, content) in [
        ("net/eth0/mtu", &b"1500\n"[..]),
        ("net/eth-1/mtu", b"4200"),
        ("net/.hidden/mtu", b"1\n"),
        ("net/eth0/empty", b""),
        ("net/eth0/binary", b"a\0b\nc\xff\xfe\n\r\n\x1b[31mred\n\nlast"),
        ("a b/$x", b"quoted\n"),
        ("only-empty", b""),
    ] {
        std::fs::write(root.join(name), content).expect("a file");
    }
    std::os::unix::fs::symlink("nowhere", root.join("net/dangling")).expect("a link");
    let glob = |pattern: &str| leak(format!("{}/{pattern}", root.display()));
    let sources = [
        source("mtu", Read::Files(leaked(vec![glob("net/*/mtu")]))),
        source("all", Read::Files(leaked(vec![glob("net/*/*"), glob("net/*")]))),
        source("missing", Read::Files(leaked(vec![glob("nothing/*/here"), glob("net/eth0/mtu"), glob("none")]))),
        source("empty", Read::Files(leaked(vec![glob("only-empty")]))),
        source("quoted", Read::Files(leaked(vec![glob("a b/$x"), glob("a b/*")]))),
        source(
            "class",
            Read::Files(leaked(vec![glob("net/eth[0-9]/mtu"), glob("net/eth[!0-9]?/mtu"), glob("net/e?h0/mtu")])),
        ),
        source("none", Read::Files(&[])),
    ];
    let native = natively(&sources).await;
    for words in shells() {
        let mut script = by_script(&words, &sources, &[]);
        let mut native = native.clone();
        if words[0] == "busybox" {
            // Its own grep says nothing about a folder.
            for section in script.iter_mut().chain(&mut native) {
                let lines = String::from_utf8_lossy(&section.stderr).into_owned();
                let kept: Vec<&str> = lines.lines().filter(|line| !line.ends_with(": Is a directory")).collect();
                section.stderr = kept.join("\n").into_bytes();
            }
        }
        assert_same(&sources, &script, &native, &words);
    }
    assert!(String::from_utf8_lossy(&native[2].stderr).contains("nothing/*/here: No such file or directory\n"));
    assert_eq!(native[2].outcome, Outcome::Exit(2));
    assert_eq!(native[3].outcome, Outcome::Exit(0));
}

#[tokio::test]
async fn programs_are_the_same_with_and_without_a_shell() {
    let tree = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(tree.path().join("one"), "1\n").expect("a file");
    std::fs::write(tree.path().join("two"), "2\n").expect("a file");
    let no_program = tree.path().join("no-program");
    std::fs::write(&no_program, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(&no_program, std::fs::Permissions::from_mode(0o644)).expect("permissions");
    let sh = |script: &'static str| leaked(vec![Word::Plain("sh"), Word::Plain("-c"), Word::Plain(script)]);
    let keep = |any_of, last| Some(Keep { any_of, last });
    let command = |argv, keep| Read::Command { argv, keep };
    let sources = [
        source("plain", command(sh("echo out; echo err >&2; printf 'no end'; exit 3"), None)),
        source(
            "glob",
            command(leaked(vec![Word::Plain("cat"), Word::Glob(leak(format!("{}/*o*", tree.path().display())))]), None),
        ),
        source("missing", command(&[Word::Plain("no-such-program-here"), Word::Plain("-x")], None)),
        source("kept", command(sh("seq 1 500; echo 'a b 7'; echo no; exit 4"), keep(&["7", "a b"], 5))),
        source("kept-none", command(sh("seq 1 5"), keep(&["x"], 5))),
        source("kept-silent", command(sh("echo oops >&2; exit 1"), keep(&["x", "o"], 5))),
        source("kept-missing", command(&[Word::Plain("no-such-program-here")], keep(&["x"], 5))),
        source("input", command(&[Word::Plain("cat")], None)),
        source("killed", command(sh("kill -9 $$"), None)),
        source("complaint", command(&[Word::Plain("ls"), Word::Plain("/no/such/file")], None)),
        source("locale", command(sh("echo $LC_ALL"), None)),
    ];
    let native = natively(&sources).await;
    for words in shells() {
        let script = by_script(&words, &sources, &[]);
        for (script, native) in script.iter().zip(&native) {
            // Some shells add a line of their own about the signal, and busybox brings its own `ls`.
            let name = sources[script.index].name;
            if name != "killed" && !(name == "complaint" && words[0] == "busybox") {
                assert_eq!(String::from_utf8_lossy(&script.stderr), String::from_utf8_lossy(&native.stderr));
            }
            assert_eq!(String::from_utf8_lossy(&script.stdout), String::from_utf8_lossy(&native.stdout), "{words:?}");
            if !(name == "complaint" && words[0] == "busybox") {
                assert_eq!(script.outcome, native.outcome, "{name} in {words:?}");
            }
        }
    }
    assert_eq!(native[2].outcome, Outcome::Exit(127));
    assert_eq!(String::from_utf8_lossy(&native[3].stdout), "478\n479\n487\n497\na b 7\n");
    assert_eq!(native[3].outcome, Outcome::Exit(4));
}

#[tokio::test]
async fn no_other_variable_ever_travels() {
    let sources = [source("environment", Read::Environment(&["UCX_", "OMPI_", "X;echo"]))];
    let environment = [
        ("UCX_TLS", "rc_v,ud_v"),
        ("UCX_LINES", "first\nsecond\n"),
        ("OMPI_MCA_pml", "it's \"$HOME\" `id` $(id) \\n"),
        ("SECRET", "x\nUCX_FAKE=stolen\nUCX_TLS=stolen\nOMPI_MCA_x=stolen"),
        ("AUCX_", "no"),
    ];
    let expected = "OMPI_MCA_pml=it's \"$HOME\" `id` $(id) \\n\nUCX_LINES=first [more lines]\nUCX_TLS=rc_v,ud_v\n";
    for words in shells() {
        let sections = by_script(&words, &sources, &environment);
        assert_eq!(String::from_utf8_lossy(&sections[0].stdout), expected, "{words:?}");
        assert_eq!(sections[0].outcome, Outcome::Exit(0));
    }
    let variables = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let native = files::environment(variables, &["UCX_", "OMPI_", "X;echo"]);
    assert_eq!(String::from_utf8_lossy(&native.stdout), expected);
}

#[tokio::test]
async fn processes_are_found_by_name() {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
    let sources = [
        source("processes", Read::ProcessFiles { names: &["sleep", "no such name"], files: &["comm", "limits"] }),
        source("nobody", Read::ProcessFiles { names: &["no such name"], files: &["limits"] }),
    ];
    let line = format!("/proc/{}/comm:sleep\n", child.id());
    // Until the child has become `sleep`.
    while std::fs::read_to_string(format!("/proc/{}/comm", child.id())).expect("a live process") != "sleep\n" {
        std::thread::yield_now();
    }
    let native = natively(&sources).await;
    let mut found = vec![native];
    for words in shells() {
        found.push(by_script(&words, &sources, &[]));
    }
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    for sections in found {
        let text = String::from_utf8_lossy(&sections[0].stdout);
        assert!(text.contains(&line), "{text}");
        assert!(text.contains(":Max locked memory"), "{text}");
        assert_eq!(text.matches("comm:sleep").count(), text.matches("Max locked memory").count());
        assert!(sections[1].stdout.is_empty() && sections[1].stderr.is_empty());
        assert_eq!(sections[1].outcome, Outcome::Exit(0));
    }
}

#[tokio::test]
async fn a_script_that_was_cut_off_runs_nothing() {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let made = tree.path().join("made");
    let sources = [source(
        "touch",
        Read::Command {
            argv: leaked(vec![Word::Plain("touch"), Word::Plain(leak(made.display().to_string()))]),
            keep: None,
        },
    )];
    let script = compile(&sources, NONCE);
    let whole = script.trim_end();
    for words in shells() {
        shell(&words, &whole[..whole.len() - 1], &[]);
        assert!(!made.exists(), "{words:?}");
    }
    shell(&["/bin/sh"], &script, &[]);
    assert!(made.exists());
}

#[tokio::test]
async fn a_program_that_does_not_end_is_ended_with_its_children() {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let pid_file = tree.path().join("pid");
    let script = leak(format!("sleep 300 & echo $! > {}; echo begun; wait", pid_file.display()));
    let argv = leaked(vec![Word::Plain("sh"), Word::Plain("-c"), Word::Plain(script)]);
    let given = program::run(argv, None, Duration::from_secs(3)).await;
    assert_eq!(given.outcome, Outcome::TimedOut);
    assert_eq!(given.stdout, b"begun\n");
    let pid = std::fs::read_to_string(&pid_file).expect("the child's id");
    let path = format!("/proc/{}/stat", pid.trim());
    loop {
        match std::fs::read_to_string(&path) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::yield_now(),
            _ => break,
        }
    }
}

#[tokio::test]
async fn a_flood_is_cut_and_counted() {
    let argv = [Word::Plain("head"), Word::Plain("-c"), Word::Plain("3000000"), Word::Plain("/dev/zero")];
    let given = program::run(&argv, None, DEADLINE).await;
    assert_eq!((given.stdout.len(), given.cut), (1 << 20, 3_000_000 - (1 << 20)));
    let endless = program::run(&[Word::Plain("cat"), Word::Plain("/dev/zero")], None, DEADLINE).await;
    assert_eq!(endless.stdout.len(), 1 << 20);
    assert!(matches!(endless.outcome, Outcome::Exit(137 | 141)), "{:?}", endless.outcome);
}

#[tokio::test]
async fn a_file_that_hangs_times_out_alone_and_is_not_opened_twice() {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let fifo = tree.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let hung = source("hung", Read::Files(leaked(vec![leak(fifo.display().to_string())])));
    let local = Local::new();
    let first = local.read(0, hung, None);
    let other = local.read(1, source("other", Read::Files(&["/proc/uptime"])), None);
    tokio::pin!(first);
    tokio::select! {
        _ = &mut first => panic!("nobody writes into the pipe"),
        section = other => assert_eq!(section.outcome, Outcome::Exit(0)),
    }
    assert_eq!(local.read(0, hung, None).await.outcome, Outcome::TimedOut, "the first read is still out");
    std::fs::write(&fifo, "late\n").expect("a writer");
    assert_eq!(first.await.outcome, Outcome::Exit(0));
    assert!(local.hanging.lock().expect("not poisoned").is_empty());
}

/// Names that a tree may hold: whatever is special to a shell or to a pattern.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("eth0".to_owned()), Just("a-b".to_owned()), "[a-c .$'\"\\\\;&|<>()!~#=\n-]{1,5}"]
        .prop_filter("no path of its own", |name| name != "." && name != "..")
}

#[test]
fn any_tree_reads_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let tree = tempfile::tempdir().expect("a temporary directory");
    let root = tree.path();
    let files = proptest::collection::vec((name(), name(), proptest::collection::vec(any::<u8>(), 0..20)), 1..5);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(300));
    let number = std::cell::Cell::new(0u32);
    runner
        .run(&files, |files| {
            number.set(number.get() + 1);
            let here = root.join(number.get().to_string());
            let mut globs = vec![leak(format!("{}/*/*", here.display())), leak(format!("{}/*", here.display()))];
            for (folder, name, content) in &files {
                std::fs::create_dir_all(here.join(folder)).expect("a directory");
                // Two names may be the same.
                let _ = std::fs::write(here.join(folder).join(name), content);
                globs.push(leak(format!("{}/{folder}/{name}", here.display())));
            }
            let sources = [source("tree", Read::Files(leaked(globs)))];
            let script = by_script(&["/bin/sh"], &sources, &[]);
            let native = runtime.block_on(natively(&sources));
            let special = files.iter().any(|(folder, name, _)| folder.contains('[') || name.contains('['));
            prop_assert!(!special);
            prop_assert_eq!(String::from_utf8_lossy(&script[0].stdout), String::from_utf8_lossy(&native[0].stdout));
            prop_assert_eq!(String::from_utf8_lossy(&script[0].stderr), String::from_utf8_lossy(&native[0].stderr));
            prop_assert_eq!(&script[0].outcome, &native[0].outcome);
            Ok(())
        })
        .expect("every tree reads the same");
}

#[test]
fn any_text_survives_every_shell() {
    let texts = "[^\0]{0,12}|[ -~\n\t]{0,16}|(\\PC|['\"\\\\$`!*?\\[\\]{}~#;&|<>()\n ]){0,10}";
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(25));
    runner
        .run(&proptest::collection::vec(texts, 400), |texts| {
            let mut script = String::from("{\n");
            for text in &texts {
                script.extend(["printf '%s\\0' ", &quote(text), "\n"]);
            }
            script.push_str("}\n");
            for words in shells() {
                let (stdout, _) = shell(&words, &script, &[("LC_ALL", "C")]);
                let mut given: Vec<Vec<u8>> = stdout.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
                given.pop();
                prop_assert_eq!(given.len(), texts.len());
                for (given, text) in given.into_iter().zip(&texts) {
                    prop_assert_eq!(String::from_utf8(given).expect("what was sent"), text.as_str(), "{:?}", words);
                }
            }
            Ok(())
        })
        .expect("every text survives");
}

#[test]
fn a_pattern_without_wildcards_stands_for_itself() {
    let texts = "[^\0*?\\[\\]!]{1,12}";
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(25));
    runner
        .run(&proptest::collection::vec(texts, 400), |texts| {
            let mut script = String::from("{\n");
            for text in &texts {
                script.extend(["printf '%s\\0' ", &quote_glob(text), "\n"]);
            }
            script.push_str("}\n");
            let (stdout, _) = shell(&["/bin/sh"], &script, &[]);
            let expected: Vec<u8> = texts.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&expected));
            Ok(())
        })
        .expect("every text survives");
}
