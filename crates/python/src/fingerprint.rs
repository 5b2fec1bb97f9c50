//! The fingerprint of a file.

use std::path::PathBuf;

use pyo3::prelude::*;

/// The BLAKE3 hash of a file, as 64 hexadecimal digits; `OSError` if it cannot be read.
#[pyfunction]
pub(crate) fn fingerprint(path: PathBuf) -> PyResult<String> {
    Ok(blake3::hash(&std::fs::read(path)?).to_hex().to_string())
}
