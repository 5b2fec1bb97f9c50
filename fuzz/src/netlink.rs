//! Any bytes as a part of the kernel's list of connections (netlink, sock_diag).

use linux::sock_diag::connections_in;

/// Reads the connections; each takes at least the fixed part of a message.
pub fn run(bytes: &[u8]) {
    if let Ok(connections) = connections_in(bytes) {
        assert!(connections.len() <= bytes.len() / MESSAGE, "more connections than messages");
    }
}

/// Bytes of `struct nlmsghdr` and `struct inet_diag_msg`.
const MESSAGE: usize = 16 + 72;
