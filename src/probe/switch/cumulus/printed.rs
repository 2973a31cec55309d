//! What NVUE prints for people, brought into the form of its JSON: keys with what is operational and what is applied beside
//! each other, nested by indentation. Each line stays where it is, so facts lead to the line that was printed.

/// The operational values as JSON; nothing if this is no such table.
pub(super) fn as_json(text: &str) -> Option<String> {
    let title = |line: &str| line.trim_start().starts_with("operational") && line.contains("applied");
    let first = text.lines().position(title)?;
    let lines: Vec<&str> = text.lines().collect();
    // Tables of another kind stand below, behind an empty line.
    let is_row = |line: &&str| !line.trim().is_empty() && !line.starts_with("===");
    let rows: Vec<&str> = lines[first + 1..].iter().take_while(|line| is_row(line)).copied().collect();
    let mut out = "\n".repeat(first);
    out.push('{');
    let mut open: Vec<usize> = Vec::new();
    let mut after_value = false;
    for (at, row) in rows.iter().enumerate() {
        out.push('\n');
        if row.trim_start().starts_with("---") {
            continue;
        }
        let depth = indent(row);
        while open.last().is_some_and(|above| *above >= depth) {
            open.pop();
            out.push('}');
            after_value = true;
        }
        if after_value {
            out.push(',');
        }
        let (key, value) = cells(row.trim());
        out.push_str(&serde_json::to_string(key).ok()?);
        out.push(':');
        let is_open = value.is_empty() && rows.get(at + 1).is_some_and(|next| indent(next) > depth);
        if is_open {
            open.push(depth);
            out.push('{');
        } else {
            out.push_str(&serde_json::to_string(value).ok()?);
        }
        after_value = !is_open;
    }
    out.push_str(&"}".repeat(open.len() + 1));
    out.push('\n');
    Some(out)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The key and the first value behind it: two blanks part columns, one may stand in a value.
fn cells(row: &str) -> (&str, &str) {
    let Some((key, rest)) = row.split_once("  ") else { return (row, "") };
    let value = rest.trim_start();
    (key, value.split_once("  ").map_or(value, |(value, _)| value))
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::{Attribute, Entity};
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const ROCE: &str = "                    operational             applied
------------------  ----------------------  ---------
state               enabled                 enabled
mode                lossless-single-ipool   lossless
congestion-control
  congestion-mode   ECN                     ECN
  enabled-tc        0,3                     0,3
  max-threshold     1.43 MB                 1.43 MB
pfc
  pfc-priority      3                       3
  rx-enabled        enabled                 enabled
  tx-enabled        enabled                 enabled
  cable-length      100                     100

RoCE PCP/DSCP->SP mapping configurations
===========================================
   pcp  dscp
";

    #[test]
    fn the_profile_as_it_is_printed() {
        let probe = PROBES.iter().find(|probe| probe.name == "cumulus.roce").expect("a probe");
        let facts = run(probe, &[(ROCE, "", 0)]);
        let is = |attribute| shown(&facts, &Entity::Switch, attribute);
        assert_eq!(is(Attribute::PfcEnabled), "yes");
        assert_eq!(is(Attribute::PfcPriorities), "3");
        assert_eq!(is(Attribute::EcnEnabled), "yes");
        assert_eq!(is(Attribute::EcnClasses), "0, 3");
        let line = facts.iter().find(|fact| fact.attribute == Attribute::PfcPriorities).map(|fact| fact.reading.line);
        assert_eq!(line, Some(10));
        let off = ROCE.replace("rx-enabled        enabled", "rx-enabled        disabled");
        assert_eq!(shown(&run(probe, &[(&off, "", 0)]), &Entity::Switch, Attribute::PfcEnabled), "no");
        assert_eq!(as_json("state  enabled\n"), None);
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "cumulus.roce").expect("a probe"), ROCE);
}
