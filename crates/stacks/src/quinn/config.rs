//! Configuration of quinn: its defaults, the host's choices, and random numbers of the run.

use std::sync::Arc;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    AckFrequencyConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TransportConfig,
    ValidationTokenConfig, VarInt,
};
use rand::Rng;
use units::Streams;

use super::crypto::{NumberKey, Plain};
use super::packet::ID_LEN;
use super::watch::{SharedLog, Watched};
use crate::quinn_settings::{AckFrequency, QuinnCongestion, QuinnSettings};
use crate::stack::Setup;

/// quinn's defaults, with the controller that the host chose and a log.
pub(super) fn transport_config(setup: &Setup, log: &SharedLog) -> TransportConfig {
    let mut config = TransportConfig::default();
    let inner = controllers(&setup.quinn);
    config.congestion_controller_factory(Arc::new(Watched { inner, log: Arc::clone(log) }));
    config.enable_segmentation_offload(false);
    config.ack_frequency_config(setup.quinn.ack_frequency.as_ref().map(ack_frequency));
    config
}

/// The rate of ACKs that a host requests.
fn ack_frequency(settings: &AckFrequency) -> AckFrequencyConfig {
    let AckFrequency { threshold, max_delay, reordering } = *settings;
    let mut config = AckFrequencyConfig::default();
    config
        .ack_eliciting_threshold(VarInt::from_u32(threshold))
        .max_ack_delay(max_delay.map(|delay| std::time::Duration::from_nanos(delay.as_nanos())))
        .reordering_threshold(VarInt::from_u32(reordering));
    config
}

/// Factory of the congestion controllers that a host chose.
///
/// quinn's BBR draws the first place of its gain cycle from a generator of the machine's. Only the pacing rate that
/// it reports depends on it: quinn paces by the window, and records here do not have that rate.
fn controllers(settings: &QuinnSettings) -> Arc<dyn ControllerFactory + Send + Sync> {
    macro_rules! with_window {
        ($config:ty) => {{
            let mut config = <$config>::default();
            if let Some(window) = settings.initial_window {
                config.initial_window(window.0);
            }
            Arc::new(config)
        }};
    }
    match settings.congestion {
        QuinnCongestion::Cubic => with_window!(CubicConfig),
        QuinnCongestion::NewReno => with_window!(NewRenoConfig),
        QuinnCongestion::Bbr => with_window!(BbrConfig),
    }
}

pub(super) fn server_config(
    streams: &Streams,
    transport: Arc<TransportConfig>,
    plain: Plain,
) -> ServerConfig {
    let key = Arc::new(NumberKey(streams.number("token")));
    let mut config = ServerConfig::new(Arc::new(plain), key);
    let mut tokens = ValidationTokenConfig::default();
    // A token is for the next connection, of which there is none; and it would have the system's time in it.
    tokens.sent(0);
    config.transport_config(transport).validation_token_config(tokens);
    config
}

pub(super) fn endpoint_config(streams: &Streams, mtu: u64) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(NumberKey(streams.number("reset"))));
    let mut seed = [0; 32];
    streams.stream("endpoint").fill_bytes(&mut seed);
    let ids = streams.clone();
    config.rng_seed(Some(seed)).cid_generator(move || Box::new(Identities::new(&ids, "identities", ID_LEN)));
    // Less than 1200 is refused, and nothing of QUIC passes such a link (RFC 9000 §14).
    let payload = mtu.saturating_sub(IPV4_AND_UDP).min(u64::from(LARGEST_PAYLOAD)) as u16;
    let _ = config.max_udp_payload_size(payload);
    config
}

/// Connection IDs from a stream of their own.
pub(super) struct Identities {
    stream: units::Stream,
    len: usize,
}

impl Identities {
    pub(super) fn new(streams: &Streams, name: &str, len: usize) -> Self {
        Self { stream: streams.stream(name), len }
    }
}

impl ConnectionIdGenerator for Identities {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; FIRST_ID_LEN];
        self.stream.fill_bytes(&mut bytes);
        ConnectionId::new(&bytes[..self.len])
    }

    fn cid_len(&self) -> usize {
        self.len
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Headers of a datagram.
const IPV4_AND_UDP: u64 = 20 + 8;
/// RFC 9000 §18.2: the largest max_udp_payload_size.
const LARGEST_PAYLOAD: u16 = 65_527;
/// The longest that there can be (RFC 9000 §17.2), as quinn's clients make the first.
pub(super) const FIRST_ID_LEN: usize = 20;
