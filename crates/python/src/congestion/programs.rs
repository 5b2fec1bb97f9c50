//! The state that the programs of one run share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use super::linux;
use crate::error::Failure;

/// The first mistake of any of them, and the count of calls that the watch reads.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    mistake: Mutex<Option<PyErr>>,
    watch: Option<Py<PyAny>>,
    /// Number of calls that have begun or ended: odd during a call.
    calls: AtomicU64,
    pub(super) modules: linux::Mistakes,
}

impl Programs {
    pub(super) fn watched(watch: Py<PyAny>) -> Self {
        let (mistake, calls, modules) = Default::default();
        Self { mistake, watch: Some(watch), calls, modules }
    }

    /// Fails with the mistake of a program, if one has made any.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        linux::check(&self.modules)?;
        self.mistake.lock().expect("no holder panics").take().map_or(Ok(()), |mistake| Err(mistake.into()))
    }

    pub(super) fn fail(&self, mistake: PyErr) {
        self.mistake.lock().expect("no holder panics").get_or_insert(mistake);
    }

    /// Counts the beginning or the end of a call.
    pub(super) fn count(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The watch over calls that take for ever.
    pub(super) fn watch(&self) -> Option<&Py<PyAny>> {
        self.watch.as_ref()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            // A watch that was not stopped ends with the interpreter: it is a daemon thread.
            Python::attach(|py| drop(watch.call_method0(py, "stop")));
        }
    }
}
