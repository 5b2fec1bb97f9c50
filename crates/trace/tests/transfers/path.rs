//! A path of one slow link with a fate for each packet by its number, and a transfer over it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_trace::capture::Capture;
use lasthop_trace::flow::SegmentKind;
use tcp::{Config, Endpoint, Event, Ports};
use units::{Bytes, Duration, Instant, PacketId, Seq, SeqRange};
use wire::capture::{Frame, VIRTUAL_EPOCH};
use wire::{Payload, Segment, emit_ipv4};

/// The forward direction; the way back only has the propagation delay.
pub(crate) struct Path {
    pub(crate) nanos_per_byte: u64,
    pub(crate) propagation: Duration,
    /// Packets that may wait or be in transmission.
    pub(crate) queue: usize,
    /// The fate of the packet of this number, counted from 1.
    pub(crate) fate: fn(u64) -> Fate,
}

/// The fate of a packet.
#[derive(Clone, Copy)]
pub(crate) enum Fate {
    Passes,
    Lost,
    /// The packet, and all after it, wait for this time.
    Held(Duration),
}

/// A transfer that has ended.
pub(crate) struct Transfer {
    pub(crate) capture: Capture,
    pub(crate) frames: Vec<Frame>,
    /// The sender's segments that take sequence numbers, in order.
    pub(crate) sent: Vec<Sent>,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) elapsed: Duration,
}

/// A segment of the sender's.
pub(crate) struct Sent {
    pub(crate) packet: u64,
    pub(crate) at: Instant,
    pub(crate) range: SeqRange,
    /// The cause of the retransmission by the sender.
    pub(crate) said: Option<&'static str>,
    /// The kind of the segment in the capture.
    pub(crate) seen: SegmentKind,
    pub(crate) lost: bool,
}

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Sends `size` bytes with `profile` at both ends.
pub(crate) fn transfer(profile: &serde_json::Value, path: &Path, size: Bytes) -> Transfer {
    let config = Arc::new(Config::from_profile(profile).expect("a sound profile"));
    let mut run = Run::new(&config, path);
    run.sender.write(Payload::Pattern { offset: 0, len: size.0 as u32 });
    run.work();
    assert_eq!(run.received, size.0, "every byte arrives");
    Transfer {
        capture: run.capture,
        frames: run.frames,
        sent: run.sent,
        timeouts: run.sender.timeouts(),
        fast_retransmits: run.sender.fast_retransmits(),
        elapsed: run.fin_acked_at.expect("the FIN was acknowledged").saturating_since(Instant::START),
    }
}

impl Transfer {
    /// The packets whose retransmission was needless by definition.
    pub(crate) fn needless(&self) -> Vec<u64> {
        let survived_before = |upto: usize, seq: Seq| {
            self.sent[..upto].iter().any(|sent| !sent.lost && sent.range.contains(seq))
        };
        let needless = |(index, sent): &(usize, &Sent)| {
            sent.said.is_some()
                && (0..sent.range.len()).all(|n| survived_before(*index, sent.range.start + n))
        };
        self.sent.iter().enumerate().filter(needless).map(|(_, sent)| sent.packet).collect()
    }

    /// The retransmissions, with times and causes.
    pub(crate) fn story(&self) -> String {
        let first = self.sent[0].range.start;
        let line = |sent: &Sent| {
            let (said, seen) = (sent.said?, sent.seen);
            Some(format!("{} {} said {said}, seen {seen:?}\n", sent.at, sent.range.start.since(first)))
        };
        self.sent.iter().filter_map(line).collect()
    }
}

struct Run<'a> {
    path: &'a Path,
    now: Instant,
    sender: Endpoint,
    receiver: Endpoint,
    /// Segments on their way by arrival: to the receiver (true) or the sender.
    underway: BTreeMap<(Instant, u64), (bool, Segment)>,
    /// Time at which each packet in the queue will have been sent.
    leaving: Vec<Instant>,
    last_arrival: Instant,
    packets: u64,
    forward: u64,
    capture: Capture,
    frames: Vec<Frame>,
    sent: Vec<Sent>,
    received: u64,
    fin_acked_at: Option<Instant>,
}

impl<'a> Run<'a> {
    fn new(config: &Arc<Config>, path: &'a Path) -> Self {
        // Near the wrap, so that it is crossed.
        let sender =
            Endpoint::connect(config, Ports { local: 40_000, remote: 5001 }, Seq(u32::MAX - 100_000));
        Self {
            path,
            now: Instant::START,
            sender,
            receiver: Endpoint::listen(config, 5001, Seq(7_000_000)),
            underway: BTreeMap::new(),
            leaving: Vec::new(),
            last_arrival: Instant::START,
            packets: 0,
            forward: 0,
            capture: Capture::new(),
            frames: Vec::new(),
            sent: Vec::new(),
            received: 0,
            fin_acked_at: None,
        }
    }

    fn work(&mut self) {
        self.settle();
        while self.fin_acked_at.is_none() {
            let arrival = self.underway.keys().next().map(|key| key.0);
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let next = timers.into_iter().chain([arrival]).flatten().min().expect("the transfer continues");
            assert!(next < Instant::START + Duration::from_secs(600), "the transfer ends");
            self.now = self.now.max(next);
            if arrival == Some(next) {
                self.deliver();
            } else {
                self.expire();
            }
            self.settle();
        }
    }

    fn deliver(&mut self) {
        let (_, (forward, segment)) = self.underway.pop_first().expect("something arrives");
        if forward {
            self.receiver.handle_segment(self.now, &segment);
        } else {
            self.see(&segment, false);
            self.sender.handle_segment(self.now, &segment);
            if self.sender.fin_acked() {
                self.fin_acked_at.get_or_insert(self.now);
            }
        }
    }

    fn expire(&mut self) {
        for endpoint in [&mut self.sender, &mut self.receiver] {
            if endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                endpoint.handle_timeout(self.now);
            }
        }
    }

    /// Lets both ends react.
    fn settle(&mut self) {
        while let Some(event) = self.sender.poll_event() {
            if event == Event::Connected {
                self.sender.close();
            }
        }
        while let Some(event) = self.receiver.poll_event() {
            if event == Event::PeerClosed {
                self.receiver.close();
            }
        }
        while let Some(payload) = self.receiver.read() {
            self.received += u64::from(payload.len());
        }
        while let Some(transmit) = self.receiver.poll_transmit(self.now) {
            let arrival = self.now + self.path.propagation;
            self.packets += 1;
            self.underway.insert((arrival, self.packets), (false, transmit.segment));
        }
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.send(transmit);
        }
    }

    fn send(&mut self, transmit: tcp::Transmit) {
        let said = match transmit.kind {
            tcp::Kind::Retransmission { cause, .. } => Some(cause.id()),
            _ => None,
        };
        let segment = transmit.segment;
        let seen = self.see(&segment, true);
        let lost = self.enter_link(&segment);
        let packet = self.packets;
        if segment.seq_len() > 0 {
            let range = segment.seq_range();
            self.sent.push(Sent { packet, at: self.now, range, said, seen, lost });
        }
        if lost {
            let bytes = emit_ipv4(SENDER, RECEIVER, 0, &segment);
            self.capture.handle_loss(self.now, PacketId(packet), &bytes, "test");
        }
    }

    /// The packet passes the sender's end.
    fn see(&mut self, segment: &Segment, out: bool) -> SegmentKind {
        self.packets += 1;
        let (from, to) = if out { (SENDER, RECEIVER) } else { (RECEIVER, SENDER) };
        let bytes = emit_ipv4(from, to, self.packets as u16, segment);
        let found = self.capture.handle_packet(self.now, PacketId(self.packets), &bytes);
        let at = VIRTUAL_EPOCH + (self.now - Instant::START);
        self.frames.push(Frame { packet: Some(PacketId(self.packets)), ..Frame::new(0, at, bytes) });
        found.expect("our own packet").expect("a segment").1.kind
    }

    /// Puts a segment on the link; returns whether it is lost.
    fn enter_link(&mut self, segment: &Segment) -> bool {
        self.forward += 1;
        self.leaving.retain(|leaves| *leaves > self.now);
        let held = match (self.path.fate)(self.forward) {
            Fate::Lost => return true,
            Fate::Held(by) => by,
            Fate::Passes => Duration::ZERO,
        };
        if self.leaving.len() >= self.path.queue {
            return true;
        }
        let size = u64::from(20 + segment.wire_len());
        let begins = self.leaving.last().copied().unwrap_or(self.now).max(self.now);
        let leaves = begins + Duration::from_nanos(size * self.path.nanos_per_byte);
        self.leaving.push(leaves);
        self.last_arrival = self.last_arrival.max(leaves + self.path.propagation + held);
        self.underway.insert((self.last_arrival, self.packets), (true, segment.clone()));
        false
    }
}
