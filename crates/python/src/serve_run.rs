//! Our own TCP as a server for real clients.

use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use live::{Answer, ConnectionSummary, LiveError, ServeOptions, ServeOutcome};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use scenario::Resolved;

use crate::error::Failure;
use crate::fetch_run::profile_of;
use crate::interrupt::look;
use crate::run::{Run, json_of};

/// Serves real clients through the links of the first of some resolved scenarios, whose hosts are "server" and
/// "client"; connections have the TCPs of the scenarios' servers, in turn. `answer` is called in its own thread with
/// the descriptor of each connection's stream socket, which it owns; `tell` with the report on each connection, as
/// JSON.
///
/// It ends with the `command`, or where a signal's handler raises; what that raises is raised here too, but for
/// KeyboardInterrupt, the ordinary end. Returns the run, and the command's exit status. Call it before there is a
/// second thread.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one call in Python")]
pub(crate) fn serve(
    py: Python<'_>,
    resolved_jsons: Vec<String>,
    port: u16,
    path: String,
    command: Vec<String>,
    name: String,
    answer: Py<PyAny>,
    announce: Py<PyAny>,
    tell: Py<PyAny>,
) -> Result<(Run, Option<i32>), Failure> {
    let resolved = resolved_jsons.iter().map(|json| Resolved::from_json(json));
    let resolved = resolved.collect::<Result<Vec<_>, _>>()?;
    let asked = Asked { port, path, command, name, answer };
    let (outcome, raised) = py.detach(|| run(&resolved, asked, &announce, &tell))?;
    match raised {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error.into()),
        _ => {
            let ServeOutcome { run, status } = outcome?;
            Ok((Run::new(json_of(&run.summary), run.tables, run.captures), status))
        }
    }
}

struct Asked {
    port: u16,
    path: String,
    command: Vec<String>,
    name: String,
    answer: Py<PyAny>,
}

type Ended = (Result<ServeOutcome, LiveError>, Option<PyErr>);

fn run(
    resolved: &[Resolved],
    asked: Asked,
    announce: &Py<PyAny>,
    tell: &Py<PyAny>,
) -> Result<Ended, Failure> {
    let mut raised = None;
    let mut check = |now| look(None, now, &mut raised);
    let mut say = |line: &str| Python::attach(|py| drop(announce.call1(py, (line,))));
    let mut report = |summary: &ConnectionSummary| {
        let text = json_of(summary);
        Python::attach(|py| drop(tell.call1(py, (text,))));
    };
    let profiles = resolved.iter().map(|one| profile_of(one, "server")).collect::<Result<_, _>>()?;
    let options = ServeOptions {
        port: asked.port,
        path: asked.path,
        profiles,
        command: asked.command.into_iter().map(Into::into).collect(),
        name: asked.name,
        answer: answering(asked.answer),
        announce: &mut say,
        tell: &mut report,
        progress: &mut check,
    };
    let outcome = live::serve(&resolved[0].to_spec()?, options);
    Ok((outcome, raised))
}

/// An answer given by Python. Its exceptions are printed, and the connection is closed.
fn answering(answer: Py<PyAny>) -> Answer {
    Arc::new(move |stream: UnixStream| {
        let descriptor = stream.into_raw_fd();
        Python::attach(|py| {
            if let Err(error) = answer.call1(py, (descriptor,)) {
                error.print(py);
            }
        });
    })
}
