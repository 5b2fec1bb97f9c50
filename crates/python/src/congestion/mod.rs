//! Congestion controls that are programs: classes of Python, and modules of Linux.
//!
//! [`supply`] gives each flow of a specification whose congestion control is a program whatever runs it. Modules are
//! the crate `modules`' business, and `linux.rs` asks it. For Python, `control.rs` passes events to an object, and
//! reads its windows; `events.rs` has the events as Python sees them.
//! `python/lasthop/congestion/` compiles a program, words its mistakes, and ends a call that takes for ever.

mod control;
mod events;
mod linux;
mod programs;

use std::sync::Arc;

use pyo3::prelude::*;
use sim::Spec;
use tcp::congestion::Program;

use control::{Class, PythonControl};
pub(crate) use events::{Ack, Congestion, Sent};
#[cfg(not(unix))]
pub(crate) use linux::no_modules;
pub(crate) use programs::Programs;

use crate::error::Failure;

/// Compiles the programs of `spec` and makes its flows run them.
///
/// # Errors
/// A program that cannot be compiled, or that lacks a method or a parameter: `InputError` with file and line.
pub(crate) fn supply(spec: &mut Spec) -> Result<Arc<Programs>, Failure> {
    let programs = supply_classes(spec)?;
    linux::supply(ends_with(spec, linux::LINUX), &programs.modules)?;
    Ok(programs)
}

/// The ends of flows whose congestion control is a program of a language.
fn ends_with<'a>(spec: &'a mut Spec, language: &str) -> Vec<&'a mut Arc<tcp::Config>> {
    let ends = spec.flows.iter_mut().flat_map(|flow| [&mut flow.sender, &mut flow.receiver]);
    ends.filter(|end| end.congestion.id() == language).collect()
}

fn supply_classes(spec: &mut Spec) -> Result<Arc<Programs>, Failure> {
    let ends = ends_with(spec, PYTHON);
    if ends.is_empty() {
        return Ok(Arc::default());
    }
    Python::attach(|py| {
        let watch = py.import("lasthop.congestion.watch")?.getattr("Watch")?.call0()?;
        let programs = Arc::new(Programs::watched(watch.unbind()));
        let mut known: Vec<(Program, Arc<Class>)> = Vec::new();
        for end in ends {
            let program = program_of(&end.congestion);
            let class = match known.iter().find(|(other, _)| *other == program) {
                Some((_, class)) => Arc::clone(class),
                None => Arc::new(Class::compiled(py, &program)?),
            };
            known.push((program, Arc::clone(&class)));
            let programs = Arc::clone(&programs);
            Arc::make_mut(end)
                .congestion
                .supply(move || Box::new(PythonControl::new(Arc::clone(&class), Arc::clone(&programs))));
        }
        Ok(programs)
    })
}

fn program_of(choice: &registry::Choice<dyn tcp::congestion::CongestionControl>) -> Program {
    let parameters = serde_json::Value::Object(choice.parameters().clone());
    serde_json::from_value(parameters).expect("they were read when the profile was")
}

/// The entry's name.
const PYTHON: &str = "python";
