//! Blocks of `esxcli`: `Key: value` lines that belong together by their indentation, under a title line or without one.
//! A key alone opens a nested record; several nested records are parted by an empty line. How deep a line stands counts
//! only against the lines around it. The first `: ` ends the key; values hold colons and may be empty.

use std::borrow::Cow;

use super::json::{self, Json};
use super::lines;

/// One `Key: value` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The key without the colon.
    pub key: &'a str,
    /// What stands behind it; empty where nothing does, or where nested records follow.
    pub value: Cow<'a, str>,
    /// Number of the line.
    pub line: u32,
    depth: usize,
    after_blank: bool,
}

/// One block, or one record nested in one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Block<'a> {
    /// The title line without a colon at its end; empty where the block has none.
    pub title: &'a str,
    /// Number of the first line.
    pub line: u32,
    fields: Vec<Field<'a>>,
}

impl<'a> Block<'a> {
    /// The fields of the block itself, without those of nested records, in their order.
    pub fn fields(&self) -> impl Iterator<Item = &Field<'a>> {
        let depth = self.fields.iter().map(|field| field.depth).min().unwrap_or(0);
        self.fields.iter().filter(move |field| field.depth == depth)
    }

    /// All fields at any depth, in their order.
    pub fn all(&self) -> &[Field<'a>] {
        &self.fields
    }

    /// The first field of the block itself with one of these keys; letter case and blanks do not matter.
    pub fn field(&self, keys: &[&str]) -> Option<&Field<'a>> {
        keys.iter().find_map(|key| self.fields().find(|field| lines::same_name(field.key, key)))
    }

    /// The value of that field: `None` if there is none, empty if its value is.
    pub fn get(&self, keys: &[&str]) -> Option<&str> {
        self.field(keys).map(|field| &*field.value)
    }

    /// The first field with one of these keys at any depth.
    pub fn anywhere(&self, keys: &[&str]) -> Option<&Field<'a>> {
        keys.iter().find_map(|key| self.fields.iter().find(|field| lines::same_name(field.key, key)))
    }

    /// The records under a key, in their order; none if there is no such key or nothing under it.
    pub fn nested(&self, key: &str) -> Vec<Self> {
        let top = self.fields.iter().map(|field| field.depth).min().unwrap_or(0);
        let is_it = |field: &Field<'_>| field.depth == top && lines::same_name(field.key, key);
        let Some(at) = self.fields.iter().position(is_it) else { return Vec::new() };
        let inner: Vec<Field<'a>> =
            self.fields[at + 1..].iter().take_while(|field| field.depth > top).cloned().collect();
        let depth = inner.iter().map(|field| field.depth).min().unwrap_or(0);
        let mut records: Vec<Self> = Vec::new();
        for field in inner {
            match records.last_mut() {
                Some(record) if !(field.after_blank && field.depth == depth) => record.fields.push(field),
                _ => records.push(Self { title: "", line: field.line, fields: vec![field] }),
            }
        }
        records
    }
}

/// The blocks in `text`, of which the first line has the number `first`. A block without a title ends at an empty line
/// behind which a key comes again that it has already.
pub fn blocks(text: &str, first: u32) -> Vec<Block<'_>> {
    if let Some((records, line)) = json::records(text, first) {
        return records.iter().map(|record| of_record(record, line)).collect();
    }
    let lines = lines_of(text, first);
    let base = lines.iter().map(|line| line.depth).min().unwrap_or(0);
    // Lines that stand furthest left are titles if most of them have something under them, else keys.
    let (mut titles, mut keys) = (0, 0);
    for (line, next) in lines.iter().zip(lines.iter().map(Some).skip(1).chain([None])) {
        if line.depth == base {
            if next.is_some_and(|next| next.depth > base) { titles += 1 } else { keys += 1 }
        }
    }
    let titled = titles > keys;
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let pair = key_and_value(line.text);
        let opens = lines.get(at + 1).is_some_and(|next| next.depth > line.depth);
        if line.depth == base && opens && (titled || pair.is_none()) {
            let title = line.text.strip_suffix(':').unwrap_or(line.text);
            blocks.push(Block { title, line: line.number, fields: Vec::with_capacity(32) });
            continue;
        }
        let Some((key, value)) = pair else { continue };
        let value = match line.whole.as_deref().and_then(key_and_value) {
            Some((_, value)) => Cow::Owned(value.to_owned()),
            None => Cow::Borrowed(value),
        };
        let field = Field { key, value, line: line.number, depth: line.depth, after_blank: line.after_blank };
        match blocks.last_mut() {
            Some(block)
                if !(block.title.is_empty()
                    && line.after_blank
                    && block.fields.first().is_some_and(|first| {
                        first.depth == line.depth && block.fields().any(|known| known.key == key)
                    })) =>
            {
                block.fields.push(field);
            }
            _ => blocks.push(Block { title: "", line: line.number, fields: vec![field] }),
        }
    }
    blocks
}

/// A record of the JSON form as a block without a title; all its fields stand on the line on which it begins.
fn of_record<'a>(record: &Json<'a>, line: u32) -> Block<'a> {
    let mut fields = Vec::new();
    push_fields(&mut fields, record, line, 0);
    Block { title: "", line, fields }
}

fn push_fields<'a>(fields: &mut Vec<Field<'a>>, record: &Json<'a>, line: u32, depth: usize) {
    for (key, value) in record.fields() {
        // A key that had to be unescaped is none that anybody asks for.
        let Cow::Borrowed(key) = *key else { continue };
        let cell = value.cell();
        let nested = cell.is_none();
        fields.push(Field { key, value: cell.unwrap_or_default(), line, depth, after_blank: false });
        let records = match value {
            Json::List(records) if nested => records.as_slice(),
            value if nested => std::slice::from_ref(value),
            _ => continue,
        };
        for record in records {
            let at = fields.len();
            push_fields(fields, record, line, depth + 1);
            if let Some(first) = fields.get_mut(at) {
                first.after_blank = true;
            }
        }
    }
}

/// The one block of a `get`; an empty one if there is none.
pub fn block(text: &str, first: u32) -> Block<'_> {
    blocks(text, first).into_iter().find(|block| !block.fields.is_empty()).unwrap_or_default()
}

struct Line<'a> {
    number: u32,
    depth: usize,
    text: &'a str,
    after_blank: bool,
    /// The rest of the line, where it was broken, put behind its text.
    whole: Option<String>,
}

/// The lines that are not empty; those that were broken at [`lines::WRAP`] are one again.
fn lines_of(text: &str, first: u32) -> Vec<Line<'_>> {
    let wrapped = lines::may_be_wrapped(text);
    let mut found: Vec<Line<'_>> = Vec::with_capacity(text.len() / 24);
    let mut after_blank = false;
    let mut length = 0;
    let mut blank_before = false;
    for (number, line) in (first..).zip(text.lines()) {
        let depth = lines::indent(line);
        let trimmed = line[depth..].trim_end();
        let ends_in_blank = trimmed.len() < line[depth..].len();
        if trimmed.is_empty() {
            after_blank = true;
            length = 0;
            continue;
        }
        let broken_at_blank = std::mem::replace(&mut blank_before, ends_in_blank);
        let before = std::mem::replace(&mut length, if wrapped { line.chars().count() } else { 0 });
        // A key is never broken off so that three blanks stand before the rest.
        let is_rest = wrapped && !after_blank && depth < 3 && before > 0 && lines::is_rest_of(before, line);
        // Nor does the rest of a line stand as far right as the keys around it and have a colon too.
        let is_key = depth > 0 && found.last().is_some_and(|above| above.depth == depth) && trimmed.contains(": ");
        if is_rest && !is_key {
            if let Some(above) = found.last_mut() {
                let whole = above.whole.get_or_insert_with(|| above.text.to_owned());
                // A line of the full width was broken in the middle of a word, or behind the blank that `trim_end` took.
                if before < lines::WRAP || depth > 0 || broken_at_blank {
                    whole.push(' ');
                }
                whole.push_str(trimmed);
            }
            continue;
        }
        if lines::is_prompt(line) {
            continue;
        }
        found.push(Line { number, depth, text: trimmed, after_blank, whole: None });
        after_blank = false;
    }
    found
}

/// Parts a line at its first `: `, or takes a colon off its end.
fn key_and_value(text: &str) -> Option<(&str, &str)> {
    match text.split_once(": ") {
        Some((key, value)) => Some((key.trim_end(), value.trim())),
        None => text.strip_suffix(':').map(|key| (key.trim_end(), "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCI: &str = include_str!("../../../tests/fixtures/esxi/103-hardware-pci-list-blocks.txt");
    const DCB: &str = include_str!("../../../tests/fixtures/esxi/10-dcb-status-two-hosts.txt");

    #[test]
    fn a_list_that_begins_in_the_middle() {
        let blocks = blocks(PCI, 1);
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].title, "");
        assert_eq!(blocks[0].get(&["FPT Sharable"]), Some("true"));
        assert_eq!(blocks[1].title, "0000:04:00.0");
        assert_eq!(blocks[1].line, 4);
        assert_eq!(blocks[1].get(&["vendorid"]), Some("0x1000"));
        assert_eq!(blocks[1].get(&["Parent Device"]), Some("PCI 0:0:2:0"));
    }

    #[test]
    fn titles_with_colons_and_two_blanks() {
        let blocks = blocks(DCB, 1);
        let titles: Vec<&str> = blocks.iter().map(|block| block.title).collect();
        assert_eq!(titles, ["vmnic3", "vmnic4", "vmnic5", "vmnic6"]);
        assert_eq!(blocks[2].get(&["Mode"]), Some("CEE Mode (not IEEE)"));
        // A long line with a short key below it was not broken there.
        assert_eq!(blocks[0].get(&["PFC Configuration"]), Some("0 0 0 1 0 0 0 0  (Priority 3 enabled for RoCE)"));
        assert_eq!(blocks[1].get(&["Sent PFC Frames"]), Some("0 0 0 1 0 0 0 0   (Priority 3 active)"));
    }

    /// The layout of `network nic get` and of virtual switches, as they were published.
    const NESTED: &str = "DSwitch: 078\n   Name: DSwitch: 078\n   Uplinks: vmnic4\n   DVPort:\n         Client: vmnic4\n         \
        Port ID: 0\n\n         Client: vm001.eth1\n         Port ID: 2\n   Empty:\n\nOther\n   Name: Other\n";

    #[test]
    fn nested_records_are_parted_by_empty_lines() {
        let moved = format!("    {}", NESTED.trim_end().replace('\n', "\r\n    "));
        for text in [NESTED, &moved] {
            let blocks = blocks(text, 1);
            assert_eq!(blocks.len(), 2, "{text}");
            assert_eq!(blocks[0].title, "DSwitch: 078");
            assert_eq!(blocks[0].get(&["Name"]), Some("DSwitch: 078"));
            assert_eq!(blocks[0].get(&["Empty"]), Some(""));
            let ports = blocks[0].nested("DV Port");
            assert_eq!(ports.len(), 2);
            assert_eq!(ports[1].get(&["Client"]), Some("vm001.eth1"));
            assert_eq!(ports[1].field(&["Port ID"]).map(|field| field.line), Some(9));
            assert_eq!(blocks[0].get(&["Client"]), None, "a nested key is not the block's own");
        }
    }

    #[test]
    fn records_without_titles() {
        let text = "   Path: /A\n   Type: integer\n\n   Path: /B\n   Type: string\n   Bus Info: 0000:4b:00:0\n";
        let blocks = blocks(text, 1);
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[1].get(&["Path"]), Some("/B"));
        assert_eq!(blocks[1].get(&["Bus Info"]), Some("0000:4b:00:0"));
        assert_eq!(block("\n  \n", 1), Block::default());
    }

    #[test]
    fn a_value_that_was_broken_is_whole_again() {
        let long = "   Advertised Link Modes: Auto, 1000BaseT/Full, 10000BaseT/Full, 25000BaseCR1/Full, 40000Base";
        let text = format!("   Name: vmnic0\n{}\n{}\n   Next: x\n", &long[..72], &long[72..]);
        let whole = block(&text, 1);
        assert_eq!(whole.get(&["Advertised Link Modes"]), long.split_once(": ").map(|(_, value)| value));
        assert_eq!(whole.get(&["Next"]), Some("x"));
        assert_eq!(whole.all().len(), 3);
    }

    #[test]
    fn a_blank_at_the_place_where_it_was_broken_stays() {
        // The blank is the last character of the line of 72, or the first of the next one.
        for words in [50, 51] {
            let value = format!("{} end of it", "x".repeat(words));
            let long = format!("   Advertised Modes: {value}");
            assert!(long[71..73].contains(' '), "{words}");
            let text = format!("   Name: vmnic0\n{}\n{}\n   Next: x\n", &long[..72], &long[72..]);
            assert_eq!(block(&text, 1).get(&["Advertised Modes"]), Some(&*value), "{words}");
        }
    }
}
