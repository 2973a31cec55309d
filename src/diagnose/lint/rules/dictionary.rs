//! Faults of the file itself: lines that the host cannot read, names that it refuses, what editors and guides leave behind.

use super::{Found, Rule, Severity, at, documented, field, rule, shown};
use crate::diagnose::lint::Subject;
use crate::probe::vmx::{Content, Dictionary, Fault, Line};

/// The grammar itself.
const GRAMMAR: &str = "open-vm-tools lib/dict/dictll.c and lib/misc/escape.c";

pub(super) const RULES: &[Rule] = &[
    rule("vmx.no-equals", Severity::Error, "A line has no '=' after the name", documented(GRAMMAR), no_equals)
        .of_grammar(),
    rule("vmx.no-name", Severity::Error, "A line has no name before '='", documented(GRAMMAR), no_name).of_grammar(),
    rule(
        "vmx.open-quote",
        Severity::Error,
        "The quote that opens a value does not close",
        documented(GRAMMAR),
        open_quote,
    )
    .of_grammar(),
    rule(
        "vmx.after-value",
        Severity::Error,
        "Text that is no comment stands behind a value",
        documented(GRAMMAR),
        after_value,
    )
    .of_grammar(),
    rule(
        "vmx.odd-quotes",
        Severity::Error,
        "Typographic or full-width quotes stand around a value",
        documented("github.com/intel/haxm/issues/149; github.com/Tyleraltight/SafeExamBrowser_bypass/issues/1"),
        odd_quotes,
    ),
    rule(
        "vmx.duplicate-key",
        Severity::Error,
        "A name is assigned twice, whatever its letter case",
        documented("github.com/hashicorp/vagrant/issues/2597"),
        duplicate,
    ),
    rule(
        "vmx.byte-order-mark",
        Severity::Warning,
        "The file begins with a byte order mark",
        documented("github.com/Tyleraltight/SafeExamBrowser_bypass/issues/1"),
        byte_order_mark,
    )
    .open(),
    rule(
        "vmx.placeholder",
        Severity::Warning,
        "A placeholder of a guide was left in",
        field("field report"),
        placeholder,
    )
    .open(),
    rule(
        "vmx.pasted-remains",
        Severity::Error,
        "A shell prompt, a command or a mark of a web page stands in the file",
        documented(GRAMMAR),
        pasted,
    ),
    rule("vmx.unquoted-value", Severity::Info, "A value stands without quotes", documented(GRAMMAR), unquoted),
    rule(
        "vmx.trailing-comment",
        Severity::Info,
        "A comment stands behind a value",
        documented(GRAMMAR),
        trailing_comment,
    ),
    rule(
        "vmx.encoding-position",
        Severity::Info,
        "'.encoding' is not the first assignment",
        field("own knowledge: the host writes it first"),
        encoding_position,
    ),
    rule(
        "vmx.encoding-mismatch",
        Severity::Warning,
        "The bytes of the file are not of the character set that it names",
        documented("libvirt src/vmx/vmx.c converts by .encoding"),
        encoding_mismatch,
    )
    .open(),
    rule("vmx.bad-flag", Severity::Warning, "A switch is neither yes nor no", field("own knowledge"), bad_flag).open(),
];

/// Malformed lines of one fault that are no remains of a paste, with their text.
fn malformed(vmx: &Dictionary, fault: Fault) -> impl Iterator<Item = (&Line, String)> {
    vmx.lines
        .iter()
        .filter(move |line| line.content == Content::Malformed(fault))
        .map(|line| (line, vmx.text(line)))
        .filter(|(_, text)| remains(text).is_none())
}

/// A finding about a line; the key is its first word.
fn on(line: &Line, text: &str, message: String) -> Found {
    let word = text.split(|c: char| c.is_whitespace() || c == '=').find(|word| !word.is_empty());
    Found { line: Some(line.number), key: word.map(shown), message, ..Found::default() }
}

/// The line without what must not be shown.
fn quoted(text: &str) -> String {
    format!("'{}'", shown(text))
}

fn no_equals(subject: &Subject<'_>) -> Vec<Found> {
    malformed(subject.vmx, Fault::NoEquals)
        .map(|(line, text)| {
            on(line, &text, format!("{} has no '=': the host keeps the line but assigns nothing", quoted(&text)))
        })
        .collect()
}

fn no_name(subject: &Subject<'_>) -> Vec<Found> {
    malformed(subject.vmx, Fault::NoName)
        .map(|(line, text)| Found {
            key: None,
            ..on(line, &text, format!("{} has no name before '=': the line assigns nothing", quoted(&text)))
        })
        .collect()
}

fn open_quote(subject: &Subject<'_>) -> Vec<Found> {
    malformed(subject.vmx, Fault::OpenQuote)
        .map(|(line, text)| {
            let message = format!("the quote in {} is not closed on its line: the line assigns nothing", quoted(&text));
            on(line, &text, message)
        })
        .collect()
}

fn after_value(subject: &Subject<'_>) -> Vec<Found> {
    malformed(subject.vmx, Fault::AfterValue)
        .map(|(line, text)| {
            let message = format!(
                "text stands behind the value in {}: a value with blanks or quotes needs quotes around it (a quote \
                 inside is written |22), so the line assigns nothing",
                quoted(&text)
            );
            on(line, &text, message)
        })
        .collect()
}

/// Quotes that are none to the host.
const ODD: &[char] = &['“', '”', '„', '‟', '″', '〝', '〞', '〟', '＂', '«', '»'];

fn odd_quotes(subject: &Subject<'_>) -> Vec<Found> {
    let lines = malformed(subject.vmx, Fault::OddQuotes).map(|(line, text)| {
        let message =
            format!("{} has typographic quotes and blanks between them: the line assigns nothing", quoted(&text));
        on(line, &text, message)
    });
    let entries = subject.vmx.entries().filter(|entry| entry.odd_quotes()).map(|entry| {
        let plain = entry.value.trim_matches(ODD);
        let message = format!(
            "the quotes around {} are typographic ones (U+201C, U+201D or the like): to the host they are part of the \
             value, which is therefore not '{}'",
            shown(&entry.value),
            shown(plain)
        );
        at(entry, message).mend(&entry.key, plain)
    });
    lines.chain(entries).collect()
}

fn duplicate(subject: &Subject<'_>) -> Vec<Found> {
    let repeated = subject.vmx.duplicates();
    repeated
        .into_iter()
        .map(|(first, second)| {
            let case = if first.key == second.key { "" } else { " (names are compared without regard to letter case)" };
            let message = format!(
                "{} is assigned on line {} and again here{case}: '{}' and '{}'",
                shown(&second.key),
                first.line,
                shown(&first.value),
                shown(&second.value)
            );
            let why = format!("{} is defined twice: the host calls the file corrupt", shown(&second.key));
            at(second, message).fatal(why)
        })
        .collect()
}

fn byte_order_mark(subject: &Subject<'_>) -> Vec<Found> {
    if !subject.vmx.byte_order_mark {
        return Vec::new();
    }
    let message = "the file begins with the bytes EF BB BF, which an editor on Windows put there; files with such a mark \
                   were reported to be called corrupt";
    vec![Found { line: Some(1), message: message.to_owned(), ..Found::default() }]
}

fn is_placeholder(value: &str) -> bool {
    // What was masked before anybody saw it was a value.
    if value == crate::probe::esxi::MASK {
        return false;
    }
    let within = |open: &str, close: &str| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.'))
        })
    };
    within("<", ">") || within("${", "}") || within("{{", "}}") || value.eq_ignore_ascii_case("CHANGEME")
}

/// Keys that hold what people and programs write for themselves; marks of any kind belong there.
fn is_free_text(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    matches!(key.as_str(), "annotation" | "displayname") || key.starts_with("guestinfo.")
}

fn placeholder(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| is_placeholder(&entry.value) && !is_free_text(&entry.key))
        .map(|entry| at(entry, format!("{} is a placeholder of a guide, not a value", shown(&entry.value))))
        .collect()
}

/// What a malformed line is a remainder of, if it is one.
fn remains(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let starts = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
    if starts(&["```", "~~~"]) {
        return Some("a fence of a code block");
    }
    if starts(&["[root@", "root@", "$ ", "~ #", "> ", "PS C:\\"]) {
        return Some("a shell prompt");
    }
    if starts(&["echo ", "cat ", "sed ", "vim-cmd ", "esxcli ", "vi ", "EOF"]) {
        return Some("a shell command");
    }
    if starts(&["- ", "* ", "| ", "**", "<pre", "</pre", "<code", "</code", "//", "---"]) {
        return Some("a mark of a page");
    }
    None
}

fn pasted(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let malformed = vmx.lines.iter().filter(|line| matches!(line.content, Content::Malformed(_)));
    malformed
        .filter_map(|line| {
            let text = vmx.text(line);
            let what = remains(&text)?;
            let message = format!("{} is {what}, copied along from where the lines were taken", quoted(&text));
            Some(Found { line: Some(line.number), message, ..Found::default() })
        })
        .collect()
}

fn unquoted(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| {
            !entry.quoted && !entry.value.is_empty() && !entry.odd_quotes() && !is_placeholder(&entry.value)
        })
        .map(|entry| {
            let message = format!(
                "{} stands without quotes: it is read, but would end at the first blank or '#'",
                shown(&entry.value)
            );
            at(entry, message).mend(&entry.key, &entry.value)
        })
        .collect()
}

fn trailing_comment(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| entry.comment.is_some())
        .map(|entry| {
            at(entry, "the comment behind the value is allowed, but the host drops it when it rewrites the file")
        })
        .collect()
}

fn encoding_position(subject: &Subject<'_>) -> Vec<Found> {
    let first = subject.vmx.entries().next();
    let Some(entry) = subject.vmx.get(".encoding") else { return Vec::new() };
    if first.is_some_and(|first| first.line == entry.line) {
        return Vec::new();
    }
    vec![at(entry, "the host writes .encoding first, since it says how all that follows is read")]
}

fn encoding_mismatch(subject: &Subject<'_>) -> Vec<Found> {
    let utf8 = subject.vmx.value(".encoding").is_none_or(|name| name.eq_ignore_ascii_case("UTF-8"));
    let Err(error) = std::str::from_utf8(&subject.vmx.bytes) else { return Vec::new() };
    if !utf8 {
        return Vec::new();
    }
    let wrong = error.valid_up_to();
    let line = subject.vmx.lines.iter().find(|line| line.place.end > wrong).map(|line| line.number);
    let message = format!("byte {wrong} of the file is no UTF-8, which the file claims to be; names are shown wrongly");
    vec![Found { line, key: Some(".encoding".to_owned()), message, ..Found::default() }]
}

/// Names of switches: their last part, or the whole name.
const FLAGS: &[&str] = &[
    "pciPassthru.use64bitMMIO",
    "sched.mem.pin",
    "vhv.enable",
    "mem.hotadd",
    "vcpu.hotadd",
    "uefi.secureBoot.enabled",
    "hypervisor.cpuid.v0",
    "pciPassthru.allowP2P",
    "pciPassthru.RelaxACSforP2P",
];

fn bad_flag(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let is_flag = |key: &str| {
        FLAGS.iter().any(|name| key.eq_ignore_ascii_case(name)) || key.to_ascii_lowercase().ends_with(".present")
    };
    vmx.entries()
        .filter(|entry| is_flag(&entry.key) && !entry.odd_quotes() && !is_placeholder(&entry.value))
        .filter(|entry| {
            const WORDS: &[&str] = &["true", "yes", "1", "y", "t", "on", "false", "no", "0", "n", "f", "off"];
            !WORDS.iter().any(|word| entry.value.eq_ignore_ascii_case(word))
        })
        .map(|entry| at(entry, format!("'{}' is neither TRUE nor FALSE", shown(&entry.value))))
        .collect()
}
