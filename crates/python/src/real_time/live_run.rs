//! A run in real time.

use std::os::fd::RawFd;
use std::path::PathBuf;

use live::{Machine, Machines, Options, Program, Reload, RunState, Streams, Watch};
use pyo3::prelude::*;
use scenario::{Resolved, Search};
use sim::Spec;
use units::NodeId;

use super::callbacks::{Raised, json_to, watched as checked};
use crate::error::Failure;
use crate::json::json_of;
use crate::run::Run;

/// Programs in hosts: the host's name, the words, and the file for its output (empty: none).
type Programs = Vec<(String, Vec<String>, String)>;
/// A command: its words, and the file for its output (empty: none).
type Command = (Vec<String>, String);
/// Machines: name, address for datagrams, first port (None: any), names of its hosts.
type Given = Vec<(String, String, Option<u16>, Vec<String>)>;

/// A run that is watched: its name for `lasthop set`; the text of its scenario (None: that of the file), the file, the
/// folder of the library, the overrides and the seed; and what is called with the state as JSON, ten times a second.
type Watched = (String, Option<String>, String, PathBuf, Vec<String>, Option<u64>, Py<PyAny>);

/// Runs a resolved scenario between kernels; a `command` runs in the first host instead of the flows, and its output
/// is shown as well as kept. `programs` run in hosts until the run is over. `progress` is called from time to time
/// with the run's time in seconds; an exception that it raises ends the run. `machines` have the hosts that are not
/// on this machine; their control messages are read from and written to the descriptors `streams`, which are taken
/// over. With `watched` links can be changed during the run.
///
/// Call it in a process of its own, before there is a second thread.
#[pyfunction]
#[pyo3(name = "live", signature = (resolved_json, command=Command::default(), programs=vec![], progress=None, machines=vec![], streams=(-1, -1), watched=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one call in Python")]
pub(crate) fn run_live(
    py: Python<'_>,
    resolved_json: &str,
    command: Command,
    programs: Programs,
    progress: Option<Py<PyAny>>,
    machines: Given,
    streams: (RawFd, RawFd),
    watched: Option<Watched>,
) -> Result<Run, Failure> {
    let resolved = Resolved::from_json(resolved_json)?;
    let spec = resolved.to_spec()?;
    let (command, output) = command;
    let machines = machines_of(&spec, machines, streams, resolved_json)?;
    let (named, show) = watched.map(reload_of).unzip();
    let raised = Raised::default();
    let mut show = show.as_ref().map(|show| json_to::<RunState>(show, &raised));
    let ended = py.detach(|| {
        checked(progress.as_ref(), &raised, |check| {
            let watch = named.zip(show.as_mut());
            let options = Options {
                watch: watch.map(|((name, reload), show)| Watch { name, reload, show }),
                programs: programs_of(&spec, programs),
                command: command.into_iter().map(Into::into).collect(),
                output: (!output.is_empty()).then(|| output.into()),
                machines,
                progress: Some(check),
                ..Options::of(&resolved)
            };
            live::run(&spec, options)
        })
    });
    let outcome = ended.or_raised()?;
    Ok(Run::new(json_of(&outcome.summary), outcome.tables, outcome.captures))
}

/// Runs a machine's part of a run in real time, controlled through the descriptors `streams`, which are taken over.
///
/// Call it in a process of its own, before there is a second thread, and end the process after it.
#[pyfunction]
pub(crate) fn live_part(py: Python<'_>, streams: (RawFd, RawFd)) -> Result<(), Failure> {
    let streams = take_over(streams)?;
    Ok(py.detach(|| live::part(streams))?)
}

/// Returns the name and the reader of a watched run, and what is called with its state.
fn reload_of((name, text, source, library, overrides, seed, show): Watched) -> ((String, Reload), Py<PyAny>) {
    let search = Search::new([library]);
    let reload = move |more: &[String]| {
        let all = [overrides.as_slice(), more].concat();
        let read = match &text {
            Some(text) => scenario::parse(text, &source, &all, seed, &search),
            None => scenario::load(&source, &all, seed, &search),
        };
        read.and_then(|resolved| resolved.to_spec()).map_err(|error| error.to_string())
    };
    ((name, Box::new(reload)), show)
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
