//! `sudo`: root may everything; the unprivileged login may run `rdma` and `dmesg` without a password, and nothing else.

use super::{fails, without_folder};
use crate::lab::machine::{Answer, Login};

/// What the unprivileged login may run.
const ALLOWED: [&str; 2] = ["rdma", "dmesg"];

/// The command that is to run as root, or what sudo says instead.
pub fn run(words: &[String], login: &Login) -> Result<Vec<String>, Answer> {
    let mut words = words.iter().map(String::as_str).peekable();
    let mut asks_nothing = false;
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        match option {
            "--" => break,
            "-n" | "--non-interactive" => asks_nothing = true,
            "-p" | "-u" | "--prompt" | "--user" => drop(words.next()),
            // Forgetting what is remembered needs no command.
            "-k" | "-K" if words.peek().is_none() => return Err(Answer::default()),
            _ => asks_nothing |= option.starts_with('-') && !option.starts_with("--") && option.contains('n'),
        }
    }
    let argv: Vec<String> = words.map(str::to_owned).collect();
    let Some(name) = argv.first() else {
        // Source: sudo(8), shortened to its first line. UNSOURCED beyond it.
        return Err(fails("usage: sudo -h | -K | -k | -V\n", 1));
    };
    if login.is_root || ALLOWED.contains(&without_folder(name)) {
        return Ok(argv);
    }
    // Source: capture "sudo -n true" of the login `lab` on a Debian 12 guest.
    let refusal = "sudo: a password is required\n";
    if asks_nothing {
        return Err(fails(refusal, 1));
    }
    // Without a terminal; the words of sudo 1.9. UNSOURCED: no capture shows them.
    let no_terminal = "sudo: a terminal is required to read the password; either use the -S option to read from standard input or \
                       configure an askpass helper\n";
    Err(fails(format!("{no_terminal}{refusal}"), 1))
}
