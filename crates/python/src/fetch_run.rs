//! Our own TCP as the client of a real server.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::IntoRawFd;
use std::sync::Arc;

use live::{Conversation, FetchOptions, FetchOutcome, LiveError};
use pyo3::prelude::*;
use scenario::Resolved;

use crate::error::Failure;
use crate::interrupt::look;
use crate::run::{Run, json_of};

/// Opens a connection to a real server through the links of a resolved scenario, whose hosts are "server" and "client".
/// `talk` is called in its own thread with the descriptor of a stream socket, which it owns: the server reads the bytes
/// that it writes. Without `server` the connection goes to the far end of the links. Returns the run, and a report on
/// the connection.
///
/// It must be called in a separate process, before a second thread exists.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one call in Python")]
pub(crate) fn fetch(
    py: Python<'_>,
    resolved_json: &str,
    server: Option<IpAddr>,
    port: u16,
    outside: Vec<String>,
    name: String,
    talk: Py<PyAny>,
    announce: Py<PyAny>,
    progress: Py<PyAny>,
) -> Result<(Run, String), Failure> {
    let resolved = Resolved::from_json(resolved_json)?;
    let server = server.and_then(|address| match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    let asked = Asked { server, port, outside, name, talk };
    let outcome = py.detach(|| run(&resolved, asked, &announce, &progress))?;
    let connection = json_of(&outcome.connection);
    let run = outcome.run;
    Ok((Run::new(json_of(&run.summary), run.tables, run.captures), connection))
}

struct Asked {
    server: Option<Ipv4Addr>,
    port: u16,
    outside: Vec<String>,
    name: String,
    talk: Py<PyAny>,
}

fn run(
    resolved: &Resolved,
    asked: Asked,
    announce: &Py<PyAny>,
    progress: &Py<PyAny>,
) -> Result<FetchOutcome, Failure> {
    let mut raised = None;
    let mut check = |now| look(Some(progress), now, &mut raised);
    let mut say = |line: &str| Python::attach(|py| drop(announce.call1(py, (line,))));
    let options = FetchOptions {
        server: asked.server,
        port: asked.port,
        profile: profile_of(resolved, "client")?,
        outside: asked.outside.into_iter().map(Into::into).collect(),
        name: asked.name,
        conversation: conversation(asked.talk),
        announce: &mut say,
        progress: Some(&mut check),
    };
    match (live::fetch(&resolved.to_spec()?, options), raised) {
        (Err(LiveError::Interrupted), Some(error)) => Err(error.into()),
        (outcome, _) => Ok(outcome?),
    }
}

/// A conversation led by Python. Its exceptions are printed: it reports errors by its own means.
pub(crate) fn conversation(talk: Py<PyAny>) -> Conversation {
    Box::new(move |stream| {
        let descriptor = stream.into_raw_fd();
        Python::attach(|py| {
            if let Err(error) = talk.call1(py, (descriptor,)) {
                error.print(py);
            }
        });
    })
}

/// The TCP of a host of a resolved scenario.
pub(crate) fn profile_of(resolved: &Resolved, host: &str) -> Result<Arc<tcp::Config>, Failure> {
    let wrong = |message: String| scenario::InputError {
        place: None,
        key: format!("hosts.{host}"),
        message,
        help: "resolve the scenario again".to_owned(),
    };
    let found = resolved.hosts.iter().find(|known| known.name == host);
    let host = found.ok_or_else(|| wrong("there is no such host".to_owned()))?;
    let config = tcp::Config::from_profile(&host.tcp).map_err(|error| wrong(error.message.clone()))?;
    Ok(Arc::new(config))
}
