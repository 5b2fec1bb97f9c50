//! What the viewer shows of a run, and explanations, from tables of Python.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::Value;
use view::{Packer, Reports, Subject, Table, Tables};

use crate::error::Failure;
use crate::json::json_of;
use crate::table::batches;

/// Tables by name: anything with `__arrow_c_stream__`.
type Given<'py> = BTreeMap<String, Bound<'py, PyAny>>;

/// What is known of a result besides its tables, as Python writes it (`lasthop.explanation.tables.subject_of`).
#[derive(Deserialize)]
struct Known {
    specification: Value,
    flows: Option<Vec<String>>,
    captured: bool,
    reports: Reports,
}

/// The columns that views and explanations read, by the names of their tables.
#[pyfunction]
pub(crate) fn viewed_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    view::names().map(|name| (name, view::columns(name))).collect()
}

/// The view of a run as JSON, and its packed columns, which follow `offset` bytes of others.
#[pyfunction]
pub(crate) fn run_view<'py>(
    py: Python<'py>,
    tables: Given<'py>,
    known: &str,
    offset: usize,
) -> Result<(String, Bound<'py, PyBytes>), Failure> {
    let (tables, known) = (read(&tables)?, parsed(known)?);
    let (json, bytes) = py.detach(|| {
        let mut packer = Packer::after(offset);
        let subject = Subject {
            specification: &known.specification,
            flows: known.flows.as_deref(),
            captured: known.captured,
            reports: &known.reports,
        };
        view::run_view(&tables, subject, &mut packer).map(|view| (view.to_string(), packer.finish()))
    })?;
    Ok((json, PyBytes::new(py, &bytes)))
}

/// The explanations of the connections of a flow, or of all flows, as JSON.
#[pyfunction]
pub(crate) fn explanations(
    py: Python<'_>,
    tables: Given<'_>,
    flow: Option<String>,
    known: &str,
) -> Result<String, Failure> {
    let (tables, known) = (read(&tables)?, parsed(known)?);
    Ok(py.detach(|| {
        view::explain(&tables, flow.as_deref(), known.captured, &known.reports)
            .map(|explanations| json_of(&explanations))
    })?)
}

fn read(given: &Given<'_>) -> Result<Tables, Failure> {
    let table = |(name, table): (&String, &Bound<'_, PyAny>)| {
        Ok((name.clone(), Table::new(name, &batches(table)?, &view::columns(name))?))
    };
    given.iter().map(table).collect()
}

fn parsed(known: &str) -> PyResult<Known> {
    serde_json::from_str(known).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}
