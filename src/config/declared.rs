//! What only vCenter knows, and an ESXi host over SSH does not tell: rules that keep VMs together or apart, the VMs that
//! are started anew when their host fails, and the names of port groups. The administrator may declare them; checks compare
//! them with where VMs run.

use super::error::{quoted, suggestion};
use super::inventory::{Inventory, Kind};
use super::reader::{Item, Key, Reader};

/// What a rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// All of its VMs run on one host.
    KeepTogether,
    /// No two of its VMs run on one host.
    KeepApart,
    /// Its VMs run on its hosts only.
    MustRunOn,
}

impl RuleKind {
    /// All of them, in the order of documents.
    pub const ALL: [Self; 3] = [Self::KeepTogether, Self::KeepApart, Self::MustRunOn];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeepTogether => "keep-together",
            Self::KeepApart => "keep-apart",
            Self::MustRunOn => "must-run-on",
        }
    }
}

/// One rule of DRS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it asks for.
    pub kind: RuleKind,
    /// Names of its VMs in vSphere.
    pub vms: Vec<String>,
    /// Names of its hosts, as the inventory calls them; only of a rule that names hosts.
    pub hosts: Vec<String>,
    /// Line of the file where it begins, from 1.
    pub line: u32,
}

/// The name of a port group of a distributed switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// Its key, as hosts know it: `dvportgroup-117201`.
    pub key: String,
    /// Its name in vCenter.
    pub name: String,
}

/// Everything that was declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Rules of DRS, in the order of the file.
    pub rules: Vec<Rule>,
    /// Names of the VMs that HA starts anew on another host when theirs fails; `None` if nothing was declared of HA.
    pub restart: Option<Vec<String>>,
    /// Names of port groups.
    pub port_groups: Vec<PortGroup>,
}

/// Keys of the file that belong here.
pub(super) const KEYS: [&str; 3] = ["drs", "ha", "port_group"];

const RULE_KEYS: &[&str] = &["kind", "vms", "hosts"];
const HA_KEYS: &[&str] = &["restart"];
const GROUP_KEYS: &[&str] = &["key", "name"];

/// The name of a host, to be looked up once all targets are known.
pub(super) struct HostPlace {
    name: String,
    offset: usize,
}

impl Declared {
    /// Where nothing is declared.
    pub const NOTHING: &'static Self = &Self { rules: Vec::new(), restart: None, port_groups: Vec::new() };

    /// True if neither rules nor HA were declared.
    pub fn says_nothing_of_placement(&self) -> bool {
        self.rules.is_empty() && self.restart.is_none()
    }

    /// The declared name of a port group.
    pub fn port_group(&self, key: &str) -> Option<&str> {
        self.port_groups.iter().find(|group| group.key == key).map(|group| group.name.as_str())
    }

    /// Reads one key of the file; false if it is none of these. What is wrong is noted in `reader` and left out.
    pub(super) fn take_file(
        &mut self,
        reader: &mut Reader<'_>,
        places: &mut Vec<HostPlace>,
        key: &Key<'_>,
        item: &Item<'_>,
    ) -> bool {
        match key.get_ref().as_ref() {
            "drs" => each(reader, key, item, "drs", |reader, item| {
                self.rules.extend(read_rule(reader, places, item));
            }),
            "port_group" => each(reader, key, item, "port_group", |reader, item| {
                if let Some(group) = read_group(reader, item) {
                    if self.port_group(&group.key).is_some() {
                        let what = format!("the port group {} is already there", quoted(&group.key));
                        reader.defect(item.span().start, what);
                    } else {
                        self.port_groups.push(group);
                    }
                }
            }),
            "ha" => self.restart = read_ha(reader, item),
            _ => return false,
        }
        true
    }

    /// A host of a rule must be a target that can be one.
    pub(super) fn check_hosts(reader: &mut Reader<'_>, places: &[HostPlace], inventory: &Inventory) {
        let can_be = |kind: Option<Kind>| kind.is_none_or(|kind| kind == Kind::Esxi);
        for HostPlace { name, offset } in places {
            match inventory.get(name) {
                Some(target) if can_be(target.kind) => {}
                Some(target) => {
                    let kind = target.kind.map_or("of no stated kind", Kind::name);
                    let what =
                        format!("\"hosts\" must name targets of kind \"esxi\"; {} is {kind}", quoted(&target.name));
                    reader.defect(*offset, what);
                }
                None => {
                    let targets = inventory.targets.iter().filter(|target| can_be(target.kind));
                    let known: Vec<&str> = targets.map(|target| target.name.as_str()).collect();
                    let hint = if known.is_empty() {
                        "; there is no target of kind \"esxi\"".to_owned()
                    } else {
                        suggestion(name, known)
                    };
                    reader.defect(*offset, format!("\"hosts\" names {}, which is no target{hint}", quoted(name)));
                }
            }
        }
    }
}

/// Reads each element of a list of tables.
fn each(
    reader: &mut Reader<'_>,
    key: &Key<'_>,
    item: &Item<'_>,
    name: &str,
    mut read: impl FnMut(&mut Reader<'_>, &Item<'_>),
) {
    match item.get_ref().as_array() {
        Some(array) => array.iter().for_each(|element| read(reader, element)),
        None => {
            reader.defect(key.span().start, format!("this is written as [[{name}]], with two brackets on each side"));
        }
    }
}

fn read_rule(reader: &mut Reader<'_>, places: &mut Vec<HostPlace>, item: &Item<'_>) -> Option<Rule> {
    let table = reader.table("drs", item)?;
    let at = item.span().start;
    let (mut kind, mut vms, mut hosts) = (None, Vec::new(), None);
    let mut has_kind = false;
    for (key, item) in table {
        let offset = item.span().start;
        match key.get_ref().as_ref() {
            "kind" => {
                has_kind = true;
                let word = reader.text("kind", item);
                kind = word.and_then(|word| {
                    let found = RuleKind::ALL.into_iter().find(|kind| kind.name() == word);
                    if found.is_none() {
                        let hint = suggestion(&word, RuleKind::ALL.map(RuleKind::name));
                        reader.defect(offset, format!("unknown kind {} of a rule{hint}", quoted(&word)));
                    }
                    found
                });
            }
            "vms" => vms = reader.labels("vms", item),
            "hosts" => {
                let names = reader.labels("hosts", item);
                places.extend(names.iter().map(|name| HostPlace { name: name.clone(), offset }));
                hosts = Some((names, offset));
            }
            _ => reader.unknown_key(key, " in [[drs]]", RULE_KEYS),
        }
    }
    if !has_kind {
        let known = RuleKind::ALL.map(RuleKind::name).join(", ");
        reader.defect(at, format!("this rule has no \"kind\", one of {known}"));
    }
    let kind = kind?;
    let fewest = if kind == RuleKind::MustRunOn { 1 } else { 2 };
    if vms.len() < fewest {
        let what = format!("a rule of kind {} needs at least {fewest} of \"vms\"", quoted(kind.name()));
        reader.defect(at, what);
        return None;
    }
    let hosts = match (kind, hosts) {
        (RuleKind::MustRunOn, Some((names, _))) if !names.is_empty() => names,
        (RuleKind::MustRunOn, _) => {
            reader.defect(at, "a rule of kind \"must-run-on\" needs \"hosts\"");
            return None;
        }
        (_, Some((_, offset))) => {
            reader.defect(offset, "\"hosts\" belongs to rules of kind \"must-run-on\" only");
            return None;
        }
        (_, None) => Vec::new(),
    };
    Some(Rule { kind, vms, hosts, line: reader.line(at) })
}

fn read_ha(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Vec<String>> {
    let table = reader.table("ha", item)?;
    let mut restart = None;
    for (key, item) in table {
        match key.get_ref().as_ref() {
            "restart" => restart = Some(reader.labels("restart", item)),
            _ => reader.unknown_key(key, " in [ha]", HA_KEYS),
        }
    }
    restart
}

fn read_group(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<PortGroup> {
    let table = reader.table("port_group", item)?;
    let (mut key_of, mut name) = (None, None);
    let (mut has_key, mut has_name) = (false, false);
    for (key, item) in table {
        match key.get_ref().as_ref() {
            "key" => (has_key, key_of) = (true, reader.label("key", item)),
            "name" => (has_name, name) = (true, reader.label("name", item)),
            _ => reader.unknown_key(key, " in [[port_group]]", GROUP_KEYS),
        }
    }
    for (has, word) in [(has_key, "key"), (has_name, "name")] {
        if !has {
            reader.defect(item.span().start, format!("this port group has no \"{word}\""));
        }
    }
    Some(PortGroup { key: key_of?, name: name? })
}

#[cfg(test)]
mod tests {
    use super::super::Configuration;
    use super::*;

    const HOSTS: &str = "[[target]]\nname = \"esx-01\"\nkind = \"esxi\"\n[[target]]\nname = \"vm\"\nkind = \"linux\"\n";

    fn read(text: &str) -> Result<Declared, String> {
        Configuration::parse("c.toml", &format!("{HOSTS}{text}"))
            .map(|configuration| configuration.declared)
            .map_err(|defects| defects.to_string())
    }

    #[test]
    fn rules_restarts_and_names_are_read() {
        let declared = read(
            "[[drs]]\nkind = \"keep-apart\"\nvms = [\"a\", \"b\"]\n[[drs]]\nkind = \"must-run-on\"\nvms = [\"a\"]\n\
             hosts = [\"esx-01\"]\n[ha]\nrestart = [\"a\"]\n[[port_group]]\nkey = \"dvportgroup-1\"\nname = \"rdma\"\n",
        )
        .expect("it is right");
        assert_eq!(declared.rules.len(), 2);
        assert_eq!((declared.rules[1].kind, declared.rules[1].line), (RuleKind::MustRunOn, 10));
        assert_eq!(declared.rules[1].hosts, ["esx-01"]);
        assert_eq!(declared.restart, Some(vec!["a".to_owned()]));
        assert_eq!(declared.port_group("dvportgroup-1"), Some("rdma"));
        assert_eq!(read("").as_ref(), Ok(Declared::NOTHING));
        assert_eq!(read("[ha]\nrestart = []\n").expect("none is").restart, Some(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("[drs]\nkind = \"x\"\n", "c.toml:7: this is written as [[drs]], with two brackets on each side"),
            (
                "[[drs]]\nvms = [\"a\", \"b\"]\n",
                "c.toml:7: this rule has no \"kind\", one of keep-together, keep-apart",
            ),
            (
                "[[drs]]\nkind = \"keep-appart\"\nvms = [\"a\", \"b\"]\n",
                "c.toml:8: unknown kind \"keep-appart\" of a rule; did you mean \"keep-apart\"?",
            ),
            (
                "[[drs]]\nkind = \"keep-apart\"\nvms = [\"a\"]\n",
                "c.toml:7: a rule of kind \"keep-apart\" needs at least 2 of \"vms\"",
            ),
            (
                "[[drs]]\nkind = \"must-run-on\"\nvms = [\"a\"]\n",
                "c.toml:7: a rule of kind \"must-run-on\" needs \"hosts\"",
            ),
            (
                "[[drs]]\nkind = \"must-run-on\"\nvms = [\"a\"]\nhosts = [\"esx-1\"]\n",
                "c.toml:10: \"hosts\" names \"esx-1\", which is no target; did you mean \"esx-01\"?",
            ),
            (
                "[[drs]]\nkind = \"must-run-on\"\nvms = [\"a\"]\nhosts = [\"vm\"]\n",
                "c.toml:10: \"hosts\" must name targets of kind \"esxi\"; \"vm\" is linux",
            ),
            (
                "[[drs]]\nkind = \"keep-apart\"\nvms = [\"a\", \"b\"]\nhosts = [\"esx-01\"]\n",
                "c.toml:10: \"hosts\" belongs to rules of kind \"must-run-on\" only",
            ),
            (
                "[[drs]]\nkind = \"keep-apart\"\nvm = [\"a\", \"b\"]\n",
                "c.toml:9: unknown key \"vm\" in [[drs]]; did you mean \"vms\"?",
            ),
            ("[ha]\nrestarts = []\n", "c.toml:8: unknown key \"restarts\" in [ha]; did you mean \"restart\"?"),
            ("[[port_group]]\nkey = \"dvportgroup-1\"\n", "c.toml:7: this port group has no \"name\""),
        ] {
            let found = read(text).expect_err(text);
            assert!(found.contains(expected), "{text}\nfound:    {found}\nexpected: {expected}");
        }
    }
}
