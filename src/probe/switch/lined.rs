//! JSON of which each value knows its line: what a fact rests on is shown as the line that says it.

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Number of the line on which it begins, from 1.
    pub line: u32,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text(String),
    /// A number or a boolean as it is written; empty for `null`.
    Word(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Deeper than any switch prints.
const DEEPEST: u32 = 48;

impl Node {
    /// The first object or list that begins a line of `text`: banners and prompts may stand above it.
    pub fn read(text: &str) -> Option<Self> {
        let mut place = 0;
        let mut tries = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            // A text that was cut has many such lines inside, and none of them is the beginning.
            if tries < 3 && line.trim_start().starts_with(['{', '[']) {
                tries += 1;
                let mut reader = Reader { bytes: text.as_bytes(), text, at: place, line: number };
                if let Some(node) = reader.value(0) {
                    return Some(node);
                }
            }
            place += line.len();
        }
        None
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.fields().find(|(name, _)| *name == key).map(|(_, node)| node)
    }

    /// The value at the end of a way of keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Keys and values of an object.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        let fields = if let Kind::Object(fields) = &self.kind { fields.as_slice() } else { &[] };
        fields.iter().map(|(name, node)| (name.as_str(), node))
    }

    /// Values of a list.
    pub fn items(&self) -> &[Self] {
        if let Kind::List(items) = &self.kind { items } else { &[] }
    }

    /// A text, number or boolean as it is written; `None` for `null` and for what has parts.
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Word(word) if !word.is_empty() => Some(word),
            _ => None,
        }
    }

    /// A number that cannot be negative, also one in quotation marks or with a fraction of zero.
    pub fn number(&self) -> Option<u64> {
        let word = self.word()?;
        word.strip_suffix(".0").unwrap_or(word).parse().ok()
    }

    /// True or false.
    pub fn flag(&self) -> Option<bool> {
        match self.word()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    line: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            self.line += u32::from(byte == b'\n');
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: u32) -> Option<Node> {
        self.blanks();
        let line = self.line;
        let kind = match self.peek()? {
            _ if depth > DEEPEST => return None,
            b'{' => self.object(depth)?,
            b'[' => self.list(depth)?,
            b'"' => Kind::Text(self.string()?),
            _ => self.bare()?,
        };
        Some(Node { line, kind })
    }

    fn object(&mut self, depth: u32) -> Option<Kind> {
        self.at += 1;
        let mut fields = Vec::new();
        if self.takes(b'}') {
            return Some(Kind::Object(fields));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            fields.push((name, self.value(depth + 1)?));
            if self.takes(b'}') {
                return Some(Kind::Object(fields));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: u32) -> Option<Kind> {
        self.at += 1;
        let mut items = Vec::new();
        if self.takes(b']') {
            return Some(Kind::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes(b']') {
                return Some(Kind::List(items));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let begin = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(begin..self.at)?).ok()
    }

    fn bare(&mut self) -> Option<Kind> {
        let begin = self.at;
        while let Some(byte) = self.peek()
            && (byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.at += 1;
        }
        let word = self.text.get(begin..self.at).filter(|word| !word.is_empty())?;
        Some(Kind::Word(if word == "null" { String::new() } else { word.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let text = "leaf1>show x | json\n{\n  \"a\": {\n    \"b\": [1,\n      \"t\\\"wo\"],\n    \"n\": null, \"f\": true },\n  \"c\": 9214.0\n}\n";
        let node = Node::read(text).expect("an object");
        let b = node.at(&["a", "b"]).expect("a list");
        assert_eq!((b.line, b.items()[0].line, b.items()[1].line), (4, 4, 5));
        assert_eq!(b.items()[1].word(), Some("t\"wo"));
        assert_eq!(node.at(&["a", "n"]).and_then(Node::word), None);
        assert_eq!(node.at(&["a", "f"]).and_then(Node::flag), Some(true));
        assert_eq!(node.get("c").and_then(|c| c.number().zip(Some(c.line))), Some((9214, 7)));
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "no", "{", "{\"a\":", "[1,]", "{\"a\" 1}", "{\"\\", "[[[[", "{\"a\": \"\u{e9}"] {
            assert_eq!(Node::read(text), None, "{text}");
        }
        assert_eq!(Node::read(&"[".repeat(10_000)), None);
    }

    proptest::proptest! {
        #[test]
        fn damage_is_survived(text in crate::probe::testing::mutated_texts(&["x\n{\"a\": [1, \"two\\n\", {\"b\": null}], \"c\": {\"d\": -1.5}}\n"])) {
            let lines = text.lines().count();
            if let Some(node) = Node::read(&text) {
                proptest::prop_assert!(node.fields().all(|(_, node)| node.line as usize <= lines));
            }
        }
    }
}
