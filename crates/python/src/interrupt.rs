//! What a run does for Python from time to time: it handles signals (Ctrl-C) and calls the progress callback.

use std::ops::ControlFlow;

use pyo3::prelude::*;
use units::Instant;

/// Sees to signals and reports progress, from within a run that has released the interpreter lock.
///
/// # Errors
/// `KeyboardInterrupt`, or whatever the callback raises: the run must end then.
pub(crate) fn check_in(progress: Option<&Py<PyAny>>, now: Instant) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |callback| callback.call1(py, (now.as_secs_f64(),)).map(drop))
    })
}

/// [`check_in`] for a run in real time, which ends where that fails; why is in `raised` then.
pub(crate) fn look(
    progress: Option<&Py<PyAny>>,
    now: Instant,
    raised: &mut Option<PyErr>,
) -> ControlFlow<()> {
    match check_in(progress, now) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *raised = Some(error);
            ControlFlow::Break(())
        }
    }
}
