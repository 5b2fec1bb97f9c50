//! `lasthop._native`: a shell over `scenario`, `sim` and `live`, and nothing else.
//!
//! Values cross as JSON texts, tables through the Arrow C data interface (`table`) or as files (`files`), errors
//! through one map (`error`). The interpreter lock is released during a run (`run`), and taken from time to time for
//! signals and progress (`callbacks`). The Python side of each function is in `python/lasthop/_native.pyi`; a test
//! compares the two.
//!
//! This crate must never decide anything: no protocol, no default, no statistics.

mod analyze;
mod batch;
mod callbacks;
mod error;
mod fetch_run;
mod files;
mod live_run;
mod lookup;
mod packetdrill_run;
mod router_run;
mod run;
mod scenario_file;
mod serve_run;
mod shell_run;
mod table;

/// The engine under `lasthop`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::analyze::{analyze, capture_packets};
    #[pymodule_export]
    use crate::batch::run_batch;
    #[pymodule_export]
    use crate::fetch_run::fetch;
    #[pymodule_export]
    use crate::live_run::{live_part, run_live};
    #[pymodule_export]
    use crate::lookup::{algorithms, doctor, registries, schema};
    #[pymodule_export]
    use crate::packetdrill_run::packetdrill;
    #[pymodule_export]
    use crate::router_run::router;
    #[pymodule_export]
    use crate::run::{Run, run, summary};
    #[pymodule_export]
    use crate::scenario_file::{
        Scenario, check_virtual_time, link_trace, load_scenario, load_study, parse_scenario, study_parts,
    };
    #[pymodule_export]
    use crate::serve_run::serve;
    #[pymodule_export]
    use crate::shell_run::shell;
    #[pymodule_export]
    use crate::table::{Table, write_table};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("SOURCES", live::SOURCES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
