//! What carries the payload of two guests. RDMA is said where counters of the adapters moved by at least half of it, or queue
//! pairs became ready with it; TCP only on evidence for it; anything else is not determinable. A counter that stands still
//! says something only on a host where it was seen to move: which drivers fill it is not published.

use super::ends::End;
use super::{Transport, Verdict};
use crate::diagnose::cause::Found;
use crate::diagnose::check::{DeviceKind, Exhibit, Movements, Scene};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::qualify;
use crate::fabric::counter::{Role, SharedRole, driver_family, port_counter};
use crate::fabric::{Attribute, Entity, EntityId, QueuePairState, Text, Value};
use crate::probe::esxi::counting;
use crate::probe::esxi::statistics::is_label;

/// A payload of known size that went from one guest to the other.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Bytes of payload.
    pub payload: u64,
    /// By how much counters moved from just before it to its end. Of a counter that goes up and down (queue pairs that are
    /// ready to send): by how much it rose at most.
    pub moved: &'a Movements,
}

/// So many bytes in one window are traffic, and not what keeps connections alive.
const TRAFFIC: u64 = 1 << 20;

/// What carries the payload between two ends.
pub fn transport(
    scene: &Scene<'_>,
    found: &[Found],
    one: &End<'_>,
    other: &End<'_>,
    trial: Option<&Trial<'_>>,
) -> Verdict {
    let (Some(first), Some(second)) = (&one.port, &other.port) else {
        let without = if one.port.is_none() { one } else { other };
        return open(
            format!("{} has no RDMA port that is known, so nothing tells what it would use", without.guest),
            format!("rdma link show on {}", without.guest),
        );
    };
    if first.kind == DeviceKind::Pvrdma && second.kind == DeviceKind::Pvrdma {
        paravirtual(scene, found, (one, other), trial)
    } else {
        own_devices(scene, (one, other), trial)
    }
}

fn open(why: String, decide: String) -> Verdict {
    Verdict {
        transport: Transport::NotDeterminable,
        confidence: Confidence::Possible,
        why,
        evidence: Vec::new(),
        decide,
    }
}

fn said(transport: Transport, confidence: Confidence, why: String, evidence: Vec<Exhibit>) -> Verdict {
    Verdict { transport, confidence, why, evidence, decide: String::new() }
}

fn bench(one: &End<'_>, other: &End<'_>) -> String {
    format!("ib_write_bw between {} and {} for half a minute, while the console shows them", one.guest, other.guest)
}

/// The hypervisor chooses: RDMA, a copy on one host, or TCP.
fn paravirtual(
    scene: &Scene<'_>,
    found: &[Found],
    (one, other): (&End<'_>, &End<'_>),
    trial: Option<&Trial<'_>>,
) -> Verdict {
    if let (Some(first), Some(second)) = (one.host, other.host)
        && first == second
    {
        let vms = [one, other].into_iter().filter_map(|end| end.chain.map(|chain| &chain.vm));
        let evidence = vms.map(|vm| runs_on(scene, vm)).collect();
        let why = format!(
            "both VMs run on {first}: the hypervisor copies from memory to memory, and its adapters carry nothing"
        );
        return said(Transport::SameHost, Confidence::Proved, why, evidence);
    }
    let rows: Vec<(&End<'_>, qualify::Row)> =
        [one, other].into_iter().filter_map(|end| Some((end, qualify::row_of(scene, found, end.chain?)?))).collect();
    let of = |status: Status| -> Vec<(&End<'_>, qualify::Cell)> {
        rows.iter().flat_map(|(end, row)| row.needed(status).map(|cell| (*end, cell.clone()))).collect()
    };
    let (lacking, unread) = (of(Status::Fail), of(Status::Unknown));
    if let Some(trial) = trial
        && let Some(verdict) = by_trial(scene, (one, other), trial, lacking.first())
    {
        return verdict;
    }
    if let Some((end, cell)) = lacking.first() {
        let host = end.host.map_or("its host", |host| host.as_str());
        let why =
            format!("{host} does not qualify for RDMA: {}; its adapters then use TCP without a message", cell.says);
        let evidence = lacking.iter().flat_map(|(_, cell)| cell.exhibits.clone()).collect();
        return said(Transport::Tcp, cell.confidence(), why, evidence);
    }
    if let Some((end, chain)) = [one, other].into_iter().find_map(|end| {
        let chain = end.chain?;
        qualify::is_on_standard(scene, chain).then_some((end, chain))
    }) {
        let on = chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_)));
        let on = on.map(|switch| switch.entity.name()).unwrap_or_default();
        let why = format!("the adapter of {} is on {on}, a standard switch, on which PVRDMA has no RDMA", end.guest);
        return open(why, format!("the adapter on a port group of a distributed switch, then {}", bench(one, other)));
    }
    by_watching(scene, (one, other), trial, unread.first())
}

/// Whether both hosts qualify, in words; something that was not read leaves it open.
fn qualify_words(unread: Option<&(&End<'_>, qualify::Cell)>) -> String {
    match unread {
        None => "both hosts qualify".to_owned(),
        Some((end, cell)) => {
            let host = end.host.map_or("its host", |host| host.as_str());
            format!("whether {host} qualifies is not known ({})", cell.says)
        }
    }
}

/// Where a VM runs, as an exhibit.
pub fn runs_on(scene: &Scene<'_>, vm: &EntityId) -> Exhibit {
    let name = scene.text(vm, Attribute::VmName).map_or_else(|| vm.entity.name(), str::to_owned);
    let says = format!("{name} runs on {}", vm.target);
    let by = [Attribute::PowerState, Attribute::WorldId, Attribute::VmName]
        .into_iter()
        .find(|attribute| scene.value(vm, *attribute).is_some());
    match by {
        Some(attribute) => Exhibit::of(vm, attribute, says),
        None => Exhibit::thing(vm, says),
    }
}

/// What the counters of a host's RDMA device tell of a time.
#[derive(Default)]
struct Seen {
    /// By how many bytes it moved, in the direction in which it moved more, and where that is read.
    bytes: Option<(u64, EntityId)>,
    /// Likewise packets.
    packets: Option<(u64, EntityId)>,
    /// How many queue pairs became ready to send.
    ready: Option<(u64, EntityId)>,
}

fn counters<'a>(scene: &Scene<'a>, of: &'a EntityId) -> impl Iterator<Item = (EntityId, &'a Text)> + 'a {
    let name = of.entity.name();
    let first = Entity::Counter { of: Text::new(&name), name: Text::new("") };
    scene.fabric.of_kind(&of.target, first).map_while(move |entity| match entity {
        Entity::Counter { of: device, name: label } if device.as_str() == name => {
            Some((EntityId::new(&of.target, entity.clone()), label))
        }
        _ => None,
    })
}

fn keep_more(best: &mut Option<(u64, EntityId)>, by: u64, id: EntityId) {
    if best.as_ref().is_none_or(|(known, _)| by > *known) {
        *best = Some((by, id));
    }
}

fn seen(scene: &Scene<'_>, device: &EntityId, moved: &Movements) -> Seen {
    let mut seen = Seen::default();
    for (id, label) in counters(scene, device) {
        let Some(movement) = moved.of(&id) else { continue };
        match counting::role(label) {
            Some(SharedRole::TransmitBytes | SharedRole::ReceiveBytes) => keep_more(&mut seen.bytes, movement.by, id),
            Some(SharedRole::TransmitPackets | SharedRole::ReceivePackets) => {
                keep_more(&mut seen.packets, movement.by, id);
            }
            _ if is_label(label, "Queue pairs in RTS state") => keep_more(&mut seen.ready, movement.by, id),
            _ => {}
        }
    }
    seen
}

/// True if a counter of bytes or packets of a device was seen to count: it moved, or it is not zero.
fn counts(scene: &Scene<'_>, device: &EntityId) -> bool {
    counters(scene, device).any(|(id, label)| {
        counting::role(label).is_some_and(|role| !matches!(role, SharedRole::Error))
            && (scene.movements.of(&id).is_some_and(|moved| moved.by > 0)
                || scene.count(&id, Attribute::CounterValue).is_some_and(|value| value > 0))
    })
}

/// Whether a device moved at least half of a payload, with what says so.
fn carried(scene: &Scene<'_>, device: &EntityId, trial: &Trial<'_>) -> Option<Exhibit> {
    let seen = seen(scene, device, trial.moved);
    let half = trial.payload.div_ceil(2).max(1);
    let name = device.entity.name();
    let exhibit = |id: &EntityId, says: String| Exhibit::of(id, Attribute::CounterValue, says);
    if let Some((by, id)) = &seen.bytes
        && *by >= half
    {
        return Some(exhibit(id, format!("{name} moved {by} bytes of {} bytes of payload", trial.payload)));
    }
    // A packet carries at most 4096 bytes of payload.
    let packet = scene.count(device, Attribute::Mtu).filter(|mtu| *mtu > 0).unwrap_or(4096).min(4096);
    if let Some((by, id)) = &seen.packets
        && by.saturating_mul(packet) >= half
    {
        return Some(exhibit(id, format!("{name} moved {by} packets of up to {packet} bytes")));
    }
    let (by, id) = seen.ready.filter(|(by, _)| *by > 0)?;
    Some(exhibit(&id, format!("{by} queue pairs of {name} became ready to send with the test")))
}

/// What a known payload shows.
fn by_trial(
    scene: &Scene<'_>,
    (one, other): (&End<'_>, &End<'_>),
    trial: &Trial<'_>,
    lacking: Option<&(&End<'_>, qualify::Cell)>,
) -> Option<Verdict> {
    let shown: Vec<Exhibit> =
        [one, other].into_iter().filter_map(|end| carried(scene, end.host_device()?, trial)).collect();
    if !shown.is_empty() {
        let both = shown.len() == 2;
        let mut why = if both {
            "the RDMA devices of both hosts moved with the payload".to_owned()
        } else {
            "the RDMA device of one host moved with the payload; that of the other was not seen to".to_owned()
        };
        if let Some((end, cell)) = lacking {
            let host = end.host.map_or("its host", |host| host.as_str());
            why = format!("{why}, though {host} seems not to qualify: {}", cell.says);
        }
        let sure = if both && lacking.is_none() { Confidence::Proved } else { Confidence::Likely };
        return Some(said(Transport::Rdma, sure, why, shown));
    }
    let by_tcp: Vec<Exhibit> =
        [one, other].into_iter().filter_map(|end| tagged_port_carried(scene, end, trial)).collect();
    if by_tcp.is_empty() {
        return None;
    }
    let sure = if by_tcp.len() == 2 { Confidence::Proved } else { Confidence::Likely };
    let why = "the VMkernel adapter that is tagged for PVRDMA carried about the payload".to_owned();
    Some(said(Transport::Tcp, sure, why, by_tcp))
}

/// Whether the port of the tagged VMkernel adapter moved by about a payload: that is what TCP would show.
fn tagged_port_carried(scene: &Scene<'_>, end: &End<'_>, trial: &Trial<'_>) -> Option<Exhibit> {
    let vmknic = qualify::tagged(scene, end.host?)?;
    let port = qualify::port_of_vmknic(scene, &vmknic)?;
    let Entity::SwitchPort { switch, port: number } = &port.entity else { return None };
    let of = Text::new(&format!("{switch}/{number}"));
    let about = trial.payload / 2..=trial.payload.saturating_mul(2);
    ["bytesInUnicast", "bytesOutUnicast"].into_iter().find_map(|name| {
        let id = EntityId::new(&port.target, Entity::Counter { of: of.clone(), name: Text::new(name) });
        let by = trial.moved.of(&id)?.by;
        (by > 0 && about.contains(&by)).then(|| {
            let says = format!("{} moved {by} bytes of {} bytes of payload", vmknic.entity.name(), trial.payload);
            Exhibit::of(&id, Attribute::CounterValue, says)
        })
    })
}

/// What can be said without a payload of known size.
fn by_watching(
    scene: &Scene<'_>,
    (one, other): (&End<'_>, &End<'_>),
    trial: Option<&Trial<'_>>,
    unread: Option<&(&End<'_>, qualify::Cell)>,
) -> Verdict {
    let mut evidence = Vec::new();
    let mut flat = Vec::new();
    for end in [one, other] {
        let Some(device) = end.host_device() else { continue };
        let moved = trial.map_or(scene.movements, |trial| trial.moved);
        match seen(scene, device, moved).bytes {
            Some((by, id)) if by >= TRAFFIC => {
                let says = format!("{} moved {by} bytes", device.entity.name());
                evidence.push(Exhibit::of(&id, Attribute::CounterValue, says));
            }
            Some(_) if counts(scene, device) => {
                flat.push(format!("{} of {} counts and stood still", device.entity.name(), device.target));
            }
            Some(_) => flat.push(format!(
                "{} of {} was never seen to count, so its zeros mean nothing",
                device.entity.name(),
                device.target
            )),
            None => {}
        }
    }
    let connected = connections(scene, one, other);
    if evidence.len() == 2
        && trial.is_none()
        && let Some((first, second)) = connected.first()
    {
        evidence.extend([ready(first), ready(second)]);
        return Verdict {
            decide: bench(one, other),
            ..said(
                Transport::Rdma,
                Confidence::Likely,
                format!(
                    "{}, their RDMA devices move, and {} pairs of queue pairs join the two guests; the devices count all VMs \
                     of their uplinks",
                    qualify_words(unread),
                    connected.len()
                ),
                evidence,
            )
        };
    }
    let mut why = match (&trial, one.host, other.host) {
        (_, None, _) | (_, _, None) => "which hosts the two VMs run on is not known".to_owned(),
        (Some(_), ..) => {
            "neither the RDMA devices of the hosts nor their tagged VMkernel adapters moved with the payload".to_owned()
        }
        (None, ..) => format!("{}, and no payload of known size went between the two", qualify_words(unread)),
    };
    if !flat.is_empty() {
        why = format!("{why}; {}", flat.join("; "));
    }
    let decide = match (one.host, other.host) {
        (Some(_), Some(_)) => bench(one, other),
        _ => "the ESXi hosts of both VMs in the inventory".to_owned(),
    };
    Verdict { evidence, ..open(why, decide) }
}

fn ready(queue_pair: &EntityId) -> Exhibit {
    let says = format!("queue pair {} is ready", queue_pair.entity.name());
    Exhibit::of(queue_pair, Attribute::QueuePairState, says)
}

/// Queue pairs of two ends that name each other, of which one is ready to send and the other at least to receive: who is only
/// written to, never sends.
fn connections(scene: &Scene<'_>, one: &End<'_>, other: &End<'_>) -> Vec<(EntityId, EntityId)> {
    let ready = |end: &End<'_>| -> Vec<(u32, u64, bool, EntityId)> {
        let Some(port) = &end.port else { return Vec::new() };
        let Entity::RdmaDevice(name) = &port.device.entity else { return Vec::new() };
        let first = Entity::QueuePair { device: name.clone(), port: None, number: 0 };
        scene
            .fabric
            .of_kind(&end.guest, first)
            .map_while(|entity| match entity {
                Entity::QueuePair { device, port, number } if device == name => Some((entity, *port, *number)),
                _ => None,
            })
            .filter(|(_, port, _)| port.is_none())
            .filter_map(|(entity, _, number)| {
                let id = EntityId::new(&end.guest, entity.clone());
                let state = scene.value(&id, Attribute::QueuePairState)?;
                let sends = match state {
                    Value::QueuePairState(QueuePairState::ReadyToSend) => true,
                    Value::QueuePairState(QueuePairState::ReadyToReceive) => false,
                    _ => return None,
                };
                let remote = scene.value(&id, Attribute::RemoteQueuePair)?.to_string().parse().ok()?;
                Some((number, remote, sends, id))
            })
            .collect()
    };
    let theirs = ready(other);
    ready(one)
        .into_iter()
        .filter_map(|(number, remote, sends, id)| {
            let of_it = |(peer, back, also, _): &&(u32, u64, bool, EntityId)| {
                u64::from(*peer) == remote && *back == u64::from(number) && (sends || *also)
            };
            let (.., peer) = theirs.iter().find(of_it)?;
            Some((id, peer.clone()))
        })
        .collect()
}

/// A device of the guest's own (passed through, a virtual function, software): nothing below it could put TCP in the place
/// of RDMA. What it counts itself says whether it carries the payload.
fn own_devices(scene: &Scene<'_>, (one, other): (&End<'_>, &End<'_>), trial: Option<&Trial<'_>>) -> Verdict {
    let software =
        [one, other].into_iter().any(|end| end.port.as_ref().is_some_and(|port| port.kind == DeviceKind::Software));
    let what = if software {
        "RDMA in software (its packets are UDP of the guests' own kernels)"
    } else {
        "RDMA of the guests' own adapters"
    };
    let moved = trial.map_or(scene.movements, |trial| trial.moved);
    let least = trial.map_or(TRAFFIC, |trial| trial.payload.div_ceil(2).max(1));
    let shown: Vec<Exhibit> =
        [one, other].into_iter().filter_map(|end| own_counter(scene, end, moved, least)).collect();
    let connected = connections(scene, one, other);
    let joined = connected.first().map(|(first, second)| [ready(first), ready(second)]);
    if shown.len() == 2 && (trial.is_some() || joined.is_some()) {
        let why = match trial {
            Some(_) => format!("{what}: the devices of both guests moved with the payload"),
            None => format!("{what}: {} pairs of queue pairs join the two, and both devices move", connected.len()),
        };
        let evidence = shown.into_iter().chain(joined.into_iter().flatten()).collect();
        let sure = if trial.is_some() { Confidence::Proved } else { Confidence::Likely };
        return Verdict {
            decide: if trial.is_some() { String::new() } else { bench(one, other) },
            ..said(Transport::Rdma, sure, why, evidence)
        };
    }
    if let Some(joined) = joined {
        let why = format!(
            "{what}: {} pairs of queue pairs that are ready to send join the two; no counter shows that anything went over them",
            connected.len()
        );
        let evidence = shown.into_iter().chain(joined).collect();
        return Verdict { decide: bench(one, other), ..said(Transport::Rdma, Confidence::Likely, why, evidence) };
    }
    if shown.len() == 1 && trial.is_some() {
        let why = format!("{what}: the device of one guest moved with the payload; what the other counts was not read");
        return said(Transport::Rdma, Confidence::Likely, why, shown);
    }
    let why = match trial {
        Some(_) => "neither a counter of the guests' devices nor their queue pairs moved with the payload".to_owned(),
        None => "no queue pairs join the two guests now, and no payload of known size went between them".to_owned(),
    };
    Verdict { evidence: shown, ..open(why, bench(one, other)) }
}

/// A counter of a guest's own device that moved by at least so many bytes.
fn own_counter(scene: &Scene<'_>, end: &End<'_>, moved: &Movements, least: u64) -> Option<Exhibit> {
    let port = end.port.as_ref()?;
    let device = port.device.entity.name();
    let Entity::RdmaPort { port: number, .. } = &port.id.entity else { return None };
    let function = scene.text(&port.device, Attribute::PciAddress);
    let driver = function.and_then(|address| {
        scene.text(&EntityId::new(&end.guest, Entity::PciFunction(address.into())), Attribute::Driver)
    });
    let driver = driver_family(driver, &device);
    let of = if *number == 1 { device.clone() } else { format!("{device}/{number}") };
    let packet = scene.count(&port.id, Attribute::PathMtu).filter(|mtu| *mtu > 0).unwrap_or(4096);
    let bytes = |name: &Text, by: u64| {
        let meaning = port_counter(driver, "counters", name).or_else(|| port_counter(driver, "hw_counters", name))?;
        match meaning.role {
            Role::TransmitBytes | Role::ReceiveBytes => Some(by.saturating_mul(meaning.scale)),
            Role::TransmitPackets | Role::ReceivePackets => Some(by.saturating_mul(packet)),
            _ => None,
        }
    };
    moved.0.iter().find_map(|(id, movement)| {
        let Entity::Counter { of: owner, name } = &id.entity else { return None };
        if id.target != end.guest || owner.as_str() != of || bytes(name, movement.by)? < least {
            return None;
        }
        let says = format!("{name} of {device} moved by {}", movement.by);
        // The reads of the counter itself are not kept; what the driver counts at all is.
        Some(Exhibit::of(&port.id, Attribute::ByteCounters, says))
    })
}
