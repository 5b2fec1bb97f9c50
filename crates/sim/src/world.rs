//! The world: what a driver sees of a run.

use std::net::Ipv4Addr;

use units::{Duration, Instant, PacketId, Streams};
use wire::offload::RawPacket;

use crate::build::{self, BuildError};
use crate::directed_link::LinkState;
use crate::engine::Engine;
use crate::external::{ExternalEvent, ExternalPacket, ObservedFlow};
use crate::ids::{DirectionId, Heading, Id, LinkId, NodeId};
use crate::outcome::{self, Outcome};
use crate::record::{Metering, Nothing, Off, Recording, Records};
use crate::spec::Spec;
use crate::stop::{RunError, Stop};

/// A run in progress.
///
/// In virtual time: [`World::run`], then [`World::finish`].
///
/// In real time a driver repeats: wait until [`World::next_event`] or until a packet
/// comes in; [`World::run_until`] the present; [`World::inject`] what came; [`World::poll_external`]
/// until there is nothing left.
pub struct World {
    engine: AnyEngine,
    spec: Spec,
}

/// An engine that records, an engine that only meters links, or an engine that does neither and pays for neither.
enum AnyEngine {
    Bare(Box<Engine<Off>>),
    Metering(Box<Engine<Metering>>),
    Recording(Box<Engine<Recording>>),
}

macro_rules! each {
    ($engine:expr, $name:ident => $call:expr) => {
        match $engine {
            AnyEngine::Bare($name) => $call,
            AnyEngine::Metering($name) => $call,
            AnyEngine::Recording($name) => $call,
        }
    };
}

impl World {
    /// Builds the world of `spec`.
    ///
    /// # Errors
    /// If the specification contradicts itself, or two hosts of a flow cannot reach each other.
    pub fn new(spec: Spec) -> Result<Self, BuildError> {
        build::check(&spec)?;
        let engine = if spec.record.is_on() {
            AnyEngine::Recording(Box::new(build::engine(&spec, Recording::new(&spec))?))
        } else if spec.record.measure.links || spec.record.queue_lengths {
            AnyEngine::Metering(Box::new(build::engine(&spec, Nothing)?))
        } else {
            AnyEngine::Bare(Box::new(build::engine(&spec, Nothing)?))
        };
        Ok(Self { engine, spec })
    }

    /// Runs in virtual time until the run is over: every flow has closed, the stop time has come,
    /// a link stopped it, or nothing is left to happen.
    ///
    /// # Errors
    /// If the stream that arrives is not the stream that was sent, or a link holds too many packets.
    pub fn run(&mut self) -> Result<(), RunError> {
        let until = self.stop_time();
        each!(&mut self.engine, engine => {
            engine.run_until(until, until);
            engine.conclude(until);
            engine.failure()
        })
    }

    /// Does everything that is due up to and with `time`; the world's time is then `time`.
    ///
    /// # Errors
    /// If the stream that arrives is not the stream that was sent, or a link holds too many packets.
    pub fn run_until(&mut self, time: Instant) -> Result<(), RunError> {
        let stop = self.stop_time();
        each!(&mut self.engine, engine => {
            engine.run_until(time.min(stop), stop);
            engine.advance(time.min(stop), stop);
            engine.failure()
        })
    }

    /// Sets the largest number of packets in one link, 16 million by default: with more the run ends as
    /// [`RunError::Overload`], before the memory ends.
    pub fn limit_packets(&mut self, most: usize) {
        each!(&mut self.engine, engine => engine.most_packets_inside = most);
    }

    /// Time at which the world next has something to do; `None` if it has not, or the run is over.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        each!(&self.engine, engine => engine.next_event())
    }

    /// The world's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        each!(&self.engine, engine => engine.now)
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        each!(&self.engine, engine => engine.stopped.is_some())
    }

    /// Ends the run at the world's present time, as a driver does when its user interrupts it.
    pub fn stop(&mut self) {
        each!(&mut self.engine, engine => { engine.stopped.get_or_insert(Stop::Time); });
    }

    /// An external node sends an IP packet at `now`, up to which the world must have been run. A
    /// packet to an address that no node has is ignored; any other gets the identity returned.
    ///
    /// # Errors
    /// If the stream that arrives somewhere because of it is not the stream that was sent.
    pub fn inject(
        &mut self,
        now: Instant,
        node: NodeId,
        bytes: impl Into<RawPacket>,
    ) -> Result<Option<PacketId>, RunError> {
        let bytes = bytes.into();
        each!(&mut self.engine, engine => {
            let id = engine.inject(now, node, bytes);
            engine.failure().map(|()| id)
        })
    }

    /// Gives an external node a second address, whose packets take the routes of the first one, or a link of the node
    /// and no other of its links.
    pub fn add_address(&mut self, node: NodeId, address: Ipv4Addr, link: Option<LinkId>) {
        let spec = &self.spec;
        each!(&mut self.engine, engine => build::add_address(engine, spec, (node, address), link));
    }

    /// An external node sends a packet to another at `now`, whatever address the packet has: what leads on from there
    /// is the driver's matter.
    ///
    /// # Errors
    /// As [`World::inject`].
    pub fn inject_to(
        &mut self,
        now: Instant,
        ends: [NodeId; 2],
        bytes: impl Into<RawPacket>,
    ) -> Result<Option<PacketId>, RunError> {
        let bytes = bytes.into();
        each!(&mut self.engine, engine => {
            let id = engine.inject_to(now, ends, bytes);
            engine.failure().map(|()| id)
        })
    }

    /// Replaces the parameters of links during the run, at `now`, up to which the world must have been run. `next` has
    /// the same nodes, and the same links between them; its flows and records are not read. A direction whose
    /// parameters are the same remains as it is. Packets in the queue of a changed direction pass to the new queue;
    /// packets in transmission or propagation arrive as before.
    ///
    /// # Errors
    /// If `next` contradicts itself.
    pub fn exchange_links(&mut self, now: Instant, next: &Spec) -> Result<(), BuildError> {
        build::check(next)?;
        let streams = Streams::new(next.seed);
        for (place, link) in next.links.iter().enumerate() {
            let before = std::mem::replace(&mut self.spec.links[place], link.clone());
            for (heading, old, new) in
                [(Heading::Down, &before.down, &link.down), (Heading::Up, &before.up, &link.up)]
            {
                if old == new {
                    continue;
                }
                let direction = DirectionId::new(LinkId::from_index(place), heading);
                let streams = build::link_streams(&streams, &link.name, heading);
                each!(&mut self.engine, engine => engine.exchange_link(now, direction, (new, &streams)));
            }
        }
        Ok(())
    }

    /// Each direction of each link, as of the last call that reached it.
    #[must_use]
    pub fn link_states(&self) -> Vec<LinkState> {
        each!(&self.engine, engine => engine.link_states())
    }

    /// Whether the links that leave `node` take packets. If not, a driver leaves packets where
    /// they are: that is flow control.
    #[must_use]
    pub fn accepts(&self, node: NodeId) -> bool {
        let links = self.spec.links.iter().enumerate();
        let mut leaving = links.flat_map(|(index, link)| {
            let headings = link.ends.into_iter().zip(Heading::BOTH).filter(|(end, _)| *end == node);
            headings.map(move |(_, heading)| DirectionId::new(LinkId::from_index(index), heading))
        });
        each!(&self.engine, engine => leaving.all(|direction| engine.accepts(direction)))
    }

    /// The next packet that has reached an external node, and the node.
    pub fn poll_external(&mut self) -> Option<(NodeId, ExternalPacket)> {
        each!(&mut self.engine, engine => engine.gateway.poll())
    }

    /// Losses and delays of external nodes' packets, in the order in which the links report them.
    pub fn poll_external_event(&mut self) -> Option<ExternalEvent> {
        each!(&mut self.engine, engine => engine.gateway.poll_event())
    }

    /// Flows of the world's own that are not over.
    #[must_use]
    pub fn open_flows(&self) -> usize {
        each!(&self.engine, engine => engine.open_flows)
    }

    /// Packets from outside that led nowhere, so far.
    #[must_use]
    pub fn unroutable(&self) -> u64 {
        each!(&self.engine, engine => engine.gateway.unroutable)
    }

    /// Packets that are somewhere between two ends.
    #[must_use]
    pub fn packets_under_way(&self) -> usize {
        each!(&self.engine, engine => engine.packets_under_way())
    }

    /// The records that have become complete, if they are many enough to be taken out of memory. A driver that writes
    /// them during the run needs no more memory for a long run than for a short one.
    pub fn take_records(&mut self) -> Option<Records> {
        each!(&mut self.engine, engine => engine.take_records(&self.spec))
    }

    /// Ends the run and returns its results.
    #[must_use]
    pub fn finish(self) -> Outcome {
        self.finish_observed(Vec::new())
    }

    /// Ends the run and returns its results, with flows between external nodes that the driver has seen: they
    /// stand in the summary, and tables and captures know them by name and verdict.
    #[must_use]
    pub fn finish_observed(self, flows: Vec<ObservedFlow>) -> Outcome {
        each!(self.engine, engine => outcome::gather(*engine, &self.spec, flows))
    }

    fn stop_time(&self) -> Instant {
        self.spec.stop.map_or(Instant::NEVER, |stop: Duration| Instant::START + stop)
    }
}
