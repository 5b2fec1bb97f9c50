//! One endpoint of any profile against a peer that sends anything, a user that calls anything, and a clock that may be
//! late.
//!
//! The contract: no panic; at one instant the endpoint's events, segments and due timers come to an end; the
//! segments carry the stream that was written, within the windows that were offered; the stream that is read is the
//! peer's; no window is negative or unbounded. The peer and the checks are in `peer.rs`.

use tcp::{Endpoint, Ports};
use units::{Duration, Seq};

use crate::config;
use crate::peer::{ISS, PEER_PORT, PORT, Peer, STEP};

/// Bytes of the input before the steps.
const HEAD: usize = 4;
/// Chooses a profile and how the connection opens by the first four bytes; every twelve bytes after them are a step.
pub fn run(bytes: &[u8]) {
    let Some((head, steps)) = bytes.split_first_chunk::<HEAD>() else { return };
    let [a, b, open, options] = *head;
    let (name, config) = config::profile([a, b]);
    let iss = Seq(ISS.0.wrapping_add(u32::from(open) << 24));
    let endpoint = if open & 1 == 0 {
        Endpoint::connect(config, Ports { local: PORT, remote: PEER_PORT }, iss)
    } else {
        Endpoint::listen(config, PORT, iss)
    };
    let mut peer = Peer::new(name, endpoint, iss);
    peer.settle();
    if open & 2 == 0 {
        peer.shake_hands(options);
    }
    for step in steps.as_chunks::<STEP>().0 {
        take(&mut peer, step);
        peer.settle();
        if peer.has_seen_enough() {
            return;
        }
    }
}

/// Takes one step: a call of the user, a wait, or (most often) a segment.
fn take(peer: &mut Peer, step: &[u8; STEP]) {
    match step[0] % 16 {
        0 => peer.write(u32::from(step[1]) * 64 + 1),
        1 => peer.read(usize::from(step[1])),
        2 => match step[1] {
            252.. => peer.endpoint.abort(),
            200..252 => peer.endpoint.close(),
            _ => peer.write(u32::from(step[2]) + 1),
        },
        3 => peer.wait(Duration::from_micros(u64::from(step[1]) * u64::from(step[2]) * 64)),
        4 => peer.oversleep(Duration::from_micros(u64::from(step[1]) * u64::from(step[2]) * 64)),
        5 => peer.wait_for_timer(),
        6..8 => peer.acknowledge_all(Duration::from_micros(u64::from(step[11]).pow(2) * 8)),
        _ => peer.send(step),
    }
}

/// The input that makes the endpoint of `profile` take `steps` after a handshake: what regressions are written with.
#[must_use]
pub fn input(profile: &str, steps: &[[u8; STEP]]) -> Option<Vec<u8>> {
    let [a, b] = config::key_of(profile)?;
    Some([a, b, 0, 0].into_iter().chain(steps.concat()).collect())
}
