//! The forms of answers. A text file begins with a line `#: ` that names the real output it was copied from, or says
//! `UNSOURCED`; forms that repeat or depend on what they hold are small Rust files with the same kind of line. Nothing
//! here knows a machine: values come in, text goes out.

pub mod ip;
pub mod lists;
pub mod rdma;

use std::fmt::{self, Write as _};
use std::net::IpAddr;

/// Text to which formatted text is added.
pub trait Append {
    /// Adds formatted text at the end.
    fn add(&mut self, text: fmt::Arguments<'_>);
}

impl Append for String {
    fn add(&mut self, text: fmt::Arguments<'_>) {
        let _infallible = self.write_fmt(text);
    }
}

/// A template without its head, with `{name}` replaced by values. `{name:20}` fills up with blanks behind the value,
/// `{name:>8}` before it. A name without a value stays as it is: tests look for that.
pub fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut rest = body(template);
    let mut text = String::with_capacity(rest.len() + 256);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            continue;
        };
        let (name, width) = inside.split_once(':').unwrap_or((inside, ""));
        let Some((_, value)) = values.iter().find(|(other, _)| *other == name) else {
            text.push('{');
            rest = after;
            continue;
        };
        let (right, width) = width.strip_prefix('>').map_or((false, width), |width| (true, width));
        let width = width.parse().unwrap_or(0);
        if right {
            text.add(format_args!("{value:>width$}"));
        } else {
            text.add(format_args!("{value:<width$}"));
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

/// A template without the lines that say where it comes from.
pub fn body(template: &str) -> &str {
    let mut rest = template;
    while rest.starts_with("#: ") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

/// An address as sysfs prints an identifier: eight groups, IPv4 mapped.
pub fn gid_groups(address: IpAddr) -> String {
    let segments = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().segments(),
        IpAddr::V6(v6) => v6.segments(),
    };
    segments.map(|segment| format!("{segment:04x}")).join(":")
}

/// An identifier in groups as one hexadecimal number.
pub fn without_colons(guid: &str) -> String {
    guid.replace(':', "")
}

/// One value of a JSON object.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A list of texts.
    Texts(Vec<String>),
    /// An object.
    Object(Vec<(&'static str, Json)>),
    /// A list of objects.
    Objects(Vec<Vec<(&'static str, Json)>>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Capture: `rdma -j link`, `ip -j addr` of iproute2 6.1 in a Debian 12 guest: one line, no blanks, keys in the order in
/// which they are printed.
fn one_line(value: &Json) -> String {
    match value {
        Json::Number(number) => number.to_string(),
        Json::Text(text) => quoted(text),
        Json::Flag(flag) => flag.to_string(),
        Json::Texts(texts) => format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",")),
        Json::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{}", quoted(name), one_line(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Json::Objects(objects) => {
            let objects: Vec<String> = objects.iter().map(|object| one_line(&Json::Object(object.clone()))).collect();
            format!("[{}]", objects.join(","))
        }
    }
}

/// Capture: `rdma -p -j link` of iproute2 6.1 in a Debian 12 guest. UNSOURCED for lists within objects.
fn pretty(value: &Json, indent: usize) -> String {
    let margin = " ".repeat(indent);
    match value {
        Json::Objects(objects) => {
            let objects: Vec<String> =
                objects.iter().map(|object| pretty(&Json::Object(object.clone()), indent + 4)).collect();
            format!("[ {} ]", objects.join(","))
        }
        Json::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{margin}    {}: {}", quoted(name), pretty(value, indent + 4)))
                .collect();
            format!("{{\n{}\n{margin}}}", fields.join(",\n"))
        }
        Json::Texts(texts) => format!("[ {} ]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",")),
        other => one_line(other),
    }
}

/// A list of objects as iproute2 prints it, with its newline.
pub fn json(objects: Vec<Vec<(&'static str, Json)>>, is_pretty: bool) -> String {
    let list = Json::Objects(objects);
    if is_pretty { format!("{}\n", pretty(&list, 0)) } else { format!("{}\n", one_line(&list)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_and_heads_are_left_out() {
        let template = "#: capture: x\n#: more\na {one} {two:6}|{three:>4}|{unknown}{\n";
        let values = [("one", "1".to_owned()), ("two", "zwei".to_owned()), ("three", "3".to_owned())];
        assert_eq!(fill(template, &values), "a 1 zwei  |   3|{unknown}{\n");
        assert_eq!(body("no head\n"), "no head\n");
    }

    #[test]
    fn pretty_json_is_that_of_the_tool() {
        let link = vec![("ifindex", Json::from(0u32)), ("ifname", "rxe0".into()), ("port", 1u32.into())];
        assert_eq!(
            json(vec![link], true),
            "[ {\n        \"ifindex\": 0,\n        \"ifname\": \"rxe0\",\n        \"port\": 1\n    } ]\n"
        );
        assert_eq!(json(Vec::new(), false), "[]\n");
    }
}
