//! Every Rust error as the Python exception that it is: the one place where the two trees meet.
//!
//! The classes are in Python (`lasthop.errors`), so that their messages and exit statuses are defined only there.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::files::FileError;

/// An error of a call from Python.
pub(crate) enum Failure {
    /// A file, key or value is wrong.
    Input(scenario::InputError),
    /// The parts of a scenario contradict each other.
    Build(sim::BuildError),
    /// There is no run of the scenario in virtual time.
    Setup(stacks::SetupError),
    /// A run failed.
    Run(sim::RunError),
    /// A real-time run is not possible, or failed: the class of the exception, and the message.
    #[cfg(target_os = "linux")]
    Live { class: &'static str, message: String },
    /// A module of Linux cannot be compiled, loaded or continued.
    #[cfg(unix)]
    Module(modules::ModuleError),
    /// A file is no capture.
    Capture {
        /// The file.
        file: PathBuf,
        /// The error.
        error: wire::capture::ReadError,
    },
    /// A file is no log of TLS secrets.
    KeyLog {
        /// The file.
        file: PathBuf,
        /// The error.
        error: analysis::KeyLogError,
    },
    /// A table of a result cannot be read.
    Table(view::TableError),
    /// A result could not be written.
    File(FileError),
    /// An exception of Python: Ctrl-C, or one of a progress callback.
    Python(PyErr),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match failure {
            Failure::Input(error) => input_error(py, &error),
            Failure::Build(error) => with_message(py, "InputError", &error),
            Failure::Setup(error) => with_message(py, "InputError", &error),
            Failure::Run(error) => with_message(py, "RunError", &error),
            #[cfg(target_os = "linux")]
            Failure::Live { class, message } => raise(py, class, &message, None),
            #[cfg(unix)]
            Failure::Module(error) => module_error(py, &error),
            Failure::Capture { file, error } => capture_error(py, &file, &error),
            Failure::KeyLog { file, error } => key_log_error(py, &file, &error),
            Failure::Table(error) => table_error(py, &error),
            Failure::File(error) => os_error(&error),
            Failure::Python(error) => error,
        })
    }
}

/// `OSError` with its number, so that Python makes the right subclass of it, and the name of the file.
fn os_error(FileError { file, error }: &FileError) -> PyErr {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((error.raw_os_error(), words, file.display().to_string()))
}

fn input_error(py: Python<'_>, error: &scenario::InputError) -> PyErr {
    let place = error.place.as_ref().map(|place| match place {
        scenario::Place::File { file, .. } => file.display().to_string(),
        scenario::Place::Override(_) => place.to_string(),
    });
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let keywords = [("file", place), ("key", known(&error.key)), ("help", known(&error.help))]
        .into_py_dict(py)
        .and_then(|keywords| keywords.set_item("line", error.line()).map(|()| keywords));
    keywords.map_or_else(|raised| raised, |keywords| raise(py, "InputError", &error.message, Some(&keywords)))
}

#[cfg(unix)]
fn module_error(py: Python<'_>, error: &modules::ModuleError) -> PyErr {
    let key = (!error.key.is_empty()).then(|| error.key.clone());
    let keywords = [("file", Some(error.file.clone())), ("key", key), ("help", Some(error.help.clone()))]
        .into_py_dict(py)
        .and_then(|keywords| keywords.set_item("line", error.line).map(|()| keywords));
    keywords.map_or_else(|raised| raised, |keywords| raise(py, "InputError", &error.message, Some(&keywords)))
}

fn capture_error(py: Python<'_>, file: &Path, error: &wire::capture::ReadError) -> PyErr {
    let help =
        "give a pcap or pcapng file (perhaps in gzip or zstd), as tcpdump, dumpcap or lasthop write it";
    let keywords = [("file", file.display().to_string()), ("help", help.to_owned())].into_py_dict(py);
    keywords
        .map_or_else(|raised| raised, |keywords| raise(py, "InputError", &error.to_string(), Some(&keywords)))
}

fn key_log_error(py: Python<'_>, file: &Path, error: &analysis::KeyLogError) -> PyErr {
    let help = "give the file that an end of the connection wrote because of the variable SSLKEYLOGFILE";
    let line = (error.line > 0).then_some(error.line);
    let keywords = [("file", file.display().to_string()), ("help", help.to_owned())]
        .into_py_dict(py)
        .and_then(|keywords| keywords.set_item("line", line).map(|()| keywords));
    keywords
        .map_or_else(|raised| raised, |keywords| raise(py, "InputError", &error.to_string(), Some(&keywords)))
}

fn table_error(py: Python<'_>, error: &view::TableError) -> PyErr {
    let keywords = [("help", "run the scenario again with this version of lasthop")].into_py_dict(py);
    keywords
        .map_or_else(|raised| raised, |keywords| raise(py, "InputError", &error.to_string(), Some(&keywords)))
}

fn with_message(py: Python<'_>, class: &str, error: &impl std::error::Error) -> PyErr {
    raise(py, class, &error.to_string(), None)
}

fn raise(py: Python<'_>, class: &str, message: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyErr {
    let class = py.import("lasthop.errors").and_then(|module| module.getattr(class));
    match class.and_then(|class| class.call((message,), keywords)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(raised) => raised,
    }
}

macro_rules! failure_from {
    ($($error:ty => $variant:ident),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

failure_from! {
    scenario::InputError => Input,
    sim::BuildError => Build,
    stacks::SetupError => Setup,
    sim::RunError => Run,
    view::TableError => Table,
    FileError => File,
    PyErr => Python,
}
