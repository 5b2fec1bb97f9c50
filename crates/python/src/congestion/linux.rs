//! Modules of Linux, in C: asks the crate `modules`, and refuses them where there is no such crate.

use std::sync::Arc;

use pyo3::prelude::*;
use tcp::congestion::Module;

use crate::error::Failure;

/// The entry's name.
pub(super) const LINUX: &str = "linux";

/// The first mistake of a run's modules.
#[cfg(unix)]
pub(super) type Mistakes = Arc<modules::Mistakes>;
#[cfg(not(unix))]
pub(super) type Mistakes = ();

/// Gives the ends of flows their modules.
pub(super) fn supply(ends: Vec<&mut Arc<tcp::Config>>, mistakes: &Mistakes) -> Result<(), Failure> {
    let Some(module) = ends.first().and_then(|end| Module::of(&end.congestion)) else { return Ok(()) };
    // `lasthop serve` executes no program, in whatever language.
    Python::attach(|py| {
        py.import("lasthop.congestion.program")?.call_method1("refuse", (module.file,)).map(drop)
    })?;
    load(ends, mistakes)
}

#[cfg(unix)]
fn load(ends: Vec<&mut Arc<tcp::Config>>, mistakes: &Mistakes) -> Result<(), Failure> {
    let choices = ends.into_iter().map(|end| &mut Arc::make_mut(end).congestion);
    modules::supply(choices, mistakes).map_err(Failure::Module)
}

#[cfg(unix)]
pub(super) fn check(mistakes: &Mistakes) -> Result<(), Failure> {
    mistakes.check().map_err(Failure::Module)
}

#[cfg(not(unix))]
fn load(ends: Vec<&mut Arc<tcp::Config>>, (): &Mistakes) -> Result<(), Failure> {
    let module = ends.first().and_then(|end| Module::of(&end.congestion)).unwrap_or_default();
    Err(no_modules(&module.file))
}

#[cfg(not(unix))]
pub(super) fn check((): &Mistakes) -> Result<(), Failure> {
    Ok(())
}

/// The error for a module where none can be loaded.
#[cfg(not(unix))]
pub(crate) fn no_modules(file: &str) -> Failure {
    Failure::Input(scenario::InputError {
        place: None,
        key: String::new(),
        message: format!("{file} is a module of Linux, which runs on Linux and other Unix systems only"),
        help: "name a congestion control of lasthop list congestion, or a class of Python".to_owned(),
    })
}
