//! The lengths of queues over time, from the tables `queue` and `packets`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::flow::highest;
use crate::table::{Rows, Tables};

/// Largest number of queues that are shown: those with most drops, then the longest.
const MOST: usize = 6;

/// Share of the longest queue's bytes up to which a queue without a drop is left out.
const HARDLY_USED: f64 = 0.15;

/// One queue: its packets from each time until the next, and those that each dropped packet met. Times are nanoseconds.
/// Of several changes at one time only the last is kept.
pub(crate) struct Queue {
    /// Such as "lasthop.down".
    pub(crate) name: String,
    /// The most packets that it holds, where the scenario has such a limit.
    pub(crate) limit: Option<f64>,
    pub(crate) time: Vec<f64>,
    pub(crate) packets: Vec<f64>,
    bytes: f64,
    pub(crate) drop_time: Vec<f64>,
    pub(crate) drop_behind: Vec<f64>,
}

impl Queue {
    /// The largest number of packets in the queue, also at a drop.
    fn highest(&self) -> f64 {
        [&self.packets, &self.drop_behind].into_iter().flatten().fold(0.0, |most, each| most.max(*each))
    }
}

/// The queues with drops and the most used queues, in the order in which they were first used.
pub(crate) fn worth_drawing(tables: &Tables, specification: &Value) -> Vec<Queue> {
    let used: Vec<Queue> =
        read(tables, specification).into_iter().filter(|queue| queue.highest() > 0.0).collect();
    let longest = used.iter().fold(0.0, |most: f64, queue| most.max(queue.bytes));
    let matters = |queue: &&Queue| !queue.drop_time.is_empty() || queue.bytes > HARDLY_USED * longest;
    let mut by_weight: Vec<&Queue> = used.iter().collect();
    by_weight.sort_by(|one, other| {
        let drops = other.drop_time.len().cmp(&one.drop_time.len());
        drops.then(other.highest().total_cmp(&one.highest()))
    });
    let kept: Vec<String> =
        by_weight.into_iter().filter(matters).take(MOST).map(|queue| queue.name.clone()).collect();
    used.into_iter().filter(|queue| kept.contains(&queue.name)).collect()
}

fn read(tables: &Tables, specification: &Value) -> Vec<Queue> {
    let Some(rows) = tables.get("queue").map(|table| table.all()) else { return Vec::new() };
    let drops = tables.get("packets").map(|table| table.all().equal("fate", "queue_drop"));
    let limits = limits(specification);
    let of = |[link, way]: [&str; 2]| {
        let name = format!("{link}.{way}");
        let limit = limits.get(&name).copied();
        let here = rows.equal("link", link).equal("direction", way);
        let dropped = drops.as_ref().map(|drops| drops.equal("link", link).equal("direction", way));
        one(name, limit, &here, dropped.as_ref())
    };
    rows.combinations(["link", "direction"]).0.into_iter().map(of).collect()
}

fn one(name: String, limit: Option<f64>, rows: &Rows<'_>, dropped: Option<&Rows<'_>>) -> Queue {
    let time = rows.numbers("time_ns");
    let settled: Vec<usize> = (0..time.len()).filter(|row| time.get(row + 1) != Some(&time[*row])).collect();
    let settled = rows.at(&settled);
    let of_drops = |column| dropped.map(|rows| rows.numbers(column)).unwrap_or_default();
    Queue {
        name,
        limit,
        time: settled.numbers("time_ns"),
        packets: settled.numbers("packets"),
        bytes: highest(&settled.numbers("bytes")).last().copied().unwrap_or(0.0),
        drop_time: of_drops("entered_ns"),
        drop_behind: of_drops("behind"),
    }
}

/// The limits in packets of the resolved scenario by the names of queues; none where the scenario is not known.
fn limits(specification: &Value) -> BTreeMap<String, f64> {
    let links = specification["links"].as_array().into_iter().flatten();
    let ways = links.flat_map(|link| {
        ["down", "up"].map(|way| (link["name"].as_str(), way, &link[way]["queue"]["limit"]))
    });
    let named =
        ways.filter_map(|(name, way, limit)| Some((format!("{}.{way}", name?), packets(limit.as_str()?)?)));
    named.collect()
}

/// The number of a limit such as "50 packets".
fn packets(words: &str) -> Option<f64> {
    let (number, unit) =
        words.split_at(words.find(|letter: char| letter != '.' && !letter.is_ascii_digit())?);
    matches!(unit.trim_start(), "packet" | "packets").then(|| number.parse().ok()).flatten()
}
