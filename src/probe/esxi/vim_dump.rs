//! What `vim-cmd` prints of objects: `(type) { key = value, }`, arrays `(type) [ ... ]`, `(type) null`, `<unset>`,
//! references in single quotes, strings in double quotes that may hold line ends and quotes. A dump that is cut off or
//! damaged gives what stands before the damage.

/// The deepest nesting that is followed; what is deeper is left out.
const DEEPEST: usize = 64;

/// One value of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<'a> {
    /// A string, a reference, a number or a word: as printed, without its quotes.
    Scalar(&'a str),
    /// `null`: the field exists and holds nothing.
    Null,
    /// `<unset>`: the field was never set.
    Unset,
    /// An object.
    Object(Object<'a>),
    /// An array.
    Array(Vec<Node<'a>>),
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its type as printed, `vim.vm.device.VirtualVmxnet3`; empty where none was.
    pub kind: &'a str,
    /// Number of the line in which it opens.
    pub line: u32,
    fields: Vec<(&'a str, u32, Node<'a>)>,
}

impl<'a> Object<'a> {
    /// A field by its name, letter case aside.
    pub fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.fields.iter().find(|(key, ..)| key.eq_ignore_ascii_case(name)).map(|(_, _, node)| node)
    }

    /// Number of the line of a field; that of the object where there is no such field.
    pub fn line_of(&self, name: &str) -> u32 {
        self.fields.iter().find(|(key, ..)| key.eq_ignore_ascii_case(name)).map_or(self.line, |(_, line, _)| *line)
    }

    /// A scalar by its name.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            Node::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// An object by its name.
    pub fn object(&self, name: &str) -> Option<&Object<'a>> {
        match self.get(name)? {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The objects of an array by its name; none where there is no such array.
    pub fn objects(&self, name: &str) -> Vec<&Object<'a>> {
        match self.get(name) {
            Some(Node::Array(nodes)) => nodes.iter().filter_map(Node::as_object).collect(),
            _ => Vec::new(),
        }
    }

    /// The last part of its type: `VirtualVmxnet3`, `DeviceBackingInfo`.
    pub fn short_kind(&self) -> &'a str {
        self.kind.rsplit('.').next().unwrap_or(self.kind)
    }
}

impl<'a> Node<'a> {
    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }
}

/// A dump with what was left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump<'a> {
    /// Its first value.
    pub root: Node<'a>,
    /// The first line of which the value was left out because it is nested too deep.
    pub too_deep: Option<u32>,
}

impl<'a> Dump<'a> {
    /// The first value of a dump, of which the first line has the number `first`. What stands before it (`Listsummary:`)
    /// is skipped. `None` if there is no object and no array.
    pub fn read(text: &'a str, first: u32) -> Option<Self> {
        // A line that begins with a bracketed type or with a bracket of its own opens the dump.
        let mut at = 0;
        let mut line = first;
        for piece in text.split_inclusive('\n') {
            let body = piece.trim_start();
            if body.starts_with("(vim.") || body.starts_with("(vmodl.") || body.starts_with(['[', '{']) {
                at += piece.len() - body.len();
                let mut reader = Reader { text, at, line, depth: 0, too_deep: None, no_end: [0; 2] };
                return Some(Self { root: reader.value()?, too_deep: reader.too_deep });
            }
            at += piece.len();
            line = line.saturating_add(1);
        }
        None
    }
}

/// The first value of a dump; see [`Dump::read`].
pub fn read(text: &str, first: u32) -> Option<Node<'_>> {
    Dump::read(text, first).map(|dump| dump.root)
}

/// The first object with one of these names at any depth, the outermost first.
pub fn find<'n, 'a>(node: &'n Node<'a>, name: &str) -> Option<&'n Node<'a>> {
    match node {
        Node::Object(object) => {
            object.get(name).or_else(|| object.fields.iter().find_map(|(_, _, inner)| find(inner, name)))
        }
        Node::Array(nodes) => nodes.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    depth: usize,
    too_deep: Option<u32>,
    /// No string that begins before these places ends before them well, in double and in single quotes.
    no_end: [usize; 2],
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self, bytes: usize) {
        let passed = &self.text[self.at..self.at + bytes];
        self.line = self.line.saturating_add(u32::try_from(passed.matches('\n').count()).unwrap_or(u32::MAX));
        self.at += bytes;
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.step(rest.len() - rest.trim_start().len());
    }

    fn value(&mut self) -> Option<Node<'a>> {
        self.blanks();
        let mut kind = "";
        if self.rest().starts_with('(') {
            let end = self.rest().find([')', '\n'])?;
            kind = self.rest()[1..end].trim();
            self.step(if self.rest()[end..].starts_with(')') { end + 1 } else { end });
            self.blanks();
        }
        let rest = self.rest();
        match rest.chars().next()? {
            '{' => Some(self.object(kind)),
            '[' => Some(self.array()),
            '"' => Some(Node::Scalar(self.string('"'))),
            '\'' => Some(Node::Scalar(self.string('\''))),
            _ => {
                let end = rest.find([',', '\n', '}', ']']).unwrap_or(rest.len());
                let word = rest[..end].trim();
                self.step(end);
                Some(match word {
                    "null" => Node::Null,
                    "<unset>" => Node::Unset,
                    word => Node::Scalar(word),
                })
            }
        }
    }

    /// A string ends at a quote behind which the dump goes on: a comma or the end of its line, and then something that
    /// is dump again. So quotes and line ends inside it do no harm.
    fn string(&mut self, quote: char) -> &'a str {
        self.step(1);
        let rest = self.rest();
        let first = rest.find(quote);
        // What was looked at for a string before this one is not looked at again.
        let known = &mut self.no_end[usize::from(quote == '\'')];
        let skipped = known.saturating_sub(self.at).min(rest.len());
        let mut end = None;
        for (at, _) in rest[skipped..].match_indices(quote).take(4_096) {
            let at = skipped + at;
            if goes_on(&rest[at + 1..]) {
                end = Some(at);
                break;
            }
            *known = self.at + at + 1;
        }
        // No quote closes it well: up to the first one, or up to the end of the line.
        let end = end.or(first).unwrap_or_else(|| rest.find('\n').unwrap_or(rest.len()));
        let value = &rest[..end];
        self.step(if rest[end..].starts_with(quote) { end + 1 } else { end });
        value
    }

    fn object(&mut self, kind: &'a str) -> Node<'a> {
        let mut object = Object { kind, line: self.line, fields: Vec::new() };
        self.step(1);
        self.depth += 1;
        loop {
            self.blanks();
            let rest = self.rest();
            if let Some(c) = rest.chars().next()
                && matches!(c, ',' | ';')
            {
                self.step(1);
                continue;
            }
            if rest.is_empty() || rest.starts_with(['}', ']']) {
                // A bracket of the wrong kind is left to the array around.
                if rest.starts_with('}') {
                    self.step(1);
                }
                break;
            }
            let end = rest.find(['\n', '=']).unwrap_or(rest.len());
            if !rest[end..].starts_with('=') {
                // No field: the rest of a damaged value.
                self.step(end);
                continue;
            }
            let (key, line) = (rest[..end].trim(), self.line);
            self.step(end + 1);
            if self.depth >= DEEPEST {
                self.too_deep = self.too_deep.or(Some(line));
                continue;
            }
            let Some(node) = self.value() else { break };
            object.fields.push((key, line, node));
        }
        self.depth -= 1;
        Node::Object(object)
    }

    fn array(&mut self) -> Node<'a> {
        let mut nodes = Vec::new();
        self.step(1);
        self.depth += 1;
        loop {
            self.blanks();
            let rest = self.rest();
            if rest.starts_with(',') {
                self.step(1);
                continue;
            }
            if rest.is_empty() || rest.starts_with(['}', ']']) {
                if rest.starts_with(']') {
                    self.step(1);
                }
                break;
            }
            if self.depth >= DEEPEST {
                self.too_deep = self.too_deep.or(Some(self.line));
                let end = rest.find([']', '}']).unwrap_or(rest.len());
                self.step(end.max(1).min(rest.len()));
                continue;
            }
            let before = self.at;
            let Some(node) = self.value() else { break };
            nodes.push(node);
            if self.at == before {
                self.step(rest.chars().next().map_or(0, char::len_utf8));
            }
        }
        self.depth -= 1;
        Node::Array(nodes)
    }
}

/// True if what stands behind a quote is dump, not string.
fn goes_on(rest: &str) -> bool {
    let (comma, rest) = match rest.strip_prefix(',') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let body = rest.trim_start();
    if body.is_empty() || body.starts_with(['}', ']']) {
        return true;
    }
    if !comma {
        return false;
    }
    // The next element of an array, or the next field.
    if body.starts_with(['"', '\'', '(']) {
        return true;
    }
    let line = body.lines().next().unwrap_or("");
    line.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grammar of published dumps.
    const SUMMARY: &str = "Listsummary:\n\n(vim.vm.Summary) {\n   vm = 'vim.VirtualMachine:3',\n   runtime = (vim.vm.RuntimeInfo) {\n      \
        device = <unset>,\n      powerState = \"poweredOn\",\n      needSecondaryReason = (string) [],\n      \
        dasVmProtection = (vim.vm.RuntimeInfo.DasProtectionState) null,\n      maxMemoryUsage = 4096,\n   },\n   \
        annotation = \"one \"quoted\" word,\nkey: value }\n\", \n   flag = true\n}\n";

    #[test]
    fn a_summary_is_read() {
        let node = read(SUMMARY, 1).expect("a dump");
        let summary = node.as_object().expect("an object");
        assert_eq!(summary.kind, "vim.vm.Summary");
        assert_eq!(summary.text("vm"), Some("vim.VirtualMachine:3"));
        let runtime = summary.object("runtime").expect("an object");
        assert_eq!(runtime.get("device"), Some(&Node::Unset));
        assert_eq!(runtime.get("dasVmProtection"), Some(&Node::Null));
        assert_eq!(runtime.get("needSecondaryReason"), Some(&Node::Array(Vec::new())));
        assert_eq!(runtime.text("powerState"), Some("poweredOn"));
        assert_eq!((runtime.text("maxMemoryUsage"), runtime.line_of("powerState")), (Some("4096"), 7));
        assert_eq!(summary.text("annotation"), Some("one \"quoted\" word,\nkey: value }\n"));
        assert_eq!(summary.text("flag"), Some("true"));
        assert_eq!(find(&node, "powerState"), Some(&Node::Scalar("poweredOn")));
    }

    #[test]
    fn line_ends_and_order_do_not_matter() {
        let node = read(&SUMMARY.replace('\n', "\r\n"), 1).map(|node| format!("{:?}", find(&node, "powerState")));
        assert_eq!(node.as_deref(), Some("Some(Scalar(\"poweredOn\"))"));
        let one = read("(vim.A) { b = (vim.B) [ (vim.C) { key = \"x\" }, (vim.C) { key = 2 } ], c = 'd' }", 1)
            .expect("a dump");
        let object = one.as_object().expect("an object");
        assert_eq!(object.objects("b").iter().map(|it| it.text("key")).collect::<Vec<_>>(), [Some("x"), Some("2")]);
        assert_eq!(object.text("c"), Some("d"));
    }

    #[test]
    fn what_is_no_dump_and_what_is_cut() {
        assert_eq!(read("vim-cmd: no such VM\n", 1), None);
        assert_eq!(read("", 1), None);
        let cut = read("(vim.A) {\n   b = \"c\",\n   d = (vim.D) {\n      e = \"f", 1).expect("a dump");
        assert_eq!(find(&cut, "b"), Some(&Node::Scalar("c")));
        assert_eq!(find(&cut, "e"), Some(&Node::Scalar("f")));
    }

    #[test]
    fn deep_nesting_is_survived() {
        for open in ["(vim.A) { a = ", "(vim.A) [ ", "(vim.A) { a = (vim.B) [ ", "{ a = \"", "[[[{{{"] {
            let _ = read(&open.repeat(2_000), 1);
        }
        let nested = |depth: usize| format!("{}{}", "(vim.A) {\n a = ".repeat(depth), "}".repeat(depth));
        let too_deep = |depth| Dump::read(&nested(depth), 1).expect("a dump").too_deep;
        assert_eq!((too_deep(60), too_deep(200)), (None, Some(65)), "what is left out is told");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4_000))]

        #[test]
        fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[SUMMARY])) {
            let _ = read(&text, 1).map(|node| find(&node, "powerState").is_some());
        }
    }
}
