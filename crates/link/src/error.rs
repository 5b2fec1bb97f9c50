//! Why a configuration is refused.

/// An invalid setting: position, error and remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}; {help}")]
pub struct ConfigError {
    /// The setting, as a dotted path below the table that was checked.
    pub path: String,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl ConfigError {
    /// An error at `path`, which may be empty: the setting itself.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), help: help.into() }
    }

    /// The same error, seen from the table that holds this one under `key`.
    #[must_use]
    pub fn below(mut self, key: &str) -> Self {
        self.path = if self.path.is_empty() { key.to_owned() } else { format!("{key}.{}", self.path) };
        self
    }
}
