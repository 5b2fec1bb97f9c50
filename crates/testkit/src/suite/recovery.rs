//! Every recovery with every style after a timeout.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tcp::Kind;
use units::Duration;
use wire::Payload;

use super::{Case, CheckResult, ensure};
use crate::fate::{Fate, Fates, all_arrive};
use crate::pair::{Pair, Side, User};
use crate::profile::{config, overridden, recoveries};

/// The fates of a transfer's packets.
type Pattern = (&'static str, fn() -> Fates);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (name, keys) in recoveries() {
        let profile = overridden(&json!({ "rto": { "rfc6298": { "min": "200 ms" } } }), &keys);
        for (what, fates) in PATTERNS {
            let profile = profile.clone();
            let run = move || completes(&profile, fates());
            cases.push(case(&name, &format!("completes_with_{what}"), Box::new(run)));
        }
        let run = move || sends_nothing_twice(&profile);
        cases.push(case(&name, "sends_nothing_twice_over_a_clean_pipe", Box::new(run)));
    }
    cases
}

fn case(name: &str, what: &str, run: Box<dyn FnOnce() -> CheckResult + Send>) -> Case {
    Case { name: format!("recovery/{name}/{what}"), run }
}

/// The whole stream arrives within a time that leaves room for some timeouts.
fn completes(profile: &Value, fates: Fates) -> CheckResult {
    let profile = config(profile).map_err(|wrong| wrong.to_string())?;
    let mut pair =
        Pair::new(&profile, &profile).users(User::sends_pattern(SIZE), User::listens()).fates(fates);
    let done = pair.run(Duration::from_secs(400));
    let (client, server) = (pair.host(Side::Client), pair.host(Side::Server));
    ensure(done, || format!("{} of {SIZE} bytes by {}", server.received.len(), pair.now()))?;
    ensure(server.received == expected(), || "other bytes than were sent".to_owned())?;
    ensure(client.endpoint.fin_acked(), || "the end was not acknowledged".to_owned())
}

fn sends_nothing_twice(profile: &Value) -> CheckResult {
    let profile = config(profile).map_err(|wrong| wrong.to_string())?;
    let mut pair =
        Pair::new(&profile, &profile).users(User::sends_pattern(SIZE), User::listens()).keep_sent();
    pair.run(Duration::from_secs(400));
    let again = |kind: Kind| matches!(kind, Kind::Retransmission { .. });
    let count = pair.host(Side::Client).sent.iter().filter(|(_, sent)| again(sent.kind)).count();
    ensure(count == 0, || format!("{count} retransmissions"))
}

fn expected() -> Vec<u8> {
    (0..SIZE).map(Payload::pattern_byte).collect()
}

/// Drops the first copy of the data packets with these numbers, counted from 1 in the order of the stream.
fn first_copies(doomed: fn(u32) -> bool) -> Fates {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    Box::new(move |packet| {
        if packet.from == Side::Server || packet.segment.payload.is_empty() {
            return Fate::Deliver;
        }
        let first = seen.insert(packet.segment.seq.0);
        count += u32::from(first);
        if first && doomed(count) { Fate::Drop } else { Fate::Deliver }
    })
}

/// Drops the twentieth segment of the stream and its first two retransmissions.
fn three_copies_of_one() -> Fates {
    let mut seen = BTreeSet::new();
    let (mut doomed, mut left) = (None, 3);
    Box::new(move |packet| {
        if packet.from == Side::Server || packet.segment.payload.is_empty() {
            return Fate::Deliver;
        }
        let seq = packet.segment.seq.0;
        if seen.insert(seq) && seen.len() == 20 {
            doomed = Some(seq);
        }
        if doomed == Some(seq) && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Deliver
    })
}

/// Every third packet from the server, nearly all of them ACKs, is dropped.
fn every_third_ack() -> Fates {
    Box::new(|packet| {
        let lost = packet.from == Side::Server && packet.number > 1 && packet.number % 3 == 0;
        if lost { Fate::Drop } else { Fate::Deliver }
    })
}

const PATTERNS: [Pattern; 8] = [
    ("no_loss", all_arrive),
    ("one_drop", || first_copies(|number| number == 30)),
    ("four_drops_in_a_window", || first_copies(|number| [30, 32, 34, 36].contains(&number))),
    ("a_burst_of_drops", || first_copies(|number| (30..45).contains(&number))),
    ("every_tenth_dropped", || first_copies(|number| number % 10 == 0)),
    ("the_end_dropped", || first_copies(|number| number > 134)),
    ("its_retransmissions_dropped", three_copies_of_one),
    ("every_third_ack_dropped", every_third_ack),
];
const SIZE: u64 = 200_000;
