//! The hostile peer of one endpoint, and what every endpoint keeps to whatever its peer does.

use tcp::{Endpoint, Kind, State, Transmit};
use units::{Duration, Instant, Seq, SeqRange};
use wire::{Ecn, Flags, Options, Payload, Segment, Timestamps};

/// Bytes of one step.
pub(crate) const STEP: usize = 12;
/// The endpoint's port.
pub(crate) const PORT: u16 = 1000;
/// The peer's port.
pub(crate) const PEER_PORT: u16 = 2000;
/// The endpoint's initial sequence number: a few windows before the wrap.
pub(crate) const ISS: Seq = Seq(0x00ff_fff0);
/// The peer's initial sequence number.
const IRS: Seq = Seq(u32::MAX - 900);

/// An endpoint with its user, its clock and its peer.
pub(crate) struct Peer {
    pub(crate) endpoint: Endpoint,
    name: &'static str,
    now: Instant,
    iss: Seq,
    /// The first sequence number after all data that the endpoint has sent.
    sent_end: Seq,
    /// The highest of the endpoint's numbers that the peer has acknowledged.
    acked: Seq,
    /// The next number of the peer's own stream.
    next: Seq,
    /// The first sequence number after all data that the peer has sent.
    reached: Seq,
    /// The highest number that the endpoint has acknowledged.
    endpoint_acked: Option<Seq>,
    /// The largest window that the peer has offered, in bytes.
    offered: u64,
    /// The endpoint's latest timestamp.
    timestamp: u32,
    clock: u32,
    written: u64,
    read: u64,
    segments: u64,
}

impl Peer {
    pub(crate) fn new(name: &'static str, endpoint: Endpoint, iss: Seq) -> Self {
        Self {
            endpoint,
            name,
            now: Instant::START,
            iss,
            sent_end: iss,
            acked: iss,
            next: IRS,
            reached: IRS,
            endpoint_acked: None,
            offered: 0,
            timestamp: 0,
            clock: 1,
            written: 0,
            read: 0,
            segments: 0,
        }
    }

    /// Whether the endpoint has sent enough, so that further steps would only cost time.
    pub(crate) const fn has_seen_enough(&self) -> bool {
        self.segments > 20_000
    }

    /// The user writes.
    pub(crate) fn write(&mut self, len: u32) {
        // Data written after the stream is closed are refused.
        let before = self.endpoint.unsent();
        self.endpoint.write(Payload::Pattern { offset: self.written, len });
        if self.endpoint.unsent() > before {
            self.written += u64::from(len);
        }
    }

    /// The user reads up to `count` payloads, which must continue the peer's stream.
    pub(crate) fn read(&mut self, count: usize) {
        for _ in 0..count {
            let Some(payload) = self.endpoint.read() else { return };
            self.check(is_pattern(&payload, self.read), "what is read is not the peer's stream");
            self.read += u64::from(payload.len());
        }
    }

    /// Time passes; timers run out on time.
    pub(crate) fn wait(&mut self, wait: Duration) {
        let end = self.now + wait;
        let mut timers = 0;
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            timers += 1;
            self.now = self.now.max(at);
            self.settle();
            self.check(timers < MOST_TIMERS, "timers for ever");
        }
        self.now = end;
    }

    /// Time passes, and the timers that expire in it are handled only at its end, as on a busy machine.
    pub(crate) fn oversleep(&mut self, wait: Duration) {
        self.now += wait;
    }

    /// Time passes until the next timer.
    pub(crate) fn wait_for_timer(&mut self) {
        if let Some(at) = self.endpoint.poll_timeout().filter(|at| *at < Instant::NEVER) {
            self.now = self.now.max(at);
        }
    }

    /// The peer opens, or answers, and completes the handshake.
    pub(crate) fn shake_hands(&mut self, options: u8) {
        let passive = self.endpoint.state() == State::Listen;
        let flags = if passive { Flags::SYN } else { Flags::SYN.with(Flags::ACK) };
        let timestamps = Some(self.timestamps(true));
        let syn = Options {
            mss: (options & 1 == 0).then_some(1000),
            window_scale: (options & 2 == 0).then_some((options >> 4) % 15),
            sack_permitted: options & 4 == 0,
            timestamps: timestamps.filter(|_| options & 8 == 0),
            ..Options::default()
        };
        self.deliver(self.segment(IRS, self.sent_end, flags, u16::MAX, syn, Payload::EMPTY));
        self.settle();
        self.acknowledge_all(Duration::from_millis(50));
    }

    /// The peer acknowledges all that was sent, with a full window.
    pub(crate) fn acknowledge_all(&mut self, after: Duration) {
        self.now += after;
        let options = Options { timestamps: Some(self.timestamps(true)), ..Options::default() };
        self.deliver(self.segment(self.next, self.sent_end, Flags::ACK, u16::MAX, options, Payload::EMPTY));
    }

    /// The peer sends the segment that the step describes, near the numbers that the endpoint uses.
    pub(crate) fn send(&mut self, step: &[u8; STEP]) {
        self.now += Duration::from_micros(u64::from(step[11]).pow(2) * 8);
        let flags = flags(step[1], step[2]);
        let opening = matches!(self.endpoint.state(), State::Listen | State::SynSent);
        let seq = if opening { IRS } else { self.near_next(step[4], step[5]) };
        let len = if step[4] & 8 == 0 { 0 } else { u32::from(step[6]) * 12 };
        let options = self.options(step, flags);
        let ack = self.near_sent(step[2], step[3]);
        let offset = i64::from(seq.since(IRS + 1).cast_signed());
        let mut segment = self.segment(seq, ack, flags, window(step[7]), options, payload(offset, len));
        segment.ecn = Ecn::from_bits(step[1] >> 6);
        self.deliver(segment);
    }

    /// Hands a segment to the endpoint and records its numbers.
    fn deliver(&mut self, segment: Segment) {
        let range = segment.seq_range();
        if range.start == self.next || self.next == IRS && segment.flags.contains(Flags::SYN) {
            self.next = range.end;
        }
        self.reached = if range.end.after(self.reached) { range.end } else { self.reached };
        self.offered = self.offered.max(u64::from(segment.window) << self.endpoint.agreed().send_shift);
        if segment.flags.contains(Flags::ACK) {
            let plausible = segment.ack.after(self.acked) && segment.ack.at_or_before(self.sent_end);
            self.acked = if plausible { segment.ack } else { self.acked };
        }
        self.endpoint.handle_segment(self.now, &segment);
    }

    fn segment(
        &self,
        seq: Seq,
        ack: Seq,
        flags: Flags,
        window: u16,
        options: Options,
        payload: Payload,
    ) -> Segment {
        let (source_port, destination_port) = (PEER_PORT, PORT);
        let ecn = Ecn::NotCapable;
        Segment { source_port, destination_port, seq, ack, flags, window, options, ecn, payload }
    }

    /// A number of the peer's own stream: mostly the next.
    fn near_next(&self, mode: u8, by: u8) -> Seq {
        let by = u32::from(by);
        match mode & 7 {
            0..=3 => self.next,
            4 => self.next + by * 100,
            5 => self.next - by * 40,
            6 => self.next + by,
            _ => self.next + by * 70_000,
        }
    }

    /// A number of the endpoint's stream: mostly one that it has sent and that is not acknowledged.
    fn near_sent(&self, mode: u8, by: u8) -> Seq {
        match mode & 7 {
            0..=3 => self.within_flight(by),
            4 => self.sent_end,
            5 => self.acked,
            6 => self.sent_end + u32::from(by) * u32::from(by),
            _ => self.acked - u32::from(by) * 100,
        }
    }

    /// The number at `part` 255ths of the unacknowledged data.
    fn within_flight(&self, part: u8) -> Seq {
        let flight = u64::from(self.sent_end.since(self.acked));
        self.acked + (flight * u64::from(part) / 255) as u32
    }

    fn options(&mut self, step: &[u8; STEP], flags: Flags) -> Options {
        let mut options = Options::default();
        if flags.contains(Flags::SYN) {
            options.mss = (step[8] & 1 == 0).then_some(u16::from(step[9]) * 16);
            options.window_scale = (step[8] & 2 == 0).then_some(step[10] & 0x1f);
            options.sack_permitted = step[8] & 4 == 0;
        }
        if step[8] & 0x80 == 0 {
            options.timestamps = Some(self.timestamps(step[8] & 0x40 == 0));
        }
        for block in 0..(step[8] >> 3) & 7 {
            let start = self.within_flight(step[9].wrapping_mul(block + 1));
            options.sack.push(SeqRange::new(start, u32::from(step[10]) * 50));
        }
        options
    }

    /// The peer's timestamps, with an honest echo or one from the past.
    fn timestamps(&mut self, honest: bool) -> Timestamps {
        self.clock = self.clock.wrapping_add(7);
        let echo = if honest { self.timestamp } else { self.timestamp.wrapping_sub(self.clock % 100) };
        Timestamps { value: self.clock, echo }
    }

    /// Takes out all that the endpoint has to say, to send and to do at this instant; it must come to an end.
    pub(crate) fn settle(&mut self) {
        self.drain();
        let mut timers = 0;
        while self.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
            timers += 1;
            self.check(timers < MOST_TIMERS, "a timer is due for ever");
            self.endpoint.handle_timeout(self.now);
            self.drain();
        }
        self.check_numbers();
    }

    fn drain(&mut self) {
        let mut events = 0;
        while self.endpoint.poll_event().is_some() {
            events += 1;
            self.check(events < MOST_AT_ONCE, "events for ever");
        }
        let mut segments = 0;
        while let Some(transmit) = self.endpoint.poll_transmit(self.now) {
            segments += 1;
            self.check(segments < MOST_AT_ONCE, "segments for ever");
            self.check_transmit(&transmit);
        }
        self.segments += segments;
    }

    /// Checks a segment of the endpoint's and learns from it.
    fn check_transmit(&mut self, transmit: &Transmit) {
        let segment = &transmit.segment;
        if let Some(timestamps) = segment.options.timestamps {
            self.timestamp = timestamps.value;
        }
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.check_stream(transmit);
        self.check_ack(segment);
        let end = segment.seq_range().end;
        self.sent_end = if end.after(self.sent_end) { end } else { self.sent_end };
    }

    /// Data have their position in the written stream, and new data lie within an offered window, which begins at the
    /// acknowledged data (SND.UNA + SND.WND, RFC 9293 §3.8.6).
    fn check_stream(&self, transmit: &Transmit) {
        let Transmit { segment, kind } = transmit;
        if segment.payload.is_empty() || *kind == Kind::KeepAlive {
            return;
        }
        let offset = u64::from(segment.seq.since(self.iss + 1));
        self.check(is_pattern(&segment.payload, offset), "what is sent is not the stream that was written");
        let end = offset + u64::from(segment.payload.len());
        self.check(end <= self.written, "more is sent than was written");
        let edge = self.endpoint.acked().0 + self.offered + self.endpoint.config().plain.overrun.0;
        // A probe of a closed window lies beyond it, and so do its retransmissions.
        let is_new = matches!(kind, Kind::Data | Kind::Fin);
        self.check(!is_new || end <= edge, "new data are sent beyond the window that the peer offered");
    }

    /// Acknowledgments never go back, and acknowledge only what was sent.
    fn check_ack(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if !self.endpoint.config().ack.build().traits().lies {
            self.check(segment.ack.at_or_before(self.reached), "what was never sent is acknowledged");
        }
        self.endpoint_acked = Some(segment.ack);
    }

    /// Quantities that are bounded at every instant.
    fn check_numbers(&self) {
        let endpoint = &self.endpoint;
        self.check(endpoint.acked().0 <= self.written, "more is acknowledged than was written");
        let sent = u64::from(self.sent_end.since(self.iss));
        self.check(endpoint.flight().0 <= sent, "more is in flight than was sent");
        self.check(endpoint.cwnd().0 < MOST_BYTES, "the congestion window is unbounded");
        let dead = endpoint.state() == State::Closed;
        self.check(dead || endpoint.cwnd().0 > 0, "the congestion window is closed");
        self.check(endpoint.rto() <= endpoint.longest_rto(), "the retransmission timer exceeds its bound");
        self.check(!endpoint.rto().is_zero(), "the retransmission timer is zero");
    }

    #[track_caller]
    fn check(&self, holds: bool, wrong: &str) {
        assert!(
            holds,
            "{}: {wrong} ({:?}, {}, at {})",
            self.name,
            self.endpoint.state(),
            self.endpoint.phase(),
            self.now
        );
    }
}

/// Whether the payload is the part of the pattern from `offset`.
fn is_pattern(payload: &Payload, offset: u64) -> bool {
    match payload {
        Payload::Pattern { offset: place, .. } => *place == offset,
        Payload::Data(data) => {
            (offset..).zip(data).all(|(place, byte)| Payload::pattern_byte(place) == *byte)
        }
    }
}

/// Control bits: mostly a plain acknowledgment.
fn flags(choice: u8, any: u8) -> Flags {
    match choice & 0x3f {
        0 => Flags::SYN,
        1 => Flags::SYN.with(Flags::ACK),
        2 => Flags::RST.with(Flags::ACK),
        3 | 4 => Flags::FIN.with(Flags::ACK),
        5 => Flags::from_bits(u16::from(any)),
        6 => Flags::empty(),
        7..10 => Flags::ACK.with(Flags::ECE),
        10 => Flags::ACK.with(Flags::CWR),
        11..14 => Flags::ACK.with(Flags::POLL),
        14..20 => Flags::ACK.with(Flags::PSH),
        _ => Flags::ACK,
    }
}

/// The window field: closed, small, or anything up to the largest.
const fn window(byte: u8) -> u16 {
    match byte {
        0..16 => byte as u16,
        _ => (byte as u16) << 8 | 0xff,
    }
}

/// Events or segments that no endpoint needs at one instant: streams here are of at most some hundred kilobytes.
const MOST_AT_ONCE: u64 = 100_000;
/// Timers that no endpoint needs at one instant, or in the longest wait.
const MOST_TIMERS: u32 = 10_000;
/// More than any window in use; sums of it do not overflow.
const MOST_BYTES: u64 = 1 << 50;

/// The payload of the peer's stream at `offset`, which may lie before its beginning.
fn payload(offset: i64, len: u32) -> Payload {
    match u64::try_from(offset) {
        Ok(offset) => Payload::Pattern { offset, len },
        Err(_) => {
            let places = offset..offset + i64::from(len);
            let bytes: Vec<u8> = places.map(|place| Payload::pattern_byte(place.cast_unsigned())).collect();
            Payload::Data(bytes.into())
        }
    }
}
