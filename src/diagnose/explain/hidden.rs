//! Takes secrets out of a text before anything is made of it, so that no fact, no excerpt and no remedy can hold one. The
//! rules are those for what is read on a host: settings, dumps and logs by the names of their values, notes of people by
//! where they stand; scripts and commands by what their options and variables mean.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::kind;
use super::parts::{self, Line};
use crate::diagnose::myth::is_command;
use crate::probe::esxi::{MASK, masked, masked_commands, secret, without_annotations};
use crate::probe::needles::Needles;

/// The lines without secrets, as many as before and with the same numbers.
pub(super) fn without_secrets<'a>(path: &str, lines: &'a [Line<'_>]) -> Vec<Line<'a>> {
    let groups: Vec<u64> = lines.iter().map(|(_, line)| WORDS.groups(line)).collect();
    let named: Vec<bool> = lines.iter().map(|(_, line)| secret(line)).collect();
    let may_hold = named.contains(&true) || groups.iter().any(|groups| groups >> SNAPSHOT & 1 == 1);
    let is_script = kind::script(path, lines).is_some();
    // A log of many megabytes is not copied for nothing.
    let is_copied = may_hold || is_script;
    let mut text = String::new();
    for (_, line) in lines.iter().filter(|_| is_copied) {
        text.push_str(line);
        text.push('\n');
    }
    let text = if may_hold { masked(&text) } else { Cow::Borrowed(&*text) };
    let text = if is_script { masked_commands(&text) } else { text };
    let mut shown: Vec<Cow<'_, str>> = if is_copied {
        text.split('\n').map(Cow::Borrowed).collect()
    } else {
        lines.iter().map(|(_, line)| Cow::Borrowed(&**line)).collect()
    };
    shown.truncate(lines.len());
    if !is_script {
        notes(&mut shown);
        commands(&mut shown, |at| named[at] || groups[at] >> COMMAND & 1 == 1);
    }
    let same = |raw: &'a str, shown: Cow<'_, str>| {
        if shown == raw { Cow::Borrowed(raw) } else { Cow::Owned(shown.into_owned()) }
    };
    lines.iter().zip(shown).map(|((number, line), shown)| (*number, same(line, shown))).collect()
}

/// Hides the notes in tables of VMs: from their titles to an empty line or the next prompt.
fn notes(lines: &mut [Cow<'_, str>]) {
    let mut at = 0;
    while at < lines.len() {
        if !lines[at].starts_with("Vmid ") {
            at += 1;
            continue;
        }
        let ends = |line: &Cow<'_, str>| line.trim().is_empty() || parts::is_prompt(line);
        let end = lines[at..].iter().position(ends).map_or(lines.len(), |length| at + length);
        let table = lines[at..end].join("\n");
        for (line, shown) in lines[at..end].iter_mut().zip(without_annotations(&table).split('\n')) {
            if **line != *shown {
                *line = Cow::Owned(shown.to_owned());
            }
        }
        at = end;
    }
}

/// Hides what commands give away: at a prompt or alone, in a log of a shell, in a copy of a script. `may_hold` tells of a
/// line whether its words can be those of one, or of a secret.
fn commands(lines: &mut [Cow<'_, str>], may_hold: impl Fn(usize) -> bool) {
    let mut at = 0;
    while at < lines.len() {
        let mut end = at + 1;
        let line = &*lines[at];
        // Blanks of other alphabets part words too.
        let is_looked_at = may_hold(at) || !line.is_ascii();
        if begins_command(line) || is_looked_at && holds_command(line) {
            // It goes on behind a backslash.
            while end < lines.len() && lines[end - 1].ends_with('\\') {
                end += 1;
            }
            let command = lines[at..end].join("\n");
            let (before, behind) = command.split_at(prompt_end(&lines[at]));
            let shown = format!("{before}{}", masked_commands(behind));
            if shown != command {
                for (line, shown) in lines[at..end].iter_mut().zip(shown.split('\n')) {
                    *line = Cow::Owned(shown.to_owned());
                }
            }
        } else if is_looked_at && let Some(end) = said(line).or_else(|| named(line)) {
            let shown = format!("{} {MASK}", &lines[at][..end]);
            lines[at] = Cow::Owned(shown);
        }
        at = end;
    }
}

/// Where a command begins behind its prompt, or behind what a log puts before it.
fn prompt_end(line: &str) -> usize {
    let head = &line[..line.find(" -").unwrap_or(line.len())];
    let Some(bracket) = head.rfind(']') else { return 0 };
    let rest = line[bracket + 1..].trim_start_matches([':', '#', '$', ' ']);
    line.len() - rest.len()
}

/// Commands that are given secrets, as they stand before their options.
const GIVEN: [&str; 8] =
    ["sshpass ", "openssl ", "mysql ", "mariadb ", "ipmitool ", "smbclient ", "ldapsearch ", "7z "];

/// Group of the words of notes at snapshots.
const SNAPSHOT: u8 = 0;
/// Group of the words without one of which a line holds no command.
const COMMAND: u8 = 1;

static WORDS: LazyLock<Needles> = LazyLock::new(|| {
    let commands = GIVEN.into_iter().chain(["://", ".sh:", " -p", "\t-p", "private key-----"]);
    Needles::new(commands.map(|word| (word, COMMAND)).chain([("snapshot", SNAPSHOT)]))
});

/// True for a line that is a command, or has one behind its prompt.
fn begins_command(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    is_command(first.trim_start_matches(['#', '$', '>'])) || parts::is_prompt(line)
}

/// True for a line in which options and addresses are those of a command.
fn holds_command(line: &str) -> bool {
    (line.starts_with('/') && line.contains(".sh:"))
        || (line.contains("://") && line.contains(['@', '?']))
        || GIVEN.iter().any(|command| line.contains(command))
        || line.split_whitespace().skip(1).any(|word| word == "-p" || (word.starts_with('-') && secret(word)))
        || (line.contains("passwd") && line.contains('|'))
        || line.contains("PRIVATE KEY-----")
}

/// The end of the name of a setting that is a secret, where the line begins with it and assigns nothing: `machine.id x`.
fn named(line: &str) -> Option<usize> {
    let (name, value) = line.trim_start().split_once([' ', '\t'])?;
    let is_name = name.contains('.') && secret(name) && !line.contains('=');
    (is_name && !matches!(value.trim(), "" | MASK)).then(|| line.len() - line.trim_start().len() + name.len())
}

/// Where a secret is said in words, `password: x`: behind the colon.
fn said(line: &str) -> Option<usize> {
    line.match_indices(": ").find_map(|(at, _)| {
        let word = line[..at].rsplit([' ', '\t', '"', '\'', '[', '(']).next()?;
        let value = line[at + 1..].trim();
        (secret(word) && !value.is_empty() && value != MASK).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> String {
        let lines: Vec<Line<'_>> = (1..).zip(text.lines().map(Cow::Borrowed)).collect();
        let shown = without_secrets(path, &lines);
        assert_eq!(shown.len(), lines.len());
        shown.iter().flat_map(|(_, line)| [&**line, "\n"]).collect()
    }

    #[test]
    fn each_kind_of_text_loses_its_secrets_and_keeps_the_rest() {
        for (path, text, wanted) in [
            ("-", "memSize = \"4\"\nguestinfo.a = \"HIDDEN\"\n", "memSize = \"4\"\nguestinfo.a = \"<masked>\"\n"),
            (
                "-",
                "[root@esx:~] esxcli -s vc -p HIDDEN network nic list\nName\n",
                "[root@esx:~] esxcli -s vc -p <masked> network nic list\nName\n",
            ),
            (
                "-",
                "esxcli --password \\\n  HIDDEN \\\n  network nic list\n",
                "esxcli --password \\\n  <masked> \\\n  network nic list\n",
            ),
            (
                "-",
                "I ran sshpass -pHIDDEN ssh root@esx01 and it hangs\n",
                "I ran sshpass -p<masked> ssh root@esx01 and it hangs\n",
            ),
            ("-", "the log: https://h/l.gz?sv=1&sig=HIDDEN\n", "the log: https://h/l.gz?sv=1&sig=<masked>\n"),
            (
                "-",
                "Nov 30 12:00:01 n1 sudo[7]: root : COMMAND=/usr/bin/openssl enc -k HIDDEN -in a\n",
                "Nov 30 12:00:01 n1 sudo[7]: root : COMMAND=/usr/bin/openssl enc -k <masked> -in a\n",
            ),
            (
                "-",
                "BOOT_IMAGE=/vmlinuz ro ks.password=HIDDEN quiet\n",
                "BOOT_IMAGE=/vmlinuz ro ks.password= \"<masked>\"\n",
            ),
            ("local.sh", "tool -p HIDDEN\nPW=HIDDEN\nexit 0\n", "tool -p <masked>\nPW=<masked>\nexit 0\n"),
            ("-", "/etc/rc.local.d/local.sh:PW=HIDDEN\n", "/etc/rc.local.d/local.sh:PW=<masked>\n"),
            (
                "-",
                "2024-01-01T00:00:00Z shell[1]: [root]: tool --password HIDDEN x\n",
                "2024-01-01T00:00:00Z shell[1]: [root]: tool --password <masked> x\n",
            ),
            (
                "-",
                "2024-01-01T00:00:00Z sfcb[1]: the password: HIDDEN HIDDEN\n",
                "2024-01-01T00:00:00Z sfcb[1]: the password: <masked>\n",
            ),
            (
                "-",
                "--Snapshot Name        : HIDDEN\n--Snapshot Id        : 1\n",
                "--Snapshot Name        : <masked>\n--Snapshot Id        : 1\n",
            ),
            (
                "-",
                "Vmid   Name   File   Guest OS   Version   Annotation\n3      vm001   [ds] vm001/vm001.vmx   ubuntu64Guest   vmx-11   HIDDEN\nHIDDEN\n\nesxcli rdma device list\n",
                "Vmid   Name   File   Guest OS   Version   Annotation\n3      vm001   [ds] vm001/vm001.vmx   ubuntu64Guest   vmx-11   <masked>\n<masked>\n\nesxcli rdma device list\n",
            ),
        ] {
            assert_eq!(shown(path, text), wanted);
        }
    }

    #[test]
    fn evidence_stays() {
        let text = "sched.mem.pin = \"TRUE\"\nmlx5: P_Key: 0xffff\n[root@esx:~] mkdir -p /tmp/x\nesxcli system module parameters set -m nmlx5_core -p pfctx=8\n\
                    --Snapshot Id        : 1\n   Path: /Security/PasswordQualityControl\n   String Value: retry=3\n";
        assert_eq!(shown("-", text), text);
    }
}
