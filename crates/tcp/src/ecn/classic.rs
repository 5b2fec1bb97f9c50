//! Classic ECN feedback (RFC 3168), and that of DCTCP, which uses the same flags (RFC 8257 §3.2).

use wire::{Ecn, Flags, Segment};

/// The state of one end, as receiver and as sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Classic {
    /// The receiver has seen a mark, and echoes it until the sender says that it has reduced its window. With DCTCP:
    /// DCTCP.CE, whether the last segment was marked.
    echoing: bool,
    /// The sender has reduced its window, and has yet to say so.
    reduced: bool,
}

impl Classic {
    /// A packet with data arrived (RFC 3168 §6.1.3); whether it was marked. A mark that comes with CWR is echoed anew.
    pub(super) fn on_data(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let marked = ecn == Ecn::Experienced;
        // One store: rustc before 1.96.1 compiles a reset and `|= marked` wrongly (docs/compiler.md).
        self.echoing = marked || (self.echoing && !flags.contains(Flags::CWR));
        marked
    }

    /// Whether a segment with this ECN field changes DCTCP.CE.
    pub(super) fn changes(&self, ecn: Ecn) -> bool {
        self.echoing != (ecn == Ecn::Experienced)
    }

    /// DCTCP.CE becomes what this ECN field says.
    pub(super) fn set_echo(&mut self, ecn: Ecn) {
        self.echoing = ecn == Ecn::Experienced;
    }

    /// An echo has reduced the window: the next new data say so.
    pub(super) fn on_reduced(&mut self) {
        self.reduced = true;
    }

    /// Flags and ECN field of a segment that is sent.
    pub(super) fn write(&mut self, segment: &mut Segment, new_data: bool) {
        if self.echoing {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if new_data {
            segment.ecn = Ecn::Capable;
            if std::mem::take(&mut self.reduced) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
    }
}

/// Whether the flags of a SYN or SYN-ACK offer it (RFC 3168 §6.1.1). On a SYN-ACK both flags together would
/// be a mere copy of the SYN's, as broken peers send it.
pub(super) fn offers(flags: Flags) -> bool {
    let expected = if flags.contains(Flags::ACK) { Flags::ECE } else { OFFER };
    flags.contains(expected) && (expected == OFFER || !flags.contains(Flags::CWR))
}

/// The flags on a SYN that asks for classic ECN.
pub(super) const OFFER: Flags = Flags::ECE.with(Flags::CWR);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_echoed_until_the_sender_says_that_it_has_reduced() {
        let mut ecn = Classic::default();
        assert!(ecn.on_data(Flags::ACK, Ecn::Experienced));
        for (arrives, echoes) in [(Flags::ACK, true), (Flags::ACK.with(Flags::CWR), false)] {
            ecn.on_data(arrives, Ecn::Capable);
            let mut ack = Segment::default();
            ecn.write(&mut ack, false);
            assert_eq!(ack.flags.contains(Flags::ECE), echoes);
        }
    }

    #[test]
    fn the_sender_says_once_that_it_has_reduced_and_on_new_data_only() {
        let mut ecn = Classic::default();
        ecn.on_reduced();
        for (new_data, says) in [(false, false), (true, true), (true, false)] {
            let mut segment = Segment::default();
            ecn.write(&mut segment, new_data);
            assert_eq!(segment.flags.contains(Flags::CWR), says);
        }
    }
}
