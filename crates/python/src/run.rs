//! A run in virtual time.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scenario::Resolved;
use serde::Serialize;
use sim::{Outcome, World};
use units::Duration;

use crate::error::Failure;
use crate::heed::heed;
use crate::table::Table;

/// What came out of one run.
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

/// Runs a resolved scenario. `record` replaces what the scenario says is kept; `progress` is called with the run's
/// time in seconds, and what it raises ends the run.
#[pyfunction]
#[pyo3(signature = (resolved_json, record=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    resolved_json: &str,
    record: Option<Record>,
    progress: Option<Py<PyAny>>,
) -> Result<Run, Failure> {
    let resolved = with_record(Resolved::from_json(resolved_json)?, record)?;
    let outcome = py.detach(|| outcome_of(&resolved, progress.as_ref()))?;
    Ok(Run::new(json_of(&outcome.summary), outcome.tables, outcome.captures))
}

/// What to record, by the words of a scenario file: "tables" and "captures".
pub(crate) type Record = BTreeMap<String, Vec<String>>;

fn with_record(resolved: Resolved, record: Option<Record>) -> Result<Resolved, Failure> {
    let Some(record) = record else { return Ok(resolved) };
    let mut value = resolved.to_value();
    value["record"] = serde_json::json!(record);
    Ok(Resolved::from_json(&value.to_string())?)
}

fn outcome_of(resolved: &Resolved, progress: Option<&Py<PyAny>>) -> Result<Outcome, Failure> {
    let mut world = World::new(resolved.to_spec()?)?;
    while let Some(next) = world.next_event() {
        world.run_until(next + SLICE)?;
        heed(progress, world.now())?;
    }
    world.run()?;
    Ok(world.finish())
}

/// A summary as the text that `--json` prints.
pub(crate) fn json_of(summary: &impl Serialize) -> String {
    serde_json::to_string(summary).expect("a summary has text keys and finite numbers")
}

/// How much of a run passes between two looks at the interpreter: milliseconds of computing, as a rule.
const SLICE: Duration = Duration::from_secs(1);
