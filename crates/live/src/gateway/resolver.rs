//! Name resolution behind a link on a machine whose resolver listens on the loopback only (systemd-resolved, dnsmasq):
//! the program gets an /etc/resolv.conf of its own that names the far end, and a relay there forwards its queries.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::namespace::RESOLVER_FILE;

/// A resolver on this machine's loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolver {
    address: SocketAddr,
}

/// Forwards queries until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Resolver {
    /// Returns the resolver of this machine if it listens on the loopback only.
    pub(crate) fn on_loopback() -> Option<Self> {
        Self::in_text(&fs::read_to_string(RESOLVER_FILE).unwrap_or_default())
    }

    fn in_text(text: &str) -> Option<Self> {
        let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
        let mut servers = servers.filter_map(|server| server.trim().parse::<IpAddr>().ok());
        let first = servers.next()?;
        first.is_loopback().then(|| Self { address: SocketAddr::new(first, PORT) })
    }

    /// Forwards queries that come to `gateway`, an address of this thread's namespace.
    pub(crate) fn serve(&self, gateway: Ipv4Addr) -> io::Result<Relay> {
        let socket = UdpSocket::bind((gateway, PORT))?;
        socket.set_read_timeout(Some(STOP_INTERVAL))?;
        let stopped = Arc::new(AtomicBool::new(false));
        let (own, server) = (Arc::clone(&stopped), self.address);
        let thread =
            thread::Builder::new().name("resolver".into()).spawn(move || relay(&socket, server, &own))?;
        Ok(Relay { stopped, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers each query in a thread of its own: queries are few, and a slow answer delays no other.
fn relay(socket: &UdpSocket, server: SocketAddr, stopped: &AtomicBool) {
    let mut query = [0; LARGEST_QUERY];
    while !stopped.load(Ordering::Relaxed) {
        let Ok((length, client)) = socket.recv_from(&mut query) else { continue };
        let (query, answers) = (query[..length].to_vec(), socket.try_clone());
        thread::spawn(move || {
            if let (Ok(answers), Ok(answer)) = (answers, ask(server, &query)) {
                let _ = answers.send_to(&answer, client);
            }
        });
    }
}

fn ask(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_read_timeout(Some(LONGEST_ANSWER))?;
    socket.connect(server)?;
    socket.send(query)?;
    let mut answer = [0; LARGEST_QUERY];
    let length = socket.recv(&mut answer)?;
    Ok(answer[..length].to_vec())
}

const PORT: u16 = 53;
/// More than EDNS advertises in practice (RFC 6891 §6.2.5).
const LARGEST_QUERY: usize = 4096;
/// The time after which a resolver repeats a query (resolv.conf(5), timeout).
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
const STOP_INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_resolver_on_the_loopback_needs_help() {
        let on_loopback =
            Resolver::in_text("# made by hand\nnameserver 127.0.0.53\noptions edns0\n").unwrap();
        assert_eq!(on_loopback.address, "127.0.0.53:53".parse().unwrap());
        assert_eq!(Resolver::in_text("nameserver 192.0.2.1\nnameserver 127.0.0.1\n"), None);
        assert_eq!(Resolver::in_text(""), None);
    }
}
