//! The sequence numbers of a connection, and which numbers of the peer's packets are valid (RFC 4340 §7.5).

use wire::dccp::Kind;

use super::seqno::Seqno;

/// The numbers of an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Our first and our greatest number (ISS, GSS).
    first_sent: Seqno,
    greatest_sent: Seqno,
    /// The peer's first and its greatest valid number (ISR, GSR).
    received: Option<[Seqno; 2]>,
    /// The greatest acknowledgment number of the peer's (GAR).
    greatest_acked: Seqno,
    /// Our Sequence Window, W', and that of the peer, W (§7.5.2).
    window: u64,
    peers_window: u64,
}

/// What is done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is handled.
    Valid,
    /// It is dropped, and a Sync is sent (§7.5.4).
    Sync,
    /// It is dropped.
    Drop,
}

impl Numbers {
    pub(super) const fn new(first: Seqno) -> Self {
        Self {
            first_sent: first,
            greatest_sent: first.minus(1),
            received: None,
            greatest_acked: first,
            window: DEFAULT_WINDOW,
            peers_window: DEFAULT_WINDOW,
        }
    }

    /// The number of the next packet.
    pub(super) const fn next(&mut self) -> Seqno {
        self.greatest_sent = self.greatest_sent.plus(1);
        self.greatest_sent
    }

    pub(super) const fn greatest_sent(&self) -> Seqno {
        self.greatest_sent
    }

    /// Packets of ours after the greatest that the peer has acknowledged.
    pub(super) const fn unacknowledged(&self) -> u64 {
        let count = self.greatest_sent.since(self.greatest_acked);
        if count > 0 { count as u64 } else { 0 }
    }

    pub(super) const fn set_windows(&mut self, own: u64, peers: u64) {
        (self.window, self.peers_window) = (own, peers);
    }

    /// The peer's greatest number, which our packets acknowledge.
    pub(super) fn greatest_received(&self) -> Option<Seqno> {
        self.received.map(|[_, greatest]| greatest)
    }

    /// A valid packet, or the Request or Response that begins the peer's numbers.
    pub(super) fn on_valid(&mut self, kind: Kind, seq: Seqno, ack: Option<Seqno>) {
        let [first, greatest] = self.received.unwrap_or([seq, seq]);
        self.received = Some([first, greatest.latest(seq)]);
        // §8.5 step 6: a Sync may acknowledge a packet that is not the greatest.
        if let Some(ack) = ack.filter(|_| kind != Kind::Sync) {
            self.greatest_acked = self.greatest_acked.latest(ack);
        }
    }

    /// §7.5.3 and §8.5, steps 5 and 6.
    pub(super) fn judge(&self, kind: Kind, seq: Seqno, ack: Option<Seqno>) -> Verdict {
        let Some([first, greatest]) = self.received else { return Verdict::Valid };
        // §7.5.1.
        let low = greatest.plus(1).minus(self.peers_window / 4).latest(first);
        let high = greatest.plus((3 * self.peers_window).div_ceil(4));
        let ack_low = self.greatest_sent.plus(1).minus(self.window).latest(self.first_sent);
        let is_acked = |low| ack.is_none_or(|ack| ack.is_within(low, self.greatest_sent));
        match kind {
            Kind::Sync | Kind::SyncAck => {
                let is_valid = is_acked(ack_low) && seq.since(low) >= 0;
                if is_valid { Verdict::Valid } else { Verdict::Drop }
            }
            Kind::CloseReq | Kind::Close | Kind::Reset => {
                let is_valid = seq.is_within(greatest.plus(1), high) && is_acked(self.greatest_acked);
                if is_valid { Verdict::Valid } else { Verdict::Sync }
            }
            _ if seq.is_within(low, high) && is_acked(ack_low) => Verdict::Valid,
            _ => Verdict::Sync,
        }
    }
}

/// §7.5.2: the Sequence Window of a connection that has not negotiated another.
pub(super) const DEFAULT_WINDOW: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// An end that has sent the numbers 1000 to 1199 and received 5000 to 5199, with windows of 100.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::new(Seqno::new(1000));
        (0..200).for_each(|_| {
            numbers.next();
        });
        numbers.on_valid(Kind::Response, Seqno::new(5000), Some(Seqno::new(1000)));
        numbers.on_valid(Kind::Ack, Seqno::new(5199), Some(Seqno::new(1150)));
        numbers
    }

    fn judge(kind: Kind, seq: u64, ack: Option<u64>) -> Verdict {
        numbers().judge(kind, Seqno::new(seq), ack.map(Seqno::new))
    }

    #[test]
    fn the_window_is_a_quarter_below_and_three_quarters_above_the_greatest_number() {
        for (seq, verdict) in
            [(5174, Verdict::Sync), (5175, Verdict::Valid), (5274, Verdict::Valid), (5275, Verdict::Sync)]
        {
            assert_eq!(judge(Kind::Data, seq, None), verdict, "{seq}");
        }
    }

    #[test]
    fn acknowledgments_reach_back_by_our_window_and_never_beyond_what_was_sent() {
        for (ack, verdict) in
            [(1099, Verdict::Sync), (1100, Verdict::Valid), (1199, Verdict::Valid), (1200, Verdict::Sync)]
        {
            assert_eq!(judge(Kind::Ack, 5200, Some(ack)), verdict, "{ack}");
        }
    }

    #[test]
    fn what_ends_a_connection_must_be_new_and_a_sync_may_be_far_ahead() {
        assert_eq!(judge(Kind::Reset, 5199, Some(1150)), Verdict::Sync);
        assert_eq!(judge(Kind::Reset, 5200, Some(1149)), Verdict::Sync);
        assert_eq!(judge(Kind::Close, 5200, Some(1150)), Verdict::Valid);
        assert_eq!(judge(Kind::Sync, 900_000, Some(1150)), Verdict::Valid);
        assert_eq!(judge(Kind::SyncAck, 5100, Some(1150)), Verdict::Drop);
    }
}
