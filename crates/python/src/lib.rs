//! `lasthop._native`: a shell over `scenario`, `sim` and `live`, and nothing else.
//!
//! Values cross as JSON texts, tables through the Arrow C data interface (`table`) or as files (`files`), errors
//! through one map (`error`). The interpreter lock is released during a run (`run`), and taken from time to time for
//! signals and progress (`callbacks`). The Python side of each function is in `python/lasthop/_native.pyi`; a test
//! compares the two.
//!
//! Functions of real time (`real_time`) are those of Linux, and absent elsewhere.
//!
//! This crate must never decide anything: no protocol, no default, no statistics.

mod analyze;
mod batch;
mod callbacks;
mod cc;
mod congestion;
mod error;
mod files;
mod fingerprint;
mod json;
mod lookup;
mod packetdrill_run;
#[cfg(target_os = "linux")]
mod real_time;
mod run;
mod scenario_file;
mod table;
mod view;

/// The engine under `lasthop`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::analyze::{analyze, analyze_as_it_comes, capture_packets, quic_packets};
    #[pymodule_export]
    use crate::batch::run_batch;
    #[pymodule_export]
    use crate::cc::build_module;
    #[pymodule_export]
    use crate::congestion::{Ack, Congestion, Sent};
    #[pymodule_export]
    use crate::fingerprint::fingerprint;
    #[pymodule_export]
    use crate::lookup::{algorithms, parameters, registries, schema};
    #[pymodule_export]
    use crate::packetdrill_run::packetdrill;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::real_time::{doctor, fetch, live_part, router, run_live, serve, shell};
    #[pymodule_export]
    use crate::run::{Run, run, summary};
    #[pymodule_export]
    use crate::scenario_file::{
        Scenario, check_real_time, check_virtual_time, kernel_keys, link_trace, load_scenario, load_study,
        parse_scenario, study_parts, unread, upgrade,
    };
    #[pymodule_export]
    use crate::table::{Table, write_table};
    #[pymodule_export]
    use crate::view::{explanations, run_view, viewed_columns};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        #[cfg(target_os = "linux")]
        module.add("SOURCES", crate::real_time::SOURCES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
