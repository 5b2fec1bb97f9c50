//! Two ends and the time: what they send to each other, as timelines.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use units::text::Packets;
use units::{Duration, Instant};
use wire::Payload;
use wire::dccp::{DccpOption, Kind, Packet, reset};
use workload::Ends;

use super::connection::Connection;
use super::seqno::Seqno;
use super::state::State;
use crate::dccp_settings::{Ccid, DccpSettings};
use crate::stack::Phase;

const ONE_WAY: Duration = Duration::from_millis(50);

/// A client and a server with 50 ms between them.
struct Pair {
    now: Instant,
    ends: [Connection; 2],
    under_way: VecDeque<(Instant, usize, Packet, bool)>,
    /// Every packet that was sent: its time in milliseconds, the end and the type.
    seen: Vec<(u64, usize, Packet)>,
    /// Says which packets are lost, by their sender, and which are marked.
    loses: fn(usize, &Packet, usize) -> bool,
    marks: fn(usize, &Packet, usize) -> bool,
    /// Data packets of the client so far.
    data: usize,
}

impl Pair {
    fn new(settings: DccpSettings) -> Self {
        let end = |last, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port);
        let ends = Ends { local: end(1, 40_000), remote: end(2, 5001) };
        let mut client = Connection::new(ends, settings, false, Seqno::new((1 << 48) - 3), (1000, true));
        let server = Connection::new(ends.reversed(), settings, true, Seqno::new(77), (1000, true));
        client.connect(Instant::START);
        Self {
            now: Instant::START,
            ends: [client, server],
            under_way: VecDeque::new(),
            seen: Vec::new(),
            loses: |_, _, _| false,
            marks: |_, _, _| false,
            data: 0,
        }
    }

    fn transmit(&mut self) {
        for end in 0..2 {
            while let Some((packet, is_ecn_capable)) = self.ends[end].poll_transmit(self.now) {
                let millis = (self.now.as_nanos() - Instant::START.as_nanos()) / 1_000_000;
                self.seen.push((millis, end, packet.clone()));
                self.data += usize::from(end == 0 && packet.kind.has_data());
                if !(self.loses)(end, &packet, self.data) {
                    let marked = is_ecn_capable && (self.marks)(end, &packet, self.data);
                    self.under_way.push_back((self.now + ONE_WAY, 1 - end, packet, marked));
                }
            }
        }
    }

    /// Runs for this time; `feeds` lets the client have data all the time.
    fn run(&mut self, millis: u64, feeds: bool) {
        let end = self.now + Duration::from_millis(millis);
        loop {
            if feeds && self.ends[0].phase() == Phase::Open {
                while self.ends[0].send(Payload::Pattern { offset: 0, len: 1000 }) {}
            }
            self.transmit();
            let arriving = self.under_way.front().map(|(at, ..)| *at);
            let timers = self.ends.iter().filter_map(Connection::poll_timeout).min();
            let Some(next) = arriving.into_iter().chain(timers).min().filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            if arriving == Some(next) {
                let (_, to, packet, marked) = self.under_way.pop_front().expect("it was looked at");
                self.ends[to].handle_packet(self.now, &packet, marked);
            }
            self.ends.iter_mut().for_each(|end| {
                if end.poll_timeout().is_some_and(|due| due <= self.now) {
                    end.handle_timeout(self.now);
                }
            });
        }
    }

    fn kinds(&self) -> Vec<(u64, usize, Kind)> {
        self.seen.iter().map(|(millis, end, packet)| (*millis, *end, packet.kind)).collect()
    }
}

fn settings(ccid: Ccid) -> DccpSettings {
    DccpSettings { ccid, ..DccpSettings::DEFAULT }
}

#[test]
fn a_connection_opens_in_one_round_trip_and_closes_in_another() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.run(300, false);
    assert_eq!(
        pair.kinds()[..3],
        [(0, 0, Kind::Request), (50, 1, Kind::Response), (100, 0, Kind::Ack)],
        "{:?}",
        pair.kinds()
    );
    assert_eq!((pair.ends[0].phase(), pair.ends[1].state), (Phase::Open, State::Open));
    pair.seen.clear();
    pair.ends[0].close();
    pair.run(300, false);
    let last: Vec<_> = pair.kinds().into_iter().filter(|(_, _, kind)| *kind != Kind::Ack).collect();
    assert_eq!(last, [(300, 0, Kind::Close), (350, 1, Kind::Reset)]);
    assert_eq!(pair.seen.last().expect("the Reset").2.reset[0], reset::CLOSED);
    assert_eq!(pair.ends.each_ref().map(Connection::phase), [Phase::Closed, Phase::Closed]);
    assert!(pair.ends[1].has_peer_closed);
}

#[test]
fn a_server_that_closes_asks_the_client_to_close() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.run(300, false);
    pair.seen.clear();
    pair.ends[1].close();
    pair.run(300, false);
    let last: Vec<_> = pair.kinds().into_iter().filter(|(_, _, kind)| *kind != Kind::Ack).collect();
    assert_eq!(last, [(300, 1, Kind::CloseReq), (350, 0, Kind::Close), (400, 1, Kind::Reset)]);
}

#[test]
fn a_lost_request_is_repeated_after_a_second_and_a_lost_acknowledgment_after_200_ms() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.loses = |end, packet, _| end == 0 && matches!(packet.kind, Kind::Request | Kind::Ack);
    pair.run(500, false);
    pair.loses = |end, packet, _| end == 0 && packet.kind == Kind::Ack;
    pair.run(1000, false);
    let of_client: Vec<_> = pair.kinds().into_iter().filter(|(_, end, _)| *end == 0).collect();
    assert_eq!(
        of_client,
        [(0, 0, Kind::Request), (1000, 0, Kind::Request), (1100, 0, Kind::Ack), (1300, 0, Kind::Ack)]
    );
    assert_eq!(pair.ends[1].state, State::Respond);
    // Data of a client in this state acknowledge, so that any of them opens the connection.
    pair.loses = |_, _, _| false;
    pair.seen.clear();
    pair.run(200, true);
    assert!(pair.seen.iter().any(|(_, end, packet)| *end == 0 && packet.kind == Kind::DataAck));
    assert_eq!(pair.ends[1].state, State::Open);
}

#[test]
fn the_window_of_ccid_2_opens_and_halves_and_nothing_is_sent_twice() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.loses = |end, packet, data| end == 0 && packet.kind.has_data() && data % 97 == 0;
    pair.run(20_000, true);
    let counters = pair.ends[0].counters();
    let sent = pair.seen.iter().filter(|(_, end, packet)| *end == 0 && packet.kind.has_data()).count() as u64;
    assert_eq!((counters.packets, counters.probe_timeouts), (sent, 0));
    assert_eq!(pair.ends[1].arrived.len() as u64 + sent / 97, sent - pair.under_way.len() as u64);
    assert!((sent / 97 - counters.lost) < 2, "{} of {}", counters.lost, sent / 97);
    assert!(counters.congestion_events > 5 && counters.congestion_events <= counters.lost);
    // √(3/2p) packets a round trip of 100 ms for p = 1/97 is 12; with an acknowledgment for two, √(3/4p) is 8.5.
    let rate = sent as f64 / 200.0;
    assert!((7.0..14.0).contains(&rate), "{rate} packets a round trip");
}

#[test]
fn vectors_stay_short_because_the_sender_acknowledges_acknowledgments() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.loses = |end, packet, data| end == 0 && packet.kind.has_data() && data % 10 == 0;
    pair.run(20_000, true);
    let vector = |packet: &Packet| {
        packet
            .options
            .iter()
            .map(|option| match option {
                DccpOption::AckVector { vector, .. } => vector.len(),
                _ => 0,
            })
            .sum::<usize>()
    };
    let longest = pair.seen.iter().map(|(_, _, packet)| vector(packet)).max();
    assert!(longest.is_some_and(|longest| (2..40).contains(&longest)), "{longest:?}");
}

#[test]
fn marks_halve_the_window_and_an_end_without_ecn_sends_none_and_gets_none() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.marks = |end, packet, data| end == 0 && packet.kind.has_data() && data % 50 == 0;
    pair.run(10_000, true);
    let counters = pair.ends[0].counters();
    assert!(counters.congestion_events > 3 && counters.lost == 0, "{counters:?}");
    let mut deaf = Pair::new(DccpSettings { ecn: false, ..settings(Ccid::TcpLike) });
    deaf.marks = pair.marks;
    deaf.run(1_800, true);
    assert_eq!(deaf.ends[0].counters().congestion_events, 0);
    assert!(deaf.ends[0].features.remote.ecn_incapable && deaf.ends[1].features.remote.ecn_incapable);
}

#[test]
fn ccid_3_is_agreed_on_and_gets_feedback_once_a_round_trip() {
    let mut pair = Pair::new(settings(Ccid::Tfrc));
    pair.loses = |end, packet, data| end == 0 && packet.kind.has_data() && data % 100 == 0;
    pair.run(20_000, true);
    assert_eq!((pair.ends[0].features.local.ccid, pair.ends[1].features.remote.ccid), (3, 3));
    let feedback = pair.seen.iter().filter(|(_, end, packet)| {
        *end == 1 && packet.options.iter().any(|option| matches!(option, DccpOption::LossEventRate(_)))
    });
    let feedback = feedback.count();
    assert!((190..450).contains(&feedback), "{feedback} in 200 round trips");
    let counters = pair.ends[0].counters();
    // For p = 1/100 and a round trip of 100 ms the equation gives 112 packets a second.
    let rate = counters.packets as f64 / 20.0;
    assert!((80.0..150.0).contains(&rate), "{rate} packets a second");
    assert_eq!(
        pair.ends[1].counters().congestion_events,
        counters.packets / 100 - u64::from(counters.packets % 100 < 9)
    );
}

#[test]
fn short_sequence_numbers_come_after_the_peer_has_agreed() {
    let mut pair = Pair::new(DccpSettings { short_sequence_numbers: true, ..settings(Ccid::TcpLike) });
    pair.loses = |end, packet, data| end == 0 && packet.kind.has_data() && data % 200 == 0;
    pair.run(5_000, true);
    let short = |packet: &&(u64, usize, Packet)| packet.1 == 0 && packet.2.is_short;
    let first = pair.seen.iter().find(short).expect("some are short");
    assert!(first.0 >= 100 && first.2.seq < 1 << 24);
    assert!(
        pair.ends[1].arrived.len() > 1000,
        "numbers that wrap are extended: {}",
        pair.ends[1].arrived.len()
    );
    assert!(!pair.kinds().iter().any(|(_, _, kind)| *kind == Kind::Sync));
}

#[test]
fn a_window_that_is_too_narrow_loses_synchrony_and_a_sync_restores_it() {
    let narrow = DccpSettings { sequence_window: Some(Packets(32)), ..settings(Ccid::TcpLike) };
    let mut pair = Pair::new(narrow);
    pair.run(2_000, true);
    // An outage longer than the window.
    pair.loses = |end, packet, _| end == 0 && packet.kind.has_data();
    pair.run(400, true);
    pair.loses = |_, _, _| false;
    let before = pair.ends[1].arrived.len();
    pair.run(10_000, true);
    assert!(pair.kinds().iter().any(|(_, end, kind)| *end == 1 && *kind == Kind::Sync));
    assert!(pair.kinds().iter().any(|(_, end, kind)| *end == 0 && *kind == Kind::SyncAck));
    assert!(pair.ends[1].arrived.len() > before + 100);
    let mut wide = Pair::new(settings(Ccid::TcpLike));
    wide.loses = |end, packet, data| end == 0 && packet.kind.has_data() && data % 400 == 0;
    wide.run(5_000, true);
    assert!(
        wide.ends[0].features.local.sequence_window > 100,
        "the window follows the packets of a round trip"
    );
}

#[test]
fn lost_acknowledgments_raise_the_ack_ratio() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.loses = |end, packet, data| {
        (end == 1 && packet.kind == Kind::Ack && packet.seq % 4 == 0)
            || (end == 0 && packet.kind.has_data() && data % 300 == 0)
    };
    pair.run(20_000, true);
    assert!(pair.ends[1].features.remote.ack_ratio > 2, "{}", pair.ends[1].features.remote.ack_ratio);
    let fixed = DccpSettings { ack_ratio: Some(Packets(5)), ..settings(Ccid::TcpLike) };
    let mut given = Pair::new(fixed);
    given.loses = pair.loses;
    given.run(5_000, true);
    assert_eq!(given.ends[1].features.remote.ack_ratio, 5);
}

#[test]
fn a_queue_that_is_full_refuses_and_a_client_without_an_answer_gives_up() {
    let mut pair = Pair::new(settings(Ccid::TcpLike));
    pair.loses = |_, _, _| true;
    let taken = (0..9).filter(|_| pair.ends[0].send(Payload::Pattern { offset: 0, len: 10 })).count();
    assert_eq!(taken, 5);
    pair.run(200_000, false);
    assert!(matches!(pair.ends[0].phase(), Phase::Broken(_)));
}
