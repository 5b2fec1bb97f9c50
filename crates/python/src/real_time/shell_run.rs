//! A program behind an emulated link.

use live::ShellOptions;
use pyo3::prelude::*;
use scenario::Resolved;

use super::callbacks::{Raised, lines_to, watched};
use crate::error::Failure;

/// Runs a program behind the links of a resolved scenario with two hosts, the outside and the inside, and returns its
/// exit status. `outside` is a program at the far end; `announce` is called with each line for the user.
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
    let raised = Raised::default();
    py.detach(|| {
        let ended = watched(None, &raised, |check| {
            let options = ShellOptions {
                command: command.into_iter().map(Into::into).collect(),
                outside: outside.into_iter().map(Into::into).collect(),
                name,
                announce: &mut lines_to(&announce, &raised),
                progress: Some(check),
            };
            live::shell(&spec, options)
        });
        Ok(ended.or_raised()?.status)
    })
}
