//! The last step for both sources: from what was said of a host to its settings. Tokens (`%h`, `~`, `${NAME}`) are
//! replaced, defaults filled in, and what cannot be honoured is refused by name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::address::{Address, check_host, parse_port};
use super::super::error::quoted;
use super::keyword::{Treatment, find};
use super::login::{check_login, family, hashes, login, proxy_command};
use super::{HostKeyChecking, HostSettings, IdentityAgent, Jump, OpenSshError, Resolved, Surroundings};

/// Key files that OpenSSH tries when none is named.
const DEFAULT_IDENTITIES: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// A value and where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) words: Vec<String>,
    pub(super) place: String,
}

/// What was said of one host, by keyword as documented.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    values: BTreeMap<&'static str, Vec<Spoken>>,
    pub(super) notes: Vec<String>,
}

impl Said {
    /// Takes in one value; what came first stays.
    pub(super) fn say(&mut self, keyword: &'static str, treatment: Treatment, spoken: Spoken) {
        // Of ProxyCommand and ProxyJump the first wins, whichever it is; only after `ProxyJump none` a command counts.
        let overruled = match keyword {
            "ProxyJump" => self.values.contains_key("ProxyCommand"),
            "ProxyCommand" => self.first_word("ProxyJump").is_some_and(|jump| !jump.eq_ignore_ascii_case("none")),
            _ => false,
        };
        if overruled {
            return;
        }
        let values = self.values.entry(keyword).or_default();
        if values.is_empty() || (treatment == Treatment::Each && values.iter().all(|known| known.words != spoken.words))
        {
            values.push(spoken);
        }
    }

    pub(super) fn first(&self, keyword: &str) -> Option<&Spoken> {
        self.values.get(keyword)?.first()
    }

    pub(super) fn first_word(&self, keyword: &str) -> Option<&str> {
        self.first(keyword)?.words.first().map(String::as_str)
    }

    fn each(&self, keyword: &str) -> impl Iterator<Item = &Spoken> {
        self.values.get(keyword).into_iter().flatten()
    }
}

/// Makes settings of what was said about `asked`.
pub(super) fn settle(said: Said, asked: &Address, surroundings: &Surroundings) -> Result<Resolved, OpenSshError> {
    refuse(&said)?;
    let user = asked.user.clone().or_else(|| said.first_word("User").map(str::to_owned));
    let user = user.unwrap_or_else(|| surroundings.user.clone());
    let port = match (asked.port, said.first("Port")) {
        (Some(port), _) => port,
        (None, Some(spoken)) => parse_port(single(spoken)?).map_err(|what| malformed(spoken, what))?,
        (None, None) => 22,
    };
    let hostname = host_name(&said, asked)?;
    let host_key_alias = said.first("HostKeyAlias").map(single).transpose()?.map(str::to_lowercase);
    let proxy_jump = match said.first("ProxyJump") {
        Some(spoken) => jumps(spoken)?,
        None => Vec::new(),
    };
    let proxy_command = proxy_command(&said, asked, &hostname, port, &user)?;
    let tokens = Tokens {
        alias: &asked.host,
        hostname: &hostname,
        port,
        user: &user,
        host_key_alias: host_key_alias.as_deref(),
        jump: proxy_jump.first().map_or("", |jump| jump.host.as_str()),
        surroundings,
    };
    let mut identity_files = Vec::new();
    for spoken in said.each("IdentityFile") {
        identity_files.extend(tokens.path_unless_none(spoken, single(spoken)?)?);
    }
    if said.first("IdentityFile").is_none() {
        identity_files = DEFAULT_IDENTITIES.iter().map(|name| surroundings.home.join(".ssh").join(name)).collect();
    }
    let mut certificate_files = Vec::new();
    for spoken in said.each("CertificateFile") {
        certificate_files.extend(tokens.path_unless_none(spoken, single(spoken)?)?);
    }
    let identity_agent = match said.first("IdentityAgent") {
        Some(spoken) => agent(&tokens, spoken)?,
        None => None,
    };
    let user_known_hosts = match said.first("UserKnownHostsFile") {
        Some(spoken) => tokens.paths(spoken)?,
        None => ["known_hosts", "known_hosts2"].map(|name| surroundings.home.join(".ssh").join(name)).into(),
    };
    let global_known_hosts = match said.first("GlobalKnownHostsFile") {
        Some(spoken) => tokens.paths(spoken)?,
        None => ["ssh_known_hosts", "ssh_known_hosts2"].map(|name| PathBuf::from("/etc/ssh").join(name)).into(),
    };
    let host_key_checking = match said.first("StrictHostKeyChecking") {
        Some(spoken) => checking(spoken)?,
        None => HostKeyChecking::Ask,
    };
    let identities_only = match said.first("IdentitiesOnly") {
        Some(spoken) => yes_or_no(spoken)?,
        None => false,
    };
    let settings = HostSettings {
        alias: asked.host.clone(),
        asked_user: asked.user.clone(),
        asked_port: asked.port,
        hostname,
        port,
        user,
        identity_files,
        identities_only,
        identity_agent,
        certificate_files,
        proxy_jump,
        user_known_hosts,
        global_known_hosts,
        host_key_alias,
        host_key_checking,
        hash_known_hosts: hashes(&said)?,
        address_family: family(&said)?,
        proxy_command,
        login: login(&said)?,
    };
    Ok(Resolved { settings, notes: said.notes })
}

/// Refuses what was said and cannot be honoured.
fn refuse(said: &Said) -> Result<(), OpenSshError> {
    for (&keyword, values) in &said.values {
        let Some((_, Treatment::RefusedUnless(harmless, reason))) = find(keyword) else { continue };
        let Some(spoken) = values.first() else { continue };
        let value = spoken.words.join(" ").to_lowercase();
        if !harmless.contains(&value.as_str()) {
            return Err(refused(spoken, keyword, reason));
        }
    }
    Ok(())
}

/// Refuses a value that OpenSSH would refuse wherever it stands, also in a block for another host.
pub(super) fn check(keyword: &str, spoken: &Spoken) -> Result<(), OpenSshError> {
    match keyword {
        "Port" => parse_port(single(spoken)?).map(drop).map_err(|what| malformed(spoken, what)),
        "IdentitiesOnly"
        | "BatchMode"
        | "HashKnownHosts"
        | "PasswordAuthentication"
        | "KbdInteractiveAuthentication" => yes_or_no(spoken).map(drop),
        "PubkeyAuthentication" | "NumberOfPasswordPrompts" | "AddressFamily" => check_login(keyword, spoken),
        "StrictHostKeyChecking" => checking(spoken).map(drop),
        "ProxyJump" => jumps(spoken).map(drop),
        "HostName" | "User" | "HostKeyAlias" | "IdentityFile" | "IdentityAgent" | "CertificateFile" => {
            single(spoken).map(drop)
        }
        _ => Ok(()),
    }
}

fn refused(spoken: &Spoken, keyword: &'static str, reason: &str) -> OpenSshError {
    OpenSshError::Refused { place: spoken.place.clone(), keyword, reason: reason.to_owned() }
}

pub(super) fn malformed(spoken: &Spoken, what: impl Into<String>) -> OpenSshError {
    OpenSshError::Malformed { place: spoken.place.clone(), what: what.into() }
}

pub(super) fn single(spoken: &Spoken) -> Result<&str, OpenSshError> {
    match spoken.words.as_slice() {
        [word] if !word.is_empty() => Ok(word),
        [] | [_] => Err(malformed(spoken, "a value is missing")),
        [_, extra, ..] => Err(malformed(spoken, format!("one value is enough; {} is too much", quoted(extra)))),
    }
}

pub(super) fn yes_or_no(spoken: &Spoken) -> Result<bool, OpenSshError> {
    match single(spoken)?.to_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        word => Err(malformed(spoken, format!("{} is neither yes nor no", quoted(word)))),
    }
}

fn checking(spoken: &Spoken) -> Result<HostKeyChecking, OpenSshError> {
    match single(spoken)?.to_lowercase().as_str() {
        "ask" => Ok(HostKeyChecking::Ask),
        "yes" | "true" => Ok(HostKeyChecking::Strict),
        "no" | "off" | "false" | "accept-new" => Ok(HostKeyChecking::AcceptNew),
        word => Err(malformed(spoken, format!("StrictHostKeyChecking cannot be {}", quoted(word)))),
    }
}

/// Where to connect to: `HostName` with `%h`, else the name that was asked for. Both in lower case, as OpenSSH does it
/// (not where a `%` parts an IPv6 address from its scope).
pub(super) fn host_name(said: &Said, asked: &Address) -> Result<String, OpenSshError> {
    let lower = |name: String| if name.contains('%') { name } else { name.to_lowercase() };
    let Some(spoken) = said.first("HostName") else { return Ok(lower(asked.host.clone())) };
    let mut name = String::new();
    let mut characters = single(spoken)?.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            name.push(character);
            continue;
        }
        match characters.next() {
            Some('%') => name.push('%'),
            Some('h') => name.push_str(&asked.host),
            _ => return Err(malformed(spoken, "HostName may hold no token but %h and %%")),
        }
    }
    check_host(&name).map_err(|what| malformed(spoken, what))?;
    Ok(lower(name))
}

fn jumps(spoken: &Spoken) -> Result<Vec<Jump>, OpenSshError> {
    let text = single(spoken)?;
    if text.eq_ignore_ascii_case("none") {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|stop| {
            let stop = stop.strip_prefix("ssh://").map_or(stop, |uri| uri.trim_end_matches('/'));
            let address = Address::parse(stop)
                .map_err(|what| malformed(spoken, format!("ProxyJump {}: {what}", quoted(text))))?;
            Ok(Jump { host: address.host, user: address.user, port: address.port })
        })
        .collect()
}

/// The agent: `None` stands for the one of `SSH_AUTH_SOCK`.
fn agent(tokens: &Tokens<'_>, spoken: &Spoken) -> Result<Option<IdentityAgent>, OpenSshError> {
    let text = single(spoken)?;
    if text.eq_ignore_ascii_case("none") {
        return Ok(Some(IdentityAgent::None));
    }
    if text == "SSH_AUTH_SOCK" {
        return Ok(None);
    }
    if let Some(name) = text.strip_prefix('$')
        && !name.starts_with('{')
    {
        let socket = tokens.surroundings.environment.get(name).filter(|path| !path.is_empty());
        return Ok(Some(socket.map_or(IdentityAgent::None, |path| IdentityAgent::Socket(PathBuf::from(path)))));
    }
    Ok(Some(IdentityAgent::Socket(tokens.path(spoken, text)?)))
}

/// What tokens stand for.
struct Tokens<'a> {
    alias: &'a str,
    hostname: &'a str,
    port: u16,
    user: &'a str,
    host_key_alias: Option<&'a str>,
    jump: &'a str,
    surroundings: &'a Surroundings,
}

impl Tokens<'_> {
    fn paths(&self, spoken: &Spoken) -> Result<Vec<PathBuf>, OpenSshError> {
        if let [word] = spoken.words.as_slice()
            && word.eq_ignore_ascii_case("none")
        {
            return Ok(Vec::new());
        }
        spoken.words.iter().map(|word| self.path(spoken, word)).collect()
    }

    fn path_unless_none(&self, spoken: &Spoken, text: &str) -> Result<Option<PathBuf>, OpenSshError> {
        if text.eq_ignore_ascii_case("none") { Ok(None) } else { self.path(spoken, text).map(Some) }
    }

    fn path(&self, spoken: &Spoken, text: &str) -> Result<PathBuf, OpenSshError> {
        let Some(below) = text.strip_prefix('~') else { return self.expand(spoken, text).map(PathBuf::from) };
        if !below.is_empty() && !below.starts_with('/') {
            let what = format!("{}: the home of another user is not looked up; write it out", quoted(text));
            return Err(malformed(spoken, what));
        }
        let below = self.expand(spoken, below)?;
        Ok(self.surroundings.home.join(below.trim_start_matches('/')))
    }

    fn expand(&self, spoken: &Spoken, text: &str) -> Result<String, OpenSshError> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['%', '$']) {
            expanded.push_str(&rest[..at]);
            let token = &rest[at..];
            if let Some(named) = token.strip_prefix("${") {
                let Some((name, after)) = named.split_once('}') else {
                    return Err(malformed(spoken, format!("{} lacks a \"}}\"", quoted(text))));
                };
                let Some(value) = self.surroundings.environment.get(name) else {
                    return Err(malformed(spoken, format!("the variable {} is not set", quoted(name))));
                };
                expanded.push_str(value);
                rest = after;
                continue;
            }
            if let Some(after) = token.strip_prefix('$') {
                expanded.push('$');
                rest = after;
                continue;
            }
            let Some(letter) = token[1..].chars().next() else {
                return Err(malformed(spoken, format!("{} ends in a lone %", quoted(text))));
            };
            self.token(spoken, letter, &mut expanded)?;
            rest = &token[1 + letter.len_utf8()..];
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn token(&self, spoken: &Spoken, letter: char, into: &mut String) -> Result<(), OpenSshError> {
        let here = &self.surroundings.host_name;
        match letter {
            '%' => into.push('%'),
            'd' => into.push_str(&self.surroundings.home.to_string_lossy()),
            'h' => into.push_str(self.hostname),
            'i' => into.push_str(&self.surroundings.user_id.to_string()),
            'j' => into.push_str(self.jump),
            'k' => into.push_str(self.host_key_alias.unwrap_or(self.alias)),
            'L' => into.push_str(here.split('.').next().unwrap_or(here)),
            'l' => into.push_str(here),
            'n' => into.push_str(self.alias),
            'p' => into.push_str(&self.port.to_string()),
            'r' => into.push_str(self.user),
            'u' => into.push_str(&self.surroundings.user),
            other => return Err(malformed(spoken, format!("the token {} is not known", quoted(&format!("%{other}"))))),
        }
        Ok(())
    }
}
