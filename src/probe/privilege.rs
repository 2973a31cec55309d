//! Commands that tell more to root, and how an unprivileged login runs them by `sudo`. Pure: what is asked of the login
//! first, which command becomes which, by which words a refusal is known, and the lines of sudoers that would allow it.
//!
//! Only commands of [`Read::Privileged`] are ever run by `sudo`, always as `sudo -n -- /full/path arguments`: sudo never
//! asks for anything there (`-n`), and rules of sudoers name full paths. Files are never read by it.

use std::collections::BTreeMap;

use super::dialect::posix::{MORE_PATH, quote};
use super::{Read, Word};
use crate::fabric::Text;

/// How the commands that tell more to root are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Become {
    /// As the login is.
    #[default]
    None,
    /// As root, by `sudo -n`.
    Sudo,
}

impl Become {
    /// All ways.
    pub const ALL: [Self; 2] = [Self::None, Self::Sudo];

    /// The name in files and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sudo => "sudo",
        }
    }
}

/// What a command needs to tell everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `CAP_NET_ADMIN`: the kernel hides the queue pairs of others without it.
    NetAdmin,
    /// `CAP_SYSLOG`, unless `kernel.dmesg_restrict` is off.
    KernelLog,
}

/// Bits of capabilities in a mask.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const SYSLOG: u64 = 1 << 34;

/// The probe under which it is told what `sudo` allows. It stands in no list: it is made from how the others were read.
pub const PROBE: &str = "linux.privilege";

/// How commands that are run by `sudo` begin, as they are shown.
const SHOWN: &str = "sudo -n -- ";

/// Begins the lines of an answer to [`login_script`].
const MARK: &str = "@rdmascope:login";

/// A script for `sh` that tells who the login is, what it may do, and where the programs lie.
pub fn login_script() -> String {
    format!(
        "{{\nLC_ALL=C; export LC_ALL\nPATH=\"${{PATH:-/usr/bin:/bin}}:{MORE_PATH}\"; export PATH\n\
         _l() {{ printf '\\n%s %s\\n' {} \"$1\"; }}\n\
         _l \"uid $(id -u </dev/null 2>/dev/null)\"\n_l \"user $(id -un </dev/null 2>/dev/null)\"\n\
         _r=; {{ read -r _r </proc/sys/kernel/dmesg_restrict; }} 2>/dev/null\n_l \"restricted $_r\"\n\
         _c=; {{ while read -r _a _b; do case $_a in CapEff:) _c=$_b;; esac; done </proc/self/status; }} 2>/dev/null\n\
         _l \"capabilities $_c\"\n\
         for _p in sudo{}; do _l \"path $_p $(command -v \"$_p\" 2>/dev/null)\"; done\n_l end\nexit 0\n}}\n",
        quote(MARK),
        programs().fold(String::new(), |words, program| words + " " + &quote(program)),
    )
}

/// What a person would type to see the same as [`login_script`] asks.
pub const LOGIN_SHOWN: &str =
    "id -u; id -un; cat /proc/sys/kernel/dmesg_restrict; grep CapEff /proc/self/status; command -v sudo rdma dmesg";

/// An answer to [`login_script`] without its marks.
pub fn login_said(answer: &str) -> String {
    let lines = answer.lines().filter(|line| !line.trim().is_empty() && *line != format!("{MARK} end"));
    lines.flat_map(|line| [line.strip_prefix(MARK).map_or(line, str::trim_start), "\n"]).collect()
}

/// The programs that privileged commands of this version start.
fn programs() -> impl Iterator<Item = &'static str> {
    ["rdma", "dmesg"].into_iter()
}

/// Who the login on a target is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// Its name.
    pub user: String,
    is_root: bool,
    capabilities: u64,
    log_is_open: bool,
    paths: BTreeMap<String, String>,
}

impl Login {
    /// Reads the answer to [`login_script`]; `None` if it is none, or was cut off.
    pub fn parse(answer: &str) -> Option<Self> {
        let mut login = Self::default();
        let (mut uid, mut whole) = (None, false);
        for line in answer.lines().filter_map(|line| line.strip_prefix(MARK)?.strip_prefix(' ')) {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "uid" => uid = value.parse::<u32>().ok(),
                "user" => value.clone_into(&mut login.user),
                "restricted" => login.log_is_open = value == "0",
                "capabilities" => login.capabilities = u64::from_str_radix(value, 16).unwrap_or(0),
                "path" => {
                    if let Some((program, path)) = value.split_once(' ').filter(|(_, path)| path.starts_with('/')) {
                        login.paths.insert(program.to_owned(), path.to_owned());
                    }
                }
                "end" => whole = true,
                _ => {}
            }
        }
        login.is_root = uid? == 0;
        (whole && !login.user.is_empty()).then_some(login)
    }

    /// True if the login lacks what a command needs.
    pub fn lacks(&self, needs: Needs) -> bool {
        let has = |bits: u64| self.capabilities & bits != 0;
        !self.is_root
            && !match needs {
                Needs::NetAdmin => has(NET_ADMIN),
                Needs::KernelLog => self.log_is_open || has(SYSLOG | SYS_ADMIN),
            }
    }

    /// Where a program lies.
    pub fn path(&self, program: &str) -> Option<&str> {
        self.paths.get(program).map(String::as_str)
    }
}

/// A command that is run by `sudo`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByRoot {
    /// Full path of the program on the target.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<&'static str>,
}

impl ByRoot {
    /// The command with the program at `path`; `None` for one with patterns, which only the target could expand.
    pub fn new(path: &str, argv: &[Word]) -> Option<Self> {
        let arguments = argv.iter().skip(1).map(|word| match word {
            Word::Plain(text) => Some(*text),
            Word::Glob(_) | Word::Item(..) => None,
        });
        Some(Self { path: path.to_owned(), arguments: arguments.collect::<Option<_>>()? })
    }

    /// The words to start, `sudo` first.
    pub fn words(&self) -> Vec<&str> {
        ["sudo", "-n", "--", &self.path].into_iter().chain(self.arguments.iter().copied()).collect()
    }

    /// The command as it is run.
    pub fn shown(&self) -> String {
        shown(&self.path, &self.arguments.join(" "))
    }

    /// The command as it would be typed without `sudo`.
    pub fn plain(&self) -> String {
        let program = self.path.rsplit('/').next().unwrap_or(&self.path);
        std::iter::once(program).chain(self.arguments.iter().copied()).collect::<Vec<_>>().join(" ")
    }

    /// The command as sudoers names it. Without arguments it says so: otherwise sudo would allow any.
    fn rule(&self) -> String {
        let escaped = |text: &str| {
            text.chars().fold(String::new(), |mut escaped, character| {
                if matches!(character, ',' | ':' | '=' | '\\' | ' ' | '*' | '?' | '[' | ']' | '!') {
                    escaped.push('\\');
                }
                escaped.push(character);
                escaped
            })
        };
        let arguments: Vec<String> = self.arguments.iter().map(|argument| escaped(argument)).collect();
        let arguments = if arguments.is_empty() { "\"\"".to_owned() } else { arguments.join(" ") };
        format!("{} {arguments}", escaped(&self.path))
    }
}

/// The command of `path` and its arguments as it is run by `sudo`.
pub fn shown(path: &str, arguments: &str) -> String {
    format!("{SHOWN}{path} {arguments}").trim_end().to_owned()
}

/// True if a shown command was run by `sudo`.
pub fn was_by_root(command: &str) -> bool {
    command.starts_with(SHOWN)
}

/// The same for what a source reads: the command as it is run, with what is kept of its lines.
pub fn shown_read(read: &Read, command: &ByRoot) -> String {
    match read {
        Read::Privileged { keep, .. } => {
            format!("{}{}", command.shown(), keep.map_or(String::new(), |keep| keep.shown()))
        }
        other => other.shown(),
    }
}

/// Warnings of `sudo` after which it runs the command all the same.
const HARMLESS: [&str; 3] = ["unable to resolve host", "setrlimit", "ignoring "];

/// True for a line that `sudo` (or sudo-rs) said, not the command.
fn is_of_sudo(line: &str) -> bool {
    ["sudo: ", "sudo-rs: ", "Sorry, user "].iter().any(|begins| line.starts_with(begins))
        || ["is not in the sudoers file", "is not allowed to run sudo", "may not run sudo"]
            .iter()
            .any(|words| line.contains(words))
}

/// Why `sudo` refused a command, by what came of it; `None` if it ran the command. A refusal has status 1 and no output.
pub fn refusal(status: i32, stdout: &str, stderr: &str) -> Option<Text> {
    if status != 1 || !stdout.trim().is_empty() {
        return None;
    }
    let said = |line: &&str| is_of_sudo(line) && !HARMLESS.iter().any(|words| line.contains(words));
    stderr.lines().map(str::trim).find(said).map(Text::new)
}

/// The words of a command without those of `sudo` itself.
pub fn without_warnings(stderr: &str) -> String {
    stderr.lines().filter(|line| !is_of_sudo(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The line of sudoers that allows `commands` to `user`, and nothing else.
pub fn sudoers<'c>(user: &str, commands: impl IntoIterator<Item = &'c ByRoot>) -> String {
    let rules: Vec<String> = commands.into_iter().map(ByRoot::rule).collect();
    format!("{} ALL=(root) NOPASSWD: {}", name_in_sudoers(user), rules.join(", "))
}

/// What else sudoers needs where `sudo` said this: a command of ours has no terminal.
pub fn sudoers_default(user: &str, why: &str) -> Option<String> {
    why.contains("tty").then(|| format!("Defaults:{} !requiretty", name_in_sudoers(user)))
}

fn name_in_sudoers(user: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '$');
    if user.chars().all(plain) {
        return user.to_owned();
    }
    user.chars().fold(String::new(), |mut name, character| {
        if !plain(character) && !character.is_alphanumeric() {
            name.push('\\');
        }
        name.push(character);
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "welcome\n\n@rdmascope:login uid 1000\n\n@rdmascope:login user lab\n\n\
        @rdmascope:login restricted 1\n\n@rdmascope:login capabilities 0000000000000000\n\n\
        @rdmascope:login path sudo /usr/bin/sudo\n\n@rdmascope:login path rdma /usr/sbin/rdma\n\n\
        @rdmascope:login path dmesg \n\n@rdmascope:login end\n";

    #[test]
    fn a_login_is_read_and_what_is_cut_off_is_none() {
        let login = Login::parse(ANSWER).expect("an answer");
        assert_eq!(login.user, "lab");
        assert_eq!((login.path("rdma"), login.path("dmesg")), (Some("/usr/sbin/rdma"), None));
        assert!(login.lacks(Needs::NetAdmin) && login.lacks(Needs::KernelLog));
        assert_eq!(Login::parse(&ANSWER.replace("login end", "")), None);
        assert_eq!(Login::parse(&ANSWER.replace("uid 1000", "uid ")), None);
        assert_eq!(Login::parse(""), None);
    }

    #[test]
    fn only_what_a_login_lacks_is_asked_of_sudo() {
        let login = |from: &str, to: &str| Login::parse(&ANSWER.replace(from, to)).expect("an answer");
        let lacks = |login: Login| (login.lacks(Needs::NetAdmin), login.lacks(Needs::KernelLog));
        assert_eq!(lacks(login("uid 1000", "uid 0")), (false, false), "root needs no sudo");
        assert_eq!(lacks(login("restricted 1", "restricted 0")), (true, false));
        assert_eq!(lacks(login("0000000000000000", "0000000000001000")), (false, true));
        assert_eq!(lacks(login("0000000000000000", "0000000400000000")), (true, false));
    }

    #[test]
    fn refusals_are_known_by_their_words_and_answers_are_not_taken_for_them() {
        for said in [
            "sudo: a password is required",
            "Sorry, user lab is not allowed to execute '/usr/sbin/rdma -j res show qp' as root on softroce1.",
            "sudo: no tty present and no askpass program specified",
            "sudo: sorry, you must have a tty to run sudo",
            "lab is not in the sudoers file.  This incident will be reported.",
            "sudo: /etc/sudoers is world writable",
            "sudo: I'm sorry lab. I'm afraid I can't do that",
            "sudo: interactive authentication is required",
        ] {
            assert_eq!(refusal(1, "", &format!("{said}\n")), Some(Text::new(said)));
            let warned = format!("sudo: unable to resolve host gpu-vm-01: Name or service not known\n{said}\n");
            assert_eq!(refusal(1, "\n", &warned), Some(Text::new(said)));
            assert_eq!(refusal(0, "", &format!("{said}\n")), None, "it ran");
            assert_eq!(refusal(1, "[]", &format!("{said}\n")), None, "it gave something");
        }
        let warning = "sudo: unable to resolve host gpu-vm-01: Name or service not known\n";
        assert_eq!(refusal(1, "", warning), None);
        assert_eq!(refusal(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n"), None);
        assert_eq!(without_warnings(&format!("{warning}dmesg: no\n")), "dmesg: no\n");
    }

    #[test]
    fn the_line_of_sudoers_allows_exactly_what_is_run() {
        let word = Word::Plain;
        let pairs = [word("rdma"), word("-j"), word("res"), word("show"), word("qp")];
        let pairs = ByRoot::new("/usr/sbin/rdma", &pairs).expect("no pattern");
        let log = ByRoot::new("/usr/bin/dmesg", &[word("dmesg")]).expect("no pattern");
        assert_eq!(
            sudoers("lab", [&pairs, &log]),
            "lab ALL=(root) NOPASSWD: /usr/sbin/rdma -j res show qp, /usr/bin/dmesg \"\""
        );
        assert_eq!(pairs.words().join(" "), "sudo -n -- /usr/sbin/rdma -j res show qp");
        assert_eq!(pairs.shown(), "sudo -n -- /usr/sbin/rdma -j res show qp");
        assert_eq!(log.shown(), "sudo -n -- /usr/bin/dmesg");
        assert!(was_by_root(&log.shown()) && !was_by_root("dmesg"));
        assert_eq!(ByRoot::new("/bin/stat", &[word("stat"), Word::Glob("/sys/*")]), None);
        let odd = ByRoot::new("/opt/a b/x", &[word("x"), word("a,b=*")]).expect("no pattern");
        assert_eq!(sudoers("CORP\\jo do", [&odd]), "CORP\\\\jo\\ do ALL=(root) NOPASSWD: /opt/a\\ b/x a\\,b\\=\\*");
        let why = "sudo: sorry, you must have a tty to run sudo";
        assert_eq!(sudoers_default("lab", why).as_deref(), Some("Defaults:lab !requiretty"));
        assert_eq!(sudoers_default("lab", "sudo: a password is required"), None);
    }
}
