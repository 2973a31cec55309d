//! Reads Rust source as far as the plan of the house needs it: code without comments and texts, the paths that code
//! names, and which of it is for tests only. No parser: the language's own compiler has the last word on everything else.

/// The source without comments, and without what stands in strings and character literals, line by line: only code can
/// break a rule. The delimiters stay.
pub fn code_only(source: &str) -> String {
    #[derive(Clone, Copy, PartialEq)]
    enum In {
        Code,
        Line,
        Block(usize),
        Text,
        Raw(usize),
    }
    let letters: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut state = In::Code;
    let mut at = 0;
    let looks = |at: usize, text: &str| text.chars().enumerate().all(|(n, c)| letters.get(at + n) == Some(&c));
    while at < letters.len() {
        let letter = letters[at];
        if letter == '\n' {
            out.push('\n');
            if state == In::Line {
                state = In::Code;
            }
            at += 1;
            continue;
        }
        match state {
            In::Code if looks(at, "//") => state = In::Line,
            In::Code if looks(at, "/*") => {
                state = In::Block(1);
                at += 1;
            }
            In::Code if letter == '"' => {
                out.push('"');
                state = In::Text;
            }
            In::Code if letter == 'r' && !out.ends_with(is_word) => {
                let hashes = letters[at + 1..].iter().take_while(|c| **c == '#').count();
                if letters.get(at + 1 + hashes) == Some(&'"') {
                    out.push('"');
                    state = In::Raw(hashes);
                    at += 1 + hashes;
                } else {
                    out.push(letter);
                }
            }
            In::Code if letter == '\'' => {
                // A character literal, or a lifetime: a literal closes after one (escaped) character.
                let close = if letters.get(at + 1) == Some(&'\\') {
                    letters[at + 2..].iter().skip(1).position(|c| *c == '\'').map(|n| at + 3 + n)
                } else {
                    (letters.get(at + 2) == Some(&'\'')).then_some(at + 2)
                };
                match close {
                    Some(close) if !letters[at..close].contains(&'\n') => {
                        out.push_str("' '");
                        at = close;
                    }
                    _ => out.push(letter),
                }
            }
            In::Code => out.push(letter),
            In::Block(depth) if looks(at, "*/") => {
                state = if depth == 1 { In::Code } else { In::Block(depth - 1) };
                at += 1;
            }
            In::Block(depth) if looks(at, "/*") => {
                state = In::Block(depth + 1);
                at += 1;
            }
            In::Text if letter == '\\' && letters.get(at + 1) != Some(&'\n') => at += 1,
            In::Text if letter == '"' => {
                out.push('"');
                state = In::Code;
            }
            In::Raw(hashes) if letter == '"' && (1..=hashes).all(|n| letters.get(at + n) == Some(&'#')) => {
                out.push('"');
                state = In::Code;
                at += hashes;
            }
            In::Line | In::Block(_) | In::Text | In::Raw(_) => {}
        }
        at += 1;
    }
    out
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Takes test modules (`#[cfg(test)] mod ... { }`) out, line by line: tests may read fixtures and ask the clock. Their
/// imports of the crate's own floors still count, so the caller decides which text it reads.
pub fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let mut pending = false;
    let mut depth: Option<i64> = None;
    for line in code.lines() {
        let opens = i64::try_from(line.matches('{').count()).expect("few braces");
        let closes = i64::try_from(line.matches('}').count()).expect("few braces");
        if let Some(open) = depth {
            let open = open + opens - closes;
            depth = (open > 0).then_some(open);
        } else if line.trim_start().starts_with("#[cfg(test)]") {
            pending = true;
            // The item may stand on the same line.
            if opens > 0 {
                pending = false;
                depth = (opens > closes).then_some(opens - closes);
            }
        } else if pending && (line.trim().is_empty() || line.trim_start().starts_with("#[")) {
            // More attributes of the same item.
        } else if pending {
            pending = false;
            if opens > closes {
                depth = Some(opens - closes);
            } else if opens == 0 && !line.trim_end().ends_with(';') {
                pending = true; // the item's head goes on
            }
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// The files that a file declares for tests only: `#[cfg(test)] mod testing;` in `probe/mod.rs` is `probe/testing.rs`
/// or `probe/testing/mod.rs`.
pub fn test_files(file: &str, code: &str) -> Vec<String> {
    let folder = match file.rsplit_once('/') {
        Some((folder, "mod.rs")) => format!("{folder}/"),
        None if file == "lib.rs" || file == "main.rs" => String::new(),
        _ => format!("{}/", file.trim_end_matches(".rs")),
    };
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        rest = &rest[at + "#[cfg(test)]".len()..];
        let item = rest.split([';', '{']).next().unwrap_or_default();
        let ends_in_semicolon = rest[item.len()..].starts_with(';');
        let words: Vec<&str> = item.split_whitespace().collect();
        if let [.., "mod", name] = words.as_slice()
            && ends_in_semicolon
        {
            out.push(format!("{folder}{name}.rs"));
            out.push(format!("{folder}{name}/mod.rs"));
        }
    }
    out
}

/// A path in code with the line it begins on.
pub type NamedPath = (usize, String);

/// All paths that code names: each `use` tree written out in full, and every other `a::b::c`.
pub fn paths(code: &str) -> Vec<NamedPath> {
    let mut out = Vec::new();
    let bytes = code.as_bytes();
    let mut at = 0;
    let mut line = 1;
    while at < code.len() {
        let rest = &code[at..];
        let letter = rest.chars().next().expect("inside the text");
        if letter == '\n' {
            line += 1;
        }
        let begins = is_word(letter) && (at == 0 || !is_word(char::from(bytes[at - 1])));
        if !begins {
            at += letter.len_utf8();
            continue;
        }
        let word_end = at + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &code[at..word_end];
        if word == "use" || word == "extern" {
            let end = code[word_end..].find(';').map_or(code.len(), |n| word_end + n);
            let tree: String = code[word_end..end].split_whitespace().collect::<Vec<_>>().join(" ");
            let tree = tree.replace("crate ", "crate_").replace("crate_self", "crate");
            let tree = if word == "extern" { tree.trim_start().trim_start_matches("crate_").to_owned() } else { tree };
            expand(&tree, "", &mut |path| out.push((line, path)));
            line += code[at..end].matches('\n').count();
            at = end;
            continue;
        }
        // A path in code: words joined by `::`, perhaps with blanks or newlines about.
        let mut path = word.to_owned();
        let mut end = word_end;
        while let Some(next) = code[end..].trim_start().strip_prefix("::") {
            let next = next.trim_start();
            let next_at = code.len() - next.len();
            let next_end = next_at + next.find(|c| !is_word(c)).unwrap_or(next.len());
            if next_end == next_at {
                break;
            }
            path.push_str("::");
            path.push_str(&code[next_at..next_end]);
            end = next_end;
        }
        if path.contains("::") {
            out.push((line, path));
        }
        line += code[at..end].matches('\n').count();
        at = end;
    }
    out
}

/// Writes out a `use` tree: `a::{b, c::{d, e as f}}` is `a::b`, `a::c::d`, `a::c::e`.
fn expand(tree: &str, prefix: &str, take: &mut impl FnMut(String)) {
    let tree = tree.trim().trim_start_matches("::");
    let join = |rest: &str| if prefix.is_empty() { rest.to_owned() } else { format!("{prefix}::{rest}") };
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        if !path.is_empty() {
            take(if path == "self" && !prefix.is_empty() { prefix.to_owned() } else { join(path) });
        }
        return;
    };
    let head = tree[..open].trim().trim_end_matches("::").trim();
    let inner = tree[open + 1..].rfind('}').map_or(&tree[open + 1..], |close| &tree[open + 1..open + 1 + close]);
    let below = if head.is_empty() { prefix.to_owned() } else { join(head) };
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inner[start..at], &below, take);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&inner[start..], &below, take);
}

/// A path seen from the crate's root: `super::x` in `collect/transport/mod.rs` is `collect::x`. `None` if it leads out
/// of the crate or is local.
pub fn in_crate(path: &str, file: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::").or_else(|| path.strip_prefix("rdmascope::")) {
        return Some(rest.to_owned());
    }
    let mut module: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(module.last(), Some(&"mod" | &"lib" | &"main")) {
        module.pop();
    }
    let mut rest = path.strip_prefix("self::").unwrap_or(path);
    let mut climbed = rest.len() != path.len();
    while let Some(above) = rest.strip_prefix("super::") {
        module.pop();
        rest = above;
        climbed = true;
    }
    climbed.then(|| module.into_iter().chain([rest]).collect::<Vec<_>>().join("::"))
}
