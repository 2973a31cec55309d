//! A paste taken apart at its prompts: which command printed what, on which host; and texts that were wrapped, put together
//! again.

use std::borrow::Cow;

use super::kind::{Kind, is_log};
use super::{guest, switch};
use crate::diagnose::myth::is_command;

/// So long is what stands in the brackets of a prompt, at most.
const LONGEST_PROMPT: usize = 512;

/// A numbered line.
pub(super) type Line<'a> = (u32, Cow<'a, str>);

/// One command with what it printed, or text without a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Part<'a> {
    /// The host of the prompt.
    pub(super) host: Option<String>,
    /// The line of the command, and the command.
    pub(super) command: Option<(u32, String)>,
    /// What stands below.
    pub(super) lines: Cow<'a, [Line<'a>]>,
}

impl<'a> Part<'a> {
    /// All lines as one part.
    pub(super) fn whole(lines: &'a [Line<'a>]) -> Self {
        Self { lines: Cow::Borrowed(lines), ..Self::default() }
    }

    /// The part without lines of logs and errors, where each line is of the kind given: they are no rows and no keys. Nothing if it holds nothing else.
    pub(super) fn without_logs(&self, kinds: &[Option<Kind>]) -> Option<Self> {
        let kept: Vec<bool> = kinds.iter().map(|kind| !is_log(*kind)).collect();
        self.only(&kept)
    }

    /// The part with these lines alone: what stood apart because others came between stands together again. Nothing if
    /// that leaves nothing.
    pub(super) fn only(&self, kept: &[bool]) -> Option<Self> {
        let lines: Vec<Line<'a>> =
            self.lines.iter().zip(kept).filter(|(_, kept)| **kept).map(|(line, _)| line.clone()).collect();
        let filled = lines.iter().any(|(_, line)| !line.is_empty());
        filled.then(|| Self { host: self.host.clone(), command: self.command.clone(), lines: Cow::Owned(lines) })
    }
}

/// Takes a text apart. A prompt that is glued to the end of a line begins a part too.
pub(super) fn parts<'a>(lines: &'a [Line<'a>]) -> Vec<Part<'a>> {
    if !lines.iter().any(|(_, line)| prompt(line).is_some()) {
        let filled = lines.iter().any(|(_, line)| !line.trim().is_empty());
        return if filled { vec![Part::whole(lines)] } else { Vec::new() };
    }
    let mut all = vec![Part::default()];
    for (number, line) in lines {
        let mut rest: &str = line;
        while let Some((before, host, command)) = prompt(rest) {
            push(&mut all, *number, before);
            // A second prompt on the same line ends the command.
            let (command, after) = match bracket_prompt(command) {
                Some((at, _)) => command.split_at(at),
                None => (command, ""),
            };
            all.push(Part { host, command: Some((*number, command.trim().to_owned())), ..Part::default() });
            rest = after;
        }
        if rest.len() == line.len() {
            if let Some(part) = all.last_mut() {
                part.lines.to_mut().push((*number, line.clone()));
            }
        } else {
            push(&mut all, *number, rest);
        }
    }
    all.retain(|part| part.command.is_some() || part.lines.iter().any(|(_, line)| !line.trim().is_empty()));
    all
}

fn push(all: &mut [Part<'_>], number: u32, text: &str) {
    if let Some(part) = all.last_mut()
        && !text.trim().is_empty()
    {
        part.lines.to_mut().push((number, Cow::Owned(text.trim_end().to_owned())));
    }
}

/// Where `[user@host:path]` begins and what stands in it.
fn bracket_prompt(text: &str) -> Option<(usize, &str)> {
    text.match_indices('[').find_map(|(at, _)| {
        // No prompt is longer; and looking to the end from every bracket would take forever in a long line of them.
        let inside = &text[at + 1..];
        let end = inside.bytes().take(LONGEST_PROMPT).position(|byte| matches!(byte, b']' | b'['))?;
        let inside = &inside[..end];
        let (user, host) = inside.split_once('@')?;
        let plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:~/ ".contains(c));
        (plain(user) && plain(host) && !user.contains(' ') && text[at + 1 + inside.len()..].starts_with(']'))
            .then_some((at, inside))
    })
}

/// Where a prompt in brackets begins in the line; 0 if there is none.
pub(super) fn prompt_at(line: &str) -> usize {
    bracket_prompt(line).map_or(0, |(at, _)| at)
}

/// True for a line with a prompt, or one that is a command of a host.
pub(super) fn is_prompt(line: &str) -> bool {
    prompt(line).is_some()
}

/// The longest prompt of a switch: its name, and what stands in brackets behind that.
const LONGEST_SWITCH_PROMPT: usize = 200;

/// The name and the command at the prompt of a switch: `leaf1#show ...`, `leaf1(config-if)# ...`, `leaf1 [standalone:
/// master] > show ...`; or a command of one that stands alone.
fn switch_prompt(line: &str) -> Option<(Option<String>, &str)> {
    let is_known = |command: &str| switch::is_command(command) && command.len() < LONGEST_PROMPT;
    if line.starts_with("show ") || line.starts_with("nv show ") || line.starts_with("pfcwd show ") {
        return is_known(line).then_some((None, line));
    }
    // No further is looked: a line can hold thousands of prompts, and each of them asks.
    let mut head = line.bytes().take(LONGEST_SWITCH_PROMPT);
    let (name, command) = line.split_at(head.position(|byte| matches!(byte, b'#' | b'>'))?);
    let command = command[1..].trim_start();
    let name = name.trim_end();
    let name = name.split_once(" [").filter(|(_, rest)| rest.ends_with([']', ')'])).map_or(name, |(name, _)| name);
    let name = name.split_once('(').filter(|(_, mode)| mode.ends_with(')')).map_or(name, |(name, _)| name);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain);
    let other = ["conf", "configure", "enable", "terminal", "end", "exit"]
        .contains(&command.split(' ').next().unwrap_or_default());
    (is_name && (is_known(command) || other)).then(|| (Some(name.to_owned()), command))
}

/// What stands before a prompt, its host, and the command behind it.
fn prompt(line: &str) -> Option<(&str, Option<String>, &str)> {
    if let Some((host, command)) = switch_prompt(line) {
        return Some(("", host, command));
    }
    let has_user = line.contains('@');
    if has_user && let Some((at, inside)) = bracket_prompt(line) {
        let host = inside.split_once('@').map(|(_, host)| host.split([':', ' ']).next().unwrap_or_default().to_owned());
        let command = line[at + inside.len() + 2..].trim_start().trim_start_matches(['#', '$']).trim_start();
        return Some((&line[..at], host, command));
    }
    for mark in ["~ # ", "# ", "$ ", "> "] {
        if let Some(command) = line.trim_start().strip_prefix(mark)
            && is_command(command.trim_start().split(' ').next().unwrap_or_default())
        {
            return Some(("", None, command.trim_start()));
        }
    }
    let named = ["# ", "$ "].into_iter().filter(|_| has_user);
    for mark in named {
        if let Some((before, command)) = line.split_once(mark)
            && let Some((user, host)) = before.split_once('@')
            && !before.contains(' ')
            && !user.is_empty()
        {
            return Some(("", Some(host.split(':').next().unwrap_or_default().to_owned()), command));
        }
    }
    let first = line.split(' ').next().unwrap_or_default();
    let bare = first.starts_with("esxcfg-")
        || ["esxcli", "localcli", "vim-cmd"].contains(&first.rsplit('/').next().unwrap_or_default());
    // `esxcli: not found` is an answer, no command.
    (bare && line.contains(' ')).then_some(("", None, line))
}

/// The narrowest and the widest line that a wrapped text can have.
const WRAPPED: std::ops::RangeInclusive<usize> = 60..=132;
/// The text put together again as if it had been wrapped at its widest line: inside words, and at blanks. Empty if it does
/// not look wrapped.
pub(super) fn unwrapped<'a>(lines: &[Line<'a>]) -> Vec<Vec<Line<'a>>> {
    let widest = lines.iter().map(|(_, line)| line.chars().count()).max().unwrap_or_default();
    if !WRAPPED.contains(&widest) || lines.len() < 2 {
        return Vec::new();
    }
    let hard = join(lines, |line, _| line.chars().count() >= widest, "");
    // A line that was cut at a blank had no room for the next word.
    let soft = |width: usize| {
        join(
            lines,
            move |line, next| {
                let first = next.split(' ').next().unwrap_or_default().chars().count();
                let columns = line.chars().count();
                columns >= width / 2 && columns + 1 + first > width && !next.starts_with(' ')
            },
            " ",
        )
    };
    let mut all = vec![hard];
    all.extend([widest, widest + 1, 72, 78, 80].into_iter().filter(|width| *width >= widest).map(soft));
    all.retain(|joined| joined.len() < lines.len());
    all.dedup();
    all
}

fn join<'a>(lines: &[Line<'a>], wraps: impl Fn(&str, &str) -> bool, between: &str) -> Vec<Line<'a>> {
    let mut all: Vec<Line<'a>> = Vec::new();
    let mut last: Option<&str> = None;
    for (number, line) in lines {
        match (last, all.last_mut()) {
            (Some(before), Some((_, joined)))
                if wraps(before, line) && !line.is_empty() && !guest::is_stamped(line) =>
            {
                let joined = joined.to_mut();
                if !between.is_empty() {
                    joined.truncate(joined.trim_end().len());
                    joined.push_str(between);
                }
                joined.push_str(line);
            }
            _ => all.push((*number, line.clone())),
        }
        last = Some(line);
    }
    all
}
