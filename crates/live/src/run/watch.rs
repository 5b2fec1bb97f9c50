//! A run that is watched: its state ten times a second, and changes of its links by `lasthop set`.

use std::net::SocketAddrV4;
use std::sync::Arc;

use linux::channel::{ReportReceiver, report_channel};
use sim::Spec;
use units::{Duration, Instant, Side};

use crate::LiveError;
use crate::drive::driver::Driver;
use crate::gateway::control_socket::{Change, ControlSocket};
use crate::run::samples::{Sample, Samples};
use crate::run::setup::Setup;
use crate::run::state::{Connection, LinkChange, RunState, Watch};

/// The flows of a kernel's host, and what it samples.
struct Sampled {
    samples: Arc<Samples>,
    /// The name and the port at which the receiver listens.
    flows: Vec<(String, u16)>,
}

/// A run that will be watched.
pub(crate) struct Planned<'a> {
    watch: Watch<'a>,
    spec: Spec,
    sampled: Vec<Sampled>,
}

/// Shows the state of a run and carries out changes of its links.
pub(crate) struct Watcher<'a> {
    show: &'a mut dyn FnMut(&RunState),
    changed: ReportReceiver<Change>,
    sampled: Vec<Sampled>,
    next: Instant,
    changes: Vec<LinkChange>,
    /// Closed with the watcher.
    _control: ControlSocket,
}

impl<'a> Planned<'a> {
    pub(crate) fn new(watch: Watch<'a>, setup: &Setup<'_>, samples: &[(String, Arc<Samples>)]) -> Self {
        let sampled = samples.iter().map(|(host, samples)| Sampled::new(setup, host, samples)).collect();
        Self { watch, spec: setup.spec.clone(), sampled }
    }

    /// Opens the socket of the run. It has a thread, so the process must have its namespaces.
    pub(crate) fn open(self) -> Result<Watcher<'a>, LiveError> {
        let (changes, changed) = report_channel().map_err(LiveError::Wait)?;
        let Self { watch: Watch { name, reload, show }, spec, sampled } = self;
        let control = ControlSocket::open(&name, spec, reload, changes)?;
        let (next, changes) = (Instant::START, Vec::new());
        Ok(Watcher { show, changed, sampled, next, changes, _control: control })
    }
}

impl Watcher<'_> {
    /// Carries out the changes that were asked for, and shows the state if it is time to. Returns when that is next.
    pub(crate) fn look(&mut self, driver: &mut Driver<'_>, now: Instant) -> Instant {
        while let Some(change) = self.changed.try_recv() {
            self.apply(driver, now, change);
        }
        if now >= self.next {
            self.next = now + SHOW_EVERY;
            let state = self.state(driver, now);
            (self.show)(&state);
        }
        self.next
    }

    /// Returns the changes of the links.
    pub(crate) fn into_changes(self) -> Vec<LinkChange> {
        self.changes
    }

    fn apply(&mut self, driver: &mut Driver<'_>, now: Instant, change: Change) {
        let applied = driver.network.exchange_links(now, &change.spec).map_err(|error| error.to_string());
        if applied.is_ok() {
            self.changes.push(LinkChange { at_s: now.as_secs_f64(), set: change.overrides });
        }
        // The client may have closed its connection.
        let _ = change.answer.send(applied);
    }

    fn state(&self, driver: &Driver<'_>, now: Instant) -> RunState {
        let (late_p99_ms, late_max_ms) = driver.lateness.so_far();
        RunState {
            elapsed_s: now.as_secs_f64(),
            links: driver.network.link_states(),
            connections: self.sampled.iter().flat_map(Sampled::connections).collect(),
            late_p99_ms,
            late_max_ms,
            changes: self.changes.clone(),
        }
    }
}

impl Sampled {
    fn new(setup: &Setup<'_>, host: &str, samples: &Arc<Samples>) -> Self {
        let sends = |flow: &sim::FlowSpec| setup.spec.node(flow.from).name == host;
        let of_host = setup.flows().filter(|(_, flow)| sends(flow));
        let flows = of_host.map(|(id, flow)| (flow.name.clone(), setup.ends(id)[Side::To].port())).collect();
        Self { samples: Arc::clone(samples), flows }
    }

    /// Returns the present connections of the flows, none while the host's thread adds samples.
    fn connections(&self) -> Vec<Connection> {
        let named = |sample: &Sample| Some(Connection::new(self.flow(sample.ends)?, sample));
        self.samples.latest().iter().filter_map(named).collect()
    }

    /// Returns the flow of a connection: either end may listen.
    fn flow(&self, ends: [SocketAddrV4; 2]) -> Option<&str> {
        let listens = |port: u16| ends.iter().any(|end| end.port() == port);
        self.flows.iter().find(|(_, port)| listens(*port)).map(|(name, _)| name.as_str())
    }
}

/// Interval at which the state is shown: as often as a person sees a change.
const SHOW_EVERY: Duration = Duration::from_millis(100);
