//! An error of an input: position, message and remedy.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Position at which a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// Its path, as the user gave it or as the search found it.
        file: Arc<Path>,
        /// Counted from 1; none for the file as a whole.
        line: Option<usize>,
    },
    /// On the command line: the text of `--set`.
    Override(Arc<str>),
}

/// An input that cannot be used.
///
/// Displayed as `file:line: key: error; remedy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Where; none when no file is concerned.
    pub place: Option<Place>,
    /// The dotted key, in the file of `place`; empty for the file as a whole.
    pub key: String,
    /// The error.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Place {
    /// The file; none for the command line.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File { file, .. } => Some(file),
            Self::Override(_) => None,
        }
    }

    /// The line in the file, counted from 1.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::File { line, .. } => *line,
            Self::Override(_) => None,
        }
    }
}

impl InputError {
    /// An error about a whole file: missing, unreadable.
    pub(crate) fn of_file(file: &Path, message: impl Into<String>, help: impl Into<String>) -> Self {
        let place = Place::File { file: Arc::from(file), line: None };
        Self { place: Some(place), key: String::new(), message: message.into(), help: help.into() }
    }

    /// The file, where one is concerned.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        self.place.as_ref().and_then(Place::file).map(Path::to_path_buf)
    }

    /// The line, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().and_then(Place::line)
    }
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line: Some(line) } => write!(f, "{}:{line}", file.display()),
            Self::File { file, line: None } => write!(f, "{}", file.display()),
            Self::Override(text) => write!(f, "--set {text}"),
        }
    }
}
