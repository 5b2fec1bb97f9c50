//! The results of other machines.

use linux::namespace::Privilege;
use serde::Serialize;
use stacks::TransferReport;
use units::{Duration, NodeId};

use super::remote::{Peer, RemoteMachines};
use super::tunnel::{Counts, Delay};
use crate::clock::Clock;
use crate::run::samples::Sample;

/// A machine of a run, with the tunnels to its hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineSummary {
    /// The machine.
    pub machine: String,
    /// Name and release of its kernel.
    pub kernel: String,
    /// The privilege by which its namespaces were made.
    pub right: Privilege,
    /// The offset of its date and time of day at the beginning: its clock less the emulator's, in milliseconds.
    pub clock_ahead_ms: f64,
    /// The drift of its clock against the emulator's, in millionths.
    pub clock_drift_ppm: f64,
    /// The shortest round trip of a datagram, in milliseconds. The error of the offset is at most half of it.
    pub round_trip_ms: f64,
    /// The median round trip of the control stream, in milliseconds. Messages between the copies of a program are late
    /// by half of it.
    pub control_round_trip_ms: f64,
    /// The lateness of its hosts' start, in milliseconds.
    pub late_start_ms: f64,
    /// The tunnels, in the order of its hosts.
    pub tunnels: Vec<TunnelSummary>,
    /// Whether the tunnels lost or reordered packets, or delayed them unevenly.
    pub tainted: bool,
}

/// The tunnel to a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelSummary {
    /// The host.
    pub host: String,
    /// From the emulator to the host.
    pub to_host: TunnelDirection,
    /// From the host to the emulator.
    pub from_host: TunnelDirection,
}

/// One direction of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TunnelDirection {
    /// Number of packets sent.
    pub packets: u64,
    /// Number of packets that did not arrive.
    pub lost: u64,
    /// Number of packets that arrived after a packet that was sent later.
    pub reordered: u64,
    /// The delay of packets.
    pub delay: Delay,
}

/// The results of the other machines of a run.
#[derive(Debug, Default)]
pub(crate) struct RemoteResults {
    pub(crate) summaries: Vec<MachineSummary>,
    /// Samples of the kernels' connections, by host.
    pub(crate) samples: Vec<(String, Vec<Sample>)>,
    /// Captures at the hosts' devices, by name.
    pub(crate) captures: Vec<(String, Vec<u8>)>,
    /// The reports of the hosts with stacks on other machines, by node.
    pub(crate) stacks: Vec<(NodeId, Vec<TransferReport>)>,
}

impl RemoteMachines {
    /// Returns the results. A delay that varies by more than `bound` taints the run.
    pub(crate) fn results(self, bound: Duration, name: &dyn Fn(NodeId) -> String) -> RemoteResults {
        let mut results = RemoteResults { captures: self.captures(), ..RemoteResults::default() };
        for (mut part, control) in self.parts.into_iter().zip(self.control) {
            results.summaries.push(summary(&part, self.clock, control, bound, name));
            results.stacks.append(&mut part.ended.stacks);
            results.samples.append(&mut part.ended.samples);
        }
        results
    }
}

fn summary(
    part: &Peer,
    clock: Clock,
    control: Duration,
    bound: Duration,
    name: &dyn Fn(NodeId) -> String,
) -> MachineSummary {
    let ends = part.machine.hosts.iter().zip(&part.tunnels).zip(&part.ended.counts);
    let tunnels: Vec<_> = ends
        .map(|((host, tunnel), theirs)| {
            let ours = tunnel.counts();
            TunnelSummary { host: name(*host), to_host: way(&ours, theirs), from_host: way(theirs, &ours) }
        })
        .collect();
    let ahead =
        i128::from(part.first.ahead) + i128::from(part.ready.date_of_zero) - i128::from(clock.date_of_zero());
    let late_start_ms = part.ended.late_ns as f64 / 1e6;
    let bound_ms = bound.as_secs_f64() * 1e3;
    let mut ways = tunnels.iter().flat_map(|tunnel: &TunnelSummary| [tunnel.to_host, tunnel.from_host]);
    let tainted = late_start_ms > bound_ms || ways.any(|way| way.taints(bound_ms));
    drop(ways);
    MachineSummary {
        machine: part.machine.name.clone(),
        kernel: part.ready.kernel.clone(),
        right: part.ready.privilege,
        clock_ahead_ms: ahead as f64 / 1e6,
        clock_drift_ppm: part.drift.parts_per_million(),
        round_trip_ms: part.first.round_trip.as_secs_f64() * 1e3,
        control_round_trip_ms: control.as_secs_f64() * 1e3,
        late_start_ms,
        tunnels,
        tainted,
    }
}

fn way(sender: &Counts, receiver: &Counts) -> TunnelDirection {
    TunnelDirection {
        packets: sender.sent,
        lost: sender.sent.saturating_sub(receiver.received),
        reordered: receiver.reordered,
        delay: receiver.delay,
    }
}

impl TunnelDirection {
    fn taints(&self, bound_ms: f64) -> bool {
        self.lost > 0 || self.reordered > 0 || self.delay.max_ms - self.delay.min_ms > bound_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_uneven_delays_of_tunnels_taint() {
        let counts = |sent, received| Counts { sent, received, ..Counts::default() };
        let whole = way(&counts(5, 0), &counts(0, 5));
        assert_eq!((whole.packets, whole.lost), (5, 0));
        assert!(!whole.taints(10.0));
        assert!(way(&counts(5, 0), &counts(0, 4)).taints(10.0));
        let mut uneven = whole;
        (uneven.delay.min_ms, uneven.delay.max_ms) = (20.0, 29.0);
        assert!(!uneven.taints(10.0), "a long delay is not an uneven one");
        uneven.delay.max_ms = 31.0;
        assert!(uneven.taints(10.0));
    }
}
