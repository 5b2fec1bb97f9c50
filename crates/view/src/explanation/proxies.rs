//! What proxies on the way of a connection did, which its sender does not see.

use std::collections::BTreeMap;

use crate::explanation::Event;
use crate::explanation::words::{count, joined};
use crate::table::{Rows, Tables};

/// A pause of this length, in seconds, separates two groups of events.
const PAUSE: f64 = 1.0;

/// The events of proxies on the way of a connection, each group without a pause as one.
pub(crate) fn events(tables: &Tables, flow: &str, number: i64) -> Vec<Event> {
    let Some(table) = tables.get("proxies") else { return Vec::new() };
    let rows = table.all().equal("flow", flow);
    let mine: Vec<bool> = rows.numbers("connection").into_iter().map(|one| one == number as f64).collect();
    let rows = rows.marked(&mine);
    rows.distinct("proxy")
        .into_iter()
        .flat_map(|proxy| of_proxy(&rows.equal("proxy", proxy), proxy))
        .collect()
}

fn of_proxy(rows: &Rows<'_>, proxy: &str) -> Vec<Event> {
    let (time, kinds) = (rows.seconds("time_ns"), rows.texts("event"));
    // What it keeps and relays is its ordinary work.
    let reported: Vec<usize> =
        (0..time.len()).filter(|row| WORDS.iter().any(|(kind, ..)| *kind == kinds[*row])).collect();
    let groups = reported.chunk_by(|one, next| time[*next] - time[*one] <= PAUSE);
    groups.map(|group| of_group(proxy, group, &time, &kinds)).collect()
}

fn of_group(proxy: &str, group: &[usize], time: &[f64], kinds: &[&str]) -> Event {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in group {
        *counts.entry(kinds[*row]).or_default() += 1;
    }
    let phrases = WORDS.iter().filter_map(|(kind, verb, noun, after)| {
        let many = counts.get(kind)?;
        Some(format!("{verb} {}{after}", count(*many, noun)))
    });
    let parts: Vec<String> = phrases.collect();
    let is_repair = ["local_retransmission", "local_timeout"].iter().any(|kind| counts.contains_key(kind));
    let kind = if is_repair { "local_retransmission" } else { "proxy" };
    Event {
        start: time[group[0]],
        end: time[group[group.len() - 1]],
        kind: kind.into(),
        text: format!("the proxy {proxy} {}", joined(&parts)),
        packets: Vec::new(),
    }
}

/// Events of proxies: verb, noun, and what else is to be said.
const WORDS: [(&str, &str, &str, &str); 8] = [
    ("local_retransmission", "sent", "segment", " again that the link had lost, out of sight of the sender"),
    ("local_timeout", "sent", "segment", " again after its own timer, out of sight of the sender"),
    ("suppressed", "discarded", "duplicate ACK", ""),
    ("duplicate_passed", "let", "duplicate ACK", " pass, of losses before it"),
    ("thinned", "discarded", "ACK", " that later ones made redundant"),
    ("full", "stopped reading from the sender", "time", ", as its buffer was full"),
    ("reset", "passed on", "reset", ", and the bytes that it had acknowledged and not delivered are lost"),
    ("forgotten", "forgot the connection", "time", ""),
];
