//! Numbers of timelines.

use units::Duration;

/// A number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let secs: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number of seconds"))?;
    Ok(Duration::from_secs_f64(secs))
}

/// A whole number.
pub(super) fn whole<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("\"{text}\" is not a whole number that fits here"))
}
