//! Calls of Python by a run in real time: lines, reports, streams.

use std::ops::ControlFlow;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use live::LiveError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Serialize;
use units::Instant;

use crate::callbacks::check_in;
use crate::error::Failure;
use crate::json::json_of;

/// The first exception that Python raised in a call of a run. A signal's handler runs in whatever call of Python comes
/// first, a line that is printed as well as a check, and `KeyboardInterrupt` is raised once.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `action`, which calls the given function from time to time and ends when that breaks: after a signal's handler,
/// `progress`, or another call of Python with the same `raised` has raised.
pub(crate) fn watched<T>(
    progress: Option<&Py<PyAny>>,
    raised: &Raised,
    action: impl FnOnce(&mut dyn FnMut(Instant) -> ControlFlow<()>) -> Result<T, LiveError>,
) -> Watched<T> {
    let outcome = action(&mut |now| {
        if raised.is_set() {
            return ControlFlow::Break(());
        }
        match check_in(progress, now) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised.keep(error);
                ControlFlow::Break(())
            }
        }
    });
    Watched { outcome, raised: raised.lock().take() }
}

/// The outcome of a watched action, and the exception that ended it, if one did.
pub(crate) struct Watched<T> {
    outcome: Result<T, LiveError>,
    raised: Option<PyErr>,
}

impl<T> Watched<T> {
    /// The outcome of an action that has an end of its own.
    ///
    /// # Errors
    /// The exception, else the action's error.
    pub(crate) fn or_raised(self) -> Result<T, Failure> {
        match self.raised {
            Some(error) => Err(error.into()),
            None => Ok(self.outcome?),
        }
    }

    /// The outcome of an action whose ordinary end is `KeyboardInterrupt` (Ctrl-C, or SIGTERM).
    ///
    /// # Errors
    /// Any other exception, else the action's error.
    pub(crate) fn until_interrupted(self, py: Python<'_>) -> Result<T, Failure> {
        match self.raised {
            Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error.into()),
            _ => Ok(self.outcome?),
        }
    }
}

/// A function that passes lines of text to Python.
pub(crate) fn lines_to(callback: &Py<PyAny>, raised: &Raised) -> impl FnMut(&str) {
    |line| call(callback, line, raised)
}

/// A function that passes values to Python as JSON.
pub(crate) fn json_to<T: Serialize>(callback: &Py<PyAny>, raised: &Raised) -> impl FnMut(&T) {
    |value| call(callback, &json_of(value), raised)
}

fn call(callback: &Py<PyAny>, text: &str, raised: &Raised) {
    Python::attach(|py| {
        if let Err(error) = callback.call1(py, (text,)) {
            raised.keep(error);
        }
    });
}

/// A function that gives Python a stream's descriptor, which Python owns from then on. An exception there is printed,
/// and the stream is closed.
pub(crate) fn stream_to(callback: Py<PyAny>) -> impl Fn(UnixStream) {
    move |stream| {
        let descriptor = stream.into_raw_fd();
        Python::attach(|py| {
            if let Err(error) = callback.call1(py, (descriptor,)) {
                error.print(py);
            }
        });
    }
}
