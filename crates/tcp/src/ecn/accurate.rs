//! Accurate ECN (RFC 9768): the receiver counts marked packets and the bytes that came with each ECN field, the ACE
//! field of every segment says the low three bits of the first, an option the others; the sender finds out from both
//! how many marks each ACK reports.

use units::Bytes;
use wire::{AccEcn, AccEcnOrder, Ecn, Flags, Options, Segment};

use super::EcnFeedback;

/// r.cep and s.cep at first (RFC 9768 §3.2.1): no value that a peer without the mechanism would send.
const FIRST_CEP: u32 = 5;
/// Values of the ACE field (RFC 9768 §3.2.2): three bits.
const DIVACE: u32 = 8;
/// Counters of the option wrap (RFC 9768 §3.2.1).
const COUNTER_MASK: u32 = (1 << 24) - 1;
/// RFC 9768 §3.2.2.5.1: marks since the last ACK that make the next due, where data wait for an ACK.
const MARKS_PER_ACK: u32 = 2;
/// The same where only ACKs came, so that ACKs of ACKs die out.
const MARKS_PER_ACK_OF_ACKS: u32 = 3;
/// Bytes of options that a header has room for.
const OPTION_ROOM: u32 = 40;

/// The three flags on a SYN that asks for Accurate ECN (RFC 9768 §3.1.1).
pub(super) const OFFER: Flags = Flags::ACE;

/// The ACE field that says in the handshake with which ECN field the peer's SYN or SYN-ACK came (RFC 9768 tables 2, 3).
pub(super) const fn handshake_ace(ecn: Ecn) -> Flags {
    Flags::ace(match ecn {
        Ecn::NotCapable => 0b010,
        Ecn::Capable1 => 0b011,
        Ecn::Capable => 0b100,
        Ecn::Experienced => 0b110,
    })
}

/// Mode agreed by a SYN-ACK with these flags, where our SYN asked for Accurate ECN (RFC 9768 table 2).
pub(super) const fn feedback_of_syn_ack(flags: Flags) -> EcnFeedback {
    match flags.ace_number() {
        0b010 | 0b011 | 0b100 | 0b110 => EcnFeedback::Accurate,
        // The second is that of a nonce (RFC 3540), which is classic to us.
        0b001 | 0b101 => EcnFeedback::Classic,
        // No ECN, or the flags of our SYN reflected.
        _ => EcnFeedback::Absent,
    }
}

/// The counters of one end, as receiver and as sender. The names are the RFC's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accurate {
    received: Received,
    /// s.cep: marked packets that the peer has reported.
    s_cep: u32,
    /// s.ceb of the last option, if there was one.
    s_ceb: Option<u32>,
    /// Marked bytes that ACKs without new data have reported; the next advancing ACK delivers them.
    carried: Bytes,
    /// Whether a first segment after the handshake is awaited, whose ACE field must not be 0.
    awaits_first: bool,
}

/// Counters of the receiver.
#[derive(Clone, Copy, Debug)]
struct Received {
    /// r.cep: packets that came as CE.
    cep: u32,
    /// r.e0b, r.ceb, r.e1b: bytes of payload.
    e0b: u32,
    ceb: u32,
    e1b: u32,
    /// The counters that the last option reported.
    reported: (u32, u32, u32),
    /// The ECN field of the last segment with data.
    last: Ecn,
    /// Marks since the last segment that we sent.
    unsaid_marks: u32,
    /// The ECN field of the peer's SYN or SYN-ACK.
    syn: Ecn,
    /// Whether the third segment of the handshake has yet to report that of the SYN-ACK.
    owes_third: bool,
}

impl Default for Accurate {
    fn default() -> Self {
        let received = Received {
            cep: FIRST_CEP,
            e0b: 1,
            ceb: 0,
            e1b: 1,
            reported: (0, 0, 0),
            last: Ecn::NotCapable,
            unsaid_marks: 0,
            syn: Ecn::NotCapable,
            owes_third: false,
        };
        Self { received, s_cep: FIRST_CEP, s_ceb: None, carried: Bytes::ZERO, awaits_first: true }
    }
}

/// Fault of the path or the peer that rules out sending ECN-capable packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The ECN field of our SYN or SYN-ACK, which was not capable, came changed (RFC 9768 §3.2.2.3).
    FieldChanged,
    /// The ACE field of the first segment is 0 (RFC 9768 §3.2.2.4).
    FieldCleared,
}

impl Fault {
    /// The reason in records.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::FieldChanged => "the path changes the ECN field of our SYN: nothing is sent as ECN-capable",
            Self::FieldCleared => "the path clears the ACE field: nothing is sent as ECN-capable",
        }
    }
}

impl Accurate {
    /// The peer's SYN has come.
    pub(super) fn on_syn(&mut self, ecn: Ecn) {
        self.received.syn = ecn;
        self.received.cep = FIRST_CEP + u32::from(ecn == Ecn::Experienced);
    }

    /// The flags of our SYN-ACK, which report the ECN field of the SYN (table 2).
    pub(super) fn answer(&self) -> Flags {
        handshake_ace(self.received.syn)
    }

    /// The peer's SYN-ACK has come; it reports the ECN field with which our SYN arrived.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment) -> Option<Fault> {
        self.on_syn(segment.ecn);
        self.received.owes_third = true;
        self.on_handshake_ace(segment.flags)
    }

    /// Our SYN and SYN-ACK go out as Not-ECT, so that any other field was changed on the way (§3.2.2.3).
    fn on_handshake_ace(&mut self, flags: Flags) -> Option<Fault> {
        match flags.ace_number() {
            0b110 => {
                self.s_cep = FIRST_CEP + 1;
                Some(Fault::FieldChanged)
            }
            0b011 | 0b100 => Some(Fault::FieldChanged),
            _ => None,
        }
    }

    /// A segment without SYN came. The first one reports on a listener's SYN-ACK (table 4); its ACE field is not 0,
    /// unless the path clears it or three marks came before.
    pub(super) fn check_first(&mut self, flags: Flags, ends_handshake: bool) -> Option<Fault> {
        if !std::mem::take(&mut self.awaits_first) {
            return None;
        }
        if flags.ace_number() == 0 {
            return Some(Fault::FieldCleared);
        }
        if ends_handshake { self.on_handshake_ace(flags) } else { None }
    }

    /// Counts a packet of `len` bytes of payload that came; whether it makes an ACK due.
    pub(super) fn on_packet(&mut self, ecn: Ecn, len: u32) -> bool {
        let received = &mut self.received;
        match ecn {
            Ecn::NotCapable => {}
            Ecn::Capable => received.e0b = received.e0b.wrapping_add(len) & COUNTER_MASK,
            Ecn::Capable1 => received.e1b = received.e1b.wrapping_add(len) & COUNTER_MASK,
            Ecn::Experienced => received.ceb = received.ceb.wrapping_add(len) & COUNTER_MASK,
        }
        let marked = ecn == Ecn::Experienced;
        received.cep = received.cep.wrapping_add(u32::from(marked));
        received.unsaid_marks += u32::from(marked);
        if len == 0 {
            return received.unsaid_marks >= MARKS_PER_ACK_OF_ACKS;
        }
        // §3.2.2.5.1: change-triggered and increment-triggered ACKs.
        let first_mark = marked && received.last != Ecn::Experienced;
        received.last = ecn;
        first_mark || received.unsaid_marks >= MARKS_PER_ACK
    }

    /// The ACE field of a segment that is sent; `is_ack`: it carries no data.
    pub(super) fn ace(&mut self, is_ack: bool) -> Flags {
        self.received.unsaid_marks = 0;
        if std::mem::take(&mut self.received.owes_third) && is_ack {
            return handshake_ace(self.received.syn);
        }
        Flags::ace(self.received.cep)
    }

    /// Puts the option into an ACK, after all others, where a counter has changed since the last one (§3.2.3.3). What
    /// there is no room for is left out from its end, where the next option reports it.
    pub(super) fn add_option(&mut self, options: &mut Options) {
        let Received { e0b, ceb, e1b, reported, .. } = self.received;
        let room = OPTION_ROOM.saturating_sub(options.wire_len());
        if reported == (e0b, ceb, e1b) || room < AccEcn::padded_len(1) {
            return;
        }
        let (order, last_changed) = match (e0b == reported.0, e1b == reported.2) {
            (true, false) => (AccEcnOrder::Ect1First, false),
            (_, unchanged) => (AccEcnOrder::Ect0First, !unchanged),
        };
        let wanted = if last_changed { 3 } else { 2 };
        let count = (1..=wanted).rev().find(|count| AccEcn::padded_len(*count) <= room).unwrap_or(1);
        let option = AccEcn::new(order, e0b, ceb, e1b, count);
        options.accecn = Some(option);
        let reported = &mut self.received.reported;
        reported.0 = option.ect0().unwrap_or(reported.0);
        reported.1 = option.ce().unwrap_or(reported.1);
        reported.2 = option.ect1().unwrap_or(reported.2);
    }

    /// The ACE field that a peer sends which has nothing new to report.
    pub(super) const fn expected_ace(&self) -> Flags {
        Flags::ace(self.s_cep)
    }

    /// An ACK has arrived that newly delivers `packets` segments and `bytes`; returns the number of marked bytes.
    pub(super) fn on_ack(&mut self, segment: &Segment, packets: u32, bytes: Bytes, smss: Bytes) -> Bytes {
        if packets == 0 && bytes.is_zero() {
            // It may be older than the last one (appendix A.1): its counter says nothing.
            return Bytes::ZERO;
        }
        let marked_bytes = self.on_option(segment.options.accecn.as_ref());
        let marked_packets = self.on_ace(segment.flags, packets.max(1), marked_bytes, smss);
        self.s_cep = self.s_cep.wrapping_add(marked_packets);
        let by_packets = smss * u64::from(marked_packets);
        marked_bytes.map_or(by_packets, |bytes| Bytes(u64::from(bytes))).min(bytes)
    }

    /// Marked bytes since the last option.
    fn on_option(&mut self, option: Option<&AccEcn>) -> Option<u32> {
        let ce = option?.ce()?;
        let before = self.s_ceb.replace(ce).unwrap_or(0);
        Some(ce.wrapping_sub(before) & COUNTER_MASK)
    }

    /// Marked packets since the last ACK (appendix A.2): where the field may have wrapped in between, as many as can
    /// be, unless the option reports fewer bytes.
    fn on_ace(&self, flags: Flags, packets: u32, marked_bytes: Option<u32>, smss: Bytes) -> u32 {
        let least = flags.ace_number().wrapping_sub(self.s_cep) % DIVACE;
        if packets < DIVACE {
            return least;
        }
        let most = packets - (packets.wrapping_sub(least) % DIVACE);
        let Some(marked_bytes) = marked_bytes else { return most };
        // A.2.2: fewer bytes than half of those in as many full packets.
        let wrapped = u64::from(marked_bytes) > smss.0 * u64::from(least)
            && u64::from(marked_bytes) * 2 >= smss.0 * u64::from(most);
        if wrapped { most } else { least }
    }

    /// Marked bytes for an ACK that advances, with those which earlier ones have reported; those of any other are kept.
    pub(super) fn carry(&mut self, marked: Bytes, advances: bool) -> Bytes {
        self.carried += marked;
        if advances { std::mem::take(&mut self.carried) } else { Bytes::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn ack(cep: u32, ce: Option<u32>) -> Segment {
        let accecn = ce.map(|ce| AccEcn::new(AccEcnOrder::Ect0First, 1, ce, 1, 3));
        let options = Options { accecn, ..Options::default() };
        Segment { flags: Flags::ACK.with(Flags::ace(cep)), options, ..Segment::default() }
    }

    // RFC 9768 table 2.
    #[test]
    fn a_syn_ack_agrees_to_what_the_table_says() {
        use EcnFeedback::{Absent, Accurate, Classic};
        let expected = [Absent, Classic, Accurate, Accurate, Accurate, Classic, Accurate, Absent];
        for (ace, feedback) in (0..8).zip(expected) {
            assert_eq!(feedback_of_syn_ack(Flags::ace(ace)), feedback, "{ace:03b}");
        }
    }

    #[test]
    fn the_counter_begins_at_five_and_its_low_bits_are_reported() {
        let mut accurate = Accurate::default();
        assert_eq!(accurate.ace(true), Flags::ace(5));
        for _ in 0..4 {
            accurate.on_packet(Ecn::Experienced, 1000);
        }
        assert_eq!(accurate.ace(true), Flags::ace(9 % 8));
    }

    #[test]
    fn the_third_segment_reports_the_field_of_the_syn_ack() {
        for (ecn, ace) in [(Ecn::NotCapable, 0b010), (Ecn::Capable1, 0b011), (Ecn::Capable, 0b100)] {
            let mut accurate = Accurate::default();
            accurate.on_syn_ack(&Segment { ecn, flags: Flags::ace(0b010), ..Segment::default() });
            assert_eq!((accurate.ace(true), accurate.ace(true)), (Flags::ace(ace), Flags::ace(5)));
        }
    }

    #[test]
    fn the_first_mark_and_every_second_one_make_an_ack_due() {
        let mut accurate = Accurate::default();
        let due = |accurate: &mut Accurate, ecn| accurate.on_packet(ecn, 1000);
        assert!(!due(&mut accurate, Ecn::Capable1));
        assert!(due(&mut accurate, Ecn::Experienced));
        accurate.ace(true);
        assert!(!due(&mut accurate, Ecn::Experienced));
        assert!(due(&mut accurate, Ecn::Experienced));
        accurate.ace(true);
        assert!(!due(&mut accurate, Ecn::Capable1), "back to unmarked makes none due");
    }

    #[test]
    fn marks_are_counted_from_the_field_and_the_option_says_their_bytes() {
        let mut sender = Accurate::default();
        assert_eq!(sender.on_ack(&ack(7, None), 2, SMSS * 2, SMSS), SMSS * 2);
        assert_eq!(sender.on_ack(&ack(7, Some(1_500)), 2, SMSS * 2, SMSS), Bytes(1_500));
        assert_eq!(sender.on_ack(&ack(7, Some(1_500)), 2, SMSS * 2, SMSS), Bytes::ZERO);
        // From 7 over 0 to 1.
        assert_eq!(sender.on_ack(&ack(9, Some(3_500)), 3, SMSS * 3, SMSS), SMSS * 2);
        assert_eq!(sender.s_cep, 9);
    }

    // Appendix A.2.1: of 20 packets 2 or 10 or 18 may be marked; without the option the greatest number is safe.
    #[test]
    fn where_the_field_may_have_wrapped_as_many_marks_as_can_be_are_counted() {
        let mut safe = Accurate::default();
        safe.on_ack(&ack(7, None), 20, SMSS * 20, SMSS);
        assert_eq!(safe.s_cep - FIRST_CEP, 18);
        for (bytes, marks) in [(2_000, 2), (18_000, 18)] {
            let mut reported = Accurate::default();
            reported.on_ack(&ack(7, Some(bytes)), 20, SMSS * 20, SMSS);
            assert_eq!(reported.s_cep - FIRST_CEP, marks, "with {bytes} bytes");
        }
    }

    #[test]
    fn an_ack_that_delivers_nothing_may_be_old_and_counts_no_marks() {
        let mut sender = Accurate::default();
        assert_eq!(sender.on_ack(&ack(4, None), 0, Bytes::ZERO, SMSS), Bytes::ZERO);
        assert_eq!(sender.s_cep, FIRST_CEP);
    }

    #[test]
    fn a_changed_or_cleared_field_is_found_in_the_handshake() {
        let syn_ack = |ace| Segment { flags: Flags::ace(ace), ..Segment::default() };
        let client = |ace| Accurate::default().on_syn_ack(&syn_ack(ace));
        assert_eq!((client(0b010), client(0b100)), (None, Some(Fault::FieldChanged)));
        let server = |ace| Accurate::default().check_first(Flags::ace(ace), true);
        assert_eq!((server(0b010), server(0b101)), (None, None));
        assert_eq!((server(0b011), server(0)), (Some(Fault::FieldChanged), Some(Fault::FieldCleared)));
    }

    #[test]
    fn the_option_reports_what_has_changed_in_as_many_counters_as_fit() {
        let mut accurate = Accurate::default();
        accurate.add_option(&mut Options::default());
        let mut options = Options::default();
        accurate.add_option(&mut options);
        assert_eq!(options.accecn, None, "nothing has changed");
        accurate.on_packet(Ecn::Capable1, 1000);
        accurate.add_option(&mut options);
        let option = options.accecn.expect("an option");
        assert_eq!((option.ect1(), option.ce(), option.ect0()), (Some(1001), Some(0), None));
        accurate.on_packet(Ecn::Experienced, 500);
        let mut full = Options { timestamps: Some(wire::Timestamps::default()), ..Options::default() };
        for _ in 0..3 {
            full.sack.push(units::SeqRange::new(units::Seq(1), 1));
        }
        accurate.add_option(&mut full);
        assert_eq!(full.accecn, None, "there is no room");
    }
}
