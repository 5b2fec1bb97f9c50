//! Segments of a size that the path carries.

use std::sync::Arc;

use units::Bytes;
use wire::Segment;

use crate::packet::IPV4_HEADER_LEN;

/// The TCP, with segments that the smallest MTU of its path carries: path MTU discovery's result
/// (RFC 1191), without its probing.
pub(super) fn fitted(config: &Arc<tcp::Config>, mtu: Option<Bytes>) -> Arc<tcp::Config> {
    let headers = Bytes(u64::from(IPV4_HEADER_LEN + Segment::HEADER_LEN));
    let mss = mtu.unwrap_or(Bytes::MAX).saturating_sub(headers).max(Bytes(1));
    if config.plain.mss <= mss {
        return Arc::clone(config);
    }
    let mut config = tcp::Config::clone(config);
    config.limit_mss(mss);
    Arc::new(config)
}
