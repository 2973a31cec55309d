//! Patterns of `ssh_config(5)`: `*`, `?`, `!` and lists with commas.

/// True if `text` fits `pattern` with `*` and `?`. Letter case matters.
pub(super) fn fits(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern) = (0, 0);
    // Where to go on after a mismatch: one character further behind the last `*`.
    let mut resume: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                resume = Some((in_pattern + 1, at));
                in_pattern += 1;
            }
            Some(&expected) if expected == '?' || expected == text[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => {
                let Some((star, begun)) = resume else { return false };
                resume = Some((star, begun + 1));
                at = begun + 1;
                in_pattern = star;
            }
        }
    }
    pattern[in_pattern..].iter().all(|&rest| rest == '*')
}

/// True if `text` fits a list `a,b*,!c`: one of its patterns, and none that begins with `!`.
pub(super) fn fits_list(text: &str, list: &str) -> bool {
    fits_any(text, list.split(','))
}

/// True if `text` fits one of the patterns, and none that begins with `!`.
pub(super) fn fits_any<'p>(text: &str, patterns: impl Iterator<Item = &'p str>) -> bool {
    let mut fitting = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(unwanted) if fits(text, unwanted) => return false,
            Some(_) => {}
            None => fitting |= fits(text, pattern),
        }
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_openssh() {
        for (text, pattern, expected) in [
            ("host", "host", true),
            ("host", "h*t", true),
            ("host", "h??t", true),
            ("host", "h?t", false),
            ("host", "*", true),
            ("", "*", true),
            ("", "?", false),
            ("abcabc", "*abc", true),
            ("abcabd", "*abc", false),
            ("Host", "host", false),
            ("a.b.c", "*.b.*", true),
        ] {
            assert_eq!(fits(text, pattern), expected, "{text} {pattern}");
        }
        assert!(fits_list("vm1.lab", "*.prod,*.lab"));
        assert!(!fits_list("vm1.lab", "*.lab,!vm1.*"));
        assert!(!fits_list("vm1.lab", "!vm2"));
    }

    #[test]
    fn a_hostile_pattern_costs_little() {
        assert!(!fits(&"a".repeat(2000), &format!("{}b", "*a".repeat(500))));
    }
}
