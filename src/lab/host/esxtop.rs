//! What `esxtop -b` prints: titles and rows of some thousands of columns, of which few matter.
//!
//! Source: names of objects and of most counters, the forms of titles, times and numbers, and the first row that tells of the
//! time since the boot are those of published outputs. UNSOURCED: the names of the counters of the balloon, of swap and
//! of NUMA of one VM and of the state of memory, and all numbers.

use super::Said;
use super::state::State;
use super::vm::{Role, Vm};
use crate::fabric::Timestamp;
use crate::lab::guest::load::unit;
use crate::lab::machine::HostTrouble;

/// MiB of memory of a host, as `esxcli hardware memory get` has it.
const MEMORY: f64 = 393_216.0;

/// MiB that the VMkernel keeps for itself.
const KERNEL: f64 = 9_216.0;

/// Threads of its processors.
const THREADS: u32 = 128;

/// MiB of the VM with a graphics device that its balloon holds, where it does.
pub(super) const OWN_BALLOON: u32 = 2_048;

/// Programs of the host itself, each of which is a group.
const PROGRAMS: [&str; 24] = [
    "hostd",
    "vpxa",
    "vobd",
    "rhttpproxy",
    "dcui",
    "sensord",
    "storageRM",
    "net-lacp",
    "net-lbt",
    "ntpd",
    "sshd",
    "vsanmgmtd",
    "sfcbd",
    "smartd",
    "swapobjd",
    "usbarbitrator",
    "vmsyslogd",
    "vmware-usbarbitrator",
    "nfcd",
    "hbrca",
    "iofiltervpd",
    "lwsmd",
    "openwsmand",
    "vdtc",
];

/// At most so many rows are printed for one command line, which waits for none of them.
const MOST_ROWS: u64 = 16;

/// Answers `esxtop WORDS`; the rows begin at this moment.
pub fn answer(state: &State, words: &[&str], now: Timestamp) -> Said {
    if !words.contains(&"-b") {
        return Err("esxtop: this lab has no terminal to draw on; use batch mode, -b".to_owned());
    }
    let option = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        words.get(place + 1)?.parse::<u64>().ok()
    };
    let (delay, rows) = (option("-d").unwrap_or(5).max(2), option("-n").unwrap_or(1).clamp(1, MOST_ROWS));
    let mut text = String::new();
    for row in 0..rows {
        let cells = cells(state, row);
        if row == 0 {
            line(&mut text, "(PDH-CSV 4.0) (UTC)(0)", cells.iter().map(|(title, _)| title.as_str()));
        }
        let at = now + jiff::SignedDuration::from_secs(i64::try_from(row * delay).unwrap_or(0));
        let stamp = at.strftime("%m/%d/%Y %H:%M:%S").to_string();
        line(&mut text, &stamp, cells.iter().map(|(_, cell)| cell.as_str()));
    }
    Ok(text)
}

fn line<'a>(text: &mut String, first: &str, cells: impl Iterator<Item = &'a str>) {
    text.push_str(&format!("\"{first}\""));
    for cell in cells {
        text.push_str(",\"");
        text.push_str(cell);
        text.push('"');
    }
    text.push('\n');
}

/// Titles and cells of one row.
struct Cells<'a> {
    state: &'a State,
    /// True for the first row, which tells of the time since the boot.
    is_first: bool,
    moment: u64,
    said: Vec<(String, String)>,
}

impl Cells<'_> {
    fn put(&mut self, object: &str, counter: &str, cell: String) {
        self.said.push((format!("\\\\{}\\{object}\\{counter}", self.state.name), cell));
    }

    /// A level, which is the same in each row.
    fn level(&mut self, object: &str, counter: &str, value: f64) {
        self.put(object, counter, format!("{value:.2}"));
    }

    /// What moves: about this much, a tenth of it up and down.
    fn moving(&mut self, object: &str, counter: &str, value: f64) {
        let place = self.said.len() as u64;
        let by = 0.95 + 0.1 * unit(self.state.seed ^ self.moment, place);
        // Over the days since the boot little of it is left.
        let value = if self.is_first { value / 40.0 } else { value * by };
        self.put(object, counter, format!("{value:.2}"));
    }
}

fn cells(state: &State, row: u64) -> Vec<(String, String)> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since a boot")]
    let moment = state.carried.up.max(0.0) as u64 + row;
    let mut cells = Cells { state, is_first: row == 0, moment, said: Vec::new() };
    let running: Vec<&Vm> = state.vms.iter().filter(|vm| vm.on).collect();
    memory(&mut cells, &running);
    processors(&mut cells, &running);
    let mut groups: Vec<(u32, String, Option<&Vm>)> = ["idle", "system", "helper", "drivers"]
        .iter()
        .zip([1, 2, 8, 9])
        .map(|(name, id)| (id, (*name).to_owned(), None))
        .collect();
    groups.extend(
        PROGRAMS
            .iter()
            .zip(0_u32..)
            .map(|(name, place)| (9_000 + place * 7, format!("{name}.{}", 2_098_000 + place * 13), None)),
    );
    groups.extend(running.iter().map(|vm| (vm.worlds().0, vm.name.clone(), Some(*vm))));
    for (id, name, vm) in &groups {
        group_processors(&mut cells, &format!("{id}:{name}"), *vm);
    }
    for vm in &running {
        virtual_processors(&mut cells, vm);
    }
    for (id, name, vm) in &groups {
        group_memory(&mut cells, &format!("{id}:{name}"), *vm);
    }
    ports(&mut cells, &running);
    others(&mut cells);
    cells.said
}

/// MiB that the balloon of a VM holds, and that the host has swapped of it.
pub(super) fn taken(state: &State, vm: &Vm) -> (u32, u32) {
    if vm.role == Role::Neighbour {
        return (vm.memory / 4, 8_192);
    }
    let is_own = state.troubles.contains(&HostTrouble::OwnBalloon) && concerns(state, vm);
    (if is_own { OWN_BALLOON } else { 0 }, 0)
}

/// True for the VM that a trouble of one VM is about: the one with a graphics device, or else the first.
fn concerns(state: &State, vm: &Vm) -> bool {
    let with_gpu = state.vms.iter().find(|one| one.on && one.role == Role::Gpu);
    with_gpu.or_else(|| state.vms.iter().find(|one| one.on)).is_some_and(|one| one.number == vm.number)
}

fn memory(cells: &mut Cells<'_>, running: &[&Vm]) {
    let short = running.iter().any(|vm| vm.role == Role::Neighbour);
    let taken: Vec<(u32, u32)> = running.iter().map(|vm| taken(cells.state, vm)).collect();
    let balloon: f64 = taken.iter().map(|(balloon, _)| f64::from(*balloon)).sum();
    let swapped: f64 = taken.iter().map(|(_, swapped)| f64::from(*swapped)).sum();
    let promised: f64 = running.iter().map(|vm| f64::from(vm.memory)).sum();
    let over = (promised / (MEMORY - KERNEL) - 1.0).max(0.0);
    let free = if short { MEMORY * 0.012 } else { (MEMORY - KERNEL - promised).max(MEMORY * 0.05) };
    for minutes in [1, 5, 15] {
        cells.level("Memory", &format!("Memory Overcommit ({minutes} Minute Avg)"), over);
    }
    cells.put("Memory", "Memory State", if short { "2" } else { "0" }.to_owned());
    cells.level("Memory", "Machine MBytes", MEMORY);
    cells.level("Memory", "Kernel MBytes", KERNEL);
    cells.level("Memory", "Free MBytes", free);
    cells.level("Memory", "PShare Shared MBytes", 412.0);
    cells.level("Memory", "Swap Used MBytes", swapped);
    cells.moving("Memory", "Swap MBytes Read/sec", if short { 14.0 } else { 0.0 });
    cells.moving("Memory", "Swap MBytes Write/sec", if short { 31.0 } else { 0.0 });
    cells.level("Memory", "Memctl Current MBytes", balloon);
    cells.level("Memory", "Memctl Target MBytes", balloon);
    cells.level("Memory", "Memctl Max MBytes", promised * 0.65);
}

fn processors(cells: &mut Cells<'_>, running: &[&Vm]) {
    let busy = if cells.state.troubles.contains(&HostTrouble::ReadyHigh) {
        97.0
    } else {
        let used: u32 = running.iter().map(|vm| vm.processors).sum();
        60.0 * f64::from(used.min(THREADS)) / f64::from(THREADS)
    };
    for minutes in [1, 5, 15] {
        cells.level("Physical Cpu Load", &format!("Cpu Load ({minutes} Minute Avg)"), busy / 100.0);
    }
    let names = (0..THREADS).map(|thread| thread.to_string()).chain(["_Total".to_owned()]);
    for name in names {
        let object = format!("Physical Cpu({name})");
        for counter in ["% Processor Time", "% Util Time", "% Core Util Time"] {
            cells.moving(&object, counter, busy);
        }
        for state in 0..4 {
            cells.moving(&object, &format!("% C{state} Time"), (100.0 - busy) / 4.0);
        }
        cells.moving(&object, "Avg C-State Us", 12.0);
    }
}

fn group_processors(cells: &mut Cells<'_>, instance: &str, vm: Option<&Vm>) {
    let object = format!("Group Cpu({instance})");
    let count = f64::from(vm.map_or(1, |vm| vm.processors));
    let starved = vm.is_some() && cells.state.troubles.contains(&HostTrouble::ReadyHigh);
    let swaps = vm.is_some_and(|vm| taken(cells.state, vm).1 > 0);
    let (used, ready, stopped) = match vm {
        None => (0.4, 0.01, 0.0),
        Some(_) if starved => (58.0 * count, 24.0 * count, 6.0 * count),
        Some(_) => (60.0 * count, 0.4 * count, 0.0),
    };
    cells.put(&object, "Members", format!("{:.0}", count + 5.0));
    for (counter, value) in [
        ("% Used", used),
        ("% Run", used * 1.01),
        ("% System", used * 0.01),
        ("% Wait", 5.0 * 100.0),
        ("% VmWait", 0.0),
        ("% Ready", ready),
        ("% Idle", (count * 100.0 - used).max(0.0)),
        ("% Overlap", used * 0.004),
        ("% CoStop", stopped),
        ("% Max Limited", 0.0),
        ("% Swap Wait", if swaps { 9.0 } else { 0.0 }),
        ("Switches/sec", 410.0),
    ] {
        cells.moving(&object, counter, value);
    }
}

fn virtual_processors(cells: &mut Cells<'_>, vm: &Vm) {
    let group = vm.worlds().0;
    for place in 0..vm.processors {
        let object = format!("Vcpu({group}:{name}:{}:vmx-vcpu-{place}:{name})", group + 2 + place, name = vm.name);
        for counter in ["% Used", "% Run", "% Wait", "% Ready"] {
            cells.moving(&object, counter, if counter == "% Ready" { 0.4 } else { 60.0 });
        }
    }
}

fn group_memory(cells: &mut Cells<'_>, instance: &str, vm: Option<&Vm>) {
    let object = format!("Group Memory({instance})");
    let size = vm.map_or(48.0, |vm| f64::from(vm.memory));
    let (balloon, swapped) = vm.map_or((0, 0), |vm| taken(cells.state, vm));
    let remote =
        vm.is_some_and(|vm| cells.state.troubles.contains(&HostTrouble::NumaRemote) && concerns(cells.state, vm));
    let local = if remote { 23.0 } else { 100.0 };
    for (counter, value) in [
        ("Memory Size MBytes", size),
        ("Memory Granted Size MBytes", size - f64::from(swapped)),
        ("Target Size MBytes", size - f64::from(balloon + swapped)),
        ("Touched MBytes", size / 8.0),
        ("% Active Estimate", 12.0),
        ("% Active Slow Estimate", 12.0),
        ("Overhead MBytes", 84.0),
        ("Memctl MBytes", f64::from(balloon)),
        ("Memctl Target MBytes", f64::from(balloon)),
        ("Memctl Max MBytes", size * 0.65),
        ("Swapped MBytes", f64::from(swapped)),
        ("Swap Target MBytes", f64::from(swapped)),
        ("NUMA % Local", local),
        ("NUMA Remote MBytes", size * (100.0 - local) / 100.0),
    ] {
        cells.level(&object, counter, value);
    }
    let node = u32::from(vm.is_some_and(|vm| vm.role == Role::Gpu));
    cells.put(&object, "NUMA Home Nodes", node.to_string());
    cells.moving(&object, "Swap Read MBytes/sec", if swapped > 0 { 14.0 } else { 0.0 });
    cells.moving(&object, "Swap Written MBytes/sec", if swapped > 0 { 31.0 } else { 0.0 });
}

fn ports(cells: &mut Cells<'_>, running: &[&Vm]) {
    let mut names: Vec<String> = vec!["vSwitch0:33554436:vmk0".to_owned(), "vSwitch0:33554434:vmnic0".to_owned()];
    names.extend(running.iter().map(|vm| format!("vSwitch0:{}:{}:{}", 33_554_440 + vm.number, vm.worlds().0, vm.name)));
    for name in names {
        let object = format!("Network Port({name})");
        for (counter, value) in [
            ("Packets Transmitted/sec", 90.0),
            ("MBits Transmitted/sec", 0.9),
            ("Packets Received/sec", 120.0),
            ("MBits Received/sec", 1.2),
            ("% Outbound Packets Dropped", 0.0),
            ("% Received Packets Dropped", 0.0),
        ] {
            cells.moving(&object, counter, value);
        }
    }
}

/// Columns that nobody here reads: that is most of them.
fn others(cells: &mut Cells<'_>) {
    let counters = [
        "Reads/sec",
        "Writes/sec",
        "MBytes Read/sec",
        "MBytes Written/sec",
        "Average Driver MilliSec/Command",
        "Average Kernel MilliSec/Command",
        "Average Guest MilliSec/Command",
        "Average Queue MilliSec/Command",
        "Aborts/sec",
        "Resets/sec",
        "Failed Commands/sec",
        "Commands/sec",
        "Active Commands",
        "Queued Commands",
        "% Used",
        "Load",
    ];
    for disk in 0..128 {
        let object =
            format!("Physical Disk Per-Device-Per-World(vmhba2:naa.600508b1001c{disk:04x}:{})", 2_097_152 + disk);
        for counter in counters {
            cells.moving(&object, counter, 1.5);
        }
    }
    for vector in 0..256 {
        cells.moving(&format!("Interrupt Vector({vector:#x})"), "Interrupts/sec", 35.0);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "what was printed is read as it was printed")]
mod tests {
    use super::*;
    use crate::fabric::{Entity, Measure, Text};
    use crate::lab::guest::clock::Clock;
    use crate::lab::guest::pvrdma_guests;
    use crate::lab::host::hosts_by;
    use crate::lab::machine::{Login, Machine, Trouble};
    use crate::probe::esxi::esxtop::{Event, Reader, Row};

    const MEBIBYTE: f64 = 1_048_576.0;

    /// What our own reader makes of the second row.
    fn read(host: &dyn Machine) -> (usize, Row) {
        let login = Login { user: "root".to_owned(), is_root: true };
        let said = host.run(&["esxtop", "-b", "-d", "5", "-n", "2"].map(str::to_owned), &login);
        assert_eq!((said.status, said.by_agent), (0, 0), "{}", said.stderr);
        let mut reader = Reader::new("c0ffee");
        let mut events = reader.push(said.stdout.as_bytes());
        let Some(Event::Row(row)) = events.pop() else { panic!("a row") };
        let Event::Titles { columns, .. } = events[0] else { panic!("titles") };
        (columns, row)
    }

    fn value(row: &Row, entity: &Entity, measure: Measure) -> f64 {
        let found = row.gauges.iter().find(|one| one.entity == *entity && one.name.as_str() == measure.name());
        found.and_then(|one| one.value).unwrap_or_else(|| panic!("no {measure:?} of {entity}"))
    }

    #[test]
    fn a_host_prints_thousands_of_columns_and_the_troubles_show_in_those_that_matter() {
        let gpu = Entity::Group(Text::new("gpu-a"));
        for seed in 0..50 {
            let hosts = hosts_by(seed, pvrdma_guests(seed), &Clock::standing());
            let host = &*hosts[0];
            let (columns, healthy) = read(host);
            assert!(columns > 4_000, "{columns}");
            assert_eq!(healthy.period.as_secs(), 5);
            let of = |row: &Row, measure| value(row, &gpu, measure);
            assert_eq!(of(&healthy, Measure::VmProcessors), 16.0);
            assert_eq!(of(&healthy, Measure::VmBalloon), 0.0);
            assert!(of(&healthy, Measure::Ready) < 16.0, "less than one percent of each");
            assert_eq!(of(&healthy, Measure::HomeNodes), 2.0, "node 1");
            assert_eq!(value(&healthy, &Entity::Host, Measure::MemoryState), 0.0);
            let suffering = |trouble| {
                host.suffer(Trouble::Host(trouble), true);
                let (_, row) = read(host);
                host.suffer(Trouble::Host(trouble), false);
                row
            };
            let row = suffering(HostTrouble::ReadyHigh);
            assert!(of(&row, Measure::Ready) > 10.0 * 16.0 && of(&row, Measure::CoStop) > 3.0 * 16.0);
            let row = suffering(HostTrouble::NeighbourBalloons);
            let neighbour = Entity::Group(Text::new("batch-07"));
            assert!(value(&row, &neighbour, Measure::VmBalloon) > 1024.0 * MEBIBYTE);
            assert!(value(&row, &Entity::Host, Measure::HostSwapIn) > MEBIBYTE);
            assert_eq!(value(&row, &Entity::Host, Measure::MemoryState), 2.0);
            assert_eq!(of(&row, Measure::VmBalloon), 0.0, "what is reserved stays");
            let row = suffering(HostTrouble::OwnBalloon);
            assert_eq!(of(&row, Measure::VmBalloon), f64::from(OWN_BALLOON) * MEBIBYTE);
            assert_eq!(value(&row, &Entity::Host, Measure::MemoryState), 0.0);
            let row = suffering(HostTrouble::NumaRemote);
            assert!(of(&row, Measure::NumaLocal) < 50.0 && of(&row, Measure::NumaRemote) > 0.0);
            assert!(read(host).1 == healthy, "seed {seed}: something is left behind");
        }
    }

    #[test]
    fn without_batch_mode_it_says_that_there_is_no_terminal() {
        let hosts = hosts_by(1, pvrdma_guests(1), &Clock::standing());
        let login = Login { user: "root".to_owned(), is_root: true };
        let said = hosts[0].run(&["esxtop".to_owned()], &login);
        assert_eq!(said.status, 1);
        assert!(said.stderr.contains("-b") || said.stdout.contains("-b"));
    }
}
