//! Messages of guests that are recognised by their words alone, wherever they stand and however they were broken into lines.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{journal, launch, nccl, nvidia_smi_errors, open_mpi, perftest_errors, ucx};
use crate::diagnose::explain::parts::Line;
use crate::diagnose::explain::squeezed::{self, squeezed};
use crate::diagnose::explain::{Explained, Kind, MOST_EVIDENCE};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::probe::needles::Needles;

/// One message, or several that say the same.
pub(super) struct Said {
    /// Each of these says it.
    pub(super) words: &'static [&'static str],
    /// Of each of these, one has to stand somewhere in the text too.
    pub(super) with: &'static [&'static [&'static str]],
    /// Words that make it another one, or only a consequence.
    pub(super) unless: &'static [&'static str],
    /// What the text is if it says so.
    pub(super) kind: Kind,
    /// Id, as that of the check that looks for the same.
    pub(super) check: &'static str,
    pub(super) status: Status,
    pub(super) confidence: Confidence,
    pub(super) subject: &'static str,
    /// What is the matter. `{}` stands for the word behind those that were found, or for the subject.
    pub(super) title: &'static str,
    /// What it means.
    pub(super) cause: &'static str,
    /// Why it can be so, what is likelier first.
    pub(super) causes: &'static [(Confidence, &'static str)],
    /// What would settle it.
    pub(super) decide: &'static str,
    /// What to run next.
    pub(super) next: &'static [&'static str],
}

/// A message with nothing in it, to begin with.
pub(super) const SAID: Said = Said {
    words: &[],
    with: &[],
    unless: &[],
    kind: Kind::Text,
    check: "",
    status: Status::Fail,
    confidence: Confidence::Proved,
    subject: "",
    title: "",
    cause: "",
    causes: &[],
    decide: "",
    next: &[],
};

/// All lists.
const ALL: [&[Said]; 7] = [
    perftest_errors::SAID_BY,
    ucx::SAID_BY,
    open_mpi::SAID_BY,
    launch::SAID_BY,
    nccl::SAID_BY,
    nvidia_smi_errors::SAID_BY,
    journal::SAID_BY,
];

fn all() -> impl Iterator<Item = &'static Said> {
    ALL.into_iter().flatten()
}

/// All words that are looked for.
static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let of =
        |said: &'static Said| said.words.iter().chain(said.unless).chain(said.with.iter().copied().flatten()).copied();
    let all: BTreeSet<&str> = all().flat_map(of).collect();
    all.into_iter().collect()
});
static NEEDLES: LazyLock<Needles<u16>> =
    LazyLock::new(|| Needles::new(WORDS.iter().map(|words| squeezed(words)).zip(0_u16..)));

/// Reads what such messages say.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut seen: Vec<Vec<u32>> = vec![Vec::new(); WORDS.len()];
    squeezed::each(lines, &NEEDLES, |group, line, _| {
        if let Some(places) = seen.get_mut(usize::from(group))
            && places.len() < MOST_EVIDENCE
            && places.last() != Some(&line)
        {
            places.push(line);
        }
    });
    let at =
        |words: &str| WORDS.binary_search(&words).ok().and_then(|at| seen.get(at)).map_or(&[] as &[u32], Vec::as_slice);
    let any = |words: &[&str]| words.iter().any(|words| !at(words).is_empty());
    let raw = |line: u32| {
        let after = lines.partition_point(|(number, _)| *number <= line);
        after.checked_sub(1).map_or("", |at| &*lines[at].1)
    };
    for said in all() {
        let places: BTreeSet<u32> = said.words.iter().flat_map(|words| at(words)).copied().collect();
        if places.is_empty() {
            continue;
        }
        if said.kind != Kind::Text {
            explained.is(said.kind);
        }
        if any(said.unless) || !said.with.iter().all(|words| any(words)) {
            continue;
        }
        let behind = said.words.iter().find_map(|words| {
            let line = raw(*at(words).first()?);
            behind(line, words)
        });
        let title = said.title.replace("{}", behind.unwrap_or(said.subject));
        let mut finding = Finding::new(said.check, said.status, said.confidence, said.subject, &title, &why(said));
        for line in places.into_iter().take(MOST_EVIDENCE) {
            finding = finding.shown(line, raw(line).trim());
        }
        finding = finding.decided_by(said.decide);
        if !said.next.is_empty() {
            finding = finding.helped_by("Look further", said.next, "");
        }
        explained.finding(finding);
    }
}

/// The word that stands behind these in a line; nothing if they are broken over two lines.
fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let at = line.to_ascii_lowercase().find(&words.to_ascii_lowercase())? + words.len();
    let word = line.get(at..)?.split_whitespace().next()?.trim_matches(['\'', '"', ',', ';', ')', '(', ':', '.']);
    (!word.is_empty() && word.len() < 80).then_some(word)
}

/// What it means, and the causes one after the other.
fn why(said: &Said) -> String {
    let mut why = said.cause.to_owned();
    for (at, (confidence, cause)) in said.causes.iter().enumerate() {
        if !why.is_empty() {
            why.push(' ');
        }
        let repeated = at > 0 && said.causes[at - 1].0 == *confidence;
        why.push_str(match confidence {
            _ if repeated => "Or",
            Confidence::Proved => "Because",
            Confidence::Likely => "Likely",
            Confidence::Possible => "Possible",
        });
        why.push_str(": ");
        why.push_str(cause);
        why.push('.');
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        for said in all() {
            assert!(!said.words.is_empty() && !said.title.is_empty() && said.check.contains('.'), "{}", said.title);
            assert!(
                said.words.iter().all(|words| squeezed(words).len() >= 8),
                "{:?}: too short to be sure",
                said.words
            );
            // What is told says what to do next, or what would settle it.
            assert!(!said.next.is_empty() || !said.decide.is_empty() || said.status == Status::Info, "{}", said.title);
            assert!(!said.cause.is_empty() || !said.causes.is_empty(), "{}", said.title);
            assert!(said.causes.iter().all(|(_, cause)| !cause.ends_with('.')), "{}", said.title);
        }
        assert!(WORDS.len() < usize::from(u16::MAX));
    }

    /// Each message is recognised by its own words, and a text that lacks what else it needs does not get it.
    #[test]
    fn each_message_is_found_by_its_words_and_needs_what_it_needs() {
        use crate::diagnose::explain::explain;
        let told = |text: &str, said: &Said| {
            explain("-", text.as_bytes()).findings.iter().any(|finding| {
                finding.check == said.check && said.title.split("{}").all(|piece| finding.title.contains(piece.trim()))
            })
        };
        for said in all() {
            let with: String = said.with.iter().flat_map(|words| [words[0], "\n"]).collect();
            for words in said.words {
                let text = format!("{words} 192.0.2.7\n{with}");
                // A word can hold one that speaks against it.
                if said.unless.iter().any(|other| squeezed(&text).contains(&squeezed(other))) {
                    continue;
                }
                assert!(told(&text, said), "{text}");
                for other in said.unless {
                    assert!(!told(&format!("{text}{other}\n"), said), "{text}{other}");
                }
                if !said.with.is_empty()
                    && !said.with.iter().flat_map(|with| with.iter()).any(|with| words.contains(with))
                {
                    assert!(!told(&format!("{words}\n"), said), "{words} alone");
                }
                // The same without its last word is something else.
                if let Some((begin, _)) = words.rsplit_once(' ')
                    && !said.words.iter().any(|other| squeezed(begin).contains(&squeezed(other)))
                {
                    assert!(!told(&format!("{begin}\n{with}"), said), "{begin} is cut and yet: {}", said.title);
                }
            }
        }
    }
}
