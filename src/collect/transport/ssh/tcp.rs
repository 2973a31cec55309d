//! The TCP connection to the first host of a way.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::error::Failure;
use crate::config::openssh::{AddressFamily, HostSettings};
use crate::fabric::Text;

/// Connects to the first address that answers; all of them share `limit`.
pub async fn connect(settings: &HostSettings, limit: Duration) -> Result<TcpStream, Failure> {
    let deadline = Instant::now() + limit;
    let found: Vec<SocketAddr> =
        match timeout(limit, tokio::net::lookup_host((settings.hostname.as_str(), settings.port))).await {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Err(Failure::NameNotResolved(Text::new(&error.to_string()))),
            Err(_) => return Err(Failure::NameNotResolved(Text::new("the name server does not answer"))),
        };
    let addresses = of_family(&found, settings.address_family);
    if addresses.is_empty() {
        return Err(Failure::NameNotResolved(no_address(&found, settings.address_family)));
    }
    let mut last = None;
    for (number, address) in addresses.iter().enumerate() {
        let share = u32::try_from(addresses.len() - number).unwrap_or(1);
        let left = deadline.saturating_duration_since(Instant::now()) / share;
        match timeout(left, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                // Without this every command takes 40 ms longer.
                if let Err(error) = socket.set_nodelay(true) {
                    tracing::debug!(%address, %error, "TCP_NODELAY could not be set");
                }
                return Ok(socket);
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
    }
    Err(match last {
        None => Failure::TcpTimedOut(limit, addresses),
        Some(error) => failure(&error, limit, addresses),
    })
}

fn of_family(addresses: &[SocketAddr], family: AddressFamily) -> Vec<SocketAddr> {
    let wanted = |address: &SocketAddr| match family {
        AddressFamily::Any => true,
        AddressFamily::Inet => address.is_ipv4(),
        AddressFamily::Inet6 => address.is_ipv6(),
    };
    addresses.iter().copied().filter(wanted).collect()
}

fn no_address(found: &[SocketAddr], family: AddressFamily) -> Text {
    match family {
        AddressFamily::Inet if !found.is_empty() => Text::new("only IPv6 ones, and AddressFamily is inet"),
        AddressFamily::Inet6 if !found.is_empty() => Text::new("only IPv4 ones, and AddressFamily is inet6"),
        _ => Text::new("no address"),
    }
}

fn failure(error: &std::io::Error, limit: Duration, addresses: Vec<SocketAddr>) -> Failure {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused(addresses),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Failure::Unreachable(Text::new(&error.to_string()))
        }
        ErrorKind::TimedOut => Failure::TcpTimedOut(limit, addresses),
        _ => Failure::Tcp(Text::new(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_wanted_family_are_used() {
        let all: Vec<SocketAddr> =
            ["127.0.0.1:22", "[::1]:22"].iter().map(|text| text.parse().expect("an address")).collect();
        assert_eq!(of_family(&all, AddressFamily::Any), all);
        assert_eq!(of_family(&all, AddressFamily::Inet), all[..1]);
        assert_eq!(of_family(&all, AddressFamily::Inet6), all[1..]);
        assert_eq!(no_address(&all[..1], AddressFamily::Inet6), "only IPv4 ones, and AddressFamily is inet6");
        assert_eq!(no_address(&[], AddressFamily::Inet6), "no address");
    }
}
