//! What is written arrives, byte for byte and once, whatever befalls the packets: thousands of seeded
//! connections over every pairing of sender and receiver profiles.

use std::sync::Arc;

use bytes::Bytes as Buffer;
use rand::{Rng, RngExt};
use serde_json::{Value, json};
use tcp::{Config, Event, Loss};
use testkit::fate::{Trouble, drawn};
use testkit::pair::{Closes, Host, Pair, Reads, Side, User};
use testkit::profile::{config, overridden, recoveries};
use units::{Duration, Streams};
use wire::Payload;

/// With some 160 sender profiles, over ten thousand connections.
const CONNECTIONS_PER_SENDER: usize = 80;

/// A profile with what to call it.
type Named = (String, Value);

/// The names of an axis's algorithms.
fn entries(axis: &str) -> Vec<&'static str> {
    let axes = tcp::registry::axes();
    let axis = axes.into_iter().find(|one| one.name == axis).expect("the axis exists");
    axis.entries.iter().map(|entry| entry.id).collect()
}

/// Every acknowledgment policy, and delayed ACKs with quick ones at the start.
fn acks() -> Vec<Named> {
    let plain = |id: &str| (id.to_owned(), json!({ "ack": { "algorithm": id } }));
    let mut all: Vec<Named> = entries("ack").into_iter().map(plain).collect();
    let quick = json!({ "ack": { "algorithm": "delayed", "quick": "2 segments" } });
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

/// All profiles that make sense: recovery × ack × options.
fn profiles() -> Vec<(String, Arc<Config>)> {
    let base = json!({ "rto": { "min": "200 ms" }, "msl": "1 s", "retries": 60, "syn_retries": 20 });
    let mut all = vec![];
    for (recovery, keys) in recoveries() {
        let base = overridden(&base, &keys);
        for (ack, keys) in acks() {
            let base = overridden(&base, &keys);
            for (options, keys) in options() {
                let profile = overridden(&overridden(&base, &keys), &varied(all.len()));
                if let Ok(config) = config(&profile) {
                    all.push((format!("{recovery} {ack} {options}"), config));
                }
            }
        }
    }
    all
}

/// The pattern, for some seeds, and else any bytes.
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

/// The pattern is written as such, so that both forms of payload travel.
fn writes(seed: u64, data: &Buffer, piece: usize) -> User {
    if seed.is_multiple_of(4) { User::sends_pattern(data.len() as u64) } else { User::sends(data, piece) }
}

/// Keys of no axis under test, drawn for each profile, so that they meet every combination.
fn varied(index: usize) -> Value {
    let window = [
        json!({}),
        json!({ "window": { "algorithm": "fixed", "size": "5000 bytes" } }),
        json!({ "window": { "algorithm": "linux", "buffer": "20000 bytes" } }),
        json!({ "window": { "algorithm": "fixed", "size": "1200 bytes" } }),
    ];
    let rtos = entries("rto");
    let rto = json!({ "rto": { "algorithm": rtos[index / 4 % rtos.len()] } });
    let plain = [
        json!({ "mss": "256 bytes", "initial_window": "2 segments" }),
        json!({ "nagle": false }),
        json!({ "mss": "1460 bytes", "initial_window": "1 segment", "keep_alive": true }),
    ];
    [&window[index % 4], &rto, &plain[index % 3]]
        .into_iter()
        .fold(json!({}), |all, keys| overridden(&all, keys))
}

/// One connection; what went wrong.
fn run(seed: u64, sender: &Arc<Config>, receiver: &Arc<Config>) -> Result<(), String> {
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

/// Closed, or told by a peer that has done with the connection, and forgotten it, that it is no more: what
/// is left when every ACK of the last FIN is lost until TIME-WAIT is over.
fn ended_well(host: &Host, peer: &Host) -> bool {
    let outlived = host.saw(Event::PeerClosed) && host.saw(Event::Reset(Loss::ByPeer));
    host.saw(Event::Closed) || (outlived && peer.saw(Event::Closed))
}

#[test]
fn every_stream_arrives_byte_for_byte() {
    let profiles = profiles();
    assert!(profiles.len() > 100, "only {} profiles", profiles.len());
    let mut failures = vec![];
    let mut seed = 0;
    for (index, (name, sender)) in profiles.iter().enumerate() {
        for step in 0..CONNECTIONS_PER_SENDER {
            seed += 1;
            let (other, receiver) = &profiles[(index * 7 + step * 13) % profiles.len()];
            if let Err(wrong) = run(seed, sender, receiver) {
                failures.push(format!("seed {seed}, {name} → {other}: {wrong}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {seed} connections:\n{}", failures.len(), failures.join("\n"));
}
