//! What may happen to a packet between its propagation and the receive buffer: errors at random and by
//! script, outages, the link layer's retransmission, reordering.
//!
//! Every one of them is asked about every packet, whatever the others say: so none moves another's
//! draws.

use units::{Bytes, Duration, Instant, Stream, Streams};

use super::arq::ArqStage;
use super::frames::OnAir;
use super::reordering::ReorderingStage;
use super::store::Passage;
use crate::config::{Config, CountedAt, Duplicates, Effect, Errors, Outages, ScriptedEvent};
use crate::distribution::Source;
use crate::error_model::independent::Independent;
use crate::error_model::{ErrorModel, Process};
use crate::event::{DelayCause, ErrorCause};
use crate::random::happens;

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

/// One thing that happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    /// It is lost, here and now.
    Drop,
    /// It is held, and in order those behind it too.
    Delay(Duration),
    /// It is held for so long, or not at all, and nobody keeps to its place.
    Aside(Duration),
    /// It is held for so long, and then given up.
    Discard(Duration),
    Corrupt,
}

/// What happens to one packet, each with its cause.
pub(super) type Hits = [Option<(Cause, Hit)>; 7];

/// What makes a thing happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Error(ErrorCause),
    Arq,
    Reordering,
}

impl Cause {
    /// As the cause of a delay.
    pub(super) const fn of_delay(self) -> DelayCause {
        match self {
            Self::Error(cause) => DelayCause::Error(cause),
            Self::Arq => DelayCause::Arq,
            Self::Reordering => DelayCause::Reordering,
        }
    }

    /// As the cause of a loss or of damage.
    pub(super) const fn of_error(self) -> ErrorCause {
        match self {
            Self::Error(cause) => cause,
            Self::Arq | Self::Reordering => ErrorCause::ArqLimit,
        }
    }
}

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

    /// Whether nothing can ever happen here.
    #[inline]
    pub(super) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    fn has_nothing(&self) -> bool {
        let scripts = !self.by_arrival.0.is_empty() || !self.by_transmission.0.is_empty();
        let random = self.random.is_some() || self.reordering.is_some() || self.duplicates.is_some();
        !(scripts || random || self.outages.is_some() || self.arq.is_some())
    }

    /// What happens to a packet that arrives at `now`, in frames if it was cut.
    pub(super) fn hits(&mut self, now: Instant, passage: &Passage, on_air: Option<OnAir>) -> Hits {
        let by = |cause| move |hit| (Cause::Error(cause), hit);
        let random = self.random.as_mut().and_then(|random| random.hit(passage.size));
        let outage = self.outages.filter(|outages| is_out(outages, now)).map(|_| Hit::Drop);
        let arq = self.arq.as_mut().and_then(|arq| arq.hit(passage.size));
        let reordering = self.reordering.as_mut().and_then(ReorderingStage::hit);
        [
            random.map(by(ErrorCause::Random)),
            self.by_arrival.hit(passage.arrival_number).map(by(ErrorCause::Scripted)),
            self.by_transmission.hit(passage.transmission_number).map(by(ErrorCause::Scripted)),
            outage.map(by(ErrorCause::Outage)),
            arq.map(|hit| (Cause::Arq, hit)),
            on_air.filter(OnAir::was_repeated).map(|on_air| (Cause::Arq, on_air.hit())),
            reordering.map(|hit| (Cause::Reordering, hit)),
        ]
    }

    /// Whether a packet is copied if it gets through: asked, too, about every one.
    pub(super) fn duplicates(&mut self) -> bool {
        self.duplicates.as_mut().is_some_and(|(probability, stream)| happens(stream, *probability))
    }
}

/// Whether an outage is going on: from its start up to, and without, its end.
fn is_out(outages: &Outages, now: Instant) -> bool {
    let first = Instant::START + outages.phase;
    let since_start = (now.as_nanos().saturating_sub(first.as_nanos())) % outages.every.as_nanos();
    now >= first && since_start < outages.length.as_nanos()
}

/// The random process. Whether and how long are drawn from two streams, so that the same packets
/// are hit whatever the distribution of the delay.
#[derive(Debug)]
struct RandomErrors {
    model: Model,
    kind: Kind,
}

/// The usual model stands unboxed: it is asked for every packet.
#[derive(Debug)]
enum Model {
    Independent(Independent),
    Other(Box<dyn Process>),
}

#[derive(Debug)]
enum Kind {
    Drop,
    Delay(Source<Duration>),
    Corrupt,
}

impl RandomErrors {
    fn new(errors: &Errors, streams: &Streams) -> Self {
        let kind = match (errors.effect, &errors.delay) {
            (Effect::Drop, _) => Kind::Drop,
            (Effect::Corrupt, _) => Kind::Corrupt,
            (Effect::Delay, Some(delay)) => Kind::Delay(Source::new(delay, streams.stream("error_delay"))),
            (Effect::Delay, None) => Kind::Delay(Source::Constant(Duration::ZERO)),
        };
        let model = match (errors.model(), streams.stream("error")) {
            (ErrorModel::Independent(parameters), stream) => {
                Model::Independent(Independent::new(parameters, stream))
            }
            (other, stream) => Model::Other(other.process(stream)),
        };
        Self { model, kind }
    }

    fn hit(&mut self, size: Bytes) -> Option<Hit> {
        let hits = match &mut self.model {
            Model::Independent(model) => model.hits(size),
            Model::Other(model) => model.hits(size),
        };
        hits.then(|| match &mut self.kind {
            Kind::Drop => Hit::Drop,
            Kind::Delay(delay) => Hit::Delay(delay.draw()),
            Kind::Corrupt => Hit::Corrupt,
        })
    }
}

/// Chosen packets, by number, ascending.
#[derive(Debug)]
struct Script(Vec<(u64, Hit)>);

impl Script {
    fn new(events: &[ScriptedEvent], counted_at: CountedAt) -> Self {
        let here = events.iter().filter(|event| event.counted_at == counted_at);
        let mut hits: Vec<(u64, Hit)> = here.map(|event| (event.packet, scripted_hit(event))).collect();
        hits.sort_by_key(|(packet, _)| *packet);
        Self(hits)
    }

    fn hit(&self, number: u64) -> Option<Hit> {
        let place = self.0.binary_search_by_key(&number, |(packet, _)| *packet).ok()?;
        Some(self.0[place].1)
    }
}

fn scripted_hit(event: &ScriptedEvent) -> Hit {
    match event.effect {
        Effect::Drop => Hit::Drop,
        Effect::Delay => Hit::Delay(event.delay.unwrap_or_default()),
        Effect::Corrupt => Hit::Corrupt,
    }
}
