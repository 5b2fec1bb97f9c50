//! The window that the peer offers (SND.WND of RFC 9293 §3.3.1).

use units::{Bytes, Seq};

/// The peer's window, and what last changed it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerWindow {
    /// SND.WND.
    size: Bytes,
    /// The largest window that the peer has offered.
    greatest: Bytes,
    /// SND.WL1: the sequence number that last changed the window.
    wl1: Seq,
    /// SND.WL2: the acknowledgment that last changed the window.
    wl2: Seq,
}

impl PeerWindow {
    /// The window of the peer's SYN.
    pub(crate) const fn of_syn(size: Bytes, seq: Seq, ack: Seq) -> Self {
        Self { size, greatest: size, wl1: seq, wl2: ack }
    }

    /// The window begins after our SYN, which was not acknowledged yet.
    pub(crate) fn begin_after_syn(&mut self) {
        self.size += Bytes(1);
    }

    /// RFC 9293 §3.10.7.4: a newer segment brings the window; an older one must not. Whether it was newer.
    #[inline]
    pub(crate) fn update(&mut self, size: Bytes, seq: Seq, ack: Seq) -> bool {
        let newer = self.wl1.before(seq) || (self.wl1 == seq && self.wl2.at_or_before(ack));
        if newer {
            *self = Self { size, greatest: self.greatest.max(size), wl1: seq, wl2: ack };
        }
        newer
    }

    /// SND.WND.
    pub(crate) const fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.size.is_zero()
    }

    /// The largest window that the peer has offered.
    pub(crate) const fn greatest(&self) -> Bytes {
        self.greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_segment_does_not_bring_its_window() {
        let mut window = PeerWindow::of_syn(Bytes(1000), Seq(10), Seq(0));
        assert!(window.update(Bytes(500), Seq(20), Seq(5)));
        assert!(!window.update(Bytes(9000), Seq(19), Seq(9)));
        assert!(!window.update(Bytes(9000), Seq(20), Seq(4)));
        assert_eq!((window.size(), window.greatest()), (Bytes(500), Bytes(1000)));
    }
}
