//! What `esxcli --formatter=json` prints, as the tables and blocks that the same commands print for people: a list is an
//! array of objects, a `get` is one object. Its keys are the titles and keys of the other form without their blanks
//! (`AdminStatus`, `MACAddress`), which makes no difference to whoever asks for them.
//!
//! The form is not documented for every version: what is no such JSON is read as the other form.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::lines;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A number or a boolean, as it is written.
    Word(String),
    /// Nothing.
    Null,
    /// Several.
    List(Vec<Json<'a>>),
    /// Fields in their order.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// The value as one cell: parts of a list by commas, as the other form prints them; `None` for what has fields.
    pub fn cell(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Word(word) => Some(Cow::Owned(word.clone())),
            Self::Null => Some(Cow::Borrowed("")),
            Self::List(parts) => {
                let cells: Option<Vec<Cow<'a, str>>> = parts.iter().map(Self::cell).collect();
                cells.map(|cells| Cow::Owned(cells.join(", ")))
            }
            Self::Object(_) => None,
        }
    }

    /// The fields of an object.
    pub fn fields(&self) -> &[(Cow<'a, str>, Self)] {
        match self {
            Self::Object(fields) => fields,
            _ => &[],
        }
    }
}

/// Lines that may stand before it: a banner, the command that was typed.
const MOST_LINES_BEFORE: usize = 40;

/// The records of a text that is such JSON, and the number of the line on which it begins, where the first line of the text
/// has the number `first`. `None` if it is none, or was cut off.
pub fn records(text: &str, first: u32) -> Option<(Vec<Json<'_>>, u32)> {
    let mut place = 0;
    for (number, line) in (first..).zip(text.split_inclusive('\n')).take(MOST_LINES_BEFORE) {
        let begin = place;
        place += line.len();
        let body = line.trim_start();
        if body.is_empty() || !may_begin(&text[begin..]) {
            // The other form can hold braces further down.
            if !(body.is_empty() || lines::is_prompt(line) || begin < 200) {
                return None;
            }
            continue;
        }
        let mut found = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Json<'_>>();
        let records = match found.next()?.ok()? {
            Json::List(records) if records.iter().all(|record| matches!(record, Json::Object(_))) => records,
            record @ Json::Object(_) => vec![record],
            _ => return None,
        };
        return Some((records, number));
    }
    None
}

/// True if an object or an array of objects begins here: `[root@esx01:~]` and `[ConnectX-5]` do not.
fn may_begin(text: &str) -> bool {
    let text = text.trim_start();
    let object = |text: &str| text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']));
    object(text)
        || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(']') || object(rest.trim_start()))
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Word(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Word(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Word(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Word(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(part) = parts.next_element()? {
            list.push(part);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<Json<'de>, Json<'de>>()? {
            fields.push((key.cell().unwrap_or_default(), value));
        }
        Ok(Json::Object(fields))
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::{block, blocks};
    use super::super::table::Table;
    use super::*;

    /// facts: section on the output grammar.
    const VERSION: &str =
        r#"{"Build": "Releasebuild-1746018", "Product": "VMware ESXi", "Update": "1", "Version": "5.5.0"}"#;

    #[test]
    fn a_get_is_a_block_and_a_banner_before_it_is_passed_over() {
        for text in [
            VERSION.to_owned(),
            format!("[root@esx01:~] esxcli --formatter=json system version get\n\nWelcome\n{VERSION}\n"),
        ] {
            let block = block(&text, 1);
            assert_eq!(block.get(&["Version"]), Some("5.5.0"), "{text}");
            assert_eq!(block.get(&["Build"]), Some("Releasebuild-1746018"));
        }
        assert_eq!(block(&format!("\n\n{VERSION}"), 5).field(&["Product"]).map(|field| field.line), Some(7));
    }

    #[test]
    fn a_list_is_a_table_or_blocks() {
        let text = "[\n  {\"AdminStatus\": \"Up\", \"MACAddress\": \"ec:0d:9a:00:00:01\", \"MTU\": 9000, \"Name\": \"vmnic2\", \"PCI Device\": \"0000:5e:00.0\"},\n  \
                    {\"Name\": \"vmnic3\", \"MTU\": 1500, \"AdminStatus\": \"Down\", \"News\": null}\n]\n";
        let table = Table::read(text, 1, &["Name"]).expect("a table");
        let of = |row: usize, name| table.get(&table.rows()[row], &[name]);
        assert_eq!(table.rows().len(), 2);
        assert_eq!(of(0, "Admin Status"), Some("Up"));
        assert_eq!(of(0, "PCI Device"), Some("0000:5e:00.0"));
        assert_eq!((of(1, "MTU"), of(1, "MAC Address")), (Some("1500"), Some("")));
        let blocks = blocks(text, 1);
        assert_eq!((blocks.len(), blocks[1].get(&["Name"])), (2, Some("vmnic3")));
        assert!(Table::read("[]", 1, &["Name"]).is_some_and(|table| table.rows().is_empty()));
    }

    #[test]
    fn records_in_records_and_lists_of_words() {
        let text = r#"[{"Name": "DSwitch_078", "Uplinks": ["vmnic4", "vmnic5"], "DVPort": [
            {"Client": "vmnic4", "PortID": "0"}, {"Client": "vm001.eth1", "PortID": "2"}], "Driver": {"Firmware Version": "1.2: x"}}]"#;
        let blocks = blocks(text, 1);
        assert_eq!(blocks[0].get(&["Uplinks"]), Some("vmnic4, vmnic5"));
        let ports = blocks[0].nested("DVPort");
        assert_eq!(ports.len(), 2);
        assert_eq!(ports[1].get(&["Port ID"]), Some("2"));
        assert_eq!(blocks[0].anywhere(&["Firmware Version"]).map(|field| &*field.value), Some("1.2: x"));
        assert_eq!(blocks[0].get(&["Client"]), None);
    }

    #[test]
    fn what_is_none_is_left_to_the_other_form() {
        for text in [
            "",
            "[root@esx01:~] esxcli network nic list\n",
            "{",
            "[{\"a\": ",
            "[1, 2]",
            "Name  MTU\n----  ---\n{a}   1\n",
        ] {
            assert_eq!(records(text, 1), None, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(records(&deep, 1), None);
        assert_eq!(records(&"{\"a\":".repeat(100_000), 1), None);
    }
}
