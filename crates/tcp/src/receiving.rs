//! The receiving half of a connection: the peer's stream, the window offered, the acknowledgment owed.

use units::{Bytes, Instant, Seq, SeqRange};

use crate::Config;
use crate::ack::AckPolicy;
use crate::reassembly::Reassembly;
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
    /// The largest segment that the peer has sent.
    pub full: Bytes,
    /// A segment that arrived twice, to be reported once (RFC 2883 §4).
    pub twice: Option<SeqRange>,
    /// Where the peer's FIN stands, once it is known.
    pub fin_at: Option<Seq>,
    pub stream_received: Bytes,
    /// TS.Recent and when it was taken (RFC 7323 §4.3 and §5.5).
    pub ts_recent: Option<(u32, Instant)>,
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
        self.stream = Reassembly::new(irs + 1);
        self.edge = irs + 1;
        self.last_ack_sent = irs + 1;
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

    /// The window field for a segment that goes out now, with `shift`; moves the offered edge.
    pub(crate) fn offer(&mut self, shift: u8) -> u16 {
        let offered = self.wnd();
        let room = self.window.room(&self.stream.held());
        // RFC 9293 §3.8.6.2.2: the edge moves by worthwhile steps only, and never back.
        let grows = room >= offered + self.worthwhile()
            || (room > offered && offered.is_zero() && room == self.greatest_window);
        let wanted = if grows { room } else { offered };
        let field = u16::try_from(wanted.0 >> shift).unwrap_or(u16::MAX);
        let said = Bytes(u64::from(field) << shift);
        if said > offered {
            self.edge = self.stream.next() + u32::try_from(said.0).expect("a window is below 2^30");
        }
        field
    }

    /// Whether the user's reading has opened a window that was too small to use, so that the peer, which
    /// may be waiting, should be told (RFC 9293 §3.8.6.2.2).
    pub(crate) fn window_reopened(&self, shift: u8) -> bool {
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
