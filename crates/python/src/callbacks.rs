//! Calls of Python by a run, which has released the interpreter lock: signal handlers and progress.

use pyo3::prelude::*;
use units::Instant;

/// Runs the handlers of pending signals, and calls `progress` with the run's time in seconds.
///
/// # Errors
/// `KeyboardInterrupt`, or whatever a handler or the callback raises: the run must end then.
pub(crate) fn check_in(progress: Option<&Py<PyAny>>, now: Instant) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |callback| callback.call1(py, (now.as_secs_f64(),)).map(drop))
    })
}
