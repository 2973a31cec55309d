//! The command line: one file a subcommand, and the exit statuses that scripts rely on.

pub mod args;
pub mod baseline;
pub mod bench;
pub mod check;
pub mod checks;
pub mod collector;
pub mod config;
mod consent;
pub mod console;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod explain;
pub mod generate;
pub mod keys;
pub mod lab;
pub mod library;
pub mod lint;
pub mod output;
pub mod plain;
pub mod replay;
pub mod snapshot;
mod text;
pub mod themes;
pub mod tune;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::config::{Configuration, Declared, Defect, Defects, Inventory, Rules, Settings, Target, Whence, target};
use crate::diagnose::check::{AcceptedFinding, SiteSays, Thresholds};
use crate::diagnose::join::cables;
use crate::engine::openssh::HostResolver;
use crate::engine::{rules, settings};
use crate::fabric::Text;
use crate::fabric::text::clean_line;
use crate::tui::library::Library;

use args::{Arguments, Command, ConfigCommand, Global};

/// So many mistakes are told at once; nobody reads more.
const MOST_DEFECTS: usize = 20;

/// How a command ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, nothing at or above the threshold.
    Done,
    /// 1: findings.
    Findings,
    /// 3: evidence incomplete: a target unreachable, a probe failed.
    Incomplete,
    /// 128 and the number of the signal that ended it.
    Signal(u8),
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// 2: wrong usage or configuration, in the user's words.
    Usage(Vec<Defect>),
    /// The console cannot have a terminal: what is wrong with it, and the exit status.
    Terminal(String, u8),
    /// 2: what there is to say cannot be written: why.
    Output(String),
    /// Something that should not happen; told with its trace.
    Internal(color_eyre::Report),
}

impl From<Defects> for Failure {
    fn from(defects: Defects) -> Self {
        Self::Usage(defects.0)
    }
}

impl From<Defect> for Failure {
    fn from(defect: Defect) -> Self {
        Self::Usage(vec![defect])
    }
}

/// What a command that works on targets is given.
#[derive(Clone, Debug)]
pub struct Session {
    /// Options of the command line.
    pub global: Global,
    /// Settings in force.
    pub settings: Settings,
    /// All targets that the configuration lists.
    pub inventory: Inventory,
    /// What the configuration says about the checks.
    pub rules: Rules,
    /// What it declares of what only vCenter knows.
    pub declared: Declared,
    /// The program that is told of alerts, with its arguments; empty for none.
    pub alert_hook: Vec<String>,
    /// The numbers that it sets for them.
    pub thresholds: Thresholds,
    /// The words that chose them.
    pub words: Vec<String>,
    /// The targets that were chosen, at least one, each name once.
    pub targets: Vec<Target>,
    /// The themes and key maps that there are; those that the settings name are among them.
    pub library: Library,
}

impl Session {
    /// Reads the configuration and finds the targets that `words` mean.
    pub fn open(global: &Global, words: &[String]) -> Result<Self, Failure> {
        let loaded = settings::load(global.config.as_deref())?;
        let Configuration { mut settings, inventory, rules, declared, alert_hook } = loaded.configuration;
        let mut defects = global.overlay(&mut settings).err().unwrap_or_default();
        let thresholds = rules::thresholds(&rules).unwrap_or_else(|wrong| {
            defects.extend(wrong);
            Thresholds::default()
        });
        if let Some(path) = openssh_file(global, &settings) {
            defects.extend(settings::ssh_config_defect(&path, &said_by(&settings.ssh_config.whence)));
        }
        let library = library::load(global);
        defects.extend(library::unknown(&settings, &library));
        let targets = target::choose(words, &inventory).unwrap_or_else(|wrong| {
            defects.extend(wrong);
            Vec::new()
        });
        if !defects.is_empty() {
            return Err(Failure::Usage(defects));
        }
        let words = words.to_vec();
        Ok(Self {
            global: global.clone(),
            settings,
            inventory,
            rules,
            declared,
            alert_hook,
            thresholds,
            words,
            targets,
            library,
        })
    }

    /// What the configuration says for the checks.
    pub fn site(&self) -> SiteSays {
        let (thresholds, declared) = (self.thresholds.clone(), self.declared.clone());
        let accepted = self.rules.suppressions.iter().map(|one| AcceptedFinding {
            check: Text::new(&one.check),
            target: one.target.as_deref().map(Text::new),
            expires: one.expires,
        });
        SiteSays {
            thresholds,
            declared,
            cables: cables(&self.inventory),
            accepted: accepted.collect(),
            gpu_rule: self.settings.gpu_rule.value,
        }
    }

    /// Time between two samples.
    pub fn period(&self) -> Duration {
        Duration::from_millis(u64::from(self.settings.period_ms.value))
    }

    /// What the header calls the inventory: the name of its file without the ending, where one was given.
    pub fn inventory_name(&self) -> String {
        let stem = self.global.config.as_ref().and_then(|path| path.file_stem());
        stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Asks OpenSSH about hosts, with the file of `--ssh-config` or of the setting.
    pub fn resolver(&self) -> HostResolver {
        HostResolver::new(openssh_file(&self.global, &self.settings))
    }
}

/// The file that stands for OpenSSH's configuration. The option is taken as it is: a path need not be text.
fn openssh_file(global: &Global, settings: &Settings) -> Option<PathBuf> {
    global.ssh_config.clone().or_else(|| settings::ssh_config(settings))
}

/// The place of a setting, as an error about it names it.
fn said_by(whence: &Whence) -> String {
    match whence {
        Whence::Option(name) | Whence::Environment(name) => (*name).to_owned(),
        other => other.to_string(),
    }
}

/// Runs the program with the words of its command line.
pub fn run() -> ExitCode {
    install_reports();
    let arguments = match args::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => {
            // What is wrong may quote a word of the command line, which a terminal must not obey.
            let is_clean = |word: std::ffi::OsString| word.to_str().is_some_and(|word| clean_line(word) == word);
            if error.use_stderr() && !std::env::args_os().all(is_clean) {
                let cleaned = std::env::args_os().map(|word| clean_line(&word.to_string_lossy()).into());
                match args::parse(cleaned) {
                    Err(error) if error.use_stderr() => drop(error.print()),
                    _ => output::complain_lines(error.render().to_string().trim_end()),
                }
            } else {
                // Help and version go to standard output, everything else to standard error.
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match dispatch(&arguments) {
        Ok(Exit::Done) => ExitCode::from(0),
        Ok(Exit::Findings) => ExitCode::from(1),
        Ok(Exit::Incomplete) => ExitCode::from(3),
        Ok(Exit::Signal(status)) => ExitCode::from(status),
        Err(Failure::Terminal(what, status)) => {
            output::complain(&format!("rdmascope: {what}"));
            ExitCode::from(status)
        }
        Err(Failure::Output(what)) => {
            output::complain(&format!("rdmascope: {what}"));
            ExitCode::from(2)
        }
        Err(Failure::Usage(defects)) => {
            for defect in defects.iter().take(MOST_DEFECTS) {
                output::complain(&format!("rdmascope: {defect}"));
            }
            if let Some(more) = defects.len().checked_sub(MOST_DEFECTS).filter(|more| *more > 0) {
                output::complain(&format!("rdmascope: and {more} more"));
            }
            ExitCode::from(2)
        }
        Err(Failure::Internal(report)) => {
            output::complain_lines(&format!("rdmascope: internal error: {report:?}"));
            ExitCode::from(70)
        }
    }
}

/// Reports of errors and panics: without colours where nobody sees them, and without anything of the environment.
fn install_reports() {
    use color_eyre::config::{HookBuilder, Theme};
    let theme = if std::io::stderr().is_terminal() { Theme::dark() } else { Theme::new() };
    // A second installation (a test that calls this twice) changes nothing.
    let _ = HookBuilder::default().theme(theme).display_env_section(false).install();
}

fn dispatch(arguments: &Arguments) -> Result<Exit, Failure> {
    let global = &arguments.global;
    match &arguments.command {
        None => console::run(&Session::open(global, &arguments.targets)?),
        Some(Command::Demo(demo)) => demo::run(global, demo),
        Some(Command::Snapshot(snapshot)) => snapshot::run(global, snapshot),
        Some(Command::Check(check)) => check::run(global, check),
        Some(Command::Checks) => checks::run(global),
        Some(Command::Diff(diff)) => diff::run(global, diff),
        Some(Command::Baseline { command }) => baseline::run(global, command),
        Some(Command::Lint(lint)) => lint::run(global, lint),
        Some(Command::Bench(bench)) => bench::run(global, bench),
        Some(Command::Replay { file }) => replay::run(global, file),
        Some(Command::Collector) => collector::run(),
        Some(Command::Explain { files }) => explain::run(global, files),
        Some(Command::Doctor) => doctor::run(global),
        Some(Command::Config { command: ConfigCommand::Init }) => config::init(global),
        Some(Command::Config { command: ConfigCommand::Show }) => config::show(global),
        Some(Command::Config { command: ConfigCommand::Path }) => config::path(global),
        Some(Command::Tune(tune)) => tune::run(global, tune),
        Some(Command::Keys) => keys::run(global),
        Some(Command::Themes) => themes::run(global),
        Some(Command::Completions { shell }) => generate::completions(*shell),
        Some(Command::Man) => generate::manual(),
    }
}
