//! Runs in real time, which only Linux has: elsewhere this module is not compiled, and Python says so.

mod callbacks;
mod fetch_run;
mod live_run;
mod router_run;
mod serve_run;
mod shell_run;

use live::LiveError;
use pyo3::prelude::*;

pub(crate) use self::fetch_run::fetch;
pub(crate) use self::live_run::{live_part, run_live};
pub(crate) use self::router_run::router;
pub(crate) use self::serve_run::serve;
pub(crate) use self::shell_run::shell;

use crate::error::Failure;

pub(crate) const SOURCES: &str = live::SOURCES;

/// The requirements of real-time runs on this machine, each with a remedy if it is missing.
#[pyfunction]
pub(crate) fn doctor() -> String {
    serde_json::to_string(&live::doctor()).expect("checks are texts and booleans")
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        let class = if is_of_the_input(&error) { "InputError" } else { "LiveError" };
        Self::Live { class, message: error.to_string() }
    }
}

/// Whether the scenario or the command line is wrong: a place, an address, a program, or a setting that none may have.
fn is_of_the_input(error: &LiveError) -> bool {
    match error {
        LiveError::CannotStart(checks) => checks.iter().any(|check| check.check == "sysctl"),
        LiveError::Refused(_) | LiveError::Place { .. } | LiveError::Ends(_) | LiveError::NoProgram(_) => {
            true
        }
        _ => false,
    }
}
