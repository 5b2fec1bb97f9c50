//! The packets of a flow on the directions of links.

use std::collections::BTreeMap;

use crate::by_number::ByNumber;
use crate::flow::{DROPPED, HOLD_THE_LINK, found_among};
use crate::table::{Rows, both};

/// One packet on one direction of a link. Times are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) packet: i64,
    pub(crate) link: String,
    pub(crate) entered: f64,
    pub(crate) behind: usize,
    transmitted: Option<f64>,
    delivered: Option<f64>,
    pub(crate) fate: String,
    pub(crate) rule: String,
    pub(crate) delay: f64,
    pub(crate) delay_cause: String,
}

impl Hop {
    /// Whether the packet was lost here.
    pub(crate) fn dropped(&self) -> bool {
        DROPPED.contains(&self.fate.as_str())
    }

    /// Time at which the packet left the link, or was lost.
    pub(crate) fn end(&self) -> f64 {
        self.delivered.or(self.transmitted).unwrap_or(self.entered)
    }

    /// Start and end of the unusual delay of the packet, if it had one.
    pub(crate) fn hold(&self) -> Option<(f64, f64)> {
        if self.delay.is_nan() || self.delay <= 0.0 || self.delay_cause.is_empty() {
            return None;
        }
        // A delay of the transmitter ends when the packet is transmitted, that of a single packet at its delivery.
        let of_the_link = HOLD_THE_LINK.contains(&self.delay_cause.as_str());
        let end = self.transmitted.filter(|_| of_the_link).unwrap_or_else(|| self.end());
        Some((end - self.delay, end))
    }
}

/// Packets that a link held for one cause, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) link: String,
    pub(crate) cause: String,
    pub(crate) packets: Vec<i64>,
}

/// The rows of one flow in the table `packets`, by packet.
pub(crate) struct Hops<'a> {
    rows: Option<Rows<'a>>,
    /// The packet of each row.
    pub(crate) packet: Vec<f64>,
    by_packet: ByNumber<usize>,
}

impl<'a> Hops<'a> {
    pub(crate) fn new(rows: Option<Rows<'a>>) -> Self {
        let packet = rows.as_ref().map(|rows| rows.numbers("packet")).unwrap_or_default();
        let known = packet.iter().enumerate().filter(|(_, packet)| packet.is_finite());
        let by_packet = ByNumber::new(known.map(|(row, packet)| (*packet as i64, row)));
        Self { rows, packet, by_packet }
    }

    /// The times at which queues dropped some packets, in ascending order.
    pub(crate) fn queue_drops(&self, packets: &[f64]) -> Vec<f64> {
        let Some(rows) = &self.rows else { return Vec::new() };
        let refused = both(&rows.among("fate", &["queue_drop"]), &found_among(&self.packet, packets));
        let mut times = rows.marked(&refused).seconds("entered_ns");
        times.sort_by(f64::total_cmp);
        times
    }

    /// The hops of one packet, in the order of the table.
    pub(crate) fn of(&self, packet: i64) -> Vec<Hop> {
        let Some(rows) = &self.rows else { return Vec::new() };
        read(&rows.at(&self.by_packet.all(packet).collect::<Vec<_>>()))
    }

    /// The longest unusual delay of each of some packets that had one, in the order of their starts.
    pub(crate) fn holds(&self, packets: &[f64]) -> Vec<Hold> {
        let Some(rows) = &self.rows else { return Vec::new() };
        let delayed: Vec<bool> = rows.numbers("delay_ns").into_iter().map(|delay| delay > 0.0).collect();
        let known = both(&delayed, &rows.known("delay_cause"));
        let mut longest: BTreeMap<i64, Hop> = BTreeMap::new();
        for hop in read(&rows.marked(&both(&known, &found_among(&self.packet, packets)))) {
            if longest.get(&hop.packet).is_none_or(|other| hop.delay > other.delay) {
                longest.insert(hop.packet, hop);
            }
        }
        let mut found: Vec<Hold> = longest.into_values().filter_map(hold).collect();
        found.sort_by(|one, other| {
            let by_time = one.start.total_cmp(&other.start).then(one.end.total_cmp(&other.end));
            let by_name =
                (&one.link, &one.cause, &one.packets).cmp(&(&other.link, &other.cause, &other.packets));
            by_time.then(by_name)
        });
        found
    }
}

fn hold(hop: Hop) -> Option<Hold> {
    let (start, end) = hop.hold()?;
    Some(Hold { start, end, link: hop.link, cause: hop.delay_cause, packets: vec![hop.packet] })
}

fn read(rows: &Rows<'_>) -> Vec<Hop> {
    let [entered, transmitted, delivered, delay] =
        ["entered_ns", "transmitted_ns", "delivered_ns", "delay_ns"].map(|column| rows.seconds(column));
    let [links, ways, fates, rules, causes] =
        ["link", "direction", "fate", "rule", "delay_cause"].map(|column| rows.texts(column));
    let (packet, behind) = (rows.numbers("packet"), rows.numbers("behind"));
    let known = |time: f64| (!time.is_nan()).then_some(time);
    let hop = |row: usize| Hop {
        packet: packet[row] as i64,
        link: format!("{}.{}", links[row], ways[row]),
        entered: entered[row],
        behind: behind[row] as usize,
        transmitted: known(transmitted[row]),
        delivered: known(delivered[row]),
        fate: fates[row].into(),
        rule: rules[row].into(),
        delay: delay[row],
        delay_cause: causes[row].into(),
    };
    (0..rows.len()).map(hop).collect()
}
