//! The receiver's half of Accurate ECN (RFC 9768 §3.2): what came with which ECN field, and when and how it is
//! reported.

use units::{Duration, Instant};
use wire::{AccEcn, AccEcnOrder, Ecn, Flags, Options};

use super::settings::AccEcnOption;

/// r.cep and s.cep at first (RFC 9768 §3.2.1): no value that a peer without the mechanism would send.
pub(super) const FIRST_CEP: u32 = 5;
/// Counters of the option wrap (RFC 9768 §3.2.1).
pub(super) const COUNTER_MASK: u32 = (1 << 24) - 1;
/// RFC 9768 §3.2.2.5.1: marks since the last ACK that make the next due, where data wait for an ACK.
const MARKS_PER_ACK: u32 = 2;
/// The same where only ACKs came, so that ACKs of ACKs die out.
const MARKS_PER_ACK_OF_ACKS: u32 = 3;
/// Bytes of options that a header has room for.
const OPTION_ROOM: u32 = 40;
/// Linux: options after a change (`accecn_opt_demand`), so that the second says unambiguously what came after the
/// first.
const OPTIONS_PER_CHANGE: u32 = 2;
/// Linux: options in a round trip without a change (`tcp_ecn_option_beacon`).
const OPTIONS_PER_ROUND_TRIP: u64 = 3;
/// Linux: SACK blocks that an option never takes the place of (`tcp_options_fit_accecn`).
const KEPT_BLOCKS: usize = 2;

/// The counters of the receiver. The names are the RFC's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// r.cep: packets that came as CE.
    cep: u32,
    /// r.e0b, r.ceb, r.e1b: bytes of payload.
    e0b: u32,
    ceb: u32,
    e1b: u32,
    /// Marks since the last segment that we sent.
    unsaid_marks: u32,
    /// The ECN field of the last segment, with data unless every change counts.
    last: Ecn,
    /// The ECN field of the peer's SYN or SYN-ACK.
    syn: Ecn,
    /// Whether the third segment of the handshake has yet to report that of the SYN-ACK.
    owes_third: bool,
    option: Reports,
}

/// The state of the option's sender.
#[derive(Clone, Copy, Debug)]
struct Reports {
    rule: AccEcnOption,
    /// The counters that the last option reported, as e0b, ceb, e1b.
    reported: (u32, u32, u32),
    /// Whether the peer has sent an option: only then the path lets options pass (RFC 9768 §3.2.3.2).
    seen: bool,
    /// Options that are due for a change.
    demanded: u32,
    /// The least number of counters that reports what has come since the last option, ECT(1) first.
    needed: u8,
    last: Instant,
}

impl Received {
    pub(super) fn new(rule: AccEcnOption) -> Self {
        let option =
            Reports { rule, reported: (0, 0, 0), seen: false, demanded: 0, needed: 0, last: Instant::START };
        Self {
            cep: FIRST_CEP,
            e0b: 1,
            ceb: 0,
            e1b: 1,
            unsaid_marks: 0,
            last: Ecn::NotCapable,
            syn: Ecn::NotCapable,
            owes_third: false,
            option,
        }
    }

    /// The peer's SYN or SYN-ACK has come.
    pub(super) fn on_syn(&mut self, ecn: Ecn, is_syn_ack: bool) {
        (self.syn, self.owes_third) = (ecn, is_syn_ack);
        self.cep = FIRST_CEP + u32::from(ecn == Ecn::Experienced);
        if !is_syn_ack && self.option.rule.acknowledges_changes() {
            self.last = ecn;
        }
        self.option.demanded = if is_syn_ack { OPTIONS_PER_CHANGE } else { 1 };
    }

    /// The peer repeats its SYN-ACK, so that our answer to it was lost.
    pub(super) const fn on_repeated_syn_ack(&mut self) {
        self.owes_third = true;
    }

    /// The peer has sent an option.
    pub(super) const fn on_option(&mut self) {
        self.option.seen = true;
    }

    /// The ECN field of the peer's SYN or SYN-ACK.
    pub(super) const fn syn(&self) -> Ecn {
        self.syn
    }

    /// Counts a packet of `len` bytes of payload that came; whether it makes an ACK due.
    pub(super) fn on_packet(&mut self, ecn: Ecn, len: u32) -> bool {
        let counter = match ecn {
            Ecn::NotCapable => None,
            Ecn::Capable => Some(&mut self.e0b),
            Ecn::Capable1 => Some(&mut self.e1b),
            Ecn::Experienced => Some(&mut self.ceb),
        };
        if let Some(counter) = counter {
            *counter = counter.wrapping_add(len) & COUNTER_MASK;
        }
        let marked = ecn == Ecn::Experienced;
        self.cep = self.cep.wrapping_add(u32::from(marked));
        self.unsaid_marks += u32::from(marked);
        if self.option.rule.acknowledges_changes() {
            return self.on_packet_of_linux(ecn, len);
        }
        if len == 0 {
            return self.unsaid_marks >= MARKS_PER_ACK_OF_ACKS;
        }
        // §3.2.2.5.1: change-triggered and increment-triggered ACKs.
        let first_mark = marked && self.last != Ecn::Experienced;
        self.last = ecn;
        first_mark || self.unsaid_marks >= MARKS_PER_ACK
    }

    /// Linux `tcp_ecn_received_counters`: each change of the field makes an ACK due and two options, each mark two
    /// options.
    fn on_packet_of_linux(&mut self, ecn: Ecn, len: u32) -> bool {
        if len > 0 {
            self.option.needed = self.option.needed.max(place_of(ecn));
        }
        let changed = self.last != ecn;
        if changed || ecn == Ecn::Experienced {
            self.option.demanded = OPTIONS_PER_CHANGE;
        }
        self.last = ecn;
        changed && len > 0
    }

    /// The ACE field of a segment that is sent, where it reports the counter; that of the handshake's third segment
    /// reports the ECN field of the SYN-ACK instead. `is_ack`: it carries no data.
    pub(super) fn cep(&mut self, is_ack: bool) -> Option<Flags> {
        self.unsaid_marks = 0;
        let is_third = std::mem::take(&mut self.owes_third) && is_ack;
        (!is_third).then(|| Flags::ace(self.cep))
    }

    /// Puts the first option into a SYN-ACK (Linux `tcp_synack_options`).
    pub(super) fn add_first_option(&self, options: &mut Options) {
        if self.option.rule.is_on_data() {
            fit(options, 0, |count| AccEcn::new(AccEcnOrder::Ect1First, 1, 0, 1, count));
        }
    }

    /// Puts the option into a segment, after the fields of all others.
    pub(super) fn add_option(&mut self, options: &mut Options, now: Instant, srtt: Option<Duration>) {
        match self.option.rule {
            AccEcnOption::Never => {}
            AccEcnOption::Acks => self.add_if_changed(options),
            AccEcnOption::Demand if !self.is_demanded(now, srtt) => {}
            AccEcnOption::Demand | AccEcnOption::Always => self.add_if_seen(options, now),
        }
    }

    fn is_demanded(&self, now: Instant, srtt: Option<Duration>) -> bool {
        let since = now.saturating_since(self.option.last);
        self.option.demanded > 0 || srtt.is_none_or(|srtt| since * OPTIONS_PER_ROUND_TRIP >= srtt)
    }

    /// Where a counter has changed since the last option (§3.2.3.3). What there is no room for is left out from its
    /// end, where the next option reports it.
    fn add_if_changed(&mut self, options: &mut Options) {
        let Self { e0b, ceb, e1b, .. } = *self;
        let reported = self.option.reported;
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
        let reported = &mut self.option.reported;
        reported.0 = option.ect0().unwrap_or(reported.0);
        reported.1 = option.ce().unwrap_or(reported.1);
        reported.2 = option.ect1().unwrap_or(reported.2);
    }

    /// Linux `tcp_established_options`: once the peer has sent one, ECT(1) first.
    fn add_if_seen(&mut self, options: &mut Options, now: Instant) {
        let Self { e0b, ceb, e1b, option, .. } = self;
        let of = |count| AccEcn::new(AccEcnOrder::Ect1First, *e0b, *ceb, *e1b, count);
        if option.seen && fit(options, option.needed, of) {
            (option.needed, option.last) = (0, now);
            option.demanded = option.demanded.saturating_sub(1);
        }
    }
}

/// The number of counters, ECT(1) first, with the one of this field.
const fn place_of(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable1 => 1,
        Ecn::Experienced => 2,
        Ecn::Capable => 3,
    }
}

/// Puts in the option with as many counters as there is room for, and not fewer than are `needed`, for which SACK
/// blocks beyond the second give way (Linux `tcp_options_fit_accecn`). Returns whether there was room.
fn fit(options: &mut Options, needed: u8, of: impl Fn(u8) -> AccEcn) -> bool {
    let before = *options;
    loop {
        for count in (needed..=3).rev() {
            options.accecn = Some(of(count));
            if options.wire_len() <= OPTION_ROOM {
                return true;
            }
        }
        if options.sack.len() <= KEPT_BLOCKS || needed == 0 {
            *options = before;
            return false;
        }
        options.sack.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Seq, SeqRange};
    use wire::Timestamps;

    fn linux() -> Received {
        let mut received = Received::new(AccEcnOption::Always);
        received.on_syn(Ecn::NotCapable, false);
        received
    }

    fn option_after(received: &mut Received, blocks: u32) -> Options {
        let mut options = Options { timestamps: Some(Timestamps::default()), ..Options::default() };
        for block in 0..blocks {
            options.sack.push(SeqRange::new(Seq(10 * block), 1));
        }
        received.add_option(&mut options, Instant::START, None);
        options
    }

    #[test]
    fn the_option_reports_what_has_changed_in_as_many_counters_as_fit() {
        let mut received = Received::new(AccEcnOption::Acks);
        received.add_option(&mut Options::default(), Instant::START, None);
        let mut options = Options::default();
        received.add_option(&mut options, Instant::START, None);
        assert_eq!(options.accecn, None, "nothing has changed");
        received.on_packet(Ecn::Capable1, 1000);
        received.add_option(&mut options, Instant::START, None);
        let option = options.accecn.expect("an option");
        assert_eq!((option.ect1(), option.ce(), option.ect0()), (Some(1001), Some(0), None));
        received.on_packet(Ecn::Experienced, 500);
        let mut full = Options { timestamps: Some(Timestamps::default()), ..Options::default() };
        for _ in 0..3 {
            full.sack.push(SeqRange::new(Seq(1), 1));
        }
        received.add_option(&mut full, Instant::START, None);
        assert_eq!(full.accecn, None, "there is no room");
    }

    #[test]
    fn as_in_linux_every_change_of_the_field_is_acknowledged_at_once() {
        let mut received = linux();
        let due = [Ecn::Capable, Ecn::Capable, Ecn::Experienced, Ecn::Experienced, Ecn::Capable1]
            .map(|ecn| received.on_packet(ecn, 1000));
        assert_eq!(due, [true, false, true, false, true]);
    }

    #[test]
    fn as_in_linux_no_option_is_sent_before_the_peer_has_sent_one() {
        let mut received = linux();
        assert_eq!(option_after(&mut received, 0).accecn, None);
        received.on_option();
        let option = option_after(&mut received, 0).accecn.expect("an option, though nothing has changed");
        assert_eq!((option.ect1(), option.ce(), option.ect0()), (Some(1), Some(0), Some(1)));
    }

    #[test]
    fn as_in_linux_sack_blocks_beyond_the_second_give_way_to_what_is_new() {
        let counters = |ecn, blocks| {
            let mut received = linux();
            received.on_option();
            received.on_packet(ecn, 1000);
            let options = option_after(&mut received, blocks);
            (options.accecn.map(|option| option.fields().len()), options.sack.len())
        };
        assert_eq!(counters(Ecn::Capable1, 1), (Some(3), 1));
        assert_eq!(counters(Ecn::Capable1, 3), (Some(2), 2));
        assert_eq!(counters(Ecn::Capable, 3), (None, 3), "ECT(0) is the third counter");
    }

    #[test]
    fn on_demand_two_options_follow_a_change_and_three_a_round_trip() {
        let mut received = Received::new(AccEcnOption::Demand);
        received.on_syn(Ecn::NotCapable, false);
        received.on_option();
        received.on_packet(Ecn::Experienced, 1000);
        let mut sends = |ms| {
            let mut options = Options::default();
            let at = Instant::START + Duration::from_millis(ms);
            received.add_option(&mut options, at, Some(Duration::from_millis(30)));
            options.accecn.is_some()
        };
        assert_eq!([1, 2, 3, 11, 13].map(&mut sends), [true, true, false, false, true]);
    }
}
