//! `ip` of iproute2 6.1: links, addresses, routes.

use crate::lab::guest::templates::Append as _;
use std::net::{IpAddr, Ipv4Addr};

use super::{Scene, fails, says};
use crate::lab::guest::state::Netdev;
use crate::lab::guest::templates::ip::{self as form, Wanted};
use crate::lab::guest::templates::json;
use crate::lab::machine::Answer;

/// Options before the object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What is wanted of each interface.
    pub wanted: Wanted,
    json: bool,
    pretty: bool,
    brief: bool,
    one_line: bool,
}

/// Reads the options; gives what follows them.
pub fn options<'a, 'b>(words: &'b [&'a str]) -> Result<(Options, &'b [&'a str]), Answer> {
    let mut options = Options::default();
    let mut words = words;
    while let Some((word, rest)) = words.split_first() {
        let Some(name) = word.strip_prefix('-') else { break };
        let name = name.strip_prefix('-').unwrap_or(name);
        match name {
            "j" | "json" => options.json = true,
            "p" | "pretty" => options.pretty = true,
            "d" | "details" => options.wanted.details = true,
            "s" | "stats" | "statistics" => options.wanted.statistics = true,
            "br" | "brief" => options.brief = true,
            "o" | "oneline" => options.one_line = true,
            "4" => options.wanted.family = Some(4),
            "6" => options.wanted.family = Some(6),
            "c" | "color" | "color=never" | "color=auto" | "c=never" => {}
            "V" | "Version" => return Err(says("ip utility, iproute2-6.1.0, libbpf 1.1.2\n")),
            // UNSOURCED: the line is shorter than the real one.
            _ => return Err(fails(format!("Option \"-{name}\" is unknown, try \"ip -help\".\n"), 255)),
        }
        words = rest;
    }
    Ok((options, words))
}

/// Answers a question.
pub fn run(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (mut options, words) = match options(words) {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let Some((object, words)) = words.split_first() else {
        return fails("Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n", 255);
    };
    match *object {
        word if !word.is_empty() && ("link".starts_with(word)) => {}
        word if word.starts_with('a') && "address".starts_with(word) => options.wanted.addresses = true,
        word if word.starts_with('r') && "route".starts_with(word) => return routes(scene),
        word if word.starts_with('n') && "neighbour".starts_with(word) || "neighbor" == word => {
            return neighbours(scene, words, options.wanted.statistics);
        }
        // Source: capture "ip foo".
        _ => return fails(format!("Object \"{object}\" is unknown, try \"ip help\".\n"), 1),
    }
    let netdevs = match selected(scene, words) {
        Ok(netdevs) => netdevs,
        Err(answer) => return answer,
    };
    if options.json {
        let objects = netdevs
            .iter()
            .map(|netdev| form::json(netdev, scene.moment.net_counters(netdev), options.wanted))
            .collect();
        return says(json(objects, options.pretty));
    }
    let text: Vec<String> = netdevs
        .iter()
        .map(|netdev| {
            if options.brief {
                return form::brief(netdev, options.wanted);
            }
            let text = form::text(netdev, scene.moment.net_counters(netdev), options.wanted);
            // `-o` keeps one record in one line, its line breaks as backslashes.
            if options.one_line { format!("{}\n", text.trim_end().replace('\n', "\\")) } else { text }
        })
        .collect();
    says(text.concat())
}

/// The interfaces that the words behind the object choose.
fn selected<'a>(scene: &Scene<'a>, words: &[&str]) -> Result<Vec<&'a Netdev>, Answer> {
    let mut words = words.iter().copied().peekable();
    words.next_if(|word| !word.is_empty() && ("show".starts_with(word) || "list".starts_with(word) || *word == "lst"));
    let (mut only, mut is_up) = (None, false);
    while let Some(word) = words.next() {
        match word {
            "dev" => only = words.next(),
            "up" => is_up = true,
            "scope" | "master" | "type" | "label" | "group" => drop(words.next()),
            name => only = Some(name),
        }
    }
    let state = scene.moment.state;
    if let Some(name) = only {
        // Source: capture "ip link show dev nope".
        let netdev = state.netdev(name).ok_or_else(|| fails(format!("Device \"{name}\" does not exist.\n"), 1))?;
        return Ok(vec![netdev]);
    }
    Ok(state.netdevs.iter().filter(|netdev| !is_up || netdev.admin_up).collect())
}

/// The neighbour table. Source: captures "ip neigh show" and "ip -s neigh show" of iproute2 6.1: every line ends with a
/// blank, and the last age is glued to the word behind it.
fn neighbours(scene: &Scene<'_>, words: &[&str], aged: bool) -> Answer {
    let ages = |text: &'static str| if aged { text } else { "" };
    let fresh = ages(" ref 1 used 4/2/2probes 1 ");
    let state = scene.moment.state;
    let only = words.iter().position(|word| *word == "dev").and_then(|at| words.get(at + 1));
    let mut text = String::new();
    for netdev in state.netdevs.iter().filter(|netdev| netdev.is_running() && !netdev.is_loopback()) {
        if only.is_some_and(|name| **name != netdev.name) {
            continue;
        }
        let name = &netdev.name;
        if name == &state.rdma_netdev().name {
            let Some((address, mac)) = &state.peer else { continue };
            let answers =
                state.wire.unreachable_since(scene.moment.now).is_none() && state.wire.is_up(state.side.other());
            if answers {
                text.add(format_args!("{address} dev {name} lladdr {mac} {fresh}REACHABLE \n"));
            } else {
                text.add(format_args!("{address} dev {name} {}FAILED \n", ages(" used 3/64/1probes 6 ")));
            }
        } else {
            // The router of the management network, and the machine from which one looks.
            text.add(format_args!("{} dev {name} lladdr 00:50:56:b2:10:01 {fresh}REACHABLE \n", state.gateway));
        }
    }
    says(text)
}

/// Source: capture "ip route" of a Debian 12 guest.
fn routes(scene: &Scene<'_>) -> Answer {
    let mut text = String::new();
    for netdev in scene.moment.state.netdevs.iter().filter(|netdev| !netdev.is_loopback() && netdev.admin_up) {
        let down = if netdev.carrier { "" } else { "linkdown " };
        for address in form::addresses(netdev, Some(4)) {
            let IpAddr::V4(value) = address.address else { continue };
            let mask = u32::MAX.checked_shl(32 - u32::from(address.prefix)).unwrap_or(0);
            let network = Ipv4Addr::from(u32::from(value) & mask);
            let gateway = scene.moment.state.gateway;
            if u32::from(gateway) & mask == u32::from(network) {
                text.insert_str(0, &format!("default via {gateway} dev {} {down}\n", netdev.name));
            }
            text.add(format_args!(
                "{network}/{} dev {} proto kernel scope link src {value} {down}\n",
                address.prefix, netdev.name
            ));
        }
    }
    says(text)
}
