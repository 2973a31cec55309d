//! Outputs that were saved on a target by the script of `rdmascope collector`, for machines that cannot be reached. The
//! file begins with a header of lines, holds the standard output of the compiled script with its markers, a line, and its
//! standard error with the same markers. It came from somewhere else: nothing in it is trusted.

use std::fmt::Write as _;

use crate::collect::kind::System;
use crate::collect::rounds::{Sequence, saved_report};
use crate::fabric::{Outcome, Report, TargetId, Text, Timestamp};
use crate::probe::dialect::posix::compile;
use crate::probe::dialect::sections::{Section, SectionReader};
use crate::probe::esxi::{FILTER_NAME, filter};
use crate::probe::{Probe, Source};

/// The first words of the first line of an archive; its format number follows.
pub const MAGIC: &str = "@rdmascope-archive";

/// The format that is written, and the only one that is read.
const FORMAT: u32 = 1;

/// The most bytes that an archive may have.
pub const MOST_BYTES: u64 = 64 << 20;

/// The header is shorter.
const LONGEST_HEADER: usize = 256 * 1024;

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The version of the program that made the script.
    pub version: Text,
    /// What the machine is.
    pub system: System,
    /// Its name.
    pub host: Text,
    /// When it was read, by its own clock.
    pub at: Timestamp,
    /// False if the file ends before the script did.
    pub is_whole: bool,
    /// How many sources were to be read.
    pub sources: usize,
    /// What was read, with the name of each source.
    pub sections: Vec<(String, Section)>,
}

/// Why a file is no archive that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else.
    #[error("it is no file of `rdmascope collector`")]
    Foreign,
    /// Nothing is in it.
    #[error(
        "it is empty: the script of `rdmascope collector` writes into a file that it names; `sh SCRIPT - > FILE` writes into FILE"
    )]
    Nothing,
    /// It is the script.
    #[error("it is the script of `rdmascope collector`; run it on the machine, and open what it writes")]
    Script,
    /// It was compressed.
    #[error("it is compressed by {0}; unpack it first")]
    Compressed(&'static str),
    /// It is of another format.
    #[error("it is of format {0}, and this version reads format {FORMAT} only")]
    Format(Text),
    /// Its header is damaged.
    #[error("its header is damaged: {0}")]
    Header(&'static str),
    /// Nothing that was read is in it.
    #[error("it ends before the first thing was read")]
    Empty,
}

impl Archive {
    /// Reads an archive. Line ends of other systems do no harm.
    pub fn parse(bytes: &[u8]) -> Result<Self, ArchiveError> {
        for (magic, by) in [(&b"\x1f\x8b"[..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip")] {
            if bytes.starts_with(magic) {
                return Err(ArchiveError::Compressed(by));
            }
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Err(ArchiveError::Nothing);
        }
        if bytes.starts_with(b"#!/bin/sh\n# Collector of rdmascope ") {
            return Err(ArchiveError::Script);
        }
        let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        if first.last() == Some(&b'\r') {
            let mut without = Vec::with_capacity(bytes.len());
            for (index, &byte) in bytes.iter().enumerate() {
                if byte != b'\r' || bytes.get(index + 1) != Some(&b'\n') {
                    without.push(byte);
                }
            }
            return Self::of_lines(&without);
        }
        Self::of_lines(bytes)
    }

    fn of_lines(bytes: &[u8]) -> Result<Self, ArchiveError> {
        if !bytes.starts_with(MAGIC.as_bytes()) {
            return Err(ArchiveError::Foreign);
        }
        let end =
            find(&bytes[..bytes.len().min(LONGEST_HEADER)], b"\n\n").ok_or(ArchiveError::Header("it has no end"))?;
        let header = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = header.lines();
        let format = lines.next().and_then(|line| line.strip_prefix(MAGIC)).unwrap_or_default().trim();
        if format != FORMAT.to_string() {
            return Err(ArchiveError::Format(Text::new(format)));
        }
        let (mut version, mut system, mut host, mut at, mut nonce) = (None, None, None, None, None);
        let mut sources = Vec::new();
        for line in lines {
            // Keys that are not known are of a later version.
            let Some((key, value)) = line.split_once(": ") else { continue };
            match key {
                "version" => version = Some(Text::new(value)),
                "system" => system = Some(value.to_owned()),
                "host" => host = Some(Text::new(value)),
                "date" => at = value.parse::<Timestamp>().ok(),
                "nonce" => nonce = Some(value.to_owned()),
                "source" => sources.push(value.to_owned()),
                _ => {}
            }
        }
        let system = match system.as_deref() {
            Some("esxi") => System::Esxi,
            Some("linux") => System::Linux,
            _ => return Err(ArchiveError::Header("it does not say which system was read")),
        };
        let at = at.ok_or(ArchiveError::Header("it has no date"))?;
        let is_word =
            |word: &String| !word.is_empty() && word.len() <= 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let nonce = nonce.filter(is_word).ok_or(ArchiveError::Header("it has no nonce"))?;
        let body = &bytes[end + 1..];
        let (stdout, after) = split(body, &separator(&nonce, "stderr"));
        let (stderr, rest) = split(after.unwrap_or_default(), &separator(&nonce, "end"));
        let is_whole = after.is_some() && rest.is_some();
        let mut reader = SectionReader::new(sources.len(), &nonce);
        let mut sections = reader.feed_stdout(stdout);
        sections.extend(reader.feed_stderr(stderr));
        sections.extend(reader.finish(&Outcome::Cut));
        sections.sort_by_key(|section| section.index);
        if sections.is_empty() {
            return Err(ArchiveError::Empty);
        }
        let count = sources.len();
        let named = |section: Section| sources.get(section.index).map(|name| (name.clone(), section));
        Ok(Self {
            version: version.unwrap_or_else(|| Text::new("unknown")),
            system,
            host: host.unwrap_or_else(|| Text::new("")),
            at,
            is_whole,
            sources: count,
            sections: sections.into_iter().filter_map(named).collect(),
        })
    }

    /// What the probes make of it, each fact of the time at which it was saved. A probe of which nothing is there (the
    /// script is of an older version) says nothing.
    pub fn reports(&self, target: &TargetId, probes: &[Probe]) -> Vec<Report> {
        let sequence = Sequence::default();
        let section = |source: &Source| {
            self.sections.iter().find(|(name, _)| name == source.name).map(|(_, section)| section.clone())
        };
        let missing = || Section {
            index: 0,
            outcome: Outcome::Cut,
            duration: None,
            stdout: vec![],
            stderr: vec![],
            cut: 0,
            command: None,
        };
        let with_something = probes.iter().filter(|probe| probe.sources.iter().any(|source| section(source).is_some()));
        with_something
            .map(|probe| {
                let parts = probe.sources.iter().map(|source| (*source, section(source).unwrap_or_else(missing)));
                saved_report(target, &sequence, probe, parts.collect(), self.at)
            })
            .collect()
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// What stands before and after a separator.
fn split<'b>(bytes: &'b [u8], separator: &str) -> (&'b [u8], Option<&'b [u8]>) {
    let line = format!("\n{separator}\n");
    match find(bytes, line.as_bytes()) {
        Some(at) => (&bytes[..at], Some(&bytes[at + line.len()..])),
        None => (bytes, None),
    }
}

fn separator(nonce: &str, what: &str) -> String {
    format!("{MAGIC} {nonce} {what}")
}

/// The script that saves what these probes read. It runs in any POSIX sh, the one of ESXi among them, and changes nothing
/// but the one file that it writes. `nonce` has to be fresh, of hexadecimal digits.
pub fn script(version: &str, nonce: &str, esxi: &[Probe], linux: &[Probe]) -> String {
    let mut text = format!(
        "#!/bin/sh\n\
         # Collector of rdmascope {version}: reads this machine once and writes what it read into one file.\n\
         #\n\
         #   sh rdmascope-collector.sh [FILE]         then, where rdmascope is: rdmascope offline:FILE\n\
         #   sh rdmascope-collector.sh - > FILE       the same by standard output\n\
         #\n\
         # It only reads: no command below changes anything. Run it as root to read everything; without, it says what is\n\
         # missing. The file is readable by its owner only. It holds the raw outputs of the commands below: names and\n\
         # addresses of this machine and of its VMs and, on an ESXi host, settings of VMs and files of its configuration.\n\
         # Values of guestinfo, passwords, tokens and annotations are replaced by <masked> before they are written, as far\n\
         # as sed can tell, line by line; secrets of several lines, and those whose name does not tell, may be left.\n\
         # rdmascope masks more when it reads the file. Look through it before you pass it on.\n\
         #\n"
    );
    for (title, probes) in [("On an ESXi host", esxi), ("On a Linux system", linux)] {
        let _ = writeln!(text, "# {title} it reads:");
        for probe in probes {
            let _ = writeln!(text, "#   {}", probe.title);
        }
    }
    let _ = write!(
        text,
        "\numask 077\n\
         case $(uname -s) in\n\
         VMkernel) _system=esxi;;\n\
         Linux) _system=linux;;\n\
         *) echo \"this is neither an ESXi host nor a Linux system: $(uname -s)\" >&2; exit 1;;\n\
         esac\n\
         _host=$(hostname 2>/dev/null || uname -n)\n\
         _file=${{1:-rdmascope-$(uname -n)-$(date -u +%Y%m%dT%H%M%SZ).txt}}\n\
         _folder=\n\
         if [ \"$_file\" = - ]; then\n\
         _folder=$(mktemp -d) || exit 1\n\
         trap 'rm -rf \"$_folder\"' EXIT\n\
         trap 'exit 1' HUP INT TERM\n\
         _file=$_folder/saved\n\
         fi\n\
         if [ -e \"$_file\" ] || [ -e \"$_file.stderr\" ]; then echo \"$_file is there already\" >&2; exit 1; fi\n"
    );
    for (name, probes) in [("esxi", esxi), ("linux", linux)] {
        let sources: Vec<Source> = probes.iter().flat_map(|probe| probe.sources).copied().collect();
        let _ = write!(text, "_names_{name}() {{\ncat <<'RDMASCOPE_END'\n");
        for source in &sources {
            let _ = writeln!(text, "source: {}", source.name);
        }
        let _ = write!(text, "RDMASCOPE_END\n}}\n_read_{name}() (\n{})\n", compile(&sources, nonce));
    }
    text.push_str(&filter());
    let _ = write!(
        text,
        "_into=${{_folder:+standard output}}\n\
         echo \"reading this machine into ${{_into:-$_file}} ...\" >&2\n\
         {{\n\
         printf '{MAGIC} {FORMAT}\\nversion: %s\\nsystem: %s\\n' '{version}' \"$_system\"\n\
         printf 'host: %s\\ndate: %s\\nnonce: %s\\n' \"$_host\" \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\" {nonce}\n\
         _names_$_system\n\
         echo\n\
         }} >\"$_file\" || exit 1\n\
         _read_$_system 2>\"$_file.stderr\" | {FILTER_NAME} >>\"$_file\"\n\
         {{ printf '\\n{}\\n'; cat \"$_file.stderr\"; printf '\\n{}\\n'; }} >>\"$_file\" || exit 1\n\
         rm -f \"$_file.stderr\"\n\
         if [ -n \"$_folder\" ]; then\n\
         cat \"$_file\" || exit 1\n\
         echo \"done; where rdmascope is: rdmascope offline:FILE\" >&2\n\
         else\n\
         echo \"done: $_file; take it to where rdmascope is: rdmascope offline:$_file\" >&2\n\
         [ -t 1 ] || [ $# -gt 0 ] || echo \"nothing went to standard output; for that: sh $0 - > FILE\" >&2\n\
         fi\n",
        separator(nonce, "stderr"),
        separator(nonce, "end"),
    );
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::probe::{Pace, Read, Word};

    const NONCE: &str = "0badcafe";

    fn parse(observations: &[std::sync::Arc<crate::fabric::Observation>]) -> Vec<crate::fabric::Fact> {
        let text = Text::new(&observations[0].stdout);
        vec![observations[0].known(crate::fabric::Entity::Host, crate::fabric::Attribute::EsxiVersion, text, 1)]
    }

    const fn probe(name: &'static str, sources: &'static [Source]) -> Probe {
        Probe { name, title: "what is told", privilege_adds: "", pace: Pace::Slow, sources, parse }
    }

    const LINUX: &[Probe] = &[
        probe(
            "test.echo",
            &[
                Source {
                    name: "test.echo",
                    read: Read::Command { argv: &[Word::Plain("echo"), Word::Plain("it's here")], keep: None },
                },
                Source {
                    name: "test.none",
                    read: Read::Command { argv: &[Word::Plain("no-such-program")], keep: None },
                },
            ],
        ),
        probe("test.release", &[Source { name: "test.release", read: Read::Files(&["/proc/sys/kernel/osrelease"]) }]),
    ];

    /// What the script saves on this machine, by each shell that there is.
    fn saved() -> Vec<Vec<u8>> {
        let text = script("1.2.3", NONCE, &[], LINUX);
        let shells = [vec!["/bin/sh"], vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"]];
        let folder = tempfile::tempdir().expect("a folder");
        let collector = folder.path().join("collector.sh");
        std::fs::write(&collector, text).expect("written");
        let mut all = Vec::new();
        for (number, words) in shells.iter().enumerate() {
            let file = folder.path().join(format!("saved {number}"));
            let Ok(output) = Command::new(words[0]).args(&words[1..]).arg(&collector).arg(&file).output() else {
                continue;
            };
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            all.push(std::fs::read(&file).expect("it wrote its file"));
            let again =
                Command::new(words[0]).args(&words[1..]).arg(&collector).arg(&file).output().expect("as before");
            assert!(!again.status.success(), "a file that is there is left alone");
            let left = std::fs::read_dir(folder.path()).expect("there").count();
            assert_eq!(left, 1 + all.len(), "nothing else is left behind");
        }
        assert!(!all.is_empty());
        all
    }

    #[test]
    fn what_every_shell_saves_is_read_back() {
        for bytes in saved() {
            let archive = Archive::parse(&bytes).expect("an archive");
            assert_eq!((archive.version.as_str(), archive.system, archive.is_whole), ("1.2.3", System::Linux, true));
            assert_eq!((archive.sources, archive.sections.len()), (3, 3));
            assert!(Timestamp::now().duration_since(archive.at).as_secs().abs() < 600);
            let reports = archive.reports(&TargetId::new("offline:x"), LINUX);
            assert_eq!(reports.len(), 2);
            let seen = &reports[0].observations;
            assert_eq!((&*seen[0].stdout, &seen[0].outcome), ("it's here\n", &Outcome::Exit(0)));
            assert_eq!((&*seen[1].stderr, &seen[1].outcome), ("no-such-program: not found\n", &Outcome::Exit(127)));
            assert_eq!(seen[0].at, archive.at);
            assert!(reports[1].observations[0].stdout.starts_with("/proc/sys/kernel/osrelease:"));
            // Line ends of another system, on the way.
            let text = String::from_utf8(bytes).expect("text").replace('\n', "\r\n");
            assert_eq!(Archive::parse(text.as_bytes()).expect("an archive"), archive);
        }
    }

    /// By standard output too, also where the script itself comes by standard input; and nothing is left behind.
    #[test]
    fn a_hyphen_means_standard_output() {
        let text = script("1.2.3", NONCE, &[], LINUX);
        let mut shells = 0;
        for words in [vec!["/bin/sh"], vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"]] {
            let folder = tempfile::tempdir().expect("a folder");
            let collector = folder.path().join("collector.sh");
            std::fs::write(&collector, &text).expect("written");
            let shell = |given: &[&str]| {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).args(given).current_dir(folder.path()).env("TMPDIR", folder.path());
                command.stdin(std::fs::File::open(&collector).expect("the script")).output()
            };
            let Ok(named) = shell(&["collector.sh", "-"]) else { continue };
            shells += 1;
            for output in [named, shell(&["-s", "--", "-"]).expect("as before")] {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && said.contains("offline:FILE"), "{words:?}: {said}");
                let archive = Archive::parse(&output.stdout).expect("an archive");
                assert!(archive.is_whole && archive.sections.len() == 3, "{words:?}");
            }
            assert_eq!(
                std::fs::read_dir(folder.path()).expect("there").count(),
                1,
                "{words:?}: only the script is there"
            );
            let into_a_file = shell(&["collector.sh"]).expect("as before");
            let said = String::from_utf8_lossy(&into_a_file.stderr);
            assert!(
                into_a_file.stdout.is_empty() && said.contains("for that: sh collector.sh - > FILE"),
                "{words:?}: {said}"
            );
        }
        assert!(shells > 0);
    }

    #[test]
    fn a_file_that_ends_early_gives_what_is_in_it_or_says_why_not() {
        let bytes = saved().remove(0);
        for length in 0..bytes.len() {
            match Archive::parse(&bytes[..length]) {
                Ok(archive) => {
                    assert!(!archive.is_whole, "{length}");
                    archive.reports(&TargetId::new("x"), LINUX);
                }
                Err(
                    ArchiveError::Nothing
                    | ArchiveError::Foreign
                    | ArchiveError::Header(_)
                    | ArchiveError::Empty
                    | ArchiveError::Format(_),
                ) => {}
                Err(error) => panic!("{length}: {error}"),
            }
        }
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let of = |bytes: &[u8]| Archive::parse(bytes).expect_err("no archive");
        assert_eq!(of(b""), ArchiveError::Nothing);
        assert_eq!(of(b"hello\n"), ArchiveError::Foreign);
        assert_eq!(of(b"#!/bin/sh\necho Collector of rdmascope\n"), ArchiveError::Foreign);
        assert_eq!(of(script("1", NONCE, &[], LINUX).as_bytes()), ArchiveError::Script);
        assert_eq!(of(b"\x1f\x8b\x08\0"), ArchiveError::Compressed("gzip"));
        assert_eq!(of(b"@rdmascope-archive 2\n\n"), ArchiveError::Format(Text::new("2")));
        assert!(matches!(of(b"@rdmascope-archive 1\nsystem: esxi\n\n"), ArchiveError::Header(_)));
        let header = "@rdmascope-archive 1\nsystem: esxi\ndate: 2026-01-02T03:04:05Z\nnonce: ab\nsource: a\n\n";
        assert_eq!(of(header.as_bytes()), ArchiveError::Empty);
        assert!(matches!(of(header.replace("ab", "$(x)").as_bytes()), ArchiveError::Header(_)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_it(rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let header = b"@rdmascope-archive 1\nsystem: esxi\ndate: 2026-01-02T03:04:05Z\nnonce: ab\nsource: a\n\n";
            let _ = Archive::parse(&rest);
            let _ = Archive::parse(&[&header[..], &rest].concat());
        }
    }
}
