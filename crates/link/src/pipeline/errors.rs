//! The error stage, between propagation and the receive buffer: random and scripted errors, outages, the link layer's
//! retransmission, reordering.
//!
//! Each of them draws for every packet, whatever the others do to it, so that none moves another's draws.

use units::{Bytes, Duration, Instant, Stream, Streams};

use super::arq::ArqStage;
use super::frames::FrameTransmission;
use super::impairment::{Impairment, ImpairmentCause};
use super::reordering::ReorderingStage;
use crate::config::{Config, CountedAt, Duplicates, Effect, Errors, Outages, ScriptedEvent};
use crate::distribution::Source;
use crate::error_model::independent::Independent;
use crate::error_model::{ErrorModel, Process};
use crate::event::ErrorCause;
use crate::random::happens;
use crate::store::PacketState;

#[derive(Debug)]
pub(super) struct ErrorStage {
    random: Option<RandomErrors>,
    by_arrival: Script,
    by_transmission: Script,
    outages: Option<Outages>,
    arq: Option<ArqStage>,
    reordering: Option<ReorderingStage>,
    duplicates: Option<(f64, Stream)>,
    is_absent: bool,
}

/// Impairments of one packet, each with its cause.
pub(super) type Impairments = [Option<(ImpairmentCause, Impairment)>; 7];

impl ErrorStage {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let duplicates =
            |duplicates: Duplicates| (duplicates.probability.get(), streams.stream("duplicates"));
        let mut stage = Self {
            random: config.errors.as_ref().map(|errors| RandomErrors::new(errors, streams)),
            by_arrival: Script::new(&config.events, CountedAt::Arrival),
            by_transmission: Script::new(&config.events, CountedAt::Transmission),
            outages: config.outages,
            arq: config.arq.as_ref().map(|arq| ArqStage::new(arq, streams)),
            reordering: config.reordering.as_ref().map(|config| ReorderingStage::new(config, streams)),
            duplicates: config.duplicates.map(duplicates),
            is_absent: false,
        };
        stage.is_absent = stage.has_nothing() && config.frames.is_none();
        stage
    }

    /// Whether the stage does nothing to any packet.
    #[inline]
    pub(super) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    fn has_nothing(&self) -> bool {
        let scripts = !self.by_arrival.0.is_empty() || !self.by_transmission.0.is_empty();
        let random = self.random.is_some() || self.reordering.is_some() || self.duplicates.is_some();
        !(scripts || random || self.outages.is_some() || self.arq.is_some())
    }

    /// The impairments of a packet that arrives at `now`; `frames` is the transmission of its frames, if it was
    /// divided.
    pub(super) fn impairments(
        &mut self,
        now: Instant,
        state: &PacketState,
        frames: Option<FrameTransmission>,
    ) -> Impairments {
        let by = |cause| move |hit| (ImpairmentCause::Error(cause), hit);
        let random = self.random.as_mut().and_then(|random| random.impairment(state.size));
        let outage = self.outages.filter(|outages| is_out(outages, now)).map(|_| Impairment::Drop);
        let arq = self.arq.as_mut().and_then(|arq| arq.impairment(state.size));
        let reordering = self.reordering.as_mut().and_then(ReorderingStage::impairment);
        [
            random.map(by(ErrorCause::Random)),
            self.by_arrival.impairment(state.arrival_number).map(by(ErrorCause::Scripted)),
            self.by_transmission.impairment(state.transmission_number).map(by(ErrorCause::Scripted)),
            outage.map(by(ErrorCause::Outage)),
            arq.map(|hit| (ImpairmentCause::Arq, hit)),
            frames
                .filter(FrameTransmission::was_repeated)
                .map(|frames| (ImpairmentCause::Arq, frames.impairment())),
            reordering.map(|hit| (ImpairmentCause::Reordering, hit)),
        ]
    }

    /// Whether a packet is copied if it gets through: drawn for every packet, too.
    pub(super) fn duplicates(&mut self) -> bool {
        self.duplicates.as_mut().is_some_and(|(probability, stream)| happens(stream, *probability))
    }
}

/// Whether there is an outage: from its start up to, and without, its end.
fn is_out(outages: &Outages, now: Instant) -> bool {
    let first = Instant::START + outages.phase;
    let since_start = (now.as_nanos().saturating_sub(first.as_nanos())) % outages.every.as_nanos();
    now >= first && since_start < outages.length.as_nanos()
}

/// The random process. Which packets are hit and how long they are delayed is drawn from two streams, so that the same
/// packets are hit whatever the distribution of the delay.
#[derive(Debug)]
struct RandomErrors {
    model: Model,
    effect: RandomEffect,
}

/// The usual model is not boxed, as it draws for every packet.
#[derive(Debug)]
enum Model {
    Independent(Independent),
    Other(Box<dyn Process>),
}

#[derive(Debug)]
enum RandomEffect {
    Drop,
    Delay(Source<Duration>),
    Corrupt,
}

impl RandomErrors {
    fn new(errors: &Errors, streams: &Streams) -> Self {
        let effect = match (errors.effect, &errors.delay) {
            (Effect::Drop, _) => RandomEffect::Drop,
            (Effect::Corrupt, _) => RandomEffect::Corrupt,
            (Effect::Delay, Some(delay)) => {
                RandomEffect::Delay(Source::new(delay, streams.stream("error_delay")))
            }
            (Effect::Delay, None) => RandomEffect::Delay(Source::Constant(Duration::ZERO)),
        };
        let model = match (errors.model(), streams.stream("error")) {
            (ErrorModel::Independent(parameters), stream) => {
                Model::Independent(Independent::new(parameters, stream))
            }
            (other, stream) => Model::Other(other.process(stream)),
        };
        Self { model, effect }
    }

    fn impairment(&mut self, size: Bytes) -> Option<Impairment> {
        let hits = match &mut self.model {
            Model::Independent(model) => model.hits(size),
            Model::Other(model) => model.hits(size),
        };
        hits.then(|| match &mut self.effect {
            RandomEffect::Drop => Impairment::Drop,
            RandomEffect::Delay(delay) => Impairment::Delay(delay.draw()),
            RandomEffect::Corrupt => Impairment::Corrupt,
        })
    }
}

/// What happens to single packets, by number, ascending.
#[derive(Debug)]
struct Script(Vec<(u64, Impairment)>);

impl Script {
    fn new(events: &[ScriptedEvent], counted_at: CountedAt) -> Self {
        let here = events.iter().filter(|event| event.counted_at == counted_at);
        let mut impairments: Vec<(u64, Impairment)> =
            here.map(|event| (event.packet, scripted_impairment(event))).collect();
        impairments.sort_by_key(|(packet, _)| *packet);
        Self(impairments)
    }

    fn impairment(&self, number: u64) -> Option<Impairment> {
        let place = self.0.binary_search_by_key(&number, |(packet, _)| *packet).ok()?;
        Some(self.0[place].1)
    }
}

fn scripted_impairment(event: &ScriptedEvent) -> Impairment {
    match event.effect {
        Effect::Drop => Impairment::Drop,
        Effect::Delay => Impairment::Delay(event.delay.unwrap_or_default()),
        Effect::Corrupt => Impairment::Corrupt,
    }
}
