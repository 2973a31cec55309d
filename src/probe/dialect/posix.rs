//! POSIX sh: quoting, and the one script that all sources due on a target become.
//!
//! The script runs alike in dash, bash and the ash of busybox. The whole of it is one `{ ...; }` group, so the shell has
//! read it to its end before the first command runs: a script that was cut off on its way does nothing at all, and no
//! command can eat the rest of it. Around the output of each source, on standard output and on standard error alike,
//! stand two marker lines (see [`marker`]) by which [`super::sections::SectionReader`] takes the sections apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::probe::privilege::ByRoot;
use crate::probe::{Keep, Listing, MOST_ITEMS, Read, Source, Word};

/// How long one command may run on the target, in seconds. What is still running then is ended by `timeout`, where the
/// target has it.
pub const COMMAND_SECONDS: u64 = 10;

/// Directories of administration programs that the search path of an ordinary login often lacks.
pub const MORE_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// The program of ESXi hosts that a script may replace by one that takes the same words.
pub const ESXCLI: &str = "esxcli";

/// The most processes that one [`Read::ProcessFiles`] looks into.
pub const MOST_PROCESSES: usize = 64;

/// What stands behind the first line of a variable whose value has several.
pub const MORE_LINES: &str = " [more lines]";

/// The part of a script by which a command that several sources read ([`crate::probe::SHARED`]) is run once: its output is
/// in `_l` and its status in `_s`. One that failed is run again by the next source, which then has its complaints, too.
pub const ONCE: &str = "_once() {\n_o=$1; shift\neval \"_s=\\${_s$_o:-1} _l=\\${_l$_o-}\"\n[ \"$_s\" -ne 0 ] || return 0\n\
                        _l=$($_t \"$@\" </dev/null); _s=$?\neval \"_s$_o=\\$_s _l$_o=\\$_l\"\n}\n";

/// The start of every marker line of the script made with `nonce`, those around the items of a [`Read::Each`] among them.
/// The nonce is fresh for every script, so no output can imitate a marker.
pub fn marker(nonce: &str) -> String {
    format!("@rdmascope:{nonce}")
}

/// `text` as one word of sh that stands for exactly this text. (NUL cannot be in a word of sh; it is left out.)
pub fn quote(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars().filter(|&character| character != '\0') {
        match character {
            '\'' => quoted.push_str("'\\''"),
            _ => quoted.push(character),
        }
    }
    quoted.push('\'');
    quoted
}

/// The script that runs one command that changes something, and ends with its status. The whole of it is one group, as with
/// [`compile`], and the command cannot read the rest of it.
pub fn change_script(words: &[String], by_root: bool) -> String {
    let words = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let sudo = if by_root { "sudo -n -- " } else { "" };
    format!("{{\nLC_ALL=C\nPATH=$PATH:{MORE_PATH}\nexport LC_ALL PATH\n{sudo}{words} </dev/null\nexit $?\n}}\n")
}

/// `pattern` as a word of sh in which only `*`, `?` and `[...]` are special.
pub fn quote_glob(pattern: &str) -> String {
    let mut word = String::with_capacity(pattern.len());
    for character in pattern.chars().filter(|&character| character != '\0') {
        if is_plain(character) || matches!(character, '*' | '?' | '[' | ']' | '!') {
            word.push(character);
        } else {
            word.push_str(&quote(character.encode_utf8(&mut [0; 4])));
        }
    }
    if word.is_empty() { "''".to_owned() } else { word }
}

/// Characters that mean nothing to any shell, wherever they stand.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%')
}

/// One script that reads all `sources` in their order. `nonce` has to be unguessable and fresh.
pub fn compile(sources: &[Source], nonce: &str) -> String {
    compile_by_root(sources, nonce, |_| None)
}

/// The same, where `by_root` says which source (by its place) is run by `sudo`, and how. All others stay as they are.
pub fn compile_by_root(sources: &[Source], nonce: &str, by_root: impl Fn(usize) -> Option<ByRoot>) -> String {
    compile_for(sources, nonce, ESXCLI, by_root)
}

/// The same, where the program `tool` stands for `esxcli` (it has to take the same words).
pub fn compile_for(sources: &[Source], nonce: &str, tool: &str, by_root: impl Fn(usize) -> Option<ByRoot>) -> String {
    compile_knowing(sources, nonce, tool, &Listed::new(), by_root)
}

/// What commands of [`crate::probe::SHARED`] printed a moment ago, by their places there.
pub type Listed = BTreeMap<usize, Arc<str>>;

/// The same, where the script is told what these lists hold: what reads each thing of one does not run its command again.
/// A source that reads such a list itself does run it.
pub fn compile_knowing(
    sources: &[Source],
    nonce: &str,
    tool: &str,
    listed: &Listed,
    by_root: impl Fn(usize) -> Option<ByRoot>,
) -> String {
    let mut script = String::with_capacity(1024 + 256 * sources.len());
    script.push_str("{\nLC_ALL=C; export LC_ALL\n");
    push(&mut script, format_args!("PATH=\"${{PATH:-/usr/bin:/bin}}:{MORE_PATH}\"; export PATH\n"));
    // A colouring or line-numbering default of the login must not change what grep prints.
    script.push_str("unset GREP_OPTIONS\n");
    push(&mut script, format_args!("_k={}\n", quote(&marker(nonce))));
    push(
        &mut script,
        format_args!(
            "_t=\nif timeout -k 2 9 true </dev/null >/dev/null 2>&1; then _t='timeout -k 2 {COMMAND_SECONDS}'\n\
             elif timeout 9 true </dev/null >/dev/null 2>&1; then _t='timeout {COMMAND_SECONDS}'; fi\n"
        ),
    );
    if sources.iter().any(|source| needs_esxcli(&source.read)) {
        push(&mut script, format_args!("_x={}\n", quote(tool)));
    }
    if sources.iter().any(|source| source.read.shared().is_some()) {
        script.push_str(ONCE);
    }
    for (place, text) in needed(sources, listed) {
        push(&mut script, format_args!("_s{place}=0 _l{place}={}\n", quote(text)));
    }
    script.push_str(
        "_n='\n'\nexec 3>&1\n\
         _mark() {\n_u=-; { read -r _u _r </proc/uptime; } 2>/dev/null\n\
         printf '\\n%s %s %s %s\\n' \"$_k\" \"$1\" \"${_u:--}\" \"$2\"\n\
         printf '\\n%s %s %s %s\\n' \"$_k\" \"$1\" \"${_u:--}\" \"$2\" >&2\n}\n",
    );
    for (index, source) in sources.iter().enumerate() {
        push(&mut script, format_args!("_mark {index} begin\n"));
        read(&mut script, &source.read, by_root(index).as_ref());
        push(&mut script, format_args!("_mark {index} \"$_s\"\n"));
    }
    script.push_str("exit 0\n}\n");
    script
}

/// Of the lists that are known those that sources run a command for each thing of, and that none of them reads itself.
fn needed<'a>(sources: &[Source], listed: &'a Listed) -> impl Iterator<Item = (usize, &'a str)> {
    let of = |is_each: bool| -> BTreeSet<usize> {
        let own = sources.iter().filter(|source| matches!(source.read, Read::Each { .. }) == is_each);
        own.filter_map(|source| source.read.shared()).collect()
    };
    let (wanted, read) = (of(true), of(false));
    let is_needed = move |place: &usize| wanted.contains(place) && !read.contains(place);
    listed.iter().filter(move |(place, _)| is_needed(place)).map(|(place, text)| (*place, &**text))
}

/// True for a read of which the program is `esxcli`, by itself or for a listing.
pub fn needs_esxcli(read: &Read) -> bool {
    let named = |argv: &[Word]| argv.first() == Some(&Word::Plain(ESXCLI));
    match read {
        Read::Command { argv, .. } | Read::Privileged { argv, .. } => named(argv),
        Read::Each { of, argv, .. } => named(argv) || of.command().0.first() == Some(&ESXCLI),
        Read::Files(_) | Read::ProcessFiles { .. } | Read::Environment(_) => false,
    }
}

/// Appends formatted text. Writing into a string cannot fail.
fn push(script: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = script.write_fmt(arguments);
}

/// Appends the commands of one read, which leave their exit status in `_s`.
fn read(script: &mut String, read: &Read, by_root: Option<&ByRoot>) {
    match read {
        Read::Files(globs) => {
            let words: Vec<String> = globs.iter().map(|glob| quote_glob(glob)).collect();
            if words.is_empty() {
                script.push_str("_s=0\n");
            } else {
                // Status 1 only says that all files are empty.
                push(
                    script,
                    format_args!(
                        "$_t grep -aH '' -- {} </dev/null; _s=$?\n[ \"$_s\" -ne 1 ] || _s=0\n",
                        words.join(" ")
                    ),
                );
            }
        }
        Read::Command { argv, keep } => match read.shared() {
            Some(place) => once(script, argv, place),
            None => command(script, argv, *keep),
        },
        Read::Privileged { argv, keep, .. } => match by_root {
            None => command(script, argv, *keep),
            Some(by_root) => {
                let words: Vec<String> = by_root.words().into_iter().map(quote).collect();
                // `timeout` may not end what root runs, so it ends a shell around it.
                started(script, &format!("sh -c '\"$@\"; exit $?' sh {}", words.join(" ")), *keep);
            }
        },
        Read::Each { of, argv, timed, .. } => each(script, *of, argv, *timed, read.shared()),
        Read::ProcessFiles { names, files } => process_files(script, names, files),
        Read::Environment(prefixes) => environment(script, prefixes),
    }
}

fn command(script: &mut String, argv: &[Word], keep: Option<Keep>) {
    let Some(program) = argv.first() else {
        script.push_str("_s=127\n");
        return;
    };
    let words: Vec<String> = argv.iter().map(word).collect();
    let words = words.join(" ");
    let program = word(program);
    push(script, format_args!("if command -v {program} >/dev/null 2>&1; then\n"));
    started(script, &words, keep);
    push(script, format_args!("else echo {program}': not found' >&2; _s=127; fi\n"));
}

/// Appends a command that other sources read, too: a script runs it once. What it printed ends with one line end.
fn once(script: &mut String, argv: &[Word], place: usize) {
    let words: Vec<String> = argv.iter().map(word).collect();
    push(
        script,
        format_args!(
            "if command -v {} >/dev/null 2>&1; then\n_once {place} {}; [ -z \"$_l\" ] || printf '%s\\n' \"$_l\"\n\
             else echo {}': not found' >&2; _s=127; fi\n",
            words[0],
            words.join(" "),
            words[0],
        ),
    );
}

/// One word of a command. The program `esxcli` is what the script chose for it.
fn word(word: &Word) -> String {
    match word {
        Word::Plain(ESXCLI) => "\"$_x\"".to_owned(),
        Word::Plain(text) => quote(text),
        Word::Glob(pattern) => quote_glob(pattern),
        Word::Item(before, after) => format!(
            "{}\"$_i\"{}",
            if before.is_empty() { String::new() } else { quote(before) },
            if after.is_empty() { String::new() } else { quote(after) }
        ),
    }
}

/// Appends a loop that runs a command for each thing that a listing names.
fn each(script: &mut String, of: Listing, argv: &[Word], timed: bool, shared: Option<usize>) {
    let (list, filter) = of.command();
    let list: Vec<Word> = list.iter().copied().map(Word::Plain).collect();
    let words = |argv: &[Word]| argv.iter().map(word).collect::<Vec<_>>().join(" ");
    let Some(program) = list.first().map(word) else { return };
    let list = match shared {
        Some(place) => format!("_once {place} {}", words(&list)),
        None => format!("_l=$($_t {} </dev/null); _s=$?", words(&list)),
    };
    let clock = if timed { "printf '%s clock %s\\n' \"$_k\" \"$(date +%s)\"\n" } else { "" };
    push(
        script,
        format_args!(
            "if command -v {program} >/dev/null 2>&1; then\n\
             {list}; _c=0\n\
             printf '%s\\n' \"$_l\" | {filter} | {{\n\
             while IFS= read -r _i; do\n\
             _c=$((_c+1)); [ \"$_c\" -le {MOST_ITEMS} ] || continue\n\
             printf '%s item %s\\n' \"$_k\" \"$_i\"; printf '%s item %s\\n' \"$_k\" \"$_i\" >&2\n\
             {clock}$_t {} </dev/null; printf '\\n%s status %s\\n' \"$_k\" \"$?\"\ndone\n\
             [ \"$_c\" -le {MOST_ITEMS} ] || echo \"$_k more $((_c-{MOST_ITEMS}))\"\n}}\n\
             else echo {program}': not found' >&2; _s=127; fi\n",
            words(argv),
        ),
    );
}

/// Appends a command whose program is there.
fn started(script: &mut String, words: &str, keep: Option<Keep>) {
    match keep {
        None => push(script, format_args!("$_t {words} </dev/null; _s=$?\n")),
        Some(keep) => {
            // The status of the command itself travels past the filter on descriptor 4.
            let texts: Vec<String> = keep.any_of.iter().map(|text| format!("-e {}", quote(text))).collect();
            let filter = if texts.is_empty() { String::new() } else { format!("grep -aF {} 4>&- | ", texts.join(" ")) };
            push(
                script,
                format_args!(
                    "_s=$({{ {{ $_t {words} </dev/null 3>&- 4>&-; echo \"$?\" >&4; }} | {filter}tail -n {} >&3; }} 4>&1)\n",
                    keep.last
                ),
            );
        }
    }
}

fn process_files(script: &mut String, names: &[&str], files: &[&str]) {
    if names.is_empty() {
        script.push_str("_s=0\n");
        return;
    }
    let patterns: Vec<String> = names.iter().map(|name| quote(name)).collect();
    let paths: Vec<String> = std::iter::once("comm")
        .chain(files.iter().copied().filter(|&file| file != "comm"))
        .map(|file| format!("\"$_p\"/{}", quote(file)))
        .collect();
    push(
        script,
        format_args!(
            "set --; _c=0; _s=0\nfor _p in /proc/[0-9]*; do\n\
             {{ IFS= read -r _m <\"$_p\"/comm; }} 2>/dev/null || continue\n\
             case $_m in {}) ;; *) continue;; esac\n\
             set -- \"$@\" {}\n\
             _c=$((_c+1)); [ \"$_c\" -lt {MOST_PROCESSES} ] || break\ndone\n\
             if [ \"$_c\" -gt 0 ]; then $_t grep -aH '' -- \"$@\" </dev/null; _s=$?; [ \"$_s\" -ne 1 ] || _s=0; fi\nset --\n",
            patterns.join("|"),
            paths.join(" ")
        ),
    );
}

/// The lines of `env` only propose names: a line may as well be the middle of another variable's value. What is printed
/// is the value that the shell has under that name, so nothing of another variable ever travels.
fn environment(script: &mut String, prefixes: &[&str]) {
    let prefixes: Vec<&str> = prefixes.iter().copied().filter(|prefix| is_name(prefix)).collect();
    if prefixes.is_empty() {
        script.push_str("_s=0\n");
        return;
    }
    push(
        script,
        format_args!(
            "env </dev/null | grep -aE {} | while IFS= read -r _l; do\n_v=${{_l%%=*}}\n\
             eval \"[ -n \\\"\\${{$_v+x}}\\\" ]\" || continue\neval \"_l=\\$$_v\"\n\
             case $_l in *\"$_n\"*) _l=${{_l%%\"$_n\"*}}{};; esac\n\
             printf '%s=%s\\n' \"$_v\" \"$_l\"\ndone | sort -u\n_s=0\n",
            quote(&format!("^({})[A-Za-z0-9_]*=", prefixes.join("|"))),
            quote(MORE_LINES),
        ),
    );
}

/// True for what can begin the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_group_of_quoted_words() {
        let words = ["esxcli", "system", "-s", "it's $HOME; reboot"].map(str::to_owned);
        let text = change_script(&words, false);
        assert!(text.starts_with("{\n") && text.ends_with("\nexit $?\n}\n"), "{text}");
        assert!(text.contains("\nesxcli system -s 'it'\\''s $HOME; reboot' </dev/null\n"), "{text}");
        assert!(change_script(&words, true).contains("\nsudo -n -- esxcli "));
    }

    #[test]
    fn words_are_quoted_only_where_needed() {
        assert_eq!(quote("rdma"), "rdma");
        assert_eq!(quote("/sys/class/net"), "/sys/class/net");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("~root"), "'~root'");
        assert_eq!(quote("a=b"), "'a=b'");
        assert_eq!(quote("a\nb\0c"), "'a\nbc'");
    }

    #[test]
    fn only_pattern_characters_stay_special() {
        assert_eq!(quote_glob("/sys/class/net/*/mtu"), "/sys/class/net/*/mtu");
        assert_eq!(quote_glob("/proc/[0-9]*/comm"), "/proc/[0-9]*/comm");
        assert_eq!(quote_glob("/a b/$x;*"), "/a' 'b/'$'x';'*");
        assert_eq!(quote_glob(""), "''");
    }

    #[test]
    fn the_script_is_one_group_and_shows_no_nonce_to_commands() {
        let sources = [
            Source { name: "a", read: Read::Files(&["/sys/class/net/*/mtu"]) },
            Source { name: "b", read: Read::Command { argv: &[Word::Plain("rdma"), Word::Plain("link")], keep: None } },
        ];
        let script = compile(&sources, "c0ffee");
        assert!(script.starts_with("{\n") && script.ends_with("\nexit 0\n}\n"), "{script}");
        assert_eq!(script.matches("c0ffee").count(), 1, "the nonce stands in one unexported variable: {script}");
        assert!(!script.contains("export _k"));
        assert!(script.contains("if command -v rdma >/dev/null 2>&1; then\n$_t rdma link </dev/null; _s=$?\n"));
    }

    #[test]
    fn the_lines_around_items_carry_the_nonce() {
        const ARGV: &[Word] = &[Word::Plain("cat"), Word::Item("", "")];
        let read = Read::Each { of: Listing::VmxFiles, argv: ARGV, masked: true, timed: true };
        let script = compile(&[Source { name: "a", read }], "c0ffee");
        for word in ["item", "clock", "status"] {
            assert!(script.contains(&format!("%s {word} %s\\n' \"$_k\" ")), "{word}: {script}");
        }
        assert!(script.contains("echo \"$_k more "), "{script}");
        for fixed in [crate::probe::ITEM, crate::probe::CLOCK, crate::probe::STATUS, crate::probe::MORE] {
            assert!(!script.contains(fixed), "{fixed} is what every output can print: {script}");
        }
    }

    #[test]
    fn what_several_sources_read_is_run_once() {
        let probes = crate::probe::esxi::PROBES;
        let sources: Vec<Source> = probes.iter().flat_map(|probe| probe.sources.iter().copied()).collect();
        for (place, shared) in crate::probe::SHARED.iter().enumerate() {
            let of = sources.iter().filter(|source| source.read.shared() == Some(place)).count();
            assert!(of >= 2, "{shared:?} is read by {of} sources");
        }
        let script = compile(&sources, "c0ffee");
        assert_eq!(script.matches(ONCE).count(), 1);
        assert_eq!(
            script.matches("network nic list").count(),
            script.matches("_once 0 \"$_x\" network nic list;").count()
        );
        assert!(!compile(&sources[..1], "c0ffee").contains("_once"));
    }

    #[test]
    fn a_list_that_is_known_is_told_to_whoever_reads_each_thing_of_it() {
        let own = |name: &str| {
            let probes = crate::probe::esxi::PROBES.iter();
            *probes.flat_map(|probe| probe.sources).find(|source| source.name == name).expect("there")
        };
        let nics: Listed = [(0, Arc::from("Name\n---\nvmnic0  it's $HOME\n"))].into();
        let compiled = |names: &[&str]| {
            let sources: Vec<Source> = names.iter().map(|name| own(name)).collect();
            compile_knowing(&sources, "c0ffee", ESXCLI, &nics, |_| None)
        };
        assert!(compiled(&["esxi.nic-get"]).contains("\n_s0=0 _l0='Name\n---\nvmnic0  it'\\''s $HOME\n'\n"));
        for other in [&["esxi.nic-list"][..], &["esxi.nic-list", "esxi.nic-get"], &["esxi.rdma-stats"], &[]] {
            assert!(!compiled(other).contains("_s0=0 _l0="), "{other:?}");
        }
    }

    #[test]
    fn a_name_is_what_sh_takes_as_one() {
        for (text, is) in [("UCX_", true), ("_A1", true), ("1A", false), ("", false), ("A-B", false), ("A.*", false)] {
            assert_eq!(is_name(text), is, "{text:?}");
        }
    }
}
