//! Accurate ECN (RFC 9768): the receiver counts marked packets and the bytes that came with each ECN field, the ACE
//! field of every segment says the low three bits of the first, an option the others; the sender finds out from both
//! how many marks each ACK reports.

use units::{Bytes, Duration, Instant};
use wire::{AccEcn, Ecn, Flags, Options, Segment};

use super::EcnFeedback;
use super::received::{COUNTER_MASK, FIRST_CEP, Received};
use super::settings::{AccEcnOption, EcnCapable};
use crate::config::Plain;

/// Values of the ACE field (RFC 9768 §3.2.2): three bits.
const DIVACE: u32 = 8;
/// Linux `ACK_COMP_THRESH`: four packets for an ACK, in 64ths.
const RARE_ACKS: u32 = 4 << 6;

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
    /// The ECN field with which our SYN or SYN-ACK leaves.
    sent_syn: Ecn,
    /// Whether all segments are ECN-capable, and not only new data.
    marks_all: bool,
    option: AccEcnOption,
    /// s.cep: marked packets that the peer has reported.
    s_cep: u32,
    /// s.e0b, s.ceb, s.e1b of the last option.
    s_e0b: u32,
    s_ceb: u32,
    s_e1b: u32,
    /// Packets that an ACK delivers, smoothed, in 64ths (Linux `pkts_acked_ewma`).
    packets_per_ack: u32,
    /// Marked bytes that ACKs without new data have reported; the next advancing ACK delivers them.
    carried: Bytes,
    /// Whether a first segment after the handshake is awaited, whose ACE field must not be 0.
    awaits_first: bool,
}

/// What a peer has reported of what we sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounters {
    /// Packets that arrived as CE.
    pub marked_packets: u32,
    /// Bytes that arrived as CE, by the last AccECN option.
    pub marked: Bytes,
    /// Bytes that arrived as ECT(0), by the last AccECN option.
    pub capable: Bytes,
    /// Bytes that arrived as ECT(1), by the last AccECN option.
    pub capable_1: Bytes,
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
    pub(super) fn new(plain: &Plain) -> Self {
        let marks_all = plain.ecn_capable == EcnCapable::All;
        Self {
            received: Received::new(plain.accecn_option),
            sent_syn: if marks_all && plain.l4s { Ecn::Capable1 } else { Ecn::NotCapable },
            marks_all,
            option: plain.accecn_option,
            s_cep: FIRST_CEP,
            s_e0b: 1,
            s_ceb: 0,
            s_e1b: 1,
            packets_per_ack: 0,
            carried: Bytes::ZERO,
            awaits_first: true,
        }
    }

    /// The peer's SYN has come.
    pub(super) fn on_syn(&mut self, ecn: Ecn) {
        self.received.on_syn(ecn, false);
    }

    /// The flags of our SYN-ACK, which report the ECN field of the SYN (table 2).
    pub(super) fn answer(&self) -> Flags {
        handshake_ace(self.received.syn())
    }

    /// The peer's SYN-ACK has come; it reports the ECN field with which our SYN arrived.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment) -> Option<Fault> {
        self.received.on_syn(segment.ecn, true);
        self.note_option(segment);
        self.on_handshake_ace(segment.flags)
    }

    /// The peer repeats its SYN-ACK: the answer reports its ECN field again (§3.2.2.1).
    pub(super) const fn on_repeated_syn_ack(&mut self) {
        self.received.on_repeated_syn_ack();
    }

    /// An option shows that the path lets options pass.
    pub(super) const fn note_option(&mut self, segment: &Segment) {
        if segment.options.accecn.is_some() {
            self.received.on_option();
        }
    }

    /// Whether data carry the option from the moment at which the peer has sent one.
    pub(super) fn is_always_on_data(&self) -> bool {
        self.option == AccEcnOption::Always
    }

    /// Whether data may carry the option.
    pub(super) fn is_on_data(&self) -> bool {
        self.option.is_on_data()
    }

    /// The ECN field with which our SYN or SYN-ACK leaves.
    pub(super) const fn sent_syn(&self) -> Ecn {
        self.sent_syn
    }

    /// Whether a segment leaves as ECN-capable, which may have new data.
    pub(super) const fn is_capable(&self, new_data: bool) -> bool {
        new_data || self.marks_all
    }

    /// A mark on a SYN or SYN-ACK is one, and ECT(0) and ECT(1) may be exchanged; any other change is a fault
    /// (§3.2.2.3).
    fn on_handshake_ace(&mut self, flags: Flags) -> Option<Fault> {
        let arrived = match flags.ace_number() {
            0b010 => Ecn::NotCapable,
            0b011 => Ecn::Capable1,
            0b100 => Ecn::Capable,
            0b110 => Ecn::Experienced,
            _ => return None,
        };
        if arrived == Ecn::Experienced {
            self.s_cep = FIRST_CEP + 1;
        }
        let changed = (arrived == Ecn::NotCapable) != (self.sent_syn == Ecn::NotCapable);
        changed.then_some(Fault::FieldChanged)
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
        self.received.on_packet(ecn, len)
    }

    /// The ACE field of a segment that is sent; `is_ack`: it carries no data.
    pub(super) fn ace(&mut self, is_ack: bool) -> Flags {
        self.received.cep(is_ack).unwrap_or_else(|| handshake_ace(self.received.syn()))
    }

    /// Puts the first option into a SYN-ACK.
    pub(super) fn add_first_option(&self, options: &mut Options) {
        self.received.add_first_option(options);
    }

    /// Puts the option into a segment, after the fields of all others.
    pub(super) fn add_option(&mut self, options: &mut Options, now: Instant, srtt: Option<Duration>) {
        self.received.add_option(options, now, srtt);
    }

    /// What the peer has reported.
    pub(super) fn counters(&self) -> EcnCounters {
        let bytes = |counter: u32, first| Bytes(u64::from(counter.wrapping_sub(first) & COUNTER_MASK));
        EcnCounters {
            marked_packets: self.s_cep.wrapping_sub(FIRST_CEP),
            marked: bytes(self.s_ceb, 0),
            capable: bytes(self.s_e0b, 1),
            capable_1: bytes(self.s_e1b, 1),
        }
    }

    /// The ACE field that a peer sends which has nothing new to report.
    pub(super) const fn expected_ace(&self) -> Flags {
        Flags::ace(self.s_cep)
    }

    /// An ACK has arrived that newly delivers `packets` segments and `bytes`, or `is_newer` by its clock than the last
    /// one; returns the number of marked bytes.
    pub(super) fn on_ack(
        &mut self,
        segment: &Segment,
        (packets, bytes): (u32, Bytes),
        is_newer: bool,
        smss: Bytes,
    ) -> Bytes {
        // Without either it may be older than the last one (appendix A.1), and its counter says nothing.
        let is_newer = is_newer && self.option.acknowledges_changes();
        if packets == 0 && bytes.is_zero() && !is_newer {
            return Bytes::ZERO;
        }
        self.count_packets(packets);
        let marked_bytes = self.on_option(segment.options.accecn.as_ref());
        let marked_packets = self.on_ace(segment.flags, packets.max(1), marked_bytes, smss);
        self.s_cep = self.s_cep.wrapping_add(marked_packets);
        let by_packets = smss * u64::from(marked_packets);
        let marked = marked_bytes.map_or(by_packets, |bytes| Bytes(u64::from(bytes)));
        // Marks of an ACK that delivers nothing are those of ACKs that we sent, or of data that came twice.
        marked.min(bytes)
    }

    fn count_packets(&mut self, packets: u32) {
        self.packets_per_ack = match (self.packets_per_ack, packets) {
            (before, 0) => before,
            (0, first) => first << 6,
            (before, next) => (before * 63 + (next << 6)) >> 6,
        };
    }

    /// Marked bytes since the last option.
    fn on_option(&mut self, option: Option<&AccEcn>) -> Option<u32> {
        let option = option?;
        self.s_e0b = option.ect0().unwrap_or(self.s_e0b);
        self.s_e1b = option.ect1().unwrap_or(self.s_e1b);
        let ce = option.ce()?;
        let before = std::mem::replace(&mut self.s_ceb, ce);
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
        // Linux: where ACKs are usually so rare, a path or a receiver thins them out.
        let thinned = self.option.acknowledges_changes() && self.packets_per_ack > RARE_ACKS;
        let Some(marked_bytes) = marked_bytes else { return if thinned { least } else { most } };
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
    use wire::AccEcnOrder;

    const SMSS: Bytes = Bytes(1000);

    fn accurate() -> Accurate {
        Accurate::new(&Plain::default())
    }

    fn on_ack(sender: &mut Accurate, segment: &Segment, packets: u32) -> Bytes {
        sender.on_ack(segment, (packets, SMSS * u64::from(packets)), false, SMSS)
    }

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
        let mut accurate = accurate();
        assert_eq!(accurate.ace(true), Flags::ace(5));
        for _ in 0..4 {
            accurate.on_packet(Ecn::Experienced, 1000);
        }
        assert_eq!(accurate.ace(true), Flags::ace(9 % 8));
    }

    #[test]
    fn the_third_segment_reports_the_field_of_the_syn_ack() {
        for (ecn, ace) in [(Ecn::NotCapable, 0b010), (Ecn::Capable1, 0b011), (Ecn::Capable, 0b100)] {
            let mut accurate = accurate();
            accurate.on_syn_ack(&Segment { ecn, flags: Flags::ace(0b010), ..Segment::default() });
            assert_eq!((accurate.ace(true), accurate.ace(true)), (Flags::ace(ace), Flags::ace(5)));
        }
    }

    #[test]
    fn the_first_mark_and_every_second_one_make_an_ack_due() {
        let mut accurate = accurate();
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
        let mut sender = accurate();
        assert_eq!(on_ack(&mut sender, &ack(7, None), 2), SMSS * 2);
        assert_eq!(on_ack(&mut sender, &ack(7, Some(1_500)), 2), Bytes(1_500));
        assert_eq!(on_ack(&mut sender, &ack(7, Some(1_500)), 2), Bytes::ZERO);
        // From 7 over 0 to 1.
        assert_eq!(on_ack(&mut sender, &ack(9, Some(3_500)), 3), SMSS * 2);
        assert_eq!(sender.s_cep, 9);
    }

    // Appendix A.2.1: of 20 packets 2 or 10 or 18 may be marked; without the option the greatest number is safe.
    #[test]
    fn where_the_field_may_have_wrapped_as_many_marks_as_can_be_are_counted() {
        let mut safe = accurate();
        on_ack(&mut safe, &ack(7, None), 20);
        assert_eq!(safe.s_cep - FIRST_CEP, 18);
        for (bytes, marks) in [(2_000, 2), (18_000, 18)] {
            let mut reported = accurate();
            on_ack(&mut reported, &ack(7, Some(bytes)), 20);
            assert_eq!(reported.s_cep - FIRST_CEP, marks, "with {bytes} bytes");
        }
    }

    // Linux `pkts_acked_ewma`.
    #[test]
    fn where_acks_are_rare_linux_counts_the_smallest_number() {
        let plain = Plain { accecn_option: AccEcnOption::Never, ..Plain::default() };
        let mut sender = Accurate::new(&plain);
        assert_eq!(on_ack(&mut sender, &ack(7, None), 20), SMSS * 2);
        let mut often = Accurate::new(&plain);
        for _ in 0..50 {
            on_ack(&mut often, &ack(5, None), 2);
        }
        assert_eq!(on_ack(&mut often, &ack(7, None), 20), SMSS * 18);
    }

    #[test]
    fn an_ack_that_delivers_nothing_may_be_old_and_counts_no_marks() {
        let mut sender = accurate();
        assert_eq!(on_ack(&mut sender, &ack(4, None), 0), Bytes::ZERO);
        assert_eq!(sender.s_cep, FIRST_CEP);
    }

    #[test]
    fn a_changed_or_cleared_field_is_found_in_the_handshake() {
        let syn_ack = |ace| Segment { flags: Flags::ace(ace), ..Segment::default() };
        let client = |ace| accurate().on_syn_ack(&syn_ack(ace));
        assert_eq!((client(0b010), client(0b100)), (None, Some(Fault::FieldChanged)));
        let server = |ace| accurate().check_first(Flags::ace(ace), true);
        assert_eq!((server(0b010), server(0b101)), (None, None));
        assert_eq!((server(0b011), server(0)), (Some(Fault::FieldChanged), Some(Fault::FieldCleared)));
    }
}
