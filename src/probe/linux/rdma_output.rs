//! Takes apart what `rdma` (iproute2) prints: lists of JSON objects in their old and new shapes, also when they are cut
//! off in the middle, and the text that old versions print instead. Everything is found by key, never by position.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::fabric::Observation;

/// Words that are keys although nothing is made of them: they must not be taken for values.
const OTHER_KEYS: [&str; 6] = ["lmc", "netdev_index", "ifindex", "caps:", "adaptive-moderation", "protocol"];

/// One object that `rdma` printed: a device or a link, with its keys as they came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// Name of the device.
    pub(super) device: String,
    /// Port, where there is one; ports count from 1.
    pub(super) port: Option<u32>,
    /// Values by key.
    pub(super) values: BTreeMap<String, Json>,
    /// Line of the output on which it begins.
    pub(super) line: u32,
}

/// All objects of one output, and whether it was whole.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// The objects.
    pub(super) items: Vec<Item>,
    /// Why some may be missing.
    pub(super) broken: Option<&'static str>,
}

/// True if the tool says that there is no RDMA core to talk to.
pub(super) fn is_unloaded(observation: &Observation) -> bool {
    let says = |text: &str| text.contains("NETLINK_RDMA");
    says(&observation.stderr) || (says(&observation.stdout) && !observation.stdout.contains("ifname"))
}

/// Reads the objects of one output: JSON where it is JSON (also when it is cut off in the middle), else text, in which
/// only `keys` are looked for.
pub(super) fn items(observation: &Observation, keys: &[&str]) -> Items {
    let text = &*observation.stdout;
    let Some(start) = text.lines().zip(1u32..).find(|(line, _)| line.trim_start().starts_with('[')) else {
        return Items { items: text_items(observation, keys), broken: None };
    };
    let (objects, whole) = json_objects(&text[text.find('[').unwrap_or(0)..]);
    let items = objects.iter().filter_map(|object| json_item(object, start.1)).collect();
    Items { items, broken: (!whole).then_some("the answer of rdma is no whole JSON") }
}

/// The objects of a JSON list, as far as it goes, and whether it was whole.
fn json_objects(text: &str) -> (Vec<Map<String, Json>>, bool) {
    let pick = |list: Vec<Json>| -> Vec<Map<String, Json>> {
        list.into_iter().filter_map(|item| if let Json::Object(map) = item { Some(map) } else { None }).collect()
    };
    // Only the first value: a tool may print something after it.
    if let Some(Ok(list)) = serde_json::Deserializer::from_str(text).into_iter::<Vec<Json>>().next() {
        return (pick(list), true);
    }
    let mut objects = Vec::new();
    let mut rest = text.trim_start().strip_prefix('[').unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        match stream.next() {
            Some(Ok(Json::Object(map))) => objects.push(map),
            Some(Ok(_)) => {}
            _ => return (objects, false),
        }
        rest = rest.get(stream.byte_offset()..).unwrap_or_default();
    }
}

/// One object: `"ifname":"mlx5_0","port":1`, or `"ifname":"mlx5_0/1"` as old versions print it.
fn json_item(object: &Map<String, Json>, line: u32) -> Option<Item> {
    let name = object.get("ifname")?.as_str()?.trim();
    let (device, tail) = match name.rsplit_once('/') {
        Some((device, tail)) => (device, Some(tail)),
        None => (name, None),
    };
    let port = match object.get("port") {
        Some(port) => port.as_u64().and_then(|port| u32::try_from(port).ok()),
        None => tail.and_then(|tail| tail.parse().ok()),
    };
    let values = object.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    (!device.is_empty()).then(|| Item { device: device.to_owned(), port: port.filter(|port| *port > 0), values, line })
}

/// Objects of the text form. A line that begins with a blank goes on with the object above it.
fn text_items(observation: &Observation, keys: &[&str]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut open = false;
    for (number, line) in observation.lines() {
        if line.trim().is_empty() {
            open = false;
        } else if let Some((device, port, rest)) = text_head(line) {
            let mut item = Item { device: device.to_owned(), port, values: BTreeMap::new(), line: number };
            take_pairs(rest, keys, &mut item.values);
            items.push(item);
            open = true;
        } else if line.starts_with([' ', '\t']) {
            if let Some(item) = items.last_mut().filter(|_| open) {
                take_pairs(line, keys, &mut item.values);
            }
        } else {
            open = false;
        }
    }
    items
}

/// The head of a text line: `link DEVICE/PORT rest`, `1/1: DEVICE/PORT: rest` (old) or `0: DEVICE: rest`.
fn text_head(line: &str) -> Option<(&str, Option<u32>, &str)> {
    let (first, rest) = line.split_once(char::is_whitespace)?;
    let whole = rest.trim_start();
    let (name, rest) = whole.split_once(char::is_whitespace).unwrap_or((whole, ""));
    let is_index = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    let name = if first == "link" {
        name
    } else {
        first.strip_suffix(':').filter(|index| is_index(index))?;
        name.strip_suffix(':')?
    };
    let (device, tail) = match name.rsplit_once('/') {
        Some((device, tail)) => (device, Some(tail)),
        None => (name, None),
    };
    if device.is_empty() || (first == "link" && tail.is_none()) {
        return None;
    }
    let port = tail.and_then(|tail| tail.parse().ok()).filter(|port| *port > 0);
    // Versions 5.5 to 5.8 print `link mlx5_0/lqpn 7`: the port is lost and the first key stands in its place.
    match tail {
        Some(key) if key.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some((device, None, &whole[device.len() + 1..]))
        }
        _ => Some((device, port, rest)),
    }
}

/// `key value` pairs of known keys, in any order; `caps: <A, B>` is one value.
fn take_pairs(text: &str, keys: &[&str], values: &mut BTreeMap<String, Json>) {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if word == "caps:" {
            let list: Vec<&str> = words.by_ref().collect();
            let list = list.join(" ");
            values.insert("caps".to_owned(), Json::String(list.split('>').next().unwrap_or_default().to_owned()));
            return;
        }
        if word == "comm" && keys.contains(&word) {
            // A process may have blanks in its name, and the name comes last.
            let name: Vec<&str> = words.by_ref().collect();
            values.entry(word.to_owned()).or_insert_with(|| Json::String(name.join(" ")));
            return;
        }
        if keys.contains(&word) {
            let value = words.next_if(|next| !keys.contains(next) && !OTHER_KEYS.contains(next)).unwrap_or_default();
            values.entry(word.to_owned()).or_insert_with(|| Json::String(value.to_owned()));
        } else if OTHER_KEYS.contains(&word) {
            words.next_if(|next| !keys.contains(next));
        }
    }
}
