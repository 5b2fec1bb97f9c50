//! What a connection is made of, resolved from a profile.

/// A resolved profile.
#[derive(Clone, Debug)]
pub struct Config {}

/// A profile that makes no sense.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// Dotted key inside the profile.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Config {
    /// Resolves a profile.
    pub fn from_profile(_profile: &serde_json::Value) -> Result<Self, ConfigError> {
        Ok(Self {})
    }
}
