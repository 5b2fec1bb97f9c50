//! A distribution with its stream, ready to be drawn from.

use units::Stream;

use super::{Distribution, Quantity, Sampler};

/// Gives one quantity after the other.
#[derive(Debug)]
pub enum Source<Q> {
    /// Always the same, without a draw.
    Constant(Q),
    /// Drawn from its own stream.
    Drawn {
        /// The distribution.
        sampler: Box<dyn Sampler>,
        /// Source of its random numbers.
        stream: Stream,
    },
}

impl<Q: Quantity> Source<Q> {
    /// A source of `distribution`, which has passed its check, drawn from `stream`.
    #[must_use]
    pub fn new(distribution: &Distribution<Q>, stream: Stream) -> Self {
        match distribution.only_value() {
            Some(value) => Self::Constant(value),
            None => Self::Drawn { sampler: distribution.sampler(), stream },
        }
    }

    /// The next one.
    #[inline]
    pub fn draw(&mut self) -> Q {
        match self {
            Self::Constant(value) => *value,
            Self::Drawn { sampler, stream } => Q::nearest(sampler.sample(stream)),
        }
    }

    /// The value, if it never changes.
    #[must_use]
    pub const fn constant(&self) -> Option<Q> {
        if let Self::Constant(value) = self { Some(*value) } else { None }
    }
}
