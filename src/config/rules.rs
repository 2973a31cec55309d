//! What a site says about the checks: numbers of its own for their rules, and findings that it knows of and accepts. Which
//! checks there are is not known here: keys and ids are kept as text with their place, and whoever knows the catalogue
//! looks at them.

use toml::de::{DeTable, DeValue};

use super::error::quoted;
use super::reader::{Item, Key, Reader};

/// A number for the rule of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteThreshold {
    /// Its key, `host.uplink-errors.per-second`.
    pub key: String,
    /// The number.
    pub value: f64,
    /// The unit, where one was written behind the number.
    pub unit: Option<String>,
    /// The file, as the user knows it.
    pub place: String,
    /// The line, from 1.
    pub line: u32,
}

/// A finding that the site knows of and accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Id of the check.
    pub check: String,
    /// The target on which it is accepted; `None` for all.
    pub target: Option<String>,
    /// Why.
    pub reason: String,
    /// The last day on which it holds, in UTC; `None` for ever.
    pub expires: Option<jiff::civil::Date>,
    /// The file, as the user knows it.
    pub place: String,
    /// The line, from 1.
    pub line: u32,
}

impl Suppression {
    /// True while it holds.
    pub fn holds(&self, today: jiff::civil::Date) -> bool {
        self.expires.is_none_or(|last| today <= last)
    }

    /// True if it is for this check on this target.
    pub fn is_for(&self, check: &str, target: &str) -> bool {
        self.check == check && self.target.as_ref().is_none_or(|name| name == target)
    }
}

/// All that a site says about the checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Numbers, in the order of the file.
    pub thresholds: Vec<SiteThreshold>,
    /// What is accepted, in the order of the file.
    pub suppressions: Vec<Suppression>,
}

/// Keys of `[[suppress]]`.
const KEYS: &[&str] = &["check", "target", "reason", "expires"];

impl Rules {
    /// Reads `[thresholds]`: a key stands in quotes, `"host.uplink-errors.per-second" = 5`, or as TOML's own dotted key.
    pub(super) fn read_thresholds(&mut self, reader: &mut Reader<'_>, item: &Item<'_>) {
        if let Some(table) = reader.table("thresholds", item) {
            self.read_table(reader, "", table);
        }
    }

    fn read_table(&mut self, reader: &mut Reader<'_>, before: &str, table: &DeTable<'_>) {
        for (key, item) in table {
            let name = format!("{before}{}", key.get_ref());
            if let DeValue::Table(inner) = item.get_ref() {
                self.read_table(reader, &format!("{name}."), inner);
                continue;
            }
            let Some((value, unit)) = reader.quantity(&name, item) else { continue };
            let (line, place) = (reader.line(key.span().start), reader.place().to_owned());
            if let Some(first) = self.thresholds.iter().find(|one| one.key == name) {
                let what = format!("{} is already set in line {}", quoted(&name), first.line);
                reader.defect(key.span().start, what);
                continue;
            }
            self.thresholds.push(SiteThreshold { key: name, value, unit, place, line });
        }
    }

    /// Reads `[[suppress]]`.
    pub(super) fn read_suppressions(&mut self, reader: &mut Reader<'_>, key: &Key<'_>, item: &Item<'_>) {
        let Some(array) = item.get_ref().as_array() else {
            let what = "what is accepted is written as [[suppress]], with two brackets on each side";
            reader.defect(key.span().start, what);
            return;
        };
        for element in array {
            let Some(table) = reader.table("suppress", element) else { continue };
            let at = element.span().start;
            let (mut check, mut target, mut reason, mut expires) = (None, None, None, None);
            let mut sound = true;
            for (key, item) in table {
                match key.get_ref().as_ref() {
                    "check" => check = reader.label("check", item),
                    "reason" => reason = reader.label("reason", item),
                    "target" => {
                        target = reader.label("target", item);
                        sound &= target.is_some();
                    }
                    "expires" => {
                        expires = reader.date("expires", item);
                        sound &= expires.is_some();
                    }
                    _ => reader.unknown_key(key, " in [[suppress]]", KEYS),
                }
            }
            for (name, why) in [("check", "the id of a check"), ("reason", "why it is accepted")] {
                if !table.keys().any(|key| key.get_ref() == name) {
                    reader.defect(at, format!("[[suppress]] has no {name}: {why}"));
                }
            }
            // What is wrong here must not become wider than it was meant: without its target it would hold for all.
            let (Some(check), Some(reason), true) = (check, reason, sound) else { continue };
            let (place, line) = (reader.place().to_owned(), reader.line(at));
            self.suppressions.push(Suppression { check, target, reason, expires, place, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Configuration;
    use super::*;

    fn read(text: &str) -> Rules {
        Configuration::parse("c.toml", text).expect(text).rules
    }

    fn wrong(text: &str) -> String {
        Configuration::parse("c.toml", text).expect_err(text).to_string()
    }

    #[test]
    fn numbers_stand_under_quoted_and_under_dotted_keys() {
        let rules = read("[thresholds]\n\"host.a-b.most\" = 5\nguest.c.rate = 0.5\nguest.d.time = \"30 seconds\"\n");
        let told: Vec<_> =
            rules.thresholds.iter().map(|one| (one.key.as_str(), one.value, one.unit.as_deref(), one.line)).collect();
        let expected = [
            ("host.a-b.most", 5.0, None, 2),
            ("guest.c.rate", 0.5, None, 3),
            ("guest.d.time", 30.0, Some("seconds"), 4),
        ];
        assert!(expected.iter().all(|one| told.contains(one)) && told.len() == 3, "{told:?}");
        assert!(rules.thresholds.iter().all(|one| one.place == "c.toml"));
    }

    #[test]
    fn a_number_is_a_number() {
        for (value, expected) in [
            ("true", "must be a number"),
            ("-1", "must not be negative"),
            ("inf", "must be a number"),
            ("nan", "must be a number"),
            ("\"many\"", "must be a number"),
            ("\"\"", "must be a number"),
            ("[1]", "must be a number"),
        ] {
            let told = wrong(&format!("[thresholds]\n\"a.b.c\" = {value}\n"));
            assert!(told.starts_with("c.toml:2: \"a.b.c\" ") && told.contains(expected), "{value}: {told}");
        }
        let told = wrong("[thresholds]\na.b = 1\n\"a.b\" = 2\n");
        assert!(told.contains("\"a.b\" is already set in line"), "{told}");
        assert!(wrong("thresholds = 3\n").contains("\"thresholds\" must be a table"));
    }

    #[test]
    fn a_suppression_needs_a_check_and_a_reason() {
        let text = "[[suppress]]\ncheck = \"host.lag\"\ntarget = \"esx01\"\nreason = \"known\"\nexpires = 2027-01-31\n\n\
                    [[suppress]]\ncheck = \"host.lag\"\nreason = \"never mind\"\nexpires = \"2027-02-01\"\n\n\
                    [[suppress]]\ncheck = \"guest.clock\"\nreason = \"no NTP there\"\n";
        let rules = read(text);
        let [first, second, third] = &rules.suppressions[..] else { panic!("{rules:?}") };
        assert_eq!((first.check.as_str(), first.target.as_deref(), first.line), ("host.lag", Some("esx01"), 1));
        assert_eq!((second.expires, third.expires), (Some(jiff::civil::date(2027, 2, 1)), None));
        assert!(
            first.is_for("host.lag", "esx01") && !first.is_for("host.lag", "esx02") && second.is_for("host.lag", "x")
        );
        let told = wrong("[[suppress]]\ntarget = \"x\"\nexpire = 2027-01-01\n");
        for expected in [
            "c.toml:1: [[suppress]] has no check",
            "c.toml:1: [[suppress]] has no reason",
            "c.toml:3: unknown key \"expire\" in [[suppress]]; did you mean \"expires\"?",
        ] {
            assert!(told.contains(expected), "{told}");
        }
        let told = wrong("[[suppress]]\ncheck = \"a.b\"\nreason = \"r\"\nexpires = \"soon\"\n");
        assert!(told.contains("c.toml:4: \"expires\" must be a day"), "{told}");
        assert!(wrong("[suppress]\ncheck = \"a.b\"\n").contains("two brackets"));
    }

    #[test]
    fn it_holds_to_the_end_of_its_last_day() {
        let rules = read("[[suppress]]\ncheck = \"a.b\"\nreason = \"r\"\nexpires = 2027-01-31\n");
        let holds = |day| {
            rules.suppressions[0].holds(jiff::civil::date(2027, 1, 30).saturating_add(jiff::Span::new().days(day)))
        };
        assert!(holds(0) && holds(1) && !holds(2));
    }
}
