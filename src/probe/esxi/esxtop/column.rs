//! Titles of `esxtop -b` and what is wanted of them: `\\host\Object(instance)\Counter`.
//!
//! Source: the names of objects and most counters are those of published outputs. UNSOURCED are those of the balloon and swap
//! of one VM, of the state of memory and of NUMA, whose names differ by the version: all spellings that were told are taken,
//! and one that is none of them is a value that is not published, never a zero.

use std::collections::{BTreeMap, BTreeSet};

use crate::fabric::{Entity, Measure, Text, Timestamp};

/// Bytes of what `esxtop` calls a megabyte.
const MEBIBYTE: f64 = 1_048_576.0;

/// Bits of what it calls a megabit.
const MEGABIT: f64 = 1_000_000.0;

/// How a cell becomes a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// It is one; this is what it is multiplied with.
    Times(f64),
    /// The state of memory, as a number or as a word.
    State,
    /// Numbers of NUMA nodes, which become bits.
    Nodes,
}

/// A counter: its spellings, the first of which is preferred, and what it measures.
struct Counter {
    names: &'static [&'static str],
    measure: Measure,
    form: Form,
}

const fn counter(names: &'static [&'static str], measure: Measure, form: Form) -> Counter {
    Counter { names, measure, form }
}

const PLAIN: Form = Form::Times(1.0);
const MEGABYTES: Form = Form::Times(MEBIBYTE);
const MEGABITS: Form = Form::Times(MEGABIT);

const HOST_MEMORY: &[Counter] = &[
    counter(&["memory overcommit (1 minute avg)"], Measure::Overcommit, PLAIN),
    counter(&["memory state", "kernel state", "state"], Measure::MemoryState, Form::State),
    counter(&["free mbytes", "machine free mbytes"], Measure::HostMemoryFree, MEGABYTES),
    counter(&["memctl current mbytes", "memctl mbytes"], Measure::HostBalloon, MEGABYTES),
    counter(&["swap used mbytes", "swap current mbytes"], Measure::HostSwapUsed, MEGABYTES),
    counter(&["swap mbytes read/sec", "swap read mbytes/sec"], Measure::HostSwapIn, MEGABYTES),
    counter(
        &["swap mbytes write/sec", "swap mbytes written/sec", "swap written mbytes/sec", "swap write mbytes/sec"],
        Measure::HostSwapOut,
        MEGABYTES,
    ),
];

const ALL_PROCESSORS: &[Counter] =
    &[counter(&["% util time", "% core util time", "% processor time"], Measure::ProcessorUse, PLAIN)];

const GROUP_PROCESSORS: &[Counter] = &[
    counter(&["% used"], Measure::VmUsed, PLAIN),
    counter(&["% ready"], Measure::Ready, PLAIN),
    counter(&["% costop", "% co-stop"], Measure::CoStop, PLAIN),
    counter(&["% max limited", "% maxlimited"], Measure::MaxLimited, PLAIN),
    counter(&["% swap wait", "% swapwait"], Measure::SwapWait, PLAIN),
];

const GROUP_MEMORY: &[Counter] = &[
    counter(&["memory size mbytes", "memsize mbytes"], Measure::VmMemory, MEGABYTES),
    counter(&["memctl mbytes", "memctl current mbytes"], Measure::VmBalloon, MEGABYTES),
    counter(&["memctl target mbytes"], Measure::VmBalloonTarget, MEGABYTES),
    counter(&["swapped mbytes", "swap used mbytes", "swapped current mbytes"], Measure::VmSwapped, MEGABYTES),
    counter(&["swap read mbytes/sec", "swap mbytes read/sec"], Measure::VmSwapIn, MEGABYTES),
    counter(&["numa % local", "% numa local", "numa local %", "% local memory"], Measure::NumaLocal, PLAIN),
    counter(&["numa remote mbytes", "remote numa mbytes", "remote memory mbytes"], Measure::NumaRemote, MEGABYTES),
    counter(&["numa home nodes", "numa home node", "home nodes"], Measure::HomeNodes, Form::Nodes),
];

const PORT: &[Counter] = &[
    counter(&["mbits transmitted/sec", "mbits tx/sec"], Measure::PortSent, MEGABITS),
    counter(&["mbits received/sec", "mbits rx/sec"], Measure::PortReceived, MEGABITS),
    counter(&["% outbound packets dropped", "% transmit packets dropped"], Measure::PortSentDropped, PLAIN),
    counter(&["% inbound packets dropped", "% receive packets dropped"], Measure::PortReceivedDropped, PLAIN),
];

/// Groups of every host that are no VM.
const SYSTEM: [&str; 12] =
    ["idle", "system", "helper", "drivers", "ft", "vmotion", "init", "vim", "user", "host", "kernel", "minfree"];

/// True for the first cell of the titles.
pub fn opens(cell: &str) -> bool {
    // Behind a byte order mark quotes are none.
    cell.trim_start_matches(['\u{feff}', '"', ' ']).starts_with("(PDH-CSV")
}

/// Seconds that are added to a stamp for UTC, as the first title says: `(PDH-CSV 4.0) (UTC)(0)`; the number is in minutes.
pub fn zone(cell: &str) -> i64 {
    let cell = cell.trim_end_matches(['"', ' ']);
    let minutes = cell.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')).map(|(_, minutes)| minutes);
    let minutes = minutes.and_then(|minutes| minutes.trim().parse::<i64>().ok()).unwrap_or(0);
    // No clock is further from UTC than this.
    if minutes.abs() <= 18 * 60 { minutes * 60 } else { 0 }
}

/// The moment of a row, `05/15/2018 02:13:06`; a part of a second behind it is left out.
pub fn stamp(cell: &str, zone: i64) -> Option<Timestamp> {
    let (date, time) = cell.trim().split_once(' ')?;
    let mut date = date.split('/').map(|part| part.parse::<u16>().ok());
    let (month, day, year) = (date.next()??, date.next()??, date.next()??);
    let time = time.split('.').next()?;
    let mut time = time.trim().split(':').map(|part| part.parse::<u16>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let moment = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let moment: Timestamp = moment.parse().ok()?;
    moment.checked_add(jiff::SignedDuration::from_secs(zone)).ok()
}

/// The parts of a title: object, instance, counter.
pub fn parts(title: &str) -> Option<(&str, Option<&str>, &str)> {
    // Copies lose one of the two backslashes in front, or both.
    let (_, rest) = title.trim().trim_start_matches('\\').split_once('\\')?;
    // A VM may have any name: its instance ends with the last bracket before a counter.
    if let Some(end) = rest.rfind(")\\") {
        let (object, instance) = rest[..end].split_once('(')?;
        return Some((object.trim(), Some(instance), rest[end + 2..].trim()));
    }
    let (object, counter) = rest.rsplit_once('\\')?;
    Some((object.trim(), None, counter.trim()))
}

/// A column that is wanted.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its place, from 0.
    pub place: usize,
    /// What it is about.
    pub entity: Entity,
    /// What it measures.
    pub measure: Measure,
    /// Its title as it was printed.
    pub title: String,
    /// The line of the evidence that holds its cell; 0 where that is left out.
    pub line: u32,
    form: Form,
    /// How well the counter is spelled: of two that measure the same the lower one is taken.
    rank: usize,
    /// Id of its group.
    group: Option<u64>,
}

impl Column {
    /// Its number, if the cell holds one.
    pub fn value(&self, cell: &str) -> Option<f64> {
        let cell = cell.trim();
        let number = || cell.parse::<f64>().ok().filter(|number| number.is_finite());
        match self.form {
            Form::Times(factor) => Some(number()? * factor).filter(|value| value.is_finite()),
            Form::State => {
                let word = STATES.iter().position(|state| cell.eq_ignore_ascii_case(state));
                word.map(|place| place as f64).or_else(|| number().filter(|state| (0.0..=4.0).contains(state)))
            }
            Form::Nodes => nodes(cell),
        }
    }

    /// True for what can be looked at as evidence: the host, and of a VM what decides something.
    pub fn is_evidence(&self) -> bool {
        match self.entity {
            Entity::Host => true,
            Entity::Group(_) => matches!(
                self.measure,
                Measure::VmBalloon | Measure::VmSwapped | Measure::Ready | Measure::CoStop | Measure::NumaLocal
            ),
            _ => false,
        }
    }
}

/// The states of a host's memory, by their numbers.
pub const STATES: [&str; 5] = ["high", "clear", "soft", "hard", "low"];

/// The name of a state of memory by its number.
pub fn state_name(number: f64) -> Option<&'static str> {
    STATES.iter().zip(0u8..).find(|(_, state)| (f64::from(*state) - number).abs() < 0.01).map(|(name, _)| *name)
}

/// `0`, `0,1`, `0 1`: node 0 is bit 1, node 1 is bit 2.
fn nodes(cell: &str) -> Option<f64> {
    let mut bits = 0_u64;
    for word in cell.split([',', ' ']).filter(|word| !word.is_empty()) {
        let node = word.parse::<u32>().ok().filter(|node| *node < 32)?;
        bits |= 1 << node;
    }
    #[expect(clippy::cast_precision_loss, reason = "32 bits fit")]
    (bits > 0).then_some(bits as f64)
}

/// What the titles of one run say.
#[derive(Debug, Default)]
pub struct Titles {
    kept: Vec<Column>,
    groups: BTreeMap<u64, String>,
    /// The counter of virtual processors by which they are counted.
    counted: String,
    /// How many each group has.
    processors: BTreeMap<u64, u32>,
}

impl Titles {
    /// Takes one title, unless `most` columns are kept already.
    pub fn take(&mut self, title: &str, place: usize, most: usize) {
        if self.kept.len() >= most {
            return;
        }
        let Some((object, instance, counter)) = parts(title) else { return };
        let counter = counter.to_ascii_lowercase();
        let is = |name: &str| object.eq_ignore_ascii_case(name);
        let (group, entity, counters) = match instance {
            None if is("memory") => (None, Entity::Host, HOST_MEMORY),
            Some("_Total") if is("physical cpu") => (None, Entity::Host, ALL_PROCESSORS),
            Some(instance) if is("group cpu") || is("group memory") => {
                let Some((id, name)) = group(instance) else { return };
                let counters = if is("group cpu") { GROUP_PROCESSORS } else { GROUP_MEMORY };
                if !counters.iter().any(|known| known.names.contains(&&*counter)) {
                    return;
                }
                self.groups.entry(id).or_insert_with(|| name.to_owned());
                (Some(id), Entity::Group(Text::new(name)), counters)
            }
            Some(instance) if is("vcpu") => return self.processor(instance, &counter),
            Some(instance) if is("network port") => match port(instance) {
                Some(entity) => (None, entity, PORT),
                None => return,
            },
            _ => return,
        };
        let found = counters.iter().find_map(|known| {
            known.names.iter().position(|name| *name == counter).map(|rank| (known.measure, known.form, rank))
        });
        if let Some((measure, form, rank)) = found {
            let title = title.trim().to_owned();
            self.kept.push(Column { place, entity, measure, title, line: 0, form, rank, group });
        }
    }

    /// A virtual processor of a VM: `28868:vm001:28870:vmx-vcpu-0:vm001`.
    fn processor(&mut self, instance: &str, counter: &str) {
        let Some((id, rest)) = group(instance) else { return };
        if !rest.contains(":vmx-vcpu-") && !rest.contains(":vcpu-") {
            return;
        }
        if self.counted.is_empty() {
            counter.clone_into(&mut self.counted);
        }
        if self.counted == counter && self.processors.len() < super::MOST_KEPT {
            *self.processors.entry(id).or_default() += 1;
        }
    }

    /// What is kept, in the order of the columns, and how many processors the groups have. Only VMs: where virtual processors
    /// have columns they tell which groups are some, else names do.
    pub fn settle(self) -> (Vec<Column>, Vec<(Entity, u32)>) {
        let Self { mut kept, groups, processors, .. } = self;
        let is_vm = |id: u64| {
            let name = groups.get(&id).map_or("", String::as_str);
            if processors.is_empty() { !is_of_system(name) } else { processors.contains_key(&id) }
        };
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, name) in groups.iter().filter(|(id, _)| is_vm(**id)) {
            *names.entry(name.as_str()).or_default() += 1;
        }
        // Two VMs of one name are two: which is which nobody can tell, and they must not be added up.
        let entity = |id: u64| {
            let name = groups.get(&id).map_or("", String::as_str);
            match names.get(name) {
                Some(1) => Entity::Group(Text::new(name)),
                _ => Entity::Group(Text::new(&format!("{name} ({id})"))),
            }
        };
        kept.retain(|column| column.group.is_none_or(is_vm));
        for column in &mut kept {
            if let Some(id) = column.group {
                column.entity = entity(id);
            }
        }
        let mut best: BTreeMap<(Entity, Measure), (usize, usize)> = BTreeMap::new();
        for column in &kept {
            let own = (column.rank, column.place);
            best.entry((column.entity.clone(), column.measure))
                .and_modify(|known| *known = own.min(*known))
                .or_insert(own);
        }
        let places: BTreeSet<usize> = best.into_values().map(|(_, place)| place).collect();
        kept.retain(|column| places.contains(&column.place));
        let count =
            processors.iter().filter(|(id, _)| groups.contains_key(id)).map(|(id, count)| (entity(*id), *count));
        let processors = count.collect();
        (kept, processors)
    }
}

/// What a title is about and what it measures, if it is one that is wanted.
pub fn of_title(title: &str) -> Option<(Entity, Measure)> {
    let mut titles = Titles::default();
    titles.take(title, 1, 1);
    titles.kept.pop().map(|column| (column.entity, column.measure))
}

/// True for a name that no VM has: a group of the system, or a program of it, whose name ends with its number.
fn is_of_system(name: &str) -> bool {
    let is_numbered = |name: &str| {
        let tail = name.rsplit_once('.').map_or("", |(_, tail)| tail);
        tail.len() >= 5 && tail.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.is_empty() || SYSTEM.iter().any(|system| name.eq_ignore_ascii_case(system)) || is_numbered(name)
}

/// Id and rest of an instance: `28868:vm001`. The name may hold colons.
fn group(instance: &str) -> Option<(u64, &str)> {
    let (id, name) = instance.split_once(':')?;
    Some((id.trim().parse().ok()?, name))
}

/// The port of a virtual switch: `vSwitch6:134217730:36139:vm001`, `vSwitch0:33554436:vmk0`.
fn port(instance: &str) -> Option<Entity> {
    let mut parts = instance.splitn(3, ':');
    let (switch, port, client) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !switch.is_empty() && !client.is_empty())
        .then(|| Entity::SwitchPort { switch: Text::new(switch), port: Text::new(port) })
}
