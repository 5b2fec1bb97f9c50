//! The configuration of one direction of a link, as written in scenario files and presets.

mod errors;
mod impairments;
mod radio;
mod validate;

pub use crate::error_model::independent::ErrorUnit;
pub use crate::queue::{Overflow, Queue};
pub use errors::{CountedAt, Effect, Errors, ScriptedEvent};
pub use impairments::{Arq, Duplicates, HeldPackets, LimitAction, Outages, Reordering, ReorderingMode};
pub use radio::{Cell, Frames, Handovers, Resets, Suspensions};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Probability, QueueLimit};
use units::{Bytes, Duration, Rate};

use crate::capacity::Capacity;
use crate::compression::Compression;
use crate::distribution::{Distribution, Quantity, ReadFile};
use crate::error::ConfigError;
use crate::stuffing::Stuffing;

/// One direction of a link. A missing key means that the stage is absent: an empty table is a wire that delivers at
/// once, in order, without limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LinkDirection")]
pub struct Config {
    /// Base rate of transmission. Without one, transmission takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A rate that varies in time, instead of a fixed rate: a square wave, a schedule, a trace, a token bucket. A
    /// transmission continues across its changes. Its base rate, if it needs one, is `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The available rate over time; the base rate applies until the first change. A draw of zero is an
    /// outage: no transmission starts before the next change. A transmission keeps the rate with which it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_rate: Option<Distribution<Rate>>,
    /// Time from one change of the available rate to the next, at least a microsecond. Default: each packet's
    /// transmission draws its own rate, of at least 1 bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_change_interval: Option<Distribution<Duration>>,
    /// Time from the end of a packet's transmission to its arrival at the other end.
    #[serde(skip_serializing_if = "is_zero")]
    pub propagation: Distribution<Duration>,
    /// Overhead of the link for each packet: framing and link headers. It is part of the transmission time, of buffers
    /// and limits in bytes, and of errors per bit.
    #[serde(skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub framing: Bytes,
    /// Compression of headers, between the input queue and the other end of the link. A packet that it cannot read
    /// passes with its headers as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Octet stuffing of PPP, by the content of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuffing: Option<Stuffing>,
    /// The input queue: packets that wait for the send buffer.
    pub queue: Queue,
    /// The link's send buffer. Default: room for the packet in transmission only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<SendBuffer>,
    /// The link's receive buffer. Default: packets leave in order, and any number may wait for a delayed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Time to allocate the channel before a transmission. The channel is occupied in this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_delay: Option<Distribution<Duration>>,
    /// Transmissions that need the channel allocated.
    #[serde(skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub allocation: Allocation,
    /// Radio frames into which packets are cut, and their retransmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// Delay spikes: transmission stops for a while from time to time, as with the hiccup tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spikes: Option<Suspensions>,
    /// Traffic of a higher priority that takes the channel from time to time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Suspensions>,
    /// Handovers to another cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handovers: Option<Handovers>,
    /// Times at which the link layer restarts and loses its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets: Option<Resets>,
    /// The random error process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// Errors of chosen packets: "delay the 20th packet by 6 s".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ScriptedEvent>,
    /// Periods in which all arriving packets are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Outages>,
    /// Retransmission by the link layer: the cost of failed attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arq: Option<Arq>,
    /// Packets with an additional delay, which are overtaken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Packets that arrive twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Duplicates>,
    /// Maximum age of a packet on this link. An older packet is discarded wherever it waits: in the queue, the send
    /// buffer, for the channel, or in the receive buffer. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
    /// Drops packets at random as they leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropper: Option<Dropper>,
}

/// The link's send buffer. Whole packets only; a packet larger than the buffer passes when the buffer is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendBuffer {
    /// Maximum number of bytes, framing included. The packet in transmission counts.
    pub limit: Bytes,
    /// Time until a packet frees its place.
    #[serde(default)]
    pub held_until: HeldUntil,
}

/// Time until a packet frees its place in the send buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldUntil {
    /// Until its transmission ends.
    #[default]
    Transmission,
    /// Until it leaves the receive buffer, as on a link that acknowledges delivered packets. A lost packet frees its
    /// place when it is lost.
    Delivery,
}

/// The link's receive buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveBuffer {
    /// Maximum number of bytes, framing included. It never loses packets: a transmission starts only when there is room
    /// for its packet in addition to all that is on the way. A packet that is larger than the buffer passes alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
    /// The order in which packets leave.
    pub order: DeliveryOrder,
}

/// The order in which packets leave the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryOrder {
    /// In order of transmission: a packet in error delay holds all later packets, and a packet with a shorter
    /// propagation does not overtake.
    #[default]
    InOrder,
    /// As before, but for each flow separately: only packets of the same flow wait, as where each user has
    /// a bearer of his own.
    InOrderPerFlow,
    /// As they become ready.
    OutOfOrder,
}

/// Transmissions that need the channel allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// Every packet's.
    #[default]
    EachPacket,
    /// Packets that find the transmitter idle, not packets that directly follow another.
    AfterIdle,
}

/// Drops packets at random as they leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropper {
    /// Probability that a packet is dropped.
    pub probability: Probability,
}

impl Config {
    /// Reads the user files that the distributions name, by `read`, into the configuration.
    ///
    /// # Errors
    /// Errors of `read`, and lines that are not quantities, at the key that names the file.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let delay = self.errors.as_mut().and_then(|errors| errors.delay.as_mut());
        let round_trip = self.arq.as_mut().map(|arq| &mut arq.round_trip);
        let extra = self.reordering.as_mut().map(|reordering| &mut reordering.delay);
        load(Some(&mut self.propagation), "propagation", read)?;
        let capacity = self.capacity.as_mut().map_or(Ok(()), |capacity| capacity.load_files(read));
        capacity.map_err(|error| error.below("capacity"))?;
        load(self.available_rate.as_mut(), "available_rate", read)?;
        load(self.rate_change_interval.as_mut(), "rate_change_interval", read)?;
        load(self.allocation_delay.as_mut(), "allocation_delay", read)?;
        load(delay, "errors.delay", read)?;
        load(round_trip, "arq.round_trip", read)?;
        load(extra, "reordering.delay", read)?;
        self.load_radio_files(read)
    }

    fn load_radio_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        load(self.frames.as_mut().map(|frames| &mut frames.round_trip), "frames.round_trip", read)?;
        load(self.resets.as_mut().map(|resets| &mut resets.interval), "resets.interval", read)?;
        for (key, suspensions) in [("spikes", &mut self.spikes), ("preemption", &mut self.preemption)] {
            let Some(suspensions) = suspensions else { continue };
            load(Some(&mut suspensions.interval), &format!("{key}.interval"), read)?;
            load(Some(&mut suspensions.length), &format!("{key}.length"), read)?;
        }
        let Some(handovers) = &mut self.handovers else { return Ok(()) };
        load(Some(&mut handovers.interval), "handovers.interval", read)?;
        load(Some(&mut handovers.suspension), "handovers.suspension", read)?;
        for (number, cell) in handovers.cells.iter_mut().enumerate() {
            load(cell.propagation.as_mut(), &format!("handovers.cells[{number}].propagation"), read)?;
        }
        Ok(())
    }

    /// One number for the rate: the base rate, otherwise the mean capacity.
    #[must_use]
    pub fn nominal_rate(&self) -> Option<Rate> {
        self.capacity.as_ref().map_or(self.rate, |capacity| capacity.nominal(self.rate))
    }

    /// The bytes that it transmits in a time, framing included: at its rate, or at the mean of a rate that varies. None
    /// where no rate is known, or no mean.
    #[must_use]
    pub fn transmits_in(&self, time: Duration) -> Option<Bytes> {
        let rate = match &self.available_rate {
            Some(varying) => Rate::from_bits_per_sec(varying.mean()?.round() as u64),
            None => self.nominal_rate()?,
        };
        let bits = u128::from(rate.bits_per_sec()) * u128::from(time.as_nanos()) / NANOS_PER_SEC;
        Some(Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX)))
    }

    /// Writes the queue's limits in time as the bytes that they mean.
    pub fn settle_queue_limits(&mut self) {
        self.queue = self.queue_in_bytes();
    }

    /// The queue, with the bytes that its limits in time mean.
    pub(crate) fn queue_in_bytes(&self) -> Queue {
        let mut queue = self.queue.clone();
        for (_, limit) in queue.limits() {
            if let QueueLimit::Time(time) = limit {
                *limit = QueueLimit::Bytes(self.transmits_in(*time).unwrap_or(Bytes::MAX));
            }
        }
        queue
    }

    /// The order in which packets leave.
    #[must_use]
    pub fn order(&self) -> DeliveryOrder {
        self.receive_buffer.unwrap_or_default().order
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: None,
            capacity: None,
            available_rate: None,
            rate_change_interval: None,
            propagation: Distribution::constant(Duration::ZERO),
            framing: Bytes::ZERO,
            compression: None,
            stuffing: None,
            queue: Queue::default(),
            send_buffer: None,
            receive_buffer: None,
            allocation_delay: None,
            allocation: Allocation::default(),
            frames: None,
            spikes: None,
            preemption: None,
            handovers: None,
            resets: None,
            errors: None,
            events: Vec::new(),
            outages: None,
            arq: None,
            reordering: None,
            duplicates: None,
            lifetime: None,
            dropper: None,
        }
    }
}

fn load<Q: Quantity>(
    distribution: Option<&mut Distribution<Q>>,
    key: &str,
    read: &mut ReadFile,
) -> Result<(), ConfigError> {
    distribution
        .map_or(Ok(()), |distribution| distribution.load_files(read))
        .map_err(|error| error.below(key))
}

/// Nanoseconds of a second.
const NANOS_PER_SEC: u128 = 1_000_000_000;

fn is_zero(propagation: &Distribution<Duration>) -> bool {
    propagation.only_value() == Some(Duration::ZERO)
}

#[cfg(test)]
mod tests;
