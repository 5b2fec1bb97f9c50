//! `lasthop._native`: a shell over `scenario`, `sim` and `live`, and nothing else.
use pyo3::prelude::*;

/// The engine under `lasthop`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
