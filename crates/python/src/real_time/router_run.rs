//! A router.

use std::path::PathBuf;

use live::{RouterOptions, RouterState};
use pyo3::prelude::*;
use scenario::Search;

use super::callbacks::{Raised, json_to, lines_to, watched};
use crate::error::Failure;
use crate::json::json_of;

/// Forwards traffic between two places through the links of a scenario until a signal's handler raises. After
/// `KeyboardInterrupt`, the ordinary end, it returns the last state as JSON; any other exception is raised again.
///
/// `announce` is called with each line for the user, `show` with the state every second.
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
    let reload = Box::new(reload);
    let raised = Raised::default();
    let ended = py.detach(|| {
        watched(None, &raised, |check| {
            let options = RouterOptions {
                name,
                between,
                reload,
                announce: &mut lines_to(&announce, &raised),
                show: &mut json_to::<RouterState>(&show, &raised),
                progress: check,
            };
            live::router(&spec, options)
        })
    });
    Ok(json_of(&ended.until_interrupted(py)?))
}
