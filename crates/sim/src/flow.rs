//! One flow: what it sends, how far it got, and whether what arrived is what was sent.

use std::sync::Arc;

use tcp::{Endpoint, Kind, Transmit};
use trace::ledger::{Diagnosis, Ledger, Retransmission};
use units::{Bytes, Duration, Instant, PacketId, Seq, SeqRange};
use wire::{Payload, Segment};

use crate::measure::FlowReading;
use crate::spec::{Amount, FlowSpec, Workload};
use crate::summary::{FlowSummary, MilestoneSummary};

/// A flow between two ends.
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) config: Arc<tcp::Config>,
    pub(crate) ports: tcp::Ports,
    pub(crate) iss: Seq,
    pub(crate) start: Instant,
    pub(crate) ledger: Ledger,
    pub(crate) phase: Phase,
    connected: bool,
    source: Source,
    sending: Sending,
    receiving: Receiving,
    packets_born: u64,
}

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not yet started.
    Waiting,
    /// Connecting, sending or closing.
    Open,
    /// Closed at both ends, or reset.
    Over,
}

/// What the sending program writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// So much at once; then it closes.
    Fixed(Bytes),
    /// Whenever there is room; at `until` it closes.
    Endless { written: u64, until: Instant },
    /// It has written everything.
    Done,
}

/// What is known at the sending end.
#[derive(Default)]
struct Sending {
    first_syn: Option<Instant>,
    last_ack: Option<Instant>,
    fin_acked: bool,
    segments: u64,
    /// Bytes of payload, copies among them.
    bytes: u64,
    retransmissions: u64,
    snd_max: Option<Seq>,
    milestones: Vec<Milestone>,
    /// How many milestones are behind us, and the amount of the next one.
    passed: usize,
    next_milestone: Option<Bytes>,
}

#[derive(Clone, Copy)]
struct Milestone {
    amount: Bytes,
    /// Place in the specification.
    place: usize,
    reached: Option<(Instant, u64)>,
}

/// What is known at the receiving end.
#[derive(Default)]
struct Receiving {
    position: u64,
    ended: bool,
    /// Packets that the receiving end sent, and their bytes.
    acks: u64,
    ack_bytes: u64,
}

impl Flow {
    pub(crate) fn new(
        spec: &FlowSpec,
        config: Arc<tcp::Config>,
        start: Instant,
        ports: tcp::Ports,
        iss: Seq,
    ) -> Self {
        let Workload::Bulk(amount) = spec.workload;
        let source = match amount {
            Amount::Bytes(bytes) => Source::Fixed(bytes),
            Amount::Until(time) => Source::Endless { written: 0, until: Instant::START + time },
        };
        Self {
            name: spec.name.clone(),
            config,
            ports,
            iss,
            start,
            ledger: Ledger::new(),
            phase: Phase::Waiting,
            connected: false,
            source,
            sending: Sending::new(&spec.milestones),
            receiving: Receiving::default(),
            packets_born: 0,
        }
    }

    /// The identity of the flow's next packet, in either direction.
    #[inline]
    pub(crate) fn next_packet(&mut self, series: u32) -> PacketId {
        self.packets_born += 1;
        PacketId::in_series(series, self.packets_born)
    }

    /// The connection opens: a fixed amount is written at once.
    pub(crate) fn open(&mut self, endpoint: &mut Endpoint) {
        self.phase = Phase::Open;
        if let Source::Fixed(amount) = self.source {
            write_pattern(endpoint, 0, amount.0);
            self.source = Source::Done;
        }
        self.feed(endpoint);
    }

    /// The handshake is done. Only now may a program close that has written all it wants: in
    /// SYN-SENT that would give the connection up (RFC 9293 §3.10.4).
    pub(crate) fn on_connected(&mut self, endpoint: &mut Endpoint) {
        self.connected = true;
        if matches!(self.source, Source::Done) {
            endpoint.close();
        }
    }

    /// Keeps an endless source's backlog filled.
    #[inline]
    pub(crate) fn feed(&mut self, endpoint: &mut Endpoint) {
        if let Source::Endless { written, .. } = &mut self.source
            && endpoint.unsent() < BACKLOG
        {
            write_pattern(endpoint, *written, BACKLOG.0);
            *written += BACKLOG.0;
        }
    }

    /// When the flow itself wants to be woken next: to start, or to stop writing.
    pub(crate) fn wake_up(&self) -> Instant {
        match (self.phase, self.source) {
            (Phase::Waiting, _) => self.start,
            (Phase::Open, Source::Endless { until, .. }) => until,
            _ => Instant::NEVER,
        }
    }

    /// An endless source's time is up.
    pub(crate) fn stop_writing(&mut self, endpoint: &mut Endpoint) {
        self.source = Source::Done;
        if self.connected {
            endpoint.close();
        }
    }

    /// The sending end sent a segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: PacketId, sent: &Transmit) {
        let segment = &sent.segment;
        let sending = &mut self.sending;
        sending.segments += u64::from(!segment.payload.is_empty());
        sending.bytes += u64::from(segment.payload.len());
        let before = sending.snd_max.unwrap_or(segment.seq);
        let end = segment.seq + segment.seq_len();
        let snd_max = before.max(end);
        sending.snd_max = Some(snd_max);
        if let Kind::Retransmission { cause, .. } = sent.kind {
            let range = SeqRange { start: segment.seq, end: end.min(before) };
            self.on_resent(now, packet, range, cause);
        } else if (before.0 ^ snd_max.0) >> 31 != 0 {
            self.ledger.advance_to(snd_max);
        }
        self.sending.first_syn.get_or_insert(now);
    }

    /// The receiving end sent a packet of `size` bytes.
    #[inline]
    pub(crate) fn on_acknowledging(&mut self, size: u32) {
        self.receiving.acks += 1;
        self.receiving.ack_bytes += u64::from(size);
    }

    #[cold]
    fn on_resent(&mut self, at: Instant, packet: PacketId, range: SeqRange, cause: tcp::Cause) {
        self.sending.retransmissions += 1;
        if cause == tcp::Cause::Timeout {
            self.ledger.on_timeout(at, range);
        }
        let snd_max = self.sending.snd_max.unwrap_or(range.end);
        self.ledger.on_retransmission(Retransmission { packet, at, range, cause: cause.id(), snd_max });
    }

    /// The sending end has dealt with a segment from its peer.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, now: Instant, endpoint: &Endpoint) {
        let sending = &mut self.sending;
        if sending.fin_acked {
            return;
        }
        sending.last_ack = Some(now);
        sending.fin_acked = endpoint.fin_acked();
        while let Some(amount) = sending.next_milestone
            && endpoint.acked() >= amount
        {
            sending.milestones[sending.passed].reached = Some((now, sending.retransmissions));
            sending.passed += 1;
            sending.next_milestone = sending.milestones.get(sending.passed).map(|next| next.amount);
        }
    }

    /// The receiving program has read `payload`; answers where it differs from what was sent.
    #[inline]
    pub(crate) fn on_read(&mut self, payload: &Payload) -> Result<(), u64> {
        let position = self.receiving.position;
        self.receiving.position += u64::from(payload.len());
        match payload {
            Payload::Pattern { offset, .. } if *offset == position => Ok(()),
            Payload::Pattern { .. } => Err(position),
            Payload::Data(data) => (position..)
                .zip(data)
                .find(|(place, byte)| Payload::pattern_byte(*place) != **byte)
                .map_or(Ok(()), |(place, _)| Err(place)),
        }
    }

    /// The stream has ended at the receiver.
    pub(crate) fn on_end_of_stream(&mut self) {
        self.receiving.ended = true;
    }

    /// A packet of this flow was lost on its way. `to_receiver`: it carried the sender's segment.
    #[cold]
    pub(crate) fn on_lost(
        &mut self,
        at: Instant,
        id: PacketId,
        segment: &Segment,
        to_receiver: bool,
        rule: &'static str,
    ) {
        if to_receiver {
            self.ledger.on_drop(id, segment.seq_range(), at, rule);
        } else if segment.flags.contains(wire::Flags::ACK) {
            self.ledger.on_ack_drop(at, segment.ack);
        }
    }

    /// The totals so far.
    pub(crate) fn reading(&self, endpoint: Option<&Endpoint>) -> FlowReading {
        FlowReading {
            sent: self.sending.bytes,
            acked: endpoint.map_or(0, |endpoint| endpoint.acked().0),
            received: self.receiving.position,
            segments: self.sending.segments,
            retransmissions: self.sending.retransmissions,
            timeouts: endpoint.map_or(0, Endpoint::timeouts),
            acks: self.receiving.acks,
            ack_bytes: self.receiving.ack_bytes,
        }
    }

    /// The flow's part of the summary, with the verdicts that it rests on.
    pub(crate) fn finish(
        &mut self,
        endpoint: Option<&Endpoint>,
        from: &str,
        to: &str,
    ) -> (FlowSummary, Diagnosis) {
        let diagnosis = std::mem::take(&mut self.ledger).finish();
        let bytes = endpoint.map_or(0, |endpoint| endpoint.acked().0);
        let elapsed = self.sending.elapsed(self.sending.last_ack);
        let summary = FlowSummary {
            flow: self.name.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
            bytes,
            elapsed_s: elapsed.map(Duration::as_secs_f64),
            throughput_bps: elapsed
                .filter(|time| !time.is_zero())
                .map(|time| bytes as f64 / time.as_secs_f64()),
            segments_sent: self.sending.segments,
            retransmissions: self.sending.retransmissions,
            unnecessary_retransmissions: diagnosis.unnecessary_retransmissions(),
            timeouts: endpoint.map_or(0, Endpoint::timeouts),
            spurious_timeouts: diagnosis.spurious_timeouts(),
            fast_retransmits: endpoint.map_or(0, Endpoint::fast_retransmits),
            completed: self.is_complete(bytes),
            milestones: self.sending.milestone_summaries(),
            causes: diagnosis.causes().into_iter().map(|(cause, count)| (cause.to_owned(), count)).collect(),
            received: self.receiving.position,
            acks: self.receiving.acks,
            ack_bytes: self.receiving.ack_bytes,
            windows: Vec::new(),
        };
        (summary, diagnosis)
    }

    fn is_complete(&self, acked: u64) -> bool {
        self.sending.fin_acked && self.receiving.ended && self.receiving.position == acked
    }
}

impl Sending {
    fn new(amounts: &[Bytes]) -> Self {
        let numbered = amounts.iter().enumerate();
        let mut milestones: Vec<Milestone> =
            numbered.map(|(place, amount)| Milestone { amount: *amount, place, reached: None }).collect();
        milestones.sort_by_key(|milestone| milestone.amount);
        let next_milestone = milestones.first().map(|first| first.amount);
        Self { milestones, next_milestone, ..Self::default() }
    }

    fn elapsed(&self, until: Option<Instant>) -> Option<Duration> {
        Some(until? - self.first_syn?)
    }

    /// In the order of the specification.
    fn milestone_summaries(&self) -> Vec<MilestoneSummary> {
        let mut milestones = self.milestones.clone();
        milestones.sort_by_key(|milestone| milestone.place);
        let summary = |milestone: Milestone| MilestoneSummary {
            bytes: milestone.amount.0,
            elapsed_s: self.elapsed(milestone.reached.map(|(at, _)| at)).map(Duration::as_secs_f64),
            retransmissions: milestone.reached.map_or(self.retransmissions, |(_, so_far)| so_far),
        };
        milestones.into_iter().map(summary).collect()
    }
}

fn write_pattern(endpoint: &mut Endpoint, from: u64, amount: u64) {
    let mut offset = from;
    while offset < from + amount {
        let len = (from + amount - offset).min(LONGEST_WRITE) as u32;
        endpoint.write(Payload::Pattern { offset, len });
        offset += u64::from(len);
    }
}

/// An endless source keeps at least this much unsent, as a program does that fills a socket buffer
/// of the usual size.
const BACKLOG: Bytes = Bytes(65_536);

/// A payload's length is 32 bits.
const LONGEST_WRITE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flow() -> Flow {
        let config = Arc::new(tcp::Config::from_profile(&json!({})).unwrap());
        let spec = FlowSpec {
            name: "download".to_owned(),
            from: 0,
            to: 1,
            start: Duration::ZERO,
            start_jitter: None,
            workload: Workload::Bulk(Amount::Bytes(Bytes(1000))),
            sender: Arc::clone(&config),
            receiver: Arc::clone(&config),
            milestones: Vec::new(),
        };
        Flow::new(&spec, config, Instant::START, tcp::Ports { local: 1, remote: 2 }, Seq(0))
    }

    fn data(from: u64, len: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { offset: from, len }.write_to(&mut bytes);
        bytes
    }

    #[test]
    fn the_pattern_in_order_is_what_was_sent_by_name_or_byte_for_byte() {
        let mut flow = flow();
        assert_eq!(flow.on_read(&Payload::Pattern { offset: 0, len: 100 }), Ok(()));
        assert_eq!(flow.on_read(&Payload::Data(data(100, 50).into())), Ok(()));
        assert_eq!(flow.on_read(&Payload::Pattern { offset: 150, len: 10 }), Ok(()));
    }

    #[test]
    fn a_misplaced_repeated_or_changed_byte_is_found_where_it_is() {
        let mut skipped = flow();
        assert_eq!(skipped.on_read(&Payload::Pattern { offset: 10, len: 100 }), Err(0));
        let mut repeated = flow();
        assert_eq!(repeated.on_read(&Payload::Pattern { offset: 0, len: 100 }), Ok(()));
        assert_eq!(repeated.on_read(&Payload::Pattern { offset: 0, len: 100 }), Err(100));
        let mut changed = data(0, 100);
        changed[42] ^= 1;
        assert_eq!(flow().on_read(&Payload::Data(changed.into())), Err(42));
    }

    #[test]
    fn packets_of_a_flow_are_a_series_of_their_own() {
        let mut flow = flow();
        let ids = [flow.next_packet(3), flow.next_packet(3)];
        assert_eq!(ids.map(|id| (id.series(), id.number())), [(3, 1), (3, 2)]);
    }
}
