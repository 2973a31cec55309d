//! The commented configuration file that `rdmascope config init` writes. Every line of it is either a comment or in
//! force as it stands; with the `# ` of its example lines taken away it is a valid file too.

/// The text of the sample.
pub const SAMPLE: &str = r###"## Configuration of rdmascope. Lines that begin with "##" explain; take the "# " away from the others to use them.
## What is in force, and whence: rdmascope config show

## Colours: default (the terminal's own), dark, light, ansi16, mono, colour-blind-safe, or a file of yours beside this
## one, themes/NAME.toml. `rdmascope themes` lists them.
# theme = "default"

## Keys: default, vim, tmux-safe, or a file of yours, keymaps/NAME.toml. `rdmascope keys` lists them.
# keymap = "default"

## What graphs are drawn with: braille, block or ascii.
# glyphs = "braille"

## Draw less often, and graphs that sweep in place of scrolling: for slow links.
# low_bandwidth = false

## Text without frames and graphs: for screen readers and logs.
# plain = false

## Clicks and the wheel for the console: the terminal's own selection needs Shift then.
# mouse = false

## Milliseconds between two samples of a target, from 200 to 60000.
# period_ms = 1000

## Once a day, when all targets were read and no check finds anything wrong, the console keeps what is set on them, in
## $XDG_STATE_HOME/rdmascope/healthy (else ~/.local/state), and compares with it later: for so many days, from 0 to 365;
## 0 keeps none. What [[suppress]] accepts counts as in order. In force from the next start on.
# healthy_days = 14

## By which rule it is told what limits a GPU: default (little work beside a full link), or published (use above 85 %
## beside more than 60 % of the link's theoretical rate towards the GPU), which sound programs meet too.
# gpu_rule = "default"

## How the terminal tells of an alert, beside the event: none, bell, or osc9 (a notification of the desktop, where the
## terminal knows that).
# alert_notice = "none"

## A program that is told of each alert when it comes and when it is gone, as JSON on its standard input. It is run
## without a shell, by its full path, for ten seconds at most and ten times a minute at most; not in a replay and not in
## the demo. This file must belong to you and be writable by you alone then: chmod go-w.
# alert_hook = []

## Read this file in place of OpenSSH's own configuration, as `ssh -F` does; a relative path is seen from this file.
# ssh_config = ""

## Targets. `rdmascope` without a TARGET opens all of them; `rdmascope NAME...` opens some.
## name     what you call it
## kind     linux, esxi, switch or local; may be left out for a Linux guest or an ESXi host, it is found out then.
##          A switch has to be listed: what it is is never found out by trying
## system   of a switch: eos, nxos, cumulus, sonic or onyx
## address  [user@]host[:port] or an OpenSSH alias; the name when left out. User, keys, jump hosts and known host keys
##          come from OpenSSH's own configuration (~/.ssh/config), as for `ssh`
## tags     words to find it by
## links    where it belongs: vm (its name in vSphere), host and switch (targets of this file), uplink, port
## become   "sudo" runs the two commands that tell more to root by `sudo -n` where the login lacks the privilege: the
##          list of queue pairs (else those of other users may be hidden) and dmesg. Nothing else is run by it, it never
##          asks for a password, and what sudo refuses is told with the line that would allow it. For the user "lab":
##            lab ALL=(root) NOPASSWD: /usr/sbin/rdma -j res show qp, /usr/bin/dmesg ""
##          (put it into a file by `visudo -f /etc/sudoers.d/rdmascope`). sudo notes each run in the target's own log
## password_command    a program and its arguments, run without a shell; the first line that it prints is the password.
##                     Without it keys are used, and what else the target asks for is asked for at the console
## legacy_algorithms   true: also offer SHA-1 and CBC, for old switches that know nothing better

# [[target]]
# name = "gpu-vm-01"
# kind = "linux"
# address = "root@192.0.2.11"
# tags = ["training"]
# links = { vm = "GPU VM 01", host = "esx-01", uplink = "vmnic4" }

# [[target]]
# name = "gpu-vm-02"
# kind = "linux"
# become = "sudo"
# links = { vm = "GPU VM 02", host = "esx-01" }

# [[target]]
# name = "esx-01"
# kind = "esxi"
# address = "root@esx-01.example.com"
# password_command = ["pass", "show", "esx-01/root"]
# links = { switch = "leaf-1", port = "Ethernet1/1" }

# [[target]]
# name = "leaf-1"
# kind = "switch"
# system = "eos"
# address = "admin@[2001:db8::1]:22"
# legacy_algorithms = true

# [[target]]
# name = "here"
# kind = "local"

## What only vCenter knows; checks compare it with where VMs run and with the hosts that qualify for RDMA.
## drs         a rule. kind: keep-together, keep-apart or must-run-on; vms: their names in vSphere; hosts: targets of
##             this file, for must-run-on only
## ha          restart: the VMs that are started anew on another host when theirs fails
## port_group  the name of a port group of a distributed switch, of which hosts know the key only
# [[drs]]
# kind = "keep-apart"
# vms = ["GPU VM 01", "GPU VM 02"]

# [[drs]]
# kind = "must-run-on"
# vms = ["GPU VM 01"]
# hosts = ["esx-01"]

# [ha]
# restart = ["GPU VM 01"]

# [[port_group]]
# key = "dvportgroup-117201"
# name = "dpg-rdma"

## Numbers in the rules of checks; `rdmascope checks` lists the keys with what they mean and what holds unless set. A
## number stands alone, or with its unit in quotes.

# [thresholds]

## Findings of `rdmascope check` that are known here and accepted: they are shown apart with their reason, and do not
## count.
## check    id of the check, as `rdmascope checks` lists it
## target   on this target only; on all without it
## reason   why; shown with the finding
## expires  the last day on which it holds, in UTC; for ever without it

# [[suppress]]
# check = "host.pvrdma-ruleset"
# target = "esx-01"
# reason = "opened by the firewall team in the next window"
# expires = 2026-12-31
"###;

/// The sample with its examples in force: for tests.
#[cfg(test)]
pub(crate) fn in_force() -> String {
    let lines = SAMPLE.lines().map(|line| if line.starts_with("##") { line } else { line.trim_start_matches("# ") });
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Configuration, Kind, SwitchSystem};
    use super::*;

    #[test]
    fn the_sample_is_valid_and_changes_nothing() {
        assert_eq!(Configuration::parse("config.toml", SAMPLE), Ok(Configuration::default()));
    }

    #[test]
    fn the_examples_of_the_sample_are_valid_and_show_every_setting() {
        let text = in_force();
        let found = Configuration::parse("config.toml", &text).expect("the examples are right");
        for name in super::super::settings::Name::ALL {
            assert_ne!(found.settings.get(name).1, &super::super::Whence::Default, "{name:?} is not in the sample");
            assert_eq!(found.settings.get(name).0, Configuration::default().settings.get(name).0, "{name:?}");
        }
        let names: Vec<&str> = found.inventory.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["gpu-vm-01", "gpu-vm-02", "esx-01", "leaf-1", "here"]);
        assert_eq!(found.inventory.get("leaf-1").and_then(|target| target.kind), Some(Kind::Switch(SwitchSystem::Eos)));
        assert_eq!((found.declared.rules.len(), found.declared.port_groups.len()), (2, 1));
        assert!(found.declared.restart.is_some());
        let alias = found.inventory.get("gpu-vm-02").and_then(|target| target.address.clone()).expect("the name");
        assert_eq!(alias.to_string(), "gpu-vm-02");
        let [accepted] = &found.rules.suppressions[..] else { panic!("{:?}", found.rules) };
        assert_eq!((accepted.check.as_str(), accepted.target.as_deref()), ("host.pvrdma-ruleset", Some("esx-01")));
        assert!(accepted.expires.is_some());
    }

    #[test]
    fn lines_fit_a_terminal() {
        assert!(SAMPLE.lines().all(|line| line.chars().count() <= 120));
    }
}
