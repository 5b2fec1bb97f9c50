//! Workloads: the traffic of a flow. One file each, and the list of them.
//!
//! A workload is a [`Program`]: a state machine that opens connections, writes, waits and closes, or
//! sends datagrams. It draws from the streams of its flow, "flow.<name>.size" and so on. Bulk is
//! written as a flow's `bytes` or `until`; the others as the flow's `workload`. A new one is a file
//! with `ENTRY`, `Parameters` (a [`Setting`]) and its program, and a line in the list below.

pub(crate) mod bulk;
mod program;
mod train;

use link::distribution::ReadFile;
use link::{ConfigError, LARGEST_PACKET};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

pub use background::Line;
pub use program::{Command, Program, Side, SocketEvent, SocketId, Transfer};

registry::registry! {
    /// What a flow's program does. Written as a table of one key, its name.
    Application in "workload", a "workload" of dyn Setting:
    Web = web,
    Interactive = interactive,
    Arrivals = arrivals,
    Background = background,
    OnOff = on_off,
    Voip = voip,
    ConstantRate = constant_rate,
    Poisson = poisson,
    Tfrc = tfrc,
}

/// Every workload, bulk first, which has keys of its own.
pub fn entries() -> impl Iterator<Item = &'static registry::Entry> {
    std::iter::once(&bulk::ENTRY).chain(ENTRIES)
}

/// The parameters of one workload.
pub trait Setting {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// What it goes over.
    fn service(&self) -> Service;

    /// Reads the files that its distributions name, by `read`, into its parameters. A workload without distributions has
    /// nothing to read.
    ///
    /// # Errors
    /// What `read` answers, with the key as the path.
    fn load_files(&mut self, _read: &mut ReadFile) -> Result<(), ConfigError> {
        Ok(())
    }

    /// The direction of a link that the flow must cross, "lasthop.down", if its parameters are about one.
    fn crosses(&self) -> Option<&str> {
        None
    }

    /// Looks up, by `find`, what that link carries, into its parameters.
    ///
    /// # Errors
    /// What `find` answers, with the key as the path.
    fn look_up_lines(&mut self, _find: &mut FindLines) -> Result<(), ConfigError> {
        Ok(())
    }

    /// The program, which draws from below `streams`, begins at `start` and asks for nothing new from `until` on.
    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program>;
}

/// Finds what a link carries: the direction of this name, and the other one of that link.
pub type FindLines<'a> = dyn FnMut(&str) -> Result<[Line; 2], ConfigError> + 'a;

/// What a workload goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Connections or datagrams.
    pub transport: Transport,
    /// The port of the side that listens.
    pub port: u16,
    /// How long a datagram may take before it counts as late.
    pub budget: Option<Duration>,
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
    /// What `read` answers, and lines that are not quantities.
    pub fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        let id = self.id();
        self.parameters_mut().load_files(read).map_err(|error| error.below(id))
    }

    /// Looks up, by `find`, the links of which it is to have a share, into its parameters: the direction of the name
    /// that is asked for, and the other one of that link.
    ///
    /// # Errors
    /// What `find` answers.
    pub fn look_up_lines(&mut self, find: &mut FindLines) -> Result<(), ConfigError> {
        let id = self.id();
        self.parameters_mut().look_up_lines(find).map_err(|error| error.below(id))
    }

    /// The direction of a link that the flow must cross: "lasthop.down".
    #[must_use]
    pub fn crosses(&self) -> Option<&str> {
        self.parameters().crosses()
    }

    /// What it goes over.
    #[must_use]
    pub fn service(&self) -> Service {
        self.parameters().service()
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

/// What Ethernet carries (RFC 894).
const fn full_packet() -> Bytes {
    Bytes(1500)
}

/// The headers alone, IPv4 (RFC 791) and UDP (RFC 768).
const LEAST_PACKET: Bytes = Bytes(28);
/// Beyond the fastest Ethernet of today (IEEE 802.3df, 800 Gbit/s). A packet of 1500 bytes takes 12 ns.
const FASTEST: Rate = Rate::from_bits_per_sec(1_000_000_000_000);

/// Where receivers listen: the port of ttcp and iperf, which every tool knows for bulk data.
pub(crate) const BULK_PORT: u16 = 5001;

#[cfg(test)]
mod tests;
