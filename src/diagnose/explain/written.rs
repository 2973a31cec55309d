//! Texts that people wrote and no machine said: source code, and pages such as manuals, articles, change logs and letters.
//! They quote messages and commands, and a message that is quoted says nothing of a machine. Source code is not read at all.
//! Of a page, what stands in its sentences, lists and tables is not read; what stands between them (a log in a fence, the
//! output below a sentence) is read, and counts as quoted where the page is mostly its own words.

use super::kind;
use super::parts::{self, Line};
use super::sources;

/// What people wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Source code of a program.
    Program,
    /// A page.
    Page {
        /// For each line whether it is one of the page's own words.
        own: Vec<bool>,
        /// True if most of the page is its own words: what stands between them are examples.
        is_mostly_own: bool,
    },
}

/// So many lines of a text tell what it is.
const LOOKED_AT: usize = 4_000;
/// So many lines of code are source code, if they are most of a text.
const LEAST_CODE: usize = 4;
/// So many sentences and the like make a page, if they are most of what stands outside of fences.
const LEAST_OWN: usize = 10;
/// So many sentences in a fence are no output of a program, if they are a good part of it.
const LEAST_IN_FENCE: usize = 12;

/// A page with so many lines of its own is an article, however much it shows.
const LONG_PAGE: usize = 60;

/// Names of files of source code end so.
const ENDINGS: [&str; 22] = [
    ".rs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".cu", ".py", ".go", ".java", ".js", ".mjs", ".ts", ".pl",
    ".pm", ".rb", ".cs", ".swift", ".kt", ".lua",
];

/// Says whether people wrote a text, from the lines as they stand in it.
pub(super) fn of(path: &str, lines: &[Line<'_>]) -> Option<Written> {
    if ENDINGS.iter().any(|ending| path.ends_with(ending)) || is_program(lines) || is_change(lines) || is_search(lines)
    {
        return Some(Written::Program);
    }
    if is_web(lines) {
        return Some(Written::Page { own: vec![false; lines.len()], is_mostly_own: true });
    }
    page(lines)
}

/// True for the difference of two texts: what it takes away is no longer so.
fn is_change(lines: &[Line<'_>]) -> bool {
    let mut filled = lines.iter().map(|(_, line)| line.as_ref()).filter(|line| !line.trim().is_empty()).peekable();
    let (mut minus, mut plus) = (false, false);
    filled.peek().is_some()
        && filled.take(LOOKED_AT).all(|line| {
            minus |= line.starts_with('-');
            plus |= line.starts_with('+');
            line.starts_with(['-', '+', ' ', '\\'])
                || ["@@ ", "diff ", "index ", "similarity ", "rename ", "new file", "deleted file"]
                    .iter()
                    .any(|begin| line.starts_with(begin))
        })
        && minus
        && plus
}

/// True for what `grep -n` finds in source code: `src/a.rs:12:   ...`.
fn is_search(lines: &[Line<'_>]) -> bool {
    let found = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (Some(path), Some(number), Some(_)) = (parts.next(), parts.next(), parts.next()) else { return false };
        !path.contains(' ') && ENDINGS.iter().any(|ending| path.ends_with(ending)) && number.parse::<u32>().is_ok()
    };
    let mut filled = lines.iter().filter(|(_, line)| !line.trim().is_empty()).take(LOOKED_AT).peekable();
    filled.peek().is_some() && filled.all(|(_, line)| found(line) || line.trim() == "--")
}

/// True for a page of the web as it is written.
fn is_web(lines: &[Line<'_>]) -> bool {
    let marks = ["</p>", "</pre>", "</code>", "</div>", "</body>", "<!DOCTYPE html", "<!doctype html"];
    lines.iter().take(LOOKED_AT).any(|(_, line)| marks.iter().any(|mark| line.contains(mark)))
}

/// True if most lines that tell anything have the form of a programming language.
fn is_program(lines: &[Line<'_>]) -> bool {
    let (mut code, mut others) = (0, 0);
    for (_, line) in lines.iter().take(LOOKED_AT) {
        match form(line.trim()) {
            Form::Code => code += 1,
            Form::Either => {}
            Form::Other => others += 1,
        }
    }
    code >= LEAST_CODE && code * 3 >= others
}

/// What a line tells of the language that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It is of a programming language.
    Code,
    /// It can be anything.
    Either,
    /// It is none.
    Other,
}

/// Words with which lines of programs begin.
const BEGINS: [&str; 62] = [
    "#include ",
    "#include\t",
    "#define ",
    "#ifdef ",
    "#ifndef ",
    "#endif",
    "#[",
    "#![",
    "use ",
    "pub ",
    "pub(",
    "fn ",
    "async ",
    "let ",
    "impl ",
    "impl<",
    "mod ",
    "static ",
    "const ",
    "return ",
    "return;",
    "if (",
    "if ",
    "} else",
    "else ",
    "for ",
    "for(",
    "while ",
    "while(",
    "loop ",
    "match ",
    "switch ",
    "switch(",
    "case ",
    "def ",
    "class ",
    "import ",
    "from ",
    "package ",
    "func ",
    "type ",
    "struct ",
    "enum ",
    "union ",
    "typedef ",
    "elif ",
    "try:",
    "try ",
    "except ",
    "raise ",
    "assert",
    "self.",
    "print(",
    "printf(",
    "fprintf(",
    "goto ",
    "break;",
    "continue;",
    "var ",
    "int ",
    "void ",
    "unsigned ",
];

fn form(line: &str) -> Form {
    if line.is_empty() || line.chars().all(|c| !c.is_alphanumeric()) {
        return Form::Either;
    }
    if ["//", "/*", "*/"].iter().any(|mark| line.starts_with(mark)) {
        return Form::Code;
    }
    // A line of a comment, and the end of a long string, are of anything.
    if line.starts_with("* ") || line.ends_with("\",") || line.ends_with('\\') {
        return Form::Either;
    }
    // Signs as the web writes them: `&quot;`.
    if line.rsplit_once('&').is_some_and(|(_, sign)| sign.ends_with(';') && sign.len() < 8 && !sign.contains(' ')) {
        return Form::Other;
    }
    let is_closed = line.ends_with([';', '{', '}', '(', ',', ':', ')', ']', '>', '|']);
    let begins = BEGINS.iter().any(|begin| line.starts_with(begin));
    let is_statement = line.ends_with(';') && line.contains(['(', '=', ')']) && !line.contains("; ");
    let is_macro = ["#include", "#define ", "#ifdef ", "#ifndef ", "#endif", "#[", "#!["];
    let is_call = line.starts_with('.') && line.contains('(') || line.ends_with("=> {");
    if begins && (is_closed || is_macro.iter().any(|begin| line.starts_with(begin)))
        || is_statement
        || is_call
        || is_field(line)
        || line.ends_with("::*;")
        || line.contains("!(\"") && is_closed
        || line.contains(".unwrap()")
        || line.contains(" => ") && line.ends_with(',')
    {
        return Form::Code;
    }
    if line.ends_with([';', '{'])
        || line.ends_with("),")
        || line.ends_with("],")
        || line.starts_with('"') && line.ends_with(',')
    {
        return Form::Either;
    }
    Form::Other
}

/// `name: value,` of a structure; what machines print as lists has quotes around the name or no comma.
fn is_field(line: &str) -> bool {
    line.strip_suffix(',').or_else(|| line.strip_suffix("&[")).or_else(|| line.strip_suffix('{')).is_some_and(|line| {
        line.split_once(": ").is_some_and(|(name, value)| {
            let name = name.strip_prefix("pub ").unwrap_or(name);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            !name.is_empty()
                && name.chars().all(plain)
                && (value.starts_with(['"', '&', '\''])
                    || value.starts_with(|c: char| c.is_ascii_uppercase())
                    || value.contains('(')
                    || value.contains("::"))
                && !value.contains(", ")
        })
    })
}

/// The page that the lines are, if they are one.
fn page(lines: &[Line<'_>]) -> Option<Written> {
    let mut own = vec![false; lines.len()];
    let mut at = 0;
    // Lines outside of fences: how many are filled, how many are the page's own words. Marks: what only pages have.
    let (mut filled, mut words, mut marks) = (0, 0, 0);
    while at < lines.len() {
        let line = lines[at].1.trim();
        if line.is_empty() {
            at += 1;
            continue;
        }
        if let Some(end) = fence(lines, at) {
            own[at..=end].fill(is_own_fence(&lines[at..=end]));
            marks += 1;
            at = end + 1;
            continue;
        }
        let end = paragraph(lines, at);
        let sorts: Vec<Sort> = lines[at..end].iter().map(|(_, line)| sort(line)).collect();
        let of = |sort: Sort| sorts.iter().filter(|other| **other == sort).count();
        let (written, output) = (of(Sort::Mark) + of(Sort::Sentence), of(Sort::Output));
        // In a paragraph of sentences the last words of one stand alone.
        let is_own = written > 0 && output == 0 && written * 2 >= sorts.len();
        for (own, sort) in own[at..end].iter_mut().zip(&sorts) {
            *own = is_own || *sort == Sort::Mark;
        }
        filled += sorts.len();
        words += own[at..end].iter().filter(|own| **own).count();
        marks += of(Sort::Mark);
        at = end;
    }
    let least = if marks >= 3 { LEAST_OWN } else { LEAST_OWN * 2 };
    if words < least || words * 2 < filled {
        return None;
    }
    let all = lines.iter().filter(|(_, line)| !line.trim().is_empty()).count();
    let of_page = own.iter().zip(lines).filter(|(own, (_, line))| **own && !line.trim().is_empty()).count();
    Some(Written::Page { own, is_mostly_own: of_page * 2 >= all || of_page >= LONG_PAGE })
}

/// The last line of the fence that begins here.
fn fence(lines: &[Line<'_>], at: usize) -> Option<usize> {
    let mark = |line: &str| ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
    let begin = mark(&lines[at].1)?;
    let length = lines[at + 1..].iter().position(|(_, line)| line.trim() == begin)?;
    Some(at + 1 + length)
}

/// True for a fence around what is a page itself, such as rules and the help of a program.
fn is_own_fence(lines: &[Line<'_>]) -> bool {
    let mut is_box = false;
    let (mut filled, mut sentences) = (0, 0);
    for (_, line) in lines {
        let line = line.trim();
        // Open MPI draws lines around what it has to say.
        if line.len() > 40 && line.bytes().all(|byte| byte == b'-') {
            is_box = !is_box;
        }
        filled += usize::from(!line.is_empty());
        sentences += usize::from(!is_box && matches!(sort(line), Sort::Sentence | Sort::Mark));
    }
    sentences >= LEAST_IN_FENCE && sentences * 3 >= filled
}

/// The end of the lines that stand together.
fn paragraph(lines: &[Line<'_>], at: usize) -> usize {
    let ends = |at: &usize| lines[*at].1.trim().is_empty() || fence(lines, *at).is_some();
    (at + 1..lines.len()).find(ends).unwrap_or(lines.len())
}

/// What a line of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A title, an item of a list, a row of a table, a line with a link: only a page has them.
    Mark,
    /// Words of English.
    Sentence,
    /// What a machine printed: a log, a command, a table.
    Output,
    /// None of it for sure.
    Other,
}

fn sort(line: &str) -> Sort {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return Sort::Other;
    }
    if sources::stamp(trimmed).is_some()
        || kind::is_message(trimmed)
        || parts::is_prompt(trimmed)
        || trimmed.starts_with('[') && !trimmed.contains("](")
    {
        return Sort::Output;
    }
    let hashes = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes)
        && trimmed[hashes..].strip_prefix(' ').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '`') && hashes > 1
                || !trimmed.contains(['=', '/'])
                    && rest.starts_with(|c: char| c.is_uppercase())
                    && rest.split(' ').count() < 8
        })
    {
        return Sort::Mark;
    }
    if trimmed.starts_with('|') && trimmed.ends_with('|') && trimmed.matches('|').count() >= 3 {
        return if kind::is_row(trimmed) { Sort::Output } else { Sort::Mark };
    }
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark)).or_else(|| {
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        trimmed[digits..].strip_prefix(". ").filter(|_| (1..=3).contains(&digits))
    });
    // Programs draw boxes of stars.
    if item.is_some_and(|item| is_sentence(item, 1) && !item.ends_with(" *"))
        || trimmed.contains("](http")
        || trimmed.strip_prefix("**").is_some_and(|rest| rest.starts_with(char::is_alphanumeric) && rest.contains("**"))
    {
        return Sort::Mark;
    }
    // What stands in columns was printed.
    if trimmed.split("  ").filter(|piece| !piece.trim().is_empty()).count() > 2 && !trimmed.contains(". ") {
        return Sort::Other;
    }
    if is_sentence(trimmed, 2) { Sort::Sentence } else { Sort::Other }
}

/// Words that hold sentences together.
const TIES: [&str; 56] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "because", "but", "by", "can", "do", "does", "each", "for",
    "from", "has", "have", "how", "i", "if", "in", "is", "it", "its", "may", "no", "not", "of", "on", "or", "other",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to",
    "was", "we", "what", "when", "where", "which", "with", "without", "you",
];

/// True for words of which at least so many hold a sentence together.
fn is_sentence(text: &str, ties: usize) -> bool {
    let mut count = 0;
    let mut tied = 0;
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        count += 1;
        tied += usize::from(TIES.iter().any(|tie| word.eq_ignore_ascii_case(tie)));
    }
    count >= 4
        && tied >= ties
        && tied * 10 >= count
        && text.starts_with(|c: char| c.is_alphabetic() || "`\"'(*_<".contains(c))
}

/// True for a sentence in which something stands between quotes, and for a line of code with a string in it: what they
/// quote was said elsewhere, if at all.
pub(super) fn quotes(line: &str) -> bool {
    let line = line.trim();
    let is_long = |piece: &str| piece.split_whitespace().count() > 2;
    if form(line) == Form::Code && line.split('"').skip(1).step_by(2).any(is_long) {
        return true;
    }
    [('`', '`'), ('"', '"'), ('\u{201c}', '\u{201d}')].into_iter().any(|(open, close)| {
        let Some((before, rest)) = line.split_once(open) else { return false };
        let Some((quoted, behind)) = rest.split_once(close) else { return false };
        is_long(quoted)
            && matches!(sort(line), Sort::Sentence | Sort::Mark)
            && (is_sentence(before, 2) || is_sentence(&format!("{before} {behind}"), 2))
    })
}
