//! Feature negotiation (RFC 4340 §6): the values that both ends use, and the options that change them.
//!
//! The server's preferences decide on a feature with a list of values (§6.3.1); the end that has a feature with a
//! number sets it (§6.3.2). A Change is sent until it is confirmed; what was overtaken by a newer one is ignored
//! (§6.6.4).

use units::{Duration, Instant};
use wire::dccp::{Feature, FeatureOption, Kind};

use super::seqno::Seqno;
use super::validity::DEFAULT_WINDOW;

/// The features of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) ccid: u8,
    pub(super) allow_short: bool,
    pub(super) sequence_window: u64,
    pub(super) ecn_incapable: bool,
    pub(super) ack_ratio: u16,
    pub(super) ack_vector: bool,
    pub(super) ndp_count: bool,
    pub(super) loss_event_rate: bool,
}

/// §6.4 and RFC 4342 §8.4: the values before any negotiation.
const INITIAL: Values = Values {
    ccid: 2,
    allow_short: false,
    sequence_window: DEFAULT_WINDOW,
    ecn_incapable: false,
    ack_ratio: 2,
    ack_vector: false,
    ndp_count: false,
    loss_event_rate: false,
};

/// The negotiations of a connection.
#[derive(Debug)]
pub(super) struct Features {
    is_server: bool,
    /// Features located here, and at the peer.
    pub(super) local: Values,
    pub(super) remote: Values,
    wanted: Vec<Wanted>,
    confirms: Vec<FeatureOption>,
    /// The greatest number of a packet with options of features (FGSR, §6.6.4).
    greatest: Option<Seqno>,
}

/// A change that is not confirmed yet.
#[derive(Debug)]
struct Wanted {
    feature: Feature,
    is_remote: bool,
    value: Vec<u8>,
    /// The first packet with it: a Confirm that acknowledges an earlier one is of an earlier value.
    since: Option<Seqno>,
    sent: Option<Instant>,
    times: u32,
}

/// What an option means for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing has changed.
    Nothing,
    /// A value here or at the peer may have changed.
    Changed,
    /// A mandatory change was refused.
    Refused,
}

impl Features {
    pub(super) const fn new(is_server: bool) -> Self {
        Self {
            is_server,
            local: INITIAL,
            remote: INITIAL,
            wanted: Vec::new(),
            confirms: Vec::new(),
            greatest: None,
        }
    }

    /// Begins to change a feature, of this end or of the peer.
    pub(super) fn change(&mut self, feature: Feature, is_remote: bool, value: &[u8]) {
        self.wanted.retain(|wanted| (wanted.feature, wanted.is_remote) != (feature, is_remote));
        let value = value.to_vec();
        self.wanted.push(Wanted { feature, is_remote, value, since: None, sent: None, times: 0 });
    }

    /// Whether a feature is being changed.
    pub(super) fn is_changing(&self, feature: Feature) -> bool {
        self.wanted.iter().any(|wanted| wanted.feature == feature)
    }

    /// Whether a Confirm waits to be sent.
    pub(super) fn has_confirms(&self) -> bool {
        !self.confirms.is_empty()
    }

    /// Time at which a Change is to be sent, again or for the first time.
    pub(super) fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        self.wanted.iter().map(|wanted| wanted.due(rtt)).min()
    }

    /// The options of a packet that is sent now, of at most `room` bytes.
    pub(super) fn options(
        &mut self,
        now: Instant,
        seq: Seqno,
        rtt: Duration,
        room: u32,
    ) -> Vec<FeatureOption> {
        let mut left = room;
        let mut fits = |option: &FeatureOption| {
            let len = 3 + option.value.len() as u32;
            let fits = len <= left;
            left -= if fits { len } else { 0 };
            fits
        };
        let mut options = Vec::new();
        while self.confirms.first().is_some_and(&mut fits) {
            options.push(self.confirms.remove(0));
        }
        for wanted in self.wanted.iter_mut().filter(|wanted| wanted.due(rtt) <= now) {
            let Wanted { feature, is_remote, ref value, .. } = *wanted;
            let option = FeatureOption { confirms: false, is_remote, feature, value: value.clone() };
            if !fits(&option) {
                break;
            }
            wanted.since.get_or_insert(seq);
            wanted.sent = Some(now);
            wanted.times += 1;
            options.push(option);
        }
        options
    }

    /// Whether the options of features in a packet count: not those on Data packets (§6.6.8), and not those of a packet
    /// that another with such options has overtaken (§6.6.4).
    pub(super) fn begins_with(&mut self, kind: Kind, seq: Seqno) -> bool {
        let is_new = self.greatest.is_none_or(|greatest| seq.is_after(greatest));
        if kind == Kind::Data || !is_new {
            return false;
        }
        self.greatest = Some(seq);
        true
    }

    /// An option of a packet for which [`Features::begins_with`] holds. `ack` is the packet's acknowledgment number.
    pub(super) fn on_option(
        &mut self,
        option: &FeatureOption,
        ack: Option<Seqno>,
        is_mandatory: bool,
    ) -> Heard {
        if option.confirms { self.on_confirm(option, ack) } else { self.on_change(option, is_mandatory) }
    }

    /// §6.6.2 and §6.6.7: the value that both ends then use.
    fn on_change(&mut self, option: &FeatureOption, is_mandatory: bool) -> Heard {
        let FeatureOption { feature, is_remote, ref value, .. } = *option;
        // A feature that is remote for the peer is ours.
        let is_ours = is_remote;
        let (answer, heard) = match preferences(feature) {
            Some([]) if is_ours => (Vec::new(), Heard::Nothing),
            Some([]) => match self.set(feature, is_ours, value) {
                true => (value.clone(), Heard::Changed),
                false => (Vec::new(), Heard::Nothing),
            },
            Some(ours) => {
                let (servers, clients) = if self.is_server { (ours, &value[..]) } else { (&value[..], ours) };
                let chosen = servers.iter().copied().find(|wanted| clients.contains(wanted));
                let kept = self.get(feature, is_ours);
                let chosen = chosen.unwrap_or(kept);
                self.set(feature, is_ours, &[chosen]);
                (std::iter::once(chosen).chain(ours.iter().copied()).collect(), Heard::Changed)
            }
            None => (Vec::new(), Heard::Nothing),
        };
        if answer.is_empty() && is_mandatory {
            return Heard::Refused;
        }
        self.confirms.push(FeatureOption { confirms: true, is_remote: !is_ours, feature, value: answer });
        heard
    }

    fn on_confirm(&mut self, option: &FeatureOption, ack: Option<Seqno>) -> Heard {
        let FeatureOption { feature, is_remote, ref value, .. } = *option;
        let is_ours = is_remote;
        let answers = |wanted: &Wanted| {
            let is_new = match (ack, wanted.since) {
                (Some(ack), Some(since)) => ack.since(since) >= 0,
                _ => false,
            };
            wanted.feature == feature && wanted.is_remote != is_ours && is_new
        };
        let Some(place) = self.wanted.iter().position(answers) else { return Heard::Nothing };
        self.wanted.remove(place);
        let used = if preferences(feature) == Some(&[]) { &value[..] } else { value.get(..1).unwrap_or(&[]) };
        // An empty Confirm: the peer does not know the feature, or refuses the value (§6.6.7).
        if self.set(feature, is_ours, used) { Heard::Changed } else { Heard::Nothing }
    }

    fn get(&self, feature: Feature, is_ours: bool) -> u8 {
        let values = if is_ours { &self.local } else { &self.remote };
        match feature {
            Feature::CCID => values.ccid,
            Feature::ALLOW_SHORT => values.allow_short.into(),
            Feature::ECN_INCAPABLE => values.ecn_incapable.into(),
            Feature::SEND_ACK_VECTOR => values.ack_vector.into(),
            Feature::SEND_NDP_COUNT => values.ndp_count.into(),
            _ => values.loss_event_rate.into(),
        }
    }

    /// Sets a feature. Returns whether it is known, and can have the value.
    fn set(&mut self, feature: Feature, is_ours: bool, value: &[u8]) -> bool {
        let values = if is_ours { &mut self.local } else { &mut self.remote };
        match (feature, value) {
            (Feature::CCID, [ccid @ 2..=3]) => values.ccid = *ccid,
            (Feature::ALLOW_SHORT, [flag @ 0..=1]) => values.allow_short = *flag == 1,
            (Feature::ECN_INCAPABLE, [flag @ 0..=1]) => values.ecn_incapable = *flag == 1,
            (Feature::SEND_ACK_VECTOR, [flag @ 0..=1]) => values.ack_vector = *flag == 1,
            (Feature::SEND_NDP_COUNT, [flag @ 0..=1]) => values.ndp_count = *flag == 1,
            (Feature::SEND_LOSS_EVENT_RATE, [flag @ 0..=1]) => values.loss_event_rate = *flag == 1,
            (Feature::ACK_RATIO, [high, low]) if [*high, *low] != [0, 0] => {
                values.ack_ratio = u16::from_be_bytes([*high, *low]);
            }
            (Feature::SEQUENCE_WINDOW, [_, _, _, _, _, _]) if number(value) >= LEAST_WINDOW => {
                values.sequence_window = number(value);
            }
            _ => return false,
        }
        true
    }
}

impl Wanted {
    /// §6.6.3: about once a round trip, backing off.
    fn due(&self, rtt: Duration) -> Instant {
        match self.sent {
            None => Instant::START,
            Some(sent) => sent + (rtt * 2).max(SHORTEST_REPEAT).doubled(self.times.min(MOST_BACKOFF) - 1),
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A Sequence Window as the six bytes of its option.
pub(super) fn window_bytes(window: u64) -> [u8; 6] {
    let [_, _, bytes @ ..] = window.to_be_bytes();
    bytes
}

/// Our preferences, the same for both ends: what a peer asks for is what it gets. None for a feature that we do not
/// know, an empty list for a number (§6.3).
const fn preferences(feature: Feature) -> Option<&'static [u8]> {
    match feature {
        Feature::CCID => Some(&[2, 3]),
        Feature::ALLOW_SHORT
        | Feature::ECN_INCAPABLE
        | Feature::SEND_ACK_VECTOR
        | Feature::SEND_NDP_COUNT
        | Feature::SEND_LOSS_EVENT_RATE => Some(&[0, 1]),
        Feature::SEQUENCE_WINDOW | Feature::ACK_RATIO => Some(&[]),
        _ => None,
    }
}

/// §7.5.2.
const LEAST_WINDOW: u64 = 32;
/// A Change is not repeated sooner, whatever the round trip.
const SHORTEST_REPEAT: Duration = Duration::from_millis(100);
/// Doublings after which the interval stays.
const MOST_BACKOFF: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// Hands the options of one end to the other, in packets numbered `seq` that acknowledge everything.
    fn pass(from: &mut Features, to: &mut Features, now: Instant, seq: u64) -> Vec<FeatureOption> {
        let options = from.options(now, Seqno::new(seq), RTT, 999);
        if to.begins_with(Kind::Ack, Seqno::new(seq)) {
            for option in &options {
                to.on_option(option, Some(Seqno::new(9999)), false);
            }
        }
        options
    }

    #[test]
    fn a_client_gets_the_ccid_and_the_numbers_that_it_asks_for() {
        let (mut client, mut server) = (Features::new(false), Features::new(true));
        client.change(Feature::CCID, false, &[3]);
        client.change(Feature::SEQUENCE_WINDOW, false, &window_bytes(1000));
        client.change(Feature::SEND_LOSS_EVENT_RATE, true, &[1]);
        assert_eq!(pass(&mut client, &mut server, at(0), 1).len(), 3);
        let confirms = pass(&mut server, &mut client, at(50), 1);
        assert_eq!(confirms[0].value, [3, 2, 3], "the value, then the server's preferences");
        assert_eq!((client.local.ccid, server.remote.ccid), (3, 3));
        assert_eq!((client.local.sequence_window, server.remote.sequence_window), (1000, 1000));
        assert!(client.remote.loss_event_rate && server.local.loss_event_rate);
        assert!(!client.is_changing(Feature::CCID) && !server.has_confirms());
    }

    #[test]
    fn a_change_is_repeated_with_backoff_until_it_is_confirmed() {
        let mut client = Features::new(false);
        client.change(Feature::ACK_RATIO, false, &[0, 4]);
        let mut sent = Vec::new();
        for millis in 0..2000 {
            if !client.options(at(millis), Seqno::new(millis), RTT, 99).is_empty() {
                sent.push(millis);
            }
        }
        assert_eq!(sent, [0, 200, 600, 1400]);
    }

    #[test]
    fn a_confirm_of_an_earlier_value_is_ignored() {
        let mut client = Features::new(false);
        client.change(Feature::ACK_RATIO, false, &[0, 4]);
        drop(client.options(at(0), Seqno::new(10), RTT, 99));
        client.change(Feature::ACK_RATIO, false, &[0, 8]);
        drop(client.options(at(50), Seqno::new(12), RTT, 99));
        let confirm =
            |value| FeatureOption { confirms: true, is_remote: true, feature: Feature::ACK_RATIO, value };
        assert_eq!(client.on_option(&confirm(vec![0, 4]), Some(Seqno::new(11)), false), Heard::Nothing);
        assert_eq!(client.on_option(&confirm(vec![0, 8]), Some(Seqno::new(12)), false), Heard::Changed);
        assert_eq!(client.local.ack_ratio, 8);
    }

    #[test]
    fn unknown_features_get_an_empty_confirm_and_a_mandatory_one_is_refused() {
        let mut server = Features::new(true);
        let change =
            FeatureOption { confirms: false, is_remote: false, feature: Feature(77), value: vec![1] };
        assert_eq!(server.on_option(&change, None, false), Heard::Nothing);
        assert_eq!(server.on_option(&change, None, true), Heard::Refused);
        let [confirm] = &server.options(at(0), Seqno::new(1), RTT, 99)[..] else { panic!("one") };
        assert_eq!((confirm.confirms, confirm.is_remote, confirm.value.len()), (true, true, 0));
    }

    #[test]
    fn options_of_an_overtaken_or_a_data_packet_do_not_count() {
        let mut server = Features::new(true);
        assert!(server.begins_with(Kind::Ack, Seqno::new(5)));
        assert!(!server.begins_with(Kind::Ack, Seqno::new(4)));
        assert!(!server.begins_with(Kind::Data, Seqno::new(6)));
    }
}
