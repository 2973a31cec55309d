//! Words of a configuration line: keywords with or without `=`, quotes, backslashes, comments.

/// Splits a line into its keyword and the rest; `None` for an empty line or a comment.
pub(super) fn keyword(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_matches(|character: char| matches!(character, ' ' | '\t' | '\r' | '\n' | '\u{c}'));
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find([' ', '\t', '=', '"']).unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    Some((keyword, rest.trim_start_matches([' ', '\t'])))
}

/// The words of the rest of a line, without quotes; a word that begins with `#` ends it.
pub(super) fn words(rest: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut characters = rest.chars().peekable();
    loop {
        while characters.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
        match characters.peek() {
            None | Some('#') => return Ok(words),
            Some(_) => {}
        }
        let mut word = String::new();
        let mut quote: Option<char> = None;
        while let Some(&character) = characters.peek() {
            match (character, quote) {
                ('\\', _) => {
                    characters.next();
                    let escaped = characters
                        .next_if(|next| matches!(next, '\'' | '"' | '\\') || (quote.is_none() && *next == ' '));
                    word.push(escaped.unwrap_or('\\'));
                    continue;
                }
                (' ' | '\t', None) => break,
                ('"' | '\'', None) => quote = Some(character),
                (_, Some(open)) if open == character => quote = None,
                _ => word.push(character),
            }
            characters.next();
        }
        if quote.is_some() {
            return Err("a quote is not closed".to_owned());
        }
        words.push(word);
    }
}

/// The words of a `Match` line, where `=` parts words too: `host=*.lab` is `host`, `*.lab`.
pub(super) fn match_words(rest: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = rest.trim_start_matches([' ', '\t']);
    while !rest.is_empty() && !rest.starts_with('#') {
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some((word, after)) = quoted.split_once('"') else { return Err("a quote is not closed".to_owned()) };
            words.push(word.to_owned());
            rest = after.trim_start_matches([' ', '\t']);
            continue;
        }
        let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
        words.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches([' ', '\t']);
        rest = rest.strip_prefix('=').unwrap_or(rest).trim_start_matches([' ', '\t']);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_openssh_does() {
        for (line, expected) in [
            ("Port 22", Some(("Port", "22"))),
            ("\tPort\t=\t22\r", Some(("Port", "22"))),
            ("Port=22", Some(("Port", "22"))),
            ("Port", Some(("Port", ""))),
            ("  # a comment", None),
            ("", None),
            ("IdentityFile \"a b\"", Some(("IdentityFile", "\"a b\""))),
        ] {
            assert_eq!(keyword(line), expected, "{line:?}");
        }
        for (rest, expected) in [
            ("a b", vec!["a", "b"]),
            ("\"a b\" c", vec!["a b", "c"]),
            ("'a b'", vec!["a b"]),
            ("a\\ b", vec!["a b"]),
            ("\"a\\\"b\"", vec!["a\"b"]),
            ("a\\b", vec!["a\\b"]),
            ("a # b", vec!["a"]),
            ("a#b", vec!["a#b"]),
            ("x\"y z\"", vec!["xy z"]),
            ("", vec![]),
        ] {
            assert_eq!(words(rest).expect(rest), expected, "{rest:?}");
        }
        assert!(words("\"open").is_err());
        assert_eq!(match_words("host=\"a b\",c user x").expect("words"), ["host", "a b", ",c", "user", "x"]);
        assert_eq!(match_words("host a,b !user=x # c").expect("words"), ["host", "a,b", "!user", "x"]);
    }
}
