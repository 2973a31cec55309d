//! What `esxcli --formatter=json`, `csv` and `keyvalue` print: the tables and blocks that the same commands print for people,
//! with their titles written as one word (`AdminStatus`). Each value gets the name that the other form gives it.

use super::parts::Part;
use super::{Explained, Kind, value};
use crate::probe::esxi::json::{self, Json};

/// A value with its line.
struct Field {
    line: u32,
    key: String,
    value: String,
}

/// Names of the field that a record is about, the likeliest first.
const OWNERS: [&str; 14] = [
    "Name",
    "NICName",
    "NicName",
    "NIC",
    "Nic",
    "DeviceID",
    "Device",
    "Adapter",
    "Interface",
    "Address",
    "Path",
    "ModuleName",
    "Key",
    "ID",
];

/// So many records of one output are told.
const MOST_RECORDS: usize = 4_096;
/// So many fields one record has at most.
const MOST_FIELDS: usize = 256;

/// Reads what there is, of lines that nothing else has read; marks those it reads.
pub(super) fn read(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    let is_esxi = part.command.as_ref().is_none_or(|(_, command)| command.contains("cli "));
    if !is_esxi || is_read.contains(&true) || part.lines.len() > super::MOST_LINES {
        return;
    }
    let records = of_json(part, is_read).or_else(|| of_pairs(part, is_read)).or_else(|| of_csv(part, is_read));
    let Some(records) = records else { return };
    explained.is(Kind::Esxcli);
    for record in records.iter().take(MOST_RECORDS) {
        let own = OWNERS.iter().find_map(|owner| record.iter().find(|field| field.key == *owner));
        let of = own.map_or("", |field| field.value.as_str());
        let of = host.map_or_else(|| of.to_owned(), |host| format!("{host}:{of}"));
        for field in record.iter().filter(|field| own.is_none_or(|own| own.key != field.key)) {
            let key = kebab(&field.key);
            let name = if of.is_empty() { key } else { format!("{of}.{key}") };
            explained.fact(field.line, &name, value(&field.value), None);
        }
    }
}

/// True for a title in one word.
fn is_title(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.len() < 64
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// True for several words written as one.
fn is_camel(word: &str) -> bool {
    let mut signs = word.chars();
    signs.next();
    signs.any(|c| c.is_ascii_lowercase())
}

fn of_json(part: &Part<'_>, is_read: &mut [bool]) -> Option<Vec<Vec<Field>>> {
    let begins = |line: &str| matches!(line.trim_start().as_bytes().first(), Some(b'{' | b'['));
    let first = part.lines.iter().position(|(_, line)| begins(line))?;
    let lines = &part.lines[first..];
    let text = lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n");
    let (objects, _) = json::records(&text, 1)?;
    let keys: Vec<&str> = objects.iter().flat_map(Json::fields).map(|(key, _)| &**key).collect();
    // Other programs write their keys small.
    if keys.len() < 2 || !keys.iter().all(|key| is_title(key)) || !keys.iter().any(|key| is_camel(key)) {
        return None;
    }
    let mut at = 0;
    let mut records = Vec::new();
    for object in objects.iter().take(MOST_RECORDS) {
        let mut record = Vec::new();
        fields(object, "", &mut |key, name, value| {
            let wanted = format!("\"{key}\"");
            at += lines[at..].iter().position(|(_, line)| line.contains(&wanted)).unwrap_or(0);
            if record.len() < MOST_FIELDS {
                record.push(Field { line: lines[at].0, key: name, value });
            }
        });
        records.push(record);
    }
    is_read[first..].fill(true);
    Some(records)
}

/// Calls `found` with the last key, all keys and the value of each field.
fn fields(object: &Json<'_>, of: &str, found: &mut impl FnMut(&str, String, String)) {
    for (key, value) in object.fields() {
        let name = if of.is_empty() { key.to_string() } else { format!("{of}.{key}") };
        match value.cell() {
            Some(cell) => found(key, name, cell.into_owned()),
            // What nests deeper is read no further: no command prints it.
            None if of.is_empty() => fields(value, &name, found),
            None => {}
        }
    }
}

/// `NetworkInterface.AdminStatus.string=Up`; a key that comes again begins the next record.
fn of_pairs(part: &Part<'_>, is_read: &mut [bool]) -> Option<Vec<Vec<Field>>> {
    const TYPES: [&str; 6] = ["string", "integer", "long", "boolean", "float", "enum"];
    let pair = |line: &str| -> Option<(String, String)> {
        let (name, value) = line.split_once('=')?;
        let mut words = name.trim().split('.');
        let (of, key, kind) = (words.next()?, words.next()?, words.next()?);
        let is_type = TYPES.contains(&kind.trim_end_matches("[]"));
        (is_title(of) && is_title(key) && is_type && words.next().is_none())
            .then(|| (key.to_owned(), value.trim().trim_end_matches(',').to_owned()))
    };
    let mut records: Vec<Vec<Field>> = Vec::new();
    for ((line, text), is_read) in part.lines.iter().zip(is_read.iter_mut()) {
        let Some((key, value)) = pair(text) else { continue };
        *is_read = true;
        let is_next = records
            .last()
            .is_none_or(|record| record.len() >= MOST_FIELDS || record.iter().any(|field| field.key == key));
        if is_next {
            records.push(Vec::new());
        }
        if let Some(record) = records.last_mut() {
            record.push(Field { line: *line, key, value });
        }
    }
    (!records.is_empty()).then_some(records)
}

/// A line of titles with a comma behind the last one, and rows with as many cells.
fn of_csv(part: &Part<'_>, is_read: &mut [bool]) -> Option<Vec<Vec<Field>>> {
    let titles = |line: &str| -> Option<Vec<String>> {
        let cells = cells(line.trim());
        let is_esxcli = cells.len() > 2
            && cells.last().is_some_and(String::is_empty)
            && cells[..cells.len() - 1].iter().all(|cell| is_title(cell))
            && cells.iter().any(|cell| is_camel(cell));
        is_esxcli.then_some(cells)
    };
    let (first, titles) = part.lines.iter().enumerate().find_map(|(at, (_, line))| Some((at, titles(line)?)))?;
    is_read[first] = true;
    let mut records = Vec::new();
    for (at, (line, text)) in part.lines.iter().enumerate().skip(first + 1) {
        let row = cells(text.trim());
        if row.len() != titles.len() {
            break;
        }
        is_read[at] = true;
        let pairs = titles.iter().zip(row).filter(|(title, _)| !title.is_empty()).take(MOST_FIELDS);
        records.push(pairs.map(|(key, value)| Field { line: *line, key: key.clone(), value }).collect());
    }
    Some(records)
}

/// The cells of a line, some of them in quotes that are doubled within.
fn cells(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if is_quoted && signs.peek() == Some(&'"') => cell.extend(signs.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(std::mem::take(&mut cell)),
            sign => cell.push(sign),
        }
    }
    all.push(cell);
    all
}

/// `AdminStatus` is `admin-status`, `MACAddress` is `mac-address`.
fn kebab(title: &str) -> String {
    let title = title.replace("VMkernel", "Vmkernel").replace("VMware", "Vmware");
    let signs: Vec<char> = title.chars().collect();
    let mut name = String::new();
    for (at, sign) in signs.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| signs.get(at));
        let is_word = sign.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_uppercase() && signs.get(at + 1).is_some_and(char::is_ascii_lowercase)
            });
        if is_word {
            name.push('-');
        }
        name.push(if *sign == '_' { '-' } else { sign.to_ascii_lowercase() });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::explain::{Value, explain};

    fn of(text: &str) -> Explained {
        explain("-", text.as_bytes())
    }

    fn known(explained: &Explained, name: &str) -> Option<Value> {
        explained.facts.iter().find(|fact| fact.name.as_str() == name).and_then(|fact| fact.state.known().cloned())
    }

    const JSON: &str = "[\n  {\n    \"AdminStatus\": \"Up\",\n    \"Driver\": \"nmlx5_core\",\n    \"MTU\": 9000,\n    \"Name\": \"vmnic2\"\n  },\n  {\n    \
                        \"AdminStatus\": \"Down\",\n    \"Driver\": \"ixgben\",\n    \"MTU\": 1500,\n    \"Name\": \"vmnic3\"\n  }\n]\n";
    const CSV: &str = "AdminStatus,Description,Driver,MTU,Name,\nUp,\"Mellanox ConnectX-5, 2 ports\",nmlx5_core,9000,vmnic2,\nDown,x,ixgben,1500,vmnic3,\n";
    const PAIRS: &str = "NetworkInterface.AdminStatus.string=Up\nNetworkInterface.MTU.integer=9000\nNetworkInterface.Name.string=vmnic2\n\
                         NetworkInterface.AdminStatus.string=Down\nNetworkInterface.MTU.integer=1500\nNetworkInterface.Name.string=vmnic3\n";

    #[test]
    fn each_form_tells_the_same() {
        for (formatter, text) in [("json", JSON), ("csv", CSV), ("keyvalue", PAIRS)] {
            for text in
                [text.to_owned(), format!("[root@esx01:~] esxcli --formatter={formatter} network nic list\n{text}")]
            {
                let explained = of(&text);
                assert_eq!(explained.kinds, [Kind::Esxcli], "{text}");
                assert_eq!(known(&explained, "vmnic2.mtu"), Some(Value::Number(9000)), "{text}");
                assert_eq!(known(&explained, "vmnic3.admin-status"), Some(Value::Text("Down".into())), "{text}");
            }
        }
        let lines: Vec<u32> = of(JSON).facts.iter().map(|fact| fact.line).collect();
        assert_eq!(lines, [3, 4, 5, 9, 10, 11]);
    }

    /// The same is concluded as from the form for people.
    #[test]
    fn what_a_host_says_means_the_same_in_each_form() {
        let pause = "NIC,PauseParamsSupported,PauseRX,PauseTX,AutoNegotiation,AutoNegotiationResolutionAvail,RXAutoNegotiationResolution,TXAutoNegotiationResolution,\n\
                     vmnic2,true,false,false,true,false,false,false,\n";
        let checks: Vec<String> = of(pause).findings.iter().map(|finding| finding.check.clone()).collect();
        assert_eq!(checks, ["host.pause-off"]);
    }

    #[test]
    fn titles_are_the_words_of_the_other_form() {
        for (title, name) in [
            ("AdminStatus", "admin-status"),
            ("MACAddress", "mac-address"),
            ("PFCEnabled", "pfc-enabled"),
            ("MTU", "mtu"),
            ("VMkernelName", "vmkernel-name"),
            ("PauseRX", "pause-rx"),
            ("FPTSharable", "fpt-sharable"),
            ("Device_ID", "device-id"),
        ] {
            assert_eq!(kebab(title), name);
        }
    }

    #[test]
    fn what_others_write_is_none_of_it() {
        for text in [
            "[{\"ifindex\": 1, \"ifname\": \"rxe0\", \"port\": 1}]\n",
            "{\"TABLE_interface\": {\"ROW_interface\": []}, \"a\": 1}\n",
            "Name,Age,City\nA,1,B\n",
            "Log.Level.string\n",
            "a.b.string=c\n",
        ] {
            assert!(!of(text).kinds.contains(&Kind::Esxcli), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_damage_is_survived(text in crate::probe::testing::mutated_texts(&[JSON, CSV, PAIRS])) {
            let _ = of(&text);
        }
    }
}
