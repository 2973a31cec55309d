//! What is typed at the plain console: lines, edited and echoed by the terminal itself, and secrets, which it does not
//! echo. Standard input is read on a thread of its own, which ends with the program.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use crate::config::error::nearest;

/// The longest line that is taken, in bytes.
const LONGEST_LINE: usize = 64 * 1024;

/// What can be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What can be typed, and what it does.
    Help,
    /// How one target stands, or all.
    Status(Option<String>),
    /// The newest events.
    Events(usize),
    /// Everything that is known of a target.
    Values(String),
    /// Connect again.
    Reconnect(String),
    /// Read everything now.
    Read(String),
    /// What moves, now.
    Traffic,
    /// Read the configuration again.
    Reload,
    /// Leave.
    Quit,
}

/// The commands with their descriptions, as `help` prints them.
pub const HELP: [&str; 9] = [
    "help                  this list",
    "status [TARGET]       how all targets stand, or one",
    "events [COUNT]        the newest events, 20 without a number",
    "values TARGET         everything that is known of a target",
    "read TARGET           read everything of a target now",
    "reconnect TARGET      connect again now",
    "traffic               what moves now; an empty line does the same",
    "reload                read the configuration again",
    "quit                  leave",
];

impl Command {
    /// Reads a line; the error says what would be right.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return Ok(Self::Traffic) };
        let word = words.next().map(str::to_owned);
        if words.next().is_some() {
            return Err(format!("{name} takes one word at most; help lists all"));
        }
        let target = |word: Option<String>| word.ok_or_else(|| format!("{name} needs the name of a target"));
        let alone = |command, word: &Option<String>| match word {
            None => Ok(command),
            Some(word) => Err(format!("{name} stands alone, without {word:?}")),
        };
        match name {
            "help" | "?" => alone(Self::Help, &word),
            "status" => Ok(Self::Status(word)),
            "events" => match word.as_deref().map_or(Ok(20), str::parse) {
                Ok(count) => Ok(Self::Events(count)),
                Err(_) => Err("events takes a number".to_owned()),
            },
            "values" => target(word).map(Self::Values),
            "reconnect" => target(word).map(Self::Reconnect),
            "read" => target(word).map(Self::Read),
            "traffic" => alone(Self::Traffic, &word),
            "reload" => alone(Self::Reload, &word),
            "quit" | "exit" | "q" => alone(Self::Quit, &word),
            other => {
                let names = HELP.map(|line| line.split(' ').next().unwrap_or_default());
                let meant =
                    nearest(other, names).map_or_else(|| ";".to_owned(), |name| format!("; did you mean {name}?"));
                Err(format!("there is no command {:?}{meant} help lists all", crate::fabric::Text::new(other).as_str()))
            }
        }
    }
}

/// Lines as they are typed; the channel ends with the input.
pub fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    // Without a thread nothing can be typed, and the console goes on.
    let _ = std::thread::Builder::new().name("rdmascope-typed".to_owned()).spawn(move || {
        let mut line: Vec<u8> = Vec::new();
        let mut buffer = [0_u8; 1024];
        loop {
            let count = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(0) => return,
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            };
            for byte in &mut buffer[..count] {
                if *byte == b'\n' {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    // What was typed may have been a secret.
                    line.fill(0);
                    line.clear();
                    if sender.blocking_send(text).is_err() {
                        return;
                    }
                } else if line.len() < LONGEST_LINE {
                    line.push(*byte);
                }
                *byte = 0;
            }
        }
    });
    receiver
}

/// Keeps the terminal from showing what is typed, until it is dropped. What was typed before is thrown away: it was not
/// meant as an answer.
#[derive(Debug)]
pub struct Unseen {
    modes: Termios,
}

impl Unseen {
    /// From now on.
    pub fn begin() -> io::Result<Self> {
        let modes = tcgetattr(rustix::stdio::stdin())?;
        let mut silent = modes.clone();
        silent.local_modes -= LocalModes::ECHO;
        silent.local_modes |= LocalModes::ICANON;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { modes })
    }
}

impl Drop for Unseen {
    /// Half of a secret that was typed goes to nobody: neither to the next command nor to the shell.
    fn drop(&mut self) {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.modes);
    }
}

/// True if somebody can type and see.
pub fn is_interactive() -> bool {
    isatty(rustix::stdio::stdin()) && isatty(rustix::stdio::stdout())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_and_mistakes_say_what_is_right() {
        for (line, expected) in [
            ("", Command::Traffic),
            ("  help ", Command::Help),
            ("status", Command::Status(None)),
            ("status vm1", Command::Status(Some("vm1".to_owned()))),
            ("events", Command::Events(20)),
            ("events 3", Command::Events(3)),
            ("values vm1", Command::Values("vm1".to_owned())),
            ("quit", Command::Quit),
        ] {
            assert_eq!(Command::parse(line), Ok(expected), "{line}");
        }
        for (line, expected) in [
            ("stats", "there is no command \"stats\"; did you mean status? help lists all"),
            ("values", "values needs the name of a target"),
            ("events many", "events takes a number"),
            ("quit now", "quit stands alone, without \"now\""),
            ("read a b", "read takes one word at most; help lists all"),
            ("\u{1b}[2J", "there is no command \"\"; help lists all"),
        ] {
            assert_eq!(Command::parse(line), Err(expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn every_line_of_the_help_is_a_command() {
        for line in HELP {
            let name = line.split(' ').next().expect("a name");
            let word = if line.contains(" TARGET") { " x" } else { "" };
            assert!(Command::parse(&format!("{name}{word}")).is_ok(), "{line}");
        }
    }
}
