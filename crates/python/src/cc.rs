//! Modules of Linux, compiled for `lasthop cc build`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Failure;

/// Compiles a module in C and loads it; returns the plug-in, and as JSON its `name`, its `parameters` (each with
/// `name`, `value` and `text`), whether it has `cong_control`, and its `state` (`struct` and `variables`, or null).
#[pyfunction]
pub(crate) fn build_module<'py>(
    py: Python<'py>,
    file: &str,
) -> Result<(Bound<'py, PyBytes>, String), Failure> {
    let (bytes, described) = py.detach(|| built(file))?;
    Ok((PyBytes::new(py, &bytes), described.to_string()))
}

#[cfg(unix)]
fn built(file: &str) -> Result<(std::sync::Arc<[u8]>, serde_json::Value), Failure> {
    let plugin = modules::build(&scenario::module(file)?).map_err(Failure::Module)?;
    let library = modules::Library::load(&plugin, &serde_json::Map::new()).map_err(Failure::Module)?;
    let parameters: Vec<_> = library
        .parameters()
        .into_iter()
        .map(|known| serde_json::json!({ "name": known.name, "value": known.value, "text": known.text }))
        .collect();
    let described = serde_json::json!({
        "name": library.name(),
        "cong_control": library.has_cong_control(),
        "parameters": parameters,
        "state": library.state().map(|state| {
            let names: Vec<_> = state.variables.iter().map(|variable| &*variable.name).collect();
            serde_json::json!({ "struct": state.name, "variables": names })
        }),
    });
    Ok((plugin.bytes, described))
}

#[cfg(not(unix))]
fn built(file: &str) -> Result<(Vec<u8>, serde_json::Value), Failure> {
    Err(crate::congestion::no_modules(file))
}
