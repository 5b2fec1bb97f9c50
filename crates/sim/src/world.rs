//! The world: what a driver sees of a run.

use arrow_array::RecordBatch;
use link::StopReason;
use units::{Duration, Instant, PacketId};

use crate::build::{self, BuildError};
use crate::engine::Engine;
use crate::external::{ExternalEvent, ExternalPacket, ObservedFlow};
use crate::record::{Metering, Nothing, Off, Recording, Records};
use crate::route::LinkDirection;
use crate::spec::Spec;
use crate::summary::Summary;

/// A run in progress.
///
/// In virtual time: [`World::run`], then [`World::finish`].
///
/// In real time a driver does, over and over: wait until [`World::next_event`] or until a packet
/// comes in; [`World::run_until`] the present; [`World::inject`] what came; [`World::poll_external`]
/// until there is nothing left.
pub struct World {
    engine: AnyEngine,
    spec: Spec,
}

/// What is left of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its numbers.
    pub summary: Summary,
    /// The tables that were asked for, by name, and `flows`: what [`World::take_records`] has not given before.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// The captures that were asked for, pcapng files by the name of their point: the rest of each likewise.
    pub captures: Vec<(String, Vec<u8>)>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The receiver read a byte that the sender did not write there.
    #[error("flow {flow}: byte {position} of the stream is wrong at the receiver ({at})")]
    Integrity {
        /// The flow.
        flow: String,
        /// Place in the stream.
        position: u64,
        /// When it was read.
        at: Instant,
    },
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every flow is over.
    FlowsOver,
    /// The time is up.
    Time,
    /// Nobody wants to be woken.
    Quiet,
    /// Nothing has arrived anywhere for very long.
    Stalled,
    /// A link is configured to stop the run where its queue overflows.
    Link { link: LinkDirection, reason: StopReason },
}

/// With recording, with metering, with neither: machines from one text, so that the last pays nothing.
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
    /// If the stream that arrives is not the stream that was sent.
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
    /// If the stream that arrives is not the stream that was sent.
    pub fn run_until(&mut self, time: Instant) -> Result<(), RunError> {
        let stop = self.stop_time();
        each!(&mut self.engine, engine => {
            engine.run_until(time.min(stop), stop);
            engine.advance(time.min(stop), stop);
            engine.failure()
        })
    }

    /// When the world next has something to do; `None` if it has not, or the run is over.
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

    /// Ends the run at the world's present time, as a driver does whose user has had enough.
    pub fn stop(&mut self) {
        each!(&mut self.engine, engine => { engine.stopped.get_or_insert(Stop::Time); });
    }

    /// An external node sends an IP packet at `now`, up to which the world must have been run. A
    /// packet to an address that nobody has is passed over; any other gets the identity returned.
    ///
    /// # Errors
    /// If the stream that arrives somewhere because of it is not the stream that was sent.
    pub fn inject(
        &mut self,
        now: Instant,
        node: usize,
        bytes: Vec<u8>,
    ) -> Result<Option<PacketId>, RunError> {
        each!(&mut self.engine, engine => {
            let id = engine.inject(now, node, bytes);
            engine.failure().map(|()| id)
        })
    }

    /// Whether the way out of `node` takes packets. A driver that is told no leaves packets where
    /// they are: that is flow control.
    #[must_use]
    pub fn accepts(&self, node: usize) -> bool {
        let links = self.spec.links.iter().enumerate();
        let mut leaving = links.flat_map(|(index, link)| {
            let down = (link.ends[0] == node).then_some(2 * index);
            down.into_iter().chain((link.ends[1] == node).then_some(2 * index + 1))
        });
        each!(&self.engine, engine => leaving.all(|direction| engine.accepts(direction)))
    }

    /// The next packet that has reached an external node, and the node.
    pub fn poll_external(&mut self) -> Option<(usize, ExternalPacket)> {
        each!(&mut self.engine, engine => engine.gateway.poll())
    }

    /// What else became of external nodes' packets, in the order in which the links tell of it.
    pub fn poll_external_event(&mut self) -> Option<ExternalEvent> {
        each!(&mut self.engine, engine => engine.gateway.poll_event())
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

    /// The records that have become complete, if there are so many that they should be taken out of memory. A driver
    /// that writes them while the run goes on needs no more memory for a long run than for a short one.
    pub fn take_records(&mut self) -> Option<Records> {
        each!(&mut self.engine, engine => engine.take_records(&self.spec))
    }

    /// What is left of the run.
    #[must_use]
    pub fn finish(self) -> Outcome {
        self.finish_observed(Vec::new())
    }

    /// What is left of the run, with flows between external nodes that the driver has seen: they
    /// stand in the summary, and tables and captures know them by name and verdict.
    #[must_use]
    pub fn finish_observed(self, flows: Vec<ObservedFlow>) -> Outcome {
        each!(self.engine, engine => crate::outcome::gather(*engine, &self.spec, flows))
    }

    fn stop_time(&self) -> Instant {
        self.spec.stop.map_or(Instant::NEVER, |stop: Duration| Instant::START + stop)
    }
}

impl Stop {
    /// What ended the run, in words.
    pub(crate) fn describe(&self, spec: &Spec) -> String {
        match self {
            Self::FlowsOver => "every flow closed".to_owned(),
            Self::Time => "stop time".to_owned(),
            Self::Quiet => "nothing left to happen".to_owned(),
            Self::Stalled => "nothing had arrived for an hour".to_owned(),
            Self::Link { link, reason: StopReason { packet, waiting, .. } } => {
                let name = &spec.links[*link as usize / 2].name;
                format!("link {name}: packet {packet} found the queue full, {waiting} waiting")
            }
        }
    }
}
