//! Checks of a configuration beyond its shape and its units.

use units::text::{Probability, QueueLimit};
use units::{Bytes, Duration, Rate};

use super::{
    Allocation, Arq, Cell, Config, Effect, ErrorUnit, Errors, Frames, Handovers, Outages, Overflow, Queue,
    Reordering, ScriptedEvent, Suspensions,
};
use crate::compression::Compression;
use crate::distribution::{Distribution, Quantity};
use crate::error::ConfigError;
use crate::error_model::ErrorModel;
use crate::packet::LARGEST_PACKET;

type Check = Result<(), ConfigError>;

impl Config {
    /// Whether a link can be made of it.
    ///
    /// # Errors
    /// The first setting that is impossible or without effect. Sizes of packets are not known here:
    /// a buffer that is smaller than a packet passes, and takes such packets one at a time.
    pub fn validate(&self) -> Check {
        self.check_rates()?;
        self.propagation.check().map_err(|error| error.below("propagation"))?;
        self.queue.check().map_err(|error| error.below("queue"))?;
        self.check_limits_in_time()?;
        at_most_a_packet(self.framing, "framing")?;
        self.check_wire()?;
        self.check_buffers()?;
        self.check_allocation()?;
        self.check_errors()?;
        self.check_impairments()?;
        self.check_radio()?;
        self.check_events()
    }

    fn check_rates(&self) -> Check {
        if self.rate == Some(Rate::ZERO) {
            return refuse("rate", "a rate of zero transmits nothing", "write a rate like \"9600 bit/s\"");
        }
        if self.rate_change_interval.is_some() && self.available_rate.is_none() {
            let help = "add available_rate, or leave the interval out";
            return refuse("rate_change_interval", "there is no available_rate to change", help);
        }
        if self.capacity.is_some() && self.available_rate.is_some() {
            return refuse("available_rate", "the capacity says the rate", "keep one of the two");
        }
        let capacity = self.capacity.as_ref().map_or(Ok(()), |capacity| capacity.check(self.rate));
        capacity.map_err(|error| error.below("capacity"))?;
        if self.available_rate.is_some() && self.rate.is_none() {
            let help = "add rate, which holds until the first change";
            return refuse("available_rate", "there is no base rate", help);
        }
        some_time(self.available_rate.as_ref(), "available_rate", "it is never more than zero")?;
        some_time(
            self.rate_change_interval.as_ref(),
            "rate_change_interval",
            "the rate would change all the time",
        )
    }

    /// A limit in time is that of a rate, and lets some bytes wait.
    fn check_limits_in_time(&self) -> Check {
        for (path, limit) in self.queue.clone().limits() {
            if let QueueLimit::Time(time) = limit {
                self.check_limit_in_time(*time).map_err(|error| error.below(&format!("queue.{path}")))?;
            }
        }
        Ok(())
    }

    fn check_limit_in_time(&self, time: Duration) -> Check {
        let help = "write packets or bytes, like \"20 packets\" or \"64 kB\"";
        match self.transmits_in(time) {
            None if self.available_rate.is_some() => {
                refuse("", "a limit in time needs a mean rate, and available_rate has none", help)
            }
            None => {
                let help = "give the link a rate, or write packets or bytes, like \"20 packets\"";
                refuse("", "a limit in time needs a rate, and the link has none", help)
            }
            Some(Bytes::ZERO) => refuse("", "the link transmits no byte in this time", help),
            Some(_) => Ok(()),
        }
    }

    fn check_wire(&self) -> Check {
        let compression = self.compression.as_ref().map_or(Ok(()), Compression::check);
        compression.map_err(|error| error.below("compression"))?;
        if self.stuffing.is_some() && self.framing.is_zero() {
            let help =
                "add framing = \"8 bytes\" (RFC 1662 §3.1: flag, address, control, protocol, check sequence)";
            return refuse("stuffing", "octets are stuffed in frames of PPP, and framing is 0", help);
        }
        Ok(())
    }

    fn check_buffers(&self) -> Check {
        let help = "write a size like \"1220 bytes\", or leave the limit out";
        if self.send_buffer.is_some_and(|buffer| buffer.limit.is_zero()) {
            return refuse("send_buffer.limit", "a send buffer of zero bytes holds no packet", help);
        }
        if self.receive_buffer.is_some_and(|buffer| buffer.limit == Some(Bytes::ZERO)) {
            return refuse("receive_buffer.limit", "a receive buffer of zero bytes holds no packet", help);
        }
        Ok(())
    }

    fn check_allocation(&self) -> Check {
        if self.allocation_delay.is_none() && self.allocation != Allocation::default() {
            let help = "add allocation_delay, or leave allocation out";
            return refuse("allocation", "there is no allocation_delay", help);
        }
        checked(self.allocation_delay.as_ref(), "allocation_delay")
    }

    fn check_errors(&self) -> Check {
        let Some(errors) = &self.errors else { return Ok(()) };
        errors.check_model().map_err(|error| error.below("errors"))?;
        fits(errors.effect, errors.delay.is_some()).map_err(|error| error.below("errors"))?;
        checked(errors.delay.as_ref(), "delay").map_err(|error| error.below("errors"))
    }

    fn check_impairments(&self) -> Check {
        self.outages.map_or(Ok(()), Outages::check).map_err(|error| error.below("outages"))?;
        self.arq.as_ref().map_or(Ok(()), Arq::check).map_err(|error| error.below("arq"))?;
        let reordering = self.reordering.as_ref().map_or(Ok(()), Reordering::check);
        reordering.map_err(|error| error.below("reordering"))?;
        if self.lifetime == Some(Duration::ZERO) {
            let help = "write a time like \"10 s\", or leave it out";
            return refuse("lifetime", "packets that may not wait at all", help);
        }
        Ok(())
    }

    fn check_radio(&self) -> Check {
        self.frames.as_ref().map_or(Ok(()), Frames::check).map_err(|error| error.below("frames"))?;
        if self.frames.is_some() && self.arq.is_some() {
            return refuse("arq", "frames have their own repetition", "keep one of frames and arq");
        }
        for (key, suspensions) in [("spikes", &self.spikes), ("preemption", &self.preemption)] {
            suspensions.as_ref().map_or(Ok(()), Suspensions::check).map_err(|error| error.below(key))?;
        }
        if let Some(resets) = &self.resets {
            some_time(Some(&resets.interval), "interval", ALL_THE_TIME)
                .map_err(|error| error.below("resets"))?;
        }
        let Some(handovers) = &self.handovers else { return Ok(()) };
        let varies = self.available_rate.is_some() || self.capacity.is_some();
        handovers.check(self.rate.is_some() && !varies).map_err(|error| error.below("handovers"))
    }

    fn check_events(&self) -> Check {
        for (index, event) in self.events.iter().enumerate() {
            self.check_event(index, event).map_err(|error| error.below(&format!("events[{index}]")))?;
        }
        Ok(())
    }

    fn check_event(&self, index: usize, event: &ScriptedEvent) -> Check {
        if event.packet == 0 {
            return refuse("packet", "packets are counted from 1", "write 1 for the first packet");
        }
        let same =
            |other: &ScriptedEvent| other.packet == event.packet && other.counted_at == event.counted_at;
        if self.events[..index].iter().any(same) {
            let message = format!("packet {} has an event already", event.packet);
            return Err(ConfigError::new("packet", message, "write one event for each packet"));
        }
        fits(event.effect, event.delay.is_some())
    }
}

impl Errors {
    fn check_model(&self) -> Check {
        one_model(self.probability.is_some(), self.model.is_some())?;
        let bare = self.burst.is_none() && self.per == ErrorUnit::default();
        if self.model.is_some() && !bare {
            let key = if self.burst.is_some() { "burst" } else { "per" };
            return refuse(
                key,
                "the model says which packets are hit",
                "write it inside the model, if the model has this key",
            );
        }
        check_model(&self.model(), self.model.is_some())
    }
}

impl Outages {
    fn check(self) -> Check {
        if self.length.is_zero() {
            return refuse("length", "an outage of no length loses nothing", "write a time like \"1 s\"");
        }
        if self.length >= self.every {
            let message = "the outages leave no time between them";
            return refuse("length", message, "write a length below every");
        }
        Ok(())
    }
}

impl Arq {
    fn check(&self) -> Check {
        one_model(self.probability.is_some(), self.model.is_some())?;
        check_model(&self.model(), self.model.is_some())?;
        self.round_trip.check().map_err(|error| error.below("round_trip"))?;
        if self.retransmissions.is_some() && self.limit.is_some() {
            let message = "with a fixed number of retransmissions nothing reaches a limit";
            return refuse("limit", message, "keep one of retransmissions and limit");
        }
        if self.resets() && self.limit.is_none() {
            return refuse("at_limit", "there is no limit", "add limit, or leave at_limit out");
        }
        if self.retransmissions == Some(0) {
            let message = "a packet whose first attempt failed needs a retransmission";
            return refuse("retransmissions", message, "write 1 or more");
        }
        let never_succeeds = self.probability == Some(Probability::ONE) && self.model.is_none();
        if never_succeeds && self.retransmissions.is_none() && self.limit.is_none() {
            let message = "every attempt would fail, for ever";
            return refuse("probability", message, "write less than 1, or add a limit");
        }
        Ok(())
    }
}

impl Frames {
    fn check(&self) -> Check {
        let help = "write a size like \"30 bytes\"";
        for (key, size) in [("size", self.size), ("payload", self.payload)] {
            if size.is_zero() {
                return refuse(key, "a frame of 0 bytes carries nothing", help);
            }
        }
        at_most_a_packet(self.size, "size")?;
        if self.payload > self.size {
            return refuse("payload", "a frame cannot carry more than its size", "write no more than size");
        }
        one_model(self.probability.is_some(), self.model.is_some())?;
        check_model(&self.model(), self.model.is_some())?;
        if self.probability == Some(Probability::ONE) && self.limit.is_none() {
            let message = "every attempt would fail, for ever";
            return refuse("probability", message, "write less than 1, or add a limit");
        }
        self.round_trip.check().map_err(|error| error.below("round_trip"))
    }
}

impl Suspensions {
    fn check(&self) -> Check {
        some_time(Some(&self.interval), "interval", ALL_THE_TIME)?;
        some_time(Some(&self.length), "length", "it would never last")
    }
}

impl Handovers {
    fn check(&self, has_fixed_rate: bool) -> Check {
        some_time(Some(&self.interval), "interval", ALL_THE_TIME)?;
        checked(Some(&self.suspension), "suspension")?;
        for (number, cell) in self.cells.iter().enumerate() {
            cell.check(has_fixed_rate).map_err(|error| error.below(&format!("cells[{number}]")))?;
        }
        Ok(())
    }
}

impl Cell {
    fn check(&self, has_fixed_rate: bool) -> Check {
        if self.rate == Some(Rate::ZERO) {
            return refuse("rate", "a rate of zero transmits nothing", "write a rate like \"9600 bit/s\"");
        }
        if self.rate.is_some() && !has_fixed_rate {
            let message = "the link has no fixed rate that could change";
            return refuse("rate", message, "give the link rate alone, or leave this out");
        }
        checked(self.propagation.as_ref(), "propagation")
    }
}

impl Reordering {
    fn check(&self) -> Check {
        if self.gap == Some(0) {
            return refuse("gap", "packets are counted from 1", "write 1 or more, or leave it out");
        }
        some_time(Some(&self.delay), "delay", "a delay of zero reorders nothing")
    }
}

impl Queue {
    fn check(&self) -> Check {
        let help = "write a limit like \"20 packets\", or leave it out for a queue without limit";
        if self.limit.is_some_and(QueueLimit::is_zero) {
            return refuse("limit", "a queue of 0 lets nothing wait", help);
        }
        if self.limit_bytes == Some(Bytes::ZERO) {
            return refuse("limit_bytes", "a queue of 0 lets nothing wait", help);
        }
        if matches!(
            (self.limit, self.limit_bytes),
            (Some(QueueLimit::Bytes(_) | QueueLimit::Time(_)), Some(_))
        ) {
            let help = "write limit in packets, or leave limit_bytes out";
            return refuse("limit_bytes", "limit is in bytes already", help);
        }
        if self.overflow != Overflow::Drop && self.limit.is_none() && self.limit_bytes.is_none() {
            return refuse(
                "overflow",
                "a queue without limit never overflows",
                "add limit, or leave overflow out",
            );
        }
        let is_limited = self.limit.is_some() || self.limit_bytes.is_some();
        if is_limited && self.discipline.is_unlimited() {
            let key = if self.limit.is_some() { "limit" } else { "limit_bytes" };
            return refuse(key, "an infinite queue has none", "leave it out, or write \"tail-drop\"");
        }
        self.discipline.check().map_err(|error| error.below("discipline"))
    }
}

/// Either a probability or a model decides which packets are hit.
fn one_model(has_probability: bool, has_model: bool) -> Check {
    match (has_probability, has_model) {
        (false, false) => {
            refuse("probability", "how often errors happen is missing", "add probability = 0.01, or a model")
        }
        (true, true) => refuse("probability", "the model has its own", "keep one of probability and model"),
        _ => Ok(()),
    }
}

/// The path leads to the model if it was written as one, otherwise to the keys that replace it.
fn check_model(model: &ErrorModel, is_written: bool) -> Check {
    if is_written {
        return model.check().map_err(|error| error.below("model"));
    }
    model.check().map_err(|error| ConfigError { path: error.path.replace("independent.", ""), ..error })
}

/// Whether a delay is given where the effect is a delay, and nowhere else.
fn fits(effect: Effect, has_delay: bool) -> Check {
    match (effect, has_delay) {
        (Effect::Delay, false) => {
            refuse("delay", "an error that delays needs a delay", "add delay = \"6 s\"")
        }
        (Effect::Drop | Effect::Corrupt, true) => {
            let help = "leave delay out, or write effect = \"delay\"";
            refuse("delay", "only the effect \"delay\" takes a delay", help)
        }
        _ => Ok(()),
    }
}

fn checked<Q: Quantity>(distribution: Option<&Distribution<Q>>, key: &str) -> Check {
    distribution.map_or(Ok(()), Distribution::check).map_err(|error| error.below(key))
}

/// Checked, and not always zero.
fn some_time<Q: Quantity>(distribution: Option<&Distribution<Q>>, key: &str, message: &str) -> Check {
    checked(distribution, key)?;
    if distribution.is_some_and(|distribution| !distribution.can_be_positive()) {
        return refuse(key, message, "write a value above zero");
    }
    Ok(())
}

fn at_most_a_packet(size: Bytes, key: &str) -> Check {
    if size > LARGEST_PACKET {
        return refuse(key, "it is longer than any packet", "write 65535 bytes at most");
    }
    Ok(())
}

const ALL_THE_TIME: &str = "it would happen all the time";

fn refuse(path: &str, message: &str, help: &str) -> Check {
    Err(ConfigError::new(path, message, help))
}
