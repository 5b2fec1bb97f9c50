//! The error stage: what happens to a packet on its way, at random and by script.

use units::{Bytes, Duration, Stream, Streams};

use super::store::Passage;
use crate::config::{Config, CountedAt, Effect, ErrorUnit, Errors, ScriptedEvent};
use crate::distribution::Source;
use crate::event::ErrorCause;
use crate::random::happens;

#[derive(Debug)]
pub(super) struct ErrorStage {
    random: Option<RandomErrors>,
    by_arrival: Script,
    by_transmission: Script,
}

/// One error: what it does to the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hit {
    Drop,
    Delay(Duration),
    Corrupt,
}

/// The errors that hit one packet, each with its cause.
pub(super) type Hits = [Option<(ErrorCause, Hit)>; 3];

impl ErrorStage {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        Self {
            random: config.errors.as_ref().map(|errors| RandomErrors::new(errors, streams)),
            by_arrival: Script::new(&config.events, CountedAt::Arrival),
            by_transmission: Script::new(&config.events, CountedAt::Transmission),
        }
    }

    /// Whether nothing can ever happen here.
    pub(super) const fn is_absent(&self) -> bool {
        self.random.is_none() && self.by_arrival.0.is_empty() && self.by_transmission.0.is_empty()
    }

    /// What hits a packet. The random process draws for every packet, whatever the script says, so
    /// that a script moves no draw.
    pub(super) fn hits(&mut self, passage: &Passage) -> Hits {
        let random = self.random.as_mut().and_then(|random| random.hit(passage.size));
        let scripted = |hit| (ErrorCause::Scripted, hit);
        [
            random.map(|hit| (ErrorCause::Random, hit)),
            self.by_arrival.hit(passage.arrival_number).map(scripted),
            self.by_transmission.hit(passage.transmission_number).map(scripted),
        ]
    }
}

/// Independent errors. Whether and how long are drawn from two streams, so that the same packets
/// are hit whatever the distribution of the delay.
#[derive(Debug)]
struct RandomErrors {
    unit: ErrorUnit,
    probability: f64,
    stream: Stream,
    kind: Kind,
    /// Probability for a packet of the size met last: sizes repeat.
    memo: (Bytes, f64),
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
        let (unit, probability) = (errors.per, errors.probability.get());
        Self { unit, probability, stream: streams.stream("error"), kind, memo: (Bytes::ZERO, 0.0) }
    }

    fn hit(&mut self, size: Bytes) -> Option<Hit> {
        let probability = self.probability_for(size);
        happens(&mut self.stream, probability).then(|| match &mut self.kind {
            Kind::Drop => Hit::Drop,
            Kind::Delay(delay) => Hit::Delay(delay.draw()),
            Kind::Corrupt => Hit::Corrupt,
        })
    }

    fn probability_for(&mut self, size: Bytes) -> f64 {
        if self.unit == ErrorUnit::Packet {
            return self.probability;
        }
        if self.memo.0 != size {
            self.memo = (size, at_least_one(self.probability, size));
        }
        self.memo.1
    }
}

/// 1 − (1 − p)ⁿ for the n bits of a packet, without cancellation where p is tiny.
fn at_least_one(probability: f64, size: Bytes) -> f64 {
    let bits = 8.0 * size.0 as f64;
    -libm::expm1(bits * libm::log1p(-probability))
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
