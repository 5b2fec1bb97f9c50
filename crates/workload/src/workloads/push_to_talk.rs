//! Push-to-talk: bursts of speech of a group, of which one member speaks at a time. `from` is the group's server, and
//! `to` a listener, who hears nothing while the listener or no one speaks.
//!
//! A packet carries several frames, and may be much later than one of a call: no one can interrupt the speaker.

use link::distribution::{Distribution, ReadFile, Source, exponential};
use link::{ConfigError, LARGEST_PACKET};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::train::{Rest, Spurts, Train};
use super::voip::Headers;
use super::{Service, Transport, WorkloadParameters, check_rate};
use crate::program::Program;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "push-to-talk",
    "bursts of speech, several frames of a codec in a packet; a packet that arrives too late is lost",
    "AMR 5.15 kbit/s: 3GPP TS 26.071, RFC 4867; named in Landström 2008 §7.3",
)
.written("{ push-to-talk = { frames = 8 } }");

/// Parameters of the codec, and of bursts and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Rate of the codec during a burst. Default: 5.15 kbit/s (AMR, 3GPP TS 26.071).
    pub rate: Rate,
    /// Time between frames. Default: 20 ms.
    pub frame: Duration,
    /// Number of frames in a packet, 1 or more. Default: 8.
    pub frames: u32,
    /// Headers of a packet.
    pub headers: Headers,
    /// Length of a burst; without it, exponential with a mean of 5 s.
    pub talk: Distribution<Duration>,
    /// Time from a burst to the next one that `to` hears; without it, exponential with a mean of 5 s.
    pub pause: Distribution<Duration>,
    /// Maximum delay of a packet, after which the listener has no use for it. Default: 1 s.
    pub budget: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        let five = || Distribution::Exponential(exponential::Parameters { mean: Duration::from_secs(5) });
        Self {
            rate: Rate::from_bits_per_sec(5_150),
            frame: Duration::from_millis(20),
            frames: 8,
            headers: Headers::default(),
            talk: five(),
            pause: five(),
            budget: Duration::from_secs(1),
        }
    }
}

impl Parameters {
    /// Size of a packet: each frame fills its last byte (RFC 4867 §4.3, octet-aligned, without the frame's table of
    /// contents).
    fn packet(&self) -> Bytes {
        let bits = self.rate.bits_per_sec() as f64 * self.frame.as_secs_f64();
        let frame = libm::ceil(bits / 8.0) as u64;
        Bytes(frame.saturating_mul(u64::from(self.frames)).saturating_add(self.headers.length()))
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.talk.check().map_err(|error| error.below("talk"))?;
        self.pause.check().map_err(|error| error.below("pause"))?;
        check_rate(self.rate)?;
        if self.frame.is_zero() {
            return Err(ConfigError::new("frame", "frames without time between them", "write \"20 ms\""));
        }
        if self.frames == 0 {
            return Err(ConfigError::new("frames", "packets without a frame", "write 1 or more"));
        }
        if self.packet() > LARGEST_PACKET {
            let message = format!("{} frames make packets of {} bytes", self.frames, self.packet().0);
            let help = format!("write fewer, so that a packet is {} bytes at most", LARGEST_PACKET.0);
            return Err(ConfigError::new("frames", message, help));
        }
        Ok(())
    }

    fn service(&self) -> Service {
        let gap = self.frame * u64::from(self.frames);
        let rtp = (self.headers == Headers::Full).then_some(gap);
        let compressed = self.headers == Headers::Compressed;
        Service { rtp, compressed, ..Service::datagrams(RTP_PORT, Some(self.budget)) }
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.talk.load_files(read).map_err(|error| error.below("talk"))?;
        self.pause.load_files(read).map_err(|error| error.below("pause"))
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.packet())
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let talk = Source::new(&self.talk, streams.stream("talk"));
        let pause = Source::new(&self.pause, streams.stream("pause"));
        let bursts = Some(Spurts::new(talk, pause, Rest::Forgotten));
        let gap = Source::Constant(self.frame * u64::from(self.frames));
        Box::new(Train::new((Transport::Udp, self.packet()), gap, bursts, [start, until]))
    }
}

/// RFC 3551 §8: RTP's registered port.
const RTP_PORT: u16 = 5004;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_frames_of_13_bytes_share_their_headers() {
        assert_eq!(Parameters::default().packet(), Bytes(8 * 13 + 40));
        let compressed = Parameters { headers: Headers::Compressed, frames: 1, ..Parameters::default() };
        assert_eq!(compressed.packet(), Bytes(13));
    }
}
