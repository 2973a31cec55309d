//! Builds the stand-in and gives each test one of its own, with the file that drives it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use rdmascope::collect::nvml::{self, Settings};
use rdmascope::fabric::{Attribute, Entity, Fact, Report, State, TargetId, Text, Value};
use tempfile::{NamedTempFile, TempDir};

/// The folder of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvml")
}

/// Compiles something into a new file below `target`, and says where.
pub fn compile(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let built = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&out)
        .arg(sources().join(source))
        .args(flags)
        .output()
        .expect("a C compiler is installed");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    out
}

/// One library of its own.
pub struct StandIn {
    folder: TempDir,
}

impl StandIn {
    /// A library that does what these lines say.
    pub fn new(lines: &str) -> Self {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        let flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-pthread"];
        let built = BUILT.get_or_init(|| compile("stand-in", "stand_in.c", &flags));
        let folder = TempDir::new().expect("a folder");
        fs::copy(built, folder.path().join("libnvidia-ml.so.1")).expect("a copy");
        let stand_in = Self { folder };
        stand_in.say(lines);
        stand_in
    }

    /// What it does from now on.
    pub fn say(&self, lines: &str) {
        // In one step, so that no half of it is read.
        let mut new = NamedTempFile::new_in(self.folder.path()).expect("a file");
        new.write_all(lines.as_bytes()).expect("written");
        // The one before is there until then, so no two versions have the same number on the disk.
        new.persist(self.folder.path().join("libnvidia-ml.so.1.conf")).expect("renamed");
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }

    /// How it is read in tests: soon, and often.
    pub fn settings(&self) -> Settings {
        settings(&self.path())
    }

    /// Everything, read once.
    pub async fn read(&self) -> Report {
        read(self.settings()).await.expect("a library that is named is never passed over in silence")
    }
}

/// How a library is read in tests.
pub fn settings(library: &Path) -> Settings {
    Settings {
        states: Duration::from_millis(60),
        again: Duration::from_millis(50),
        patience: Duration::from_millis(300),
        ..Settings::new(Duration::from_millis(20), Some(library.into()))
    }
}

/// Reads it once.
pub async fn read(settings: Settings) -> Option<Report> {
    nvml::read_once(TargetId::new("local"), settings, Duration::from_secs(20)).await
}

/// A GPU of the stand-in.
pub fn gpu(index: u32) -> Entity {
    Entity::Gpu(Text::new(&format!("0000:{:02x}:00.0", 0x0b + index)))
}

/// The state of one value.
pub fn state<'a>(facts: &'a [Fact], entity: &Entity, attribute: Attribute) -> Option<&'a State<Value>> {
    facts.iter().find(|fact| fact.entity == *entity && fact.attribute == attribute).map(|fact| &fact.reading.state)
}

/// One value in words, or the name of the way in which it is missing.
pub fn shown(facts: &[Fact], entity: &Entity, attribute: Attribute) -> String {
    match state(facts, entity, attribute) {
        None => "not told".to_owned(),
        Some(State::Known(value)) => value.to_string(),
        Some(missing) => missing.name().to_owned(),
    }
}

/// The call that a fact comes from, as its line of evidence says.
pub fn call_of(report: &Report, fact: &Fact) -> String {
    let text = &report.observations[0].stdout;
    let line = text.lines().nth(fact.reading.line as usize - 1).expect("the line that the fact names");
    line.split([' ', ':', '(', ',']).find(|word| word.starts_with("nvml")).unwrap_or("").to_owned()
}
