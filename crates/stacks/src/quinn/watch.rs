//! Decisions of quinn, as far as they are visible: in its congestion controller, which is asked through a trait, and
//! its log, the only place where a probe timeout shows.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex, OnceLock};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use tcp::{Decision, Record};
use tracing::field::Field;
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber, span};
use units::{Bytes, Duration, Instant, Seq};
use workload::ObservedRecord;

use super::clock;

/// Inputs and answers of a controller.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Whether rows are kept.
    keeps: bool,
    records: Vec<ObservedRecord>,
    /// Bytes of packets that were acknowledged, headers included.
    acked: u64,
    in_flight: u64,
    srtt: Option<Duration>,
    cwnd: u64,
    ssthresh: Option<u64>,
    pub(super) congestion_events: u64,
}

/// A log that the controller and the stack share.
pub(super) type SharedLog = Arc<Mutex<Log>>;

impl Log {
    pub(super) fn shared(keeps: bool) -> SharedLog {
        Arc::new(Mutex::new(Self { keeps, ..Self::default() }))
    }

    pub(super) fn take(&mut self) -> Vec<ObservedRecord> {
        std::mem::take(&mut self.records)
    }

    /// Writes a row. Its place is the number of bytes that were acknowledged, for a QUIC stream's bytes have no numbers
    /// that packets show.
    pub(super) fn note(&mut self, at: Instant, event: Decision, reason: &'static str, len: u64) {
        if !self.keeps {
            return;
        }
        let slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        let record = Record {
            at,
            event,
            reason,
            seq: Seq(self.acked as u32),
            len: len.min(u64::from(u32::MAX)) as u32,
            cwnd: Bytes(self.cwnd),
            ssthresh: self.ssthresh.map_or(Bytes::MAX, Bytes),
            flight: Bytes(self.in_flight),
            advertised: Bytes::ZERO,
            srtt: self.srtt,
            rttvar: None,
            rto: Duration::ZERO,
            phase: if slow_start { "slow_start" } else { "congestion_avoidance" },
            pipe: Bytes(self.in_flight),
            model: None,
        };
        self.records.push(ObservedRecord { place: self.acked as i64, record });
    }
}

/// Makes the controllers that quinn would have, each with a log.
pub(super) struct Watched {
    pub(super) inner: Arc<dyn ControllerFactory + Send + Sync>,
    pub(super) log: SharedLog,
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: std::time::Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        let mut watching = Watching { inner, log: Arc::clone(&self.log) };
        // Another path has none of the packets of the one before it.
        watching.with_log(|log| log.in_flight = 0);
        Box::new(watching)
    }
}

/// A controller with a log.
struct Watching {
    inner: Box<dyn Controller>,
    log: SharedLog,
}

impl Watching {
    /// Brings the window of the log up to date and then writes to it.
    fn with_log(&mut self, write: impl FnOnce(&mut Log)) {
        let metrics = self.inner.metrics();
        let mut log = self.log.lock().expect("no holder panics");
        log.cwnd = self.inner.window();
        // At first it is a number that no window reaches.
        log.ssthresh = metrics.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX);
        write(&mut log);
    }
}

impl Controller for Watching {
    fn on_sent(&mut self, now: std::time::Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        self.with_log(|log| log.in_flight += bytes);
    }

    fn on_ack(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        let srtt = Duration::from_nanos(rtt.get().as_nanos() as u64);
        self.with_log(|log| {
            log.acked += bytes;
            log.srtt = Some(srtt);
        });
    }

    fn on_end_acks(
        &mut self,
        now: std::time::Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        self.with_log(|log| {
            log.in_flight = in_flight;
            log.note(clock::from_quinn(now), Decision::Ack, "", 0);
        });
    }

    fn on_congestion_event(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        is_persistent: bool,
        lost_bytes: u64,
    ) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        // quinn reports every batch; a window is answered for once (RFC 9002 §7.3.2).
        let is_answered = self.inner.window() < before;
        let (event, reason) = match (is_persistent, lost_bytes) {
            (true, _) => (Decision::Collapse, "persistent congestion"),
            (false, 0) => (Decision::Mark, "congestion marks"),
            (false, _) if is_answered => (Decision::FastRetransmit, "packets declared lost"),
            (false, _) => (Decision::Retransmit, "more packets declared lost in the same recovery period"),
        };
        self.with_log(|log| {
            log.congestion_events += u64::from(is_answered);
            log.in_flight = log.in_flight.saturating_sub(lost_bytes);
            log.note(clock::from_quinn(now), event, reason, lost_bytes);
        });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.with_log(|_| {});
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), log: Arc::clone(&self.log) })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

/// Runs `act` and returns how many probe timeouts quinn logged meanwhile.
pub(super) fn probe_timeouts(act: impl FnOnce()) -> u64 {
    static LISTENER: OnceLock<Dispatch> = OnceLock::new();
    let listener = LISTENER.get_or_init(|| Dispatch::new(ProbeListener));
    let before = PROBES.get();
    tracing::dispatcher::with_default(listener, act);
    PROBES.get() - before
}

thread_local! {
    /// Probe timeouts that this thread's connections have logged.
    static PROBES: Cell<u64> = const { Cell::new(0) };
}

/// Hears of probe timeouts and of nothing else.
struct ProbeListener;

/// The fields of the log line "PTO fired", which no other line has.
const PROBE_FIELDS: [&str; 3] = ["in_flight", "count", "space"];

fn is_probe(metadata: &Metadata<'_>) -> bool {
    let fields = metadata.fields();
    metadata.is_event()
        && metadata.target().starts_with("quinn_proto")
        && PROBE_FIELDS
            .iter()
            .all(|name| fields.field(name).is_some_and(|field: Field| field.name() == *name))
}

impl Subscriber for ProbeListener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_probe(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_probe(metadata)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        if is_probe(event.metadata()) {
            PROBES.set(PROBES.get() + 1);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
