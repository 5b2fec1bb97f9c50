//! What an end does with a packet of its peer: the steps of RFC 4340 §8.5.

use units::{Duration, Instant};
use wire::Payload;
use wire::dccp::{DccpOption, Feature, FeatureOption, Kind, Packet, reset};

use super::ccid::{Acknowledgment, Arrival};
use super::ccid3;
use super::connection::{Connection, Due, Receiver};
use super::features::Heard;
use super::seqno::Seqno;
use super::state::{PART_OPEN_INTERVAL, Repeated, State};
use super::validity::Verdict;
use crate::dccp_settings::Ccid;

impl Connection {
    /// A packet arrived, perhaps with a congestion mark.
    pub(super) fn handle_packet(&mut self, now: Instant, packet: &Packet, is_marked: bool) {
        let (seq, ack) = self.numbers_of(packet);
        if self.state.is_over() {
            self.answer_late(packet.kind, seq);
            return;
        }
        if !self.opens(now, packet, seq, ack) || !self.is_valid(now, packet.kind, seq, ack) {
            return;
        }
        self.numbers.on_valid(packet.kind, seq, ack);
        let arrival = arrival(packet, seq, is_marked);
        if !self.handle_options(packet, seq, ack) {
            return;
        }
        self.advance(now, packet);
        self.receive(now, packet, &arrival);
        if let Some(acked) = ack {
            self.acknowledge(now, packet, seq, acked);
        }
        self.end(now, packet.kind, seq);
    }

    /// The sequence and acknowledgment numbers, those of a short packet extended (§7.6).
    fn numbers_of(&self, packet: &Packet) -> (Seqno, Option<Seqno>) {
        let extended = |number: u64, reference: Option<Seqno>| match reference {
            Some(reference) if packet.is_short => Seqno::extended(number, reference),
            _ => Seqno::new(number),
        };
        let seq = extended(packet.seq, self.numbers.greatest_received());
        let ack = packet.kind.has_ack().then(|| extended(packet.ack, Some(self.numbers.greatest_sent())));
        (seq, ack)
    }

    /// Steps 3, 4 and 10: a Request begins a connection at a server, and a Response that acknowledges the Request at a
    /// client. Whether the packet is to be handled.
    fn opens(&mut self, now: Instant, packet: &Packet, seq: Seqno, ack: Option<Seqno>) -> bool {
        match self.state {
            State::Listen if packet.kind == Kind::Request => self.state = State::Respond,
            // §8.3.1: any packet but a Request or a Reset is answered by a Reset, "No Connection".
            State::Listen if packet.kind == Kind::Reset => return false,
            State::Listen => {
                self.due.push_back(Due::Reset(reset::NO_CONNECTION, seq));
                return false;
            }
            State::Request(_) => {
                let acks_ours = ack.is_some_and(|ack| ack == self.numbers.greatest_sent());
                match packet.kind {
                    Kind::Response if acks_ours => {
                        let sent = self.requested.take();
                        self.rtt = sent.map(|sent| now.saturating_since(sent));
                        self.state = State::PartOpen(Repeated::new(now, PART_OPEN_INTERVAL));
                        self.owes_ack = true;
                    }
                    Kind::Reset => self.state = State::Broken("refused by the peer"),
                    _ => {
                        self.due.push_back(Due::Reset(reset::PACKET_ERROR, seq));
                        return false;
                    }
                }
            }
            _ => {}
        }
        true
    }

    /// Steps 5 to 7: whether numbers and type are those of a packet that may come now. A Sync asks about others.
    fn is_valid(&mut self, now: Instant, kind: Kind, seq: Seqno, ack: Option<Seqno>) -> bool {
        let is_unexpected = match kind {
            Kind::CloseReq | Kind::Response => self.is_server,
            Kind::Request => !self.is_server,
            Kind::Data => self.state == State::Respond,
            _ => false,
        };
        let verdict = match self.numbers.judge(kind, seq, ack) {
            Verdict::Valid if is_unexpected => Verdict::Sync,
            verdict => verdict,
        };
        if verdict == Verdict::Sync {
            let about = match (kind, self.numbers.greatest_received()) {
                (Kind::Reset, Some(greatest)) => greatest,
                _ => seq,
            };
            self.sync(now, about);
        }
        verdict == Verdict::Valid
    }

    /// §7.5.4: a Sync, eight times a second at most.
    fn sync(&mut self, now: Instant, about: Seqno) {
        if self.synced.is_none_or(|last| now.saturating_since(last) >= LEAST_BETWEEN_SYNCS) {
            self.synced = Some(now);
            self.due.push_back(Due::Sync(about));
        }
    }

    /// Step 8: the options of features. Returns whether the connection continues.
    fn handle_options(&mut self, packet: &Packet, seq: Seqno, ack: Option<Seqno>) -> bool {
        let has_any = packet.options.iter().any(|option| matches!(option, DccpOption::Feature(_)));
        if !has_any || !self.features.begins_with(packet.kind, seq) {
            return true;
        }
        let mut is_mandatory = false;
        for option in &packet.options {
            let heard = match option {
                DccpOption::Feature(option) => self.handle_feature(option, ack, is_mandatory),
                DccpOption::Other { .. } if is_mandatory => Heard::Refused,
                _ => Heard::Nothing,
            };
            if heard == Heard::Refused {
                self.due.push_back(Due::Reset(reset::MANDATORY_ERROR, seq));
                self.state = State::Broken("the peer requires a feature or an option that is not known here");
                return false;
            }
            is_mandatory = *option == DccpOption::Mandatory;
        }
        true
    }

    fn handle_feature(&mut self, option: &FeatureOption, ack: Option<Seqno>, is_mandatory: bool) -> Heard {
        let heard = self.features.on_option(option, ack, is_mandatory);
        if heard == Heard::Changed {
            self.follow_features();
        }
        heard
    }

    /// What the present values of features mean for numbers and for the acknowledgments of the peer's data.
    fn follow_features(&mut self) {
        let (local, remote) = (self.features.local, self.features.remote);
        self.numbers.set_windows(local.sequence_window, remote.sequence_window);
        let is_tfrc = remote.ccid == u8::from(Ccid::Tfrc);
        if is_tfrc && matches!(self.receiving, Receiver::TcpLike(_)) {
            self.receiving = Receiver::Tfrc(Box::new(ccid3::Receiver::new()));
            // RFC 4342 §6.1.1: a receiver must know which missing packets had no data.
            self.features.change(Feature::SEND_NDP_COUNT, true, &[1]);
        }
        if let Receiver::TcpLike(receiver) = &mut self.receiving {
            receiver.agree(remote.ack_ratio, local.ack_vector);
        }
    }

    /// Steps 11 and 12: a server answers each Request, and any other packet shows that the handshake is over.
    fn advance(&mut self, now: Instant, packet: &Packet) {
        match (self.state, packet.kind) {
            (State::Respond, Kind::Request) => self.due.push_back(Due::Response),
            (State::Respond, _) => {
                self.state = State::Open;
                self.log.on_open(now, None);
            }
            (State::PartOpen(_), Kind::Response) => self.owes_ack = true,
            (State::PartOpen(_), kind) if kind != Kind::Sync => self.state = State::Open,
            _ => {}
        }
    }

    /// Step 16: the data, and what the receiver's congestion control learns of each packet.
    fn receive(&mut self, now: Instant, packet: &Packet, arrival: &Arrival) {
        self.receiving.get_mut().on_packet(now, arrival);
        if packet.kind.has_data()
            && matches!(self.state, State::Open | State::PartOpen(_) | State::Closing(_))
        {
            self.arrived.push_back(bytes_of(&packet.payload));
        }
    }

    fn acknowledge(&mut self, now: Instant, packet: &Packet, seq: Seqno, acked: Seqno) {
        self.receiving.get_mut().on_ack_of_ack(acked);
        // A Sync acknowledges a packet that was not valid.
        if packet.kind == Kind::Sync {
            return;
        }
        let ack = Acknowledgment { seq, acked, options: &packet.options };
        let event = self.sending.as_mut().and_then(|sending| sending.on_ack(now, &ack));
        self.note(now, event);
    }

    /// Steps 9 and 13 to 15: what ends a connection, and the answer to a Sync.
    fn end(&mut self, now: Instant, kind: Kind, seq: Seqno) {
        match kind {
            Kind::Sync => self.due.push_back(Due::SyncAck(seq)),
            Kind::CloseReq => {
                let is_closing = matches!(self.state, State::Closing(_));
                self.due.extend((!is_closing).then_some(Due::Close));
                self.state = State::Closing(Repeated::new(now, PART_OPEN_INTERVAL * 2));
                self.has_peer_closed = true;
            }
            Kind::Close => {
                self.due.push_back(Due::Reset(reset::CLOSED, seq));
                self.over(now, State::Closed);
            }
            Kind::Reset if matches!(self.state, State::Closing(_)) => self.over(now, State::Closed),
            Kind::Reset => self.over(now, State::Broken("reset by the peer")),
            _ => {}
        }
    }

    fn over(&mut self, now: Instant, state: State) {
        self.state = state;
        self.has_peer_closed = true;
        self.log.on_heard(now);
    }

    /// §8.3.1: a packet of a connection that is over is answered by a Reset, unless it is one.
    fn answer_late(&mut self, kind: Kind, seq: Seqno) {
        if kind != Kind::Reset && self.due.is_empty() {
            let code = if self.state == State::Closed { reset::CLOSED } else { reset::NO_CONNECTION };
            self.due.push_back(Due::Reset(code, seq));
        }
    }
}

fn arrival(packet: &Packet, seq: Seqno, is_marked: bool) -> Arrival {
    let ndp_count = packet.options.iter().find_map(|option| match option {
        DccpOption::NdpCount(count) => Some(*count),
        _ => None,
    });
    Arrival {
        seq,
        data: packet.kind.has_data().then(|| packet.payload.len()),
        is_marked,
        ccval: packet.ccval,
        ndp_count: ndp_count.unwrap_or(0),
    }
}

fn bytes_of(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() as usize);
    payload.write_to(&mut bytes);
    bytes
}

/// §7.5.4.
const LEAST_BETWEEN_SYNCS: Duration = Duration::from_millis(125);
