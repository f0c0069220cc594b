//! Which socket is the server's end of a connection, from the kernel's own lists (proc(5), `/proc/net/tcp`).

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The state of a connection that is open (`TCP_ESTABLISHED` in the kernel's `tcp_states.h`).
const ESTABLISHED: &str = "01";

/// The state of a socket that takes connections (`TCP_LISTEN` there).
const LISTENING: &str = "0A";

/// A connection, by the client's address and port as the server sees them, and the server's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    client: SocketAddr,
    port: u16,
}

impl Connection {
    /// From the command line's words; `None` where they are no addresses.
    pub fn parsed(client: &str, port: &str) -> Option<Self> {
        Some(Self {
            client: client.parse().ok()?,
            port: port.parse().ok()?,
        })
    }

    /// The inodes of the sockets that listen at the server's port, at whichever address.
    pub fn listening(&self, proc: &Path) -> Vec<u64> {
        ["net/tcp", "net/tcp6"]
            .iter()
            .filter_map(|list| fs::read_to_string(proc.join(list)).ok())
            .flat_map(|text| {
                let lines = text.lines().skip(1);
                lines
                    .filter_map(|line| self.listener_in(line))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The inode in a line of the list, where that listens at the server's port.
    fn listener_in(&self, line: &str) -> Option<u64> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = *fields.get(3)? == LISTENING && address(fields.get(1)?)?.port() == self.port;
        fields.get(9)?.parse().ok().filter(|_| is_it)
    }

    /// The inode of the server's socket. An error where this machine has no such connection.
    pub fn inode(&self, proc: &Path) -> Result<u64, String> {
        for list in ["net/tcp", "net/tcp6"] {
            let Ok(text) = fs::read_to_string(proc.join(list)) else {
                continue;
            };
            if let Some(inode) = text.lines().skip(1).find_map(|line| self.inode_in(line)) {
                return Ok(inode);
            }
        }
        Err(format!(
            "this machine has no connection from {} to its port {}",
            self.client, self.port
        ))
    }

    /// The inode in a line of the list, where that is this connection's.
    fn inode_in(&self, line: &str) -> Option<u64> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, remote, state) = (fields.get(1)?, fields.get(2)?, fields.get(3)?);
        let is_it = *state == ESTABLISHED
            && address(local)?.port() == self.port
            && same(address(remote)?, self.client);
        let inode = fields.get(9)?.parse().ok()?;
        // A socket that belongs to nobody any more has no inode.
        (is_it && inode != 0).then_some(inode)
    }
}

/// Whether both are one address; IPv4 ones also as IPv6 has them (RFC 4291, 2.5.5.2).
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

/// An address as the kernel prints it: groups of four bytes, each as this machine stores it, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for place in (0..host.len()).step_by(8) {
        let group = u32::from_str_radix(host.get(place..place + 8)?, 16).ok()?;
        bytes.extend_from_slice(&group.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::{Connection, address};

    const LINE: &str = "   3: 0100007F:0CEA 0200007F:A1B2 01 00000000:00000000 00:00000000 00000000   112        0 \
                        55123 1 0000000000000000 20 4 30 10 -1";

    #[test]
    fn a_line_is_the_connection_with_both_its_ends() {
        let known = |client: &str, port: &str| {
            Connection::parsed(client, port).and_then(|own| own.inode_in(LINE))
        };
        assert_eq!(known("127.0.0.2:41394", "3306"), Some(55123));
        assert_eq!(known("127.0.0.2:41395", "3306"), None);
        assert_eq!(known("127.0.0.3:41394", "3306"), None);
        assert_eq!(known("127.0.0.2:41394", "3307"), None);
        assert_eq!(known("[::ffff:127.0.0.2]:41394", "3306"), Some(55123));
    }

    #[test]
    fn what_listens_at_the_servers_port_is_known() {
        let own = Connection::parsed("127.0.0.2:41394", "3306").expect("an address");
        assert_eq!(own.listener_in(LINE), None);
        assert_eq!(own.listener_in(&LINE.replace(" 01 ", " 0A ")), Some(55123));
        assert_eq!(
            own.listener_in(&LINE.replace(" 01 ", " 0A ").replace(":0CEA", ":0CEB")),
            None
        );
    }

    #[test]
    fn one_that_is_not_open_or_nobodys_is_none() {
        let own = Connection::parsed("127.0.0.2:41394", "3306").expect("an address");
        assert_eq!(own.inode_in(&LINE.replace(" 01 ", " 06 ")), None);
        assert_eq!(own.inode_in(&LINE.replace("55123", "0")), None);
        assert_eq!(own.inode_in("   3: 0100007F:0CEA"), None);
    }

    #[test]
    fn addresses_are_read_as_the_kernel_prints_them() {
        let six = "B80D01200000000067452301EFCDAB89:01BB";
        assert_eq!(
            address(six).map(|own| own.to_string()).as_deref(),
            Some("[2001:db8::123:4567:89ab:cdef]:443")
        );
        assert_eq!(address("0100007F"), None);
        assert_eq!(address("01:0CEA"), None);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        assert_eq!(Connection::parsed("db.example:3306", "3306"), None);
        assert_eq!(Connection::parsed("127.0.0.1:1", "no"), None);
    }
}
