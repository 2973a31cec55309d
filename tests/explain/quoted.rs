//! What only quotes messages is no log: this project's own pages and sources, which are full of them. Whatever is said of
//! them is said as possible, and says that the text only quotes it.

use std::path::{Path, PathBuf};

use rdmascope::diagnose::explain::{Explained, explain};
use rdmascope::diagnose::finding::{Confidence, Status};

fn files(folder: &Path, endings: &[&str], all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "fixtures" {
            files(&path, endings, all);
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            all.push(path);
        }
    }
}

fn project(endings: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    files(Path::new(env!("CARGO_MANIFEST_DIR")), endings, &mut all);
    all.sort();
    all.into_iter()
        .map(|path| {
            let bytes = std::fs::read(&path).expect("a file");
            (path, bytes)
        })
        .collect()
}

/// What is said as if a machine had said it.
fn claimed(explained: &Explained) -> Vec<&str> {
    let claims =
        |confidence, status| confidence != Confidence::Possible || matches!(status, Status::Fail | Status::Warn);
    let findings = explained.findings.iter();
    findings
        .filter(|finding| claims(finding.confidence, finding.status))
        .map(|finding| finding.check.as_str())
        .collect()
}

#[test]
fn pages_of_this_project_claim_nothing() {
    let all = project(&[".md"]);
    assert!(all.len() >= 7, "{}", all.len());
    for (path, bytes) in all {
        let explained = explain("-", &bytes);
        assert_eq!(claimed(&explained), Vec::<&str>::new(), "{}", path.display());
        assert!(
            explained.findings.iter().all(|finding| finding.cause.contains("only quotes it")),
            "{}: {:?}",
            path.display(),
            explained.findings
        );
    }
}

#[test]
fn sources_of_this_project_are_not_recognised() {
    let all = project(&[".rs"]);
    assert!(all.len() > 500, "{}", all.len());
    let mut claiming = Vec::new();
    let mut recognised = Vec::new();
    for (path, bytes) in &all {
        let by_name = explain(&path.to_string_lossy(), bytes);
        assert_eq!((by_name.kinds.as_slice(), by_name.findings.len()), (&[][..], 0), "{}", path.display());
        assert!(by_name.not_read[0].contains("source code"), "{:?}", by_name.not_read);
        // Piped in, without a name.
        let piped = explain("-", bytes);
        if !claimed(&piped).is_empty() {
            claiming.push((path.display(), claimed(&piped).concat()));
        }
        if piped.is_recognised() {
            recognised.push(path.display());
        }
    }
    assert!(claiming.is_empty() && recognised.is_empty(), "{claiming:?} {recognised:?}");
}

#[test]
fn sources_in_other_languages_are_none_either() {
    let c = "#include <stdio.h>\n\nint main(void)\n{\n\tif (ctx_connect()) {\n\t\tfprintf(stderr, \"Failed to modify QP 285 to RTR\\n\");\n\t\treturn 1;\n\t}\n\
             \tprintf(\"Couldn't connect to %s:%d\\n\", host, port);\n\treturn 0;\n}\n";
    let python = "#!/usr/bin/env python3\nimport re\n\nPATTERNS = [\n    \"Module 'DevicePowerOn' power on failed.\",\n]\n\ndef main():\n    for line in sys.stdin:\n        \
                  if re.search(\"Transport retry count exceeded on mlx5_0:1/RoCE\", line):\n            print(line)\n\nmain()\n";
    for text in [c, python] {
        let explained = explain("-", text.as_bytes());
        assert_eq!((explained.kinds.as_slice(), explained.findings.len()), (&[][..], 0), "{text}");
    }
}

const MESSAGE: &str = "2023-07-21T09:40:52.413Z In(05) vmx - Module 'DevicePowerOn' power on failed.\n\
                       2023-07-21T09:40:52.413Z In(05) vmx - PCIPassthru: total number of pages needed (8421376) exceeds limit (917504), failing\n";

/// The same log counts as said by a machine in a letter, and as quoted in a manual; a sentence never says it.
#[test]
fn a_log_in_a_letter_counts_and_a_sentence_does_not() {
    let sentences = "We run two hosts and some of the VMs do not start since the last update of the firmware.\n";
    let letter = format!("{}\n{MESSAGE}\nIs it the size of the window, or is the card broken?\n", sentences.repeat(2));
    let explained = explain("-", letter.as_bytes());
    assert_eq!(claimed(&explained), ["vm.mmio-window"], "{:?}", explained.findings);
    // A long letter, of which the log is the smaller part but for its own paragraph.
    let issue = format!("## What happens\n\n{}\n## Log\n\n```text\n{}```\n", sentences.repeat(9), MESSAGE.repeat(9));
    assert_eq!(claimed(&explain("-", issue.as_bytes())), ["vm.mmio-window"]);
    let manual = format!(
        "# Guide\n\n{}\n- the one that is in the log\n- the other that is not\n\n```text\n{MESSAGE}```\n",
        sentences.repeat(12)
    );
    let explained = explain("-", manual.as_bytes());
    assert_eq!(claimed(&explained), Vec::<&str>::new(), "{:?}", explained.findings);
    assert!(explained.findings.iter().any(|finding| finding.check == "vm.mmio-window"));
    for text in [
        "When I start the test it says \"Failed to modify QP 285 to RTR\" and then it ends, what is the cause of it?\n",
        "        fprintf(stderr, \"Failed to modify QP %d to RTR\\n\");\n",
    ] {
        let explained = explain("-", text.as_bytes());
        assert_eq!(claimed(&explained), Vec::<&str>::new(), "{text}");
    }
    assert_ne!(claimed(&explain("-", b"Failed to modify QP 285 to RTR\n")), Vec::<&str>::new());
}

/// Advice is judged in a page too, because people paste guides; but a page can as well warn of it.
#[test]
fn advice_in_a_page_is_judged_as_possible() {
    let guide = format!(
        "# How to\n\n{}\n- then you set `esxcli hardware pci pcipassthru get -a` and look at what it says\n",
        "First of all you have to know which of the cards is the one that you want to use for it.\n".repeat(20)
    );
    let explained = explain("-", guide.as_bytes());
    let myth = explained.findings.iter().find(|finding| finding.check == "host.myth-pcipassthru-get").expect("it");
    assert_eq!(myth.confidence, Confidence::Possible);
    assert!(myth.cause.contains("warned of"), "{}", myth.cause);
}

/// Lines have the numbers that an editor shows: a carriage return alone ends one only where nothing else does.
#[test]
fn numbers_of_lines_are_those_of_an_editor() {
    let line = |text: &str| {
        let explained = explain("-", text.as_bytes());
        let fact = explained.facts.iter().find(|fact| fact.name.as_str() == "memSize").expect("it is read");
        fact.line
    };
    assert_eq!(line("firmware = \"efi\"\nmemSize = \"4096\"\n"), 2);
    assert_eq!(line("firmware = \"efi\"\r\nmemSize = \"4096\"\r\n"), 2);
    assert_eq!(line("firmware = \"efi\"\rmemSize = \"4096\"\r"), 2);
    assert_eq!(line("10%\r20%\r30%\nfirmware = \"efi\"\nmemSize = \"4096\"\n"), 3);
    assert_eq!(line("firmware = \"efi\"\rnumvcpus = \"4\"\nmemSize = \"4096\"\n"), 2);
    let found = explain("-", format!("a\rb\rc\n\n{MESSAGE}").as_bytes());
    assert_eq!(found.findings[0].evidence[0].line, Some(4), "{:?}", found.findings);
}

/// What only repeats takes no room, and numbers stay right behind it.
#[test]
fn empty_and_repeated_lines_are_passed_over() {
    for filler in ["\n".repeat(300_000), "y\n".repeat(300_000), "  \n".repeat(300_000)] {
        let text = format!("{filler}{MESSAGE}");
        let explained = explain("-", text.as_bytes());
        let window = explained.findings.iter().find(|finding| finding.check == "vm.mmio-window").expect("it is found");
        assert_eq!(window.evidence[0].line, Some(300_002));
    }
}

#[test]
fn differences_findings_of_a_search_and_pages_of_the_web_claim_nothing() {
    let texts = [
        "-Port number 1 state is Down\n+Port number 1 state is Active\n",
        "--- a/log\n+++ b/log\n@@ -1 +1 @@\n-Port number 1 state is Down\n+Port number 1 state is Active\n",
        "src/a.rs:12:            \"Couldn't get context for the device\",\n",
        "<p>The message <code>Module DevicePowerOn power on failed.</code> means..</p><pre>2024-01-01T00:00:00.000Z In(05) vmx - \
         Module DevicePowerOn power on failed.</pre>\n",
    ];
    for text in texts {
        assert_eq!(claimed(&explain("-", text.as_bytes())), Vec::<&str>::new(), "{text}");
    }
    let real = " Port number 1 state is Down\n Couldn't set the link layer\n";
    assert_ne!(claimed(&explain("-", real.as_bytes())), Vec::<&str>::new(), "as perftest prints it");
}
