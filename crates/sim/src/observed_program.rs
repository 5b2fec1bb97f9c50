//! What a program has done that a driver runs outside the world: its transfers and its datagrams, counted as those of
//! the world's own flows are.

use units::{Bytes, Duration, Instant};

use crate::datagrams::{Datagram, Datagrams};
use crate::external::ObservedFlow;
use crate::ids::Side;
use crate::measure::{DelayHistogram, FlowMeasures, FlowReading, OneWayDelays};
use crate::summary::FlowSummary;
use crate::workload::{Service, Transfer, Transport};

/// Counts the transfers and the datagrams of one program.
#[derive(Debug)]
pub struct ObservedProgram {
    transport: Transport,
    transfers: Vec<Transfer>,
    datagrams: Datagrams,
    /// When each datagram of `from` was sent, by its number.
    sent: Vec<Instant>,
    delays: OneWayDelays,
}

impl ObservedProgram {
    /// A program that goes over `service` and has done nothing.
    #[must_use]
    pub fn new(service: Service) -> Self {
        Self {
            transport: service.transport,
            transfers: Vec::new(),
            datagrams: Datagrams::new(service.budget),
            sent: Vec::new(),
            delays: OneWayDelays::default(),
        }
    }

    /// A transfer has ended.
    pub fn report(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }

    /// A side sends a datagram. Returns its number among the datagrams of that side.
    pub fn send_datagram(&mut self, now: Instant, by: Side, size: Bytes) -> u64 {
        match by {
            Side::From => {
                self.sent.push(now);
                self.datagrams.send(now, size).number
            }
            Side::To => self.datagrams.send_feedback(now).number,
        }
    }

    /// A datagram has arrived. Returns whether it is reported to the program: not a copy, and not a number that was
    /// never sent.
    pub fn receive_datagram(&mut self, now: Instant, by: Side, number: u64, size: Bytes) -> bool {
        if by == Side::To {
            return true;
        }
        let sent = usize::try_from(number).ok().and_then(|number| self.sent.get(number));
        let Some(&sent) = sent else { return false };
        let delay = self.datagrams.on_received(now, Datagram { by, number, sent }, size);
        delay.into_iter().for_each(|delay| self.delays.add(delay));
        delay.is_some()
    }

    /// The socket refused a datagram of `from`.
    pub fn lose_datagram(&mut self, number: u64) {
        self.datagrams.on_lost(Datagram { by: Side::From, number, sent: Instant::START });
    }

    /// Datagrams of `from` that have neither arrived nor been refused.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.datagrams.outstanding()
    }

    /// Bytes of the datagrams of `from` that have arrived, IP headers included.
    #[must_use]
    pub fn datagram_bytes(&self) -> Bytes {
        let mut reading = FlowReading::default();
        self.datagrams.fill(&mut reading);
        Bytes(reading.received)
    }

    /// Adds what was counted to a flow whose segments have been counted elsewhere. `lost` of the outstanding datagrams
    /// are known to be lost; a flow of datagrams is complete if none is outstanding beside them and `is_done` holds.
    pub fn tell(self, lost: u64, is_done: bool, flow: &mut ObservedFlow) {
        let mut reading = FlowReading::default();
        let outstanding = self.outstanding();
        let lost = lost.min(outstanding);
        if self.transport == Transport::Udp {
            self.datagrams.fill(&mut reading);
            reading.datagrams_lost += lost;
            count_datagrams(&reading, self.datagrams.span(), &mut flow.summary);
            flow.summary.completed = is_done && lost == outstanding;
        }
        self.delays.fill(&mut reading);
        let delays = self.delays.delays().since(&DelayHistogram::default());
        flow.summary.measures = FlowMeasures::of(&reading, delays, &self.transfers);
        flow.transfers = self.transfers;
    }
}

/// The columns of a flow that stand for datagrams where it has no segments.
fn count_datagrams(reading: &FlowReading, [first, last]: [Option<Instant>; 2], summary: &mut FlowSummary) {
    let elapsed = first.zip(last).map(|(first, last)| last.saturating_since(first));
    summary.bytes = reading.received;
    summary.received = reading.received;
    summary.segments_sent = reading.segments;
    summary.elapsed_s = elapsed.map(Duration::as_secs_f64);
    summary.throughput_bps = elapsed
        .filter(|elapsed| !elapsed.is_zero())
        .map(|elapsed| reading.received as f64 / elapsed.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn flow() -> ObservedFlow {
        ObservedFlow { summary: FlowSummary::default(), connections: Vec::new(), transfers: Vec::new() }
    }

    #[test]
    fn datagrams_are_counted_as_in_a_world() {
        let budget = Some(Duration::from_millis(50));
        let mut program = ObservedProgram::new(Service { transport: Transport::Udp, port: 1, budget });
        let sent: Vec<u64> = (0..5).map(|n| program.send_datagram(at(20 * n), Side::From, SIZE)).collect();
        assert_eq!(sent, [0, 1, 2, 3, 4]);
        assert!(program.receive_datagram(at(30), Side::From, 0, SIZE));
        assert!(!program.receive_datagram(at(31), Side::From, 0, SIZE));
        assert!(program.receive_datagram(at(71), Side::From, 1, SIZE));
        assert!(!program.receive_datagram(at(72), Side::From, 77, SIZE));
        program.lose_datagram(2);
        assert_eq!((program.outstanding(), program.datagram_bytes()), (2, Bytes(200)));
        let mut told = flow();
        program.tell(1, true, &mut told);
        let measures = &told.summary.measures;
        assert_eq!((measures.packets_lost, measures.packets_late, told.summary.bytes), (2, 1, 200));
        assert_eq!((told.summary.segments_sent, told.summary.completed), (5, false));
        assert_eq!(measures.frame_loss, Some(0.75));
    }

    #[test]
    fn transfers_of_connections_leave_the_counts_of_segments_alone() {
        let mut program = ObservedProgram::new(Service { transport: Transport::Tcp, port: 1, budget: None });
        program.report(Transfer { start: at(10), end: at(40), bytes: SIZE });
        let mut told = flow();
        (told.summary.bytes, told.summary.completed) = (7, true);
        program.tell(0, false, &mut told);
        assert_eq!((told.summary.bytes, told.summary.completed, told.transfers.len()), (7, true, 1));
        assert_eq!(told.summary.measures.transfer_mean_s, Some(0.03));
    }
}
