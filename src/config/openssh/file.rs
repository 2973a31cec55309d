//! Reads OpenSSH's configuration files where no `ssh` is there to ask. Includes are handed out by the caller, so this
//! stays pure. What it cannot judge (`Match exec` and its like) is skipped and noted by name.

use std::fmt::Write as _;

use super::super::address::Address;
use super::super::error::{nearest, quoted};
use super::keyword::{KEYWORDS, Treatment, find};
use super::pattern::{fits_any, fits_list};
use super::settle::{Said, Spoken, check, host_name, settle};
use super::word::{keyword, match_words, words};
use super::{OpenSshError, Resolved, Surroundings};

/// Includes deeper than this are refused, as OpenSSH does.
const DEEPEST_INCLUDE: usize = 16;
/// So many files may be read in all: a chain of includes with patterns grows fast.
const MOST_FILES: usize = 1000;

/// Whose file it is: it decides where a relative `Include` points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A file of the user: relative to `~/.ssh`.
    User,
    /// A file of the system: relative to `/etc/ssh`.
    System,
}

/// One configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its path, as messages show it.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Whose it is.
    pub base: Base,
}

/// What stands behind an `Include` pattern: each file with its path and text, or why it could not be read.
pub type Included = Vec<(String, Result<String, String>)>;

/// Reads configuration files, the user's before the system's. `include` gets an absolute pattern and gives the files
/// that match it, in the order of their names; files that may not be read are noted and skipped, as OpenSSH does.
pub fn parse_files(
    files: &[Reading],
    asked: &Address,
    surroundings: &Surroundings,
    include: &mut dyn FnMut(&str) -> Included,
) -> Result<Resolved, OpenSshError> {
    let mut parser = Parser { asked, surroundings, include, said: Said::default(), unknown_allowed: None, files: 0 };
    for file in files {
        let mut active = true;
        parser.file(file, &mut active, false, 0)?;
    }
    settle(parser.said, asked, surroundings)
}

struct Parser<'a> {
    asked: &'a Address,
    surroundings: &'a Surroundings,
    include: &'a mut dyn FnMut(&str) -> Included,
    said: Said,
    unknown_allowed: Option<String>,
    files: usize,
}

impl Parser<'_> {
    /// Reads one file. `never` is set inside a block that does not match: then no block of an included file does.
    fn file(&mut self, file: &Reading, active: &mut bool, never: bool, depth: usize) -> Result<(), OpenSshError> {
        for (line, number) in file.text.lines().zip(1u32..) {
            let Some((word, rest)) = keyword(line) else { continue };
            let place = format!("{}:{number}", file.path);
            let malformed = |what: String| OpenSshError::Malformed { place: place.clone(), what };
            let Some((name, treatment)) = find(word) else {
                if self.unknown_allowed.as_deref().is_some_and(|list| fits_list(&word.to_lowercase(), list)) {
                    continue;
                }
                let mut what = format!("OpenSSH has no keyword {}", quoted(word));
                if let Some(near) = nearest(word, KEYWORDS.iter().map(|(name, _)| *name)) {
                    let _ = write!(what, "; did you mean {near}?");
                }
                return Err(malformed(what));
            };
            match (name, treatment) {
                (_, Treatment::Ignored(_) | Treatment::Obsolete) => {}
                ("Match", _) => {
                    let words = match_words(rest).map_err(malformed)?;
                    let fits = self.matches(&words, &place)?;
                    *active = fits && !never;
                }
                ("Host", _) => {
                    let words = words(rest).map_err(malformed)?;
                    if words.is_empty() {
                        return Err(malformed("Host lacks its patterns".to_owned()));
                    }
                    *active = !never && fits_any(&self.asked.host, words.iter().map(String::as_str));
                }
                ("Include", _) => {
                    let words = words(rest).map_err(malformed)?;
                    for pattern in words {
                        self.include(file.base, &pattern, *active, never, depth, &place)?;
                    }
                }
                ("IgnoreUnknown", _) => {
                    let list = words(rest).map_err(malformed)?.join(",").to_lowercase();
                    if *active && self.unknown_allowed.is_none() {
                        self.unknown_allowed = Some(list);
                    }
                }
                // The rest of the line is the command, quotes and all.
                ("ProxyCommand", _) if *active => {
                    self.said.say(name, treatment, Spoken { words: vec![rest.to_owned()], place });
                }
                _ => {
                    let words = words(rest).map_err(malformed)?;
                    if words.is_empty() {
                        return Err(malformed(format!("{name} lacks its value")));
                    }
                    let spoken = Spoken { words, place };
                    check(name, &spoken)?;
                    if *active {
                        self.said.say(name, treatment, spoken);
                    }
                }
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        base: Base,
        pattern: &str,
        active: bool,
        never: bool,
        depth: usize,
        place: &str,
    ) -> Result<(), OpenSshError> {
        let malformed = |what: String| OpenSshError::Malformed { place: place.to_owned(), what };
        if depth >= DEEPEST_INCLUDE {
            return Err(malformed(format!("Include goes deeper than {DEEPEST_INCLUDE} files")));
        }
        if pattern.contains(['%', '$']) {
            return Err(malformed(format!("Include {}: tokens are not replaced here; write it out", quoted(pattern))));
        }
        let home = self.surroundings.home.to_string_lossy();
        let absolute = match (pattern.strip_prefix("~/"), base) {
            (Some(rest), Base::User) => format!("{home}/{rest}"),
            _ if pattern.starts_with('/') => pattern.to_owned(),
            _ if pattern.starts_with('~') => {
                return Err(malformed(format!("Include {}: this home cannot be looked up", quoted(pattern))));
            }
            (_, Base::User) => format!("{home}/.ssh/{pattern}"),
            (_, Base::System) => format!("/etc/ssh/{pattern}"),
        };
        for (path, text) in (self.include)(&absolute) {
            self.files += 1;
            if self.files > MOST_FILES {
                return Err(malformed(format!("Include reads more than {MOST_FILES} files")));
            }
            match text {
                Ok(text) => {
                    let mut inner = active;
                    self.file(&Reading { path, text, base }, &mut inner, never || !active, depth + 1)?;
                }
                Err(why) => self.said.notes.push(format!("{place}: {path} is skipped: {why}")),
            }
        }
        Ok(())
    }

    /// Whether a `Match` line applies. A criterion that cannot be judged here makes the block not apply, with a note,
    /// unless another one has already decided that it does not.
    fn matches(&mut self, words: &[String], place: &str) -> Result<bool, OpenSshError> {
        let malformed = |what: String| OpenSshError::Malformed { place: place.to_owned(), what };
        let mut words = words.iter().map(String::as_str);
        let (mut fits, mut skipped, mut criteria, mut all) = (true, Vec::new(), 0_u32, false);
        while let Some(word) = words.next() {
            criteria += 1;
            let (name, negated) = word.strip_prefix('!').map_or((word, false), |name| (name, true));
            let name = name.to_lowercase();
            let judged = match name.as_str() {
                "all" => {
                    all = true;
                    Some(true)
                }
                // Names are never made canonical here, so there is no second reading.
                "canonical" => Some(false),
                "final" => None,
                "host" | "originalhost" | "user" | "localuser" | "exec" | "localnetwork" | "tagged" | "version"
                | "command" | "sessiontype" => {
                    let Some(list) = words.next() else {
                        return Err(malformed(format!("Match {name} lacks its value")));
                    };
                    self.judge(&name, list)?
                }
                _ => return Err(malformed(format!("Match has no criterion {}", quoted(word)))),
            };
            match judged {
                Some(judged) => fits &= judged != negated,
                None => skipped.push(name),
            }
        }
        if criteria == 0 {
            return Err(malformed("Match lacks its criteria".to_owned()));
        }
        if all && criteria > 1 && skipped.is_empty() && fits {
            return Err(malformed("Match all cannot be combined with other criteria".to_owned()));
        }
        if fits && !skipped.is_empty() {
            let names = skipped.join(", ");
            self.said.notes.push(format!(
                "{place}: the block after Match {names} is skipped: without an ssh program it cannot be judged"
            ));
            return Ok(false);
        }
        Ok(fits)
    }

    fn judge(&self, name: &str, list: &str) -> Result<Option<bool>, OpenSshError> {
        Ok(match name {
            "host" => {
                let current = host_name(&self.said, self.asked)?;
                Some(fits_list(&current.to_lowercase(), &list.to_lowercase()))
            }
            "originalhost" => Some(fits_list(&self.asked.host.to_lowercase(), &list.to_lowercase())),
            "user" => {
                let said = self.asked.user.as_deref().or_else(|| self.said.first_word("User"));
                Some(fits_list(said.unwrap_or(&self.surroundings.user), list))
            }
            "localuser" => Some(fits_list(&self.surroundings.user, list)),
            _ => None,
        })
    }
}
