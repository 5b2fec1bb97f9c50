//! Checks of configured numbers.

use link::ConfigError;

/// Refuses a number below `least`.
pub(crate) fn at_least(key: &str, value: f64, least: f64, unit: &str) -> Result<(), ConfigError> {
    if value.is_finite() && value >= least {
        return Ok(());
    }
    let number = |number: f64| format!("{number} {unit}").trim_end().to_owned();
    refuse(key, &format!("{} is too little", number(value)), &format!("write {} or more", number(least)))
}

/// An error at `key`, with a remedy.
pub(crate) fn refuse(key: &str, message: &str, help: &str) -> Result<(), ConfigError> {
    Err(ConfigError::new(key, message, help))
}
