//! What befalls a packet between the two ends of a [`Pair`](crate::pair::Pair).

use rand::{Rng, RngExt};
use units::{Duration, Instant, Streams};
use wire::Segment;

use crate::pair::Side;

/// What befalls one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after the one-way delay.
    Deliver,
    /// It does not arrive.
    Drop,
    /// It is damaged on the way; the receiver's checksum throws it away, so it is a drop by another name.
    Corrupt,
    /// It arrives with a congestion mark (RFC 3168 §5), where its sender understands marks.
    Mark,
    /// It arrives, and once more so much later.
    Duplicate(Duration),
    /// It arrives so much later than the one-way delay: packets behind it overtake it.
    Delay(Duration),
}

/// A packet whose fate is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Who sent it.
    pub from: Side,
    /// Its number among all that this side sent, from 1.
    pub number: u64,
    /// When it was sent.
    pub at: Instant,
    /// The packet.
    pub segment: &'a Segment,
}

/// Decides the fate of each packet.
pub type Fates = Box<dyn FnMut(&Passing<'_>) -> Fate>;

/// Every packet arrives.
#[must_use]
pub fn all_arrive() -> Fates {
    Box::new(|_| Fate::Deliver)
}

/// Drops the packets with these numbers that `side` sends.
#[must_use]
pub fn drop_numbers(side: Side, numbers: &[u64]) -> Fates {
    let numbers = numbers.to_vec();
    Box::new(
        move |packet| {
            if packet.from == side && numbers.contains(&packet.number) { Fate::Drop } else { Fate::Deliver }
        },
    )
}

/// How often each kind of trouble comes, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// Lost or damaged.
    pub lost: u32,
    /// Arrives twice.
    pub duplicated: u32,
    /// Overtaken by others.
    pub delayed: u32,
    /// The longest such delay.
    pub longest: Duration,
}

/// Draws each packet's fate from the stream `name` of `seed`.
#[must_use]
pub fn drawn(seed: u64, name: &str, trouble: Trouble) -> Fates {
    let mut stream = Streams::new(seed).stream(name);
    Box::new(move |_| draw(&mut stream, &trouble))
}

fn draw(stream: &mut impl Rng, trouble: &Trouble) -> Fate {
    // All draws are made for each packet, so that one kind of trouble does not move the others' draws.
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
