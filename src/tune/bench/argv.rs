//! The exact command lines of both sides.

use super::{Kind, Length, Place, Plan, Run, Size, Verb};
use crate::probe::perftest::Listens;

/// Which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Waits for the client.
    Server,
    /// Connects, and prints what counts.
    Client,
}

/// The words of one side's command line for a run at this TCP port.
pub fn command(plan: &Plan, run: &Run, role: Role, port: u16) -> Vec<String> {
    let asked = &plan.asked;
    let place = match role {
        Role::Server => &plan.pair.server,
        Role::Client => &plan.pair.client,
    };
    let ending = match asked.kind {
        Kind::Bandwidth => "bw",
        Kind::Latency => "lat",
    };
    let mut words = vec![format!("ib_{}_{ending}", asked.verb.word())];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("-d", place.device.clone());
    option("-i", place.port.to_string());
    option("-x", asked.gid_index.unwrap_or(place.gid_index).to_string());
    option("-p", port.to_string());
    if let Some(mtu) = asked.mtu {
        option("-m", mtu.to_string());
    }
    if let Size::One(octets) = run.size {
        option("-s", octets.to_string());
    }
    match run.length {
        Length::Seconds(seconds) => option("-D", seconds.to_string()),
        Length::Iterations(iterations) => option("-n", iterations.to_string()),
        Length::Usual => {}
    }
    if asked.kind == Kind::Bandwidth {
        option("-q", asked.queue_pairs.to_string());
        if let Some(depth) = asked.depth {
            option("-t", depth.to_string());
        }
    }
    // Such devices take no inline data; READ has none to switch off.
    if place.is_pvrdma && asked.verb != Verb::Read {
        option("-I", "0".to_owned());
    }
    if let Some(gpu) = asked.cuda {
        words.push(format!("--use_cuda={gpu}"));
    }
    let flags = [
        ("-a", run.size == Size::All),
        ("-b", asked.bidirectional),
        ("-R", asked.by_connection_manager),
        ("--report_gbits", asked.kind == Kind::Bandwidth),
    ];
    words.extend(flags.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    // Processors of VMs change their speed as they like, and that is no reason to refuse.
    words.push("-F".to_owned());
    if role == Role::Client {
        words.push(plan.pair.server.address.to_string());
    }
    words
}

/// How a side tells that it can be reached.
pub fn listens(plan: &Plan, role: Role) -> Listens {
    match (role, plan.asked.by_connection_manager) {
        (Role::Client, _) => Listens::No,
        (Role::Server, true) => Listens::ConnectionManager,
        (Role::Server, false) => Listens::Tcp,
    }
}

/// The side of a run whose lines are started on `place`.
impl Place {
    /// The block's own description of one side.
    pub fn side(&self, plan: &Plan, run: &Run, role: Role, port: u16) -> crate::probe::perftest::Side {
        crate::probe::perftest::Side {
            command: command(plan, run, role, port),
            listens: listens(plan, role),
            port,
            device: self.device.clone(),
            device_port: self.port,
        }
    }
}
