//! Limit of a sender at each time, from its packets: the shares of a connection's time.
//!
//! After T-RAT (Y. Zhang, L. Breslau, V. Paxson, S. Shenker, "On the characteristics and origins of Internet flow
//! rates", SIGCOMM 2002, §3), with the sender's state where T-RAT has groups of packets. What a sender may have in
//! flight is taken for the most that it had during the last two round trips.

use std::collections::BTreeMap;

use trace::flow::{Cause, Flow, HalfConnection, ObservedSegment, Place, Repair, SegmentKind, Side};
use units::{Bytes, Duration, Instant};

/// The limit on a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The connection was not established yet.
    Handshake,
    /// It had nothing to send, or sent less than it might have.
    Application,
    /// The peer's window was full.
    Receiver,
    /// Nothing arrived until a retransmission timer expired.
    Timer,
    /// It repaired losses.
    Repair,
    /// Its packets waited in a queue: the round trip was longer than the shortest.
    Path,
    /// It waited for acknowledgments although no queue was there: its window was below what the path holds.
    Window,
}

/// A limit, and whether the packets prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    limit: Limit,
    proved: bool,
}

/// The time that a sender spent at one limit, and the part of it for which the packets prove that limit.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    time: Duration,
    proved: Duration,
}

/// The time that a sender spent at each limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    last: Option<(Instant, Found)>,
    /// The time at each limit, in the order of [`Limit::ALL`].
    shares: [Share; Limit::ALL.len()],
    /// The largest flight of this round trip and of the one before.
    flights: [Bytes; 2],
    round_trip_from: Option<Instant>,
    largest_segment: u32,
}

impl Limits {
    /// A packet of either side passed, after which `side` is in this state.
    pub(crate) fn on_packet(&mut self, at: Instant, flow: &Flow, side: Side, observed: &ObservedSegment) {
        let expired = observed.kind == SegmentKind::Retransmission(Cause::Timeout);
        if let Some((since, found)) = self.last {
            let time = at.saturating_since(since);
            let timer = Found { limit: Limit::Timer, proved: time >= LEAST_TIMER };
            self.add(time, if expired && observed.sender == side { timer } else { found });
        }
        let half = flow.half(side);
        self.note_flight(at, half);
        if observed.sender == side {
            self.largest_segment = self.largest_segment.max(observed.len);
        }
        self.last = Some((at, self.limit(flow, half)));
    }

    fn add(&mut self, time: Duration, found: Found) {
        let share = &mut self.shares[found.limit as usize];
        share.time += time;
        if found.proved {
            share.proved += time;
        }
    }

    /// Seconds by the name of each limit that occurred.
    pub(crate) fn seconds(&self) -> BTreeMap<&'static str, f64> {
        self.spent().map(|(limit, share)| (limit.id(), share.time.as_secs_f64())).collect()
    }

    /// Confidence by the name of the limit, for a capture at this place.
    pub(crate) fn confidence(&self, place: Place) -> BTreeMap<&'static str, &'static str> {
        self.spent().map(|(limit, share)| (limit.id(), share.confidence(place))).collect()
    }

    fn spent(&self) -> impl Iterator<Item = (Limit, Share)> {
        Limit::ALL.into_iter().zip(self.shares).filter(|(_, share)| share.time > Duration::ZERO)
    }

    fn note_flight(&mut self, at: Instant, half: &HalfConnection) {
        let from = *self.round_trip_from.get_or_insert(at);
        if half.srtt().is_some_and(|srtt| at.saturating_since(from) > srtt) {
            (self.flights, self.round_trip_from) = ([Bytes(0), self.flights[0]], Some(at));
        }
        self.flights[0] = self.flights[0].max(half.flight());
    }

    /// The limit, which the protocol proves if nothing is in flight, losses are repaired or a window is full. That less
    /// was sent than might have been, or that there was a queue, is inferred from flights and round trips.
    fn limit(&self, flow: &Flow, half: &HalfConnection) -> Found {
        let after_next = half.flight().0 + u64::from(self.largest_segment);
        let proved = |limit| Found { limit, proved: true };
        let inferred = |limit| Found { limit, proved: false };
        if flow.syn_at().is_some() && flow.connected_at().is_none() {
            proved(Limit::Handshake)
        } else if half.flight().is_zero() {
            proved(Limit::Application)
        } else if half.repair() != Repair::None {
            proved(Limit::Repair)
        } else if after_next > half.peer_window().0 {
            proved(Limit::Receiver)
        } else if after_next <= self.flights[0].max(self.flights[1]).0 * 3 / 4 {
            inferred(Limit::Application)
        } else {
            match queue(half) {
                Some(queue) => Found { limit: Limit::Path, proved: queue == Queue::Long },
                None => inferred(Limit::Window),
            }
        }
    }
}

impl Share {
    fn confidence(self, place: Place) -> &'static str {
        let nearly_all = self.proved * 10 >= self.time * 9;
        let half = self.proved * 2 >= self.time;
        match place {
            // Inside one host nothing separates the point from the sender.
            Place::Sender | Place::Unknown if nearly_all => "certain",
            Place::Sender | Place::Unknown | Place::Middle if half => "likely",
            _ => "unsure",
        }
    }
}

/// A queue on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// Other delays may be as long.
    Short,
    /// It doubles the shortest round trip at least.
    Long,
}

/// The queue by which the latest round trip was longer than the shortest, if there was any.
fn queue(half: &HalfConnection) -> Option<Queue> {
    let (latest, shortest) = half.latest_round_trip().zip(half.shortest_round_trip())?;
    match latest {
        latest if latest > shortest * 2 + LEAST_QUEUE => Some(Queue::Long),
        latest if latest > shortest * 5 / 4 + LEAST_QUEUE => Some(Queue::Short),
        _ => None,
    }
}

impl Limit {
    const ALL: [Self; 7] = [
        Self::Handshake,
        Self::Application,
        Self::Receiver,
        Self::Timer,
        Self::Repair,
        Self::Path,
        Self::Window,
    ];

    const fn id(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Application => "application",
            Self::Receiver => "receiver",
            Self::Timer => "timer",
            Self::Repair => "repair",
            Self::Path => "path",
            Self::Window => "window",
        }
    }
}

/// Hosts and drivers delay packets by less.
const LEAST_QUEUE: Duration = Duration::from_millis(2);
/// No retransmission timer is shorter: Linux has 200 ms (TCP_RTO_MIN), of which a fifth may lie before the last packet.
const LEAST_TIMER: Duration = Duration::from_millis(160);
