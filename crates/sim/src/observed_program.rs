//! The statistics of a program that a driver has run outside the World: transfers and datagrams are counted as in the
//! World's own flows.

use units::{Duration, Instant, Side};
use workload::{ProgramLog, Service, Transport};

use crate::datagrams::{Datagram, Datagrams};
use crate::external::ObservedFlow;
use crate::measure::{DelayHistogram, FlowMeasures, FlowReading, FlowTotals, OneWayDelays};
use crate::summary::FlowSummary;

impl ObservedFlow {
    /// Adds the statistics of a program over `service` to a flow whose segments have been counted elsewhere. `lost` of
    /// the outstanding datagrams are known to be lost; a flow of datagrams is complete if no other is outstanding and
    /// `is_done` holds.
    pub fn add_program(&mut self, log: &ProgramLog, service: Service, lost: u64, is_done: bool) {
        let mut reading = FlowReading::default();
        let (datagrams, delays) = count(log, service.budget);
        let outstanding = datagrams.outstanding();
        let lost = lost.min(outstanding);
        if service.transport == Transport::Udp {
            datagrams.fill(&mut reading);
            reading.datagrams_lost += lost;
            count_datagrams(&reading, datagrams.span(), &mut self.summary);
            self.summary.completed = is_done && lost == outstanding;
        }
        delays.fill(&mut reading);
        let delays = delays.delays().since(&DelayHistogram::default());
        self.summary.measures = FlowMeasures::of(&reading, delays, log.transfers())
            .rated(service.voice, &reading)
            .played_whole(service.playback, log.transfers());
        self.transfers = log.transfers().to_vec();
    }
}

impl FlowTotals {
    /// Adds the datagrams of a program over `service`; `lost` of those that are outstanding are known to be lost.
    pub fn add_datagrams(&mut self, log: &ProgramLog, service: &Service, lost: u64) {
        let (datagrams, delays) = count(log, service.budget);
        let outstanding = datagrams.outstanding();
        datagrams.fill(&mut self.counts);
        self.counts.datagrams_lost += lost.min(outstanding);
        self.delays = delays;
    }
}

/// The fates and delays of the datagrams of a log.
fn count(log: &ProgramLog, budget: Option<Duration>) -> (Datagrams, OneWayDelays) {
    let (mut datagrams, mut delays) = (Datagrams::new(budget, None), OneWayDelays::default());
    for (at, size) in log.sent() {
        datagrams.send(*at, Side::From, *size);
    }
    for number in log.refused() {
        datagrams.on_lost(Datagram { by: Side::From, number: *number, sent: Instant::START, rtp: None });
    }
    for (at, number, size) in log.arrived() {
        let sent = usize::try_from(*number).ok().and_then(|number| log.sent().get(number));
        let Some((sent, _)) = sent else { continue };
        let datagram = Datagram { by: Side::From, number: *number, sent: *sent, rtp: None };
        datagrams.on_received(*at, datagram, *size).into_iter().for_each(|delay| delays.add(delay));
    }
    (datagrams, delays)
}

/// Fills the columns that have the datagrams of a flow without segments.
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
    use units::Bytes;
    use workload::Transfer;

    use super::*;

    const SIZE: Bytes = Bytes(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn flow() -> ObservedFlow {
        ObservedFlow {
            summary: FlowSummary::default(),
            connections: Vec::new(),
            transfers: Vec::new(),
            samples: Vec::new(),
        }
    }

    #[test]
    fn datagrams_are_counted_as_in_a_world() {
        let budget = Some(Duration::from_millis(50));
        let mut log = ProgramLog::default();
        for n in 0..5 {
            log.send_datagram(at(20 * n), Side::From, SIZE);
        }
        // The second is late, the third is refused, and no datagram has the number 77.
        for (ms, number) in [(30, 0), (71, 1), (72, 77)] {
            log.receive_datagram(at(ms), number, SIZE);
        }
        log.refuse_datagram(2);
        let mut observed = flow();
        let service = Service {
            transport: Transport::Udp,
            port: 1,
            budget,
            feedback: false,
            opener: Side::From,
            multiplexing: None,
            rtp: None,
            compressed: false,
            voice: None,
            playback: None,
        };
        observed.add_program(&log, service, 1, true);
        let measures = &observed.summary.measures;
        assert_eq!((measures.packets_lost, measures.packets_late, observed.summary.bytes), (2, 1, 200));
        assert_eq!((observed.summary.segments_sent, observed.summary.completed), (5, false));
        assert_eq!(measures.frame_loss, Some(0.75));
    }

    #[test]
    fn transfers_of_connections_leave_the_counts_of_segments_alone() {
        let mut log = ProgramLog::default();
        log.report(Transfer { start: at(10), end: at(40), bytes: SIZE });
        let mut observed = flow();
        (observed.summary.bytes, observed.summary.completed) = (7, true);
        let service = Service {
            transport: Transport::Tcp,
            port: 1,
            budget: None,
            feedback: false,
            opener: Side::From,
            multiplexing: None,
            rtp: None,
            compressed: false,
            voice: None,
            playback: None,
        };
        observed.add_program(&log, service, 0, false);
        assert_eq!(
            (observed.summary.bytes, observed.summary.completed, observed.transfers.len()),
            (7, true, 1)
        );
        assert_eq!(observed.summary.measures.transfer_mean_s, Some(0.03));
    }
}
