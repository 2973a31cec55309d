//! The settings that say how a login may be made, and over what the connection runs.

use super::super::address::Address;
use super::super::error::quoted;
use super::settle::{Said, Spoken, malformed, single, yes_or_no};
use super::{AddressFamily, LoginMethod, LoginSettings, OpenSshError};

/// Characters of a name that would mean something to the shell that runs a `ProxyCommand`.
const SHELL_CHARACTERS: &str = "'`\"$\\;&<>|(){}*?!#~\n\r\t ";

/// Which methods may be used, in which order, and whether anybody may be asked.
pub(super) fn login(said: &Said) -> Result<LoginSettings, OpenSshError> {
    let flag = |keyword: &str, default| said.first(keyword).map_or(Ok(default), yes_or_no);
    let keys = said.first("PubkeyAuthentication").map_or(Ok(true), public_keys)?;
    let interactive = flag("KbdInteractiveAuthentication", true)?;
    let password = flag("PasswordAuthentication", true)?;
    let allowed = |method: &LoginMethod| match method {
        LoginMethod::PublicKey => keys,
        LoginMethod::KeyboardInteractive => interactive,
        LoginMethod::Password => password,
    };
    let order: Vec<LoginMethod> = match said.first("PreferredAuthentications") {
        None => LoginMethod::ALL.to_vec(),
        Some(spoken) => {
            let mut order = Vec::new();
            for word in spoken.words.iter().flat_map(|word| word.split(',')) {
                let method = LoginMethod::ALL.into_iter().find(|method| method.name() == word.trim());
                order.extend(method.filter(|method| !order.contains(method)));
            }
            order
        }
    };
    Ok(LoginSettings {
        methods: order.into_iter().filter(allowed).collect(),
        batch_mode: flag("BatchMode", false)?,
        asks_secrets: said.first("NumberOfPasswordPrompts").map_or(Ok(3), prompts)? > 0,
    })
}

/// Whether new host keys are written down under a hash.
pub(super) fn hashes(said: &Said) -> Result<bool, OpenSshError> {
    said.first("HashKnownHosts").map_or(Ok(false), yes_or_no)
}

/// Which addresses of a name are used.
pub(super) fn family(said: &Said) -> Result<AddressFamily, OpenSshError> {
    said.first("AddressFamily").map_or(Ok(AddressFamily::Any), address_family)
}

/// Refuses a value that OpenSSH would refuse wherever it stands.
pub(super) fn check_login(keyword: &str, spoken: &Spoken) -> Result<(), OpenSshError> {
    match keyword {
        "PubkeyAuthentication" => public_keys(spoken).map(drop),
        "NumberOfPasswordPrompts" => prompts(spoken).map(drop),
        _ => address_family(spoken).map(drop),
    }
}

fn public_keys(spoken: &Spoken) -> Result<bool, OpenSshError> {
    match single(spoken)?.to_lowercase().as_str() {
        "yes" | "true" | "unbound" | "host-bound" => Ok(true),
        "no" | "false" => Ok(false),
        word => Err(malformed(spoken, format!("PubkeyAuthentication cannot be {}", quoted(word)))),
    }
}

fn prompts(spoken: &Spoken) -> Result<u32, OpenSshError> {
    let word = single(spoken)?;
    word.parse().map_err(|_| malformed(spoken, format!("{} is no number of prompts", quoted(word))))
}

fn address_family(spoken: &Spoken) -> Result<AddressFamily, OpenSshError> {
    match single(spoken)?.to_lowercase().as_str() {
        "any" => Ok(AddressFamily::Any),
        "inet" => Ok(AddressFamily::Inet),
        "inet6" => Ok(AddressFamily::Inet6),
        word => Err(malformed(spoken, format!("AddressFamily cannot be {}", quoted(word)))),
    }
}

/// The command whose input and output are the connection, with its tokens replaced. What a shell will run is never made
/// of a name that means something to a shell.
pub(super) fn proxy_command(
    said: &Said,
    asked: &Address,
    hostname: &str,
    port: u16,
    user: &str,
) -> Result<Option<String>, OpenSshError> {
    let Some(spoken) = said.first("ProxyCommand") else { return Ok(None) };
    let text = spoken.words.join(" ");
    let text = text.trim();
    if text.is_empty() {
        return Err(malformed(spoken, "ProxyCommand lacks its value"));
    }
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let alias = said.first_word("HostKeyAlias").unwrap_or(&asked.host);
    let mut command = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            command.push(character);
            continue;
        }
        let value = match characters.next() {
            Some('%') => {
                command.push('%');
                continue;
            }
            Some('p') => {
                command.push_str(&port.to_string());
                continue;
            }
            Some('h') => hostname,
            Some('n') => &asked.host,
            Some('k') => alias,
            Some('r') => user,
            _ => return Err(malformed(spoken, "ProxyCommand may hold no token but %h, %k, %n, %p, %r and %%")),
        };
        if value.starts_with('-') || value.contains(|character: char| SHELL_CHARACTERS.contains(character)) {
            let what =
                format!("ProxyCommand would give {} to a shell, which would not take it as a name", quoted(value));
            return Err(malformed(spoken, what));
        }
        command.push_str(value);
    }
    Ok(Some(command))
}
