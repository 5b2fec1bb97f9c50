//! The packets of a run on their way: when each entered a link, was transmitted, arrived, or was lost, and why.

use serde_json::{Value, json};

use crate::packing::{Packed, Packer};
use crate::table::{Rows, Table, first_seen};

/// Largest number of crossings in a view: the first ones.
const MOST: usize = 400_000;

/// Kinds of packets, by index.
const KINDS: [&str; 6] = ["data", "ack", "syn", "fin", "rst", "other"];

/// Every crossing of a link by a packet, in the order of the times of entry; null if none was recorded.
pub(crate) fn crossings(packets: &Table, specification: &Value, packer: &mut Packer) -> Value {
    let all = packets.all();
    if all.is_empty() {
        return Value::Null;
    }
    let entered = all.numbers("entered_ns");
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|one, other| entered[*one].total_cmp(&entered[*other]));
    order.truncate(MOST);
    let rows = all.at(&order);
    let (directions, flows) = (directions(&all), all.distinct("flow"));
    let mut view = columns(&rows, &directions, &flows, packer);
    let (words, why) = reasons(&rows, packer);
    let labels = json!({
        "left_out": all.len() - rows.len(),
        "kinds": KINDS,
        "links": links(specification, &directions),
        "flows": flows,
        "words": words,
        "why": why,
    });
    view.extend(labels.as_object().cloned().unwrap_or_default());
    Value::Object(view)
}

/// A link and the direction in which packets crossed it.
type Direction<'a> = [&'a str; 2];

fn columns(
    rows: &Rows<'_>,
    directions: &[Direction<'_>],
    flows: &[&str],
    packer: &mut Packer,
) -> serde_json::Map<String, Value> {
    let entered = rows.numbers("entered_ns");
    let delivered: Vec<f64> = rows.numbers("delivered_ns").into_iter().map(or_unknown).collect();
    // A joined capture does not say when the link sent a packet.
    let sent = if rows.has("transmitted_ns") { rows.numbers("transmitted_ns") } else { entered.clone() };
    let transmitted = |row: usize| match (or_unknown(sent[row]), delivered[row]) {
        (unknown, lost) if unknown < 0.0 && lost < 0.0 => -1.0,
        (unknown, _) if unknown < 0.0 => entered[row],
        (known, _) => known,
    };
    let link = places(rows.combinations(["link", "direction"]), directions);
    let flow = places(rows.combinations(["flow"]), &flows.iter().map(|flow| [*flow]).collect::<Vec<_>>());
    let kind = places(rows.combinations(["kind"]), &KINDS.map(|kind| [kind]));
    let acks = rows.numbers("ack").into_iter().map(|ack| if ack.is_nan() { 0.0 } else { ack });
    let packed: [(&str, Packed); 12] = [
        ("time", packer.add(entered.iter().copied())),
        ("transmitted", packer.add((0..rows.len()).map(transmitted))),
        ("delivered", packer.add(delivered.iter().copied())),
        ("link", packer.places(link)),
        ("flow", packer.places(flow)),
        ("kind", packer.places(kind)),
        ("packet", packer.add(rows.numbers("packet"))),
        ("size", packer.add(rows.numbers("bytes"))),
        ("start", packer.add(rows.numbers("seq"))),
        ("length", packer.add(rows.numbers("len"))),
        ("ack", packer.add(acks)),
        ("again", packer.flags(rows.flags("retransmission"))),
    ];
    packed.into_iter().map(|(name, packed)| (name.into(), json!(packed))).collect()
}

/// The place of each row's texts among some; the last place for texts that are not among them.
fn places<const N: usize>((found, rows): (Vec<[&str; N]>, Vec<usize>), among: &[[&str; N]]) -> Vec<usize> {
    let place = |texts| among.iter().position(|one| one == texts).unwrap_or(among.len() - 1);
    let places: Vec<usize> = found.iter().map(place).collect();
    rows.into_iter().map(|row| places[row]).collect()
}

/// The directions of links that packets crossed: links in the order in which they were first crossed.
fn directions<'a>(rows: &Rows<'a>) -> Vec<Direction<'a>> {
    let (links, ways) = (rows.distinct("link"), rows.distinct("direction"));
    let place = |texts: &[&str], text: &str| texts.iter().position(|one| *one == text);
    let (mut found, _) = rows.combinations(["link", "direction"]);
    found.sort_by_key(|[link, way]| (place(&links, link), place(&ways, way)));
    found
}

/// What happened to packets that were lost or delayed, in words, and for each crossing which.
fn reasons(rows: &Rows<'_>, packer: &mut Packer) -> (Vec<String>, Packed) {
    let combinations = rows.combinations(["fate", "rule", "delay_cause"]);
    let usual = ["delivered", "", ""];
    let known = first_seen(std::iter::once(usual).chain(combinations.0.iter().copied()));
    let why = packer.places(places(combinations, &known));
    (known.into_iter().map(reason).collect(), why)
}

fn reason([fate, rule, cause]: [&str; 3]) -> String {
    let fate = if fate == "delivered" { "" } else { fate };
    let parts = [fate, rule, cause].into_iter().filter(|part| !part.is_empty());
    parts.map(|part| part.replace('_', " ")).collect::<Vec<_>>().join(": ")
}

/// Each direction with its two ends. A joined capture has no specification: its path is the only link.
fn links(specification: &Value, directions: &[Direction<'_>]) -> Vec<Value> {
    let links = specification["links"].as_array();
    let ends = |name: &str| {
        let link = links.into_iter().flatten().find(|link| link["name"] == name)?;
        Some((link["between"][0].as_str()?, link["between"][1].as_str()?))
    };
    let of = |[name, direction]: &Direction<'_>| {
        let (first, second) = ends(name).unwrap_or(("sender", "receiver"));
        let (from, to) = if *direction == "down" { (first, second) } else { (second, first) };
        json!({"name": name, "direction": direction, "from": from, "to": to})
    };
    directions.iter().map(of).collect()
}

/// A time, or −1 for an unknown one.
const fn or_unknown(time: f64) -> f64 {
    if time.is_nan() { -1.0 } else { time }
}
