//! The answer of `ssh -G -- NAME`: one `keyword value` line for each setting in force, keywords in lower case, quotes
//! lost.

use super::super::address::Address;
use super::keyword::{Treatment, find};
use super::settle::{Said, Spoken, settle};
use super::{OpenSshError, Resolved, Surroundings};

/// Reads the answer of `ssh -G` about `asked`. Keywords that this program does not know are no concern: ssh itself has
/// already checked the configuration.
pub fn parse_ssh_g(text: &str, asked: &Address, surroundings: &Surroundings) -> Result<Resolved, OpenSshError> {
    let place = format!("ssh -G {}", asked.host);
    let mut said = Said::default();
    for line in text.lines() {
        let Some((word, rest)) = line.trim_end_matches('\r').split_once(' ') else { continue };
        let Some((keyword, treatment)) = find(word) else { continue };
        let words = match (keyword, treatment) {
            // ssh has made the name canonical before it printed it.
            ("CanonicalizeHostname", _) | (_, Treatment::Ignored(_) | Treatment::Obsolete | Treatment::Structure) => {
                continue;
            }
            (_, Treatment::FirstList) => paths(rest),
            _ => vec![rest.to_owned()],
        };
        said.say(keyword, treatment, Spoken { words, place: place.clone() });
    }
    for needed in ["HostName", "User", "Port"] {
        if said.first(needed).is_none() {
            let what = format!("the answer lacks {}, so it is none of ssh's", needed.to_lowercase());
            return Err(OpenSshError::Malformed { place, what });
        }
    }
    // ssh prints no identity file at all only where none is to be used.
    if said.first("IdentityFile").is_none() {
        said.say("IdentityFile", Treatment::Each, Spoken { words: vec!["none".to_owned()], place });
    }
    settle(said, asked, surroundings)
}

/// A list of paths parted by blanks. Paths with blanks in them have lost their quotes, so a piece that does not begin
/// like a path belongs to the one before.
fn paths(rest: &str) -> Vec<String> {
    let begins = |piece: &str| piece.starts_with(['/', '~', '%', '$']);
    let first_is_path = rest.split(' ').next().is_some_and(begins);
    let mut paths: Vec<String> = Vec::new();
    for piece in rest.split(' ') {
        match paths.last_mut() {
            Some(last) if first_is_path && !begins(piece) => {
                last.push(' ');
                last.push_str(piece);
            }
            _ if piece.is_empty() => {}
            _ => paths.push(piece.to_owned()),
        }
    }
    paths
}
