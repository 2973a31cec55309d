//! Where a target is: `[user@]host[:port]`, with an IPv6 address in brackets when a port follows. The host may be an
//! OpenSSH alias: OpenSSH's own configuration is asked for every one.

use std::fmt;
use std::net::Ipv6Addr;

use super::error::quoted;

/// User, host and port as someone wrote them; what is missing is for OpenSSH's configuration to say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Login name.
    pub user: Option<String>,
    /// Host name, address or OpenSSH alias; never empty, never begins with a hyphen.
    pub host: String,
    /// TCP port.
    pub port: Option<u16>,
}

impl Address {
    /// Reads `[user@]host[:port]`, `[v6]:port` or a bare IPv6 address. The error says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (user, rest) = match text.rsplit_once('@') {
            Some((user, rest)) => (Some(checked_user(user)?), rest),
            None => (None, text),
        };
        let (host, port) = if let Some(bracketed) = rest.strip_prefix('[') {
            let (host, after) = bracketed.split_once(']').ok_or_else(|| format!("{} lacks a \"]\"", quoted(text)))?;
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return Err(format!("{}: after \"]\" only \":port\" can follow", quoted(text))),
            }
        } else {
            match rest.split_once(':') {
                // More than one colon and no brackets: an IPv6 address by itself.
                Some((_, more)) if more.contains(':') => (rest, None),
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            }
        };
        let port = port.map(parse_port).transpose()?;
        check_host(host)?;
        Ok(Self { user, host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(formatter, "{user}@")?;
        }
        match self.port {
            Some(port) if self.host.contains(':') => write!(formatter, "[{}]:{port}", self.host),
            Some(port) => write!(formatter, "{}:{port}", self.host),
            None => formatter.write_str(&self.host),
        }
    }
}

/// A port as text; 0 is none.
pub(super) fn parse_port(text: &str) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if port != 0 && digits => Ok(port),
        _ => Err(format!("{} is no port; a port is a number from 1 to 65535", quoted(text))),
    }
}

/// Refuses what could be taken for an option or a command, as OpenSSH does.
pub(super) fn check_host(host: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("{} is no host name: it {why}", quoted(host)));
    if host.is_empty() {
        return Err("the host name is empty".to_owned());
    }
    if host.starts_with('-') {
        return wrong("begins with a hyphen");
    }
    if host.chars().any(char::is_control) {
        return wrong("holds a control character");
    }
    if host.chars().any(char::is_whitespace) {
        return wrong("holds a blank");
    }
    match host.chars().find(|character| "'`\"$\\;&<>|(){}@[]".contains(*character)) {
        Some(character) => wrong(&format!("holds {character}")),
        None if host.contains(':') && host.split('%').next().is_none_or(|bare| bare.parse::<Ipv6Addr>().is_err()) => {
            wrong("holds a colon and is no IPv6 address")
        }
        None if host.chars().count() > 255 => wrong("is longer than 255 characters"),
        None => Ok(()),
    }
}

fn checked_user(user: &str) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("{} is no login name: it {why}", quoted(user)));
    if user.is_empty() {
        return Err("the login name before \"@\" is empty".to_owned());
    }
    if user.starts_with('-') {
        return wrong("begins with a hyphen");
    }
    if user.chars().any(|character| character.is_control() || character.is_whitespace()) {
        return wrong("holds a blank or a control character");
    }
    if user.contains(':') {
        // Not quoted: what stands behind it may be a password.
        return Err(
            "a login name holds no \":\": passwords are not given on the command line or in the inventory".to_owned()
        );
    }
    match user.chars().find(|character| "'`\";&<>|(){}".contains(*character)) {
        Some(character) => wrong(&format!("holds {character}")),
        None => Ok(user.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(user: Option<&str>, host: &str, port: Option<u16>) -> Address {
        Address { user: user.map(str::to_owned), host: host.to_owned(), port }
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        let wrong = Address::parse("root:secret@host").expect_err("no login name");
        assert!(wrong.contains("passwords are not given") && !wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn all_spellings_are_read_and_written() {
        for (text, expected, shown) in [
            ("softroce1", address(None, "softroce1", None), "softroce1"),
            ("root@10.0.0.1", address(Some("root"), "10.0.0.1", None), "root@10.0.0.1"),
            ("root@vm.lab:2222", address(Some("root"), "vm.lab", Some(2222)), "root@vm.lab:2222"),
            ("[fe80::1%eth0]:22", address(None, "fe80::1%eth0", Some(22)), "[fe80::1%eth0]:22"),
            ("root@[::1]", address(Some("root"), "::1", None), "root@::1"),
            ("2001:db8::7", address(None, "2001:db8::7", None), "2001:db8::7"),
            ("a@b@host", address(Some("a@b"), "host", None), "a@b@host"),
            ("DOMAIN\\admin@host", address(Some("DOMAIN\\admin"), "host", None), "DOMAIN\\admin@host"),
        ] {
            let found = Address::parse(text).expect(text);
            assert_eq!(found, expected);
            assert_eq!(found.to_string(), shown);
            assert_eq!(Address::parse(shown), Ok(found));
        }
    }

    #[test]
    fn what_could_be_an_option_or_a_command_is_refused() {
        for (text, expected) in [
            ("", "the host name is empty"),
            ("root@", "the host name is empty"),
            ("@host", "the login name before \"@\" is empty"),
            ("-oProxyCommand=x", "begins with a hyphen"),
            ("root@-oProxyCommand=x", "begins with a hyphen"),
            ("-l@host", "\"-l\" is no login name: it begins with a hyphen"),
            ("a\nb", "holds a control character"),
            ("a\u{1b}[31m", "holds a control character"),
            ("a b", "holds a blank"),
            ("a;b", "holds ;"),
            ("$(x)", "holds $"),
            ("u;x@host", "holds ;"),
            ("u\t@host", "holds a blank or a control character"),
            ("host:0", "\"0\" is no port"),
            ("host:", "\"\" is no port"),
            ("host:+22", "\"+22\" is no port"),
            ("host:65536", "\"65536\" is no port"),
            ("[::1", "lacks a \"]\""),
            ("a:b:c", "holds a colon and is no IPv6 address"),
            ("[:]", "holds a colon and is no IPv6 address"),
            ("[::1]22", "after \"]\" only \":port\" can follow"),
        ] {
            let error = Address::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(10_000))]
        #[test]
        fn what_is_accepted_is_written_as_it_is_read(text in "[a-z0-9@:\\[\\]%.\\-\u{0} ]{0,24}") {
            if let Ok(address) = Address::parse(&text) {
                proptest::prop_assert!(!address.host.starts_with('-') && !address.host.is_empty());
                proptest::prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
            }
        }
    }
}
