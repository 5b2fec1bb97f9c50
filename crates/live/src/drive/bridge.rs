//! Joins the byte streams of a host of our own TCP to programs, by a socket pair for each connection.
//!
//! Bytes wait in one place only: unread bytes remain in the endpoint, so that its window closes, and bytes that the
//! endpoint does not accept remain in the program's socket.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::poll::{PollFd, PollFlags};
use stacks::{ConnectionId, Phase, StreamHost};
use units::Instant;
use wire::{Data, Payload};

/// A host of our own TCP whose connections carry the bytes of programs.
///
/// Order of calls: as for a [`StreamHost`], which it drives.
pub(crate) struct Bridge {
    pub(crate) host: StreamHost,
    pipes: BTreeMap<ConnectionId, Pipe>,
    /// Accepts connections that the peer opens, if the host listens.
    accept: Option<Accept>,
}

/// Accepts a connection that the peer has opened; the stream is the program's end.
pub(crate) type Accept = Box<dyn FnMut(ConnectionId, UnixStream)>;

/// Our end of a program's socket pair.
struct Pipe {
    program: UnixStream,
    /// Bytes that the program has not accepted yet.
    to_program: Vec<u8>,
    /// Bytes that the endpoint has not accepted yet.
    to_endpoint: Payload,
    /// Whether the end of the stream was passed to the program.
    sent_end: bool,
    /// Whether the program has ended its stream.
    has_ended: bool,
    /// Whether the program has closed its socket, so that arriving bytes are discarded, and then reset the connection.
    is_deaf: bool,
}

impl Bridge {
    pub(crate) fn new(host: StreamHost) -> Self {
        Self { host, pipes: BTreeMap::new(), accept: None }
    }

    /// Gives every connection that the peer opens to `accept`.
    pub(crate) fn accept_by(&mut self, accept: Accept) {
        self.accept = Some(accept);
    }

    /// Joins a connection to a program. Returns the program's end.
    pub(crate) fn join(&mut self, connection: ConnectionId) -> io::Result<UnixStream> {
        let (ours, programs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        self.pipes.insert(connection, Pipe::new(ours));
        Ok(programs)
    }

    /// Returns the next connection that is over and whose end was passed to its program, and forgets it.
    pub(crate) fn poll_over(&mut self) -> Option<ConnectionId> {
        let is_over = |(id, pipe): (&ConnectionId, &Pipe)| {
            let phase = self.host.phase(*id);
            (matches!(phase, Phase::Closed | Phase::Broken(_)) && pipe.is_settled()).then_some(*id)
        };
        let over = self.pipes.iter().find_map(is_over)?;
        self.pipes.remove(&over);
        Some(over)
    }

    /// Returns whether no connection is joined to a program.
    pub(crate) fn is_idle(&self) -> bool {
        self.pipes.is_empty()
    }

    /// Returns the descriptors to wait for: programs that write while the endpoint accepts bytes, and programs that
    /// read.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.pipes.iter().filter_map(|(id, pipe)| pipe.descriptor(self.host.phase(*id)))
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        self.host.handle_packet(now, packet);
        while let Some(id) = self.host.poll_accepted() {
            self.hand_over(id);
        }
        self.pump(now);
    }

    /// Gives a new connection to `accept`. If the process has no descriptors left, the connection is closed at once.
    fn hand_over(&mut self, id: ConnectionId) {
        if let Ok(program) = self.join(id)
            && let Some(accept) = &mut self.accept
        {
            accept(id, program);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
        self.pump(now);
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.host.poll_transmit(now)
    }

    pub(crate) fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        self.host.poll_timeout(now)
    }

    /// Carries bytes both ways while both sides accept them.
    pub(crate) fn pump(&mut self, now: Instant) {
        for (id, pipe) in &mut self.pipes {
            pipe.give(now, &mut self.host, *id);
            pipe.take(now, &mut self.host, *id);
        }
    }
}

impl Pipe {
    fn new(program: UnixStream) -> Self {
        Self {
            program,
            to_program: Vec::new(),
            to_endpoint: Payload::EMPTY,
            sent_end: false,
            has_ended: false,
            is_deaf: false,
        }
    }

    /// Returns whether the program has received everything.
    fn is_settled(&self) -> bool {
        self.is_deaf || self.sent_end
    }

    fn descriptor(&self, phase: Phase) -> Option<PollFd<'_>> {
        let mut events = PollFlags::empty();
        let reads = phase == Phase::Open && !self.has_ended && self.to_endpoint.is_empty();
        events.set(PollFlags::POLLIN, reads);
        events.set(PollFlags::POLLOUT, !self.to_program.is_empty());
        (!events.is_empty()).then(|| PollFd::new(self.program.as_fd(), events))
    }

    /// Passes the bytes that have arrived, and the end of the stream, to the program.
    fn give(&mut self, now: Instant, host: &mut StreamHost, id: ConnectionId) {
        if !self.write() {
            return;
        }
        let ended = host.read(now, id, &mut self.to_program);
        if self.is_deaf {
            host.shut_receiving(id);
        }
        let over = ended || matches!(host.phase(id), Phase::Broken(_));
        if self.write() && over && !self.sent_end {
            // It is no error if the program has closed its socket.
            let _ = self.program.shutdown(Shutdown::Write);
            self.sent_end = true;
        }
    }

    /// Writes waiting bytes to the program. Returns whether none is left.
    fn write(&mut self) -> bool {
        while !self.to_program.is_empty() && !self.is_deaf {
            match self.program.write(&self.to_program) {
                Ok(written) => drop(self.to_program.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => self.is_deaf = true,
            }
        }
        self.to_program.clear();
        true
    }

    /// Passes the bytes that the program has written, and the end of its stream, to the endpoint while the endpoint has
    /// room.
    fn take(&mut self, now: Instant, host: &mut StreamHost, id: ConnectionId) {
        while host.phase(id) == Phase::Open && !self.has_ended {
            if self.to_endpoint.is_empty() && !self.read() {
                return;
            }
            if self.has_ended {
                host.close(now, id);
                return;
            }
            let taken = host.write(id, &self.to_endpoint);
            self.to_endpoint = self.to_endpoint.slice(taken, self.to_endpoint.len() - taken);
            if !self.to_endpoint.is_empty() {
                return;
            }
        }
    }

    /// Reads bytes that the program has written. Returns whether there were any, or the end of its stream.
    fn read(&mut self) -> bool {
        let mut piece = vec![0; PIECE];
        match self.program.read(&mut piece) {
            Ok(length) => {
                piece.truncate(length);
                self.has_ended = length == 0;
                self.to_endpoint = Payload::Data(Data::from(piece));
                true
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                false
            }
            Err(_) => {
                self.has_ended = true;
                true
            }
        }
    }
}

/// The largest number of bytes read from a program at once.
const PIECE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::sync::{Arc, mpsc};

    use units::{Bytes, Streams};

    use super::*;

    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn bridge(address: Ipv4Addr) -> Bridge {
        Bridge::new(StreamHost::new(address, Bytes(1500), Streams::new(3), false))
    }

    /// Listens, and returns what it accepts.
    fn listening(
        server: &mut Bridge,
        profile: &Arc<tcp::Config>,
    ) -> mpsc::Receiver<(ConnectionId, UnixStream)> {
        let (give, taken) = mpsc::channel();
        server.host.listen(80, vec![Arc::clone(profile)]);
        server.accept_by(Box::new(move |id, stream| drop(give.send((id, stream)))));
        taken
    }

    /// Carries packets and bytes both ways until nothing moves.
    fn settle(now: Instant, one: &mut Bridge, other: &mut Bridge) {
        loop {
            one.pump(now);
            other.pump(now);
            let (there, back) = (one.poll_transmit(now), other.poll_transmit(now));
            if there.is_none() && back.is_none() {
                return;
            }
            there.iter().for_each(|packet| other.handle_packet(now, packet));
            back.iter().for_each(|packet| one.handle_packet(now, packet));
        }
    }

    #[test]
    fn programs_talk_over_a_connection_and_hear_its_end() {
        let profile = Arc::new(tcp::Config::from_profile(&serde_json::json!({})).unwrap());
        let (mut client, mut server) = (bridge(CLIENT), bridge(SERVER));
        let taken = listening(&mut server, &profile);
        let id = client.host.connect(Instant::START, 4000, SocketAddrV4::new(SERVER, 80), &profile);
        let mut asks = client.join(id).unwrap();
        asks.write_all(b"question").unwrap();
        settle(Instant::START, &mut client, &mut server);
        let (accepted, mut answers) = taken.try_recv().unwrap();
        let mut heard = [0; 8];
        answers.read_exact(&mut heard).unwrap();
        answers.write_all(b"answer").unwrap();
        drop(answers);
        settle(Instant::START, &mut client, &mut server);
        let mut text = String::new();
        asks.read_to_string(&mut text).unwrap();
        drop(asks);
        settle(Instant::START, &mut client, &mut server);
        assert_eq!((&heard, text.as_str()), (b"question", "answer"));
        assert_eq!((client.poll_over(), server.poll_over()), (Some(id), Some(accepted)));
        assert!(client.is_idle() && server.is_idle());
    }

    #[test]
    fn a_peer_that_sends_to_a_program_that_has_gone_is_reset() {
        let profile = Arc::new(tcp::Config::from_profile(&serde_json::json!({})).unwrap());
        let (mut client, mut server) = (bridge(CLIENT), bridge(SERVER));
        let taken = listening(&mut server, &profile);
        let id = client.host.connect(Instant::START, 4000, SocketAddrV4::new(SERVER, 80), &profile);
        drop(client.join(id).unwrap());
        settle(Instant::START, &mut client, &mut server);
        let (accepted, mut answers) = taken.try_recv().unwrap();
        answers.set_nonblocking(true).unwrap();
        for _ in 0..100 {
            let _ = answers.write(&[7; PIECE]);
            settle(Instant::START, &mut client, &mut server);
        }
        assert_eq!(server.host.phase(accepted), Phase::Broken("reset by the peer"));
        assert_eq!(client.poll_over(), Some(id));
    }

    #[test]
    fn what_a_program_does_not_read_stays_with_the_sender() {
        let profile = Arc::new(tcp::Config::from_profile(&serde_json::json!({})).unwrap());
        let (mut client, mut server) = (bridge(CLIENT), bridge(SERVER));
        let taken = listening(&mut server, &profile);
        let id = client.host.connect(Instant::START, 4000, SocketAddrV4::new(SERVER, 80), &profile);
        let mut writes = client.join(id).unwrap();
        writes.set_nonblocking(true).unwrap();
        settle(Instant::START, &mut client, &mut server);
        let (_, reads) = taken.try_recv().unwrap();
        let mut written = 0;
        while let Ok(length) = writes.write(&[7; PIECE]) {
            written += length;
            assert!(written < 1 << 26, "somewhere it is kept without bound");
            settle(Instant::START, &mut client, &mut server);
        }
        drop(reads);
        assert!(written > 0);
    }
}
