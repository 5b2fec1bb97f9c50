//! The interface of a rate source's parameters.

use std::fmt::Debug;

use units::{Bytes, Instant, Rate, Streams};

use crate::distribution::ReadFile;
use crate::error::ConfigError;

/// The parameters of one source.
pub trait CapacityParameters {
    /// Whether they make sense together with the link's base rate.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self, base: Option<Rate>) -> Result<(), ConfigError>;

    /// Reads the files that they name, by `read`, into the parameters. A source without files has nothing to read.
    ///
    /// # Errors
    /// Errors of `read`, and invalid lines, with the key as the path.
    fn load_files(&mut self, _read: &mut ReadFile) -> Result<(), ConfigError> {
        Ok(())
    }

    /// A source of these parameters; they have passed [`CapacityParameters::check`].
    fn source(&self, base: Option<Rate>, streams: &Streams) -> Box<dyn RateSource>;

    /// The mean rate in the long run.
    fn nominal(&self, base: Option<Rate>) -> Option<Rate>;
}

/// Says when transmissions end.
pub trait RateSource: Debug + Send {
    /// The end of a transmission of `size` that starts at `now`. Called in order of time, once for each transmission,
    /// and again if it may not start yet.
    fn transmit(&mut self, now: Instant, size: Bytes) -> TransmissionEnd;
}

/// Time at which a transmission ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionEnd {
    /// Then.
    At(Instant),
    /// There is no rate now: it may start then.
    NotBefore(Instant),
}
