//! The targets that the configuration file lists: what each is, where it is, and where it belongs.

use super::address::Address;
use super::error::{quoted, suggestion};
use super::reader::{Item, Key, Reader};
use crate::probe::privilege::Become;
use crate::probe::switch::SwitchSystem;

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Linux guest (or any Linux machine), over SSH.
    Linux,
    /// An ESXi host, over SSH.
    Esxi,
    /// A switch, over SSH.
    Switch(SwitchSystem),
    /// This machine.
    Local,
    /// Outputs that were saved in a file; only of words of the command line.
    Saved,
}

impl Kind {
    /// Names of all kinds, in the order of documents.
    pub const NAMES: [&'static str; 4] = ["linux", "esxi", "switch", "local"];

    /// The name in files and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Esxi => "esxi",
            Self::Switch(_) => "switch",
            Self::Local => "local",
            Self::Saved => "offline",
        }
    }
}

/// Where a target belongs, as the administrator says; all of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Name of the virtual machine in vSphere.
    pub vm: Option<String>,
    /// Name of the ESXi target that it runs on.
    pub host: Option<String>,
    /// Name of the uplink of that host, `vmnic4`.
    pub uplink: Option<String>,
    /// Name of the switch target that the uplink goes to.
    pub switch: Option<String>,
    /// Port of that switch, `Ethernet1/1`.
    pub port: Option<String>,
}

/// How a target is logged in to, beyond what OpenSSH's configuration says. It holds for the target itself, not for jump
/// hosts on the way there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// A program and its arguments; the first line that it prints is the password. No shell is involved.
    pub password_command: Option<Vec<String>>,
    /// Also offer algorithms with SHA-1 or CBC, for old switches.
    pub legacy_algorithms: bool,
}

/// One target of the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name, unique in the inventory.
    pub name: String,
    /// What it is; `None` means that it is found out by connecting.
    pub kind: Option<Kind>,
    /// Where it is; `None` for this machine.
    pub address: Option<Address>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Where it belongs.
    pub links: Links,
    /// How commands that tell more to root are run there (`become`).
    pub by: Become,
    /// How it is logged in to.
    pub access: Access,
    /// Line of the file where it begins, from 1; 0 if it stands in no file.
    pub line: u32,
}

/// All targets, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The targets.
    pub targets: Vec<Target>,
}

const KEYS: &[&str] =
    &["name", "kind", "system", "address", "tags", "links", "become", "password_command", "legacy_algorithms"];
const LINK_KEYS: &[&str] = &["vm", "host", "uplink", "switch", "port"];

impl Inventory {
    /// The target of this name.
    pub fn get(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Reads `[[target]]`; what is wrong is noted in `reader` and left out.
    pub(super) fn read(reader: &mut Reader<'_>, key: &Key<'_>, item: &Item<'_>) -> Self {
        let mut inventory = Self::default();
        let Some(array) = item.get_ref().as_array() else {
            reader.defect(key.span().start, "a target is written as [[target]], with two brackets on each side");
            return inventory;
        };
        let mut link_places = Vec::new();
        for element in array {
            let Some(table) = reader.table("target", element) else { continue };
            let at = element.span().start;
            let Some((target, places)) = Entry::read(reader, at, table.iter()) else { continue };
            if let Some(first) = inventory.get(&target.name) {
                let what = format!(
                    "target {} is already there, in line {}; each name can be given once",
                    quoted(&target.name),
                    first.line
                );
                reader.defect(at, what);
                continue;
            }
            inventory.targets.push(target);
            link_places.extend(places);
        }
        for place in link_places {
            inventory.check_link(reader, &place);
        }
        inventory
    }

    /// A link to another target must name one, of the right kind.
    fn check_link(&self, reader: &mut Reader<'_>, link: &LinkPlace) {
        let names = self.targets.iter().filter(|target| target.kind.is_some_and(|kind| kind.name() == link.kind));
        match self.get(&link.to) {
            Some(target) if target.kind.is_some_and(|kind| kind.name() == link.kind) => {}
            Some(target) => {
                let kind = target.kind.map_or("of no stated kind", Kind::name);
                let what = format!(
                    "\"{}\" must name a target of kind {}; {} is {kind}",
                    link.key,
                    quoted(link.kind),
                    quoted(&link.to)
                );
                reader.defect(link.offset, what);
            }
            None => {
                let candidates: Vec<&str> = names.map(|target| target.name.as_str()).collect();
                let hint = if candidates.is_empty() {
                    format!("; there is no target of kind {}", quoted(link.kind))
                } else {
                    suggestion(&link.to, candidates)
                };
                reader.defect(
                    link.offset,
                    format!("\"{}\" names {}, which is no target{hint}", link.key, quoted(&link.to)),
                );
            }
        }
    }
}

/// A link that must be looked up once all targets are known.
struct LinkPlace {
    key: &'static str,
    kind: &'static str,
    to: String,
    offset: usize,
}

/// One `[[target]]` while it is being read.
#[derive(Default)]
struct Entry {
    name: Option<String>,
    kind: Option<(String, usize)>,
    system: Option<(String, usize)>,
    address: Option<(String, usize)>,
    tags: Vec<String>,
    links: Links,
    by: Option<(String, usize)>,
    access: Access,
    /// The first key of `access` and where it stands.
    access_at: Option<(&'static str, usize)>,
}

impl Entry {
    fn read<'a, 'd: 'a>(
        reader: &mut Reader<'_>,
        at: usize,
        items: impl Iterator<Item = (&'a Key<'d>, &'a Item<'d>)>,
    ) -> Option<(Target, Vec<LinkPlace>)> {
        let mut entry = Self::default();
        let mut places = Vec::new();
        let mut named = false;
        for (key, item) in items {
            let offset = item.span().start;
            match key.get_ref().as_ref() {
                "name" => {
                    named = true;
                    entry.name = reader.label("name", item).filter(|name| check_name(reader, name, offset));
                }
                "kind" => entry.kind = reader.text("kind", item).map(|text| (text, offset)),
                "system" => entry.system = reader.text("system", item).map(|text| (text, offset)),
                "address" => entry.address = reader.text("address", item).map(|text| (text, offset)),
                "tags" => entry.tags = reader.labels("tags", item),
                "links" => entry.links = read_links(reader, item, &mut places),
                "become" => entry.by = reader.text("become", item).map(|text| (text, offset)),
                "password_command" => {
                    entry.access_at.get_or_insert(("password_command", key.span().start));
                    entry.access.password_command = read_command(reader, "password_command", item);
                }
                "legacy_algorithms" => {
                    entry.access_at.get_or_insert(("legacy_algorithms", key.span().start));
                    entry.access.legacy_algorithms = reader.flag("legacy_algorithms", item).unwrap_or_default();
                }
                _ => reader.unknown_key(key, " in [[target]]", KEYS),
            }
        }
        if !named {
            reader.defect(at, "this target has no \"name\"");
        }
        let kind = entry.kind(reader, at);
        if let (Some(Kind::Local), Some((key, offset))) = (kind, entry.access_at) {
            reader.defect(offset, format!("a target of kind \"local\" is this machine and takes no \"{key}\""));
        }
        let name = entry.name?;
        let address = match (kind, entry.address) {
            (Some(Kind::Local), Some((_, offset))) => {
                reader.defect(offset, "a target of kind \"local\" is this machine and takes no \"address\"");
                None
            }
            (Some(Kind::Local), None) => None,
            (_, given) => {
                let (text, offset) = given.unwrap_or_else(|| (name.clone(), at));
                match Address::parse(&text) {
                    Ok(address) => Some(address),
                    Err(what) => {
                        reader.defect(offset, what);
                        return None;
                    }
                }
            }
        };
        if name == "local" && kind != Some(Kind::Local) {
            reader.defect(at, "the name \"local\" always means this machine; give this target another name");
            return None;
        }
        let by = read_become(reader, entry.by, kind);
        let line = reader.line(at);
        let Self { tags, links, access, .. } = entry;
        Some((Target { name, kind, address, tags, links, by, access, line }, places))
    }

    fn kind(&self, reader: &mut Reader<'_>, at: usize) -> Option<Kind> {
        let systems = SwitchSystem::ALL.map(SwitchSystem::name);
        let kind = match &self.kind {
            None => None,
            Some((word, offset)) => match word.as_str() {
                "linux" => Some(Kind::Linux),
                "esxi" => Some(Kind::Esxi),
                "local" => Some(Kind::Local),
                "switch" => {
                    let Some((system, offset)) = &self.system else {
                        let known = systems.join(", ");
                        reader.defect(at, format!("a target of kind \"switch\" needs a \"system\", one of {known}"));
                        return None;
                    };
                    let found = SwitchSystem::ALL.into_iter().find(|candidate| candidate.name() == system);
                    if found.is_none() {
                        let hint = suggestion(system, systems);
                        reader.defect(*offset, format!("unknown system {}{hint}", quoted(system)));
                    }
                    return found.map(Kind::Switch);
                }
                _ => {
                    let hint = suggestion(word, Kind::NAMES);
                    reader.defect(*offset, format!("unknown kind {}{hint}", quoted(word)));
                    return None;
                }
            },
        };
        if let Some((_, offset)) = &self.system {
            reader.defect(*offset, "\"system\" belongs to targets of kind \"switch\" only");
        }
        kind
    }
}

/// A name can be typed on the command line and never looks like something else there.
fn check_name(reader: &mut Reader<'_>, name: &str, offset: usize) -> bool {
    let wrong = if name.starts_with('-') {
        Some("begins with a hyphen".to_owned())
    } else if name.chars().any(char::is_whitespace) {
        Some("holds a blank".to_owned())
    } else {
        name.chars().find(|character| "@:/[]".contains(*character)).map(|character| format!("holds {character}"))
    };
    if let Some(why) = &wrong {
        reader.defect(offset, format!("{} cannot be the name of a target: it {why}", quoted(name)));
    }
    wrong.is_none()
}

fn read_become(reader: &mut Reader<'_>, given: Option<(String, usize)>, kind: Option<Kind>) -> Become {
    let Some((word, offset)) = given else { return Become::None };
    let Some(by) = Become::ALL.into_iter().find(|by| by.name() == word) else {
        let hint = suggestion(&word, Become::ALL.map(Become::name));
        reader.defect(offset, format!("unknown value {} of \"become\"{hint}", quoted(&word)));
        return Become::None;
    };
    if by != Become::None && matches!(kind, Some(Kind::Esxi | Kind::Switch(_))) {
        reader.defect(offset, "\"become\" belongs to targets of kind \"linux\" and \"local\" only");
        return Become::None;
    }
    by
}

/// A command as a list: the program, then its arguments. One text would need a shell to take it apart.
fn read_command(reader: &mut Reader<'_>, name: &str, item: &Item<'_>) -> Option<Vec<String>> {
    let offset = item.span().start;
    let Some(array) = item.get_ref().as_array() else {
        let what = format!("\"{name}\" must be a list, [\"program\", \"argument\"]; no shell takes a text apart");
        reader.defect(offset, what);
        return None;
    };
    let words: Option<Vec<String>> = array.iter().map(|element| reader.text(name, element)).collect();
    let words = words?;
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        reader.defect(offset, format!("\"{name}\" names no program"));
        return None;
    }
    if words.iter().any(|word| word.contains('\0')) {
        reader.defect(offset, format!("\"{name}\" holds a character that no command can be given"));
        return None;
    }
    Some(words)
}

fn read_links(reader: &mut Reader<'_>, item: &Item<'_>, places: &mut Vec<LinkPlace>) -> Links {
    let mut links = Links::default();
    let Some(table) = reader.table("links", item) else { return links };
    for (key, item) in table {
        let offset = item.span().start;
        match key.get_ref().as_ref() {
            "vm" => links.vm = reader.label("vm", item),
            "uplink" => links.uplink = reader.label("uplink", item),
            "port" => links.port = reader.label("port", item),
            "host" => {
                links.host = reader.label("host", item);
                places.extend(links.host.clone().map(|to| LinkPlace { key: "host", kind: "esxi", to, offset }));
            }
            "switch" => {
                links.switch = reader.label("switch", item);
                places.extend(links.switch.clone().map(|to| LinkPlace { key: "switch", kind: "switch", to, offset }));
            }
            _ => reader.unknown_key(key, " in links", LINK_KEYS),
        }
    }
    links
}
