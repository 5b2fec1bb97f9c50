//! Analysis of captures.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use analysis::Survey;
use pyo3::prelude::*;
use wire::capture::{ReadError, Reader};

use crate::error::Failure;
use crate::files::{FileError, TableFile};
use crate::table::Table;

/// Reads a capture and returns its report as JSON (see `analysis::Report`); with a path, its packets are written there
/// as the table `segments`.
#[pyfunction]
#[pyo3(signature = (capture, segments=None))]
pub(crate) fn analyze(
    py: Python<'_>,
    capture: PathBuf,
    segments: Option<PathBuf>,
) -> Result<String, Failure> {
    py.detach(|| {
        let survey = Survey::read(open(&capture)?);
        if let Some(path) = segments {
            write_rows(&capture, &survey, &path)?;
        }
        Ok(crate::run::json_of(&survey.report()))
    })
}

/// Reads the TCP packets of a capture as a table (see `analysis::packets`).
#[pyfunction]
pub(crate) fn capture_packets(py: Python<'_>, capture: PathBuf) -> Result<Table, Failure> {
    py.detach(|| Ok(Table::new(analysis::packets(open(&capture)?))))
}

fn write_rows(capture: &Path, survey: &Survey, path: &Path) -> Result<(), Failure> {
    let mut table = TableFile::new(path);
    analysis::rows(open(capture)?, survey, |batch| table.append(&batch))?;
    Ok(table.finish()?)
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    let file = File::open(path).map_err(|error| FileError { file: path.to_owned(), error })?;
    wire::capture::open(BufReader::with_capacity(1 << 20, file)).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: ReadError) -> Failure {
    match error {
        ReadError::Io { error, .. } => FileError { file: path.to_owned(), error }.into(),
        other => Failure::Capture { file: path.to_owned(), error: other },
    }
}
