//! The same pastes from another release: a further column or key, another order, other letter case, another name for what
//! does not matter.

use super::*;

fn cases(names: &[&str]) -> impl Iterator<Item = &'static Case> {
    let all: Vec<&Case> = names.iter().flat_map(|name| CASES.iter().filter(move |case| case.name == *name)).collect();
    assert_eq!(all.len(), names.len(), "each is a case");
    all.into_iter()
}

/// The table with a further column before its second one.
fn with_column(text: &str) -> String {
    let rule = text.lines().find(|line| line.starts_with("---")).expect("a rule");
    let second = rule.find(" -").expect("a second column") + 1;
    let mut out = String::new();
    for (line, next) in text.lines().zip(text.lines().skip(1).chain([""])) {
        let more = match () {
            () if line.starts_with('[') => "",
            () if line == rule => "-------  ",
            () if next == rule => "Further  ",
            () => "    new  ",
        };
        let (first, rest) = line.split_at(second.min(line.len()));
        out = out + first + more + rest + "\n";
    }
    out
}

#[test]
fn a_further_column_changes_nothing() {
    for case in cases(&["pause off on one of two hosts", "what is passed through, as a table"]) {
        let text = with_column(case.text);
        assert_case(case, "a further column", &text);
        assert!(explain("-", text.as_bytes()).facts.iter().any(|fact| fact.name.ends_with(".further")), "{text}");
    }
}

/// The lines of each block in another order, with one more key.
fn reordered(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with(' ') {
            block.push(line);
            continue;
        }
        if !block.is_empty() {
            out.extend(block.drain(..).rev().map(str::to_owned));
            out.push("   Further Key: some value".to_owned());
        }
        out.push(line.to_owned());
    }
    out.join("\n")
}

#[test]
fn keys_of_blocks_may_come_in_any_order() {
    for case in cases(&["one host negotiates PFC, its twin does not", "PCI devices as blocks"]) {
        assert_case(case, "reordered", &reordered(case.text));
        let renamed =
            case.text.replace("Sent PFC Frames", "PFC Frames Sent").replace("Reset Method", "Method of Reset");
        assert_case(case, "renamed", &renamed);
    }
}

#[test]
fn lines_of_a_vmx_may_come_in_any_order_and_letter_case() {
    for case in CASES.iter().filter(|case| case.kinds == ["vmx"] && !case.text.starts_with('\u{feff}')) {
        let reversed: String = case.text.lines().rev().flat_map(|line| [line, "\n"]).collect();
        // What is told of duplicates depends on which comes first.
        let reversed_case = Case { says: &[], ..*case };
        assert_case(&reversed_case, "reversed", &reversed);
        assert_case(case, "one key more", &format!("{}\nannotation = \"a note\"\n", case.text.trim_end()));
        let lower = |line: &str| match line.split_once('=') {
            Some((key, value)) if !line.starts_with('#') => format!("{}={value}\n", key.to_lowercase()),
            _ => format!("{line}\n"),
        };
        assert_case(&reversed_case, "small letters", &case.text.lines().map(lower).collect::<String>());
    }
}
