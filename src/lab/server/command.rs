//! A command line that somebody sent: taken apart into words and given to the machine. Nothing is executed, so only a
//! plain command has an answer; what a shell alone could do (pipes, redirections, substitutions, variables) is refused
//! by name.

use super::print::{Printed, expand, is_pattern, not_found};
use crate::lab::machine::{Answer, Login, Machine};

/// Command lines that mean a shell which reads its script from its input.
const SHELLS: [&str; 6] = ["/bin/sh -s", "sh -s", "/bin/sh", "sh", "bash -s", "/bin/bash -s"];

/// What the account without privileges may do under `sudo`.
const MAY_SUDO: [&str; 2] = ["rdma", "dmesg"];

/// True if the command line means a shell.
pub fn is_shell(line: &str) -> bool {
    SHELLS.contains(&line.trim())
}

/// Answers a command line.
pub fn answer(machine: &dyn Machine, login: &Login, line: &str) -> Printed {
    if let Some(sign) = needs_a_shell(line) {
        let text = format!(
            "rdmascope lab: nothing is executed here, so there is no shell: one plain command at a time, without {sign}\n"
        );
        return Printed { stderr: text.into_bytes(), status: 2, ..Printed::default() };
    }
    let Some(words) = shlex::split(line) else {
        let text = "sh: 1: Syntax error: Unterminated quoted string\n";
        return Printed { stderr: text.into(), status: 2, ..Printed::default() };
    };
    let bare: Vec<&str> = line.split_whitespace().collect();
    let words: Vec<String> = words
        .into_iter()
        .skip_while(|word| is_assignment(word))
        // A pattern in quotes is none.
        .flat_map(
            |word| if is_pattern(&word) && bare.contains(&word.as_str()) { expand(machine, &word) } else { vec![word] },
        )
        .collect();
    let (words, sudo) = match under_sudo(&words) {
        Ok(found) => found,
        Err(complaint) => return Printed { stderr: complaint.into_bytes(), status: 1, ..Printed::default() },
    };
    let Some(program) = words.first() else { return Printed::default() };
    let printed = Printed::from(run_as(machine, login, words, sudo));
    if printed.status == 127 && printed.stdout.is_empty() && printed.stderr.is_empty() {
        return not_found(program);
    }
    printed
}

/// Folders of programs. A machine knows its programs by their names.
const PROGRAMS: [&str; 6] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Runs a command on a machine, under `sudo` if that is wanted and allowed.
pub fn run_as(machine: &dyn Machine, login: &Login, words: &[String], sudo: bool) -> Answer {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut()
        && let Some(name) = PROGRAMS.iter().find_map(|folder| program.strip_prefix(folder))
        && !name.contains('/')
    {
        *program = name.to_owned();
    }
    let words = &words[..];
    if !sudo {
        return machine.run(words, login);
    }
    let program = words.first().map(String::as_str).unwrap_or_default();
    if !login.is_root && !MAY_SUDO.contains(&program) {
        let stderr = "sudo: a password is required\n".to_owned();
        return Answer { stderr, status: 1, ..Answer::default() };
    }
    let mut raised = login.clone();
    raised.is_root = true;
    machine.run(words, &raised)
}

/// The command behind `sudo` and whether there was one.
fn under_sudo(words: &[String]) -> Result<(&[String], bool), String> {
    let Some((first, mut rest)) = words.split_first() else { return Ok((words, false)) };
    if first != "sudo" {
        return Ok((words, false));
    }
    while let Some((option, after)) = rest.split_first().filter(|(word, _)| word.starts_with('-')) {
        rest = after;
        match option.as_str() {
            "-n" => {}
            "--" => break,
            other => return Err(format!("sudo: the lab knows only `sudo -n COMMAND`, not {other}\n")),
        }
    }
    if rest.is_empty() { Err("usage: sudo [-n] command\n".to_owned()) } else { Ok((rest, true)) }
}

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| crate::probe::dialect::posix::is_name(name))
}

/// The first sign that only a shell could follow, outside of quotes.
fn needs_a_shell(line: &str) -> Option<String> {
    let mut quote = None;
    let mut characters = line.trim().chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (Some('"') | None, '\\') => {
                characters.next();
            }
            (Some('"') | None, '$' | '`') | (None, '|' | '&' | ';' | '<' | '>' | '(' | ')') => {
                return Some(format!("`{character}`").replace("```", "backticks"));
            }
            (None, '\n') => return Some("a second line".to_owned()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::testing::TestMachine;

    fn login(user: &str) -> Login {
        Login { user: user.to_owned(), is_root: user == "root" }
    }

    fn said(line: &str, user: &str) -> (String, String, u32) {
        let machine = TestMachine::new("t")
            .file("/sys/a/mtu", "1\n")
            .file("/sys/b/mtu", "2\n")
            .says("cat /sys/a/mtu /sys/b/mtu", "1\n2\n", 0)
            .says("echo /sys/*/mtu", "a pattern\n", 0)
            .says("echo it's $(x)", "quoted\n", 0)
            .says("rdma link", "link\n", 0);
        let printed = answer(&machine, &login(user), line);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(printed.stdout), text(printed.stderr), printed.status)
    }

    #[test]
    fn plain_commands_have_answers() {
        assert_eq!(said("rdma link", "root").0, "link\n");
        assert_eq!(said("  LC_ALL=C rdma 'link' ", "root").0, "link\n");
        assert_eq!(said("cat /sys/*/mtu", "root").0, "1\n2\n");
        assert_eq!(said("echo '/sys/*/mtu'", "root").0, "a pattern\n");
        assert_eq!(said("echo \"it's\" '$(x)'", "root").0, "quoted\n");
        assert_eq!(said("", "root"), (String::new(), String::new(), 0));
        assert_eq!(said("nope -x", "root"), (String::new(), "sh: 1: nope: not found\n".to_owned(), 127));
    }

    #[test]
    fn what_needs_a_shell_is_refused_by_name() {
        for (line, sign) in [
            ("dmesg | tail", "`|`"),
            ("echo $(touch /tmp/x)", "`$`"),
            ("echo `touch /tmp/x`", "backticks"),
            ("echo \"$HOME\"", "`$`"),
            ("true; touch x", "`;`"),
            ("cat <x", "`<`"),
            ("true\ntouch x", "a second line"),
        ] {
            let (stdout, stderr, status) = said(line, "root");
            assert_eq!((stdout.as_str(), status), ("", 2), "{line}");
            assert!(stderr.ends_with(&format!("without {sign}\n")), "{line}: {stderr}");
        }
        assert_eq!(said("echo 'x", "root").2, 2);
    }

    #[test]
    fn sudo_raises_what_is_allowed() {
        assert_eq!(said("sudo -n rdma link", "lab").0, "link\n");
        assert_eq!(said("sudo rdma link", "root").0, "link\n");
        assert_eq!(said("sudo -n -- /usr/sbin/rdma link", "lab").0, "link\n");
        assert_eq!(said("sudo -n /tmp/rdma link", "lab").2, 1);
        assert_eq!(said("sudo -n cat /etc/shadow", "lab").1, "sudo: a password is required\n");
        assert_eq!(said("sudo", "lab").2, 1);
        assert_eq!(said("sudo -u x rdma link", "lab").2, 1);
    }

    #[test]
    fn a_shell_is_known_by_its_words() {
        assert!(is_shell("/bin/sh -s") && is_shell(" sh -s "));
        assert!(!is_shell("sh -c ls") && !is_shell("shutdown"));
    }
}
