//! A run in real time.

use std::os::fd::RawFd;

use live::{LiveOutcome, Machine, Machines, Options, Program, Streams};
use pyo3::prelude::*;
use scenario::Resolved;
use sim::Spec;
use units::NodeId;

use crate::error::Failure;
use crate::interrupt::look;
use crate::run::{Run, json_of};

/// Programs in hosts, by name, each with the file for its output or an empty name.
type Programs = Vec<(String, Vec<String>, String)>;
/// A command, and the file for its output or an empty name.
type Command = (Vec<String>, String);
/// Machines: what each is called, where its datagrams go, the first port if it is chosen, its hosts.
type Given = Vec<(String, String, Option<u16>, Vec<String>)>;

/// Runs a resolved scenario between kernels; a `command` runs in the first host instead of the flows. Its output is
/// shown as well as stored. `programs` run in hosts until the end of the run. `progress` is called from time to time
/// with the run's time in seconds; an exception in it ends the run. Hosts of `machines` run there: this function
/// communicates with their parts over the descriptors `streams`, one to read and one to write each, and takes ownership
/// of them.
///
/// It must be called in a separate process, before a second thread exists.
#[pyfunction]
#[pyo3(name = "live", signature = (resolved_json, command=Command::default(), programs=vec![], progress=None, machines=vec![], streams=(-1, -1)))]
pub(crate) fn run_live(
    py: Python<'_>,
    resolved_json: &str,
    command: Command,
    programs: Programs,
    progress: Option<Py<PyAny>>,
    machines: Given,
    streams: (RawFd, RawFd),
) -> Result<Run, Failure> {
    let resolved = Resolved::from_json(resolved_json)?;
    let spec = resolved.to_spec()?;
    let (command, output) = command;
    let machines = machines_of(&spec, machines, streams, resolved_json)?;
    let outcome = py.detach(|| {
        let options = Options {
            programs: programs_of(&spec, programs),
            command: command.into_iter().map(Into::into).collect(),
            output: (!output.is_empty()).then(|| output.into()),
            machines,
            ..Options::of(&resolved)
        };
        outcome_of(&spec, options, progress.as_ref())
    })?;
    Ok(Run::new(json_of(&outcome.summary), outcome.tables, outcome.captures))
}

/// Runs a machine's part of a run in real time, as directed over the descriptors `streams`, of which it takes
/// ownership.
///
/// It must be called in a separate process, before a second thread exists, and the process must end after it.
#[pyfunction]
pub(crate) fn live_part(py: Python<'_>, streams: (RawFd, RawFd)) -> Result<(), Failure> {
    let streams = take_over(streams)?;
    Ok(py.detach(|| live::part(streams))?)
}

fn outcome_of(
    spec: &Spec,
    options: Options<'_>,
    progress: Option<&Py<PyAny>>,
) -> Result<LiveOutcome, Failure> {
    let mut raised = None;
    let mut check = |now| look(progress, now, &mut raised);
    let outcome = live::run(spec, Options { progress: Some(&mut check), ..options });
    raised.map_or(Ok(()), |error| Err(Failure::Python(error)))?;
    Ok(outcome?)
}

fn node(spec: &Spec, host: &str) -> Option<NodeId> {
    spec.nodes.iter().position(|node| node.name == host).map(NodeId::new)
}

fn programs_of(spec: &Spec, programs: Programs) -> Vec<Program> {
    let program = |(host, words, output): (String, Vec<String>, String)| {
        let output = (!output.is_empty()).then(|| output.into());
        Some(Program { host: node(spec, &host)?, words: words.into_iter().map(Into::into).collect(), output })
    };
    programs.into_iter().filter_map(program).collect()
}

fn machines_of(
    spec: &Spec,
    machines: Given,
    streams: (RawFd, RawFd),
    resolved_json: &str,
) -> Result<Option<Machines>, Failure> {
    if machines.is_empty() {
        return Ok(None);
    }
    let machine = |(name, address, port, hosts): (String, String, Option<u16>, Vec<String>)| Machine {
        name,
        address,
        port,
        hosts: hosts.iter().filter_map(|host| node(spec, host)).collect(),
    };
    let machines = machines.into_iter().map(machine).collect();
    Ok(Some(Machines { machines, streams: take_over(streams)?, scenario: resolved_json.to_owned() }))
}

fn take_over((input, output): (RawFd, RawFd)) -> Result<Streams, Failure> {
    Ok(Streams::take_over(input, output).map_err(live::LiveError::Control)?)
}
