//! A congestion control that is an object of Python.

use std::sync::Arc;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tcp::congestion::{
    AckSample, CongestionControl, CongestionEvent, DeliverySample, LostSegment, Pace, PathModel, Program,
    SendEvent, Traits,
};
use units::{Bytes, Duration, Instant, Rate};

use super::events::{Ack, Congestion, Sent};
use super::programs::Programs;

/// A compiled class, with what is constant of it.
#[derive(Debug)]
pub(super) struct Class {
    /// `lasthop.congestion.program.Loaded`.
    loaded: Py<PyAny>,
    traits: Traits,
    /// The attributes of an object that are recorded.
    named_state: Vec<Arc<str>>,
}

impl Class {
    /// Compiles the program.
    pub(super) fn compiled(py: Python<'_>, program: &Program) -> PyResult<Self> {
        let parameters = serde_json::Value::Object(program.parameters.clone()).to_string();
        let module = py.import("lasthop.congestion.program")?;
        let loaded = module.call_method1("load", (&program.class, &program.code, parameters))?;
        let is = |name: &str| loaded.getattr(name)?.extract::<bool>();
        let traits = Traits {
            observes_sends: is("observes_sends")?,
            observes_deliveries: is("governs_recovery")?,
            governs_recovery: is("governs_recovery")?,
            paces: is("paces")?,
            keeps_timer: is("keeps_timer")?,
            // What a stranger's algorithm does to its neighbours is for the user to judge.
            unequal_shares: true,
            ..Traits::default()
        };
        let named_state: Vec<String> = loaded.getattr("named_state")?.extract()?;
        let named_state = named_state.into_iter().map(Arc::from).collect();
        Ok(Self { loaded: loaded.unbind(), traits, named_state })
    }
}

/// An object of the class, for one connection.
#[derive(Debug)]
pub(super) struct PythonControl {
    class: Arc<Class>,
    programs: Arc<Programs>,
    /// None before the connection is established, and after the object's mistake.
    object: Option<Py<PyAny>>,
    smss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    pace: Pace,
    /// Time at which the object's timer runs out.
    deadline: Option<Instant>,
}

impl PythonControl {
    pub(super) fn new(class: Arc<Class>, programs: Arc<Programs>) -> Self {
        let pace = Pace { rate: UNPACED, quantum: Bytes::ZERO };
        let (smss, cwnd, ssthresh) = (Bytes(1), Bytes(1), Bytes::MAX);
        Self { class, programs, object: None, smss, cwnd, ssthresh, pace, deadline: None }
    }

    /// Calls a method of the object under the watch, and reads the windows that it has left.
    fn call<A>(&mut self, method: &str, arguments: impl FnOnce(Python<'_>) -> PyResult<A>)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some(object) = self.object.take() else { return };
        Python::attach(|py| {
            let called = self.watched(py, || {
                object.bind(py).call_method1(PyString::intern(py, method), arguments(py)?).map(drop)
            });
            match called.and_then(|()| self.read(object.bind(py), method)) {
                Ok(()) => self.object = Some(object),
                Err(raised) => self.fail(py, method, raised),
            }
        });
    }

    /// Calls the method where the class has it; reports whether it has.
    fn call_if_defined<A>(&mut self, method: &str, arguments: impl FnOnce(Python<'_>) -> PyResult<A>) -> bool
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some(object) = &self.object else { return false };
        let defined =
            Python::attach(|py| object.bind(py).hasattr(PyString::intern(py, method)).unwrap_or(false));
        if defined {
            self.call(method, arguments);
        }
        defined
    }

    /// Sets an attribute of the object, and reads the windows.
    fn set(&mut self, windows: &[(&str, Bytes)]) {
        let Some(object) = self.object.take() else { return };
        Python::attach(|py| {
            let bound = object.bind(py);
            let set = windows.iter().try_for_each(|(name, window)| {
                bound.setattr(PyString::intern(py, name), python_size(py, *window)?)
            });
            match set.and_then(|()| self.read(bound, WINDOW)) {
                Ok(()) => self.object = Some(object),
                Err(raised) => self.fail(py, WINDOW, raised),
            }
        });
    }

    fn watched<T>(&self, py: Python<'_>, action: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let Some(watch) = self.programs.watch() else { return action() };
        let calls = watch.bind(py).getattr(pyo3::intern!(py, "calls"))?;
        calls.set_item(0, self.programs.count())?;
        let outcome = action();
        calls.set_item(0, self.programs.count())?;
        outcome
    }

    /// Reads the object's windows, rate, quantum and deadline.
    fn read(&mut self, object: &Bound<'_, PyAny>, method: &str) -> PyResult<()> {
        let py = object.py();
        let size = |value: Bound<'_, PyAny>| self.size(py, &value, method);
        let (cwnd, ssthresh) = (
            size(object.getattr(pyo3::intern!(py, "window"))?)?.max(self.smss),
            threshold(&object.getattr(pyo3::intern!(py, "ssthresh"))?, size)?.max(self.smss * 2),
        );
        let pace = if self.class.traits.paces { self.read_pace(object, method)? } else { self.pace };
        if self.class.traits.keeps_timer {
            self.deadline = self.read_deadline(object, method)?;
        }
        (self.cwnd, self.ssthresh, self.pace) = (cwnd, ssthresh, pace);
        Ok(())
    }

    fn read_deadline(&self, object: &Bound<'_, PyAny>, method: &str) -> PyResult<Option<Instant>> {
        let py = object.py();
        let deadline = object.getattr(pyo3::intern!(py, "deadline"))?;
        match deadline.extract::<Option<f64>>() {
            Ok(None) => Ok(None),
            Ok(Some(at)) if (0.0..=LATEST).contains(&at) => {
                Ok(Some(Instant::START + Duration::from_secs_f64(at)))
            }
            _ => Err(self.absurd(py, &deadline, method)?),
        }
    }

    fn read_pace(&self, object: &Bound<'_, PyAny>, method: &str) -> PyResult<Pace> {
        let py = object.py();
        let rate = object.getattr(pyo3::intern!(py, "pacing_rate"))?;
        if rate.is_none() {
            return Ok(Pace { rate: UNPACED, quantum: self.smss });
        }
        let Bytes(rate) = self.size(py, &rate, method)?;
        let quantum = object.getattr_opt(pyo3::intern!(py, "quantum"))?.filter(|quantum| !quantum.is_none());
        let quantum = quantum.map_or(Ok(self.smss), |quantum| self.size(py, &quantum, method))?;
        Ok(Pace {
            rate: Rate::from_bits_per_sec(rate.max(1).saturating_mul(8)),
            quantum: quantum.max(self.smss),
        })
    }

    /// A size in bytes as Python has it; fractions are cut off.
    fn size(&self, py: Python<'_>, value: &Bound<'_, PyAny>, method: &str) -> PyResult<Bytes> {
        match value.extract::<f64>() {
            Ok(size) if (0.0..=LARGEST).contains(&size) => Ok(Bytes(size as u64)),
            _ => Err(self.absurd(py, value, method)?),
        }
    }

    /// A variable of the object, which is a number; NaN for `None`.
    fn variable(&self, object: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
        let value = object.getattr(name)?;
        match value.extract::<Option<f64>>() {
            Ok(number) => Ok(number.unwrap_or(f64::NAN)),
            Err(_) => {
                let raised = self.class.loaded.bind(object.py()).call_method1("no_number", (name, value))?;
                Err(PyErr::from_value(raised))
            }
        }
    }

    fn absurd(&self, py: Python<'_>, value: &Bound<'_, PyAny>, method: &str) -> PyResult<PyErr> {
        Ok(PyErr::from_value(self.class.loaded.bind(py).call_method1("absurd", (method, value))?))
    }

    /// Keeps the object's mistake for whoever runs the World; the windows stay as they are.
    fn fail(&self, py: Python<'_>, method: &str, raised: PyErr) {
        // With its traceback, which has the line.
        let raised = raised.into_value(py);
        let mistake = self.class.loaded.bind(py).call_method1("mistake", (method, raised));
        self.programs.fail(mistake.map_or_else(|error| error, PyErr::from_value));
    }

    fn created(&self, py: Python<'_>, initial_window: Bytes) -> PyResult<Py<PyAny>> {
        let keywords = PyDict::new(py);
        keywords.set_item("mss", self.smss.0)?;
        keywords.set_item("window", initial_window.0)?;
        Ok(self.class.loaded.bind(py).call_method("create", (), Some(&keywords))?.unbind())
    }
}

impl CongestionControl for PythonControl {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        (self.smss, self.cwnd) = (smss, initial_window);
        Python::attach(|py| {
            let made = self.watched(py, || self.created(py, initial_window));
            match made.and_then(|object| self.read(object.bind(py), "__init__").map(|()| object)) {
                Ok(object) => self.object = Some(object),
                Err(raised) => self.fail(py, "__init__", raised),
            }
        });
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.smss = smss;
    }

    fn traits(&self) -> Traits {
        self.class.traits
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.class.traits.governs_recovery {
            self.call("acknowledged", |py| Ok((Py::new(py, Ack::from(ack))?,)));
        }
    }

    fn on_sent(&mut self, sent: &SendEvent) {
        self.call("sent", |py| Ok((Py::new(py, Sent::from(sent))?,)));
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_deadline(&mut self, now: Instant) {
        self.call("timer", |_| Ok((now.as_secs_f64(),)));
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        let traits = self.class.traits;
        (traits.governs_recovery || traits.paces).then_some(self)
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.call("lost", |py| Ok((Py::new(py, Congestion::from(event))?,)));
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.call("timeout", |py| Ok((Py::new(py, Congestion::from(event))?,)));
    }

    fn on_mark(&mut self, event: &CongestionEvent) {
        let before = self.cwnd;
        if !self.call_if_defined("marked", |py| Ok((Py::new(py, Congestion::from(event))?,))) {
            self.on_loss(event);
            self.on_recovery_exit(self.ssthresh.min(before));
        }
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        // Recovery names the threshold, and a class may have set none.
        let window = if window == Bytes::MAX { self.cwnd } else { window };
        if !self.call_if_defined("recovered", |_| Ok((window.0,))) {
            self.set(&[("window", window)]);
        }
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.set(&[("window", cwnd), ("ssthresh", ssthresh)]);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn variables(&self) -> Vec<(Arc<str>, f64)> {
        let names = &self.class.named_state;
        let Some(object) = self.object.as_ref().filter(|_| !names.is_empty()) else { return Vec::new() };
        Python::attach(|py| {
            let value = |name: &Arc<str>| Ok((Arc::clone(name), self.variable(object.bind(py), name)?));
            names.iter().map(value).collect::<PyResult<_>>().unwrap_or_else(|raised| {
                self.fail(py, "named_state", raised);
                Vec::new()
            })
        })
    }
}

impl PathModel for PythonControl {
    fn on_handshake(&mut self, _rtt: Duration) {}

    fn on_delivery(&mut self, sample: &DeliverySample, _lost: &[LostSegment]) {
        if self.class.traits.governs_recovery {
            self.call("acknowledged", |py| Ok((Py::new(py, Ack::from(sample))?,)));
        }
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    fn limits_itself(&self) -> bool {
        false
    }

    fn state(&self) -> &'static str {
        "python"
    }

    fn bandwidth(&self) -> Rate {
        self.pace.rate
    }
}

/// A threshold: infinity is none.
fn threshold(
    value: &Bound<'_, PyAny>,
    size: impl FnOnce(Bound<'_, PyAny>) -> PyResult<Bytes>,
) -> PyResult<Bytes> {
    match value.extract::<f64>() {
        Ok(infinite) if infinite == f64::INFINITY => Ok(Bytes::MAX),
        _ => size(value.clone()),
    }
}

/// A size for Python: infinity where there is no limit.
fn python_size(py: Python<'_>, size: Bytes) -> PyResult<Bound<'_, PyAny>> {
    if size == Bytes::MAX {
        return Ok(f64::INFINITY.into_pyobject(py)?.into_any());
    }
    Ok(size.0.into_pyobject(py)?.into_any())
}

/// What sets the windows from outside: a property of the class, perhaps.
const WINDOW: &str = "window";

/// The largest window that makes sense, in bytes: a terabit per second over eight seconds.
const LARGEST: f64 = 1e12;

/// The latest deadline, in seconds of the run: thirty years.
const LATEST: f64 = 1e9;

/// The rate of a sender that does not pace: no link of ours is as fast.
const UNPACED: Rate = Rate::from_bits_per_sec(1_000_000_000_000);
