//! What a run does for Python now and then: Ctrl-C, and the progress callback.

use pyo3::prelude::*;
use units::Instant;

/// Heeds the interpreter from within a run that has released its lock.
///
/// # Errors
/// `KeyboardInterrupt`, or whatever the callback raises: the run is to end then.
pub(crate) fn heed(progress: Option<&Py<PyAny>>, now: Instant) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |callback| callback.call1(py, (now.as_secs_f64(),)).map(drop))
    })
}
