//! Asking before something is done that the user must want.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::fabric::text::clean_line;

/// How something is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// `--yes`: all of it.
    Given,
    /// Each time the user is asked at the terminal.
    Ask,
    /// There is nobody to ask.
    Nobody,
}

impl Consent {
    /// By the option `--yes`, and by whether there is a terminal.
    pub(super) fn of(yes: bool) -> Self {
        match (yes, io::stdin().is_terminal() && io::stderr().is_terminal()) {
            (true, _) => Self::Given,
            (false, true) => Self::Ask,
            (false, false) => Self::Nobody,
        }
    }
}

/// Asks at the terminal; anything but a clear yes is no.
pub(super) fn ask(question: &str) -> bool {
    let mut stderr = io::stderr().lock();
    let asked = write!(stderr, "{} [y/N] ", clean_line(question));
    let mut answer = String::new();
    if asked.and_then(|()| stderr.flush()).is_err() || io::stdin().lock().read_line(&mut answer).is_err() {
        return false;
    }
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
