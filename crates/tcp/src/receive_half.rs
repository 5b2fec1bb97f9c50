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
    /// Whether other connections have a part in the window.
    pub shares_window: bool,
    pub greatest_window: Bytes,
    /// Whether the window is told of data that arrive.
    pub tunes_window: bool,
    pub ack_policy: Box<dyn AckPolicy>,
    pub ack_due: AckDue,
    /// The acknowledgment numbers of the next ACKs, where the policy wants several at once.
    pub planned_acks: VecDeque<Seq>,
    /// Data of the largest segment that the peer has sent.
    pub largest_segment: Bytes,
    /// Data that arrived twice; the next ACK reports them (D-SACK, RFC 2883 §4).
    pub duplicate: Option<SeqRange>,
    /// Sequence number of the peer's FIN, once that has arrived and while data before it are missing.
    pub fin_at: Option<Seq>,
    pub stream_received: Bytes,
    /// The user reads no more, and data that come once our own stream is closed reset the connection.
    pub shut: bool,
    /// TS.Recent and when it was taken (RFC 7323 §4.3 and §5.5).
    pub ts_recent: Option<(Timestamp, Instant)>,
    /// Last.ACK.sent (RFC 7323 §4.3).
    pub last_ack_sent: Seq,
}

/// Whether an acknowledgment is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDue {
    /// It is not.
    No,
    /// It is when the delayed-ACK timer runs out; a segment sent before carries it.
    Delayed,
    /// It is now.
    Now,
    /// It is now, for the window's sake alone: the window is open again.
    WindowUpdate,
}

impl Receiving {
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
            stream_received: Bytes::ZERO,
            shut: false,
            ts_recent: None,
            last_ack_sent: Seq::default(),
        }
    }

    /// The peer's SYN has arrived; its sequence number is `irs`.
    pub(crate) fn start(&mut self, irs: Seq) {
        self.irs = irs;
        self.window.enter();
        self.stream = Reassembly::new(irs + 1);
        self.edge = irs + 1;
        self.last_ack_sent = irs + 1;
    }

    /// The peer's SYN brings data that are to be taken in: the window is open before our SYN-ACK has said so (RFC 7413
    /// §4.2.1).
    pub(crate) fn open_for_syn(&mut self) {
        self.edge = self.stream.next() + u32::from(self.offer_on_syn());
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2).
    pub(crate) fn offer_on_syn(&mut self) -> u16 {
        let room = self.window.room(&self.stream.held());
        u16::try_from(room.0).unwrap_or(u16::MAX)
    }

    /// RCV.WND: the window as the peer knows it.
    pub(crate) fn wnd(&self) -> Bytes {
        Bytes(u64::from(self.edge.since(self.stream.next())))
    }

    /// A SACK block, with the FIN behind it if that has arrived too: the FIN is a sequence number like any other
    /// (RFC 2018 §3).
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

    /// The timestamps option of a segment that is sent now: our clock, and TS.Recent, 0 before there is one (RFC 7323
    /// §3.2).
    #[inline]
    pub(crate) fn timestamps(&self, now: Instant) -> Timestamps {
        let echo = self.ts_recent.map_or(0, |(recent, _)| recent.0);
        Timestamps { value: Timestamp::at(now).0, echo }
    }

    /// Plans several ACKs for what has arrived since the last one.
    pub(crate) fn plan_acks(&mut self, series: Series) {
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

    /// The acknowledgment number of a segment that is sent now. One that is not `alone` an ACK acknowledges everything.
    pub(crate) fn next_ack(&mut self, alone: bool) -> Seq {
        let next = self.stream.next();
        if self.planned_acks.is_empty() {
            return next;
        }
        let ack = if alone { self.planned_acks.pop_front() } else { self.planned_acks.back().copied() };
        if !alone {
            self.planned_acks.clear();
        }
        // The last one acknowledges everything: a FIN may have come behind the data since the ACKs were planned.
        let ack = ack.unwrap_or(next);
        if self.planned_acks.is_empty() { ack.max(next) } else { ack }
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
    pub(crate) fn window_reopened(&mut self, shift: u8) -> bool {
        let (offered, step) = (self.wnd(), self.least_step());
        if offered >= step && !self.shares_window {
            return false;
        }
        // Connections that share a window hear of each other's reading by this.
        let room = self.window.room(&self.stream.held());
        let in_field_units = Bytes(room.0 >> shift << shift);
        offered < step && in_field_units >= offered + step
    }

    /// The least step by which the right edge moves: half the buffer or a full segment (RFC 9293 §3.8.6.2.2).
    fn least_step(&self) -> Bytes {
        (self.greatest_window / 2).min(self.largest_segment.max(Bytes(1)))
    }
}
