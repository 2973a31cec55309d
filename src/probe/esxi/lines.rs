//! Lines of what ESXi printed: how names are compared, how prompts of pastes are known, and how lines that a terminal or a mail program broke are found.

/// Where people's terminals and mail programs break lines.
pub const WRAP: usize = 72;

/// How far a text is moved to the right, in characters.
pub fn indent(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// True if no line is longer than [`WRAP`] and one is so long that it may have been broken.
pub fn may_be_wrapped(text: &str) -> bool {
    let mut longest = 0;
    for line in text.lines() {
        // Bytes are never fewer than characters: only a line that is long in bytes is counted.
        if line.len() > longest {
            longest = longest.max(line.chars().count());
            if longest > WRAP {
                return false;
            }
        }
    }
    longest > WRAP / 2
}

/// True if `next` can be what a program that breaks lines at [`WRAP`] moved out of the line of `length` characters: its
/// first word would not have fitted there.
pub fn is_rest_of(length: usize, next: &str) -> bool {
    let lead = next.len() - next.trim_start().len();
    let word = next.trim_start().split(' ').next().unwrap_or("").chars().count();
    word > 0 && length + lead + word > WRAP
}

/// True if a name is the same but for letter case and everything that is no letter or digit: `MACAddress` is
/// `MAC Address`.
pub fn same_name(left: &str, right: &str) -> bool {
    let plain = |text: &'_ str| -> Vec<u8> { text.bytes().filter(|byte| is_letter(*byte)).collect() };
    // Most names differ in their first letter, and equal ones are mostly equal as they stand.
    if left == right {
        return true;
    }
    let first = |text: &str| text.bytes().find(|byte| is_letter(*byte)).map(|byte| byte.to_ascii_lowercase());
    first(left) == first(right) && plain(left).eq_ignore_ascii_case(&plain(right))
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// True for a line that is the prompt of a shell with what was typed behind it, as pastes have it.
pub fn is_prompt(line: &str) -> bool {
    line.starts_with('[') && line.split_once(']').is_some_and(|(name, _)| name.contains('@'))
        || line.starts_with("# ")
        || line.starts_with("~ # ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_loosely() {
        assert!(same_name("MACAddress", "MAC Address"));
        assert!(same_name("RoCE v1", "roce V1"));
        assert!(!same_name("Vendor ID", "SubVendor ID"));
        assert!(!same_name("Vendor ID", "Vendor"));
        assert!(!same_name("", "Name"));
    }

    #[test]
    fn prompts() {
        assert!(is_prompt("[root@hostA:~] esxcli network nic list"));
        assert!(is_prompt("# esxcfg-module -g nmlx5_core"));
        assert!(!is_prompt("[datastore1] vm/vm.vmx"));
    }

    #[test]
    fn what_may_be_wrapped() {
        assert!(!may_be_wrapped("short\nlines\n"));
        assert!(may_be_wrapped(&"a ".repeat(36)));
        assert!(!may_be_wrapped(&"a ".repeat(37)));
        assert!(is_rest_of(70, "word"));
        assert!(!is_rest_of(60, "word and many more words"));
    }
}
