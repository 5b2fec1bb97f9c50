//! The receiving half of a connection: the peer's stream, the window offered, the acknowledgment due.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq, SeqRange};
use wire::{Flags, Options, Payload, Segment, Timestamps};

use crate::Config;
use crate::ack::{AckPolicy, Data, Series, When};
use crate::options::Agreed;
use crate::reassembly::{Arrival, Reassembly};
use crate::timers::{Timer, Timers};
use crate::timestamp::Timestamp;
use crate::window::{Arrived, Pool, Window};

/// The receiving half. Names in capitals are those of RFC 9293 §3.3.1.
#[derive(Debug)]
pub(crate) struct ReceiveHalf {
    /// IRS: the peer's initial sequence number.
    irs: Seq,
    /// The stream; its `next` is RCV.NXT.
    stream: Reassembly,
    /// The right edge of the window offered: RCV.NXT + RCV.WND.
    edge: Seq,
    window: Box<dyn Window>,
    /// Whether other connections use a part of the window.
    shares_window: bool,
    greatest_window: Bytes,
    /// Whether the window policy observes arriving data.
    tunes_window: bool,
    ack_policy: Box<dyn AckPolicy>,
    ack_due: AckDue,
    /// The acknowledgment numbers of the next ACKs, where the policy wants several at once.
    planned_acks: VecDeque<Seq>,
    /// Data of the largest segment that the peer has sent.
    largest_segment: Bytes,
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
    /// Last.ACK.sent (RFC 7323 §4.3).
    last_ack_sent: Seq,
}

/// Whether an acknowledgment is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDue {
    /// No.
    No,
    /// When the delayed-ACK timer expires; a segment sent before carries it.
    Delayed,
    /// Now.
    Now,
    /// Now, to report only that the window is open again.
    WindowUpdate,
}

/// A data segment as the receiving half sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reception {
    /// When it arrived.
    pub now: Instant,
    /// The round-trip time, where it is known.
    pub rtt: Option<Duration>,
    /// Whether duplicate data are reported (RFC 2883).
    pub dsack: bool,
}

impl ReceiveHalf {
    pub(crate) fn new(config: &Config) -> Self {
        let window = config.window.build();
        Self {
            irs: Seq::default(),
            stream: Reassembly::new(Seq::default()),
            edge: Seq::default(),
            shares_window: window.sharing().is_some(),
            tunes_window: window.observes_data(),
            window,
            greatest_window: config.greatest_window,
            ack_policy: config.ack.build(),
            ack_due: AckDue::No,
            planned_acks: VecDeque::new(),
            largest_segment: Bytes::ZERO,
            duplicate: None,
            fin_at: None,
            received: Bytes::ZERO,
            readable: false,
            shut: false,
            ts_recent: None,
            last_ack_sent: Seq::default(),
        }
    }

    /// Back to before the handshake, after a passive open that failed.
    pub(crate) fn restart(&mut self, config: &Config) {
        self.window.leave();
        let window = std::mem::replace(&mut self.window, config.window.build());
        *self = Self { window, readable: self.readable, ..Self::new(config) };
    }

    /// Shares the window with the connections of `pool`, where the policy wants that.
    pub(crate) fn share_window(&mut self, pool: &Arc<Pool>) {
        self.window.join(pool);
    }

    /// The connection has ended: it takes no part in a shared window any more.
    pub(crate) fn end(&mut self) {
        self.window.leave();
        self.ack_due = AckDue::No;
    }

    /// The peer's SYN has arrived, with sequence number `irs` and the clock value `theirs` where timestamps are agreed.
    pub(crate) fn start(&mut self, irs: Seq, theirs: Option<Timestamps>, now: Instant) {
        self.irs = irs;
        self.window.enter();
        self.stream = Reassembly::new(irs + 1);
        self.edge = irs + 1;
        self.last_ack_sent = irs + 1;
        if let Some(theirs) = theirs {
            self.ts_recent = Some((Timestamp(theirs.value), now));
        }
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2).
    pub(crate) fn offer_on_syn(&mut self) -> u16 {
        let room = self.window.room(&self.stream.held());
        u16::try_from(room.0).unwrap_or(u16::MAX)
    }

    /// Opens the window that a SYN-ACK offers, or that data on the peer's SYN need (RFC 7413 §4.2.1).
    pub(crate) fn open(&mut self, window: u16) {
        self.edge = self.stream.next() + u32::from(window);
    }

    /// The next data in order, for the user.
    #[inline]
    pub(crate) fn read(&mut self) -> Option<Payload> {
        let payload = self.stream.read();
        self.readable &= payload.is_some();
        payload
    }

    /// A window update is due if reading has opened a window that was too small to use. `shift` scales the window field.
    #[inline]
    pub(crate) fn update_window_if_reopened(&mut self, shift: u8) {
        if matches!(self.ack_due, AckDue::No | AckDue::Delayed) && self.window_reopened(shift) {
            self.ack_due = AckDue::WindowUpdate;
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
        Bytes(u64::from(self.edge.since(self.stream.next())))
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
        self.ack_due
    }

    /// An acknowledgment is due now.
    #[inline]
    pub(crate) const fn acknowledge_now(&mut self) {
        self.ack_due = AckDue::Now;
    }

    /// The peer does not poll: returns whether ACKs were waiting for that, and are now delayed as usual.
    pub(crate) fn stop_awaiting_polls(&mut self) -> bool {
        let awaited = self.ack_policy.answers_polls();
        if awaited {
            self.ack_policy = crate::ack::without_polls();
        }
        awaited
    }

    /// Whether a segment brings the next data in order, inside the window, while nothing waits behind a gap.
    #[inline]
    pub(crate) fn is_next_data(&self, segment: &Segment) -> bool {
        segment.seq == self.stream.next()
            && (1..=self.edge.since(segment.seq)).contains(&segment.payload.len())
            && !self.stream.has_gap()
            && self.fin_at.is_none()
    }

    /// Whether the peer's clock has not gone back.
    #[inline]
    pub(crate) fn is_next_clock(&self, theirs: Option<Timestamps>) -> bool {
        let clock = theirs.map(|theirs| Timestamp(theirs.value));
        let recent = self.ts_recent.map(|(recent, _)| recent);
        clock.zip(recent).is_some_and(|(clock, recent)| !clock.is_older_than(recent))
    }

    /// The segment arrival test of RFC 9293 §3.4, table 6, except that a segment without data may stand at the right edge
    /// of the window, as in Linux. A peer that has filled the window sends its ACKs with that number. Where two ends have
    /// filled each other's windows and retransmit old data, to the letter of the RFC neither would ever read an ACK of
    /// the other.
    pub(crate) fn is_acceptable(&self, segment: &Segment) -> bool {
        let (range, window) = (segment.seq_range(), SeqRange { start: self.stream.next(), end: self.edge });
        if !range.is_empty() {
            return window.contains(range.start) || window.contains(range.end - 1);
        }
        let at_edge = range.start == self.edge && !segment.flags.contains(Flags::RST);
        range.start == window.start || window.contains(range.start) || at_edge
    }

    /// Whether the clock value `theirs` is older than TS.Recent, which must not be outdated (PAWS, RFC 7323 §5.3 step 1).
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
        if segment.seq.at_or_before(self.last_ack_sent) {
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
        self.edge = self.edge.max(self.stream.next());
        self.ack_due = AckDue::Now;
        true
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
        let unread = self.stream.held().unread;
        self.stream.append_in_order(segment.payload.clone());
        self.received += len;
        self.readable = true;
        if self.tunes_window {
            self.tune_window(segment, len, unread, reception, agreed);
        }
        let data = Data {
            now: reception.now,
            len,
            arrival: Arrival::InOrder,
            gap: false,
            scattered: false,
            full: self.largest_segment.max(len),
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
        let inside = whole.len().min(self.edge.since(whole.start));
        let range = SeqRange::new(whole.start, inside);
        let payload = &segment.payload;
        let payload = if inside < whole.len() { payload.slice(0, inside) } else { payload.clone() };
        let known = self.duplicate_part(range);
        let (before, unread) = (self.stream.next(), self.stream.held().unread);
        let scattered = self.stream.is_apart(range);
        let arrival = self.stream.insert(range, payload);
        if let Some(part) = known {
            self.report_duplicate(part, reception);
        }
        let advanced = self.stream.next().since(before);
        self.received += Bytes(u64::from(advanced));
        self.readable |= advanced > 0;
        if self.tunes_window && arrival != Arrival::Duplicate {
            self.tune_window(segment, Bytes(u64::from(inside)), unread, reception, agreed);
        }
        let polled = agreed.polls && segment.flags.contains(Flags::POLL);
        self.owe_ack(Data { polled, scattered, ..self.arrived(range, arrival, reception) }, timers);
    }

    /// Reports `len` bytes of arriving data to a window that sizes itself; `unread` bytes were unread before.
    fn tune_window(
        &mut self,
        segment: &Segment,
        len: Bytes,
        unread: Bytes,
        reception: &Reception,
        agreed: &Agreed,
    ) {
        let now = reception.now;
        let (next, out_of_order) = (self.stream.next(), self.stream.held().out_of_order);
        let behind_gap = self.stream.highest().map_or(0, |end| end.since(next));
        let arrived = Arrived {
            now,
            len,
            received: self.received,
            unread,
            out_of_order,
            behind_gap: Bytes(u64::from(behind_gap)),
            asks_for_duplicate: !agreed.sack && segment.seq.after(next),
            offered: self.wnd(),
            echoed: agreed.echo(segment).and_then(|echo| echo.age(now)).map(|age| now - age),
        };
        if self.window.on_data(&arrived) {
            self.ack_policy.on_window_opened();
        }
    }

    /// The part of `range` that had arrived before, which a D-SACK reports: its beginning, or all of it.
    fn duplicate_part(&self, range: SeqRange) -> Option<SeqRange> {
        let next = self.stream.next();
        if range.start.before(next) {
            return Some(SeqRange { start: range.start, end: range.end.min(next) });
        }
        self.stream.island_covering(range).map(|_| range)
    }

    /// The data segment as the acknowledgment policy sees it, without poll and place.
    fn arrived(&self, range: SeqRange, arrival: Arrival, reception: &Reception) -> Data {
        let len = Bytes(u64::from(range.len()));
        let (gap, full) = (self.stream.has_gap(), self.largest_segment.max(len));
        let Reception { now, rtt, .. } = *reception;
        Data { now, len, arrival, gap, scattered: false, full, polled: false, rtt }
    }

    /// Asks the acknowledgment policy when the data are to be acknowledged.
    #[inline]
    fn owe_ack(&mut self, data: Data, timers: &mut Timers) {
        self.largest_segment = data.full;
        match self.ack_policy.on_data(&data) {
            When::Now => self.ack_due = AckDue::Now,
            When::Series(series) => {
                self.plan_acks(series);
                self.ack_due = AckDue::Now;
            }
            When::Within(wait) => {
                if self.ack_due == AckDue::No {
                    self.ack_due = AckDue::Delayed;
                    timers.set(Timer::DelayedAck, data.now + wait);
                }
            }
        }
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

    /// Plans several ACKs for the data that have arrived since the last one.
    fn plan_acks(&mut self, series: Series) {
        let next = self.stream.next();
        self.planned_acks.clear();
        match series {
            Series::Divided { parts } => {
                let whole = u64::from(next.since(self.last_ack_sent));
                let parts = u64::from(parts).min(whole);
                let share = |part: u64| self.last_ack_sent + (whole * part / parts.max(1)) as u32;
                self.planned_acks.extend((1..parts).map(share));
            }
            Series::Repeated { copies } => self.planned_acks.extend((0..copies).map(|_| next)),
            Series::Ahead { by } => {
                return self.planned_acks.push_back(next + u32::try_from(by.0).unwrap_or(u32::MAX >> 1));
            }
        }
        self.planned_acks.push_back(next);
    }

    /// The acknowledgment number of a segment that is sent now. A segment with data acknowledges everything, one that is
    /// `alone` an ACK as the policy has planned.
    #[inline]
    pub(crate) fn next_ack(&mut self, alone: bool) -> Seq {
        if self.planned_acks.is_empty() { self.stream.next() } else { self.next_planned_ack(alone) }
    }

    #[cold]
    fn next_planned_ack(&mut self, alone: bool) -> Seq {
        let next = self.stream.next();
        let ack = if alone { self.planned_acks.pop_front() } else { self.planned_acks.back().copied() };
        if !alone {
            self.planned_acks.clear();
        }
        // The last one acknowledges everything: a FIN may have arrived after the ACKs were planned.
        let ack = ack.unwrap_or(next);
        if self.planned_acks.is_empty() { ack.max(next) } else { ack }
    }

    /// A segment that acknowledges `ack` leaves: no other ACK is due, unless more are planned.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, ack: Seq, timers: &mut Timers) {
        let more = !self.planned_acks.is_empty();
        self.ack_due = if more { AckDue::Now } else { AckDue::No };
        self.last_ack_sent = ack;
        self.ack_policy.on_ack_sent();
        timers.clear(Timer::DelayedAck);
    }

    /// The window field of a segment that is sent now and acknowledges `ack`, scaled by `shift`. Moves the right edge
    /// of the window.
    pub(crate) fn offer(&mut self, ack: Seq, shift: u8) -> u16 {
        let ahead = if ack.before(self.stream.next()) { self.stream.next().since(ack) } else { 0 };
        let offered = Bytes(u64::from(if ack.before(self.edge) { self.edge.since(ack) } else { 0 }));
        let greatest = self.greatest_window + Bytes(u64::from(ahead));
        if offered.0 >> shift >= greatest.0 >> shift && !offered.is_zero() && !self.shares_window {
            // The window is open as wide as it can be, and the edge stays.
            return u16::try_from(offered.0 >> shift).unwrap_or(u16::MAX);
        }
        let room = self.window.room(&self.stream.held()) + Bytes(u64::from(ahead));
        // RFC 9293 §3.8.6.2.2: the edge moves by worthwhile steps only, and never back.
        let grows = room >= offered + self.least_step()
            || (room > offered && offered.is_zero() && room == self.greatest_window);
        let window = if grows { room } else { offered };
        let field = u16::try_from(window.0 >> shift).unwrap_or(u16::MAX);
        let window = Bytes(u64::from(field) << shift);
        if window > offered {
            self.edge = ack + u32::try_from(window.0).expect("a window is below 2^30");
        }
        field
    }

    /// Whether reading has opened a window that was too small to use. The peer may be waiting for it, so that a window
    /// update is due (RFC 9293 §3.8.6.2.2).
    fn window_reopened(&mut self, shift: u8) -> bool {
        let (offered, step) = (self.wnd(), self.least_step());
        if offered >= step && !self.shares_window {
            return false;
        }
        // Connections that share a window learn of each other's reading by this call.
        let room = self.window.room(&self.stream.held());
        let in_field_units = Bytes(room.0 >> shift << shift);
        offered < step && in_field_units >= offered + step
    }

    /// The least step by which the right edge moves: half the buffer or a full segment (RFC 9293 §3.8.6.2.2).
    fn least_step(&self) -> Bytes {
        (self.greatest_window / 2).min(self.largest_segment.max(Bytes(1)))
    }
}

/// Age at which TS.Recent is outdated and rejects no segment any more (RFC 7323 §5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
