//! A run in virtual time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scenario::Resolved;
use sim::{Outcome, Records};
use units::{Duration, Instant};

use crate::callbacks::check_in;
use crate::congestion;
use crate::error::Failure;
use crate::files::RecordFiles;
use crate::json::json_of;
use crate::table::Table;

/// The result of one run.
#[pyclass(frozen, module = "lasthop._native")]
pub(crate) struct Run {
    summary: String,
    tables: Vec<(&'static str, RecordBatch)>,
    captures: Vec<(String, Vec<u8>)>,
}

impl Run {
    pub(crate) const fn new(
        summary: String,
        tables: Vec<(&'static str, RecordBatch)>,
        captures: Vec<(String, Vec<u8>)>,
    ) -> Self {
        Self { summary, tables, captures }
    }
}

impl From<Outcome> for Run {
    fn from(outcome: Outcome) -> Self {
        Self::new(json_of(&outcome.summary), outcome.tables, outcome.captures)
    }
}

#[pymethods]
impl Run {
    /// The object that `lasthop run --json` prints.
    #[getter]
    fn summary_json(&self) -> &str {
        &self.summary
    }

    /// The names of the recorded tables.
    #[getter]
    fn table_names(&self) -> Vec<&str> {
        self.tables.iter().map(|(name, _)| *name).collect()
    }

    /// The captures: pcapng files by the name of their point.
    #[getter]
    fn captures<'py>(&self, py: Python<'py>) -> BTreeMap<&str, Bound<'py, PyBytes>> {
        self.captures.iter().map(|(point, bytes)| (point.as_str(), PyBytes::new(py, bytes))).collect()
    }

    /// One recorded table; raises `KeyError` if there is none of that name.
    fn table(&self, name: &str) -> PyResult<Table> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        found.map(|(_, batch)| Table::new(batch.clone())).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

/// Runs a resolved scenario. `record` replaces the scenario's choice of tables and captures. With a `folder`, tables
/// and captures are written there during the run, and the result has none. `progress` is called with the run's time in
/// seconds; an exception in it ends the run.
#[pyfunction]
#[pyo3(signature = (resolved_json, record=None, progress=None, folder=None))]
pub(crate) fn run(
    py: Python<'_>,
    resolved_json: &str,
    record: Option<Record>,
    progress: Option<Py<PyAny>>,
    folder: Option<PathBuf>,
) -> Result<Run, Failure> {
    let resolved = with_record(Resolved::from_json(resolved_json)?, record)?;
    let outcome = py.detach(|| match folder {
        None => outcome_of(&resolved, progress.as_ref()),
        Some(folder) => {
            outcome_without_records(Some(RecordFiles::new(&folder)), &resolved, progress.as_ref())
        }
    })?;
    Ok(outcome.into())
}

/// Runs a resolved scenario, and gives its summary alone.
#[pyfunction]
#[pyo3(signature = (resolved_json, progress=None))]
pub(crate) fn summary(
    py: Python<'_>,
    resolved_json: &str,
    progress: Option<Py<PyAny>>,
) -> Result<String, Failure> {
    let resolved = Resolved::from_json(resolved_json)?;
    let outcome = py.detach(|| outcome_without_records(None, &resolved, progress.as_ref()))?;
    Ok(json_of(&outcome.summary))
}

/// Records to keep, in the words of a scenario file: "tables" and "captures".
pub(crate) type Record = BTreeMap<String, Vec<String>>;

/// The scenario with other records than it asks for.
pub(crate) fn with_record(
    resolved: Resolved,
    record: Option<Record>,
) -> Result<Resolved, scenario::InputError> {
    let Some(record) = record else { return Ok(resolved) };
    let mut value = resolved.to_value();
    value["record"] = serde_json::json!(record);
    Resolved::from_json(&value.to_string())
}

fn outcome_of(resolved: &Resolved, progress: Option<&Py<PyAny>>) -> Result<Outcome, Failure> {
    let mut spec = resolved.to_spec()?;
    let programs = congestion::supply(&mut spec)?;
    let mut world = stacks::Run::new(spec, &resolved.stacks())?;
    while let Some(next) = world.next_event() {
        world.run_until(next + SLICE)?;
        programs.check()?;
        check_in(progress, world.now())?;
    }
    world.run()?;
    programs.check()?;
    Ok(world.finish())
}

/// Runs with records written to files or discarded, so that memory holds only incomplete ones.
fn outcome_without_records(
    mut files: Option<RecordFiles>,
    resolved: &Resolved,
    progress: Option<&Py<PyAny>>,
) -> Result<Outcome, Failure> {
    let mut spec = resolved.to_spec()?;
    let programs = congestion::supply(&mut spec)?;
    let mut world = stacks::Run::new(spec, &resolved.stacks())?;
    let mut keep = |records: &Records| files.as_mut().map_or(Ok(()), |files| files.write(records));
    let mut look = Instant::START;
    while let Some(next) = world.next_event() {
        world.run_until(next + RECORDED_SLICE)?;
        programs.check()?;
        if let Some(records) = world.take_records() {
            keep(&records)?;
        }
        if world.now() >= look {
            check_in(progress, world.now())?;
            look = world.now() + SLICE;
        }
    }
    world.run()?;
    programs.check()?;
    let Outcome { summary, tables, captures } = world.finish();
    keep(&Records { tables, captures })?;
    files.map_or(Ok(()), RecordFiles::finish)?;
    Ok(Outcome { summary, tables: Vec::new(), captures: Vec::new() })
}

/// Number of events between two checks of the interpreter: milliseconds of computing, as a rule.
pub(crate) const SLICE: Duration = Duration::from_secs(1);

/// Number of events between two checks of its records: some thousand packets over 100 Mbit/s.
const RECORDED_SLICE: Duration = Duration::from_millis(100);
