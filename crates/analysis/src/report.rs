//! The report on a capture: its points, its connections, and the counts of both sides of each connection.

use std::collections::BTreeMap;

use serde::Serialize;
use trace::flow::{Confidence, Flow, HalfConnection, ObservedSegment, SegmentKind, Side};
use trace::shape::{Rounds, WindowShape};
use units::{Bytes, Duration, Instant};
use wire::{Ecn, Flags, Segment};

use crate::incidents::{Incident, Incidents};
use crate::limits::Limits;
use crate::quic::QuicConnection;

/// A capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Points of observation: one for each interface.
    pub points: Vec<PointReport>,
    /// Time at which the first packet was seen, in seconds since 1970.
    pub began_s: f64,
    /// From the first packet to the last, in seconds.
    pub length_s: f64,
    /// The TCP connections, by point, in the order of their first packets.
    pub connections: Vec<TcpConnection>,
    /// The QUIC connections, by point, as far as they can be seen.
    pub quic: Vec<QuicConnection>,
    /// The error that ended the reading before the end of the file.
    pub error: Option<String>,
}

/// A point of observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PointReport {
    /// Its name, if the file has one.
    pub name: String,
    /// Frames that were captured.
    pub frames: u64,
    /// Frames that give no IP packet, by their contents: "ARP", "encrypted".
    pub not_ip: BTreeMap<String, u64>,
    /// IP packets that are not TCP.
    pub not_tcp: u64,
    /// Packets that could not be read.
    pub unreadable: u64,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConnection {
    /// Its name: opener and peer, with the point if there are several.
    pub flow: String,
    /// Time at which its first packet was seen, in seconds from the first packet of the capture.
    pub start_s: f64,
    /// Time from the SYN to the acknowledgment of the SYN-ACK, in seconds.
    pub handshake_s: Option<f64>,
    /// Whether both FINs were acknowledged.
    pub completed: bool,
    /// Whether a reset was seen.
    pub reset: bool,
    /// Index in `senders` of the side that sent more data.
    pub bulk_sender: usize,
    /// Place of the capture, seen from the side that sent more data.
    pub place: PlaceReport,
    /// The side that opened it, and the other.
    pub senders: [SideReport; 2],
    /// Incidents besides the retransmissions of data, in the order of time.
    pub incidents: Vec<Incident>,
    /// Incidents that are left out.
    pub more_incidents: u64,
}

/// Place of the capture of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    /// Near the sender of the data, near their receiver, in the middle, or unknown.
    pub place: &'static str,
    /// Confidence: certain, likely or unknown.
    pub confidence: &'static str,
    /// The shortest round trip from the point to the receiver, in seconds.
    pub to_receiver_s: Option<f64>,
    /// The shortest round trip from the point to the sender, in seconds.
    pub to_sender_s: Option<f64>,
}

/// Counts of one side of a connection: sent packets and received acknowledgments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideReport {
    /// Its address and port.
    pub host: String,
    /// Packets sent.
    pub packets: u64,
    /// Packets that carry only an acknowledgment.
    pub pure_acks: u64,
    /// Segments with data, including retransmissions.
    pub data_segments: u64,
    /// Bytes of data, including retransmissions.
    pub data_bytes: u64,
    /// Bytes of data that were sent for the first time.
    pub unique_bytes: u64,
    /// Bytes of data that the peer acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments that the data after them had overtaken.
    pub out_of_order: u64,
    /// Segments with data, SYN or FIN that had been sent before.
    pub retransmissions: u64,
    /// Retransmissions that were needless according to the acknowledgments.
    pub needless: u64,
    /// Retransmissions without evidence in either direction.
    pub undecided: u64,
    /// Timeouts, as far as they can be inferred.
    pub timeouts: u64,
    /// Entries into fast retransmit.
    pub fast_retransmits: u64,
    /// Retransmissions that look like tail loss probes.
    pub tail_loss_probes: u64,
    /// Probes of a closed window, and keep-alives.
    pub probes: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Duplicate SACK blocks received.
    pub duplicate_sacks: u64,
    /// Acknowledgments received of data that the capture does not have.
    pub unseen: u64,
    /// Segments that it sent with SACK blocks.
    pub sacks_sent: u64,
    /// Segments that it sent with a window of zero.
    pub zero_windows: u64,
    /// The largest window that it advertised, in bytes.
    pub largest_window: u64,
    /// The MSS that its SYN announced.
    pub mss: Option<u16>,
    /// The largest segment that it sent, in bytes of data.
    pub largest_segment: u32,
    /// The largest amount in flight, in bytes of sequence numbers.
    pub largest_flight: u64,
    /// Data that it sent before the first acknowledgment of any, in bytes.
    pub initial_window: u64,
    /// The longest time between two packets sent, in seconds.
    pub longest_pause_s: f64,
    /// Number of round-trip times measured, on segments that were sent once.
    pub rtt_samples: u64,
    /// The shortest round-trip time, in seconds.
    pub rtt_min_s: Option<f64>,
    /// Their mean.
    pub rtt_mean_s: Option<f64>,
    /// The longest.
    pub rtt_max_s: Option<f64>,
    /// Time from the first SYN, or the first packet, to the last acknowledgment of new data, in seconds.
    pub elapsed_s: Option<f64>,
    /// Acknowledged bytes over that time, in bytes per second.
    #[serde(rename = "throughput_Bps")]
    pub throughput_bps: Option<f64>,
    /// The part of that time in which data of its were in flight, in seconds.
    pub active_s: f64,
    /// Acknowledged bytes over the active time, in bytes per second.
    #[serde(rename = "active_throughput_Bps")]
    pub active_throughput_bps: Option<f64>,
    /// The mean round-trip time while at least half of its largest flight so far was in flight, in seconds.
    pub rtt_loaded_s: Option<f64>,
    /// Limits of the sender, in seconds: "handshake", "application", "receiver", "timer", "repair", "path" or "window".
    pub time_shares: BTreeMap<&'static str, f64>,
    /// Confidence of each of them: "certain" if the packets prove nine tenths of its time, "likely" if they prove half,
    /// or else "unsure". Only at the sender is anything certain.
    pub time_share_confidence: BTreeMap<&'static str, &'static str>,
    /// Its packets by ECN: capable, marked "congestion experienced", and with the flags ECE and CWR.
    pub ecn: EcnReport,
    /// The largest burst in bytes: data without a pause of a millisecond or an arrival between them.
    pub largest_burst: u64,
    /// The course of its window, if there are enough round trips.
    pub window_shape: Option<WindowShape>,
}

/// Packets of one side by explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EcnReport {
    /// Capable of it, and not marked.
    pub capable: u64,
    /// Marked on the way.
    pub marked: u64,
    /// With the flag ECE, SYNs apart.
    pub echoes: u64,
    /// With the flag CWR, SYNs apart.
    pub reductions: u64,
}

/// Running counts of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    packets: u64,
    pure_acks: u64,
    sacks: u64,
    zero_windows: u64,
    largest_window: Bytes,
    mss: Option<u16>,
    largest_segment: u32,
    largest_flight: Bytes,
    initial_window: u64,
    first_ack_seen: bool,
    last_sent: Option<Instant>,
    longest_pause: Duration,
    last_seen: Option<Instant>,
    was_active: bool,
    active: Duration,
    loaded: (Duration, u64),
    samples: u64,
    ecn: EcnReport,
    burst: u64,
    largest_burst: u64,
    limits: Limits,
    rounds: Rounds,
}

impl Activity {
    /// The side sent a segment; `flight` is its amount in flight, this segment included.
    pub(crate) fn on_sent(
        &mut self,
        at: Instant,
        segment: &Segment,
        observed: &ObservedSegment,
        flight: Bytes,
    ) {
        self.packets += 1;
        self.pure_acks += u64::from(observed.kind == SegmentKind::Ack);
        self.sacks += u64::from(!segment.options.sack.as_slice().is_empty());
        let closed = observed.window.is_zero() && !segment.flags.intersects(Flags::SYN.with(Flags::RST));
        self.zero_windows += u64::from(closed);
        self.largest_window = self.largest_window.max(observed.window);
        self.mss = self.mss.or(segment.options.mss);
        self.largest_segment = self.largest_segment.max(observed.len);
        self.largest_flight = self.largest_flight.max(flight);
        self.count_initial_window(observed, flight);
        let pause = self.last_sent.map_or(Duration::ZERO, |last| at.saturating_since(last));
        self.longest_pause = self.longest_pause.max(pause);
        self.note_burst(observed, pause);
        self.note_ecn(segment);
        self.last_sent = Some(at);
    }

    /// A packet of either side passed, after which `side`, which this is, is in this state.
    pub(crate) fn on_packet(&mut self, at: Instant, flow: &Flow, side: Side, observed: &ObservedSegment) {
        self.limits.on_packet(at, flow, side, observed);
        let half = flow.half(side);
        self.rounds.on_packet(at, half, if observed.sender == side { observed.len } else { 0 });
        if self.was_active {
            self.active += self.last_seen.map_or(Duration::ZERO, |last| at.saturating_since(last));
        }
        if observed.sender != side {
            self.burst = 0;
            self.note_round_trip(half);
        }
        self.was_active = !half.flight().is_zero();
        self.last_seen = Some(at);
    }

    fn note_round_trip(&mut self, half: &HalfConnection) {
        let samples = half.round_trips().count;
        if samples > self.samples && half.flight().0 * 2 >= self.largest_flight.0 {
            self.loaded.0 += half.latest_round_trip().unwrap_or_default();
            self.loaded.1 += 1;
        }
        self.samples = samples;
    }

    fn note_burst(&mut self, observed: &ObservedSegment, pause: Duration) {
        if observed.len > 0 {
            let continues = pause < BURST_ENDS;
            self.burst = u64::from(observed.len) + if continues { self.burst } else { 0 };
            self.largest_burst = self.largest_burst.max(self.burst);
        }
    }

    fn note_ecn(&mut self, segment: &Segment) {
        match segment.ecn {
            Ecn::NotCapable => {}
            Ecn::Experienced => self.ecn.marked += 1,
            _ => self.ecn.capable += 1,
        }
        if !segment.flags.contains(Flags::SYN) {
            self.ecn.echoes += u64::from(segment.flags.contains(Flags::ECE));
            self.ecn.reductions += u64::from(segment.flags.contains(Flags::CWR));
        }
    }

    /// As long as only the SYN is acknowledged, all data are in flight.
    fn count_initial_window(&mut self, observed: &ObservedSegment, flight: Bytes) {
        if observed.len == 0 || self.first_ack_seen {
            return;
        }
        let sent = observed.seq + u64::from(observed.len) - 1;
        if flight.0 == sent {
            self.initial_window = sent;
        } else {
            self.first_ack_seen = true;
        }
    }
}

impl TcpConnection {
    pub(crate) fn of(
        flow: &Flow,
        name: String,
        (activities, incidents): (&[Activity; 2], &Incidents),
        began: Instant,
    ) -> Self {
        let sides = [Side::Opener, Side::Answerer];
        let (incidents, more_incidents) = incidents.report(began);
        Self {
            flow: name,
            start_s: flow.first_seen().saturating_since(began).as_secs_f64(),
            handshake_s: handshake(flow).map(Duration::as_secs_f64),
            completed: sides.iter().all(|side| flow.completed(*side)),
            reset: flow.is_reset(),
            bulk_sender: flow.bulk_sender() as usize,
            place: PlaceReport::of(flow),
            senders: sides.map(|side| SideReport::of(flow, side, &activities[side as usize])),
            incidents,
            more_incidents,
        }
    }
}

impl PlaceReport {
    fn of(flow: &Flow) -> Self {
        let placed = flow.place(flow.bulk_sender());
        Self {
            place: placed.place.id(),
            confidence: placed.confidence.id(),
            to_receiver_s: placed.to_receiver.map(Duration::as_secs_f64),
            to_sender_s: placed.to_sender.map(Duration::as_secs_f64),
        }
    }
}

impl SideReport {
    fn of(flow: &Flow, side: Side, activity: &Activity) -> Self {
        let half = flow.half(side);
        let counters = half.counters();
        let (needless, undecided) = judged(half);
        let elapsed = flow.elapsed(side).filter(|elapsed| !elapsed.is_zero());
        let acked = half.acked().0;
        let trips = half.round_trips();
        let any = (trips.count > 0).then_some(trips);
        Self {
            host: flow.ends()[side as usize].to_string(),
            packets: activity.packets,
            pure_acks: activity.pure_acks,
            data_segments: counters.data_segments,
            data_bytes: counters.data_bytes,
            unique_bytes: counters.unique_bytes,
            acknowledged_bytes: acked,
            out_of_order: counters.out_of_order,
            retransmissions: counters.retransmissions,
            needless,
            undecided,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            tail_loss_probes: counters.tail_loss_probes,
            probes: counters.probes,
            duplicate_acks: counters.duplicate_acks,
            duplicate_sacks: counters.duplicate_sacks,
            unseen: counters.unseen,
            sacks_sent: activity.sacks,
            zero_windows: activity.zero_windows,
            largest_window: activity.largest_window.0,
            mss: activity.mss,
            largest_segment: activity.largest_segment,
            largest_flight: activity.largest_flight.0,
            initial_window: activity.initial_window,
            longest_pause_s: activity.longest_pause.as_secs_f64(),
            rtt_samples: trips.count,
            rtt_min_s: any.map(|trips| trips.shortest.as_secs_f64()),
            rtt_mean_s: trips.mean().map(Duration::as_secs_f64),
            rtt_max_s: any.map(|trips| trips.longest.as_secs_f64()),
            elapsed_s: elapsed.map(Duration::as_secs_f64),
            throughput_bps: elapsed.map(|elapsed| acked as f64 / elapsed.as_secs_f64()),
            active_s: activity.active.as_secs_f64(),
            active_throughput_bps: rate(acked, activity.active),
            rtt_loaded_s: (activity.loaded.1 > 0)
                .then(|| (activity.loaded.0 / activity.loaded.1).as_secs_f64()),
            time_shares: activity.limits.seconds(),
            time_share_confidence: activity.limits.confidence(flow.place(side).place),
            ecn: activity.ecn,
            largest_burst: activity.largest_burst,
            window_shape: activity.rounds.shape(),
        }
    }
}

/// Time from the SYN to the acknowledgment of the SYN-ACK.
fn handshake(flow: &Flow) -> Option<Duration> {
    Some(flow.connected_at()?.saturating_since(flow.syn_at()?))
}

/// Bytes per second; `None` over no time.
fn rate(bytes: u64, time: Duration) -> Option<f64> {
    (time > Duration::ZERO).then(|| bytes as f64 / time.as_secs_f64())
}

/// Numbers of needless and of undecided retransmissions.
fn judged(half: &HalfConnection) -> (u64, u64) {
    half.judgements().iter().fold((0, 0), |(needless, undecided), judgement| {
        let unknown = judgement.confidence == Confidence::Unknown;
        (needless + u64::from(judgement.needed == Some(false)), undecided + u64::from(unknown))
    })
}

/// A pause that ends a burst.
const BURST_ENDS: Duration = Duration::from_millis(1);
