//! Workloads: the traffic of a flow. One file each, and the list of them.
//!
//! A workload is a [`Program`]: a state machine that opens connections, writes, waits and closes, or sends datagrams.
//! It draws from the streams of its flow, "flow.<name>.size" and so on. Bulk is written as a flow's `bytes` or `until`;
//! the others as the flow's `workload`. A new workload is a file with `ENTRY`, `Parameters` (which implement
//! [`WorkloadParameters`]) and its program, and a line in the list below.

pub mod bulk;
mod line;
mod packets;
mod train;

use std::ops::RangeInclusive;

use link::distribution::ReadFile;
use link::{ConfigError, LARGEST_PACKET};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Side, Streams};

use self::bulk::{Amount, Bulk};
pub use self::line::Line;
use crate::playback::Playback;
use crate::program::Program;
use crate::voice::Voice;

registry::registry! {
    /// Program of a flow. Written as a table of one key, its name.
    Application in "workload", a "workload" of dyn WorkloadParameters:
    Web = web,
    Interactive = interactive,
    Arrivals = arrivals,
    Parallel = parallel,
    BothWays = both_ways,
    Background = background,
    OnOff = on_off,
    Voip = voip,
    PushToTalk = push_to_talk,
    Streaming = streaming,
    ConstantRate = constant_rate,
    Poisson = poisson,
    Tfrc = tfrc,
}

/// Every workload, bulk first, which has keys of its own.
pub fn entries() -> impl Iterator<Item = &'static registry::Entry> {
    std::iter::once(&bulk::ENTRY).chain(ENTRIES)
}

/// Parameters of a workload. From them follow its transport, its port and its program.
pub trait WorkloadParameters {
    /// Checks that the values are valid.
    ///
    /// # Errors
    /// The first invalid value, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// The transport that it uses.
    fn service(&self) -> Service;

    /// The size of its largest datagram, IP and UDP headers included, where it has datagrams of its own sizes.
    fn largest_packet(&self) -> Option<Bytes> {
        None
    }

    /// Reads the files that its distributions name, by `read`, into its parameters. A workload without distributions
    /// has nothing to read.
    ///
    /// # Errors
    /// Errors of `read`, with the key as the path.
    fn load_files(&mut self, _read: &mut ReadFile) -> Result<(), ConfigError> {
        Ok(())
    }

    /// The direction of a link that the flow must cross, "lasthop.down", if its parameters are about one.
    fn crosses(&self) -> Option<&str> {
        None
    }

    /// Looks up the rates of that link by `find`, and stores them in its parameters.
    ///
    /// # Errors
    /// Errors of `find`, with the key as the path.
    fn look_up_lines(&mut self, _find: &mut FindLines) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Returns the program. It draws from streams below `streams`, starts at `start`, and starts nothing new after
    /// `until`.
    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program>;
}

/// Finds the rates of a link: of the direction of this name, and of the opposite direction.
pub type FindLines<'a> = dyn FnMut(&str) -> Result<[Line; 2], ConfigError> + 'a;

/// The transport that a workload uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Connections or datagrams.
    pub transport: Transport,
    /// The port of the side that listens.
    pub port: u16,
    /// The delay above which a datagram counts as late.
    pub budget: Option<Duration>,
    /// Whether `to` answers datagrams by datagrams of its own, so that the program needs to know of each that arrives:
    /// it gets [`crate::SocketEvent::DatagramReceived`]. Its two sides share what their packets carry, and cannot run
    /// apart.
    pub feedback: bool,
    /// The side that opens its connections.
    pub opener: Side,
    /// Whether its connections have several streams, and so need QUIC.
    pub multiplexing: Option<Multiplexing>,
    /// Time from one packet to the next, if the datagrams have RTP's header (RFC 3550 §5.1) after UDP's.
    pub rtp: Option<Duration>,
    /// Whether their size is that of compressed headers already.
    pub compressed: bool,
    /// The codec, if the datagrams are frames of a call.
    pub voice: Option<Voice>,
    /// The player, if the transfers are chunks of media that it plays in their order.
    pub playback: Option<Playback>,
}

/// Streams of one connection (RFC 9000 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplexing {
    /// Whether each is a request of HTTP/3 and its response (RFC 9114): all but the first, which stands for the
    /// connection and carries nothing.
    pub http3: bool,
    /// What a file writes for hosts without QUIC.
    pub instead: &'static str,
}

impl Service {
    const fn new(transport: Transport, port: u16, budget: Option<Duration>) -> Self {
        Self {
            transport,
            port,
            budget,
            feedback: false,
            opener: Side::From,
            multiplexing: None,
            rtp: None,
            compressed: false,
            voice: None,
            playback: None,
        }
    }

    /// Connections to a port.
    const fn connections(port: u16) -> Self {
        Self::new(Transport::Tcp, port, None)
    }

    /// Datagrams to a port, late after `budget`.
    const fn datagrams(port: u16, budget: Option<Duration>) -> Self {
        Self::new(Transport::Udp, port, budget)
    }
}

/// Connections or datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    #[default]
    Udp,
}

/// Traffic of a flow.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has one for each flow, and none moves during the run")]
pub enum Workload {
    /// Bytes, written as fast as the connection accepts them; then the sender closes.
    Bulk(Amount),
    /// The traffic of a program.
    Application {
        /// The workload.
        application: Application,
        /// Time from which the program starts nothing new. Default: the end of the run.
        until: Option<Duration>,
    },
}

impl Workload {
    /// The transport that it uses.
    #[must_use]
    pub fn service(&self) -> Service {
        match self {
            Self::Bulk(_) => Service::connections(BULK_PORT),
            Self::Application { application, .. } => application.service(),
        }
    }

    /// The program, which begins at `start` and draws from below `streams`.
    #[must_use]
    pub fn program(&self, streams: &Streams, start: Instant) -> Box<dyn Program> {
        match self {
            Self::Bulk(amount) => Box::new(Bulk::new(*amount, start)),
            Self::Application { application, until } => {
                let until = until.map_or(Instant::NEVER, |until| Instant::START + until);
                application.program(streams, start, until)
            }
        }
    }
}

impl Application {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this workload.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }

    /// Reads the files that its distributions name, by `read`, into its parameters.
    ///
    /// # Errors
    /// Errors of `read`, and lines that are not quantities.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let id = self.id();
        self.parameters_mut().load_files(read).map_err(|error| error.below(id))
    }

    /// Looks up, by `find`, the links of which it is to have a share, into its parameters: the direction of the name
    /// that is asked for, and the other one of that link.
    ///
    /// # Errors
    /// Errors of `find`.
    pub fn look_up_lines(&mut self, find: &mut FindLines) -> Result<(), ConfigError> {
        let id = self.id();
        self.parameters_mut().look_up_lines(find).map_err(|error| error.below(id))
    }

    /// The direction of a link that the flow must cross: "lasthop.down".
    #[must_use]
    pub fn crosses(&self) -> Option<&str> {
        self.parameters().crosses()
    }

    /// The transport that it uses.
    #[must_use]
    pub fn service(&self) -> Service {
        self.parameters().service()
    }

    /// The size of its largest datagram, IP and UDP headers included, if it has datagrams.
    #[must_use]
    pub fn largest_packet(&self) -> Option<Bytes> {
        self.parameters().largest_packet()
    }

    /// The program of a flow whose streams these are.
    #[must_use]
    pub fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        self.parameters().program(streams, start, until)
    }
}

/// Refuses a rate or a packet that cannot be.
fn check_packets(rate: Rate, packet: Bytes) -> Result<(), ConfigError> {
    check_rate(rate)?;
    if packet < LEAST_PACKET || packet > LARGEST_PACKET {
        let help = format!("write {} to {} bytes, headers included", LEAST_PACKET.0, LARGEST_PACKET.0);
        return Err(ConfigError::new("packet", format!("no datagram is {} bytes long", packet.0), help));
    }
    Ok(())
}

/// Refuses a request that the header fields of HTTP/3 cannot be.
fn check_http3_request(request: Bytes) -> Result<(), ConfigError> {
    if !HTTP3_REQUEST.contains(&request) {
        let [least, most] = [HTTP3_REQUEST.start().0, HTTP3_REQUEST.end().0];
        let help = format!("write {least} to {most} bytes");
        return Err(ConfigError::new("request", "no request of HTTP/3 has fields of this size", help));
    }
    Ok(())
}

fn check_rate(rate: Rate) -> Result<(), ConfigError> {
    if rate.bits_per_sec() == 0 {
        return Err(ConfigError::new("rate", "nothing would ever be sent", "write a rate above zero"));
    }
    if rate > FASTEST {
        let message = "packets closer together than links of today send them";
        return Err(ConfigError::new("rate", message, "write 1000 Gbit/s or less"));
    }
    Ok(())
}

/// Sizes of the header fields of a request: room for those that it must have (RFC 9114 §4.3.1) and a cookie; and the
/// most that servers take as they are installed (Apache's `LimitRequestFieldSize`, 8190 bytes).
const HTTP3_REQUEST: RangeInclusive<Bytes> = Bytes(64)..=Bytes(8190);

/// MTU of Ethernet (RFC 894).
const fn full_packet() -> Bytes {
    Bytes(1500)
}

/// The headers alone, IPv4 (RFC 791) and UDP (RFC 768).
const LEAST_PACKET: Bytes = Bytes(28);
/// Beyond the fastest Ethernet of today (IEEE 802.3df, 800 Gbit/s). A packet of 1500 bytes takes 12 ns.
const FASTEST: Rate = Rate::from_bits_per_sec(1_000_000_000_000);

/// Where receivers listen: the port of ttcp and iperf, which every tool knows for bulk data.
pub const BULK_PORT: u16 = 5001;

#[cfg(test)]
mod tests;
