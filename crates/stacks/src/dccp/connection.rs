//! An end of a connection (RFC 4340 §8): its state, and what it sends when. `receive.rs` has what it does with packets.
//!
//! Each direction of data is a half-connection with a congestion control of its own: we send by ours (`sending`), and
//! acknowledge by the peer's (`receiving`). Both begin with CCID 2 and follow the negotiation.

use std::collections::VecDeque;

use tcp::Decision;
use units::{Duration, Instant};
use wire::Payload;
use wire::dccp::{DccpOption, Feature, Kind, Packet, reset};
use workload::{Counters, Ends, ObservedRecord};

use super::ccid::{Event, Receiving, Sending};
use super::features::{Features, window_bytes};
use super::log::Log;
use super::seqno::Seqno;
use super::state::{
    CLOSING_PATIENCE, PART_OPEN_PATIENCE, REQUEST_INTERVAL, REQUEST_PATIENCE, Repeated, State,
};
use super::validity::Numbers;
use super::{ccid2, ccid3};
use crate::dccp_settings::{Ccid, DccpSettings};
use crate::stack::Phase;

/// An end of a connection.
pub(super) struct Connection {
    pub(super) ends: Ends,
    pub(super) settings: DccpSettings,
    pub(super) is_server: bool,
    pub(super) state: State,
    pub(super) numbers: Numbers,
    pub(super) features: Features,
    pub(super) sending: Option<Box<dyn Sending>>,
    pub(super) receiving: Receiver,
    pub(super) log: Log,
    /// Packets other than data and acknowledgments that are to be sent.
    pub(super) due: VecDeque<Due>,
    /// Whether an acknowledgment is to be sent, whatever the congestion control says.
    pub(super) owes_ack: bool,
    /// The handshake's round trip, and when the only Request was sent.
    pub(super) rtt: Option<Duration>,
    pub(super) requested: Option<Instant>,
    /// Data that wait, and data that have arrived.
    queue: VecDeque<Payload>,
    pub(super) arrived: VecDeque<Vec<u8>>,
    /// The most data in a packet.
    most_data: u32,
    /// Packets without data since the last with data (§7.7).
    ndp_count: u64,
    is_closing: bool,
    /// Time of the last Sync (§7.5.4).
    pub(super) synced: Option<Instant>,
    pub(super) has_peer_closed: bool,
}

/// The receiver of a half-connection.
pub(super) enum Receiver {
    TcpLike(ccid2::Receiver),
    Tfrc(Box<ccid3::Receiver>),
}

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Request,
    Response,
    CloseReq,
    Close,
    /// A Reset with this code that acknowledges this packet.
    Reset(u8, Seqno),
    /// A Sync or SyncAck that acknowledges this packet.
    Sync(Seqno),
    SyncAck(Seqno),
}

impl Connection {
    /// An end that connects, or waits for its peer. Packets have `most_data` bytes of data at most.
    pub(super) fn new(
        ends: Ends,
        settings: DccpSettings,
        is_server: bool,
        first: Seqno,
        (most_data, records): (u32, bool),
    ) -> Self {
        let mut features = Features::new(is_server);
        if !settings.ecn {
            features.change(Feature::ECN_INCAPABLE, false, &[1]);
        }
        Self {
            ends,
            settings,
            is_server,
            state: State::Listen,
            numbers: Numbers::new(first),
            features,
            sending: None,
            receiving: Receiver::TcpLike(ccid2::Receiver::new()),
            log: Log::new(records),
            due: VecDeque::new(),
            owes_ack: false,
            rtt: None,
            requested: None,
            queue: VecDeque::new(),
            arrived: VecDeque::new(),
            most_data,
            ndp_count: 0,
            is_closing: false,
            synced: None,
            has_peer_closed: false,
        }
    }

    /// Opens the connection.
    pub(super) fn connect(&mut self, now: Instant) {
        self.ask_to_send();
        self.state = State::Request(Repeated::new(now, REQUEST_INTERVAL));
        self.requested = Some(now);
        self.due.push_back(Due::Request);
    }

    /// Asks for what our half-connection needs: its congestion control, and what the peer must send for it
    /// (RFC 4341 §4, RFC 4342 §4).
    fn ask_to_send(&mut self) {
        let DccpSettings { ccid, ack_ratio, sequence_window, short_sequence_numbers, .. } = self.settings;
        if ccid == Ccid::Tfrc {
            self.features.change(Feature::CCID, false, &[ccid.into()]);
            self.features.change(Feature::SEND_LOSS_EVENT_RATE, true, &[1]);
        } else {
            self.features.change(Feature::SEND_ACK_VECTOR, true, &[1]);
        }
        if let Some(ratio) = ack_ratio {
            self.features.change(Feature::ACK_RATIO, false, &(ratio.0 as u16).to_be_bytes());
        }
        if let Some(window) = sequence_window {
            self.features.change(Feature::SEQUENCE_WINDOW, false, &window_bytes(window.0));
        }
        if short_sequence_numbers {
            self.features.change(Feature::ALLOW_SHORT, false, &[1]);
        }
    }

    pub(super) const fn phase(&self) -> Phase {
        self.state.phase()
    }

    pub(super) fn counters(&self) -> Counters {
        let counters = self.log.counters();
        match self.receiving.get().loss_events() {
            Some(events) if counters.packets == 0 => Counters { congestion_events: events, ..counters },
            _ => counters,
        }
    }

    pub(super) fn take_records(&mut self) -> Vec<ObservedRecord> {
        self.log.take()
    }

    /// Appends a datagram to the queue. Returns whether there was room.
    pub(super) fn send(&mut self, payload: Payload) -> bool {
        let has_room = (self.queue.len() as u64) < self.settings.send_queue.0 && !self.is_closing;
        if has_room {
            if self.is_server && self.queue.is_empty() && self.sending.is_none() {
                self.ask_to_send();
            }
            self.queue.push_back(payload);
        }
        has_room
    }

    pub(super) const fn most_data(&self) -> u32 {
        self.most_data
    }

    /// Ends the connection once what waits has been sent.
    pub(super) const fn close(&mut self) {
        self.is_closing = true;
    }

    /// Gives the connection up.
    pub(super) fn abort(&mut self) {
        if let Some(greatest) = self.numbers.greatest_received().filter(|_| !self.state.is_over()) {
            self.due.push_back(Due::Reset(reset::ABORTED, greatest));
        }
        if !self.state.is_over() {
            self.state = State::Broken("given up");
        }
    }

    /// Whether nothing will be sent any more.
    pub(super) fn is_at_rest(&self) -> bool {
        self.state.is_over() && self.due.is_empty()
    }

    fn round_trip(&self) -> Duration {
        self.rtt.unwrap_or(GUESSED_RTT)
    }

    /// Time at which something is to be done.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.state.is_over() {
            return None;
        }
        let repeated = self.state.repeated().map(Repeated::due);
        let has_data = self.state.sends_data() && !self.queue.is_empty();
        let sending = self.sending.as_ref().and_then(|sending| sending.poll_timeout(has_data));
        let receiving = self.receiving.get().poll_timeout();
        let negotiates = self.state.sends_data();
        let features = self.features.poll_timeout(self.round_trip()).filter(|_| negotiates);
        repeated.into_iter().chain(sending).chain(receiving).chain(features).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.state.repeated().is_some_and(|repeated| repeated.due() <= now) {
            self.repeat(now);
        }
        if self.receiving.get().poll_timeout().is_some_and(|due| due <= now) {
            self.receiving.get_mut().on_timeout(now);
        }
        let event = self.sending.as_mut().and_then(|sending| sending.on_timeout(now));
        self.note(now, event);
    }

    /// Sends a packet of the handshake or of the end again, or gives up.
    fn repeat(&mut self, now: Instant) {
        let silent = "nothing was heard from the peer for too long";
        match self.state {
            State::Request(repeated) => {
                self.requested = None;
                self.due.push_back(Due::Request);
                let again = repeated.again(now, REQUEST_PATIENCE);
                self.state = again.map_or(State::Broken(silent), State::Request);
            }
            State::PartOpen(repeated) => {
                self.owes_ack = true;
                let again = repeated.again(now, PART_OPEN_PATIENCE);
                self.state = again.map_or(State::Broken(silent), State::PartOpen);
            }
            State::Closing(repeated) => {
                self.due.push_back(if self.is_server { Due::CloseReq } else { Due::Close });
                let again = repeated.again(now, CLOSING_PATIENCE);
                self.state = again.map_or(State::Broken(silent), State::Closing);
            }
            _ => {}
        }
    }

    /// The next packet, and whether it is ECN-capable.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<(Packet, bool)> {
        if let Some(due) = self.due.pop_front() {
            return Some((self.due_packet(now, due), false));
        }
        if !self.state.sends_data() {
            return None;
        }
        self.adapt();
        let is_ecn_capable = self.settings.ecn && !self.features.remote.ecn_incapable;
        let may_send = self.may_send(now);
        if self.owes_ack_now(now, may_send) {
            return Some((self.acknowledgment(now), is_ecn_capable));
        }
        if may_send {
            let payload = self.queue.pop_front()?;
            return Some((self.data(now, payload), is_ecn_capable));
        }
        if self.is_closing && self.queue.is_empty() {
            let interval = (self.round_trip() * 2).max(LEAST_CLOSING);
            self.state = State::Closing(Repeated::new(now, interval));
            let due = if self.is_server { Due::CloseReq } else { Due::Close };
            return Some((self.due_packet(now, due), false));
        }
        None
    }

    fn owes_ack_now(&self, now: Instant, may_send: bool) -> bool {
        let negotiates = self.features.poll_timeout(self.round_trip()).is_some_and(|due| due <= now);
        // Options of features go with data where some may be sent: those are acknowledged.
        let by_features = (negotiates || self.features.has_confirms()) && !may_send;
        self.owes_ack || self.receiving.get().owes_ack() || by_features
    }

    fn may_send(&mut self, now: Instant) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        if self.sending.is_none() {
            self.begin_sending(now);
        }
        self.sending.as_ref().is_some_and(|sending| sending.may_send(now))
    }

    /// The congestion control that both ends agreed on begins, for packets of the size of the first.
    fn begin_sending(&mut self, now: Instant) {
        let size = self.queue.front().map_or(self.most_data, Payload::len);
        let is_tfrc = self.features.local.ccid == u8::from(Ccid::Tfrc);
        let sending: Box<dyn Sending> = if is_tfrc {
            let mut sender = ccid3::Sender::new(size, now);
            self.rtt.into_iter().for_each(|rtt| sender.begin_with(now, rtt));
            Box::new(sender)
        } else {
            let ratio = self.settings.ack_ratio.map(|ratio| ratio.0 as u16);
            let mut sender = ccid2::Sender::new(size, ratio);
            self.rtt.into_iter().for_each(|rtt| sender.begin_with(rtt));
            Box::new(sender)
        };
        self.log.on_open(now, Some(sending.state()));
        self.sending = Some(sending);
    }

    /// Changes the features that follow from the traffic.
    fn adapt(&mut self) {
        if self.settings.ack_ratio.is_none() {
            self.adapt_ack_ratio();
        }
        if self.settings.sequence_window.is_none() {
            self.adapt_sequence_window();
        }
    }

    /// The Ack Ratio follows the congestion control (RFC 4341 §6.1.2).
    fn adapt_ack_ratio(&mut self) {
        let wanted = self.sending.as_ref().and_then(|sending| sending.ack_ratio());
        if let Some(ratio) = wanted
            && ratio != self.features.local.ack_ratio
            && !self.features.is_changing(Feature::ACK_RATIO)
        {
            self.features.change(Feature::ACK_RATIO, false, &ratio.to_be_bytes());
        }
    }

    /// The Sequence Window is five times the packets of a round trip at least (§7.5.2). Acknowledgments count too: a
    /// packet that acknowledges one from before the window is not valid, and its data are lost.
    fn adapt_sequence_window(&mut self) {
        let data = self.sending.as_ref().map_or(0, |sending| sending.packets_a_round_trip());
        let needed = WINDOW_ROUND_TRIPS * data.max(self.numbers.unacknowledged());
        let is_too_narrow = needed > self.features.local.sequence_window;
        if is_too_narrow && !self.features.is_changing(Feature::SEQUENCE_WINDOW) {
            // Twice as wide as it must be, so that a growing window does not ask each round trip.
            self.features.change(Feature::SEQUENCE_WINDOW, false, &window_bytes(2 * needed));
        }
    }

    /// Writes down what the sender has decided.
    pub(super) fn note(&mut self, now: Instant, event: Option<Event>) {
        let Some(event) = event else { return };
        let state = self.sending.as_ref().map(|sending| sending.state());
        if event.decision != Decision::Timeout {
            self.log.on_heard(now);
        }
        self.log.on_event(now, event, state);
    }

    /// A packet with the next number, and what every packet has.
    fn packet(&mut self, now: Instant, kind: Kind, ack: Seqno) -> Packet {
        let seq = self.numbers.next();
        let ports = [self.ends.local.port(), self.ends.remote.port()];
        let is_short = kind.can_be_short() && self.features.local.allow_short && self.state == State::Open;
        let number = |seqno: Seqno| if is_short { seqno.short() } else { seqno.number() };
        let mut packet = Packet::new(ports[0], ports[1], kind, number(seq), number(ack));
        packet.is_short = is_short;
        if !kind.has_ack() {
            packet.ack = 0;
        }
        if self.features.local.ndp_count && self.ndp_count > 0 {
            packet.options.push(DccpOption::NdpCount(self.ndp_count));
        }
        self.ndp_count = if kind.has_data() { 0 } else { self.ndp_count + 1 };
        self.log.on_sent(now, kind.has_data());
        packet
    }

    /// Adds the options of features, as far as there is room.
    fn negotiate(&mut self, now: Instant, packet: &mut Packet, room: u32) {
        let rtt = self.round_trip();
        let options = self.features.options(now, self.numbers.greatest_sent(), rtt, room);
        packet.options.extend(options.into_iter().map(DccpOption::Feature));
    }

    fn greatest_received(&self) -> Seqno {
        self.numbers.greatest_received().unwrap_or(Seqno::new(0))
    }

    fn due_packet(&mut self, now: Instant, due: Due) -> Packet {
        let greatest = self.greatest_received();
        let (kind, ack) = match due {
            Due::Request => (Kind::Request, Seqno::new(0)),
            Due::Response => (Kind::Response, greatest),
            Due::CloseReq => (Kind::CloseReq, greatest),
            Due::Close => (Kind::Close, greatest),
            Due::Reset(_, about) => (Kind::Reset, about),
            Due::Sync(about) => (Kind::Sync, about),
            Due::SyncAck(about) => (Kind::SyncAck, about),
        };
        let mut packet = self.packet(now, kind, ack);
        if let Due::Reset(code, _) = due {
            packet.reset = [code, 0, 0, 0];
        } else {
            self.negotiate(now, &mut packet, ROOM_WITHOUT_DATA);
        }
        packet
    }

    fn acknowledgment(&mut self, now: Instant) -> Packet {
        let mut packet = self.packet(now, Kind::Ack, self.greatest_received());
        let seq = self.numbers.greatest_sent();
        packet.options.extend(self.receiving.get_mut().options(now, seq));
        self.negotiate(now, &mut packet, ROOM_WITHOUT_DATA);
        self.owes_ack = false;
        if let State::PartOpen(repeated) = &mut self.state {
            repeated.postpone(now);
        }
        packet
    }

    /// A data packet. It acknowledges where it must: until the server is known to be open, once a window for the peer's
    /// acknowledgments, and to carry options of features.
    fn data(&mut self, now: Instant, payload: Payload) -> Packet {
        let Some(sending) = &mut self.sending else { unreachable!("the caller has asked") };
        let ccval = sending.ccval(now);
        let acknowledges = sending.wants_to_acknowledge();
        if acknowledges {
            sending.on_acknowledging();
        }
        let negotiates = self.features.has_confirms()
            || self.features.poll_timeout(self.round_trip()).is_some_and(|due| due <= now);
        let is_part_open = matches!(self.state, State::PartOpen(_));
        let kind = if acknowledges || negotiates || is_part_open { Kind::DataAck } else { Kind::Data };
        let mut packet = self.packet(now, kind, self.greatest_received());
        if kind == Kind::DataAck {
            self.negotiate(now, &mut packet, ROOM_BESIDE_DATA);
        }
        (packet.ccval, packet.payload) = (ccval, payload);
        let seq = self.numbers.greatest_sent();
        if let Some(sending) = &mut self.sending {
            sending.on_sent(now, seq);
        }
        if let State::PartOpen(repeated) = &mut self.state {
            repeated.postpone(now);
        }
        packet
    }
}

impl Receiver {
    pub(super) fn get(&self) -> &dyn Receiving {
        match self {
            Self::TcpLike(receiver) => receiver,
            Self::Tfrc(receiver) => &**receiver,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn Receiving {
        match self {
            Self::TcpLike(receiver) => receiver,
            Self::Tfrc(receiver) => &mut **receiver,
        }
    }
}

/// A round trip before one is measured (§3.4).
const GUESSED_RTT: Duration = Duration::from_millis(200);
/// A Close is not repeated sooner.
const LEAST_CLOSING: Duration = Duration::from_millis(200);
/// §7.5.2: about five times the packets of a round trip.
const WINDOW_ROUND_TRIPS: u64 = 5;
/// Bytes of options along with data, and in packets without data besides their Ack Vectors.
pub(super) const ROOM_BESIDE_DATA: u32 = 16;
const ROOM_WITHOUT_DATA: u32 = 120;
