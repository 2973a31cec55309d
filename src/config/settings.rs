//! How the program looks and behaves: each setting with its value and whence it came. A value can stand in the
//! configuration file, in an environment variable or in an option of the command line; the later one in this order wins.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{Defect, quoted, suggestion};
use super::reader::{Item, Key, Reader};

/// What graphs and frames are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GlyphSet {
    /// Braille dots: eight a cell.
    #[default]
    Braille,
    /// Block elements: eight heights a cell.
    Block,
    /// Letters and signs that every terminal has.
    Ascii,
}

impl GlyphSet {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Braille, Self::Block, Self::Ascii];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Braille => "braille",
            Self::Block => "block",
            Self::Ascii => "ascii",
        }
    }
}

/// By which rule it is told what limits a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuRule {
    /// A GPU that works little while its link is full is starved by the link.
    #[default]
    Starved,
    /// The rule as it was published: a busy GPU with a busy link. It has a weakness, which is told with its verdict.
    Published,
}

impl GpuRule {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Starved, Self::Published];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starved => "default",
            Self::Published => "published",
        }
    }
}

/// How the terminal tells of an alert, beside the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertNotice {
    /// Not at all.
    #[default]
    None,
    /// With its bell.
    Bell,
    /// With a notification of the desktop, by OSC 9, where the terminal knows that.
    Osc9,
}

impl AlertNotice {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Bell, Self::Osc9];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bell => "bell",
            Self::Osc9 => "osc9",
        }
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whence {
    /// Nobody set it.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// An environment variable of this name.
    Environment(&'static str),
    /// An option of the command line, `--theme`.
    Option(&'static str),
}

impl fmt::Display for Whence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { path, line } => write!(formatter, "{path}:{line}"),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Option(name) => write!(formatter, "option {name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// Where it came from.
    pub whence: Whence,
}

impl<T> Setting<T> {
    fn unset(value: T) -> Self {
        Self { value, whence: Whence::Default }
    }
}

/// A value that was given somewhere, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(u64),
}

impl fmt::Display for Given {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
        }
    }
}

/// The names of the settings, in files and documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Colours and signs.
    Theme,
    /// Keys.
    Keymap,
    /// What graphs are drawn with.
    Glyphs,
    /// Draw less often.
    LowBandwidth,
    /// No frames, no graphs: for screen readers and logs.
    Plain,
    /// Whether clicks and the wheel go to the console.
    Mouse,
    /// Milliseconds between two samples of a stream.
    PeriodMs,
    /// Days for which healthy snapshots are kept; 0 for none.
    HealthyDays,
    /// By which rule it is told what limits a GPU.
    GpuRule,
    /// How the terminal tells of an alert.
    AlertNotice,
    /// The file that stands for OpenSSH's own configuration.
    SshConfig,
}

impl Name {
    /// All of them, in the order of documents.
    pub const ALL: [Self; 11] = [
        Self::Theme,
        Self::Keymap,
        Self::Glyphs,
        Self::LowBandwidth,
        Self::Plain,
        Self::Mouse,
        Self::PeriodMs,
        Self::HealthyDays,
        Self::GpuRule,
        Self::AlertNotice,
        Self::SshConfig,
    ];

    /// The key in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Keymap => "keymap",
            Self::Glyphs => "glyphs",
            Self::LowBandwidth => "low_bandwidth",
            Self::Plain => "plain",
            Self::Mouse => "mouse",
            Self::PeriodMs => "period_ms",
            Self::HealthyDays => "healthy_days",
            Self::GpuRule => "gpu_rule",
            Self::AlertNotice => "alert_notice",
            Self::SshConfig => "ssh_config",
        }
    }

    /// The environment variable that sets it.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Theme => "RDMASCOPE_THEME",
            Self::Keymap => "RDMASCOPE_KEYMAP",
            Self::Glyphs => "RDMASCOPE_GLYPHS",
            Self::LowBandwidth => "RDMASCOPE_LOW_BANDWIDTH",
            Self::Plain => "RDMASCOPE_PLAIN",
            Self::Mouse => "RDMASCOPE_MOUSE",
            Self::PeriodMs => "RDMASCOPE_PERIOD_MS",
            Self::HealthyDays => "RDMASCOPE_HEALTHY_DAYS",
            Self::GpuRule => "RDMASCOPE_GPU_RULE",
            Self::AlertNotice => "RDMASCOPE_ALERT_NOTICE",
            Self::SshConfig => "RDMASCOPE_SSH_CONFIG",
        }
    }
}

/// Fewest and most milliseconds between two samples.
pub const PERIOD_MS: std::ops::RangeInclusive<u32> = 200..=60_000;

/// Fewest and most days for which healthy snapshots are kept.
pub const HEALTHY_DAYS: std::ops::RangeInclusive<u32> = 0..=365;

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the theme; whether there is one of this name is known to whoever reads the themes.
    pub theme: Setting<String>,
    /// Name of the key map; whether there is one of this name is known to whoever reads the key maps.
    pub keymap: Setting<String>,
    /// What graphs and frames are drawn with.
    pub glyphs: Setting<GlyphSet>,
    /// True for few frames and small ones: slow links.
    pub low_bandwidth: Setting<bool>,
    /// True for text without frames and graphs.
    pub plain: Setting<bool>,
    /// True if clicks and the wheel go to the console, not to the terminal's own selection.
    pub mouse: Setting<bool>,
    /// Milliseconds between two samples of a stream, within [`PERIOD_MS`].
    pub period_ms: Setting<u32>,
    /// Days for which the console keeps the snapshots that it makes while nothing is wrong, within [`HEALTHY_DAYS`]; 0 if
    /// it makes none.
    pub healthy_days: Setting<u32>,
    /// By which rule it is told what limits a GPU.
    pub gpu_rule: Setting<GpuRule>,
    /// How the terminal tells of an alert.
    pub alert_notice: Setting<AlertNotice>,
    /// The file that is read in place of OpenSSH's own configuration, as `ssh -F` does. A relative path of a
    /// configuration file is made complete with that file's folder.
    pub ssh_config: Setting<Option<PathBuf>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Setting::unset("default".to_owned()),
            keymap: Setting::unset("default".to_owned()),
            glyphs: Setting::unset(GlyphSet::Braille),
            low_bandwidth: Setting::unset(false),
            plain: Setting::unset(false),
            mouse: Setting::unset(false),
            period_ms: Setting::unset(1000),
            healthy_days: Setting::unset(14),
            gpu_rule: Setting::unset(GpuRule::default()),
            alert_notice: Setting::unset(AlertNotice::default()),
            ssh_config: Setting::unset(None),
        }
    }
}

impl Settings {
    /// Sets one value; the error says what would be right.
    pub fn set(&mut self, name: Name, given: &Given, whence: Whence) -> Result<(), String> {
        match name {
            Name::Theme => self.theme = Setting { value: look_name("theme", given)?, whence },
            Name::Keymap => self.keymap = Setting { value: look_name("keymap", given)?, whence },
            Name::Glyphs => {
                let names = GlyphSet::ALL.map(GlyphSet::name);
                let word = one_of("glyphs", given, &names)?;
                let value = GlyphSet::ALL.into_iter().find(|glyphs| glyphs.name() == word).unwrap_or_default();
                self.glyphs = Setting { value, whence };
            }
            Name::LowBandwidth => self.low_bandwidth = Setting { value: flag("low_bandwidth", given)?, whence },
            Name::Plain => self.plain = Setting { value: flag("plain", given)?, whence },
            Name::Mouse => self.mouse = Setting { value: flag("mouse", given)?, whence },
            Name::PeriodMs => {
                let value = number("period_ms", "milliseconds", &PERIOD_MS, given)?;
                self.period_ms = Setting { value, whence };
            }
            Name::HealthyDays => {
                let value = number("healthy_days", "days", &HEALTHY_DAYS, given)?;
                self.healthy_days = Setting { value, whence };
            }
            Name::GpuRule => {
                let word = one_of("gpu_rule", given, &GpuRule::ALL.map(GpuRule::name))?;
                let value = GpuRule::ALL.into_iter().find(|rule| rule.name() == word).unwrap_or_default();
                self.gpu_rule = Setting { value, whence };
            }
            Name::AlertNotice => {
                let word = one_of("alert_notice", given, &AlertNotice::ALL.map(AlertNotice::name))?;
                let value = AlertNotice::ALL.into_iter().find(|notice| notice.name() == word).unwrap_or_default();
                self.alert_notice = Setting { value, whence };
            }
            Name::SshConfig => self.ssh_config = Setting { value: file("ssh_config", given, &whence)?, whence },
        }
        Ok(())
    }

    /// The value in force and where it came from.
    pub fn get(&self, name: Name) -> (Given, &Whence) {
        match name {
            Name::Theme => (Given::Text(self.theme.value.clone()), &self.theme.whence),
            Name::Keymap => (Given::Text(self.keymap.value.clone()), &self.keymap.whence),
            Name::Glyphs => (Given::Text(self.glyphs.value.name().to_owned()), &self.glyphs.whence),
            Name::LowBandwidth => (Given::Flag(self.low_bandwidth.value), &self.low_bandwidth.whence),
            Name::Plain => (Given::Flag(self.plain.value), &self.plain.whence),
            Name::Mouse => (Given::Flag(self.mouse.value), &self.mouse.whence),
            Name::PeriodMs => (Given::Number(u64::from(self.period_ms.value)), &self.period_ms.whence),
            Name::HealthyDays => (Given::Number(u64::from(self.healthy_days.value)), &self.healthy_days.whence),
            Name::GpuRule => (Given::Text(self.gpu_rule.value.name().to_owned()), &self.gpu_rule.whence),
            Name::AlertNotice => (Given::Text(self.alert_notice.value.name().to_owned()), &self.alert_notice.whence),
            Name::SshConfig => {
                let path = self.ssh_config.value.as_ref().map_or(String::new(), |path| path.display().to_string());
                (Given::Text(path), &self.ssh_config.whence)
            }
        }
    }

    /// Takes in environment variables; `look_up` gives the value of one, if it is set and not empty.
    pub fn take_environment(&mut self, look_up: impl Fn(&str) -> Option<String>) -> Result<(), Vec<Defect>> {
        let mut defects = Vec::new();
        for name in Name::ALL {
            let Some(text) = look_up(name.variable()) else { continue };
            let whence = Whence::Environment(name.variable());
            if let Err(what) = self.set(name, &Given::Text(text), whence) {
                defects.push(Defect::somewhere(name.variable(), what));
            }
        }
        if defects.is_empty() { Ok(()) } else { Err(defects) }
    }

    /// Reads one key of the file; false if it is no setting.
    pub(super) fn take_file(&mut self, reader: &mut Reader<'_>, path: &str, key: &Key<'_>, item: &Item<'_>) -> bool {
        let Some(name) = Name::ALL.into_iter().find(|name| name.key() == key.get_ref().as_ref()) else { return false };
        let given = match name {
            Name::Theme | Name::Keymap | Name::Glyphs | Name::GpuRule | Name::AlertNotice | Name::SshConfig => {
                reader.text(name.key(), item).map(Given::Text)
            }
            Name::LowBandwidth | Name::Plain | Name::Mouse => reader.flag(name.key(), item).map(Given::Flag),
            Name::PeriodMs | Name::HealthyDays => reader.number(name.key(), item).map(Given::Number),
        };
        if let Some(given) = given {
            let whence = Whence::File { path: path.to_owned(), line: reader.line(key.span().start) };
            if let Err(what) = self.set(name, &given, whence) {
                reader.defect(item.span().start, what);
            }
        }
        true
    }
}

fn one_of(what: &str, given: &Given, known: &[&str]) -> Result<String, String> {
    let word = given.to_string();
    if known.contains(&word.as_str()) {
        return Ok(word);
    }
    Err(format!("unknown {what} {}{}", quoted(&word), suggestion(&word, known.iter().copied())))
}

/// The name of a theme or a key map: it is the name of a file too, so it holds nothing but letters, digits, `-` and `_`.
fn look_name(what: &str, given: &Given) -> Result<String, String> {
    let word = given.to_string();
    if is_look_name(&word) {
        return Ok(word);
    }
    Err(format!("{what} must be a name of letters, digits, - and _, not {}", quoted(&word)))
}

/// True if a theme or a key map may have this name.
pub fn is_look_name(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// What is wrong with a setting that names no theme or key map that exists: the place it was set in, and what was meant.
pub fn unknown_name(what: &str, setting: &Setting<String>, known: &[&str]) -> Defect {
    let word = &setting.value;
    let what = format!("unknown {what} {}{}", quoted(word), suggestion_and_all(word, known));
    match &setting.whence {
        Whence::File { path, line } => Defect { place: path.clone(), line: *line, what },
        Whence::Environment(name) | Whence::Option(name) => Defect::somewhere(name, what),
        Whence::Default => Defect::somewhere("default", what),
    }
}

fn suggestion_and_all(word: &str, known: &[&str]) -> String {
    let all = format!("known here: {}", known.join(", "));
    match super::error::nearest(word, known.iter().copied()) {
        Some(candidate) => format!("; did you mean {}? ({all})", quoted(candidate)),
        None => format!("; {all}"),
    }
}

fn flag(what: &str, given: &Given) -> Result<bool, String> {
    match given {
        Given::Flag(flag) => Ok(*flag),
        Given::Text(text) if matches!(text.as_str(), "true" | "yes" | "on" | "1") => Ok(true),
        Given::Text(text) if matches!(text.as_str(), "false" | "no" | "off" | "0") => Ok(false),
        other => Err(format!("{what} must be true or false, not {}", quoted(&other.to_string()))),
    }
}

/// A path; `None` for an empty text. `none` means no file at all, as for `ssh -F`.
fn file(what: &str, given: &Given, whence: &Whence) -> Result<Option<PathBuf>, String> {
    let Given::Text(text) = given else {
        return Err(format!("{what} must be the path of a file, not {}", quoted(&given.to_string())));
    };
    if text.contains('\0') {
        return Err(format!("{what} holds a character that no path can hold"));
    }
    Ok(match (text.as_str(), whence) {
        ("", _) => None,
        (word, _) if word.eq_ignore_ascii_case("none") || word.starts_with("~/") => Some(PathBuf::from(word)),
        (path, Whence::File { path: from, .. }) => {
            Some(Path::new(from).parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path)))
        }
        (path, _) => Some(PathBuf::from(path)),
    })
}

fn number(what: &str, unit: &str, range: &std::ops::RangeInclusive<u32>, given: &Given) -> Result<u32, String> {
    let number = match given {
        Given::Number(number) => u32::try_from(*number).ok(),
        Given::Text(text) => text.parse().ok(),
        Given::Flag(_) => None,
    };
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let (first, last) = (range.start(), range.end());
        format!("{what} must be a number of {unit} from {first} to {last}, not {}", quoted(&given.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_can_be_set_by_text_and_read_back() {
        let mut settings = Settings::default();
        for (name, text) in [
            (Name::Theme, "default"),
            (Name::Keymap, "default"),
            (Name::Glyphs, "ascii"),
            (Name::LowBandwidth, "true"),
            (Name::Plain, "true"),
            (Name::Mouse, "true"),
            (Name::PeriodMs, "500"),
            (Name::HealthyDays, "30"),
            (Name::GpuRule, "published"),
            (Name::AlertNotice, "osc9"),
            (Name::SshConfig, "/etc/lab/ssh_config"),
        ] {
            assert_eq!(settings.get(name).1, &Whence::Default);
            settings.set(name, &Given::Text(text.to_owned()), Whence::Option("--x")).expect("a right value");
            let (value, whence) = settings.get(name);
            assert_eq!((value.to_string().as_str(), whence), (text, &Whence::Option("--x")));
        }
    }

    #[test]
    fn wrong_values_say_what_would_be_right() {
        let mut settings = Settings::default();
        let before = settings.clone();
        for (name, text, expected) in [
            (Name::Theme, "../x", "theme must be a name of letters, digits, - and _, not \"../x\""),
            (Name::Keymap, "", "keymap must be a name of letters, digits, - and _, not \"\""),
            (Name::Glyphs, "brail", "unknown glyphs \"brail\"; did you mean \"braille\"?"),
            (Name::Glyphs, "dots", "unknown glyphs \"dots\"; known here: braille, block, ascii"),
            (Name::LowBandwidth, "maybe", "low_bandwidth must be true or false, not \"maybe\""),
            (Name::Plain, "", "plain must be true or false, not \"\""),
            (Name::PeriodMs, "5", "period_ms must be a number of milliseconds from 200 to 60000, not \"5\""),
            (Name::HealthyDays, "366", "healthy_days must be a number of days from 0 to 365, not \"366\""),
            (Name::GpuRule, "publishd", "unknown gpu_rule \"publishd\"; did you mean \"published\"?"),
            (Name::AlertNotice, "horn", "unknown alert_notice \"horn\"; known here: none, bell, osc9"),
            (Name::PeriodMs, "1s", "period_ms must be a number of milliseconds from 200 to 60000, not \"1s\""),
        ] {
            let found = settings.set(name, &Given::Text(text.to_owned()), Whence::Default);
            assert_eq!(found, Err(expected.to_owned()));
        }
        assert_eq!(settings, before, "a wrong value changes nothing");
    }

    #[test]
    fn a_path_of_a_file_belongs_to_the_folder_of_that_file() {
        let mut settings = Settings::default();
        let whence = Whence::File { path: "/etc/lab/config.toml".to_owned(), line: 3 };
        for (text, expected) in [
            ("ssh_config", Some("/etc/lab/ssh_config")),
            ("/tmp/x", Some("/tmp/x")),
            ("none", Some("none")),
            ("~/.ssh/lab", Some("~/.ssh/lab")),
            ("", None),
        ] {
            settings.set(Name::SshConfig, &Given::Text(text.to_owned()), whence.clone()).expect("a path");
            assert_eq!(settings.ssh_config.value.as_deref(), expected.map(Path::new), "{text}");
        }
        let here = Whence::File { path: "config.toml".to_owned(), line: 1 };
        settings.set(Name::SshConfig, &Given::Text("f".to_owned()), here).expect("a path");
        assert_eq!(settings.ssh_config.value.as_deref(), Some(Path::new("f")));
        settings.set(Name::SshConfig, &Given::Text("f".to_owned()), Whence::Environment("X")).expect("a path");
        assert_eq!(settings.ssh_config.value.as_deref(), Some(Path::new("f")));
        assert!(settings.set(Name::SshConfig, &Given::Number(7), Whence::Default).is_err());
    }

    #[test]
    fn a_name_that_does_not_exist_is_told_where_it_was_set() {
        let setting = |value: &str, whence| Setting { value: value.to_owned(), whence };
        let told = |setting| unknown_name("theme", &setting, &["dark", "light"]).to_string();
        let in_file = setting("drak", Whence::File { path: "c.toml".to_owned(), line: 3 });
        assert_eq!(told(in_file), "c.toml:3: unknown theme \"drak\"; did you mean \"dark\"? (known here: dark, light)");
        let option = setting("solarized", Whence::Option("--theme"));
        assert_eq!(told(option), "--theme: unknown theme \"solarized\"; known here: dark, light");
    }

    #[test]
    fn the_environment_is_told_by_its_variable() {
        let mut settings = Settings::default();
        let wrong = settings.take_environment(|name| match name {
            "RDMASCOPE_PLAIN" => Some("yes".to_owned()),
            "RDMASCOPE_GLYPHS" => Some("dots".to_owned()),
            _ => None,
        });
        assert_eq!(settings.plain, Setting { value: true, whence: Whence::Environment("RDMASCOPE_PLAIN") });
        let wrong = wrong.expect_err("one is wrong");
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].to_string().starts_with("RDMASCOPE_GLYPHS: unknown glyphs \"dots\""), "{}", wrong[0]);
    }
}
