//! The files that users write, read and resolved.

use std::path::PathBuf;

use pyo3::prelude::*;
use scenario::effect::{Clock, Layers};
use scenario::{Resolved, Search};

use crate::error::Failure;

/// A scenario file, read, checked and resolved.
#[pyclass(frozen, get_all, module = "lasthop._native")]
pub(crate) struct Scenario {
    /// Its name.
    name: String,
    /// Its master seed.
    seed: u64,
    /// The hash of `json`.
    hash: String,
    /// The scenario with every default written out; what `run` and `live` take.
    json: String,
}

impl From<Resolved> for Scenario {
    fn from(resolved: Resolved) -> Self {
        Self { hash: resolved.hash(), json: resolved.json(), seed: resolved.seed, name: resolved.name }
    }
}

/// Reads a scenario by path, or by its name in the library folder; overrides are texts `path=value`.
#[pyfunction]
#[pyo3(signature = (source, library, overrides=vec![], seed=None, allow_code=false))]
pub(crate) fn load_scenario(
    source: &str,
    library: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
    allow_code: bool,
) -> Result<Scenario, Failure> {
    Ok(scenario::load(source, &overrides, seed, &search(library, allow_code))?.into())
}

/// Reads a scenario out of a text; `source` is where messages say that it is, and where paths in it begin.
#[pyfunction]
#[pyo3(signature = (text, source, library, overrides=vec![], seed=None, allow_code=false))]
pub(crate) fn parse_scenario(
    text: &str,
    source: &str,
    library: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
    allow_code: bool,
) -> Result<Scenario, Failure> {
    Ok(scenario::parse(text, source, &overrides, seed, &search(library, allow_code))?.into())
}

/// The library, and whether files may bring programs.
fn search(library: &str, allow_code: bool) -> Search {
    let search = Search::new([library]);
    if allow_code { search.allowing_code() } else { search }
}

/// Raises `InputError` where a host of a scenario has the kernel's stack, with the place where that is written: there
/// is no kernel in virtual time. The scenario is that of a file or a name, or of a `text`.
#[pyfunction]
#[pyo3(signature = (source, text, library, overrides=vec![]))]
pub(crate) fn check_virtual_time(
    source: &str,
    text: Option<&str>,
    library: &str,
    overrides: Vec<String>,
) -> Result<(), Failure> {
    Ok(scenario::check_virtual_time(source, text, &overrides, &search(library, true))?)
}

/// Raises `InputError`, with the place where it is written, if a host of the scenario has the stack DCCP, whose packets
/// cross no kernel. The scenario is that of a file or a name, or of a `text`.
#[pyfunction]
#[pyo3(signature = (source, text, library, overrides=vec![]))]
pub(crate) fn check_real_time(
    source: &str,
    text: Option<&str>,
    library: &str,
    overrides: Vec<String>,
) -> Result<(), Failure> {
    Ok(scenario::check_real_time(source, text, &overrides, &search(library, true))?)
}

/// What no run in virtual time reads of a scenario, each as an `InputError` with its place: of its overrides, or else
/// of the keys of its file. The scenario is that of a file or a name, or of a `text`.
#[pyfunction]
#[pyo3(signature = (source, text, library, overrides, of_file))]
pub(crate) fn unread(
    py: Python<'_>,
    source: &str,
    text: Option<&str>,
    library: &str,
    overrides: Vec<String>,
    of_file: bool,
) -> Result<Vec<Py<PyAny>>, Failure> {
    // The scenario has been loaded with consent.
    let search = search(library, true);
    let scenario = Layers::read(source, text, &overrides, &search)?;
    let found = if of_file {
        scenario.unread_keys(Clock::Virtual)?
    } else {
        scenario.unread_overrides(Clock::Virtual)?
    };
    let exception = |error| PyErr::from(Failure::Input(error)).into_value(py).into_any();
    Ok(found.into_iter().map(exception).collect())
}

/// A setting of a host's kernel: host, key of its TCP, name and value of the setting.
type KernelSetting = (String, String, String, String);

/// What a live run makes of the keys of TCP of kernels' hosts (see `scenario::KernelKeys`): the settings, and an
/// `InputError` for each key without one. The scenario is that of a file or a name, or of a `text`.
#[pyfunction]
#[pyo3(signature = (source, text, library, overrides))]
pub(crate) fn kernel_keys(
    py: Python<'_>,
    source: &str,
    text: Option<&str>,
    library: &str,
    overrides: Vec<String>,
) -> Result<(Vec<KernelSetting>, Vec<Py<PyAny>>), Failure> {
    // The scenario has been loaded with consent.
    let search = search(library, true);
    let found = Layers::read(source, text, &overrides, &search)?.kernel_keys()?;
    let settings = found.settings.into_iter().map(|one| (one.host, one.key, one.name.to_owned(), one.value));
    let exception = |error| PyErr::from(Failure::Input(error)).into_value(py).into_any();
    Ok((settings.collect(), found.without_effect.into_iter().map(exception).collect()))
}

/// The text of a file of an earlier version in the form of this one, or None if it has no choice in an earlier form;
/// `source` is where messages say that it is.
#[pyfunction]
pub(crate) fn upgrade(text: &str, source: &str) -> Result<Option<String>, Failure> {
    Ok(scenario::upgrade(source, text)?)
}

/// Reads a study by folder or name and returns it resolved, as JSON (see `scenario::study::Study`), without the
/// scenarios of cases that are in none of the `wanted` tables. An empty list means all tables.
#[pyfunction]
#[pyo3(signature = (source, library, wanted=vec![]))]
pub(crate) fn load_study(source: &str, library: &str, wanted: Vec<String>) -> Result<String, Failure> {
    Ok(scenario::study::load_tables(source, &Search::new([library]), &wanted)?.json())
}

/// The file of a study and those of its parts, each with its tables.
#[pyfunction]
pub(crate) fn study_parts(source: &str, library: &str) -> Result<Vec<(PathBuf, Vec<String>)>, Failure> {
    let parts = scenario::study::parts(source, &Search::new([library]))?;
    Ok(parts.into_iter().map(|part| (part.file, part.tables)).collect())
}

/// The opportunities to send 1500 bytes that a direction of a link ("lasthop.down") gives in `seconds`, as a trace in
/// Mahimahi's format.
#[pyfunction]
pub(crate) fn link_trace(resolved_json: &str, link: &str, seconds: f64) -> Result<String, Failure> {
    let length = units::Duration::from_secs_f64(seconds);
    Ok(Resolved::from_json(resolved_json)?.link_trace(link, length)?)
}
