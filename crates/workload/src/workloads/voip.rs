//! Voice: frames of a codec over RTP during talk spurts.

use link::distribution::{Distribution, ReadFile, Source, exponential};
use link::{ConfigError, LARGEST_PACKET};
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::write_duration;
use units::{Bytes, Duration, Instant, Rate, Streams};

use super::train::{Rest, Spurts, Train};
use super::{Service, Transport, WorkloadParameters, check_rate};
use crate::program::Program;
use crate::voice::Voice;

/// This workload in the registry.
pub const ENTRY: Entry = Entry::new(
    "voip",
    "frames of a codec over RTP during talk spurts; a frame that arrives too late is lost",
    "Landström 2008, chapter 7: talk and silence exponential with 7 s, a frame every 20 ms; RTP is RFC 3550",
)
.written("{ voip = { rate = \"13.6 kbit/s\", headers = \"compressed\", budget = \"80 ms\" } }");

/// Parameters of the codec, and of talk and silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Rate of the codec during a talk spurt. Default: 12.2 kbit/s (AMR, 3GPP TS 26.071).
    pub rate: Rate,
    /// Time between frames; without it, 20 ms.
    pub frame: Duration,
    /// Headers of a frame.
    pub headers: Headers,
    /// Length of a talk spurt; without it, exponential with a mean of 7 s.
    pub talk: Distribution<Duration>,
    /// Length of a silence; without it, exponential with a mean of 7 s.
    pub silence: Distribution<Duration>,
    /// Maximum delay of a frame, after which the receiver plays it. Default: 150 ms (ITU-T G.114: most users notice
    /// nothing below).
    pub budget: Duration,
    /// Impairment by the codec itself, for `r_factor` and `mos`: Ie of ITU-T G.113. Default: 5 (12.2 kbit/s; G.711 has
    /// 0, G.729A 11, G.723.1 15).
    #[schemars(range(min = 0, max = 95))]
    pub impairment: f64,
    /// Robustness of the codec to loss, in percent, for the same: Bpl of ITU-T G.113. Default: 10 (12.2 kbit/s; G.711
    /// has 4.3 without concealment and 25.1 with it, G.729A 19, G.723.1 16.1).
    #[schemars(range(min = 1))]
    pub robustness: f64,
}

/// Headers of a packet with frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Headers {
    /// IP, UDP and RTP: 40 bytes more than the codec's rate says.
    #[default]
    Full,
    /// Compressed, and in the rate already: a packet is as long as the rate says.
    Compressed,
}

impl Default for Parameters {
    fn default() -> Self {
        let seven = || Distribution::Exponential(exponential::Parameters { mean: Duration::from_secs(7) });
        Self {
            rate: Rate::from_bits_per_sec(12_200),
            frame: Duration::from_millis(20),
            headers: Headers::default(),
            talk: seven(),
            silence: seven(),
            budget: Duration::from_millis(150),
            impairment: 5.0,
            robustness: 10.0,
        }
    }
}

impl Headers {
    /// Bytes of headers in a packet beyond the codec's rate.
    pub(super) const fn length(self) -> u64 {
        match self {
            // IPv4 without options (RFC 791), UDP (RFC 768), RTP without sources (RFC 3550 §5.1).
            Self::Full => 20 + 8 + 12,
            Self::Compressed => 0,
        }
    }
}

impl Parameters {
    /// The size of a frame's packet; a codec's last bits fill a byte.
    fn packet(&self) -> Bytes {
        let bits = self.rate.bits_per_sec() as f64 * self.frame.as_secs_f64();
        let frame = libm::ceil(bits / 8.0) as u64;
        Bytes(frame.saturating_add(self.headers.length()))
    }
}

impl WorkloadParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.talk.check().map_err(|error| error.below("talk"))?;
        self.silence.check().map_err(|error| error.below("silence"))?;
        check_rate(self.rate)?;
        if self.frame.is_zero() {
            return Err(ConfigError::new("frame", "frames without time between them", "write \"20 ms\""));
        }
        if !(0.0..=MOST_IMPAIRED).contains(&self.impairment) {
            let message = format!("{} is no impairment factor", self.impairment);
            return Err(ConfigError::new("impairment", message, "write a number from 0 to 95"));
        }
        if !(self.robustness >= 1.0 && self.robustness.is_finite()) {
            let message = format!("{} is no robustness factor", self.robustness);
            return Err(ConfigError::new("robustness", message, "write a number from 1"));
        }
        if self.packet() > LARGEST_PACKET {
            let frame = write_duration(self.frame);
            let message = format!("a frame every {frame} makes packets of {} bytes", self.packet().0);
            let help = format!("lower rate or frame, so that a packet is {} bytes at most", LARGEST_PACKET.0);
            return Err(ConfigError::new("rate", message, help));
        }
        Ok(())
    }

    fn service(&self) -> Service {
        let voice = Voice {
            mouth_to_ear: self.frame + self.budget,
            impairment: self.impairment,
            robustness: self.robustness,
        };
        let rtp = (self.headers == Headers::Full).then_some(self.frame);
        let compressed = self.headers == Headers::Compressed;
        Service { voice: Some(voice), rtp, compressed, ..Service::datagrams(RTP_PORT, Some(self.budget)) }
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        self.talk.load_files(read).map_err(|error| error.below("talk"))?;
        self.silence.load_files(read).map_err(|error| error.below("silence"))
    }

    fn largest_packet(&self) -> Option<Bytes> {
        Some(self.packet())
    }

    fn program(&self, streams: &Streams, start: Instant, until: Instant) -> Box<dyn Program> {
        let talk = Source::new(&self.talk, streams.stream("talk"));
        let silence = Source::new(&self.silence, streams.stream("silence"));
        let spurts = Some(Spurts::new(talk, silence, Rest::Forgotten));
        let gap = Source::Constant(self.frame);
        Box::new(Train::new((Transport::Udp, self.packet()), gap, spurts, [start, until]))
    }
}

/// The impairment factor at which the E-model's loss of frames has no more effect (ITU-T G.107, 7-29).
const MOST_IMPAIRED: f64 = 95.0;

/// RFC 3551 §8: RTP's registered port.
const RTP_PORT: u16 = 5004;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_with_full_headers_is_71_bytes_and_with_compressed_ones_34() {
        assert_eq!(Parameters::default().packet(), Bytes(71));
        let rate = Rate::from_bits_per_sec(13_600);
        let compressed = Parameters { rate, headers: Headers::Compressed, ..Parameters::default() };
        assert_eq!(compressed.packet(), Bytes(34));
    }
}
