//! Packets that a host's kernel dropped, and not a link: at its device, or at a socket without room.

use std::fs;
use std::iter::Sum;

/// Drops in this thread's namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets that did not fit into the device's queue.
    pub device: u64,
    /// Segments and datagrams for which a socket had no room.
    pub socket: u64,
}

impl Drops {
    /// Reads the counters of this thread's namespace, and those of an interface.
    #[must_use]
    pub fn read(interface: &str) -> Self {
        let file =
            |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        Self {
            device: of_device(&file("dev"), interface).unwrap_or(0),
            socket: of_sockets(&file("netstat")) + of_sockets(&file("snmp")),
        }
    }
}

impl Sum for Drops {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            device: sum.device + one.device,
            socket: sum.socket + one.socket,
        })
    }
}

/// Reads the number of packets that did not fit into the device's queue: the twelfth number of the device's line
/// (Linux, net/core/net-procfs.c).
fn of_device(table: &str, interface: &str) -> Option<u64> {
    const TRANSMIT_DROPS: usize = 11;
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace().nth(TRANSMIT_DROPS)?.parse().ok()
}

/// Adds up the counters of [`SOCKET_DROPS`]: a line of names, then one of numbers, both with the same first word.
fn of_sockets(table: &str) -> u64 {
    let lines: Vec<&str> = table.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let protocol = pair[0].split(':').next().unwrap_or_default();
        let named = pair[0].split_whitespace().zip(pair[1].split_whitespace()).skip(1);
        named.map(move |(name, number)| ((protocol, name), number))
    });
    let wanted = pairs.filter(|(name, _)| SOCKET_DROPS.contains(name));
    wanted.filter_map(|(_, number)| number.parse::<u64>().ok()).sum()
}

/// Counters of segments and datagrams that found no room at a socket (Linux, net/ipv4/proc.c).
const SOCKET_DROPS: [(&str, &str); 3] =
    [("TcpExt", "TCPBacklogDrop"), ("TcpExt", "TCPRcvQDrop"), ("Udp", "RcvbufErrors")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let table = "TcpExt: SyncookiesSent TCPBacklogDrop TCPRcvQDrop\nTcpExt: 9 2 3\n\
                     Udp: InDatagrams RcvbufErrors\nUdp: 70 5\n";
        assert_eq!(of_sockets(table), 10);
        assert_eq!(of_sockets(""), 0);
    }

    #[test]
    fn drops_of_a_device_are_its_twelfth_number() {
        let table =
            "Inter-|\n face |\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13\n  hop0: 1 2 0 0 0 0 0 0 9 10 0 44 0\n";
        assert_eq!(of_device(table, "hop0"), Some(44));
        assert_eq!(of_device(table, "hop1"), None);
    }
}
