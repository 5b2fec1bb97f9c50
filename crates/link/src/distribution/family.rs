//! The interface of a distribution.

use std::fmt::Debug;

use units::Stream;

use crate::error::ConfigError;

/// The parameters of one distribution.
pub trait Family {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// A sampler of these parameters; they have passed [`Family::check`].
    fn sampler(&self) -> Box<dyn Sampler>;

    /// Reads what files they name into the parameters.
    ///
    /// # Errors
    /// Errors of `read`, and lines that are not quantities.
    fn load_files(&mut self, _read: &mut ReadFile) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// Gives the text of the file of a name; a link itself reads no file.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<String, ConfigError> + 'a;

/// Draws numbers: nanoseconds of a duration, bits per second of a rate.
pub trait Sampler: Debug + Send {
    /// The next number; a negative one counts as zero.
    fn sample(&mut self, stream: &mut Stream) -> f64;
}

/// Refuses a number at `key` that is not above zero.
pub(super) fn check_positive(key: &str, number: f64) -> Result<(), ConfigError> {
    if number > 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{key} is {number}"), "write a value above zero"))
}

/// Refuses a number at `key` that is negative or not finite.
pub(super) fn check_finite(key: &str, number: f64) -> Result<(), ConfigError> {
    if number >= 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{key} is {number}"), "write zero or more"))
}
