//! What becomes of each keyword of `ssh_config(5)`. Three ways: honoured, refused by name, ignored with a reason. A
//! keyword that is not here is refused as OpenSSH refuses it.

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The first value wins.
    First,
    /// The first value wins; it is a list of words.
    FirstList,
    /// Every value is added.
    Each,
    /// Any value but these harmless ones is refused, for this reason.
    RefusedUnless(&'static [&'static str], &'static str),
    /// Has no bearing on what this program does, for this reason.
    Ignored(&'static str),
    /// Ignored by OpenSSH itself: no longer supported there.
    Obsolete,
    /// Part of the structure of a file: `Host`, `Match`, `Include`, `IgnoreUnknown`.
    Structure,
}

use Treatment::{Each, First, FirstList, Ignored, Obsolete, RefusedUnless, Structure};

const OWN_LISTS: &str = "the connection offers its own list of sound algorithms; a server without any of them refuses";
const OWN_TIMING: &str = "connections have their own deadlines and keepalive";
const NO_FORWARDING: &str = "nothing is ever forwarded";
const NO_TERMINAL: &str = "commands run without a terminal and with their own environment";
const OWN_CONNECTION: &str = "connections are this program's own and are not shared with ssh";
const OTHER_LOGIN: &str = "login is by keys, answers to the server's questions, or password";
const NOT_STRICTER: &str = "it would only accept more host keys; they are asked about instead";
const LOOKS: &str = "it concerns what ssh itself prints or does on this machine";

/// All keywords: as documented, and what becomes of them. In the order of `ssh_config(5)`.
pub(super) const KEYWORDS: &[(&str, Treatment)] = &[
    ("Host", Structure),
    ("Match", Structure),
    ("Include", Structure),
    ("IgnoreUnknown", Structure),
    ("AddKeysToAgent", Ignored("no key is ever added to the agent")),
    ("AddressFamily", First),
    ("BatchMode", First),
    ("BindAddress", RefusedUnless(&[], "the source address of connections cannot be chosen")),
    ("BindInterface", RefusedUnless(&[], "the interface of connections cannot be chosen")),
    (
        "CanonicalDomains",
        Ignored("it matters only with CanonicalizeHostname, which is refused where ssh does not do it"),
    ),
    ("CanonicalizeFallbackLocal", Ignored("it matters only with CanonicalizeHostname")),
    (
        "CanonicalizeHostname",
        RefusedUnless(
            &["no", "none", "false"],
            "host names are made canonical by ssh only; install the OpenSSH client",
        ),
    ),
    ("CanonicalizeMaxDots", Ignored("it matters only with CanonicalizeHostname")),
    ("CanonicalizePermittedCNAMEs", Ignored("it matters only with CanonicalizeHostname")),
    ("CASignatureAlgorithms", Ignored(OWN_LISTS)),
    ("CertificateFile", Each),
    ("ChannelTimeout", Ignored(OWN_TIMING)),
    ("CheckHostIP", Ignored("host keys are checked by name")),
    ("Ciphers", Ignored(OWN_LISTS)),
    ("ClearAllForwardings", Ignored(NO_FORWARDING)),
    ("Compression", Ignored("what is read is small")),
    ("ConnectionAttempts", Ignored(OWN_TIMING)),
    ("ConnectTimeout", Ignored(OWN_TIMING)),
    ("ControlMaster", Ignored(OWN_CONNECTION)),
    ("ControlPath", Ignored(OWN_CONNECTION)),
    ("ControlPersist", Ignored(OWN_CONNECTION)),
    ("DynamicForward", Ignored(NO_FORWARDING)),
    ("EnableEscapeCommandline", Ignored(NO_TERMINAL)),
    ("EnableSSHKeysign", Ignored(OTHER_LOGIN)),
    ("EscapeChar", Ignored(NO_TERMINAL)),
    ("ExitOnForwardFailure", Ignored(NO_FORWARDING)),
    ("FingerprintHash", Ignored("fingerprints are shown as SHA256")),
    ("ForkAfterAuthentication", Ignored(LOOKS)),
    ("ForwardAgent", Ignored(NO_FORWARDING)),
    ("ForwardX11", Ignored(NO_FORWARDING)),
    ("ForwardX11Timeout", Ignored(NO_FORWARDING)),
    ("ForwardX11Trusted", Ignored(NO_FORWARDING)),
    ("GatewayPorts", Ignored(NO_FORWARDING)),
    ("GlobalKnownHostsFile", FirstList),
    ("GSSAPIAuthentication", Ignored(OTHER_LOGIN)),
    ("GSSAPIClientIdentity", Ignored(OTHER_LOGIN)),
    ("GSSAPIDelegateCredentials", Ignored(OTHER_LOGIN)),
    ("GSSAPIKexAlgorithms", Ignored(OWN_LISTS)),
    ("GSSAPIKeyExchange", Ignored(OTHER_LOGIN)),
    ("GSSAPIRenewalForcesRekey", Ignored(OTHER_LOGIN)),
    ("GSSAPIServerIdentity", Ignored(OTHER_LOGIN)),
    ("GSSAPITrustDns", Ignored(OTHER_LOGIN)),
    ("HashKnownHosts", First),
    ("HostbasedAcceptedAlgorithms", Ignored(OTHER_LOGIN)),
    ("HostbasedAuthentication", Ignored(OTHER_LOGIN)),
    ("HostbasedKeyTypes", Ignored(OTHER_LOGIN)),
    ("HostKeyAlgorithms", Ignored(OWN_LISTS)),
    ("HostKeyAlias", First),
    ("HostName", First),
    ("IdentitiesOnly", First),
    ("IdentityAgent", First),
    ("IdentityFile", Each),
    ("IPQoS", Ignored("packets are marked as the system does by default")),
    ("KbdInteractiveAuthentication", First),
    ("ChallengeResponseAuthentication", First),
    ("KbdInteractiveDevices", Ignored("the server chooses the device")),
    ("KexAlgorithms", Ignored(OWN_LISTS)),
    (
        "KnownHostsCommand",
        RefusedUnless(&["none"], "host keys are looked up in files only; put them into a known_hosts file"),
    ),
    ("LocalCommand", Ignored(LOOKS)),
    ("LocalForward", Ignored(NO_FORWARDING)),
    ("LogLevel", Ignored(LOOKS)),
    ("LogVerbose", Ignored(LOOKS)),
    ("MACs", Ignored(OWN_LISTS)),
    ("NoHostAuthenticationForLocalhost", Ignored(NOT_STRICTER)),
    ("NumberOfPasswordPrompts", First),
    ("ObscureKeystrokeTiming", Ignored(NO_TERMINAL)),
    ("PasswordAuthentication", First),
    ("PermitLocalCommand", Ignored(LOOKS)),
    ("PermitRemoteOpen", Ignored(NO_FORWARDING)),
    ("PKCS11Provider", Ignored("keys on a token are reached through the agent")),
    ("SmartcardDevice", Ignored("keys on a token are reached through the agent")),
    ("Port", First),
    ("PreferredAuthentications", First),
    ("ProxyCommand", First),
    ("ProxyJump", First),
    (
        "ProxyUseFdpass",
        RefusedUnless(
            &["no", "false"],
            "a descriptor is not taken over from a ProxyCommand; its input and output are used",
        ),
    ),
    ("PubkeyAcceptedAlgorithms", Ignored(OWN_LISTS)),
    ("PubkeyAcceptedKeyTypes", Ignored(OWN_LISTS)),
    ("PubkeyAuthentication", First),
    ("DSAAuthentication", Obsolete),
    ("RefuseConnection", RefusedUnless(&[], "it says that this host must not be connected to")),
    ("RekeyLimit", Ignored(OWN_CONNECTION)),
    ("RemoteCommand", Ignored(NO_TERMINAL)),
    ("RemoteForward", Ignored(NO_FORWARDING)),
    ("RequestTTY", Ignored(NO_TERMINAL)),
    ("RequiredRSASize", Ignored(OWN_LISTS)),
    (
        "RevokedHostKeys",
        RefusedUnless(&["none"], "lists of revoked keys are not read; mark the keys @revoked in a known_hosts file"),
    ),
    ("SecurityKeyProvider", Ignored("keys on a token are reached through the agent")),
    ("SendEnv", Ignored(NO_TERMINAL)),
    ("ServerAliveCountMax", Ignored(OWN_TIMING)),
    ("ServerAliveInterval", Ignored(OWN_TIMING)),
    ("SessionType", Ignored(NO_TERMINAL)),
    ("SetEnv", Ignored(NO_TERMINAL)),
    ("StdinNull", Ignored(NO_TERMINAL)),
    ("StreamLocalBindMask", Ignored(NO_FORWARDING)),
    ("StreamLocalBindUnlink", Ignored(NO_FORWARDING)),
    ("StrictHostKeyChecking", First),
    ("SyslogFacility", Ignored(LOOKS)),
    ("Tag", Ignored("it only chooses `Match tagged` blocks, which are skipped by name")),
    ("TCPKeepAlive", Ignored(OWN_TIMING)),
    ("KeepAlive", Ignored(OWN_TIMING)),
    ("Tunnel", Ignored(NO_FORWARDING)),
    ("TunnelDevice", Ignored(NO_FORWARDING)),
    ("UpdateHostKeys", Ignored("only a key that was asked about is written down")),
    ("UseKeychain", Ignored("it concerns the key chain of macOS, which the agent reads")),
    ("User", First),
    ("UserKnownHostsFile", FirstList),
    ("VerifyHostKeyDNS", Ignored(NOT_STRICTER)),
    ("VersionAddendum", Ignored(LOOKS)),
    ("VisualHostKey", Ignored(LOOKS)),
    ("WarnWeakCrypto", Ignored(LOOKS)),
    ("XAuthLocation", Ignored(NO_FORWARDING)),
    ("AFSTokenPassing", Obsolete),
    ("Cipher", Obsolete),
    ("CompressionLevel", Obsolete),
    ("FallBackToRsh", Obsolete),
    ("GlobalKnownHostsFile2", Obsolete),
    ("IdentityFile2", Each),
    ("KerberosAuthentication", Obsolete),
    ("KerberosTGTPassing", Obsolete),
    ("Protocol", Obsolete),
    ("RhostsAuthentication", Obsolete),
    ("RhostsRSAAuthentication", Obsolete),
    ("RSAAuthentication", Obsolete),
    ("SKeyAuthentication", Obsolete),
    ("UseBlacklistedKeys", Obsolete),
    ("UsePrivilegedPort", Obsolete),
    ("UserKnownHostsFile2", Obsolete),
    ("UseRoaming", Obsolete),
    ("UseRsh", Obsolete),
];

/// The keyword as it is documented, and what becomes of it. Letter case does not matter.
pub(super) fn find(word: &str) -> Option<(&'static str, Treatment)> {
    let (name, treatment) = KEYWORDS.iter().copied().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
    Some(match name {
        "IdentityFile2" => ("IdentityFile", Each),
        "ChallengeResponseAuthentication" => ("KbdInteractiveAuthentication", First),
        _ => (name, treatment),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_keyword_is_there_once_and_has_a_reason() {
        let names: BTreeSet<String> = KEYWORDS.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert_eq!(names.len(), KEYWORDS.len());
        for (name, treatment) in KEYWORDS {
            if let Ignored(reason) | RefusedUnless(_, reason) = treatment {
                assert!(reason.len() > 10, "{name}");
            }
        }
        assert_eq!(find("identityfile2"), Some(("IdentityFile", Each)));
        assert_eq!(find("PROXYJUMP"), Some(("ProxyJump", First)));
        assert_eq!(find("ProxyJumps"), None);
    }
}
