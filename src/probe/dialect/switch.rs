//! Switches: how a source becomes a command line for them, and when an answer is none. Systems with a command line of
//! their own ([`SwitchSystem::has_shell`] is false) get one command at a time and never a script: there is no sh that could take one.
//! What they refuse they say in words, often with an exit status of 0.

use crate::fabric::{Outcome, Text};
use crate::probe::switch::SwitchSystem;
use crate::probe::{Read, Word};

/// How long one command may take on a switch, in seconds: the processors of switches are slow, and large tables long.
pub const COMMAND_SECONDS: u64 = 15;

/// A complaint stands among so few lines, or is the first thing said.
const FEW_LINES: usize = 12;

/// What the makers call it.
pub fn title(system: SwitchSystem) -> &'static str {
    match system {
        SwitchSystem::Eos => "Arista EOS",
        SwitchSystem::NxOs => "Cisco NX-OS",
        SwitchSystem::Cumulus => "Cumulus Linux",
        SwitchSystem::Sonic => "SONiC",
        SwitchSystem::Onyx => "NVIDIA Onyx",
    }
}

/// True for the name of a port, a VLAN or a neighbour that may stand in a command: nothing in it is special to any
/// command line, so it cannot become a second command.
pub fn is_name(text: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._:/@ -".contains(character);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain) && text.trim() == text
}

/// The command line that reads this on a switch without a shell; `None` for what only a shell could do.
pub fn command(system: SwitchSystem, read: &Read) -> Option<String> {
    let Read::Command { argv, keep: None } = read else { return None };
    line(system, argv, None)
}

/// The command line of these words, in which `name` (of a port) stands for the item. `None` where the name could be more
/// than a name.
pub fn line(system: SwitchSystem, argv: &[Word], name: Option<&str>) -> Option<String> {
    let mut words = Vec::new();
    for word in argv {
        words.push(match word {
            Word::Plain(text) if !text.chars().any(char::is_control) => (*text).to_owned(),
            Word::Item(before, after) => format!("{before}{}{after}", name.filter(|name| is_name(name))?),
            Word::Plain(_) | Word::Glob(_) => return None,
        });
    }
    let line = words.join(" ");
    if line.trim().is_empty() {
        return None;
    }
    Some(match system {
        // Its login is one without rights at first. Source: "Retrieving Return Codes When Executing Remote Commands" in
        // the Onyx user manual.
        SwitchSystem::Onyx => format!("cli -h \"enable\" \"{line}\""),
        _ => line,
    })
}

/// How a command really ended that says it ended so: what was refused counts as failed, whatever the exit status.
pub fn settled(outcome: Outcome, stdout: &[u8], stderr: &[u8]) -> Outcome {
    match outcome {
        Outcome::Exit(0) if complaint(stdout, stderr).is_some() => Outcome::Exit(1),
        other => other,
    }
}

/// What a command line complains of in place of an answer.
pub fn complaint(stdout: &[u8], stderr: &[u8]) -> Option<Text> {
    [stderr, stdout].into_iter().find_map(|output| {
        // A large answer is one; only its start is looked at.
        let text = String::from_utf8_lossy(&output[..output.len().min(4096)]);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_short = lines.clone().count() <= FEW_LINES;
        let found = lines.by_ref().take(if is_short { FEW_LINES } else { 1 }).find(|line| is_complaint(line));
        found.map(Text::new)
    })
}

/// Source: EOS `% Invalid input`, `% Incomplete command`, `% Unavailable command (not supported on this hardware
/// platform)`, `% Authorization denied`; NX-OS `% Invalid command at '^' marker.`, `% Permission denied for the role`,
/// `Syntax error while parsing '...'`, `Cmd exec error.`; Onyx `% Unrecognized command`; `Error: ...` of all of them.
fn is_complaint(line: &str) -> bool {
    const STARTS: [&str; 4] = ["% ", "Error:", "ERROR:", "Syntax error while parsing"];
    STARTS.iter().any(|start| line.starts_with(start)) || line.starts_with("Cmd exec error")
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Read = Read::Command { argv: &[Word::Plain("show"), Word::Plain("version | json")], keep: None };

    #[test]
    fn a_source_is_one_line_in_the_dialect_of_its_system() {
        assert_eq!(command(SwitchSystem::Eos, &READ).as_deref(), Some("show version | json"));
        assert_eq!(command(SwitchSystem::Onyx, &READ).as_deref(), Some("cli -h \"enable\" \"show version | json\""));
        assert_eq!(command(SwitchSystem::Eos, &Read::Files(&["/etc/*"])), None);
        let pattern = Read::Command { argv: &[Word::Plain("show"), Word::Glob("*")], keep: None };
        assert_eq!(command(SwitchSystem::NxOs, &pattern), None);
        let two = Read::Command { argv: &[Word::Plain("show version\nreload")], keep: None };
        assert_eq!(command(SwitchSystem::NxOs, &two), None);
        assert_eq!(command(SwitchSystem::NxOs, &Read::Command { argv: &[], keep: None }), None);
    }

    #[test]
    fn everything_that_is_read_of_a_switch_without_a_shell_has_a_line() {
        for system in SwitchSystem::ALL.into_iter().filter(|system| !system.has_shell()) {
            for source in system.probes().iter().flat_map(|probe| probe.sources) {
                let line = command(system, &source.read).unwrap_or_else(|| panic!("{}", source.name));
                assert!(!line.contains(['\n', ';', '&', '`', '$']), "{line}");
            }
        }
    }

    #[test]
    fn only_a_name_gets_into_a_command() {
        let words = [Word::Plain("show interfaces"), Word::Item("", "")];
        let with = |name| line(SwitchSystem::Eos, &words, Some(name));
        assert_eq!(with("Ethernet1/4").as_deref(), Some("show interfaces Ethernet1/4"));
        assert_eq!(with("Port-Channel 7").as_deref(), Some("show interfaces Port-Channel 7"));
        for evil in
            ["", " ", "Et1; reload", "Et1 | bash", "Et1\nreload", "Et1$(x)", "Et1\"", "Ét1", "a ", &"a".repeat(65)]
        {
            assert_eq!(with(evil), None, "{evil:?}");
        }
        assert_eq!(line(SwitchSystem::Eos, &words, None), None);
    }

    #[test]
    fn what_was_refused_has_failed() {
        let refused: [(&str, &str); 7] = [
            ("% Invalid input\n", "% Invalid input"),
            (
                "                                         ^\n% Invalid command at '^' marker.\n",
                "% Invalid command at '^' marker.",
            ),
            ("Syntax error while parsing 'show foo'\n\n\nCmd exec error.\n", "Syntax error while parsing 'show foo'"),
            (
                "% Unavailable command (not supported on this hardware platform)\n",
                "% Unavailable command (not supported on this hardware platform)",
            ),
            ("% Unrecognized command \"foo\".\nType \"?\" for help.\n", "% Unrecognized command \"foo\"."),
            ("\n% Permission denied for the role\n", "% Permission denied for the role"),
            ("Error: No such command \"pfc\".\n", "Error: No such command \"pfc\"."),
        ];
        for (said, expected) in refused {
            assert_eq!(complaint(said.as_bytes(), b"").expect("a complaint").as_str(), expected);
            assert_eq!(complaint(b"", said.as_bytes()).expect("a complaint").as_str(), expected);
            assert_eq!(settled(Outcome::Exit(0), said.as_bytes(), b""), Outcome::Exit(1));
            assert_eq!(settled(Outcome::Exit(16), said.as_bytes(), b""), Outcome::Exit(16));
            assert_eq!(settled(Outcome::TimedOut, said.as_bytes(), b""), Outcome::TimedOut);
        }
    }

    #[test]
    fn an_answer_is_no_complaint() {
        let table = "Ethernet1/1 is up\n".repeat(20) + "% Invalid input\n";
        for said in ["", "{\n    \"interfaces\": {}\n}\n", "Port 10 % used\n", "Errors: 0\n", table.as_str()] {
            assert_eq!(complaint(said.as_bytes(), b""), None, "{said}");
            assert_eq!(settled(Outcome::Exit(0), said.as_bytes(), b""), Outcome::Exit(0));
        }
    }
}
