//! The receiving half of a connection: the peer's stream, the window offered, the acknowledgment due.

mod acknowledgments;
mod memory;
mod offered_window;

use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq, SeqRange};
use wire::{Flags, Options, Payload, Segment, Timestamps};

use crate::Config;
use crate::ack::Data;
use crate::options::Agreed;
use crate::reassembly::{Arrival, Reassembly};
use crate::timers::Timers;
use crate::timestamp::Timestamp;
use crate::window::Pool;
pub(crate) use acknowledgments::AckDue;
use acknowledgments::Acknowledgments;
use offered_window::OfferedWindow;

/// The receiving half. Names in capitals are those of RFC 9293 §3.3.1.
#[derive(Debug)]
pub(crate) struct ReceiveHalf {
    /// IRS: the peer's initial sequence number.
    irs: Seq,
    /// The stream; its `next` is RCV.NXT.
    stream: Reassembly,
    window: OfferedWindow,
    acks: Acknowledgments,
    /// Data of the largest segment that the peer has sent.
    largest_segment: Bytes,
    /// What is larger consists of several segments, which the network card has joined.
    joined_above: Bytes,
    /// Data that arrived twice; the next ACK reports them (D-SACK, RFC 2883 §4).
    duplicate: Option<SeqRange>,
    /// Sequence number of the peer's FIN, while data before it are missing.
    fin_at: Option<Seq>,
    /// Data that arrived in order.
    received: Bytes,
    /// Data that the user was not notified of.
    readable: bool,
    /// The user reads no more.
    shut: bool,
    /// TS.Recent and when it was taken (RFC 7323 §4.3 and §5.5).
    ts_recent: Option<(Timestamp, Instant)>,
}

/// A data segment as the receiving half sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reception {
    /// Time of arrival.
    pub now: Instant,
    /// The round-trip time, where it is known.
    pub rtt: Option<Duration>,
    /// Whether duplicate data are reported (RFC 2883).
    pub dsack: bool,
    /// Whether they came with a SYN, and say nothing about the segments of the peer.
    pub on_syn: bool,
}

impl ReceiveHalf {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            irs: Seq::default(),
            stream: Reassembly::new(Seq::default()),
            window: OfferedWindow::new(config.window.build(), config.greatest_window),
            acks: Acknowledgments::new(config.ack.build()),
            largest_segment: Bytes::ZERO,
            joined_above: Bytes::MAX,
            duplicate: None,
            fin_at: None,
            received: Bytes::ZERO,
            readable: false,
            shut: false,
            ts_recent: None,
        }
    }

    /// Back to before the handshake, after a passive open that failed.
    pub(crate) fn restart(&mut self, config: &Config) {
        self.window.leave();
        let earlier = std::mem::replace(self, Self::new(config));
        self.window = earlier.window.restart(config.window.build());
        self.readable = earlier.readable;
        self.joined_above = earlier.joined_above;
    }

    /// Shares the window with the connections of `pool`, where the policy wants that.
    pub(crate) fn share_window(&mut self, pool: &Arc<Pool>) {
        self.window.join(pool);
    }

    /// The connection has ended: it takes no part in a shared window any more.
    pub(crate) fn end(&mut self) {
        self.window.leave();
        self.acks.set_due(AckDue::No);
    }

    /// The peer's SYN has arrived, with sequence number `irs` and the clock value `theirs` where timestamps are agreed;
    /// its segments may have `mss` bytes.
    pub(crate) fn start(&mut self, irs: Seq, theirs: Option<Timestamps>, mss: Bytes, now: Instant) {
        self.window.policy().on_agreed(mss);
        self.irs = irs;
        self.stream = Reassembly::counting(irs + 1, self.window.packets());
        self.window.start(irs + 1);
        self.acks.start(irs + 1);
        if let Some(theirs) = theirs {
            self.ts_recent = Some((Timestamp(theirs.value), now));
        }
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2), and announces `mss`.
    pub(crate) fn offer_on_syn(&mut self, mss: Bytes) -> u16 {
        let room = self.window.on_syn(self.stream.held(), mss);
        u16::try_from(room.0).unwrap_or(u16::MAX)
    }

    /// Opens the window that a SYN-ACK offers, or that data on the peer's SYN need (RFC 7413 §4.2.1).
    pub(crate) fn open(&mut self, window: u16) {
        self.window.open_to(self.stream.next() + u32::from(window));
    }

    /// The next data in order, for the user.
    #[inline]
    pub(crate) fn read(&mut self) -> Option<Payload> {
        let payload = self.stream.read();
        self.readable &= payload.is_some();
        payload
    }

    /// A window update is due if reading has opened a window that was too small to use. `shift` scales the window
    /// field.
    #[inline]
    pub(crate) fn update_window_if_reopened(&mut self, shift: u8) {
        let (next, held) = (self.stream.next(), self.stream.held());
        if matches!(self.acks.due(), AckDue::No | AckDue::Delayed)
            && self.window.is_reopened(next, shift, held, self.largest_segment)
        {
            self.acks.set_due(AckDue::WindowUpdate);
        }
    }

    /// Whether data have arrived that the user was not notified of; they count as reported then.
    #[inline]
    pub(crate) fn take_readable(&mut self) -> bool {
        std::mem::take(&mut self.readable)
    }

    /// The user reads no more.
    pub(crate) const fn shut(&mut self) {
        self.shut = true;
    }

    /// Whether a segment brings new data that the user will not read.
    pub(crate) fn refuses_data_of(&self, segment: &Segment) -> bool {
        self.shut && (segment.seq + segment.payload.len()).after(self.next())
    }

    /// IRS.
    pub(crate) const fn irs(&self) -> Seq {
        self.irs
    }

    /// RCV.NXT.
    #[inline]
    pub(crate) const fn next(&self) -> Seq {
        self.stream.next()
    }

    /// RCV.WND: the window as the peer knows it.
    #[inline]
    pub(crate) fn wnd(&self) -> Bytes {
        Bytes(u64::from(self.window.edge().since(self.stream.next())))
    }

    /// Data that arrived in order.
    pub(crate) const fn received(&self) -> Bytes {
        self.received
    }

    /// Data of the largest segment that the peer has sent.
    pub(crate) const fn largest_segment(&self) -> Bytes {
        self.largest_segment
    }

    /// Whether an acknowledgment is due.
    #[inline]
    pub(crate) const fn ack_due(&self) -> AckDue {
        self.acks.due()
    }

    /// An acknowledgment is due now.
    #[inline]
    pub(crate) const fn acknowledge_now(&mut self) {
        self.acks.set_due(AckDue::Now);
    }

    /// The peer does not poll: returns whether ACKs were waiting for that, and are now delayed as usual.
    pub(crate) fn stop_awaiting_polls(&mut self) -> bool {
        self.acks.stop_awaiting_polls()
    }

    /// Whether a segment brings the next data in order, inside the window, while nothing waits beyond a gap.
    #[inline]
    pub(crate) fn is_next_data(&self, segment: &Segment) -> bool {
        segment.seq == self.stream.next()
            && (1..=self.window.edge().since(segment.seq)).contains(&segment.payload.len())
            && !self.stream.has_gap()
            && self.fin_at.is_none()
            && self.has_memory()
    }

    /// Whether the peer's clock has not gone back.
    #[inline]
    pub(crate) fn is_next_clock(&self, theirs: Option<Timestamps>) -> bool {
        let clock = theirs.map(|theirs| Timestamp(theirs.value));
        let recent = self.ts_recent.map(|(recent, _)| recent);
        clock.zip(recent).is_some_and(|(clock, recent)| !clock.is_older_than(recent))
    }

    /// Whether the peer's clock has advanced.
    pub(crate) fn is_newer_clock(&self, theirs: Option<Timestamps>) -> bool {
        let clock = theirs.map(|theirs| Timestamp(theirs.value));
        let recent = self.ts_recent.map(|(recent, _)| recent);
        clock.zip(recent).is_some_and(|(clock, recent)| recent.is_older_than(clock))
    }

    /// The segment arrival test of RFC 9293 §3.4, table 6, except that a segment without data may stand at the right
    /// edge of the window, as in Linux. A peer that has filled the window sends its ACKs with that number. Where two
    /// ends have filled each other's windows and retransmit old data, to the letter of the RFC neither would ever read
    /// an ACK of the other.
    pub(crate) fn is_acceptable(&self, segment: &Segment) -> bool {
        let (range, window) =
            (segment.seq_range(), SeqRange { start: self.stream.next(), end: self.window.edge() });
        if !range.is_empty() {
            let fin_at_edge = range.start == window.end && self.admits_fin(segment);
            let touches = window.contains(range.start) || window.contains(range.end - 1) || fin_at_edge;
            return touches && !self.is_too_long(segment, window);
        }
        let at_edge = range.start == window.end && !segment.flags.contains(Flags::RST);
        range.start == window.start || window.contains(range.start) || at_edge
    }

    /// Whether the clock value `theirs` is older than TS.Recent, which must not be outdated (PAWS, RFC 7323 §5.3 step
    /// 1).
    pub(crate) fn is_from_the_past(&self, now: Instant, theirs: Option<Timestamps>) -> bool {
        let (Some((recent, taken)), Some(theirs)) = (self.ts_recent, theirs) else { return false };
        let outdated = now.saturating_since(taken) > PAWS_IDLE;
        Timestamp(theirs.value).is_older_than(recent) && !outdated
    }

    /// Updates TS.Recent, which our segments echo: it is that of the last segment that advanced the acknowledgment
    /// (RFC 7323 §4.3).
    #[inline]
    pub(crate) fn remember_timestamp(&mut self, now: Instant, segment: &Segment) {
        let Some(theirs) = segment.options.timestamps else { return };
        if segment.seq.at_or_before(self.acks.last_sent()) {
            self.ts_recent = Some((Timestamp(theirs.value), now));
        }
    }

    /// The peer's FIN stands at `seq`.
    pub(crate) const fn expect_fin(&mut self, seq: Seq) {
        self.fin_at = Some(seq);
    }

    /// Takes in the peer's FIN if everything before it has arrived; returns whether it was taken in.
    pub(crate) fn take_fin(&mut self) -> bool {
        if self.fin_at != Some(self.stream.next()) {
            return false;
        }
        self.fin_at = None;
        self.window.leave();
        self.stream.skip_one();
        self.window.open_to(self.window.edge().max(self.stream.next()));
        true
    }

    /// The peer's FIN was taken in: its ACK goes at once, unless it `may_wait`.
    pub(crate) fn acknowledge_fin(&mut self, now: Instant, may_wait: bool, timers: &mut Timers) {
        if may_wait {
            self.acks.on_fin(now, timers);
        } else {
            self.acks.set_due(AckDue::Now);
        }
    }

    /// Data of ours leave, which may be a reply.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.acks.on_data_sent(now);
    }

    /// The handshake is done, and data of ours follow at once.
    pub(crate) fn expect_reply(&mut self, now: Instant) {
        self.acks.on_reply_expected(now);
    }

    /// The data that have arrived came with the peer's SYN.
    pub(crate) fn on_syn_data(&mut self) {
        self.acks.on_syn_data();
    }

    /// The delayed-ACK timer has expired.
    pub(crate) fn on_ack_wait_over(&mut self) {
        self.acks.on_wait_over();
    }

    /// A segment without new data has arrived again; data that arrived twice are reported (RFC 2883 §4).
    pub(crate) fn on_old_data(&mut self, segment: &Segment, reception: &Reception, timers: &mut Timers) {
        let range = SeqRange::new(segment.seq, segment.payload.len());
        if !range.is_empty() && range.end.at_or_before(self.stream.next()) {
            self.report_duplicate(range, reception);
            let nothing = SeqRange::new(range.start, 0);
            let data = Data { rtt: None, ..self.arrived(nothing, Arrival::Duplicate, reception) };
            self.owe_ack(data, timers);
        }
    }

    fn report_duplicate(&mut self, range: SeqRange, reception: &Reception) {
        if reception.dsack {
            self.duplicate = Some(range);
        }
    }

    /// Puts the next data in order into the stream, where [`ReceiveHalf::is_next_data`] holds.
    pub(crate) fn take_next(
        &mut self,
        segment: &Segment,
        reception: &Reception,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        let len = Bytes(u64::from(segment.payload.len()));
        let before = self.stream.held();
        self.stream.append_in_order(segment.payload.clone());
        self.received += len;
        self.readable = true;
        if self.window.observes_data() {
            self.tune_window(segment, len, before, reception, agreed);
        }
        let data = Data {
            now: reception.now,
            len,
            arrival: Arrival::InOrder,
            gap: false,
            scattered: false,
            full: self.largest_segment.max(len.min(self.joined_above)),
            polled: false,
            rtt: reception.rtt,
        };
        self.owe_ack(data, timers);
    }

    /// Puts the data that lie inside the window into the stream, and asks the policy when to acknowledge them.
    pub(crate) fn take_in(
        &mut self,
        segment: &Segment,
        reception: &Reception,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        let whole = SeqRange::new(segment.seq, segment.payload.len());
        let inside = self.taken_of(whole);
        let range = SeqRange::new(whole.start, inside);
        let payload = &segment.payload;
        let payload = if inside < whole.len() { payload.slice(0, inside) } else { payload.clone() };
        let known = self.duplicate_part(range);
        let (before, held) = (self.stream.next(), self.stream.held());
        let scattered = self.stream.is_apart(range);
        let arrival = self.stream.insert(range, payload);
        if let Some(part) = known {
            self.report_duplicate(part, reception);
        }
        let advanced = self.stream.next().since(before);
        self.window.open_to(self.window.edge().max(self.stream.next()));
        self.received += Bytes(u64::from(advanced));
        self.readable |= advanced > 0;
        if self.window.observes_data() && arrival != Arrival::Duplicate && !reception.on_syn {
            self.tune_window(segment, Bytes(u64::from(inside)), held, reception, agreed);
        }
        let requested = self.take_request(segment, agreed);
        let polled = requested == Some(AT_ONCE) || (agreed.polls && segment.flags.contains(Flags::POLL));
        self.owe_ack(Data { polled, scattered, ..self.arrived(range, arrival, reception) }, timers);
    }

    /// Takes in the peer's request for a rate of ACKs, if the segment has one, and returns its ratio.
    fn take_request(&mut self, segment: &Segment, agreed: &Agreed) -> Option<u8> {
        let scheme = agreed.ack_scheme?;
        let request = segment.options.ack_rate.filter(|request| request.scheme == scheme)?;
        let ratio = request.ratio?;
        if ratio != AT_ONCE {
            self.acks.on_request(ratio);
        }
        Some(ratio)
    }

    /// The part of `range` that had arrived before, which a D-SACK reports: its beginning, or all of it.
    fn duplicate_part(&self, range: SeqRange) -> Option<SeqRange> {
        let next = self.stream.next();
        if range.start.before(next) {
            return Some(SeqRange { start: range.start, end: range.end.min(next) });
        }
        if range.start == next {
            // Data in order that reach into those after the gap (Linux `tcp_ofo_queue`).
            let queued = self.stream.first_island().filter(|island| island.start.before(range.end));
            return queued.map(|island| SeqRange { start: island.start, end: range.end });
        }
        self.stream.island_covering(range).map(|_| range)
    }

    /// The data segment as the acknowledgment policy sees it, without poll and place.
    fn arrived(&self, range: SeqRange, arrival: Arrival, reception: &Reception) -> Data {
        let len = Bytes(u64::from(range.len()));
        let full = self.largest_segment.max(len.min(self.joined_above));
        let gap = self.stream.has_gap();
        let Reception { now, rtt, .. } = *reception;
        Data { now, len, arrival, gap, scattered: false, full, polled: false, rtt }
    }

    /// Asks the acknowledgment policy when the data are to be acknowledged.
    #[inline]
    fn owe_ack(&mut self, data: Data, timers: &mut Timers) {
        self.largest_segment = data.full;
        self.note_tight_window();
        self.acks.on_data(&data, self.stream.next(), timers);
    }

    /// The timestamps option of a segment that is sent now: our clock, and TS.Recent, 0 before there is one (RFC 7323
    /// §3.2).
    #[inline]
    pub(crate) fn timestamps(&self, now: Instant) -> Timestamps {
        let echo = self.ts_recent.map_or(0, |(recent, _)| recent.0);
        Timestamps { value: Timestamp::at(now).0, echo }
    }

    /// Adds the SACK option (RFC 2018 §4); its first block is the D-SACK, if one is due (RFC 2883 §4).
    pub(crate) fn add_sack_blocks(&mut self, options: &mut Options) {
        let duplicate = self.duplicate.take();
        if duplicate.is_none() && !self.stream.has_gap() {
            return;
        }
        // Timestamps take the room of one block (RFC 2018 §3).
        let room = if options.timestamps.is_some() { 3 } else { 4 };
        if let Some(range) = duplicate {
            options.sack.push(range);
        }
        let left = room - options.sack.len();
        for block in self.stream.sack_blocks(left).as_slice() {
            options.sack.push(self.with_fin(*block));
        }
    }

    /// A SACK block, with the FIN after it if that has arrived too: the FIN is a sequence number like any other
    /// (RFC 2018 §3).
    fn with_fin(&self, block: SeqRange) -> SeqRange {
        let ends_in_fin = self.fin_at == Some(block.end);
        SeqRange { end: block.end + u32::from(ends_in_fin), ..block }
    }

    /// The acknowledgment number of a segment that is sent now; `alone`: it is an ACK without data.
    #[inline]
    pub(crate) fn next_ack(&mut self, alone: bool) -> Seq {
        self.acks.number(self.stream.next(), alone)
    }

    /// A segment that acknowledges `ack` leaves: no other ACK is due, unless more are planned.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, ack: Seq, timers: &mut Timers) {
        self.acks.on_sent(ack, timers);
    }

    /// The window field of a segment that is sent now and acknowledges `ack`, scaled by `shift`. Moves the right edge
    /// of the window.
    #[inline]
    pub(crate) fn offer(&mut self, ack: Seq, shift: u8) -> u16 {
        self.window.offer(self.stream.next(), ack, shift, self.stream.held(), self.largest_segment)
    }
}

/// The ratio that requests one ACK at once, and leaves the rate as it is (draft-ietf-tcpm-ack-rate-request). RFC 5690
/// has no such value.
const AT_ONCE: u8 = 0;
/// Age at which TS.Recent is outdated and rejects no segment any more (RFC 7323 §5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
