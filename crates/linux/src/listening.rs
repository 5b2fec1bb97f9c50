//! Sockets of a network namespace that listen, from which a caller sees that a server has started.

use std::fs;

/// Returns the number of TCP sockets that listen in this thread's namespace.
#[must_use]
pub fn listeners() -> usize {
    let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
    tables.map(|table| count(&fs::read_to_string(table).unwrap_or_default())).iter().sum()
}

/// Counts the sockets of a table in the state LISTEN (proc_pid_net(5)).
fn count(table: &str) -> usize {
    const LISTEN: &str = "0A";
    table.lines().filter(|line| line.split_whitespace().nth(3) == Some(LISTEN)).count()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_sockets_that_listen_count() {
        crate::testing::in_new_network(|| {
            assert_eq!(listeners(), 0);
            let one = TcpListener::bind("127.0.0.1:0").unwrap();
            let other = TcpListener::bind("0.0.0.0:0").unwrap();
            assert_eq!(listeners(), 2);
            drop((one, other));
            assert_eq!(listeners(), 0);
        });
    }

    #[test]
    fn a_line_of_an_established_connection_does_not_count() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A\n   \
                     1: 0100007F:1F90 0100007F:C001 01\n";
        assert_eq!(count(table), 1);
    }
}
