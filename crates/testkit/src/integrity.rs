//! Every byte that is written arrives once and in its place, whatever happens to the packets: seeded connections over
//! every pairing of sender and receiver.
//!
//! The ends are all shipped profiles, and every recovery with every acknowledgment policy and set of options, combined
//! with varying algorithms of the other axes. Connections are numbered: first come all pairings of shipped profiles,
//! then those of the combinations. The number is also the seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes as Buffer;
use rand::{Rng, RngExt};
use serde_json::{Value, json};
use tcp::{CloseReason, Config, Event};
use units::{Duration, Streams};
use wire::Payload;

use crate::fate::{Trouble, drawn};
use crate::pair::{Closes, Host, Pair, Reads, Side, User};
use crate::profile::{config, named, names, overridden, recoveries};

/// The configurations that are paired.
#[derive(Debug)]
pub struct Ends {
    shipped: Vec<End>,
    drawn: Vec<End>,
}

/// A name and a configuration.
type End = (String, Arc<Config>);

/// A profile with its name.
type Named = (String, Value);

impl Default for Ends {
    fn default() -> Self {
        Self::new()
    }
}

impl Ends {
    /// Reads all profiles and makes all combinations.
    ///
    /// # Panics
    /// If a profile that ships cannot be read.
    #[must_use]
    pub fn new() -> Self {
        Self { shipped: shipped(), drawn: combinations() }
    }

    /// Returns the numbers of shipped profiles and of combinations.
    #[must_use]
    pub const fn counts(&self) -> (usize, usize) {
        (self.shipped.len(), self.drawn.len())
    }

    /// Returns all configurations, each with its name.
    #[must_use]
    pub fn into_all(self) -> Vec<(String, Arc<Config>)> {
        self.shipped.into_iter().chain(self.drawn).collect()
    }

    /// Returns sender and receiver of a connection. Every pairing comes once before any comes again.
    fn pairing(&self, number: u64) -> [&End; 2] {
        let all = self.shipped.len() as u64 * self.shipped.len() as u64;
        if number < all {
            return pair_of(&self.shipped, number);
        }
        pair_of(&self.drawn, number - all)
    }

    /// Runs one connection.
    ///
    /// # Errors
    /// The error, with the names of both ends.
    pub fn run(&self, number: u64) -> Result<(), String> {
        let [(sends, sender), (receives, receiver)] = self.pairing(number);
        let outcome = catch_unwind(AssertUnwindSafe(|| connect(number, sender, receiver)));
        let with_ends = |wrong: String| format!("connection {number}, {sends} → {receives}: {wrong}");
        outcome.unwrap_or_else(|_| Err("panicked".to_owned())).map_err(with_ends)
    }
}

/// Returns the pairing with this number. Neighbouring numbers give unrelated pairings.
fn pair_of(ends: &[End], number: u64) -> [&End; 2] {
    let count = ends.len() as u64;
    let spread = u128::from(number) * u128::from(STRIDE) % u128::from(count * count);
    let (first, second) = (spread as u64 / count, spread as u64 % count);
    [&ends[first as usize], &ends[second as usize]]
}

/// A prime larger than the number of ends, so that its multiples visit every pairing.
const STRIDE: u64 = 1_000_003;

/// Retries that outlast the pipes here; a real stack would give up.
fn patient() -> Value {
    json!({ "msl": "1 s", "retries": 60, "syn_retries": 60 })
}

/// Every shipped profile whose receiver acknowledges only received data.
fn shipped() -> Vec<End> {
    let read = |name: String| {
        let profile = named(&name).unwrap_or_else(|wrong| panic!("{wrong}"));
        let config =
            config(&overridden(&profile, &patient())).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        (name, config)
    };
    names().into_iter().map(read).filter(is_truthful).collect()
}

fn is_truthful(end: &End) -> bool {
    !end.1.ack.build().traits().lies
}

/// Every valid combination of recovery, acknowledgment policy and set of options.
fn combinations() -> Vec<End> {
    let base = overridden(&patient(), &json!({ "rto": { "rfc6298": { "min": "200 ms" } } }));
    let mut all = vec![];
    for (recovery, keys) in recoveries() {
        let base = overridden(&base, &keys);
        for (ack, keys) in acks() {
            let base = overridden(&base, &keys);
            for (options, keys) in options() {
                let profile = overridden(&base, &keys);
                if let Some(config) = varied(&profile, all.len()) {
                    all.push((format!("{recovery} {ack} {options} #{}", all.len()), config));
                }
            }
        }
    }
    all.retain(is_truthful);
    all
}

/// The names of an axis's algorithms.
fn entries(axis: &str) -> Vec<&'static str> {
    let axes = tcp::axes();
    let axis = axes.into_iter().find(|one| one.name == axis).expect("the axis exists");
    axis.entries.iter().map(|entry| entry.id).collect()
}

/// Every acknowledgment policy, and delayed ACKs with quick ones at the start.
fn acks() -> Vec<Named> {
    let plain = |id: &str| (id.to_owned(), json!({ "ack": id }));
    let mut all: Vec<Named> = entries("ack").into_iter().map(plain).collect();
    let quick = json!({ "ack": { "delayed": { "quick": "2 segments" } } });
    all.push(("quick".to_owned(), quick));
    all
}

fn options() -> Vec<Named> {
    vec![
        ("sack".to_owned(), json!({ "sack": true, "dsack": true, "timestamps": false })),
        ("all".to_owned(), json!({ "sack": true, "dsack": true, "timestamps": true })),
        (
            "none".to_owned(),
            json!({ "sack": false, "dsack": false, "timestamps": false, "window_scale": false }),
        ),
        ("timestamps".to_owned(), json!({ "sack": false, "timestamps": true })),
    ]
}

/// Adds algorithms of the other axes, chosen by the index so that all of them meet every combination. A detector of
/// spurious retransmissions that is not valid with the rest is left out.
fn varied(profile: &Value, index: usize) -> Option<Arc<Config>> {
    let window = [
        json!({}),
        json!({ "window": { "fixed": { "size": "5000 bytes" } } }),
        json!({ "window": { "linux": { "buffer": "20000 bytes" } } }),
        json!({ "window": { "fixed": { "size": "1200 bytes" } } }),
    ];
    let plain = [
        json!({ "mss": "256 bytes", "initial_window": "2 segments" }),
        json!({ "nagle": false, "ecn": true }),
        json!({ "mss": "1460 bytes", "initial_window": "1 segment", "keep_alive": true }),
        json!({ "pacing": 1.25 }),
    ];
    let algorithm = |axis: &str, turn: usize| {
        let ids = entries(axis);
        json!({ axis: ids[turn % ids.len()] })
    };
    let others = [
        window[index % 4].clone(),
        plain[index % 5 % 4].clone(),
        algorithm("rto", index / 4),
        algorithm("congestion", index / 3),
        algorithm("poll", index / 2),
        algorithm("dupthresh", index / 5),
    ];
    let varied = others.iter().fold(profile.clone(), |all, keys| overridden(&all, keys));
    let judged = overridden(&varied, &algorithm("spurious", index));
    [&judged, &varied].into_iter().find_map(|profile| config(profile).ok())
}

/// Returns the pattern for some seeds, and random bytes for the others.
fn stream(seed: u64, name: &str, most: usize) -> Buffer {
    let mut stream = Streams::new(seed).stream(name);
    let len = stream.random_range(0..=most);
    if seed.is_multiple_of(4) {
        return (0..len as u64).map(Payload::pattern_byte).collect();
    }
    let mut data = vec![0; len];
    stream.fill_bytes(&mut data);
    Buffer::from(data)
}

/// Returns a user that writes `data`; the pattern as such, so that both forms of payload are tested.
fn writes(seed: u64, data: &Buffer, piece: usize) -> User {
    if seed.is_multiple_of(4) { User::sends_pattern(data.len() as u64) } else { User::sends(data, piece) }
}

/// Runs one connection.
fn connect(seed: u64, sender: &Arc<Config>, receiver: &Arc<Config>) -> Result<(), String> {
    let trouble = match seed % 4 {
        0 => Trouble { lost: 50, ..Trouble::default() },
        1 => Trouble { lost: 150, duplicated: 50, delayed: 100, longest: Duration::from_millis(400) },
        2 => Trouble { lost: 10, duplicated: 100, delayed: 300, longest: Duration::from_millis(3000) },
        _ => Trouble { lost: 300, duplicated: 0, delayed: 50, longest: Duration::from_millis(100) },
    };
    let (there, back) = (stream(seed, "there", 60_000), stream(seed, "back", 20_000));
    let mut sends = writes(seed, &there, 3_000);
    let mut answers = writes(seed, &back, 777);
    if seed.is_multiple_of(5) {
        answers.reads = Reads::OneEvery(Duration::from_millis(30));
    }
    if seed.is_multiple_of(7) {
        sends.reads = Reads::OneEvery(Duration::from_millis(200));
    }
    if seed.is_multiple_of(3) {
        sends.closes = Closes::AfterPeer;
    }
    let mut pair = Pair::new(sender, receiver).users(sends, answers).fates(drawn(seed, "pipe", trouble));
    let done = pair.run(Duration::from_secs(100_000));
    let (client, server) = (pair.host(Side::Client), pair.host(Side::Server));
    if !done {
        return Err(format!(
            "not done by {}: {:?} {:?}",
            pair.now(),
            client.endpoint.state(),
            server.endpoint.state()
        ));
    }
    let whole = server.received == there[..] && client.received == back[..];
    if !whole {
        return Err(format!(
            "streams differ: {} of {} there, {} of {} back",
            server.received.len(),
            there.len(),
            client.received.len(),
            back.len()
        ));
    }
    let endings = [(client, server), (server, client)].map(|(host, peer)| ended_well(host, peer));
    if endings == [true; 2] { Ok(()) } else { Err(format!("{:?} | {:?}", client.events, server.events)) }
}

/// Returns whether the host has closed, or was reset by a peer that had closed: every ACK of the last FIN was then lost
/// until the peer's TIME-WAIT was over.
fn ended_well(host: &Host, peer: &Host) -> bool {
    let outlived = host.saw(Event::PeerClosed) && host.saw(Event::Reset(CloseReason::ByPeer));
    host.saw(Event::Closed) || (outlived && peer.saw(Event::Closed))
}
