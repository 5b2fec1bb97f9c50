//! Many runs in one call: on all processors, without the interpreter in between.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use pyo3::prelude::*;
use scenario::Resolved;
use sim::Spec;
use stacks::Assignment;

use crate::congestion;
use crate::error::Failure;
use crate::run::{Record, Run, SLICE, with_record};

/// Runs resolved scenarios, each with several seeds, on `workers` threads. `scenarios` are JSON texts with the tables
/// and captures to record; `runs` are indices of scenarios with a seed. `finished` is called from time to time, in this
/// thread, with the runs that have ended since the last call: pairs of a run's index and its `Run`, or the exception
/// that it raised. It returns the scenarios to be given up, whose other runs are not started. An exception in it ends
/// the batch.
#[pyfunction]
pub(crate) fn run_batch(
    py: Python<'_>,
    scenarios: Vec<(String, Record)>,
    runs: Vec<(usize, u64)>,
    workers: usize,
    finished: Py<PyAny>,
) -> Result<(), Failure> {
    let batch = Batch {
        scenarios: scenarios.into_iter().map(Case::new).collect(),
        runs,
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        given_up: Mutex::default(),
    };
    py.detach(|| batch.run(workers, &finished))
}

struct Batch {
    scenarios: Vec<Case>,
    runs: Vec<(usize, u64)>,
    /// The place of the first run that no worker has taken.
    next: AtomicUsize,
    stopped: AtomicBool,
    given_up: Mutex<BTreeSet<usize>>,
}

/// A scenario, read once for all its seeds, by the first worker that needs it.
struct Case {
    text: String,
    record: Record,
    spec: OnceLock<Result<(Spec, Assignment), scenario::InputError>>,
}

/// The result of a run; none if its scenario was given up.
type Ended = (usize, Option<Result<Run, Failure>>);

impl Batch {
    fn run(&self, workers: usize, finished: &Py<PyAny>) -> Result<(), Failure> {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(WAITING);
            for _ in 0..workers.clamp(1, self.runs.len().max(1)) {
                let sender = sender.clone();
                // Attached once, so that the thread has its state in Python as long as it lives: a congestion control
                // in Python is called for each ACK, and a state made for each call takes ten times as long as it.
                scope.spawn(move || Python::attach(|py| py.detach(|| self.work(&sender))));
            }
            drop(sender);
            let reported = self.report(&receiver, finished);
            // A worker that waits to send its result finds the channel closed.
            self.stopped.store(true, Ordering::Relaxed);
            drop(receiver);
            reported
        })
    }

    /// Takes runs until none is left.
    fn work(&self, ended: &SyncSender<Ended>) {
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(scenario, seed)) = self.runs.get(place) else { return };
            let result = (!self.is_given_up(scenario)).then(|| self.run_one(scenario, seed));
            if self.stopped.load(Ordering::Relaxed) || ended.send((place, result)).is_err() {
                return;
            }
        }
    }

    fn run_one(&self, scenario: usize, seed: u64) -> Result<Run, Failure> {
        let (spec, stacks) = self.scenarios[scenario].spec()?;
        let mut spec = Spec { seed, ..spec };
        let programs = congestion::supply(&mut spec)?;
        let mut world = stacks::Run::new(spec, &stacks)?;
        while let Some(next) = world.next_event() {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(world.finish().into());
            }
            world.run_until(next + SLICE)?;
            programs.check()?;
        }
        world.run()?;
        programs.check()?;
        Ok(world.finish().into())
    }

    fn is_given_up(&self, scenario: usize) -> bool {
        self.given_up.lock().expect("no holder panics").contains(&scenario)
    }

    /// Reports the runs that have ended to Python, and handles signals, until all have.
    fn report(&self, ended: &Receiver<Ended>, finished: &Py<PyAny>) -> Result<(), Failure> {
        loop {
            let first = match ended.recv_timeout(PAUSE) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let news = gather(first, ended);
            Python::attach(|py| {
                py.check_signals()?;
                if !news.is_empty() {
                    let news =
                        news.into_iter().map(|ended| object(py, ended)).collect::<PyResult<Vec<_>>>()?;
                    let given_up: Vec<usize> = finished.call1(py, (news,))?.extract(py)?;
                    self.given_up.lock().expect("no holder panics").extend(given_up);
                }
                Ok::<_, PyErr>(())
            })?;
        }
    }
}

impl Case {
    fn new((text, record): (String, Record)) -> Self {
        Self { text, record, spec: OnceLock::new() }
    }

    fn spec(&self) -> Result<(Spec, Assignment), scenario::InputError> {
        let read = || {
            let resolved = with_record(Resolved::from_json(&self.text)?, Some(self.record.clone()))?;
            Ok((resolved.to_spec()?, resolved.stacks()))
        };
        self.spec.get_or_init(read).clone()
    }
}

/// A run that has ended, together with runs that end directly after it, because each call of Python costs time.
fn gather(first: Option<Ended>, ended: &Receiver<Ended>) -> Vec<Ended> {
    let mut news: Vec<Ended> = first.into_iter().collect();
    while !news.is_empty()
        && news.len() < WAITING
        && let Ok(next) = ended.recv_timeout(GAP)
    {
        news.push(next);
    }
    news
}

/// A run's place with its `Run`, with an exception, or with nothing.
fn object(py: Python<'_>, (place, result): Ended) -> PyResult<(usize, Py<PyAny>)> {
    let object = match result {
        None => py.None(),
        Some(Ok(run)) => Py::new(py, run)?.into_any(),
        Some(Err(failure)) => PyErr::from(failure).into_value(py).into_any(),
    };
    Ok((place, object))
}

/// Number of ended runs that may wait for Python.
const WAITING: usize = 256;

/// Largest time between the ends of two runs that are reported together.
const GAP: Duration = Duration::from_millis(5);

/// Time for which Python waits for a run before it checks for signals.
const PAUSE: Duration = Duration::from_millis(50);
