//! Our own TCP as a server for real clients.

use std::net::Ipv4Addr;
use std::sync::Arc;

use live::{ConnectionSummary, ServeOptions, ServeOutcome};
use pyo3::prelude::*;
use scenario::Resolved;

use super::callbacks::{Raised, json_to, lines_to, stream_to, watched};
use super::fetch_run::profile_of;
use crate::error::Failure;
use crate::json::json_of;
use crate::run::Run;

/// Serves real clients through the links of the first of the resolved scenarios, whose hosts are "server" and "client";
/// connections have the TCPs of the scenarios' servers, in turn. `answer` is called in a thread of its own with the
/// descriptor of each connection's stream socket, which it owns; `report` with the summary of each connection, as JSON.
///
/// It ends with the `command`, or when a signal's handler raises: after `KeyboardInterrupt`, the ordinary end, it
/// returns the run and the command's exit status; any other exception is raised again. Call it before there is a
/// second thread.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one call in Python")]
pub(crate) fn serve(
    py: Python<'_>,
    resolved_jsons: Vec<String>,
    port: u16,
    bind: [u8; 4],
    path: String,
    command: Vec<String>,
    name: String,
    answer: Py<PyAny>,
    announce: Py<PyAny>,
    report: Py<PyAny>,
) -> Result<(Run, Option<i32>), Failure> {
    let resolved = resolved_jsons.iter().map(|json| Resolved::from_json(json));
    let resolved = resolved.collect::<Result<Vec<_>, _>>()?;
    let profiles = resolved.iter().map(|one| profile_of(one, "server")).collect::<Result<_, _>>()?;
    let spec = resolved[0].to_spec()?;
    let raised = Raised::default();
    let ended = py.detach(|| {
        watched(None, &raised, |check| {
            let options = ServeOptions {
                port,
                bind: Ipv4Addr::from(bind),
                path,
                profiles,
                command: command.into_iter().map(Into::into).collect(),
                name,
                answer: Arc::new(stream_to(answer)),
                announce: &mut lines_to(&announce, &raised),
                report: &mut json_to::<ConnectionSummary>(&report, &raised),
                progress: check,
            };
            live::serve(&spec, options)
        })
    });
    let ServeOutcome { run, status } = ended.until_interrupted(py)?;
    Ok((Run::new(json_of(&run.summary), run.tables, run.captures), status))
}
