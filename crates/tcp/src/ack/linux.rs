//! The acknowledgments of today's Linux (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`): at once
//! while a transfer is young and for each second full segment, else delayed by 40 to 200 ms; and while a gap lasts, a
//! few duplicate ACKs at once and the others compressed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::{Segments, write_duration};
use units::{Bytes, Duration, Instant};

use super::{AckPolicy, Data, Traits, When};
use crate::reassembly::Arrival;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are the kernel's constants and sysctls.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The shortest wait: 40 ms (`TCP_ATO_MIN`).
    pub min: Duration,
    /// The longest wait: 200 ms (`TCP_DELACK_MAX`). None is longer than a round trip, unless that is below the
    /// shortest.
    pub max: Duration,
    /// Number of ACKs that are sent at once at the start, after an idle time and after a segment that came twice: 16
    /// (`TCP_MAX_QUICKACKS`).
    pub quick: Segments,
    /// An idle time as long begins a transfer anew. The kernel takes its retransmission timer: 200 ms and a round trip.
    pub idle: Duration,
    /// Number of duplicate ACKs that are sent at once when a gap appears: 3 (`TCP_FASTRETRANS_THRESH`).
    pub duplicates: u32,
    /// Number of duplicate ACKs that one ACK may replace after that: 44 (`tcp_comp_sack_nr`).
    pub compressed: u32,
    /// Maximum delay of such an ACK: 1 ms (`tcp_comp_sack_delay_ns`), and no longer than a twentieth of the round trip.
    pub compression: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min: Duration::from_millis(40),
            max: Duration::from_millis(200),
            quick: Segments(16),
            idle: Duration::from_millis(200),
            duplicates: 3,
            compressed: 44,
            compression: Duration::from_millis(1),
        }
    }
}

/// Of a round trip, the part that a compressed ACK waits at most.
const COMPRESSION_PARTS: u64 = 20;

#[derive(Debug)]
struct Linux {
    parameters: Parameters,
    /// The present wait (`ato`).
    wait: Duration,
    last_arrival: Option<Instant>,
    /// The user replies to what arrives, so that its data will carry the ACKs (`inet_csk_in_pingpong_mode`).
    replies: bool,
    waiting: Bytes,
    /// ACKs that go out at once yet (`icsk_ack.quick`).
    quick: u64,
    /// Number of duplicate ACKs that the present gap has caused at once (`dup_ack_counter`), and of duplicates that
    /// wait to be sent as one (`compressed_ack`).
    duplicates: u32,
    compressed: u32,
    /// Number of duplicates that wait from the next ACK on.
    left: u32,
    /// The receive buffer is short of memory, and whether the next ACK narrows the window.
    tight: Option<bool>,
}

impl Linux {
    const fn new(parameters: Parameters) -> Self {
        let (wait, quick) = (parameters.min, parameters.quick.0);
        Self {
            parameters,
            wait,
            last_arrival: None,
            replies: false,
            waiting: Bytes::ZERO,
            quick,
            duplicates: 0,
            compressed: 0,
            left: 0,
            tight: None,
        }
    }

    /// `tcp_event_data_recv`.
    fn adapt(&mut self, data: &Data) {
        let Some(last) = self.last_arrival.replace(data.now) else { return };
        let (gap, half) = (data.now - last, self.parameters.min / 2);
        if gap <= half {
            self.wait = self.wait / 2 + half;
        } else if gap < self.wait {
            self.wait = self.wait / 2 + gap;
        } else if gap > self.parameters.idle + data.rtt.unwrap_or_default() {
            self.quick = self.quick.max(self.parameters.quick.0);
        }
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&self, data: &Data) -> Duration {
        let round_trip = data.rtt.map_or(self.parameters.max, |rtt| rtt.max(self.parameters.min));
        self.wait.min(self.parameters.max).min(round_trip)
    }

    /// Whether more than a segment waits for its ACK, which is urgent unless it narrows the window
    /// (`__tcp_ack_snd_check`).
    fn is_second_segment(&mut self, data: &Data) -> bool {
        if self.waiting <= data.full {
            return false;
        }
        if self.tight.is_some() {
            self.quick = 0;
        }
        self.tight != Some(true)
    }

    /// A segment beyond a gap: the first duplicates at once, then one for many.
    fn on_gap(&mut self, data: &Data) -> When {
        if self.duplicates < self.parameters.duplicates {
            self.duplicates += 1;
            return When::Now;
        }
        // `tcp_sack_compress_send_ack`: before the blocks of an ACK can no longer report all data since the last one.
        // The kernel's ACK goes out just before this segment is entered, which waits for the next.
        if data.scattered && self.compressed > 0 {
            self.left = 1;
            return When::Now;
        }
        self.compressed += 1;
        if self.compressed > self.parameters.compressed {
            return When::Now;
        }
        let part = data.rtt.map_or(self.parameters.compression, |rtt| rtt / COMPRESSION_PARTS);
        When::Within(part.min(self.parameters.compression))
    }
}

impl AckPolicy for Linux {
    fn on_data(&mut self, data: &Data) -> When {
        self.adapt(data);
        self.waiting += data.len;
        match data.arrival {
            Arrival::OutOfOrder => return self.on_gap(data),
            Arrival::Duplicate => {
                self.quick = self.quick.max(self.parameters.quick.0);
                self.wait = self.parameters.min;
                self.replies = false;
                return When::Now;
            }
            _ => self.duplicates = 0,
        }
        let urgent = data.around_a_gap() || self.is_second_segment(data);
        if urgent || (self.quick > 0 && !self.replies) { When::Now } else { When::Within(self.delay(data)) }
    }

    /// `tcp_grow_window`: the sender hears of it at once.
    fn on_window_opened(&mut self) {
        self.quick |= 1;
    }

    /// `__tcp_select_window`, `__tcp_ack_snd_check`.
    fn on_tight_window(&mut self, narrows: bool) {
        self.tight = Some(narrows);
    }

    /// `tcp_event_data_sent`: a reply, if it follows the last data within the present wait.
    fn on_data_sent(&mut self, now: Instant) {
        self.replies |= self.last_arrival.is_some_and(|last| now.saturating_since(last) < self.wait);
    }

    /// `tcp_fastopen_add_skb`.
    fn on_syn_data(&mut self) {
        self.last_arrival = None;
    }

    /// `tcp_rcv_synsent_state_process`, where a write is pending.
    fn on_reply_expected(&mut self, now: Instant) {
        self.last_arrival = Some(now);
    }

    /// `tcp_delack_timer_handler`.
    fn on_wait_over(&mut self) {
        if std::mem::take(&mut self.replies) {
            self.wait = self.parameters.min;
        }
    }

    /// `tcp_fin`: the program is expected to close too. Before any data the wait is 0.
    fn on_fin(&mut self) -> When {
        self.replies = true;
        if self.last_arrival.is_some() { When::Within(self.wait.min(self.parameters.max)) } else { When::Now }
    }

    fn traits(&self) -> Traits {
        Traits { observes_replies: true, ..Traits::default() }
    }

    fn on_ack_sent(&mut self) {
        if self.tight.take().is_some() {
            self.quick = 0;
        } else if !self.waiting.is_zero() {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.waiting, self.compressed) = (Bytes::ZERO, std::mem::take(&mut self.left));
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.min > self.max {
            let (min, max) = (write_duration(self.min), write_duration(self.max));
            return Err(refusal(format!("min is {min}, above max, {max}"), "write the lesser as min"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn AckPolicy> = Algorithm::checked(
    "linux",
    "delayed by 40 to 200 ms, quick at the start and after an idle time, compressed after a gap",
    "Linux net/ipv4/tcp_input.c (tcp_event_data_recv, __tcp_ack_snd_check), tcp_output.c (tcp_send_delayed_ack)",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Linux::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn data(ms: u64, arrival: Arrival) -> Data {
        Data { rtt: Some(Duration::from_millis(100)), ..testing::data(ms, arrival) }
    }

    fn arrive(policy: &mut Linux, millis: u64, arrival: Arrival) -> When {
        let when = policy.on_data(&data(millis, arrival));
        if when == When::Now {
            policy.on_ack_sent();
        }
        when
    }

    fn no_longer_young() -> Linux {
        let mut policy = Linux::new(Parameters::default());
        (0..16).for_each(|_| assert_eq!(arrive(&mut policy, 0, Arrival::InOrder), When::Now));
        policy
    }

    #[test]
    fn sixteen_at_once_then_each_second_one() {
        let mut policy = no_longer_young();
        assert_eq!(arrive(&mut policy, 1, Arrival::InOrder), When::Within(Duration::from_millis(40)));
        assert_eq!(arrive(&mut policy, 2, Arrival::InOrder), When::Now);
    }

    #[test]
    fn after_an_idle_time_they_are_quick_again() {
        let mut policy = no_longer_young();
        assert_ne!(arrive(&mut policy, 250, Arrival::InOrder), When::Now);
        assert_eq!(arrive(&mut policy, 1000, Arrival::InOrder), When::Now);
        assert_eq!(arrive(&mut policy, 1001, Arrival::InOrder), When::Now);
    }

    #[test]
    fn behind_a_gap_three_duplicates_go_at_once_and_the_others_together() {
        let mut policy = no_longer_young();
        (0..3).for_each(|_| assert_eq!(arrive(&mut policy, 1, Arrival::OutOfOrder), When::Now));
        let late = When::Within(Duration::from_millis(1));
        (0..44).for_each(|_| assert_eq!(arrive(&mut policy, 1, Arrival::OutOfOrder), late));
        assert_eq!(arrive(&mut policy, 1, Arrival::OutOfOrder), When::Now);
    }

    #[test]
    fn what_the_blocks_of_one_ack_cannot_report_is_not_compressed() {
        let mut policy = no_longer_young();
        (0..3).for_each(|_| assert_eq!(arrive(&mut policy, 1, Arrival::OutOfOrder), When::Now));
        let scattered = Data { scattered: true, ..data(1, Arrival::OutOfOrder) };
        assert_ne!(policy.on_data(&scattered), When::Now);
        for _ in 0..3 {
            assert_eq!(policy.on_data(&scattered), When::Now);
            policy.on_ack_sent();
        }
    }

    #[test]
    fn between_request_and_reply_acks_wait_for_data_until_a_wait_is_over() {
        let mut policy = Linux::new(Parameters::default());
        let at = |millis: u64| Instant::START + Duration::from_millis(millis);
        policy.on_data_sent(at(0));
        assert_eq!(arrive(&mut policy, 10, Arrival::InOrder), When::Now, "nothing was asked before");
        policy.on_data_sent(at(60));
        assert_eq!(arrive(&mut policy, 100, Arrival::InOrder), When::Now, "that was too late for a reply");
        policy.on_data_sent(at(110));
        assert_ne!(arrive(&mut policy, 150, Arrival::InOrder), When::Now);
        policy.on_ack_sent();
        policy.on_wait_over();
        assert_eq!(arrive(&mut policy, 160, Arrival::InOrder), When::Now);
    }

    #[test]
    fn the_ack_of_a_fin_waits_only_after_data() {
        let mut policy = Linux::new(Parameters::default());
        assert_eq!(policy.on_fin(), When::Now);
        arrive(&mut policy, 0, Arrival::InOrder);
        assert_eq!(policy.on_fin(), When::Within(Duration::from_millis(40)));
    }
}
