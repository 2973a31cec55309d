//! What an ESXi host prints that is neither a table nor a block of esxcli: its version, nodes of the VMkernel's tree, ports
//! of distributed switches by `net-dvs`, and the columns of `esxtop -b`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parts::{Line, Part};
use super::{Explained, Kind, Value, tables, value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::{Observation, State, Text};
use crate::probe::esxi::PROBES;

/// Reads what there is, of lines that nothing else has read; marks those it reads.
pub(super) fn read(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    version(explained, host, part, is_read);
    esxtop(explained, host, part, is_read);
    net_dvs(explained, host, part, is_read);
    vsish(explained, host, part, is_read);
}

fn owned(host: Option<&str>, name: &str) -> String {
    host.map_or_else(|| name.to_owned(), |host| format!("{host}:{name}"))
}

/// `VMware ESXi 8.0.3 build-24022510`, and the update in words below it.
fn version(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    for ((number, line), is_read) in part.lines.iter().zip(is_read) {
        let Some((version, build)) =
            line.trim().strip_prefix("VMware ESXi ").and_then(|rest| rest.split_once(" build-"))
        else {
            continue;
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if digits(version) && digits(build) {
            explained.is(Kind::EsxiVersion);
            explained.fact(*number, &owned(host, "esxi.version"), State::Known(Value::Text(Text::new(version))), None);
            explained.fact(*number, &owned(host, "esxi.build"), value(build), None);
            *is_read = true;
        }
    }
}

/// One cell of the titles of `esxtop -b`: `\\host\Group(instance)\Counter`.
fn column(cell: &str) -> Option<(&str, &str)> {
    let (host, rest) = cell.strip_prefix(r"\\")?.split_once('\\')?;
    // The name of an instance may hold anything, the counter comes behind the last bracket.
    let (group, _) = rest.split_once(['(', '\\'])?;
    (!host.is_empty() && !group.is_empty() && rest.contains('\\')).then_some((host, group))
}

/// So many names of groups are told.
const MOST_GROUPS: usize = 32;

fn esxtop(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    let begins = |line: &str| line.trim_start().trim_start_matches('"').starts_with("(PDH-CSV ");
    let Some(first) = part.lines.iter().position(|(_, line)| begins(line)) else { return };
    let (mut columns, mut samples) = (0_i64, 0_i64);
    let (mut machine, mut groups) = (None, BTreeSet::new());
    let mut last = first;
    for (at, (_, line)) in part.lines.iter().enumerate().skip(first) {
        let line = line.trim();
        // `"05/15/2018 02:13:06","0.00"`; a day, a month and a year.
        let is_sample = line.get(1..20).is_some_and(|time| {
            let shape = time.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
            line.starts_with('"') && shape.eq(*b"00/00/0000 00:00:00")
        });
        samples += i64::from(is_sample);
        let mut is_title = at == first || line.is_empty();
        for cell in line.split("\",\"").filter(|_| !is_sample) {
            if let Some((name, group)) = column(cell.trim_matches(['"', ','])) {
                is_title = true;
                columns += 1;
                machine = machine.or_else(|| Some(Text::new(name)));
                if groups.len() < MOST_GROUPS {
                    groups.insert(group.to_owned());
                }
            }
        }
        // A title that was broken goes on in the next line.
        let goes_on = line.ends_with('"') && at == last + 1;
        if !is_title && !is_sample && !goes_on {
            break;
        }
        is_read[at] = true;
        last = at;
    }
    let (line, words) = &part.lines[first];
    explained.is(Kind::Esxtop);
    explained.fact(*line, &owned(host, "esxtop.columns"), State::Known(Value::Number(columns)), None);
    explained.fact(*line, &owned(host, "esxtop.samples"), State::Known(Value::Number(samples)), None);
    if let Some(machine) = machine {
        explained.fact(*line, &owned(host, "esxtop.host"), State::Known(Value::Text(machine)), None);
    }
    let groups: Vec<String> = groups.into_iter().collect();
    explained.fact(*line, &owned(host, "esxtop.groups"), value(&groups.join(", ")), None);
    let finding = Finding::new(
        "tool.esxtop-without-rdma",
        Status::Info,
        Confidence::Proved,
        "esxtop -b",
        "No column of esxtop counts RDMA",
        "What RDMA sends bypasses the virtual ports that esxtop counts, so a busy adapter looks idle here. The columns of CPU (ready, \
         co-stop), memory and ports still tell what slows a VM down. The first sample counts from the start of the host.",
    )
    .helped_by("Read what the RDMA device counts", &["esxcli rdma device stats get -d vmrdma0", "esxcli network nic stats get -n vmnic0"], "");
    explained.finding(finding.shown(*line, words.get(..words.floor_char_boundary(80)).unwrap_or(words)));
}

fn net_dvs(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    let is_property = |line: &str| line.trim_start().starts_with("com.vmware.");
    if part.lines.iter().filter(|(_, line)| is_property(line)).take(2).count() < 2 {
        return;
    }
    let Some(first) = part.lines.iter().position(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("switch ") || line.starts_with("port ") || is_property(line)
    }) else {
        return;
    };
    let lines: &[Line<'_>] = &part.lines[first..part.lines.len().min(super::MOST_LINES + first)];
    let Some(probe) = PROBES.iter().find(|probe| probe.name == "esxi.net-dvs") else { return };
    let text = lines.iter().map(|(_, line)| &**line).collect::<Vec<_>>().join("\n");
    let facts = (probe.parse)(&[Arc::new(Observation::of_text("esxi.net-dvs-list", &text))]);
    explained.is(Kind::NetDvs);
    for fact in facts.iter().filter(|fact| fact.reading.line > 0) {
        super::switch::tell(explained, host, fact, tables::number(lines, fact.reading.line));
    }
    is_read[first..first + lines.len()].fill(true);
}

/// A node of the tree: a name, a bracket, `key:value` lines, a bracket.
fn vsish(explained: &mut Explained, host: Option<&str>, part: &Part<'_>, is_read: &mut [bool]) {
    let asked = part.command.as_ref().and_then(|(_, command)| {
        let first = command.split_whitespace().next()?;
        (first.rsplit('/').next() == Some("vsish")).then(|| command.split_whitespace().last())?
    });
    let mut inside: Vec<String> = Vec::new();
    for (at, is_read) in is_read.iter_mut().enumerate() {
        let (number, line) = &part.lines[at];
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_suffix(" {").filter(|name| is_node(name)) {
            // A block of C, JSON or a dump has other lines inside.
            let next = part.lines[at + 1..].iter().map(|(_, line)| line.trim()).find(|line| !line.is_empty());
            let is_pair = |next: &str| pair(next).is_some() || next.strip_suffix(" {").is_some_and(is_node);
            if !inside.is_empty() || asked.is_some() || next.is_some_and(is_pair) {
                inside.push(name.to_owned());
                explained.is(Kind::Vsish);
                *is_read = true;
            }
            continue;
        }
        if inside.is_empty() {
            continue;
        }
        *is_read = true;
        if trimmed == "}" {
            inside.pop();
        } else if let Some((key, word)) = pair(trimmed) {
            let of = asked.unwrap_or(&inside[0]);
            let name = owned(host, &format!("{of}.{}", tables::kebab(key)));
            explained.fact(*number, &name, value(word), None);
        }
    }
}

fn is_node(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() < 80
        && name.chars().all(|c| c.is_ascii_alphanumeric() || " -_/".contains(c))
        && !["struct", "static", "enum", "union", "class", "if", "else", "do"]
            .contains(&name.split(' ').next().unwrap_or_default())
}

/// `NUMA node:0`: the value stands right behind the colon.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_()/.".contains(c);
    (key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain) && !value.starts_with([' ', ':']))
        .then_some((key, value))
}

#[cfg(test)]
mod tests {
    use crate::diagnose::explain::{Explained, Kind, Value, explain};
    use crate::fabric::State;

    fn of(text: &str) -> Explained {
        explain("-", text.as_bytes())
    }

    fn fact(explained: &Explained, name: &str) -> Option<State<Value>> {
        explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
    }

    #[test]
    fn the_version_of_a_host() {
        let explained = of("[root@esx01:~] vmware -vl\nVMware ESXi 8.0.3 build-24022510\nVMware ESXi 8.0 Update 3\n");
        assert_eq!(explained.kinds, [Kind::EsxiVersion]);
        assert_eq!(fact(&explained, "esxi.build"), Some(State::Known(Value::Number(24_022_510))));
        assert!(!of("we run VMware ESXi 8.0.3 build-24022510 here\n").is_recognised());
    }

    #[test]
    fn columns_and_samples_of_esxtop() {
        let titles = include_str!("../../../tests/fixtures/public/97-esxtop-batch-header-columns.txt");
        let explained = of(titles);
        assert_eq!(explained.kinds, [Kind::Esxtop]);
        assert_eq!(fact(&explained, "esxtop.columns"), Some(State::Known(Value::Number(13))));
        assert_eq!(fact(&explained, "esxtop.samples"), Some(State::Known(Value::Number(0))));
        let csv = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx01\\Memory\\Free MBytes\",\"\\\\esx01\\Group Cpu(28868:vm, (a:1)\\x)\\% Ready\"\n\
                   \"05/15/2018 02:13:06\",\"0.00\",\"3.10\"\n\"05/15/2018 02:13:09\",\"\",\"3.1\n";
        let explained = of(csv);
        assert_eq!(fact(&explained, "esxtop.columns"), Some(State::Known(Value::Number(2))));
        assert_eq!(fact(&explained, "esxtop.samples"), Some(State::Known(Value::Number(2))));
        assert!(matches!(fact(&explained, "esxtop.host"), Some(State::Known(Value::Text(host))) if host == "esx01"));
    }

    #[test]
    fn ports_of_a_distributed_switch() {
        let text = include_str!("../../../tests/fixtures/esxi-net/net-dvs.txt");
        for text in [text.to_owned(), format!("[root@esx01:~] net-dvs -l\n{text}")] {
            let explained = of(&text);
            assert_eq!(explained.kinds, [Kind::NetDvs], "{:?}", explained.findings);
            assert!(explained.facts.iter().any(|fact| fact.name.ends_with(".vlan-id")), "{:?}", explained.facts);
            assert!(explained.facts.iter().all(|fact| (fact.line as usize) <= text.lines().count()));
        }
    }

    #[test]
    fn nodes_of_the_tree() {
        let node = "properties {\n   NUMA node:0\n   Driver Name:nmlx5_core\n   Empty:\n   Capabilities {\n      Deep:0x10\n   }\n}\n";
        let explained = of(node);
        assert_eq!(explained.kinds, [Kind::Vsish]);
        assert_eq!(fact(&explained, "properties.numa-node"), Some(State::Known(Value::Number(0))));
        assert_eq!(fact(&explained, "properties.empty"), Some(State::Empty));
        let asked = of(&format!("[root@esx01:~] vsish -e get /net/pNics/vmnic2/properties\n{node}"));
        assert_eq!(fact(&asked, "/net/pNics/vmnic2/properties.numa-node"), Some(State::Known(Value::Number(0))));
        for text in ["struct x {\n int a:1;\n}\n", "location / {\n  a: b\n}\n", "body {\n  color: red\n}\n"] {
            assert_eq!(of(text).kinds, [], "{text}");
        }
    }
}
