//! The receiving half of a connection: the peer's stream, the window offered, the acknowledgment owed.

use std::collections::VecDeque;

use units::{Bytes, Instant, Seq, SeqRange};
use wire::Timestamps;

use crate::Config;
use crate::ack::{AckPolicy, Series};
use crate::reassembly::Reassembly;
use crate::timestamp::Timestamp;
use crate::window::Window;

/// The receiving half. Names in capitals are those of RFC 9293 §3.3.1.
#[derive(Debug)]
pub(crate) struct Receiving {
    /// IRS: the peer's initial sequence number.
    pub irs: Seq,
    /// The stream; its `next` is RCV.NXT.
    pub stream: Reassembly,
    /// The right edge of the window offered: RCV.NXT + RCV.WND.
    pub edge: Seq,
    pub window: Box<dyn Window>,
    pub greatest_window: Bytes,
    pub ack_policy: Box<dyn AckPolicy>,
    pub ack_wanted: Wanted,
    /// What the coming ACKs acknowledge, where they are several; the last is what all others lead up to.
    pub series: VecDeque<Seq>,
    /// The largest segment that the peer has sent.
    pub full: Bytes,
    /// A segment that arrived twice, to be reported once (RFC 2883 §4).
    pub twice: Option<SeqRange>,
    /// Where the peer's FIN stands, once it is known.
    pub fin_at: Option<Seq>,
    pub stream_received: Bytes,
    /// TS.Recent and when it was taken (RFC 7323 §4.3 and §5.5).
    pub ts_recent: Option<(Timestamp, Instant)>,
    /// Last.ACK.sent (RFC 7323 §4.3).
    pub last_ack_sent: Seq,
}

/// The acknowledgment owed to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None.
    No,
    /// One, when the timer runs out at the latest.
    Delayed,
    /// One, at once.
    Now,
    /// One, at once, only to say that the window is open again.
    WindowUpdate,
}

impl Receiving {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            irs: Seq::default(),
            stream: Reassembly::new(Seq::default()),
            edge: Seq::default(),
            window: config.window.build(),
            greatest_window: config.greatest_window,
            ack_policy: config.ack.build(),
            ack_wanted: Wanted::No,
            series: VecDeque::new(),
            full: Bytes::ZERO,
            twice: None,
            fin_at: None,
            stream_received: Bytes::ZERO,
            ts_recent: None,
            last_ack_sent: Seq::default(),
        }
    }

    /// The peer's SYN arrived with this number.
    pub(crate) fn start(&mut self, irs: Seq) {
        self.irs = irs;
        self.window.enter();
        self.stream = Reassembly::new(irs + 1);
        self.edge = irs + 1;
        self.last_ack_sent = irs + 1;
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2).
    pub(crate) fn offer_on_syn(&mut self) -> u16 {
        let room = self.window.room(&self.stream.held());
        u16::try_from(room.0).unwrap_or(u16::MAX)
    }

    /// RCV.WND: the window that the peer may count on.
    pub(crate) fn wnd(&self) -> Bytes {
        Bytes(u64::from(self.edge.since(self.stream.next())))
    }

    /// A run of bytes with the FIN behind it, if that has arrived too: the FIN is a sequence number like
    /// any other (RFC 2018 §3).
    pub(crate) fn with_fin(&self, block: SeqRange) -> SeqRange {
        let ends_in_fin = self.fin_at == Some(block.end);
        SeqRange { end: block.end + u32::from(ends_in_fin), ..block }
    }

    /// The segment arrival test of RFC 9293 §3.4, table 6.
    pub(crate) fn is_acceptable(&self, range: SeqRange) -> bool {
        let window = SeqRange { start: self.stream.next(), end: self.edge };
        if range.is_empty() {
            return range.start == window.start || window.contains(range.start);
        }
        window.contains(range.start) || window.contains(range.end - 1)
    }

    /// What our segments carry: our clock, and the peer's that we echo (RFC 7323 §3.2), 0 before there is one.
    #[inline]
    pub(crate) fn timestamps(&self, now: Instant) -> Timestamps {
        let echo = self.ts_recent.map_or(0, |(recent, _)| recent.0);
        Timestamps { value: Timestamp::at(now).0, echo }
    }

    /// Plans several ACKs for what has arrived since the last one.
    pub(crate) fn plan(&mut self, series: Series) {
        let next = self.stream.next();
        self.series.clear();
        match series {
            Series::Divided { parts } => {
                let whole = u64::from(next.since(self.last_ack_sent));
                let parts = u64::from(parts).min(whole);
                let share = |part: u64| self.last_ack_sent + (whole * part / parts.max(1)) as u32;
                self.series.extend((1..parts).map(share));
            }
            Series::Repeated { copies } => self.series.extend((0..copies).map(|_| next)),
            Series::Ahead { by } => {
                return self.series.push_back(next + u32::try_from(by.0).unwrap_or(u32::MAX >> 1));
            }
        }
        self.series.push_back(next);
    }

    /// What the ACK that goes out now acknowledges. A segment with data says it all at once.
    pub(crate) fn next_ack(&mut self, alone: bool) -> Seq {
        let next = self.stream.next();
        if self.series.is_empty() {
            return next;
        }
        let told = if alone { self.series.pop_front() } else { self.series.back().copied() };
        if !alone {
            self.series.clear();
        }
        // The last of them tells of all there is: a FIN may have come behind the data since they were planned.
        let told = told.unwrap_or(next);
        if self.series.is_empty() { told.max(next) } else { told }
    }

    /// The window field for a segment that goes out now and acknowledges `ack`, with `shift`; moves the
    /// offered edge.
    pub(crate) fn offer(&mut self, ack: Seq, shift: u8) -> u16 {
        let ahead = if ack.before(self.stream.next()) { self.stream.next().since(ack) } else { 0 };
        let offered = Bytes(u64::from(if ack.before(self.edge) { self.edge.since(ack) } else { 0 }));
        let room = self.window.room(&self.stream.held()) + Bytes(u64::from(ahead));
        // RFC 9293 §3.8.6.2.2: the edge moves by worthwhile steps only, and never back.
        let grows = room >= offered + self.worthwhile()
            || (room > offered && offered.is_zero() && room == self.greatest_window);
        let wanted = if grows { room } else { offered };
        let field = u16::try_from(wanted.0 >> shift).unwrap_or(u16::MAX);
        let said = Bytes(u64::from(field) << shift);
        if said > offered {
            self.edge = ack + u32::try_from(said.0).expect("a window is below 2^30");
        }
        field
    }

    /// Whether the user's reading has opened a window that was too small to use, so that the peer, which
    /// may be waiting, should be told (RFC 9293 §3.8.6.2.2).
    pub(crate) fn window_reopened(&mut self, shift: u8) -> bool {
        let offered = self.wnd();
        let room = self.window.room(&self.stream.held());
        let sayable = Bytes(room.0 >> shift << shift);
        offered < self.worthwhile() && sayable >= offered + self.worthwhile()
    }

    /// A step of the window that is worth telling: half the buffer or a full segment.
    fn worthwhile(&self) -> Bytes {
        (self.greatest_window / 2).min(self.full.max(Bytes(1)))
    }
}
