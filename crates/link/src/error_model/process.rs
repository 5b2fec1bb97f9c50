//! The interface of an error model's parameters.

use std::fmt::Debug;

use units::{Bytes, Stream};

use crate::error::ConfigError;

/// The parameters of one model.
pub trait Setting {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// A process of these parameters; they have passed [`Setting::check`].
    fn process(&self, stream: Stream) -> Box<dyn Process>;
}

/// Says of one packet after the other whether it is hit.
pub trait Process: Debug + Send {
    /// Whether the next packet, of `size` with framing, is hit.
    fn hits(&mut self, size: Bytes) -> bool;
}
