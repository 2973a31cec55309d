//! `ip link set` and `ip addr add|del`: what an administrator changes by hand, and what a later read shows.

use std::net::IpAddr;

use super::fails;
use super::ip::options;
use crate::lab::guest::log::link_line;
use crate::lab::guest::state::{Address, State, scope};
use crate::lab::machine::{Answer, Login};

/// Source: capture "ip link set eth1 mtu 1500" of the login `lab`.
const NOT_PERMITTED: &str = "RTNETLINK answers: Operation not permitted\n";

/// Changes an interface; `None` if the words ask a question.
pub fn run(state: &mut State, now: f64, words: &[&str], login: &Login) -> Option<Answer> {
    let (_, words) = options(words).ok()?;
    let (object, words) = words.split_first()?;
    let (verb, words) = words.split_first()?;
    if !object.is_empty() && "link".starts_with(object) && *verb == "set" {
        return Some(link(state, now, words, login));
    }
    if object.starts_with('a') && "address".starts_with(object) && matches!(*verb, "add" | "del" | "delete") {
        return Some(address(state, *verb == "add", words, login));
    }
    None
}

/// What is to change on a link.
#[derive(Clone, Copy, Debug, Default)]
struct LinkChange<'a> {
    name: Option<&'a str>,
    mtu: Option<u64>,
    up: Option<bool>,
}

fn link_change<'a>(words: &[&'a str]) -> Result<LinkChange<'a>, Answer> {
    let mut change = LinkChange::default();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "up" => change.up = Some(true),
            "down" => change.up = Some(false),
            "dev" => change.name = words.next(),
            "mtu" => {
                let value = words.next().unwrap_or("");
                // Source: capture "ip link set eth1 mtu abc".
                let wrong = || fails(format!("Error: argument \"{value}\" is wrong: Invalid \"mtu\" value\n\n"), 255);
                change.mtu = Some(value.parse().map_err(|_| wrong())?);
            }
            name if change.name.is_none() => change.name = Some(name),
            // UNSOURCED: the words of the tool for a setting that is not known here.
            other => {
                return Err(fails(format!("Error: either \"dev\" is duplicate, or \"{other}\" is a garbage.\n"), 255));
            }
        }
    }
    Ok(change)
}

fn link(state: &mut State, now: f64, words: &[&str], login: &Login) -> Answer {
    let change = match link_change(words) {
        Ok(change) => change,
        Err(answer) => return answer,
    };
    let name = change.name.unwrap_or("");
    let Some(place) = state
        .netdevs
        .iter()
        .position(|netdev| netdev.name == name || netdev.other_names.iter().any(|other| other == name))
    else {
        // Source: capture "ip link set nope up".
        return fails(format!("Cannot find device \"{name}\"\n"), 1);
    };
    if !login.is_root {
        return fails(NOT_PERMITTED, 2);
    }
    if let Some(mtu) = change.mtu {
        let (now, least, most) = &mut state.netdevs[place].mtu;
        // Source: capture "ip link set eth1 mtu 99999"; the other bound says the same with "less" and "minimum".
        if mtu > *most {
            return fails("Error: mtu greater than device maximum.\n", 2);
        }
        if mtu < *least {
            return fails("Error: mtu less than device minimum.\n", 2);
        }
        *now = mtu;
    }
    if let Some(up) = change.up
        && state.netdevs[place].admin_up != up
    {
        let could_run = state.netdevs[place].is_running();
        state.netdevs[place].admin_up = up;
        let line = link_line(&state.netdevs[place], up && state.netdevs[place].carrier);
        if could_run != state.netdevs[place].is_running() {
            state.log.extend(line.map(|line| (now - state.boot.at, line)));
        }
    }
    if place == state.adapter.netdev {
        let netdev = &state.netdevs[place];
        let (running, mtu) = (netdev.is_running(), netdev.mtu.0);
        state.wire.change(state.side, now, |end| {
            end.up = running;
            end.mtu = mtu;
        });
    }
    Answer::default()
}

fn address(state: &mut State, adds: bool, words: &[&str], login: &Login) -> Answer {
    let (mut name, mut given) = (None, None);
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        match word {
            "dev" => name = rest.next(),
            "local" => given = rest.next(),
            "brd" | "broadcast" | "scope" | "label" => drop(rest.next()),
            word => given = Some(word),
        }
    }
    let given = given.unwrap_or("");
    let (host, prefix) = given.split_once('/').map_or((given, None), |(host, prefix)| (host, Some(prefix)));
    // UNSOURCED: the words for an address that is none.
    let wrong = || fails(format!("Error: any valid prefix is expected rather than \"{given}\".\n"), 1);
    let Ok(host) = host.parse::<IpAddr>() else { return wrong() };
    let most = if host.is_ipv4() { 32 } else { 128 };
    let prefix: u8 = match prefix.map_or(Ok(most), str::parse) {
        Ok(prefix) if prefix <= most => prefix,
        _ => return wrong(),
    };
    let name = name.unwrap_or("");
    let Some(netdev) = state.netdevs.iter_mut().find(|netdev| netdev.name == name) else {
        return fails(format!("Cannot find device \"{name}\"\n"), 1);
    };
    if !login.is_root {
        return fails(NOT_PERMITTED, 2);
    }
    let there = netdev.addresses.iter().position(|other| other.address == host && other.prefix == prefix);
    match (adds, there) {
        // Source: captures "ip addr add 127.0.0.1/8 dev lo" and "ip addr del 9.9.9.9/32 dev eth1".
        (true, Some(_)) => fails("RTNETLINK answers: File exists\n", 2),
        (false, None) => fails("RTNETLINK answers: Cannot assign requested address\n", 2),
        (true, None) => {
            let address = Address { address: host, prefix, scope: scope(host), lifetimes: None };
            // Those of IPv4 come first.
            let place = netdev.addresses.iter().position(|other| host.is_ipv4() && other.address.is_ipv6());
            netdev.addresses.insert(place.unwrap_or(netdev.addresses.len()), address);
            Answer::default()
        }
        (false, Some(place)) => {
            netdev.addresses.remove(place);
            Answer::default()
        }
    }
}
