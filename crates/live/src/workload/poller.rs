//! Waiting for the sockets of a program.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant, Side};
use workload::SocketId;

use crate::clock::Clock;
use crate::stop::Stop;

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// The run is over.
    Stop,
    Listener(Side),
    /// The socket for datagrams at a side.
    Datagrams(Side),
    /// A message from the driver or from another machine.
    Message,
    End(SocketId, Side),
}

/// The descriptors that a program waits for.
#[derive(Debug)]
pub(super) struct Poller(Epoll);

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?))
    }

    /// Adds the end of the run.
    pub(super) fn watch(&self, stop: &Stop) -> io::Result<()> {
        let event = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        self.register(event.as_fd(), Token::Stop)?;
        stop.wake(event);
        Ok(())
    }

    /// Adds a descriptor.
    pub(super) fn register(&self, descriptor: impl AsFd, token: Token) -> io::Result<()> {
        // Edge-triggered: after an event the host reads and writes until there is nothing more to do.
        let interest =
            EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        Ok(self.0.add(descriptor, EpollEvent::new(interest, token.encode()))?)
    }

    /// Waits until something is ready, at the latest until `time`.
    pub(super) fn wait(&self, clock: Clock, time: Instant) -> io::Result<Vec<Token>> {
        let left = time.saturating_since(clock.now()).min(LONGEST_SLEEP);
        let left = TimeSpec::from(std::time::Duration::from_nanos(left.as_nanos()));
        match ppoll(&mut [PollFd::new(self.0.0.as_fd(), PollFlags::POLLIN)], Some(left), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [EpollEvent::empty(); BATCH];
        let count = match self.0.wait(&mut events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(events[..count].iter().map(|event| Token::decode(event.data())).collect())
    }
}

impl Token {
    /// The side of the host to which it belongs.
    pub(super) const fn side(self) -> Option<Side> {
        match self {
            Self::Stop | Self::Message => None,
            Self::Listener(side) | Self::Datagrams(side) | Self::End(_, side) => Some(side),
        }
    }

    fn encode(self) -> u64 {
        match self {
            Self::Stop => 0,
            Self::Listener(side) => 1 + side as u64,
            Self::Datagrams(side) => 3 + side as u64,
            Self::Message => 5,
            Self::End(socket, side) => FIRST_END + 2 * u64::from(socket.0) + side as u64,
        }
    }

    fn decode(number: u64) -> Self {
        let side = |number: u64| if number.is_multiple_of(2) { Side::From } else { Side::To };
        match number {
            0 => Self::Stop,
            1 | 2 => Self::Listener(side(number - 1)),
            3 | 4 => Self::Datagrams(side(number - 3)),
            5 => Self::Message,
            _ => Self::End(SocketId(((number - FIRST_END) / 2) as u32), side(number - FIRST_END)),
        }
    }
}

/// The first number of a token for an end.
const FIRST_END: u64 = 6;
/// Sockets that are served before the program has its turn.
const BATCH: usize = 64;
/// The longest single sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_as_a_number() {
        let sides = [Side::From, Side::To];
        let mut all = vec![Token::Stop];
        all.extend(sides.map(Token::Listener));
        all.extend(sides.map(Token::Datagrams));
        all.push(Token::Message);
        all.extend(
            [0, 1, 7, u32::MAX].into_iter().flat_map(|n| sides.map(|side| Token::End(SocketId(n), side))),
        );
        for token in all {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
