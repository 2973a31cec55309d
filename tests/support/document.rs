//! The snapshot document, read by its own names.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program without a terminal and gives what came of it.
pub fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .args(arguments)
        .env_remove("SSH_AUTH_SOCK")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the program starts")
}

/// A `rdmascope.snapshot/1` document.
#[derive(Clone, Debug)]
pub struct Snapshot(Value);

impl Snapshot {
    /// Reads a document and checks what it says it is.
    #[track_caller]
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in: {text}"));
        assert_eq!(document["schema"], "rdmascope.snapshot/1");
        assert!(document["links"].is_array(), "links[] is there");
        Self(document)
    }

    /// Takes one of these targets now.
    #[track_caller]
    pub fn take(arguments: &[&str]) -> Self {
        let output = run(&[&["snapshot", "--format", "json"], arguments].concat());
        assert!(
            output.status.success(),
            "snapshot ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Self::parse(&output.stdout)
    }

    /// One target by name.
    #[track_caller]
    pub fn target(&self, name: &str) -> Target<'_> {
        let targets = self.0["targets"].as_array().expect("targets[]");
        let found = targets.iter().find(|target| target["name"] == name);
        Target(found.unwrap_or_else(|| panic!("no target {name} in {}", self.0)))
    }
}

/// One target of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a>(&'a Value);

impl<'a> Target<'a> {
    /// A field of the target itself: `kind`, `reachable`.
    pub fn field(self, name: &str) -> &'a Value {
        &self.0[name]
    }

    /// The facts of an entity: `rdma-port/rxe0/1`, and `guest` for the system itself.
    pub fn entity(self, name: &str) -> Option<&'a serde_json::Map<String, Value>> {
        self.0["facts"].get(name)?.as_object()
    }

    /// The entities of a kind: the rest of the name to the facts.
    pub fn entities(self, kind: &str) -> BTreeMap<&'a str, &'a serde_json::Map<String, Value>> {
        let facts = self.0["facts"].as_object().expect("facts{}");
        facts
            .iter()
            .filter_map(|(name, facts)| Some((name.strip_prefix(kind)?.strip_prefix('/')?, facts.as_object()?)))
            .collect()
    }

    /// The state of an attribute: `known`, `needs-privilege`, ...
    #[track_caller]
    pub fn state(self, entity: &str, attribute: &str) -> &'a str {
        self.fact(entity, attribute)["state"].as_str().expect("a state")
    }

    /// A known value as text.
    #[track_caller]
    pub fn value(self, entity: &str, attribute: &str) -> String {
        let fact = self.fact(entity, attribute);
        assert_eq!(fact["state"], "known", "{entity} {attribute}: {fact}");
        as_text(&fact["value"])
    }

    /// A known list.
    #[track_caller]
    pub fn list(self, entity: &str, attribute: &str) -> Vec<String> {
        let fact = self.fact(entity, attribute);
        let list = fact["value"].as_array().unwrap_or_else(|| panic!("{entity} {attribute} is no list: {fact}"));
        list.iter().map(as_text).collect()
    }

    #[track_caller]
    fn fact(self, entity: &str, attribute: &str) -> &'a Value {
        let facts = self.entity(entity).unwrap_or_else(|| panic!("no entity {entity} in {}", self.0));
        facts.get(attribute).unwrap_or_else(|| panic!("{entity} says nothing of {attribute}: {facts:?}"))
    }

    /// A raw counter: `counters` lies beside `facts` and has the same keys.
    #[track_caller]
    pub fn counter(self, entity: &str, name: &str) -> u64 {
        let value = &self.0["counters"][entity][name];
        value.as_u64().unwrap_or_else(|| panic!("no counter {name} of {entity}, but {value} in {}", self.0["counters"]))
    }
}

/// A value as text: a number as its digits, a list with blanks between.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(as_text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A known value of a fact as text; empty if it is missing.
pub fn known(facts: &serde_json::Map<String, Value>, attribute: &str) -> String {
    facts
        .get(attribute)
        .filter(|fact| fact["state"] == "known")
        .map_or_else(String::new, |fact| as_text(&fact["value"]))
}

/// Letters and digits only, in lower case: `LINK_UP` and `LinkUp` are one state.
pub fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// One finding: its check, and the target it is about.
pub type Named<'a> = (&'a str, &'a str);

/// What `check` says: a `rdmascope.check/1` document, and its exit status.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Exit status.
    pub status: i32,
    document: Value,
}

impl Verdict {
    /// Looks at targets now.
    #[track_caller]
    pub fn of(arguments: &[&str]) -> Self {
        let output = run(&[&["check", "--format", "json"], arguments].concat());
        let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|wrong| panic!("{wrong} in: {text}{error}"));
        assert_eq!(document["schema"], "rdmascope.check/1");
        Self { status: output.status.code().expect("it ended by itself"), document }
    }

    /// True if nothing is left open because a target or a source did not answer.
    pub fn is_complete(&self) -> bool {
        self.document["summary"]["complete"] == true
    }

    /// True if every target answered all that it was asked.
    pub fn is_whole(&self) -> bool {
        self.is_complete() && self.with_status("info").iter().all(|(check, _)| *check != "tool.completeness")
    }

    fn all(&self, of: &str) -> &[Value] {
        self.document[of].as_array().expect("a list")
    }

    /// Causes, the first one first.
    pub fn causes(&self) -> Vec<Named<'_>> {
        self.all("causes").iter().map(named).collect()
    }

    /// What the first cause explains.
    pub fn symptoms(&self) -> Vec<Named<'_>> {
        let first = self.all("causes").first();
        first.and_then(|cause| cause["symptoms"].as_array()).into_iter().flatten().map(named).collect()
    }

    /// Findings with a status, in order.
    pub fn with_status(&self, status: &str) -> Vec<Named<'_>> {
        let mut all: Vec<_> = self.all("findings").iter().filter(|one| one["status"] == status).map(named).collect();
        all.sort_unstable();
        all
    }

    /// A text of the first cause: `title`, `cause`, `decide`, `status`, `confidence`.
    #[track_caller]
    pub fn first(&self, field: &str) -> &str {
        let first = self.all("causes").first().unwrap_or_else(|| panic!("no cause in {}", self.document["summary"]));
        first[field].as_str().expect("a text")
    }

    /// What the first cause stands on: command and line with what it says.
    pub fn evidence(&self) -> Vec<(String, String)> {
        let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
        let first = self.all("causes").first().and_then(|cause| cause["evidence"].as_array());
        first.into_iter().flatten().map(|item| (text(item, "command"), text(item, "excerpt"))).collect()
    }

    /// The titles of all findings that are not well, for a failure of a test.
    pub fn words(&self) -> String {
        let told = self.all("findings").iter().filter(|one| one["status"] != "pass");
        let lines = told.map(|one| format!("{} {}: {}", one["status"], one["check"], one["title"]));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn named(finding: &Value) -> Named<'_> {
    (finding["check"].as_str().expect("a check"), finding["target"].as_str().unwrap_or_default())
}

/// What `explain` makes of a text: exit status, and each finding as one text.
#[track_caller]
pub fn explain(text: &str) -> (i32, Vec<String>) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let output = run(&["explain", "--format", "json", file.path().to_str().expect("a path")]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let texts = document["inputs"].as_array().expect("inputs").iter().flat_map(|input| {
        let findings = input["findings"].as_array().expect("findings").iter();
        findings.map(Value::to_string).collect::<Vec<_>>()
    });
    (output.status.code().expect("it ended by itself"), texts.collect())
}
