//! The events of a connection, as a congestion control in Python sees them. Sizes are bytes, times seconds.

use pyo3::prelude::*;
use tcp::congestion::{AckSample, CongestionEvent, DeliverySample, SendEvent};
use units::Duration;

/// An acknowledgment of new data.
#[pyclass(frozen, get_all, module = "lasthop._native")]
#[derive(Debug)]
pub(crate) struct Ack {
    /// When it came, in seconds of the run.
    now: f64,
    /// Bytes that it newly acknowledges.
    acked: u64,
    /// Segments that it acknowledges to their end.
    segments: u32,
    /// FlightSize before it, in bytes.
    flight: u64,
    /// The round-trip time that it measured, in seconds, if it measured one.
    rtt: Option<f64>,
    /// Bytes of it that the peer reports as marked.
    marked: u64,
    /// The rate sample; none unless the class governs recovery.
    rate: Option<f64>,
    /// Bytes delivered since the newest segment that it delivers was sent; with `rate`.
    delivered: Option<u64>,
    /// Bytes newly marked as lost; with `rate`.
    lost: u64,
    /// Bytes in the network after it; with `rate`.
    in_flight: Option<u64>,
    /// Whether the application, and not the window, limited the rate.
    application_limited: bool,
}

/// A loss, a mark or a timeout, and the state of the sender before any reduction.
#[pyclass(frozen, get_all, module = "lasthop._native")]
#[derive(Debug)]
pub(crate) struct Congestion {
    /// When it was found, in seconds of the run.
    now: f64,
    /// The congestion window in use, in bytes.
    window: u64,
    /// FlightSize (RFC 5681 §2), in bytes.
    flight: u64,
    /// The estimate of the bytes in the network (RFC 6675 §2).
    pipe: u64,
    /// Whether the same segment's timer has expired before.
    repeated: bool,
}

/// A segment with data that is sent.
#[pyclass(frozen, get_all, module = "lasthop._native")]
#[derive(Debug)]
pub(crate) struct Sent {
    /// When it is sent, in seconds of the run.
    now: f64,
    /// Its data, in bytes.
    size: u64,
    /// FlightSize with it, in bytes.
    flight: u64,
    /// Whether it is a retransmission.
    retransmission: bool,
    /// Whether the application has nothing more to send now.
    application_limited: bool,
}

impl From<&AckSample> for Ack {
    fn from(ack: &AckSample) -> Self {
        Self {
            now: ack.now.as_secs_f64(),
            acked: ack.acked.0,
            segments: ack.segments,
            flight: ack.flight.0,
            rtt: ack.rtt.map(Duration::as_secs_f64),
            marked: ack.marked.0,
            rate: None,
            delivered: None,
            lost: 0,
            in_flight: None,
            application_limited: false,
        }
    }
}

impl From<&DeliverySample> for Ack {
    fn from(sample: &DeliverySample) -> Self {
        let rate = sample.rate;
        Self {
            now: sample.now.as_secs_f64(),
            acked: sample.newly_delivered.0,
            segments: 0,
            flight: sample.prior_in_flight.0,
            rtt: sample.rtt.map(Duration::as_secs_f64),
            marked: sample.marked.0,
            rate: rate.and_then(|rate| rate.bytes_per_sec()),
            delivered: rate.map(|rate| rate.delivered.0),
            lost: sample.newly_lost.0,
            in_flight: Some(sample.in_flight.0),
            application_limited: rate.map_or(sample.application_limited, |rate| rate.application_limited),
        }
    }
}

impl From<&CongestionEvent> for Congestion {
    fn from(event: &CongestionEvent) -> Self {
        Self {
            now: event.now.as_secs_f64(),
            window: event.cwnd.0,
            flight: event.flight.0,
            pipe: event.pipe.0,
            repeated: event.repeats_timeout(),
        }
    }
}

impl From<&SendEvent> for Sent {
    fn from(sent: &SendEvent) -> Self {
        Self {
            now: sent.now.as_secs_f64(),
            size: sent.len.0,
            flight: sent.flight.0,
            retransmission: sent.retransmission,
            application_limited: sent.application_limited,
        }
    }
}
