//! A line as the list of wrong advice looks at it: its words, its commands, the key it assigns, the sentence it may be.

use std::cell::OnceCell;
use std::sync::LazyLock;

use crate::probe::needles::Needles;

/// What the text says in which a line stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// It speaks of PVRDMA.
    pub pvrdma: bool,
    /// Its commands run on an ESXi host.
    pub esxi: bool,
    /// It speaks of PCI passthrough.
    pub passthrough: bool,
    /// It is a whole VMX rather than some lines of a guide.
    pub whole_vmx: bool,
    /// Lines that begin with `#` are comments, not commands after a prompt of root.
    pub script: bool,
}

impl Context {
    /// What a text says, looked at as a whole; `script` is for the caller to know.
    pub fn of(text: &str) -> Self {
        let mut context = Self::of_words(WORDS.groups(text));
        context.script = text.trim_start_matches('\u{feff}').starts_with("#!");
        context
    }

    /// The same of a text in lines.
    pub fn of_lines<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let mut lines = lines.peekable();
        let script = lines.peek().is_some_and(|line| line.trim_start_matches('\u{feff}').starts_with("#!"));
        Self { script, ..Self::of_words(lines.fold(0, |groups, line| groups | WORDS.groups(line))) }
    }

    fn of_words(groups: u64) -> Self {
        let has = |group: u8| groups >> group & 1 == 1;
        Self { pvrdma: has(0), esxi: has(1), passthrough: has(2), whole_vmx: has(3) && has(4), script: false }
    }
}

/// Words that tell what a text speaks of, with the flag of the context that they set.
static WORDS: LazyLock<Needles> = LazyLock::new(|| {
    const ESXI: [&str; 8] =
        ["esxcli ", "vim-cmd ", "esxcfg-", "localcli ", "/etc/vmware/", "/vmfs/", "vmkernel", "[root@esx"];
    let pvrdma = ["pvrdma", "vrdma\"", "paravirtual rdma", "pvr0"].map(|word| (word, 0));
    let passthrough = ["pcipassthru", "passthrough"].map(|word| (word, 2));
    let whole = [("virtualhw.version", 3), ("config.version", 4)];
    Needles::new(pvrdma.into_iter().chain(ESXI.map(|word| (word, 1))).chain(passthrough).chain(whole))
});

/// A line, taken apart.
#[derive(Clone, Debug)]
pub struct Said<'a> {
    /// The line without its prompt.
    pub line: &'a str,
    /// The line in small letters.
    pub lower: String,
    commands: OnceCell<Vec<Vec<String>>>,
    assigned: OnceCell<Option<(String, String)>>,
    /// What the text around says.
    pub context: Context,
}

impl<'a> Said<'a> {
    /// Takes a line apart.
    pub fn new(line: &'a str, context: Context) -> Self {
        let mut line = line.trim_start_matches('\u{feff}').trim();
        if let Some(rest) = line.strip_prefix('#')
            && (context.script || !rest.trim_start().split(' ').next().is_some_and(is_command))
        {
            line = "";
        }
        let line = without_prompt(line);
        let lower = line.to_lowercase();
        Self { line, commands: OnceCell::new(), assigned: OnceCell::new(), lower, context }
    }

    /// The commands of the line, each as its words without quotes; the first word without its folder.
    pub fn commands(&self) -> &[Vec<String>] {
        self.commands.get_or_init(|| commands(self.line))
    }

    /// Name and value that the line assigns, both in small letters; also where the equals sign was lost, if the name has
    /// the form of a VMX key.
    pub fn assigned(&self) -> Option<(&str, &str)> {
        let assigned = self.assigned.get_or_init(|| assigned(&self.lower)).as_ref();
        assigned.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// True if nothing is left to judge.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// True if the line has all these pieces, in any order and letter case (they are given small).
    pub fn has(&self, pieces: &[&str]) -> bool {
        pieces.iter().all(|piece| self.lower.contains(piece))
    }

    /// True if the line has one of these pieces.
    pub fn any(&self, pieces: &[&str]) -> bool {
        pieces.iter().any(|piece| self.lower.contains(piece))
    }

    /// True if `name` stands in the line as a word of its own, parted by anything that is no letter, digit or `_`.
    pub fn word(&self, name: &str) -> bool {
        self.lower.match_indices(name).any(|(at, _)| {
            let inside = |c: char| c.is_alphanumeric() || c == '_';
            !self.lower[..at].ends_with(inside) && !self.lower[at + name.len()..].starts_with(inside)
        })
    }

    /// The first command of the line that begins with these words. Options of the program itself (`--formatter=json`)
    /// are passed over; `localcli` is `esxcli`.
    pub fn command(&self, words: &[&str]) -> Option<&[String]> {
        self.commands().iter().map(Vec::as_slice).find(|command| begins(command, words))
    }

    /// True if the line has a command that begins with these words.
    pub fn runs(&self, words: &[&str]) -> bool {
        self.command(words).is_some()
    }

    /// True if it is a sentence that denies something: what it names it does not advise. Commands deny nothing.
    pub fn denies(&self) -> bool {
        const WORDS: [&str; 15] = [
            "not", "no", "never", "without", "cannot", "neither", "nor", "nothing", "none", "nowhere", "wrong",
            "untrue", "false", "myth", "contrary",
        ];
        // A sentence can begin with the name of a program: "esxtop has no such column".
        const VERBS: [&str; 9] = ["has", "is", "does", "shows", "knows", "prints", "cannot", "never", "on"];
        let is_command = self.commands().first().is_some_and(|words| match words.as_slice() {
            [first, second, ..] => is_command(first) && !VERBS.contains(&second.as_str()),
            [first] => is_command(first),
            [] => false,
        });
        // `x = "FALSE"` denies nothing either.
        let is_assignment = self.line.contains('=') && self.assigned().is_some();
        !is_command
            && !is_assignment
            && (self.any(&["n't", "n’t", "不", "没有", "无需"]) || WORDS.iter().any(|word| self.word(word)))
    }

    /// True if the line has one of these pieces and is no sentence that denies them.
    pub fn names(&self, pieces: &[&str]) -> bool {
        self.any(pieces) && !self.denies()
    }

    /// True if it assigns to a key of which the table of keys says that this entry speaks of it.
    pub fn key_of(&self, myth: &str) -> bool {
        let known = self.assigned().and_then(|(key, _)| crate::diagnose::keys::find(key));
        known.is_some_and(|known| known.myth == Some(myth))
    }

    /// True if it assigns to a key of this form: `#` stands for a number, `*` at the end for anything.
    pub fn key(&self, form: &str) -> bool {
        self.assigned().is_some_and(|(key, _)| matches_form(key, form))
    }

    /// The value assigned to a key of this form.
    pub fn value(&self, form: &str) -> Option<&str> {
        self.assigned().filter(|(key, _)| matches_form(key, form)).map(|(_, value)| value)
    }

    /// True if the line or its text speaks of PVRDMA.
    pub fn of_pvrdma(&self) -> bool {
        self.context.pvrdma || self.any(&["pvrdma", "paravirtual rdma"])
    }
}

/// Any word of a command is this, or this with its value behind `=`.
pub(super) fn option(words: Option<&[String]>, name: &str) -> bool {
    words.is_some_and(|words| {
        words.iter().any(|word| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    })
}

/// True for words that say yes in a VMX.
pub(super) fn yes(value: &str) -> bool {
    matches!(value, "true" | "yes" | "1" | "on" | "y" | "t")
}

/// True for words that say no in a VMX.
pub(super) fn no(value: &str) -> bool {
    matches!(value, "false" | "no" | "0" | "off" | "n" | "f")
}

/// Programs with which a line after `# ` is a command at a prompt, not a comment.
pub(crate) fn is_command(word: &str) -> bool {
    let word = word.rsplit('/').next().unwrap_or_default();
    word.starts_with("esxcfg-")
        || matches!(
            word,
            "esxcli"
                | "localcli"
                | "vim-cmd"
                | "vmkload_mod"
                | "lspci"
                | "service"
                | "nvidia-smi"
                | "nvidia-smi-dcgm"
                | "dcgmi"
                | "ip"
                | "ethtool"
                | "echo"
                | "ls"
                | "cat"
                | "ibv_devinfo"
                | "rdma"
                | "modprobe"
                | "esxtop"
        )
}

/// The line without a prompt before its command: `[root@esx:~] `, `~ # `, `# `, `$ `, `user@host:~$ `.
fn without_prompt(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with('[')
        && let Some((prompt, rest)) = line.split_once(']')
        && prompt.contains('@')
    {
        return rest.trim_start().trim_start_matches(['#', '$']).trim_start();
    }
    for prompt in ["~ # ", "# ", "$ ", "> "] {
        if let Some(rest) = line.strip_prefix(prompt) {
            return rest.trim_start();
        }
    }
    if let Some((prompt, rest)) = line.split_once("$ ").or_else(|| line.split_once("# "))
        && prompt.contains('@')
        && !prompt.contains(' ')
    {
        return rest.trim_start();
    }
    line
}

/// The commands of a line of shell: parted by `|`, `;`, `&&`, `||`, quotes taken off, `sudo` passed over.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut in_word = false;
    let close = |word: &mut String, all: &mut Vec<Vec<String>>, in_word: &mut bool| {
        if *in_word && let Some(last) = all.last_mut() {
            last.push(std::mem::take(word));
        }
        *in_word = false;
    };
    for character in line.chars() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => {
                quote = Some(character);
                in_word = true;
            }
            (None, '|' | ';' | '&' | '`' | '(' | ')') => {
                close(&mut word, &mut all, &mut in_word);
                all.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => close(&mut word, &mut all, &mut in_word),
            (None, '#') if !in_word => break,
            (None, c) => {
                word.push(c);
                in_word = true;
            }
        }
    }
    close(&mut word, &mut all, &mut in_word);
    for command in &mut all {
        while command
            .first()
            .is_some_and(|word| ["sudo", "$", "then", "do", "if", "nohup", "else"].contains(&word.as_str()))
        {
            command.remove(0);
        }
        if let Some(first) = command.first_mut()
            && let Some((_, name)) = first.rsplit_once('/')
        {
            *first = name.to_owned();
        }
    }
    all.retain(|command| !command.is_empty());
    all
}

fn begins(command: &[String], words: &[&str]) -> bool {
    let mut given = command.iter().map(String::as_str).peekable();
    let Some(program) = given.next().map(|word| if word == "localcli" { "esxcli" } else { word }) else {
        return words.is_empty();
    };
    // What stands between esxcli and its namespace says how it logs in and prints, with a value behind most of it.
    while program == "esxcli"
        && let Some(option) = given.next_if(|word| word.starts_with('-'))
    {
        if !option.contains('=') && !["--debug", "--help", "--version", "-?"].contains(&option) {
            given.next();
        }
    }
    let mut given = std::iter::once(program).chain(given.filter(|word| !word.starts_with("--format")));
    words.iter().all(|word| given.next().is_some_and(|given| given == *word))
}

/// Name and value of an assignment; quotes of every kind are taken off, a comment behind is cut.
fn assigned(lower: &str) -> Option<(String, String)> {
    let (key, value) = match lower.split_once('=') {
        Some((key, value)) if is_key(key.trim()) => (key.trim(), value),
        _ => {
            let (key, value) = lower.split_once([' ', '\t'])?;
            let dotted = key.contains('.') && !key.ends_with('.') && is_key(key) && !key.contains('/');
            (key, dotted.then_some(value)?)
        }
    };
    let value = value.trim();
    let quotes = ['"', '\'', '\u{201c}', '\u{201d}', '\u{ff02}'];
    let value = match value.strip_prefix(quotes) {
        Some(rest) => rest.split(quotes).next().unwrap_or_default(),
        None => value.split([' ', '\t', '#']).next().unwrap_or_default(),
    };
    Some((key.to_owned(), value.to_owned()))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-:/".contains(c))
}

/// True if the key has the form: `#` is one or more digits, `*` at the end is anything.
fn matches_form(key: &str, form: &str) -> bool {
    let (mut key, mut form) = (key, form);
    loop {
        match form.chars().next() {
            None => return key.is_empty(),
            Some('*') => return true,
            Some('#') => {
                let rest = key.trim_start_matches(|c: char| c.is_ascii_digit());
                if rest.len() == key.len() {
                    return false;
                }
                (key, form) = (rest, &form[1..]);
            }
            Some(c) => {
                let Some(rest) = key.strip_prefix(c) else { return false };
                (key, form) = (rest, &form[c.len_utf8()..]);
            }
        }
    }
}
