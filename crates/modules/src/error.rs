//! An error of a module: where it is, what is wrong, and a remedy.

/// A module that cannot be compiled, loaded or continued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}; {help}", self.position())]
pub struct ModuleError {
    /// The file.
    pub file: String,
    /// The line in it, where one is known.
    pub line: Option<usize>,
    /// The function or the parameter concerned; empty for the file as a whole.
    pub key: String,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl ModuleError {
    /// An error of a file as a whole.
    pub(crate) fn of(file: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            key: String::new(),
            message: message.into(),
            help: help.into(),
        }
    }

    /// The error, at a function or a parameter.
    pub(crate) fn at(self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self }
    }

    fn position(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let key = if self.key.is_empty() { String::new() } else { format!(": {}", self.key) };
        format!("{}{line}{key}", self.file)
    }
}
