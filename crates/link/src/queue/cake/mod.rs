//! CAKE: Common Applications Kept Enhanced (Høiland-Jørgensen, Täht and Morton 2018, "Piece of CAKE", LANMAN).
//!
//! A shaper (`shaper.rs`) holds packets back, so that the queue forms here and not in the next modem. Traffic classes
//! are tins (`tins.rs`), each with a threshold rate up to which it has priority. In a tin flows are assigned to
//! sub-queues by a hash with sets of eight (`flows.rs`) and served by deficit round robin, sparse flows first; the turn
//! of a flow is divided by the number of flows of its host (`hosts.rs`). Each sub-queue has its own Cobalt, CoDel with
//! BLUE (`cobalt.rs`). ACKs that a later one makes redundant can be dropped (`ack_filter.rs`).
//!
//! The rules and names are those of the paper and of Linux' `sch_cake`.

mod ack_filter;
mod cobalt;
mod flows;
mod hosts;
mod shaper;
mod tins;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Stream, Streams};

use super::{Decision, Departure, Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue};
use crate::error::ConfigError;
use crate::event::DropRule;
use ack_filter::AckFilter;
use cobalt::Cobalt;
use flows::Flows;
pub use hosts::Isolation;
pub use shaper::Cells;
use shaper::{Overhead, Shaper};
pub use tins::Diffserv;
use tins::{Share, Tin, flow_quantum};

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "cake",
    "a shaper with tins by DSCP, fairness of hosts and flows, and Cobalt for each flow",
    "Høiland-Jørgensen, Täht and Morton 2018; Linux net/sched/sch_cake.c",
)
.written("{ cake = { rate = \"20 Mbit/s\", diffserv = \"diffserv4\" } }");

/// An ACK that a later one made redundant.
pub const ACK_FILTER: DropRule = DropRule::named("cake-ack-filter");

/// The shaper, the tins, the fairness and the AQM, with the defaults of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The rate to which traffic is shaped; absent: no shaper, the link's own rate is what counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes that later links add to each packet, negative if they remove bytes: -64 to 256.
    pub overhead: i64,
    /// Minimum size of a packet, overhead included.
    pub mpu: Bytes,
    /// Cells into which later links divide packets.
    pub cells: Cells,
    /// The round trip that the AQM is set for: its interval; its target is a twentieth of it. 100 ms.
    pub rtt: Duration,
    /// Into which tins traffic classes go.
    pub diffserv: Diffserv,
    /// The units among which the link is shared.
    pub isolation: Isolation,
    /// Whether ACKs that later ones make redundant are dropped.
    pub ack_filter: AckFilter,
    /// Number of sub-queues of each tin: 1024.
    pub flows: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            rate: None,
            overhead: 0,
            mpu: Bytes::ZERO,
            cells: Cells::None,
            rtt: Duration::from_millis(100),
            diffserv: Diffserv::Diffserv3,
            isolation: Isolation::TripleIsolate,
            ack_filter: AckFilter::Off,
            flows: 1024,
        }
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.rate.is_some_and(|rate| rate.bits_per_sec() == 0) {
            return Err(ConfigError::new("rate", "a shaper of 0 bit/s", "write a rate like \"20 Mbit/s\""));
        }
        // The bounds of tc-cake(8).
        if !(-64..=256).contains(&self.overhead) {
            let message = format!("an overhead of {} bytes", self.overhead);
            return Err(ConfigError::new("overhead", message, "write -64 to 256"));
        }
        if self.rtt.is_zero() {
            let message = "an interval of no length drops everything";
            return Err(ConfigError::new("rtt", message, "write a time like \"100 ms\""));
        }
        if !(8..=65_536).contains(&self.flows) || !self.flows.is_multiple_of(8) {
            let message = format!("{} sub-queues cannot be put into sets of eight", self.flows);
            return Err(ConfigError::new("flows", message, "write a multiple of 8, up to 65536"));
        }
        Ok(())
    }

    fn service(&self, stream: Stream) -> Service {
        Service::Classful(Box::new(Cake::new(*self, stream)))
    }
}

#[derive(Debug)]
struct Cake {
    parameters: Parameters,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// The tin whose turn it is, without a shaper.
    current: usize,
    /// BLUE's streams, one for each sub-queue.
    streams: Streams,
    acks: ack_filter::QueuedAcks,
    /// Packets in all tins.
    len: u32,
}

impl Cake {
    fn new(parameters: Parameters, mut stream: Stream) -> Self {
        let overhead = Overhead { bytes: parameters.overhead, mpu: parameters.mpu, cells: parameters.cells };
        let perturbation = stream.next_u64();
        let tins = parameters.diffserv.shares();
        let tin = |share: &Share| tin(&parameters, *share, perturbation);
        Self {
            shaper: Shaper::new(parameters.rate, overhead),
            tins: tins.iter().map(tin).collect(),
            current: 0,
            streams: Streams::new(stream.next_u64()),
            acks: ack_filter::QueuedAcks::new(parameters.ack_filter),
            len: 0,
            parameters,
        }
    }

    /// The tin of a sub-queue, and its number there.
    const fn place(&self, sub_queue: usize) -> (usize, usize) {
        let flows = self.parameters.flows as usize;
        (sub_queue / flows, sub_queue % flows)
    }

    /// The tin to serve. With a shaper: among the tins within their thresholds the one of the highest priority,
    /// otherwise the tin that has been ready longest. Without a rate: by deficit round robin of their weights.
    fn choose_tin(&mut self, now: Instant) -> Option<usize> {
        if self.shaper.is_unlimited() {
            return self.next_by_weight();
        }
        let mut chosen: Option<(usize, Instant)> = None;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            let is_better = tin.next_packet <= now || chosen.is_none_or(|(_, best)| tin.next_packet <= best);
            if is_better {
                chosen = Some((number, tin.next_packet));
            }
        }
        chosen.map(|(number, _)| number)
    }

    fn next_by_weight(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.is_active() && tin.deficit > 0 {
                return Some(self.current);
            }
            tin.deficit = if tin.is_active() { tin.deficit + tin.quantum } else { 0 };
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// A packet has left a sub-queue, however.
    fn on_gone(&mut self, sub_queue: usize) {
        self.len -= 1;
        self.acks.pop_front(sub_queue);
    }
}

/// A tin with a share of the rate, and its sub-queues.
fn tin(parameters: &Parameters, share: Share, perturbation: u64) -> Tin {
    let rate = parameters.rate.map(|rate| share.of(rate));
    let flows = Flows::new(parameters.isolation, parameters.flows, flow_quantum(rate), perturbation);
    Tin::new(share, rate, parameters.rtt, flows)
}

impl Scheduler for Cake {
    fn classify(&mut self, keys: &Keys) -> usize {
        let tin = self.parameters.diffserv.tin_of(keys.dscp);
        self.acks.on_arrival(keys);
        tin * self.parameters.flows as usize + self.tins[tin].classify(keys)
    }

    fn policy(&self, sub_queue: usize) -> Box<dyn Policy> {
        let (tin, _) = self.place(sub_queue);
        let stream = self.streams.stream(&sub_queue.to_string());
        Box::new(Cobalt::new(self.tins[tin].timing(), stream))
    }

    fn on_arrival(&mut self, _: &mut [SubQueue], sub_queue: usize, arrival: &super::Arrival) -> Decision {
        if self.len == 0 {
            self.shaper.on_first_packet(arrival.now);
        }
        let (tin, _) = self.place(sub_queue);
        self.tins[tin].on_arrival(arrival.now);
        Decision::Pass
    }

    fn on_queued(&mut self, sub_queue: usize) {
        self.len += 1;
        self.acks.push(sub_queue);
        let (tin, flow) = self.place(sub_queue);
        self.tins[tin].on_queued(flow);
    }

    fn superseded(&mut self, sub_queue: usize) -> Option<usize> {
        let position = self.acks.superseded(sub_queue)?;
        self.len -= 1;
        Some(position)
    }

    fn next(&mut self, sub_queues: &[SubQueue], now: Instant) -> Option<usize> {
        if self.shaper.ready_at() > now {
            return None;
        }
        loop {
            let tin = self.choose_tin(now)?;
            let first = tin * self.parameters.flows as usize;
            let is_empty = |flow: usize| sub_queues.get(first + flow).is_none_or(SubQueue::is_empty);
            if let Some(flow) = self.tins[tin].next(is_empty) {
                return Some(first + flow);
            }
        }
    }

    fn on_departure(
        &mut self,
        sub_queues: &mut [SubQueue],
        sub_queue: usize,
        departure: &Departure,
    ) -> Decision {
        self.on_gone(sub_queue);
        let decision = sub_queues[sub_queue].on_departure(departure);
        if !matches!(decision, Decision::Drop(_)) {
            let size = self.shaper.advance(departure.size);
            let (tin, _) = self.place(sub_queue);
            self.tins[tin].advance(departure.now, size);
        }
        decision
    }

    fn on_served(&mut self, sub_queue: usize, size: Bytes) {
        let (tin, flow) = self.place(sub_queue);
        self.tins[tin].on_served(flow, size);
    }

    fn on_removed(&mut self, sub_queue: usize) {
        self.on_gone(sub_queue);
    }

    fn ready_at(&self) -> Option<Instant> {
        (!self.shaper.is_unlimited()).then(|| self.shaper.ready_at())
    }

    /// From the sub-queue with the most bytes, wherever it is.
    fn victims(&self, sub_queues: &[SubQueue], _: usize) -> Option<(usize, u32)> {
        let (number, _) = sub_queues.iter().enumerate().max_by_key(|(_, queue)| queue.bytes())?;
        Some((number, 1))
    }
}

#[cfg(test)]
mod tests;
