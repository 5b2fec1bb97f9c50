//! Measures over a span of the run, in the units of the summary.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use workload::{Playback, Service, Transfer, Voice};

use super::e_model::{Frames, mean_opinion_score, rating};
use super::reading::{FlowReading, LinkReading, LinkTimes};
use super::{Delays, Reading, WindowResult};
use crate::ids::{DirectionId, FlowId};

/// Activity of one flow between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSpan {
    /// The window's name.
    pub window: String,
    /// Time at which it opened; events at exactly that time belong to the time before it.
    pub from_s: f64,
    /// When it closed, the latest at the end of the run.
    pub to_s: f64,
    /// Bytes of the stream that were acknowledged.
    pub bytes: u64,
    /// Bytes that the receiving program read.
    pub received: u64,
    /// `bytes` over the length of the window, in bytes per second.
    #[serde(rename = "throughput_Bps")]
    pub throughput_bps: Option<f64>,
    /// `received` over the length of the window, in bytes per second.
    #[serde(rename = "goodput_Bps")]
    pub goodput_bps: Option<f64>,
    /// Payload sent, copies among it, in bytes per second.
    #[serde(rename = "sent_Bps")]
    pub sent_bps: Option<f64>,
    /// Segments with data, retransmissions among them.
    pub segments_sent: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets that the receiving end sent.
    pub acks: u64,
    /// Their bits per second, IP header included.
    pub ack_bit_rate: Option<f64>,
    /// Measures of programs and datagrams.
    #[serde(flatten)]
    pub measures: FlowMeasures,
}

/// Measures of the transfers and the datagrams of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowMeasures {
    /// Transfers that ended: files, pages, echoes, as the workload has them.
    pub transfers: u64,
    /// Their mean time, from the request to the last byte.
    pub transfer_mean_s: Option<f64>,
    /// The time that half of them did not exceed.
    pub transfer_p50_s: Option<f64>,
    /// The same for 95 % of them.
    pub transfer_p95_s: Option<f64>,
    /// Their bytes over their times.
    #[serde(rename = "transfer_Bps")]
    pub transfer_bps: Option<f64>,
    /// Datagrams that did not arrive.
    pub packets_lost: u64,
    /// Datagrams that took longer than their budget.
    pub packets_late: u64,
    /// Lost or late, of those whose fate is known.
    pub frame_loss: Option<f64>,
    /// The mean time that packets took from the sender to the receiver: datagrams, or segments with data where the
    /// run is measured, copies among them.
    pub delay_mean_s: Option<f64>,
    /// The time that half of them did not exceed, to 1 %.
    pub delay_p50_s: Option<f64>,
    /// The same for 95 % of them.
    pub delay_p95_s: Option<f64>,
    /// The same for 99 % of them.
    pub delay_p99_s: Option<f64>,
    /// The mean difference of the delays of one such packet and the next (D of RFC 3550 §6.4.1).
    pub jitter_s: Option<f64>,
    /// Loss events for each data packet sent, of DCCP alone (RFC 4341 §5, RFC 5348 §5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_event_rate: Option<f64>,
    /// The quality of a call: transmission rating R of ITU-T G.107, from 0 to 93.2.
    pub r_factor: Option<f64>,
    /// The mean opinion score that follows from it, from 1 to 4.5.
    pub mos: Option<f64>,
    /// The quality of a stream of media: the time from the first request until playback began.
    pub startup_s: Option<f64>,
    /// Interruptions of playback that ended.
    pub stalls: Option<u64>,
    /// The sum of their lengths.
    pub stalled_s: Option<f64>,
    /// The mean rate of the media in the chunks that arrived, in bit/s.
    pub media_bit_rate: Option<f64>,
}

/// Activity of one direction of a link between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSpan {
    /// The window's name.
    pub window: String,
    /// Time at which it opened; events at exactly that time belong to the time before it.
    pub from_s: f64,
    /// When it closed, the latest at the end of the run.
    pub to_s: f64,
    /// Packets that arrived at it, those among them that were longer than its MTU.
    pub packets_in: u64,
    /// Packets that left it.
    pub packets_out: u64,
    /// Packets that its queue refused, or dropped later.
    pub queue_drops: u64,
    /// Packets that it lost beyond its queue: to errors, scripts, outages, their age, the link layer's giving up,
    /// resets or handovers.
    pub error_drops: u64,
    /// The measures.
    #[serde(flatten)]
    pub measures: LinkMeasures,
}

/// Measures from the totals of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkMeasures {
    /// Bytes that left it, without framing.
    pub bytes_out: u64,
    /// Their bits per second.
    pub bit_rate: Option<f64>,
    /// The share of the time in which it was sending.
    pub utilisation: Option<f64>,
    /// Packets that its queue refused or dropped.
    pub drop_rate: Option<f64>,
    /// The length of the queue, in packets, as a mean over time.
    pub queue_mean: Option<f64>,
    /// The length that the queue did not exceed for half of the time.
    pub queue_p50: Option<u64>,
    /// The same for 95 % of the time.
    pub queue_p95: Option<u64>,
    /// The same for 99 % of the time.
    pub queue_p99: Option<u64>,
}

impl WindowResult {
    /// Activity of a flow in the window.
    pub(crate) fn flow(&self, flow: FlowId, all: &[Transfer], service: &Service) -> FlowSpan {
        let total = |reading: &Reading| reading.flows.get(flow.index()).copied().unwrap_or_default();
        let inside = total(&self.closed).since(total(&self.opened));
        let per_second = |amount: u64| rate(amount, self.length());
        let within = |transfer: &&Transfer| self.opened.at < transfer.end && transfer.end <= self.closed.at;
        let transfers: Vec<Transfer> = all.iter().filter(within).copied().collect();
        let span = [self.opened.at, self.closed.at];
        let delays = |reading: &Reading| reading.delays.get(flow.index()).cloned().unwrap_or_default();
        let delays = delays(&self.closed).since(&delays(&self.opened));
        FlowSpan {
            window: self.name.clone(),
            from_s: self.opened.at.as_secs_f64(),
            to_s: self.closed.at.as_secs_f64(),
            bytes: inside.acked,
            received: inside.received,
            throughput_bps: per_second(inside.acked),
            goodput_bps: per_second(inside.received),
            sent_bps: per_second(inside.sent),
            segments_sent: inside.segments,
            retransmissions: inside.retransmissions,
            timeouts: inside.timeouts,
            acks: inside.acks,
            ack_bit_rate: per_second(8 * inside.ack_bytes),
            measures: FlowMeasures::of(&inside, delays, &transfers).rated(service.voice, &inside).played(
                service.playback,
                all,
                span,
            ),
        }
    }

    /// Activity of one direction of a link in the window.
    pub(crate) fn link(&self, direction: DirectionId) -> LinkSpan {
        let (before, after) = (self.opened.link(direction), self.closed.link(direction));
        let (old, new) = (&before.counters, &after.counters);
        LinkSpan {
            window: self.name.clone(),
            from_s: self.opened.at.as_secs_f64(),
            to_s: self.closed.at.as_secs_f64(),
            packets_in: after.packets_in() - before.packets_in(),
            packets_out: new.packets_out - old.packets_out,
            queue_drops: new.queue_drops - old.queue_drops,
            error_drops: new.error_drops - old.error_drops,
            measures: LinkMeasures::between(&before, &after, self.length()),
        }
    }

    fn length(&self) -> Duration {
        self.closed.at.saturating_since(self.opened.at)
    }
}

impl FlowMeasures {
    /// Measures from these totals, delays and transfers.
    pub(crate) fn of(totals: &FlowReading, delays: Option<Delays>, transfers: &[Transfer]) -> Self {
        let mut times: Vec<f64> = transfers.iter().map(|one| (one.end - one.start).as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let (time, bytes): (f64, u64) = (times.iter().sum(), transfers.iter().map(|one| one.bytes.0).sum());
        let at = |p: f64| times.get((p * times.len() as f64).ceil() as usize - 1).copied();
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let known = totals.datagrams_received + totals.datagrams_lost;
        Self {
            transfers: times.len() as u64,
            transfer_mean_s: share(time, times.len() as f64),
            transfer_p50_s: if times.is_empty() { None } else { at(0.50) },
            transfer_p95_s: if times.is_empty() { None } else { at(0.95) },
            transfer_bps: share(bytes as f64, time),
            packets_lost: totals.datagrams_lost,
            packets_late: totals.datagrams_late,
            frame_loss: share((totals.datagrams_lost + totals.datagrams_late) as f64, known as f64),
            delay_mean_s: delays.map(|delays| delays.mean_s),
            delay_p50_s: delays.map(|delays| delays.p50_s),
            delay_p95_s: delays.map(|delays| delays.p95_s),
            delay_p99_s: delays.map(|delays| delays.p99_s),
            jitter_s: share(totals.jitter_sum.as_secs_f64(), totals.jitter_count as f64),
            ..Self::default()
        }
    }

    /// With the quality of a call, if the totals are those of one with frames whose fate is known.
    pub(crate) fn rated(self, voice: Option<Voice>, totals: &FlowReading) -> Self {
        let missed = totals.datagrams_lost + totals.datagrams_late;
        let known = totals.datagrams_received + totals.datagrams_lost;
        let frames = Frames { known, missed, bursts: totals.loss_bursts };
        let rating = voice.filter(|_| known > 0).map(|voice| rating(&voice, frames));
        Self { r_factor: rating, mos: rating.map(mean_opinion_score), ..self }
    }

    /// With the quality of a stream, if `all` transfers of the flow are chunks of one: what ended after the first of
    /// two times, and not after the second.
    pub(crate) fn played(
        self,
        playback: Option<Playback>,
        all: &[Transfer],
        [after, until]: [Instant; 2],
    ) -> Self {
        let Some((playback, first)) = playback.zip(all.first()) else { return self };
        let within = |end: Instant| after < end && end <= until;
        let course = playback.course(all);
        let began = course.began.filter(|began| within(*began));
        let stalls: Vec<Duration> =
            course.stalls.iter().filter(|stall| within(stall[1])).map(|[from, to]| *to - *from).collect();
        let chunks: Vec<Transfer> = all.iter().filter(|chunk| within(chunk.end)).copied().collect();
        Self {
            startup_s: began.map(|began| (began - first.start).as_secs_f64()),
            stalls: Some(stalls.len() as u64),
            stalled_s: Some(stalls.iter().fold(0.0, |sum, stall| sum + stall.as_secs_f64())),
            media_bit_rate: playback.media_bit_rate(&chunks),
            ..self
        }
    }

    /// The same over a whole run.
    pub(crate) fn played_whole(self, playback: Option<Playback>, all: &[Transfer]) -> Self {
        self.played(playback, all, [Instant::START, Instant::NEVER])
    }
}

impl LinkMeasures {
    /// Difference of a reading and a later reading.
    pub(crate) fn between(before: &LinkReading, after: &LinkReading, length: Duration) -> Self {
        let (old, new) = (&before.counters, &after.counters);
        let bytes_out = new.bytes_out.0 - old.bytes_out.0;
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let (drops, packets) = (new.queue_drops - old.queue_drops, after.packets_in() - before.packets_in());
        let before = before.times.as_ref().unwrap_or(&NO_TIMES);
        let busy = |times: &LinkTimes| times.busy.saturating_sub(before.busy).as_secs_f64();
        let times = after.times.as_ref().map_or_else(Vec::new, |after| times_between(before, after));
        Self {
            bytes_out,
            bit_rate: rate(8 * bytes_out, length),
            utilisation: after.times.as_ref().and_then(|after| share(busy(after), length.as_secs_f64())),
            drop_rate: share(drops as f64, packets as f64),
            queue_mean: mean_length(&times),
            queue_p50: length_quantile(&times, 0.50),
            queue_p95: length_quantile(&times, 0.95),
            queue_p99: length_quantile(&times, 0.99),
        }
    }
}

/// Before the start.
static NO_TIMES: LinkTimes = LinkTimes { busy: Duration::ZERO, at_length: Vec::new() };

fn rate(amount: u64, length: Duration) -> Option<f64> {
    (!length.is_zero()).then(|| amount as f64 / length.as_secs_f64())
}

/// For how long each length stood between two readings, in seconds.
pub(crate) fn times_between(before: &LinkTimes, after: &LinkTimes) -> Vec<f64> {
    let earlier = |length: usize| before.at_length.get(length).copied().unwrap_or(Duration::ZERO);
    let stood = (0..).zip(&after.at_length).map(|(length, time)| time.saturating_sub(earlier(length)));
    stood.map(Duration::as_secs_f64).collect()
}

fn mean_length(times: &[f64]) -> Option<f64> {
    let whole: f64 = times.iter().sum();
    let weighted: f64 = times.iter().zip(0_u32..).map(|(time, length)| time * f64::from(length)).sum();
    (whole > 0.0).then(|| weighted / whole)
}

/// The smallest length that the queue did not exceed for a share `p` of the time.
fn length_quantile(times: &[f64], p: f64) -> Option<u64> {
    let whole: f64 = times.iter().sum();
    let mut so_far = 0.0;
    let reached = |time: &f64| {
        so_far += time;
        so_far >= p * whole
    };
    if whole > 0.0 { times.iter().position(reached).map(|length| length as u64) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_queue_are_weighted_by_time() {
        // Empty for 90 s, one packet for 6 s, two for 4 s.
        let times = [90.0, 6.0, 4.0];
        assert_eq!(mean_length(&times), Some(0.14));
        assert_eq!([0.5, 0.95, 0.99].map(|p| length_quantile(&times, p)), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_span_without_length_has_no_rates() {
        assert_eq!(rate(5, Duration::ZERO), None);
        assert_eq!((mean_length(&[]), length_quantile(&[], 0.5)), (None, None));
    }
}
