//! The view of a run: the columns of each flow and each queue, and the packets on their way.
//!
//! Times are whole nanoseconds, sequence numbers whole bytes from the first byte of data.

use serde_json::{Map, Value, json};

use crate::crossings::crossings;
use crate::delivery::{Series, flight, round_trips};
use crate::explanation::{Event, Explanation, Reports, TimeShare, explain_flow};
use crate::flow::{Flow, Incidents, STATE, VERDICTS};
use crate::packing::Packer;
use crate::queues::{Queue, worth_drawing};
use crate::table::{Rows, TableError, Tables, not, places};
use crate::tables::check;

/// Phases of senders, and states of those with a model of the path, by index.
const PHASES: [&str; 12] = [
    "slow_start",
    "congestion_avoidance",
    "fast_recovery",
    "after_timeout",
    "startup",
    "drain",
    "probe_bw",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
    "probe_bw_up",
    "probe_rtt",
];

/// Largest number of flows with diagrams.
const MOST_FLOWS: usize = 60;

/// Largest number of events of a connection in a view; an explanation has all.
const MOST_EVENTS: usize = 400;

/// What the tables of a run are to be seen with.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The resolved scenario; null where it is not known.
    pub specification: &'a Value,
    /// Flows in the order in which they are wanted; without it, those of the tables in the order of `flows`.
    pub flows: Option<&'a [String]>,
    /// Whether the tables are of a capture, where packets are frames.
    pub captured: bool,
    /// What the analysis of a capture found besides.
    pub reports: &'a Reports,
}

/// Everything that the viewer draws of a run; `Run` of `web/src/model.ts` describes it.
///
/// # Errors
/// If a table lacks a column.
pub fn run_view(tables: &Tables, subject: Subject<'_>, packer: &mut Packer) -> Result<Value, TableError> {
    check(tables)?;
    let there = if tables.contains_key("segments") { crate::flow::flow_names(tables) } else { Vec::new() };
    let wanted: Vec<&str> = subject.flows.map_or(there, |flows| flows.iter().map(String::as_str).collect());
    let flows: Vec<Value> =
        wanted.into_iter().take(MOST_FLOWS).map(|name| flow_view(tables, name, subject, packer)).collect();
    let queues = worth_drawing(tables, subject.specification);
    Ok(json!({
        "verdicts": VERDICTS,
        "phases": PHASES,
        "flows": flows,
        "queues": queues.iter().map(|queue| queue_view(queue, packer)).collect::<Vec<_>>(),
        "crossings": tables.get("packets").map(|packets| crossings(packets, subject.specification, packer)),
    }))
}

fn flow_view(tables: &Tables, name: &str, subject: Subject<'_>, packer: &mut Packer) -> Value {
    let flow = Flow::new(tables, name);
    let datagrams = flow.is_of_datagrams();
    let (sent, acks) = (flow.sent(), flow.acks());
    let packets = flow.data_packets(&sent);
    let (drops, delays) = (Flow::drops(packets.as_ref()), Flow::delays(packets.as_ref()));
    let mut words = Words(vec![String::new()]);
    let whys = [&sent.why, &drops.why, &delays.why].map(|why| words.places(why));
    let (starts, ends): (Vec<f64>, Vec<f64>) = sent.extent.iter().copied().unzip();
    let decisions = flow.decisions.as_ref().filter(|_| !datagrams);
    json!({
        "name": name,
        "datagrams": datagrams,
        "sent": {
            "time": packer.add(sent.time),
            "start": packer.add(starts),
            "end": packer.add(ends),
            "verdict": packer.places(sent.verdict),
            "why": packer.places(whys[0].iter().copied()),
        },
        "acks": {
            "time": packer.add(acks.time),
            "ack": packer.add(acks.ack),
            "edge": packer.add(acks.edge),
            "duplicate": packer.flags(acks.duplicate),
        },
        "sacks": sacks(&flow, packer),
        "drops": drops_view(&drops, &whys[1], packer),
        "delays": delays_view(&delays, &whys[2], packer),
        "flight": series(flight(&flow), "bytes", packer),
        "roundTrips": series(round_trips(&flow), "value", packer),
        "decisions": decisions.map(|tcp| decisions_view(tcp, packer)),
        "words": words.0,
        "stories": explain_flow(tables, &flow, subject.captured, subject.reports).iter().map(story).collect::<Vec<_>>(),
    })
}

/// Texts that rows share, each once; the first is empty.
struct Words(Vec<String>);

impl Words {
    fn places(&mut self, texts: &[String]) -> Vec<usize> {
        let mut last = 0;
        let mut place = |text: &String| {
            if *text != self.0[last] {
                last = self.0.iter().position(|known| known == text).unwrap_or(self.0.len());
                if last == self.0.len() {
                    self.0.push(text.clone());
                }
            }
            last
        };
        texts.iter().map(&mut place).collect()
    }
}

fn sacks(flow: &Flow<'_>, packer: &mut Packer) -> Value {
    let blocks = Flow::blocks(&flow.heard);
    let time = flow.heard.numbers("time_ns").into_iter().zip(&blocks);
    json!({
        "time": packer.add(time.flat_map(|(time, blocks)| blocks.iter().map(move |_| time))),
        "start": packer.add(blocks.iter().flatten().map(|(start, _)| *start)),
        "end": packer.add(blocks.iter().flatten().map(|(_, end)| *end)),
    })
}

fn drops_view(drops: &Incidents, why: &[usize], packer: &mut Packer) -> Value {
    let order = in_order(&drops.begin);
    json!({
        "time": packer.add(order.iter().map(|row| drops.begin[*row])),
        "offset": packer.add(order.iter().map(|row| drops.offset[*row])),
        "why": packer.places(order.iter().map(|row| why[*row])),
    })
}

fn delays_view(delays: &Incidents, why: &[usize], packer: &mut Packer) -> Value {
    let order = in_order(&delays.begin);
    json!({
        "time": packer.add(order.iter().map(|row| delays.begin[*row])),
        "end": packer.add(order.iter().map(|row| delays.end[*row])),
        "offset": packer.add(order.iter().map(|row| delays.offset[*row])),
        "why": packer.places(order.iter().map(|row| why[*row])),
    })
}

fn series(series: Series, value: &str, packer: &mut Packer) -> Value {
    json!({"time": packer.add(series.time), value: packer.add(series.value)})
}

/// The sender's windows and timers at each step, and the events with their reasons.
fn decisions_view(tcp: &Rows<'_>, packer: &mut Packer) -> Value {
    let modelled = tcp.known(STATE).contains(&true);
    let known = |column: &str, factor: f64, packer: &mut Packer| {
        packer.add(tcp.numbers(column).into_iter().map(|number| or_unknown(number * factor)))
    };
    let mut view: Map<String, Value> =
        [("cwnd", "cwnd"), ("srtt", "srtt_ns"), ("rto", "rto_ns"), ("time", "time_ns")]
            .into_iter()
            .map(|(name, column)| (name.into(), json!(known(column, 1.0, packer))))
            .collect();
    if modelled {
        // The page has rates in bits per second.
        for name in ["pacing_rate", "bandwidth"] {
            view.insert(name.into(), json!(known(&format!("{name}_Bps"), 8.0, packer)));
        }
    }
    // A model of the path does not go by the threshold.
    let ssthresh = if modelled { packer.add(vec![-1.0; tcp.len()]) } else { known("ssthresh", 1.0, packer) };
    view.insert("ssthresh".into(), json!(ssthresh));
    view.insert("phase".into(), json!(packer.add(phases(tcp, if modelled { STATE } else { "phase" }))));
    let (words, events) = events(tcp, packer);
    view.insert("words".into(), json!(words));
    view.insert("events".into(), events);
    Value::Object(view)
}

fn phases(tcp: &Rows<'_>, column: &str) -> Vec<f64> {
    let place =
        |phase: &str| PHASES.iter().position(|known| *known == phase).map_or(-1.0, |place| place as f64);
    tcp.texts(column).into_iter().map(place).collect()
}

/// The events that are no usual acknowledgments, in words, and their times.
fn events(tcp: &Rows<'_>, packer: &mut Packer) -> (Vec<String>, Value) {
    let notable = tcp.at(&places(&not(&tcp.among("event", &["ack", "duplicate_ack"]))));
    let happened: Vec<_> = notable.texts("event").into_iter().zip(notable.texts("reason")).collect();
    let mut words = happened.clone();
    words.sort_unstable();
    words.dedup();
    let which = happened.iter().map(|word| words.partition_point(|known| known < word));
    let columns = json!({"time": packer.add(notable.numbers("time_ns")), "word": packer.places(which)});
    let labels = words.into_iter().map(|(event, reason)| match (event.replace('_', " "), reason) {
        (event, "") => event,
        (event, reason) => format!("{event}: {reason}"),
    });
    (labels.collect(), columns)
}

fn queue_view(queue: &Queue, packer: &mut Packer) -> Value {
    let order = in_order(&queue.drop_time);
    json!({
        "name": queue.name,
        "limit": queue.limit,
        "time": packer.add(queue.time.iter().copied()),
        "packets": packer.add(queue.packets.iter().copied()),
        "drops": {
            "time": packer.add(order.iter().map(|row| queue.drop_time[*row])),
            "behind": packer.add(order.iter().map(|row| queue.drop_behind[*row])),
        },
    })
}

/// The first events of a connection, and its shares of time.
fn story(explanation: &Explanation) -> Value {
    let events = explanation.events.iter().take(MOST_EVENTS);
    let event =
        |event: &Event| json!({"from": event.start, "to": event.end, "kind": event.kind, "text": event.text});
    json!({
        "connection": explanation.connection,
        "facts": explanation.facts,
        "events": events.map(event).collect::<Vec<_>>(),
        "left_out": explanation.events.len().saturating_sub(MOST_EVENTS),
        "shares": explanation.time_shares.iter().map(share).collect::<Vec<_>>(),
    })
}

fn share(share: &TimeShare) -> Value {
    json!({"kind": share.kind, "seconds": share.seconds, "words": share.words})
}

/// The places of known times, in the order of these, for the page's binary search.
fn in_order(time: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..time.len()).filter(|row| time[*row].is_finite()).collect();
    order.sort_by(|one, other| time[*one].total_cmp(&time[*other]));
    order
}

/// A whole number, or −1 for a missing one; none of these columns is negative.
const fn or_unknown(number: f64) -> f64 {
    if number.is_finite() { number } else { -1.0 }
}
