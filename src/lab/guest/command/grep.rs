//! `grep` over the files of a machine: what the program's own questions and a person's hands use of it.

use crate::lab::guest::templates::Append as _;
use regex::{Regex, RegexBuilder};

use super::{Scene, fails};
use crate::lab::machine::Answer;

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    silent: bool,
    with_name: Option<bool>,
    inverted: bool,
    only_matches: bool,
    counts: bool,
    quiet: bool,
    numbered: bool,
    most: Option<usize>,
}

/// How patterns are meant.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    extended: bool,
    fixed: bool,
    whole_lines: bool,
    whole_words: bool,
    ignore_case: bool,
}

/// Runs it.
pub fn run(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (mut options, mut kind) = (Options::default(), Kind::default());
    let (mut patterns, mut files, mut rest) = (Vec::new(), Vec::new(), words.iter().copied());
    let mut only_files = false;
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty() && !only_files) else {
            files.push(word);
            continue;
        };
        if word == "--" {
            only_files = true;
            continue;
        }
        if letters.starts_with('-') {
            continue;
        }
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            match letter {
                'e' | 'm' => {
                    // The value follows, in this word or as the next one.
                    let inside = letters.as_str();
                    let value = if inside.is_empty() { rest.next().unwrap_or("") } else { inside };
                    if letter == 'e' {
                        patterns.push(value);
                    } else {
                        options.most = value.parse().ok();
                    }
                    break;
                }
                's' => options.silent = true,
                'H' => options.with_name = Some(true),
                'h' => options.with_name = Some(false),
                'v' => options.inverted = true,
                'o' => options.only_matches = true,
                'c' => options.counts = true,
                'q' => options.quiet = true,
                'n' => options.numbered = true,
                'E' => kind.extended = true,
                'F' => kind.fixed = true,
                'x' => kind.whole_lines = true,
                'w' => kind.whole_words = true,
                'i' => kind.ignore_case = true,
                _ => {}
            }
        }
    }
    if patterns.is_empty() && !files.is_empty() {
        patterns.push(files.remove(0));
    }
    match expression(&patterns, kind) {
        Ok(expression) => search(scene, &expression, &files, options),
        Err(_) => fails("grep: Invalid regular expression\n", 2),
    }
}

/// One expression for all patterns.
fn expression(patterns: &[&str], kind: Kind) -> Result<Regex, regex::Error> {
    let each = |pattern: &&str| {
        let inner = match (kind.fixed, kind.extended) {
            (true, _) => regex::escape(pattern),
            (false, true) => (*pattern).to_owned(),
            (false, false) => basic(pattern),
        };
        if kind.whole_lines {
            format!("^(?:{inner})$")
        } else if kind.whole_words {
            format!(r"(?-u:\b)(?:{inner})(?-u:\b)")
        } else {
            format!("(?:{inner})")
        }
    };
    let all: Vec<String> = patterns.iter().map(each).collect();
    RegexBuilder::new(&all.join("|")).case_insensitive(kind.ignore_case).build()
}

/// A basic expression in the writing of an extended one: there these characters mean nothing unless a backslash stands
/// before them.
fn basic(pattern: &str) -> String {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('+' | '?' | '|' | '(' | ')' | '{' | '}')) => text.push(next),
                Some(next) => text.extend(['\\', next]),
                None => text.push_str("\\\\"),
            },
            '+' | '?' | '|' | '(' | ')' | '{' | '}' => text.extend(['\\', letter]),
            _ => text.push(letter),
        }
    }
    text
}

fn search(scene: &Scene<'_>, expression: &Regex, files: &[&str], options: Options) -> Answer {
    let mut answer = Answer::default();
    let (mut any, mut trouble) = (false, false);
    let with_name = options.with_name.unwrap_or(files.len() > 1);
    for path in files {
        let content = match scene.tree.read(path, &scene.moment) {
            Ok(content) => content,
            Err(why) => {
                trouble = true;
                if !options.silent {
                    answer.stderr.add(format_args!("grep: {path}: {}\n", why.words()));
                }
                continue;
            }
        };
        let mut count = 0;
        for (number, line) in content.lines().enumerate() {
            if options.most.is_some_and(|most| count >= most) {
                break;
            }
            if expression.is_match(line) == options.inverted {
                continue;
            }
            (count, any) = (count + 1, true);
            if options.quiet || options.counts {
                continue;
            }
            let mut head = if with_name { format!("{path}:") } else { String::new() };
            if options.numbered {
                head.add(format_args!("{}:", number + 1));
            }
            if options.only_matches && !options.inverted {
                for found in expression.find_iter(line).filter(|found| !found.is_empty()) {
                    answer.stdout.add(format_args!("{head}{}\n", found.as_str()));
                }
            } else {
                answer.stdout.add(format_args!("{head}{line}\n"));
            }
        }
        if options.counts && !options.quiet {
            let head = if with_name { format!("{path}:") } else { String::new() };
            answer.stdout.add(format_args!("{head}{count}\n"));
        }
    }
    answer.status = match (any, trouble) {
        (true, true) if options.quiet => 0,
        (_, true) => 2,
        (true, false) => 0,
        (false, false) => 1,
    };
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_patterns() {
        let is =
            |pattern: &str, kind: Kind, line: &str| expression(&[pattern], kind).expect("a pattern").is_match(line);
        let extended = Kind { extended: true, ..Kind::default() };
        assert!(is("^(Mem|Huge)[A-Z]", extended, "MemTotal"));
        assert!(!is("(a|b)", Kind::default(), "a"));
        assert!(is(r"\(a\|b\)", Kind::default(), "a"));
        assert!(is("a.c", Kind { fixed: true, ..Kind::default() }, "xa.cx"));
        assert!(!is("a.c", Kind { fixed: true, ..Kind::default() }, "abc"));
        let words = Kind { whole_words: true, ..extended };
        assert!(is("vendor_id|hypervisor", words, "flags : rdrand hypervisor lahf_lm"));
        assert!(!is("vendor_id", words, "subvendor_id"));
        assert!(!is("0000", Kind { whole_lines: true, ..Kind::default() }, "00000"));
    }
}
