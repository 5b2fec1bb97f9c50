//! The report on a capture: its points, its connections, and the counts of both sides of each connection.

use serde::Serialize;
use trace::flow::{Confidence, Flow, HalfConnection, ObservedSegment, SegmentKind, Side};
use units::{Bytes, Duration, Instant};
use wire::{Flags, Segment};

use crate::quic::QuicConnection;

/// A capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Points of observation: one for each interface.
    pub points: Vec<PointReport>,
    /// When the first packet was seen, in seconds since 1970.
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
    /// Frames that hold no IP packet.
    pub not_ip: u64,
    /// IP packets that are not TCP, or parts of fragmented ones.
    pub not_tcp: u64,
    /// Packets that could not be read.
    pub unreadable: u64,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConnection {
    /// Its name: opener and peer, with the point if there are several.
    pub flow: String,
    /// When its first packet was seen, in seconds from the first packet of the capture.
    pub start_s: f64,
    /// Whether both FINs were acknowledged.
    pub completed: bool,
    /// Whether a reset was seen.
    pub reset: bool,
    /// Index in `senders` of the side that sent more data.
    pub bulk_sender: usize,
    /// Where the capture was taken, seen from the side that sent more data.
    pub place: PlaceReport,
    /// The side that opened it, and the other.
    pub senders: [SideReport; 2],
}

/// Where a connection was captured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    /// Near the sender of the data, near their receiver, in the middle, or unknown.
    pub place: &'static str,
    /// How sure that is: certain, likely or unknown.
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
        self.last_sent = Some(at);
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
    pub(crate) fn of(flow: &Flow, name: String, activities: &[Activity; 2], began: Instant) -> Self {
        let sides = [Side::Opener, Side::Answerer];
        Self {
            flow: name,
            start_s: flow.first_seen().saturating_since(began).as_secs_f64(),
            completed: sides.iter().all(|side| flow.completed(*side)),
            reset: flow.is_reset(),
            bulk_sender: flow.bulk_sender() as usize,
            place: PlaceReport::of(flow),
            senders: sides.map(|side| SideReport::of(flow, side, &activities[side as usize])),
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
        }
    }
}

/// Numbers of needless and of undecided retransmissions.
fn judged(half: &HalfConnection) -> (u64, u64) {
    half.judgements().iter().fold((0, 0), |(needless, undecided), judgement| {
        let unknown = judgement.confidence == Confidence::Unknown;
        (needless + u64::from(judgement.needed == Some(false)), undecided + u64::from(unknown))
    })
}
