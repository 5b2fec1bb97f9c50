//! A host with our own TCP in this process: at one end of the links, with a device at the other, and programs whose
//! bytes its connections carry.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::unix::net::UnixStream;

use linux::device::{self, Ends};
use linux::doctor::{kernel_version, obstacles};
use linux::drops::Drops;
use linux::namespace::Privilege;
use linux::scheduling::Scheduling;
use linux::sysctl::Sysctls;
use linux::tun::Tun;
use serde::Serialize;
use sim::{FlowSummary, ObservedConnection, ObservedFlow, Spec};
use stacks::{ConnectionId, HostCaptures, Phase, StreamHost, summary_of};
use trace::flow::{Flow, Side};
use units::{Bytes, Duration, Instant, Streams};

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::account::DriverAccount;
use crate::drive::attachment::{Attachment, Device};
use crate::drive::bridge::Bridge;
use crate::drive::driver::Driver;
use crate::drive::lateness::{LatenessRecorder, TAINTED_FROM};
use crate::drive::network::{Network, smallest_mtu};
use crate::error::failed;
use crate::gateway::egress::FarEnd;
use crate::run::outcome::{Kernel, LiveOutcome, LiveSummary, Outside, tainted_by};

/// Bytes of a program: the program's end of a connection.
pub type Conversation = Box<dyn FnOnce(UnixStream) + Send>;

/// The summary of one connection of our own TCP, as its program sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionSummary {
    /// The index of its profile in the list of profiles.
    pub profile: usize,
    /// The other end.
    pub peer: String,
    /// Time from the first SYN to the last byte that our program read, in seconds; null if it read nothing.
    pub read_s: Option<f64>,
    /// Time from the first SYN to the first byte that our program read, in seconds.
    pub first_byte_s: Option<f64>,
    /// Bytes that our program read.
    pub read: u64,
    /// Bytes that our program wrote.
    pub written: u64,
    /// Number of segments that we sent with nothing but an acknowledgment.
    pub acks: u64,
    /// Number of packets that we sent.
    pub packets: u64,
    /// Number of segments that arrived with no new data.
    pub duplicates: u64,
    /// The reason why it broke, if it did.
    pub broken: Option<String>,
    /// The flow of the side that sent more data, captured at its end of the links.
    pub flow: FlowSummary,
}

/// The host, the device at the other end, and the addresses of both.
pub(crate) struct UserspaceHost {
    pub(crate) far_end: FarEnd,
    pub(crate) ends: Ends,
    pub(crate) tun: Tun,
    /// The place of this host in the scenario: 0 or 1.
    ours: usize,
    mtu: u32,
}

impl UserspaceHost {
    /// Sets the device up. `ours` is the host of the scenario that has our own TCP.
    pub(crate) fn set_up(spec: &Spec, ours: usize) -> Result<Self, LiveError> {
        let missing = obstacles(None, &Sysctls::new());
        if !missing.is_empty() {
            return Err(LiveError::CannotStart(missing));
        }
        let far_end = FarEnd::obtain()?;
        let ends = Ends::free().map_err(failed("outside", "find free addresses"))?;
        let mtu = smallest_mtu(&spec.links);
        let tun = device::make_far_end(&ends, mtu).map_err(failed("outside", "make its device"))?;
        Ok(Self { far_end, ends, tun, ours, mtu })
    }

    /// Makes our end. Its initial sequence numbers must not be guessed (RFC 6528), so they do not follow from the
    /// scenario's seed.
    pub(crate) fn bridge(&self, records: bool) -> Result<Bridge, LiveError> {
        let streams = Streams::new(random().map_err(failed("ours", "draw a number"))?);
        Ok(Bridge::new(StreamHost::new(self.ends.inside, Bytes(u64::from(self.mtu)), streams, records)))
    }

    /// Makes the driver between both ends.
    pub(crate) fn driver(&self, network: Network, clock: Clock, bridge: Bridge) -> Driver<'_> {
        let mut attachments =
            vec![Attachment::Device(Device::Local(&self.tun)), Attachment::Programs(Box::new(bridge))];
        if self.ours == 0 {
            attachments.reverse();
        }
        let lateness = LatenessRecorder::new(TAINTED_FROM);
        Driver::new(network, HostCaptures::without_flows(attachments.len()), clock, attachments, lateness)
    }

    /// Returns our end of a driver.
    pub(crate) fn bridge_of<'a>(&self, driver: &'a mut Driver<'_>) -> &'a mut Bridge {
        driver.attachments[self.ours].bridge().expect("it was attached there")
    }

    /// Returns the summary of a connection; none if it is forgotten.
    pub(crate) fn summary(&self, driver: &mut Driver<'_>, id: ConnectionId) -> Option<ConnectionSummary> {
        let host = &self.bridge_of(driver).host;
        let (counts, ends, profile) = (host.counts(id)?, host.ends(id)?, host.profile(id)?);
        let phase = host.phase(id);
        let since = |at: Instant| at.saturating_since(counts.began).as_secs_f64();
        let seen = self.seen(driver, [ends.local, ends.remote]);
        Some(ConnectionSummary {
            profile,
            peer: ends.remote.to_string(),
            read_s: counts.last_read.map(since),
            first_byte_s: counts.first_read.map(since),
            read: counts.read,
            written: counts.written,
            acks: counts.acks,
            packets: counts.packets,
            duplicates: counts.duplicates,
            broken: match phase {
                Phase::Broken(reason) => Some(reason.to_owned()),
                Phase::Opening | Phase::Open | Phase::Closed => None,
            },
            flow: seen.map(|seen| summary_of(seen.sent, seen.sender)).unwrap_or_default(),
        })
    }

    /// Returns a connection in the captures at both ends of the links.
    fn seen<'a>(&self, driver: &'a Driver<'_>, [ours, peer]: [SocketAddrV4; 2]) -> Option<Seen<'a>> {
        let at = |host: usize| {
            let captures = &driver.captures;
            captures.flow(host, [ours, peer]).or_else(|| captures.flow(host, [peer, ours]))
        };
        let arrived = at(self.ours)?;
        let side = |end: SocketAddrV4| match arrived.ends()[0] == SocketAddr::V4(end) {
            true => Side::Opener,
            false => Side::Answerer,
        };
        let sender = arrived.bulk_sender();
        let at_sender = if sender == side(ours) { self.ours } else { 1 - self.ours };
        Some(Seen { sent: at(at_sender).unwrap_or(arrived), sender, peer: side(peer) })
    }

    /// Returns a connection for the records, under a name. Call it once for each connection.
    pub(crate) fn observe(
        &self,
        driver: &mut Driver<'_>,
        spec: &Spec,
        id: ConnectionId,
        name: &str,
    ) -> Option<ObservedFlow> {
        let summary = self.summary(driver, id)?;
        let ends = self.bridge_of(driver).host.ends(id)?;
        let mut records = self.bridge_of(driver).host.take_records(id);
        let seen = self.seen(driver, [ends.local, ends.remote])?;
        let ours_sends = seen.sender != seen.peer;
        let hosts: Vec<&str> = named_hosts(spec);
        let (own, other) = (hosts[self.ours].to_owned(), hosts[1 - self.ours].to_owned());
        let ([from, to], ends) = match ours_sends {
            true => ([own, other], [ends.local, ends.remote]),
            false => ([other, own], [ends.remote, ends.local]),
        };
        if !ours_sends {
            // Of a receiver the records keep only its fallbacks, as in a World's own flows.
            records.retain(|observed| observed.record.event == tcp::Decision::Fallback);
        }
        let received = if ours_sends { summary.flow.bytes } else { summary.read };
        let acks = if ours_sends { 0 } else { summary.packets };
        let flow =
            FlowSummary { flow: name.to_owned(), from, to, received, acks, connections: 1, ..summary.flow };
        let records = if ours_sends { [records, Vec::new()] } else { [Vec::new(), records] };
        let diagnosis = seen.sent.half(seen.sender).diagnosis();
        let connection = ObservedConnection { ends: ends.map(SocketAddr::V4), diagnosis, records };
        Some(ObservedFlow {
            summary: flow,
            connections: vec![connection],
            transfers: Vec::new(),
            samples: Vec::new(),
        })
    }

    /// The results of a run that has ended.
    pub(crate) fn finish(
        &self,
        driver: Driver<'_>,
        flows: Vec<ObservedFlow>,
        ended: Instant,
        scheduling: Scheduling,
        stopped_by: &str,
    ) -> LiveOutcome {
        let account = DriverAccount::new(driver.account(), scheduling);
        let Driver { network, lateness, .. } = driver;
        let drops = Drops { device: Drops::read(&self.ends.device).device, socket: 0 };
        let outside = Outside::new(drops, network.unroutable(), None);
        let lateness = lateness.summary();
        let mut outcome = network.finish(ended, flows);
        stopped_by.clone_into(&mut outcome.summary.stopped_by);
        let summary = LiveSummary {
            run: outcome.summary,
            programs: Vec::new(),
            tainted_by: tainted_by(&lateness, &account, &outside, &[], &[]),
            lateness,
            driver: account,
            outside,
            scheduling,
            right: match self.far_end {
                FarEnd::Caller => Privilege::Capability,
                FarEnd::Own => Privilege::UserNamespace,
            },
            kernel: Kernel {
                version: kernel_version(),
                congestion: None,
                sysctls: Sysctls::new(),
                flows: Vec::new(),
            },
            command: None,
            machines: Vec::new(),
            changes: Vec::new(),
        };
        LiveOutcome { summary, tables: outcome.tables, captures: outcome.captures }
    }
}

/// A connection in the captures.
#[derive(Clone, Copy)]
struct Seen<'a> {
    /// The capture at the end that sends more data.
    sent: &'a Flow,
    /// The end that sends more data.
    sender: Side,
    /// The side that is not ours.
    peer: Side,
}

/// The names of the hosts of a scenario.
fn named_hosts(spec: &Spec) -> Vec<&str> {
    let hosts = spec.nodes.iter().filter(|node| node.kind.address().is_some());
    hosts.map(|node| node.name.as_str()).collect()
}

/// Returns a random port from the range for clients of RFC 6056 §3.2.
pub(crate) fn ephemeral_port() -> io::Result<u16> {
    const FIRST: u64 = 1024;
    Ok((FIRST + random()? % (65_536 - FIRST)) as u16)
}

/// Returns an unpredictable number.
fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Interval of the progress callback: as often as a person reads it.
pub(crate) const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// The longest time that a connection may take to close after the program has closed its stream.
pub(crate) const LONGEST_CLOSE: Duration = Duration::from_secs(10);
