//! Trains of packets: what voice, constant-rate, Poisson and on-off sources have in common.

use link::distribution::Source;
use units::{Bytes, Duration, Instant, Side};

use super::Transport;
use crate::program::{Command, CommandQueue, Program, SocketEvent, SocketId, held_to_schedule};

/// Sends a packet, waits, sends the next; perhaps with pauses between spurts.
#[derive(Debug)]
pub(super) struct Train {
    transport: Transport,
    size: Bytes,
    gap: Source<Duration>,
    spurts: Option<Spurts>,
    next: Instant,
    until: Instant,
    stage: Stage,
    commands: CommandQueue,
}

/// Lengths of spurts and silences.
#[derive(Debug)]
pub(super) struct Spurts {
    on: Source<Duration>,
    off: Source<Duration>,
    rest: Rest,
    /// Time at which the present spurt ends.
    end: Instant,
}

/// Use of the rest of the time to the next packet where a spurt ends before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It is forgotten: each spurt begins with a packet, as talk does with a frame.
    Forgotten,
    /// It continues in the next spurt: however short spurts are, while it sends it sends at its rate.
    Carried,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending,
    Over,
}

impl Spurts {
    pub(super) const fn new(on: Source<Duration>, off: Source<Duration>, rest: Rest) -> Self {
        Self { on, off, rest, end: Instant::NEVER }
    }

    /// Time at which the next packet goes out, which follows that of `now` after `gap`.
    fn next(&mut self, now: Instant, gap: Duration) -> Instant {
        if now + gap < self.end {
            return now + gap;
        }
        match self.rest {
            Rest::Forgotten => self.begin_with_packet(now + gap),
            Rest::Carried => self.carry(now, gap),
        }
    }

    fn begin_with_packet(&mut self, earliest: Instant) -> Instant {
        // Never faster than within a spurt, however short the silence.
        let next = earliest.max(self.end + self.off.draw());
        self.end = next + self.on.draw();
        next
    }

    /// Goes over silences and spurts until the latter come to `gap`.
    fn carry(&mut self, now: Instant, gap: Duration) -> Instant {
        let shortest = Duration::from_nanos(1 + gap.as_nanos() / MOST_SPURTS);
        let (mut at, mut left) = (now, gap);
        while at + left >= self.end && at < Instant::NEVER {
            // After a stall the spurt may be long over.
            left = left.saturating_sub(self.end.saturating_since(at));
            at = at.max(self.end + self.off.draw());
            self.end = at + self.on.draw().max(shortest);
        }
        at + left
    }
}

impl Train {
    pub(super) fn new(
        (transport, size): (Transport, Bytes),
        gap: Source<Duration>,
        spurts: Option<Spurts>,
        [start, until]: [Instant; 2],
    ) -> Self {
        Self {
            transport,
            size,
            gap,
            spurts,
            next: start,
            until,
            stage: Stage::Before,
            commands: CommandQueue::default(),
        }
    }

    fn begin(&mut self, due: Instant) {
        self.stage = Stage::Sending;
        if self.transport == Transport::Tcp {
            self.commands.push(Command::Connect { socket: SocketId::FIRST, by: Side::From });
        }
        if let Some(spurts) = &mut self.spurts {
            spurts.end = due + spurts.on.draw();
        }
    }

    /// Sends the packet that was due then.
    fn send(&mut self, due: Instant) {
        self.commands.push(match self.transport {
            Transport::Tcp => Command::write(SocketId::FIRST, Side::From, self.size),
            Transport::Udp => Command::SendDatagram { by: Side::From, size: self.size },
        });
        let gap = self.gap.draw();
        self.next = self.spurts.as_mut().map_or(due + gap, |spurts| spurts.next(due, gap));
    }

    fn end(&mut self) {
        self.stage = Stage::Over;
        if self.transport == Transport::Tcp {
            self.commands.push(Command::close(SocketId::FIRST, Side::From));
        }
    }
}

impl Program for Train {
    fn poll_timeout(&self) -> Instant {
        match self.stage {
            Stage::Before => self.next,
            Stage::Sending => self.next.min(self.until),
            Stage::Over => Instant::NEVER,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = held_to_schedule(self.next, now);
        if self.stage == Stage::Before {
            self.begin(due);
        }
        if due < self.until { self.send(due) } else { self.end() }
    }

    fn handle_event(&mut self, _: Instant, _: SocketId, event: SocketEvent) {
        // The connection was lost: no peer is left to send to.
        if event == SocketEvent::Closed {
            self.stage = Stage::Over;
        }
    }

    fn poll_command(&mut self) -> Option<Command> {
        self.commands.poll()
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Over
    }
}

/// Maximum number of spurts between two packets: where they are shorter, or without length, time must advance.
const MOST_SPURTS: u64 = 1_000_000;

/// The time that a packet takes at a rate: a source at this rate sends one so often.
pub(super) fn time_at(rate: units::Rate, size: Bytes) -> Duration {
    let time = Duration::from_secs_f64(8.0 * size.0 as f64 / rate.bits_per_sec() as f64);
    // At least the clock's step, or it would never get to the next.
    time.max(Duration::from_nanos(1))
}
