//! Hides secrets in files of a host: settings like those of a VMX, and scripts of people, in which passwords stand as
//! options (`--password x`, `-p x`), as variables, in addresses (`https://user:x@host`), or are given to `chpasswd`.
//!
//! Only the value goes; the command around it is evidence and stays. Options that mean something else to a known command
//! (`mkdir -p`, `esxcli ... -p` behind its namespace) stay, too; to an unknown one `-p` is taken for a password.

use std::borrow::Cow;
use std::ops::Range;

use super::{MASK, masked, secret};

/// Commands to which `-p` is no password, each by the start of its name.
const P_IS_PLAIN: &[&str] = &[
    "mkdir",
    "cp",
    "mv",
    "install",
    "ps",
    "read",
    "ssh",
    "scp",
    "rsync",
    "tar",
    "type",
    "command",
    "declare",
    "export",
    "touch",
    "localcli",
    "vmkload_mod",
    "esxcfg-",
    "nc",
    "ls",
    "date",
    "kill",
    "test",
    "[",
    "set",
    "sed",
    "grep",
    "vmkchdev",
    "lspci",
    "taskset",
    "nice",
    "logger",
    "time",
    "stat",
];

/// Commands that take a password right behind the letter: `-psecret`.
const P_IS_GLUED: &[&str] = &["mysql", "mariadb", "sshpass", "7z"];

/// Options with one dash that are a password or a key to `openssl`, beside those that are named so.
const OF_OPENSSL: &[&str] = &["k", "K", "pass", "passin", "passout", "passwd"];

/// Parameters of addresses that let whoever has the address in: signatures of links that were shared.
const OF_ADDRESSES: &[&str] = &["sig", "signature", "code", "sas", "otp", "pin", "key", "pass", "pwd", "auth"];

/// Commands to which `-P` is a password.
const UPPER_P: &[&str] = &["ipmitool", "unzip", "zip", "ldap"];

/// Parts of a name, between `_` and `-`, that make it that of a secret.
const PARTS: &[&str] = &[
    "pass",
    "pw",
    "pwd",
    "psk",
    "chap",
    "key",
    "auth",
    "community",
    "communities",
    "cred",
    "creds",
    "bearer",
    "hash",
    "pin",
];

/// `path:line` as `grep -H` prints it, without secrets. Each line keeps its number.
pub fn masked_files(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    let pieces: Vec<(&str, &str)> = text.split_inclusive('\n').map(parted).collect();
    for of_one in pieces.chunk_by(|one, other| one.0 == other.0) {
        let path = of_one[0].0;
        let body: String = of_one.iter().map(|(_, body)| *body).collect();
        let body = if path.ends_with(".sh:") { Cow::Borrowed(&*body) } else { masked(&body) };
        for line in masked_commands(&body).split_inclusive('\n') {
            kept.push_str(path);
            kept.push_str(line);
        }
    }
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// A line in its path with the colon, and the rest.
fn parted(line: &str) -> (&str, &str) {
    match line.find(':') {
        Some(colon) if line.starts_with('/') => line.split_at(colon + 1),
        _ => ("", line),
    }
}

/// What the lines above leave open.
#[derive(Default)]
struct Open {
    /// A quote in which a secret stands.
    quote: Option<char>,
    /// An option at the end of a line that goes on awaits its value.
    value: bool,
    /// The command of a line that goes on.
    command: Option<String>,
    /// A private key.
    key: bool,
}

/// A line that is longer, in bytes, is none that people write; nothing of it is shown.
const LONGEST_LINE: usize = 16 * 1024;

/// The text of a script without secrets; as many lines as before.
pub fn masked_commands(text: &str) -> Cow<'_, str> {
    let mut open = Open::default();
    let mut kept = String::with_capacity(text.len());
    for piece in text.split_inclusive('\n') {
        let line = piece.trim_end_matches(['\n', '\r']);
        if line.len() > LONGEST_LINE {
            kept.push_str(MASK);
            kept.push_str(&piece[line.len()..]);
            continue;
        }
        let mut at = 0;
        for hidden in hidden(line, &mut open) {
            if hidden.is_empty() || line[hidden.clone()].trim_matches(['"', '\'']) == MASK {
                continue;
            }
            if hidden.start < at {
                at = at.max(hidden.end);
                continue;
            }
            kept.push_str(&line[at..hidden.start]);
            kept.push_str(MASK);
            at = hidden.end;
        }
        kept.push_str(&line[at..]);
        kept.push_str(&piece[line.len()..]);
    }
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// What is to be hidden in a line, in its order.
fn hidden(line: &str, open: &mut Open) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    if open.key || line.contains("-----BEGIN") && line.contains("PRIVATE KEY") {
        open.key = !line.contains("-----END");
        found.push(0..line.len());
        return found;
    }
    if let Some(quote) = open.quote {
        let Some(end) = line.find(quote) else {
            found.push(0..line.len());
            return found;
        };
        open.quote = None;
        found.push(0..end);
        from = end;
    }
    if std::mem::take(&mut open.value) {
        let value = value(line, from, open);
        from = value.end;
        found.push(value);
    }
    if let Some(given) = given_to_passwd(line) {
        found.push(given);
    }
    let bytes = line.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        let starts =
            at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'_' | b'-' | b'.' | b'/'));
        let (end, value) = match bytes[at] {
            b'-' if starts => option(line, at, open),
            b':' if line[at..].starts_with("://") => user_of_address(line, at + 3),
            b'?' | b'&' if line[..at].contains("://") => parameter(line, at),
            b'$' if is_hash(&line[at..]) => (at, Some(at..word_end(line, at))),
            byte if (starts || bytes[at - 1] == b'/') && (byte.is_ascii_alphabetic() || byte == b'_') => {
                variable(line, at, open)
            }
            _ => (at + 1, None),
        };
        at = match value {
            Some(value) => {
                let end = value.end.max(end).max(at + 1);
                found.push(value);
                end
            }
            None => end.max(at + 1),
        };
        while at < bytes.len() && !line.is_char_boundary(at) {
            at += 1;
        }
    }
    open.command = line.trim_end().ends_with('\\').then(|| command(line, line.len(), open));
    found.sort_by_key(|range| range.start);
    found
}

/// An option that begins here: where its name ends, and its value if that is a secret.
fn option(line: &str, at: usize, open: &mut Open) -> (usize, Option<Range<usize>>) {
    let dashes = line[at..].bytes().take_while(|byte| *byte == b'-').count();
    let start = at + dashes;
    let end = start + line[start..].bytes().take_while(|byte| is_name(*byte)).count();
    let name = &line[start..end];
    let glued = is_given_to(line, at, open, P_IS_GLUED);
    if dashes == 1 && glued && name.len() > 1 && name.starts_with('p') {
        return (end, Some(start + 1..word_end(line, start)));
    }
    // `-p'x y'`, `-p$x`
    if dashes == 1
        && glued
        && name == "p"
        && line[end..].starts_with(|next: char| !next.is_whitespace() && next != '\\')
    {
        return (end, Some(value(line, end, open)));
    }
    let is_secret = match (dashes, name) {
        (_, "") => false,
        (1, "p") => p_is_password(line, at, open),
        (1, "P") => UPPER_P.iter().any(|known| command(line, at, open).starts_with(known)),
        (1, _) if OF_OPENSSL.contains(&name) && is_given_to(line, at, open, &["openssl"]) => true,
        (1, "S") => line.contains("chap"),
        (1, "c") => line.contains(" snmp "),
        (1, "u") => {
            // `user:password`
            let range = value(line, end, &mut Open::default());
            let place = line[range.clone()].find(':').filter(|_| line[end..].starts_with([' ', '\t', '=']));
            return (end, place.map(|colon| range.start + colon + 1..range.end));
        }
        _ => names_secret(name),
    };
    if !is_secret {
        return (end, None);
    }
    match line[end..].chars().next() {
        Some('=' | ' ' | '\t') => (end, Some(value(line, end + 1, open))),
        Some('\\') | None => {
            open.value = line[end..].starts_with('\\');
            (end, None)
        }
        _ => (end, None),
    }
}

/// A name that may be that of a variable: where it ends, and its value if that is a secret.
fn variable(line: &str, at: usize, open: &mut Open) -> (usize, Option<Range<usize>>) {
    let end = at + line[at..].bytes().take_while(|byte| is_name(*byte)).count();
    let name = &line[at..end];
    let rest = line[end..].trim_start_matches(['"', '\'']);
    let after = line.len() - rest.len();
    if matches!(name, "Bearer" | "Basic") && rest.starts_with(' ') {
        return (end, Some(value(line, after + 1, open)));
    }
    if !names_secret(name) && !name.eq_ignore_ascii_case("authorization") {
        return (end, None);
    }
    let assigned = rest.trim_start_matches([' ', '\t']);
    let is_assigned = assigned.starts_with('=') && !assigned.starts_with("==");
    // `password: x` in a note, `"token": "x"`, `Authorization: Basic x`.
    if rest.starts_with(": ")
        || rest.starts_with(":\"")
        || rest.starts_with(':') && name.eq_ignore_ascii_case("authorization")
    {
        let start = after + 1;
        let lead = line[start..].len() - line[start..].trim_start_matches([' ', '"', '\'']).len();
        let start = start + lead;
        let length = line[start..].find(['"', '\'']).unwrap_or(line.len() - start);
        return (end, Some(start..start + length));
    }
    (end, is_assigned.then(|| value(line, line.len() - assigned.len() + 1, open)))
}

/// The value that stands here or behind blanks: up to its quote, or up to the end of the word.
fn value(line: &str, from: usize, open: &mut Open) -> Range<usize> {
    let rest = &line[from..];
    let start = from + rest.len() - rest.trim_start_matches([' ', '\t', '=']).len();
    match line[start..].chars().next() {
        Some('\\') if line[start..].trim_end() == "\\" => {
            open.value = true;
            start..start
        }
        Some(quote @ ('"' | '\'')) => {
            if let Some(length) = line[start + 1..].find(quote) {
                start..word_end(line, start + 1 + length + 1)
            } else {
                open.quote = Some(quote);
                start..line.len()
            }
        }
        _ => start..word_end(line, start),
    }
}

/// Where the word that stands here ends.
fn word_end(line: &str, from: usize) -> usize {
    line[from..]
        .find([' ', '\t', '"', '\'', ';', '|', '&', ')', '<', '>', '`'])
        .map_or(line.len(), |length| from + length)
}

/// The password in `user:password@host`: where the user ends, and it.
fn user_of_address(line: &str, from: usize) -> (usize, Option<Range<usize>>) {
    // A password may hold `@` and, where people do not know better, `/`.
    let word = &line[from..word_end(line, from)];
    match (word.find(':'), word.rfind('@')) {
        (Some(colon), Some(host)) if colon < host => (from, Some(from + colon + 1..from + host)),
        _ => (from, None),
    }
}

/// A parameter of an address, behind its sign: where its name ends, and its value if that is a secret.
fn parameter(line: &str, at: usize) -> (usize, Option<Range<usize>>) {
    let start = at + 1;
    let end = start + line[start..].bytes().take_while(|byte| is_name(*byte)).count();
    let name = line[start..end].to_ascii_lowercase();
    let is_secret = names_secret(&name) || name.split(['-', '_']).any(|part| OF_ADDRESSES.contains(&part));
    let value = (is_secret && line[end..].starts_with('=')).then(|| end + 1..word_end(line, end + 1));
    (end, value)
}

/// What `echo` or `printf` gives to a program that sets passwords.
fn given_to_passwd(line: &str) -> Option<Range<usize>> {
    let pipe = line.match_indices('|').find(|(at, _)| {
        let rest = line[at + 1..].trim_start();
        ["chpasswd", "passwd", "sudo -S", "openssl passwd", "/bin/passwd", "/usr/bin/passwd"]
            .iter()
            .any(|word| rest.starts_with(word))
    })?;
    let before = &line[..pipe.0];
    let start = ["echo", "printf"].iter().filter_map(|word| Some(before.rfind(word)? + word.len())).max()?;
    let lead = before[start..].len() - before[start..].trim_start().len();
    (start + lead < before.trim_end().len()).then(|| start + lead..before.trim_end().len())
}

/// A hash of a password as `/etc/shadow` has it: `$6$salt$...`.
fn is_hash(text: &str) -> bool {
    ["$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$"].iter().any(|start| text.starts_with(start))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    secret(&lower) || lower.split(['_', '-', '.']).any(|part| PARTS.contains(&part))
}

/// The name of the command around a place, without its folder.
fn command(line: &str, at: usize, open: &Open) -> String {
    let start = line[..at].rfind([';', '|', '&', '(', '{', '`']).map_or(0, |place| place + 1);
    if start == 0
        && let Some(above) = &open.command
    {
        return above.clone();
    }
    let words = line[start..at].split_whitespace().map(|word| word.trim_matches(['"', '\'', '#', '!']));
    let skipped = ["sudo", "exec", "nohup", "if", "then", "else", "do", "while", "until", "time", "timeout"];
    words
        .filter(|word| !word.is_empty() && !skipped.contains(word))
        .find(|word| !word.contains('=') && !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|word| word.rsplit('/').next().unwrap_or(word).to_owned())
        .unwrap_or_default()
}

/// True if one of these commands is before the place, also within a sentence or behind what a log puts before it.
fn is_given_to(line: &str, at: usize, open: &Open, known: &[&str]) -> bool {
    let start = line[..at].rfind([';', '|', '&']).map_or(0, |place| place + 1);
    let is_known = |word: &str| {
        let name = word.trim_matches(['"', '\'', '(', '`']).rsplit(['/', '=']).next().unwrap_or_default();
        known.iter().any(|known| name.starts_with(known))
    };
    line[start..at].split_whitespace().any(is_known) || is_known(&command(line, at, open))
}

/// True if `-p` here is a password.
fn p_is_password(line: &str, at: usize, open: &Open) -> bool {
    let command = command(line, at, open);
    if command.starts_with("esxcli") {
        // Before the namespace it is the password of the login; behind it, a port group or parameters of a module.
        let before = &line[..at];
        let rest = before.rfind("esxcli").map_or(before, |place| &before[place + 6..]);
        return [
            "network", "system", "storage", "hardware", "rdma", "software", "vm", "iscsi", "graphics", "device", "vsan",
        ]
        .iter()
        .all(|namespace| !rest.split_whitespace().any(|word| word == *namespace))
            && open.command.is_none();
    }
    !P_IS_PLAIN.iter().any(|known| match known.strip_suffix('-') {
        Some(_) => command.starts_with(known),
        None => command == *known,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each line holds the word `HIDDEN` where a secret stands; all else has to stay.
    const SCRIPT: &[(&str, &str)] = &[
        ("esxcli -s vc01 -u root -p HIDDEN network nic list", "esxcli -s vc01 -u root -p <masked> network nic list"),
        ("vicfg-x --password=HIDDEN --server esx01", "vicfg-x --password=<masked> --server esx01"),
        ("vicfg-x --password 'HIDDEN HIDDEN' --server esx01", "vicfg-x --password <masked> --server esx01"),
        ("tool -p \"HID DEN\"; echo done", "tool -p <masked>; echo done"),
        ("# old: tool -p HIDDEN", "# old: tool -p <masked>"),
        ("PASS=HIDDEN; export ADMIN_PW='HIDDEN'", "PASS=<masked>; export ADMIN_PW=<masked>"),
        ("curl -k -u admin:HIDDEN https://h/x", "curl -k -u admin:<masked> https://h/x"),
        ("wget https://admin:HIDDEN@h/x", "wget https://admin:<masked>@h/x"),
        ("wget https://admin:HI@DDEN/HIDDEN@h/x", "wget https://admin:<masked>@h/x"),
        ("curl -H \"Authorization: Bearer HIDDEN\" https://h", "curl -H \"Authorization: <masked>\" https://h"),
        ("curl -d '{\"token\": \"HIDDEN\"}' https://h", "curl -d '{\"token\": \"<masked>\"}' https://h"),
        ("echo 'root:HIDDEN' | chpasswd", "echo <masked> | chpasswd"),
        ("echo HIDDEN | passwd --stdin root", "echo <masked> | passwd --stdin root"),
        ("mysql -pHIDDEN -u root db", "mysql -p<masked> -u root db"),
        ("ipmitool -H bmc -U admin -P HIDDEN power status", "ipmitool -H bmc -U admin -P <masked> power status"),
        ("esxcli system snmp set --communities HIDDEN", "esxcli system snmp set --communities <masked>"),
        ("x='$6$HIDDEN$HIDDEN'", "x='<masked>'"),
        ("iscsi chap set --secret=HIDDEN", "iscsi chap set --secret=<masked>"),
        ("sshpass -pHIDDEN ssh root@esx01", "sshpass -p<masked> ssh root@esx01"),
        ("sshpass -p 'HIDDEN HIDDEN' ssh root@esx01", "sshpass -p <masked> ssh root@esx01"),
        ("sshpass -p'HIDDEN HIDDEN' ssh root@esx01", "sshpass -p<masked> ssh root@esx01"),
        ("openssl enc -aes-256-cbc -k HIDDEN -in a", "openssl enc -aes-256-cbc -k <masked> -in a"),
        ("openssl enc -d -K HIDDEN -iv 0 -in a", "openssl enc -d -K <masked> -iv 0 -in a"),
        ("openssl rsa -in k.pem -passin pass:HIDDEN -out o", "openssl rsa -in k.pem -passin <masked> -out o"),
        ("curl 'https://h/log.tgz?sv=1&sig=HIDDEN&se=2'", "curl 'https://h/log.tgz?sv=1&sig=<masked>&se=2'"),
        (
            "wget https://h/a?X-Amz-Signature=HIDDEN&X-Amz-Expires=60",
            "wget https://h/a?X-Amz-Signature=<masked>&X-Amz-Expires=60",
        ),
    ];

    /// What looks like it and is evidence.
    const EVIDENCE: &str = "#!/bin/sh ++group=host/vim/vmvisor/boot\n\
        esxcli system module parameters set -m nmlx5_core -p \"pfctx=0x08 pfcrx=0x08 trust_state=2\"\n\
        esxcli network vswitch standard portgroup set -p \"VM Network\" -v 10\n\
        esxcli network firewall ruleset set --enabled true --ruleset-id=pvrdma\n\
        esxcfg-vmknic -a -i 192.0.2.1 -n 255.255.255.0 -p rdma\n\
        mkdir -p /vmfs/volumes/ds/logs && cp -p a b\n\
        esxcli hardware pci pcipassthru set -d 0000:af:00.0 -e true -a\n\
        esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk1\n\
        curl -k -o /tmp/b.vib https://h/b.vib?build=24022510&type=vib\n\
        echo it is done | tee /tmp/x; PATH=/bin:/sbin; exit 0\n";

    #[test]
    fn of_a_script_only_secrets_go() {
        for (line, wanted) in SCRIPT {
            assert_eq!(masked_commands(&format!("{line}\n")), format!("{wanted}\n"));
        }
        assert!(matches!(masked_commands(EVIDENCE), Cow::Borrowed(_)), "{}", masked_commands(EVIDENCE));
    }

    #[test]
    fn secrets_of_several_lines_go_and_lines_keep_their_numbers() {
        let text = "tool --password \\\n   HIDDEN \\\n   --other x\nTOKEN=\"HIDDEN\nHIDDEN\" y=2\n\
                    cat <<E\n-----BEGIN RSA PRIVATE KEY-----\nHIDDEN\n-----END RSA PRIVATE KEY-----\nE\nexit 0\n";
        let shown = masked_commands(text);
        assert!(!shown.contains("HIDDEN"), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count(), "{shown}");
        assert!(
            shown.contains("   --other x\n") && shown.contains(" y=2\ncat") && shown.ends_with("E\nexit 0\n"),
            "{shown}"
        );
        let plain = "esxcli network vswitch standard portgroup \\\n   set -p rdma\n";
        assert_eq!(masked_commands(plain), plain);
    }

    #[test]
    fn a_line_of_any_length_takes_no_time() {
        let text = format!("echo a\n{}\nexit 0\n", "x -p ".repeat(200_000));
        assert_eq!(masked_commands(&text), "echo a\n<masked>\nexit 0\n");
    }

    #[test]
    fn files_are_masked_each_by_its_kind_and_keep_their_paths() {
        let text = "/etc/vmware/config:libdir = \"/usr/lib/vmware\"\n/etc/vmware/config:guestinfo.a = \"HIDDEN\n\
                    /etc/vmware/config:HIDDEN\"\n/etc/vmware/config:authd.proxy.nfc = \"x\"\n\
                    /etc/rc.local.d/local.sh:tool -p HIDDEN x\n/etc/rc.local.d/local.sh:exit 0\n\
                    grep: /etc/x: No such file or directory\n";
        let shown = masked_files(text);
        assert_eq!(
            shown,
            "/etc/vmware/config:libdir = \"/usr/lib/vmware\"\n/etc/vmware/config:guestinfo.a = \"<masked>\"\n\
             /etc/vmware/config:\n/etc/vmware/config:authd.proxy.nfc = \"x\"\n\
             /etc/rc.local.d/local.sh:tool -p <masked> x\n/etc/rc.local.d/local.sh:exit 0\n\
             grep: /etc/x: No such file or directory\n"
        );
        // What no probe reads today, but might: the same rules hold.
        let esx = "/etc/vmware/esx.conf:/system/snmp/community = \"HIDDEN\"\n/etc/vmware/esx.conf:/vmkernel/x/options = \"pfctx=0x08\"\n";
        let shown = masked_files(esx);
        assert!(!shown.contains("HIDDEN") && shown.contains("pfctx=0x08"), "{shown}");
        assert!(matches!(masked_files("/etc/vmware/config:a = \"b\"\n"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[EVIDENCE, SCRIPT[3].0, SCRIPT[9].0, SCRIPT[11].0])) {
            prop_assert_eq!(masked_commands(&text).split('\n').count(), text.split('\n').count());
            prop_assert_eq!(masked_files(&text).split('\n').count(), text.split('\n').count());
        }

        #[test]
        fn no_password_survives_its_option(value in "[A-Za-z0-9!$%^*_+=.,:@/-]{0,20}") {
            let line = format!("tool --password SECRET{value}SECRET --next\n");
            let shown = masked_commands(&line);
            prop_assert!(!shown.contains("SECRET") && shown.ends_with(" --next\n"), "{}", shown);
        }
    }
}
