//! What can be said on the command line. What belongs to a command and stands in the wrong place is refused by name, so that
//! nobody waits for a host called `demo`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use super::text::wrap;
use crate::config::settings::{Given, Name};
use crate::config::{Defect, Settings, Whence};
use crate::diagnose::explain::KNOWN;

/// The command line.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "rdmascope",
    version,
    about = "A terminal console for RDMA and GPU passthrough in virtual machines on VMware vSphere",
    long_about = "A terminal console for RDMA and GPU passthrough in virtual machines on VMware vSphere.\n\n\
                  Without a command it opens the console on the given targets, or on all targets of the inventory.",
    after_help = TARGET_HELP,
    override_usage = "rdmascope [OPTIONS] [TARGET]...\n       rdmascope [OPTIONS] <COMMAND>",
    disable_help_subcommand = true
)]
pub struct Arguments {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do; the console if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Targets to open; without one, all of the inventory.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
}

const TARGET_HELP: &str = "\
TARGET is a name of the inventory, an OpenSSH alias, user@host[:port], `local` for this machine, or
`offline:FILE` for what the script of `collector` or `snapshot --format json --out FILE` saved;
of a snapshot of several targets `offline:FILE#NAME` is one.
A target that is named like a command is given after `--`: rdmascope -- doctor

Exit status: 0 done; 1 findings, of `check` and `lint` from --fail-on on (failures and errors, unless
said otherwise) and of `doctor`, or differences of `diff`; 2 wrong usage or configuration, or an
output that cannot be written; 3 evidence incomplete and nothing found. `explain` ends with 0 whatever it finds, and with 3 if it does not know an input or could not read all of it";

const COLLECTOR_HELP: &str = "\
From here to there and back:
  rdmascope collector > collect.sh
  sh collect.sh esx01.txt      on the machine, as root; without a name it makes one and tells it
  sh collect.sh - > esx01.txt  the same by standard output
  rdmascope offline:esx01.txt  here";

const BASELINE_HELP: &str = "\
Exit status of `compare`: 0 nothing got worse; 1 something did, beyond the noise; 2 wrong usage; 3 not all could be
compared, and nothing got worse";

/// What `explain` knows.
static EXPLAIN_HELP: LazyLock<String> = LazyLock::new(|| {
    let known = wrap(&format!("Known are: {KNOWN}. Several may stand in one text."), 96);
    let known = known.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    format!(
        "{known}\n\nExit status: 0 done, whatever was found; 2 wrong usage; 3 an input is of no kind that is known,\n\
         or not all of it was read"
    )
});

/// Options that every command takes.
#[derive(Clone, Debug, Default, Args)]
pub struct Global {
    /// Read settings and inventory from this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read this file in place of OpenSSH's own configuration, as `ssh -F` does.
    #[arg(long, global = true, value_name = "FILE")]
    pub ssh_config: Option<PathBuf>,
    /// Allow commands that change something on a target; each still asks.
    #[arg(long, global = true)]
    pub allow_changes: bool,
    /// Colours and signs.
    #[arg(long, global = true, value_name = "NAME")]
    pub theme: Option<String>,
    /// Keys.
    #[arg(long, global = true, value_name = "NAME")]
    pub keymap: Option<String>,
    /// What graphs are drawn with: braille, block or ascii.
    #[arg(long, global = true, value_name = "GLYPHS")]
    pub glyphs: Option<String>,
    /// Draw less often, for slow links.
    #[arg(long, global = true)]
    pub low_bandwidth: bool,
    /// Text without frames and graphs, for screen readers and logs.
    #[arg(long, global = true)]
    pub plain: bool,
    /// How a command that prints does so.
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub format: Format,
    /// Record all that a console shows into a new file, for `replay`; only where one opens.
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

impl Global {
    /// Puts what was said on the command line over the settings.
    pub fn overlay(&self, settings: &mut Settings) -> Result<(), Vec<Defect>> {
        let text = |value: &Option<String>| value.clone().map(Given::Text);
        let flag = |value: bool| value.then_some(Given::Flag(true));
        let said = [
            (Name::Theme, text(&self.theme), "--theme"),
            (Name::Keymap, text(&self.keymap), "--keymap"),
            (Name::Glyphs, text(&self.glyphs), "--glyphs"),
            (Name::LowBandwidth, flag(self.low_bandwidth), "--low-bandwidth"),
            (Name::Plain, flag(self.plain), "--plain"),
            (
                Name::SshConfig,
                self.ssh_config.as_ref().map(|path| Given::Text(path.display().to_string())),
                "--ssh-config",
            ),
        ];
        let mut defects = Vec::new();
        for (name, given, option) in said {
            let Some(given) = given else { continue };
            if let Err(what) = settings.set(name, &given, Whence::Option(option)) {
                defects.push(Defect::somewhere(option, what));
            }
        }
        if defects.is_empty() { Ok(()) } else { Err(defects) }
    }
}

/// How a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, at 80 columns.
    #[default]
    Text,
    /// One JSON document with its schema.
    Json,
    /// SARIF 2.1.0 for code scanners; `lint` alone prints it.
    Sarif,
    /// XML for test reports, as most of their readers know it; `check` alone prints it.
    Junit,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Open the console on the embedded lab: guests that exist only here, over real SSH on this machine
    Demo(DemoArguments),
    /// Read everything once and print it
    Snapshot(SnapshotArguments),
    /// Look at all targets, say what is wrong, why, how sure that is, and what helps
    Check(CheckArguments),
    /// List the checks with their rules and thresholds
    Checks,
    /// Say which settings differ between two snapshots, or between one and now
    Diff(DiffArguments),
    /// Say what would go wrong with the configuration file of a VM, before it is powered on
    Lint(LintArguments),
    /// Say what a saved output, log, script or command line is, and what is wrong with it
    #[command(after_help = EXPLAIN_HELP.as_str())]
    Explain {
        /// What to read; `-`, or nothing where something is piped in, is standard input.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Keep measurements, and say how much later ones differ and what changed since
    #[command(after_help = BASELINE_HELP)]
    Baseline {
        /// Which of the three.
        #[command(subcommand)]
        command: BaselineCommand,
    },
    /// Propose the MPI command line and environment for given guests, and judge an existing one
    Tune(TuneArguments),
    /// Run perftest between two guests, live, and hold the result against what the way allows
    #[command(after_help = BENCH_HELP)]
    Bench(BenchArguments),
    /// Show a recording in the console, with its time in your hands
    Replay {
        /// What `--record` wrote.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print a shell script that reads a Linux system or an ESXi host into a file, for `offline:FILE`
    #[command(after_help = COLLECTOR_HELP)]
    Collector,
    /// Show what a bug report should say about this machine
    Doctor,
    /// Write, show or find the configuration
    Config {
        /// Which of the three.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// List the keys and what they do
    Keys,
    /// List the themes
    Themes,
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What `demo` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct DemoArguments {
    /// What goes wrong; without one, nothing does until you switch it
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// List the scenarios
    #[arg(long, conflicts_with_all = ["scenario", "serve", "seed"])]
    pub list: bool,
    /// Run the lab alone, print a configuration file for it, and wait for a signal
    #[arg(long)]
    pub serve: bool,
    /// What everything that is drawn is drawn from: machines, moments and values
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// What stands below the options of `bench`.
const BENCH_HELP: &str = "\
It loads the links between the two guests and is never started without a yes. Both sides end with it, whatever happens: \
with Ctrl-C, with the end of this program, and within 10 seconds of a connection that falls silent.\n\n\
Exit status: 0 the runs completed, 2 wrong usage, 3 a guest was not reached or a run failed.";

/// The seed of those who name none.
pub const DEFAULT_SEED: u64 = 1;

/// What `snapshot` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct SnapshotArguments {
    /// Targets to read; without one, all of the inventory.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Write to this file, readable by its owner only; whole or not at all.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Read the embedded lab in this scenario; targets are its machines then.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// What `check` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct CheckArguments {
    /// Targets to look at; without one, all of the inventory.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// From which findings on the exit status is 1.
    #[arg(long, value_enum, value_name = "STATUS", default_value_t = Grave::Fail)]
    pub fail_on: Grave,
    /// Look at the embedded lab in this scenario; targets are its machines then.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Say after so many seconds what can be said; what was not reached by then is named.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub within: Option<u64>,
}

/// From which findings on `check` ends with status 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Grave {
    /// What works, but not as it should, too.
    Warn,
    /// What does not work.
    #[default]
    Fail,
}

/// What `diff` takes.
#[derive(Clone, Debug, Args)]
pub struct DiffArguments {
    /// What `snapshot --format json --out FILE` wrote.
    #[arg(value_name = "FILE")]
    pub from: PathBuf,
    /// Another such file, or `now` to read the same targets now.
    #[arg(value_name = "FILE|now")]
    pub to: PathBuf,
    /// With `now`: the targets are machines of the embedded lab in this scenario.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// What `bench` takes.
#[derive(Clone, Debug, Args)]
pub struct BenchArguments {
    /// The client: writes or sends go from it, reads come to it.
    #[arg(value_name = "A")]
    pub client: String,
    /// The server.
    #[arg(value_name = "B")]
    pub server: String,
    /// Verb of the messages.
    #[arg(long, value_enum, value_name = "VERB", default_value_t = BenchVerb::Write)]
    pub verb: BenchVerb,
    /// What is measured.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = BenchKind::Bandwidth)]
    pub kind: BenchKind,
    /// Octets of a message, several with commas (each is a run of its own), or `all` for the powers of two up to 8 MiB in
    /// one run.
    #[arg(long, value_name = "OCTETS|all")]
    pub size: Option<String>,
    /// Seconds of each run; bandwidths of named sizes take 10 where nothing is said.
    #[arg(long, value_name = "SECONDS", conflicts_with = "iterations", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub duration: Option<u32>,
    /// Messages of each size instead.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(5..))]
    pub iterations: Option<u32>,
    /// Queue pairs.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub queue_pairs: u32,
    /// Both directions at once; the result is their sum.
    #[arg(long)]
    pub bidirectional: bool,
    /// Connect by `rdma_cm` instead of TCP sockets.
    #[arg(long)]
    pub cm: bool,
    /// Devices to use, of A and B with a comma between, or one name for both.
    #[arg(long, value_name = "DEVICE[,DEVICE]")]
    pub device: Option<String>,
    /// Index into the tables of GIDs on both sides, instead of that of the address.
    #[arg(long, value_name = "INDEX")]
    pub gid_index: Option<u32>,
    /// Size of RDMA packets, instead of that of the ports.
    #[arg(long, value_name = "OCTETS")]
    pub mtu: Option<u32>,
    /// Messages under way at once; perftest's own is 128.
    #[arg(long, value_name = "NUMBER")]
    pub depth: Option<u32>,
    /// Use memory of this GPU on both sides.
    #[arg(long, value_name = "NUMBER")]
    pub cuda: Option<u32>,
    /// Run all of it so often, and tell median and spread.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// Run between machines of the embedded lab in this scenario.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// Verbs of benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchVerb {
    /// RDMA Write.
    Write,
    /// RDMA Read.
    Read,
    /// Send and receive.
    Send,
}

/// What benchmarks measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchKind {
    /// How much passes in a time.
    Bandwidth,
    /// How long one message takes.
    Latency,
}

/// What `lint` takes.
#[derive(Clone, Debug, Args)]
pub struct LintArguments {
    /// VMX files, folders to look through for them, or `-` for standard input.
    #[arg(value_name = "PATH", required_unless_present = "rules")]
    pub paths: Vec<PathBuf>,
    /// Read this ESXi host now, and look at the files as this host would; with --snapshot: its name in there.
    #[arg(long, value_name = "TARGET")]
    pub host: Option<String>,
    /// The same with the facts of a host that `snapshot --format json --out FILE` wrote.
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
    /// From which findings on the exit status is 1.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// Show what would mend the files, ask, and write it; never while the VM is on.
    #[arg(long)]
    pub fix: bool,
    /// Do not ask.
    #[arg(long, requires = "fix")]
    pub yes: bool,
    /// List the rules and what each rests on.
    #[arg(long, conflicts_with_all = ["paths", "host", "snapshot", "fix"])]
    pub rules: bool,
}

/// From which findings on `lint` ends with status 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// What does not work.
    #[default]
    Error,
    /// Also what does not work as it should.
    Warning,
}

/// What to do with baselines.
#[derive(Clone, Debug, Subcommand)]
pub enum BaselineCommand {
    /// Keep a measurement under a name
    Save {
        /// The name: letters, digits, `-`, `_` and `.`.
        #[arg(value_name = "NAME")]
        name: String,
        /// The measurement: a JSON document of `rdmascope.bench/1`; `-` is standard input.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// Put it in the place of one that has the name already.
        #[arg(long)]
        replace: bool,
    },
    /// List the baselines that there are
    List,
    /// Hold a measurement, or another baseline, against a baseline
    Compare {
        /// The baseline to compare with.
        #[arg(value_name = "NAME")]
        name: String,
        /// Another baseline that was made later.
        #[arg(value_name = "OTHER", required_unless_present = "from", conflicts_with = "from")]
        other: Option<String>,
        /// The later measurement: a JSON document of `rdmascope.bench/1`; `-` is standard input.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

/// What `tune` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct TuneArguments {
    /// The guests of the job, two or more; the first one starts it.
    #[arg(value_name = "GUEST", required_unless_present = "hostfile")]
    pub guests: Vec<String>,
    /// Take the guests from an MPI file of hosts; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "guests")]
    pub hostfile: Option<PathBuf>,
    /// Judge the command line, script or environment in this file, too; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub line: Option<PathBuf>,
    /// Run two ranks of a tiny installed program with the proposed line, and with the next one if that fails.
    #[arg(long, conflicts_with = "scenario")]
    pub trial: bool,
    /// Do not ask.
    #[arg(long, requires = "trial")]
    pub yes: bool,
    /// Look at the embedded lab in this scenario; guests are its machines then.
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// What to do with the configuration.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a commented sample; never overwrites
    Init,
    /// Show what is in force, and whence
    Show,
    /// Print the path of the configuration file
    Path,
}

/// Reads the words of the command line. Help and version come as an error of their own kind, as clap has it.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let after_hyphens = words.iter().position(|word| word == "--");
    let arguments = Arguments::try_parse_from(&words)?;
    let fail = |kind: ErrorKind, what: String| Err(Arguments::command().error(kind, what));
    if arguments.global.record.is_some() && !opens_console(arguments.command.as_ref()) {
        let what = "--record FILE records a console; this command opens none that could be recorded".to_owned();
        return fail(ErrorKind::ArgumentConflict, what);
    }
    if arguments.global.format == Format::Sarif && !matches!(arguments.command, Some(Command::Lint(_))) {
        return fail(ErrorKind::ArgumentConflict, "--format sarif is printed by `lint` alone".to_owned());
    }
    if arguments.global.format == Format::Junit && !matches!(arguments.command, Some(Command::Check(_))) {
        return fail(ErrorKind::ArgumentConflict, "--format junit is printed by `check` alone".to_owned());
    }
    if arguments.command.is_some() {
        if let Some(target) = arguments.targets.first() {
            let what = format!("unexpected {target:?} before the command; targets of a command stand behind it");
            return fail(ErrorKind::ArgumentConflict, what);
        }
        return Ok(arguments);
    }
    // What stands behind `--` is meant as a target, whatever it is called.
    let meant = after_hyphens.map_or(0, |at| words.len() - at - 1);
    let doubtful = arguments.targets.len().saturating_sub(meant);
    for target in &arguments.targets[..doubtful] {
        if Arguments::command().find_subcommand(target).is_some() {
            let what = format!(
                "`{target}` is a command and stands first: rdmascope {target} (a target of this name is given after `--`)"
            );
            return fail(ErrorKind::InvalidSubcommand, what);
        }
    }
    Ok(arguments)
}

/// True for commands that open a console on targets.
fn opens_console(command: Option<&Command>) -> bool {
    match command {
        None => true,
        Some(Command::Demo(demo)) => !demo.list && !demo.serve,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(line.split(' ').map(OsString::from)).map_err(|error| error.to_string())
    }

    fn right(line: &str) -> Arguments {
        parsed(line).expect(line)
    }

    #[test]
    fn the_description_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn targets_and_commands_share_the_first_place() {
        assert_eq!(right("rdmascope local").targets, ["local"]);
        assert!(right("rdmascope").targets.is_empty());
        let two = right("rdmascope --ssh-config F softroce1 softroce2");
        assert_eq!((two.targets.len(), two.global.ssh_config), (2, Some("F".into())));
        let Some(Command::Snapshot(snapshot)) = right("rdmascope snapshot local --format json").command else {
            panic!("a snapshot")
        };
        assert_eq!(snapshot.targets, ["local"]);
        assert!(matches!(right("rdmascope --config F snapshot local").command, Some(Command::Snapshot(_))));
        assert_eq!(right("rdmascope -- doctor demo").targets, ["doctor", "demo"]);
        assert_eq!(right("rdmascope a -- doctor").targets, ["a", "doctor"]);
        let Some(Command::Snapshot(snapshot)) = right("rdmascope snapshot demo check").command else {
            panic!("a snapshot")
        };
        assert_eq!(snapshot.targets, ["demo", "check"]);
        let Some(Command::Check(check)) = right("rdmascope check esx01 vm1 --fail-on warn --format junit").command
        else {
            panic!("a check")
        };
        assert_eq!((check.targets.len(), check.fail_on), (2, Grave::Warn));
    }

    #[test]
    fn global_options_stand_anywhere() {
        for line in ["rdmascope --plain --glyphs ascii doctor", "rdmascope doctor --plain --glyphs ascii"] {
            let found = right(line);
            assert!(found.global.plain && found.global.glyphs.as_deref() == Some("ascii"), "{line}");
        }
        assert!(right("rdmascope --allow-changes local").global.allow_changes);
    }

    #[test]
    fn what_is_misplaced_is_refused_by_name() {
        for (line, expected) in [
            ("rdmascope demo --list --seed 3", "cannot be used with"),
            ("rdmascope bench a", "<B>"),
            ("rdmascope bench a b --duration 5 --iterations 9", "cannot be used with"),
            ("rdmascope check --fail-on error", "invalid value 'error'"),
            ("rdmascope diff a.json", "<FILE|now>"),
            ("rdmascope snapshot --format junit", "--format junit is printed by `check` alone"),
            ("rdmascope --record f doctor", "--record FILE records a console; this command opens none"),
            ("rdmascope replay g --record f", "--record FILE records a console; this command opens none"),
            ("rdmascope doctor --format sarif", "--format sarif is printed by `lint` alone"),
            ("rdmascope lint", "<PATH>"),
            ("rdmascope lint a.vmx --yes", "--fix"),
            ("rdmascope local doctor", "`doctor` is a command and stands first"),
            ("rdmascope doctor x", "unexpected argument 'x'"),
            ("rdmascope --colour", "unexpected argument '--colour'"),
            ("rdmascope --format xml doctor", "invalid value 'xml'"),
            ("rdmascope config", "Usage: rdmascope config"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
