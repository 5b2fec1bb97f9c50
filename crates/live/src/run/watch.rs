//! A run that is watched: its state ten times a second, and changes of its links by `lasthop set`.

use std::net::SocketAddrV4;
use std::sync::Arc;

use linux::channel::{ReportReceiver, report_channel};
use serde::Serialize;
use sim::Spec;
use units::{Duration, Instant, Side};

use crate::LiveError;
use crate::drive::driver::Driver;
use crate::drive::link_state::LinkState;
use crate::gateway::control_socket::{Change, ControlSocket, Reload};
use crate::run::samples::{Sample, Samples};
use crate::run::setup::Setup;

/// The settings of a run that is watched.
pub struct Watch<'a> {
    /// The name by which `lasthop set` finds the run.
    pub name: String,
    /// Reads the scenario again, with other overrides.
    pub reload: Reload,
    /// Receives the state ten times a second. It is called in the driver's thread, which handles no packet meanwhile.
    pub show: &'a mut dyn FnMut(&RunState),
}

/// The state of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunState {
    /// Seconds since it began.
    pub elapsed_s: f64,
    /// Each direction of each link.
    pub links: Vec<LinkState>,
    /// The connections of flows that a kernel sends. A stack in a process of lasthop's is not sampled.
    pub connections: Vec<Connection>,
    /// The 99th percentile of the lateness of deliveries so far, in milliseconds.
    pub late_p99_ms: f64,
    /// The largest lateness so far, in milliseconds.
    pub late_max_ms: f64,
    /// The changes of links so far.
    pub changes: Vec<LinkChange>,
}

/// A connection of a flow, as its sending kernel sees it. Amounts are in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// The name of the flow.
    pub flow: String,
    /// The sender's port.
    pub port: u16,
    /// The state of congestion control: "open", "recovery", …
    pub state: &'static str,
    /// The congestion window.
    pub cwnd: u64,
    /// The slow start threshold; null while it is unset.
    pub ssthresh: Option<u64>,
    /// Data sent and neither acknowledged nor lost.
    pub flight: u64,
    /// The smoothed round-trip time, in milliseconds.
    pub srtt_ms: f64,
    /// The latest estimate of the delivery rate, in bytes per second.
    #[serde(rename = "delivery_rate_Bps")]
    pub delivery_rate_bps: u64,
    /// Bytes acknowledged.
    pub acked: u64,
    /// Retransmissions since the connection began.
    pub retransmissions: u32,
}

/// A change of links during a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkChange {
    /// Time of the run, in seconds.
    pub at_s: f64,
    /// The overrides, "links.lasthop.down.rate=1 Mbit/s".
    pub set: Vec<String>,
}

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

    /// Returns the flow of a connection: either end may be the one that listens.
    fn flow(&self, ends: [SocketAddrV4; 2]) -> Option<&str> {
        let listens = |port: u16| ends.iter().any(|end| end.port() == port);
        self.flows.iter().find(|(_, port)| listens(*port)).map(|(name, _)| name.as_str())
    }
}

impl Connection {
    fn new(flow: &str, sample: &Sample) -> Self {
        let info = sample.info;
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
        Self {
            flow: flow.to_owned(),
            port: sample.ends[0].port(),
            state: info.congestion_state.id(),
            cwnd: bytes(info.cwnd),
            ssthresh: info.ssthresh.map(bytes),
            flight: bytes(info.in_flight()),
            srtt_ms: f64::from(info.srtt_us) / 1e3,
            delivery_rate_bps: info.delivery_rate,
            acked: info.bytes_acked,
            retransmissions: info.retransmissions,
        }
    }
}

/// Interval at which the state is shown: as often as a person sees a change.
const SHOW_EVERY: Duration = Duration::from_millis(100);
