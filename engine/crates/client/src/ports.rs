//! Whether this machine has a local port for every connection, checked before the first is made.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};

use crate::failure::Failure;

const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const RESERVED: &str = "/proc/sys/net/ipv4/ip_local_reserved_ports";

/// Refuses more connections at once than there are local ports. A connection to one address and port
/// of a server needs a local port that no other from the same local address has; the kernel takes
/// one from `ip_local_port_range`, for IPv6 too, without those in `ip_local_reserved_ports` (kernel
/// documentation, networking/ip-sysctl). What other programs hold is not known here.
///
/// # Errors
/// There are too few. A machine that does not tell its ports is not refused.
pub fn allow_ports(
    connections: u32,
    server: SocketAddr,
    sources: &[IpAddr],
) -> Result<(), Failure> {
    let (Ok(range), Ok(reserved)) = (fs::read_to_string(RANGE), fs::read_to_string(RESERVED))
    else {
        return Ok(());
    };
    match usable_ports(&range, &reserved) {
        Some(ports) => check(connections, ports, local_addresses(server, sources)),
        None => Ok(()),
    }
}

/// How many ports the kernel may choose from, by the texts of its two settings.
fn usable_ports(range: &str, reserved: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u16>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    let mut left = u64::from(high.checked_sub(low)?) + 1;
    for span in reserved.trim().split(',').filter(|span| !span.is_empty()) {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        let (first, last) = (first.max(low), last.min(high));
        left -= u64::from(last.checked_sub(first).map_or(0, |more| more + 1));
    }
    Some(left)
}

/// From how many local addresses connections will come. An address of the other family is of no use,
/// and the kernel then chooses one.
fn local_addresses(server: SocketAddr, sources: &[IpAddr]) -> u64 {
    let usable = |source: &&IpAddr| source.is_ipv4() == server.is_ipv4();
    let own: HashSet<_> = sources.iter().filter(usable).collect();
    let by_kernel = sources.is_empty() || sources.iter().any(|source| !usable(&source));
    own.len() as u64 + u64::from(by_kernel)
}

fn check(connections: u32, ports: u64, addresses: u64) -> Result<(), Failure> {
    if u64::from(connections) <= ports * addresses {
        return Ok(());
    }
    Err(Failure::TooFewPorts {
        connections,
        ports,
        addresses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlstax_contract::{ErrorKind, Fault};

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn both_ends_of_the_range_count_and_reserved_ports_do_not() {
        assert_eq!(usable_ports("32768\t60999\n", "\n"), Some(28_232));
        assert_eq!(
            usable_ports("1000 1009", "1000,1005-1007\n"),
            Some(10 - 1 - 3)
        );
    }

    #[test]
    fn only_what_is_reserved_within_the_range_is_missing() {
        assert_eq!(
            usable_ports("1000 1009", "80,900-1001,1009-2000"),
            Some(10 - 2 - 1)
        );
        assert_eq!(usable_ports("1000 1000", "1000"), Some(0));
    }

    #[test]
    fn texts_that_are_not_settings_say_nothing() {
        for (range, reserved) in [("", ""), ("1000", ""), ("9 1", ""), ("1 9", "x")] {
            assert_eq!(
                usable_ports(range, reserved),
                None,
                "{range:?} {reserved:?}"
            );
        }
    }

    #[test]
    fn addresses_count_once_and_only_of_the_servers_family() {
        let server = "127.0.0.1:3306".parse().unwrap();
        let count = |texts: &[&str]| local_addresses(server, &addresses(texts));
        assert_eq!(count(&[]), 1);
        assert_eq!(count(&["127.0.0.2", "127.0.0.3", "127.0.0.2"]), 2);
        assert_eq!(count(&["127.0.0.2", "::1"]), 2);
        assert_eq!(count(&["::1"]), 1);
    }

    #[test]
    fn the_last_port_is_allowed_and_one_more_is_refused_with_what_helps() {
        assert!(check(20, 10, 2).is_ok());
        let refused = check(21, 10, 2).unwrap_err().event(true);
        assert_eq!(
            (refused.kind, refused.fault),
            (ErrorKind::Limits, Fault::Client)
        );
        for said in [
            "21 connections",
            "has 20 (10 for each of 2 local addresses)",
            "net.ipv4.ip_local_port_range",
            "source_addresses",
        ] {
            assert!(refused.message.contains(said), "{}", refused.message);
        }
    }
}
