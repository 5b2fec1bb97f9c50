//! A program behind an emulated link.

use live::{LiveError, ShellOptions};
use pyo3::prelude::*;
use scenario::Resolved;
use sim::Spec;

use crate::error::Failure;
use crate::interrupt::look;

/// Runs a program behind the links of a resolved scenario with two hosts, the outside and the inside, and returns its
/// exit status. `outside` is a program at the far end; `announce` is called with each message to the user.
///
/// Call it before there is a second thread.
#[pyfunction]
#[pyo3(signature = (resolved_json, command, outside, name, announce))]
pub(crate) fn shell(
    py: Python<'_>,
    resolved_json: &str,
    command: Vec<String>,
    outside: Vec<String>,
    name: String,
    announce: Py<PyAny>,
) -> Result<i32, Failure> {
    let spec = Resolved::from_json(resolved_json)?.to_spec()?;
    py.detach(|| run(&spec, command, outside, name, &announce))
}

fn run(
    spec: &Spec,
    command: Vec<String>,
    outside: Vec<String>,
    name: String,
    announce: &Py<PyAny>,
) -> Result<i32, Failure> {
    let mut raised = None;
    let mut check = |now| look(None, now, &mut raised);
    let mut say = |line: &str| Python::attach(|py| drop(announce.call1(py, (line,))));
    let options = ShellOptions {
        command: command.into_iter().map(Into::into).collect(),
        outside: outside.into_iter().map(Into::into).collect(),
        name,
        announce: &mut say,
        progress: Some(&mut check),
    };
    match (live::shell(spec, options), raised) {
        (Err(LiveError::Interrupted), Some(error)) => Err(error.into()),
        (outcome, _) => Ok(outcome?.status),
    }
}
