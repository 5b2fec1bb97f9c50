//! A run in real time.

use std::ops::ControlFlow;

use live::{LiveOutcome, Options, Program};
use pyo3::prelude::*;
use scenario::Resolved;

use crate::error::Failure;
use crate::interrupt::check_in;
use crate::run::{Run, json_of};

/// Runs a resolved scenario between kernels; with a `command`, that is run in the first host instead of the flows.
/// `programs` run in hosts, by name, until the run is over, each with the file for what it writes or an empty name.
/// `progress` is called now and then with the run's time in seconds, and what it raises ends the run.
///
/// Call it in a process of its own, before there is a second thread.
#[pyfunction]
#[pyo3(name = "live", signature = (resolved_json, command=vec![], programs=vec![], progress=None))]
pub(crate) fn run_live(
    py: Python<'_>,
    resolved_json: &str,
    command: Vec<String>,
    programs: Vec<(String, Vec<String>, String)>,
    progress: Option<Py<PyAny>>,
) -> Result<Run, Failure> {
    let resolved = Resolved::from_json(resolved_json)?;
    let outcome = py.detach(|| outcome_of(&resolved, command, programs, progress.as_ref()))?;
    Ok(Run::new(json_of(&outcome.summary), outcome.tables, outcome.captures))
}

fn outcome_of(
    resolved: &Resolved,
    command: Vec<String>,
    programs: Vec<(String, Vec<String>, String)>,
    progress: Option<&Py<PyAny>>,
) -> Result<LiveOutcome, Failure> {
    let mut raised = None;
    let mut look = |now| match check_in(progress, now) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            raised = Some(error);
            ControlFlow::Break(())
        }
    };
    let spec = resolved.to_spec()?;
    let nodes = spec.nodes.iter().enumerate();
    let simulated = nodes.filter(|(_, node)| resolved.live.simulates(&node.name)).map(|(place, _)| place);
    let node = |host: &str| spec.nodes.iter().position(|node| node.name == host);
    let program = |(host, words, output): (String, Vec<String>, String)| {
        let output = (!output.is_empty()).then(|| output.into());
        Some(Program { host: node(&host)?, words: words.into_iter().map(Into::into).collect(), output })
    };
    let options = Options {
        programs: programs.into_iter().filter_map(program).collect(),
        tainted_from: resolved.live.tainted_from,
        simulated: simulated.collect(),
        stacks: resolved.stacks(),
        congestion: resolved.live.congestion.clone(),
        sysctls: resolved.live.settings(),
        command: command.into_iter().map(Into::into).collect(),
        progress: Some(&mut look),
        ..Options::default()
    };
    let outcome = live::run(&spec, options)?;
    raised.map_or(Ok(outcome), |error| Err(error.into()))
}
