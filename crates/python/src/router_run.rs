//! A router.

use std::path::PathBuf;

use live::{LiveError, Reload, RouterOptions, RouterState};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use scenario::Search;
use sim::Spec;

use crate::error::Failure;
use crate::interrupt::look;
use crate::run::json_of;

/// Forwards traffic between two places through the links of a scenario until a signal's handler raises. Its exception
/// is raised here too, except KeyboardInterrupt, which is the ordinary end: then the last state is returned as JSON.
///
/// `announce` is called with each message to the user, `show` with the state every second.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one call in Python")]
pub(crate) fn router(
    py: Python<'_>,
    source: &str,
    library: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    between: [String; 2],
    name: String,
    announce: Py<PyAny>,
    show: Py<PyAny>,
) -> Result<String, Failure> {
    let search = Search::new([library]);
    let spec = scenario::load(source, &overrides, seed, &search)?.to_spec()?;
    let source = source.to_owned();
    let reload = move |more: &[String]| {
        let all = [overrides.as_slice(), more].concat();
        let loaded = scenario::load(&source, &all, seed, &search);
        loaded.and_then(|resolved| resolved.to_spec()).map_err(|error| error.to_string())
    };
    let asked = Asked { name, between, reload: Box::new(reload) };
    let (state, raised) = py.detach(|| run(&spec, asked, &announce, &show));
    match raised {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error.into()),
        _ => Ok(json_of(&state?)),
    }
}

/// The request to a router.
struct Asked {
    name: String,
    between: [String; 2],
    reload: Reload,
}

/// Runs the router; returns its last state, and the exception of a signal's handler.
fn run(
    spec: &Spec,
    asked: Asked,
    announce: &Py<PyAny>,
    show: &Py<PyAny>,
) -> (Result<RouterState, LiveError>, Option<PyErr>) {
    let mut raised = None;
    let mut check = |now| look(None, now, &mut raised);
    let mut say = |line: &str| Python::attach(|py| drop(announce.call1(py, (line,))));
    let mut tell = |state: &RouterState| {
        let text = json_of(state);
        Python::attach(|py| drop(show.call1(py, (text,))));
    };
    let Asked { name, between, reload } = asked;
    let options =
        RouterOptions { name, between, reload, announce: &mut say, show: &mut tell, progress: &mut check };
    let state = live::router(spec, options);
    (state, raised)
}
