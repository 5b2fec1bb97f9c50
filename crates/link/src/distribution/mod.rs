//! Random distributions of delays, rates and sizes: one file each, and the list of them.
//!
//! A distribution is written as a plain quantity ("200 ms", always that), as a list (its values in
//! turn, then again from the start), or as a table of one key, its name:
//! `{ uniform = ["0.5 s", "6 s"] }`. The mathematics is `libm`'s and the uniform numbers are
//! pinned, so a seed gives the same draws on every machine. Where a distribution would give a
//! negative quantity, the draw is zero: the mean of a wide normal distribution is above its `mean`.
//!
//! A new distribution is a file with `ENTRY`, `Parameters` and a sampler, and a line in
//! `distributions!` below.

mod family;
mod quantity;
mod serial;
mod source;

pub use family::{Family, ReadFile, Sampler};
pub use quantity::Quantity;
pub use registry::Entry;
pub use source::Source;

use units::Streams;

use crate::error::ConfigError;
use registry::Data;

/// The list of distributions. Like `registry!`, for a type with a parameter; how one is written is in `serial.rs`.
macro_rules! distributions {
    ($($variant:ident = $module:ident,)*) => {
        $(pub mod $module;)*

        /// Variation of a quantity.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Distribution<Q> {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::Parameters<Q>),)*
        }

        /// Every distribution there is, in the order of the documentation.
        pub const ENTRIES: &[Entry] = &[$($module::ENTRY),*];

        impl<Q: Quantity> Distribution<Q> {
            fn family(&self) -> &dyn Family {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            fn family_mut(&mut self) -> &mut dyn Family {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            /// Its name in files.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self { $(Self::$variant(_) => $module::ENTRY.id,)* }
            }

            fn write<T: serde::ser::SerializeMap>(&self, table: &mut T) -> Result<(), T::Error> {
                match self { $(Self::$variant(parameters) => table.serialize_entry(self.id(), parameters),)* }
            }
        }

        impl<Q: Quantity> Data for Distribution<Q> {
            const NOUN: &'static str = "distribution";
            const LIST: &'static [Entry] = ENTRIES;

            fn read<'de, D: serde::Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error> {
                $(if id == $module::ENTRY.id {
                    return serde::Deserialize::deserialize(parameters).map(Self::$variant);
                })*
                Err(registry::unknown::<Self, _>(id))
            }

            fn members(generator: &mut schemars::SchemaGenerator) -> Vec<registry::Member> {
                vec![$(registry::member(
                    &$module::ENTRY,
                    registry::definition::<$module::Parameters<Q>>(
                        &<Self as schemars::JsonSchema>::schema_name(), $module::ENTRY.id, generator,
                    ),
                ),)*]
            }
        }
    };
}

distributions! {
    Static = fixed,
    Sequence = sequence,
    Uniform = uniform,
    Normal = normal,
    Lognormal = lognormal,
    Exponential = exponential,
    Hyperexponential = hyperexponential,
    TwoPhaseMarkov = two_phase_markov,
    Beta = beta,
    Gamma = gamma,
    Cauchy = cauchy,
    Pareto = pareto,
    File = file,
    Correlated = correlated,
    Once = once,
    Table = table,
}

impl<Q: Quantity> Distribution<Q> {
    /// Always `value`.
    #[must_use]
    pub const fn constant(value: Q) -> Self {
        Self::Static(fixed::Parameters(value))
    }

    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this distribution.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.family().check().map_err(|error| error.below(self.id()))
    }

    /// A sampler of it, once it has passed its check.
    #[must_use]
    pub fn sampler(&self) -> Box<dyn Sampler> {
        self.family().sampler()
    }

    /// Reads the files that it names, by `read`, into its parameters.
    ///
    /// # Errors
    /// Errors of `read`, and lines that are not quantities.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let id = self.id();
        self.family_mut().load_files(read).map_err(|error| error.below(id))
    }

    /// The only value it ever gives, if there is only one.
    #[must_use]
    pub fn only_value(&self) -> Option<Q> {
        if let Self::Static(fixed::Parameters(value)) = self { Some(*value) } else { None }
    }

    /// Its mean as a number, where its parameters say it plainly.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let of = |values: &[Q]| {
            let sum: f64 = values.iter().map(|value| value.number()).sum();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        };
        match self {
            Self::Static(parameters) => Some(parameters.0.number()),
            Self::Sequence(parameters) => of(&parameters.0),
            Self::File(parameters) => of(&parameters.values),
            Self::Exponential(parameters) => Some(parameters.mean.number()),
            Self::Pareto(parameters) => Some(parameters.mean.number()),
            Self::Lognormal(parameters) => {
                Some(parameters.median.number() * libm::exp(parameters.sigma * parameters.sigma / 2.0))
            }
            _ => None,
        }
    }

    /// Whether it ever gives anything but zero, once it has passed its check: what parameters do not say, draws do.
    #[must_use]
    pub fn can_be_positive(&self) -> bool {
        match self {
            Self::Sequence(parameters) => parameters.0.iter().any(|value| *value > Q::ZERO),
            Self::File(parameters) => parameters.values.iter().any(|value| *value > Q::ZERO),
            Self::Once(parameters) => parameters.0.can_be_positive(),
            _ => {
                let (mut sampler, mut stream) = (self.sampler(), Streams::new(0).stream("can_be_positive"));
                (0..TRIALS).any(|_| Q::nearest(sampler.sample(&mut stream)) > Q::ZERO)
            }
        }
    }
}

impl<Q: Quantity> Default for Distribution<Q> {
    /// Always zero.
    fn default() -> Self {
        Self::constant(Q::ZERO)
    }
}

/// Number of draws of zero after which a distribution counts as always zero.
const TRIALS: u32 = 100_000;

#[cfg(test)]
mod tests;
