//! Our own TCP as the client of a real server.

use std::net::IpAddr;
use std::sync::Arc;

use live::{FetchOptions, FetchOutcome};
use pyo3::prelude::*;
use scenario::Resolved;

use super::callbacks::{Raised, lines_to, stream_to, watched};
use crate::error::Failure;
use crate::json::json_of;
use crate::run::Run;

/// Opens a connection to a real server through the links of a resolved scenario, whose hosts are "server" and "client".
/// `talk` is called in a thread of its own with the descriptor of a stream socket, which it owns and through which it
/// speaks with the server. Without `server` the connection goes to the far end of the links. Returns the run, and the
/// connection's summary as JSON.
///
/// Call it in a process of its own, before there is a second thread.
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
    let profile = profile_of(&resolved, "client")?;
    let spec = resolved.to_spec()?;
    let raised = Raised::default();
    let ended = py.detach(|| {
        watched(Some(&progress), &raised, |check| {
            let options = FetchOptions {
                server,
                port,
                profile,
                outside: outside.into_iter().map(Into::into).collect(),
                name,
                conversation: Box::new(stream_to(talk)),
                announce: &mut lines_to(&announce, &raised),
                progress: Some(check),
            };
            live::fetch(&spec, options)
        })
    });
    let FetchOutcome { run, connection, .. } = ended.or_raised()?;
    Ok((Run::new(json_of(&run.summary), run.tables, run.captures), json_of(&connection)))
}

/// The TCP of a host of a resolved scenario.
pub(crate) fn profile_of(resolved: &Resolved, host: &str) -> Result<Arc<tcp::Config>, Failure> {
    let wrong = |message: &str, help: &str| scenario::InputError {
        place: None,
        key: format!("hosts.{host}"),
        message: message.to_owned(),
        help: help.to_owned(),
    };
    let again = "resolve the scenario again";
    let found = resolved.hosts.iter().find(|known| known.name == host);
    let host = found.ok_or_else(|| wrong("there is no such host", again))?;
    let config = tcp::Config::from_profile(&host.tcp).map_err(|error| wrong(&error.message, again))?;
    if config.congestion.build().traits().stands_in {
        let message = "a congestion control that is a program runs in lasthop run only";
        return Err(wrong(message, "name a congestion control of lasthop list congestion").into());
    }
    Ok(Arc::new(config))
}
