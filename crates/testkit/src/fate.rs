//! The fate of each packet between the two ends of a [`Pair`](crate::pair::Pair): delivery, loss, duplication, delay.

use rand::{Rng, RngExt};
use units::{Duration, Instant, Streams};
use wire::Segment;

use crate::side::Side;

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after the one-way delay.
    Deliver,
    /// It is lost.
    Drop,
    /// It is damaged. The receiver's checksum rejects it, so that the effect is that of a loss.
    Corrupt,
    /// It arrives with a congestion mark (RFC 3168 §5), if its sender is ECN-capable.
    Mark,
    /// It arrives, and a copy arrives this much later.
    Duplicate(Duration),
    /// It arrives this much later than the one-way delay, so that later packets overtake it.
    Delay(Duration),
}

/// A packet whose fate is to be decided.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The side that sent it.
    pub from: Side,
    /// Its number among the packets of this side, from 1.
    pub number: u64,
    /// The time of sending.
    pub at: Instant,
    /// The packet.
    pub segment: &'a Segment,
}

/// Decides the fate of each packet.
pub type Fates = Box<dyn FnMut(&Passing<'_>) -> Fate>;

/// Delivers every packet.
#[must_use]
pub fn all_arrive() -> Fates {
    Box::new(|_| Fate::Deliver)
}

/// Drops the packets of `side` with these numbers.
#[must_use]
pub fn drop_numbers(side: Side, numbers: &[u64]) -> Fates {
    let numbers = numbers.to_vec();
    Box::new(
        move |packet| {
            if packet.from == side && numbers.contains(&packet.number) { Fate::Drop } else { Fate::Deliver }
        },
    )
}

/// The probabilities of losses, duplicates and delays, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// Loss or damage.
    pub lost: u32,
    /// Duplication.
    pub duplicated: u32,
    /// Delay beyond the one-way delay.
    pub delayed: u32,
    /// The longest delay, of duplicates too.
    pub longest: Duration,
}

/// Draws each packet's fate from the stream `name` of `seed`.
#[must_use]
pub fn drawn(seed: u64, name: &str, trouble: Trouble) -> Fates {
    let mut stream = Streams::new(seed).stream(name);
    Box::new(move |_| draw(&mut stream, &trouble))
}

fn draw(stream: &mut impl Rng, trouble: &Trouble) -> Fate {
    // Both numbers are drawn for each packet, so that one probability does not change the draws of the others.
    let chance: u32 = stream.random_range(0..1000);
    let later = Duration::from_nanos(stream.random_range(0..=trouble.longest.as_nanos()));
    let Trouble { lost, duplicated, delayed, .. } = *trouble;
    if chance < lost {
        if chance.is_multiple_of(8) { Fate::Corrupt } else { Fate::Drop }
    } else if chance < lost + duplicated {
        Fate::Duplicate(later)
    } else if chance < lost + duplicated + delayed {
        Fate::Delay(later)
    } else {
        Fate::Deliver
    }
}
