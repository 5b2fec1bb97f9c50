//! `lasthop._native`: a shell over `scenario`, `sim` and `live`, and nothing else.
//!
//! Values cross as JSON texts, tables through the Arrow C data interface (`table`), errors through one map (`error`).
//! The interpreter lock is released while a run goes on (`run`), and Ctrl-C is heeded. The Python side of each
//! function is in `python/lasthop/_native.pyi`, which a test holds equal to what is here.
//!
//! This crate must never decide anything: no protocol, no default, no statistics.

mod error;
mod heed;
mod live_run;
mod lookup;
mod run;
mod scenario_file;
mod table;

/// The engine under `lasthop`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::live_run::run_live;
    #[pymodule_export]
    use crate::lookup::{algorithms, doctor, schema, topologies, workloads};
    #[pymodule_export]
    use crate::run::{Run, run};
    #[pymodule_export]
    use crate::scenario_file::{Scenario, link_trace, load_scenario, load_study};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
