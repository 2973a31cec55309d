use std::path::PathBuf;

use super::*;
use crate::tune::advice::Adapter;
use crate::tune::line::test_guest as guest;

fn outcome(adapter: Adapter, device: &str, given: Option<&str>) -> Outcome {
    let sides = vec![guest("node-a", adapter, device), guest("node-b", adapter, device)];
    let advice = advise(&sides, &Job::default());
    let fared = |side: &Side| Guest { target: side.guest.clone(), reachable: true, problem: None };
    Outcome {
        at: Timestamp::UNIX_EPOCH,
        guests: sides.iter().map(fared).collect(),
        hosts: Vec::new(),
        comments: given.map(|text| line::judge(text, &sides)),
        advice,
        sides,
        trials: Vec::new(),
        strange: Vec::new(),
    }
}

#[test]
fn the_line_stands_first_and_can_be_copied() {
    let text = text::text(&outcome(Adapter::Pvrdma, "rocep11s0f1", None));
    assert!(text.starts_with("# UCX over RDMA (likely)\nmpirun \\\n  -np 2 \\\n"), "{text}");
    let line: String =
        text.lines().skip(1).take_while(|line| !line.is_empty()).map(|line| line.trim_end_matches('\\')).collect();
    let words = shlex::split(&line).expect("words of a shell");
    assert_eq!(
        (words.first().map(String::as_str), words.last().map(String::as_str)),
        (Some("mpirun"), Some("./PROGRAM"))
    );
    for heading in ["\nWhy\n", "\nBeside the line\n", "\nIf that does not run\n"] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
    assert!(text.contains("proved: Linux pvrdma_srq.c"), "{text}");
}

#[test]
fn comments_on_a_line_have_their_place() {
    let outcome = outcome(Adapter::Pvrdma, "rocep11s0f1", Some("export UCX_TLS=rc_x,sm,self\n"));
    let text = text::text(&outcome);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("! line 1: UCX_TLS=rc_x,sm,self (wrong name for this guest)"), "{text}");
    assert!(text.contains("instead: UCX_TLS=rc_v,ud_v,sm,self"), "{text}");
    let document = serde_json::to_value(document::document(&outcome)).expect("a document");
    assert_eq!(document["comments"][0]["verdict"], "wrong-name");
}

#[test]
fn the_document_has_what_its_schema_asks_for() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../../schema/tune-1.json")).expect("JSON");
    let document =
        serde_json::to_value(document::document(&outcome(Adapter::Software, "rxe0", Some("UCX_TLS=rc ./a"))))
            .expect("JSON");
    assert_eq!(document["schema"], schema["properties"]["schema"]["const"]);
    let names =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(names(&document), names(&schema["properties"]));
    let candidate = &schema["properties"]["candidates"]["items"]["properties"];
    assert_eq!(names(&document["candidates"][0]), names(candidate));
    assert_eq!(names(&document["candidates"][0]["items"][0]), names(&schema["$defs"]["item"]["properties"]));
    assert_eq!(names(&document["comments"][0]), names(&schema["properties"]["comments"]["items"]["properties"]));
    let ways =
        schema["properties"]["candidates"]["items"]["properties"]["way"]["enum"].as_array().expect("a list").clone();
    for candidate in document["candidates"].as_array().expect("a list") {
        assert!(ways.contains(&candidate["way"]), "{candidate}");
    }
}

#[test]
fn a_file_of_hosts_names_the_guests() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hosts");
    std::fs::write(&path, "a slots=4\nb:2 # two\n-x\n").expect("written");
    let arguments = TuneArguments { hostfile: Some(path.clone()), ..TuneArguments::default() };
    let (words, job, strange) = guests(&arguments).expect("read");
    assert_eq!((words, strange.len()), (vec!["a".to_owned(), "b".to_owned()], 1));
    assert_eq!(job.hostfile, Some((path.display().to_string(), 6)));
    std::fs::write(&path, "# none\n").expect("written");
    assert!(matches!(guests(&arguments), Err(Failure::Usage(_))));
    let missing = TuneArguments { hostfile: Some(PathBuf::from("/nowhere/hosts")), ..TuneArguments::default() };
    assert!(matches!(guests(&missing), Err(Failure::Usage(_))));
}
